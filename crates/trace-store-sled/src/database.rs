//! The database of one ledger: its trees, its format, and the one way in which anything is written.

use std::{cell::Cell, convert::Infallible, ops::RangeBounds, path::Path};

use sled::{
    IVec,
    transaction::{ConflictableTransactionResult, TransactionError, Transactional},
};

use crate::{
    changes::Changes,
    error::Cause,
    folder::Folder,
    keys::Key,
    pieces::Joiner,
    rows::{self, Row},
    trees::{FORMAT_KEY, FORMAT_TREE, Tree, Trees},
};

/// The format that this version writes, and the newest that it reads.
const FORMAT: u32 = 2;

/// The format before there were costs. It becomes today's when that tree is made.
const WITHOUT_COSTS: u32 = 1;

/// How many bytes of pages sled keeps in memory.
const CACHE_BYTES: u64 = 64 << 20;

/// An open database, whose folder is nobody else's.
///
/// Fields are dropped in this order: sled has let go of its file when the folder is given back.
#[derive(Debug)]
pub(crate) struct Database {
    trees: Trees,
    sled: sled::Db,
    folder: Folder,
    /// Whether a write failed: then it is unknown what the disk holds, and nothing may be built on it.
    is_broken: Cell<bool>,
}

impl Database {
    /// Opens the database in the folder, which is created if there is none.
    pub(crate) fn open(path: &Path) -> Result<Self, Cause> {
        let folder = Folder::open(path)?;
        let database = sled::Config::new()
            .path(folder.path())
            // A write is synced before it returns; there is nothing that a thread could flush behind it.
            .flush_every_ms(None)
            .cache_capacity(CACHE_BYTES)
            .open()?;
        // Modes are set after this, so that what is no ledger, or a newer one, keeps its own.
        prepare_format(&database)?;
        let trees = Trees::open(&database)?;
        let opened = Self { trees, sled: database, folder, is_broken: Cell::new(false) };
        opened.sled.flush()?;
        opened.folder.settle()?;
        Ok(opened)
    }

    /// Tells whether the database is of no more use.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.get()
    }

    /// Makes the changes, all or none. They are durable when this returns.
    pub(crate) fn commit(&self, changes: Changes) -> Result<(), Cause> {
        let result = self.write(changes);
        self.is_broken.set(result.is_err());
        result
    }

    fn write(&self, changes: Changes) -> Result<(), Cause> {
        let mut trees: Vec<(Tree, &sled::Tree)> = Vec::new();
        let mut entries: Vec<(usize, IVec, Option<IVec>)> = Vec::new();
        for (name, key, value) in changes.into_entries() {
            let tree = self.trees.get(name);
            // What is written goes into the log again, whole, and later once more into its page.
            if tree.get(&key)?.as_deref() == value.as_deref() {
                continue;
            }
            if trees.last().is_none_or(|(last, _)| *last != name) {
                trees.push((name, tree));
            }
            entries.push((trees.len() - 1, IVec::from(Vec::from(key)), value.map(IVec::from)));
        }
        if entries.is_empty() {
            return Ok(());
        }
        let trees: Vec<&sled::Tree> = trees.into_iter().map(|(_, tree)| tree).collect();
        let result = trees.as_slice().transaction(|views| -> ConflictableTransactionResult<(), Infallible> {
            for (tree, key, value) in &entries {
                let view = views.get(*tree).expect("there is a view of each tree that an entry names");
                match value {
                    Some(value) => view.insert(key, value)?,
                    None => view.remove(key)?,
                };
            }
            Ok(())
        });
        match result {
            Ok(()) => {
                self.sled.flush()?;
                Ok(self.folder.sync()?)
            }
            Err(TransactionError::Storage(error)) => Err(error.into()),
            Err(TransactionError::Abort(never)) => match never {},
        }
    }

    /// Returns the bytes of the row under the key, if there is one.
    pub(crate) fn bytes(&self, tree: Tree, key: &Key) -> Result<Option<Vec<u8>>, Cause> {
        let tree = self.trees.get(tree);
        let mut joiner = Joiner::default();
        let Some(first) = tree.get(key)? else { return Ok(None) };
        if let Some(whole) = joiner.add(&first)? {
            return Ok(Some(whole));
        }
        for number in 1.. {
            let Some(piece) = tree.get(key.clone().number(number))? else { break };
            if let Some(whole) = joiner.add(&piece)? {
                return Ok(Some(whole));
            }
        }
        joiner.finish().map(|()| None)
    }

    /// Returns the row under the key, if there is one.
    pub(crate) fn row<R: Row>(&self, tree: Tree, key: &Key) -> Result<Option<R>, Cause> {
        self.bytes(tree, key)?.map(|bytes| rows::decode(&bytes)).transpose()
    }

    /// Returns the row to which an entry of another tree led.
    pub(crate) fn row_at<R: Row>(&self, tree: Tree, key: &Key) -> Result<R, Cause> {
        let missing = || Cause::Damaged(format!("an index leads to a {} that is not there", R::ENTITY));
        self.row(tree, key)?.ok_or_else(missing)
    }

    /// Returns the rows whose keys begin so, by their keys.
    pub(crate) fn rows<R: Row>(&self, tree: Tree, beginning: &Key) -> Result<Vec<R>, Cause> {
        let mut joiner = Joiner::default();
        let mut found = Vec::new();
        for entry in self.trees.get(tree).scan_prefix(beginning) {
            if let Some(whole) = joiner.add(&entry?.1)? {
                found.push(rows::decode(&whole)?);
            }
        }
        joiner.finish()?;
        Ok(found)
    }

    /// Returns the entry under the key, which is no row.
    pub(crate) fn entry(&self, tree: Tree, key: &Key) -> Result<Option<IVec>, Cause> {
        Ok(self.trees.get(tree).get(key)?)
    }

    /// Returns the keys that begin so, with their values.
    pub(crate) fn entries(
        &self,
        tree: Tree,
        beginning: &Key,
    ) -> impl DoubleEndedIterator<Item = Result<(Key, IVec), Cause>> {
        self.trees.get(tree).scan_prefix(beginning).map(entry)
    }

    /// Returns the keys in the range, with their values.
    pub(crate) fn range(
        &self,
        tree: Tree,
        range: impl RangeBounds<Key>,
    ) -> impl DoubleEndedIterator<Item = Result<(Key, IVec), Cause>> {
        self.trees.get(tree).range(range).map(entry)
    }
}

fn entry(entry: sled::Result<(IVec, IVec)>) -> Result<(Key, IVec), Cause> {
    let (key, value) = entry?;
    Ok((Key::from(&*key), value))
}

/// Checks that the database is a ledger of a format that is known, and makes an empty one a ledger of the newest. A
/// database that is anything else stays as it is.
fn prepare_format(database: &sled::Db) -> Result<(), Cause> {
    let names = database.tree_names();
    let has_format = names.iter().any(|name| *name == FORMAT_TREE);
    let format = if has_format { database.open_tree(FORMAT_TREE)?.get(FORMAT_KEY)? } else { None };
    match format.as_deref().map(std::str::from_utf8) {
        Some(text) => match text.ok().and_then(|text| text.parse::<u32>().ok()) {
            Some(FORMAT) => Ok(()),
            Some(WITHOUT_COSTS) => set_format(database),
            Some(found) if found > FORMAT => Err(Cause::Future { found, supported: FORMAT }),
            _ => Err(Cause::Damaged(String::from("its format is no number that a ledger has"))),
        },
        // The default tree is there always, and the other one may be all that a power cut left of a new ledger.
        None if database.is_empty() && names.len() <= 1 + usize::from(has_format) => set_format(database),
        None => Err(Cause::Damaged(String::from("it is a sled database, but no ledger"))),
    }
}

fn set_format(database: &sled::Db) -> Result<(), Cause> {
    database.open_tree(FORMAT_TREE)?.insert(FORMAT_KEY, FORMAT.to_string().as_bytes())?;
    Ok(())
}
