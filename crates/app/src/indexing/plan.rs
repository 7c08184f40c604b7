//! What has to be done to an index so that it is that of a tree.

use std::collections::HashMap;

use spore_store::{KnownFile, SkippedFile, Stamp};

use super::listing::{Found, Listing};
use super::reading::TOO_LARGE;
use super::scope::Scope;

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
    pub(super) fn of(
        listing: Listing,
        known: Vec<KnownFile>,
        skipped: Vec<SkippedFile>,
        scope: &Scope,
        most: u64,
    ) -> Self {
        let mut plan = Self::default();
        let mut known: HashMap<String, KnownFile> =
            known.into_iter().map(|file| (file.path.clone(), file)).collect();
        let mut skipped: HashMap<String, SkippedFile> =
            skipped.into_iter().map(|file| (file.path.clone(), file)).collect();
        for found in listing.files {
            let (file, left_out) = (known.remove(&found.path), skipped.remove(&found.path));
            if found.stamp.size > most {
                plan.leave_out(&found.path, TOO_LARGE, found.stamp, left_out.as_ref());
                plan.removed.extend(file);
            } else if file.as_ref().is_some_and(|file| same(&found, file.stamp, &file.blob)) {
                plan.unchanged += 1;
            } else if left_out.as_ref().is_none_or(|file| {
                file.reason == TOO_LARGE || !same(&found, file.stamp, &file.blob)
            }) {
                plan.jobs.push(Job { found, known: file, was_skipped: left_out.is_some() });
            }
        }
        for (path, reason) in listing.unlisted {
            let left_out = skipped.remove(&path);
            plan.leave_out(&path, reason, Stamp::default(), left_out.as_ref());
        }
        let gone = known.into_values().filter(|file| scope.holds(&file.path, &file.language));
        plan.removed.extend(gone);
        plan.removed.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        plan.unskipped.extend(skipped.into_keys().filter(|path| scope.holds_path(path)));
        plan
    }

    fn leave_out(&mut self, path: &str, reason: &str, stamp: Stamp, before: Option<&SkippedFile>) {
        if before.is_none_or(|before| before.reason != reason) {
            let (path, reason) = (path.to_owned(), reason.to_owned());
            self.skipped.push(SkippedFile { path, reason, stamp, blob: Vec::new() });
        }
    }
}

/// Returns whether a file is the one that is known, as far as can be told without reading it.
fn same(found: &Found, stamp: Stamp, blob: &[u8]) -> bool {
    match &found.object {
        Some((_, object)) => object == blob,
        None => stamp.mtime_ns != 0 && stamp == found.stamp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::indexing::classes::Class;

    fn found(path: &str, size: u64, mtime_ns: i64) -> Found {
        let stamp = Stamp { size, mtime_ns, inode: 1 };
        Found { path: path.to_owned(), class: Class::Text, stamp, object: None }
    }

    fn known(path: &str, size: u64, mtime_ns: i64) -> KnownFile {
        KnownFile {
            no: 1,
            path: path.to_owned(),
            language: String::new(),
            stamp: Stamp { size, mtime_ns, inode: 1 },
            blob: vec![1],
        }
    }

    fn check(scope: &Scope, expected: (&[&str], &[&str], u64)) {
        let files = vec![found("a", 1, 5), found("b", 1, 6), found("c", 1, 5), found("d", 9, 5)];
        let before = vec![known("a", 1, 5), known("b", 1, 5), known("d", 1, 5), known("x/e", 1, 5)];
        let listing = Listing { files, ..Listing::default() };
        let plan = Plan::of(listing, before, Vec::new(), scope, 8);
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
    fn a_stamp_that_is_not_trusted_is_never_the_same() {
        assert!(!same(&found("a", 1, 0), Stamp { size: 1, mtime_ns: 0, inode: 1 }, &[]));
    }
}
