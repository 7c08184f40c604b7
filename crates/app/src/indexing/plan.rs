//! What has to be done to an index so that it is that of a tree.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxBuildHasher;
use spore_store::{FileStamp, KnownFile, KnownState, KnownTree, KnownTreeFile, SkippedFile};

use super::listing::{Found, Listing};
use super::reading::TOO_LARGE;
use super::scope::Scope;

/// What is known, ready to be asked about files as they are found, on any thread.
pub(super) struct Comparison<'k> {
    known: &'k KnownTree,
    places: HashMap<&'k str, usize, FxBuildHasher>,
    /// By place: whether the file is still there.
    seen: Vec<AtomicBool>,
    /// Files of more bytes are left out.
    most: u64,
}

impl<'k> Comparison<'k> {
    pub(super) fn with(known: &'k KnownTree, most: u64) -> Self {
        let places = known.iter().enumerate().map(|(place, file)| (file.path, place)).collect();
        let seen = (0..known.len()).map(|_| AtomicBool::new(false)).collect();
        Self { known, places, seen, most }
    }

    /// Returns how many files are known.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Returns where a file is among those that are known.
    pub(super) fn place_of(&self, path: &str) -> Option<usize> {
        self.places.get(path).copied()
    }

    /// Returns whether a known file looks like it did, so that there is nothing to do about
    /// it; the answer says whether it is one that was read.
    pub(super) fn settles(&self, place: usize, stamp: FileStamp) -> Option<Unchanged> {
        let known = self.known.get(place)?;
        let same = is_same(&known, stamp, None);
        let settled = match known.state {
            KnownState::Read { .. } if same && stamp.size <= self.most => Unchanged::Read,
            KnownState::LeftOut { reason } if (reason == TOO_LARGE) == (stamp.size > self.most) => {
                (same || reason == TOO_LARGE).then_some(Unchanged::LeftOut)?
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
    fn take(&self, path: &str) -> Option<KnownTreeFile<'k>> {
        let place = self.place_of(path)?;
        self.see(place);
        self.known.get(place)
    }

    /// Returns what is known and was not met.
    fn rest(&self) -> impl Iterator<Item = KnownTreeFile<'k>> {
        let unseen = self.seen.iter().enumerate().filter(|(_, seen)| !seen.load(Ordering::Relaxed));
        unseen.filter_map(|(place, _)| self.known.get(place))
    }
}

/// A file about which there is nothing to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unchanged {
    Read,
    LeftOut,
}

/// A file to read, and what is known of it.
pub(super) struct Job {
    pub(super) found: Found,
    pub(super) known: Option<KnownFile>,
    pub(super) was_skipped: bool,
}

#[derive(Default)]
pub(super) struct Plan {
    pub(super) jobs: Vec<Job>,
    pub(super) removed: Vec<KnownFile>,
    /// Left out without being read.
    pub(super) skipped: Vec<SkippedFile>,
    /// Those that were left out and are not there any more.
    pub(super) unskipped: Vec<String>,
    pub(super) unchanged: u64,
}

impl Plan {
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
            && self.removed.is_empty()
            && self.skipped.is_empty()
            && self.unskipped.is_empty()
    }

    /// Returns how many files are to be read or removed.
    pub(super) fn files(&self) -> u64 {
        (self.jobs.len() + self.removed.len()) as u64
    }

    /// Compares what there is with what is known.
    pub(super) fn of(listing: Listing, comparison: &Comparison<'_>, scope: &Scope) -> Self {
        let mut plan = Self { unchanged: listing.unchanged, ..Self::default() };
        for found in listing.files {
            let before = comparison.take(&found.path);
            let same = before.is_some_and(|before| {
                is_same(&before, found.stamp, found.object.as_ref().map(|(_, blob)| &blob[..]))
            });
            let left_out = before.and_then(|before| reason_of(&before));
            let known = || before.and_then(|before| before.to_file());
            if found.stamp.size > comparison.most {
                plan.leave_out(&found.path, TOO_LARGE, found.stamp, left_out);
                plan.removed.extend(known());
            } else if same && left_out.is_none() {
                plan.unchanged += 1;
            } else if !same || left_out == Some(TOO_LARGE) {
                let (known, was_skipped) = (known(), left_out.is_some());
                plan.jobs.push(Job { found, known, was_skipped });
            }
        }
        for (path, reason) in listing.unlisted {
            let left_out = comparison.take(&path).and_then(|before| reason_of(&before));
            plan.leave_out(&path, reason, FileStamp::default(), left_out);
        }
        for gone in comparison.rest() {
            match gone.state {
                KnownState::Read { language, .. } if scope.holds(gone.path, language) => {
                    plan.removed.extend(gone.to_file());
                }
                KnownState::LeftOut { .. } if scope.holds_path(gone.path) => {
                    plan.unskipped.push(gone.path.to_owned());
                }
                _ => {}
            }
        }
        plan.removed.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        plan
    }

    fn leave_out(&mut self, path: &str, reason: &str, stamp: FileStamp, before: Option<&str>) {
        if before != Some(reason) {
            let (path, reason) = (path.to_owned(), reason.to_owned());
            self.skipped.push(SkippedFile { path, reason, stamp, blob: Vec::new() });
        }
    }
}

/// Why a file was left out; nothing if it was read.
fn reason_of<'k>(known: &KnownTreeFile<'k>) -> Option<&'k str> {
    match known.state {
        KnownState::LeftOut { reason } => Some(reason),
        KnownState::Read { .. } => None,
    }
}

/// Returns whether a file is the one that is known, as far as can be told without reading it:
/// by git's name of the content where there is one, else by its looks.
fn is_same(known: &KnownTreeFile<'_>, stamp: FileStamp, object: Option<&[u8]>) -> bool {
    match object {
        Some(object) => object == known.blob,
        None => known.stamp.mtime_ns != 0 && known.stamp == stamp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::indexing::classes::Class;

    fn found(path: &str, size: u64, mtime_ns: i64) -> Found {
        let stamp = FileStamp { size, mtime_ns, inode: 1 };
        Found { path: path.to_owned(), class: Class::Text, stamp, object: None }
    }

    fn known(path: &str, size: u64, mtime_ns: i64) -> KnownFile {
        KnownFile {
            no: 1,
            path: path.to_owned(),
            language: String::new(),
            stamp: FileStamp { size, mtime_ns, inode: 1 },
            blob: vec![1],
        }
    }

    fn before() -> KnownTree {
        [known("a", 1, 5), known("b", 1, 5), known("d", 1, 5), known("x/e", 1, 5)]
            .into_iter()
            .collect()
    }

    fn files() -> Vec<Found> {
        vec![found("a", 1, 5), found("b", 1, 6), found("c", 1, 5), found("d", 9, 5)]
    }

    fn check(scope: &Scope, expected: (&[&str], &[&str], u64)) {
        let before = before();
        let comparison = Comparison::with(&before, 8);
        let listing = Listing { files: files(), ..Listing::default() };
        let plan = Plan::of(listing, &comparison, scope);
        let jobs: Vec<&str> = plan.jobs.iter().map(|job| job.found.path.as_str()).collect();
        let removed: Vec<&str> = plan.removed.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((jobs.as_slice(), removed.as_slice(), plan.unchanged), expected);
    }

    #[test]
    fn only_what_looks_different_is_read_and_what_is_gone_is_removed() {
        check(&Scope::default(), (&["b", "c"], &["d", "x/e"], 1));
    }

    #[test]
    fn what_is_out_of_scope_is_not_gone() {
        check(&Scope::of_paths(vec!["a".into(), "b".into()]), (&["b", "c"], &["d"], 1));
    }

    #[test]
    fn what_is_settled_on_the_way_is_neither_listed_nor_gone() {
        let before = before();
        let comparison = Comparison::with(&before, 8);
        let mut listing = Listing::default();
        for file in files() {
            let settled = comparison
                .place_of(&file.path)
                .and_then(|place| comparison.settles(place, file.stamp));
            match settled {
                Some(_) => listing.unchanged += 1,
                None => listing.files.push(file),
            }
        }
        assert_eq!((listing.unchanged, listing.files.len()), (1, 3));
        let plan = Plan::of(listing, &comparison, &Scope::default());
        let removed: Vec<&str> = plan.removed.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((plan.jobs.len(), removed, plan.unchanged), (2, vec!["d", "x/e"], 1));
    }

    #[test]
    fn a_stamp_that_is_not_trusted_is_never_the_same() {
        let before: KnownTree = [known("a", 1, 0)].into_iter().collect();
        let comparison = Comparison::with(&before, 8);
        assert_eq!(comparison.settles(0, FileStamp { size: 1, mtime_ns: 0, inode: 1 }), None);
    }
}
