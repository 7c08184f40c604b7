//! Which files were touched, without reading any.
//!
//! A file's inode and the time of its last change of any kind tell: no program can set that time,
//! other than the time of writing. A file that still has both was neither written nor put in the
//! place of another, not even for a moment.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What is known of a file or link, by which a touched one is found out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct TouchStamp {
    inode: u64,
    /// Seconds and nanoseconds.
    changed: (i64, i64),
    pub(crate) size: u64,
}

impl TouchStamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Self { inode: metadata.ino(), changed, size: metadata.size() }
    }
}

/// The tracked files of a checkout as they were at one moment.
pub struct TrackedFiles {
    work: PathBuf,
    stamps: BTreeMap<String, Option<TouchStamp>>,
}

impl TrackedFiles {
    /// Looks at the files called `names` in `work`.
    pub fn look(work: &Path, names: impl IntoIterator<Item = String>) -> Self {
        let stamps = names.into_iter().map(|name| {
            let stamp = stamp(&work.join(&name));
            (name, stamp)
        });
        Self { work: work.to_owned(), stamps: stamps.collect() }
    }

    /// Looks again and returns those that were touched since, in order of their names.
    pub fn touched(&mut self) -> Vec<String> {
        let mut touched = Vec::new();
        for (name, known) in &mut self.stamps {
            let now = stamp(&self.work.join(name));
            if now != *known {
                touched.push(name.clone());
                *known = now;
            }
        }
        touched
    }
}

fn stamp(path: &Path) -> Option<TouchStamp> {
    fs::symlink_metadata(path).ok().as_ref().map(TouchStamp::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_changed_and_changed_back_was_touched() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["a", "b", "c", "d", "e"].map(str::to_owned);
        for name in &names[..4] {
            fs::write(dir.path().join(name), name).unwrap();
        }
        let mut files = TrackedFiles::look(dir.path(), names);
        assert_eq!(files.touched(), Vec::<String>::new());
        let at = |name: &str| dir.path().join(name);
        let times = fs::metadata(at("a")).unwrap().modified().unwrap();
        fs::write(at("a"), "other").unwrap();
        fs::write(at("a"), "a").unwrap();
        fs::File::options().write(true).open(at("a")).unwrap().set_modified(times).unwrap();
        fs::write(at("aside"), "b").unwrap();
        fs::rename(at("aside"), at("b")).unwrap();
        fs::remove_file(at("c")).unwrap();
        fs::write(at("e"), "").unwrap();
        assert_eq!(files.touched(), ["a", "b", "c", "e"]);
        assert_eq!(files.touched(), Vec::<String>::new());
    }
}
