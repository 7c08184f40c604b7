//! The agent of each role of a run, and its model.
//!
//! Settled when the run starts and written down with it, so that a resumed run has the
//! same ones whatever the configuration has become since.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spore_agent::Agent;
use spore_config::Config;
use spore_model::Fault;

use crate::agents::backends::{backend, local_server, model};
use crate::session::sandbox::Enforcement;
use crate::{Error, Result, Surroundings};

/// The roles of a judged run.
pub(crate) const ROLES: [&str; 3] = ["coder", "verifier", "summarizer"];

/// The one that a person may add to them.
pub(crate) const TESTER: &str = "tester";

/// One role's agent: which program, with which model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AgentChoice {
    pub backend: String,
    /// By the agent's own name for it; missing where the choice is left to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// What a person said about agents and models.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wishes<'a> {
    pub(crate) backend: Option<&'a str>,
    /// A tier or a model's own name, for every role.
    pub(crate) model: Option<&'a str>,
    pub(crate) coder_model: Option<&'a str>,
}

impl AgentChoice {
    /// Settles the agent of `role`. The configuration's word on one role is narrower than a
    /// person's on all of them, so its backend stands; a model is what the person says.
    pub(crate) fn settle(config: &Config, role: &str, wishes: Wishes<'_>) -> Self {
        let own = config.roles.of(role);
        let backend = own
            .backend
            .clone()
            .or_else(|| wishes.backend.map(str::to_owned))
            .unwrap_or_else(|| config.orchestrate.backend.clone());
        let narrow = wishes.coder_model.filter(|_| role == "coder");
        let wish = narrow.or(wishes.model);
        let asked = wish.or(own.model.as_deref()).unwrap_or(&own.tier);
        let model = model(config, &backend, Some(asked));
        Self { backend, model }
    }
}

/// How long a server on this machine may take to say which models it has.
pub(crate) const LOCAL_PATIENCE: Duration = Duration::from_secs(3);

/// Refuses an agent whose server on this machine does not answer, or does not have the model that the
/// user named, before anything is done.
pub(crate) fn refuse_unless_served(
    config: &Config,
    role: &str,
    choice: &AgentChoice,
) -> Result<()> {
    let Some(server) = local_server(config, &choice.backend) else { return Ok(()) };
    let name = server.preset.name;
    let models = server.models(LOCAL_PATIENCE).map_err(|why| {
        let what = format!("no answer from {name} at {}: {why}", server.address);
        let change = format!("`[local.{}] address` says where it is", name.replace('-', "_"));
        Error::new(Fault::Missing, what).hint(format!("{}; {change}", server.preset.start))
    })?;
    if server.preset.model.is_some() {
        return Ok(());
    }
    let what = match &choice.model {
        // `coder` is also what `coder:latest` is called.
        Some(model) if models.iter().any(|one| one.split(':').next() == Some(model)) => {
            return Ok(());
        }
        Some(model) if models.contains(model) => return Ok(()),
        Some(model) => format!("{name} has no model {model:?}, which the {role} is to be"),
        None => format!("no model is named for the {role}, whose agent is {name}"),
    };
    let listed = if models.is_empty() { "none yet".to_owned() } else { models.join(", ") };
    Err(Error::new(Fault::Config, what).hint(format!("add `--model NAME`; it has: {listed}")))
}

/// The agents of a run, each started from its settings.
pub(crate) struct RoleAgents {
    agents: BTreeMap<String, Arc<dyn Agent>>,
}

impl RoleAgents {
    /// Finds the agents of `choices`, which are by role. One that cannot be had is an error
    /// before anything is paid for.
    pub(crate) fn of(
        around: &Surroundings,
        config: &Config,
        choices: &BTreeMap<String, AgentChoice>,
        scenario: Option<&Path>,
    ) -> Result<Self> {
        let mut agents = BTreeMap::new();
        for (role, choice) in choices {
            if choice.backend == "api" && choice.model.is_none() {
                let what = format!("no model is named for the {role}, whose agent is api");
                return Err(Error::new(Fault::Config, what)
                    .hint("add `--model NAME`, or set [tiers.api] in .spore/config.toml"));
            }
            refuse_unless_served(config, role, choice)?;
            if !agents.contains_key(&choice.backend) {
                let agent = backend(around, config, &choice.backend, scenario)?;
                agents.insert(choice.backend.clone(), agent);
            }
        }
        Ok(Self { agents })
    }

    pub(crate) fn agent(&self, choice: &AgentChoice) -> Result<Arc<dyn Agent>> {
        self.agents.get(&choice.backend).cloned().ok_or_else(|| {
            Error::new(Fault::Bug, format!("no agent was found for {}", choice.backend))
        })
    }

    /// Finds out what holds the run: what any of its agents is not held to is said.
    pub(crate) fn enforcement(
        around: &Surroundings,
        config: &Config,
        choices: &BTreeMap<String, AgentChoice>,
    ) -> Result<Enforcement> {
        if choices.is_empty() {
            return Enforcement::find(around, config, "");
        }
        let mut all = Enforcement { held: true, root: true, layers: true, notes: Vec::new() };
        for choice in choices.values() {
            let enforcement = Enforcement::find(around, config, &choice.backend)?;
            all.held &= enforcement.held;
            all.root &= enforcement.root;
            all.layers &= enforcement.layers;
            for note in enforcement.notes {
                if !all.notes.contains(&note) {
                    all.notes.push(note);
                }
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(settings: &str, wishes: Wishes<'_>, expected: [&str; 3]) {
        let origin = spore_config::SettingsOrigin::Project("config.toml".into());
        let layer = spore_config::SettingsLayer { origin, text: settings.to_owned() };
        let config = Config::load(&[layer]).unwrap().config;
        let played = ROLES.map(|role| {
            let choice = AgentChoice::settle(&config, role, wishes);
            format!("{} {}", choice.backend, choice.model.unwrap_or_default())
        });
        assert_eq!(played, expected);
    }

    const TIERS: &str = "[tiers.claude]\nlow = \"small\"\nmedium = \"middle\"\nhigh = \"large\"\n";

    #[test]
    fn roles_work_with_their_tiers_unless_told_otherwise() {
        let claude = Wishes { backend: Some("claude"), ..Wishes::default() };
        check(TIERS, claude, ["claude large", "claude large", "claude middle"]);
        let all = Wishes { model: Some("low"), ..claude };
        check(TIERS, all, ["claude small", "claude small", "claude small"]);
        let coder = Wishes { coder_model: Some("mine"), ..claude };
        check(TIERS, coder, ["claude mine", "claude large", "claude middle"]);
        // The vendor's own names for its tiers.
        check("", claude, ["claude opus", "claude opus", "claude sonnet"]);
        let other = Wishes { backend: Some("codex"), ..Wishes::default() };
        check("", other, ["codex ", "codex ", "codex "]);
    }

    #[test]
    fn a_role_with_an_agent_of_its_own_keeps_it() {
        let settings = "[roles.verifier]\nbackend = \"codex\"\nmodel = \"gpt-5\"\n";
        let claude = Wishes { backend: Some("claude"), ..Wishes::default() };
        check(settings, claude, ["claude opus", "codex gpt-5", "claude sonnet"]);
    }
}
