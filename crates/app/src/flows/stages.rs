//! L2: an orchestrator's stages, each a child run of the layer below.

use spore_compose::{
    ChildEnd, Diagnosis, OrchestratorPlan, Parked, PartStatus, SignalPointer, StageEntry,
    StageNext, StageStep, StageWork, Stages, StagesEnding, WorkLine, refinement,
};
use spore_model::{Begun, CommitId, EffectClass, Fault, Outcome, Park, Run, RunKind, Ticket};

use super::branch::FlowBranch;
use super::execs::Exec;
use super::flow::{ActiveFlow, LayerEnding, LayerPlace};
use super::verified::Verified;
use crate::base::error::bug;
use crate::base::step::Intent;
use crate::{Error, Progress, Result};

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
        let task =
            format!("{} {} {}", self.plan.orchestrator, self.plan.modifier, self.plan.target);
        let details = Run { task: Some(task), ..self.ground.blank(self.place.run, RunKind::Stage) };
        self.ground.open(&self.place, RunKind::Stage, &details)?;
        let mut machine = Stages::new(self.plan.clone());
        let mut tip = self.line().map(|line| line.tip);
        let mut next = machine.start();
        loop {
            let step = match next {
                StageNext::Do(step) => step,
                StageNext::Park(parked) => return Ok(StagesOver::Parked(parked)),
                StageNext::End(ending) => return Ok(StagesOver::Ended(ending)),
            };
            next = self.step(&mut machine, &step, &mut tip, progress)?;
            self.project(&machine)?;
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
            Some((at, entry)) => Ok(self.recorded(at, entry.attempts)?.diagnosis),
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
        let StageStep::Run { stage, attempt, diagnosis } = step else {
            return self.conclude(machine, step, progress);
        };
        let key = step.key(&self.plan);
        let steps = ground.steps(&self.place);
        let intent = Intent::at(ground.now()).plan("child", ground.around.ids.run());
        let ticket = match steps.begin(&key, EffectClass::Keyed, intent)? {
            Begun::Done(end) => {
                self.goes_on_from(&end, tip);
                return Ok(machine.apply(step, &end));
            }
            Begun::Do(ticket) => ticket,
        };
        let place = self.child(*stage, *attempt, &ticket)?;
        let begun = ground.told_layer("exec", &place.name, started(*attempt), None, None);
        progress.update(&begun);
        let end = self.run_stage(*stage, place, (tip.as_ref(), diagnosis.as_ref()), progress)?;
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

    /// Takes note of what a stage left, for the next one to start from.
    fn goes_on_from(&self, end: &ChildEnd, tip: &mut Option<CommitId>) {
        let Some(line) = end.line.as_ref().filter(|_| end.outcome == Outcome::Success) else {
            return;
        };
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

    fn child(&self, stage: usize, attempt: u32, ticket: &Ticket) -> Result<LayerPlace> {
        let name = &self.plan.stages[stage].name;
        Ok(LayerPlace {
            run: ticket.planned("child").map_err(bug)?,
            parent: Some(self.place.run),
            attempt,
            name: format!("{}{name}", self.prefix),
            dir: self.place.dir.join("stages").join(name).join(format!("attempt-{attempt}")),
            depth: self.place.depth + 1,
            budget: self.place.budget,
        })
    }

    fn run_stage(
        &self,
        stage: usize,
        place: LayerPlace,
        (tip, diagnosis): (Option<&CommitId>, Option<&Diagnosis>),
        progress: &mut dyn Progress,
    ) -> Result<ChildEnd> {
        let plan = &self.plan.stages[stage];
        let (asking, began) = (place.clone(), self.ground.now());
        let end = match &plan.work {
            StageWork::Exec(exec) => {
                let resolution = self.plan.resolution.as_deref();
                let (ground, budget) = (self.ground, plan.budget);
                let start = tip.cloned();
                let exec = Exec { ground, place, plan: exec, diagnosis, resolution, budget, start };
                exec.work(progress)?.end
            }
            StageWork::Orchestrate(task) => {
                let asked = Verified { plan: task, budget: plan.budget, diagnosis, start: tip };
                super::verified::run(self.ground, &place, &asked, progress)?
            }
            StageWork::Sentinel => super::checks::run(self.ground, &place, tip, progress)?,
        };
        let end = self.answered(&asking, end)?;
        let (status, why) = (spore_compose::status(end.outcome), end.reason.clone());
        progress.update(&self.ground.told_layer("exec", &asking.name, status, why, Some(began)));
        Ok(end)
    }

    /// Adds what a person answered to a stage that is over and left a question behind; without an
    /// answer it waits for one.
    fn answered(&self, place: &LayerPlace, end: ChildEnd) -> Result<ChildEnd> {
        if end.outcome != Outcome::NeedsEscalation || end.park.is_some() {
            return Ok(end);
        }
        if let Some(answer) = self.ground.answer_to(end.run) {
            return Ok(ChildEnd { answer: Some(answer.to_owned()), ..end });
        }
        self.ground.keep_question(place, &end)?;
        Ok(ChildEnd { park: Some(Park::Human), ..end })
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

    /// What the signal of a stage points at: its artifact, in the commit that holds it.
    fn pointer(&self, entry: &StageEntry) -> SignalPointer {
        let Some(path) = &entry.artifact else { return SignalPointer::default() };
        match &entry.artifact_mark {
            Some(mark) => SignalPointer { path: path.clone(), bytes: mark.bytes },
            None => self.ground.pointer(path),
        }
    }

    /// Writes a signal file for each stage whose fate is decided.
    fn project(&self, machine: &Stages) -> Result<()> {
        for (at, entry) in machine.settled() {
            let Some(run) = entry.run else { continue };
            let name = format!("{}{}", self.prefix, self.plan.stages[at].name);
            self.ground.signal(run, &name, &self.pointer(entry))?;
            if entry.exit_code == Some(Outcome::NeedsRefinement.exit_code()) {
                let end = self.recorded(at, entry.attempts)?;
                let text = refinement(&name, &end, entry.attempts);
                let path = self.ground.dir().join(format!("refinements/exec-{name}.md"));
                self.ground.write(&path, &text)?;
            }
        }
        Ok(())
    }

    /// Returns what is on record of an attempt at a stage.
    fn recorded(&self, stage: usize, attempt: u32) -> Result<ChildEnd> {
        let key = StageStep::Run { stage, attempt, diagnosis: None }.key(&self.plan);
        let missing = || Error::new(Fault::Bug, format!("step {key} has no record"));
        self.ground.steps(&self.place).result(&key)?.ok_or_else(missing)
    }
}

fn started(attempt: u32) -> String {
    if attempt == 1 { "STARTING".to_owned() } else { format!("RETRY:{attempt}") }
}
