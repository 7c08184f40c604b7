//! The step that brings verified work onto the commit that the branch is at by now.
//!
//! Everything is made of objects in Spore's own repository: no checkout, and no file of the
//! person's. One entry after another is laid on top of those before it. What only a verifier can
//! tell apart is not stacked with others: where files or code of both sides touch, where tests were
//! held out, or where runs were held to different things, the work is asked for by itself.

use std::collections::BTreeSet;

use spore_git::{FileChange, Merged};
use spore_model::{CommitId, Fault, StepKey, Ticket, TreeId};
use spore_pipeline::{Done, RebaseFate, RebasedEntry, WrittenTests};

use crate::base::error::bug;
use crate::base::run_refs;
use crate::base::step::recorded;
use crate::report::diff::told_diff;
use crate::run::context::RunContext;
use crate::run::settings::{MergeEntry, settings_of};
use crate::{Error, Result, Update};

/// Lines around a place where both sides differ.
const AROUND: usize = 3;

impl RunContext<'_> {
    pub(crate) fn rebase(&mut self, ticket: &Ticket) -> Result<Done> {
        let (tip, entries) = (self.run.settings.base.clone(), self.run.settings.merges.clone());
        self.bounce_run(1, ticket)?;
        let mut top = tip.clone();
        let (mut rebased, mut overlap) = (Vec::new(), Vec::new());
        // What landed since, with what lies below in the stack.
        let mut stacked: BTreeSet<String> = BTreeSet::new();
        for entry in &entries {
            let fate = match self.hindrance(entry)? {
                Some(reason) => RebaseFate::Apart { reason },
                None => {
                    let (fate, over) = self.lay_on(ticket, entry, &mut top, &mut stacked)?;
                    overlap.extend(over);
                    fate
                }
            };
            rebased.push(RebasedEntry { owner: entry.owner, fate });
        }
        if self.run.settings.unjudged {
            overlap.clear();
        }
        let repository = self.project.repository;
        let tree = repository.tree_of(&top)?;
        // On the tip itself, as the gates look at it.
        let commit = self.commit_for_checks(&tree, ticket)?;
        self.set_ref(&run_refs::bounce(self.run.id, 1), &commit)?;
        let diff = self.diff(&tree)?;
        let told = told_diff(&diff);
        self.project.around.write_file(&self.files().diff(1), told.as_bytes())?;
        let files = u32::try_from(diff.files.len()).unwrap_or(u32::MAX);
        self.progress.update(&Update::Rebased {
            onto: tip.to_string(),
            files,
            overlap: overlap.clone(),
        });
        Ok(Done::Rebased { tree, entries: rebased, overlap })
    }

    /// Says why an entry cannot be checked together with others.
    fn hindrance(&self, entry: &MergeEntry) -> Result<Option<String>> {
        if self.run.settings.merges.len() == 1 {
            return Ok(None);
        }
        let owner = self.project.journal.run(entry.owner)?;
        let owner = owner.ok_or_else(|| {
            Error::new(Fault::BadInput, format!("there is no run {}", entry.owner))
        })?;
        let settings = settings_of(&owner)?;
        Ok(match settings {
            settings if settings.hold_out => Some("it has tests of its own to pass".to_owned()),
            settings if !settings.is_held_like(&self.run.settings) => {
                Some("it is held to other terms".to_owned())
            }
            _ => None,
        })
    }

    /// Lays one entry on the stack, if it merges; tells what overlaps.
    fn lay_on(
        &mut self,
        ticket: &Ticket,
        entry: &MergeEntry,
        top: &mut CommitId,
        stacked: &mut BTreeSet<String>,
    ) -> Result<(RebaseFate, Vec<String>)> {
        let repository = self.project.repository;
        let tree = match repository.transplant(&entry.base, &entry.commit, top)? {
            Merged::Clean(tree) => tree,
            Merged::Conflicts { files, tree } => {
                let shown = self.shown_conflicts(&tree, &files, ticket)?;
                return Ok((RebaseFate::Conflict { files, shown }, Vec::new()));
            }
        };
        let when = ticket.time().map_err(bug)?;
        let message = format!("work of run {}", entry.owner);
        let laid = repository.commit_with_parents(&tree, &[top], &message, when)?;
        let ours = self.touched(&entry.base, &entry.commit)?;
        let mut theirs = self.touched(&entry.base, &self.run.settings.base)?;
        theirs.extend(stacked.iter().cloned());
        let overlap = self.overlap(top, &laid, &ours, &theirs);
        if !overlap.is_empty() && self.run.settings.merges.len() > 1 {
            let reason = format!("it touches what others changed: {}", overlap[0]);
            return Ok((RebaseFate::Apart { reason }, Vec::new()));
        }
        *top = laid;
        stacked.extend(ours);
        Ok((RebaseFate::Stacked { tree }, overlap))
    }

    /// Names what both sides touch, or what is tied by the code's graph; where the graph cannot
    /// tell, the verifier has to.
    fn overlap(
        &self,
        onto: &CommitId,
        laid: &CommitId,
        ours: &BTreeSet<String>,
        theirs: &BTreeSet<String>,
    ) -> Vec<String> {
        let both: Vec<String> = ours.intersection(theirs).cloned().collect();
        if !both.is_empty() || theirs.is_empty() {
            return both;
        }
        let list = |paths: &BTreeSet<String>| paths.iter().cloned().collect::<Vec<_>>();
        match self.briefing().ties(onto, laid, &list(ours), &list(theirs)) {
            Ok(Some(tied)) => {
                tied.iter().map(|(ours, theirs)| format!("{ours} with {theirs}")).collect()
            }
            Ok(None) => vec!["the code is not indexed, so nobody can tell".to_owned()],
            Err(error) => vec![format!("the code was not looked at: {error}")],
        }
    }

    /// Returns the paths that differ, by their names before and after.
    fn touched(&self, from: &CommitId, to: &CommitId) -> Result<BTreeSet<String>> {
        let diff = self.project.repository.diff(from, to, 0)?;
        let mut paths = BTreeSet::new();
        for file in diff.files {
            if let FileChange::Renamed { from } = file.status {
                paths.insert(from);
            }
            paths.insert(file.path);
        }
        Ok(paths)
    }

    /// Returns the places of a merge that has conflicts, as much as a coder may be told.
    fn shown_conflicts(&self, tree: &TreeId, files: &[String], ticket: &Ticket) -> Result<String> {
        let marked = self.commit_tree(tree, "a merge with conflicts", ticket)?;
        let paths: Vec<&str> = files.iter().map(String::as_str).collect();
        let read = self.project.repository.read_files(&marked, &paths)?;
        let mut shown = String::new();
        for (path, content) in paths.iter().zip(read) {
            let text = content.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let places = text.as_deref().map(conflicted_lines).unwrap_or_default();
            shown.push_str(&format!("{}\n{places}\n", spore_plain::line_within(path, 200)));
        }
        let shown = self.project.around.secrets().strike(&shown);
        Ok(spore_plain::cut(&shown, self.room_of("coder").evidence_bytes).into_owned())
    }

    /// Takes over the tests that were kept from the coder of the work.
    pub(crate) fn handed_down_tests(&self) -> Result<Done> {
        let owner = self.run.settings.merges.first().map(|entry| entry.owner);
        let known = owner.map(|run| recorded(self.project.journal, run, &StepKey::tester()));
        let tests = match known.transpose()?.flatten() {
            Some(Done::Tester { tests, .. }) => tests,
            _ => WrittenTests {
                failure: Some("the run has none".to_owned()),
                ..WrittenTests::default()
            },
        };
        if let Some(commit) = &tests.commit {
            self.set_ref(&run_refs::held_out(self.run.id), commit)?;
        }
        Ok(Done::Tester { session: None, tests })
    }
}

/// Returns the lines of a marked text where both sides differ, with some around them.
fn conflicted_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut shown = vec![false; lines.len()];
    let mut inside = false;
    for (at, line) in lines.iter().enumerate() {
        inside |= line.starts_with("<<<<<<< ");
        if inside {
            let first = at.saturating_sub(AROUND);
            let last = (at + AROUND).min(lines.len().saturating_sub(1));
            shown[first..=last].fill(true);
        }
        inside &= !line.starts_with(">>>>>>> ");
    }
    let mut told = String::new();
    let mut skipped = false;
    for (at, line) in lines.iter().enumerate() {
        if shown[at] {
            if skipped && !told.is_empty() {
                told.push_str("…\n");
            }
            told.push_str(&format!("{}: {line}\n", at + 1));
        }
        skipped = !shown[at];
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_conflict_its_places_are_shown() {
        let text = (1..=20).map(|n| format!("{n}\n")).collect::<String>();
        let marked = text
            .replace("\n5\n", "\n<<<<<<< a\nfive\n=======\nfünf\n>>>>>>> b\n")
            .replace("18\n", "<<<<<<< a\nx\n=======\n>>>>>>> b\n");
        let told = conflicted_lines(&marked);
        assert!(told.starts_with("2: 2\n3: 3\n4: 4\n5: <<<<<<< a\n6: five\n"), "{told}");
        assert!(told.contains("12: 8\n…\n"), "{told}");
        assert!(told.ends_with("27: 20\n"), "{told}");
        assert_eq!(conflicted_lines(&text), "");
    }
}
