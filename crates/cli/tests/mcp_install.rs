//! `spore mcp install`: into the settings of clients and out of them again.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use spore_testkit::TestEnv;

use crate::scenes::{self, told};

const SETTINGS: &str =
    "{\n  // ours\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }\n  }\n}\n";

fn project() -> TestEnv {
    let env = scenes::env();
    env.write(".cursor/mcp.json", SETTINGS);
    env.commit_all("a project");
    env.write_at(&env.dir().join("home/.codex/config.toml"), "model = \"x\" # mine\n");
    env
}

fn read(env: &TestEnv, path: &str) -> String {
    std::fs::read_to_string(env.dir().join(path)).unwrap()
}

#[test]
fn clients_in_use_get_an_entry_once_and_lose_it_without_a_trace() {
    let env = project();
    let planned = env.spore(&["mcp", "install", "--dry-run"]).code(0);
    let ours = env.exe().display().to_string();
    insta::assert_snapshot!("what_would_be_written", told(&planned).replace(&ours, "$SPORE"));
    assert_eq!(read(&env, "repo/.cursor/mcp.json"), SETTINGS);
    let _ = env.spore(&["mcp", "install"]).code(0);
    let written = read(&env, "repo/.cursor/mcp.json");
    assert!(written.contains("// ours") && written.contains("\"spore\""), "{written}");
    let again = env.spore(&["mcp", "install", "--json"]).code(0).json();
    assert_eq!((&again[0]["state"], &again[0]["diff"]), (&"unchanged".into(), &"".into()));
    let _ = env.spore(&["mcp", "install", "--undo"]).code(0);
    assert_eq!(read(&env, "repo/.cursor/mcp.json"), SETTINGS);
    assert_eq!(read(&env, "home/.codex/config.toml"), "model = \"x\" # mine\n");
    let absent = env.spore(&["mcp", "install", "--undo", "--json"]).code(0).json();
    assert_eq!(absent[0]["state"], "absent");
}

#[test]
fn a_file_of_ours_alone_goes_and_edits_of_others_stay() {
    let env = project();
    let claude = ["mcp", "install", "--client", "claude"];
    let _ = env.spore(&claude).code(0);
    assert!(read(&env, "repo/.mcp.json").contains("\"mcp\""));
    let _ = env.spore(&[&claude[..], &["--undo"]].concat()).code(0);
    assert!(!env.repo().join(".mcp.json").exists());
    let cursor = ["mcp", "install", "--client", "cursor"];
    let _ = env.spore(&cursor).code(0);
    let edited = read(&env, "repo/.cursor/mcp.json").replace("\"x\"", "\"y\"");
    env.write(".cursor/mcp.json", &edited);
    let _ = env.spore(&[&cursor[..], &["--undo"]].concat()).code(0);
    let left = read(&env, "repo/.cursor/mcp.json");
    assert!(left.contains("\"y\"") && !left.contains("spore"), "{left}");
}

#[test]
fn what_cannot_be_understood_is_refused_and_left() {
    let env = project();
    env.write(".cursor/mcp.json", "{ \"mcpServers\": [ }\n");
    let refused = env.spore(&["mcp", "install", "--client", "cursor"]).code(65);
    insta::assert_snapshot!(told(&refused), @"
    exit code: 65
    --- stdout
    --- stderr
    error: $TEST_ENV/repo/.cursor/mcp.json:1:19: Unexpected close brace
      try: mend it by hand: nothing was written
    ");
    assert_eq!(read(&env, "repo/.cursor/mcp.json"), "{ \"mcpServers\": [ }\n");
    let nobody = env.spore(&["mcp", "install", "--client", "emacs"]).code(64);
    assert!(nobody.stderr.contains("claude, codex, opencode"), "{}", nobody.stderr);
    let codex = ["mcp", "install", "--client", "codex", "--scope", "project"];
    let _ = env.spore(&codex).code(64);
}

/// Asks the real program whether it sees the entry.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn sees(client: &str, variable: &str, list: &[&str]) {
    let Some(program) = std::env::var_os(variable) else {
        eprintln!("skipped: {variable} names no program; `cargo xtask test` does");
        return;
    };
    let env = project();
    let _ = env.spore(&["init"]).code(0);
    let _ = env.spore(&["mcp", "install", "--client", client]).code(0);
    let output = env.command(program, &env.repo()).args(list).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("spore"), "{text}");
}

#[test]
fn live_codex_sees_the_entry() {
    sees("codex", "SPORE_TEST_CODEX", &["mcp", "list"]);
}

#[test]
fn live_claude_sees_the_entry() {
    sees("claude", "SPORE_TEST_CLAUDE", &["mcp", "list"]);
}

#[test]
fn live_gemini_sees_the_entry() {
    sees("gemini", "SPORE_TEST_GEMINI", &["mcp", "list"]);
}

#[test]
fn live_opencode_sees_the_entry() {
    sees("opencode", "SPORE_TEST_OPENCODE", &["mcp", "list"]);
}
