#!/bin/sh
# Records a real stream of Claude Code together with the prompt that it was sent and the sources of that prompt,
# into a home of its own under target/, and prints what the context window was made of.
set -eu
cd "$(dirname "$0")/.."
cargo build --release --quiet --package trace-cli
trace="${CARGO_TARGET_DIR:-target}/release/trace"
export TRACE_HOME="${CARGO_TARGET_DIR:-target}/first-recording"
"$trace" exec \
    --system-file examples/prompt/system.md \
    --task-file examples/prompt/task.md \
    --spec-file examples/prompt/specs.json \
    -- cat examples/sessions/claude-subagent/stream.jsonl > /dev/null
"$trace" context latest
