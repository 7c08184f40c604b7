//! A whole run with real agents against a scripted model: a red gate, a rejection, a pass.
//!
//! What is held against the model's own books: what reached it on the wire, how many tokens
//! were used and what they cost. `api` is our own loop; the real Claude Code is installed by
//! `cargo xtask test`, and where it is not, its test says that it was skipped.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::time::Duration;

use serde_json::{Value, json};
use spore_model::{Usage, Usd};
use spore_scripted_model::{
    ModelScenario, ModelServer, RecordedExchange, ScriptedPrice, Turn, When,
};
use spore_testkit::TestEnv;

use crate::bystander::Footprint;
use crate::scenes;

pub(crate) const MODEL: &str = "claude-sonnet-4-5";
const REASON: &str = "43 is not the answer";
pub(crate) const SUPPORTS: &str = r#"<verdict>{"nonce":"$NONCE","verdict":"supports","confidence":0.9,"reason":"it says 42"}</verdict>"#;
const SUMMARY: &str = r#"<summary>{"title": "The answer is written", "summary": "answer.txt says 42 after two attempts that fell short.", "lessons": []}</summary>"#;

/// How an agent's tools are called.
struct Tongue {
    backend: &'static str,
    shell: fn(&str) -> Turn,
    submit: &'static str,
    /// Whether it can go on with a conversation.
    resumes: bool,
}

const CLAUDE: Tongue = Tongue {
    backend: "claude",
    shell: |command| Turn::calls("Bash", json!({ "command": command, "description": "as told" })),
    submit: "mcp__spore__submit_verdict",
    resumes: true,
};

const API: Tongue = Tongue {
    backend: "api",
    shell: |command| Turn::calls("run", json!({ "command": command })),
    submit: "submit_verdict",
    resumes: false,
};

/// The coder clears a file that must stay, then writes a wrong answer, then the right one.
fn turns(tongue: &Tongue) -> [Turn; 9] {
    // No command is spelt like what it says: a call is told in pieces before it is made, and what
    // waits for its word must not take the call for its result.
    let coder = |when: &str, command: &str| {
        (tongue.shell)(&format!("{command}; printf WRIT; echo TEN")).when(When::contains(when))
    };
    let after =
        |result: &str| When { tool_result_contains: Some(result.to_owned()), ..When::default() };
    let verdict = json!({
        "verdict": "contradicts", "confidence": 0.9, "reason": REASON,
        "findings": [{ "file": "answer.txt", "line": 1, "message": "must be 42" }],
    });
    [
        // First: what is summed up quotes the others.
        Turn::says(SUMMARY).when(When::contains("summarizer after its end")),
        Turn::says("done").when(after("WRITTEN")).sticky(),
        Turn::says("I have handed it in.").when(after("Taken")).sticky(),
        coder("coder in bounce 1", "printf 'gone\\n' > kept.txt"),
        coder("Bounce 1 did not hold", "printf 'keep me\\n' > kept.txt; echo 43 > answer.txt"),
        Turn::calls(tongue.submit, verdict).when(When::contains("verifier in bounce 2")),
        coder(REASON, "echo 42 > answer.txt"),
        Turn::says(SUPPORTS).when(When::contains("verifier in bounce 3")),
        // It had written its file when it was cut off.
        Turn::says("done").when(When::contains("You were cut off")),
    ]
}

pub(crate) fn scenario(turns: impl IntoIterator<Item = Turn>) -> ModelScenario {
    let usd = |thousandths: i64| Usd::from_nanos(thousandths * 1_000_000);
    let price = ScriptedPrice {
        input: usd(3000),
        output: usd(15_000),
        cached: usd(300),
        written: usd(3750),
    };
    turns.into_iter().fold(ModelScenario::new().price("*", price), ModelScenario::turn)
}

/// What is typed for a run of Claude Code.
pub(crate) const CLAUDE_RUN: &[&str] = &[
    "orchestrate",
    "write the answer",
    "--backend",
    "claude",
    "--model",
    MODEL,
    "--apply",
    "merge",
];

/// A repository with a model of its own, which plays every turn as often as it is asked: a
/// session that was cut short is run again. It takes its time with the last word, so that a
/// session can be met in its middle.
pub(crate) fn claude_scene(program: &str) -> TestEnv {
    // The tokens of a turn are fixed: Claude Code sends its directory, the date and the
    // model's address with every request, so their real number differs from place to place.
    let patient = turns(&CLAUDE).into_iter().zip(1..).map(|(turn, number)| {
        let usage = Usage {
            input_tokens: 1000 * number,
            output_tokens: 10 * number,
            cache_read_tokens: 100 * number,
            cache_write_tokens: number,
        };
        let last = [2, 3].contains(&number);
        turn.usage(usage).sticky().delay(Duration::from_millis(if last { 500 } else { 0 }))
    });
    let server = ModelServer::start(scenario(patient)).unwrap();
    let env = variables(&server.url())
        .into_iter()
        .fold(scenes::small(), |env, (name, value)| env.with_variable(name, &value));
    env.with_variable("SPORE_CLAUDE_PROGRAM", program).keeping(server)
}

pub(crate) fn variables(url: &str) -> [(&'static str, String); 4] {
    [
        ("ANTHROPIC_BASE_URL", url.to_owned()),
        ("ANTHROPIC_API_KEY", "no-key-at-all".to_owned()),
        ("DISABLE_TELEMETRY", "1".to_owned()),
        ("CLAUDE_CODE_MAX_RETRIES", "1".to_owned()),
    ]
}

/// Plays the run and holds it against the model's books.
fn verify(tongue: &Tongue, more: &[(&str, &str)]) {
    let env = scenes::small();
    let server = ModelServer::start(scenario(turns(tongue))).unwrap();
    let before = Footprint::of(&env.repo());
    let args = ["orchestrate", "write the answer", "--backend", tongue.backend, "--model", MODEL];
    let args = [&args[..], &["--json"]].concat();
    let variables = variables(&server.url());
    let variables = variables.iter().map(|(name, value)| (*name, value.as_str()));
    let variables: Vec<(&str, &str)> = variables.chain(more.iter().copied()).collect();
    let output = env.spore_in(&env.repo(), &args, &variables);
    assert_eq!(output.code, 0, "{}", output.render());
    assert_eq!(server.unanswered().len(), 0);
    let report = output.json();
    three_bounces(&report);
    the_books_agree(&report, &server);
    the_rejection_was_on_the_wire(tongue, &server.requests());
    the_graph_knows_it(&env);
    before.still_holds(&env.repo());
}

fn three_bounces(report: &Value) {
    let bounces = report["bounces"].as_array().unwrap();
    let ends: Vec<&str> = bounces.iter().map(|bounce| bounce["status"].as_str().unwrap()).collect();
    assert_eq!(ends, ["rejected", "rejected", "verified"], "{report:#}");
    assert_eq!(bounces[1]["verdict"]["reason"], REASON);
    assert_eq!(bounces[1]["verdict"]["source"], "tool");
    assert_eq!(bounces[2]["verdict"]["source"], "block");
    assert_eq!(report["sessions"][0]["role"], "summarizer");
}

fn the_books_agree(report: &Value, server: &ModelServer) {
    let totals = server.totals();
    assert_eq!(totals.unpriced, 0);
    assert_eq!(report["cost"]["usd"], json!(totals.cost_usd), "{report:#}");
    assert_eq!(report["cost"]["estimated"], false);
    assert_eq!(report["run"]["tokens"], json!(totals.usage), "{report:#}");
}

/// The coder of the third bounce was told why, and in the conversation that it had before if
/// its agent can go on with one.
fn the_rejection_was_on_the_wire(tongue: &Tongue, requests: &[RecordedExchange]) {
    let told = requests.iter().find(|exchange| exchange.turn() == Some(7)).unwrap();
    let body = told.body.to_string();
    for words in [REASON, "answer.txt:1: must be 42"] {
        assert!(body.contains(words), "{words:?} is not in {body}");
    }
    for words in ["printf 'gone", "Bounce 1 did not hold"] {
        assert_eq!(body.contains(words), tongue.resumes, "{words:?} in {body}");
    }
}

fn the_graph_knows_it(env: &TestEnv) {
    let count = |kind: &str| {
        let listed = env.spore(&["graph", "query-edges", "--type", kind, "--json"]).code(0);
        let all = listed.json();
        all.as_array().unwrap().iter().filter(|edge| edge["superseded_by"].is_null()).count()
    };
    // The contradiction was superseded by the verdict that holds.
    assert_eq!((count("supports"), count("contradicts")), (1, 0));
    assert_eq!((count("derives_from"), count("summarizes")), (3, 1));
}

#[test]
fn a_run_of_our_own_loop_is_rejected_twice_and_then_verified() {
    verify(&API, &[]);
}

#[test]
fn live_claude_is_rejected_twice_and_then_verified() {
    match std::env::var("SPORE_TEST_CLAUDE") {
        Ok(program) => verify(&CLAUDE, &[("SPORE_CLAUDE_PROGRAM", &program)]),
        Err(_) => eprintln!("skipped: SPORE_TEST_CLAUDE names no program; `cargo xtask test` does"),
    }
}

/// What the verifier has run sees the tree under review and nothing of the session that asked for it:
/// neither its processes nor the token that a verdict is handed in with, and it leaves nothing there.
#[test]
fn what_a_verifier_has_run_is_not_in_its_session() {
    let command = "cat answer.txt; ls /proc | grep -c '^[0-9]'; grep -las SPORE_BROKER /proc/*/environ; \
                   env | grep -c SPORE_BROKER; echo 41 > answer.txt; echo RAN";
    let again = "cat answer.txt; echo AGAIN";
    let after =
        |result: &str| When { tool_result_contains: Some(result.to_owned()), ..When::default() };
    let turns = [
        Turn::says(SUMMARY).when(When::contains("summarizer after its end")),
        Turn::says("done").when(after("WRITTEN")),
        Turn::says(SUPPORTS).when(after("AGAIN")),
        Turn::calls("run_command", json!({ "command": again })).when(after("RAN")),
        (API.shell)("echo 42 > answer.txt; echo WRITTEN").when(When::contains("coder in bounce 1")),
        Turn::calls("run_command", json!({ "command": command }))
            .when(When::contains("verifier in bounce 1")),
    ];
    let env = scenes::small();
    let server = ModelServer::start(scenario(turns)).unwrap();
    let variables = variables(&server.url());
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let args = ["orchestrate", "write the answer", "--backend", "api", "--model", MODEL];
    let output = env.spore_in(&env.repo(), &args, &variables);
    assert_eq!(output.code, 0, "{}", output.render());
    let heard: Vec<String> = server
        .requests()
        .iter()
        .flat_map(|exchange| exchange.body["messages"].as_array().cloned().unwrap_or_default())
        .map(|message| message["content"].to_string())
        .filter(|content| content.contains("tool_result") && content.contains("exit 0"))
        .collect();
    let first = heard.iter().find(|content| content.contains("RAN")).unwrap();
    // The first process of its sandbox, a shell, ls and grep.
    assert!(first.contains(r"exit 0\n42\n4\n0\nRAN"), "{first}");
    assert!(heard.iter().any(|content| content.contains(r"exit 0\n42\nAGAIN")), "{heard:?}");
}
