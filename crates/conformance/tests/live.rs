//! The suite on real agent programs, on the loopback address, in fresh homes.
//!
//! `cargo xtask test` installs the pinned versions once and says where they are; without one
//! its tests say that they were skipped. The whole suite of a slow agent runs with
//! `-- --ignored` only; `cargo xtask conformance` plays all of them.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::PathBuf;

use serde_json::json;
use spore_agent::AgentEvent;
use spore_conformance::{Grant, Kit, ModelStep, Subject, TrialScene, Witness, check, kit};
use spore_model::Outcome;

/// What can be told within a minute, of any agent.
const QUICK: &[&str] =
    &["edit", "command", "tokens", "cost", "mcp", "refused-write", "refused-shell", "401", "stop"];

struct Pinned {
    name: &'static str,
    variable: &'static str,
    version: &'static str,
}

const CLAUDE: Pinned = Pinned { name: "claude", variable: "SPORE_TEST_CLAUDE", version: "2.1.197" };
const CODEX: Pinned = Pinned { name: "codex", variable: "SPORE_TEST_CODEX", version: "0.166.0" };
const OPENCODE: Pinned =
    Pinned { name: "opencode", variable: "SPORE_TEST_OPENCODE", version: "1.18.33" };
const GEMINI: Pinned = Pinned { name: "gemini", variable: "SPORE_TEST_GEMINI", version: "0.61.0" };
const QWEN: Pinned = Pinned { name: "qwen", variable: "SPORE_TEST_QWEN", version: "0.15.10" };

/// The installed agent; nothing where it is not here, which is said.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn subject(pinned: &Pinned) -> Option<Subject> {
    let Some(program) = std::env::var_os(pinned.variable).map(PathBuf::from) else {
        eprintln!("skipped: {} names no program; `cargo xtask test` does", pinned.variable);
        return None;
    };
    Some(Subject {
        name: pinned.name.to_owned(),
        program: Some(program),
        exe: env!("CARGO_BIN_EXE_conformance-test-shim").into(),
        path: std::env::var("PATH").unwrap(),
        stop: std::sync::Arc::default(),
    })
}

#[track_caller]
fn conforms(pinned: &Pinned, cases: &[&str]) {
    let Some(subject) = subject(pinned) else { return };
    let cases: Vec<String> = cases.iter().map(|&case| case.to_owned()).collect();
    let table = check(&subject, &cases, &mut |_| {}).unwrap();
    assert!(table.as_expected, "{}", table.text(true));
    assert_eq!(table.version.as_deref(), Some(pinned.version));
}

/// Tools, turns and servers as the session tells of them while it runs.
#[track_caller]
fn tells_what_it_does(pinned: &Pinned) {
    let Some(subject) = subject(pinned) else { return };
    let kit: &'static dyn Kit = kit(pinned.name).unwrap();
    let copy = "cp hello.txt copy.txt";
    let steps = [ModelStep::Write("hello.txt"), ModelStep::Shell(copy), ModelStep::Say("Done.")];
    let mut scene = TrialScene::new(&subject, kit, &steps).unwrap();
    scene.allow(&[Grant::Read, Grant::Edit, Grant::Command("cp hello.txt copy.txt")]);
    let mut witness = Witness::default();
    let report = scene.run_watched_by(&mut witness).unwrap();
    let results = witness.events.iter().filter_map(|event| match event {
        AgentEvent::ToolResult { ok, .. } => Some(*ok),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), [true, true], "{:?}", witness.events);
    assert_eq!((report.turns, report.final_text.as_str()), (3, "Done."), "{}", scene.last_words());
    assert_eq!(scene.model.unanswered(), []);
    assert_eq!(scene.left_over(), 0);
}

#[test]
fn claude_does_what_matters_most() {
    conforms(&CLAUDE, QUICK);
}

#[test]
#[ignore = "a minute; its own live tests show more"]
fn claude_does_what_the_table_says() {
    conforms(&CLAUDE, &[]);
}

#[test]
fn codex_does_what_matters_most() {
    conforms(&CODEX, QUICK);
}

#[test]
#[ignore = "slow; run with `--ignored`"]
fn codex_does_what_the_table_says() {
    conforms(&CODEX, &[]);
}

#[test]
fn codex_tells_what_it_does() {
    tells_what_it_does(&CODEX);
}

#[test]
fn opencode_does_what_matters_most() {
    conforms(&OPENCODE, QUICK);
}

#[test]
#[ignore = "slow; run with `--ignored`"]
fn opencode_does_what_the_table_says() {
    conforms(&OPENCODE, &[]);
}

#[test]
fn opencode_tells_what_it_does() {
    tells_what_it_does(&OPENCODE);
}

#[test]
fn gemini_does_what_matters_most() {
    conforms(&GEMINI, QUICK);
}

#[test]
#[ignore = "slow; run with `--ignored`"]
fn gemini_does_what_the_table_says() {
    conforms(&GEMINI, &[]);
}

#[test]
fn gemini_tells_what_it_does() {
    tells_what_it_does(&GEMINI);
}

#[test]
fn qwen_does_what_matters_most() {
    conforms(&QWEN, QUICK);
}

#[test]
#[ignore = "slow; run with `--ignored`"]
fn qwen_does_what_the_table_says() {
    conforms(&QWEN, &[]);
}

#[test]
fn qwen_tells_what_it_does() {
    tells_what_it_does(&QWEN);
}

#[test]
fn codex_says_that_a_server_is_connected() {
    let Some(subject) = subject(&CODEX) else { return };
    let steps = [ModelStep::Ping, ModelStep::SayOn("pong", "It answers.")];
    let mut scene = TrialScene::new(&subject, kit("codex").unwrap(), &steps).unwrap();
    scene.serve_echo(true);
    scene.allow(&[Grant::Server]);
    let report = scene.run().unwrap();
    assert!(report.mcp.contains(&("echo".to_owned(), "connected".to_owned())), "{report:?}");
}

#[test]
fn codex_keeps_a_schema_or_has_failed() {
    let schema = json!({
        "type": "object",
        "properties": { "verdict": { "type": "string" } },
        "required": ["verdict"],
        "additionalProperties": false,
    });
    let ask = |answer: &'static str| {
        let subject = subject(&CODEX)?;
        let steps = [ModelStep::Say(answer), ModelStep::Say(answer)];
        let mut scene = TrialScene::new(&subject, kit("codex").unwrap(), &steps).unwrap();
        scene.request.schema = Some(schema.clone());
        let report = scene.run().unwrap();
        assert!(scene.last_request().contains("verdict"));
        Some(report)
    };
    if let Some(report) = ask(r#"{"verdict":"supports"}"#) {
        assert_eq!(report.outcome, Outcome::Success, "{report:?}");
        assert_eq!(report.structured, Some(json!({ "verdict": "supports" })));
    }
    if let Some(report) = ask("I would rather not.") {
        assert_eq!(report.outcome, Outcome::Failure);
        assert_eq!(report.reason.as_deref(), Some("it gave no structured result"));
    }
}
