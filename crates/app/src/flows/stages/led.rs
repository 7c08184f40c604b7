//! An orchestrator that a session leads: which stage is next is the session's word, what comes of it
//! is not.

use spore_compose::{
    ChildEnd, Chosen, ChosenRest, FlowData, Parked, StageStep, lead_key, lead_prompt,
};
use spore_model::{Begun, CommitId, EffectClass, Outcome};
use spore_tools::layers::LedLayer;

use super::{Orchestrator, StagesOver};
use crate::base::step::Intent;
use crate::flows::leading::{Lead, Led};
use crate::{Progress, Result};

impl Orchestrator<'_> {
    /// Lets a session lead the stages.
    pub(super) fn led(&self, progress: &mut dyn Progress) -> Result<StagesOver> {
        let ground = self.ground;
        let tip = self.line().map(|line| line.tip);
        let chosen = Chosen::stages(&self.plan);
        let mut led = LedStages { own: self, chosen, tip, ran: Vec::new() };
        led.recall()?;
        let parts = self.plan.stages.iter().map(|stage| (stage.name.clone(), String::new()));
        let parts: Vec<(String, String)> = parts.collect();
        let (name, target) = (&self.plan.orchestrator, &self.plan.target);
        let lead = Lead {
            ground,
            place: &self.place,
            layer: LedLayer::Stages,
            key: lead_key(1),
            task: lead_prompt((name, target), ("run_exec", "stage"), &parts),
        };
        if let Err(parked) = lead.work(&mut led, progress)? {
            return Ok(StagesOver::Parked(parked));
        }
        let (outcome, reason) = match led.chosen.rest() {
            ChosenRest::Park(parked) => return Ok(StagesOver::Parked(parked)),
            ChosenRest::End(outcome, reason) => (outcome, reason),
        };
        if let Some(parked) = ground.bring_home(&self.place, outcome, progress)? {
            return Ok(StagesOver::Parked(parked));
        }
        let ending = led.chosen.stages_ending(&self.plan, outcome, reason);
        self.finish(&ending)?;
        Ok(StagesOver::Ended(ending))
    }
}

struct LedStages<'o, 'a> {
    own: &'o Orchestrator<'a>,
    chosen: Chosen,
    tip: Option<CommitId>,
    ran: Vec<(String, u32)>,
}

impl LedStages<'_, '_> {
    /// Takes what is on record, each stage on top of what it started from.
    fn recall(&mut self) -> Result<()> {
        let own = self.own;
        loop {
            let mut is_fed = false;
            for stage in &own.plan.stages {
                let Ok(step) = self.chosen.choose(&stage.name) else { continue };
                let (at, attempt) = (step.part, step.attempt);
                let key = key_of(own, at, attempt);
                let end: Option<ChildEnd> = own.ground.steps(&own.place).result(&key)?;
                let Some(end) = end else { continue };
                self.take(at, &end);
                self.ran.push((stage.name.clone(), attempt));
                is_fed = true;
            }
            if !is_fed {
                return Ok(());
            }
        }
    }

    fn take(&mut self, at: usize, end: &ChildEnd) -> bool {
        let is_over = self.chosen.apply(at, end);
        if is_over && end.outcome == Outcome::Success {
            self.own.goes_on_from(end, &mut self.tip);
        }
        is_over
    }
}

fn key_of(own: &Orchestrator<'_>, stage: usize, attempt: u32) -> spore_model::StepKey {
    StageStep::Run { stage, round: 1, attempt, diagnosis: None }.key(&own.plan)
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
        let (steps, key) = (ground.steps(&own.place), key_of(own, at, attempt));
        let intent = Intent::at(ground.now()).plan("child", ground.around.ids.run());
        let ticket = match steps.begin(&key, EffectClass::Keyed, intent)? {
            Begun::Done(end) => {
                self.take(at, &end);
                return Ok(Ok(end));
            }
            Begun::Do(ticket) => ticket,
        };
        let place = own.child(at, (1, attempt), &ticket)?;
        let asks = own.plan.stages[at].asks();
        let data = if asks { self.chosen.stage_data() } else { FlowData::default() };
        let known = (&data, self.tip.as_ref(), step.diagnosis.as_ref());
        let end = own.run_stage(at, place, known, progress)?;
        if self.take(at, &end) {
            steps.finish(&key, &ticket, &steps.entry(&end)?)?;
            self.ran.push((name.to_owned(), attempt));
            if let Some(branch) = own.own_branch() {
                branch.follow()?;
            }
            let signal = format!("{}{name}", own.prefix);
            let pointer = end.artifact.as_deref().map(|path| ground.pointer(path));
            ground.signal(end.run, &signal, &pointer.unwrap_or_default())?;
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
