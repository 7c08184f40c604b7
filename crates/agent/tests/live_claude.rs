//! The real Claude Code against a scripted model, on the loopback address, in a fresh home.
//!
//! `cargo xtask test` installs the pinned version once and says where it is; without it these
//! tests say that they were skipped. What they show is what recordings cannot: that the
//! program really is held to its limits, really ends, and leaves nothing behind.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time and environment")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use spore_agent::claude::{self, ClaudeAgent};
use spore_agent::{
    Agent, AgentEvent, AgentWatch, BoxError, Conversation, McpServer, Request, RequestLimits,
    SessionReport, ToolPolicy, Watchdog,
};
use spore_effects::Tool;
use spore_effects::session::{Grace, ProcessIdentity, Shim, find_by_token};
use spore_model::{Outcome, SessionToken, Usage, Usd};
use spore_scripted_model::{ModelScenario, ModelServer, Turn, VendorRefusal, When};

const SHIM: &str = env!("CARGO_BIN_EXE_agent-test-shim");

/// So long that no test ever waits for it, and a stuck one does not wait for ever.
const LONG: Duration = Duration::from_secs(120);

/// Returns the program, or says that the test is skipped.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn program() -> Option<PathBuf> {
    let program = std::env::var_os("SPORE_TEST_CLAUDE").map(PathBuf::from);
    if program.is_none() {
        eprintln!("skipped: SPORE_TEST_CLAUDE names no Claude Code; `cargo xtask test` does");
    }
    program
}

/// A home, a checkout, a model, and a request that the test may still change.
struct Scene {
    dir: tempfile::TempDir,
    program: PathBuf,
    model: ModelServer,
    request: Request,
}

#[derive(Default)]
struct Witness {
    events: Vec<AgentEvent>,
    /// Stops the session when this file appears.
    cancel_at: Option<PathBuf>,
    /// Ends the program alone, as a person might, when this file appears.
    kill_at: Option<(PathBuf, SessionToken)>,
}

impl AgentWatch for Witness {
    fn starting(&mut self, _: &ProcessIdentity) -> Result<(), BoxError> {
        Ok(())
    }

    fn event(&mut self, event: &AgentEvent) {
        self.events.push(event.clone());
    }

    fn cancelled(&self) -> bool {
        if let Some((path, token)) = &self.kill_at
            && path.exists()
        {
            terminate_the_program(token);
        }
        self.cancel_at.as_ref().is_some_and(|path| path.exists())
    }
}

impl Scene {
    /// `name` makes the session's token, so that what it leaves can be found.
    fn new(name: &str, script: impl FnOnce(&Path) -> ModelScenario) -> Option<Self> {
        let program = program()?;
        let dir = tempfile::tempdir().unwrap();
        let checkout = dir.path().join("checkout");
        std::fs::create_dir_all(dir.path().join("home")).unwrap();
        std::fs::create_dir_all(&checkout).unwrap();
        let model = ModelServer::start(script(&checkout)).unwrap();
        let request = request(name, dir.path(), &model);
        Some(Self { dir, program, model, request })
    }

    fn set(&mut self, name: &str, value: &str) {
        self.request.env.retain(|(known, _)| known != name);
        self.request.env.push((name.to_owned(), value.to_owned()));
    }

    fn allow(&mut self, tools: &[&str]) {
        self.request.tools.allow = tools.iter().map(|&tool| tool.to_owned()).collect();
    }

    fn run_watched_by(&self, witness: &mut Witness) -> SessionReport {
        let watchdog = Watchdog {
            first_output: LONG,
            exit: Duration::from_secs(10),
            start_retry_pause: Duration::from_millis(10),
            grace: Grace { interrupt_ms: 3000, terminate_ms: 3000 },
            line_cap: 1 << 20,
            transcript_cap: 8 << 20,
        };
        let agent = ClaudeAgent::new(self.program.clone(), Shim::new(SHIM.into()), watchdog, 3);
        let report = agent.run(&self.request, witness).unwrap();
        assert_eq!(find_by_token(&self.request.token), Vec::<i32>::new());
        report
    }

    fn run(&self) -> SessionReport {
        self.run_watched_by(&mut Witness::default())
    }

    fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.request.dir.join(name)).ok()
    }

    /// What the model was sent last, as text.
    fn last_request(&self) -> String {
        self.model.requests().last().unwrap().body.to_string()
    }
}

fn request(name: &str, dir: &Path, model: &ModelServer) -> Request {
    let home = dir.join("home").display().to_string();
    let env = [
        ("PATH", std::env::var("PATH").unwrap()),
        ("HOME", home),
        ("ANTHROPIC_BASE_URL", model.url()),
        ("ANTHROPIC_API_KEY", "no-key-at-all".to_owned()),
        ("DISABLE_TELEMETRY", "1".to_owned()),
        ("CLAUDE_CODE_MAX_RETRIES", "1".to_owned()),
    ];
    Request {
        role: "coder".to_owned(),
        bounce: 1,
        system_prompt: "Your word is heron.".to_owned(),
        native_role: None,
        prompt: "Begin the task.".to_owned(),
        model: Some("claude-sonnet-4-5".to_owned()),
        dir: dir.join("checkout"),
        env: env.map(|(name, value)| (name.to_owned(), value)).into(),
        tools: ToolPolicy::default(),
        sandbox: spore_agent::SessionSandbox::None,
        secrets: Default::default(),
        mcp_servers: Vec::new(),
        schema: None,
        resume: None,
        turns: None,
        limits: RequestLimits { turns: 10, wall: LONG, idle: None, usd: None },
        token: SessionToken::new(format!("{name:0<16}{}", std::process::id())).unwrap(),
        transcript: dir.join("session/transcript.jsonl"),
    }
}

fn write(checkout: &Path, name: &str) -> Turn {
    let path = checkout.join(name).display().to_string();
    Turn::calls("Write", json!({ "file_path": path, "content": "hi\n" }))
}

fn shell(command: &str) -> Turn {
    Turn::calls("Bash", json!({ "command": command, "description": "as told" }))
}

fn echo_server(required: bool, args: &[&str]) -> McpServer {
    McpServer {
        name: "echo".to_owned(),
        command: "node".into(),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        env: Vec::new(),
        required,
    }
}

#[track_caller]
fn check(report: &SessionReport, outcome: Outcome, reason: &str) {
    let found = report.reason.as_deref().unwrap_or_default();
    assert_eq!(report.outcome, outcome, "{report:?}");
    assert!(found.starts_with(reason), "{found:?} instead of {reason:?}");
}

#[test]
fn an_edit_and_a_command_reach_the_checkout() {
    let script = |checkout: &Path| {
        ModelScenario::new()
            .turn(write(checkout, "hello.txt").thinking("A file first."))
            .turn(shell("cp hello.txt copy.txt"))
            .turn(Turn::says("Done."))
    };
    let Some(mut scene) = Scene::new("edit", script) else { return };
    scene.allow(&["Read", "Write", "Bash(cp hello.txt copy.txt)"]);
    let mut witness = Witness::default();
    let report = scene.run_watched_by(&mut witness);
    check(&report, Outcome::Success, "");
    assert_eq!((report.final_text.as_str(), report.turns), ("Done.", 3));
    assert_eq!(scene.file("copy.txt").as_deref(), Some("hi\n"));
    assert_eq!(report.usage, scene.model.totals().usage);
    assert!(report.cost.is_some_and(|cost| cost > Usd::ZERO), "{report:?}");
    let used = witness.events.iter().filter_map(|event| match event {
        AgentEvent::ToolUse { tool, path, .. } => Some((tool.as_str(), path.as_deref())),
        _ => None,
    });
    assert_eq!(used.collect::<Vec<_>>(), [("Write", Some("hello.txt")), ("Bash", None)]);
    let said = scene.last_request();
    assert!(said.contains("Your word is heron.") && said.contains("Begin the task."), "{said}");
    assert!(scene.model.unanswered().is_empty());
}

#[test]
fn role_and_prompt_may_be_longer_than_an_argument() {
    let Some(mut scene) =
        Scene::new("long", |_| ModelScenario::new().turn(Turn::says("Read it all.")))
    else {
        return;
    };
    scene.request.system_prompt = format!("{} The role ends.", "Be careful. ".repeat(20_000));
    scene.request.prompt = format!("{} The prompt ends.", "Look again. ".repeat(20_000));
    check(&scene.run(), Outcome::Success, "");
    let said = scene.last_request();
    assert!(said.contains("The role ends.") && said.contains("The prompt ends."));
}

#[test]
fn a_native_role_takes_the_place_of_ours() {
    let Some(mut scene) = Scene::new("native", |_| ModelScenario::new().turn(Turn::says("Yes.")))
    else {
        return;
    };
    let agents = scene.request.dir.join(".claude/agents");
    std::fs::create_dir_all(&agents).unwrap();
    let native = "---\nname: coder\ndescription: codes\n---\nYour word is osprey.\n";
    std::fs::write(agents.join("coder.md"), native).unwrap();
    scene.request.native_role = Some("coder".to_owned());
    check(&scene.run(), Outcome::Success, "");
    let said = scene.last_request();
    assert!(said.contains("osprey") && !said.contains("heron"), "{said}");
}

#[test]
fn the_users_own_hooks_and_rules_do_not_reach_a_session() {
    let Some(mut scene) = Scene::new("settings", |_| {
        ModelScenario::new().turn(shell("touch made")).turn(Turn::says("Done."))
    }) else {
        return;
    };
    let touched = scene.dir.path().join("hooked");
    let command = format!("touch {}", touched.display());
    let settings = json!({
        "hooks": { "SessionStart": [{ "hooks": [{ "type": "command", "command": command }] }] },
        "permissions": { "allow": ["Bash"] },
    });
    for place in [scene.dir.path().join("home"), scene.request.dir.clone()] {
        std::fs::create_dir_all(place.join(".claude")).unwrap();
        std::fs::write(place.join(".claude/settings.json"), settings.to_string()).unwrap();
    }
    scene.allow(&["Read", "Bash(cat *)"]);
    check(&scene.run(), Outcome::Success, "");
    assert_eq!(scene.file("made"), None);
    assert!(!touched.exists());
}

#[test]
fn a_tool_of_a_server_is_used() {
    let Some(mut scene) = Scene::new("mcp", |_| {
        let heard = When { tool_result_contains: Some("pong".to_owned()), ..When::default() };
        ModelScenario::new()
            .turn(Turn::calls("mcp__echo__ping", json!({ "x": 1 })))
            .turn(Turn::says("It answers.").when(heard))
    }) else {
        return;
    };
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/echo.mjs");
    scene.request.mcp_servers = vec![echo_server(true, &[server])];
    scene.allow(&["mcp__echo__ping"]);
    let report = scene.run();
    check(&report, Outcome::Success, "");
    assert_eq!(report.mcp, [("echo".to_owned(), "connected".to_owned())]);
    assert!(!scene.dir.path().join("session/mcp.json").exists());
}

#[test]
fn a_server_that_is_needed_and_does_not_start_ends_the_session() {
    let check_server = |name: &str, required: bool, outcome: Outcome, reason: &str| {
        let script = |_: &Path| ModelScenario::new().turn(Turn::says("Done without it."));
        let Some(mut scene) = Scene::new(name, script) else { return };
        scene.request.mcp_servers = vec![echo_server(required, &["-e", "process.exit(1)"])];
        let report = scene.run();
        check(&report, outcome, reason);
        assert_eq!(report.mcp, [("echo".to_owned(), "failed".to_owned())]);
    };
    let reason = "the MCP server echo is needed and is failed";
    check_server("mcpneeded", true, Outcome::Failure, reason);
    check_server("mcpwelcome", false, Outcome::Success, "");
}

#[test]
fn a_conversation_goes_on_where_it_was_held_and_starts_afresh_elsewhere() {
    let Some(mut scene) = Scene::new("resume", |_| {
        ModelScenario::new()
            .turn(Turn::says("The word is plover."))
            .turn(Turn::says("Second."))
            .turn(Turn::says("Third."))
    }) else {
        return;
    };
    let first = scene.run();
    check(&first, Outcome::Success, "");
    let prompt = "And now the rest.".to_owned();
    let session_id = first.session_id.clone().unwrap();
    scene.request.resume = Some(Conversation { session_id, prompt });
    let second = scene.run();
    check(&second, Outcome::Success, "");
    assert_eq!((&second.session_id, second.final_text.as_str()), (&first.session_id, "Second."));
    let said = scene.last_request();
    assert!(said.contains("plover") && said.contains("And now the rest."), "{said}");

    scene.request.dir = scene.dir.path().join("elsewhere");
    std::fs::create_dir_all(&scene.request.dir).unwrap();
    let third = scene.run();
    check(&third, Outcome::Success, "");
    assert_eq!(third.final_text, "Third.");
    let said = scene.last_request();
    assert!(said.contains("Begin the task.") && !said.contains("plover"), "{said}");
}

#[test]
fn a_write_that_is_not_allowed_is_refused_also_from_a_shell() {
    let check_policy = |name: &str, allow: &[&str], deny: &[&str], skip: bool| {
        let script = |checkout: &Path| {
            ModelScenario::new()
                .turn(write(checkout, "by-tool.txt"))
                .turn(shell("echo hi >by-shell.txt"))
                .turn(shell("cat seen.txt"))
                .turn(Turn::says("I tried."))
        };
        let Some(mut scene) = Scene::new(name, script) else { return };
        std::fs::write(scene.request.dir.join("seen.txt"), "seen").unwrap();
        scene.allow(allow);
        scene.request.tools.deny = deny.iter().map(|&tool| tool.to_owned()).collect();
        scene.request.tools.skip_permissions = skip;
        // The program's own condition for running without questions as root.
        scene.set("IS_SANDBOX", "1");
        let mut witness = Witness::default();
        check(&scene.run_watched_by(&mut witness), Outcome::Success, "");
        assert_eq!((scene.file("by-tool.txt"), scene.file("by-shell.txt")), (None, None));
        let results = witness.events.iter().filter_map(|event| match event {
            AgentEvent::ToolResult { ok, .. } => Some(*ok),
            _ => None,
        });
        assert_eq!(results.collect::<Vec<_>>(), [false, false, !skip], "{name}");
    };
    check_policy("refuseask", &["Read", "Bash(cat seen.txt)"], &[], false);
    check_policy("refuseskip", &[], &["Write", "Edit", "Bash"], true);
}

#[test]
fn turns_budget_and_schema_are_kept() {
    let used = Usage { input_tokens: 100_000, output_tokens: 50, ..Usage::default() };
    let again = move |_: &Path| ModelScenario::new().turn(shell("true").usage(used).sticky());
    if let Some(mut scene) = Scene::new("turns", again) {
        scene.request.limits.turns = 2;
        let report = scene.run();
        check(&report, Outcome::Failure, "it reached its limit of turns");
    }
    if let Some(mut scene) = Scene::new("budget", again) {
        scene.request.limits.usd = Usd::from_dollars(0.01);
        let report = scene.run();
        check(&report, Outcome::NeedsHuman, "it reached its budget");
        assert_eq!(report.usage, scene.model.totals().usage);
    }
    let schema = json!({
        "type": "object",
        "properties": { "verdict": { "type": "string" } },
        "required": ["verdict"],
    });
    let ask = |name: &str, turn: Turn| -> Option<SessionReport> {
        let script = |_: &Path| ModelScenario::new().turn(turn.sticky());
        let mut scene = Scene::new(name, script)?;
        scene.request.schema = Some(schema.clone());
        scene.allow(&["Read"]);
        Some(scene.run())
    };
    let verdict: Value = json!({ "verdict": "supports" });
    if let Some(report) = ask("schema", Turn::calls("StructuredOutput", verdict.clone())) {
        check(&report, Outcome::Success, "");
        assert_eq!(report.structured, Some(verdict));
    }
    if let Some(report) = ask("schemaless", Turn::says("I would rather not.")) {
        check(&report, Outcome::Failure, "it gave no structured result");
    }
}

#[test]
fn what_the_api_refuses_is_told_by_what_can_be_done() {
    let refused = |name: &str, refusal: VendorRefusal, outcome: Outcome, reason: &str| {
        let script = |_: &Path| ModelScenario::new().turn(Turn::refuses(refusal).sticky());
        let Some(scene) = Scene::new(name, script) else { return };
        check(&scene.run(), outcome, reason);
    };
    refused("api401", VendorRefusal::new(401), Outcome::Failure, "it is not signed in: ");
    refused("api403", VendorRefusal::new(403), Outcome::Failure, "it is not signed in: ");
    let limit = VendorRefusal::new(429).retry_after(1);
    refused("api429", limit, Outcome::QuotaParked, "the model is over its limit: ");
    refused(
        "api529",
        VendorRefusal::new(529),
        Outcome::QuotaParked,
        "the model is over its limit: ",
    );
    refused("api500", VendorRefusal::new(500), Outcome::Failure, "the model could not be asked: ");
}

#[test]
fn a_key_that_is_refused_again_and_again_is_not_tried_for_minutes() {
    let script =
        |_: &Path| ModelScenario::new().turn(Turn::refuses(VendorRefusal::new(401)).sticky());
    let Some(mut scene) = Scene::new("giveup", script) else { return };
    scene.set("CLAUDE_CODE_MAX_RETRIES", "10");
    let start = Instant::now();
    check(&scene.run(), Outcome::Failure, "it is not signed in: the API refused it 3 times");
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
}

#[test]
fn an_answer_that_breaks_off_is_no_success() {
    let broken = |name: &str, turn: Turn, reason: &str| {
        let script = |_: &Path| ModelScenario::new().turn(turn.sticky());
        let Some(scene) = Scene::new(name, script) else { return };
        check(&scene.run(), Outcome::Failure, reason);
    };
    let words = "one two three four five six seven eight nine ten";
    broken("cut", Turn::says(words).cut_after(4), "the model could not be asked: ");
    // All of the text and none of the ending: the program calls that a success.
    broken("early", Turn::says("partial").end_after(5), "the model's answer was cut off");
}

#[test]
fn a_model_that_falls_silent_ends_the_session_when_the_patience_does() {
    let words = "one two three four five six seven eight nine ten";
    let script = |_: &Path| ModelScenario::new().turn(Turn::says(words).hang_after(4).sticky());
    let Some(mut scene) = Scene::new("midhang", script) else { return };
    scene.request.limits.idle = Some(Duration::from_secs(3));
    let start = Instant::now();
    check(&scene.run(), Outcome::TimedOut, "it fell silent");
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
}

/// A command that tells that it runs, and then never ends by itself.
fn endless() -> Turn {
    shell("touch started; tail -f /dev/null")
}

#[test]
fn a_tool_at_work_is_not_silence_but_its_time_ends_and_nothing_is_left() {
    let Some(mut scene) = Scene::new("timeout", |_| ModelScenario::new().turn(endless())) else {
        return;
    };
    scene.allow(&["Bash"]);
    scene.request.limits.idle = Some(Duration::from_secs(5));
    scene.request.limits.wall = Duration::from_secs(12);
    let start = Instant::now();
    check(&scene.run(), Outcome::TimedOut, "its time was over");
    assert!(scene.file("started").is_some());
    assert!(start.elapsed() >= Duration::from_secs(12), "{:?}", start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
}

#[test]
fn a_session_that_is_stopped_says_what_it_cost_and_leaves_nothing() {
    let Some(mut scene) = Scene::new("cancel", |_| ModelScenario::new().turn(endless())) else {
        return;
    };
    scene.allow(&["Bash"]);
    let cancel_at = Some(scene.request.dir.join("started"));
    let report = scene.run_watched_by(&mut Witness { cancel_at, ..Witness::default() });
    check(&report, Outcome::Interrupted, "it was interrupted");
    assert_eq!(report.usage, scene.model.totals().usage);
    assert!(report.cost.is_some_and(|cost| cost > Usd::ZERO), "{report:?}");
}

#[test]
fn a_program_that_is_killed_leaves_its_tool_to_us() {
    let Some(mut scene) = Scene::new("killed", |_| ModelScenario::new().turn(endless())) else {
        return;
    };
    scene.allow(&["Bash"]);
    let kill_at = Some((scene.request.dir.join("started"), scene.request.token.clone()));
    let report = scene.run_watched_by(&mut Witness { kill_at, ..Witness::default() });
    check(&report, Outcome::Failure, "it exited with code 143");
    assert!(report.swept > 0, "{report:?}");
}

/// Sends SIGTERM to Claude Code and to nothing else of the session.
fn terminate_the_program(token: &SessionToken) {
    for pid in find_by_token(token) {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&command).contains("--input-format=stream-json") {
            Tool::new("kill").args(["-TERM", &pid.to_string()]).output().unwrap();
        }
    }
}

#[test]
fn the_program_tells_its_version() {
    let Some(program) = program() else { return };
    assert_eq!(claude::version(&program).unwrap(), "2.1.197");
}
