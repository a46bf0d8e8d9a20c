//! Manners: colours, widths, closed pipes, control characters, errors and exit codes.

use std::{
    io::{BufRead, BufReader, Read},
    process::Command,
};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use super::scripted::{ANSWERED, CONTROL, FAILED, RAW, ScriptedHome};

#[test]
fn help_groups_the_commands_and_fits_a_terminal() {
    let help = ScriptedHome::missing().print(&["--help"]);
    // The options are wrapped by the width that the terminal has.
    for line in help.lines().take_while(|line| *line != "Options:") {
        assert!(line.chars().count() <= 80, "{line}");
    }
    insta::assert_snapshot!(help);
}

#[test]
fn help_is_a_command_too() {
    let home = ScriptedHome::missing();
    assert_eq!(home.print(&["help"]), home.print(&["--help"]));
    assert_eq!(home.print(&["help", "show"]), home.print(&["show", "--help"]));
    assert_eq!(home.complain(&["help", "dance"]).0, 2);
}

#[test]
fn a_bare_command_shows_today_and_the_next_commands() {
    // Which launches are of today depends on the day: here there are none on any day.
    insta::assert_snapshot!(ScriptedHome::missing().print(&[]));
}

#[test]
fn looking_makes_no_folders() {
    let home = ScriptedHome::missing();
    assert_eq!(home.complain(&["ls"]), (0, "note: no such launch is recorded\n".to_owned()));
    let nothing = "error: no launch is recorded yet\nnext: record one with `trace exec -- COMMAND`\n";
    assert_eq!(home.complain(&["show"]), (1, nothing.to_owned()));
    assert_eq!(home.complain(&["context", "latest"]), (1, nothing.to_owned()));
    assert!(!home.home().exists());
}

#[test]
fn a_home_that_is_no_folder_is_an_error_wherever_one_looks() {
    let home = ScriptedHome::missing();
    std::fs::write(home.home(), "a file where the folder should be").unwrap();
    for arguments in [&["ls"][..], &["show"], &["context"], &["reindex"], &[]] {
        let (code, text) = home.complain(arguments);
        assert_eq!(code, 1, "{arguments:?}: {text}");
        assert!(text.starts_with("error: could not open HOME\ncause: Not a directory"), "{arguments:?}: {text}");
        assert!(text.contains("\nnext: "), "{arguments:?}: {text}");
    }
}

#[test]
fn a_launch_is_found_by_any_end_of_its_id() {
    let home = ScriptedHome::new();
    let shown = home.print(&["show", ANSWERED]);
    for name in ["000000000001", "launch_01990000000070008000000000000001"] {
        assert_eq!(home.print(&["show", name]), shown);
    }
    assert_eq!(home.print(&["show", "latest"]), home.print(&["show", FAILED]));
    assert_eq!(home.print(&["show"]), home.print(&["show", FAILED]));
}

#[test]
fn an_unknown_launch_is_a_failure_that_says_what_to_do() {
    let home = ScriptedHome::new();
    let (code, text) = home.complain(&["show", "abcd1234"]);
    let next = "`trace ls` lists the launches, and `trace show LAUNCH` names the run of each";
    let error = "there is no launch whose id ends in abcd1234, and no run abcd1234";
    assert_eq!((code, text), (1, format!("error: {error}\nnext: {next}\n")));
    let (code, text) = home.complain(&["show", "weekly"]);
    assert_eq!((code, text), (1, format!("error: there is no run weekly\nnext: {next}\n")));
    let (code, text) = home.complain(&["context", "abcd1234"]);
    let next = "`trace ls` lists the launches; a launch is called by the last digits of its id";
    assert_eq!((code, text), (1, format!("error: there is no launch abcd1234\nnext: {next}\n")));
    let (code, text) = home.complain(&["context", ANSWERED, "--turn", "7"]);
    assert_eq!(code, 1);
    assert!(text.ends_with("has no turn 7\nnext: `trace show` lists the turns of a launch\n"), "{text}");
    assert_eq!(home.run(&["show", FAILED, "--raw"]).status.code(), Some(1));
}

#[test]
fn an_ambiguous_end_lists_the_launches() {
    let home = ScriptedHome::new();
    // Their ids are the same but for the last digit, and ids are found from their end: so this asks for no digit of it.
    let twin = ScriptedHome::new();
    copy_launch_of_another_run(&twin, &home);
    let (code, text) = home.complain(&["show", "0001"]);
    assert_eq!(code, 1);
    insta::assert_snapshot!(text);
}

/// Gives `to` a launch whose id has the same end as one that it holds.
fn copy_launch_of_another_run(from: &ScriptedHome, to: &ScriptedHome) {
    let old = "launch_01990000000070008000000000000001";
    let new = "launch_01990000000070008000000000010001";
    let process = |home: &ScriptedHome| home.home().join("traces/nightly/proc_1");
    let target = process(to).join(new);
    std::fs::create_dir(&target).unwrap();
    for name in ["launch.json", "conversation.jsonl"] {
        let text = std::fs::read_to_string(process(from).join(old).join(name)).unwrap();
        let text = text.replace(old, new).replace("turn_01990000000070008000", "turn_01990000000070008111");
        std::fs::write(target.join(name), text).unwrap();
    }
    let output = to.run(&["reindex"]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn wrong_usage_is_exit_code_2_with_a_message() {
    let home = ScriptedHome::missing();
    for arguments in [
        &["dance"][..],
        &["show", "x/y"],
        &["show", "launch_xyz"],
        &["context", "xyz"],
        &["ls", "--parent", "xyz"],
        &["show", "--jsonl", "--json"],
        &["show", "--events", "--content"],
        &["show", "--raw", "--json"],
        &["show", "--raw=stdin"],
        &["ls", "--outcome", "great"],
        &["ls", "--since", "tomorrow"],
        &["usage", "hourly"],
        &["usage", "--since", "tomorrow"],
        &["usage", "--last", "2"],
        &["usage", "--last", "2d", "--since", "today"],
        &["usage", "--timezone", "Mars/Olympus"],
        &["usage", "--json", "--csv"],
        &["usage", "--check"],
        &["usage", "--max-cost", "1"],
        &["usage", "--check", "--max-cost", "-1"],
        &["usage", "--prices", "nowhere.json"],
        &["--ledger", "paper", "ls"],
        &["attribute"],
        &["attribute", "--asset", "goal=x"],
        &["attribute", "--task-file", "x", "--asset", "gaol=x"],
        &["attribute", "--task-file", "x", "--tokenizer", "words"],
        &["completions", "csh"],
        &["reserve"],
        &["reserve", "--control", "-"],
        &["reserve", "--control", "nowhere"],
        &["release"],
        &["release", "a/b"],
        &["exec"],
    ] {
        let (code, text) = home.complain(arguments);
        assert_eq!(code, 2, "{arguments:?}: {text}");
        assert!(text.starts_with("error: "), "{arguments:?}: {text}");
    }
}

#[test]
fn a_reservation_is_refused_where_it_would_be_lost() {
    let home = ScriptedHome::missing();
    std::fs::write(home.path("control.json"), CONTROL).unwrap();
    let (code, text) = home.complain(&["reserve", "--control", "control.json", "--ledger", "memory"]);
    assert_eq!(code, 1);
    assert!(text.contains("would be lost\nnext: "), "{text}");
    let (code, text) = home.complain(&["release", "order-7", "--ledger", "memory"]);
    assert_eq!((code, text.contains("would be lost")), (1, true), "{text}");
    let note = "note: the memory ledger knows of no reservations\n";
    assert_eq!(home.complain(&["reservations", "--ledger", "memory"]), (0, note.to_owned()));
}

#[test]
fn a_closed_pipe_is_quiet() {
    let home = ScriptedHome::new();
    for arguments in [&["show", ANSWERED, "--events"][..], &["ls", "--json"], &["--help"], &["completions", "bash"]] {
        // The reader is gone before a byte is written, because the command waits for its turn to start.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = home.command(arguments).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{arguments:?}");
    }
}

#[test]
fn the_reader_of_a_pipe_may_leave_in_the_middle() {
    let home = ScriptedHome::missing();
    let long = "word ".repeat(1 << 18);
    std::fs::write(home.path("task.md"), &long).unwrap();
    let specs: Vec<serde_json::Value> = (0..400)
        .map(|index| {
            serde_json::json!({
                "channel": "task", "kind": "document", "scope": "task", "label": format!("absent {index}"),
                "included_by": "test", "content": format!("absent {index}"),
            })
        })
        .collect();
    std::fs::write(home.path("specs.json"), serde_json::to_vec(&specs).unwrap()).unwrap();
    let arguments = ["attribute", "--task-file", "task.md", "--spec-file", "specs.json", "--json"];
    let mut child = home.command(&arguments).spawn().unwrap();
    let mut first = String::new();
    BufReader::with_capacity(1, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(first, "{\n");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn completions_know_the_commands_and_their_words() {
    let home = ScriptedHome::missing();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = home.print(&["completions", shell]);
        assert!(script.contains("reindex"), "{shell} does not know the commands");
        let knows_words = matches!(shell, "bash" | "fish" | "zsh");
        assert_eq!(script.contains("cl100k_base"), knows_words, "{shell}");
    }
}

#[test]
fn colours_are_for_terminals_unless_someone_says_otherwise() {
    let home = ScriptedHome::new();
    let has_colors = |arguments: &[&str], variables: &[(&str, &str)]| {
        let output = home.command(arguments).envs(variables.iter().copied()).output().unwrap();
        output.stdout.contains(&0x1b)
    };
    assert!(!has_colors(&["ls"], &[]));
    assert!(has_colors(&["ls", "--color", "always"], &[]));
    assert!(has_colors(&["ls"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!has_colors(&["ls"], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(has_colors(&["ls", "--color", "always"], &[("NO_COLOR", "1")]));
    assert!(!has_colors(&["ls", "--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!has_colors(&["ls", "--json", "--color", "always"], &[]));

    assert!(in_terminal(&home, 100, &["ls"]).contains('\u{1b}'));
    assert!(!in_terminal(&home, 100, &["ls", "--color", "never"]).contains('\u{1b}'));
}

#[test]
fn what_was_recorded_never_steers_a_terminal() {
    let home = ScriptedHome::new();
    for arguments in [
        &["show", ANSWERED][..],
        &["show", ANSWERED, "--json"],
        &["show", ANSWERED, "--events"],
        &["show", ANSWERED, "--events", "--jsonl"],
        &["show", ANSWERED, "--events", "--json"],
        &["show", ANSWERED, "--content"],
        &["show", ANSWERED, "--raw"],
        &["context", ANSWERED],
    ] {
        let shown = in_terminal(&home, 100, &[arguments, &["--color", "never"]].concat());
        let steering = shown.chars().find(|character| {
            (character.is_control() && !matches!(character, '\n' | '\r' | '\t')) || *character == '\u{202e}'
        });
        assert_eq!(steering, None, "{arguments:?}: {shown:?}");
        // The terminal itself ends lines with a carriage return; none stands alone.
        assert!(!shown.replace("\r\n", "").contains('\r'), "{arguments:?}: {shown:?}");
    }
    let raw = in_terminal(&home, 100, &["show", ANSWERED, "--raw"]);
    assert_eq!(raw, "{\"type\":\"text\"}\r\n\\u{1b}]0;stolen\\u{7}\\xff\r\n");
    assert!(RAW.contains(&0x1b));
}

#[test]
fn views_fit_the_terminal() {
    let home = ScriptedHome::new();
    for columns in [80, 140] {
        for view in ["ls", "context", "show"] {
            let name = [ANSWERED];
            let name = if view == "ls" { &[][..] } else { &name[..] };
            let shown = in_terminal(&home, columns, &[&[view], name, &["--color", "never"]].concat());
            // The path of a launch's files stays whole, so that it can be copied.
            for line in shown.lines().filter(|line| !line.starts_with("  files ")) {
                let width = unicode_width::UnicodeWidthStr::width(line.trim_end());
                assert!(width <= usize::from(columns), "{view} at {columns}: {line}");
            }
        }
    }
}

/// Runs the command in a terminal of that many columns, and returns all that it shows there.
pub(super) fn in_terminal(home: &ScriptedHome, columns: u16, arguments: &[&str]) -> String {
    shown_in_terminal(&home.command(arguments), columns)
}

/// Runs a command in a terminal of that many columns, and returns all that it shows there.
pub(super) fn shown_in_terminal(command: &Command, columns: u16) -> String {
    let size = PtySize { rows: 50, cols: columns, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).unwrap();
    let mut in_terminal = CommandBuilder::new(command.get_program());
    in_terminal.args(command.get_args());
    in_terminal.cwd(command.get_current_dir().unwrap());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => in_terminal.env(name, value),
            None => in_terminal.env_remove(name),
        }
    }
    in_terminal.env("TERM", "xterm-256color");
    let mut child = pair.slave.spawn_command(in_terminal).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut shown = Vec::new();
    let mut chunk = [0; 4096];
    // At the end of a terminal some systems tell an error instead.
    while let Ok(read @ 1..) = reader.read(&mut chunk) {
        shown.extend_from_slice(&chunk[..read]);
    }
    assert!(child.wait().unwrap().success(), "{command:?}");
    String::from_utf8(shown).unwrap()
}

#[test]
fn standard_output_that_takes_nothing_is_a_failure() {
    let home = ScriptedHome::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    // Not every system has a device that is always full.
    let Ok(full) = full else { return };
    let mut command: Command = home.command(&["ls"]);
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("error: "));
}
