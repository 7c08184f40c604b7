//! Brings what a flow made where it belongs: what a phase made onto the flow's branch, one phase at
//! a time, and the whole branch where the person asked for it.
//!
//! Nothing lands that was not checked as it stands there: what was made on an older tip is brought
//! onto the newer one by the merge queue of loops, as a run of its own with the project's checks.
//! What a phase that failed made never gets there; a ref keeps it.

use serde::{Deserialize, Serialize};
use spore_compose::{ChildEnd, OrchestratorPlan, Parked, StagePlan, StageWork, WorkLine};
use spore_model::{
    Begun, CommitId, EffectClass, Fault, Outcome, Park, RunId, SourceKind, StepKey, Ticket, Usd,
};
use spore_pipeline::Done;

use super::branch::FlowBranch;
use super::flow::{ActiveFlow, LayerPlace};
use crate::base::error::bug;
use crate::base::run_refs;
use crate::base::step::{Intent, recorded};
use crate::run::landing::apply::{self, ApplyEnd, CommitJudge, CommitStory, Site, commit_message};
use crate::run::landing::merge::{
    LandedHow, LandedWork, MERGES, MergeAsked, MergeEnd, MergePlace, brought, planned_merge,
};
use crate::run::landing::merging::integrate;
use crate::run::request::Orchestrate;
use crate::run::settings::{MergeEntry, RunSettings};
use crate::{Error, Progress, Result, Update};

/// What came of a phase's work where it was to land. Kept as the result of a step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PhaseLanding {
    /// The branch goes on from the base to the tip.
    Landed(WorkLine),
    /// It does not fit what others have brought there.
    Back { reason: String, evidence: String },
}

/// Work that is to be brought onto another commit.
struct FlowMerge<'a> {
    place: &'a LayerPlace,
    /// The run whose work it is, and what people call that.
    owner: RunId,
    words: &'a str,
    line: &'a WorkLine,
    onto: &'a CommitId,
    /// The commit of a person's that the checks are taken from, where agents made what it is
    /// brought onto.
    trusted: Option<&'a CommitId>,
    /// The plan of the work: where a verifier stands behind it, one is asked again if both sides touch.
    judged: Option<&'a OrchestratorPlan>,
}

/// Verified work of one part of a stage, which is to be joined to that of the others.
pub(crate) struct JoinAsked<'a> {
    pub(crate) place: &'a LayerPlace,
    pub(crate) owner: RunId,
    pub(crate) words: &'a str,
    pub(crate) line: &'a WorkLine,
    pub(crate) onto: &'a CommitId,
    pub(crate) stage: &'a StagePlan,
}

/// The step in which a phase's work lands.
fn landing_key(phase: &str, attempt: u32) -> Result<StepKey> {
    StepKey::new(format!("land/{phase}/{attempt}")).map_err(bug)
}

/// The steps of a flow's merges have ids planned for them, which doing it again finds.
pub(crate) fn planning_merges(ground: &ActiveFlow<'_>) -> Intent {
    let plan = |intent: Intent, name: &&str| intent.plan(name, ground.around.ids.run());
    MERGES.iter().fold(Intent::at(ground.now()), plan)
}

impl ActiveFlow<'_> {
    /// Finds what landed of these phases by the record, in the order in which it did.
    pub(crate) fn recall_landings(&self, place: &LayerPlace, phases: &[&str]) -> Result<()> {
        let Some(branch) = &self.branch else { return Ok(()) };
        let mut landed = Vec::new();
        for phase in phases {
            for attempt in 1.. {
                let key = landing_key(phase, attempt)?;
                match recorded::<PhaseLanding>(self.journal, place.run, &key)? {
                    Some(PhaseLanding::Landed(line))
                        if branch.repository.tree_of(&line.tip).is_ok() =>
                    {
                        landed.push(line);
                    }
                    // What is gone with its commits lands again.
                    Some(PhaseLanding::Landed(_) | PhaseLanding::Back { .. }) => {}
                    // An attempt that made nothing has nothing that could land.
                    None if self
                        .journal
                        .step(place.run, &phase_key(phase, attempt)?)?
                        .is_none() =>
                    {
                        break;
                    }
                    None => {}
                }
            }
        }
        while let Some(next) = landed.iter().find(|line| line.base == branch.tip()) {
            branch.record(&next.tip.clone());
        }
        branch.follow()
    }

    /// Brings what a phase made onto the branch, when its turn comes. Where the phase failed, a ref
    /// keeps what it made.
    pub(crate) fn land(
        &self,
        place: &LayerPlace,
        (phase, attempt): (&str, u32),
        plan: &OrchestratorPlan,
        end: ChildEnd,
        progress: &mut dyn Progress,
    ) -> Result<ChildEnd> {
        let (Some(branch), Some(line)) = (&self.branch, end.line.clone()) else { return Ok(end) };
        if end.outcome != Outcome::Success {
            let name = run_refs::own(end.run, run_refs::ROLLED_BACK);
            branch.repository.set_ref(&name, &line.tip)?;
            return Ok(end);
        }
        let _turn = branch.turn();
        let (steps, key) = (self.steps(place), landing_key(phase, attempt)?);
        let landing = match steps.begin(&key, EffectClass::Keyed, planning_merges(self))? {
            Begun::Done(landing) => landing,
            Begun::Do(ticket) => {
                let words = format!("{phase} {}", plan.target);
                let merge = FlowMerge {
                    place,
                    owner: end.run,
                    words: &words,
                    line: &line,
                    onto: &branch.tip(),
                    trusted: Some(&branch.base),
                    judged: Some(plan),
                };
                let landing = match self.brought_onto(branch, &ticket, &merge, progress)? {
                    MergeEnd::Landed(work) => {
                        let base = merge.onto.clone();
                        PhaseLanding::Landed(WorkLine { base, tip: work.commit })
                    }
                    MergeEnd::Conflict { evidence, .. } | MergeEnd::Red { evidence } => {
                        let reason = evidence.reason.clone();
                        PhaseLanding::Back { reason, evidence: evidence.to_markdown() }
                    }
                    MergeEnd::Apart { reason } | MergeEnd::Blocked { reason } => {
                        PhaseLanding::Back { evidence: String::new(), reason }
                    }
                    MergeEnd::Waits { outcome, park, reason } => {
                        let end = ChildEnd { outcome, reason: Some(reason), ..end };
                        return Ok(ChildEnd { park: Some(park), ..end });
                    }
                };
                let mut entry = steps.entry(&landing)?;
                if let PhaseLanding::Landed(line) = &landing {
                    let payload = serde_json::json!({
                        "branch": branch.name, "commit": line.tip, "phase": phase,
                    });
                    let event =
                        self.event(SourceKind::Git, "flow", "commit.landed", end.run, payload);
                    entry.events.push(event);
                }
                steps.finish(&key, &ticket, &entry)?;
                landing
            }
        };
        match landing {
            PhaseLanding::Landed(landed) => {
                branch.record(&landed.tip);
                branch.follow()?;
                Ok(ChildEnd { line: Some(landed), ..end })
            }
            PhaseLanding::Back { reason, evidence } => {
                let name = run_refs::own(end.run, run_refs::ROLLED_BACK);
                branch.repository.set_ref(&name, &line.tip)?;
                let reason = format!("it does not fit what others brought to the branch: {reason}");
                let outcome = Outcome::NeedsRefinement;
                Ok(ChildEnd { outcome, reason: Some(reason), diagnosis: evidence, ..end })
            }
        }
    }

    /// Joins the work of one part of a stage to that of the others, checked together.
    pub(crate) fn joined(
        &self,
        ticket: &Ticket,
        asked: &JoinAsked<'_>,
        progress: &mut dyn Progress,
    ) -> Result<MergeEnd> {
        let JoinAsked { place, owner, words, line, onto, stage } = *asked;
        let branch = self
            .branch
            .as_ref()
            .ok_or_else(|| Error::new(Fault::Bug, "verified work is without a branch"))?;
        let judged = OrchestratorPlan::of_one(stage);
        let (trusted, judged) = (Some(&branch.base), Some(&judged));
        let merge = FlowMerge { place, owner, words, line, onto, trusted, judged };
        self.brought_onto(branch, ticket, &merge, progress)
    }

    /// Brings work onto a commit that it was not made on, and has the two checked together.
    fn brought_onto(
        &self,
        branch: &FlowBranch,
        ticket: &Ticket,
        merge: &FlowMerge<'_>,
        progress: &mut dyn Progress,
    ) -> Result<MergeEnd> {
        let (line, onto) = (merge.line, merge.onto);
        if line.base == *onto {
            let (commit, tree) = (line.tip.clone(), branch.repository.tree_of(&line.tip)?);
            let how = LandedHow::FastForward;
            return Ok(MergeEnd::Landed(LandedWork { commit, tree, how }));
        }
        let Some(id) = planned_merge(self.journal, ticket, onto, self.now())? else {
            let reason = "the branch moves on faster than it is checked".to_owned();
            return Ok(MergeEnd::Blocked { reason });
        };
        let commit = self.as_one_commit(branch, ticket, merge)?;
        let entries = [MergeEntry::new(merge.owner, line.base.clone(), commit)];
        let settings = self.merge_settings(branch, merge)?;
        let before = self.cost_of(id)?;
        let usual = self.config.orchestrate.budget_usd;
        let node = self.reserve(merge.place.budget, Some(usual)).ok();
        let left = node.and_then(|node| self.budget().left(node).usd).unwrap_or_default();
        let asked = MergeAsked {
            place: MergePlace {
                id,
                parent: merge.place.run,
                trace: self.trace.clone(),
                depth: merge.place.depth + 1,
                nesting: self.nesting,
            },
            tip: onto,
            entries: &entries,
            budget: left + before,
            settings: Some(&settings),
        };
        let ends = integrate(self.around, &asked, progress);
        let more = self.cost_of(id)?.as_nanos().saturating_sub(before.as_nanos());
        node.map(|node| self.settle(node, Usd::from_nanos(more)));
        let end = ends?.into_iter().next().map(|(_, end)| end);
        end.ok_or_else(|| Error::new(Fault::Bug, "nothing came of a merge"))
    }

    /// A line of commits as one, which can be brought onto another commit whole.
    fn as_one_commit(
        &self,
        branch: &FlowBranch,
        ticket: &Ticket,
        merge: &FlowMerge<'_>,
    ) -> Result<CommitId> {
        let (repository, line) = (&branch.repository, merge.line);
        let commits =
            repository.log(std::slice::from_ref(&line.tip), std::slice::from_ref(&line.base))?;
        if commits.len() == 1 {
            return Ok(line.tip.clone());
        }
        let tree = repository.tree_of(&line.tip)?;
        let diff = repository.diff(&repository.tree_of(&line.base)?, &tree, 0)?;
        let changed: Vec<String> = diff.files.into_iter().map(|file| file.path).collect();
        let message = commit_message(&CommitStory {
            task: merge.words,
            subject: "flow: ",
            run: merge.owner,
            tree: &tree,
            said: "",
            changed: &changed,
            judged: CommitJudge::Unjudged { role: "flow" },
        });
        let message = self.around.secrets().strike(&message).into_owned();
        let when = ticket.time().map_err(bug)?;
        Ok(repository.commit_tree(&tree, &line.base, &message, when)?)
    }

    /// What the two together are held to: the project's checks, and a verifier where one stood
    /// behind the work.
    fn merge_settings(&self, branch: &FlowBranch, merge: &FlowMerge<'_>) -> Result<RunSettings> {
        let judged = merge.judged.and_then(|plan| {
            plan.stages.iter().find_map(|stage| match &stage.work {
                StageWork::Orchestrate(task) => Some(task),
                StageWork::Exec(_) | StageWork::Sentinel { .. } | StageWork::Planned(_) => None,
            })
        });
        let scenario = judged.and_then(|task| task.scenario.as_deref());
        let asked = Orchestrate {
            task: merge.words.to_owned(),
            base: Some(branch.base.to_string()),
            backend: judged.and_then(|task| task.backend.clone()),
            scenario: scenario.map(|path| self.workspace.root().join(path)),
            model: judged.and_then(|task| task.model.clone()),
            trusted: merge.trusted.cloned(),
            ..Orchestrate::default()
        };
        let (workspace, repository) = (self.workspace, &branch.repository);
        let mut settings = RunSettings::settle(workspace, repository, self.config, &asked)?;
        settings.unjudged = judged.is_none();
        if settings.unjudged {
            settings.agents.clear();
        }
        Ok(settings)
    }

    /// Brings the whole branch where the person asked for it, before the flow is called ended.
    /// Returns what that waits for, where it does.
    pub(crate) fn bring_home(
        &self,
        place: &LayerPlace,
        outcome: Outcome,
        progress: &mut dyn Progress,
    ) -> Result<Option<Parked>> {
        let Some(branch) = self.branch.as_ref().filter(|_| place.parent.is_none()) else {
            return Ok(None);
        };
        branch.follow()?;
        let is_whole = matches!(outcome, Outcome::Success | Outcome::Partial);
        let Some(line) = branch.line().filter(|_| is_whole) else { return Ok(None) };
        let (steps, key) = (self.steps(place), StepKey::apply());
        let begun = steps.begin::<Done>(&key, EffectClass::Keyed, planning_merges(self))?;
        let Begun::Do(ticket) = begun else { return Ok(None) };
        let site = Site {
            around: self.around,
            workspace: self.workspace,
            repository: &branch.repository,
            run: self.root,
            branch: branch.name.clone(),
        };
        let mut bring = |onto: &CommitId| {
            let words = &place.name;
            // What it is brought onto there is the person's own.
            let (owner, trusted, judged, line) = (self.root, None, None, &line);
            let merge = FlowMerge { place, owner, words, line, onto, trusted, judged };
            let end = self.brought_onto(branch, &ticket, &merge, progress)?;
            Ok(brought(end))
        };
        let end = apply::apply(&site, &line.base, &line.tip, branch.apply, &mut bring)?;
        let applied = match end {
            ApplyEnd::Over(applied) => applied,
            ApplyEnd::Waits { park, reason } => {
                let outcome = match park {
                    Park::Quota => Outcome::QuotaParked,
                    Park::Interrupt => Outcome::Interrupted,
                    Park::Budget | Park::Human => Outcome::NeedsHuman,
                };
                return Ok(Some(Parked { outcome, park, reason }));
            }
        };
        let told = serde_json::to_value(&applied).map_err(bug)?;
        let mut entry = steps.entry(&Done::Applied { record: told.clone() })?;
        entry.events.push(self.event(SourceKind::Git, "flow", "commit.applied", self.root, told));
        steps.finish(&key, &ticket, &entry)?;
        let (done, what) = (applied.done, applied.what);
        progress.update(&Update::Applied { done, what, commit: line.tip.to_string() });
        Ok(None)
    }
}

fn phase_key(phase: &str, attempt: u32) -> Result<StepKey> {
    StepKey::new(format!("phase/{phase}/{attempt}")).map_err(bug)
}
