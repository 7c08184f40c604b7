//! The values that decide how an index is made.

use std::time::Duration;

/// The values that decide how an index is made; the caller reads them from its configuration.
#[derive(Clone, PartialEq, Debug)]
pub struct IndexSettings {
    /// Threads that read and parse; 0 is one for each core.
    pub threads: u32,
    /// Files of more bytes are left out.
    pub max_file_bytes: u64,
    /// How many of the newest commits are looked at for what changed together.
    pub history: u32,
    /// A commit that touches more files says nothing about any two of them.
    pub max_commit_files: u32,
    /// After this time a commit counts half.
    pub half_life: Duration,
    /// How many companions a file has at most: files that change along with it.
    pub companions: u32,
    /// Two files that changed together less often, from 0 to 1, did so by chance.
    pub least_together: f64,
    /// How many indexes of trees of git are kept.
    pub keep_trees: u32,
    /// How long it has to be quiet before a watched tree is looked at.
    pub debounce: Duration,
    /// How long to wait for another process that uses the same index.
    pub busy_timeout: Duration,
}

/// Returns how many threads a setting means, where 0 is one for each core.
pub(crate) fn thread_count(threads: u32) -> usize {
    match usize::try_from(threads) {
        Ok(0) | Err(_) => std::thread::available_parallelism().map_or(1, usize::from),
        Ok(threads) => threads,
    }
}
