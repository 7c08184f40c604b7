//! L2: an orchestrator's stages, each a child run of the layer below.
//!
//! In agent mode which stage is next is a session's word; what comes of it is not.

mod fan_out;
mod turn;

use std::collections::BTreeSet;

use spore_compose::{
    ChildEnd, Diagnosis, FlowData, LedParts, LedRest, LedStep, OrchestratorPlan, Parked,
    PartStatus, PlannedWork, StageEntry, StageNext, StageStep, StageWork, Stages, StagesEnding,
    WorkLine, lead_key, lead_prompt, refinement,
};
use spore_model::{
    Begun, CommitId, EffectClass, Fault, Outcome, Run, RunId, RunKind, StepKey, Ticket,
};

use spore_tools::layers::LedLayer;

use super::branch::FlowBranch;
use super::flow::{ActiveFlow, LayerEnding, LayerPlace};
use super::leading::{LayerLead, Led};
use fan_out::FanOut;
use turn::StageTurn;

use crate::base::error::bug;
use crate::base::step::Intent;
use crate::{Error, Progress, Result, Update};

/// An orchestrator at work.
pub(crate) struct Orchestrator<'a> {
    pub(crate) ground: &'a ActiveFlow<'a>,
    pub(crate) place: LayerPlace,
    pub(crate) plan: OrchestratorPlan,
    /// What the signals of its stages begin with: the phase they belong to.
    pub(crate) prefix: String,
    /// Where its first stage starts; nothing where all work in a directory as it is.
    pub(crate) start: Option<CommitId>,
}

/// How far the stages came.
pub(crate) enum StagesOver {
    Ended(StagesEnding),
    Parked(Parked),
}

impl Orchestrator<'_> {
    /// Leads the stages to their end, or to where they have to wait.
    pub(crate) fn work(&self, progress: &mut dyn Progress) -> Result<StagesOver> {
        let task = Some(self.plan.title());
        let base_commit = self.start.clone();
        let details =
            Run { task, base_commit, ..self.ground.blank(self.place.run, RunKind::Stage) };
        self.ground.open(&self.place, RunKind::Stage, &details)?;
        if !self.plan.mode.is_tool() {
            return self.led(progress);
        }
        let mut machine = Stages::new(self.plan.clone());
        let mut projected = BTreeSet::new();
        let mut tip = self.line().map(|line| line.tip);
        let mut next = machine.start();
        loop {
            let step = match next {
                StageNext::Do(step) => step,
                StageNext::Park(parked) => return Ok(StagesOver::Parked(parked)),
                StageNext::End(ending) => return Ok(StagesOver::Ended(ending)),
            };
            next = self.step(&mut machine, &step, &mut tip, progress)?;
            self.project(&machine, &mut projected)?;
        }
    }

    /// What the stages go on from.
    fn line(&self) -> Option<WorkLine> {
        let base = self.start.clone()?;
        let begun = || WorkLine { tip: base.clone(), base: base.clone() };
        Some(self.plan.line.clone().unwrap_or_else(begun))
    }

    /// What the layer above is to know.
    pub(crate) fn told(&self, over: &StagesOver) -> Result<ChildEnd> {
        let (outcome, reason) = match over {
            StagesOver::Ended(ending) => (ending.outcome, &ending.reason),
            StagesOver::Parked(parked) => (parked.outcome, &parked.reason),
        };
        let end = ChildEnd {
            budget_left: self.ground.has_left(self.place.budget),
            ..ChildEnd::new(self.place.run, outcome, Some(reason.clone()))
        };
        Ok(match over {
            StagesOver::Parked(parked) => ChildEnd { park: Some(parked.park), ..end },
            StagesOver::Ended(ending) => ChildEnd {
                stages: ending.manifest.stages.clone(),
                diagnosis: self.diagnosis(ending)?,
                line: self.line_of(ending),
                ..end
            },
        })
    }

    /// What the stages that passed left, where that is anything.
    fn line_of(&self, ending: &StagesEnding) -> Option<WorkLine> {
        let passed = |entry: &&StageEntry| entry.status == PartStatus::Success;
        let stages = ending.manifest.stages.iter().filter(passed);
        let begun = self.line()?;
        // Stages that passed before are among them; what came later stands on theirs.
        let new = stages.filter(|entry| !self.plan.passed.contains(entry));
        let tip = new.filter_map(|entry| entry.commit.clone()).next_back();
        let line = WorkLine { tip: tip.unwrap_or(begun.tip), base: begun.base };
        (line.base != line.tip).then_some(line)
    }

    /// What the last stage that failed had to say.
    fn diagnosis(&self, ending: &StagesEnding) -> Result<String> {
        let stages = ending.manifest.stages.iter().enumerate();
        let mut failed = stages.filter(|(_, entry)| entry.status == PartStatus::Failure);
        match failed.next_back() {
            Some((at, entry)) => Ok(self.recorded(at, entry)?.diagnosis),
            None => Ok(String::new()),
        }
    }

    fn step(
        &self,
        machine: &mut Stages,
        step: &StageStep,
        tip: &mut Option<CommitId>,
        progress: &mut dyn Progress,
    ) -> Result<StageNext> {
        let ground = self.ground;
        let StageStep::Run { stage, round, attempt, diagnosis } = step else {
            return self.conclude(machine, step, progress);
        };
        let key = step.key(&self.plan);
        let steps = ground.steps(&self.place);
        let intent = Intent::at(ground.now()).plan("child", ground.around.ids.run());
        let ticket = match steps.begin(&key, EffectClass::Keyed, intent)? {
            Begun::Done(end) => {
                if ground.has_lost(&self.place, &key, &end)? {
                    return Ok(self.begin_anew(machine, step, *stage, progress));
                }
                self.goes_on_from(&end, tip);
                return Ok(machine.apply(step, &end));
            }
            Begun::Do(ticket) => ticket,
        };
        let place = self.child(*stage, (*round, *attempt), &ticket)?;
        if ticket.attempt > 1 && ground.has_lost_ground(&self.place, &key, place.run)? {
            return Ok(self.begin_anew(machine, step, *stage, progress));
        }
        progress.update(&self.told_begun(*stage, &place));
        let plan = &self.plan.stages[*stage];
        let data = if plan.asks() { machine.data() } else { FlowData::default() };
        let known = (&data, tip.as_ref(), diagnosis.as_ref());
        let end = self.run_stage(*stage, place, known, progress)?;
        let next = machine.apply(step, &end);
        // What has to wait has no result yet: resume does it again.
        if !matches!(next, StageNext::Park(_)) {
            steps.finish(&key, &ticket, &steps.entry(&end)?)?;
            self.goes_on_from(&end, tip);
            if let Some(branch) = self.own_branch() {
                branch.follow()?;
            }
        }
        Ok(next)
    }

    /// Does a stage again that is on record, and says so.
    fn begin_anew(
        &self,
        machine: &mut Stages,
        step: &StageStep,
        stage: usize,
        progress: &mut dyn Progress,
    ) -> StageNext {
        let name = format!("{}{}", self.prefix, self.plan.stages[stage].name);
        let layer = (self.layer_of(stage), self.place.depth + 1);
        progress.update(&self.ground.told_lost(layer, &name));
        machine.lost(step)
    }

    /// The word for what does a stage.
    fn layer_of(&self, stage: usize) -> &'static str {
        match self.plan.stages[stage].work {
            StageWork::Sentinel { .. } => "sentinel",
            StageWork::Exec(_) | StageWork::Orchestrate(_) | StageWork::Planned(_) => "exec",
        }
    }

    fn told_begun(&self, stage: usize, place: &LayerPlace) -> Update {
        let word = spore_compose::started(place.attempt);
        let layer = (self.layer_of(stage), place.depth);
        self.ground.told_layer(layer, &place.name, word, None, None)
    }

    /// Takes note of what a stage left, for the next one to start from.
    fn goes_on_from(&self, end: &ChildEnd, tip: &mut Option<CommitId>) {
        // Of a stage that is done for several things, those that failed made no commit.
        let holds = matches!(end.outcome, Outcome::Success | Outcome::Partial);
        let Some(line) = end.line.as_ref().filter(|_| holds) else { return };
        *tip = Some(line.tip.clone());
        if let Some(branch) = self.own_branch() {
            branch.record(&line.tip);
        }
    }

    /// The branch, where these stages are the whole flow. What a phase made lands when all of it
    /// holds.
    fn own_branch(&self) -> Option<&FlowBranch> {
        self.ground.branch.as_ref().filter(|_| self.place.parent.is_none())
    }

    fn conclude(
        &self,
        machine: &mut Stages,
        step: &StageStep,
        progress: &mut dyn Progress,
    ) -> Result<StageNext> {
        let StageStep::Finish { ending } = step else { return Ok(machine.start()) };
        if let Some(parked) = self.ground.bring_home(&self.place, ending.outcome, progress)? {
            return Ok(StageNext::Park(parked));
        }
        self.finish(ending)?;
        let end = ChildEnd::new(self.place.run, ending.outcome, Some(ending.reason.clone()));
        Ok(machine.apply(step, &end))
    }

    fn child(
        &self,
        stage: usize,
        (round, attempt): (u32, u32),
        ticket: &Ticket,
    ) -> Result<LayerPlace> {
        let name = &self.plan.stages[stage].name;
        let mut dir = self.place.dir.join("stages").join(name);
        if round > 1 {
            dir.push(format!("round-{round}"));
        }
        Ok(LayerPlace {
            run: ticket.planned("child").map_err(bug)?,
            parent: Some(self.place.run),
            attempt,
            name: format!("{}{name}", self.prefix),
            dir: dir.join(format!("attempt-{attempt}")),
            depth: self.place.depth + 1,
            budget: self.place.budget,
        })
    }

    fn run_stage(
        &self,
        stage: usize,
        place: LayerPlace,
        (data, tip, diagnosis): (&FlowData, Option<&CommitId>, Option<&Diagnosis>),
        progress: &mut dyn Progress,
    ) -> Result<ChildEnd> {
        let (ground, resolution) = (self.ground, self.plan.resolution.as_deref());
        let plan = &self.plan.stages[stage];
        let (asking, began) = (place.clone(), ground.now());
        let end = if plan.each.is_some() {
            let (max_attempts, start) = (self.attempts_left(&plan.name), tip.cloned());
            FanOut { ground, place, plan, data, max_attempts, resolution, diagnosis, start }
                .work(progress)?
        } else {
            match plan.whole(data) {
                Err(missing) => {
                    ChildEnd::new(place.run, Outcome::Failure, Some(missing.to_string()))
                }
                Ok(plan) => match &plan.work {
                    StageWork::Planned(work) => {
                        self.planned(place, (&plan.name, work), tip, progress)?
                    }
                    _ => {
                        let since = self.line().map(|line| line.base);
                        let (plan, since) = (&plan, since.as_ref());
                        StageTurn { ground, plan, resolution, diagnosis, tip, since }
                            .work(place, progress)?
                    }
                },
            }
        };
        let end = ground.answered(&asking, end)?;
        let (status, why) = (spore_compose::status(end.outcome), end.reason.clone());
        let layer = (self.layer_of(stage), asking.depth);
        progress.update(&ground.told_layer(layer, &asking.name, status, why, Some(began)));
        Ok(end)
    }

    /// How often each part of a stage may be tried.
    fn attempts_left(&self, stage: &str) -> u32 {
        self.plan.attempts_left(stage).max(1)
    }

    /// Runs the stages of a plan that an earlier stage made. The plan is settled once.
    fn planned(
        &self,
        place: LayerPlace,
        (stage, work): (&str, &PlannedWork),
        tip: Option<&CommitId>,
        progress: &mut dyn Progress,
    ) -> Result<ChildEnd> {
        let (ground, name) = (self.ground, place.name.clone());
        let details = ground.blank(place.run, RunKind::Stage);
        ground.open(&place, RunKind::Stage, &details)?;
        let key = StepKey::new("plan".to_owned()).map_err(bug)?;
        let planned =
            ground.steps(&place).once(&key, |_, _| match ground.text_at(tip, &work.plan)? {
                None => Ok(Err(format!("there is no plan {}", work.plan))),
                Some(text) => (ground.planner)((&name, work), text),
            })?;
        let plan = match planned {
            Ok(plan) => plan,
            Err(reason) => {
                let (outcome, points_at) = (Outcome::Failure, None);
                let ending = LayerEnding { outcome, reason: Some(&reason), points_at };
                ground.end(&place, RunKind::Stage, &ending, &reason)?;
                return Ok(ChildEnd::new(place.run, outcome, Some(reason)));
            }
        };
        let (prefix, start) = (format!("{name}."), tip.cloned());
        let (max_attempts, resolution) = (self.attempts_left(stage), self.plan.resolution.clone());
        let plan = OrchestratorPlan { max_attempts, resolution, ..plan };
        let stages = Orchestrator { ground, place, plan, prefix, start };
        let over = stages.work(progress)?;
        let end = stages.told(&over)?;
        Ok(ChildEnd { parts: end.stages.clone(), stages: Vec::new(), ..end })
    }

    fn finish(&self, ending: &StagesEnding) -> Result<()> {
        let ground = self.ground;
        let dir = ground.dir().join(&self.place.dir);
        ground.write_json(&dir.join("manifest.json"), &ending.manifest)?;
        let path = ground.path_of(&self.place.dir.join("manifest.json"));
        let told = LayerEnding {
            outcome: ending.outcome,
            reason: Some(&ending.reason),
            points_at: Some(&path),
        };
        ground.end(&self.place, RunKind::Stage, &told, ending)
    }

    /// Writes a signal file for each stage whose fate is decided, once in each process.
    fn project(&self, machine: &Stages, projected: &mut BTreeSet<RunId>) -> Result<()> {
        for (at, entry) in machine.settled() {
            let Some(run) = entry.run.filter(|run| projected.insert(*run)) else { continue };
            let name = format!("{}{}", self.prefix, self.plan.stages[at].name);
            let artifact = (entry.artifact.as_deref(), entry.artifact_mark.as_ref());
            self.ground.signal(run, &name, &self.ground.points_at(artifact.0, artifact.1))?;
            self.keep_request(at, entry)?;
        }
        Ok(())
    }

    /// Writes what a stage that was not done well enough asks of the layer above. How it ended is for
    /// its entry to say: one that never said that it was enough ended well in its own record.
    fn keep_request(&self, at: usize, entry: &StageEntry) -> Result<()> {
        let outcome = Outcome::NeedsRefinement;
        if entry.exit_code != Some(outcome.exit_code()) {
            return Ok(());
        }
        let recorded = self.recorded(at, entry)?;
        let end = ChildEnd { outcome, reason: entry.error.clone(), ..recorded };
        let name = format!("{}{}", self.prefix, self.plan.stages[at].name);
        let path = self.ground.dir().join(format!("refinements/exec-{name}.md"));
        self.ground.write(&path, &refinement(&name, &end, entry.attempts))
    }

    /// Returns what is on record of the last attempt at a stage.
    fn recorded(&self, stage: usize, entry: &StageEntry) -> Result<ChildEnd> {
        let (round, attempt) = (entry.rounds.unwrap_or(1), entry.attempts);
        let key = StageStep::Run { stage, round, attempt, diagnosis: None }.key(&self.plan);
        let missing = || Error::new(Fault::Bug, format!("step {key} has no record"));
        self.ground.steps(&self.place).result(&key)?.ok_or_else(missing)
    }
}

impl Orchestrator<'_> {
    /// Lets a session lead the stages.
    fn led(&self, progress: &mut dyn Progress) -> Result<StagesOver> {
        let ground = self.ground;
        let tip = self.line().map(|line| line.tip);
        let chosen = LedParts::stages(&self.plan);
        let mut led = LedStages { own: self, chosen, tip, ran: Vec::new() };
        led.recall()?;
        let parts = self.plan.stages.iter().map(|stage| (stage.name.clone(), String::new()));
        let parts: Vec<(String, String)> = parts.collect();
        let (name, target) = (&self.plan.orchestrator, &self.plan.target);
        let lead = LayerLead {
            ground,
            place: &self.place,
            layer: LedLayer::Stages,
            key: lead_key(1),
            task: lead_prompt((name, target), ("run_exec", "stage"), &parts),
        };
        let leader = match lead.work(&mut led, progress)? {
            Ok(leader) => leader,
            Err(parked) => return Ok(StagesOver::Parked(parked)),
        };
        let (outcome, reason) = match led.chosen.rest() {
            LedRest::Park(parked) => return Ok(StagesOver::Parked(parked)),
            LedRest::End(outcome, reason) => (outcome, leader.explains(outcome, reason)),
        };
        if let Some(parked) = ground.bring_home(&self.place, outcome, progress)? {
            return Ok(StagesOver::Parked(parked));
        }
        let ending = led.chosen.stages_ending(&self.plan, outcome, reason);
        // What it might have had run again is over with its session.
        for (at, entry) in ending.manifest.stages.iter().enumerate() {
            self.keep_request(at, entry)?;
        }
        self.finish(&ending)?;
        Ok(StagesOver::Ended(ending))
    }
}

struct LedStages<'o, 'a> {
    own: &'o Orchestrator<'a>,
    chosen: LedParts,
    tip: Option<CommitId>,
    ran: Vec<(String, u32)>,
}

impl LedStages<'_, '_> {
    /// Takes what is on record, each stage on top of what it started from.
    fn recall(&mut self) -> Result<()> {
        let own = self.own;
        'fed: loop {
            // From the first one on after each: all attempts at a stage came before a later one.
            for stage in &own.plan.stages {
                let Ok(step) = self.chosen.choose(&stage.name) else { continue };
                let key = key_of(own, &step);
                let end: Option<ChildEnd> = own.ground.steps(&own.place).result(&key)?;
                let Some(end) = end else { continue };
                if own.ground.has_lost(&own.place, &key, &end)? {
                    self.chosen.lost(step.part, &end);
                    continue 'fed;
                }
                self.take(step.part, &end);
                self.announce(&stage.name, &end)?;
                self.ran.push((stage.name.clone(), step.attempt));
                continue 'fed;
            }
            return Ok(());
        }
    }

    /// Writes the signal of a stage that is over, also for a process that was killed before it could, and
    /// what those ask that are not run again.
    fn announce(&self, name: &str, end: &ChildEnd) -> Result<()> {
        let (ground, signal) = (self.own.ground, format!("{}{name}", self.own.prefix));
        let pointer = ground.points_at(end.artifact.as_deref(), end.artifact_mark.as_ref());
        ground.signal(end.run, &signal, &pointer)?;
        for (at, entry) in self.chosen.closed_stages() {
            self.own.keep_request(at, &entry)?;
        }
        Ok(())
    }

    fn take(&mut self, at: usize, end: &ChildEnd) -> bool {
        let is_over = self.chosen.apply(at, end);
        if is_over {
            self.own.goes_on_from(end, &mut self.tip);
        }
        is_over
    }
}

fn key_of(own: &Orchestrator<'_>, step: &LedStep) -> StepKey {
    let LedStep { part: stage, round, attempt, .. } = *step;
    StageStep::Run { stage, round, attempt, diagnosis: None }.key(&own.plan)
}

impl Led for LedStages<'_, '_> {
    fn run(
        &mut self,
        name: &str,
        progress: &mut dyn Progress,
    ) -> Result<std::result::Result<ChildEnd, String>> {
        let own = self.own;
        let step = match self.chosen.choose(name) {
            Ok(step) => step,
            Err(why) => return Ok(Err(why)),
        };
        let (ground, at, attempt) = (own.ground, step.part, step.attempt);
        let (steps, key) = (ground.steps(&own.place), key_of(own, &step));
        let intent = Intent::at(ground.now()).plan("child", ground.around.ids.run());
        let ticket = match steps.begin(&key, EffectClass::Keyed, intent)? {
            Begun::Done(end) if ground.has_lost(&own.place, &key, &end)? => {
                self.chosen.lost(at, &end);
                return self.run(name, progress);
            }
            Begun::Done(end) => {
                self.take(at, &end);
                return Ok(Ok(end));
            }
            Begun::Do(ticket) => ticket,
        };
        let place = own.child(at, (step.round, attempt), &ticket)?;
        let asks = own.plan.stages[at].asks();
        let data = if asks { self.chosen.stage_data() } else { FlowData::default() };
        let known = (&data, self.tip.as_ref(), step.diagnosis.as_ref());
        progress.update(&own.told_begun(at, &place));
        let end = own.run_stage(at, place, known, progress)?;
        if self.take(at, &end) {
            steps.finish(&key, &ticket, &steps.entry(&end)?)?;
            self.ran.push((name.to_owned(), attempt));
            if let Some(branch) = own.own_branch() {
                branch.follow()?;
            }
            self.announce(name, &end)?;
            if end.answer.is_some() {
                // Its end was a question. It goes on with the answer, which is not for the session
                // to say.
                return self.run(name, progress);
            }
        }
        Ok(Ok(end))
    }

    fn status(&self) -> String {
        self.chosen.status()
    }

    fn waits(&self) -> Option<Parked> {
        self.chosen.waits()
    }

    fn ran(&self) -> Vec<(String, u32)> {
        self.ran.clone()
    }
}
