//! The phases of a campaign as its decomposer, or a person who adds some, writes them down.

use spore_config::{ConfigError, SettingPlace};

use super::{Flows, OrchestratorDefinition, Phase};
use crate::files::flow_campaign::refuse_own_name;
use crate::files::flow_file::{FlowFile, FlowSection, PlacedValue, refuse_bad_name};
use crate::files::flow_stage::read_made_stages;
use crate::files::flow_text::{HoleData, filled, needs, without_ending};
use crate::files::mode::LayerMode;

/// What a phase that was made on the way may say: what is done and after what, never by whom, with
/// what or for how much.
const MADE_PHASE_KEYS: [&str; 7] =
    ["name", "orchestrator", "modifier", "stages", "target", "depends_on", "required"];

/// What a made plan may grow to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MadeLimits {
    pub(crate) phases: u32,
    pub(crate) stages: u32,
}

impl Flows {
    /// Reads phases that were made on the way. They use what the flow files define; stages of
    /// their own become an orchestrator that only they know, in the flows that are returned.
    /// `there` are the phases that these may wait for as well.
    pub(crate) fn read_made_phases(
        &self,
        file: &FlowFile,
        limits: MadeLimits,
        there: &[String],
    ) -> Result<(Self, Vec<Phase>), ConfigError> {
        let root = file.node()?;
        let whole = FlowSection::whole(file, root.entries().unwrap_or_default());
        whole.only(&["phases"])?;
        let sections = whole.each("phases")?;
        let bad = |place: &SettingPlace, problem: String| ConfigError::BadValue {
            place: place.clone(),
            key: "phases".to_owned(),
            problem,
        };
        if sections.is_empty() {
            return Err(bad(&file.place(Some(0..0)), "needs at least one phase".to_owned()));
        }
        if let Some(over) = sections.get(limits.phases as usize) {
            let (count, most) = (sections.len(), limits.phases);
            return Err(bad(&over.place, format!("has {count} phases; at most {most} are run")));
        }
        let mut flows = self.clone();
        let mut phases = Vec::new();
        for section in &sections {
            let phase = flows.made_phase(section, limits)?;
            refuse_own_name(&phase.name, "phases")?;
            phases.push(phase);
        }
        // Phases that are there already are over or known: only what is new is checked.
        let mut checked = phases.clone();
        for phase in &mut checked {
            phase.depends_on.retain(|name| !there.contains(&name.value));
        }
        flows.check_phases("phases", &checked)?;
        Ok((flows, phases))
    }

    fn made_phase(
        &mut self,
        section: &FlowSection<'_>,
        limits: MadeLimits,
    ) -> Result<Phase, ConfigError> {
        section.only(&MADE_PHASE_KEYS)?;
        let name = section.needed("name")?;
        refuse_bad_name(&name.value, &format!("{}.name", section.path), &name.place)?;
        let orchestrator = match (section.text("orchestrator")?, section.field("stages")) {
            (Some(named), None) => without_ending(named),
            (None, Some(field)) => {
                let stages = read_made_stages(section, field.place, limits.stages)?;
                self.check_stages(&section.path, &stages.iter().collect::<Vec<_>>())?;
                // No name of a flow file has a dot in it.
                let own = format!("{}.stages", name.value);
                let definition = OrchestratorDefinition {
                    place: section.place.clone(),
                    description: None,
                    stages,
                    modifiers: Vec::new(),
                    mode: LayerMode::Tool,
                };
                self.orchestrators.insert(own.clone(), definition);
                PlacedValue { value: own, place: name.place.clone() }
            }
            (Some(_), Some(field)) => {
                let problem = "and `orchestrator` do not go together: a phase has one of them";
                return Err(field.bad(problem.to_owned()));
            }
            (None, None) => return Err(needs(section, "`orchestrator` or `stages`")),
        };
        Ok(Phase {
            name,
            orchestrator,
            modifier: section.text("modifier")?,
            target: filled(section, "target", &["target"], HoleData::Phases)?
                .ok_or_else(|| needs(section, "target"))?,
            depends_on: section.texts("depends_on")?,
            retry: None,
            resolve: 1,
            required: section.flag("required")?.unwrap_or(true),
            budget: None,
        })
    }
}
