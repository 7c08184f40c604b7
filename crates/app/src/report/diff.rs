//! What a run changed, as git writes it: over all its attempts, or in one of them; of a list and a race
//! what came of the whole.

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{CommitId, Fault, Run, RunId, RunKind, RunStatus, TreeId};
use spore_store::Journal;

use crate::base::run_lock::is_claimed;
use crate::base::run_refs;
use crate::report::named_or_newest;
use crate::{Error, Result, Surroundings, Workspace};

/// Which change of a run is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DiffAsked {
    /// From the base to the last tree that was handed in.
    #[default]
    Whole,
    /// From the base to the tree that this attempt handed in.
    UpTo(u32),
    /// What this attempt changed of what the one before it left.
    Only(u32),
}

/// A change of a run.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct RunDiff {
    pub run: RunId,
    pub name: String,
    pub status: RunStatus,
    /// The attempt whose tree it leads to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounce: Option<u32>,
    /// The attempt whose tree it begins with; nothing where that is the base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_bounce: Option<u32>,
    /// The commit that it leads to, where that is no attempt's: the tip of a list's branch, the work of the
    /// racer who won, what an exec made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// As git writes it, without secrets.
    pub diff: String,
}

/// More of a change than this is not shown; git shows it all.
const MOST_BYTES: usize = 64 << 20;

/// Returns what a run changed.
pub fn diff_run(around: &Surroundings, typed: Option<&str>, asked: DiffAsked) -> Result<RunDiff> {
    let workspace = Workspace::find_with_runs(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let run = named_or_newest(&journal, typed)?;
    let mut trees: Vec<(u32, TreeId)> = journal
        .children(run.id)?
        .into_iter()
        .filter(|child| child.kind == RunKind::Bounce)
        .filter_map(|bounce| Some((bounce.attempt, bounce.tree_hash?)))
        .collect();
    trees.sort_unstable_by_key(|(bounce, _)| *bounce);
    let status = run.status(is_claimed(&workspace, run.id));
    if asked == DiffAsked::Whole
        && let Some((commit, diff)) = recorded_change(around, &workspace, &journal, &run)?
    {
        let (bounce, from_bounce) = (None, None);
        let commit = Some(commit);
        return Ok(RunDiff {
            run: run.id,
            name: run.name,
            status,
            bounce,
            from_bounce,
            commit,
            diff,
        });
    }
    let files = workspace.run_files(run.id);
    let sides = AttemptTrees { around, workspace: &workspace, run: run.id };
    let kept = |bounce: u32| {
        let tree = trees.iter().find(|(one, _)| *one == bounce).map(|(_, tree)| tree);
        let whole = tree
            .zip(run.base_commit.as_ref())
            .and_then(|(tree, base)| sides.since(base, (bounce, tree)).ok().flatten());
        if whole.is_some() {
            return whole;
        }
        // What was written down when the change was handed in has no secret in it, and says where it is
        // cut.
        let text = spore_effects::files::read_text(files.diff(bounce)).ok();
        text.filter(|text| !text.trim().is_empty())
    };
    let last = u32::try_from(journal.children(run.id)?.len()).unwrap_or(u32::MAX);
    let before = |bounce: u32| trees.iter().rev().find(|(one, _)| *one < bounce).cloned();
    let found = match asked {
        DiffAsked::Whole => (1..=last).rev().find_map(|bounce| Some((bounce, None, kept(bounce)?))),
        DiffAsked::UpTo(bounce) => kept(bounce).map(|text| (bounce, None, text)),
        DiffAsked::Only(bounce) => match before(bounce) {
            None => kept(bounce).map(|text| (bounce, None, text)),
            Some((earlier, from)) => {
                let to = trees.iter().find(|(one, _)| *one == bounce).map(|(_, tree)| tree.clone());
                match to {
                    Some(to) => {
                        let text = sides.between((earlier, &from), (bounce, &to))?;
                        Some((bounce, Some(earlier), text)).filter(|(_, _, text)| !text.is_empty())
                    }
                    None => None,
                }
            }
        },
    };
    let Some((bounce, from_bounce, diff)) = found else {
        let which = match asked {
            DiffAsked::Whole => String::new(),
            DiffAsked::UpTo(bounce) | DiffAsked::Only(bounce) => format!(" in attempt {bounce}"),
        };
        let message = format!("run {} handed in no change{which}", run.id.short());
        let hint = match changed_parts(&journal, run.id)?.as_slice() {
            [] => format!("`spore runs show {}` tells what happened", run.id.short()),
            parts => format!("its tasks did: {}", parts.join(", ")),
        };
        return Err(Error::new(Fault::BadInput, message).hint(hint));
    };
    let (bounce, commit) = (Some(bounce), None);
    Ok(RunDiff { run: run.id, name: run.name, status, bounce, from_bounce, commit, diff })
}

/// Returns the change that a list brought onto its branch, a race's winner made or an exec, and the commit
/// it leads to; nothing where there is none, or git does not have it any more.
pub(crate) fn recorded_change(
    around: &Surroundings,
    workspace: &Workspace,
    journal: &dyn Journal,
    run: &Run,
) -> Result<Option<(CommitId, String)>> {
    let Some(work) = spore_runs::recorded_work(journal, run)? else { return Ok(None) };
    let repository = workspace.project_repository()?;
    let compared = repository.tree_of(&work.base).and_then(|base| {
        let tip = repository.tree_of(&work.tip)?;
        repository.diff(&base, &tip, MOST_BYTES)
    });
    let text = compared.map(|diff| told(around, &diff)).unwrap_or_default();
    Ok((!text.trim().is_empty()).then_some((work.tip, text)))
}

/// A change as people may see it: no secret is in it.
fn told(around: &Surroundings, diff: &spore_git::Diff) -> String {
    let struck = spore_secrets::strike_out(&told_diff(diff));
    around.secrets().strike(&struck).into_owned()
}

/// More tasks than this are not named.
const MOST_NAMED: usize = 5;

/// Returns the commands that show what the tasks of a list, a flow or a race changed, the newest first.
fn changed_parts(journal: &dyn Journal, run: RunId) -> Result<Vec<String>> {
    let mut commands = Vec::new();
    let mut parts = journal.children(run)?;
    while let Some(part) = parts.pop() {
        match part.kind {
            RunKind::Orchestrate => {
                let bounces = journal.children(part.id)?;
                if bounces.iter().any(|bounce| bounce.tree_hash.is_some()) {
                    commands.push(format!("`spore runs diff {}`", part.id.short()));
                }
            }
            RunKind::Bounce | RunKind::Session | RunKind::Gates => {}
            _ => parts.extend(journal.children(part.id)?),
        }
        if commands.len() > MOST_NAMED {
            commands[MOST_NAMED] = "…".to_owned();
            break;
        }
    }
    Ok(commands)
}

/// The trees of a run's attempts, in the bare repository of unverified work.
struct AttemptTrees<'a> {
    around: &'a Surroundings,
    workspace: &'a Workspace,
    run: RunId,
}

impl AttemptTrees<'_> {
    /// Compares the base with what an attempt left; nothing where that is not kept any more.
    fn since(&self, base: &CommitId, to: (u32, &TreeId)) -> Result<Option<String>> {
        let repository = self.workspace.project_repository()?;
        let kept: Option<CommitId> = repository.ref_target(&run_refs::bounce(self.run, to.0))?;
        if kept.is_none() {
            return Ok(None);
        }
        let diff = repository.diff(&repository.tree_of(base)?, to.1, MOST_BYTES)?;
        let text = told(self.around, &diff);
        Ok(Some(text).filter(|text| !text.trim().is_empty()))
    }

    /// Compares what two attempts left. Nothing that looks like a secret is in it.
    fn between(&self, from: (u32, &TreeId), to: (u32, &TreeId)) -> Result<String> {
        let repository = self.workspace.project_repository()?;
        for (bounce, _) in [from, to] {
            let name = run_refs::bounce(self.run, bounce);
            let kept: Option<CommitId> = repository.ref_target(&name)?;
            if kept.is_none() {
                let short = self.run.short();
                let message =
                    format!("what attempt {bounce} of run {short} left is not kept any more");
                return Err(Error::new(Fault::BadInput, message).hint(format!(
                    "`spore runs diff {short} --up-to {}` shows what was handed in",
                    to.0
                )));
            }
        }
        Ok(told(self.around, &repository.diff(from.1, to.1, MOST_BYTES)?))
    }
}

/// A change as it is written down: where it is cut, that is said.
pub(crate) fn told_diff(diff: &spore_git::Diff) -> String {
    if !diff.truncated {
        return diff.text.clone();
    }
    let files = crate::counted(u32::try_from(diff.files.len()).unwrap_or(u32::MAX), "file");
    format!("{}# The change of {files} goes on and is cut here: `diff.cap_bytes`.\n", diff.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_is_cut_says_so() {
        let diff =
            |truncated| spore_git::Diff { text: "+x\n".into(), truncated, files: Vec::new() };
        assert_eq!(told_diff(&diff(false)), "+x\n");
        assert!(told_diff(&diff(true)).starts_with("+x\n# The change of 0 files goes on"));
    }
}
