//! The commands `runs cost`, `top`, `stats`, `timeline` and the comparisons tell the sums of many
//! runs.

use spore_testkit::TestEnv;

use crate::runs::history;
use crate::scenes::{self, ORCHESTRATE, THREE_BOUNCES, WRITE_42, told};

#[test]
fn a_history_is_summed_up_ranked_and_judged() {
    let (env, ids) = history();
    let run = |args: &[&str]| env.spore(&[&["runs"], args].concat()).code(0);
    insta::assert_snapshot!("cost_by_run", told(&run(&["cost"])));
    insta::assert_snapshot!("cost_by_role", told(&run(&["cost", "--by", "role"])));
    insta::assert_snapshot!("cost_by_role_csv", told(&run(&["cost", "--by", "role", "--csv"])));
    insta::assert_snapshot!("cost_by_day", told(&run(&["cost", "--by", "day"])));
    insta::assert_snapshot!("top_by_cost", told(&run(&["top", "--limit", "2"])));
    insta::assert_snapshot!("stats", told(&run(&["stats"])));
    insta::assert_snapshot!("compare", told(&run(&["compare", &ids[0][18..], &ids[1][18..]])));
    insta::assert_snapshot!("timeline_of_a_failure", told(&run(&["timeline", &ids[2][18..]])));
    // Every way to sum comes to what the runs say they cost.
    let listed = run(&["list", "--json"]).json();
    let cost = |run: &serde_json::Value| run["cost_usd"].as_f64().unwrap();
    let sum: f64 = listed.as_array().unwrap().iter().map(cost).sum();
    for by in ["run", "role", "model", "day", "experiment"] {
        let told = run(&["cost", "--by", by, "--json"]).json();
        assert_eq!(told["total"]["cost"]["usd"].as_f64().unwrap(), sum, "{by}");
        assert_eq!(told["total"]["runs"], 4, "{by}");
    }
    let stats = run(&["stats", "--json"]).json();
    assert_eq!((&stats["decided"], &stats["verified"]), (&3.into(), &1.into()));
    // Two runs changed a text file, and their task files named what has code in it.
    let context = &stats["context"];
    assert_eq!((&context["changed"], &context["named"]), (&2.into(), &0.into()), "{stats:#}");
    check_filters(&env, &ids);
}

fn check_filters(env: &TestEnv, ids: &[String]) {
    let listed = |args: &[&str]| -> Vec<String> {
        let all = [&["runs", "list", "--json"], args].concat();
        let json = env.spore(&all).code(0).json();
        json.as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().into()).collect()
    };
    assert_eq!(listed(&["--min-cost", "0.75"]), [ids[2].clone(), ids[0].clone()]);
    assert_eq!(listed(&["--role", "verifier"]), [ids[0].clone()]);
    assert_eq!(listed(&["--experiment", "none"]), [""; 0]);
    assert_eq!(listed(&["--min-time", "9h", "--status", "verified"]), [""; 0]);
    let second = listed(&["--limit", "2", "--before", &ids[2]]);
    assert_eq!(second, [ids[1].clone(), ids[0].clone()]);
    let _ = env.spore(&["runs", "list", "--min-cost", "much"]).code(64);
    let csv = env.spore(&["runs", "list", "--csv"]).code(0).stdout;
    assert_eq!(csv.lines().count(), 5, "{csv}");
    assert!(csv.starts_with("run,kind,status,"), "{csv}");
}

#[test]
fn a_timeline_has_every_part_and_a_hit_is_a_file_that_was_named() {
    let env = scenes::with_scenario(THREE_BOUNCES);
    let _ = env.spore(&["index"]).code(0);
    let _ = env.spore(ORCHESTRATE).code(0);
    let output = env.spore(&["runs", "timeline"]).code(0);
    insta::assert_snapshot!("timeline_of_three_attempts", told(&output));
    let json = env.spore(&["runs", "timeline", "--json"]).code(0).json();
    let entries = json["entries"].as_array().unwrap();
    let of = |kind: &str| entries.iter().filter(|entry| entry["kind"] == kind).count();
    assert_eq!((of("bounce"), of("session")), (3, 6), "{json:#}");
    let stats = env.spore(&["runs", "stats", "--json"]).code(0).json();
    let carried = env.repo().join(".spore/runs").join(scenes::newest_id(&env));
    let carried = std::fs::read(carried.join("bounce-3/coder/carried.json")).unwrap();
    let carried: serde_json::Value = serde_json::from_slice(&carried).unwrap();
    let files = carried["files"].as_array().unwrap();
    let rank = files.iter().position(|file| file == "answer.txt");
    match rank {
        Some(_) => assert_eq!(stats["context"]["named"], 1, "{stats:#}"),
        None if files.is_empty() => assert!(stats["context"].is_null(), "{stats:#}"),
        None => assert_eq!(stats["context"]["named"], 0, "{stats:#}"),
    }
}

#[test]
fn experiments_with_few_tasks_are_said_to_tell_nothing() {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    for more in [&["--experiment", "no-context"][..], &[]] {
        let _ = env.spore(&[ORCHESTRATE, more].concat()).code(0);
    }
    let args = ["runs", "compare-experiments", "no-context", "unlabelled"];
    insta::assert_snapshot!("compare_experiments", told(&env.spore(&args).code(0)));
    let json = env.spore(&[&args[..], &["--json"]].concat()).code(0).json();
    assert_eq!(
        (&json["pairs"], &json["measures"][0]["finding"]),
        (&1.into(), &"too_few_pairs".into())
    );
    let unknown = env.spore(&["runs", "compare-experiments", "no-context", "x"]).code(65).stderr;
    assert!(unknown.contains("there are: no-context, unlabelled"), "{unknown}");
}
