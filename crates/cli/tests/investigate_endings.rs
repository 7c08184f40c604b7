//! What is left of what models said when `spore investigate` ends early, goes on after an edit, or
//! gets no answer.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use spore_scripted_model::{ModelServer, Turn, VendorRefusal, When};

use crate::investigate_passes::{API, about, investigate, model, project, run, shop};
use crate::verified_run::{scenario, variables};

#[test]
fn an_early_end_takes_nothing_away_that_a_model_said() {
    let dirs = shop();
    let env = project(&dirs);
    let server = model(&dirs, &[]);
    let _ = investigate(&env, &server, &[]);
    env.write("src/price/tax/part.rs", "pub fn work() -> u32 {\n    2\n}\n");
    env.write("docs/part.rs", "pub fn other() {}\n");
    let other = model(&dirs, &[("src/price/tax", "Knows `work` now.")]);
    let answer = run(&env, &other, &["--budget", "0.001"]).code(12).json();
    assert_eq!(answer["passes"]["brief"], "A shop in Rust.", "{answer:#}");
    assert_eq!(about(&env, "src/price/tax")["content"], "Knows `work` now.");
    // What was not reached is kept, known to be old, and told in no task file.
    let docs = about(&env, "docs");
    assert_eq!(
        (&docs["content"], &docs["metadata"]["stale"]),
        (&"Does docs.".into(), &true.into())
    );
    let told = env.spore(&["context", "mend docs/part.rs"]).code(0).stdout;
    assert!(!told.contains("Does docs."), "{told}");
    let page = env.spore(&["investigate", "--no-model", "-o", "report.md"]).code(0);
    let page_text = std::fs::read_to_string(env.repo().join("report.md")).unwrap();
    assert!(page_text.contains("A shop in Rust."), "{page_text}{}", page.stdout);
}

#[test]
fn a_model_that_does_not_answer_is_no_success_and_takes_nothing_away() {
    let dirs = vec![".".to_owned(), "docs".to_owned()];
    let env = project(&dirs);
    let server = model(&dirs, &[]);
    let _ = investigate(&env, &server, &[]);
    env.write("docs/part.rs", "pub fn other() {}\n");
    let refuses =
        Turn::refuses(VendorRefusal::new(400).message("no such model")).when(When::default());
    let down = ModelServer::start(scenario([refuses.sticky()])).unwrap();
    let answer = run(&env, &down, &[]).code(12).json();
    assert!(answer["passes"]["stopped"].is_string(), "{answer:#}");
    assert_eq!(answer["passes"]["brief"], "A shop in Rust.");
    let docs = about(&env, "docs");
    assert_eq!(
        (&docs["content"], &docs["metadata"]["stale"]),
        (&"Does docs.".into(), &true.into())
    );
    // Nor is what holds made doubtful where it is only wanted anew.
    let _ = run(&env, &down, &["--fresh"]).code(12);
    assert_ne!(about(&env, ".")["metadata"]["partial"], true);
    assert_eq!(investigate(&env, &server, &[]).1, ["docs"]);
    assert_eq!(about(&env, "docs")["metadata"]["stale"], serde_json::Value::Null);
}

#[test]
fn a_directory_that_was_edited_before_a_run_goes_on_is_looked_at_again() {
    let dirs = shop();
    let env = project(&dirs);
    let server = model(&dirs, &[]);
    let env = variables(&server.url())
        .into_iter()
        .fold(env, |env, (name, value)| env.with_variable(name, &value));
    let at_work = [("SPORE_KILL_AT", "after:row:update look at src/price/1 investigator/1 #1")];
    let call: Vec<&str> = API.iter().chain(&["--json"]).copied().collect();
    let killed = env.spore_in(&env.repo(), &call, &at_work);
    assert_eq!(killed.code, 137, "{}", killed.render());
    let before = about(&env, "src/price/tax")["metadata"]["key"].clone();
    env.write("src/price/tax/part.rs", "pub fn work() -> u32 {\n    2\n}\n");
    let resumed = env.spore(&["resume", "--json"]).code(0).json();
    assert_eq!(resumed["run"]["outcome"], "success", "{resumed:#}");
    assert_ne!(about(&env, "src/price/tax")["metadata"]["key"], before);
    assert_eq!(investigate(&env, &server, &[]).1, Vec::<String>::new());
}
