//! The trees of the database. `keys` says what is in them.

/// The tree that says which format the others have.
pub(crate) const FORMAT_TREE: &str = "format";
/// Its only key.
pub(crate) const FORMAT_KEY: &str = "version";

/// Declares the trees, each with its name in sled.
macro_rules! trees {
    ($($tree:ident = $name:ident,)+) => {
        /// A tree of the ledger; all but the one of the format.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Tree {
            $($tree,)+
        }

        /// All trees, open.
        #[derive(Debug)]
        pub(crate) struct Trees {
            $($name: sled::Tree,)+
        }

        impl Trees {
            /// Opens the trees, and makes those that are missing.
            pub(crate) fn open(database: &sled::Db) -> sled::Result<Self> {
                Ok(Self { $($name: database.open_tree(stringify!($name))?,)+ })
            }

            pub(crate) const fn get(&self, tree: Tree) -> &sled::Tree {
                match tree {
                    $(Tree::$tree => &self.$name,)+
                }
            }
        }
    };
}

trees! {
    Launches = launches,
    LaunchesByStart = launches_by_start,
    LaunchesByEndOfId = launches_by_end_of_id,
    LaunchesByRun = launches_by_run,
    LaunchesByParent = launches_by_parent,
    LaunchesBySession = launches_by_session,
    Turns = turns,
    TurnsById = turns_by_id,
    Assets = assets,
    Decisions = decisions,
    Usage = usage,
    Requests = requests,
    Costs = costs,
    Reservations = reservations,
    ReservationsByRun = reservations_by_run,
}
