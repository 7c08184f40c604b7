//! L4: a campaign, whose steps are coordinators, one after the other on one branch.
//!
//! The machine says what is next; here it is done, or found on record. A coordinator below a
//! campaign is the same as one by itself, with files of its own and a share of the budget, so its
//! sessions, landings and questions are what they are everywhere.

mod change;
mod record;
mod status;

use std::path::PathBuf;

use spore_compose::{
    Campaign, CampaignEnding, CampaignManifest, CampaignNext, CampaignPart, CampaignPlan,
    CampaignRecord, CampaignStep, ChildEnd, CoordinatorPlan, DECISION, EVALUATION, JUDGEMENT,
    Parked, PhaseReport, PhaseStatus, PhaseStep, PhasesEnding, ReviewAnswer, WorkLine,
    campaign_report, lead_key, lead_prompt, review_document,
};
use spore_model::{
    Begun, BudgetId, EffectClass, Outcome, Park, RunId, RunKind, RunState, StepKey, Ticket, Usd,
};
use spore_runs::{ASKER, REVIEW};
use spore_store::Journal;
use spore_tools::layers::LedLayer;

pub(crate) use change::changes_lost_by;
pub use change::{ChangeAsked, ChangedPhases, PhaseEdit, change_campaign};
use record::{recorded_changes, recorded_lines};
pub(crate) use status::find_campaign;
pub use status::{CampaignPhaseRow, CampaignQuestion, CampaignStatus, campaign_status};

use super::branch::FlowBranch;
use super::execs::ExecEnd;
use super::flow::{ActiveFlow, LayerEnding, LayerPlace};
use super::leading::{LayerLead, LeadEnd, Led};
use super::phases::{Coordinator, PhasesOver};
use super::questions::{FlowQuestion, open_questions};
use crate::base::error::bug;
use crate::base::step::{Intent, recorded};
use crate::{Progress, Result};

/// How much of what a session said that decides is kept.
const SAID_BYTES: usize = 110_000;

/// A campaign at work.
pub(crate) struct CampaignWork<'a> {
    pub(crate) ground: &'a ActiveFlow<'a>,
    pub(crate) place: LayerPlace,
    pub(crate) plan: CampaignPlan,
}

/// How far a campaign came, and what it tells of itself there.
pub(crate) struct CampaignOver {
    pub(crate) rest: CampaignRest,
    pub(crate) manifest: CampaignManifest,
}

pub(crate) enum CampaignRest {
    Ended(Outcome),
    Parked(Parked),
}

impl CampaignWork<'_> {
    /// Leads the campaign to its end, or to where it has to wait.
    pub(crate) fn work(&self, progress: &mut dyn Progress) -> Result<CampaignOver> {
        let ground = self.ground;
        let changes = recorded_changes(ground.journal, self.place.run)?;
        let mut machine = Campaign::new(self.plan.clone(), changes);
        self.recall()?;
        self.keep_questions()?;
        let rest = loop {
            let step = match machine.go_on() {
                CampaignNext::Do(step) => step,
                CampaignNext::Park(parked) => break CampaignRest::Parked(parked),
            };
            if let Some(rest) = self.step(&mut machine, step, progress)? {
                break rest;
            }
            self.project(&machine)?;
        };
        self.project(&machine)?;
        self.keep_questions()?;
        Ok(CampaignOver { rest, manifest: machine.manifest() })
    }

    /// Finds what is on the branch by the record, whatever phase is gone on with first.
    fn recall(&self) -> Result<()> {
        match &self.ground.branch {
            Some(branch) => recall_lines(self.ground.journal, self.place.run, branch),
            None => Ok(()),
        }
    }

    /// Takes a step. Returns how the campaign rests where that is its last one for now.
    fn step(
        &self,
        machine: &mut Campaign,
        step: CampaignStep,
        progress: &mut dyn Progress,
    ) -> Result<Option<CampaignRest>> {
        match step {
            CampaignStep::Coordinate { part, attempt, plan } => {
                self.coordinate(machine, (&part, attempt), *plan, progress)?;
                Ok(None)
            }
            CampaignStep::Review { revision } => self.review(machine, revision),
            CampaignStep::Lead { round } => self.lead(machine, round, progress),
            CampaignStep::Finish { ending } => self.finish(&ending, progress).map(Some),
        }
    }

    /// Runs a coordinator, or finds its end on record.
    pub(crate) fn coordinate(
        &self,
        machine: &mut Campaign,
        (part, attempt): (&CampaignPart, u32),
        plan: CoordinatorPlan,
        progress: &mut dyn Progress,
    ) -> Result<CampaignRecord> {
        let (ground, key) = (self.ground, part.key(attempt));
        let steps = ground.steps(&self.place);
        let intent = Intent::at(ground.now()).plan("child", ground.around.ids.run());
        let ticket = match steps.begin::<CampaignRecord>(&key, EffectClass::Keyed, intent)? {
            Begun::Done(record) if ground.has_lost(&self.place, &key, &record.end)? => {
                machine.lost(part, &record.end);
                return Ok(record);
            }
            Begun::Done(record) => {
                machine.apply(part, &record);
                self.signal(part, attempt, &record)?;
                return Ok(record);
            }
            Begun::Do(ticket) => ticket,
        };
        let began = ground.now();
        let (name, word) = (part.name(), started(attempt));
        let layer = ("coord", self.place.depth + 1);
        progress.update(&ground.told_layer(layer, &name, word, None, None));
        let record = self.run(machine, (part, attempt), plan, &ticket, progress)?;
        let (status, why) = (spore_compose::status(record.end.outcome), record.end.reason.clone());
        progress.update(&ground.told_layer(layer, &name, status, why, Some(began)));
        // What has to wait has no result yet: resume does it again.
        if machine.apply(part, &record) {
            steps.finish(&key, &ticket, &steps.entry(&record)?)?;
            self.signal(part, attempt, &record)?;
        }
        Ok(record)
    }

    fn run(
        &self,
        machine: &Campaign,
        (part, attempt): (&CampaignPart, u32),
        mut plan: CoordinatorPlan,
        ticket: &Ticket,
        progress: &mut dyn Progress,
    ) -> Result<CampaignRecord> {
        let ground = self.ground;
        let run: RunId = ticket.planned("child").map_err(bug)?;
        for phase in &mut plan.phases {
            match phase.orchestrator.knowing(&machine.data()) {
                Ok(whole) => phase.orchestrator = whole,
                Err(missing) => {
                    let reason = Some(missing.to_string());
                    return Ok(ended(ChildEnd::new(run, Outcome::Failure, reason)));
                }
            }
        }
        let Some(budget) = self.share(run)? else {
            let reason = Some("the budget is spent".to_owned());
            let end = ChildEnd::new(run, Outcome::NeedsHuman, reason);
            return Ok(ended(ChildEnd { park: Some(Park::Budget), budget_left: false, ..end }));
        };
        let before = ground.branch.as_ref().map(|branch| branch.tip());
        let place = LayerPlace {
            run,
            parent: Some(self.place.run),
            attempt,
            name: part.name(),
            dir: self.dir_of(part, attempt),
            depth: self.place.depth + 1,
            budget,
        };
        let coordinator = Coordinator { ground, place, plan };
        let over = coordinator.work(progress);
        // One that was over before had nothing of its own.
        if budget != self.place.budget {
            ground.settle(budget, Usd::ZERO);
        }
        let mut record = match over? {
            PhasesOver::Parked(parked) => {
                let end = ChildEnd::new(run, parked.outcome, Some(parked.reason));
                ended(ChildEnd { park: Some(parked.park), ..end })
            }
            PhasesOver::Ended(ending) => self.record(&coordinator, part, &ending)?,
        };
        record.end.budget_left = ground.has_left(self.place.budget);
        let after = ground.branch.as_ref().map(|branch| branch.tip());
        if let (Some(base), Some(tip)) = (before, after)
            && base != tip
        {
            record.end.line = Some(WorkLine { base, tip });
        }
        Ok(record)
    }

    /// Sets aside what a coordinator may cost: all that is left, as nothing runs beside it. One that
    /// is over and only not on record here costs nothing more.
    fn share(&self, run: RunId) -> Result<Option<BudgetId>> {
        let row = self.ground.journal.run(run)?;
        Ok(match row.is_some_and(|row| row.state == RunState::Ended) {
            true => Some(self.place.budget),
            false => self.ground.reserve(self.place.budget, None).ok(),
        })
    }

    /// Has a person look at the phases, or finds what one said.
    fn review(&self, machine: &mut Campaign, revision: u32) -> Result<Option<CampaignRest>> {
        let ground = self.ground;
        let (steps, key) = (ground.steps(&self.place), StepKey::review(revision));
        let intent = Intent::at(ground.now()).plan(ASKER, ground.around.ids.run());
        let ticket = match steps.begin(&key, EffectClass::Keyed, intent)? {
            Begun::Done(answer) => {
                machine.reviewed(&answer);
                return Ok(None);
            }
            Begun::Do(ticket) => ticket,
        };
        let asker: RunId = ticket.planned(ASKER).map_err(bug)?;
        if let Some(said) = ground.person_said(asker) {
            let answer = ReviewAnswer { approved: said.approves, words: said.words.clone() };
            steps.finish(&key, &ticket, &steps.entry(&answer)?)?;
            machine.reviewed(&answer);
            return Ok(None);
        }
        let file = review_file(revision);
        let id = self.place.run.short();
        let text = review_text(machine, revision, ground.branch.as_ref(), &id)?;
        ground.write(&ground.dir().join(&file), &text)?;
        let reason = format!("{REVIEW}: {}", ground.path_of(&file));
        let (outcome, park) = (Outcome::NeedsHuman, Park::Human);
        Ok(Some(CampaignRest::Parked(Parked { outcome, park, reason })))
    }

    /// Writes the reports and closes the run: at every end, good or bad.
    fn finish(&self, ending: &CampaignEnding, progress: &mut dyn Progress) -> Result<CampaignRest> {
        let ground = self.ground;
        if let Some(parked) = ground.bring_home(&self.place, ending.outcome, progress)? {
            return Ok(CampaignRest::Parked(parked));
        }
        if let Some(run) = ground.journal.run(self.place.run)? {
            let mut timeline = Vec::new();
            ground.timeline(&run, &mut timeline)?;
            let report = campaign_report(&run, ending, &timeline);
            ground.write(&ground.dir().join("execution-report.md"), &report)?;
        }
        ground.write_json(&ground.dir().join("manifest.json"), &ending.manifest)?;
        let path = ground.path_of(&PathBuf::from("manifest.json"));
        let told = LayerEnding {
            outcome: ending.outcome,
            reason: Some(&ending.reason),
            points_at: Some(&path),
        };
        ground.end(&self.place, RunKind::Campaign, &told, ending)?;
        Ok(CampaignRest::Ended(ending.outcome))
    }

    /// Writes down all that is asked as one document, for the person who answers. What is answered
    /// is asked no more: without a question there is no such document.
    fn keep_questions(&self) -> Result<()> {
        let ground = self.ground;
        let path = ground.dir().join("escalation.md");
        let Some(run) = ground.journal.run(self.place.run)? else { return Ok(()) };
        let asked = open_questions(ground.journal, &run, &ground.answers)?;
        let asked: Vec<&FlowQuestion> = asked.iter().filter(|one| one.run != run.id).collect();
        if asked.is_empty() {
            return match path.exists() {
                true => ground.around.remove_file(&path),
                false => Ok(()),
            };
        }
        let id = run.id.short();
        let mut text = format!("# What the campaign {} asks\n\n", self.plan.campaign);
        for one in asked {
            let question = spore_plain::fenced("text", one.question.trim_end());
            text.push_str(&format!("## {} ({})\n\n{question}\n", one.name, one.run.short()));
        }
        text.push_str(&format!(
            "`spore resolve {id} --file ANSWER.md` answers all of it; `spore resolve PART --file \
             ANSWER.md` one of them, by its id.\n"
        ));
        ground.write(&path, &text)
    }

    /// Writes down how far it is, for people and programs that watch.
    fn project(&self, machine: &Campaign) -> Result<()> {
        let ground = self.ground;
        ground.write_json(&ground.dir().join("campaign.json"), &machine.manifest())
    }

    /// Writes the signal of a coordinator that is over, unless it is there just so.
    fn signal(&self, part: &CampaignPart, attempt: u32, record: &CampaignRecord) -> Result<()> {
        let ground = self.ground;
        let manifest = ground.path_of(&self.dir_of(part, attempt).join("manifest.json"));
        ground.signal(record.end.run, &part.name(), &ground.pointer(&manifest))
    }

    fn dir_of(&self, part: &CampaignPart, attempt: u32) -> PathBuf {
        PathBuf::from("coordinators").join(part.path(attempt).replace('/', "-"))
    }
}

/// Puts on a branch what is on record of a campaign.
fn recall_lines(journal: &dyn Journal, run: RunId, branch: &FlowBranch) -> Result<()> {
    let mut lines = recorded_lines(journal, run)?;
    // What git has no more is not on the branch: it lands again.
    lines.retain(|line| branch.repository.tree_of(&line.tip).is_ok());
    while let Some(next) = lines.iter().find(|line| line.base == branch.tip()) {
        branch.record(&next.tip);
    }
    Ok(())
}

/// Where a person finds a version of the plan, among the campaign's files.
fn review_file(revision: u32) -> PathBuf {
    PathBuf::from(format!("review-{revision}.md"))
}

/// What a person is to look at of a version of the plan, as it is changed by now.
fn review_text(
    machine: &Campaign,
    revision: u32,
    branch: Option<&FlowBranch>,
    id: &str,
) -> Result<String> {
    let plan = machine.plan();
    let roadmap = match (plan.roadmap_path(), branch) {
        (Some(path), Some(branch)) => branch.repository.read_file(&branch.tip(), path)?,
        _ => None,
    };
    let roadmap = roadmap.map(|text| String::from_utf8_lossy(&text).into_owned());
    let planned = machine.planned();
    Ok(review_document(plan, (revision, planned.as_slice()), roadmap.as_deref(), id))
}

/// A record with nothing but an end.
fn ended(end: ChildEnd) -> CampaignRecord {
    CampaignRecord { end, said: None, made: None }
}

fn started(attempt: u32) -> String {
    if attempt == 1 { "STARTING".to_owned() } else { format!("RETRY:{attempt}") }
}

/// Returns what a session said that decides. Of what is too long to be kept no part is read: the
/// rest may say otherwise.
fn whole_or_nothing(said: String) -> String {
    match said.len() > SAID_BYTES {
        true => format!("(The message has {} bytes, too many to be read.)", said.len()),
        false => said,
    }
}

impl CampaignWork<'_> {
    /// What is kept of a coordinator that is over.
    fn record(
        &self,
        coordinator: &Coordinator<'_>,
        part: &CampaignPart,
        ending: &PhasesEnding,
    ) -> Result<CampaignRecord> {
        let (ground, run) = (self.ground, coordinator.place.run);
        let phases = &ending.manifest.phases;
        let failed = phases.iter().position(|one| one.status == PhaseStatus::Failure);
        let at = failed.unwrap_or(phases.len().saturating_sub(1));
        let told = self.end_of(coordinator, at, phases.get(at))?;
        let mut end = ChildEnd::new(run, ending.outcome, Some(ending.reason.clone()));
        if let Some(told) = told {
            end.stages = told.stages;
            end.diagnosis = told.diagnosis;
        }
        end.grade = phases.iter().filter_map(|phase| phase.sentinel_grade).max();
        let said = match part {
            CampaignPart::Research { .. } => self.said(coordinator, JUDGEMENT, phases)?,
            CampaignPart::Decision { .. } => self.said(coordinator, DECISION, phases)?,
            CampaignPart::Evaluation => self.said(coordinator, EVALUATION, phases)?,
            CampaignPart::Plan { .. } | CampaignPart::Phase { .. } => None,
        };
        let mut record = CampaignRecord { end, said, made: None };
        let work = self.plan.phases_work().filter(|_| matches!(part, CampaignPart::Plan { .. }));
        if let (Some(work), Outcome::Success) = (work, record.end.outcome) {
            let tip = ground.branch.as_ref().map(|branch| branch.tip());
            let text = ground.text_at(tip.as_ref(), &work.plan)?.unwrap_or_default();
            match (ground.phase_planner)(&work, text)? {
                Ok(made) => record.made = Some(Box::new(made)),
                Err(problem) => {
                    record.end.outcome = Outcome::Failure;
                    record.end.reason = Some(format!("the phases cannot be used: {problem}"));
                }
            }
        }
        Ok(record)
    }

    /// What is on record of the last attempt at a phase.
    fn end_of(
        &self,
        coordinator: &Coordinator<'_>,
        at: usize,
        report: Option<&PhaseReport>,
    ) -> Result<Option<ChildEnd>> {
        let Some(report) = report else { return Ok(None) };
        let attempts = u32::try_from(report.orchestrators.len()).unwrap_or(u32::MAX);
        let key = PhaseStep::key_of(&coordinator.plan, at, attempts);
        recorded(self.ground.journal, coordinator.place.run, &key)
    }

    /// The last message of the session that a phase is about.
    fn said(
        &self,
        coordinator: &Coordinator<'_>,
        name: &str,
        phases: &[PhaseReport],
    ) -> Result<Option<String>> {
        let Some(at) = phases.iter().position(|phase| phase.phase == name) else {
            return Ok(None);
        };
        let end = self.end_of(coordinator, at, phases.get(at))?;
        let run = end.and_then(|end| end.stages.last().and_then(|stage| stage.run));
        let Some(run) = run else { return Ok(None) };
        let session = recorded::<ExecEnd>(self.ground.journal, run, &StepKey::session())?;
        Ok(session.map(|session| whole_or_nothing(session.result)))
    }
}

impl CampaignWork<'_> {
    /// Lets a session lead the phases, or finds what one did.
    fn lead(
        &self,
        machine: &mut Campaign,
        round: u32,
        progress: &mut dyn Progress,
    ) -> Result<Option<CampaignRest>> {
        let ground = self.ground;
        let key = lead_key(round);
        if let Some(end) = recorded::<LeadEnd>(ground.journal, self.place.run, &key)? {
            let trouble = end.trouble();
            for (name, attempt) in end.ran {
                let part = CampaignPart::Phase { name };
                match self.on_record(&part, attempt)? {
                    Some(record)
                        if ground.has_lost(&self.place, &part.key(attempt), &record.end)? =>
                    {
                        machine.lost(&part, &record.end);
                    }
                    Some(record) => {
                        machine.apply(&part, &record);
                    }
                    None => {}
                }
            }
            machine.led(trouble);
            return Ok(None);
        }
        let parts = machine.manifest().phases.into_iter().map(|phase| {
            let waits = match phase.depends_on.is_empty() {
                true => String::new(),
                false => format!("waits for {}", phase.depends_on.join(", ")),
            };
            (phase.phase, waits)
        });
        let parts: Vec<(String, String)> = parts.collect();
        let names = (self.plan.campaign.as_str(), self.plan.task.as_str());
        let lead = LayerLead {
            ground,
            place: &self.place,
            layer: LedLayer::Campaign,
            key,
            task: lead_prompt(names, ("run_phase", "phase"), &parts),
        };
        let mut led = LedCampaign { own: self, machine, ran: Vec::new() };
        led.recall()?;
        match lead.work(&mut led, progress)? {
            Err(parked) => Ok(Some(CampaignRest::Parked(parked))),
            Ok(end) => {
                machine.led(end.trouble());
                Ok(None)
            }
        }
    }

    fn on_record(&self, part: &CampaignPart, attempt: u32) -> Result<Option<CampaignRecord>> {
        recorded(self.ground.journal, self.place.run, &part.key(attempt))
    }
}

struct LedCampaign<'o, 'a> {
    own: &'o CampaignWork<'a>,
    machine: &'o mut Campaign,
    ran: Vec<(String, u32)>,
}

impl LedCampaign<'_, '_> {
    /// Takes what a session that was cut off had run.
    fn recall(&mut self) -> Result<()> {
        loop {
            let mut is_fed = false;
            for name in self.machine.phase_names() {
                let Ok(CampaignStep::Coordinate { part, attempt, .. }) =
                    self.machine.choose(&name, None)
                else {
                    continue;
                };
                let Some(record) = self.own.on_record(&part, attempt)? else { continue };
                is_fed = true;
                if self.has_lost(&part, attempt, &record)? {
                    continue;
                }
                self.machine.apply(&part, &record);
                // A process that was killed right after its record has told none of it.
                self.own.signal(&part, attempt, &record)?;
                self.ran.push((name, attempt));
            }
            if !is_fed {
                return Ok(());
            }
        }
    }
}

impl LedCampaign<'_, '_> {
    /// Has a phase begun anew that is on record while what it left is gone.
    fn has_lost(
        &mut self,
        part: &CampaignPart,
        attempt: u32,
        record: &CampaignRecord,
    ) -> Result<bool> {
        let own = self.own;
        let is_lost = own.ground.has_lost(&own.place, &part.key(attempt), &record.end)?;
        if is_lost {
            self.machine.lost(part, &record.end);
        }
        Ok(is_lost)
    }
}

impl Led for LedCampaign<'_, '_> {
    fn run(
        &mut self,
        name: &str,
        progress: &mut dyn Progress,
    ) -> Result<std::result::Result<ChildEnd, String>> {
        let (part, attempt, plan) = loop {
            let (part, attempt, plan) = match self.machine.choose(name, None) {
                Ok(CampaignStep::Coordinate { part, attempt, plan }) => (part, attempt, plan),
                Ok(_) => return Ok(Err("there is no such phase".to_owned())),
                Err(why) => return Ok(Err(why)),
            };
            match self.own.on_record(&part, attempt)? {
                Some(record) if self.has_lost(&part, attempt, &record)? => {}
                _ => break (part, attempt, plan),
            }
        };
        let record = self.own.coordinate(self.machine, (&part, attempt), *plan, progress)?;
        if record.end.park.is_none() {
            self.ran.push((name.to_owned(), attempt));
        }
        self.own.project(self.machine)?;
        Ok(Ok(record.end))
    }

    fn status(&self) -> String {
        let line = |phase: &spore_compose::CampaignPhase| {
            let error = phase.error.as_deref().map(|error| format!(": {error}"));
            let told = format!("{}{}", phase.status.as_str(), error.unwrap_or_default());
            format!("{}: {}\n", phase.phase, spore_plain::line_within(&told, 500))
        };
        self.machine.manifest().phases.iter().map(line).collect()
    }

    fn waits(&self) -> Option<Parked> {
        self.machine.waits()
    }

    fn ran(&self) -> Vec<(String, u32)> {
        self.ran.clone()
    }
}
