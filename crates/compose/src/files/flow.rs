//! What a project wrote into `.spore/flows/*.toml` and `*.json`: executors, orchestrators,
//! coordinators, campaigns.
//!
//! All files together are one set of names, so a coordinator may use an orchestrator of
//! another file. Every key has an effect, and what a key names must exist: both are found out
//! when the files are read, not when a phase is reached an hour later.

mod campaigns;
mod check;
mod made_phases;

pub(crate) use made_phases::MadeLimits;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use spore_config::{ConfigError, SettingPlace};
use spore_model::Usd;

use crate::files::flow_campaign::{CAMPAIGN_KEYS, CAMPAIGN_MODE, CampaignDefinition, DOMAIN_KEYS};
use crate::files::flow_file::{FlowFile, FlowSection, PlacedValue, refuse_bad_name};
use crate::files::flow_stage::{
    BUILT_IN, EXECUTOR_KEYS, JUDGED, JUDGED_KEYS, ORCHESTRATE_KEYS, PLANNED_KEYS, ROUND_KEYS,
    SESSION_KEYS, STAGE_KEYS, Stage,
};
use crate::files::flow_text::{
    HoleData, filled, needs, plain, read_mode, read_model, without_ending,
};
use crate::files::mode::LayerMode;

/// The action of an executor that is asked for a resolution.
pub(crate) const RESOLVE: &str = "RESOLVE";
/// The modifier that every orchestrator has: all of its stages.
pub(crate) const FULL: &str = "full";

/// Everything the flow files define.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Flows {
    pub(crate) executors: BTreeMap<String, Executor>,
    pub(crate) orchestrators: BTreeMap<String, OrchestratorDefinition>,
    pub(crate) coordinators: BTreeMap<String, CoordinatorDefinition>,
    pub(crate) campaigns: BTreeMap<String, CampaignDefinition>,
}

/// L1: one kind of work, bound to a role and a prompt.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Executor {
    pub(crate) place: SettingPlace,
    pub(crate) role: PlacedValue<String>,
    pub(crate) prompt: String,
    /// Its whole vocabulary; empty where any action will do.
    pub(crate) actions: Vec<String>,
    pub(crate) backend: Option<String>,
    pub(crate) scenario: Option<PathBuf>,
    pub(crate) model: Option<String>,
    pub(crate) allowed_tools: Vec<PlacedValue<String>>,
    pub(crate) max_turns: Option<u32>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) artifact: Option<PlacedValue<String>>,
}

impl Executor {
    pub(crate) fn artifact_text(&self) -> Option<String> {
        self.artifact.as_ref().map(|artifact| artifact.value.clone())
    }
}

/// L2: stages, and which of them a modifier means.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct OrchestratorDefinition {
    pub(crate) place: SettingPlace,
    pub(crate) description: Option<String>,
    pub(crate) stages: Vec<Stage>,
    pub(crate) modifiers: Vec<Modifier>,
    pub(crate) mode: LayerMode,
}

/// Which stages a word means.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Modifier {
    pub(crate) name: PlacedValue<String>,
    pub(crate) stages: ModifierStages,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ModifierStages {
    /// Some of the orchestrator's.
    Named(Vec<PlacedValue<String>>),
    /// Stages of its own, as the configs of other tools have them.
    Own(Vec<Stage>),
}

/// L3: phases and what each waits for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CoordinatorDefinition {
    pub(crate) place: SettingPlace,
    pub(crate) description: Option<String>,
    pub(crate) phases: Vec<Phase>,
    pub(crate) max_parallel: Option<u32>,
    pub(crate) budget: Option<Usd>,
    /// The executor that is asked where a phase needs refinement.
    pub(crate) resolver: Option<PlacedValue<String>>,
    pub(crate) mode: LayerMode,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Phase {
    pub(crate) name: PlacedValue<String>,
    pub(crate) orchestrator: PlacedValue<String>,
    pub(crate) modifier: Option<PlacedValue<String>>,
    pub(crate) target: PlacedValue<String>,
    pub(crate) depends_on: Vec<PlacedValue<String>>,
    pub(crate) retry: Option<u32>,
    pub(crate) resolve: u32,
    pub(crate) required: bool,
    pub(crate) budget: Option<Usd>,
}

impl Flows {
    /// Reads all flow files of a project.
    pub fn read(files: &[FlowFile]) -> Result<Self, ConfigError> {
        let mut flows = Self::default();
        for file in files {
            let root = file.node()?;
            let whole = FlowSection::whole(file, root.entries().unwrap_or_default());
            match file.is_json() && is_one_flow(&whole) {
                true => flows.take_one(file, whole)?,
                false => flows.take_all(&whole)?,
            }
        }
        flows.check()?;
        Ok(flows)
    }

    fn take_all(&mut self, whole: &FlowSection<'_>) -> Result<(), ConfigError> {
        whole.only(&["executors", "orchestrators", "coordinators", "campaigns"])?;
        for (name, section) in whole.named("executors")? {
            refuse_built_in(&name, &section)?;
            let (executor, place) = (Executor::read(&section)?, &section.place);
            add(&mut self.executors, name, executor, "executor", place, |one| &one.place)?;
        }
        for (name, section) in whole.named("orchestrators")? {
            self.take_orchestrator(name, &section)?;
        }
        for (name, section) in whole.named("coordinators")? {
            self.take_coordinator(name, &section)?;
        }
        for (name, section) in whole.named("campaigns")? {
            let (one, place) = (CampaignDefinition::read(&section)?, &section.place);
            add(&mut self.campaigns, name, one, "campaign", place, |one| &one.place)?;
        }
        Ok(())
    }

    /// Reads a file that is one orchestrator or one coordinator, under its own name.
    fn take_one(&mut self, file: &FlowFile, whole: FlowSection<'_>) -> Result<(), ConfigError> {
        let stem = file.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = whole.text("name")?;
        let place = name.as_ref().map_or_else(|| whole.place.clone(), |name| name.place.clone());
        let name = name.map_or(stem, |name| name.value);
        refuse_bad_name(&name, "name", &place)?;
        match whole.field("phases").is_some() {
            true => {
                let section = whole.under(format!("coordinators.{name}"));
                self.take_coordinator(name, &section)
            }
            false => {
                let section = whole.under(format!("orchestrators.{name}"));
                self.take_orchestrator(name, &section)
            }
        }
    }

    fn take_orchestrator(
        &mut self,
        name: String,
        section: &FlowSection<'_>,
    ) -> Result<(), ConfigError> {
        let (one, place) = (OrchestratorDefinition::read(section)?, &section.place);
        add(&mut self.orchestrators, name, one, "orchestrator", place, |one| &one.place)
    }

    fn take_coordinator(
        &mut self,
        name: String,
        section: &FlowSection<'_>,
    ) -> Result<(), ConfigError> {
        let (one, place) = (CoordinatorDefinition::read(section)?, &section.place);
        add(&mut self.coordinators, name, one, "coordinator", place, |one| &one.place)
    }
}

/// Returns the names of the campaigns that a file defines.
pub fn campaign_names(file: &FlowFile) -> Result<Vec<String>, ConfigError> {
    let root = file.node()?;
    let whole = FlowSection::whole(file, root.entries().unwrap_or_default());
    Ok(whole.named("campaigns")?.into_iter().map(|(name, _)| name).collect())
}

/// Returns whether a file is one flow, as the configs of other tools are, and not a set of them.
fn is_one_flow(whole: &FlowSection<'_>) -> bool {
    ["stages", "modifiers", "phases"].iter().any(|key| whole.field(key).is_some())
}

/// One name means one thing, whichever file it is in.
fn add<T>(
    all: &mut BTreeMap<String, T>,
    name: String,
    one: T,
    kind: &str,
    place: &SettingPlace,
    place_of: impl Fn(&T) -> &SettingPlace,
) -> Result<(), ConfigError> {
    if let Some(first) = all.get(&name) {
        return Err(ConfigError::BadValue {
            place: place.clone(),
            key: format!("{kind}s.{name}"),
            problem: format!("is there already: {}", place_of(first)),
        });
    }
    all.insert(name, one);
    Ok(())
}

fn refuse_built_in(name: &str, section: &FlowSection<'_>) -> Result<(), ConfigError> {
    if !BUILT_IN.contains(&name) {
        return Ok(());
    }
    Err(ConfigError::BadValue {
        place: section.place.clone(),
        key: section.path.clone(),
        problem: "is built in; give yours another name".to_owned(),
    })
}

impl Executor {
    fn read(section: &FlowSection<'_>) -> Result<Self, ConfigError> {
        section.only(&OWN_EXECUTOR_KEYS)?;
        let holes = ["action", "target"];
        Ok(Self {
            place: section.place.clone(),
            role: section.text("role")?.unwrap_or_else(|| PlacedValue {
                value: "operator".to_owned(),
                place: section.place.clone(),
            }),
            prompt: plain(filled(section, "prompt", &holes, HoleData::None)?)
                .unwrap_or_else(|| "{action} {target}".to_owned()),
            actions: read_actions(section)?,
            backend: plain(section.text("backend")?),
            scenario: plain(section.text("scenario")?).map(PathBuf::from),
            model: read_model(section)?,
            allowed_tools: section.texts("allowed_tools")?,
            max_turns: section.count("max_turns", 1)?,
            timeout: section.time("timeout")?,
            artifact: filled(section, "artifact", &holes, HoleData::None)?,
        })
    }
}

impl OrchestratorDefinition {
    fn read(section: &FlowSection<'_>) -> Result<Self, ConfigError> {
        section.only(&ORCHESTRATOR_KEYS)?;
        let executor = section.text("executor")?;
        let stages = |section: &FlowSection<'_>| {
            let all = section.each("stages")?;
            let read = |stage| Stage::read(stage, executor.as_ref());
            all.iter().map(read).collect::<Result<Vec<_>, _>>()
        };
        let own = stages(section)?;
        let mut modifiers = Vec::new();
        for (name, field) in section.lists("modifiers")? {
            let of_its_own = section.table_of(&field).filter(|_| !field.is_list());
            let stages = match of_its_own {
                Some(table) => {
                    table.only(&["stages"])?;
                    ModifierStages::Own(stages(&table)?)
                }
                None => ModifierStages::Named(section.texts_of(&field)?),
            };
            if stages.is_empty() {
                return Err(field.bad("needs at least one stage".to_owned()));
            }
            modifiers.push(Modifier { name, stages });
        }
        let has_own = |one: &Modifier| matches!(one.stages, ModifierStages::Own(_));
        if own.is_empty() && !modifiers.iter().any(has_own) {
            return Err(needs(section, "at least one [[stages]]"));
        }
        let description = plain(section.text("description")?);
        let (place, mode) = (section.place.clone(), read_mode(section)?);
        Ok(Self { place, description, stages: own, modifiers, mode })
    }
}

impl OrchestratorDefinition {
    /// Returns the stages that a word means.
    pub(crate) fn chosen(&self, modifier: &str) -> Option<Vec<&Stage>> {
        let named = self.modifiers.iter().find(|one| one.name.value == modifier);
        match named.map(|one| &one.stages) {
            Some(ModifierStages::Own(stages)) => Some(stages.iter().collect()),
            Some(ModifierStages::Named(names)) => {
                let find = |name: &PlacedValue<String>| {
                    self.stages.iter().find(|one| one.name.value == name.value)
                };
                Some(names.iter().filter_map(find).collect())
            }
            None if modifier == FULL && !self.stages.is_empty() => {
                Some(self.stages.iter().collect())
            }
            None => None,
        }
    }
}

impl ModifierStages {
    fn is_empty(&self) -> bool {
        match self {
            Self::Named(names) => names.is_empty(),
            Self::Own(stages) => stages.is_empty(),
        }
    }
}

const OWN_EXECUTOR_KEYS: [&str; 10] = [
    "role",
    "prompt",
    "actions",
    "backend",
    "scenario",
    "model",
    "allowed_tools",
    "max_turns",
    "timeout",
    "artifact",
];
const ORCHESTRATOR_KEYS: [&str; 6] =
    ["name", "description", "executor", "stages", "modifiers", "mode"];
const COORDINATOR_KEYS: [&str; 7] =
    ["name", "description", "phases", "max_parallel", "budget_usd", "resolver", "mode"];
const PHASE_KEYS: [&str; 9] = [
    "name",
    "orchestrator",
    "modifier",
    "target",
    "depends_on",
    "retry",
    "resolve",
    "required",
    "budget_usd",
];

/// Every key that a flow file may have, as `table.key`. What is run by each stage decides which of
/// a stage's keys it takes.
pub fn flow_keys() -> BTreeSet<String> {
    let stage: [&[&str]; 8] = [
        &STAGE_KEYS,
        &SESSION_KEYS,
        &EXECUTOR_KEYS,
        &ROUND_KEYS,
        &ORCHESTRATE_KEYS,
        &PLANNED_KEYS,
        &[JUDGED],
        &JUDGED_KEYS,
    ];
    let stage = stage.concat();
    let tables: [(&str, &[&str]); 8] = [
        ("executor", &OWN_EXECUTOR_KEYS),
        ("orchestrator", &ORCHESTRATOR_KEYS),
        ("stage", &stage),
        ("coordinator", &COORDINATOR_KEYS),
        ("phase", &PHASE_KEYS),
        ("campaign", &CAMPAIGN_KEYS),
        ("campaign", &[CAMPAIGN_MODE]),
        ("domain", &DOMAIN_KEYS),
    ];
    let keys =
        tables.into_iter().flat_map(|(table, keys)| keys.iter().map(move |key| (table, key)));
    keys.map(|(table, key)| format!("{table}.{key}")).collect()
}

impl CoordinatorDefinition {
    fn read(section: &FlowSection<'_>) -> Result<Self, ConfigError> {
        section.only(&COORDINATOR_KEYS)?;
        let phases =
            section.each("phases")?.iter().map(Phase::read).collect::<Result<Vec<_>, _>>()?;
        if phases.is_empty() {
            return Err(needs(section, "at least one [[phases]]"));
        }
        Ok(Self {
            place: section.place.clone(),
            description: plain(section.text("description")?),
            phases,
            max_parallel: section.count("max_parallel", 1)?,
            budget: section.dollars("budget_usd")?,
            resolver: section.text("resolver")?,
            mode: read_mode(section)?,
        })
    }
}

impl Phase {
    fn read(section: &FlowSection<'_>) -> Result<Self, ConfigError> {
        section.only(&PHASE_KEYS)?;
        let name = section.needed("name")?;
        refuse_bad_name(&name.value, &format!("{}.name", section.path), &name.place)?;
        Ok(Self {
            name,
            orchestrator: without_ending(section.needed("orchestrator")?),
            modifier: section.text("modifier")?,
            target: filled(section, "target", &["target"], HoleData::Phases)?
                .ok_or_else(|| needs(section, "target"))?,
            depends_on: section.texts("depends_on")?,
            retry: section.count("retry", 0)?,
            resolve: section.count("resolve", 0)?.unwrap_or(1),
            required: section.flag("required")?.unwrap_or(true),
            budget: section.dollars("budget_usd")?,
        })
    }
}

fn read_actions(section: &FlowSection<'_>) -> Result<Vec<String>, ConfigError> {
    let spots = section.texts("actions")?;
    for spot in &spots {
        refuse_bad_name(&spot.value, &format!("{}.actions", section.path), &spot.place)?;
    }
    Ok(spots.into_iter().map(|spot| spot.value).collect())
}
