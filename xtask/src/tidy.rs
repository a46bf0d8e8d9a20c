//! Rules about files that neither the compiler nor clippy knows.

use crate::source::Source;
use crate::workspace::{Problem, Workspace};

/// The most lines that a Rust file may have.
const MOST_LINES: usize = 600;

/// The most columns of a comment, which rustfmt leaves as it is. Tables and addresses cannot be wrapped.
const MOST_COLUMNS: usize = 120;

/// What no Rust file holds, as words of code, and what to do instead.
const FORBIDDEN: &[(&str, &str)] = &[
    ("todo !", "`todo!`: finish it, or leave it out"),
    ("unimplemented !", "`unimplemented!`: finish it, or leave it out"),
    ("# [ ignore", "`#[ignore]`: assert what happens today, and say why it is wrong"),
];

/// The files that may hold unsafe code.
const UNSAFE_IN: &[&str] = &[];

/// The documents that a reader counts on.
const DOCUMENTS: &[&str] =
    &[".ci/run", "ARCHITECTURE.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "deny.toml"];

/// Returns every untidy file.
pub(crate) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut problems: Vec<Problem> =
        workspace.rust_files().flat_map(|(path, text)| check_rust_file(path, text)).collect();
    problems.extend(check_documents(workspace));
    problems
}

fn check_rust_file(path: &str, text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let lines = text.lines().count();
    if lines > MOST_LINES {
        problems.push(Problem::in_file(path, format!("{lines} lines are more than {MOST_LINES}: look for a seam")));
    }
    // Split, so that this file does not hold the word.
    let unfinished = concat!("FIX", "ME");
    for (index, _) in text.lines().enumerate().filter(|(_, line)| line.contains(unfinished)) {
        problems.push(Problem::at_line(path, index + 1, format!("`{unfinished}`: mend it, or file it")));
    }
    let is_long = |line: &str| {
        let line_is_comment = line.trim_start().starts_with("//");
        line_is_comment && line.chars().count() > MOST_COLUMNS && !line.contains("| ") && !line.contains("://")
    };
    for (index, _) in text.lines().enumerate().filter(|(_, line)| is_long(line)) {
        problems.push(Problem::at_line(path, index + 1, format!("the comment is longer than {MOST_COLUMNS} columns")));
    }
    let source = match Source::parse(text) {
        Ok(source) => source,
        Err(error) => {
            problems.push(Problem::in_file(path, error.to_string()));
            return problems;
        }
    };
    for (phrase, message) in FORBIDDEN {
        problems.extend(source.lines_of(phrase).into_iter().map(|line| Problem::at_line(path, line, *message)));
    }
    if !UNSAFE_IN.contains(&path) {
        let lines = source.lines_of("unsafe").into_iter();
        problems.extend(
            lines.map(|line| Problem::at_line(path, line, "unsafe code is not on the list of xtask/src/tidy.rs")),
        );
    }
    problems
}

fn check_documents(workspace: &Workspace) -> Vec<Problem> {
    let mut problems = Vec::new();
    for path in DOCUMENTS.iter().filter(|path| workspace.text(path).is_none_or(|text| text.trim().is_empty())) {
        problems.push(Problem::in_file(*path, "is missing or empty"));
    }
    if let Some(changes) = workspace.text("CHANGELOG.md")
        && !changes.contains("Unreleased")
    {
        problems.push(Problem::in_file("CHANGELOG.md", "has no section `Unreleased`"));
    }
    if let Some(architecture) = workspace.text("ARCHITECTURE.md") {
        for name in workspace.names().into_iter().filter(|name| !architecture.contains(*name)) {
            problems.push(Problem::in_file("ARCHITECTURE.md", format!("does not name `{name}`")));
        }
    }
    problems
}
