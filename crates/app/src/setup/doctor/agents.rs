//! Whether there is an agent to work with, and whether it is signed in.

use spore_config::Config;
use spore_model::Fault;

use super::finding::{self as found, DoctorFinding};
use crate::agents::backends::backend;
use crate::agents::known::known;
use crate::agents::ready;
use crate::session::agent_choice::{AgentChoice, ROLES, Wishes};
use crate::{Error, Surroundings};

/// Judges the agents of a run that is started without another word.
pub(in crate::setup) fn finding(around: &Surroundings, config: &Config) -> DoctorFinding {
    let mut config = config.clone();
    let only = ready::only(around, &config, None);
    if let Some(only) = &only {
        config.orchestrate.backend.clone_from(only);
    }
    let mut names: Vec<String> = ROLES
        .iter()
        .map(|role| AgentChoice::settle(&config, role, Wishes::default()).backend)
        .collect();
    names.dedup();
    let told: Vec<String> = names
        .iter()
        .map(|name| match &only {
            Some(only) if only == name => {
                format!("{name}, the only one that is installed and signed in")
            }
            _ => name.clone(),
        })
        .collect();
    for name in &names {
        if let Err(error) = usable(around, &config, name) {
            let remedy = format!("no run can start: {}", error.hint_text().unwrap_or_default());
            return found::finding("agent", false, error.to_string(), &remedy, true);
        }
    }
    found::finding("agent", true, told.join("; "), "", true)
}

/// Refuses an agent that is not there, or has nothing to sign in with.
fn usable(around: &Surroundings, config: &Config, name: &str) -> Result<(), Error> {
    if name == "replay" {
        // A scenario is named with each run.
        return Ok(());
    }
    backend(around, config, name, None)?;
    match known(name) {
        Some(known) if known.signed_in(around, config) == Some(false) => {
            let message = format!("{name} is not signed in, as far as can be seen");
            Err(Error::new(Fault::Missing, message).hint(known.sign_in))
        }
        _ => Ok(()),
    }
}
