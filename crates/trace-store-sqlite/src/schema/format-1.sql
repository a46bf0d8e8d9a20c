-- The ledger of Trace, format 1.
--
-- For people who ask this file with SQL: use the views at its end, whose names begin with v_. They stay when the
-- tables below change. Ask while Trace runs as you like; reading blocks nobody.
--
-- Ids and words are text. Times are microseconds since 1970 in UTC (`…_at`). Money is whole nano-dollars (`…_nanousd`).
-- NULL means unknown, never zero. Counts are 64 bits without a sign: one of 2^63 or more stands as a negative number.
--
-- The ledger is an index: the artifacts in `traces/` are the truth, and `trace reindex` makes this file anew.

CREATE TABLE launches (
    id TEXT NOT NULL PRIMARY KEY,
    -- The id backwards without its prefix, so that the end of an id is found through an index.
    id_reversed TEXT NOT NULL,
    run_id TEXT NOT NULL,
    process_id TEXT NOT NULL,
    -- Labels: the parents need not be in this ledger.
    parent_launch_id TEXT,
    parent_turn_id TEXT,
    started_at INTEGER NOT NULL,
    repo TEXT NOT NULL,
    worktree TEXT NOT NULL,
    wave TEXT,
    project TEXT,
    task TEXT,
    flow TEXT,
    skill TEXT,
    -- A JSON object of strings.
    tags TEXT NOT NULL,
    machine_id TEXT,
    hostname TEXT,
    os_user TEXT,
    provider TEXT NOT NULL,
    model TEXT,
    surface TEXT NOT NULL,
    ended_at INTEGER,
    outcome TEXT NOT NULL,
    capture_status TEXT NOT NULL,
    incomplete_reason TEXT,
    agent_version TEXT,
    conversation_path TEXT,
    provider_events_path TEXT,
    provider_session_id TEXT,
    provider_session_path TEXT,
    conversation_event_count INTEGER NOT NULL,
    conversation_bytes INTEGER NOT NULL,
    launch_ended_sha256 TEXT
) STRICT;

CREATE INDEX launches_by_start ON launches (started_at, id);
CREATE INDEX launches_by_suffix ON launches (id_reversed);
CREATE INDEX launches_by_run ON launches (run_id, started_at, id);
CREATE INDEX launches_by_session ON launches (provider_session_id) WHERE provider_session_id IS NOT NULL;
CREATE INDEX launches_by_parent ON launches (parent_launch_id) WHERE parent_launch_id IS NOT NULL;

CREATE TABLE turns (
    id TEXT NOT NULL PRIMARY KEY,
    launch_id TEXT NOT NULL REFERENCES launches (id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    provider_turn_id TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    status TEXT NOT NULL,
    partial_reason TEXT,
    input_op TEXT NOT NULL,
    context_coverage TEXT NOT NULL,
    tokenizer TEXT,
    system_prompt_path TEXT,
    task_prompt_path TEXT,
    system_tokens INTEGER,
    task_tokens INTEGER,
    supplied_context_tokens INTEGER,
    context_gather_ms INTEGER NOT NULL,
    context_render_ms INTEGER NOT NULL,
    context_persist_ms INTEGER NOT NULL,
    first_event_seq INTEGER,
    last_event_seq INTEGER,
    root_output TEXT,
    basis_epoch_id TEXT,
    basis_revision INTEGER,
    UNIQUE (launch_id, ordinal),
    -- What the reference of usage_records points at.
    UNIQUE (launch_id, id)
) STRICT;

CREATE TABLE assets (
    turn_id TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    channel TEXT NOT NULL,
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    label TEXT NOT NULL,
    source_path TEXT,
    included_by TEXT NOT NULL,
    content_sha256 TEXT NOT NULL,
    byte_start INTEGER NOT NULL,
    byte_end INTEGER NOT NULL,
    isolated_tokens INTEGER NOT NULL,
    attributed_tokens INTEGER NOT NULL,
    PRIMARY KEY (turn_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE decisions (
    turn_id TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    label TEXT NOT NULL,
    source_path TEXT,
    decision TEXT NOT NULL,
    reason TEXT NOT NULL,
    original_bytes INTEGER,
    original_tokens INTEGER,
    asset_position INTEGER,
    PRIMARY KEY (turn_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage_records (
    launch_id TEXT NOT NULL REFERENCES launches (id) ON DELETE CASCADE,
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
    PRIMARY KEY (launch_id, key),
    FOREIGN KEY (launch_id, turn_id) REFERENCES turns (launch_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The records of a request in the order of their seniority: the first one counts.
CREATE INDEX usage_by_request ON usage_records (request_key, (observed_at IS NULL), observed_at, launch_id, key)
    WHERE request_key IS NOT NULL;
CREATE INDEX usage_by_turn ON usage_records (launch_id, turn_id);

-- Usage records, and of each the launch whose record of the same request counts instead of it. Trace reads it too.
CREATE VIEW usage_rows AS
SELECT
    record.*,
    (
        SELECT first.launch_id
        FROM (
            SELECT senior.launch_id, senior.key
            FROM usage_records AS senior
            WHERE senior.request_key = record.request_key
            ORDER BY senior.observed_at IS NULL, senior.observed_at, senior.launch_id, senior.key
            LIMIT 1
        ) AS first
        WHERE (first.launch_id, first.key) <> (record.launch_id, record.key)
    ) AS replay_of
FROM usage_records AS record;

-- The views below show times as RFC 3339 text, and money in dollars too, which is rounded: add up the nano-dollars.

-- Launches: one start of an agent. `tags` is JSON; ask with `tags ->> '$.name'`.
CREATE VIEW v_launches AS
SELECT
    id AS launch_id,
    run_id,
    process_id,
    parent_launch_id,
    parent_turn_id,
    strftime('%Y-%m-%dT%H:%M:%S', started_at / 1000000, 'unixepoch') || printf('.%06dZ', started_at % 1000000) AS started_at,
    strftime('%Y-%m-%dT%H:%M:%S', ended_at / 1000000, 'unixepoch') || printf('.%06dZ', ended_at % 1000000) AS ended_at,
    (ended_at - started_at) / 1e6 AS seconds,
    repo,
    worktree,
    wave,
    project,
    task,
    flow,
    skill,
    tags,
    machine_id,
    hostname,
    os_user,
    provider,
    model,
    agent_version,
    surface,
    outcome,
    capture_status,
    incomplete_reason,
    run_id || '/' || process_id || '/' || id AS artifact_dir,
    provider_session_id,
    provider_session_path,
    conversation_event_count,
    conversation_bytes
FROM launches;

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
    grain,
    quality
FROM usage_rows;

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
    sum(counted.input_tokens) AS provider_input_tokens,
    sum(counted.output_tokens) AS provider_output_tokens,
    sum(counted.reasoning_tokens) AS reasoning_tokens,
    sum(counted.cache_read_tokens) AS cache_read_tokens,
    sum(counted.cache_write_tokens) AS cache_write_tokens,
    max(counted.context_tokens) AS peak_input_tokens,
    max(counted.context_window_tokens) AS context_window_tokens,
    sum(counted.reported_cost_nanousd) AS cost_nanousd,
    sum(counted.reported_cost_nanousd) / 1e9 AS cost_usd
FROM turns
LEFT JOIN usage_rows AS counted
    ON counted.launch_id = turns.launch_id AND counted.turn_id = turns.id AND counted.replay_of IS NULL
GROUP BY turns.id;

-- Assets: what the prompts of each turn consist of.
CREATE VIEW v_assets AS
SELECT
    turns.launch_id,
    turns.ordinal,
    assets.*,
    assets.byte_end - assets.byte_start AS bytes
FROM assets
JOIN turns ON turns.id = assets.turn_id;

-- Decisions: what was done with each candidate for the context of each turn, and why.
CREATE VIEW v_decisions AS
SELECT
    turns.launch_id,
    turns.ordinal,
    decisions.*
FROM decisions
JOIN turns ON turns.id = decisions.turn_id;
