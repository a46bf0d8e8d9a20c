//! Trees.

/// A node of a tree: its own lines, and what hangs under them.
#[derive(Debug, Default)]
pub(crate) struct Node {
    lines: Vec<String>,
    children: Vec<Node>,
}

/// The columns that one level of the tree takes.
pub(crate) const INDENT: u16 = 3;

impl Node {
    /// Returns a node of one line.
    pub(crate) fn new(line: impl Into<String>) -> Self {
        Self { lines: vec![line.into()], children: Vec::new() }
    }

    /// Returns a node of several lines.
    pub(crate) const fn block(lines: Vec<String>) -> Self {
        Self { lines, children: Vec::new() }
    }

    /// Hangs a node under this one.
    pub(crate) fn push(&mut self, child: Self) {
        self.children.push(child);
    }

    /// Returns the lines of the tree; its root stands at the left, without a branch.
    pub(crate) fn into_lines(self) -> Vec<String> {
        let mut lines = self.lines;
        branches(self.children, "", &mut lines);
        lines
    }
}

fn branches(nodes: Vec<Node>, prefix: &str, out: &mut Vec<String>) {
    let last = nodes.len().saturating_sub(1);
    for (index, node) in nodes.into_iter().enumerate() {
        let (branch, under) = if index == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let stem = if node.children.is_empty() { "   " } else { "│  " };
        for (number, line) in node.lines.iter().enumerate() {
            let lead = if number == 0 { branch } else { under };
            let stem = if number == 0 || node.children.is_empty() { "" } else { stem };
            out.push(format!("{prefix}{lead}{stem}{line}"));
        }
        branches(node.children, &format!("{prefix}{under}"), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_reach_the_last_child_and_no_further() {
        let mut root = Node::new("root");
        let mut first = Node::new("first");
        first.push(Node::block(vec!["one".to_owned(), "two".to_owned()]));
        first.push(Node::new("three"));
        root.push(first);
        let mut second = Node::new("second");
        second.push(Node::new("four"));
        root.push(second);
        let expected = ["root", "├─ first", "│  ├─ one", "│  │  two", "│  └─ three", "└─ second", "   └─ four"];
        assert_eq!(root.into_lines(), expected);
    }
}
