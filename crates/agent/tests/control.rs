//! Sessions of an agent that misbehaves, through a real shim: each trick has its outcome, and
//! nothing of any session is left.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time and environment")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::Path;
use std::time::{Duration, Instant};

use spore_agent::claude::ClaudeAgent;
use spore_agent::command::{CommandAgent, CommandOutput, Template};
use spore_agent::{
    Agent, AgentError, AgentEvent, AgentWatch, BoxError, Conversation, McpServer, Request,
    RequestLimits, SessionReport, ToolPolicy, Watchdog,
};
use spore_effects::session::{Grace, ProcessIdentity, Shim, find_by_token};
use spore_model::{Outcome, SessionToken, Usd};

const EXE: &str = env!("CARGO_BIN_EXE_agent-test-shim");

/// So long that no test ever waits for it, and a stuck one does not wait for ever.
const LONG: Duration = Duration::from_secs(60);

struct Scene {
    dir: tempfile::TempDir,
    template: Template,
    watchdog: Watchdog,
    request: Request,
}

/// What a session looked like from outside.
struct Seen {
    report: SessionReport,
    events: Vec<AgentEvent>,
    starts: u32,
}

/// Decides by what was heard so far.
type Cancel = dyn Fn(&[AgentEvent]) -> bool;

#[derive(Default)]
struct Witness {
    events: Vec<AgentEvent>,
    starts: u32,
    cancel: Option<Box<Cancel>>,
    /// The session is worthless once it spoke, for this reason.
    worthless: Option<String>,
    fresh_starts: u32,
}

impl AgentWatch for Witness {
    fn starting(&mut self, _: &ProcessIdentity) -> Result<(), BoxError> {
        self.starts += 1;
        Ok(())
    }

    fn event(&mut self, event: &AgentEvent) {
        self.events.push(event.clone());
    }

    fn afresh(&mut self) -> Result<(), BoxError> {
        self.fresh_starts += 1;
        Ok(())
    }

    fn cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel(&self.events))
    }

    fn worthless(&self) -> Option<String> {
        self.worthless.clone().filter(|_| spoke(&self.events))
    }
}

impl Scene {
    fn new(token: &str, tricks: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let token = token.replace('-', "");
        let mut args = vec!["--format".to_owned(), "events".to_owned()];
        args.extend(tricks.iter().flat_map(|&trick| ["--trick".to_owned(), trick.to_owned()]));
        let watchdog = Watchdog {
            first_output: LONG,
            exit: LONG,
            start_retry_pause: Duration::from_millis(10),
            grace: Grace { interrupt_ms: 100, terminate_ms: 100 },
            line_cap: 1 << 20,
            transcript_cap: 8 << 20,
        };
        let request = Request {
            role: "coder".to_owned(),
            bounce: 1,
            system_prompt: String::new(),
            native_role: None,
            prompt: "Mend it.".to_owned(),
            model: None,
            dir: dir.path().to_owned(),
            env: vec![("PATH".to_owned(), std::env::var("PATH").unwrap())],
            tools: ToolPolicy::default(),
            sandbox: spore_agent::SessionSandbox::None,
            secrets: Default::default(),
            mcp_servers: Vec::new(),
            schema: None,
            resume: None,
            turns: None,
            limits: RequestLimits { turns: 10, wall: LONG, idle: None, usd: None },
            token: SessionToken::new(format!("{token:0<16}{}", std::process::id())).unwrap(),
            transcript: dir.path().join("session/transcript.jsonl"),
        };
        let template = Template { program: EXE.into(), args, output: CommandOutput::Events };
        Self { dir, template, watchdog, request }
    }

    fn run_watched_by(&self, witness: &mut Witness) -> Result<SessionReport, AgentError> {
        let command =
            CommandAgent::new(self.template.clone(), Shim::new(EXE.into()), self.watchdog).unwrap();
        let report = command.run(&self.request, witness);
        assert_eq!(find_by_token(&self.request.token), Vec::<i32>::new());
        report
    }

    fn run(&self) -> Seen {
        let mut witness = Witness::default();
        let report = self.run_watched_by(&mut witness).unwrap();
        Seen { report, events: witness.events, starts: witness.starts }
    }

    fn file(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.dir.path().join("session").join(name)).unwrap()
    }
}

fn spoke(events: &[AgentEvent]) -> bool {
    events.iter().any(|event| matches!(event, AgentEvent::Text { .. }))
}

#[track_caller]
fn check(scene: &Scene, outcome: Outcome, reason: &str) -> Seen {
    let start = Instant::now();
    let seen = scene.run();
    let found = (seen.report.outcome, seen.report.reason.as_deref().unwrap_or_default());
    assert_eq!(found, (outcome, reason));
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
    seen
}

#[track_caller]
fn check_trick(trick: &str, outcome: Outcome, reason: &str) -> Seen {
    check(&Scene::new(trick, &[trick]), outcome, reason)
}

#[test]
fn a_session_is_told_reported_and_kept() {
    let scene = Scene::new("plain", &[]);
    let seen = check(&scene, Outcome::Success, "");
    assert_eq!((seen.report.final_text.as_str(), seen.report.turns, seen.starts), ("Done.", 2, 1));
    assert_eq!(seen.report.mcp, [("spore".to_owned(), "connected".to_owned())]);
    assert!(seen.events.contains(&AgentEvent::Text { text: "I was asked 8 bytes.".to_owned() }));
    assert_eq!(scene.file("transcript.jsonl").split(|&byte| byte == b'\n').count(), 6);
    assert_eq!(scene.file("stderr.log"), b"");
}

#[test]
fn the_way_lines_arrive_does_not_matter() {
    let whole = check(&Scene::new("whole", &[]), Outcome::Success, "");
    for trick in ["partial-lines", "trickle"] {
        assert_eq!(check_trick(trick, Outcome::Success, "").events, whole.events);
    }
}

#[test]
fn garbage_is_kept_and_harms_nobody() {
    let scene = Scene::new("garbage", &["garbage"]);
    let seen = check(&scene, Outcome::Success, "");
    let raw = |event: &&AgentEvent| matches!(event, AgentEvent::Raw { .. });
    assert_eq!(seen.events.iter().filter(raw).count(), 3);
    let kept = scene.file("transcript.jsonl");
    assert!(kept.windows(2).any(|bytes| bytes == b"\xff\xfe"));
}

#[test]
fn a_huge_line_is_heard_to_the_cap_and_the_session_goes_on() {
    let scene = Scene::new("huge-line", &["huge-line"]);
    let seen = check(&scene, Outcome::Success, "");
    let longest = seen.events.iter().find_map(|event| match event {
        AgentEvent::Raw { line } => Some(line),
        _ => None,
    });
    let line = longest.unwrap();
    assert!(line.len() < (1 << 20) + 100 && line.ends_with(" more bytes"), "{}", line.len());
    assert_eq!(scene.file("transcript.jsonl").len(), 8 << 20);
}

#[test]
fn a_flood_of_events_is_heard_to_its_end() {
    let mut scene = Scene::new("flood", &["flood"]);
    scene.template.args.extend(["--count".to_owned(), "20000".to_owned()]);
    let seen = check(&scene, Outcome::Success, "");
    assert_eq!(seen.report.turns, 20_002);
    assert_eq!(seen.events.len(), 20_005);
}

#[test]
fn a_flood_on_stderr_keeps_its_beginning_and_its_end() {
    let scene = Scene::new("stderr-flood", &["stderr-flood", "exit-one"]);
    check(&scene, Outcome::Failure, "it exited with code 1: the last complaint");
    let log = String::from_utf8(scene.file("stderr.log")).unwrap();
    assert!(log.len() < (1 << 20) + 5000 && log.starts_with("eee"), "{}", log.len());
    assert!(log.contains("\n… 8947") && log.ends_with("the last complaint\n"));
}

#[test]
fn success_takes_more_than_one_signal() {
    check_trick("exit-one", Outcome::Failure, "it exited with code 1");
    let reason = "it exited with code 0 and no final message";
    check_trick("no-result", Outcome::Failure, reason);
}

#[test]
fn a_lie_about_tests_is_no_business_of_the_session() {
    let seen = check_trick("liar", Outcome::Success, "");
    assert_eq!(seen.report.final_text, "All 128 tests pass.");
}

#[test]
fn an_agent_that_never_says_a_word_is_ended() {
    for tricks in [&["hang-first"][..], &["hang-first", "deaf"]] {
        let mut scene = Scene::new("silence", tricks);
        scene.watchdog.first_output = Duration::from_millis(100);
        let seen = check(&scene, Outcome::TimedOut, "it never said a word");
        assert_eq!(seen.starts, 2);
    }
}

#[test]
fn an_agent_that_hangs_while_it_starts_is_started_once_more() {
    let mut scene = Scene::new("hangsonce", &["hang-first-once"]);
    scene.watchdog.first_output = Duration::from_millis(500);
    let seen = check(&scene, Outcome::Success, "");
    assert_eq!(seen.starts, 2);
}

#[test]
fn a_session_that_the_caller_finds_worthless_is_ended_for_that_reason() {
    let scene = Scene::new("worthless", &["hang-silent"]);
    let reason = "its tools are not there".to_owned();
    let mut witness = Witness { worthless: Some(reason.clone()), ..Witness::default() };
    let report = scene.run_watched_by(&mut witness).unwrap();
    assert_eq!((report.outcome, report.reason), (Outcome::Failure, Some(reason.clone())));

    let mut witness = Witness { worthless: Some(reason.clone()), ..Witness::default() };
    let report = run_claude(&scene, &mut witness);
    assert_eq!((report.outcome, report.reason), (Outcome::Failure, Some(reason)));
}

#[test]
fn the_wall_clock_holds_whatever_the_agent_ignores() {
    for tricks in [&["hang-silent"][..], &["deaf", "hang-silent"], &["daemon", "hang-silent"]] {
        let mut scene = Scene::new("wall", tricks);
        scene.request.limits.wall = Duration::from_millis(400);
        check(&scene, Outcome::TimedOut, "its time was over");
    }
}

#[test]
fn silence_ends_a_session_only_while_no_tool_is_running() {
    let mut scene = Scene::new("idle", &["hang-silent"]);
    scene.request.limits.idle = Some(Duration::from_millis(300));
    check(&scene, Outcome::TimedOut, "it fell silent");

    let mut scene = Scene::new("tool", &["slow-tool"]);
    scene.request.limits.idle = Some(Duration::from_millis(300));
    check(&scene, Outcome::Success, "");
}

#[test]
fn an_agent_that_lives_on_after_its_last_word_is_ended_and_believed() {
    for tricks in [&["hang-last"][..], &["deaf", "hang-last"]] {
        let mut scene = Scene::new("linger", tricks);
        scene.watchdog.exit = Duration::from_millis(100);
        check(&scene, Outcome::Success, "");
    }
}

#[test]
fn an_agent_that_closes_its_mouth_and_lives_on_is_ended_and_not_believed() {
    let mut scene = Scene::new("mute", &["mute"]);
    scene.watchdog.exit = Duration::from_millis(100);
    check(&scene, Outcome::Failure, "it fell silent for good and lived on");
}

#[test]
fn a_daemon_that_holds_stdout_neither_delays_the_end_nor_survives_it() {
    let seen = check_trick("daemon", Outcome::Success, "");
    assert_eq!(seen.report.swept, 1);
}

#[test]
fn a_stubborn_daemon_does_not_hide_the_exit_code() {
    let mut scene = Scene::new("stubborn", &["deaf", "daemon", "exit-one"]);
    scene.watchdog.exit = Duration::from_millis(10);
    let seen = check(&scene, Outcome::Failure, "it exited with code 1");
    assert_eq!(seen.report.swept, 1);
}

#[test]
fn a_cancelled_session_ends_and_says_so() {
    let scene = Scene::new("cancel", &["hang-silent"]);
    let mut witness = Witness { cancel: Some(Box::new(spoke)), ..Witness::default() };
    let report = scene.run_watched_by(&mut witness).unwrap();
    let expected = (Outcome::Interrupted, Some("it was interrupted".to_owned()));
    assert_eq!((report.outcome, report.reason), expected);
}

/// The same agent in Claude's language, which can be asked to stop.
fn run_claude(scene: &Scene, witness: &mut Witness) -> SessionReport {
    let claude = ClaudeAgent::new(EXE.into(), Shim::new(EXE.into()), scene.watchdog, 3);
    let report = claude.run(&scene.request, witness).unwrap();
    assert_eq!(find_by_token(&scene.request.token), Vec::<i32>::new());
    report
}

#[test]
fn the_fake_agent_passes_for_claude() {
    let scene = Scene::new("claude", &[]);
    let report = run_claude(&scene, &mut Witness::default());
    assert_eq!((report.outcome, report.final_text.as_str()), (Outcome::Success, "Done."));
    assert_eq!((report.turns, report.cost), (2, Usd::from_dollars(0.01)));
}

#[test]
fn an_agent_that_understands_is_asked_to_stop_before_any_signal() {
    let mut scene = Scene::new("asked", &[]);
    scene.watchdog.grace = Grace { interrupt_ms: 60_000, terminate_ms: 60_000 };
    let tricks = ("FAKE_AGENT_TRICKS".to_owned(), "interruptible".to_owned());
    scene.request.env.push(tricks);
    let mut witness = Witness { cancel: Some(Box::new(spoke)), ..Witness::default() };
    let start = Instant::now();
    let report = run_claude(&scene, &mut witness);
    // What it cost was said after it was asked, and no signal was waited for.
    let expected = (Outcome::Interrupted, Usd::from_dollars(0.01));
    assert_eq!((report.outcome, report.cost), expected);
    assert!(start.elapsed() < LONG / 2);
}

#[test]
fn an_agent_that_does_not_heed_the_question_gets_the_signals() {
    let mut scene = Scene::new("unheard", &[]);
    scene.request.env.push(("FAKE_AGENT_TRICKS".to_owned(), "deaf,hang-silent".to_owned()));
    let mut witness = Witness { cancel: Some(Box::new(spoke)), ..Witness::default() };
    let report = run_claude(&scene, &mut witness);
    assert_eq!((report.outcome, report.cost), (Outcome::Interrupted, None));
}

#[test]
fn a_stillborn_session_is_started_once_more() {
    let seen = check_trick("stillborn-once", Outcome::Success, "");
    assert_eq!(seen.starts, 2);
    let reason = "it exited with code 1: the agent could not be started";
    assert_eq!(check_trick("stillborn", Outcome::Failure, reason).starts, 2);
}

#[test]
fn a_pause_before_the_second_start_can_be_cancelled() {
    let mut scene = Scene::new("pause", &["stillborn"]);
    scene.watchdog.start_retry_pause = LONG;
    let token = scene.request.token.clone();
    let first_is_over = move |_: &[AgentEvent]| find_by_token(&token).is_empty();
    let mut witness = Witness { cancel: Some(Box::new(first_is_over)), ..Witness::default() };
    let start = Instant::now();
    let report = scene.run_watched_by(&mut witness).unwrap();
    assert_eq!((report.outcome, witness.starts), (Outcome::Failure, 1));
    assert!(start.elapsed() < LONG / 2);
}

#[test]
fn a_conversation_that_is_lost_starts_afresh_with_the_whole_prompt() {
    let mut scene = Scene::new("resume", &["stillborn-once"]);
    scene.template.args.push("--resume={session}".to_owned());
    scene.request.resume =
        Some(Conversation { session_id: "lost".to_owned(), prompt: "Go on.".to_owned() });
    scene.request.system_prompt = "You mend.".to_owned();
    let mut witness = Witness::default();
    let report = scene.run_watched_by(&mut witness).unwrap();
    assert_eq!((report.outcome, witness.starts), (Outcome::Success, 2));
    assert_eq!(witness.fresh_starts, 1, "the caller was told before");
    let seen = witness;
    // "You mend.", an empty line, "Mend it."
    assert!(seen.events.contains(&AgentEvent::Text { text: "I was asked 19 bytes.".to_owned() }));
}

#[test]
fn a_required_server_that_is_not_connected_ends_the_session() {
    let server = |required| McpServer {
        name: "spore".to_owned(),
        command: "spore".into(),
        args: Vec::new(),
        env: Vec::new(),
        required,
    };
    let mut scene = Scene::new("server", &["mcp-failed", "hang-silent"]);
    scene.request.mcp_servers = vec![server(true)];
    let reason = "the MCP server spore is not connected but failed";
    check(&scene, Outcome::Failure, reason);

    let mut scene = Scene::new("optional", &["mcp-failed"]);
    scene.request.mcp_servers = vec![server(false)];
    check(&scene, Outcome::Success, "");
}

#[test]
fn no_secret_is_left_in_transcript_log_events_or_report() {
    const SECRET: &str = "sk-0123456789-very-secret";
    let mut scene = Scene::new("leak", &["leak", "no-result"]);
    scene.request.env.push(("MODEL_API_KEY".to_owned(), SECRET.to_owned()));
    let reason = "it exited with code 0: MODEL_API_KEY is [secret MODEL_API_KEY]";
    let seen = check(&scene, Outcome::Failure, reason);
    let left = [
        String::from_utf8(scene.file("transcript.jsonl")).unwrap(),
        String::from_utf8(scene.file("stderr.log")).unwrap(),
        format!("{:?} {:?}", seen.events, seen.report),
    ];
    for text in left {
        assert!(!text.contains("very-secret") && text.contains("[secret MODEL_API_KEY]"), "{text}");
    }
}

#[test]
fn plain_text_is_an_answer() {
    let mut scene = Scene::new("text", &[]);
    scene.template.output = CommandOutput::Text;
    scene.template.args = vec!["--format".to_owned(), "text".to_owned()];
    let seen = check(&scene, Outcome::Success, "");
    assert_eq!(seen.report.final_text, "I was asked 8 bytes.\nDone.");
    assert_eq!(seen.report.turns, 1);
}

#[test]
fn a_prompt_file_takes_the_place_of_stdin_and_is_the_users_own() {
    let mut scene = Scene::new("file", &[]);
    scene.template = Template {
        program: "sh".into(),
        args: ["-c", "cat; stat -c %a \"$1\"; cat \"$1\"", "--model={model}", "{prompt_file}"]
            .map(str::to_owned)
            .to_vec(),
        output: CommandOutput::Text,
    };
    scene.request.model = Some("small".to_owned());
    assert_eq!(scene.run().report.final_text, "600\nMend it.");
    // Without a model, the argument that names it is not there.
    scene.template.args[1] = "echo $0".to_owned();
    scene.request.model = None;
    assert!(Path::new(&scene.run().report.final_text).ends_with("session/prompt.txt"));
}

#[test]
fn what_is_not_installed_is_an_error_and_no_session() {
    let mut scene = Scene::new("missing", &[]);
    scene.template.program = "no-such-agent-anywhere".into();
    let missing = scene.run_watched_by(&mut Witness::default());
    assert!(matches!(missing, Err(AgentError::NotInstalled { .. })));
}
