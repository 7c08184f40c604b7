//! What a run meets at the limits of others: a quota that comes back, tools that are not let through.
//!
//! The real Claude Code is installed by `cargo xtask test`; where it is not, its tests say that they
//! were skipped.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use serde_json::json;
use spore_scripted_model::{ModelServer, Turn, VendorRefusal, When};
use spore_testkit::TestEnv;

use crate::scenes;
use crate::verified_run::{MODEL, SUPPORTS, scenario, variables};

fn beside(server: &ModelServer) -> TestEnv {
    variables(&server.url())
        .into_iter()
        .fold(scenes::small(), |env, (name, value)| env.with_variable(name, &value))
}

#[test]
fn a_quota_is_told_with_its_end_in_local_time_and_the_run_goes_on_after_it() {
    let refusal = VendorRefusal::new(429).message("five hours are used up");
    let is_coder = || When::contains("coder in bounce 1");
    let write = Turn::calls("run", json!({ "command": "echo 42 > answer.txt; echo WRITTEN" }));
    let written = When { tool_result_contains: Some("WRITTEN".to_owned()), ..When::default() };
    let server = ModelServer::start(scenario([
        Turn::refuses(refusal.reset("2026-01-02T20:04:00Z")).when(is_coder()),
        Turn::says("done").when(written),
        write.when(is_coder()),
        Turn::says(SUPPORTS).when(When::contains("verifier in bounce 1")),
    ]))
    .unwrap();
    let env = beside(&server).with_variable("TZ", "EST5EDT,M3.2.0,M11.1.0");
    let args = ["orchestrate", "write the answer", "--backend", "api", "--model", MODEL];
    let output = env.spore(&[&args[..], &["--no-summarize"]].concat()).code(75);
    let told = "Wait until 2026-01-02 15:04 EST, when its limit is over:\n  spore resume";
    assert!(output.stdout.contains(told), "{}", output.render());
    let shown = env.spore(&["runs", "show"]).code(0).stdout;
    assert!(
        shown.contains("Wait until 2026-01-02 15:04 EST, when its limit is over:\n"),
        "{shown}"
    );
    let data = scenes::newest(&env);
    assert_eq!(data["status"], "parked:quota");
    assert_eq!(data["next"]["until"], "2026-01-02T20:04:00.000Z");

    let _ = env.spore(&["resume"]).code(0);
    let after = scenes::newest(&env);
    assert_eq!(after["status"], "verified");
    assert!(after["next"].is_null(), "{}", after["next"]);
    assert_eq!(server.unanswered().len(), 0);
}

/// An executor whose only work is a file.
const FLOW: &str = "[executors.notes]\nrole = \"operator\"\nprompt = \"write it down\"\n\
    backend = \"claude\"\nactions = [\"WRITE\"]\nallowed_tools = [\"Read\"]\nartifact = \"notes.md\"\n";

#[test]
fn calls_that_claude_refuses_are_counted_told_with_the_cure_and_no_success() {
    let Ok(program) = std::env::var("SPORE_TEST_CLAUDE") else {
        eprintln!("skipped: SPORE_TEST_CLAUDE names no program; `cargo xtask test` does");
        return;
    };
    let write = |file: &str| {
        Turn::calls("Write", json!({ "file_path": file, "content": "seen\n" }))
            .when(When::contains("write it down"))
    };
    let refused = When { tool_result_contains: Some("No such tool".to_owned()), ..When::default() };
    let says = Turn::says("All of it is written.").when(refused).sticky();
    let env = scenes::small();
    let file = env.repo().join("notes.md").display().to_string();
    let server = ModelServer::start(scenario([says, write(&file).sticky()])).unwrap();
    let env = variables(&server.url())
        .into_iter()
        .fold(env, |env, (name, value)| env.with_variable(name, &value))
        .with_variable("SPORE_CLAUDE_PROGRAM", &program);
    env.write(".spore/flows/notes.toml", FLOW);

    let args = ["spawn", "--prompt", "write it down", "--backend", "claude", "--model", MODEL];
    let output = env.spore(&[&args[..], &["--allowed-tools", "Read"]].concat());
    assert_eq!(output.code, 1, "{}", output.render());
    for words in [
        "operator: Write refused",
        "it was let change nothing: 1 tool call was refused (Write)",
        "`--allowed-tools Write` lets them through",
    ] {
        assert!(output.stderr.contains(words), "{words}: {}", output.render());
    }
    let shown = scenes::newest(&env);
    assert_eq!(shown["sessions"][0]["refused"], json!([{ "tool": "Write", "times": 1 }]));
    let told = env.spore(&["runs", "show"]).code(0).stdout;
    assert!(told.contains("1 tool call was refused (Write); `--allowed-tools`"), "{told}");

    let output = env.spore(&["exec", "notes", "WRITE", "it"]).code(1);
    for words in ["1 tool call was refused (Write)", "`allowed_tools` of the executor notes"] {
        assert!(output.stderr.contains(words), "{words}: {}", output.render());
    }
    let shown = scenes::newest(&env);
    assert!(shown["run"]["reason"].as_str().unwrap().contains("refused (Write)"), "{shown:#}");
    assert!(!env.repo().join("notes.md").exists());
}
