//! What has to be done to an index so that it is that of a tree.

use spore_store::{FileStamp, KnownFile, KnownState, KnownTreeFile, SkippedFile};

use crate::comparison::{TOO_LARGE, TreeComparison, is_same};
use crate::file_list::{FileList, ListedFile};
use crate::scope::IndexScope;

/// A file to read, and what is known of it.
pub(crate) struct ReadJob {
    pub(crate) found: ListedFile,
    pub(crate) known: Option<KnownFile>,
    pub(crate) was_skipped: bool,
}

/// What has to be done, file by file.
#[derive(Default)]
pub(crate) struct IndexPlan {
    pub(crate) jobs: Vec<ReadJob>,
    pub(crate) removed: Vec<KnownFile>,
    /// Left out without being read.
    pub(crate) skipped: Vec<SkippedFile>,
    /// Those that were left out and are not there any more.
    pub(crate) unskipped: Vec<String>,
    pub(crate) unchanged: u64,
}

impl IndexPlan {
    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
            && self.removed.is_empty()
            && self.skipped.is_empty()
            && self.unskipped.is_empty()
    }

    /// Returns how many files are to be read or removed.
    pub(crate) fn files(&self) -> u64 {
        (self.jobs.len() + self.removed.len()) as u64
    }

    /// Compares what there is with what is known.
    pub(crate) fn of(list: FileList, comparison: &TreeComparison<'_>, scope: &IndexScope) -> Self {
        let mut plan = Self { unchanged: list.unchanged, ..Self::default() };
        for found in list.files {
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
                plan.jobs.push(ReadJob { found, known, was_skipped });
            }
        }
        for (path, reason) in list.unlisted {
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

#[cfg(test)]
mod tests {
    use spore_store::KnownTree;

    use super::*;
    use crate::class::FileClass;

    fn found(path: &str, size: u64, mtime_ns: i64) -> ListedFile {
        let stamp = FileStamp { size, mtime_ns, inode: 1 };
        ListedFile { path: path.to_owned(), class: FileClass::Text, stamp, object: None }
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

    fn files() -> Vec<ListedFile> {
        vec![found("a", 1, 5), found("b", 1, 6), found("c", 1, 5), found("d", 9, 5)]
    }

    fn check(scope: &IndexScope, expected: (&[&str], &[&str], u64)) {
        let before = before();
        let comparison = TreeComparison::with(&before, 8);
        let list = FileList { files: files(), ..FileList::default() };
        let plan = IndexPlan::of(list, &comparison, scope);
        let jobs: Vec<&str> = plan.jobs.iter().map(|job| job.found.path.as_str()).collect();
        let removed: Vec<&str> = plan.removed.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((jobs.as_slice(), removed.as_slice(), plan.unchanged), expected);
    }

    #[test]
    fn only_what_looks_different_is_read_and_what_is_gone_is_removed() {
        check(&IndexScope::default(), (&["b", "c"], &["d", "x/e"], 1));
    }

    #[test]
    fn what_is_out_of_scope_is_not_gone() {
        check(&IndexScope::of_paths(vec!["a".into(), "b".into()]), (&["b", "c"], &["d"], 1));
    }

    #[test]
    fn what_is_settled_on_the_way_is_neither_listed_nor_gone() {
        let before = before();
        let comparison = TreeComparison::with(&before, 8);
        let mut list = FileList::default();
        for file in files() {
            let settled = comparison
                .place_of(&file.path)
                .and_then(|place| comparison.settles(place, file.stamp));
            match settled {
                Some(_) => list.unchanged += 1,
                None => list.files.push(file),
            }
        }
        assert_eq!((list.unchanged, list.files.len()), (1, 3));
        let plan = IndexPlan::of(list, &comparison, &IndexScope::default());
        let removed: Vec<&str> = plan.removed.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((plan.jobs.len(), removed, plan.unchanged), (2, vec!["d", "x/e"], 1));
    }

    #[test]
    fn a_stamp_that_is_not_trusted_is_never_the_same() {
        let before: KnownTree = [known("a", 1, 0)].into_iter().collect();
        let comparison = TreeComparison::with(&before, 8);
        assert_eq!(comparison.settles(0, FileStamp { size: 1, mtime_ns: 0, inode: 1 }), None);
    }
}
