//! What changed between two trees: for a verifier to read, and as plain facts.
//!
//! No program runs to make a diff, and no attribute of the change itself counts: a change
//! cannot mark its own files as not worth showing. A file of several megabytes is shown as
//! binary.

use spore_model::{CommitId, TreeId};

use crate::command::records;
use crate::repository::text;
use crate::{GitError, Repository};

/// Something that stands for a tree.
pub trait Treeish {
    fn tree(&self, repository: &Repository) -> Result<TreeId, GitError>;
}

impl Treeish for TreeId {
    fn tree(&self, _: &Repository) -> Result<TreeId, GitError> {
        Ok(self.clone())
    }
}

impl Treeish for CommitId {
    fn tree(&self, repository: &Repository) -> Result<TreeId, GitError> {
        repository.tree_of(self)
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diff {
    /// The patch, cut after a whole line where it would grow past the cap.
    pub text: String,
    pub truncated: bool,
    /// Every changed file, whatever became of the text.
    pub files: Vec<ChangedFile>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedFile {
    pub path: String,
    pub status: FileChange,
    /// Lines; `None` for a file that has none, or too many to count.
    pub added: Option<u32>,
    pub removed: Option<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileChange {
    Added,
    Modified,
    Deleted,
    Renamed {
        from: String,
    },
    /// From a file to a link, or to a submodule, or back.
    TypeChanged,
}

impl Repository {
    /// Compares two trees or commits.
    pub fn diff(
        &self,
        from: &impl Treeish,
        to: &impl Treeish,
        max_bytes: usize,
    ) -> Result<Diff, GitError> {
        let (from, to) = (from.tree(self)?, to.tree(self)?);
        // Without its text, any comparison of the two is the same.
        let is_same = |asked: &(TreeId, TreeId, usize)| asked.0 == from && asked.1 == to;
        if max_bytes == 0
            && let Some(known) = self.recall().diffs.known(is_same)
        {
            let files = known.files.clone();
            return Ok(Diff { text: String::new(), truncated: !files.is_empty(), files });
        }
        let question = (from.clone(), to.clone(), max_bytes);
        let answer =
            self.recall().diffs.answer(question, || self.compare(&from, &to, max_bytes))?;
        Ok(Diff::clone(&answer))
    }

    fn compare(&self, from: &TreeId, to: &TreeId, max_bytes: usize) -> Result<Diff, GitError> {
        let patch = (max_bytes > 0).then_some("--patch");
        let call = self
            .git("compare two trees")
            .args(["-c", "core.bigFileThreshold=4m", "diff-tree", "-r", "-M", "--no-ext-diff"])
            .args(["--no-textconv", "--no-color", "--ignore-submodules=none"])
            .args(["-z", "--raw", "--numstat"])
            .args(patch)
            .args([from.as_str(), to.as_str(), "--"]);
        let answer = call.run()?.stdout;
        let (facts, patch) = facts_and_patch(&answer);
        let files =
            parse_files(facts).ok_or_else(|| GitError::unreadable("compare two trees", facts))?;
        let truncated = patch.len() > max_bytes || (max_bytes == 0 && !files.is_empty());
        let kept = if truncated { whole_lines(&patch[..max_bytes]) } else { patch };
        Ok(Diff { text: text(kept), truncated, files })
    }
}

/// The patch follows after an empty record; no other record is empty.
fn facts_and_patch(answer: &[u8]) -> (&[u8], &[u8]) {
    match answer.windows(2).position(|pair| pair == [0, 0]) {
        Some(end) => (&answer[..=end], &answer[end + 2..]),
        None => (answer, &[]),
    }
}

fn whole_lines(patch: &[u8]) -> &[u8] {
    let end = patch.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    &patch[..end]
}

/// Reads `--raw --numstat -z`: first a record for each file with its status, then, in the
/// same order, one with its counts.
fn parse_files(answer: &[u8]) -> Option<Vec<ChangedFile>> {
    let mut records = records(answer).peekable();
    let mut files = Vec::new();
    while let Some(head) = records.next_if(|record| record.starts_with(b":")) {
        let letter = head.rsplit(|byte| *byte == b' ').next()?.first()?;
        let first = text(records.next()?);
        let (path, status) = match letter {
            b'A' => (first, FileChange::Added),
            b'D' => (first, FileChange::Deleted),
            b'R' => (text(records.next()?), FileChange::Renamed { from: first }),
            b'T' => (first, FileChange::TypeChanged),
            _ => (first, FileChange::Modified),
        };
        files.push(ChangedFile { path, status, added: None, removed: None });
    }
    for file in &mut files {
        let counts = text(records.next()?);
        let mut columns = counts.splitn(3, '\t');
        file.added = columns.next()?.parse().ok();
        file.removed = columns.next()?.parse().ok();
        // A rename has its two names in records of their own.
        if columns.next()?.is_empty() {
            records.next()?;
            records.next()?;
        }
    }
    Some(files)
}
