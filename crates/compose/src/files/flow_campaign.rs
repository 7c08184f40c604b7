//! L4 as a flow file says it: what is found out, who plans, who looks at the plan, and how the
//! phases are held to what was promised.

use spore_config::{ConfigError, SettingPlace};
use spore_model::Usd;

use crate::files::flow_file::{FlowSection, PlacedValue, refuse_bad_name};
use crate::files::flow_text::{known, needs, plain, read_mode, wrong};
use crate::files::mode::LayerMode;

pub(crate) const RESEARCH: &str = "RESEARCH";
pub(crate) const CONSOLIDATE: &str = "CONSOLIDATE";
pub(crate) const JUDGE: &str = "JUDGE";
pub(crate) const ROADMAP: &str = "ROADMAP";
pub(crate) const DECOMPOSE: &str = "DECOMPOSE";
pub(crate) const EVALUATE: &str = "EVALUATE";
pub(crate) const DECIDE: &str = "DECIDE";

/// What a campaign's own parts are called beside its phases, and so no phase.
const OWN_NAMES: [&str; 4] = ["research", "plan", "evaluation", "decision"];
const OWN_BEGINNINGS: [&str; 2] = ["research-", "plan-"];

/// What a campaign ends with.
pub(crate) const ENDS: [&str; 3] = ["research", "plan", "evaluation"];

pub(crate) const CAMPAIGN_KEYS: [&str; 16] = [
    "description",
    "domains",
    "consolidator",
    "judge",
    "max_rounds",
    "max_parallel",
    "roadmap",
    "decomposer",
    "max_phases",
    "coordinator",
    "review",
    "heal",
    "decide",
    "evaluator",
    "ends_with",
    "budget_usd",
];
pub(crate) const CAMPAIGN_MODE: &str = "mode";
pub(crate) const DOMAIN_KEYS: [&str; 4] = ["name", "executor", "action", "prompt_file"];

/// A campaign: phases with checks and people around them.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CampaignDefinition {
    pub(crate) place: SettingPlace,
    pub(crate) description: Option<String>,
    pub(crate) domains: Vec<Domain>,
    pub(crate) consolidator: Option<PlacedValue<String>>,
    pub(crate) judge: Option<PlacedValue<String>>,
    pub(crate) max_rounds: Option<u32>,
    pub(crate) max_parallel: Option<u32>,
    pub(crate) roadmap: Option<PlacedValue<String>>,
    pub(crate) decomposer: Option<PlacedValue<String>>,
    pub(crate) max_phases: Option<u32>,
    pub(crate) coordinator: Option<PlacedValue<String>>,
    pub(crate) review: Option<bool>,
    pub(crate) heal: Option<u32>,
    pub(crate) decide: Option<PlacedValue<String>>,
    pub(crate) evaluator: Option<PlacedValue<String>>,
    pub(crate) ends_with: Option<PlacedValue<String>>,
    pub(crate) budget: Option<Usd>,
    pub(crate) mode: LayerMode,
}

/// One side from which a campaign looks at its task before it plans.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Domain {
    pub(crate) name: PlacedValue<String>,
    pub(crate) executor: PlacedValue<String>,
    pub(crate) action: Option<PlacedValue<String>>,
    /// A file whose text is used in place of the executor's prompt.
    pub(crate) prompt_file: Option<PlacedValue<String>>,
}

impl CampaignDefinition {
    pub(crate) fn read(section: &FlowSection<'_>) -> Result<Self, ConfigError> {
        section.only(&[&CAMPAIGN_KEYS[..], &[CAMPAIGN_MODE]].concat())?;
        let domains = section.each("domains")?;
        let domains = domains.iter().map(Domain::read).collect::<Result<Vec<_>, _>>()?;
        let one = Self {
            place: section.place.clone(),
            description: plain(section.text("description")?),
            domains,
            consolidator: section.text("consolidator")?,
            judge: section.text("judge")?,
            max_rounds: section.count("max_rounds", 1)?,
            max_parallel: section.count("max_parallel", 1)?,
            roadmap: section.text("roadmap")?,
            decomposer: section.text("decomposer")?,
            max_phases: section.count("max_phases", 1)?,
            coordinator: section.text("coordinator")?,
            review: section.flag("review")?,
            heal: section.count("heal", 0)?,
            decide: section.text("decide")?,
            evaluator: section.text("evaluator")?,
            ends_with: section.text("ends_with")?,
            budget: section.dollars("budget_usd")?,
            mode: read_mode(section)?,
        };
        one.refuse_strays(section)?;
        Ok(one)
    }

    /// Every key has an effect: what would have none where it stands is refused.
    fn refuse_strays(&self, section: &FlowSection<'_>) -> Result<(), ConfigError> {
        let stray = |key: &str, problem: &str| match section.field(key) {
            Some(field) => Err(field.bad(problem.to_owned())),
            None => Ok(()),
        };
        if let Some(ends) = &self.ends_with {
            known(ends, &format!("{}.ends_with", section.path), "end", &ENDS)?;
        }
        if self.domains.is_empty() {
            for key in ["consolidator", "judge", "max_parallel"] {
                stray(key, "is without `domains`: nothing is found out")?;
            }
        }
        if self.judge.is_none() {
            stray("max_rounds", "is without `judge`: nobody asks for another round")?;
        }
        if self.decomposer.is_none() {
            stray("max_phases", "is without `decomposer`: no phases are made")?;
        }
        if self.decomposer.is_some() {
            stray(
                "coordinator",
                "and `decomposer` do not go together: the phases are either made or known",
            )?;
        }
        let ends = self.ends_with();
        if ends != "evaluation" {
            for key in ["coordinator", "heal", "decide", "evaluator"] {
                stray(key, "is without phases: `ends_with` is before them")?;
            }
        }
        if ends == "research" {
            for key in ["roadmap", "decomposer", "review"] {
                stray(key, "is without a plan: `ends_with` is before it")?;
            }
        }
        match ends {
            "research" if self.domains.is_empty() => {
                Err(needs(section, "at least one of `domains`"))
            }
            "plan" if self.roadmap.is_none() && self.decomposer.is_none() => {
                Err(needs(section, "`roadmap` or `decomposer`"))
            }
            "evaluation" if self.decomposer.is_none() && self.coordinator.is_none() => Err(needs(
                section,
                "`decomposer` or `coordinator`: nothing says which phases there are",
            )),
            _ => Ok(()),
        }
    }

    /// The last thing that it does.
    pub(crate) fn ends_with(&self) -> &str {
        self.ends_with.as_ref().map_or("evaluation", |ends| &ends.value)
    }
}

impl Domain {
    fn read(section: &FlowSection<'_>) -> Result<Self, ConfigError> {
        section.only(&DOMAIN_KEYS)?;
        let name = section.needed("name")?;
        refuse_bad_name(&name.value, &format!("{}.name", section.path), &name.place)?;
        Ok(Self {
            name,
            executor: section.needed("executor")?,
            action: section.text("action")?,
            prompt_file: section.text("prompt_file")?,
        })
    }
}

/// Refuses a phase that is called like something that every campaign has.
pub(crate) fn refuse_own_name(name: &PlacedValue<String>, key: &str) -> Result<(), ConfigError> {
    let is_own = OWN_NAMES.contains(&name.value.as_str())
        || OWN_BEGINNINGS.iter().any(|start| name.value.starts_with(start));
    match is_own {
        true => Err(wrong(name, key, "has a name that a campaign has for itself")),
        false => Ok(()),
    }
}
