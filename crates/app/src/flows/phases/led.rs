//! A coordinator that a session leads: which phase is next is the session's word, what comes of it is
//! not. Phases are run one at a time, and land as they do everywhere.

use std::sync::mpsc::channel;

use spore_compose::{
    ChildEnd, Chosen, ChosenRest, OrchestratorPlan, Parked, PhaseStep, attempt_dir,
    execution_report, lead_key, lead_prompt,
};
use spore_model::{Begun, CommitId, EffectClass, Fault, Outcome, RunKind};
use spore_tools::layers::LedLayer;

use super::{Coordinator, PhasesOver, Said};
use crate::base::error::bug;
use crate::base::step::Intent;
use crate::flows::flow::{LayerEnding, LayerPlace};
use crate::flows::leading::{Lead, Led};
use crate::{Error, Progress, Result};

impl Coordinator<'_> {
    /// Lets a session lead the phases.
    pub(super) fn led(&self, progress: &mut dyn Progress) -> Result<PhasesOver> {
        let ground = self.ground;
        let chosen = Chosen::phases(&self.plan);
        let mut led = LedPhases { own: self, chosen, ran: Vec::new() };
        led.recall()?;
        let part = |phase: &spore_compose::PhasePlan| {
            let waits = match phase.depends_on.is_empty() {
                true => String::new(),
                false => format!("waits for {}", phase.depends_on.join(", ")),
            };
            (phase.name.clone(), waits)
        };
        let parts: Vec<(String, String)> = self.plan.phases.iter().map(part).collect();
        let about = self.plan.description.as_deref().unwrap_or_default();
        let lead = Lead {
            ground,
            place: &self.place,
            layer: LedLayer::Phases,
            key: lead_key(1),
            task: lead_prompt((&self.plan.coordinator, about), ("run_stage", "phase"), &parts),
        };
        if let Err(parked) = lead.work(&mut led, progress)? {
            return Ok(PhasesOver::Parked(parked));
        }
        let (outcome, reason) = match led.chosen.rest() {
            ChosenRest::Park(parked) => return Ok(PhasesOver::Parked(parked)),
            ChosenRest::End(outcome, reason) => (outcome, reason),
        };
        if let Some(parked) = ground.bring_home(&self.place, outcome, progress)? {
            return Ok(PhasesOver::Parked(parked));
        }
        let ending = led.chosen.phases_ending(&self.plan, outcome, reason);
        if let Some(run) = ground.journal.run(self.place.run)? {
            let mut timeline = Vec::new();
            ground.timeline(&run, &mut timeline)?;
            let report = execution_report(&run, &ending, &timeline);
            ground.write(&self.dir().join("execution-report.md"), &report)?;
        }
        ground.write_json(&self.dir().join("manifest.json"), &ending.manifest)?;
        let path = ground.path_of(&self.place.dir.join("manifest.json"));
        let told = LayerEnding {
            outcome: ending.outcome,
            reason: Some(&ending.reason),
            points_at: Some(&path),
        };
        ground.end(&self.place, RunKind::Phase, &told, &ending)?;
        Ok(PhasesOver::Ended(ending))
    }

    /// Runs one phase in a thread of its own, and passes on what it says meanwhile.
    fn run_alone(
        &self,
        phase: usize,
        place: LayerPlace,
        plan: OrchestratorPlan,
        start: Option<CommitId>,
        progress: &mut dyn Progress,
    ) -> Result<ChildEnd> {
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            let running = scope.spawn(move || self.run_phase(phase, place, plan, start, &sender));
            while let Ok(said) = receiver.recv() {
                if let Said::Update(update) = said {
                    progress.update(&update);
                }
            }
            let silent = || Error::new(Fault::Bug, "a phase went away silently");
            running.join().map_err(|_| silent())?
        })
    }
}

struct LedPhases<'o, 'a> {
    own: &'o Coordinator<'a>,
    chosen: Chosen,
    ran: Vec<(String, u32)>,
}

impl LedPhases<'_, '_> {
    /// Takes what is on record.
    fn recall(&mut self) -> Result<()> {
        let own = self.own;
        loop {
            let mut is_fed = false;
            for phase in &own.plan.phases {
                let Ok(step) = self.chosen.choose(&phase.name) else { continue };
                let key = PhaseStep::key_of(&own.plan, step.part, step.attempt);
                let end: Option<ChildEnd> = own.ground.steps(&own.place).result(&key)?;
                let Some(end) = end else { continue };
                self.chosen.apply(step.part, &end);
                self.ran.push((phase.name.clone(), step.attempt));
                is_fed = true;
            }
            if !is_fed {
                return Ok(());
            }
        }
    }
}

impl Led for LedPhases<'_, '_> {
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
        let (ground, phase, attempt) = (own.ground, step.part, step.attempt);
        let (steps, key) = (ground.steps(&own.place), PhaseStep::key_of(&own.plan, phase, attempt));
        let mut intent = Intent::at(ground.now()).plan("child", ground.around.ids.run());
        if let Some(branch) = &ground.branch {
            intent = intent.with("base", branch.tip().to_string());
        }
        let ticket = match steps.begin(&key, EffectClass::Keyed, intent)? {
            Begun::Done(end) => {
                self.chosen.apply(phase, &end);
                return Ok(Ok(end));
            }
            Begun::Do(ticket) => ticket,
        };
        let planned = own.plan.phases[phase].orchestrator.knowing(&self.chosen.phase_data());
        let end = match planned {
            Err(missing) => {
                let child = ticket.planned("child").map_err(bug)?;
                ChildEnd::new(child, Outcome::Failure, Some(missing.to_string()))
            }
            Ok(plan) => {
                let resolution = step.resolution.or_else(|| plan.resolution.clone());
                let plan = OrchestratorPlan { resolution, ..plan };
                let start = match &ground.branch {
                    Some(_) => Some(ticket.planned("base").map_err(bug)?),
                    None => None,
                };
                match own.child(phase, attempt, &ticket)? {
                    Some(place) => own.run_alone(phase, place, plan, start, progress)?,
                    None => own.broke(&ticket)?,
                }
            }
        };
        if self.chosen.apply(phase, &end) {
            steps.finish(&key, &ticket, &steps.entry(&end)?)?;
            self.ran.push((name.to_owned(), attempt));
            let times = usize::try_from(attempt).unwrap_or(usize::MAX);
            let dir = own.place.dir.join(attempt_dir(phase, name, times));
            let manifest = ground.path_of(&dir.join("manifest.json"));
            ground.signal(end.run, name, &ground.pointer(&manifest))?;
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
