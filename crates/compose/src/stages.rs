//! L2 as a state machine: stages one after the other, healed and retried by the one table.
//!
//! It is told how a stage ended and says what is next. It never looks at a clock or a file, so a
//! run that was killed is this machine fed with the ends on record.

use serde::{Deserialize, Serialize};
use spore_model::propagation::{Action, AttemptsLeft, Layer, decide};
use spore_model::{Outcome, StepKey};

use crate::child::{ChildEnd, Diagnosis, Parked};
use crate::manifest::{PartStatus, StageEntry, StageManifest};
use crate::plan::{OrchestratorPlan, StagePlan};
use crate::wording::FlowData;

#[derive(Clone, PartialEq, Debug)]
pub enum StageStep {
    /// Do the work of one stage, perhaps not for the first time. Rounds begin anew with attempts.
    Run { stage: usize, round: u32, attempt: u32, diagnosis: Option<Diagnosis> },
    /// Write the manifest and close the run.
    Finish { ending: StagesEnding },
}

/// How the stages as a whole ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StagesEnding {
    pub outcome: Outcome,
    pub reason: String,
    pub manifest: StageManifest,
}

#[derive(Clone, PartialEq, Debug)]
pub enum StageNext {
    Do(StageStep),
    Park(Parked),
    End(StagesEnding),
}

/// An orchestrator on its way through its stages.
#[derive(Clone, Debug)]
pub struct Stages {
    plan: OrchestratorPlan,
    done: Vec<StageProgress>,
}

/// How far one stage is.
#[derive(Clone, Debug, Default)]
struct StageProgress {
    attempts: u32,
    heals: u32,
    retries: u32,
    settled: Option<StageEntry>,
    /// How often it was begun anew: for another round, or because what it had left is gone.
    anew: u32,
    /// How many rounds it asked for, where it says when it is enough.
    rounds: u32,
    /// What the last round was not good enough for.
    feedback: Option<Diagnosis>,
}

impl Stages {
    pub fn new(plan: OrchestratorPlan) -> Self {
        let earlier = |stage: &StagePlan| StageProgress {
            settled: plan.passed.iter().find(|entry| entry.name == stage.name).cloned(),
            ..StageProgress::default()
        };
        let done = plan.stages.iter().map(earlier).collect();
        Self { plan, done }
    }

    pub fn plan(&self) -> &OrchestratorPlan {
        &self.plan
    }

    pub fn start(&mut self) -> StageNext {
        self.go_on()
    }

    /// Takes the end of `step` and says what is next.
    pub fn apply(&mut self, step: &StageStep, end: &ChildEnd) -> StageNext {
        match step {
            StageStep::Run { stage, attempt, .. } => self.after(*stage, *attempt, end),
            StageStep::Finish { ending } => StageNext::End(ending.clone()),
        }
    }

    /// Returns the stages whose fate is decided, by their place in the plan.
    pub fn settled(&self) -> impl Iterator<Item = (usize, &StageEntry)> {
        let own = |entry: &&StageEntry| !self.plan.passed.contains(entry);
        let all = self.done.iter().enumerate();
        all.filter_map(move |(at, one)| Some((at, one.settled.as_ref().filter(own)?)))
    }

    /// Returns what is known by now of the stages that are over.
    pub fn data(&self) -> FlowData {
        FlowData::of_stages(self.done.iter().filter_map(|one| one.settled.as_ref()))
    }

    /// Begins a stage anew whose end is on record while what it left is gone.
    pub fn lost(&mut self, step: &StageStep) -> StageNext {
        if let StageStep::Run { stage, .. } = step {
            self.done[*stage].begin_anew(None);
        }
        self.go_on()
    }

    fn after(&mut self, at: usize, attempt: u32, end: &ChildEnd) -> StageNext {
        self.done[at].attempts = attempt;
        let name = self.plan.stages[at].name.clone();
        if let Some(next) = self.after_round(at, attempt, end) {
            return next;
        }
        match decide(Layer::Stage, end.outcome, self.left(at, end)) {
            Action::Advance => {
                self.settle(at, PartStatus::Success, end);
                self.go_on()
            }
            Action::Heal => {
                self.done[at].heals += 1;
                self.again(at, attempt, Some(Diagnosis::of(attempt, end)))
            }
            // One session has no parts that could be done alone, but it may know which.
            Action::RetryFailedParts => {
                self.done[at].retries += 1;
                self.again(at, attempt, Some(Diagnosis::of(attempt, end)))
            }
            Action::Retry => {
                self.done[at].retries += 1;
                self.again(at, attempt, None)
            }
            Action::Park(outcome) | Action::RaiseAndCleanUp(outcome) => {
                StageNext::Park(Parked::because(&name, outcome, end))
            }
            // A question of a stage that is over: with its answer the stage is run again.
            Action::Raise(Outcome::NeedsHuman | Outcome::NeedsEscalation)
                if end.answer.is_some() =>
            {
                self.again(at, attempt, Some(Diagnosis::of(attempt, end)))
            }
            Action::Raise(outcome @ (Outcome::NeedsHuman | Outcome::NeedsEscalation)) => {
                StageNext::Park(Parked::because(&name, outcome, end))
            }
            _ => {
                self.settle(at, PartStatus::Failure, end);
                if may_be_missed(end.outcome) && !self.plan.stages[at].required {
                    return self.go_on();
                }
                self.finish(end.outcome, format!("{name}: {}", end.told()))
            }
        }
    }

    /// Decides about another round, where the stage is one that says when it is enough. Only what
    /// was done, and not well enough, is: a limit, an interrupt and a question concern the whole.
    fn after_round(&mut self, at: usize, attempt: u32, end: &ChildEnd) -> Option<StageNext> {
        let stage = &self.plan.stages[at];
        let plan = stage.rounds.as_ref()?;
        let is_enough = match (end.outcome, end.says_until) {
            (Outcome::Success, said) => said.unwrap_or(false),
            (Outcome::NeedsRefinement, _) => false,
            _ => return None,
        };
        if is_enough {
            return None;
        }
        let (name, until, most) = (stage.name.clone(), plan.until.clone(), plan.max_rounds);
        let first = self.plan.stages.iter().position(|one| one.name == plan.from).unwrap_or(at);
        let round = self.done[at].rounds + 1;
        let reason = format!("{name} does not say {until} in round {round} of {most}");
        if round >= most {
            let reason = Some(format!("it does not say {until} after {most} rounds"));
            let end = ChildEnd { outcome: Outcome::NeedsRefinement, reason, ..end.clone() };
            self.settle(at, PartStatus::Failure, &end);
            return Some(match self.plan.stages[at].required {
                false => self.go_on(),
                true => self.finish(end.outcome, format!("{name}: {}", end.told())),
            });
        }
        let output = end.diagnosis.clone();
        let mut feedback = Some(Diagnosis { attempt, reason, output, answer: None });
        for one in &mut self.done[first..=at] {
            one.begin_anew(feedback.take());
        }
        self.done[at].rounds = round;
        Some(self.go_on())
    }

    /// What may still be tried with a stage, of its own and of what caps the product.
    fn left(&self, at: usize, end: &ChildEnd) -> AttemptsLeft {
        let (stage, done) = (&self.plan.stages[at], &self.done[at]);
        // What has parts was healed and retried part by part.
        let more = match stage.has_parts() {
            true => 0,
            false => self.plan.attempts_left(&stage.name).saturating_sub(done.attempts),
        };
        AttemptsLeft {
            retries: stage.retries.saturating_sub(done.retries).min(more),
            heals: stage.heals.saturating_sub(done.heals).min(more),
            idempotent: stage.idempotent,
            budget: end.budget_left,
        }
    }

    fn settle(&mut self, at: usize, status: PartStatus, end: &ChildEnd) {
        let (name, one) = (&self.plan.stages[at].name, &self.done[at]);
        let entry = end.entry(name, status, one.attempts);
        let rounds = (one.anew > 0).then_some(one.anew + 1);
        self.done[at].settled = Some(StageEntry { rounds, ..entry });
    }

    fn go_on(&mut self) -> StageNext {
        match self.done.iter().position(|one| one.settled.is_none()) {
            Some(stage) => {
                let diagnosis = self.done[stage].feedback.clone();
                let round = self.done[stage].anew + 1;
                StageNext::Do(StageStep::Run { stage, round, attempt: 1, diagnosis })
            }
            None => self.conclude(),
        }
    }

    fn again(&self, stage: usize, attempt: u32, diagnosis: Option<Diagnosis>) -> StageNext {
        let round = self.done[stage].anew + 1;
        StageNext::Do(StageStep::Run { stage, round, attempt: attempt + 1, diagnosis })
    }

    /// All stages are settled, and none that failed was required.
    fn conclude(&self) -> StageNext {
        let failed: Vec<&StageEntry> = self
            .done
            .iter()
            .filter_map(|one| one.settled.as_ref())
            .filter(|entry| entry.status == PartStatus::Failure)
            .collect();
        let names = || failed.iter().map(|entry| &*entry.name).collect::<Vec<_>>().join(", ");
        match failed.len() {
            0 => self.finish(Outcome::Success, "every stage passed".to_owned()),
            all if all == self.done.len() => {
                self.finish(Outcome::Failure, format!("no stage passed: {}", names()))
            }
            _ => self.finish(Outcome::Partial, format!("not every stage passed: {}", names())),
        }
    }

    fn finish(&self, outcome: Outcome, reason: String) -> StageNext {
        let entries = self.plan.stages.iter().zip(&self.done).map(|(stage, done)| {
            done.settled.clone().unwrap_or_else(|| StageEntry::skipped(&stage.name))
        });
        let named = (&*self.plan.orchestrator, &*self.plan.modifier, &*self.plan.target);
        let manifest = StageManifest::summed(named, entries.collect(), outcome);
        StageNext::Do(StageStep::Finish { ending: StagesEnding { outcome, reason, manifest } })
    }
}

impl StageStep {
    /// The same step has the same key in every process that works on the run.
    pub fn key(&self, plan: &OrchestratorPlan) -> StepKey {
        let text = match self {
            Self::Run { stage, round: 1, attempt, .. } => {
                format!("stage/{}/{attempt}", plan.stages[*stage].name)
            }
            Self::Run { stage, round, attempt, .. } => {
                format!("stage/{}/round-{round}/{attempt}", plan.stages[*stage].name)
            }
            Self::Finish { .. } => "finish".to_owned(),
        };
        crate::step_key(text)
    }
}

impl StageProgress {
    fn begin_anew(&mut self, feedback: Option<Diagnosis>) {
        *self = Self { anew: self.anew + 1, feedback, ..Self::default() };
    }
}

/// Returns whether a part that is not required may end so without ending the whole. A limit,
/// an interrupt and a question to a person concern the whole run.
pub(crate) fn may_be_missed(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Failure | Outcome::NeedsRefinement | Outcome::Partial | Outcome::TimedOut
    )
}

#[cfg(test)]
pub(crate) mod tests;
