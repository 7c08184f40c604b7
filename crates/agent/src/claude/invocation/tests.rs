use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use spore_model::SessionToken;

use super::*;
use crate::{Conversation, RequestLimits};

struct InvocationScene {
    dir: tempfile::TempDir,
    request: Request,
}

fn scene() -> InvocationScene {
    let dir = tempfile::tempdir().unwrap();
    let request = Request {
        role: "coder".to_owned(),
        bounce: 1,
        system_prompt: "You write code.".to_owned(),
        native_role: None,
        prompt: "Mend the \"parser\".\nAll of it.".to_owned(),
        model: None,
        dir: dir.path().to_owned(),
        env: vec![
            ("PATH".to_owned(), "/bin".to_owned()),
            ("CLAUDECODE".to_owned(), "1".to_owned()),
            ("DISABLE_AUTOUPDATER".to_owned(), "0".to_owned()),
        ],
        tools: ToolPolicy::default(),
        sandbox: crate::SessionSandbox::None,
        secrets: Default::default(),
        mcp_servers: Vec::new(),
        schema: None,
        resume: None,
        turns: None,
        limits: RequestLimits { turns: 7, wall: Duration::from_secs(60), idle: None, usd: None },
        token: SessionToken::new("0123456789abcdef").unwrap(),
        transcript: dir.path().join("session/transcript.jsonl"),
    };
    InvocationScene { dir, request }
}

/// The arguments that are not in every call, the scene's directory as `$DIR`.
#[track_caller]
fn check(change: impl FnOnce(&mut Request), expected: &[&str]) {
    let mut scene = scene();
    change(&mut scene.request);
    let files = PrivateFiles::write(&scene.request).unwrap();
    let args = Invocation::new(&scene.request, &files).args;
    let dir = scene.dir.path().display().to_string();
    let (common, rest) = args.split_at(7);
    assert_eq!(common.last().unwrap(), "--strict-mcp-config");
    // What a call used is told with the pieces of its answer.
    let (pieces, rest) = rest.split_last().unwrap();
    assert_eq!(pieces, "--include-partial-messages");
    let found: Vec<String> = rest.iter().map(|arg| arg.replace(&dir, "$DIR")).collect();
    assert_eq!(found, expected);
}

const ROLE: &str = "--append-system-prompt-file=$DIR/session/role.md";
const TURNS: &str = "--max-turns=7";
const DENIED: &str = "--disallowedTools=Edit(.claude/**)";

fn list(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[test]
fn a_plain_call_has_no_more_than_role_and_turns() {
    check(|_| {}, &[TURNS, ROLE, DENIED]);
    check(|request| request.system_prompt.clear(), &[TURNS, DENIED]);
}

#[test]
fn model_budget_schema_and_pulse_are_asked_for_where_the_request_does() {
    check(
        |request| {
            request.model = Some("claude-sonnet-5".to_owned());
            request.limits.usd = Usd::from_dollars(1.5);
            request.limits.idle = Some(Duration::from_secs(60));
            request.schema = Some(json!({ "type": "object" }));
        },
        &[
            "--model=claude-sonnet-5",
            TURNS,
            "--max-budget-usd=1.500000",
            r#"--json-schema={"type":"object"}"#,
            ROLE,
            DENIED,
        ],
    );
}

#[test]
fn a_spent_budget_is_next_to_nothing_because_zero_is_no_limit() {
    check(
        |request| request.limits.usd = Some(Usd::ZERO),
        &[TURNS, "--max-budget-usd=0.000001", ROLE, DENIED],
    );
}

#[test]
fn tools_that_are_not_allowed_are_neither_offered_nor_run() {
    let allow = ["Read", "Bash(cargo test)", "Bash(cargo build)", "mcp__spore__search"];
    check(
        |request| {
            request.tools.allow = list(&allow);
            request.tools.deny = list(&["Grep", "Bash(rm *)"]);
        },
        &[
            TURNS,
            ROLE,
            "--tools=Bash,Read",
            "--permission-mode=dontAsk",
            "--allowedTools=Read,Bash(cargo test),Bash(cargo build),mcp__spore__search",
            "--disallowedTools=Grep,Bash(rm *),Edit(.claude/**)",
        ],
    );
    check(
        |request| {
            request.tools.allow = list(&allow);
            request.tools.skip_permissions = true;
        },
        &[TURNS, ROLE, "--tools=Bash,Read", "--dangerously-skip-permissions", DENIED],
    );
}

#[test]
fn a_native_role_takes_the_place_of_ours_only_where_its_file_is() {
    let native = |request: &mut Request| request.native_role = Some("coder".to_owned());
    check(native, &[TURNS, ROLE, DENIED]);
    let with_file = |request: &mut Request| {
        native(request);
        std::fs::create_dir_all(request.dir.join(".claude/agents")).unwrap();
        std::fs::write(request.dir.join(".claude/agents/coder.md"), "x").unwrap();
    };
    check(with_file, &[TURNS, "--agent=coder", DENIED]);
    let resumed = |request: &mut Request| {
        let (session_id, prompt) = ("abc".to_owned(), "Go on.".to_owned());
        request.resume = Some(Conversation { session_id, prompt });
    };
    check(
        |request| {
            with_file(request);
            resumed(request);
        },
        &[TURNS, "--resume=abc", DENIED],
    );
    check(resumed, &[TURNS, "--resume=abc", ROLE, DENIED]);
}

#[test]
fn servers_are_in_a_file_that_only_its_owner_reads_and_that_goes_with_the_session() {
    let mut scene = scene();
    scene.request.mcp_servers = vec![McpServer {
        name: "spore".to_owned(),
        command: "/bin/spore".into(),
        args: list(&["mcp"]),
        env: vec![("SPORE_TOKEN".to_owned(), "secret".to_owned())],
        required: true,
    }];
    let path = scene.dir.path().join("session/mcp.json");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "left by a killed session, for all to read").unwrap();

    let files = PrivateFiles::write(&scene.request).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let found: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(
        found,
        json!({ "mcpServers": { "spore": {
            "type": "stdio",
            "command": "/bin/spore",
            "args": ["mcp"],
            "env": { "SPORE_TOKEN": "secret" },
            "alwaysLoad": true,
        }}})
    );
    let invocation = Invocation::new(&scene.request, &files);
    assert!(!invocation.args.iter().any(|arg| arg.contains("secret")));
    drop(files);
    assert!(!path.exists());
    assert!(!scene.dir.path().join("session/role.md").exists());
}

#[test]
fn the_prompt_is_one_line_of_the_protocol() {
    let mut scene = scene();
    let line = input(&scene.request);
    assert_eq!(line.matches('\n').count(), 1);
    let value: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(value["message"]["content"][0]["text"], "Mend the \"parser\".\nAll of it.");

    scene.request.resume =
        Some(Conversation { session_id: "abc".to_owned(), prompt: "Go on.".to_owned() });
    let value: Value = serde_json::from_str(&input(&scene.request)).unwrap();
    assert_eq!(value["message"]["content"][0]["text"], "Go on.");
}

#[test]
fn the_environment_is_kept_but_for_what_would_stop_or_distract_the_program() {
    let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    assert_eq!(
        env(&scene().request),
        pairs(&[
            ("PATH", "/bin"),
            ("DISABLE_AUTOUPDATER", "0"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ])
    );
}
