//! What is left of what models said when `spore investigate` ends early, goes on after an edit, or
//! gets no answer.

use serde_json::json;
use spore_scripted_model::{ModelServer, Turn, VendorRefusal, When};

use crate::investigate_passes::{
    API, about, describes, investigate, model, project, run, shop, short_passes,
};
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
    let call: Vec<&str> = API.iter().chain(&["-o", "report.md"]).copied().collect();
    let killed = env.spore_in(&env.repo(), &call, &at_work);
    assert_eq!(killed.code, 137, "{}", killed.render());
    let before = about(&env, "src/price/tax")["metadata"]["key"].clone();
    env.write("src/price/tax/part.rs", "pub fn work() -> u32 {\n    2\n}\n");
    let resumed = env.spore(&["resume", "--json"]).code(0).json();
    assert_eq!(resumed["run"]["outcome"], "success", "{resumed:#}");
    assert_ne!(about(&env, "src/price/tax")["metadata"]["key"], before);
    // The report that was asked for is written by the process that brings the run to its end.
    let report = std::fs::read_to_string(env.repo().join("report.md")).unwrap();
    assert!(report.contains("A shop in Rust."), "{report}");
    std::fs::remove_file(env.repo().join("report.md")).unwrap();
    assert_eq!(investigate(&env, &server, &[]).1, Vec::<String>::new());
}

/// Who describes a directory names what is in its children: with an index and without, in the whole
/// project and in a part of it.
#[test]
fn what_is_in_a_child_is_there_for_its_parent() {
    let dirs = shop();
    let env = project(&dirs);
    env.write("src/price/tax/rate.rs", "pub struct VatTable;\n");
    let all = [dirs, ["price", "price/tax"].map(str::to_owned).to_vec()].concat();
    let server = model(&all, &[(".", "Keeps `VatTable`."), ("src", "Keeps `VatTable` of prices.")]);
    let _ = investigate(&env, &server, &[]);
    assert_eq!(about(&env, "src")["metadata"]["confidence"], 0.9);
    let _ = env.spore(&["index"]).code(0);
    let _ = investigate(&env, &server, &["src", "--fresh"]);
    let node = about(&env, "src");
    assert_eq!(
        (&node["content"], &node["metadata"]["confidence"]),
        (&"Keeps `VatTable`.".into(), &0.9.into())
    );
}

#[test]
fn a_flag_and_a_report_that_name_paths_that_are_not_there_come_back_once() {
    let dirs = vec![".".to_owned(), "docs".to_owned()];
    let env = project(&dirs);
    let heard =
        |text: &str| When { tool_result_contains: Some(text.to_owned()), ..When::default() };
    let flag = json!({ "path": "top.rs", "finding": "calls src/gone.rs", "severity": "info" });
    let report = json!({ "summary": "All.", "completeness": 1.0, "confidence": 0.9 });
    let whole = json!({ "brief": "A shop with src/none.rs.", "detailed": "It sells." });
    let server = ModelServer::start(scenario([
        Turn::calls("submit_report", whole.clone()).when(heard("not there: src/none.rs")),
        Turn::calls("submit_report", whole)
            .when(When::contains("from what is known of its directories")),
        Turn::calls("flag", flag.clone())
            .call("submit_report", report)
            .when(heard("not there: src/gone.rs")),
        Turn::calls("flag", flag).when(When::contains("Describe the directory . of the target")),
        describes("docs", "Words."),
        short_passes()[0].clone(),
        short_passes()[1].clone(),
    ]))
    .unwrap();
    let answer = run(&env, &server, &[]).code(0).json();
    let finding = "calls src/gone.rs (names what is not there: src/gone.rs)";
    assert_eq!(answer["flags"][0]["finding"], finding, "{answer:#}");
    assert_eq!(
        answer["passes"]["detailed"], "It sells.\n\nNamed here and not there: src/none.rs.",
        "{answer:#}"
    );
}

/// The loop over a directory that is sure of itself and not of its file.
#[test]
fn a_doubtful_file_of_a_sure_directory_is_refined_and_what_is_doubtful_comes_first() {
    let dirs = vec![".".to_owned(), "a".to_owned(), "b".to_owned(), "b/c".to_owned()];
    let env = project(&dirs);
    let doubts = Turn::calls(
        "write_cache",
        json!({ "cache_type": "file", "path": "b/part.rs",
            "data": { "summary": "Perhaps `work`.", "confidence": 0.3, "confidence_reason": "cut" } }),
    )
    .call("submit_report", json!({ "summary": "Does b.", "completeness": 1.0, "confidence": 0.9 }))
    .when(When::contains("Describe the directory b of the target"))
    .sticky()
    .named("b");
    let turns = short_passes()
        .into_iter()
        .chain([doubts])
        .chain([".", "a", "b/c"].map(|dir| describes(dir, &format!("Does {dir}."))));
    let server = ModelServer::start(scenario(turns)).unwrap();
    let _ = investigate(&env, &server, &[]);
    // One that is only stale waits for what is doubtful.
    env.write("a/part.rs", "pub fn work() {}\n");
    let sure = model(&dirs, &[]);
    assert_eq!(investigate(&env, &sure, &["--refine"]).1, ["b", "a"]);
    assert_eq!(about(&env, "b/part.rs")["metadata"]["confidence"], 0.9);
    assert_eq!(investigate(&env, &sure, &["--refine"]).1, Vec::<String>::new());
}
