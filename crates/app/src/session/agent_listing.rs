//! `spore agents list`: which agents can be used, what each can do, and how to get it.
//!
//! Nothing is called but `--version`, and servers on this machine are asked which models they have. Whether the user is signed in is told from credentials
//! that are there: a key in the environment, a file at home. Where neither says so, only a
//! session can show it, and the listing says that it is not known.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use serde::Serialize;
use spore_agent::acp::{AcpAgent, Preset};
use spore_agent::api::is_own_loop;
use spore_agent::claude::ClaudeAgent;
use spore_agent::codex::CodexAgent;
use spore_agent::command::{CommandAgent, CommandOutput, Template};
use spore_agent::replay::ReplayAgent;
use spore_agent::{Agent, Capabilities};
use spore_config::Config;
use spore_effects::session::Shim;
use spore_effects::{Tool, ToolError};
use spore_model::Fault;

use crate::agents::backends::{backend, local_server, watchdog};
use crate::agents::known::{KNOWN, Known};
use crate::session::agent_choice::LOCAL_PATIENCE;
use crate::session::sandbox::Enforcement;
use crate::{Error, Result, Surroundings, Workspace};

/// Agents that are scripts take a while to wake up.
const PATIENCE: Duration = Duration::from_secs(5);

/// One agent as this machine has it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AgentListing {
    /// What `--backend` takes.
    pub name: String,
    /// What it is, in a few words.
    pub what: String,
    /// Its program; nothing for an agent that is part of Spore.
    pub program: Option<String>,
    pub path: Option<PathBuf>,
    /// It could be started now.
    pub found: bool,
    pub version: Option<String>,
    /// `None` where it cannot be told without a call.
    pub signed_in: Option<bool>,
    /// It works with models of a server on this machine, at no cost.
    pub local: bool,
    /// The models that the server on this machine has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    pub can: Abilities,
    /// Who holds its sessions to a checkout here: `kernel`, `own` (the agent's), `none`.
    pub sandbox: &'static str,
    /// How to get it, or to sign in; empty where it is ready.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}

/// What an agent can be relied on for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Abilities {
    pub resume: bool,
    /// Refuses tools that its role must not use.
    pub permissions: bool,
    pub structured_output: bool,
    pub usage: bool,
    pub cost: bool,
    /// Takes tools from MCP servers.
    pub mcp: bool,
}

/// Looks for every agent. Their versions are asked for at the same time.
pub fn list_agents(around: &Surroundings) -> Result<Vec<AgentListing>> {
    let config = Workspace::find(around)?.config(around, &[])?;
    let asked: Vec<_> = KNOWN
        .iter()
        .map(|known| {
            let program = known.program(&config);
            let path = program.as_deref().and_then(|program| around.find_program(program));
            let (sender, answer) = channel();
            // Not joined: both end by themselves when their time is up.
            if let Some(path) = path.clone() {
                std::thread::spawn(move || sender.send(AgentWord::Version(version(&path))));
            } else if let Some(server) = local_server(&config, known.name) {
                let ask = move || server.models(LOCAL_PATIENCE).ok();
                std::thread::spawn(move || sender.send(AgentWord::Models(ask())));
            }
            (known, program, path, answer)
        })
        .collect();
    // A little longer than a program has, which may hang in ways of its own.
    let deadline = around.clock.monotonic() + PATIENCE + Duration::from_secs(1);
    let listings = asked.into_iter().map(|(known, program, path, answer)| {
        let left = deadline.saturating_duration_since(around.clock.monotonic());
        let word = answer.recv_timeout(left).unwrap_or(AgentWord::Version(None));
        listing(around, &config, known, program, path, word)
    });
    listings.collect()
}

/// Looks for one agent, without asking it anything; nothing where Spore does not know the name.
pub fn find_agent(around: &Surroundings, name: &str) -> Result<Option<AgentListing>> {
    let Some(known) = KNOWN.iter().find(|known| known.name == name) else { return Ok(None) };
    let config = Workspace::find(around)?.config(around, &[])?;
    let program = known.program(&config);
    let path = program.as_deref().and_then(|program| around.find_program(program));
    let models = local_server(&config, name).map(|server| server.models(LOCAL_PATIENCE).ok());
    let word = models.map_or(AgentWord::Version(None), AgentWord::Models);
    listing(around, &config, known, program, path, word).map(Some)
}

/// What an agent was asked, and its answer if there was one.
enum AgentWord {
    Version(Option<String>),
    /// The models of a server on this machine.
    Models(Option<Vec<String>>),
}

fn listing(
    around: &Surroundings,
    config: &Config,
    known: &Known,
    program: Option<String>,
    path: Option<PathBuf>,
    word: AgentWord,
) -> Result<AgentListing> {
    let (version, models, answers) = match word {
        AgentWord::Version(version) => (version, Vec::new(), false),
        AgentWord::Models(models) => (None, models.clone().unwrap_or_default(), models.is_some()),
    };
    let found = known.is_built_in() || path.is_some() || answers;
    let signed_in = known.signed_in(around, config);
    let remedy = match (found, signed_in) {
        (false, _) => known.install.to_owned(),
        (true, Some(false)) => known.sign_in.to_owned(),
        (true, _) => String::new(),
    };
    let Capabilities { resume, structured_output, tool_limits, cost, usage, .. } =
        capabilities(known, around, config)?;
    let permissions = tool_limits;
    Ok(AgentListing {
        name: known.name.to_owned(),
        what: known.what.to_owned(),
        program,
        path,
        found,
        version,
        signed_in,
        local: local_server(config, known.name).is_some(),
        models,
        can: Abilities { resume, permissions, structured_output, usage, cost, mcp: known.mcp },
        sandbox: sandbox(around, config, known.name),
        remedy,
    })
}

/// What its sessions can be relied on for.
fn capabilities(known: &Known, around: &Surroundings, config: &Config) -> Result<Capabilities> {
    let (shim, watchdog) = (Shim::new(around.exe.clone()), watchdog(config));
    let nowhere = PathBuf::new;
    Ok(match known.name {
        "claude" => {
            let attempts = config.claude.sign_in_attempts;
            ClaudeAgent::new(nowhere(), shim, watchdog, attempts).capabilities()
        }
        "codex" => CodexAgent::new(nowhere(), shim, watchdog).capabilities(),
        own if is_own_loop(own) => backend(around, config, known.name, None)?.capabilities(),
        "replay" => ReplayAgent::new(nowhere(), nowhere(), watchdog).capabilities(),
        "command" => {
            let output = match config.command.output.as_str() {
                "events" => CommandOutput::Events,
                _ => CommandOutput::Text,
            };
            let args = config.command.args.clone();
            let template = Template { program: nowhere(), args, output };
            let command = CommandAgent::new(template, shim, watchdog);
            let wrong = |error| Error::new(Fault::Config, format!("[command] args: {error}"));
            command.map_err(wrong)?.capabilities()
        }
        name => match Preset::named(name) {
            Some(preset) => AcpAgent::new(preset, shim, watchdog).capabilities(),
            None => Capabilities::default(),
        },
    })
}

/// Who holds sessions of `backend`, from what the settings and the kernel say.
fn sandbox(around: &Surroundings, config: &Config, backend: &str) -> &'static str {
    match Enforcement::find(around, config, backend) {
        Ok(Enforcement { held: true, .. }) => "kernel",
        _ if backend == "codex" => "own",
        _ => "none",
    }
}

/// Asks a program for its version and returns the first word that looks like one.
fn version(program: &Path) -> Option<String> {
    let answer = match Tool::new(program).arg("--version").timeout(PATIENCE).output() {
        Ok(answer) if answer.is_success() => answer,
        Ok(_)
        | Err(ToolError::NotInstalled { .. } | ToolError::TimedOut { .. } | ToolError::Io { .. }) =>
        {
            return None;
        }
    };
    let said = [answer.text(), answer.complaint()].join("\n");
    let words = said.split_whitespace().map(|word| word.trim_start_matches('v'));
    let mut versions = words.filter(|word| {
        word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()) && word.len() <= 40
    });
    versions.next().map(|word| spore_plain::line(word).into_owned())
}
