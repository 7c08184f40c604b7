//! The variables that sessions and gates see. Neither inherits anything by itself.
//!
//! An agent sees the keys of its own vendor and of no other; a gate sees none. Tokens of package
//! registries are for gates that install, and the way through the network is for programs that
//! may use it. Which variables those are is said by `[environment]`.

use std::path::Path;

use spore_agent::EnvironmentFilter;
use spore_config::Config;
use spore_model::{Patterns, RunId, TraceId};

use crate::Surroundings;
use crate::session::agent_choice::AgentChoice;
use crate::session::nesting::Nesting;
use crate::session::sandbox::NetworkVariables;

/// Returns what every program may see of the user's environment, and `more`.
fn environment(
    config: &Config,
    around: &Surroundings,
    more: &[String],
    less: &[String],
) -> Vec<(String, String)> {
    let allow = [config.environment.allow.as_slice(), more].concat();
    let deny = [config.environment.deny.as_slice(), less].concat();
    let mut variables = EnvironmentFilter::new(&allow, &deny).filter(around.variables.clone());
    // In a checkout that lost its own repository, git must not find one further up.
    let ceiling = around.state_home.display().to_string();
    variables.push(("GIT_CEILING_DIRECTORIES".to_owned(), ceiling));
    variables
}

/// Returns what gates see that install nothing.
pub(crate) fn gate_environment(config: &Config, around: &Surroundings) -> Vec<(String, String)> {
    environment(config, around, &[], &withheld_from_gates(config, &config.environment.install))
}

/// Returns what a gate that installs sees besides what every gate does.
pub(crate) fn install_environment(config: &Config, around: &Surroundings) -> Vec<(String, String)> {
    let install = Patterns::of_names(&config.environment.install);
    let mut variables = environment(config, around, &[], &withheld_from_gates(config, &[]));
    variables.retain(|(name, _)| install.cover(name));
    variables
}

/// Returns what a gate is told that needs these programs and runs in a root made anew.
///
/// pnpm takes packages from its store by links. Nothing can be linked from one mount into another, so
/// pnpm would look for a store beside the checkout and find none: it is told where its own is, and copies.
pub(crate) fn store_variables(around: &Surroundings, needs: &[String]) -> Vec<(String, String)> {
    let mut programs = needs.iter().filter_map(|need| need.split_whitespace().next());
    if !programs.any(|program| program == "pnpm") {
        return Vec::new();
    }
    let below = |name: &str, rest: &str| {
        around.variable(name).filter(|dir| !dir.is_empty()).map(|dir| Path::new(dir).join(rest))
    };
    // The first name is for pnpm before its version 11.
    let names = ["npm_config_store_dir", "pnpm_config_store_dir"];
    let store = names.iter().find_map(|name| below(name, ""));
    let store = store
        .or_else(|| below("PNPM_HOME", "store"))
        .or_else(|| below("XDG_DATA_HOME", "pnpm/store"))
        .or_else(|| below("HOME", ".local/share/pnpm/store"));
    let store = store.map(|store| store.display().to_string());
    store.iter().flat_map(|store| names.map(|name| (name.to_owned(), store.clone()))).collect()
}

fn withheld_from_gates(config: &Config, always: &[String]) -> Vec<String> {
    let network: &[String] = match config.sandbox.checks_network.as_str() {
        "deny" => &config.environment.network,
        _ => &[],
    };
    [always, network].concat()
}

/// Returns what a session sees: the same for every kind, so that a `spore` that it starts finds
/// the project, counts its depth and knows what it belongs to.
pub(crate) fn session_environment(
    config: &Config,
    around: &Surroundings,
    root: &Path,
    choice: &AgentChoice,
    nesting: Nesting,
    trace: &TraceId,
    session: RunId,
) -> Vec<(String, String)> {
    let own = agent_variables(config, around, choice);
    let mut variables = environment(config, around, &own, &config.environment.install);
    variables.push(("SPORE_ROOT".to_owned(), root.display().to_string()));
    nesting.tell(trace, session, &mut variables);
    variables
}

/// Returns what a session sees that says what is on the network.
pub(crate) fn network_variables(
    config: &Config,
    around: &Surroundings,
    choice: &AgentChoice,
) -> NetworkVariables {
    let patterns = agent_variables(config, around, choice);
    let seen = environment(config, around, &patterns, &config.environment.install);
    let patterns = Patterns::of_names(&patterns);
    NetworkVariables::among(&seen, |name| patterns.cover(name))
}

/// Returns the patterns of the variables that only this agent may see.
fn agent_variables(config: &Config, around: &Surroundings, choice: &AgentChoice) -> Vec<String> {
    let environment = &config.environment;
    let name = choice.backend.strip_prefix("acp:").unwrap_or(&choice.backend);
    let own = environment.agents.get(name).cloned().unwrap_or_default();
    let mut patterns = [environment.agent.as_slice(), &own.allow].concat();
    let named = provider(config, around, name, choice.model.as_deref());
    let known = named.filter(|named| own.providers.iter().any(|known| known == named));
    let of_all = own.providers.iter().filter(|one| known.is_none_or(|known| known == *one));
    patterns.extend(of_all.filter_map(|one| environment.providers.get(one)).flatten().cloned());
    patterns
}

/// Returns the vendor that an agent is said to work with, where anything says so: `api` by its
/// protocol, goose by its own variable, the others by a model of the form `vendor/model`.
fn provider<'a>(
    config: &'a Config,
    around: &'a Surroundings,
    agent: &str,
    model: Option<&'a str>,
) -> Option<&'a str> {
    match agent {
        "api" if config.api.protocol == "messages" => Some("anthropic"),
        "api" => Some("openai"),
        "goose" => around.variable("GOOSE_PROVIDER").filter(|name| !name.is_empty()),
        _ => Some(model?.split_once('/')?.0),
    }
}

#[cfg(test)]
mod tests {
    use spore_config::{SettingsLayer, SettingsOrigin};

    use super::*;
    use crate::toolbox::tests::garden::Garden;

    const ALL: [&str; 14] = [
        "PATH",
        "ANTHROPIC_API_KEY",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "OPENAI_API_KEY",
        "CODEX_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "OPENCODE_X",
        "DASHSCOPE_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "HTTPS_PROXY",
        "PIP_INDEX_URL",
        "npm_config__authToken",
        "UV_PUBLISH_TOKEN",
    ];

    fn around() -> Surroundings {
        let variables = ALL.map(|name| (name.to_owned(), "x".to_owned())).to_vec();
        Surroundings { variables, ..Garden::planted().around() }
    }

    fn config(text: &str) -> Config {
        let layer =
            SettingsLayer { origin: SettingsOrigin::Flag("test".into()), text: text.into() };
        Config::load(&[layer]).unwrap().config
    }

    fn names(variables: Vec<(String, String)>) -> String {
        let shown = variables.into_iter().map(|(name, _)| name);
        let ours = |name: &String| !name.starts_with("SPORE_") && name != "GIT_CEILING_DIRECTORIES";
        shown.filter(ours).collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn check(settings: &str, backend: &str, model: Option<&str>, expected: &str) {
        let around = around();
        let choice = AgentChoice { backend: backend.to_owned(), model: model.map(str::to_owned) };
        let config = config(settings);
        let own = agent_variables(&config, &around, &choice);
        let seen = environment(&config, &around, &own, &config.environment.install);
        assert_eq!(names(seen), format!("PATH {expected}HTTPS_PROXY PIP_INDEX_URL"), "{backend}");
    }

    #[test]
    fn an_agent_sees_the_keys_of_its_own_vendor_and_of_no_other() {
        check("", "claude", None, "ANTHROPIC_API_KEY CLAUDE_CODE_OAUTH_TOKEN ");
        check("", "claude-acp", None, "ANTHROPIC_API_KEY CLAUDE_CODE_OAUTH_TOKEN ");
        check("", "codex", Some("gpt-5.1"), "OPENAI_API_KEY CODEX_API_KEY ");
        check("", "gemini", None, "GEMINI_API_KEY GOOGLE_API_KEY ");
        check("", "acp:gemini", None, "GEMINI_API_KEY GOOGLE_API_KEY ");
        check("", "qwen", None, "OPENAI_API_KEY DASHSCOPE_API_KEY ");
        check("", "api", None, "ANTHROPIC_API_KEY ");
        check("api.protocol = \"chat\"", "api", None, "OPENAI_API_KEY ");
        check("", "opencode", Some("openai/gpt-5.1"), "OPENAI_API_KEY OPENCODE_X ");
        let all = "ANTHROPIC_API_KEY OPENAI_API_KEY GEMINI_API_KEY GOOGLE_API_KEY OPENCODE_X ";
        check("", "opencode", None, all);
        check("", "opencode", Some("local/own"), all);
        for backend in ["command", "replay", "acp:other"] {
            check("", backend, None, "");
        }
        let mine = "environment.agents.command.allow = [\"AWS_*\"]";
        check(mine, "command", None, "AWS_SECRET_ACCESS_KEY ");
    }

    #[test]
    fn only_what_is_an_agents_own_or_a_proxy_says_what_is_on_the_network() {
        let choice = AgentChoice { backend: "claude".to_owned(), model: None };
        let found = network_variables(&config(""), &around(), &choice);
        assert_eq!(found.names(), ["ANTHROPIC_API_KEY CLAUDE_CODE_OAUTH_TOKEN", "HTTPS_PROXY"]);
    }

    #[test]
    fn a_gate_of_pnpm_is_told_where_its_store_is() {
        let told = |variables: &[(&str, &str)], needs: &str| {
            let all =
                variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let around = Surroundings { variables: all.collect(), ..around() };
            let told = store_variables(&around, &[needs.to_owned()]);
            told.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
        };
        let both = |dir: &str| {
            ["npm_config_store_dir", "pnpm_config_store_dir"].map(|name| format!("{name}={dir}"))
        };
        let home = ("HOME", "/h");
        assert_eq!(told(&[home], "pnpm"), both("/h/.local/share/pnpm/store"));
        assert_eq!(told(&[home, ("XDG_DATA_HOME", "/d")], "pnpm"), both("/d/pnpm/store"));
        assert_eq!(told(&[home, ("PNPM_HOME", "/p")], "pnpm"), both("/p/store"));
        assert_eq!(told(&[home, ("npm_config_store_dir", "/own")], "pnpm"), both("/own/"));
        assert!(told(&[home], "npm").is_empty());
    }

    #[test]
    fn a_gate_sees_no_key_and_a_token_only_if_it_installs() {
        let around = around();
        let open = config("");
        assert_eq!(names(gate_environment(&open, &around)), "PATH HTTPS_PROXY PIP_INDEX_URL");
        assert_eq!(names(install_environment(&open, &around)), "npm_config__authToken");
        let shut = config("sandbox.checks_network = \"deny\"");
        assert_eq!(names(gate_environment(&shut, &around)), "PATH");
        assert_eq!(names(install_environment(&shut, &around)), "");
    }
}
