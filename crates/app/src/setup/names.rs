//! Names in the settings that mean nothing here: agents, roles, vendors.
//!
//! The settings themselves know which keys there are; which agents and roles there are is known
//! here. A name that is wrong is found by `config set`, before it is written, and by `doctor`.

use std::path::Path;

use spore_config::{Loaded, SettingsOrigin, Value};
use spore_model::Fault;

use crate::agents::backends::{is_backend, no_such_backend};
use crate::agents::roles;
use crate::{Error, Result};

/// Tables whose members are called like agents.
const OF_AGENTS: [&str; 3] = ["tiers", "environment.agents", "sandbox.agents"];

/// Refuses the value of `key`, or a name in `key` itself, that means nothing here.
pub(crate) fn check(root: &Path, loaded: &Loaded, key: &str, value: &Value) -> Result<()> {
    let config = &loaded.config;
    let parts: Vec<&str> = key.split('.').collect();
    if let ["roles", role, ..] = parts.as_slice() {
        roles::require_described(root, role).map_err(as_setting)?;
    }
    for table in OF_AGENTS {
        let member = key.strip_prefix(table).and_then(|rest| rest.strip_prefix('.'));
        if let Some((agent, _)) = member.and_then(|rest| rest.split_once('.'))
            && !is_backend(config, agent)
            && !config.acp.contains_key(agent)
        {
            return Err(as_setting(no_such_backend(config, agent)));
        }
    }
    let names_agent =
        matches!(parts.as_slice(), ["orchestrate", "backend"] | ["roles", _, "backend"]);
    if names_agent
        && let Value::Text(name) = value
        && !name.is_empty()
        && !is_backend(config, name)
    {
        return Err(as_setting(no_such_backend(config, name)));
    }
    if let ["environment", "agents", _, "providers"] = parts.as_slice()
        && let Value::List(names) = value
    {
        let known = &config.environment.providers;
        if let Some(name) = names.iter().find(|name| !known.contains_key(*name)) {
            let all: Vec<&str> = known.keys().map(String::as_str).collect();
            let message = format!("there is no vendor {name:?} in [environment.providers]");
            return Err(Error::new(Fault::Config, message)
                .hint(format!("there are {}; or describe it there", all.join(", "))));
        }
    }
    Ok(())
}

/// Checks every setting that a person wrote, and returns what is wrong with the place of each.
pub(crate) fn mistakes(root: &Path, loaded: &Loaded) -> Vec<(String, Error)> {
    let written =
        loaded.entries().filter(|(_, entry)| entry.place.origin != SettingsOrigin::Defaults);
    let wrong = |(key, entry): (&str, &spore_config::SettingEntry)| {
        let error = check(root, loaded, key, &entry.value).err()?;
        Some((format!("{}: {key}", entry.place), error))
    };
    let mut found: Vec<(String, Error)> = Vec::new();
    for (place, error) in written.filter_map(wrong) {
        // A table of a strange name has several settings, and one mistake.
        if found.iter().all(|(_, other)| other.to_string() != error.to_string()) {
            found.push((place, error));
        }
    }
    found
}

/// The same refusal where it is a setting that is wrong, and not a call.
fn as_setting(error: Error) -> Error {
    let settled = Error::new(Fault::Config, error.to_string());
    match error.hint_text() {
        Some(hint) => settled.hint(hint),
        None => settled,
    }
}

#[cfg(test)]
mod tests {
    use spore_config::{Config, SettingsLayer};

    use super::*;

    #[track_caller]
    fn check_text(text: &str, expected: &str) {
        let origin = SettingsOrigin::Project("config.toml".into());
        let loaded = Config::load(&[SettingsLayer { origin, text: text.to_owned() }]).unwrap();
        let found = mistakes(Path::new("/nowhere"), &loaded);
        let told: Vec<String> = found
            .iter()
            .map(|(place, error)| {
                format!("{place}: {error} ({})", error.hint_text().unwrap_or_default())
            })
            .collect();
        let told = told.join("; ");
        assert!(told.contains(expected) && told.is_empty() == expected.is_empty(), "{told}");
    }

    #[test]
    fn names_that_mean_nothing_are_told_with_their_place() {
        check_text("[orchestrate]\nbackend = \"claude\"\n", "");
        check_text("[orchestrate]\nbackend = \"\"\n", "");
        check_text(
            "[orchestrate]\nbackend = \"claud\"\n",
            "config.toml:2:11: orchestrate.backend: there is no agent \"claud\" (did you mean claude?",
        );
        check_text("[roles.verifier]\nbackend = \"acp:foo\"\n", "config set acp.foo.command");
        check_text("[roles.verifier]\nbackend = \"acp:foo\"\n[acp.foo]\ncommand = [\"foo\"]\n", "");
        check_text("[roles.verifer]\nturns = 9\nmodel = \"x\"\n", "did you mean verifier?");
        check_text("[tiers.cluade]\nhigh = \"x\"\n", "there is no agent \"cluade\"");
        check_text("[environment.agents.qwen]\nproviders = [\"opnai\"]\n", "no vendor \"opnai\"");
    }
}
