//! The way of a campaign: which step is next, and what the end of one means.

use spore_model::propagation::{Action, AttemptsLeft, Layer, decide};
use spore_model::{Outcome, Park};

use super::healing::HealNext;
use super::part::CampaignPart;
use super::progress::{CampaignPhaseProgress, CampaignPhaseState};
use super::state::{
    Campaign, CampaignNext, CampaignRecord, CampaignStep, CampaignStop, PartTries, ReviewAnswer,
};
use crate::campaigns::answers::{Evaluation, HealDecision, Sufficiency};
use crate::campaigns::plan::CampaignGoal;
use crate::child::{ChildEnd, Parked};
use crate::documents;
use crate::files::mode::LayerMode;
use crate::plan::CoordinatorPlan;

impl Campaign {
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
        match self.heal() {
            HealNext::Decide(step) => CampaignNext::Do(step),
            HealNext::Again => self.go_on(),
            HealNext::Over => self.after_phases(),
        }
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

    fn run(&self, at: usize) -> CampaignNext {
        CampaignNext::Do(self.step_of(at, None))
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
}
