-- The ledger of Trace, from format 1 to format 2: launches that an orchestrator controls, and those that it reserves.

-- What an orchestrator says of the launch: a JSON object with run_id, home_id, account_id, containment, resume_token and
-- opaque_basis.
ALTER TABLE launches ADD COLUMN control TEXT;

-- Launches that an orchestrator registered before capture began. No artifact holds these: they are in this file only.
CREATE TABLE reservations (
    launch_id TEXT NOT NULL PRIMARY KEY,
    control_run_id TEXT NOT NULL,
    -- As in launches.
    control TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT,
    surface TEXT NOT NULL,
    reserved_at INTEGER NOT NULL,
    -- waiting, taken or released.
    state TEXT NOT NULL
) STRICT;

CREATE INDEX reservations_by_run ON reservations (control_run_id, reserved_at, launch_id);
CREATE UNIQUE INDEX reservations_waiting ON reservations (control_run_id) WHERE state = 'waiting';

DROP VIEW v_launches;

-- Launches: one start of a provider's agent each.
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
    conversation_bytes,
    control ->> '$.run_id' AS control_run_id,
    control
FROM launches;

-- Reservations: launches that were registered before they began.
CREATE VIEW v_reservations AS
SELECT
    launch_id,
    control_run_id,
    control,
    provider,
    model,
    surface,
    strftime('%Y-%m-%dT%H:%M:%S', reserved_at / 1000000, 'unixepoch') || printf('.%06dZ', reserved_at % 1000000) AS reserved_at,
    state
FROM reservations;
