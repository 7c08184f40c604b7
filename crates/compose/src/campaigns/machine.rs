//! L4 as a state machine: research, plan, review, phases, healing, evaluation.
//!
//! It is told how a coordinator ended and says which is next, one at a time. What the end of one
//! means is asked of the one table for all layers; what its sessions say is read whole or not at all.
//! A phase that asks a person waits alone: the others go on, and what is asked is put to the person
//! as one question when nothing else can be done.
//!
//! What people change on the way (a phase dropped, added, put elsewhere) is a record like the ends
//! are. Only phases that were not begun can be changed, so it does not matter when a campaign
//! that is fed with its records hears of it: it arrives at the same place.

mod changes;
mod ending;
mod part;
mod progress;

use serde::{Deserialize, Serialize};
use spore_model::propagation::{Action, AttemptsLeft, Layer, decide};
use spore_model::{Outcome, Park, StepKey};

pub use changes::{PhaseChange, RecordedChange};
pub use ending::{CampaignEnding, CampaignManifest, CampaignPhase, CampaignPhaseStatus};
pub use part::{CampaignPart, change_key, lead_key};

use progress::{CampaignPhaseProgress, CampaignPhaseState};

use crate::campaigns::answers::{Evaluation, Gaps, HealDecision, Sufficiency};
use crate::campaigns::plan::{CampaignGoal, CampaignPlan};
use crate::child::{ChildEnd, Parked};
use crate::documents;
use crate::files::mode::LayerMode;
use crate::plan::{CoordinatorPlan, PhasePlan};
use crate::wording::FlowData;

#[derive(Clone, PartialEq, Debug)]
pub enum CampaignStep {
    /// Run a coordinator, perhaps not for the first time.
    Coordinate { part: CampaignPart, attempt: u32, plan: Box<CoordinatorPlan> },
    /// Have a person look at the phases.
    Review { revision: u32 },
    /// Have a session lead the phases, where one does.
    Lead { round: u32 },
    /// Write the reports and close the run.
    Finish { ending: Box<CampaignEnding> },
}

#[derive(Clone, PartialEq, Debug)]
pub enum CampaignNext {
    Do(CampaignStep),
    Park(Parked),
}

/// What the journal keeps of a coordinator: all that a campaign decides by.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CampaignRecord {
    pub end: ChildEnd,
    /// The last message of the session that judges, evaluates or decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The phases that were made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Box<CoordinatorPlan>>,
}

/// What a person said to a plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReviewAnswer {
    pub approved: bool,
    pub words: String,
}

/// A campaign on its way.
#[derive(Clone, Debug)]
pub struct Campaign {
    plan: CampaignPlan,
    research: PartTries,
    gaps: Gaps,
    rounds: u32,
    is_found_out: bool,
    planning: PartTries,
    revision: u32,
    feedback: Option<String>,
    is_planned: bool,
    is_approved: bool,
    phases: Vec<CampaignPhaseProgress>,
    changes: Vec<RecordedChange>,
    heal_round: u32,
    /// What was decided for the round of healing to come.
    decided: Option<HealDecision>,
    evaluations: Vec<Evaluation>,
    /// An evaluation that did not pass, while what it found wrong is mended.
    unanswered: Option<Evaluation>,
    evaluation: PartTries,
    /// How many rounds a session has led, and why the last one led no further.
    led: u32,
    lead_trouble: Option<String>,
    stop: Option<CampaignStop>,
}

/// How often something was run.
#[derive(Clone, Copy, Debug, Default)]
struct PartTries {
    ended: u32,
    retries: u32,
}

/// What concerns the whole campaign.
#[derive(Clone, Debug)]
enum CampaignStop {
    Parked(Parked),
    Ended(Outcome, String),
}

impl Campaign {
    pub fn new(plan: CampaignPlan, changes: Vec<RecordedChange>) -> Self {
        let mut campaign = Self {
            is_found_out: plan.research.is_none(),
            rounds: 1,
            is_planned: plan.planning.is_none(),
            is_approved: !plan.review,
            research: PartTries::default(),
            gaps: Gaps::default(),
            planning: PartTries::default(),
            revision: u32::from(plan.planning.is_some()),
            feedback: None,
            phases: Vec::new(),
            changes,
            heal_round: 0,
            decided: None,
            evaluations: Vec::new(),
            unanswered: None,
            evaluation: PartTries::default(),
            led: 0,
            lead_trouble: None,
            stop: None,
            plan,
        };
        if let Some(known) = campaign.plan.coordinator.clone() {
            campaign.take_phases(known);
        }
        campaign
    }

    pub fn plan(&self) -> &CampaignPlan {
        &self.plan
    }

    /// The version of the plan that is worked on; zero where the phases were known from the start.
    pub fn revision(&self) -> u32 {
        self.revision
    }

    /// Says what is next.
    pub fn go_on(&mut self) -> CampaignNext {
        match &self.stop {
            Some(CampaignStop::Parked(parked)) => return CampaignNext::Park(parked.clone()),
            Some(CampaignStop::Ended(outcome, reason)) => {
                let (outcome, reason) = (*outcome, reason.clone());
                return self.finish(outcome, reason);
            }
            None => {}
        }
        if let Some(step) = self.before_phases() {
            return step;
        }
        if self.plan.mode == LayerMode::Agent {
            if self.led <= self.heal_round && self.due().is_some() {
                return CampaignNext::Do(CampaignStep::Lead { round: self.led + 1 });
            }
        } else if let Some(at) = self.due() {
            return self.run(at);
        }
        if let Some(parked) = self.questions() {
            return CampaignNext::Park(parked);
        }
        if let Some(next) = self.heal() {
            return next;
        }
        self.after_phases()
    }

    fn before_phases(&mut self) -> Option<CampaignNext> {
        let coordinate = |part, tries: PartTries, plan| {
            let (attempt, plan) = (tries.ended + 1, Box::new(plan));
            Some(CampaignNext::Do(CampaignStep::Coordinate { part, attempt, plan }))
        };
        if !self.is_found_out {
            let plan = self.plan.research_round(&self.gaps)?;
            return coordinate(CampaignPart::Research { round: self.rounds }, self.research, plan);
        }
        if self.plan.ends_with == CampaignGoal::Research {
            return Some(self.finish(Outcome::Success, "enough is found out".to_owned()));
        }
        if !self.is_planned {
            let plan = self.plan.planning_round(self.feedback.as_deref())?;
            let part = CampaignPart::Plan { revision: self.revision };
            return coordinate(part, self.planning, plan);
        }
        if !self.is_approved {
            return Some(CampaignNext::Do(CampaignStep::Review { revision: self.revision }));
        }
        (self.plan.ends_with == CampaignGoal::Plan)
            .then(|| self.finish(Outcome::Success, "the plan stands".to_owned()))
    }

    /// The first phase that can begin now.
    fn due(&self) -> Option<usize> {
        (0..self.phases.len()).find(|&at| self.is_free(at))
    }

    fn is_free(&self, at: usize) -> bool {
        let is_over = |name: &String| {
            let other = self.phases.iter().find(|one| one.plan.name == *name);
            other.is_none_or(|one| {
                matches!(one.state, CampaignPhaseState::Passed | CampaignPhaseState::Dropped)
            })
        };
        let one = &self.phases[at];
        one.state == CampaignPhaseState::Waiting && one.plan.depends_on.iter().all(is_over)
    }

    fn run(&self, at: usize) -> CampaignNext {
        CampaignNext::Do(self.step_of(at, None))
    }

    fn step_of(&self, at: usize, note: Option<&str>) -> CampaignStep {
        let one = &self.phases[at];
        let attempt = u32::try_from(one.ends.len()).unwrap_or(u32::MAX) + 1;
        let told: Vec<&str> = one.resolution.as_deref().into_iter().chain(note).collect();
        let told = (!told.is_empty()).then(|| told.join("\n"));
        let plan = Box::new(self.plan.phase_run(&one.plan, told.as_deref()));
        let part = CampaignPart::Phase { name: one.plan.name.clone() };
        CampaignStep::Coordinate { part, attempt, plan }
    }

    /// Returns what is asked, as one question, where anything is.
    fn questions(&self) -> Option<Parked> {
        let asks = self.phases.iter().filter_map(|one| match &one.state {
            CampaignPhaseState::Asks(parked) => Some(parked),
            _ => None,
        });
        let asks: Vec<&Parked> = asks.collect();
        let first = asks.first()?;
        let reason = asks.iter().map(|one| one.reason.as_str()).collect::<Vec<_>>().join("; ");
        Some(Parked { outcome: first.outcome, park: Park::Human, reason })
    }

    /// Begins another round with what failed, where one is left and worth it.
    fn heal(&mut self) -> Option<CampaignNext> {
        let failed: Vec<usize> = (0..self.phases.len())
            .filter(|&at| self.has_failed(at) && !self.is_beyond_healing(at))
            .collect();
        if failed.is_empty() || self.heal_round >= self.plan.terms.heals {
            return None;
        }
        let mut healed = failed.clone();
        if self.plan.decide.is_some() {
            let Some(decision) = &self.decided else {
                let why = |at: &usize| {
                    let one = &self.phases[*at];
                    let told = one.ends.last().map_or_else(String::new, ChildEnd::told);
                    (one.plan.name.clone(), told)
                };
                let failed: Vec<(String, String)> = failed.iter().map(why).collect();
                let plan = Box::new(self.plan.decision(&failed)?);
                let part = CampaignPart::Decision { round: self.heal_round + 1 };
                let step = CampaignStep::Coordinate { part, attempt: 1, plan };
                return Some(CampaignNext::Do(step));
            };
            healed.retain(|at| decision.heal.contains(&self.phases[*at].plan.name));
        }
        if healed.is_empty() {
            return None;
        }
        self.heal_round += 1;
        self.decided = None;
        for at in healed {
            let one = &mut self.phases[at];
            one.resolution = one.ends.last().map(|end| documents::resolution(&one.plan.name, end));
            one.state = CampaignPhaseState::Waiting;
        }
        Some(self.go_on())
    }

    fn has_failed(&self, at: usize) -> bool {
        matches!(self.phases[at].state, CampaignPhaseState::Failed(_))
    }

    /// Whether a phase took too long that may not simply be done again: no record says how far it came,
    /// so no round does it a second time.
    fn is_beyond_healing(&self, at: usize) -> bool {
        let one = &self.phases[at];
        one.state == CampaignPhaseState::Failed(Outcome::TimedOut) && !one.is_idempotent()
    }

    fn after_phases(&mut self) -> CampaignNext {
        if let Some((outcome, reason)) = self.missed() {
            return self.finish(outcome, reason);
        }
        if self.phases.iter().all(|one| one.state != CampaignPhaseState::Passed) {
            return self.finish(Outcome::Failure, "no phase was run".to_owned());
        }
        let Some(last) = self.evaluations.last() else {
            let names = self.phases.iter().filter(|one| one.state == CampaignPhaseState::Passed);
            let names: Vec<String> = names.map(|one| one.plan.name.clone()).collect();
            return match self.plan.evaluation(&names) {
                Some(plan) => self.evaluate(plan),
                None => self.finish(Outcome::Success, "every phase passed".to_owned()),
            };
        };
        match last.passed {
            true => {
                let reason = format!("every phase passed; {}", last.reason);
                self.finish(Outcome::Success, reason)
            }
            false => {
                let reason = format!("the evaluation is not passed: {}", last.reason);
                self.finish(Outcome::NeedsRefinement, reason)
            }
        }
    }

    fn evaluate(&self, plan: CoordinatorPlan) -> CampaignNext {
        let (part, plan) = (CampaignPart::Evaluation, Box::new(plan));
        let attempt = self.evaluation.ended + 1;
        CampaignNext::Do(CampaignStep::Coordinate { part, attempt, plan })
    }

    /// Takes what a person said to the plan.
    pub fn reviewed(&mut self, answer: &ReviewAnswer) {
        if answer.approved {
            self.is_approved = true;
            return;
        }
        self.feedback = Some(answer.words.clone());
        if self.plan.planning.is_some() {
            self.revision += 1;
            self.planning = PartTries::default();
            self.is_planned = false;
            // Phases that are known stay: only those that were made are made anew.
            if self.plan.coordinator.is_none() {
                self.phases.clear();
            }
        } else {
            // Phases that a person wrote are not made anew: a person who turns them down takes the
            // campaign back.
            let reason =
                format!("a person turned the phases down: {}", documents::one_line(&answer.words));
            self.stop = Some(CampaignStop::Ended(Outcome::Failure, reason));
        }
    }

    /// Takes the end of a coordinator. Returns false for one that is parked: then it is no result,
    /// and resume does it again.
    pub fn apply(&mut self, part: &CampaignPart, record: &CampaignRecord) -> bool {
        let end = &record.end;
        let action = decide(Layer::Campaign, end.outcome, self.left(part, end));
        match action {
            Action::Advance => {
                self.passed(part, record);
                true
            }
            Action::Retry => {
                self.again(part, end);
                true
            }
            Action::AskPerson if end.park.is_none_or(|park| park == Park::Human) => {
                self.asks(part, Parked::because(&part.name(), end.outcome, end));
                false
            }
            Action::AskPerson | Action::Park(_) | Action::RaiseAndCleanUp(_) => {
                self.stop =
                    Some(CampaignStop::Parked(Parked::because(&part.name(), end.outcome, end)));
                false
            }
            Action::Escalate => {
                self.failed(part, Outcome::NeedsEscalation, record);
                true
            }
            Action::RecordPartial => {
                self.failed(part, Outcome::Partial, record);
                true
            }
            Action::Raise(outcome @ (Outcome::NeedsRefinement | Outcome::TimedOut)) => {
                self.failed(part, outcome, record);
                true
            }
            // What no layer absorbs.
            _ => {
                let reason = format!("{}: {}", part.name(), end.told());
                self.stop = Some(CampaignStop::Ended(end.outcome, reason));
                true
            }
        }
    }

    fn left(&self, part: &CampaignPart, end: &ChildEnd) -> AttemptsLeft {
        let used = match part {
            CampaignPart::Research { .. } => self.research.retries,
            CampaignPart::Plan { .. } => self.planning.retries,
            CampaignPart::Evaluation => self.evaluation.retries,
            CampaignPart::Decision { .. } => self.plan.terms.retries,
            CampaignPart::Phase { name } => self.phase(name).map_or(0, |one| one.retries),
        };
        let idempotent = match part {
            CampaignPart::Phase { name } => {
                self.phase(name).is_some_and(CampaignPhaseProgress::is_idempotent)
            }
            _ => true,
        };
        AttemptsLeft {
            retries: self.plan.terms.retries.saturating_sub(used),
            heals: 0,
            idempotent,
            budget: end.budget_left,
        }
    }

    fn again(&mut self, part: &CampaignPart, end: &ChildEnd) {
        let tries = match part {
            CampaignPart::Research { .. } => &mut self.research,
            CampaignPart::Plan { .. } => &mut self.planning,
            CampaignPart::Evaluation => &mut self.evaluation,
            CampaignPart::Decision { .. } => return,
            CampaignPart::Phase { name } => {
                if let Some(one) = self.phase_mut(name) {
                    one.retries += 1;
                    if end.outcome == Outcome::NeedsRefinement {
                        one.resolution = Some(documents::resolution(name, end));
                    }
                    one.ends.push(end.clone());
                }
                return;
            }
        };
        tries.ended += 1;
        tries.retries += 1;
    }

    fn asks(&mut self, part: &CampaignPart, parked: Parked) {
        match part {
            CampaignPart::Phase { name } => {
                if let Some(one) = self.phase_mut(name) {
                    one.state = CampaignPhaseState::Asks(parked);
                }
            }
            // What comes before the phases, and after them, is waited for by all.
            _ => self.stop = Some(CampaignStop::Parked(parked)),
        }
    }

    fn passed(&mut self, part: &CampaignPart, record: &CampaignRecord) {
        match part {
            CampaignPart::Research { .. } => self.found_out(record),
            CampaignPart::Plan { .. } => {
                self.planning.ended += 1;
                self.is_planned = true;
                self.is_approved = !self.plan.review;
                match &record.made {
                    Some(made) => self.take_phases((**made).clone()),
                    None if self.plan.phases_work().is_some() => {
                        let reason = "no phases were made".to_owned();
                        self.stop = Some(CampaignStop::Ended(Outcome::Failure, reason));
                    }
                    None => {}
                }
            }
            CampaignPart::Phase { name } => {
                if let Some(one) = self.phase_mut(name) {
                    one.state = CampaignPhaseState::Passed;
                    one.resolution = None;
                    one.ends.push(record.end.clone());
                }
            }
            CampaignPart::Decision { .. } => {
                self.decided = Some(HealDecision::read(record.said.as_deref()));
            }
            CampaignPart::Evaluation => self.evaluated(Evaluation::read(record.said.as_deref())),
        }
    }

    fn found_out(&mut self, record: &CampaignRecord) {
        self.research.ended += 1;
        let Some(research) = &self.plan.research else { return };
        if research.judge.is_none() {
            self.is_found_out = true;
            return;
        }
        match Sufficiency::read(record.said.as_deref()) {
            Sufficiency::Enough => self.is_found_out = true,
            Sufficiency::Missing(gaps) if self.rounds < research.max_rounds => {
                self.rounds += 1;
                self.research = PartTries::default();
                self.gaps = gaps;
            }
            Sufficiency::Missing(gaps) => {
                let missing = match gaps.0.is_empty() {
                    true => "what is missing was not named".to_owned(),
                    false => gaps.0.join("; "),
                };
                let reason =
                    format!("not enough is found out after {} rounds: {missing}", self.rounds);
                self.gaps = gaps;
                self.stop = Some(CampaignStop::Ended(Outcome::NeedsRefinement, reason));
            }
        }
    }

    /// Takes an evaluation. What it finds wrong with phases is mended while rounds are left.
    fn evaluated(&mut self, evaluation: Evaluation) {
        self.evaluation.ended += 1;
        self.unanswered = None;
        if !evaluation.passed && self.heal_round < self.plan.terms.heals {
            let mut is_healed = false;
            for one in &mut self.phases {
                let told = evaluation.resolution(&one.plan.name);
                if let (CampaignPhaseState::Passed, Some(told)) = (&one.state, told) {
                    one.resolution = Some(told);
                    one.state = CampaignPhaseState::Waiting;
                    is_healed = true;
                }
            }
            if is_healed {
                self.heal_round += 1;
                self.unanswered = Some(evaluation);
                return;
            }
        }
        self.evaluations.push(evaluation);
    }

    fn failed(&mut self, part: &CampaignPart, outcome: Outcome, record: &CampaignRecord) {
        let told = record.end.told();
        match part {
            CampaignPart::Phase { name } => {
                if let Some(one) = self.phase_mut(name) {
                    one.state = CampaignPhaseState::Failed(outcome);
                    one.ends.push(record.end.clone());
                }
            }
            // Without a decision nothing is worth another round.
            CampaignPart::Decision { .. } => self.decided = Some(HealDecision::default()),
            CampaignPart::Evaluation => {
                self.evaluation.ended += 1;
                let reason = documents::one_line(&told);
                self.evaluations.push(Evaluation { reason, ..Evaluation::default() });
            }
            CampaignPart::Research { .. } | CampaignPart::Plan { .. } => {
                let reason = format!("{}: {told}", part.name());
                self.stop = Some(CampaignStop::Ended(outcome, reason));
            }
        }
    }

    /// Begins anew what is on record while what it left is gone.
    pub fn lost(&mut self, part: &CampaignPart, end: &ChildEnd) {
        match part {
            CampaignPart::Research { .. } => self.research.ended += 1,
            CampaignPart::Plan { .. } => self.planning.ended += 1,
            CampaignPart::Evaluation => self.evaluation.ended += 1,
            CampaignPart::Decision { .. } => {}
            CampaignPart::Phase { name } => {
                if let Some(one) = self.phase_mut(name) {
                    one.ends.push(end.clone());
                }
            }
        }
    }

    /// Lets a session that leads the phases choose the next one, or says why it may not.
    pub fn choose(&self, name: &str, note: Option<&str>) -> Result<CampaignStep, String> {
        if let Some(stop) = &self.stop {
            let reason = match stop {
                CampaignStop::Parked(parked) => &parked.reason,
                CampaignStop::Ended(_, reason) => reason,
            };
            return Err(format!("the campaign is stopped: {reason}"));
        }
        let Some(at) = self.phases.iter().position(|one| one.plan.name == name) else {
            let names: Vec<&str> = self.phases.iter().map(|one| &*one.plan.name).collect();
            return Err(format!("there is no such phase; there are: {}", names.join(", ")));
        };
        let one = &self.phases[at];
        let most = usize::try_from(self.plan.terms.max_attempts).unwrap_or(usize::MAX);
        match &one.state {
            CampaignPhaseState::Passed => Err(format!("{name} is done already")),
            CampaignPhaseState::Dropped => Err(format!("{name} was taken out by a person")),
            CampaignPhaseState::Asks(_) => Err(format!("{name} waits for a person")),
            _ if one.ends.len() >= most => Err(format!("{name} was tried {most} times")),
            CampaignPhaseState::Failed(_) if self.is_beyond_healing(at) => {
                Err(format!("{name} took too long, and may not simply be done again"))
            }
            CampaignPhaseState::Failed(_) => {
                let end = one.ends.last();
                let mut again = self.clone();
                again.phases[at].resolution = end.map(|end| documents::resolution(name, end));
                Ok(again.step_of(at, note))
            }
            CampaignPhaseState::Waiting if !self.is_free(at) => {
                Err(format!("{name} waits for: {}", one.plan.depends_on.join(", ")))
            }
            CampaignPhaseState::Waiting => Ok(self.step_of(at, note)),
        }
    }

    /// What it waits for, where it does.
    pub fn waits(&self) -> Option<Parked> {
        match &self.stop {
            Some(CampaignStop::Parked(parked)) => Some(parked.clone()),
            Some(CampaignStop::Ended(..)) => None,
            None => self.questions(),
        }
    }

    /// A session that led the phases is over, with what went wrong with it where something did.
    pub fn led(&mut self, trouble: Option<String>) {
        self.led += 1;
        self.lead_trouble = trouble;
        // What it left out is no more done than what failed.
        for one in &mut self.phases {
            if one.state == CampaignPhaseState::Waiting {
                one.state = CampaignPhaseState::Failed(Outcome::Failure);
            }
        }
    }

    /// Returns what is known by now of the phases that passed.
    pub fn data(&self) -> FlowData {
        let mut data = FlowData::default();
        for one in &self.phases {
            if let (CampaignPhaseState::Passed, Some(end)) = (&one.state, one.ends.last()) {
                let commit = end.line.as_ref().map(|line| line.tip.to_string());
                data.add_phase(&one.plan.name, &end.stages, commit);
            }
        }
        data
    }

    fn phase(&self, name: &str) -> Option<&CampaignPhaseProgress> {
        self.phases.iter().find(|one| one.plan.name == name)
    }

    fn phase_mut(&mut self, name: &str) -> Option<&mut CampaignPhaseProgress> {
        self.phases.iter_mut().find(|one| one.plan.name == name)
    }
}

/// What people change of it.
impl Campaign {
    /// Takes the phases that there are, with what people have changed of them since.
    fn take_phases(&mut self, known: CoordinatorPlan) {
        self.phases = known.phases.into_iter().map(CampaignPhaseProgress::of).collect();
        let (revision, changes) = (self.revision, self.changes.clone());
        // Phases that are known are the same ones in every version of the plan.
        let is_known = self.plan.coordinator.is_some();
        for recorded in changes.iter().filter(|one| is_known || one.revision == revision) {
            changes::change(&mut self.phases, &recorded.change);
        }
    }

    /// Checks a change of a campaign that was fed with all its records and asked for what is next.
    /// `is_begun` says of which of its steps something is on record.
    pub fn allow(
        &self,
        change: PhaseChange,
        is_begun: &dyn Fn(&StepKey) -> bool,
    ) -> Result<RecordedChange, String> {
        if matches!(change, PhaseChange::Add { .. }) {
            self.refuse_late(is_begun)?;
        }
        let is_phase_begun =
            |name: &str| is_begun(&CampaignPart::Phase { name: name.to_owned() }.key(1));
        changes::allow(&self.phases, &change, &is_phase_begun)?;
        Ok(RecordedChange { revision: self.revision, change })
    }

    /// Refuses a phase that would come too late: what came after the phases has begun, and would be
    /// taken as if the new one had been there.
    fn refuse_late(&self, is_begun: &dyn Fn(&StepKey) -> bool) -> Result<(), String> {
        let late = |what: &str| Err(format!("a phase comes too late now: {what}"));
        if self.led > 0 {
            return late("the session that led the phases is over");
        }
        if self.heal_round > 0 || is_begun(&CampaignPart::Decision { round: 1 }.key(1)) {
            return late("what failed is being healed");
        }
        if self.evaluation.ended > 0 || is_begun(&CampaignPart::Evaluation.key(1)) {
            return late("the evaluation has begun");
        }
        if is_begun(&StepKey::apply()) {
            return late("the work is being brought home");
        }
        Ok(())
    }

    /// Its phases as they are planned, without those that a person took out.
    pub fn planned(&self) -> Vec<&PhasePlan> {
        let left = self.phases.iter().filter(|one| one.state != CampaignPhaseState::Dropped);
        left.map(|one| &one.plan).collect()
    }

    /// The names of its phases.
    pub fn phase_names(&self) -> Vec<String> {
        self.phases.iter().map(|one| one.plan.name.clone()).collect()
    }
}

/// What it tells of itself.
impl Campaign {
    /// What it tells of itself now.
    pub fn manifest(&self) -> CampaignManifest {
        CampaignManifest {
            campaign: self.plan.campaign.clone(),
            task: self.plan.task.clone(),
            phases: self.phases.iter().map(CampaignPhaseProgress::told).collect(),
            research_rounds: if self.plan.research.is_some() { self.rounds } else { 0 },
            revision: self.revision,
            heal_rounds: self.heal_round,
            gaps: if self.is_found_out { Vec::new() } else { self.gaps_told() },
            evaluation: self.evaluations.last().or(self.unanswered.as_ref()).cloned(),
        }
    }

    fn gaps_told(&self) -> Vec<String> {
        let Gaps(gaps) = &self.gaps;
        gaps.clone()
    }

    fn finish(&self, outcome: Outcome, reason: String) -> CampaignNext {
        let ending = CampaignEnding { outcome, reason, manifest: self.manifest() };
        CampaignNext::Do(CampaignStep::Finish { ending: Box::new(ending) })
    }

    /// Returns how the campaign ends where not every phase passed.
    fn missed(&self) -> Option<(Outcome, String)> {
        let counted = || self.phases.iter().filter(|one| one.state != CampaignPhaseState::Dropped);
        let missed: Vec<&CampaignPhaseProgress> =
            counted().filter(|one| one.state != CampaignPhaseState::Passed).collect();
        let first = missed.first()?;
        let told = |one: &&CampaignPhaseProgress| match one.ends.last() {
            Some(end) => format!("{}: {}", one.plan.name, end.told()),
            None => format!("{} could not begin", one.plan.name),
        };
        let reasons = missed.iter().map(told).chain(self.lead_trouble.clone());
        let reason = reasons.collect::<Vec<_>>().join("; ");
        // What an evaluator turned down is not partly good because the mending failed as well.
        if let Some(evaluation) = &self.unanswered {
            let found = &evaluation.reason;
            let reason =
                format!("the evaluation is not passed: {found}; it is not mended: {reason}");
            return Some((Outcome::NeedsRefinement, reason));
        }
        if missed.len() < counted().count() {
            return Some((Outcome::Partial, format!("not every phase passed: {reason}")));
        }
        let outcome = match first.state {
            CampaignPhaseState::Failed(outcome) => outcome,
            _ => Outcome::Failure,
        };
        Some((outcome, format!("no phase passed: {reason}")))
    }
}

#[cfg(test)]
mod tests;
