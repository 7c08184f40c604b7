//! One agent session on its own.

use spore_testkit::kill::{KillTarget, matrix};

use crate::scenes;

const SCENARIO: &str = r#"
[[session]]
role = "operator"
bounce = 1
turns = 2
cost_usd = 0.5
usage = { input_tokens = 100, output_tokens = 10 }
final = "It is a question."
steps = [
  { expect = "what is this" },
  { run = "env > ~/env.txt" },
  { say = "I look around." },
]
"#;

const SPAWN: &[&str] =
    &["spawn", "--prompt", "what is this", "--backend", "replay", "--scenario", "../scenario.toml"];

fn with(more: &[&'static str]) -> Vec<&'static str> {
    SPAWN.iter().chain(more).copied().collect()
}

#[test]
fn a_session_answers_on_stdout_and_is_on_record() {
    let env = scenes::with_scenario(SCENARIO);
    let output = env.spore(SPAWN).code(0);
    insta::assert_snapshot!(output.render(), @"
    exit code: 0
    --- stdout
    It is a question.
    --- stderr
    Initialised .spore/, where runs are kept.
      operator: run env > ~/env.txt
      operator: run ok
      operator: I look around.
      operator: It is a question.
    ");
    let listed = env.spore(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(listed[0]["kind"], "spawn");
    assert_eq!(listed[0]["status"], "finished");
    assert_eq!(listed[0]["cost_usd"], 0.5);
    let shown = env.spore(&["runs", "show", listed[0]["id"].as_str().unwrap(), "--json"]);
    assert_eq!(shown.code(0).json()["ledger"].as_array().unwrap().len(), 1);
}

#[test]
fn the_answer_as_json_is_one_document() {
    let env = scenes::with_scenario(SCENARIO);
    for flag in [&["--json"][..], &["--output-format", "json"]] {
        let output = env.spore(&with(flag)).code(0);
        let answer = output.json();
        assert_eq!(answer["result"], "It is a question.");
        assert_eq!(answer["turns"], 2);
        assert_eq!(answer["depth"], 0);
    }
}

#[test]
fn a_session_is_told_how_deep_it_is_and_what_it_belongs_to() {
    let env = scenes::with_scenario(SCENARIO);
    let variables = [("SPORE_SPAWN_DEPTH", "1"), ("SPORE_TRACE_ID", "trace-7")];
    let _ = env.spore_in(&env.repo(), SPAWN, &variables).code(0);
    let seen = std::fs::read_to_string(env.dir().join("home/env.txt")).unwrap();
    assert!(seen.contains("SPORE_SPAWN_DEPTH=2\n"), "{seen}");
    assert!(seen.contains("SPORE_TRACE_ID=trace-7\n"), "{seen}");
}

#[test]
fn a_role_that_nobody_describes_is_refused_with_those_that_there_are() {
    let env = scenes::with_scenario(&SCENARIO.replace("operator", "reviewer"));
    let output = env.spore(&with(&["--role", "reviewer"])).code(64);
    insta::assert_snapshot!(scenes::told(&output), @r#"
    exit code: 64
    --- stdout
    --- stderr
    error: there is no role "reviewer"
      try: known are auditor, coder, consolidator, decomposer, evaluator, leader, operator, planner, research-consolidator, researcher, resolver, roadmap-writer, spec-writer, sufficiency-judge, summarizer, tester, verifier; write another one into .spore/agents/reviewer.md
    "#);
    let near = env.spore(&with(&["--role", "verifer"])).code(64);
    assert!(near.stderr.contains("did you mean verifier?"), "{}", near.stderr);
    // Who describes it with the call has said what it is.
    env.write("reviewer.md", "You review.\n");
    let _ = env.spore(&with(&["--role", "reviewer", "--system-prompt", "reviewer.md"])).code(0);
    env.write(".spore/agents/reviewer.md", "You review.\n");
    let _ = env.spore(&with(&["--role", "reviewer"])).code(0);
}

#[test]
fn at_the_depth_limit_nothing_is_started() {
    let env = scenes::with_scenario(SCENARIO);
    for (variable, depth) in [("SPORE_SPAWN_DEPTH", "2"), ("AGENTIC_SPAWN_DEPTH", "7")] {
        let output = env.spore_in(&env.repo(), SPAWN, &[(variable, depth)]).code(2);
        assert_eq!(output.stdout, "");
        assert!(output.stderr.contains("nested"), "{}", output.stderr);
    }
    let _ = env.spore_in(&env.repo(), SPAWN, &[("SPORE_SPAWN_DEPTH", "many")]).code(65);
    assert!(!env.dir().join("home/env.txt").exists());
    let deeper = with(&["--max-depth", "3"]);
    let _ = env.spore_in(&env.repo(), &deeper, &[("SPORE_SPAWN_DEPTH", "2")]).code(0);
}

#[test]
fn a_session_that_fails_says_why_and_has_its_exit_code() {
    let env = scenes::with_scenario(&SCENARIO.replace("what is this", "something else"));
    let output = env.spore(SPAWN).code(1);
    assert_eq!(output.stdout.trim(), "");
    assert!(output.stderr.contains("the prompt does not say"), "{}", output.stderr);
    let env =
        scenes::with_scenario(&SCENARIO.replace("{ say = \"I look around.\" }", "{ hang = true }"));
    let _ = env.spore(&with(&["--timeout", "300ms"])).code(21);
    assert_eq!(spore_testkit::wait_until_none(env.dir(), std::time::Duration::from_secs(8)), []);
}

#[test]
fn exactly_one_source_of_the_prompt_is_wanted() {
    let env = scenes::with_scenario(SCENARIO);
    let _ = env.spore(&["spawn"]).code(64);
    let _ = env.spore(&with(&["--prompt-file", "x"])).code(64);
    env.write("prompt.md", "what is this\n");
    let _ = env
        .spore(&[
            "spawn",
            "--prompt-file",
            "prompt.md",
            "--backend",
            "replay",
            "--scenario",
            "../scenario.toml",
        ])
        .code(0);
}

#[test]
fn a_session_killed_at_any_effect_ends_like_one_that_was_not() {
    let target =
        KillTarget { scene: &|| scenes::with_scenario(SCENARIO), command: SPAWN, random: 4 };
    let tally = matrix(&target);
    println!("kill matrix of a spawned session: {}", tally.line());
    let nothing: Vec<String> = Vec::new();
    assert_eq!(tally.ended, "finished");
    assert_eq!(tally.divergent, nothing, "{}", tally.line());
    assert_eq!(tally.duplicates, nothing, "{}", tally.line());
    assert_eq!(tally.left_running, nothing, "{}", tally.line());
    assert!(tally.points > 20, "{}", tally.line());
}
