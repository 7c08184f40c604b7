//! What a change did to the checks that will judge it.
//!
//! Looked at before any gate runs: a change to what decides how gates run is refused as it
//! stands, one to tests calls for a second run with the base's own, and tests that are part
//! of a source file, which nothing can put back, are pointed out to the verifier.

use spore_gates::{
    Gate, Restoration, Tampering, TouchKind, TouchedFile, tampering, touches_inline_tests,
};
use spore_git::{ChangedFile, FileChange, Repository};
use spore_model::{CommitId, TreeId};

use crate::Result;

/// What a change is compared with.
#[derive(Clone, Copy)]
pub(crate) struct ReviewSettings<'a> {
    pub(crate) base: &'a CommitId,
    pub(crate) gates: &'a [Gate],
    /// What counts as a test besides what convention says.
    pub(crate) tests: &'a [String],
    /// What no change may touch.
    pub(crate) protected: &'a [String],
    /// Whether tests and what configures them may be changed.
    pub(crate) allow_test_changes: bool,
}

pub(crate) struct Review {
    pub(crate) tampering: Vec<Tampering>,
    pub(crate) restoration: Option<Restoration>,
    /// Source files whose own tests were edited.
    pub(crate) inline: Vec<String>,
}

impl Review {
    /// Compares `commit`, which holds `tree`, with the base.
    pub(crate) fn of(
        repository: &Repository,
        settings: ReviewSettings<'_>,
        commit: &CommitId,
        tree: &TreeId,
    ) -> Result<Self> {
        let base_tree = repository.tree_of(settings.base)?;
        let touched = touched(&repository.diff(&base_tree, tree, 0)?.files);
        let base = |path: &str| repository.read_file(settings.base, path).ok().flatten();
        let now = |path: &str| repository.read_file(commit, path).ok().flatten();
        let inline = inline(&touched, &base, &now);
        let found = tampering(settings.gates, settings.protected, &touched, &base, &now);
        let restoration = Restoration::of(&touched, settings.tests);
        let mut review = Self { tampering: found, restoration, inline };
        if settings.allow_test_changes {
            review.tampering.clear();
        }
        Ok(review)
    }

    /// What a verifier should know, a sentence each.
    pub(crate) fn notes(&self, allowed: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(restoration) = &self.restoration {
            let files: Vec<&str> = restoration.files().collect();
            let how = if allowed { "a person allowed it" } else { "see the runs above" };
            notes.push(format!("note: the change touches test files ({how}): {}", listed(&files)));
        }
        if !self.inline.is_empty() {
            let files: Vec<&str> = self.inline.iter().map(String::as_str).collect();
            notes.push(format!(
                "note: the change edits tests inside of source files, which were not put back; \
                 read them: {}",
                listed(&files)
            ));
        }
        notes
    }
}

/// Lists files, the first ones of very many.
pub(crate) fn listed(files: &[&str]) -> String {
    const MOST: usize = 20;
    let shown = files[..files.len().min(MOST)].join(", ");
    match files.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn touched(files: &[ChangedFile]) -> Vec<TouchedFile> {
    let mut touched = Vec::new();
    let mut add = |path: &str, how| touched.push(TouchedFile { path: path.to_owned(), how });
    for file in files {
        match &file.status {
            FileChange::Added => add(&file.path, TouchKind::Added),
            FileChange::Deleted => add(&file.path, TouchKind::Deleted),
            FileChange::Modified | FileChange::TypeChanged => add(&file.path, TouchKind::Modified),
            FileChange::Renamed { from } => {
                add(from, TouchKind::Deleted);
                add(&file.path, TouchKind::Added);
            }
        }
    }
    touched
}

fn inline(
    touched: &[TouchedFile],
    base: spore_gates::Read<'_>,
    now: spore_gates::Read<'_>,
) -> Vec<String> {
    let text = |read: spore_gates::Read<'_>, path: &str| {
        read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    };
    touched
        .iter()
        .filter(|one| one.how == TouchKind::Modified && one.path.ends_with(".rs"))
        .filter(|one| {
            touches_inline_tests(&one.path, &text(base, &one.path), &text(now, &one.path))
        })
        .map(|one| one.path.clone())
        .collect()
}
