//! What `--in-place` laid into the user's files, lifted out of them again.
//!
//! The one decision: all of it or nothing, and only while it is as Spore laid it. A file that
//! was edited, unstaged or deleted since refuses the whole rollback, by name; what has become a
//! commit is the user's own and is left alone, by name too. A note is written before the first
//! file goes back, so that a call after a crash goes on instead of looking at a half of it.

use std::collections::BTreeSet;

use spore_git::{FileChange, GitError, HeadState, Obstacle, Repository};
use spore_model::{CommitId, Fault};

use super::plan::{Lift, RollbackPlan, Undoing};
use crate::run::landing::apply::{Laid, listed};
use crate::{Error, Result, counted};

/// Beside the note of the laying: there from before the first file goes back.
const NOTE: &str = "lifting";

impl Undoing<'_> {
    pub(super) fn plan_lift(&self, plan: &mut RollbackPlan) -> Result<()> {
        let Some(laid) = self.site.laid()? else { return Ok(()) };
        let Some(base) = self.run.base_commit.clone() else { return Ok(()) };
        let home = match self.home_of(&laid)? {
            Some(home) => home,
            None => {
                plan.left.push("the work tree that it was laid into is gone".to_owned());
                return Ok(());
            }
        };
        let begun = self.site.note(NOTE).exists();
        let lift = Lift { home, base, commit: laid.commit, begun };
        let changed = changed(&lift.home, &lift.base, &lift.commit)?;
        if !begun && !self.can_be_lifted(&lift, &changed, plan)? {
            return Ok(());
        }
        let files = counted(u32::try_from(changed.len()).unwrap_or(u32::MAX), "file");
        plan.deeds.push(format!("what was laid into your files goes back: {files}"));
        plan.lift = Some(lift);
        Ok(())
    }

    /// Returns whether everything is as it was laid. What a person has taken over, or out, is
    /// told; what they are in the middle of is an error.
    fn can_be_lifted(
        &self,
        lift: &Lift,
        changed: &BTreeSet<String>,
        plan: &mut RollbackPlan,
    ) -> Result<bool> {
        let Lift { home, base, commit, .. } = lift;
        let committed = self::changed(home, base, &home.head()?)?;
        let theirs: Vec<String> = changed.intersection(&committed).cloned().collect();
        if !theirs.is_empty() {
            let files = listed(&theirs);
            plan.left
                .push(format!("what was laid into your files is in commits of yours: {files}"));
            return Ok(false);
        }
        if let HeadState::Busy { doing } = home.standing()? {
            let message = format!("a {doing} is under way in {}", spore_plain::path(home.root()));
            return Err(Error::new(Fault::BadInput, message).hint(format!(
                "finish it, or give it up; then `spore runs rollback {}`",
                self.run.id.short()
            )));
        }
        let changed_since = home.obstacles(commit, base, &self.site.scratch())?;
        if changed_since.is_empty() {
            return Ok(true);
        }
        if home.obstacles(base, commit, &self.site.scratch())?.is_empty() {
            let told = "your files no longer have what was laid into them: somebody took it out";
            plan.left.push(told.to_owned());
            return Ok(false);
        }
        Err(self.not_as_laid(&changed_since))
    }

    pub(super) fn lift(&self, lift: &Lift) -> Result<()> {
        let Lift { home, base, commit, begun } = lift;
        let note = self.site.note(NOTE);
        if *begun {
            let obstacles = home.mend_turn(commit, base)?;
            if !obstacles.is_empty() {
                return Err(self.not_as_laid(&obstacles));
            }
        } else {
            self.site.around.write_file(&note, b"{}\n")?;
        }
        match home.turn(commit, base) {
            Ok(()) => Ok(()),
            // Git looks at all files before it writes one: the user edited one just now.
            Err(GitError::Failed { complaint, .. }) => {
                self.site.around.remove_file(&note)?;
                Err(self.not_as_laid(&[Obstacle::Other(complaint)]))
            }
            Err(error @ GitError::Locked { .. }) if !begun => {
                self.site.around.remove_file(&note)?;
                Err(error.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the work tree that it was laid into, if that is still there.
    fn home_of(&self, laid: &Laid) -> Result<Option<Repository>> {
        match &laid.root {
            Some(root) if root != self.site.repository.root() => {
                let there = root.is_dir();
                Ok(there.then(|| Repository::discover(root)).transpose()?)
            }
            _ => Ok(Some(self.site.repository.clone())),
        }
    }

    fn not_as_laid(&self, obstacles: &[Obstacle]) -> Error {
        let id = self.run.id.short();
        let told: Vec<String> = obstacles
            .iter()
            .map(|obstacle| match obstacle {
                Obstacle::Edited(path) => format!("{path} is not as it was laid down"),
                other => other.to_string(),
            })
            .collect();
        let message =
            format!("the work of run {id} cannot be taken out of your files: {}", listed(&told));
        Error::new(Fault::BadInput, message).hint(format!(
            "nothing was changed. Stage what you only unstaged, and commit or stash what is \
             yours; then `spore runs rollback {id}`"
        ))
    }
}

/// The files in which two commits differ, under both names where one was renamed.
fn changed(home: &Repository, from: &CommitId, to: &CommitId) -> Result<BTreeSet<String>> {
    let mut paths = BTreeSet::new();
    for file in home.diff(from, to, 0)?.files {
        if let FileChange::Renamed { from } = file.status {
            paths.insert(from);
        }
        paths.insert(file.path);
    }
    Ok(paths)
}
