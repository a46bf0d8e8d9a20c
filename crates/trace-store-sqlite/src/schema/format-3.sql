-- The ledger of Trace, from format 2 to format 3: what usage costs by the prices that Trace has, and what it adds up to.
-- Both are derived, and made again when they are missing.

-- The versions of the prices that costs were computed by.
CREATE TABLE price_versions (
    id INTEGER NOT NULL PRIMARY KEY,
    version TEXT NOT NULL UNIQUE
) STRICT;

-- The version that the cost was computed by: NULL where nobody computed it, or the record changed since then.
ALTER TABLE usage_records ADD COLUMN price_version INTEGER;
-- The cost: NULL beside a version where those prices do not know the model.
ALTER TABLE usage_records ADD COLUMN computed_cost_nanousd INTEGER;

-- The launches of which usage_cells says what their usage records add up to. Any other one is added up when somebody
-- asks: a write deletes the launches whose sums it may have changed, which are its own, and those that share a request
-- with a record that changed, since other records may be replays now.
CREATE TABLE usage_rollups (
    launch_id TEXT NOT NULL PRIMARY KEY REFERENCES launches (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- What the records of a launch add up to that have the period, model, agent and price version in common, in that order.
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

DROP VIEW v_usage;

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
