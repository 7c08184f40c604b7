//! What becomes of phases that failed, and of a result that was turned down: another round while one is
//! left, or the end of the campaign.

use spore_model::Outcome;

use super::part::CampaignPart;
use super::progress::{CampaignPhaseProgress, CampaignPhaseState};
use super::state::{Campaign, CampaignStep};
use crate::campaigns::answers::Evaluation;
use crate::child::ChildEnd;
use crate::documents;

/// What comes of looking for something to heal.
pub(super) enum HealNext {
    /// Ask first what is worth another round.
    Decide(CampaignStep),
    /// A round begins: phases that failed wait for their turn again.
    Again,
    /// There is nothing to heal, or nothing left to heal it with.
    Over,
}

impl Campaign {
    /// Begins another round with what failed, where one is left and worth it.
    pub(super) fn heal(&mut self) -> HealNext {
        let failed: Vec<usize> = (0..self.phases.len())
            .filter(|&at| self.has_failed(at) && !self.is_beyond_healing(at))
            .collect();
        if failed.is_empty() || self.heal_round >= self.plan.terms.heals {
            return HealNext::Over;
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
                let Some(plan) = self.plan.decision(&failed) else { return HealNext::Over };
                let part = CampaignPart::Decision { round: self.heal_round + 1 };
                let plan = Box::new(plan);
                return HealNext::Decide(CampaignStep::Coordinate { part, attempt: 1, plan });
            };
            healed.retain(|at| decision.heal.contains(&self.phases[*at].plan.name));
        }
        if healed.is_empty() {
            return HealNext::Over;
        }
        self.heal_round += 1;
        self.decided = None;
        for at in healed {
            let one = &mut self.phases[at];
            one.resolution = one.ends.last().map(|end| documents::resolution(&one.plan.name, end));
            one.state = CampaignPhaseState::Waiting;
        }
        HealNext::Again
    }

    fn has_failed(&self, at: usize) -> bool {
        matches!(self.phases[at].state, CampaignPhaseState::Failed(_))
    }

    /// Whether a phase took too long that may not simply be done again: no record says how far it came,
    /// so no round does it a second time.
    pub(super) fn is_beyond_healing(&self, at: usize) -> bool {
        let one = &self.phases[at];
        one.state == CampaignPhaseState::Failed(Outcome::TimedOut) && !one.is_idempotent()
    }

    /// Takes an evaluation. What it finds wrong with phases is mended while rounds are left.
    pub(super) fn evaluated(&mut self, evaluation: Evaluation) {
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

    /// Returns how the campaign ends where not every phase passed.
    pub(super) fn missed(&self) -> Option<(Outcome, String)> {
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
