//! Verified work onto a branch that moved on: what is asked for, and what comes of it.
//!
//! The work is rebased in Spore's own repository, and the two together are checked as a run of
//! their own below the one that asks (`RunKind::Merge`), with an id that the asking run has on
//! record: asked for again after a crash, it is gone on with or only told. Nothing here moves a
//! branch: what landed is a commit on top of the tip that was named, and the caller brings its
//! branch there if that is still where it was.

use serde::de::DeserializeOwned;
use spore_git::Repository;
use spore_model::{
    CommitId, Outcome, Park, Run, RunId, RunState, StepKey, Ticket, Timestamp, TraceId, TreeId, Usd,
};
use spore_pipeline::{
    Done, Evidence, GateSummary, RebaseFate, RebasedEntry, Shortfall, read_verdict, settle_verdict,
};
use spore_store::{Journal, RunChange};

use crate::base::step::recorded;
use crate::run::landing::apply::{Brought, MOST_MERGES, listed};
use crate::run::settings::{MergeEntry, RunSettings};
use crate::session::nesting::Nesting;
use crate::{Progress, Result};

/// Work that is to be brought onto a commit.
#[derive(Clone, Debug)]
pub(crate) struct MergeAsked<'a> {
    pub(crate) place: MergePlace,
    /// Where the branch is.
    pub(crate) tip: &'a CommitId,
    /// At least one, in the order in which they land.
    pub(crate) entries: &'a [MergeEntry],
    /// What verifiers may cost.
    pub(crate) budget: Usd,
    /// What it is held to; what the first of those runs was held to where nothing is said.
    pub(crate) settings: Option<&'a RunSettings>,
}

/// Where the run of a merge stands in the tree of runs, and the id that it was planned with.
#[derive(Clone, Debug)]
pub(crate) struct MergePlace {
    pub(crate) id: RunId,
    pub(crate) parent: RunId,
    pub(crate) trace: TraceId,
    pub(crate) depth: u32,
    pub(crate) nesting: Nesting,
}

/// What came of one run's work.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum MergeEnd {
    Landed(LandedWork),
    /// Both sides changed these files.
    Conflict {
        files: Vec<String>,
        evidence: Evidence,
    },
    /// The two together do not hold.
    Red {
        evidence: Evidence,
    },
    /// It is to be asked for by itself: with the others no check could say what is whose.
    Apart {
        reason: String,
    },
    /// Nothing is wrong with the work; what it is to land on cannot be checked.
    Blocked {
        reason: String,
    },
    /// It goes on when it is asked for again.
    Waits {
        outcome: Outcome,
        park: Park,
        reason: String,
    },
}

/// A commit that the branch can be moved to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LandedWork {
    pub(crate) commit: CommitId,
    pub(crate) tree: TreeId,
    pub(crate) how: LandedHow,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LandedHow {
    /// The branch is where the work began: it lands as it was judged.
    FastForward,
    /// All of it is on the branch.
    AlreadyThere,
    /// The tree that was judged, and whether a verifier judged the one that landed, too.
    Rebased { judged: TreeId, judged_again: bool },
}

/// Performs merges. Handed down, because a merge is a run, which is made of what asks for it.
pub(crate) trait MergeRuns {
    /// Brings the work together and checks it; tells what came of each entry, in their order.
    fn merge(
        &self,
        asked: &MergeAsked<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Vec<(RunId, MergeEnd)>>;
}

/// The merges that a run may need until its branch stays where it is: ids that are planned under
/// these names.
pub(crate) const MERGES: [&str; MOST_MERGES] = ["merge", "merge-2", "merge-3"];

/// Returns the run of the merge onto `tip`: the one that is on record, else the next of those that
/// were planned. One onto a commit that the branch left since is given up.
pub(crate) fn planned_merge(
    journal: &dyn Journal,
    ticket: &Ticket,
    tip: &CommitId,
    now: Timestamp,
) -> Result<Option<RunId>> {
    for name in MERGES {
        // Runs of earlier versions planned none.
        let Ok(id) = ticket.planned::<RunId>(name) else { return Ok(None) };
        match journal.run(id)? {
            None => return Ok(Some(id)),
            Some(run) if run.base_commit.as_ref() == Some(tip) => return Ok(Some(id)),
            Some(_) => give_up(journal, id, now)?,
        }
    }
    Ok(None)
}

/// Ends the run of a merge onto a commit that the branch has left, if it is not over.
pub(crate) fn give_up(journal: &dyn Journal, id: RunId, now: Timestamp) -> Result<()> {
    if !journal.run(id)?.is_some_and(|run| run.is_open()) {
        return Ok(());
    }
    let change = RunChange {
        state: Some(RunState::Ended),
        outcome: Some(Outcome::Interrupted),
        park: Some(None),
        reason: Some("the branch moved on again".to_owned()),
        ended: Some(now),
        ..RunChange::default()
    };
    Ok(journal.update_run(id, &change, &[])?)
}

/// Returns whether the run of a merge is over and says nothing about the work: what it was to land on
/// could not be checked, or the run was given up.
pub(crate) fn says_nothing(journal: &dyn Journal, id: RunId) -> Result<bool> {
    let Some(run) = journal.run(id)?.filter(|run| run.state == RunState::Ended) else {
        return Ok(false);
    };
    let rebased: Option<Done> = of_step(journal, &run, &StepKey::rebase())?;
    Ok(rebased.is_none() || run.outcome == Some(Outcome::Interrupted))
}

/// Reads what came of a merge that has a row.
pub(crate) fn told(
    journal: &dyn Journal,
    repository: &Repository,
    run: &Run,
    asked: &MergeAsked<'_>,
) -> Result<Vec<(RunId, MergeEnd)>> {
    let reason = run.reason.clone().unwrap_or_default();
    let all = |end: MergeEnd| -> Vec<(RunId, MergeEnd)> {
        asked.entries.iter().map(|entry| (entry.owner, end.clone())).collect()
    };
    if run.state != RunState::Ended {
        let outcome = run.outcome.unwrap_or(Outcome::Interrupted);
        let park = run.park.unwrap_or(Park::Interrupt);
        return Ok(all(MergeEnd::Waits { outcome, park, reason }));
    }
    let rebased = match of_step(journal, run, &StepKey::rebase())? {
        Some(Done::Rebased { entries, overlap, .. }) => Some((entries, !overlap.is_empty())),
        _ => None,
    };
    let Some((fates, judged_again)) = rebased else {
        return Ok(all(MergeEnd::Blocked { reason }));
    };
    let landed = match of_step(journal, run, &StepKey::commit())? {
        Some(Done::Committed { commit }) if asked.entries.len() == 1 => Some(vec![commit]),
        Some(Done::Committed { commit }) => {
            // Parents first, as they are stacked.
            let commits = repository.log(&[commit], std::slice::from_ref(asked.tip))?;
            Some(commits.into_iter().map(|commit| commit.id).collect())
        }
        _ => None,
    };
    let mut landed = landed.map(Vec::into_iter);
    let mut ends = Vec::new();
    for (entry, RebasedEntry { owner, fate }) in asked.entries.iter().zip(fates) {
        let end = match fate {
            RebaseFate::Conflict { files, shown } => MergeEnd::Conflict {
                evidence: evidence(Shortfall::Conflict, &conflict_line(&files), shown),
                files,
            },
            RebaseFate::Apart { reason } => MergeEnd::Apart { reason },
            RebaseFate::Stacked { tree } if run.outcome == Some(Outcome::Success) => {
                let judged = repository.tree_of(&entry.commit)?;
                match landed.as_mut().map(Iterator::next) {
                    Some(commit) => MergeEnd::Landed(LandedWork {
                        commit: commit.unwrap_or_else(|| asked.tip.clone()),
                        tree,
                        how: LandedHow::Rebased { judged, judged_again },
                    }),
                    None => MergeEnd::Landed(LandedWork {
                        commit: asked.tip.clone(),
                        tree,
                        how: LandedHow::AlreadyThere,
                    }),
                }
            }
            RebaseFate::Stacked { .. } => red(journal, run, &reason)?,
        };
        ends.push((owner, end));
    }
    Ok(ends)
}

/// What the gates or the verifier have against the tree.
fn red(journal: &dyn Journal, run: &Run, reason: &str) -> Result<MergeEnd> {
    let gates: Option<GateSummary> = match of_step(journal, run, &StepKey::gates(1))? {
        Some(Done::Gates(gates)) => Some(gates),
        _ => None,
    };
    let output = gates.filter(|gates| !gates.green).map(|gates| gates.evidence);
    let mut found = evidence(Shortfall::RedMerge, reason, output.unwrap_or_default());
    for key in [StepKey::verifier(1, 2), StepKey::verifier(1, 1)] {
        if let Some(Done::Verifier { session, intact: true, nonce, submitted }) =
            of_step(journal, run, &key)?
        {
            let said = read_verdict(&session.final_text, &nonce, 0.5);
            found.findings = settle_verdict(submitted, said).findings;
            break;
        }
    }
    Ok(MergeEnd::Red { evidence: found })
}

fn of_step<T: DeserializeOwned>(
    journal: &dyn Journal,
    run: &Run,
    key: &StepKey,
) -> Result<Option<T>> {
    recorded(journal, run.id, key)
}

fn evidence(shortfall: Shortfall, reason: &str, output: String) -> Evidence {
    Evidence { bounce: 1, shortfall, reason: reason.to_owned(), output, findings: Vec::new() }
}

fn conflict_line(files: &[String]) -> String {
    let names: Vec<String> = files.iter().map(|name| spore_plain::code(name, 200)).collect();
    format!("both sides changed {}", listed(&names))
}

/// Says what a merge means for the branch that the work was to land on.
pub(crate) fn brought(end: MergeEnd) -> Brought {
    match end {
        MergeEnd::Landed(landed) => Brought::Onto(landed.commit),
        MergeEnd::Conflict { files, .. } => {
            Brought::Not(format!("the branch moved on, and {}", conflict_line(&files)))
        }
        MergeEnd::Red { evidence } => Brought::Not(format!(
            "the branch moved on, and the two together do not hold: {}",
            spore_plain::line_within(&evidence.reason, 300)
        )),
        MergeEnd::Blocked { reason } | MergeEnd::Apart { reason } => Brought::Not(format!(
            "the branch moved on, and {}",
            spore_plain::line_within(&reason, 300)
        )),
        MergeEnd::Waits { park, reason, .. } => Brought::Waits { park, reason },
    }
}
