//! What a project wrote into `.spore/flows/*.toml`: executors, orchestrators, coordinators.
//!
//! All files together are one set of names, so a coordinator may use an orchestrator of
//! another file. Every key has an effect, and what a key names must exist: both are found out
//! when the files are read, not when a phase is reached an hour later.

mod check;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use spore_config::{ConfigError, SettingPlace};
use spore_model::Usd;
use toml_edit::Document;

use crate::flow_file::{FlowFile, FlowSection, PlacedValue, nearest, refuse_bad_name};
use crate::template;

/// The executor that is a whole verified run.
pub(crate) const ORCHESTRATE: &str = "orchestrate";
/// The executor that is one cycle of the project's own checks.
pub(crate) const SENTINEL: &str = "sentinel";
pub(crate) const BUILT_IN: [&str; 2] = [ORCHESTRATE, SENTINEL];
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
    pub(crate) artifact: Option<String>,
}

/// L2: stages, and which of them a modifier means.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct OrchestratorDefinition {
    pub(crate) place: SettingPlace,
    pub(crate) stages: Vec<Stage>,
    pub(crate) modifiers: Vec<(PlacedValue<String>, Vec<PlacedValue<String>>)>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Stage {
    pub(crate) name: PlacedValue<String>,
    pub(crate) executor: PlacedValue<String>,
    pub(crate) action: Option<PlacedValue<String>>,
    pub(crate) target: Option<String>,
    pub(crate) task: Option<String>,
    pub(crate) backend: Option<String>,
    pub(crate) scenario: Option<PathBuf>,
    pub(crate) model: Option<String>,
    pub(crate) max_turns: Option<u32>,
    pub(crate) max_bounces: Option<u32>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) artifact: Option<String>,
    pub(crate) heal: Option<u32>,
    pub(crate) retry: Option<u32>,
    pub(crate) required: bool,
    pub(crate) idempotent: bool,
    pub(crate) budget: Option<Usd>,
}

/// L3: phases and what each waits for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CoordinatorDefinition {
    pub(crate) place: SettingPlace,
    pub(crate) phases: Vec<Phase>,
    pub(crate) max_parallel: Option<u32>,
    pub(crate) budget: Option<Usd>,
    /// The executor that is asked where a phase needs refinement.
    pub(crate) resolver: Option<PlacedValue<String>>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Phase {
    pub(crate) name: PlacedValue<String>,
    pub(crate) orchestrator: PlacedValue<String>,
    pub(crate) modifier: Option<PlacedValue<String>>,
    pub(crate) target: String,
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
            let document = Document::parse(file.text.as_str()).map_err(|source| {
                ConfigError::Syntax { place: file.place(source.span()), source: Box::new(source) }
            })?;
            let whole = FlowSection::whole(file, document.as_table());
            whole.only(&["executors", "orchestrators", "coordinators"])?;
            for (name, section) in whole.named("executors")? {
                refuse_built_in(&name, &section)?;
                let (executor, place) = (Executor::read(&section)?, &section.place);
                add(&mut flows.executors, name, executor, "executor", place, |one| &one.place)?;
            }
            for (name, section) in whole.named("orchestrators")? {
                let (one, place) = (OrchestratorDefinition::read(&section)?, &section.place);
                add(&mut flows.orchestrators, name, one, "orchestrator", place, |one| &one.place)?;
            }
            for (name, section) in whole.named("coordinators")? {
                let (one, place) = (CoordinatorDefinition::read(&section)?, &section.place);
                add(&mut flows.coordinators, name, one, "coordinator", place, |one| &one.place)?;
            }
        }
        flows.check()?;
        Ok(flows)
    }
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
        section.only(&[
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
        ])?;
        let holes = ["action", "target"];
        Ok(Self {
            place: section.place.clone(),
            role: section.text("role")?.unwrap_or_else(|| PlacedValue {
                value: "operator".to_owned(),
                place: section.place.clone(),
            }),
            prompt: filled(section, "prompt", &holes)?
                .unwrap_or_else(|| "{action} {target}".to_owned()),
            actions: all_plain(section.texts("actions")?),
            backend: plain(section.text("backend")?),
            scenario: plain(section.text("scenario")?).map(PathBuf::from),
            model: plain(section.text("model")?),
            allowed_tools: section.texts("allowed_tools")?,
            max_turns: section.count("max_turns", 1)?,
            timeout: section.time("timeout")?,
            artifact: filled(section, "artifact", &holes)?,
        })
    }
}

impl OrchestratorDefinition {
    fn read(section: &FlowSection<'_>) -> Result<Self, ConfigError> {
        section.only(&["executor", "stages", "modifiers"])?;
        let executor = section.text("executor")?;
        let stages = section
            .each("stages")?
            .iter()
            .map(|stage| Stage::read(stage, executor.as_ref()))
            .collect::<Result<Vec<_>, _>>()?;
        if stages.is_empty() {
            return Err(needs(section, "at least one [[stages]]"));
        }
        let mut modifiers = Vec::new();
        for (name, field) in section.lists("modifiers")? {
            let stages = section.texts_of(&field)?;
            if stages.is_empty() {
                return Err(field.bad("needs at least one stage".to_owned()));
            }
            modifiers.push((name, stages));
        }
        Ok(Self { place: section.place.clone(), stages, modifiers })
    }
}

/// The keys of a stage that mean something to each kind of work.
const STAGE_KEYS: [&str; 6] = ["name", "executor", "heal", "retry", "required", "idempotent"];
const SESSION_KEYS: [&str; 7] =
    ["target", "backend", "scenario", "model", "max_turns", "timeout", "budget_usd"];
const EXECUTOR_KEYS: [&str; 2] = ["action", "artifact"];
const ORCHESTRATE_KEYS: [&str; 2] = ["task", "max_bounces"];

impl Stage {
    fn read(
        section: &FlowSection<'_>,
        usual: Option<&PlacedValue<String>>,
    ) -> Result<Self, ConfigError> {
        let name = section.needed("name")?;
        refuse_bad_name(&name.value, &format!("{}.name", section.path), &name.place)?;
        let executor = match (section.text("executor")?, usual) {
            (Some(own), _) => own,
            (None, Some(usual)) => usual.clone(),
            (None, None) => return Err(needs(section, "executor")),
        };
        let own: [&[&str]; 2] = match executor.value.as_str() {
            ORCHESTRATE => [&SESSION_KEYS, &ORCHESTRATE_KEYS],
            SENTINEL => [&[], &[]],
            _ => [&SESSION_KEYS, &EXECUTOR_KEYS],
        };
        section.only(&[&STAGE_KEYS, own[0], own[1]].concat())?;
        let holes = ["action", "target"];
        Ok(Self {
            name,
            executor,
            action: section.text("action")?,
            target: filled(section, "target", &["target"])?,
            task: filled(section, "task", &["target"])?,
            backend: plain(section.text("backend")?),
            scenario: plain(section.text("scenario")?).map(PathBuf::from),
            model: plain(section.text("model")?),
            max_turns: section.count("max_turns", 1)?,
            max_bounces: section.count("max_bounces", 1)?,
            timeout: section.time("timeout")?,
            artifact: filled(section, "artifact", &holes)?,
            heal: section.count("heal", 0)?,
            retry: section.count("retry", 0)?,
            required: section.flag("required")?.unwrap_or(true),
            idempotent: section.flag("idempotent")?.unwrap_or(true),
            budget: section.dollars("budget_usd")?,
        })
    }
}

impl CoordinatorDefinition {
    fn read(section: &FlowSection<'_>) -> Result<Self, ConfigError> {
        section.only(&["phases", "max_parallel", "budget_usd", "resolver"])?;
        let phases =
            section.each("phases")?.iter().map(Phase::read).collect::<Result<Vec<_>, _>>()?;
        if phases.is_empty() {
            return Err(needs(section, "at least one [[phases]]"));
        }
        Ok(Self {
            place: section.place.clone(),
            phases,
            max_parallel: section.count("max_parallel", 1)?,
            budget: section.dollars("budget_usd")?,
            resolver: section.text("resolver")?,
        })
    }
}

impl Phase {
    fn read(section: &FlowSection<'_>) -> Result<Self, ConfigError> {
        section.only(&[
            "name",
            "orchestrator",
            "modifier",
            "target",
            "depends_on",
            "retry",
            "resolve",
            "required",
            "budget_usd",
        ])?;
        let name = section.needed("name")?;
        refuse_bad_name(&name.value, &format!("{}.name", section.path), &name.place)?;
        Ok(Self {
            name,
            orchestrator: section.needed("orchestrator")?,
            modifier: section.text("modifier")?,
            target: section.needed("target")?.value,
            depends_on: section.texts("depends_on")?,
            retry: section.count("retry", 0)?,
            resolve: section.count("resolve", 0)?.unwrap_or(1),
            required: section.flag("required")?.unwrap_or(true),
            budget: section.dollars("budget_usd")?,
        })
    }
}

fn needs(section: &FlowSection<'_>, what: &str) -> ConfigError {
    ConfigError::BadValue {
        place: section.place.clone(),
        key: section.path.clone(),
        problem: format!("needs {what}"),
    }
}

fn plain(spot: Option<PlacedValue<String>>) -> Option<String> {
    spot.map(|spot| spot.value)
}

fn all_plain(spots: Vec<PlacedValue<String>>) -> Vec<String> {
    spots.into_iter().map(|spot| spot.value).collect()
}

/// Reads a text with holes, and refuses a hole that is not among `holes`.
fn filled(
    section: &FlowSection<'_>,
    key: &str,
    holes: &[&str],
) -> Result<Option<String>, ConfigError> {
    let Some(spot) = section.text(key)? else { return Ok(None) };
    let Some(stray) = template::holes(&spot.value).find(|hole| !holes.contains(hole)) else {
        return Ok(Some(spot.value));
    };
    let meant = nearest(stray, holes).map(|hole| format!("; did you mean {{{hole}}}?"));
    Err(ConfigError::BadValue {
        place: spot.place,
        key: format!("{}.{key}", section.path),
        problem: format!("has a hole {{{stray}}} that nothing fills{}", meant.unwrap_or_default()),
    })
}
