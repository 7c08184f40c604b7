//! Which files and directories there are.
//!
//! Links are listed and never followed, so there are no loops and no way out of the target.
//! Other file systems are not entered: below a mount there may be anything, endless things
//! included. Both are counted, and so is every directory that cannot be read.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};

use crate::ScanError;
use crate::scope::{KEPT_OUT, ScanScope};

/// The name of the file that says what is not to be looked at, beside git's.
const IGNORE_FILE: &str = ".sporeignore";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FoundKind {
    File,
    Link,
    /// A pipe, a socket, a device: never opened.
    Special,
}

#[derive(Debug)]
pub(crate) struct FoundDir {
    /// From the target.
    pub(crate) path: PathBuf,
    /// What the directory itself takes on the disk.
    pub(crate) disk: u64,
    /// Why its list could not be read.
    pub(crate) unreadable: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// By path, each before what is in it; the target first.
    pub(crate) dirs: Vec<FoundDir>,
    /// By directory, then name.
    pub(crate) files: Vec<(PathBuf, FoundKind)>,
    /// Directories of other file systems, by path.
    pub(crate) elsewhere: Vec<PathBuf>,
    troubles: Vec<(PathBuf, String)>,
}

/// Lists what is below `root`. `stop` is asked now and then whether to give up.
pub(crate) fn walk(
    root: &Path,
    scope: &ScanScope,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Walked, ScanError> {
    let top =
        root.metadata().map_err(|source| ScanError::Target { path: root.to_owned(), source })?;
    let elsewhere = Arc::new(Mutex::<Vec<PathBuf>>::default());
    let walker = walker(root, scope, top.dev(), &elsewhere)?;
    let whole = Mutex::<Walked>::default();
    walker.run(|| {
        let mut part = ThreadWalk { walked: Walked::default(), whole: &whole };
        Box::new(move |entry| {
            part.see(root, entry);
            if stop() { WalkState::Quit } else { WalkState::Continue }
        })
    });
    if stop() {
        return Err(ScanError::Stopped);
    }
    let mut walked = whole.into_inner().unwrap_or_else(PoisonError::into_inner);
    for path in elsewhere.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        walked.elsewhere.push(below(root, &path));
    }
    Ok(walked.sorted())
}

fn walker(
    root: &Path,
    scope: &ScanScope,
    device: u64,
    elsewhere: &Arc<Mutex<Vec<PathBuf>>>,
) -> Result<ignore::WalkParallel, ScanError> {
    let elsewhere = Arc::clone(elsewhere);
    let mut builder = WalkBuilder::new(root);
    builder
        .standard_filters(!scope.all)
        // A directory without git has ignore files all the same.
        .require_git(false)
        .follow_links(false)
        .threads(std::thread::available_parallelism().map_or(1, usize::from))
        .overrides(overrides(root, &scope.exclude)?)
        .filter_entry(move |entry| {
            if entry.depth() == 0 {
                return true;
            }
            if KEPT_OUT.iter().any(|name| entry.file_name() == OsStr::new(name)) {
                return false;
            }
            let is_mount = is_dir(entry) && entry.metadata().is_ok_and(|data| data.dev() != device);
            if is_mount {
                let mut list = elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
                list.push(entry.path().to_owned());
            }
            !is_mount
        });
    if !scope.all {
        builder.add_custom_ignore_filename(IGNORE_FILE);
    }
    Ok(builder.build_parallel())
}

fn overrides(root: &Path, exclude: &[String]) -> Result<Override, ScanError> {
    let mut builder = OverrideBuilder::new(root);
    for pattern in exclude {
        let bad = |reason: String| ScanError::Pattern { pattern: pattern.clone(), reason };
        if pattern.trim().is_empty() {
            return Err(bad("it is empty".to_owned()));
        }
        // An override names what is wanted, unless it begins so.
        builder.add(&format!("!{pattern}")).map_err(|error| bad(said(error)))?;
    }
    let all = exclude.join(" ");
    builder.build().map_err(|error| ScanError::Pattern { pattern: all, reason: error.to_string() })
}

/// What is wrong with a pattern, without our own mark before it.
fn said(error: ignore::Error) -> String {
    match error {
        ignore::Error::Glob { err, .. } => err,
        other => other.to_string(),
    }
}

fn is_dir(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

fn below(root: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(root).unwrap_or(path).to_owned()
}

impl Walked {
    fn sorted(mut self) -> Self {
        for (path, reason) in std::mem::take(&mut self.troubles) {
            match self.dirs.iter_mut().find(|dir| dir.path == path) {
                Some(dir) => dir.unreadable = Some(reason),
                None => self.dirs.push(FoundDir { path, disk: 0, unreadable: Some(reason) }),
            }
        }
        // Paths compare by their parts, so a directory comes right before what is in it.
        self.dirs.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.files.sort_unstable_by(|(a, _), (b, _)| {
            (a.parent(), a.file_name()).cmp(&(b.parent(), b.file_name()))
        });
        self.elsewhere.sort_unstable();
        self
    }
}

/// What one thread found; it becomes part of the whole when the thread is done.
struct ThreadWalk<'a> {
    walked: Walked,
    whole: &'a Mutex<Walked>,
}

impl ThreadWalk<'_> {
    fn see(&mut self, root: &Path, entry: Result<DirEntry, ignore::Error>) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return self.see_trouble(root, &error),
        };
        let path = below(root, entry.path());
        // The user may have named a link as the target: it is entered all the same.
        let is_top = entry.depth() == 0;
        match entry.file_type() {
            Some(kind) if kind.is_dir() || is_top => {
                let disk = entry.metadata().map_or(0, |data| data.blocks() * 512);
                self.walked.dirs.push(FoundDir { path, disk, unreadable: None });
            }
            Some(kind) if kind.is_file() => self.walked.files.push((path, FoundKind::File)),
            Some(kind) if kind.is_symlink() => self.walked.files.push((path, FoundKind::Link)),
            _ => self.walked.files.push((path, FoundKind::Special)),
        }
    }

    /// A broken line in an ignore file is no trouble of the tree's: it covers nothing.
    fn see_trouble(&mut self, root: &Path, error: &ignore::Error) {
        let Some(cause) = error.io_error() else { return };
        if cause.kind() == std::io::ErrorKind::NotFound {
            return;
        }
        if let Some(path) = path_of(error) {
            self.walked.troubles.push((below(root, path), reason(cause)));
        }
    }
}

impl Drop for ThreadWalk<'_> {
    fn drop(&mut self) {
        let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        whole.dirs.append(&mut self.walked.dirs);
        whole.files.append(&mut self.walked.files);
        whole.troubles.append(&mut self.walked.troubles);
    }
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        _ => None,
    }
}

/// Says why something could not be read, without the system's number for it.
pub(crate) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        kind => kind.to_string(),
    }
}
