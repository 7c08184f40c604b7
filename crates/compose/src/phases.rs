//! L3 as a state machine: phases, as soon as what they wait for is done.
//!
//! Several phases may be under way at once, and their ends may come in any order. What becomes
//! of a phase depends on its own ends and on those it waits for, never on who was first, so a
//! resumed run that is fed the same ends in another order arrives at the same place. That is
//! also why a phase that failed for good stops those that wait for it and no others; only what
//! concerns the whole run (a limit, an interrupt, a question to a person) stops the rest.

pub(crate) mod led_parts;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use spore_model::propagation::{Action, AttemptsLeft, Layer, decide};
use spore_model::{Outcome, Park, StepKey};

use crate::child::{ChildEnd, Parked};
use crate::documents;
use crate::manifest::{
    CoordinatorManifest, OrchestratorEntry, PartStatus, PhaseReport, PhaseStatus, StageEntry,
};
use crate::plan::{CoordinatorPlan, OrchestratorPlan, PhasePlan};
use crate::stages::may_be_missed;
use crate::wording::FlowData;

#[derive(Clone, PartialEq, Debug)]
pub enum PhaseStep {
    /// Run a phase's orchestrator, perhaps not for the first time.
    Run { phase: usize, attempt: u32, orchestrator: OrchestratorPlan },
    /// Write the reports and close the run.
    Finish { ending: PhasesEnding },
}

/// How the phases as a whole ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PhasesEnding {
    pub outcome: Outcome,
    pub reason: String,
    pub manifest: CoordinatorManifest,
}

#[derive(Clone, PartialEq, Debug)]
pub enum PhaseNext {
    Do(PhaseStep),
    Park(Parked),
    End(PhasesEnding),
}

/// A coordinator on its way through its phases.
#[derive(Clone, Debug)]
pub struct Phases {
    plan: CoordinatorPlan,
    done: Vec<PhaseProgress>,
}

/// How far one phase is.
#[derive(Clone, Debug, Default)]
struct PhaseProgress {
    state: PhaseState,
    retries: u32,
    resolves: u32,
    /// Every attempt that is over.
    ends: Vec<ChildEnd>,
    /// How the next attempt differs from the plan.
    next: Option<OrchestratorPlan>,
}

#[derive(Clone, Debug, Default, PartialEq)]
enum PhaseState {
    #[default]
    Waiting,
    Running,
    Passed,
    Failed(Outcome),
    /// What it waits for will never be done.
    Skipped,
    Parked(Parked),
}

impl Phases {
    pub fn new(plan: CoordinatorPlan) -> Self {
        let done = plan.phases.iter().map(|_| PhaseProgress::default()).collect();
        Self { plan, done }
    }

    pub fn plan(&self) -> &CoordinatorPlan {
        &self.plan
    }

    /// Returns what can begin now. From here on it counts as begun.
    pub fn due(&mut self) -> Vec<PhaseStep> {
        self.skip();
        let mut due = Vec::new();
        while !self.is_stopped() && self.running() < self.plan.max_parallel as usize {
            let Some(phase) = (0..self.done.len()).find(|&at| self.is_free(at)) else { break };
            let progress = &mut self.done[phase];
            progress.state = PhaseState::Running;
            let planned = || self.plan.phases[phase].orchestrator.clone();
            let orchestrator = progress.next.take().unwrap_or_else(planned);
            let attempt = u32::try_from(progress.ends.len()).unwrap_or(u32::MAX) + 1;
            due.push(PhaseStep::Run { phase, attempt, orchestrator });
        }
        due
    }

    /// Returns what is known by now of the phases that passed.
    pub fn data(&self) -> FlowData {
        let mut data = FlowData::default();
        for (phase, one) in self.plan.phases.iter().zip(&self.done) {
            if let (PhaseState::Passed, Some(end)) = (&one.state, one.ends.last()) {
                let commit = end.line.as_ref().map(|line| line.tip.to_string());
                data.add_phase(&phase.name, &end.stages, commit);
            }
        }
        data
    }

    /// Begins a phase anew whose end is on record while what it left is gone.
    pub fn lost(&mut self, phase: usize, end: &ChildEnd) {
        self.done[phase].state = PhaseState::Waiting;
        self.done[phase].ends.push(end.clone());
    }

    /// Takes the end of a phase. Returns false for one that is parked: then it is no result, and
    /// resume does the phase again.
    pub fn apply(&mut self, phase: usize, end: &ChildEnd) -> bool {
        let plan = self.plan.phases[phase].clone();
        let action = decide(Layer::Phase, end.outcome, self.left(phase, &plan, end));
        let state = match action {
            Action::Park(outcome)
            | Action::RaiseAndCleanUp(outcome)
            | Action::Raise(outcome @ (Outcome::NeedsHuman | Outcome::NeedsEscalation)) => {
                self.done[phase].state =
                    PhaseState::Parked(Parked::because(&plan.name, outcome, end));
                return false;
            }
            Action::Advance => PhaseState::Passed,
            Action::Retry => {
                self.done[phase].retries += 1;
                self.again(phase, &plan, end, None, Vec::new())
            }
            Action::RetryFailedParts => {
                self.done[phase].retries += 1;
                self.again(phase, &plan, end, None, stages_that_passed(end))
            }
            Action::Resolve => {
                self.done[phase].resolves += 1;
                let resolution = documents::resolution(&plan.name, end);
                self.again(phase, &plan, end, Some(resolution), Vec::new())
            }
            _ => PhaseState::Failed(end.outcome),
        };
        self.done[phase].state = state;
        self.done[phase].ends.push(end.clone());
        true
    }

    /// Says what is next once nothing runs and nothing is due.
    pub fn rest(&self) -> PhaseNext {
        let parked = |outcome: Option<Outcome>| {
            self.done.iter().find_map(|one| match &one.state {
                PhaseState::Parked(parked)
                    if outcome.is_none_or(|wanted| parked.outcome == wanted) =>
                {
                    Some(PhaseNext::Park(parked.clone()))
                }
                _ => None,
            })
        };
        // What no layer absorbs comes first.
        if let Some(park) = parked(Some(Outcome::Interrupted)) {
            return park;
        }
        let raised = |wanted: &dyn Fn(Outcome) -> bool| {
            let all = self.plan.phases.iter().zip(&self.done);
            all.filter_map(|(phase, one)| match one.state {
                PhaseState::Failed(outcome) if wanted(outcome) => Some((phase, outcome, one)),
                _ => None,
            })
            .next()
        };
        let concerns_all = |outcome| !may_be_missed(outcome);
        if let Some((phase, outcome, one)) = raised(&|o| o == Outcome::DepthExceeded) {
            return self.finish(outcome, told(phase, one));
        }
        if let Some(park) = parked(None) {
            return park;
        }
        if let Some((phase, outcome, one)) = raised(&concerns_all) {
            return self.finish(outcome, told(phase, one));
        }
        self.conclude()
    }

    /// Returns the phases whose fate is decided, with their reports.
    pub fn settled(&self) -> impl Iterator<Item = (usize, PhaseReport)> {
        let settled =
            |state: &PhaseState| matches!(state, PhaseState::Passed | PhaseState::Failed(_));
        (0..self.done.len())
            .filter(move |&at| settled(&self.done[at].state))
            .map(|at| (at, self.report(at)))
    }

    fn conclude(&self) -> PhaseNext {
        let all = || self.plan.phases.iter().zip(&self.done);
        let names = |wanted: &dyn Fn(&PhaseState) -> bool| {
            let found: Vec<&str> = all()
                .filter(|(_, one)| wanted(&one.state))
                .map(|(phase, _)| &*phase.name)
                .collect();
            found.join(", ")
        };
        for (phase, one) in all().filter(|(phase, _)| phase.required) {
            if let PhaseState::Failed(outcome) = one.state {
                return self.finish(outcome, told(phase, one));
            }
        }
        let missed = |state: &PhaseState| *state != PhaseState::Passed;
        let skipped = all().find(|(phase, one)| phase.required && one.state == PhaseState::Skipped);
        match (skipped, all().filter(|(_, one)| missed(&one.state)).count()) {
            (Some((phase, _)), _) => self.finish(
                Outcome::Failure,
                format!("{} could not begin: what it waits for failed", phase.name),
            ),
            (None, 0) => self.finish(Outcome::Success, "every phase passed".to_owned()),
            (None, count) if count == self.done.len() => {
                self.finish(Outcome::Failure, format!("no phase passed: {}", names(&missed)))
            }
            (None, _) => {
                self.finish(Outcome::Partial, format!("not every phase passed: {}", names(&missed)))
            }
        }
    }

    fn finish(&self, outcome: Outcome, reason: String) -> PhaseNext {
        let reports = (0..self.done.len()).map(|at| self.report(at)).collect();
        let manifest = CoordinatorManifest::summed(&self.plan.coordinator, reports, outcome);
        PhaseNext::Do(PhaseStep::Finish { ending: PhasesEnding { outcome, reason, manifest } })
    }

    fn report(&self, at: usize) -> PhaseReport {
        let (plan, one) = (&self.plan.phases[at], &self.done[at]);
        let status = match one.state {
            PhaseState::Passed => PhaseStatus::Complete,
            PhaseState::Failed(_) => PhaseStatus::Failure,
            _ => PhaseStatus::Skipped,
        };
        phase_report((at, plan), status, &one.ends)
    }

    /// Prepares another attempt. A stage's attempts count together, whether the phase or the
    /// orchestrator asked for them.
    fn again(
        &mut self,
        at: usize,
        plan: &PhasePlan,
        end: &ChildEnd,
        resolution: Option<String>,
        passed: Vec<StageEntry>,
    ) -> PhaseState {
        let spent = spent_on_stages(self.done[at].ends.iter().chain([end]));
        let planned = plan.orchestrator.clone();
        // What the layer above had to say holds for every attempt.
        let resolution = resolution.or_else(|| planned.resolution.clone());
        // What is run again whole begins from where the branch is by then.
        let line = end.line.clone().filter(|_| !passed.is_empty());
        self.done[at].next = Some(OrchestratorPlan { spent, passed, line, resolution, ..planned });
        PhaseState::Waiting
    }

    fn left(&self, at: usize, plan: &PhasePlan, end: &ChildEnd) -> AttemptsLeft {
        let one = &self.done[at];
        left_of_phase(plan, (one.retries, one.resolves), &one.ends, end)
    }

    fn running(&self) -> usize {
        self.done.iter().filter(|one| one.state == PhaseState::Running).count()
    }

    /// Returns whether anything has happened that concerns all phases.
    fn is_stopped(&self) -> bool {
        self.done.iter().any(|one| match &one.state {
            // A question is its own phase's: the others go on.
            PhaseState::Parked(parked) => parked.park != Park::Human,
            PhaseState::Failed(outcome) => !may_be_missed(*outcome),
            _ => false,
        })
    }

    fn is_free(&self, at: usize) -> bool {
        let done = |name: &String| self.state_of(name) == Some(&PhaseState::Passed);
        self.done[at].state == PhaseState::Waiting
            && self.plan.phases[at].depends_on.iter().all(done)
    }

    fn state_of(&self, name: &str) -> Option<&PhaseState> {
        let at = self.plan.phases.iter().position(|phase| phase.name == name)?;
        Some(&self.done[at].state)
    }

    /// Gives up what waits in vain, and what waits for that.
    fn skip(&mut self) {
        let lost = |state: Option<&PhaseState>| {
            matches!(state, Some(PhaseState::Failed(_) | PhaseState::Skipped))
        };
        while let Some(at) = (0..self.done.len()).find(|&at| {
            self.done[at].state == PhaseState::Waiting
                && self.plan.phases[at].depends_on.iter().any(|name| lost(self.state_of(name)))
        }) {
            self.done[at].state = PhaseState::Skipped;
        }
    }
}

/// How often each stage was tried in attempts at its phase that are over.
pub(crate) fn spent_on_stages<'e>(
    ends: impl Iterator<Item = &'e ChildEnd>,
) -> BTreeMap<String, u32> {
    let mut spent: BTreeMap<String, u32> = BTreeMap::new();
    // A stage that passed is carried on into later manifests, as the run it was.
    let mut counted = BTreeSet::new();
    for entry in ends.flat_map(|end| &end.stages) {
        if counted.insert(entry.run) {
            *spent.entry(entry.name.clone()).or_default() += entry.tries();
        }
    }
    spent
}

/// The stages that passed in an attempt at their phase.
pub(crate) fn stages_that_passed(end: &ChildEnd) -> Vec<StageEntry> {
    let passed = |entry: &&StageEntry| entry.status == PartStatus::Success;
    end.stages.iter().filter(passed).cloned().collect()
}

/// What may still be tried with a phase after `end`, of its own and of what caps the product.
pub(crate) fn left_of_phase(
    plan: &PhasePlan,
    (retries, resolves): (u32, u32),
    before: &[ChildEnd],
    end: &ChildEnd,
) -> AttemptsLeft {
    let most = plan.orchestrator.max_attempts;
    let spent = spent_on_stages(before.iter().chain([end]));
    // Another attempt at the phase is one more at each of its stages, or of those that
    // failed.
    let passed = |name: &str| {
        let mut entries = end.stages.iter().filter(|entry| entry.name == name);
        entries.any(|entry| entry.status == PartStatus::Success)
    };
    let parts_only = end.outcome == Outcome::Partial;
    let mut counted = spent.iter().filter(|(name, _)| !(parts_only && passed(name)));
    let more = counted.all(|(_, spent)| *spent < most);
    let left = |allowed: u32, used: u32| if more { allowed.saturating_sub(used) } else { 0 };
    AttemptsLeft {
        retries: left(plan.retries, retries),
        heals: left(plan.resolves, resolves),
        idempotent: plan.orchestrator.stages.iter().all(|stage| stage.idempotent),
        budget: end.budget_left,
    }
}

/// What is told of a phase, by all its attempts that are over.
pub(crate) fn phase_report(
    (at, plan): (usize, &PhasePlan),
    status: PhaseStatus,
    ends: &[ChildEnd],
) -> PhaseReport {
    let orchestrators = ends.iter().enumerate().map(|(index, end)| OrchestratorEntry {
        name: plan.orchestrator.orchestrator.clone(),
        manifest: format!("{}/manifest.json", attempt_dir(at, &plan.name, index + 1)),
        exit_code: end.outcome.exit_code(),
        run: end.run,
        commit: end.line.as_ref().map(|line| line.tip.clone()),
    });
    let last = ends.last();
    let stages = || last.iter().flat_map(|end| &end.stages);
    PhaseReport {
        phase: plan.name.clone(),
        status,
        exit_code: last.map(|end| end.outcome.exit_code()),
        orchestrators: orchestrators.collect(),
        artifacts: stages().filter_map(|stage| stage.artifact.clone()).collect(),
        sentinel_grade: stages().filter_map(|stage| stage.grade).max(),
        error: match status {
            PhaseStatus::Failure => last.map(ChildEnd::told),
            PhaseStatus::Complete | PhaseStatus::Skipped => None,
        },
    }
}

fn told(phase: &PhasePlan, one: &PhaseProgress) -> String {
    let reason = one.ends.last().map_or_else(String::new, ChildEnd::told);
    format!("{}: {reason}", phase.name)
}

/// Where the files of one attempt at a phase are, below the run's directory.
pub fn attempt_dir(at: usize, name: &str, attempt: usize) -> String {
    format!("{}/attempt-{attempt}", phase_dir(at, name))
}

pub fn phase_dir(at: usize, name: &str) -> String {
    format!("phases/phase-{:02}-{name}", at + 1)
}

impl PhaseStep {
    /// The key of one attempt at a phase.
    pub fn key_of(plan: &CoordinatorPlan, phase: usize, attempt: u32) -> StepKey {
        crate::step_key(format!("phase/{}/{attempt}", plan.phases[phase].name))
    }

    /// The same step has the same key in every process that works on the run.
    pub fn key(&self, plan: &CoordinatorPlan) -> StepKey {
        let text = match self {
            Self::Run { phase, attempt, .. } => return Self::key_of(plan, *phase, *attempt),
            Self::Finish { .. } => "finish".to_owned(),
        };
        crate::step_key(text)
    }
}

#[cfg(test)]
mod tests;
