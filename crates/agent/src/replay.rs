//! The replay backend: an agent that plays a scenario. It is the offline default, the demo's
//! agent and the test's.
//!
//! It is a real process in a real checkout under the same shim and the same watch as any
//! other agent: our own binary, in the mode [`REPLAY_ARG`], printing our own event format.

use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

use spore_effects::Tool;
use spore_effects::session::Shim;
use spore_tools::ToolAnswer;
use spore_tools::remote::{Ask, Remote, Told};

use crate::control::{self, Dialogue};
use crate::event_session::EventSession;
use crate::scenario::{ScriptStep, SessionScript};
use crate::{
    Agent, AgentError, AgentEvent, AgentWatch, Capabilities, Request, ResultEvent, Scenario,
    SessionReport, Watchdog,
};

/// Stands in a final message for the nonce that the session's prompt asks a verdict to carry.
const NONCE: &str = "$NONCE";

/// `argv[1]` of our own binary in the player's mode.
pub const REPLAY_ARG: &str = "__replay";

pub struct ReplayAgent {
    exe: PathBuf,
    scenario: PathBuf,
    shim: Shim,
    watchdog: Watchdog,
}

impl ReplayAgent {
    /// Prepares to play the scenario file with `exe`, our own binary.
    pub fn new(exe: PathBuf, scenario: PathBuf, watchdog: Watchdog) -> Self {
        Self { shim: Shim::new(exe.clone()), exe, scenario, watchdog }
    }
}

impl Agent for ReplayAgent {
    fn name(&self) -> &'static str {
        "replay"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { cost: true, usage: true, ..Capabilities::default() }
    }

    fn starts_with(&self) -> Vec<PathBuf> {
        vec![self.scenario.clone()]
    }

    fn recount(&self, transcript: &mut dyn BufRead) -> SessionReport {
        crate::event_session::recount(transcript)
    }

    fn run(
        &self,
        request: &Request,
        watch: &mut dyn AgentWatch,
    ) -> Result<SessionReport, AgentError> {
        let mut args = vec![
            REPLAY_ARG.to_owned(),
            self.scenario.to_string_lossy().into_owned(),
            request.role.clone(),
            request.bounce.to_string(),
        ];
        if let Some(server) = request.mcp_servers.first() {
            args.push(serde_json::to_string(&server.env).unwrap_or_default());
        }
        let mut account = EventSession::new(request);
        let dialogue = Dialogue::new(self.exe.clone(), args, request, &self.watchdog);
        let ending = control::run(&self.shim, &dialogue, watch, &mut |watch, line| {
            account.hear(watch, line)
        })?;
        Ok(account.report(&ending))
    }
}

/// Plays one part, in the current directory. Returns the exit code: 0, the scenario's own, or
/// 65 where scenario and prompt do not fit.
pub fn play(
    args: &[String],
    prompt: &mut dyn Read,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    match try_play(args, prompt, out) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(err, "{error}");
            65
        }
    }
}

fn try_play(
    args: &[String],
    prompt: &mut dyn Read,
    out: &mut dyn Write,
) -> Result<u8, Box<dyn std::error::Error>> {
    let [scenario, role, bounce, broker @ ..] = args else {
        return Err("three arguments are needed".into());
    };
    let served: Vec<(String, String)> =
        broker.first().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let text = std::fs::read_to_string(scenario)
        .map_err(|error| format!("cannot read the scenario {scenario}: {error}"))?;
    let mut asked = String::new();
    prompt.read_to_string(&mut asked)?;
    let scenario = Scenario::parse(&text)?;
    let part = scenario.part(role, bounce.parse()?, &asked)?;
    for step in part.script()? {
        if let Some(code) = perform(&step, (&asked, &served), out)? {
            return Ok(code);
        }
    }
    say(out, &AgentEvent::Result(last_word(part, &asked)))?;
    Ok(0)
}

fn last_word(part: &SessionScript, prompt: &str) -> ResultEvent {
    ResultEvent {
        text: part.final_text.replace(NONCE, nonce(prompt).unwrap_or(NONCE)),
        session_id: Some(format!("replay-{}-{}", part.role, part.bounce)),
        turns: part.turns,
        usage: part.usage,
        cost_usd: part.cost(),
    }
}

/// Returns the nonce that the prompt of a verifier ends with.
fn nonce(prompt: &str) -> Option<&str> {
    let (_, after) = prompt.rsplit_once("<verdict>{\"nonce\": \"")?;
    after.split_once('"').map(|(nonce, _)| nonce)
}

/// Performs one step; a code ends the session with it.
fn perform(
    step: &ScriptStep,
    (prompt, served): (&str, &[(String, String)]),
    out: &mut dyn Write,
) -> Result<Option<u8>, Box<dyn std::error::Error>> {
    let mut used = |tool: &str, summary: &str, path: Option<&str>| {
        let event = AgentEvent::ToolUse {
            tool: tool.to_owned(),
            summary: summary.to_owned(),
            path: path.map(str::to_owned),
        };
        say(out, &event)
    };
    match step {
        ScriptStep::Say(text) => say(out, &AgentEvent::Text { text: text.clone() })?,
        ScriptStep::Expect(text) if prompt.contains(text) => {}
        ScriptStep::Expect(text) => return Err(format!("the prompt does not say {text:?}").into()),
        ScriptStep::Write { path, content } => {
            used("write", path, Some(path))?;
            control::ensure_parent(Path::new(path))?;
            std::fs::write(path, content)?;
        }
        ScriptStep::Edit { path, find, replace } => {
            used("edit", path, Some(path))?;
            let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
            if !text.contains(find) {
                return Err(format!("{path} does not contain {find:?}").into());
            }
            std::fs::write(path, text.replacen(find, replace, 1))?;
        }
        ScriptStep::Delete(path) => {
            used("delete", path, Some(path))?;
            std::fs::remove_file(path)?;
        }
        ScriptStep::Run(command) => {
            used("run", command, None)?;
            let output = Tool::new("sh").args(["-c", command]).output()?;
            say(out, &AgentEvent::ToolResult { tool: "run".to_owned(), ok: output.is_success() })?;
        }
        ScriptStep::Call { tool, arguments, answer } => {
            used(tool, &arguments.to_string(), None)?;
            let told = call(served, tool, arguments)?;
            say(out, &AgentEvent::ToolResult { tool: tool.clone(), ok: !told.is_error })?;
            if let Some(words) = answer.as_ref().filter(|words| !told.text.contains(*words)) {
                return Err(format!("{tool} does not answer {words:?} but {}", told.text).into());
            }
        }
        ScriptStep::Sleep(time) => std::thread::sleep(*time),
        ScriptStep::Hang => loop {
            std::thread::park();
        },
        ScriptStep::Exit(code) => return Ok(Some(*code)),
    }
    Ok(None)
}

/// Calls a tool of the session's own server.
fn call(
    served: &[(String, String)],
    tool: &str,
    arguments: &serde_json::Value,
) -> Result<ToolAnswer, Box<dyn std::error::Error>> {
    let remote = Remote::of_environment(served).ok_or("this session is served no tools")?;
    let ask = Ask::Call { tool: tool.to_owned(), arguments: arguments.clone() };
    match remote.ask(&ask, &|| false)? {
        Told::Answer(answer) => Ok(answer),
        _ => Err(format!("{tool} was refused").into()),
    }
}

fn say(out: &mut dyn Write, event: &AgentEvent) -> io::Result<()> {
    let mut line = serde_json::to_string(event)?;
    line.push('\n');
    out.write_all(line.as_bytes())?;
    out.flush()
}
