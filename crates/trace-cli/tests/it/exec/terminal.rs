//! An agent in a real terminal.

use std::{
    io::{Read, Write},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

use super::{
    bench::{AGENT_VARIABLES, Bench, RECORDER_VARIABLES},
    session_files::{agent, assert_counted, claude_session},
};

/// How long something may take to appear. It is far longer than it takes, and only ends a test that fails.
const PATIENCE: Duration = Duration::from_mins(1);

const SIZE: PtySize = PtySize { rows: 31, cols: 97, pixel_width: 0, pixel_height: 0 };

/// A terminal, and a program in it that is the leader of its session.
struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    screen: Receiver<Vec<u8>>,
    /// What appeared so far, and how much of it was asked for.
    seen: String,
    expected: usize,
}

impl Terminal {
    /// Runs `trace exec` with those arguments.
    fn exec(bench: &Bench, arguments: &[&str]) -> Self {
        let mut command = CommandBuilder::new(Bench::program());
        command.arg("exec");
        command.args(arguments);
        Self::run(bench, command)
    }

    fn run(bench: &Bench, mut command: CommandBuilder) -> Self {
        for name in RECORDER_VARIABLES.iter().chain(&AGENT_VARIABLES).chain(&["ENV"]) {
            command.env_remove(name);
        }
        command.env("TRACE_HOME", bench.home());
        command.env("HOME", bench.path("person"));
        command.env("PS1", "shell> ");
        command.cwd(bench.path(""));
        let pair = native_pty_system().openpty(SIZE).unwrap();
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (show, screen) = mpsc::channel();
        thread::spawn(move || {
            let mut chunk = [0; 4096];
            // At the end of a terminal some systems tell an error instead.
            while let Ok(read @ 1..) = reader.read(&mut chunk) {
                if show.send(chunk[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        let keyboard = pair.master.take_writer().unwrap();
        Self { child, master: pair.master, keyboard, screen, seen: String::new(), expected: 0 }
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the text appears, behind what was waited for before.
    fn expect(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.seen[self.expected..].find(text) {
                self.expected += at + text.len();
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let bytes = self.screen.recv_timeout(left).unwrap_or_else(|_| panic!("no {text:?} in {:?}", self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
    }

    /// Waits for the program to exit, and returns its code and all that appeared.
    fn end(mut self) -> (u32, String) {
        let code = self.child.wait().unwrap().exit_code();
        while let Ok(bytes) = self.screen.recv_timeout(PATIENCE) {
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
        (code, self.seen)
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.process_id().unwrap().try_into().unwrap()).unwrap()
    }
}

#[test]
fn an_interactive_agent_keeps_its_terminal() {
    let bench = Bench::new();
    let script = "test -t 0 && test -t 1 && test -t 2 && stty size; printf '\\033[31mred\\033[0m\\n'";
    let (code, screen) = Terminal::exec(&bench, &["--", "sh", "-c", script]).end();
    assert_eq!((code, screen.as_str()), (0, "31 97\r\n\u{1b}[31mred\u{1b}[0m\r\n"));
    let launch = bench.show()["launch"].clone();
    assert_eq!(launch["surface"], "interactive");
    assert_eq!(launch["capture_status"], "prompt_only");
    assert_eq!(bench.artifact("raw/stdout"), b"");
    assert_eq!(bench.artifact("raw/stderr"), b"");
}

#[test]
fn an_agent_learns_of_a_new_size() {
    let bench = Bench::new();
    let script = "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.02 & wait $!; done";
    let mut terminal = Terminal::exec(&bench, &["--", "sh", "-c", script]);
    terminal.expect("ready");
    terminal.master.resize(PtySize { rows: 40, cols: 120, ..SIZE }).unwrap();
    terminal.expect("40 120");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn an_interrupt_reaches_the_agent_once_and_leaves_us_to_record() {
    let bench = Bench::new();
    let script = "trap 'echo got one' INT; trap 'echo end; exit 7' TERM
        echo ready; while :; do sleep 0.02 & wait $!; done";
    let mut terminal = Terminal::exec(&bench, &["--", "sh", "-c", script]);
    terminal.expect("ready");
    terminal.press("\u{3}");
    terminal.expect("got one");
    // It comes behind a second interrupt, if there is one.
    kill_process(terminal.pid(), Signal::TERM).unwrap();
    terminal.expect("end");
    let (code, screen) = terminal.end();
    assert_eq!((code, screen.matches("got one").count()), (7, 1), "{screen}");
    assert_eq!(bench.show()["launch"]["outcome"], "failed");
}

#[test]
fn an_interrupt_that_ends_the_agent_is_recorded() {
    for (key, code) in [("\u{3}", 130), ("\u{1c}", 131)] {
        let bench = Bench::new();
        let mut terminal = Terminal::exec(&bench, &["--", "sh", "-c", "ulimit -c 0; echo ready; exec sleep 600"]);
        terminal.expect("ready");
        terminal.press(key);
        assert_eq!(terminal.end().0, code);
        assert_eq!(bench.show()["launch"]["outcome"], "interrupted");
    }
}

#[test]
fn a_stop_stops_both_and_both_go_on() {
    let bench = Bench::new();
    let mut shell = CommandBuilder::new("sh");
    shell.args(["-i"]);
    let mut terminal = Terminal::run(&bench, shell);
    terminal.expect("shell> ");
    let program = Bench::program().display();
    let script = "echo pid $$; while read line; do echo heard $line; test $line != two || exit 5; done";
    terminal.press(&format!("{program} exec -- sh -c '{script}'\n"));
    // The command line is on the screen too, but not at the beginning of a line.
    terminal.expect("\r\npid ");
    terminal.expect("\r\n");
    terminal.press("one\n");
    terminal.expect("heard one");
    terminal.press("\u{1a}");
    // The shell has its terminal back only when the command is stopped.
    terminal.expect("shell> ");
    #[cfg(target_os = "linux")]
    terminal.assert_agent_is_stopped();
    terminal.press("fg\n");
    terminal.expect("exec");
    terminal.press("two\n");
    terminal.expect("heard two");
    terminal.expect("shell> ");
    terminal.press("echo code $?\n");
    terminal.expect("code 5");
    terminal.press("exit\n");
    terminal.end();
    assert_eq!(bench.show()["launch"]["outcome"], "failed");
}

#[test]
fn an_agent_that_stops_itself_gives_the_terminal_back() {
    let bench = Bench::new();
    let mut shell = CommandBuilder::new("sh");
    shell.args(["-i"]);
    let mut terminal = Terminal::run(&bench, shell);
    terminal.expect("shell> ");
    let program = Bench::program().display();
    // As an agent does that reads single keys: the terminal sends no signals then.
    terminal.press(&format!("{program} exec -- sh -c 'kill -TSTP $$; echo went on; exit 6'\n"));
    terminal.expect("shell> ");
    terminal.press("fg\n");
    terminal.expect("went on\r\n");
    terminal.expect("shell> ");
    terminal.press("echo code $?\n");
    terminal.expect("code 6");
    terminal.press("exit\n");
    terminal.end();
    assert_eq!(bench.show()["launch"]["outcome"], "failed");
}

#[cfg(target_os = "linux")]
impl Terminal {
    /// Waits until the agent, whose id it printed, is stopped: the signal reached it at the same time as us.
    fn assert_agent_is_stopped(&self) {
        let (_, behind) = self.seen.split_once("\r\npid ").unwrap();
        let pid = behind.split_whitespace().next().unwrap();
        let deadline = Instant::now() + PATIENCE;
        while !std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") T ") {
            assert!(Instant::now() < deadline, "the agent goes on");
            thread::yield_now();
        }
    }
}

#[test]
fn a_piped_stdout_is_recorded_while_the_rest_keeps_the_terminal() {
    let bench = Bench::new();
    let program = Bench::program().display();
    let agent = "test -t 0 && test -t 2 && ! test -t 1 && echo as it should be; read line; echo heard $line";
    let mut shell = CommandBuilder::new("sh");
    shell.args(["-c", &format!("{program} exec -- sh -c '{agent}' | cat")]);
    let mut terminal = Terminal::run(&bench, shell);
    terminal.expect("as it should be");
    terminal.press("hello\n");
    terminal.expect("heard hello");
    terminal.expect("trace show");
    terminal.end();
    assert_eq!(bench.artifact("raw/stdout"), b"as it should be\nheard hello\n");
    let launch = bench.show()["launch"].clone();
    assert_eq!(launch["surface"], "headless");
}

#[test]
fn an_agent_on_a_terminal_is_counted_by_its_session() {
    let bench = Bench::new();
    let program = agent(&bench, "claude", |moment| claude_session(moment, "s1", &moment.folder));
    let (code, screen) = Terminal::exec(&bench, &["--", program.to_str().unwrap()]).end();
    assert_eq!((code, screen.as_str()), (0, "done\r\n"), "the terminal is the agent's");
    let shown = assert_counted(&bench, "s1", 30, 30);
    assert_eq!(shown["launch"]["surface"], "interactive");
}
