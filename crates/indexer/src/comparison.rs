//! Compares files as they are found with what an index knows of them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxBuildHasher;
use spore_store::{FileStamp, KnownState, KnownTree, KnownTreeFile};

/// Why a file is left out whose size alone decides.
pub(crate) const TOO_LARGE: &str = "too large";

/// What is known, ready to be asked about files as they are found, on any thread.
pub(crate) struct TreeComparison<'k> {
    known: &'k KnownTree,
    places: HashMap<&'k str, usize, FxBuildHasher>,
    /// By place: whether the file is still there.
    seen: Vec<AtomicBool>,
    /// Files of more bytes are left out.
    pub(crate) most: u64,
}

impl<'k> TreeComparison<'k> {
    pub(crate) fn with(known: &'k KnownTree, most: u64) -> Self {
        let places = known.iter().enumerate().map(|(place, file)| (file.path, place)).collect();
        let seen = (0..known.len()).map(|_| AtomicBool::new(false)).collect();
        Self { known, places, seen, most }
    }

    /// Returns how many files are known.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// Returns where a file is among those that are known.
    pub(crate) fn place_of(&self, path: &str) -> Option<usize> {
        self.places.get(path).copied()
    }

    /// Returns whether a known file looks like it did, so that there is nothing to do about
    /// it; the answer says whether it is one that was read.
    pub(crate) fn settles(&self, place: usize, stamp: FileStamp) -> Option<UnchangedFile> {
        let known = self.known.get(place)?;
        let same = is_same(&known, stamp, None);
        let settled = match known.state {
            KnownState::Read { .. } if same && stamp.size <= self.most => UnchangedFile::Read,
            KnownState::LeftOut { reason } if (reason == TOO_LARGE) == (stamp.size > self.most) => {
                (same || reason == TOO_LARGE).then_some(UnchangedFile::LeftOut)?
            }
            _ => return None,
        };
        self.see(place);
        Some(settled)
    }

    fn see(&self, place: usize) {
        if let Some(seen) = self.seen.get(place) {
            seen.store(true, Ordering::Relaxed);
        }
    }

    /// Returns what is known of a path, which is there.
    pub(crate) fn take(&self, path: &str) -> Option<KnownTreeFile<'k>> {
        let place = self.place_of(path)?;
        self.see(place);
        self.known.get(place)
    }

    /// Returns what is known and was not met.
    pub(crate) fn rest(&self) -> impl Iterator<Item = KnownTreeFile<'k>> {
        let unseen = self.seen.iter().enumerate().filter(|(_, seen)| !seen.load(Ordering::Relaxed));
        unseen.filter_map(|(place, _)| self.known.get(place))
    }
}

/// A file about which there is nothing to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UnchangedFile {
    Read,
    LeftOut,
}

/// Returns whether a file is the one that is known, as far as can be told without reading it:
/// by git's name of the content where there is one, else by its looks.
pub(crate) fn is_same(known: &KnownTreeFile<'_>, stamp: FileStamp, object: Option<&[u8]>) -> bool {
    match object {
        Some(object) => object == known.blob,
        None => known.stamp.mtime_ns != 0 && known.stamp == stamp,
    }
}
