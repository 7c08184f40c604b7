//! A campaign that a session leads: which phase is next is the session's word. What is found out before,
//! who looks at the plan, the checks after every phase and the evaluation are not.

use spore_compose::{
    Campaign, CampaignPart, CampaignRecord, CampaignStep, ChildEnd, Parked, lead_key, lead_prompt,
};
use spore_tools::layers::LedLayer;

use super::{CampaignRest, CampaignWork};
use crate::base::step::recorded;
use crate::flows::leading::{Lead, LeadEnd, Led};
use crate::{Progress, Result};

impl CampaignWork<'_> {
    /// Lets a session lead the phases, or finds what one did.
    pub(super) fn lead(
        &self,
        machine: &mut Campaign,
        round: u32,
        progress: &mut dyn Progress,
    ) -> Result<Option<CampaignRest>> {
        let ground = self.ground;
        let key = lead_key(round);
        if let Some(end) = recorded::<LeadEnd>(ground.journal, self.place.run, &key)? {
            for (name, attempt) in end.ran {
                let part = CampaignPart::Phase { name };
                let record = self.on_record(&part, attempt)?;
                record.map(|record| machine.apply(&part, &record));
            }
            machine.led();
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
        let lead = Lead {
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
            Ok(_) => {
                machine.led();
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
                self.machine.apply(&part, &record);
                self.ran.push((name, attempt));
                is_fed = true;
            }
            if !is_fed {
                return Ok(());
            }
        }
    }
}

impl Led for LedCampaign<'_, '_> {
    fn run(
        &mut self,
        name: &str,
        progress: &mut dyn Progress,
    ) -> Result<std::result::Result<ChildEnd, String>> {
        let (part, attempt, plan) = match self.machine.choose(name, None) {
            Ok(CampaignStep::Coordinate { part, attempt, plan }) => (part, attempt, plan),
            Ok(_) => return Ok(Err("there is no such phase".to_owned())),
            Err(why) => return Ok(Err(why)),
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
