//! Where a loop begins, and what of its list is done there.
//!
//! It always holds that a task which counts as done has its work in the commit that the loop begins
//! from. A branch that is gone is made again from what is kept of it; work that a person took back is
//! done once more; and where work is nowhere to be found the loop does not begin.

use spore_git::{Merged, Repository};
use spore_model::{CommitId, Fault, TreeId};
use spore_pipeline::{LoopState, LoopTask};

use super::earlier::{EarlierLoop, PastLoop};
use crate::base::run_refs;
use crate::{Error, Result};

/// Where a loop begins.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct LoopGround {
    /// What the branch as a whole began from.
    pub(crate) base: CommitId,
    pub(crate) start: CommitId,
    pub(crate) branch: String,
    /// The branch is gone, and is to be made again where the loop begins.
    pub(crate) is_gone: bool,
    /// What is done there.
    pub(crate) before: LoopState,
    /// The tasks that are done once more, for a person took their work back.
    pub(crate) undone: Vec<String>,
}

impl LoopGround {
    /// Finds where a loop over `tasks` begins of which `before` is done: at the tip of the branch of
    /// an earlier one that is not in `head` yet, else at `head`, on a branch of its own.
    pub(crate) fn find(
        repository: &Repository,
        earlier: &EarlierLoop,
        before: LoopState,
        tasks: &[LoopTask],
        (head, branch): (&CommitId, String),
    ) -> Result<Self> {
        let past = match earlier {
            EarlierLoop::Over(past) => Some(past.as_ref()),
            _ => None,
        };
        let (base, start) = (head.clone(), head.clone());
        let mut ground = Self { base, start, branch, is_gone: false, before, undone: Vec::new() };
        let mut is_left = false;
        if let Some(past) = past {
            let tip = repository.ref_target(&run_refs::branch_ref(&past.settings.branch))?;
            is_left = tip.is_some() && !past.is_taken_back;
            match tip.filter(|_| is_left) {
                Some(tip) if !repository.is_ancestor(&tip, head)? => {
                    ground.base = past.settings.base.clone();
                    ground.branch.clone_from(&past.settings.branch);
                    ground.start = tip;
                }
                _ => {
                    ground.undone = undone(repository, past)?;
                    ground.before = ground.before.without(&ground.undone);
                }
            }
        }
        let lost = ground.lost(repository, tasks)?;
        if lost.is_empty() || past.is_some_and(|past| ground.has_all_of(repository, past)) {
            return Ok(ground);
        }
        // A branch that is there is as its owner wants it.
        let kept = if is_left { Vec::new() } else { kept(repository, past, head)? };
        for (base, start, branch, is_gone) in kept {
            let other = Self { base, start, branch, is_gone, ..ground.clone() };
            if other.lost(repository, tasks)?.is_empty() {
                return Ok(other);
            }
        }
        Err(ground.refusal(repository, &lost))
    }

    /// Returns the tasks that count as done and whose work is not where the loop begins.
    fn lost<'a>(
        &self,
        repository: &Repository,
        tasks: &'a [LoopTask],
    ) -> Result<Vec<(&'a LoopTask, CommitId)>> {
        let mut lost = Vec::new();
        for task in tasks.iter().filter(|task| !task.ticked && self.before.has_verified(task)) {
            if let Some(commit) = self.before.commits.get(&task.id)
                && !holds(repository, &self.start, commit)?
            {
                lost.push((task, commit.clone()));
            }
        }
        Ok(lost)
    }

    /// Returns whether all that an earlier loop brought onto its branch is in the start as one change.
    fn has_all_of(&self, repository: &Repository, past: &PastLoop) -> bool {
        let is_start =
            |tree: &TreeId| repository.tree_of(&self.start).is_ok_and(|start| start == *tree);
        let merged = repository.merge(&self.start, &past.tip);
        !past.is_taken_back && matches!(&merged, Ok(Merged::Clean(tree)) if is_start(tree))
    }

    fn refusal(&self, repository: &Repository, lost: &[(&LoopTask, CommitId)]) -> Error {
        const NAMED: usize = 3;
        let named = lost
            .iter()
            .take(NAMED)
            .map(|(task, _)| format!("`{}`", spore_plain::line_within(&task.text, 60)));
        let mut named: Vec<String> = named.collect();
        named.extend((lost.len() > NAMED).then(|| format!("{} more", lost.len() - NAMED)));
        let message = format!(
            "the work of tasks that count as done is not in what the loop would begin from ({}): {}",
            &self.start.as_str()[..12],
            named.join(", ")
        );
        let back = lost.last().map(|(_, commit)| commit).filter(|one| is_there(repository, one));
        let back = back.map(|commit| {
            format!(
                "; or bring it back first: git branch spore/loop/kept {}",
                &commit.as_str()[..12]
            )
        });
        Error::new(Fault::BadInput, message).hint(format!(
            "`--reset` begins the list anew, with these tasks{}",
            back.unwrap_or_default()
        ))
    }
}

/// Returns the tasks that count as done and whose work a person took back.
fn undone(repository: &Repository, past: &PastLoop) -> Result<Vec<String>> {
    let mut undone = Vec::new();
    for (id, commit) in &past.state.commits {
        for (base, tip) in &past.taken_back {
            if is_there(repository, commit)
                && repository.is_ancestor(commit, tip)?
                && !repository.is_ancestor(commit, base)?
            {
                undone.push(id.clone());
                break;
            }
        }
    }
    Ok(undone)
}

/// Returns where else a loop could begin: base, start, branch, and whether that branch is gone.
fn kept(
    repository: &Repository,
    past: Option<&PastLoop>,
    head: &CommitId,
) -> Result<Vec<(CommitId, CommitId, String, bool)>> {
    let mut found = Vec::new();
    if let Some(past) = past.filter(|past| !past.is_taken_back)
        && let Some(tip) = repository.ref_target(&run_refs::own(past.run, "result"))?
    {
        let settings = &past.settings;
        found.push((settings.base.clone(), tip, settings.branch.clone(), true));
    }
    for (name, tip) in repository.refs_under("refs/heads/spore/loop")? {
        let base = repository.merge_base(head, &tip)?.unwrap_or_else(|| head.clone());
        let branch = name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned();
        found.push((base, tip, branch, false));
    }
    Ok(found)
}

/// Returns whether the repository has a commit.
fn is_there(repository: &Repository, commit: &CommitId) -> bool {
    repository.resolve(commit.as_str()).is_ok()
}

/// Returns whether the work of `commit` is in `start`: the commit itself, or all that it changed.
fn holds(repository: &Repository, start: &CommitId, commit: &CommitId) -> Result<bool> {
    if !is_there(repository, commit) {
        return Ok(false);
    }
    if repository.is_ancestor(commit, start)? {
        return Ok(true);
    }
    let Ok(parent) = repository.resolve(&format!("{commit}^")) else { return Ok(false) };
    let tree = repository.tree_of(start)?;
    Ok(
        matches!(repository.transplant(&parent, commit, start)?, Merged::Clean(same) if same == tree),
    )
}
