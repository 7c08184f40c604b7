//! What else is kept about files beside their rows and edges: words, and hashes of texts.

use std::any::Any;

use spore_index::FileFacts;
use spore_store::{FileNo, NodeNo, Writer};

use crate::error::Result;

/// A file as it passes by.
pub(crate) struct SeenFile<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
    /// None for plain text.
    pub(crate) facts: Option<&'a FileFacts>,
}

/// Keeps something about files, in the same transaction as their rows.
///
/// Every file that is new or changed passes here once, and every one that is changed or gone
/// is announced before. Both come from the thread that writes; only `prepare` is called on
/// many threads at once, and is the place for what takes time.
pub(crate) trait FileSink: Sync {
    fn prepare(&self, seen: &SeenFile<'_>) -> Box<dyn Any + Send>;

    /// Keeps what was prepared. `items` are the nodes of the facts' items, in their order.
    fn store(
        &self,
        writer: &mut Writer<'_>,
        file: FileNo,
        items: &[NodeNo],
        prepared: Box<dyn Any + Send>,
    ) -> Result<()>;

    fn forget(&self, writer: &mut Writer<'_>, file: FileNo) -> Result<()>;

    /// All files have passed: what is held for them can be written and let go, before names
    /// are resolved and memory is wanted for that.
    fn settle(&self, writer: &mut Writer<'_>) -> Result<()>;

    /// Comes last, when all files have passed and the history is known.
    fn finish(&self, writer: &mut Writer<'_>) -> Result<()>;
}
