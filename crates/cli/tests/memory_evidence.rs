//! What runs leave as evidence: of lessons, of the pages that sessions open, of lines on trial.

use serde_json::{Value, json};
use spore_scripted_model::{ModelServer, Turn, When};
use spore_testkit::TestEnv;

use crate::briefs::{LESSON, ROUND_TO_TEN, carried, play, shop};
use crate::mcp::Client;
use crate::memory::{project, raw};
use crate::scenes;
use crate::schemas::hold_to;
use crate::verified_run::{MODEL, SUPPORTS, scenario, variables};

fn remember(env: &TestEnv) {
    let _ = env.spore(&["memory", "scan"]).code(0);
    let _ = env.spore(&["memory", "crystallize"]).code(0);
}

/// The one lesson of a project.
fn lesson(env: &TestEnv) -> Value {
    let words = ["lessons", "--json"];
    let all = env.spore(&words).code(0).json();
    hold_to("lessons", &all, &words);
    assert_eq!(all.as_array().unwrap().len(), 1, "{all}");
    all[0].clone()
}

/// Has one more run, and returns how many lessons its coder was told.
fn told_lessons(env: &TestEnv, note: &str) -> usize {
    play(env, &format!("{{ write = \"{note}\", content = \"x\\n\" }}"), "Nothing to say.", &[]);
    carried(env, "bounce-1/coder")["lessons"].as_array().unwrap().len()
}

/// What a client of the tools is told that asks for the lessons.
fn asked_lessons(env: &TestEnv) -> String {
    let mut client = Client::greeted(env, &[], &[]);
    let (told, is_error) = client.call("lessons", json!({}));
    assert!(!is_error, "{told}");
    assert_eq!(client.leave(), 0);
    told
}

#[test]
fn a_lesson_earns_and_loses_its_place_by_the_ledger_of_the_lines() {
    let env = shop();
    play(&env, ROUND_TO_TEN, LESSON, &[]);
    assert_eq!(told_lessons(&env, "one.txt"), 1);
    remember(&env);
    let first = lesson(&env);
    let hash = first["hash"].as_str().unwrap();
    // A verified run that carried it proves nothing.
    assert_eq!((&first["carried"]["verified"], &first["record"]["helped"]), (&json!(1), &json!(0)));
    assert_eq!((&first["decision"], &first["standing"]), (&json!("untested"), &json!(0.5)));
    for why in ["the receipt rounds now", "rounding moved out of the bill"] {
        let _ = env.spore(&["memory", "feedback", hash, "failed", why]).code(0);
    }
    remember(&env);
    let wrong = lesson(&env);
    assert_eq!((&wrong["decision"], &wrong["record"]["missed"]), (&json!("remove"), &json!(2)));
    assert_eq!(told_lessons(&env, "two.txt"), 0, "it lost its place");
    assert!(asked_lessons(&env).contains("There are none yet."), "{}", asked_lessons(&env));
    let why = env.spore(&["memory", "why", hash, "--json"]).code(0).json();
    assert_eq!(why["line"], format!("lesson:{}", first["id"].as_str().unwrap()), "{why}");
    assert_eq!(why["evidence"].as_array().unwrap().len(), 2, "{why}");
    let status = env.spore(&["memory", "status", "--json"]).code(0).json();
    assert_eq!(status["lessons"][0]["missed"], 2, "{status}");
    let ledger = ".spore/memory/effectiveness/CLAUDE-md-effectiveness.md";
    let ledger = std::fs::read_to_string(env.repo().join(ledger)).unwrap();
    assert!(ledger.contains("\n## lesson:"), "{ledger}");
    // Nothing of the file was changed for it, and what speaks for it gives its place back.
    let updated = env.spore(&["memory", "update", "--json"]).code(0).json();
    assert_eq!(updated["removed"], json!([]), "{updated}");
    let _ = env.spore(&["memory", "feedback", hash, "helped", "it is in the bill again"]).code(0);
    remember(&env);
    assert_eq!(lesson(&env)["decision"], "keep");
    assert_eq!(told_lessons(&env, "three.txt"), 1);
    assert!(asked_lessons(&env).contains("Rounding is done in the bill alone"));
    insta::assert_snapshot!("lessons_with_evidence", env.spore(&["lessons"]).code(0).stdout);
}

/// A run of our own `api` agent, whose coder calls `first` before it writes.
fn run_calling(env: &TestEnv, first: Turn) -> String {
    let after =
        |result: &str| When { tool_result_contains: Some(result.to_owned()), ..When::default() };
    let write = "echo 42 >> answer.txt; printf WRIT; echo TEN";
    let server = ModelServer::start(scenario([
        first.when(When::contains("coder in bounce 1")),
        Turn::says("done").when(after("WRITTEN")).sticky(),
        Turn::calls("run", json!({ "command": write })).when(after("ada")),
        Turn::says(SUPPORTS).when(When::contains("verifier in bounce 1")),
    ]))
    .unwrap();
    let variables = variables(&server.url());
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let args = ["orchestrate", "the build is red", "--backend", "api", "--model", MODEL];
    let args = [&args[..], &["--no-summarize"]].concat();
    let _ = env.spore_in(&env.repo(), &args, &variables).code(0);
    scenes::newest_id(env)
}

/// A person corrects, in a run's session, and names the page that should have been read.
fn corrected(env: &TestEnv, number: u32, run: &str) {
    let event = json!({
        "id": format!("01KDZZZZZZ{number:016}"),
        "ts": format!("2026-01-02T23:00:{number:02}.000Z"),
        "source": { "kind": "human", "name": "test" },
        "type": "message", "session_key": run, "run": run,
        "payload": { "text": "You forgot to ask, it is all in memory/entities/ada.md" },
    });
    raw(env, &format!("{event}\n"));
}

#[test]
fn whether_a_session_opened_the_page_of_a_line_is_part_of_the_evidence() {
    let env = project();
    env.write(".spore/memory/entities/ada.md", "# Ada\n\nada knows the build.\n");
    let opened = run_calling(&env, Turn::calls("dossier", json!({ "path": "[[entity-ada]]" })));
    corrected(&env, 1, &opened);
    let passed_by = run_calling(&env, Turn::calls("run", json!({ "command": "echo ada" })));
    corrected(&env, 2, &passed_by);
    remember(&env);
    let why = env.spore(&["memory", "why", "L4", "--json"]).code(0).json();
    let rows = why["evidence"].as_array().unwrap();
    let causes: Vec<&Value> = rows.iter().map(|row| &row["root_cause"]).collect();
    // The first one had read it: why the line failed is not known then.
    assert_eq!(causes, [&Value::Null, &json!("recall-miss")], "{why}");
}

const TOLD: &str = "When the answer is wanted, write 42 into `notes/answer.txt`";

/// An agent that does right where it is told the line, and nothing where it is not.
fn told_or_lost() -> String {
    format!(
        "[[session]]\nrole = \"coder\"\nbounce = 1\ntask = \"write 42 into\"\nfinal = \"done\"\n\
         steps = [{{ run = \"echo 42 >> notes/answer.txt\" }}]\n\
         [[session]]\nrole = \"coder\"\nfinal = \"I do not know\"\n\
         [[session]]\nrole = \"verifier\"\nbounce = 1\nfinal = '''{SUPPORTS}'''\n"
    )
}

#[test]
fn a_trial_withholds_a_line_by_lot_and_tells_the_difference_with_its_interval() {
    let env = scenes::with_scenario(&told_or_lost());
    env.write("notes/answer.txt", "begun\n");
    env.commit_all("a place for answers");
    let _ = env.spore(&["init"]).code(0);
    env.write(".spore/memory/CLAUDE.md", &format!("- {TOLD}\n"));
    let _ = env.spore(&["memory", "trial", "L1", "--share", "0.5"]).code(0);
    let report = || env.spore(&["memory", "trial", "L1", "--json"]).code(0).json();
    let runs = |arm: &Value| arm["runs"].as_u64().unwrap();
    let scenario = ["--backend", "replay", "--scenario", "../scenario.toml"];
    let args = [&["orchestrate", "the answer is wanted"][..], &scenario, &["--no-summarize"]];
    let args = [&args.concat()[..], &["--max-bounces", "1"]].concat();
    for number in 1..=60 {
        let output = env.spore(&args);
        let text = scenes::artefact(&env, "bounce-1/coder/carried.json");
        let told: Value = serde_json::from_str(&text).unwrap();
        let lines = |name: &str| told[name].as_array().map_or(0, Vec::len);
        assert_eq!(lines("memory_lines") + lines("withheld"), 1, "{told}");
        assert_eq!(output.code == 0, lines("memory_lines") == 1, "{}", output.render());
        let found = report();
        if number >= 20 && runs(&found["told"]).min(runs(&found["withheld"])) >= 10 {
            break;
        }
    }
    let found = report();
    let (told, withheld) = (&found["told"], &found["withheld"]);
    assert!(runs(told) >= 10 && runs(withheld) >= 10, "{found}");
    assert_eq!((&told["verified"], &withheld["verified"]), (&told["runs"], &json!(0)));
    assert_eq!((&found["finding"], &found["verified"]["mean"]), (&json!("helps"), &json!(1.0)));
    assert!(found["verified"]["low"].as_f64().unwrap() > 0.0, "{found}");
    // A trial that is over withholds nothing.
    let _ = env.spore(&["memory", "trial", "L1", "--stop"]).code(0);
    let _ = env.spore(&args).code(0);
}
