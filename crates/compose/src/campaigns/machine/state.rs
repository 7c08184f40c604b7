//! What a campaign is on its way, and what it tells of itself.

use serde::{Deserialize, Serialize};
use spore_model::{Outcome, Park, StepKey};

use super::changes::{self, PhaseChange, RecordedChange};
use super::ending::{CampaignEnding, CampaignManifest};
use super::part::CampaignPart;
use super::progress::{CampaignPhaseProgress, CampaignPhaseState};
use crate::campaigns::answers::{Evaluation, Gaps, HealDecision};
use crate::campaigns::plan::CampaignPlan;
use crate::child::{ChildEnd, Parked};
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
    pub(super) plan: CampaignPlan,
    pub(super) research: PartTries,
    pub(super) gaps: Gaps,
    pub(super) rounds: u32,
    pub(super) is_found_out: bool,
    pub(super) planning: PartTries,
    pub(super) revision: u32,
    pub(super) feedback: Option<String>,
    pub(super) is_planned: bool,
    pub(super) is_approved: bool,
    pub(super) phases: Vec<CampaignPhaseProgress>,
    pub(super) changes: Vec<RecordedChange>,
    pub(super) heal_round: u32,
    /// What was decided for the round of healing to come.
    pub(super) decided: Option<HealDecision>,
    pub(super) evaluations: Vec<Evaluation>,
    /// An evaluation that did not pass, while what it found wrong is mended.
    pub(super) unanswered: Option<Evaluation>,
    pub(super) evaluation: PartTries,
    /// How many rounds a session has led, and why the last one led no further.
    pub(super) led: u32,
    pub(super) lead_trouble: Option<String>,
    pub(super) stop: Option<CampaignStop>,
}

/// How often something was run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PartTries {
    pub(super) ended: u32,
    pub(super) retries: u32,
}

/// What concerns the whole campaign.
#[derive(Clone, Debug)]
pub(super) enum CampaignStop {
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

    pub(super) fn is_free(&self, at: usize) -> bool {
        let is_over = |name: &String| {
            let other = self.phases.iter().find(|one| one.plan.name == *name);
            other.is_none_or(|one| {
                matches!(one.state, CampaignPhaseState::Passed | CampaignPhaseState::Dropped)
            })
        };
        let one = &self.phases[at];
        one.state == CampaignPhaseState::Waiting && one.plan.depends_on.iter().all(is_over)
    }

    pub(super) fn step_of(&self, at: usize, note: Option<&str>) -> CampaignStep {
        let one = &self.phases[at];
        let attempt = u32::try_from(one.ends.len()).unwrap_or(u32::MAX) + 1;
        let told: Vec<&str> = one.resolution.as_deref().into_iter().chain(note).collect();
        let told = (!told.is_empty()).then(|| told.join("\n"));
        let plan = Box::new(self.plan.phase_run(&one.plan, told.as_deref()));
        let part = CampaignPart::Phase { name: one.plan.name.clone() };
        CampaignStep::Coordinate { part, attempt, plan }
    }

    /// Returns what is asked, as one question, where anything is.
    pub(super) fn questions(&self) -> Option<Parked> {
        let asks = self.phases.iter().filter_map(|one| match &one.state {
            CampaignPhaseState::Asks(parked) => Some(parked),
            _ => None,
        });
        let asks: Vec<&Parked> = asks.collect();
        let first = asks.first()?;
        let reason = asks.iter().map(|one| one.reason.as_str()).collect::<Vec<_>>().join("; ");
        Some(Parked { outcome: first.outcome, park: Park::Human, reason })
    }

    /// What it waits for, where it does.
    pub fn waits(&self) -> Option<Parked> {
        match &self.stop {
            Some(CampaignStop::Parked(parked)) => Some(parked.clone()),
            Some(CampaignStop::Ended(..)) => None,
            None => self.questions(),
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

    pub(super) fn phase(&self, name: &str) -> Option<&CampaignPhaseProgress> {
        self.phases.iter().find(|one| one.plan.name == name)
    }

    pub(super) fn phase_mut(&mut self, name: &str) -> Option<&mut CampaignPhaseProgress> {
        self.phases.iter_mut().find(|one| one.plan.name == name)
    }
}

/// What people change of it.
impl Campaign {
    /// Takes the phases that there are, with what people have changed of them since.
    pub(super) fn take_phases(&mut self, known: CoordinatorPlan) {
        self.phases = known.phases.into_iter().map(CampaignPhaseProgress::of).collect();
        let held: Vec<PhaseChange> = self.changes().cloned().collect();
        for held in &held {
            changes::change(&mut self.phases, held);
        }
    }

    /// What people have changed of the phases that there are now. What they changed of an earlier version
    /// of the plan went with that version.
    pub fn changes(&self) -> impl Iterator<Item = &PhaseChange> {
        // Phases that are known are the same ones in every version of the plan.
        let is_known = self.plan.coordinator.is_some();
        let held = move |one: &&RecordedChange| is_known || one.revision == self.revision;
        self.changes.iter().filter(held).map(|one| &one.change)
    }

    /// Returns the changes that go with this version of the plan where a person turns it down.
    pub fn lost_at_rejection(&self) -> Vec<String> {
        match self.plan.coordinator {
            Some(_) => Vec::new(),
            None => self.changes().map(PhaseChange::told).collect(),
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

    pub(super) fn finish(&self, outcome: Outcome, reason: String) -> CampaignNext {
        let ending = CampaignEnding { outcome, reason, manifest: self.manifest() };
        CampaignNext::Do(CampaignStep::Finish { ending: Box::new(ending) })
    }
}
