//! Which agent Spore takes where a person chose none, and what it asks where that leaves a question.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::os::unix::fs::PermissionsExt;

use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes::{self, told};

/// Calls spore with these agents installed and these variables set.
fn call(env: &TestEnv, agents: &[&str], keys: &[&str], args: &[&str]) -> ProgramOutput {
    let tools = env.dir().join("tools");
    for agent in agents {
        env.write_at(&tools.join(agent), "#!/bin/sh\necho 1.0.0\n");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(tools.join(agent), mode).unwrap();
    }
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let pause = ("SPORE_SESSION_START_RETRY_PAUSE", "1ms");
    let mut variables = vec![("PATH", path.as_str()), pause];
    variables.extend(keys.iter().map(|&key| (key, "sk-dummy")));
    env.spore_in(&env.repo(), args, &variables)
}

const CLAUDE_KEY: &str = "CLAUDE_CODE_OAUTH_TOKEN";
const CODEX_KEY: &str = "CODEX_API_KEY";
const PLAN: &[&str] = &["orchestrate", "x", "--dry-run", "--json"];

#[test]
fn the_only_agent_that_is_ready_is_used_and_named() {
    let env = scenes::small();
    let plan = call(&env, &["claude", "codex"], &[CLAUDE_KEY], PLAN).code(0).json();
    assert_eq!(plan["roles"]["coder"]["backend"], "claude");
    assert_eq!(plan["missing"], serde_json::Value::Null);
    let run = call(&env, &[], &[CLAUDE_KEY], &["orchestrate", "x", "--max-bounces", "1"]);
    let named = "Using claude, the only agent that is installed and signed in here.";
    assert!(run.stderr.contains(named), "{}", run.stderr);
    let checkup = call(&env, &[], &[CLAUDE_KEY], &["doctor"]).code(0).stdout;
    assert!(checkup.contains("claude, the only one that is installed and signed in"), "{checkup}");
    let settings = env.spore(&["runs", "show", "--json"]).code(0).json();
    assert_eq!(settings["run"]["backend"], "claude");
}

#[test]
fn where_several_are_ready_each_is_listed_with_the_line_that_chooses_it() {
    let env = scenes::small();
    let keys = [CLAUDE_KEY, CODEX_KEY];
    let refused = call(&env, &["claude", "codex"], &keys, &["orchestrate", "x"]).code(69);
    insta::assert_snapshot!(told(&refused), @"
    exit code: 69
    --- stdout
    --- stderr
    error: no agent is chosen, and several are ready: claude, codex
      try: choose one for all your projects:
        spore config set orchestrate.backend claude --user
        spore config set orchestrate.backend codex --user
      `spore agents list` tells of all that Spore can use, and `--backend NAME` uses one for this run alone
    ");
    let chosen = ["config", "set", "orchestrate.backend", "codex", "--user"];
    let _ = call(&env, &[], &[], &chosen).code(0);
    let plan = call(&env, &[], &keys, PLAN).code(0).json();
    assert_eq!(plan["roles"]["coder"]["backend"], "codex");
}

#[test]
fn a_plan_needs_no_agent_and_says_how_to_get_one() {
    let env = scenes::small();
    let plan = call(&env, &["claude"], &[], &["orchestrate", "x", "--dry-run"]).code(0).stdout;
    for expected in ["no agent yet", "run `claude` and sign in", "Nothing was done."] {
        assert!(plan.contains(expected), "{plan}");
    }
    let doctor = call(&env, &[], &[], &["doctor"]).code(69).stdout;
    assert!(doctor.contains("NOT OK   agent"), "{doctor}");
    let signed_out = ["orchestrate", "x", "--backend", "gemini", "--dry-run"];
    let missing = call(&env, &[], &[], &signed_out).code(0).stdout;
    assert!(missing.contains("npm install -g @google/gemini-cli; then run `gemini`"), "{missing}");
    let strange = ["orchestrate", "x", "--backend", "acp:mine", "--dry-run"];
    let refused = call(&env, &[], &[], &strange).code(64).stderr;
    assert!(refused.contains("spore config set acp.mine.command PROGRAM"), "{refused}");
}
