//! The commands `runs cost`, `top`, `stats`, `timeline` and the comparisons tell the sums of many
//! runs.

use serde_json::json;
use spore_model::{
    Cost, LedgerEntry, Outcome, Run, RunId, RunKind, RunState, Timestamp, Usage, Usd,
};
use spore_store::{Journal, SqliteJournal};
use spore_testkit::TestEnv;

use crate::briefs::{LESSON, ROUND_TO_TEN, play, shop};
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
    // A table that is cut says so beside it.
    let told = |limit: &str| env.spore(&["runs", "list", "--limit", limit, "--csv"]).code(0).stderr;
    assert!(told("2").contains("Older runs are not shown"), "{}", told("2"));
    assert_eq!(told("4"), "");
    let cost = |args: &[&str]| {
        let told = env.spore(&[&["runs", "cost", "--json"], args].concat()).code(0).json();
        told["total"]["cost"]["usd"].as_f64().unwrap()
    };
    assert_eq!(cost(&["--status", "verified"]), 0.75);
    assert_eq!(cost(&["--status", "verified", "--kind", "loop"]), 0.0);
    let week = ["runs", "export", "--since", "7d", "--status", "verified", "--format", "markdown"];
    let week = env.spore(&week).code(0).stdout;
    assert!(week.contains("- cost: $0.75\n") && !week.contains("$1.00"), "{week}");
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

/// Puts twelve tasks into the journal of a project, each worked on without context and with it, which
/// saves half a dollar and a little more or less.
fn made(env: &TestEnv) {
    let journal = SqliteJournal::open(&env.repo().join(".spore/spore.db")).unwrap();
    for task in 1..=12_u32 {
        for (arm, label) in [(0, Some("no-context")), (1, None)] {
            let number = u128::from(task * 2 + arm);
            let started = Timestamp::from_millis(1_767_225_600_000 + i64::from(task) * 60_000);
            let nanos = 2_000_000_000 + i64::from(task * 7 % 5) * 100_000_000
                - i64::from(arm) * (500_000_000 + i64::from(task % 3) * 10_000_000);
            let cost = Cost::exact(Usd::from_nanos(nanos));
            let id = |number| RunId::from_parts(1_767_225_600_000, number);
            let run = Run {
                task: Some(format!("task {task}")),
                state: RunState::Ended,
                outcome: Some(Outcome::Success),
                ended: Some(Timestamp::from_millis(started.as_millis() + 60_000)),
                turns: 6 - arm,
                cost: cost.into(),
                experiment: label.map(str::to_owned),
                ..Run::begin(id(number), RunKind::Orchestrate, format!("task {task}"), started)
            };
            let session = Run {
                parent: Some(run.id),
                trace: run.trace.clone(),
                ..Run::begin(id(number + 100), RunKind::Session, "coder", started)
            };
            let bill = LedgerEntry {
                session: session.id,
                root: run.id,
                role: "coder".to_owned(),
                backend: "replay".to_owned(),
                model: Some(["large", "small"][task as usize % 2].to_owned()),
                turns: run.turns,
                usage: Usage { input_tokens: 1000, output_tokens: 10, ..Usage::default() },
                cost,
                interrupted: false,
                duration_ms: Some(60_000),
                failure: None,
                booked: started,
            };
            journal.create_run(&run, &[]).unwrap();
            journal.create_run(&session, &[]).unwrap();
            assert!(journal.book(&bill).unwrap());
        }
    }
}

#[test]
fn experiments_with_enough_tasks_have_an_interval() {
    let env = scenes::small();
    let _ = env.spore(&["init"]).code(0);
    let _ = env.spore(&["runs", "list"]).code(0);
    made(&env);
    let run = |args: &[&str]| told(&env.spore(&[&["runs"], args].concat()).code(0));
    insta::assert_snapshot!("cost_by_model", run(&["cost", "--by", "model"]));
    insta::assert_snapshot!("cost_by_experiment", run(&["cost", "--by", "experiment"]));
    insta::assert_snapshot!(
        "cost_by_experiment_csv",
        run(&["cost", "--by", "experiment", "--csv"])
    );
    let compared = ["compare-experiments", "no-context", "unlabelled"];
    insta::assert_snapshot!("compare_enough_experiments", run(&compared));
    let csv = [&compared[..], &["--csv"]].concat();
    insta::assert_snapshot!("compare_enough_experiments_csv", run(&csv));
    let json = env.spore(&[&["runs"], &compared[..], &["--json"]].concat()).code(0).json();
    let cost = &json["measures"][0];
    assert_eq!((&json["pairs"], &cost["finding"]), (&12.into(), &"b_less".into()), "{json:#}");
    let held = |name: &str| cost["difference"][name].as_f64().unwrap();
    assert!(held("low") < -0.5 && held("high") < 0.0, "{json:#}");
}

#[test]
fn what_runs_were_told_and_changed_is_told_of_the_runs_that_are_asked_for() {
    let env = shop();
    play(&env, ROUND_TO_TEN, LESSON, &[]);
    let stats =
        |args: &[&str]| env.spore(&[&["runs", "stats", "--json"], args].concat()).code(0).json();
    let context = stats(&[])["context"].clone();
    assert_eq!((&context["named"], &context["hit_rate"]), (&json!(1), &json!(1.0)), "{context:#}");
    play(&env, r#"{ write = "one.txt", content = "x\n" }"#, "Nothing to say.", &[]);
    let carried = |told: serde_json::Value| told["helps"]["lessons"].clone();
    let all = carried(stats(&[]));
    assert_eq!((&all["carried"], &all["verified"]), (&json!(1), &json!(1)), "{all:#}");
    let none = carried(stats(&["--status", "escalated"]));
    assert_eq!((&none["known"], &none["carried"]), (&json!(1), &json!(0)), "{none:#}");
    // What an ended run was told is read off its files once.
    let files = env.repo().join(".spore/runs").join(scenes::newest_id(&env));
    std::fs::remove_dir_all(files.join("bounce-1/coder")).unwrap();
    let board = env.spore(&["dashboard", "--json"]).code(0).json();
    assert_eq!(carried(board)["carried"], 1);
}
