//! `spore doctor` on a machine of our own making.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time and environment")]

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::Value;
use spore_testkit::TestEnv;

use crate::scenes;

/// Puts a program on a PATH of its own, in front of the real one.
fn install(env: &TestEnv, name: &str, script: &str) -> String {
    let path = env.dir().join("tools").join(name);
    env.write_at(&path, &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let rest = std::env::var("PATH").unwrap();
    format!("{}:{rest}", env.dir().join("tools").display())
}

#[track_caller]
fn finding(env: &TestEnv, path: &str, name: &str, code: i32) -> Value {
    // Which agent is ready is the machine's affair, unless one is chosen.
    let variables = [("PATH", path), ("SPORE_ORCHESTRATE_BACKEND", "replay")];
    let output = env.spore_in(&env.repo(), &["doctor", "--json"], &variables).code(code);
    let findings = output.json()["findings"].clone();
    let found = findings.as_array().unwrap().iter().find(|finding| finding["name"] == name);
    found.cloned().unwrap_or(Value::Null)
}

#[test]
fn an_agent_is_named_with_its_version() {
    let env = scenes::small();
    let path = install(&env, "codex", "echo codex-cli 9.8.7");
    let codex = finding(&env, &path, "codex", 0);
    assert_eq!(codex["detail"], "codex-cli 9.8.7");
}

#[test]
fn nobody_waits_for_an_agent_that_hangs() {
    let env = scenes::small();
    let path = install(&env, "gemini", "sleep 3 & wait");
    let begun = Instant::now();
    let gemini = finding(&env, &path, "gemini", 0);
    assert!(gemini["detail"].as_str().unwrap().contains("did not tell its version"), "{gemini}");
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn an_old_git_is_told_by_what_that_costs() {
    let env = scenes::small();
    let real = scenes::system(&env, "sh", &["-c", "command -v git"]);
    let pose = |version: &str| {
        let script = format!(
            "[ \"$1\" = --version ] && exec echo git version {version}\nexec {real} \"$@\""
        );
        install(&env, "git", &script)
    };
    let old = finding(&env, &pose("2.39.5"), "git", 0);
    assert!(old["remedy"].as_str().unwrap().contains("install git 2.41 or later"), "{old}");
    let older = finding(&env, &pose("2.25.1"), "git", 69);
    assert!(older["remedy"].as_str().unwrap().contains("no run can start"), "{older}");
}

#[test]
fn a_toolchain_that_does_not_work_fails_the_visit_and_the_run() {
    let env = scenes::small();
    env.write("Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    env.write("src/lib.rs", "");
    env.write(".spore/config.toml", "");
    env.commit_all("a crate");
    let path = install(&env, "cargo", "echo no default toolchain >&2; exit 1");
    let gates = finding(&env, &path, "gates", 69);
    let told = "no run can start without cargo, which exits with 1 when asked for its version";
    assert!(gates["remedy"].as_str().unwrap().starts_with(told), "{gates}");
    assert_eq!(finding(&env, &path, "cargo", 69)["detail"], "exits with 1");
    env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(scenes::WRITE_42));
    let output = env.spore_in(&env.repo(), scenes::ORCHESTRATE, &[("PATH", &path)]).code(69);
    assert!(output.stderr.contains("`cargo` exits with 1"), "{}", output.render());
    // What only sounds odd to others is asked in its own words.
    let path = install(&env, "go", "[ \"$1\" = version ] && exec echo go version go1.24\nexit 2");
    assert_eq!(finding(&env, &path, "go", 69)["detail"], "go version go1.24");
}

#[test]
fn checkouts_of_runs_that_are_over_are_counted() {
    let env = scenes::with_scenario(&scenes::one_bounce(scenes::WRITE_42));
    let path = std::env::var("PATH").unwrap();
    assert_eq!(finding(&env, &path, "stale", 0), Value::Null);
    // A verified run gives its checkouts up by itself.
    let _ = scenes::orchestrate(&env, &[]).code(0);
    assert_eq!(finding(&env, &path, "stale", 0), Value::Null);
    let nothing = scenes::one_bounce(r#"{ say = "done" }"#);
    env.write_at(&env.dir().join("scenario.toml"), &nothing);
    let _ = scenes::orchestrate(&env, &["--max-bounces", "1"]).code(11);
    let stale = finding(&env, &path, "stale", 0);
    assert_eq!(stale["detail"], "1 checkout of runs that are over");
    assert_eq!(stale["required"], false);
    let _ = env.spore(&["runs", "prune"]).code(0);
    assert_eq!(finding(&env, &path, "stale", 0), Value::Null);
}

#[test]
fn a_damaged_page_of_the_database_is_found() {
    let env = scenes::small();
    let _ = env.spore(&["init"]).code(0);
    let path = env.repo().join(".spore/spore.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 4096;
    bytes[last..].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let database = finding(&env, &std::env::var("PATH").unwrap(), "database", 69);
    assert_eq!(database["ok"], false);
}
