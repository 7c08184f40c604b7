//! What a running use case has to say.

mod loops;
mod words;

use std::fmt;

use spore_agent::AgentEvent;
use spore_investigate::passes::InvestigationEstimate;
use spore_model::{Cost, Finding, RefusedCalls, RunId, Timestamp, TraceId, Usd};
use spore_runs::Live;

pub use loops::{LoopSummary, LoopUpdate};
pub use words::counted;
use words::first_line;

/// Receives updates; a terminal, a log or a stream of JSON.
pub trait Progress {
    fn update(&mut self, update: &Update);

    /// Tells what an investigation is about to ask, and returns whether it may: nothing is paid
    /// before.
    fn consents(&mut self, _: &InvestigationEstimate) -> bool {
        true
    }
}

/// One thing worth telling while a run goes on. `Display` is the plain line.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(tag = "update", rename_all = "snake_case")]
pub enum Update {
    Initialised,
    /// The user's uncommitted work is not part of the base.
    NotInBase {
        files: u32,
    },
    /// No agent was chosen, and one alone is ready.
    AgentChosen {
        backend: String,
    },
    Started {
        run: RunId,
        base: String,
    },
    Resumed {
        run: RunId,
        reaped: u32,
    },
    /// Something that no sandbox holds agents or gates to.
    NotHeld {
        note: String,
    },
    /// Something that a person or a session said held a secret, which was struck from it.
    Struck {
        what: String,
    },
    /// Transcripts and logs of the oldest runs made room for those of this one.
    RecordsTrimmed {
        bytes: u64,
    },
    Gates {
        what: String,
    },
    GateEnded {
        line: String,
    },
    /// Another run of this project has the gates' checkout.
    Waiting,
    /// A session cannot have a token that outlives it, or waits until it can.
    SignIn {
        note: String,
    },
    Session {
        role: String,
        bounce: u32,
        max_bounces: u32,
        backend: String,
    },
    Agent {
        role: String,
        event: AgentEvent,
    },
    SessionEnded {
        role: String,
        outcome: String,
        turns: u32,
        cost: Cost,
    },
    /// What a session or a check does now. For those who look on; no line of its own.
    Live {
        live: Live,
    },
    /// That is over.
    LiveEnded {
        id: RunId,
    },
    /// Files that a coder edited and that no commit takes.
    LeftOut {
        files: Vec<String>,
    },
    /// What looks like a secret turns a change down.
    Secrets {
        found: Vec<Finding>,
    },
    /// What a session was not let do, and what would let it.
    Refused {
        role: String,
        calls: RefusedCalls,
        cure: String,
    },
    OverBudget {
        usd: Usd,
    },
    /// The coder's checkout was removed while the run was waiting.
    CheckoutLost,
    /// A session that was cut off goes on in its conversation and with its files, which a ref
    /// keeps as well.
    GoesOn {
        role: String,
        left: Option<String>,
    },
    /// A session that was cut off cannot be gone on with; a ref keeps what it left.
    BeginsAnew {
        role: String,
        left: String,
    },
    Snapshot {
        files: u32,
    },
    /// Verified work was laid onto a branch that moved on.
    Rebased {
        onto: String,
        files: u32,
        overlap: Vec<String>,
    },
    Closed {
        bounce: u32,
        held: bool,
        reason: String,
    },
    /// The tree is read for the first time, which takes its time.
    Reading,
    /// What a session is told is less than it could be.
    LessContext {
        why: String,
    },
    /// What became of the verified commit.
    Applied {
        done: bool,
        what: String,
        commit: String,
    },
    SummedUp {
        note: String,
    },
    /// A layer of a flow begins or ends something: S4's structured event.
    Layer {
        layer: &'static str,
        stage: String,
        status: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        ts: Timestamp,
        trace_id: TraceId,
        /// How many layers and sessions are around it.
        depth: u32,
        /// Set at an end.
        #[serde(skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<u64>,
    },
    /// What the run of a task has to say.
    OfTask {
        task: String,
        told: Box<Self>,
    },
    /// What a session that another process runs for this one has to say.
    Relayed {
        line: String,
    },
    /// How far an investigation is, and what it has cost.
    Looking {
        done: u64,
        total: u64,
        spent: Usd,
        budget: Usd,
    },
    /// Sessions may be nested no deeper than the one that is about to start.
    Shallow {
        limit: u32,
    },
    /// The stages of an orchestrator are done in one session, or why they are not.
    Compressed {
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// A person turned a plan down whose phases had been changed: the next version has none of that.
    ChangesLost {
        changes: Vec<String>,
    },
    /// What a loop over a list of tasks has to say of its own.
    #[serde(untagged)]
    Loop(LoopUpdate),
}

impl Update {
    /// Returns whether it is one of many lines about what an agent does, set in below the rest.
    pub fn is_detail(&self) -> bool {
        match self {
            Self::OfTask { told, .. } => told.is_detail(),
            _ => matches!(self, Self::Agent { .. }),
        }
    }

    /// Returns whether only `-v` shows it: what an agent says and thinks. What it does is told
    /// as it happens.
    pub fn is_talk(&self) -> bool {
        match self {
            Self::OfTask { told, .. } => told.is_talk(),
            Self::Agent { event, .. } => {
                !matches!(event, AgentEvent::ToolUse { .. } | AgentEvent::ToolRefused { .. })
            }
            _ => false,
        }
    }

    /// Returns whether it is about this moment alone, and worth no line.
    pub fn is_live(&self) -> bool {
        matches!(
            self,
            Self::Live { .. }
                | Self::LiveEnded { .. }
                | Self::Looking { .. }
                | Self::Loop(LoopUpdate::LoopTotals { .. } | LoopUpdate::AgentLimited { .. })
        )
    }
}

fn bar(done: u64, total: u64) -> String {
    const WIDTH: u64 = 24;
    let filled = (done * WIDTH).checked_div(total).unwrap_or(0).min(WIDTH);
    let bar: String = (0..WIDTH).map(|at| if at < filled { '=' } else { ' ' }).collect();
    format!("look at [{bar}] {done}/{total} directories")
}

fn rebased(onto: &str, files: u32, overlap: &[String]) -> String {
    let (onto, files) = (&onto[..12.min(onto.len())], counted(files, "file"));
    let anew =
        overlap.first().map(|first| format!("; both sides touch {first}: to be judged anew"));
    format!("brought onto {onto}, {files}{}", anew.unwrap_or_default())
}

fn trimmed(bytes: u64) -> String {
    format!(
        "Transcripts and logs of the oldest runs were removed, {} KB: they took more than \
         `records.cap_bytes`.",
        bytes.div_ceil(1024)
    )
}

fn shallow(limit: u32) -> String {
    format!(
        "This is the last level of sessions that the limit of {limit} allows: they can start none."
    )
}

fn changes_lost(changes: &[String]) -> String {
    format!(
        "What you changed of the phases goes with this version of the plan: {}. Change the next one \
         anew.",
        changes.join("; ")
    )
}

/// Says that stages are done in one session, or why not.
fn compressed(name: &str, why: Option<&str>) -> String {
    match why {
        None => format!("No session may be nested deeper: {name} is done in one."),
        Some(why) => format!("{name} cannot be done in one session: {why}."),
    }
}

impl fmt::Display for Update {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Initialised => write!(f, "Initialised .spore/, where runs are kept."),
            Self::NotInBase { files } => {
                let are = if *files == 1 { "is" } else { "are" };
                let files = counted(*files, "uncommitted file");
                write!(f, "{files} {are} not part of this run: it starts from HEAD.")
            }
            Self::AgentChosen { backend } => {
                write!(f, "Using {backend}, the only agent that is installed and signed in here.")
            }
            Self::Started { run, base } => {
                write!(f, "Run {} starts from {}.", run.short(), &base[..12.min(base.len())])
            }
            Self::Resumed { run, reaped: 0 } => write!(f, "Run {} goes on.", run.short()),
            Self::Resumed { run, reaped: 1 } => {
                write!(f, "Run {} goes on; a process left behind was ended.", run.short())
            }
            Self::Resumed { run, reaped } => {
                write!(f, "Run {} goes on; {reaped} processes left behind were ended.", run.short())
            }
            Self::NotHeld { note } | Self::SignIn { note } => f.write_str(note),
            Self::Relayed { line } => f.write_str(line),
            Self::Struck { what } => write!(
                f,
                "There is a secret in {what}: it was struck, so no agent gets it and it is kept \
                 nowhere."
            ),
            Self::RecordsTrimmed { bytes } => f.write_str(&trimmed(*bytes)),
            Self::Gates { what } => write!(f, "checks: {what}"),
            Self::GateEnded { line } => write!(f, "checks: {line}"),
            Self::Session { role, bounce: 0, backend, .. } => write!(f, "{role} ({backend})"),
            Self::Session { role, bounce, max_bounces, backend } => {
                write!(f, "attempt {bounce}/{max_bounces}: {role} ({backend})")
            }
            Self::Agent { role, event } => write!(f, "{role}: {}", AgentLine(event)),
            Self::SessionEnded { role, outcome, turns, cost } => {
                write!(f, "{role}: {outcome}, {}, {cost}", counted(*turns, "turn"))
            }
            Self::Looking { done, total, spent, budget } => {
                write!(f, "{}, {spent} of {budget}", bar(*done, *total))
            }
            Self::Live { live } => f.write_str(&live.name),
            Self::LiveEnded { id } => write!(f, "{id}"),
            Self::LeftOut { files } => {
                write!(
                    f,
                    "left out of the commit: {}; `[commit] allow` lets paths in",
                    files.join(", ")
                )
            }
            Self::Rebased { onto, files, overlap } => f.write_str(&rebased(onto, *files, overlap)),
            Self::Secrets { found } => {
                let places: Vec<String> = found.iter().map(ToString::to_string).collect();
                write!(f, "turned down for secrets: {}; {ALLOW_SECRETS}", places.join(", "))
            }
            Self::Refused { role, calls, cure } => write!(f, "{role}: {calls}; {cure}"),
            Self::OverBudget { usd } => write!(f, "the session cost {usd} more than was left"),
            Self::Waiting => write!(f, "waiting for another run's checks"),
            Self::CheckoutLost => write!(
                f,
                "the coder's checkout is gone, and with it what was not handed in: going on from the last attempt"
            ),
            Self::GoesOn { role, left: None } => {
                write!(f, "{role}: goes on in its own conversation")
            }
            Self::GoesOn { role, left: Some(left) } => write!(
                f,
                "{role}: goes on in its own conversation, with its files as they were (also kept: {left})"
            ),
            Self::BeginsAnew { role, left } => write!(
                f,
                "{role}: its conversation cannot be gone on with; the new session is told what the \
                 one before left, which is kept: {left}"
            ),
            Self::Snapshot { files } => write!(f, "{} changed", counted(*files, "file")),
            Self::Closed { bounce, held: true, .. } => write!(f, "attempt {bounce} passes"),
            Self::Closed { bounce, held: false, reason } => {
                write!(f, "attempt {bounce} does not pass: {}", first_line(reason))
            }
            Self::Reading => write!(f, "reading the code for the first time"),
            Self::LessContext { why } => write!(f, "{why}"),
            Self::Applied { done: true, what, commit } => {
                write!(f, "committed {}: {what}", &commit[..12.min(commit.len())])
            }
            Self::Applied { done: false, what, commit } => {
                write!(f, "committed {}, but not applied: {what}", &commit[..12.min(commit.len())])
            }
            Self::SummedUp { note } => write!(f, "summed up: {note}"),
            Self::Layer { stage, status, detail: None, .. } => write!(f, "[{stage}] {status}"),
            Self::Layer { stage, status, detail: Some(detail), .. } => {
                write!(f, "[{stage}] {status} - {}", first_line(detail))
            }
            Self::OfTask { task, told } => write!(f, "[{task}] {told}"),
            Self::Loop(told) => told.fmt(f),
            Self::ChangesLost { changes } => f.write_str(&changes_lost(changes)),
            Self::Compressed { name, why } => f.write_str(&compressed(name, why.as_deref())),
            Self::Shallow { limit } => f.write_str(&shallow(*limit)),
        }
    }
}

/// How secrets that are meant to be there are let through.
pub const ALLOW_SECRETS: &str = "`spore config set commit.allow_secrets PATH` lets a path through";

/// Returns one thing that an agent did as one line.
pub(crate) fn agent_line(event: &AgentEvent) -> String {
    AgentLine(event).to_string()
}

struct AgentLine<'a>(&'a AgentEvent);

impl fmt::Display for AgentLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            AgentEvent::Text { text } | AgentEvent::Thinking { text } => {
                f.write_str(&first_line(text))
            }
            AgentEvent::ToolUse { tool, summary, .. } => {
                write!(f, "{tool} {}", first_line(summary))
            }
            AgentEvent::ToolRefused { tool } => write!(f, "{tool} refused"),
            AgentEvent::ToolResult { tool, ok: true } => write!(f, "{tool} ok"),
            AgentEvent::ToolResult { tool, ok: false } => write!(f, "{tool} failed"),
            AgentEvent::Usage { usage } => {
                write!(f, "{} tokens in, {} out", usage.input_tokens, usage.output_tokens)
            }
            AgentEvent::RateLimit { reason, .. } => write!(f, "limited: {}", first_line(reason)),
            AgentEvent::McpStatus { server, status } => write!(f, "mcp {server}: {status}"),
            AgentEvent::Result(result) => f.write_str(&first_line(&result.text)),
            AgentEvent::Raw { line } => f.write_str(&first_line(line)),
        }
    }
}
