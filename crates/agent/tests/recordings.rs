//! Sessions of real Codex, opencode, Gemini CLI, qwen-code and Claude's ACP adapter, recorded
//! once, read by today's code: the events that people and the spine see, what we would have
//! answered, and the outcome each session must have. See `claude.rs` for Claude Code's own.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use spore_agent::acp::Preset;
use spore_agent::claude::{Exit, Stopped};
use spore_agent::printed::{PrintedFormat, PrintedSession};
use spore_agent::{
    AgentEvent, McpServer, Request, RequestLimits, SessionReport, SessionSandbox, ToolPolicy, acp,
    codex,
};
use spore_model::{SessionToken, Usage};

/// How the recorded process ended: its own exit code, as it was measured; a session that was
/// still going on when the recording stopped is out of time.
#[derive(Clone, Copy)]
enum Ended {
    Exit(i32),
    Stopped(Stopped),
}

const PRINTED: &[(&str, PrintedFormat, Ended)] = &[
    ("codex/codex-basic0", PrintedFormat::Codex, Ended::Exit(0)),
    ("codex/codex-bypass", PrintedFormat::Codex, Ended::Exit(0)),
    ("codex/codex-cut", PrintedFormat::Codex, Ended::Exit(0)),
    ("codex/codex-err400", PrintedFormat::Codex, Ended::Exit(1)),
    ("codex/codex-err401", PrintedFormat::Codex, Ended::Exit(1)),
    ("codex/codex-err429", PrintedFormat::Codex, Ended::Exit(1)),
    ("codex/codex-err500", PrintedFormat::Codex, Ended::Exit(1)),
    ("codex/codex-err503", PrintedFormat::Codex, Ended::Exit(1)),
    ("codex/codex-failed", PrintedFormat::Codex, Ended::Exit(1)),
    ("codex/codex-hang", PrintedFormat::Codex, Ended::Stopped(Stopped::TimeUp)),
    ("codex/codex-mcp", PrintedFormat::Codex, Ended::Exit(0)),
    ("codex/codex-midhang", PrintedFormat::Codex, Ended::Exit(1)),
    ("codex/codex-resume", PrintedFormat::Codex, Ended::Exit(0)),
    ("codex/codex-resume1", PrintedFormat::Codex, Ended::Exit(0)),
    ("codex/codex-ro", PrintedFormat::Codex, Ended::Exit(0)),
    ("codex/codex-schema", PrintedFormat::Codex, Ended::Exit(0)),
    ("codex/codex-sigint", PrintedFormat::Codex, Ended::Stopped(Stopped::Cancelled)),
    ("codex/codex-sigterm", PrintedFormat::Codex, Ended::Exit(143)),
    ("codex/codex-usagelimit", PrintedFormat::Codex, Ended::Exit(1)),
    ("codex/codex-ws", PrintedFormat::Codex, Ended::Exit(0)),
    ("gemini/gemini-basic", PrintedFormat::Gemini, Ended::Exit(0)),
    ("gemini/gemini-default", PrintedFormat::Gemini, Ended::Exit(0)),
    ("gemini/gemini-err401", PrintedFormat::Gemini, Ended::Exit(145)),
    ("gemini/gemini-err429", PrintedFormat::Gemini, Ended::Stopped(Stopped::TimeUp)),
    ("gemini/gemini-err500", PrintedFormat::Gemini, Ended::Stopped(Stopped::TimeUp)),
    ("opencode/opencode-ask", PrintedFormat::Opencode, Ended::Exit(0)),
    ("opencode/opencode-basic", PrintedFormat::Opencode, Ended::Exit(0)),
    ("opencode/opencode-deny", PrintedFormat::Opencode, Ended::Exit(0)),
    ("opencode/opencode-err401", PrintedFormat::Opencode, Ended::Exit(1)),
    ("opencode/opencode-resume", PrintedFormat::Opencode, Ended::Exit(0)),
    ("opencode/opencode-resume1", PrintedFormat::Opencode, Ended::Exit(0)),
];

/// Recordings of both directions, with the preset and the directory that each session had.
const TALKED: &[(&str, &str, &str)] = &[
    ("acp/claude-acp", "claude-acp", "/p/w/acp-cc"),
    ("acp/gemini-acp", "gemini", "/p/w/acp-gm"),
    ("acp/gemini-acp-nofs", "gemini", "/p/w/acp2-gm"),
    ("acp/opencode-acp", "opencode", "/p/w/acp-oc"),
    ("acp/qwen-acp", "qwen", "/p/w/acp-qw"),
    ("codex/codex-appserver", "codex", "/p/w/cx-app"),
];

impl Ended {
    fn exit(self) -> Exit {
        match self {
            Self::Exit(code) => Exit { code, ..Exit::default() },
            Self::Stopped(why) => Exit { code: 143, stopped: Some(why), ..Exit::default() },
        }
    }
}

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(recordings().join(format!("{name}.jsonl"))).unwrap()
}

/// What people would want to know of a session, one thing a line.
fn told(events: &[AgentEvent], report: &SessionReport) -> String {
    let mut lines: Vec<String> =
        events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    let SessionReport { outcome, reason, final_text, usage, cost, .. } = report;
    lines.extend([
        "---".to_owned(),
        format!("{outcome:?}: {}", reason.as_deref().unwrap_or("done")),
        format!("said: {final_text:?}"),
        format!("turns: {}", report.turns),
        format!("tokens: {} in, {} out", usage.input_tokens, usage.output_tokens),
        format!("cached: {} read, {} written", usage.cache_read_tokens, usage.cache_write_tokens),
        cost.map_or("cost: not named".to_owned(), |cost| {
            format!("cost: {} USD", cost.as_dollars())
        }),
    ]);
    if let Some((low, high)) = report.usage_bounds {
        let bounds = |low: u64, high: u64| format!("{low} to {high}");
        lines.push(format!(
            "an estimate: {} in, {} out",
            bounds(low.input_tokens, high.input_tokens),
            bounds(low.output_tokens, high.output_tokens)
        ));
    }
    lines.extend(report.mcp.iter().map(|(server, status)| format!("server {server}: {status}")));
    lines.join("\n")
}

fn snapshot(name: &str, text: &str) {
    let name = name.rsplit('/').next().unwrap();
    insta::assert_snapshot!(name, text);
}

fn play_printed(
    name: &str,
    language: PrintedFormat,
    ended: Ended,
) -> (Vec<AgentEvent>, SessionReport) {
    let mut printed = PrintedSession::new(language);
    if name.ends_with("codex-resume") {
        let earlier = Usage {
            input_tokens: 900,
            output_tokens: 50,
            cache_read_tokens: 100,
            cache_write_tokens: 0,
        };
        printed = printed.after(earlier);
    }
    let events = read(name).lines().flat_map(|line| printed.line(line)).collect();
    (events, printed.conclude(&ended.exit()))
}

#[test]
fn every_printed_session_reads_as_it_went() {
    for (name, language, ended) in PRINTED {
        let (events, report) = play_printed(name, *language, *ended);
        let raw = events.iter().filter(|event| matches!(event, AgentEvent::Raw { .. }));
        assert_eq!(raw.collect::<Vec<_>>(), Vec::<&AgentEvent>::new(), "{name}");
        snapshot(name, &told(&events, &report));
    }
}

fn request(dir: &str) -> Request {
    let words = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect();
    Request {
        role: "coder".to_owned(),
        bounce: 1,
        system_prompt: String::new(),
        native_role: None,
        prompt: "do it".to_owned(),
        model: None,
        dir: dir.into(),
        env: Vec::new(),
        tools: ToolPolicy {
            allow: words(&["read", "edit", "other", "execute(echo hi > hello.txt)"]),
            ..ToolPolicy::default()
        },
        sandbox: SessionSandbox::None,
        secrets: Default::default(),
        mcp_servers: vec![McpServer {
            name: "echo".to_owned(),
            command: "/usr/bin/env".into(),
            args: words(&["python3", "echo.py"]),
            env: vec![("MODE".to_owned(), "plain".to_owned())],
            required: false,
        }],
        schema: None,
        resume: None,
        turns: None,
        limits: RequestLimits { turns: 20, wall: Duration::from_secs(60), idle: None, usd: None },
        token: SessionToken::new("0123456789abcdef").unwrap(),
        transcript: "/p/transcript.jsonl".into(),
    }
}

/// The two machines that talk, seen as one.
enum RecordedSession {
    Acp(Box<acp::AcpSession>),
    Codex(Box<codex::CodexSession>),
}

impl RecordedSession {
    fn new(preset: &str, dir: &str) -> Self {
        let request = request(dir);
        match Preset::named(preset) {
            Some(preset) => Self::Acp(Box::new(acp::AcpSession::new(&request, &preset))),
            None => Self::Codex(Box::new(codex::CodexSession::new(&request))),
        }
    }

    fn opening(&self) -> String {
        match self {
            Self::Acp(talk) => talk.opening(),
            Self::Codex(talk) => talk.opening(),
        }
    }

    fn line(&mut self, line: &str) -> (Vec<AgentEvent>, Vec<String>) {
        match self {
            Self::Acp(talk) => (talk.line(line), talk.take_answers()),
            Self::Codex(talk) => (talk.line(line), talk.take_answers()),
        }
    }

    fn conclude(&self) -> SessionReport {
        let exit = Exit::default();
        match self {
            Self::Acp(talk) => talk.conclude(&exit),
            Self::Codex(talk) => talk.conclude(&exit),
        }
    }
}

/// Plays the agent's side; returns the events, what we said, and the report.
fn play_talk(name: &str, preset: &str, dir: &str) -> (Vec<AgentEvent>, Vec<String>, SessionReport) {
    let mut talk = RecordedSession::new(preset, dir);
    let (mut events, mut said) = (Vec::new(), vec![talk.opening().trim_end().to_owned()]);
    for line in read(name).lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if line["dir"] == "agent" {
            let (more, answers) = talk.line(&line["msg"].to_string());
            events.extend(more);
            said.extend(answers);
        }
    }
    (events, said, talk.conclude())
}

#[test]
fn every_recorded_talk_reads_as_it_went() {
    for (name, preset, dir) in TALKED {
        let (events, said, report) = play_talk(name, preset, dir);
        let raw = events.iter().filter(|event| matches!(event, AgentEvent::Raw { .. }));
        assert_eq!(raw.collect::<Vec<_>>(), Vec::<&AgentEvent>::new(), "{name}");
        let said: Vec<String> = said.iter().map(|line| format!("> {line}")).collect();
        snapshot(name, &format!("{}\n---\n{}", said.join("\n"), told(&events, &report)));
    }
}

#[test]
fn no_recording_is_left_out() {
    let mut listed: Vec<String> = PRINTED.iter().map(|(name, ..)| (*name).to_owned()).collect();
    listed.extend(TALKED.iter().map(|(name, ..)| (*name).to_owned()));
    listed.sort();
    let mut found = Vec::new();
    for dir in ["acp", "codex", "gemini", "opencode"] {
        for entry in std::fs::read_dir(recordings().join(dir)).unwrap() {
            let stem = entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned();
            found.push(format!("{dir}/{stem}"));
        }
    }
    found.sort();
    assert_eq!(found, listed);
}

#[test]
fn a_talk_that_breaks_off_anywhere_before_its_end_is_no_success() {
    for (name, preset, dir) in TALKED {
        let transcript = read(name);
        let lines: Vec<Value> =
            transcript.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut talk = RecordedSession::new(preset, dir);
        for line in lines.iter().filter(|line| line["dir"] == "agent") {
            let is_end = line["msg"]["id"] == 3 && line["msg"]["result"]["stopReason"].is_string()
                || line["msg"]["method"] == "turn/completed";
            if is_end {
                break;
            }
            talk.line(&line["msg"].to_string());
            assert_ne!(talk.conclude().outcome, spore_model::Outcome::Success, "{name}");
        }
    }
}
