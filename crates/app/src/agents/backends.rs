//! Which agents there are, and how to get one by its name.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use spore_agent::acp::{AcpAgent, Preset};
use spore_agent::api::{
    ApiAgent, ApiSettings, CallForm, LocalPreset, LocalServer, Protocol, Retries,
};
use spore_agent::claude::ClaudeAgent;
use spore_agent::codex::CodexAgent;
use spore_agent::command::{CommandAgent, CommandOutput, Template};
use spore_agent::replay::ReplayAgent;
use spore_agent::{Agent, AgentError, PriceList, Scenario, Watchdog};
use spore_config::Config;
use spore_effects::session::{Grace, Shim};
use spore_model::Fault;

use crate::agents::known::known;
use crate::agents::ready::refuse_unchosen;
use crate::base::workspace::refuse_unless_text;
use crate::{Error, Result, Surroundings};

/// The names that `--backend` takes.
pub(crate) const NAMES: &[&str] = &[
    "claude",
    "codex",
    "opencode",
    "gemini",
    "qwen",
    "goose",
    "claude-acp",
    "codex-acp",
    "acp:NAME",
    "api",
    "ollama",
    "llama-server",
    "lmstudio",
    "command",
    "replay",
];

/// Returns the agent called `name`. The replay agent plays `scenario`.
pub(crate) fn backend(
    around: &Surroundings,
    config: &Config,
    name: &str,
    scenario: Option<&Path>,
) -> Result<Arc<dyn Agent>> {
    scenario.map_or(Ok(()), |path| refuse_unless_text(path, Fault::Usage))?;
    refuse_unchosen(around, config, name)?;
    match (name, scenario) {
        ("replay", Some(scenario)) => replay(around, config, scenario),
        ("replay", None) => Err(Error::new(Fault::Usage, "the replay agent needs a scenario")
            .hint("add `--scenario FILE`; `spore demo` shows one at work")),
        ("claude", _) => {
            let program = installed(around, name, config.claude.program.as_ref())?;
            let attempts = config.claude.sign_in_attempts;
            Ok(Arc::new(ClaudeAgent::new(program, shim(around), watchdog(config), attempts)))
        }
        ("api", _) => Ok(Arc::new(ApiAgent::new(
            shim(around),
            Arc::clone(&around.clock),
            watchdog(config),
            api_settings(config)?,
        ))),
        (name, _) if LocalPreset::named(name).is_some() => local(around, config, name),
        ("command", _) => command(around, config),
        ("codex", _) => {
            let program = installed(around, name, config.codex.program.as_ref())?;
            Ok(Arc::new(CodexAgent::new(program, shim(around), watchdog(config))))
        }
        (name, _) if preset(config, name)?.is_some() => acp(around, config, name),
        (other, _) => Err(no_such_backend(config, other)),
    }
}

/// Returns the program as it was named, if it is there to be started. Which one it is in a
/// session is for the session's own PATH to say.
fn installed(around: &Surroundings, name: &str, program: &Path) -> Result<PathBuf> {
    if program.to_str().and_then(|name| around.find_program(name)).is_some() {
        return Ok(program.to_owned());
    }
    let error = Error::from(AgentError::NotInstalled { program: program.to_owned() });
    Err(match known(name).filter(|known| known.has_program()) {
        Some(known) => {
            let then = match known.sign_in {
                "" => String::new(),
                sign_in => format!("; then {sign_in}"),
            };
            error.hint(format!(
                "{}{then}\n`spore agents list` says which agents are here",
                known.install
            ))
        }
        None => error,
    })
}

/// Says which names there are, and for `acp:NAME` how to give one a meaning.
pub(crate) fn no_such_backend(config: &Config, name: &str) -> Error {
    let error = Error::new(Fault::Usage, format!("there is no agent {name:?}"));
    if let Some(own) = name.strip_prefix("acp:") {
        return error.hint(format!(
            "say how it is started: spore config set acp.{own}.command PROGRAM,ARGUMENT"
        ));
    }
    if config.acp.contains_key(name) {
        return error.hint(format!("an agent of your own is called by its whole name: acp:{name}"));
    }
    let nearest = NAMES.iter().min_by_key(|known| spore_config::distance(name, known));
    let meant = nearest.filter(|known| spore_config::distance(name, known) <= 2);
    let meant = meant.map(|known| format!("did you mean {known}? ")).unwrap_or_default();
    error.hint(format!("{meant}these can be used: {}", NAMES.join(", ")))
}

/// Returns whether `--backend` takes `name` with these settings, installed or not.
pub(crate) fn is_backend(config: &Config, name: &str) -> bool {
    match name.strip_prefix("acp:") {
        Some(own) => config.acp.contains_key(own) || Preset::named(own).is_some(),
        None => NAMES.contains(&name),
    }
}

/// Finds how an agent that speaks ACP is started: by the configuration, else as we know it.
fn preset(config: &Config, name: &str) -> Result<Option<Preset>> {
    let short = name.strip_prefix("acp:").unwrap_or(name);
    let known = Preset::named(short);
    let Some(command) = config.acp.get(short) else { return Ok(known) };
    let Some((program, args)) = command.split_first() else {
        return Err(Error::new(Fault::Config, format!("[acp.{short}] has no command"))
            .hint(format!("set `command = [\"PROGRAM\", …]` in [acp.{short}]")));
    };
    let (program, args) = (PathBuf::from(program), args.to_vec());
    Ok(match known {
        Some(known) => Some(Preset { program, args, ..known }),
        // Only the configuration knows it, so it needs the whole name.
        None if name.starts_with("acp:") => Some(Preset::of_command(name, program, args)),
        None => None,
    })
}

fn acp(around: &Surroundings, config: &Config, name: &str) -> Result<Arc<dyn Agent>> {
    match preset(config, name)? {
        Some(preset) => {
            installed(around, name, &preset.program)?;
            Ok(Arc::new(AcpAgent::new(preset, shim(around), watchdog(config))))
        }
        None => Err(no_such_backend(config, name)),
    }
}

/// Returns the model that a tier (`low`, `medium`, `high`) means for a backend; any other
/// name is the agent's own. A tier without a model leaves the choice to the agent.
pub(crate) fn model(config: &Config, backend: &str, asked: Option<&str>) -> Option<String> {
    let tier = config.tiers.get(backend);
    match asked? {
        "low" | "low-tier" => tier?.low.clone(),
        "medium" | "medium-tier" => tier?.medium.clone(),
        "high" | "high-tier" => tier?.high.clone(),
        name => Some(name.to_owned()),
    }
}

fn replay(around: &Surroundings, config: &Config, scenario: &Path) -> Result<Arc<dyn Agent>> {
    let text = std::fs::read_to_string(scenario).map_err(|source| {
        Error::new(
            Fault::BadInput,
            format!("cannot read the scenario {}", spore_plain::path(scenario)),
        )
        .hint("put it back: every session of the run is played from it")
        .because(source)
    })?;
    Scenario::parse(&text).map_err(|error| {
        Error::new(Fault::BadInput, format!("{}: {error}", spore_plain::path(scenario)))
    })?;
    Ok(Arc::new(ReplayAgent::new(around.exe.clone(), scenario.to_owned(), watchdog(config))))
}

fn shim(around: &Surroundings) -> Shim {
    Shim::new(around.exe.clone())
}

/// Returns the server on this machine that `backend` stands for.
pub(crate) fn local_server(config: &Config, backend: &str) -> Option<LocalServer> {
    let preset = LocalPreset::named(backend)?;
    let address = config.local.of(backend)?.address.clone();
    Some(LocalServer { preset, address })
}

/// How much of each kind a session may be told in its task file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TellingRoom {
    /// Estimated tokens of what code, lessons and memory know.
    pub(crate) context_tokens: usize,
    pub(crate) evidence_bytes: usize,
    pub(crate) diff_bytes: usize,
}

impl TellingRoom {
    /// As the settings say, but of a small window about a sixteenth, an eighth and a third.
    pub(crate) fn of(config: &Config, backend: &str) -> Self {
        let window = match backend {
            "api" => Some(config.api.context_window),
            local => config.local.of(local).map(|local| local.context_window),
        };
        let window = window.filter(|window| *window <= config.api.small_window);
        let least = |set: u64, share: Option<u64>| {
            usize::try_from(share.map_or(set, |share| set.min(share))).unwrap_or(usize::MAX)
        };
        Self {
            context_tokens: least(config.context.tokens.into(), window.map(|window| window / 16)),
            evidence_bytes: least(config.gates.evidence_bytes, window.map(|window| window / 2)),
            diff_bytes: least(config.diff.cap_bytes, window),
        }
    }
}

fn local(around: &Surroundings, config: &Config, name: &str) -> Result<Arc<dyn Agent>> {
    let missing = || Error::new(Fault::Bug, format!("no server is known for {name:?}"));
    let server = local_server(config, name).ok_or_else(missing)?;
    let own = config.local.of(name).ok_or_else(missing)?;
    let settings = ApiSettings {
        protocol: Protocol::Chat,
        call_form: call_form(&own.tools),
        local: Some(server),
        context_window: own.context_window,
        max_output_tokens: own.max_output_tokens,
        prices: PriceList::free(),
        ..api_settings(config)?
    };
    let watchdog = Watchdog { first_output: config.local.first_output, ..watchdog(config) };
    Ok(Arc::new(ApiAgent::new(shim(around), Arc::clone(&around.clock), watchdog, settings)))
}

fn call_form(word: &str) -> CallForm {
    match word {
        "native" => CallForm::Native,
        "text" => CallForm::Text,
        "schema" => CallForm::Held,
        _ => CallForm::Auto,
    }
}

fn api_settings(config: &Config) -> Result<ApiSettings> {
    let api = &config.api;
    Ok(ApiSettings {
        protocol: match api.protocol.as_str() {
            "responses" => Protocol::Responses,
            "chat" => Protocol::Chat,
            _ => Protocol::Messages,
        },
        call_form: call_form(&api.tools),
        mends: api.mends,
        repeats: api.repeats,
        small_window: api.small_window,
        local: None,
        context_window: api.context_window,
        context_share: api.context_share,
        max_output_tokens: api.max_output_tokens,
        prices: crate::agents::prices::prices(config)?,
        retries: Retries { most: api.retries, pause: api.retry_pause, longest: api.longest_wait },
        nudges: api.nudges,
        command_timeout: api.command_timeout,
        command_output: usize::try_from(api.command_output_bytes).unwrap_or(usize::MAX),
        idle: api.idle,
        longest_line: usize::try_from(api.line_cap_bytes).unwrap_or(usize::MAX),
    })
}

fn command(around: &Surroundings, config: &Config) -> Result<Arc<dyn Agent>> {
    if config.command.program.is_empty() {
        return Err(Error::new(Fault::Config, "the command agent has no program")
            .hint("set `[command] program` in .spore/config.toml"));
    }
    let output = match config.command.output.as_str() {
        "events" => CommandOutput::Events,
        _ => CommandOutput::Text,
    };
    let template = Template {
        program: installed(around, "command", config.command.program.as_ref())?,
        args: config.command.args.clone(),
        output,
    };
    let command = CommandAgent::new(template, shim(around), watchdog(config))
        .map_err(|error| Error::new(Fault::Config, format!("[command] args: {error}")))?;
    Ok(Arc::new(command))
}

pub(crate) fn watchdog(config: &Config) -> Watchdog {
    Watchdog {
        first_output: config.session.first_output,
        exit: config.session.exit_deadline,
        start_retry_pause: config.session.start_retry_pause,
        grace: grace(config),
        line_cap: usize::try_from(config.session.line_cap_bytes).unwrap_or(usize::MAX),
        transcript_cap: config.session.transcript_cap_bytes,
    }
}

pub(crate) fn grace(config: &Config) -> Grace {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Grace {
        interrupt_ms: millis(config.session.interrupt_grace),
        terminate_ms: millis(config.session.terminate_grace),
    }
}
