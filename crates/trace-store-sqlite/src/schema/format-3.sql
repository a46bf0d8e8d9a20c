-- The ledger of Trace, from format 2 to format 3: what usage costs by the prices that Trace has, and what it adds up to.
-- Both are derived, and made again when they are missing.

-- The versions of the prices that costs were computed by.
CREATE TABLE price_versions (
    id INTEGER NOT NULL PRIMARY KEY,
    version TEXT NOT NULL UNIQUE
) STRICT;

DROP VIEW v_turns;
DROP VIEW v_usage;
DROP VIEW usage_rows;

-- Usage records, with their costs. There are so many that each index and each reference is dear. So an index that is
-- written to all over, as that of requests is, holds hashes and row numbers alone; none finds the records of a turn among
-- those of its launch; and whoever writes a record looks after its launch and its turn.
CREATE TABLE usage_records_3 (
    number INTEGER NOT NULL PRIMARY KEY,
    launch_id TEXT NOT NULL,
    key TEXT NOT NULL,
    turn_id TEXT,
    request_key TEXT,
    agent TEXT NOT NULL,
    model TEXT,
    observed_at INTEGER,
    input_tokens INTEGER,
    cache_read_tokens INTEGER,
    cache_write_tokens INTEGER,
    cache_write_5m_tokens INTEGER,
    cache_write_1h_tokens INTEGER,
    output_tokens INTEGER,
    reasoning_tokens INTEGER,
    context_tokens INTEGER,
    context_window_tokens INTEGER,
    reported_cost_nanousd INTEGER,
    grain TEXT NOT NULL,
    quality TEXT NOT NULL,
    -- The version that the cost was computed by: NULL where nobody computed it, or the record changed since then.
    price_version INTEGER,
    -- The cost: NULL beside a version where those prices do not know the model.
    computed_cost_nanousd INTEGER,
    -- The first eight bytes of the SHA-256 of request_key.
    request_hash INTEGER,
    UNIQUE (launch_id, key)
) STRICT;

INSERT INTO usage_records_3 (
    launch_id, key, turn_id, request_key, agent, model, observed_at, input_tokens, cache_read_tokens, cache_write_tokens,
    cache_write_5m_tokens, cache_write_1h_tokens, output_tokens, reasoning_tokens, context_tokens, context_window_tokens,
    reported_cost_nanousd, grain, quality, request_hash
)
SELECT
    launch_id, key, turn_id, request_key, agent, model, observed_at, input_tokens, cache_read_tokens, cache_write_tokens,
    cache_write_5m_tokens, cache_write_1h_tokens, output_tokens, reasoning_tokens, context_tokens, context_window_tokens,
    reported_cost_nanousd, grain, quality, request_hash(request_key)
FROM usage_records;

DROP TABLE usage_records;
ALTER TABLE usage_records_3 RENAME TO usage_records;

CREATE INDEX usage_by_request ON usage_records (request_hash) WHERE request_hash IS NOT NULL;
-- For the few records that have no cost by some version.
CREATE INDEX usage_by_price ON usage_records (price_version);

-- Usage records, and of each the launch whose record of the same request counts instead of it: the first one in the order
-- of their seniority. Trace reads it too.
CREATE VIEW usage_rows AS
SELECT
    record.*,
    CASE
        WHEN (SELECT count(*) FROM usage_records AS other WHERE other.request_hash = record.request_hash) > 1 THEN (
            SELECT first.launch_id
            FROM (
                SELECT senior.launch_id, senior.key
                FROM usage_records AS senior
                WHERE senior.request_hash = record.request_hash AND senior.request_key = record.request_key
                ORDER BY senior.observed_at IS NULL, senior.observed_at, senior.launch_id, senior.key
                LIMIT 1
            ) AS first
            WHERE (first.launch_id, first.key) <> (record.launch_id, record.key)
        )
    END AS replay_of
FROM usage_records AS record;

-- The launches of which usage_cells says what their usage records add up to. Any other one is added up when somebody
-- asks. A write changes the cells of its own launch with it, or deletes the launches whose sums it may have changed: its
-- own where they do not tell what they are then, and those that share a request with a record that changed, since other
-- records may be replays now.
CREATE TABLE usage_rollups (
    launch_id TEXT NOT NULL PRIMARY KEY REFERENCES launches (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- What the records of a launch add up to that have the period, model, agent and price version in common.
-- Who changes the meaning of a column deletes all rows of usage_rollups, in the step to a new format.
CREATE TABLE usage_cells (
    launch_id TEXT NOT NULL REFERENCES usage_rollups (launch_id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    -- When the quarter of an hour begins that they were observed in.
    period INTEGER,
    model TEXT,
    agent TEXT NOT NULL,
    price_version INTEGER,
    records INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    unlisted INTEGER NOT NULL,
    replays INTEGER NOT NULL,
    input_tokens INTEGER,
    cache_read_tokens INTEGER,
    cache_write_tokens INTEGER,
    cache_write_5m_tokens INTEGER,
    cache_write_1h_tokens INTEGER,
    output_tokens INTEGER,
    reasoning_tokens INTEGER,
    reported_cost_nanousd INTEGER,
    computed_cost_nanousd INTEGER,
    priced INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    uncosted INTEGER NOT NULL,
    -- A JSON object; NULL where all figures are exact.
    doubts TEXT,
    PRIMARY KEY (launch_id, position)
) STRICT, WITHOUT ROWID;

-- Usage: what one request, turn or session cost. Rows whose `replay_of` is not NULL repeat what another launch's
-- record counts already: leave them out of sums.
CREATE VIEW v_usage AS
SELECT
    launch_id,
    key,
    turn_id,
    request_key,
    replay_of,
    agent,
    model,
    strftime('%Y-%m-%dT%H:%M:%S', observed_at / 1000000, 'unixepoch') || printf('.%06dZ', observed_at % 1000000) AS observed_at,
    input_tokens,
    cache_read_tokens,
    cache_write_tokens,
    cache_write_5m_tokens,
    cache_write_1h_tokens,
    output_tokens,
    reasoning_tokens,
    context_tokens,
    context_window_tokens,
    reported_cost_nanousd,
    reported_cost_nanousd / 1e9 AS reported_cost_usd,
    computed_cost_nanousd,
    computed_cost_nanousd / 1e9 AS computed_cost_usd,
    price_versions.version AS price_version,
    grain,
    quality
FROM usage_rows
LEFT JOIN price_versions ON price_versions.id = usage_rows.price_version;

-- Turns: one input to the agent and all that it did about it, with the sums of its usage records, replays left out.
CREATE VIEW v_turns AS
SELECT
    turns.launch_id,
    turns.id AS turn_id,
    turns.ordinal,
    turns.provider_turn_id,
    strftime('%Y-%m-%dT%H:%M:%S', turns.started_at / 1000000, 'unixepoch') || printf('.%06dZ', turns.started_at % 1000000) AS started_at,
    strftime('%Y-%m-%dT%H:%M:%S', turns.ended_at / 1000000, 'unixepoch') || printf('.%06dZ', turns.ended_at % 1000000) AS ended_at,
    (turns.ended_at - turns.started_at) / 1e6 AS seconds,
    turns.status,
    turns.partial_reason,
    turns.input_op,
    turns.context_coverage,
    turns.tokenizer,
    turns.system_prompt_path,
    turns.task_prompt_path,
    turns.system_tokens,
    turns.task_tokens,
    turns.supplied_context_tokens,
    turns.context_gather_ms,
    turns.context_render_ms,
    turns.context_persist_ms,
    turns.first_event_seq,
    turns.last_event_seq,
    turns.root_output,
    counted.provider_input_tokens,
    counted.provider_output_tokens,
    counted.reasoning_tokens,
    counted.cache_read_tokens,
    counted.cache_write_tokens,
    counted.peak_input_tokens,
    counted.context_window_tokens,
    counted.cost_nanousd,
    counted.cost_nanousd / 1e9 AS cost_usd
FROM turns
LEFT JOIN (
    SELECT
        launch_id,
        turn_id,
        sum(input_tokens) AS provider_input_tokens,
        sum(output_tokens) AS provider_output_tokens,
        sum(reasoning_tokens) AS reasoning_tokens,
        sum(cache_read_tokens) AS cache_read_tokens,
        sum(cache_write_tokens) AS cache_write_tokens,
        max(context_tokens) AS peak_input_tokens,
        max(context_window_tokens) AS context_window_tokens,
        sum(reported_cost_nanousd) AS cost_nanousd
    FROM usage_rows
    WHERE replay_of IS NULL
    GROUP BY launch_id, turn_id
) AS counted ON counted.launch_id = turns.launch_id AND counted.turn_id = turns.id;
