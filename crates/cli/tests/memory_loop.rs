//! The loop of memory from end to end: a line misleads runs, people put their work right, the line
//! is rewritten on that evidence, and what it became does better.

use serde_json::{Value, json};
use spore_testkit::TestEnv;

use crate::memory::hash;
use crate::memory_judge::{model, with_model};
use crate::scenes;

const WRONG: &str = "When the answer is wanted, write 43 into `notes/answer.txt`";
const RIGHT: &str = "When the answer is wanted, write 42 into `notes/answer.txt`";

/// An agent that goes by what it is told: its session is chosen by the line in its task file.
fn obedient() -> String {
    let coder = |number: u32| {
        format!(
            "[[session]]\nrole = \"coder\"\nbounce = 1\ntask = \"write {number} into\"\n\
             final = \"done\"\nsteps = [{{ run = \"echo {number} >> notes/answer.txt\" }}]\n"
        )
    };
    let verifier = format!(
        "[[session]]\nrole = \"verifier\"\nbounce = 1\nfinal = '''{}'''\n",
        crate::verified_run::SUPPORTS
    );
    format!("{}{}{verifier}", coder(43), coder(42))
}

/// A run that lands, and then a person who puts a wrong answer right.
fn run_and_review(env: &TestEnv) {
    let scenario = ["--backend", "replay", "--scenario", "../scenario.toml"];
    let args =
        [&["orchestrate", "the answer is wanted"][..], &scenario, &["--no-summarize"]].concat();
    let _ = env.spore(&args).code(0);
    let branch = scenes::newest_branch(env);
    env.git(&["merge", "--quiet", &branch]);
    let path = env.repo().join("notes/answer.txt");
    let text = std::fs::read_to_string(path).unwrap();
    if text.contains("43") {
        env.write("notes/answer.txt", &text.replace("43", "42"));
        env.commit_all("put it right");
    }
    let _ = env.spore(&["events", "collect"]).code(0);
}

fn remember(env: &TestEnv) {
    let _ = env.spore(&["memory", "scan"]).code(0);
    let _ = env.spore(&["memory", "crystallize"]).code(0);
}

fn line(env: &TestEnv, text: &str) -> Value {
    env.spore(&["memory", "why", text, "--json"]).code(0).json()
}

fn seen(why: &Value, trajectory: &str) -> usize {
    let rows = why["evidence"].as_array().unwrap();
    rows.iter().filter(|row| row["trajectory"] == trajectory).count()
}

#[test]
fn a_line_that_misleads_is_rewritten_on_what_people_corrected_and_does_better() {
    let env = scenes::with_scenario(&obedient());
    env.write("notes/answer.txt", "begun\n");
    env.commit_all("a place for answers");
    let _ = env.spore(&["init"]).code(0);
    env.write(".spore/memory/CLAUDE.md", &format!("- {WRONG}\n"));
    for _ in 0..2 {
        run_and_review(&env);
    }
    remember(&env);
    let old = line(&env, WRONG);
    assert_eq!(seen(&old, "WEAKENING"), 2, "{old}");
    assert_eq!((&old["carried"]["runs"], &old["carried"]["verified"]), (&json!(2), &json!(2)));
    // Green gates and a verdict did not make it a good line.
    assert_eq!(seen(&old, "STRENGTHENING"), 0, "{old}");
    let old_hash = hash(&env, WRONG);

    let rows = old["evidence"].as_array().unwrap().iter();
    let cites: Vec<&Value> = rows.map(|row| &row["fragment"]).collect();
    let edit = json!([{ "do": "rewrite", "line": old_hash, "text": RIGHT, "fragments": cites,
        "why": "People wrote 42 each time." }]);
    let server = model(&json!([]), &edit);
    let updated =
        with_model(&env, &server, &["memory", "update", "--propose", "--json"]).code(0).json();
    assert_eq!(updated["rewritten"][0]["old"], json!(old_hash), "{updated}");

    for _ in 0..2 {
        run_and_review(&env);
    }
    remember(&env);
    let new = line(&env, RIGHT);
    assert_eq!(new["was"], json!([old_hash]), "{new}");
    assert_eq!((&new["carried"]["runs"], &new["carried"]["verified"]), (&json!(2), &json!(2)));
    assert_eq!(seen(&new, "WEAKENING"), 0, "{new}");
    // Of the runs that carried the first, people had to put both right; of its successor's, none.
    // That is all that can be said: to be carried is not to have helped.
    assert_eq!((seen(&new, "STRENGTHENING"), &new["decision"]), (0, &json!("untested")), "{new}");
}
