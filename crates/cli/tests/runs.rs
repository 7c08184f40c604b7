//! `spore runs`: what happened so far.

use spore_testkit::TestEnv;

use crate::scenes::{self, WRITE_42, told};

fn task(env: &TestEnv, task: &str, steps: &str, more: &[&str], code: i32) -> String {
    env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(steps));
    let words = ["orchestrate", task, "--backend", "replay", "--scenario", "../scenario.toml"];
    let args: Vec<&str> = words.iter().chain(more).copied().collect();
    let _ = env.spore(&args).code(code);
    scenes::newest_id(env)
}

/// A project that has seen a few things.
pub(crate) fn history() -> (TestEnv, Vec<String>) {
    let env = scenes::small();
    let nothing = r#"{ say = "done" }"#;
    let ids = vec![
        task(&env, "write the answer", WRITE_42, &[], 0),
        task(&env, "do nothing well", nothing, &["--max-bounces", "1"], 11),
        task(&env, "give up\nat once, and at length", "{ exit = 3 }", &[], 1),
        task(&env, "spend too much", WRITE_42, &["--budget", "0.10"], 3),
    ];
    (env, ids)
}

#[test]
fn a_project_without_runs_says_how_to_start_one() {
    let env = scenes::small();
    let _ = env.spore(&["init"]).code(0);
    let output = env.spore(&["runs", "list"]).code(0);
    insta::assert_snapshot!(told(&output), @"
    exit code: 0
    --- stdout
    No runs yet. `spore orchestrate TASK` starts one.
    --- stderr
    ");
    assert_eq!(env.spore(&["runs", "list", "--json"]).code(0).stdout, "[]\n");
}

#[test]
fn runs_are_listed_newest_first_with_what_became_of_them() {
    let (env, ids) = history();
    let output = env.spore(&["runs", "list"]).code(0);
    insta::assert_snapshot!(told(&output), @"
    exit code: 0
    --- stdout
    RUN       STATUS         STARTED                    COST  TASK
    RUN-0001  parked:budget  2026-01-02 03:12 UTC      $0.50  spend too much
    RUN-0002  failed         2026-01-02 03:10 UTC     ~$1.00  give up
    RUN-0003  escalated      2026-01-02 03:08 UTC      $0.50  do nothing well
    RUN-0004  verified       2026-01-02 03:06 UTC      $0.75  write the answer
    --- stderr
    ");
    let json = env.spore(&["runs", "list", "--json", "--limit", "2"]).code(0).json();
    let listed: Vec<&str> =
        json.as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(listed, [&ids[3], &ids[2]]);
}

#[test]
fn a_run_is_found_by_any_unique_end_or_beginning_of_its_id() {
    let (env, ids) = history();
    for id in &ids {
        let lower = id.to_lowercase();
        for typed in [&id[..], &id[18..], &id[22..], &lower[..], &lower[18..], &id[..24]] {
            let json = env.spore(&["runs", "show", typed, "--json"]).code(0).json();
            assert_eq!(json["run"]["id"], id.as_str(), "{typed}");
        }
    }
    let shown = env.spore(&["runs", "show", &ids[0][18..]]).code(0);
    insta::assert_snapshot!(told(&shown));
    let failed = env.spore(&["runs", "show", &ids[2][18..]]).code(0);
    insta::assert_snapshot!("show_of_a_failed_run", told(&failed));
    let parked = env.spore(&["runs", "show", &ids[3][18..]]).code(0);
    insta::assert_snapshot!("show_of_a_parked_run", told(&parked));
}

#[test]
fn any_part_of_the_short_form_names_a_run_and_no_id_means_the_newest() {
    let (env, ids) = history();
    let shown = |args: &[&str]| {
        let all = [&["runs", "show", "--json"], args].concat();
        env.spore(&all).code(0).json()["run"]["id"].as_str().unwrap().to_owned()
    };
    assert_eq!(shown(&[]), ids[3]);
    for id in &ids {
        assert_eq!(shown(&[&id[19..25]]), *id);
        assert_eq!(shown(&[&id[18..22].to_lowercase()]), *id);
    }
    let diff = env.spore(&["runs", "diff", &ids[0][18..], "-q"]).code(0).stdout;
    assert!(diff.contains("\n-41\n+42"), "{diff}");
    let newest = env.spore(&["runs", "diff", "--json"]).code(0).json();
    assert_eq!((&newest["run"], &newest["bounce"]), (&ids[3].clone().into(), &1.into()));
    let nothing = env.spore(&["runs", "diff", &ids[2][18..]]).code(65).stderr;
    assert!(nothing.contains("handed in no change"), "{nothing}");
}

#[test]
fn an_ambiguous_id_lists_its_candidates() {
    let (env, _) = history();
    let output = env.spore(&["runs", "show", "01"]).code(65);
    insta::assert_snapshot!(told(&output), @r#"
    exit code: 65
    --- stdout
    --- stderr
    error: "01" could be any of 4 runs
      try: type more of the id:
        RUNID-001  write the answer
        RUNID-002  do nothing well
        RUNID-003  give up
        RUNID-004  spend too much
    "#);
}

#[test]
fn an_unknown_id_is_said_to_be_unknown() {
    let env = scenes::small();
    let _ = env.spore(&["init"]).code(0);
    let output = env.spore(&["runs", "show", "nope"]).code(65);
    insta::assert_snapshot!(told(&output), @r#"
    exit code: 65
    --- stdout
    --- stderr
    error: there is no run "nope"
      try: `spore runs list` shows the ids
    "#);
    let json = env.spore(&["runs", "show", "nope", "--json"]).code(65);
    assert_eq!(json.stdout, "");
    insta::assert_snapshot!(told(&json), @r#"
    exit code: 65
    --- stdout
    --- stderr
    {"error":{"causes":[],"exit_code":65,"fault":"bad_input","hint":"`spore runs list` shows the ids","message":"there is no run \"nope\""}}
    "#);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let (env, _) = history();
    let script = format!("'{}' runs list --json | head -c 1", env.exe().display());
    assert_eq!(scenes::system(&env, "sh", &["-c", &script]), "[");
}

#[test]
fn a_place_that_is_no_project_has_no_runs() {
    let env = scenes::env();
    env.commit_all("nothing");
    let output = env.spore(&["runs", "list"]).code(69);
    insta::assert_snapshot!(told(&output), @"
    exit code: 69
    --- stdout
    --- stderr
    error: $TEST_ENV/repo is not a Spore project: it has no .spore/
      try: run `spore init`
    ");
    assert!(!env.repo().join(".spore").exists());
}

#[test]
fn pruning_removes_what_refs_keep_and_leaves_what_can_go_on_or_is_nowhere_else() {
    let (env, ids) = history();
    let prune = |more: &[&str]| {
        let args: Vec<&str> = ["runs", "prune", "--json"].iter().chain(more).copied().collect();
        env.spore(&args).code(0).json()
    };
    let names = |told: &serde_json::Value, part: &str| -> Vec<String> {
        let all = told[part].as_array().unwrap().iter();
        all.map(|one| one["run"].as_str().unwrap().to_owned()).collect()
    };
    let planned = prune(&["--dry-run"]);
    // The verified one gave its checkouts up by itself; the last one waits for more budget.
    assert_eq!(names(&planned, "runs"), ids[1..3], "{planned:#}");
    assert_eq!(names(&planned, "left"), ids[3..], "{planned:#}");
    assert!(planned["bytes"].as_u64().unwrap() > 0);
    let dir = planned["left"][0]["dir"].as_str().unwrap();
    let dir = dir.replace("$TEST_ENV", &env.dir().display().to_string());
    let state = std::path::Path::new(&dir).parent().unwrap();
    let touched = state.join(&ids[1]).join("coder/only-here.txt");
    std::fs::write(&touched, "by hand\n").unwrap();
    let done = prune(&[]);
    assert_eq!((names(&done, "runs"), names(&done, "left").len()), (vec![ids[2].clone()], 2));
    assert!(touched.exists() && !state.join(&ids[2]).exists());
    let text = env.spore(&["runs", "prune", "--dry-run"]).code(0);
    assert!(text.stdout.contains("it holds work that no ref keeps"), "{}", text.render());
    // What was left can go on, and a new run finds all it needs and leaves two spares.
    let _ = env.spore(&["resume", &ids[3], "--budget", "5"]).code(0);
    task(&env, "write the answer again", WRITE_42, &[], 0);
    let last = prune(&[]);
    assert_eq!((names(&last, "runs").len(), last["spares"].as_u64()), (0, Some(2)), "{last:#}");
    let nothing = env.spore(&["runs", "prune"]).code(0);
    assert!(nothing.stdout.starts_with("There is nothing to remove."), "{}", nothing.render());
}
