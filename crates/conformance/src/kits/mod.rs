//! What differs between the agents: how one is made, how it finds the model, what its tools
//! are called.

mod api;
mod claude;
mod codex;
mod gemini;
mod opencode;
mod qwen;
mod replay;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use spore_agent::acp::{AcpAgent, Preset};
use spore_agent::{Agent, Watchdog};
use spore_effects::session::Shim;
use spore_model::{Usage, Usd};
use spore_scripted_model::{ModelTotals, ScriptedPrice, Turn};

/// Every agent that there is a suite for, in the order in which they are shown.
pub(crate) const KITS: &[&dyn Kit] = &[
    &claude::ClaudeKit,
    &codex::CodexKit,
    &opencode::OpencodeKit,
    &gemini::GeminiKit,
    &qwen::QwenKit,
    &api::ApiKit,
    &replay::ReplayKit,
];

/// Where a session takes place; all of it is thrown away.
pub struct SessionPlace {
    pub dir: PathBuf,
    pub home: PathBuf,
    pub checkout: PathBuf,
    /// Our own executable.
    pub exe: PathBuf,
    /// The agent's; nothing for one that is part of Spore.
    pub program: PathBuf,
}

/// What the model is to say next, for any agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModelStep {
    /// Call for `hi` and a line end in this file of the checkout.
    Write(&'static str),
    /// Call for this command.
    Shell(&'static str),
    /// Call for this command, over and over.
    ShellAgain(&'static str),
    /// Call for the tool `ping` of the MCP server `echo`.
    Ping,
    /// Call for this tool of the MCP server `spore`, with one text argument of this name.
    Spore(&'static str, &'static str, &'static str),
    Say(&'static str),
    /// Say it if a tool's result has this word in it.
    SayOn(&'static str, &'static str),
    /// Refuse every request with this status.
    Refuse(u16),
    /// Break off every answer.
    Cut,
    /// Fall silent in the middle of every answer.
    FallSilent,
}

/// What a session may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grant {
    Read,
    Edit,
    Command(&'static str),
    /// The tools of the MCP server `echo`.
    Server,
}

pub trait Kit: Sync {
    /// What `--backend` takes.
    fn name(&self) -> &'static str;

    /// What people call it.
    fn title(&self) -> &'static str;

    fn agent(&self, place: &SessionPlace, watchdog: Watchdog) -> Box<dyn Agent>;

    /// Prepares the fresh home and returns what the session's environment needs beside PATH
    /// and HOME.
    fn settle(
        &self,
        place: &SessionPlace,
        url: &str,
        steps: &[ModelStep],
    ) -> io::Result<Vec<(String, String)>>;

    fn model(&self) -> Option<&'static str> {
        None
    }

    /// The idle limit of a trial: longer than the agent takes to start, and no longer than the
    /// suite should wait.
    fn patience(&self) -> Duration {
        Duration::from_secs(10)
    }

    /// A time in which it surely has started a tool.
    fn wall(&self) -> Duration {
        Duration::from_secs(30)
    }

    fn write(&self, place: &SessionPlace, name: &str) -> Turn;

    fn shell(&self, command: &str) -> Turn;

    /// A turn that calls a tool of an MCP server.
    fn served(&self, server: &str, tool: &str, input: Value) -> Turn;

    /// What the agent calls such a permission. Those that ask are answered by these words.
    fn permission(&self, grant: Grant) -> String {
        match grant {
            Grant::Read => "read".to_owned(),
            Grant::Edit => "edit".to_owned(),
            Grant::Command(command) => format!("execute({command})"),
            Grant::Server => "other".to_owned(),
        }
    }

    /// What the agent is told that its model costs.
    fn price(&self) -> Option<ScriptedPrice> {
        None
    }

    /// What a session really used and cost: the model's own count.
    fn booked(&self, totals: &ModelTotals) -> (Usage, Option<Usd>) {
        (totals.usage, self.price().map(|_| totals.cost_usd))
    }
}

/// Returns the kit of this agent.
pub fn kit(name: &str) -> Option<&'static dyn Kit> {
    KITS.iter().copied().find(|kit| kit.name() == name)
}

fn pairs<const N: usize>(list: [(&str, &str); N]) -> Vec<(String, String)> {
    list.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// A key that opens nothing.
const KEY: &str = "no-key-at-all";

/// Dollars for a million tokens, given in thousandths.
fn price(input: i64, output: i64, cached: i64, written: i64) -> ScriptedPrice {
    let usd = |thousandths: i64| Usd::from_nanos(thousandths * 1_000_000);
    ScriptedPrice {
        input: usd(input),
        output: usd(output),
        cached: usd(cached),
        written: usd(written),
    }
}

/// An agent that is known by its preset.
fn acp(name: &str, place: &SessionPlace, watchdog: Watchdog) -> Box<dyn Agent> {
    let nobody = || Preset::of_command(name, place.program.clone(), Vec::new());
    let preset = Preset::named(name).unwrap_or_else(nobody);
    Box::new(
        AcpAgent::new(preset, Shim::new(place.exe.clone()), watchdog).at(place.program.clone()),
    )
}

/// The settings of Gemini CLI, and of those that began as it.
fn write_settings(place: &SessionPlace, dir: &str, sign_in: &str) -> io::Result<()> {
    let settings = json!({
        "security": { "auth": { "selectedType": sign_in } },
        "privacy": { "usageStatisticsEnabled": false },
        "general": { "disableAutoUpdate": true },
    });
    std::fs::create_dir_all(place.home.join(dir))?;
    std::fs::write(place.home.join(dir).join("settings.json"), settings.to_string())
}

/// The call of Gemini CLI, and of those that began as it.
fn write_file(place: &SessionPlace, name: &str) -> Turn {
    let path = place.checkout.join(name).display().to_string();
    Turn::calls("write_file", json!({ "file_path": path, "content": "hi\n" }))
}
