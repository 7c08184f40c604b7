//! What is going on in a run, seen from another process.

use std::process::Child;

use serde_json::Value;
use spore_testkit::TestEnv;

use crate::scenes::{self, WAIT_ONCE, WRITE_42};

/// A coder that has done something and waits.
fn waiting() -> (TestEnv, Child) {
    let steps = format!("{{ say = \"I begin.\" }}, {WRITE_42}, {WAIT_ONCE}");
    let env = scenes::with_scenario(&scenes::one_bounce(&steps));
    let child = env.start_in(&env.repo(), scenes::ORCHESTRATE, &[]);
    scenes::wait_for("the agent", || env.dir().join("home/waits").exists());
    (env, child)
}

fn signal(env: &TestEnv, name: &str, child: &Child) {
    scenes::system(env, "kill", &[&format!("-{name}"), &child.id().to_string()]);
}

#[test]
fn a_running_run_is_seen_from_elsewhere_and_watching_changes_nothing() {
    let (env, child) = waiting();
    let id = scenes::newest_id(&env);
    let shown = || env.spore(&["runs", "show", &id, "--json"]).code(0).json();
    scenes::wait_for("the command", || {
        shown()["live"][0]["doing"].as_str().is_some_and(|doing| doing.contains("test -e"))
    });
    let live = shown()["live"][0].clone();
    assert_eq!((&live["name"], &live["kind"]), (&"coder".into(), &"session".into()));
    let recent = live["recent"].as_array().unwrap();
    assert_eq!(recent[0], "write answer.txt", "{live}");
    let text = env.spore(&["runs", "show", &id]).code(0).stdout;
    assert!(text.contains("now         coder: "), "{text}");
    assert!(text.contains("test -e $HOME/waits"), "{text}");

    // Someone who watches goes away again, and the run does not notice.
    let watcher = env.start_in(&env.repo(), &["runs", "watch"], &[]);
    std::thread::sleep(std::time::Duration::from_millis(700));
    signal(&env, "INT", &watcher);
    let told = env.finish(watcher).code(0);
    assert!(
        told.stdout.contains("attempt 1: coder\n  coder: write answer.txt\n"),
        "{}",
        told.stdout
    );
    assert_eq!(shown()["status"], "running");

    // Another one stays until the end, which is the run's own.
    let watcher = env.start_in(&env.repo(), &["runs", "watch", &id, "--json"], &[]);
    std::thread::sleep(std::time::Duration::from_millis(700));
    signal(&env, "INT", &child);
    let _ = env.finish(child).code(20);
    let told = env.finish(watcher).code(20);
    let news: Vec<Value> =
        told.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = news.iter().map(|one| one["news"].as_str().unwrap()).collect();
    assert_eq!(&kinds[..3], ["watching", "session_started", "line"], "{kinds:?}");
    assert_eq!(news.last().unwrap()["news"], "over");
    assert_eq!(news.last().unwrap()["status"], "interrupted");
    // Nothing of what was going on is left.
    assert!(!env.repo().join(".spore/runs").join(&id).join("live").exists());
    let none = env.spore(&["runs", "watch"]).code(65);
    assert!(none.stderr.contains("no run is being worked on"), "{}", none.stderr);
}

#[test]
fn what_a_killed_process_seemed_to_do_is_not_believed() {
    let (env, mut child) = waiting();
    let id = scenes::newest_id(&env);
    let live = env.repo().join(".spore/runs").join(&id).join("live");
    scenes::wait_for("the file", || live.is_dir());
    child.kill().unwrap();
    let _ = env.finish(child);
    let shown = env.spore(&["runs", "show", &id, "--json"]).code(0).json();
    assert_eq!((&shown["status"], &shown["live"]), (&"interrupted".into(), &Value::Null));
    assert_eq!(shown["next"]["command"], format!("spore resume {}", &id[id.len() - 8..]));
    let _ = env.spore(&["resume"]).code(0);
    assert!(!live.exists());
}

#[test]
fn runs_are_chosen_before_they_are_cut_off_and_open_ones_have_their_cost() {
    let env = scenes::small();
    let task = |task: &str, steps: &str, more: &[&str], code: i32| {
        env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(steps));
        let words = ["orchestrate", task, "--backend", "replay", "--scenario", "../scenario.toml"];
        let _ = env.spore(&words.iter().chain(more).copied().collect::<Vec<_>>()).code(code);
    };
    task("write the answer", WRITE_42, &[], 0);
    task("Give UP at once", "{ exit = 3 }", &[], 1);
    task("spend too much", WRITE_42, &["--budget", "0.10"], 3);
    let listed = |more: &[&str]| {
        let words: Vec<&str> = ["runs", "list", "--json"].iter().chain(more).copied().collect();
        let rows = env.spore(&words).code(0).json();
        let names = rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap());
        names.map(str::to_owned).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(listed(&["--status", "verified", "--limit", "1"]), "write the answer");
    assert_eq!(listed(&["--task", "give up"]), "Give UP at once");
    assert_eq!(listed(&["--kind", "spawn"]), "");
    assert_eq!(listed(&["--backend", "replay", "--limit", "2"]), "spend too much, Give UP at once");
    assert_eq!(listed(&["--model", "none"]), "");
    assert_eq!(listed(&["--since", "2026-01-02T03:00:00Z"]).matches(',').count(), 2);
    assert_eq!(listed(&["--since", "1m"]), "");
    let rows = env.spore(&["runs", "list", "--status", "parked:budget", "--json"]).code(0).json();
    assert_eq!(rows[0]["cost_usd"], 0.5);
    let cut = env.spore(&["runs", "list", "--limit", "1"]).code(0).stdout;
    assert!(cut.ends_with("Older runs are not shown: --limit 5 shows more.\n"), "{cut}");
    let none = env.spore(&["runs", "list", "--status", "escalated"]).code(0).stdout;
    assert_eq!(none, "No run is like that. `spore runs list` shows all.\n");
    let wrong = env.spore(&["runs", "list", "--status", "done"]).code(64);
    assert!(wrong.stderr.contains("parked:budget"), "{}", wrong.stderr);
}

#[test]
fn times_are_those_of_the_person_and_in_json_utc() {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    let _ = scenes::orchestrate(&env, &[]).code(0);
    let zone = [("TZ", "EST5EDT,M3.2.0,M11.1.0")];
    let list = env.spore_in(&env.repo(), &["runs", "list"], &zone).code(0).stdout;
    assert!(list.contains("2026-01-01 22:0") && list.contains(" EST "), "{list}");
    let json = env.spore_in(&env.repo(), &["runs", "list", "--json"], &zone).code(0).json();
    let started = json[0]["started"].as_str().unwrap();
    assert!(started.starts_with("2026-01-02T03:0") && started.ends_with('Z'), "{started}");
}
