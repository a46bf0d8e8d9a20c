//! Which provider it is, and which session.

use trace_model::words::Provider;
use trace_providers::{
    SessionScanner, SourceFormat, interpreter_for,
    recognise::{Recognition, SOURCE_HEAD, SessionStart, StreamRecogniser, by_command, recognise_source},
};

use crate::support::fixture;

#[test]
fn a_provider_is_known_by_its_command() {
    for (command, expected) in [
        ("claude -p hi", Some(Provider::Claude)),
        ("/opt/bin/claude", Some(Provider::Claude)),
        ("C:\\bin\\claude.cmd", Some(Provider::Claude)),
        ("npx -y @anthropic-ai/claude-code@2.1 -p", Some(Provider::Claude)),
        ("node --no-warnings /lib/gemini.js", Some(Provider::Gemini)),
        ("pnpm dlx opencode-ai run", Some(Provider::OpenCode)),
        ("env -i A=claude timeout 5m nice codex exec", Some(Provider::Codex)),
        ("cat claude", None),
        ("env A=1", None),
        ("@claude", None),
        ("", None),
    ] {
        let argv: Vec<&str> = command.split_whitespace().collect();
        assert_eq!(by_command(&argv), expected, "{command}");
    }
}

#[test]
fn only_a_provider_with_rules_has_an_interpreter() {
    for provider in [Provider::Claude, Provider::Codex, Provider::Gemini, Provider::OpenCode] {
        assert!(interpreter_for(&provider, SessionStart::New).is_some(), "{provider}");
    }
    for provider in [Provider::Unknown, "my-agent".parse().unwrap()] {
        assert!(interpreter_for(&provider, SessionStart::New).is_none(), "{provider}");
    }
}

#[test]
fn a_session_that_was_there_before_is_known_by_the_command() {
    for (command, expected) in [
        ("codex exec --json hi", SessionStart::New),
        ("codex exec resume 019e0000-0000-7000-8000-000000000001 hi", SessionStart::Resumed),
        ("codex exec --json resume --last hi", SessionStart::Resumed),
        ("codex e resume --last", SessionStart::Resumed),
        ("npx -y @openai/codex -m gpt exec --json -C resumes resume --last", SessionStart::Resumed),
        ("resume exec", SessionStart::New),
        ("codex exec --resume", SessionStart::New),
        ("", SessionStart::New),
    ] {
        let argv: Vec<&str> = command.split_whitespace().collect();
        assert_eq!(SessionStart::of_command(&argv), expected, "{command}");
    }
}

#[test]
fn a_script_that_resumes_a_session_is_known_by_its_text() {
    for (command, expected) in [
        (&["sh", "-c", "codex exec resume 019e0000 hi"][..], SessionStart::Resumed),
        (&["bash", "-lc", "cd app;\ncodex exec --json 'resume'\n"], SessionStart::Resumed),
        (&["ssh", "host", "(codex exec resume)>run.jsonl"], SessionStart::Resumed),
        (&["env", "-S", "codex exec resume --last"], SessionStart::Resumed),
        (&["./agent.sh", "resume", "019e0000"], SessionStart::Resumed),
        // The program of a provider is given no script, but a prompt.
        (&["codex", "exec", "resume the work"], SessionStart::New),
        (&["npx", "codex", "exec", "please resume"], SessionStart::New),
        (&["timeout", "60", "claude", "-p", "resume the work"], SessionStart::New),
        // Nothing says so.
        (&["sh", "-c", "codex exec --json hi"], SessionStart::New),
        (&["sh", "-c", "./agent.sh --resume; cat resume.jsonl resumed"], SessionStart::New),
        (&["cat", "work/resume/run.jsonl"], SessionStart::New),
        (&["resume it"], SessionStart::New),
    ] {
        assert_eq!(SessionStart::of_command(command), expected, "{command:?}");
    }
}

fn recognise(stream: &[u8], piece: usize) -> Recognition {
    let mut recogniser = StreamRecogniser::new();
    for bytes in stream.chunks(piece) {
        if *recogniser.push(bytes) != Recognition::Undecided {
            break;
        }
    }
    recogniser.finish().clone()
}

#[test]
fn a_stream_is_recognised_by_its_first_known_line_however_it_is_cut() {
    let [claude, codex, gemini, opencode] =
        [Provider::Claude, Provider::Codex, Provider::Gemini, Provider::OpenCode].map(Recognition::Decided);
    let hello = fixture("claude-hello/stream.jsonl");
    let after_warnings = [b"(node:7) Warning\n{\"level\":\"warn\"}\n", hello.as_slice()].concat();
    let hook = br#"{"type":"system","subtype":"hook_started","session_id":"s"}"#;
    let after_a_long_line = [vec![b'x'; 2 << 20].as_slice(), b"\n", &hello].concat();
    assert_eq!(recognise(&after_a_long_line, 1 << 16), claude);
    for (stream, expected) in [
        (hello.as_slice(), claude.clone()),
        (&after_warnings, claude.clone()),
        (hook, claude),
        (&fixture("codex-hello/stream.jsonl"), codex.clone()),
        (br#"{"type":"thread.started","thread_id":"t"}"#, codex.clone()),
        (b"warning\n{\"type\":\"error\",\"message\":\"m\"}\n{\"type\":\"turn.started\"}", codex.clone()),
        (br#"{"type":"item.completed","item":{"id":"item_0","type":"error","message":"m"}}"#, codex),
        (br#"{"type":"thread.started"}"#, Recognition::NotKnown),
        (br#"{"type":"item.completed"}"#, Recognition::NotKnown),
        (br#"{"type":"error","message":"anyone says that"}"#, Recognition::NotKnown),
        (&fixture("gemini-hello/stream.jsonl"), gemini),
        (&fixture("opencode-hello/stream.jsonl"), opencode),
        // What an agent keeps for itself is no stream.
        (&fixture("gemini-hello/session.jsonl"), Recognition::NotKnown),
        (&fixture("opencode-hello/store.jsonl"), Recognition::NotKnown),
        (br#"{"type":"init","session_id":"s","model":"gemini-3"}"#, Recognition::NotKnown),
        (br#"{"type":"text","sessionID":"ses_1"}"#, Recognition::NotKnown),
        (br#"{"type":"result"}"#, Recognition::NotKnown),
        (b"hello\n", Recognition::NotKnown),
        (b"", Recognition::NotKnown),
    ] {
        for piece in [1, 7, 1 << 20] {
            assert_eq!(recognise(stream, piece), expected, "{}", String::from_utf8_lossy(stream));
        }
    }
}

#[test]
fn no_line_of_one_provider_is_taken_for_another_s() {
    for (name, expected) in [
        ("claude-partial", Provider::Claude),
        ("claude-subagent", Provider::Claude),
        ("codex-rounds", Provider::Codex),
        ("codex-fail", Provider::Codex),
        ("codex-turns", Provider::Codex),
        ("gemini-rounds", Provider::Gemini),
        ("gemini-fail", Provider::Gemini),
        ("opencode-rounds", Provider::OpenCode),
        ("opencode-fail", Provider::OpenCode),
    ] {
        for line in fixture(&format!("{name}/stream.jsonl")).split_inclusive(|byte| *byte == b'\n') {
            let recognition = recognise(line, line.len());
            let is_its_own = recognition == Recognition::Decided(expected.clone());
            let is_anyone_s = recognition == Recognition::NotKnown && line.starts_with(b"{\"type\":\"error\"");
            assert!(is_its_own || is_anyone_s, "{}", String::from_utf8_lossy(line));
        }
    }
}

#[test]
fn the_search_for_a_provider_has_an_end() {
    let mut recogniser = StreamRecogniser::new();
    assert_eq!(*recogniser.push(&b"not json\n".repeat(100_000)), Recognition::Undecided);
    assert_eq!(*recogniser.push(&b"not json\n".repeat(100_000)), Recognition::NotKnown);
    let mut recogniser = StreamRecogniser::new();
    let too_long = [vec![b'x'; 2 << 20], vec![b'\n']].concat();
    for _ in 0..15 {
        assert_eq!(*recogniser.push(&too_long), Recognition::Undecided);
    }
    assert_eq!(*recogniser.push(&too_long), Recognition::NotKnown);
    let mut recogniser = StreamRecogniser::new();
    assert_eq!(*recogniser.push(&vec![b'x'; 4 << 20]), Recognition::Undecided);
    assert_eq!(*recogniser.finish(), Recognition::NotKnown);
    let mut recogniser = StreamRecogniser::new();
    assert_eq!(*recogniser.push(&b"{\"a\":1}\n".repeat(15)), Recognition::Undecided);
    assert_eq!(*recogniser.push(b"{\"a\":1}\n"), Recognition::NotKnown);
    assert_eq!(*recogniser.push(&fixture("claude-hello/stream.jsonl")), Recognition::NotKnown, "it stays decided");
}

fn session(provider: &Provider, stream: &[u8], piece: usize) -> Option<String> {
    let mut scanner = SessionScanner::new(provider.clone());
    let mut receipts: Vec<_> = stream.chunks(piece).filter_map(|bytes| scanner.push(bytes)).collect();
    receipts.extend(scanner.finish());
    assert!(receipts.len() <= 1, "a receipt comes once");
    receipts.pop()?.provider_session_id
}

#[test]
fn a_session_id_is_read_by_the_provider_s_rule() {
    for (stream, expected) in [
        (r#"{"session_id":"a","sessionId":"b"}"#, Some("a")),
        (r#"{"sessionID":"ses_1","type":"step_start"}"#, Some("ses_1")),
        (r#"{"session_id":"","sessionId":"b"}"#, Some("b")),
        (r#"{"session_id":7,"thread_id":"t"}"#, Some("t")),
        (r#"{"stream_event":{"event":{"session_id":"e"}}}"#, Some("e")),
        (r#"{"params":{"thread":{"id":"p"}}}"#, Some("p")),
        ("noise\n{\"x\":1}\n{\"thread_id\":\"t\"}\n{\"thread_id\":\"u\"}\n", Some("t")),
        (r#"{"thread":{"id":"x"}}"#, None),
        ("", None),
    ] {
        for piece in [1, 5, 1 << 20] {
            assert_eq!(session(&Provider::Unknown, stream.as_bytes(), piece).as_deref(), expected, "{stream}");
        }
    }
    // Claude Code's own rule: not a hook's line, but init.
    let stream = b"{\"type\":\"system\",\"subtype\":\"hook\",\"session_id\":\"h\"}\n{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"i\"}\n";
    assert_eq!(session(&Provider::Claude, stream, 3).as_deref(), Some("i"));
    assert_eq!(session(&Provider::Unknown, stream, 3).as_deref(), Some("h"));
    // Codex's: the thread that starts, and none that another line names.
    let stream = b"{\"type\":\"other\",\"thread_id\":\"o\"}\n{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n";
    assert_eq!(session(&Provider::Codex, stream, 3).as_deref(), Some("t"));
}

#[test]
fn the_search_for_a_session_has_an_end() {
    let mut scanner = SessionScanner::new(Provider::Unknown);
    assert_eq!(scanner.push(&vec![b'\n'; 9 << 20]), None);
    assert_eq!(scanner.push(b"{\"session_id\":\"late\"}\n"), None);
}

#[test]
fn a_source_is_recognised_by_its_content_whatever_stands_around_it() {
    let claude = Some(SourceFormat::ClaudeStream);
    let hello = fixture("claude-hello/stream.jsonl");
    let [first, ..] = hello.split_inclusive(|byte| *byte == b'\n').collect::<Vec<_>>()[..] else { unreachable!() };
    let foreign = b"{\"level\":\"warn\"}\n";
    for (head, expected) in [
        (hello.clone(), claude),
        (fixture("codex-hello/stream.jsonl"), Some(SourceFormat::CodexExec)),
        ([b"\xEF\xBB\xBF".as_slice(), &hello].concat(), claude),
        ([b"\n\r\n \n".as_slice(), &hello].concat(), claude),
        ([[0; 300].as_slice(), &hello].concat(), claude),
        ([b"\xFF\xFE not text\n".as_slice(), foreign, &hello].concat(), claude),
        // A torn line, with and without its end.
        ([&first[..first.len() / 2], &hello].concat(), claude),
        (first[..first.len() - 40].to_vec(), claude),
        (foreign.repeat(15).into_iter().chain(hello.clone()).collect(), claude),
        (foreign.repeat(16).into_iter().chain(hello).collect(), None),
        (b"[1,2]".to_vec(), None),
        (b"{\"a\":".to_vec(), None),
        (Vec::new(), None),
    ] {
        assert_eq!(recognise_source(&head), expected, "{}", String::from_utf8_lossy(&head));
    }
}

#[test]
fn only_the_head_of_a_source_is_looked_at() {
    let hello = fixture("claude-hello/stream.jsonl");
    let late = [vec![b'x'; SOURCE_HEAD - 1].as_slice(), b"\n", &hello].concat();
    assert_eq!(recognise_source(&late), None);
}
