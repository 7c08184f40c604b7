//! What Spore remembers: the journal of its runs, what it knows, and the spine of events.
//!
//! All SQL of the product is in this crate, and no type of the database library leaves it.
//! The [`Journal`] is a small synchronous trait whose methods are one transaction each, so
//! that a process killed anywhere leaves either all of a step or none of it; the embedded
//! [`SqliteJournal`] is the implementation that needs no service. [`Knowledge`] is its
//! neighbour in the same file: the graph of everything that is not code. The [`spine`] is
//! files: one event a line, for people, scripts and memory to read.
//!
//! Journal and spine are tied by an outbox. Our own events are rows of the same transaction
//! as what they tell of, and [`spine::flush`] moves them to the files, each exactly once.
//!
//! Nothing here decides anything about a run, looks at the clock or starts a program.

mod code_index;
mod journal;
mod knowledge;
pub mod spine;
mod sqlite;

pub use code_index::{
    CODE_INDEX_VERSION, CodeCounts, CodeEdge, CodeIndex, CodeIndexError, CodeIndexOpenError,
    CommitRow, FileMarks, FileNo, FileRow, FileStamp, ItemRow, KnownFile, KnownState, KnownTree,
    KnownTreeFile, LoggedCommit, Namesake, NodeKey, NodeNo, PastCommit, SegmentKind, SegmentNo,
    Segments, SkippedFile, StoredEdge, StoredFile, StoredItem, StoredVisibility, TermLists, TextOf,
    TextParts, UnitDetails, UnitRow, UnitSpot, Writer,
};
pub use journal::{
    Cause, FigureRow, Journal, JournalError, LeastTime, PendingEvent, ProcessRow, RecordedStep,
    RunChange, RunQuery, Spending, SpendingBy, StepBegun, StepEntry,
};
pub use knowledge::{
    Added, Counts, EdgeCounts, EdgeQuery, GcQuery, KindCount, Knowledge, KnowledgeError,
    MAX_CANDIDATES, MIN_TYPED, NodeQuery, RemovedNodes, Succession,
};
pub use sqlite::{OpenError, OpenOptions, SqliteJournal, SqliteKnowledge};
