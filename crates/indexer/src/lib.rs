//! Files into an index: makes the index of a tree and keeps it up to date.
//!
//! There are two kinds of trees. The work tree has one index, `index.db`, which each call
//! brings up to date; a tree of git has one of its own, `index/<tree>.db`, which never changes
//! once it is finished, so that a run sees the code of its base commit whatever happens to the
//! files meanwhile. It is made from the nearest index there is, by the same steps as any other
//! change.
//!
//! An index is derived and can be made anew at any time. What is made in one go is made beside
//! and moved into place; what is changed is changed in one transaction. So a process that is
//! killed leaves the index as it was. One process at a time works on an index; a second one
//! that wants the same waits and uses what the first one made.
//!
//! The caller hands in paths, settings, a clock and where to find git: nothing here reads the
//! configuration or looks for a project. What source text means is decided in the crate
//! `index`, and all SQL is in `store`.

mod class;
mod cochange;
mod comparison;
mod encoding;
mod error;
mod file_list;
mod history;
mod identity;
mod indexer;
mod lean;
mod place;
mod plan;
mod progress;
mod read;
mod renames;
mod report;
mod resolution;
mod scope;
mod settings;
mod sink;
#[cfg(test)]
mod tests;
mod texts;
mod trees;
mod update;
mod vectors;
mod watch;
mod words;
mod write;

pub use error::IndexerError;
pub use identity::node_key;
pub use indexer::{IndexMode, Indexer};
pub use progress::{IndexPhase, PhaseTime, Reporter, Silent};
pub use report::IndexReport;
pub use scope::{IndexScope, path_from_root};
pub use settings::IndexSettings;
pub use texts::has_all_vectors;
pub use trees::open_as_is;
pub use vectors::{FillState, Filled, VectorFiller, vectors_file};
