//! What a change did to the checks that will judge it, looked at before any of them runs: a change to
//! what decides how they run is refused as it stands. What else of it is no product is sorted out,
//! so that it can be the base's where the change is proved.

use std::collections::BTreeSet;

use spore_gates::{Gate, Read, Tampering, TouchKind, TouchedFile, tampering};
use spore_git::{ChangedFile, FileChange, Repository};
use spore_model::{CommitId, TreeId};
use spore_proof::{BaseChecks, SortedChange};

use crate::Result;
use crate::checks::baseline::Baseline;

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
    pub(crate) sorted: SortedChange,
}

/// Returns what `commit`, which holds `tree`, changed of what decides how it is checked: nothing where
/// a person allowed that.
pub(crate) fn tampered(
    repository: &Repository,
    settings: ReviewSettings<'_>,
    commit: &CommitId,
    tree: &TreeId,
) -> Result<Vec<Tampering>> {
    let base_tree = repository.tree_of(settings.base)?;
    if settings.allow_test_changes || base_tree == *tree {
        return Ok(Vec::new());
    }
    let touched = touched(&repository.diff(&base_tree, tree, 0)?.files);
    Ok(tampering_of(repository, settings, commit, &touched))
}

fn tampering_of(
    repository: &Repository,
    settings: ReviewSettings<'_>,
    commit: &CommitId,
    touched: &[TouchedFile],
) -> Vec<Tampering> {
    if settings.allow_test_changes {
        return Vec::new();
    }
    let base = |path: &str| repository.read_file(settings.base, path).ok().flatten();
    let now = |path: &str| repository.read_file(commit, path).ok().flatten();
    tampering(settings.gates, settings.protected, touched, &base, &now)
}

impl Review {
    /// Compares `commit`, which holds `tree`, with the base and what its checks said.
    pub(crate) fn of(
        repository: &Repository,
        settings: ReviewSettings<'_>,
        baseline: &Baseline,
        commit: &CommitId,
        tree: &TreeId,
    ) -> Result<Self> {
        let base_tree = repository.tree_of(settings.base)?;
        let touched = touched(&repository.diff(&base_tree, tree, 0)?.files);
        let base = |path: &str| repository.read_file(settings.base, path).ok().flatten();
        let now = |path: &str| repository.read_file(commit, path).ok().flatten();
        let found = tampering_of(repository, settings, commit, &touched);
        let files: BTreeSet<String> = repository.list_files(settings.base)?.into_iter().collect();
        let named = named_by(settings.gates, &files, &base);
        let checks = BaseChecks {
            results: &baseline.results,
            records: &baseline.records,
            test_patterns: settings.tests,
            named: &named,
        };
        let sorted = spore_proof::sort(&touched, checks, &base, &now);
        Ok(Self { tampering: found, sorted })
    }

    /// What a verifier should know, a sentence each.
    pub(crate) fn notes(&self, allowed: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.sorted.tests.is_empty() {
            let files: Vec<&str> = self.sorted.tests.iter().map(|one| one.path.as_str()).collect();
            let how = if allowed { "a person allowed it" } else { "see the runs above" };
            notes.push(format!("note: the change touches test files ({how}): {}", listed(&files)));
        }
        if !self.sorted.unreadable.is_empty() {
            let files: Vec<&str> = self.sorted.unreadable.iter().map(String::as_str).collect();
            notes.push(format!(
                "note: the change may edit tests inside of source files, which were not put back; \
                 read them: {}",
                listed(&files)
            ));
        }
        notes
    }
}

/// Returns the files that the commands of gates name, and what is named by those.
fn named_by(gates: &[Gate], files: &BTreeSet<String>, base: Read<'_>) -> BTreeSet<String> {
    // These name nothing that is run, and a workspace has many of them.
    let is_followed =
        |path: &str| ![".toml", ".lock", ".xml"].iter().any(|end| path.ends_with(end));
    let read = |path: &str| if is_followed(path) { base(path) } else { None };
    let followed = gates.iter().map(|gate| spore_gates::follow(gate, files, &read));
    followed.flat_map(|record| record.read.into_iter().chain(record.run)).collect()
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
