//! Text for people: the parts that views are made of, and the views, one file each.

pub(crate) mod bar;
pub(crate) mod cut;
pub(crate) mod escape;
pub(crate) mod figures;
pub(crate) mod status;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod tree;

pub(crate) mod agents;
pub(crate) mod attribution;
pub(crate) mod content;
pub(crate) mod context;
pub(crate) mod events;
pub(crate) mod launch;
pub(crate) mod launches;
pub(crate) mod looks;
pub(crate) mod reservations;
pub(crate) mod run;
pub(crate) mod usage;
