//! Which files there are: in a work tree, or in a tree of git.
//!
//! Both give the same kind of list. In a work tree the ignore files count, hidden files do
//! not, and no link is followed: what it leads to is either in the tree by itself or not part
//! of the project. A tree of git has what is in it, hidden files and `.sporeignore` apart.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Mutex;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{WalkBuilder, WalkState};
use spore_git::Repository;
use spore_model::TreeId;
use spore_store::FileStamp;

use crate::class::FileClass;
use crate::comparison::{TreeComparison, UnchangedFile};
use crate::error::{IndexerError, Result};
use crate::identity::blob_of_hex;
use crate::scope::IndexScope;

/// The name of the file that says what is not to be indexed, beside git's.
const IGNORE_FILE: &str = ".sporeignore";

/// A file that may be worth reading.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ListedFile {
    pub(crate) path: String,
    pub(crate) class: FileClass,
    pub(crate) stamp: FileStamp,
    /// Where git knows the content: its name, in hex and in bytes.
    pub(crate) object: Option<(String, Vec<u8>)>,
}

/// All files of a tree that are in the scope.
#[derive(Debug, Default)]
pub(crate) struct FileList {
    /// By path; without those that turned out to be unchanged on the way.
    pub(crate) files: Vec<ListedFile>,
    /// How many of those there were.
    pub(crate) unchanged: u64,
    /// What could not even be listed, with the reason.
    pub(crate) unlisted: Vec<(String, &'static str)>,
    /// Files that no index is for.
    pub(crate) others: u64,
}

impl FileList {
    fn sorted(mut self) -> Self {
        self.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.unlisted.sort_unstable();
        self
    }
}

/// A tree of fewer files is walked by one thread: before a second one has found something to
/// do, the first is done.
const FEW_FILES: usize = 1_000;

/// Lists a work tree. What is known and looks like it did is only counted.
pub(crate) fn of_directory(
    root: &Path,
    scope: &IndexScope,
    comparison: &TreeComparison<'_>,
    threads: usize,
) -> FileList {
    let is_small = (1..FEW_FILES).contains(&comparison.len());
    let parts: Mutex<FileList> = Mutex::default();
    let walk = walker(root, scope, if is_small { 1 } else { threads });
    let lister = FileLister { root, scope, comparison };
    walk.run(|| {
        let mut part = ThreadFileList { list: FileList::default(), whole: &parts };
        let lister = &lister;
        Box::new(move |entry| {
            lister.see(entry, &mut part.list);
            WalkState::Continue
        })
    });
    parts.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).sorted()
}

/// What one thread found; it becomes part of the whole when the thread is done.
struct ThreadFileList<'a> {
    list: FileList,
    whole: &'a Mutex<FileList>,
}

impl Drop for ThreadFileList<'_> {
    fn drop(&mut self) {
        let mut whole = self.whole.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        whole.files.append(&mut self.list.files);
        whole.unlisted.append(&mut self.list.unlisted);
        whole.unchanged += self.list.unchanged;
        whole.others += self.list.others;
    }
}

fn walker(root: &Path, scope: &IndexScope, threads: usize) -> ignore::WalkParallel {
    let mut builder = WalkBuilder::new(root);
    builder
        .add_custom_ignore_filename(IGNORE_FILE)
        // A project without git has ignore files all the same.
        .require_git(false)
        .follow_links(false)
        .threads(threads);
    if !scope.is_everything() {
        let (top, scope) = (root.to_owned(), scope.clone());
        builder.filter_entry(move |entry| match relative(&top, entry.path()) {
            Some(path) => scope.leads_to(path),
            // Said to be unreadable when its turn comes.
            None => true,
        });
    }
    builder.build_parallel()
}

/// Looks at what the walk meets.
struct FileLister<'a> {
    root: &'a Path,
    scope: &'a IndexScope,
    comparison: &'a TreeComparison<'a>,
}

impl FileLister<'_> {
    fn see(
        &self,
        entry: std::result::Result<ignore::DirEntry, ignore::Error>,
        list: &mut FileList,
    ) {
        match entry {
            Ok(entry) => self.see_file(&entry, list),
            Err(error) => {
                if let Some(path) = path_of(&error).and_then(|path| relative(self.root, path)) {
                    list.unlisted.push((path.to_owned(), reason_of(&error)));
                }
            }
        }
    }

    fn see_file(&self, entry: &ignore::DirEntry, list: &mut FileList) {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return;
        }
        let Some(path) = relative(self.root, entry.path()) else {
            let path = entry.path().strip_prefix(self.root).unwrap_or(entry.path());
            list.unlisted.push((path.to_string_lossy().into_owned(), "name is not text"));
            return;
        };
        let known = self.comparison.place_of(path).filter(|_| self.scope.is_everything());
        let class = match known {
            // It had a class when it was read, and a name keeps its own.
            Some(_) => None,
            None => {
                let Some(class) = self.class_of(path) else {
                    list.others += 1;
                    return;
                };
                Some(class)
            }
        };
        // Gone since it was listed: then it is not there.
        let Ok(data) = entry.metadata() else { return };
        let stamp = stamp_of(&data);
        match known.and_then(|place| self.comparison.settles(place, stamp)) {
            Some(UnchangedFile::Read) => list.unchanged += 1,
            Some(UnchangedFile::LeftOut) => {}
            None => match class.or_else(|| self.class_of(path)) {
                None => list.others += 1,
                Some(class) => {
                    let path = path.to_owned();
                    list.files.push(ListedFile { path, class, stamp, object: None });
                }
            },
        }
    }

    fn class_of(&self, path: &str) -> Option<FileClass> {
        FileClass::of(path).filter(|class| self.scope.holds(path, class.word()))
    }
}

fn stamp_of(data: &std::fs::Metadata) -> FileStamp {
    FileStamp {
        size: data.len(),
        mtime_ns: data.mtime().saturating_mul(1_000_000_000).saturating_add(data.mtime_nsec()),
        inode: data.ino(),
    }
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        ignore::Error::Loop { child, .. } => Some(child),
        _ => None,
    }
}

fn reason_of(error: &ignore::Error) -> &'static str {
    match error.io_error().map(std::io::Error::kind) {
        Some(std::io::ErrorKind::PermissionDenied) => "permission denied",
        _ => "cannot be read",
    }
}

/// Returns a path from the root with forward slashes; `None` if it is no text, or elsewhere.
pub(crate) fn relative<'p>(root: &Path, path: &'p Path) -> Option<&'p str> {
    let (root, path) = (root.as_os_str().as_bytes(), path.as_os_str().as_bytes());
    // Both are plain, and a walk asks this of every file: no need to go by components.
    let below = match path.strip_prefix(root)? {
        [] => &[],
        [b'/', below @ ..] => below,
        below if root.ends_with(b"/") => below,
        _ => return None,
    };
    std::str::from_utf8(below).ok()
}

/// Lists a tree of git.
pub(crate) fn of_tree(
    repository: &Repository,
    tree: &TreeId,
    scope: &IndexScope,
) -> Result<FileList> {
    let mut all = repository.tree_files(tree)?;
    let ignored = IgnoreLists::of(repository, &all)?;
    all.retain(|file| {
        !file.path.split('/').any(|part| part.starts_with('.')) && !ignored.covers(&file.path)
    });
    let (mut list, mut held) = (FileList::default(), Vec::new());
    for file in all {
        match FileClass::of(&file.path).filter(|class| scope.holds(&file.path, class.word())) {
            None => list.others += 1,
            Some(class) => held.push((file, class)),
        }
    }
    let blobs: Vec<&str> = held.iter().map(|(file, _)| file.blob.as_str()).collect();
    let sizes = repository.blob_sizes(&blobs)?;
    for ((file, class), size) in held.into_iter().zip(sizes) {
        let bytes = blob_of_hex(&file.blob);
        list.files.push(ListedFile {
            path: file.path,
            class,
            stamp: FileStamp { size, mtime_ns: 0, inode: 0 },
            object: Some((file.blob, bytes)),
        });
    }
    Ok(list.sorted())
}

/// What has to be looked at where exactly these paths changed.
pub(crate) fn scope_of_change(paths: Vec<String>) -> IndexScope {
    /// Beyond so many it is quicker to look at all.
    const MOST: usize = 200;
    let is_list = |path: &String| path.rsplit('/').next() == Some(IGNORE_FILE);
    if paths.len() > MOST || paths.iter().any(is_list) {
        return IndexScope::default();
    }
    IndexScope::of_paths(paths)
}

/// The `.sporeignore` files of a tree.
struct IgnoreLists(Vec<(String, Gitignore)>);

impl IgnoreLists {
    fn of(repository: &Repository, all: &[spore_git::TreeFile]) -> Result<Self> {
        let is_list = |path: &str| path.rsplit('/').next() == Some(IGNORE_FILE);
        let lists: Vec<_> = all.iter().filter(|file| is_list(&file.path)).collect();
        let blobs: Vec<&str> = lists.iter().map(|file| file.blob.as_str()).collect();
        let mut ignored = Vec::new();
        for (file, content) in lists.iter().zip(repository.read_blobs(&blobs)?) {
            let directory = file.path.rsplit_once('/').map_or("", |(directory, _)| directory);
            let mut builder = GitignoreBuilder::new("");
            for line in String::from_utf8_lossy(&content.unwrap_or_default()).lines() {
                // A line that is no pattern covers nothing, as with git.
                let _ = builder.add_line(None, line);
            }
            let built = builder
                .build()
                .map_err(|source| IndexerError::IgnoreFile { path: file.path.clone(), source })?;
            ignored.push((directory.to_owned(), built));
        }
        // The nearest list has the last word.
        ignored.sort_by_key(|(directory, _)| std::cmp::Reverse(directory.len()));
        Ok(Self(ignored))
    }

    fn covers(&self, path: &str) -> bool {
        for (directory, list) in &self.0 {
            let below = if directory.is_empty() {
                Some(path)
            } else {
                path.strip_prefix(directory.as_str()).and_then(|rest| rest.strip_prefix('/'))
            };
            let Some(below) = below else { continue };
            let matched = list.matched_path_or_any_parents(below, false);
            if !matched.is_none() {
                return matched.is_ignore();
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_as_seen_from_the_root_or_not_at_all() {
        let check = |root: &str, path: &str, expected: Option<&str>| {
            assert_eq!(relative(Path::new(root), Path::new(path)), expected, "{root} {path}");
        };
        check("/r", "/r/a/b.rs", Some("a/b.rs"));
        check("/r", "/r", Some(""));
        check("/r", "/rest/a.rs", None);
        check("/r", "/x/a.rs", None);
        check("/", "/a.rs", Some("a.rs"));
        let odd = std::ffi::OsStr::from_bytes(b"/r/\xff.rs");
        assert_eq!(relative(Path::new("/r"), Path::new(odd)), None);
    }
}
