//! The real agent programs list and call Spore's tools, against a scripted model, on the
//! loopback address, in fresh homes.
//!
//! `cargo xtask test` installs the pinned versions once and says where they are; without one
//! its test says that it was skipped.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::path::PathBuf;

use spore_agent::{McpServer, SessionSandbox};
use spore_conformance::{Grant, ModelStep, Subject, TrialScene, kit};
use spore_testkit::TestEnv;

use crate::scenes;

/// Where the searched function stands: no model could know it but from the tool.
const PLACE: &str = "src/lib.rs:2";

fn garden() -> TestEnv {
    let env = scenes::env();
    let code =
        "/// Pours from the can.\npub fn pour_twice(litres: u32) -> u32 {\n    litres * 2\n}\n";
    env.write("src/lib.rs", code);
    env.commit_all("plant");
    let _ = env.spore(&["init"]).code(0);
    let _ = env.spore(&["index"]).code(0);
    env
}

/// Lets the agent search through `spore mcp`, and sees that its model was told the tool's
/// description and its answer.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn searches(name: &str, variable: &str) {
    let Some(program) = std::env::var_os(variable).map(PathBuf::from) else {
        eprintln!("skipped: {variable} names no program; `cargo xtask test` does");
        return;
    };
    let env = garden();
    let subject = Subject {
        name: name.to_owned(),
        program: Some(program),
        exe: env.exe().to_owned(),
        path: std::env::var("PATH").unwrap(),
        stop: std::sync::Arc::default(),
    };
    let steps = [
        ModelStep::Spore("search", "query", "pour_twice"),
        ModelStep::SayOn(PLACE, "It is there."),
    ];
    let mut scene = TrialScene::new(&subject, kit(name).unwrap(), &steps).unwrap();
    // A person's own session: it sees the project.
    scene.request.sandbox = SessionSandbox::None;
    scene.request.mcp_servers = vec![McpServer {
        name: "spore".to_owned(),
        command: env.exe().to_owned(),
        args: vec!["mcp".to_owned(), "--root".to_owned(), env.repo().display().to_string()],
        env: Vec::new(),
        required: true,
    }];
    scene.allow(&[Grant::Server]);
    if name == "claude" {
        scene.request.tools.allow = vec!["mcp__spore".to_owned()];
    }
    let report = scene.run().unwrap();
    assert_eq!(report.final_text, "It is there.", "{report:?}\n{}", scene.last_words());
    // Codex keeps descriptions back until its model looks for a tool; it lists the servers.
    let connected = ("spore".to_owned(), "connected".to_owned());
    let is_listed = match name {
        "codex" => report.mcp.contains(&connected),
        _ => scene.last_request().contains("instead of grep"),
    };
    assert!(is_listed, "the tools were not listed: {:?}", report.mcp);
    assert_eq!(scene.model.unanswered(), []);
    assert_eq!(scene.left_over(), 0);
}

#[test]
fn live_claude_lists_and_calls_the_tools() {
    searches("claude", "SPORE_TEST_CLAUDE");
}

#[test]
fn live_codex_lists_and_calls_the_tools() {
    searches("codex", "SPORE_TEST_CODEX");
}

#[test]
fn live_opencode_lists_and_calls_the_tools() {
    searches("opencode", "SPORE_TEST_OPENCODE");
}

#[test]
fn live_gemini_lists_and_calls_the_tools() {
    searches("gemini", "SPORE_TEST_GEMINI");
}
