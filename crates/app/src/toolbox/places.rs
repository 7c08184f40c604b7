//! Where the text of files comes from.
//!
//! What the index says is about one state of the files, so the source that goes with it is read
//! from that state: the work tree, or a commit. A file by its path is read where the caller
//! works. No path leads out of there, and what is Spore's, git's or ignored by git is not
//! shown: a caller who may see such a file can open it without these tools.

use std::borrow::Cow;
use std::path::Path;

use spore_git::Repository;
use spore_model::{CommitId, Fault};
use spore_tools::{Root, RootError};

use super::view::ProjectView;
use crate::{Error, Result, Surroundings, Workspace};

/// Bytes of a file that are looked at.
const FILE_BYTES: u64 = 4 << 20;

/// The files that a view shows, and where their text is read from.
pub(super) struct ViewedFiles {
    /// Where the caller works.
    root: Root,
    /// None in a project without git.
    repository: Option<Repository>,
    at: Option<CommitId>,
    /// The caller has a checkout of its own, where ignored files are its own too.
    is_own: bool,
}

/// A part of a file, and which lines these are.
pub(super) struct Lines {
    pub(super) first: u32,
    pub(super) lines: Vec<String>,
    /// Lines that follow and were not asked for.
    pub(super) more: usize,
}

impl ViewedFiles {
    pub(super) fn open(
        workspace: &Workspace,
        around: &Surroundings,
        view: &ProjectView,
    ) -> Result<Self> {
        let (dir, at, is_own) = match view {
            ProjectView::WorkTree => (workspace.root(), None, false),
            ProjectView::Session { dir, at, .. } => (dir.as_path(), at.clone(), true),
        };
        let root = Root::open(dir).map_err(|source| {
            Error::io(format!("cannot open {}", spore_plain::path(dir)), source)
        })?;
        let repository = workspace.repository(around).ok();
        Ok(Self { root, repository, at, is_own })
    }

    pub(super) fn repository(&self) -> Option<&Repository> {
        self.repository.as_ref()
    }

    /// Reads a file where the caller works.
    pub(super) fn file(&self, path: &str) -> Result<(String, String)> {
        let (bytes, size, shown) = self.root.read_part(path, FILE_BYTES).map_err(refused)?;
        self.check_shown(&shown)?;
        Ok((self.as_text(&shown, &bytes, size)?, shown))
    }

    /// Reads a file as the index saw it.
    pub(super) fn indexed(&self, path: &str) -> Result<String> {
        if let (Some(repository), Some(commit)) = (&self.repository, &self.at) {
            let bytes = repository.read_file(commit, path)?.ok_or_else(|| missing(path))?;
            let size = bytes.len() as u64;
            return self.as_text(path, &bytes, size);
        }
        Ok(self.file(path)?.0)
    }

    /// Says whether the caller changed a file since the index was made.
    pub(super) fn is_changed(&self, path: &str, indexed: &str) -> bool {
        self.at.is_some() && self.file(path).map_or(true, |(now, _)| now != indexed)
    }

    fn as_text(&self, path: &str, bytes: &[u8], size: u64) -> Result<String> {
        if bytes.iter().take(8 << 10).any(|byte| *byte == 0) {
            let message = format!("{path} is not text ({size} bytes)");
            return Err(Error::new(Fault::BadInput, message));
        }
        let mut text = String::from_utf8_lossy(bytes);
        if size > bytes.len() as u64 {
            text = Cow::Owned(format!("{text}\n… {size} bytes in all: the rest is not shown"));
        }
        Ok(text.into_owned())
    }

    /// Refuses what is not the project's. The path is without links.
    fn check_shown(&self, shown: &str) -> Result<()> {
        let mut parts = Path::new(shown).components().map(|part| part.as_os_str());
        let is_ours = parts
            .any(|part| part.eq_ignore_ascii_case(".git") || part.eq_ignore_ascii_case(".spore"));
        let is_ignored = || match &self.repository {
            Some(repository) if !self.is_own => repository.is_ignored(shown).unwrap_or(true),
            _ => false,
        };
        if is_ours || is_ignored() {
            let message = format!("{shown} is not one of the project's files");
            return Err(Error::new(Fault::BadInput, message)
                .hint("only what git tracks or would track is shown"));
        }
        Ok(())
    }
}

/// Takes lines `first..=last` of a text; a last line far away is the end.
pub(super) fn lines_of(text: &str, first: u32, last: u32, most: usize) -> Lines {
    let first = first.max(1);
    let skip = usize::try_from(first - 1).unwrap_or(usize::MAX);
    let wanted =
        usize::try_from(last.saturating_sub(first)).unwrap_or(usize::MAX).saturating_add(1);
    let all = text.lines().skip(skip).take(wanted);
    let total = all.clone().count();
    let lines: Vec<String> = all.take(most).map(str::to_owned).collect();
    Lines { first, more: total - lines.len(), lines }
}

impl Lines {
    /// Each line after its number.
    pub(super) fn numbered(&self) -> Vec<String> {
        (self.first..).zip(&self.lines).map(|(number, line)| format!("{number}\t{line}")).collect()
    }
}

fn missing(path: &str) -> Error {
    Error::new(Fault::BadInput, format!("{path} does not exist"))
        .hint("`search` finds files by part of their path")
}

fn refused(error: RootError) -> Error {
    match error {
        RootError::NotFound { path } => missing(&path),
        RootError::Outside { path } => {
            Error::new(Fault::BadInput, format!("{path} is outside of the project"))
                .hint("name a file by its path from the project's root")
        }
        RootError::Unfit { .. } => Error::new(Fault::BadInput, error.to_string()),
        RootError::Io { .. } => Error::new(Fault::Io, error.to_string()),
    }
}
