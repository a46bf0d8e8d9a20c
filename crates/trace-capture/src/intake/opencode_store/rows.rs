//! Rows to lines, and sessions to the trees that they form.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

/// A row of the session table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct SessionRow {
    pub(super) id: String,
    pub(super) parent_id: Option<String>,
    pub(super) title: Option<String>,
    pub(super) directory: Option<String>,
    pub(super) version: Option<String>,
    pub(super) time_created: Option<i64>,
    pub(super) time_updated: Option<i64>,
}

/// A row of a message table.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct MessageRow<'a> {
    pub(super) id: &'a str,
    pub(super) session_id: &'a str,
    /// Only the second message table has one; in the first one it is in the data.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<&'a str>,
    pub(super) time_created: Option<i64>,
    pub(super) data: Data<'a>,
}

/// A row of the part table.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct PartRow<'a> {
    pub(super) id: &'a str,
    pub(super) message_id: &'a str,
    pub(super) session_id: &'a str,
    pub(super) data: Data<'a>,
}

/// What a row holds as JSON.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub(super) enum Data<'a> {
    Object(&'a RawValue),
    /// It is no object; what there is instead goes along for the reader to tell of it.
    Text(&'a str),
}

impl<'a> Data<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        match serde_json::from_str::<&RawValue>(text) {
            Ok(value) if value.get().starts_with('{') => Self::Object(value),
            _ => Self::Text(text),
        }
    }
}

/// Returns JSON on one line. A line feed can only stand between its values.
pub(super) fn on_one_line(mut json: String) -> String {
    if json.contains(['\n', '\r']) {
        json = json.replace(['\n', '\r'], " ");
    }
    json
}

#[derive(Serialize)]
struct Line<'a, R> {
    table: &'a str,
    row: R,
}

/// Hands a row on as a line.
pub(super) fn tell(table: &str, row: impl Serialize, each: &mut dyn FnMut(&[u8])) {
    let mut line = serde_json::to_vec(&Line { table, row }).expect("rows of text and numbers have a JSON form");
    line.push(b'\n');
    each(&line);
}

/// All sessions of a store, as the trees that they form.
#[derive(Debug, Default)]
pub(super) struct Forest {
    /// Each begins with its root, and has every session after its parent; the oldest root comes first.
    trees: Vec<Vec<SessionRow>>,
    /// The tree of each root.
    by_root: BTreeMap<String, usize>,
}

impl Forest {
    /// Plants the sessions. Of two with one id the later counts. One whose parent is not there is a root; of sessions
    /// that are each other's parents the first one by id is.
    pub(super) fn of(rows: impl IntoIterator<Item = SessionRow>) -> Self {
        let rows: BTreeMap<String, SessionRow> = rows.into_iter().map(|row| (row.id.clone(), row)).collect();
        let mut trees: BTreeMap<&str, Vec<(usize, &SessionRow)>> = BTreeMap::new();
        for row in rows.values() {
            let (root, depth) = root_of(&rows, &row.id);
            trees.entry(root).or_default().push((depth, row));
        }
        let mut trees: Vec<Vec<SessionRow>> = trees
            .into_values()
            .map(|mut tree| {
                tree.sort_by_key(|(depth, row)| (*depth, row.time_created, &row.id));
                tree.into_iter().map(|(_, row)| row.clone()).collect()
            })
            .collect();
        trees.sort_by_key(|tree| tree.first().map(|root| (root.time_created, root.id.clone())));
        let roots = trees.iter().enumerate().filter_map(|(at, tree)| Some((tree.first()?.id.clone(), at)));
        let by_root = roots.collect();
        Self { trees, by_root }
    }

    pub(super) fn trees(&self) -> &[Vec<SessionRow>] {
        &self.trees
    }

    /// Returns the tree with that root; an empty one if there is none.
    pub(super) fn tree(&self, root: &str) -> &[SessionRow] {
        let tree = self.by_root.get(root).and_then(|at| self.trees.get(*at));
        tree.map(Vec::as_slice).unwrap_or_default()
    }
}

/// Returns the root of the session's tree, and how far below it the session is.
fn root_of<'a>(rows: &'a BTreeMap<String, SessionRow>, id: &'a str) -> (&'a str, usize) {
    let mut path = Vec::from([id]);
    loop {
        let last = path.last().copied().unwrap_or(id);
        let parent = rows.get(last).and_then(|row| row.parent_id.as_deref());
        match parent.and_then(|parent| rows.get_key_value(parent)) {
            None => return (last, path.len() - 1),
            Some((parent, _)) => match path.iter().position(|seen| seen == parent) {
                None => path.push(parent),
                Some(start) => {
                    let root = path.iter().skip(start).min().copied().unwrap_or(last);
                    let depth = path.iter().position(|seen| *seen == root).unwrap_or(0);
                    return (root, depth);
                }
            },
        }
    }
}
