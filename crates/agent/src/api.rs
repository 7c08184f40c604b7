//! The api backend: our own tool loop, straight on a model's API.
//!
//! For a model without an agent program around it: Anthropic Messages, OpenAI Responses, or
//! Chat Completions as llama.cpp, Ollama and most others speak it. A model that does not call
//! tools natively writes its calls as text (`spore_tools::written`). The session runs in this
//! process; only the commands that the model calls for are processes, each under the shim.
//!
//! The decision behind it: an answer counts only when the protocol's own last event was seen.
//! A connection that was cut, a stream that fell silent or cannot be read is asked for once
//! more from the last complete message, and then the session has failed; it never succeeds by
//! ending early.
//!
//! Keys come from the request's environment alone, go into one header, and are struck out of
//! everything that is kept or told. No conversation is gone on with later, which
//! [`Capabilities`] says; one that was cut off goes on at its turn where its caller keeps them. Of MCP servers only Spore's own is used: its tools are asked for at the broker's socket, and
//! no program is started for them.

mod chat;
mod connection;
mod conversation;
mod endpoint;
mod exchange;
mod history;
mod kept_turns;
mod local;
mod messages;
mod repeats;
mod responses;
mod retry;
mod sse;
mod tool_loop;
mod written_calls;

use std::fs::File;
use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spore_effects::Clock;
use spore_effects::session::Shim;
use spore_model::{Outcome, Usage, Usd};
use spore_tools::remote::Remote;
use spore_tools::{CommandRunner, Commands, ModelTool, Reach, Registry, Root, UnusableTool, graph};

use connection::Connection;
use endpoint::{Endpoint, without_keys};
use exchange::ModelExchange;
use kept_turns::TurnKeeper;
use tool_loop::{ContextRoom, LoopProgress, SessionLog, ToolLoop};

pub use local::{LOCAL_PRESETS, LocalPreset, LocalServer, is_own_loop};
pub use retry::Retries;

pub use crate::prices::{Price, PriceList};
use crate::{
    Agent, AgentError, AgentWatch, Capabilities, McpServer, Request, SessionReport, ToolPolicy,
    Watchdog, control,
};

/// The name of the tool that hands in a structured result.
pub const SUBMIT_TOOL: &str = "submit";

/// In place of a time that no clock can show.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// How a model's server is spoken to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    Messages,
    Responses,
    Chat,
}

/// How a model calls tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallForm {
    /// As its protocol has it.
    Native,
    /// As blocks in its answers, which it is told how to write.
    Text,
    /// As its protocol has it, until it answers with a block instead.
    Auto,
    /// Each answer is one call in JSON: its server holds it to a schema.
    Held,
}

#[derive(Clone, Debug)]
pub struct ApiSettings {
    pub protocol: Protocol,
    pub call_form: CallForm,
    /// How often in a row a model may write a call that cannot be read.
    pub mends: u32,
    /// How often in a row a model may write one and the same call to the same end.
    pub repeats: u32,
    /// A model whose window is not larger is told less of its tools, and its conversation is
    /// made to fit.
    pub small_window: u64,
    /// The server on this machine that is asked, if it is one.
    pub local: Option<LocalServer>,
    /// How many tokens the model can read at once.
    pub context_window: u64,
    /// A session ends when a call fills more of the window than this, from 0 to 1.
    pub context_share: f64,
    pub max_output_tokens: u32,
    pub prices: PriceList,
    pub retries: Retries,
    /// How often a model that ends without its structured result is asked for it.
    pub nudges: u32,
    /// The longest time of one command.
    pub command_timeout: Duration,
    /// Bytes of a command's output that the model sees.
    pub command_output: usize,
    /// The longest silence in an answer, where the request names none.
    pub idle: Duration,
    /// Bytes of one line of a stream. A server's last event repeats all it was asked, so a
    /// megabyte is not much.
    pub longest_line: usize,
}

impl ApiSettings {
    fn is_small(&self) -> bool {
        self.context_window <= self.small_window
    }
}

pub struct ApiAgent {
    shim: Shim,
    clock: Arc<dyn Clock>,
    watchdog: Watchdog,
    settings: ApiSettings,
}

impl ApiAgent {
    pub fn new(
        shim: Shim,
        clock: Arc<dyn Clock>,
        watchdog: Watchdog,
        settings: ApiSettings,
    ) -> Self {
        Self { shim, clock, watchdog, settings }
    }

    fn tools(
        &self,
        request: &Request,
        root: &Arc<Root>,
        served: Vec<ModelTool>,
    ) -> Result<Registry, UnusableTool> {
        let runner = CommandRunner {
            shim: self.shim.clone(),
            commands: commands(&request.tools),
            dir: request.dir.clone(),
            env: without_keys(&request.env),
            confinement: request.sandbox.confinement().cloned(),
            token: request.token.clone(),
            grace: self.watchdog.grace,
            timeout: self.settings.command_timeout,
            output_cap: self.settings.command_output,
        };
        let mut tools = Registry::of_checkout(root, Some(runner));
        let is_small = self.settings.is_small();
        // Each tool takes room to tell of, and the task file says what the graph knows.
        let fits = |tool: &ModelTool| {
            let is_needed = [graph::SEARCH, graph::RUN_COMMAND].contains(&tool.name.as_str());
            !is_small || tool.reach != Reach::Read || is_needed
        };
        served.into_iter().filter(fits).try_for_each(|tool| tools.add(tool))?;
        tools.retain(|tool| is_allowed(&request.tools, tool));
        if let Some(schema) = &request.schema {
            let description =
                "Hands in your result and ends the session. Call it once, at the end.";
            tools.add(ModelTool::submit(SUBMIT_TOOL, description, schema.clone()))?;
        }
        if is_small {
            tools.shorten();
        }
        Ok(tools)
    }

    /// What has to be there before there can be a session.
    fn prepare<'a>(&self, request: &'a Request) -> Result<(Endpoint, &'a str, Arc<Root>), String> {
        let local = self.settings.local.as_ref();
        let model = request.model.as_deref().or(local.and_then(|local| local.preset.model));
        let model = model.ok_or("no model was named")?;
        let endpoint = match local {
            Some(local) => Endpoint::local(local, &request.env),
            None => Endpoint::find(self.settings.protocol, &request.env)?,
        };
        let root = Root::open(&request.dir).map_err(|error| {
            format!("cannot work in {}: {error}", spore_plain::path(&request.dir))
        })?;
        Ok((endpoint, model, Arc::new(root)))
    }
}

/// What the session's MCP servers have for it.
#[derive(Default)]
struct ServedTools {
    tools: Vec<ModelTool>,
    /// Each server, and whether it was reached.
    states: Vec<(String, String)>,
}

/// Asks Spore's own server for its tools, and says how each server fared. A server that is
/// needed and was not reached is the end.
fn served(servers: &[McpServer]) -> Result<ServedTools, String> {
    let mut served = ServedTools::default();
    for server in servers {
        let name = &server.name;
        let asked = Remote::of_environment(&server.env).map(|remote| remote.tools());
        let state = match asked {
            Some(Ok(found)) => {
                served.tools.extend(found);
                "connected"
            }
            None if server.required => {
                return Err(format!(
                    "the MCP server {name} is needed, which this backend cannot use"
                ));
            }
            Some(Err(error)) if server.required => {
                return Err(format!("the MCP server {name} is needed: {error}"));
            }
            Some(Err(_)) | None => "failed",
        };
        served.states.push((name.clone(), state.to_owned()));
    }
    Ok(served)
}

impl Agent for ApiAgent {
    fn name(&self) -> &'static str {
        self.settings.local.as_ref().map_or("api", |local| local.preset.name)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            structured_output: true,
            tool_limits: true,
            cost: true,
            usage: true,
            mcp_status: true,
            tool_in_flight: true,
            interrupt: true,
            ..Capabilities::default()
        }
    }

    fn recount(&self, transcript: &mut dyn BufRead) -> SessionReport {
        crate::event_session::recount(transcript)
    }

    fn run(
        &self,
        request: &Request,
        watch: &mut dyn AgentWatch,
    ) -> Result<SessionReport, AgentError> {
        let unwritten =
            |source| AgentError::Transcript { path: request.transcript.clone(), source };
        control::ensure_parent(&request.transcript).map_err(unwritten)?;
        let file = File::create(&request.transcript).map_err(unwritten)?;
        let prepared = served(&request.mcp_servers).and_then(|served| {
            let (endpoint, model, root) = self.prepare(request)?;
            let tools = self.tools(request, &root, served.tools);
            Ok((endpoint, model, tools.map_err(|error| error.to_string())?, served.states))
        });
        let (endpoint, model, tools, mcp) = match prepared {
            Ok(prepared) => prepared,
            Err(missing) => {
                // No server was asked, so that is known and no estimate.
                let cost = Some(Usd::ZERO);
                let ended = SessionReport::ended(Outcome::Failure, Some(missing));
                return Ok(SessionReport { cost, ..ended });
            }
        };
        let now = self.clock.monotonic();
        let deadline = now.checked_add(request.limits.wall).unwrap_or(now + FOR_EVER);
        let exchange = ModelExchange {
            protocol: self.settings.protocol,
            endpoint: &endpoint,
            retries: self.settings.retries,
            clock: self.clock.as_ref(),
            deadline,
            first_output: self.watchdog.first_output,
            idle: request.limits.idle.unwrap_or(self.settings.idle),
            longest_line: self.settings.longest_line,
            word: request.token.as_str(),
            line: Connection::new(endpoint.proxy.clone()),
            lost: Usage::default(),
        };
        let session = ToolLoop {
            request,
            settings: &self.settings,
            model,
            price: self.settings.prices.of(model),
            tools,
            mcp,
            exchange,
            notes: SessionLog {
                file,
                left: self.watchdog.transcript_cap,
                endpoint: &endpoint,
                secrets: control::secrets::secrets_of(request),
            },
            progress: LoopProgress::default(),
            room: ContextRoom::of(&self.settings),
            call_form: self.settings.call_form,
            keeper: TurnKeeper::default(),
            newest_whole: None,
        };
        Ok(session.run(watch))
    }
}

/// Splits `run(cargo test)` into the tool and the command.
fn pattern(entry: &str) -> (&str, Option<&str>) {
    let inner =
        entry.split_once('(').and_then(|(name, rest)| Some((name, rest.strip_suffix(')')?)));
    inner.map_or((entry, None), |(name, command)| (name.trim(), Some(command.trim())))
}

/// Commands run if they are named to the letter, `run(cargo test)`; all of them if the tool is
/// allowed as a whole or the policy skips permissions.
fn commands(policy: &ToolPolicy) -> Commands {
    let of_run = |list: &[String]| -> Vec<Option<String>> {
        let patterns = list.iter().map(|entry| pattern(entry)).filter(|(name, _)| *name == "run");
        patterns.map(|(_, command)| command.map(str::to_owned)).collect()
    };
    let (allowed, denied) = (of_run(&policy.allow), of_run(&policy.deny));
    let is_any = allowed.contains(&None) || (allowed.is_empty() && policy.skip_permissions);
    // What is denied could be spelled in a hundred ways: then nothing free-form runs at all.
    if is_any && denied.is_empty() {
        return Commands::Any;
    }
    let named = allowed.into_iter().filter(|command| !denied.contains(command)).flatten();
    Commands::Only(if denied.contains(&None) { Vec::new() } else { named.collect() })
}

/// A list of tools is the whole truth. Where there is none, or one of commands only, everything
/// may be looked at, and changed only where the policy skips permissions.
fn is_allowed(policy: &ToolPolicy, tool: &ModelTool) -> bool {
    let names = |entry: &String| pattern(entry).0 == tool.name;
    if policy.deny.iter().any(|entry| entry == &tool.name) {
        return false;
    }
    let is_list = policy.allow.iter().any(|entry| pattern(entry).1.is_none());
    match is_list {
        true => policy.allow.iter().any(names),
        false => tool.reach != Reach::Write || policy.skip_permissions,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use spore_tools::ToolAnswer;

    use super::*;

    fn policy(allow: &[&str], deny: &[&str], skip_permissions: bool) -> ToolPolicy {
        let words = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect();
        ToolPolicy { allow: words(allow), deny: words(deny), skip_permissions }
    }

    #[track_caller]
    fn may_run(policy: &ToolPolicy, expected: Option<&[&str]>) {
        let expected = expected.map_or(Commands::Any, |commands| {
            Commands::Only(commands.iter().map(|&command| command.to_owned()).collect())
        });
        assert_eq!(commands(policy), expected, "{policy:?}");
    }

    #[test]
    fn only_named_commands_run_unless_everything_may() {
        may_run(&policy(&[], &[], false), Some(&[]));
        may_run(&policy(&[], &[], true), None);
        may_run(
            &policy(&["run(cargo test)", "run(make (all))"], &[], true),
            Some(&["cargo test", "make (all)"]),
        );
        may_run(&policy(&["read", "run"], &[], false), None);
        may_run(&policy(&["run"], &["run(rm -rf .)"], false), Some(&[]));
        may_run(&policy(&["run(a)", "run(b)"], &["run(a)"], false), Some(&["b"]));
        may_run(&policy(&["run(a)"], &["run"], true), Some(&[]));
    }

    #[track_caller]
    fn may_use(policy: &ToolPolicy, expected: &str) {
        let tool = |name: &str, reach| {
            ModelTool::new(name, "", reach, Value::Null, |_, _| ToolAnswer::ok(""))
        };
        let all = [
            tool("read", Reach::Read),
            tool("grep", Reach::Search),
            tool("edit", Reach::Write),
            tool("run", Reach::Run),
        ];
        let allowed: Vec<&str> = all
            .iter()
            .filter(|tool| is_allowed(policy, tool))
            .map(|tool| tool.name.as_str())
            .collect();
        assert_eq!(allowed.join(" "), expected, "{policy:?}");
    }

    #[test]
    fn a_list_of_tools_is_the_whole_truth_and_a_denial_wins_over_it() {
        may_use(&policy(&[], &[], false), "read grep run");
        may_use(&policy(&[], &[], true), "read grep edit run");
        may_use(&policy(&[], &["edit"], true), "read grep run");
        may_use(&policy(&["run(make)"], &[], false), "read grep run");
        may_use(&policy(&["read", "run(make)"], &[], false), "read run");
        may_use(&policy(&["read", "grep"], &[], false), "read grep");
        may_use(&policy(&["read", "grep"], &["grep"], true), "read");
    }
}
