//! `spore agents list` on a machine of our own making.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time")]

use std::os::unix::fs::PermissionsExt;

use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes;

/// A PATH with the programs of `tools` on it and nothing else.
fn machine(env: &TestEnv, tools: &[(&str, &str)]) -> String {
    let dir = env.dir().join("tools");
    std::fs::create_dir_all(&dir).unwrap();
    let sh = scenes::system(env, "sh", &["-c", "command -v sh"]);
    for (name, script) in tools {
        env.write_at(&dir.join(name), &format!("#!{sh}\n{script}\n"));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(dir.join(name), mode).unwrap();
    }
    let git = scenes::system(env, "sh", &["-c", "command -v git"]);
    std::os::unix::fs::symlink(git, dir.join("git")).unwrap();
    dir.display().to_string()
}

fn list(env: &TestEnv, path: &str, more: &[&str]) -> ProgramOutput {
    let args: Vec<&str> = ["agents", "list"].iter().chain(more).copied().collect();
    // Whether the kernel has a sandbox is the machine's business.
    let variables = [("PATH", path), ("SPORE_SANDBOX_MODE", "off"), ("GEMINI_API_KEY", "dummy")];
    env.spore_in(&env.repo(), &args, &variables).code(0)
}

fn some_agents(env: &TestEnv) -> String {
    env.write_at(&env.dir().join("home/.claude/.credentials.json"), "{}");
    machine(
        env,
        &[
            ("claude", "echo '2.1.197 (Claude Code)'"),
            ("codex", "echo codex-cli 0.166.0"),
            ("gemini", "echo 0.61.0"),
            ("qwen", "echo broken >&2; exit 3"),
        ],
    )
}

#[test]
fn every_agent_is_listed_with_what_it_can_do_and_how_to_get_it() {
    let env = scenes::small();
    let path = some_agents(&env);
    insta::assert_snapshot!(list(&env, &path, &[]).render());
    let verbose = list(&env, &path, &["-v"]);
    assert!(verbose.stdout.contains("$TEST_ENV/tools/claude\n"), "{}", verbose.stdout);
}

#[test]
fn machines_get_the_same_as_json() {
    let env = scenes::small();
    let path = some_agents(&env);
    let listed = list(&env, &path, &["--json"]).json();
    let agent = |name: &str| {
        let agents = listed.as_array().unwrap();
        agents.iter().find(|agent| agent["name"] == name).unwrap().clone()
    };
    assert_eq!(agent("claude")["version"], "2.1.197");
    assert_eq!(agent("claude")["signed_in"], true);
    assert_eq!(agent("claude")["can"]["resume"], true);
    assert_eq!(agent("codex")["signed_in"], false);
    assert_eq!(agent("codex")["sandbox"], "own");
    assert_eq!(agent("gemini")["signed_in"], true);
    assert_eq!(agent("qwen")["found"], true);
    assert_eq!(agent("qwen")["version"], serde_json::Value::Null);
    assert_eq!(agent("goose")["found"], false);
    assert_eq!(agent("goose")["signed_in"], serde_json::Value::Null);
    assert_eq!(agent("replay")["found"], true);
}

#[test]
fn a_program_that_hangs_keeps_nobody_waiting_for_long() {
    let env = scenes::small();
    let path =
        machine(&env, &[("claude", "exec 1>&2; while :; do :; done"), ("codex", "echo 1.2.3")]);
    let begun = std::time::Instant::now();
    let output = list(&env, &path, &[]);
    assert!(begun.elapsed() < std::time::Duration::from_secs(30));
    assert!(output.stdout.contains("1.2.3"), "{}", output.stdout);
}

fn check(env: &TestEnv, args: &[&str], code: i32) -> ProgramOutput {
    let args: Vec<&str> = ["agents", "check"].iter().chain(args).copied().collect();
    env.spore_in(&env.repo(), &args, &[]).code(code)
}

#[test]
fn an_agent_is_held_against_what_is_expected_of_it() {
    let env = scenes::small();
    let output = check(&env, &["replay", "--case", "edit", "--case", "mcp", "--case", "stop"], 0);
    insta::assert_snapshot!(output.render(), @"
    exit code: 0
    --- stdout
    replay

      CASE  EXPECTED         GOT              BY
      edit  done             done             spore
      mcp   -                -                not possible
      stop  nothing is left  nothing is left  spore

    3 of 3 as expected
    --- stderr
    replay: edit
    replay: stop
    ");
    let table = check(&env, &["api", "--case", "tokens", "--json"], 0).json();
    assert_eq!((&table["agent"], &table["as_expected"]), (&"api".into(), &true.into()));
    let row = &table["rows"][0];
    assert_eq!(
        (&row["expected"], &row["got"], &row["by"]),
        (&"exact".into(), &"exact".into(), &"spore".into(),)
    );
}

#[test]
fn an_agent_that_goes_another_way_is_an_exit_code_of_one() {
    let env = scenes::small();
    let path = machine(&env, &[("codex", "echo codex-cli 9.9.9; exit 3")]);
    let args = ["agents", "check", "codex", "--case", "401", "--json"];
    let table = env.spore_in(&env.repo(), &args, &[("PATH", &path)]).code(1).json();
    assert_eq!(table["as_expected"], false);
    let got = table["rows"][0]["got"].as_str().unwrap();
    assert!(got.starts_with("failed: it exited with code 3"), "{got}");
}

#[test]
fn an_agent_that_cannot_be_checked_is_told_with_what_to_do() {
    let env = scenes::small();
    let path = machine(&env, &[]);
    let args = ["agents", "check", "codex"];
    let missing = env.spore_in(&env.repo(), &args, &[("PATH", &path)]).code(69);
    assert!(missing.stderr.contains("npm install -g @openai/codex"), "{}", missing.stderr);
    assert_eq!(missing.stdout, "");
    insta::assert_snapshot!(check(&env, &["goose"], 64).render(), @r#"
    exit code: 64
    --- stdout
    --- stderr
    error: there is no conformance suite for "goose"
      try: there is one for: claude, codex, opencode, gemini, qwen, api, replay
    "#);
    let unknown = check(&env, &["replay", "--case", "dance"], 64);
    assert!(unknown.stderr.contains("the cases are: edit, command"), "{}", unknown.stderr);
}
