//! One stage of an orchestrator, as a flow file or a plan made on the way says it.

use std::path::PathBuf;
use std::time::Duration;

use spore_config::{ConfigError, SettingPlace};
use spore_model::Usd;

use crate::files::flow_file::{FlowFile, FlowSection, PlacedValue, refuse_bad_name};
use crate::files::flow_text::{HoleData, filled, needs, plain, read_model, without_ending};

/// The executor that is a whole verified run.
pub(crate) const ORCHESTRATE: &str = "orchestrate";
/// The executor that is one cycle of the project's own checks, or with judges the loop around them.
pub(crate) const SENTINEL: &str = "sentinel";
/// The executor that is the stages of a plan which an earlier stage made.
pub(crate) const PLANNED: &str = "planned";
pub(crate) const BUILT_IN: [&str; 3] = [ORCHESTRATE, SENTINEL, PLANNED];

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Stage {
    pub(crate) name: PlacedValue<String>,
    pub(crate) executor: PlacedValue<String>,
    pub(crate) action: Option<PlacedValue<String>>,
    pub(crate) target: Option<PlacedValue<String>>,
    pub(crate) prompt: Option<PlacedValue<String>>,
    pub(crate) task: Option<PlacedValue<String>>,
    pub(crate) backend: Option<String>,
    pub(crate) scenario: Option<PathBuf>,
    pub(crate) model: Option<String>,
    pub(crate) max_turns: Option<u32>,
    pub(crate) max_bounces: Option<u32>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) artifact: Option<PlacedValue<String>>,
    pub(crate) heal: Option<u32>,
    pub(crate) retry: Option<u32>,
    pub(crate) required: bool,
    pub(crate) idempotent: bool,
    pub(crate) budget: Option<Usd>,
    pub(crate) each: Option<StageEach>,
    pub(crate) max_parallel: Option<u32>,
    pub(crate) until: Option<PlacedValue<String>>,
    /// Where another round begins: at an earlier stage, or at this one.
    pub(crate) from: Option<PlacedValue<String>>,
    pub(crate) max_rounds: Option<u32>,
    /// The file that says which stages there are.
    pub(crate) plan: Option<PlacedValue<String>>,
    pub(crate) max_stages: Option<u32>,
    /// Whom a sentinel asks.
    pub(crate) judges: Option<StageJudges>,
}

/// What a sentinel's stage says of those whom it asks.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct StageJudges {
    pub(crate) max_cycles: Option<u32>,
    pub(crate) hold_out: bool,
    pub(crate) writer: Option<PlacedValue<String>>,
    pub(crate) auditor: Option<PlacedValue<String>>,
    pub(crate) consolidator: Option<PlacedValue<String>>,
}

/// What a stage is done for one by one.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum StageEach {
    Items(Vec<PlacedValue<String>>),
    /// The file that lists them.
    File(PlacedValue<String>),
}

/// The keys of a stage that mean something to each kind of work.
pub(crate) const STAGE_KEYS: [&str; 6] =
    ["name", "executor", "heal", "retry", "required", "idempotent"];
pub(crate) const SESSION_KEYS: [&str; 9] = [
    "target",
    "backend",
    "scenario",
    "model",
    "max_turns",
    "timeout",
    "budget_usd",
    "each",
    "max_parallel",
];
pub(crate) const EXECUTOR_KEYS: [&str; 4] = ["action", "args", "artifact", "prompt"];
pub(crate) const ROUND_KEYS: [&str; 3] = ["until", "from", "max_rounds"];
pub(crate) const ORCHESTRATE_KEYS: [&str; 2] = ["task", "max_bounces"];
pub(crate) const JUDGED: &str = "judged";
/// Keys of a sentinel that mean something only where it asks roles.
pub(crate) const JUDGED_KEYS: [&str; 11] = [
    "task",
    "target",
    "backend",
    "scenario",
    "model",
    "budget_usd",
    "max_cycles",
    "hold_out",
    "writer",
    "auditor",
    "consolidator",
];
pub(crate) const PLANNED_KEYS: [&str; 3] = ["target", "plan", "max_stages"];
/// What a stage of a plan that an agent made may say: what is done, never by whom or with what.
pub(crate) const MADE_KEYS: [&str; 8] =
    ["name", "executor", "action", "target", "task", "artifact", "required", "idempotent"];

impl Stage {
    pub(crate) fn read(
        section: &FlowSection<'_>,
        usual: Option<&PlacedValue<String>>,
    ) -> Result<Self, ConfigError> {
        let name = section.needed("name")?;
        refuse_bad_name(&name.value, &format!("{}.name", section.path), &name.place)?;
        let executor = match (section.text("executor")?, usual) {
            (Some(own), _) => without_ending(own),
            (None, Some(usual)) => without_ending(usual.clone()),
            (None, None) => return Err(needs(section, "executor")),
        };
        let own: [&[&str]; 3] = match executor.value.as_str() {
            ORCHESTRATE => [&SESSION_KEYS, &ORCHESTRATE_KEYS, &[]],
            SENTINEL => [&ROUND_KEYS, &[JUDGED], &JUDGED_KEYS],
            PLANNED => [&PLANNED_KEYS, &[], &[]],
            _ => [&SESSION_KEYS, &EXECUTOR_KEYS, &ROUND_KEYS],
        };
        section.only(&[&STAGE_KEYS, own[0], own[1], own[2]].concat())?;
        let judges = match executor.value.as_str() {
            SENTINEL => read_judges(section)?,
            _ => None,
        };
        let each = read_each(section)?;
        let item: &[&str] = if each.is_some() { &["item"] } else { &[] };
        let holes = [&["action", "target"], item].concat();
        let text = |key: &str, holes: &[&str]| filled(section, key, holes, HoleData::Stages);
        Ok(Self {
            name,
            each,
            judges,
            max_parallel: section.count("max_parallel", 1)?,
            until: section.text("until")?,
            from: section.text("from")?,
            max_rounds: section.count("max_rounds", 1)?,
            plan: match executor.value.as_str() {
                PLANNED => Some(filled_needed(section, "plan")?),
                _ => None,
            },
            max_stages: section.count("max_stages", 1)?,
            executor,
            action: read_action(section)?,
            target: text("target", &[&["target"], item].concat())?,
            prompt: text("prompt", &holes)?,
            task: text("task", &[&["target"], item].concat())?,
            backend: plain(section.text("backend")?),
            scenario: plain(section.text("scenario")?).map(PathBuf::from),
            model: read_model(section)?,
            max_turns: section.count("max_turns", 1)?,
            max_bounces: section.count("max_bounces", 1)?,
            timeout: section.time("timeout")?,
            artifact: text("artifact", &holes)?,
            heal: section.count("heal", 0)?,
            retry: section.count("retry", 0)?,
            required: section.flag("required")?.unwrap_or(true),
            idempotent: section.flag("idempotent")?.unwrap_or(true),
            budget: section.dollars("budget_usd")?,
        })
    }
}

/// Reads the stages of a plan that a stage made. They use what the flow files define, and define
/// nothing themselves.
pub(crate) fn read_made(file: &FlowFile, most: u32) -> Result<Vec<Stage>, ConfigError> {
    let root = file.node()?;
    let whole = FlowSection::whole(file, root.entries().unwrap_or_default());
    whole.only(&["stages"])?;
    read_made_stages(&whole, file.place(Some(0..0)), most)
}

/// Reads the stages of one table of a plan that an agent made.
pub(crate) fn read_made_stages(
    whole: &FlowSection<'_>,
    place: SettingPlace,
    most: u32,
) -> Result<Vec<Stage>, ConfigError> {
    let sections = whole.each("stages")?;
    let bad = |place: &SettingPlace, problem: String| ConfigError::BadValue {
        place: place.clone(),
        key: "stages".to_owned(),
        problem,
    };
    if sections.is_empty() {
        return Err(bad(&place, "needs at least one stage".to_owned()));
    }
    if let Some(over) = sections.get(most as usize) {
        let count = sections.len();
        return Err(bad(&over.place, format!("has {count} stages; at most {most} are run")));
    }
    let mut stages = Vec::new();
    for section in &sections {
        section.only(&MADE_KEYS)?;
        if let Some(executor) = section.text("executor")?.filter(|one| one.value == PLANNED) {
            let problem = "cannot have plans in them".to_owned();
            return Err(bad(&executor.place, problem));
        }
        stages.push(Stage::read(section, None)?);
    }
    Ok(stages)
}

/// Reads whom a sentinel asks. Without judges it asks no role, and a key that is about them means nothing.
fn read_judges(section: &FlowSection<'_>) -> Result<Option<StageJudges>, ConfigError> {
    if !section.flag(JUDGED)?.unwrap_or(false) {
        let stray = JUDGED_KEYS.iter().find_map(|key| section.field(key));
        return match stray {
            Some(field) => Err(field
                .bad("is for a sentinel with `judged = true`: checks alone ask nobody".to_owned())),
            None => Ok(None),
        };
    }
    Ok(Some(StageJudges {
        max_cycles: section.count("max_cycles", 1)?,
        hold_out: section.flag("hold_out")?.unwrap_or(false),
        writer: section.text("writer")?,
        auditor: section.text("auditor")?,
        consolidator: section.text("consolidator")?,
    }))
}

fn read_each(section: &FlowSection<'_>) -> Result<Option<StageEach>, ConfigError> {
    let Some(field) = section.field("each") else { return Ok(None) };
    if field.is_list() {
        let items = section.texts("each")?;
        return match items.is_empty() {
            true => Err(field.bad("needs at least one thing".to_owned())),
            false => Ok(Some(StageEach::Items(items))),
        };
    }
    let file = filled(section, "each", &["target"], HoleData::Stages);
    match file {
        Ok(file) => Ok(file.map(StageEach::File)),
        Err(ConfigError::WrongType { .. }) => Err(field.wrong("a list of texts, or a file's path")),
        Err(error) => Err(error),
    }
}

fn filled_needed(section: &FlowSection<'_>, key: &str) -> Result<PlacedValue<String>, ConfigError> {
    filled(section, key, &["target"], HoleData::Stages)?.ok_or_else(|| needs(section, key))
}

fn read_action(section: &FlowSection<'_>) -> Result<Option<PlacedValue<String>>, ConfigError> {
    let action = match section.text("action")? {
        Some(action) => Some(action),
        None => only_argument(section)?,
    };
    if let Some(action) = &action {
        refuse_bad_name(&action.value, &format!("{}.action", section.path), &action.place)?;
    }
    Ok(action)
}

/// The configs of other tools name the action as the only argument.
fn only_argument(section: &FlowSection<'_>) -> Result<Option<PlacedValue<String>>, ConfigError> {
    let mut args = section.texts("args")?;
    match (args.len(), section.field("args")) {
        (0 | 1, _) | (_, None) => Ok(args.pop()),
        (_, Some(field)) => {
            Err(field.bad("has more than the action; say the rest in `target`".to_owned()))
        }
    }
}
