//! Investigation: what a directory holds, told by counting first and by a model later.
//!
//! The base scan here needs no model, no git and no project. It reads each file once and
//! gives a [`Tree`]: sizes, categories, languages and lines (tokei's), and a hash for every
//! file and directory. From it come the [`ScanReport`] that people read, the entries that the
//! graph keeps ([`Counting`]), and, by the hashes alone, which entries of last time still hold
//! ([`EntryStaleness`]).
//!
//! One decision shapes it: a hash is of content, never of times, so that a summary is stale
//! when its place has changed and at no other time.
//!
//! It reads files and writes nothing: recording a run and its artefacts is the business of
//! `app`. The clock is the caller's.

pub mod artefacts;
mod brief;
mod category;
mod counted;
pub mod document;
mod entry;
mod file_reader;
mod hash;
mod mime;
mod outline;
pub mod passes;
mod report;
mod scope;
mod shown;
mod signals;
mod staleness;
mod tree;
mod walk;

use std::path::PathBuf;

pub use category::Category;
pub use counted::{CountedEntry, Counting};
pub use entry::{EntryKind, EntryProblem, InvestigationEntry, problems};
pub use file_reader::ScannedKind;
pub use hash::Hash;
pub use mime::mime_of;
pub use outline::{Branch, BranchKind};
pub use report::{
    ClassifiedFile, DiskUse, LanguageRow, LargeFile, LineCounts, PlainFile, RecentFile,
    ReportInput, ScanReport, ScanTotals, Unreadable,
};
pub use scope::{KEPT_OUT, ScanLimits, ScanScope};
pub use shown::{age_text, number_text, path_text, size_text};
pub use signals::{SurveySignals, WordCount};
pub use staleness::{EntryPlace, EntryStaleness};
pub use tree::{Dir, DirSums, File, ScanProgress, ScanWatch, Tree};

/// Why a directory could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    #[error("{path} cannot be read", path = spore_plain::path(.path))]
    Target {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// What was to be left out cannot be understood.
    #[error("{pattern:?} is no name or pattern to leave out: {reason}")]
    Pattern { pattern: String, reason: String },
    /// The caller asked to stop; nothing was changed.
    #[error("the scan was stopped")]
    Stopped,
}
