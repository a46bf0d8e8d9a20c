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

/// All sessions of a store, and which belongs to which.
#[derive(Debug, Default)]
pub(super) struct Sessions(BTreeMap<String, SessionRow>);

impl Sessions {
    /// Adds a session; a later one of the same id takes the place of the earlier one.
    pub(super) fn add(&mut self, row: SessionRow) {
        self.0.insert(row.id.clone(), row);
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    pub(super) fn get(&self, id: &str) -> Option<&SessionRow> {
        self.0.get(id)
    }

    /// Returns the ids of the sessions that are no other's child, oldest first.
    pub(super) fn roots(&self) -> Vec<&str> {
        let mut roots: Vec<&SessionRow> = self.0.values().filter(|row| self.root_of(&row.id) == row.id).collect();
        roots.sort_by_key(|row| (row.time_created, &row.id));
        roots.into_iter().map(|row| row.id.as_str()).collect()
    }

    /// Returns the session at the top of the one's tree. A session whose parent is not there is its own; of sessions
    /// that are each other's parents it is the first by id.
    pub(super) fn root_of<'a>(&'a self, id: &'a str) -> &'a str {
        let mut path = Vec::from([id]);
        loop {
            let last = path.last().copied().unwrap_or(id);
            let parent = self.0.get(last).and_then(|row| row.parent_id.as_deref());
            match parent.and_then(|parent| self.0.get_key_value(parent)) {
                None => return last,
                Some((parent, _)) => match path.iter().position(|seen| seen == parent) {
                    Some(start) => return path.split_off(start).into_iter().min().unwrap_or(last),
                    None => path.push(parent),
                },
            }
        }
    }

    /// Returns the session and those below it, each after its parent.
    pub(super) fn tree(&self, root: &str) -> Vec<&SessionRow> {
        let mut of_tree: Vec<&SessionRow> = self.0.values().filter(|row| self.root_of(&row.id) == root).collect();
        of_tree.sort_by_key(|row| (self.depth(&row.id, root), row.time_created, &row.id));
        of_tree
    }

    fn depth(&self, id: &str, root: &str) -> usize {
        let mut depth = 0;
        let mut at = id;
        while at != root && depth <= self.0.len() {
            depth += 1;
            at = self.0.get(at).and_then(|row| row.parent_id.as_deref()).unwrap_or(root);
        }
        depth
    }
}
