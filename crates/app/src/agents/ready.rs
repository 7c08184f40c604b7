//! Which agent works where the person chose none: the only one that is installed and signed in.

use spore_config::Config;
use spore_model::Fault;

use crate::agents::known::{KNOWN, Known};
use crate::{Error, Progress, Result, Surroundings, Update};

/// The agents that this machine has, as far as can be told without calling one.
#[derive(Default)]
pub(crate) struct FoundAgents {
    /// What `--backend` takes of those that could work now.
    pub(crate) ready: Vec<String>,
    /// Those that are installed and have no credentials.
    pub(crate) signed_out: Vec<&'static Known>,
}

impl FoundAgents {
    pub(crate) fn look(around: &Surroundings, config: &Config) -> Self {
        let mut found = Self::default();
        for known in KNOWN.iter().filter(|known| !known.is_built_in()) {
            let program = known.program(config);
            if program.and_then(|program| around.find_program(&program)).is_none() {
                continue;
            }
            // The adapter of an agent that is there itself offers nothing more.
            let itself = known.name.strip_suffix("-acp").unwrap_or_default();
            if found.ready.iter().any(|name| name == itself) {
                continue;
            }
            match known.signed_in(around, config) {
                Some(false) => found.signed_out.push(known),
                // A program that a person named in the settings is theirs to answer for; any
                // other that may or may not be signed in is not taken on trust.
                None if known.name != "command" => {}
                Some(true) | None => found.ready.push(known.name.to_owned()),
            }
        }
        for (name, command) in &config.acp {
            let is_there =
                command.first().is_some_and(|program| around.find_program(program).is_some());
            if is_there && KNOWN.iter().all(|known| known.name != name) {
                found.ready.push(format!("acp:{name}"));
            }
        }
        found
    }
}

/// Settles on the only agent that is ready, where neither the person nor the settings chose one.
/// Where that leaves a choice, none is made.
pub(crate) fn choose(
    around: &Surroundings,
    config: &mut Config,
    asked: Option<&str>,
    progress: &mut dyn Progress,
) {
    if let Some(only) = only(around, config, asked) {
        config.orchestrate.backend.clone_from(&only);
        progress.update(&Update::AgentChosen { backend: only });
    }
}

/// Returns the only agent that is ready, where neither person nor settings chose one.
pub(crate) fn only(around: &Surroundings, config: &Config, asked: Option<&str>) -> Option<String> {
    if asked.is_some() || !config.orchestrate.backend.is_empty() {
        return None;
    }
    let ready = FoundAgents::look(around, config).ready;
    <[String; 1]>::try_from(ready).ok().map(|[only]| only)
}

/// Refuses to work without an agent, and says which there are and what to type.
pub(crate) fn refuse_unchosen(around: &Surroundings, config: &Config, backend: &str) -> Result<()> {
    if !backend.is_empty() {
        return Ok(());
    }
    let found = FoundAgents::look(around, config);
    let (message, hint) = told(&found);
    Err(Error::new(Fault::Missing, message).hint(hint))
}

fn told(found: &FoundAgents) -> (String, String) {
    const OTHERS: &str = "`spore agents list` tells of all that Spore can use, and \
                          `--backend NAME` uses one for this run alone";
    match (found.ready.as_slice(), found.signed_out.as_slice()) {
        ([], []) => (
            "no agent is chosen, and none was found here".to_owned(),
            format!("install one: {}\n{OTHERS}", KNOWN[0].install),
        ),
        ([], signed_out) => {
            let names: Vec<&str> = signed_out.iter().map(|known| known.name).collect();
            let cures =
                signed_out.iter().map(|known| format!("{}: {}\n", known.name, known.sign_in));
            (
                format!("no agent is chosen, and none is signed in; found: {}", names.join(", ")),
                format!("{}{OTHERS}", cures.collect::<String>()),
            )
        }
        (ready, _) => {
            let lines = ready
                .iter()
                .map(|name| format!("spore config set orchestrate.backend {name} --user\n"));
            (
                format!("no agent is chosen, and several are ready: {}", ready.join(", ")),
                format!("choose one for all your projects:\n{}{OTHERS}", indented(lines)),
            )
        }
    }
}

fn indented(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| format!("  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ready: &[&str], signed_out: usize, message: &str, hint: &str) {
        let found = FoundAgents {
            ready: ready.iter().map(|&name| name.to_owned()).collect(),
            signed_out: KNOWN.iter().take(signed_out).collect(),
        };
        let told = told(&found);
        assert!(told.0.contains(message) && told.1.contains(hint), "{told:?}");
    }

    #[test]
    fn who_has_to_choose_is_told_what_there_is() {
        check(&[], 0, "none was found", "npm install -g @anthropic-ai/claude-code");
        check(&[], 2, "found: claude, codex", "codex: run `codex login`");
        check(
            &["claude", "codex"],
            0,
            "several are ready: claude, codex",
            "  spore config set orchestrate.backend codex --user\n",
        );
        check(
            &["gemini", "qwen"],
            2,
            "several are ready: gemini, qwen",
            "orchestrate.backend gemini",
        );
    }
}
