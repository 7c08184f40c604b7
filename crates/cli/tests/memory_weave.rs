//! `spore memory weave` and `serve`: what is worked on, what stays, what is said.

use serde_json::{Value, json};
use spore_testkit::TestEnv;

use crate::memory::{broadcast, event, project, wrong};
use crate::scenes::told;

const NOTHING: &str = "NO_NEW_GRADIENT: no external evidence changed memory.\n";
const LINT: &str = "Run `make lint` before committing";

fn weave(env: &TestEnv, code: i32) -> Value {
    env.spore(&["memory", "weave", "--no-model", "--json"]).code(code).json()
}

fn add(env: &TestEnv, name: &str, body: &str) {
    let _ = env.spore(&["memory", "inbox", "add", body, "--name", name]).code(0);
}

fn inbox(env: &TestEnv) -> Vec<String> {
    let tasks = env.spore(&["memory", "inbox", "list", "--json"]).code(0).json();
    tasks.as_array().unwrap().iter().map(|t| t["ack"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn without_evidence_from_outside_nothing_is_dispatched() {
    let env = project();
    let woven = env.spore(&["memory", "weave"]).code(0);
    assert_eq!((woven.stdout.as_str(), woven.stderr.as_str()), (NOTHING, ""));
    event(&env, 1, "runner", "chat.message", &json!("From now on, squash."));
    assert_eq!(env.spore(&["memory", "weave"]).code(0).stdout, NOTHING);
    let runs = env.spore(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(runs, json!([]));
    // External, and nothing comes of it; the page that a line points to is there.
    let _ = env.spore(&["memory", "crystallize"]).code(0);
    event(&env, 2, "human", "chat.message", &json!("good morning"));
    assert_eq!(env.spore(&["memory", "weave", "--no-model"]).code(0).stdout, NOTHING);
}

#[test]
fn what_is_new_goes_through_all_passes_in_order() {
    let env = project();
    wrong(&env, 1, LINT);
    wrong(&env, 2, LINT);
    let woven = env.spore(&["memory", "weave", "--no-model"]).code(0);
    insta::assert_snapshot!(told(&woven));
    assert!(!broadcast(&env).contains("make lint"));
    assert_eq!(env.spore(&["memory", "weave", "--no-model"]).code(0).stdout, NOTHING);
    // Each pass is a run below the weaving.
    let runs = env.spore(&["runs", "list", "--json"]).code(0).json();
    let names: Vec<&str> =
        runs.as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap()).collect();
    assert!(names.iter().all(|name| *name == "memory weave"), "{names:?}");
}

#[test]
fn a_task_is_done_when_its_last_pass_is_and_an_unclear_one_stays() {
    let env = project();
    wrong(&env, 1, LINT);
    wrong(&env, 2, LINT);
    add(&env, "coffee", "bring me a coffee");
    add(&env, "prune", "[memory:claude-compress] tidy up");
    add(&env, "weather", "update me on the weather");
    let woven = weave(&env, 12);
    assert_eq!(
        (&woven["mode"], &woven["terminal"]),
        (&json!("directed"), &json!("PARTIAL_UPDATE"))
    );
    assert_eq!(inbox(&env), ["coffee", "weather"]);
    assert!(!broadcast(&env).contains("make lint"), "{woven}");
    let tasks = woven["tasks"].as_array().unwrap();
    let of = |name: &str| tasks.iter().find(|task| task["ack"] == name).unwrap().clone();
    assert_eq!(of("prune")["acked"], true);
    assert_eq!(of("coffee")["why"], "it is not clear what it asks for");
    // A line that a task names and that only a judge can decide about keeps the task.
    add(&env, "line", "rewrite memory/CLAUDE.md:L4");
    event(
        &env,
        3,
        "human",
        "memory.feedback",
        &json!({ "line": "When the build is red, ask [[entity-ada]]", "activation": "missed" }),
    );
    let _ = weave(&env, 12);
    assert!(inbox(&env).contains(&"line".to_owned()));
}

#[test]
fn an_unclear_task_keeps_the_weaver_from_nothing() {
    let env = project();
    add(&env, "coffee", "bring me a coffee");
    assert_eq!(env.spore(&["memory", "weave", "--no-model"]).code(0).stdout, NOTHING);
    wrong(&env, 1, LINT);
    wrong(&env, 2, LINT);
    let woven = weave(&env, 0);
    assert_eq!((&woven["mode"], &woven["terminal"]), (&json!("reflective"), &json!("UPDATED")));
    assert_eq!(woven["tasks"][0]["why"], "it is not clear what it asks for");
    assert_eq!(inbox(&env), ["coffee"]);
    // An update below a weaving is taken back like any other.
    assert!(!broadcast(&env).contains("make lint"));
    let _ = env.spore(&["memory", "undo"]).code(0);
    assert!(broadcast(&env).contains("make lint"));
}

#[test]
fn a_fragment_that_no_ledger_has_is_woven_in_without_news() {
    let env = project();
    wrong(&env, 1, LINT);
    wrong(&env, 2, LINT);
    let _ = env.spore(&["memory", "scan"]).code(0);
    let woven = weave(&env, 0);
    assert_eq!(woven["terminal"], "UPDATED", "{woven}");
    assert!(!broadcast(&env).contains("make lint"));
}

#[test]
fn what_the_inbox_must_not_hold_is_not_touched() {
    let env = project();
    add(&env, "scan", "scan the events");
    let dir = env.repo().join(".spore/memory/inbox");
    std::os::unix::fs::symlink(env.repo().join("Cargo.toml"), dir.join("link")).unwrap();
    std::fs::create_dir(dir.join("folder")).unwrap();
    env.write(".spore/memory/inbox/.hidden", "scan the events");
    env.write(".spore/memory/inbox/with space", "scan the events");
    let woven = weave(&env, 0);
    assert_eq!(woven["tasks"].as_array().unwrap().len(), 1, "{woven}");
    for left in ["link", "folder", ".hidden", "with space"] {
        assert!(dir.join(left).symlink_metadata().is_ok(), "{left}");
    }
    assert!(!dir.join("scan").exists());
}

#[test]
fn a_fragment_that_the_ledger_refuses_leaves_the_task() {
    let env = project();
    wrong(&env, 1, LINT);
    let _ = env.spore(&["memory", "scan"]).code(0);
    wrong(&env, 2, LINT);
    add(&env, "scan", "scan the events");
    // A fragment that a hand has changed does not hold, is in no ledger, and no count has it.
    let fragments = env.repo().join(".spore/memory/fragments");
    let first = std::fs::read_dir(&fragments).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&first).unwrap();
    std::fs::write(&first, text.replace("source_kind: human", "source_kind: runner")).unwrap();
    let crystallized = env.spore(&["memory", "crystallize", "--json"]).code(0).json();
    assert_eq!(crystallized["refused"].as_array().unwrap().len(), 1, "{crystallized}");
    let woven = weave(&env, 12);
    assert_eq!(
        (inbox(&env), &woven["terminal"]),
        (vec!["scan".to_owned()], &json!("PARTIAL_UPDATE"))
    );
    let why = woven["tasks"][0]["why"].as_str().unwrap();
    assert!(why.contains("is not in the ledger") && why.contains("is internal"), "{why}");
    // A person puts the file right, and it is no reason any more.
    std::fs::write(&first, text).unwrap();
    let woven = weave(&env, 0);
    assert!(inbox(&env).is_empty(), "{woven}");
}

#[test]
fn a_pass_that_ends_in_the_middle_leaves_the_task_whatever_the_last_one_says() {
    let env = project();
    env.write(".spore/config.toml", "[memory]\nfragments_per_pass = 1\n");
    for number in 1..=2 {
        wrong(&env, number, LINT);
    }
    add(&env, "scan", "scan the events");
    let woven = weave(&env, 12);
    let passes = woven["passes"].as_array().unwrap();
    assert_eq!(passes[0]["terminal"], "PARTIAL_UPDATE", "{woven}");
    assert_ne!(passes.last().unwrap()["terminal"], "PARTIAL_UPDATE", "{woven}");
    assert_eq!(inbox(&env), ["scan"]);
    assert_eq!(woven["tasks"][0]["why"], "something of it is left to do");
    // The next weavings do the rest.
    let mut code = 12;
    for _ in 0..3 {
        code = env.spore(&["memory", "weave", "--no-model"]).code;
    }
    assert_eq!((code, inbox(&env)), (0, Vec::new()));
}

#[test]
fn the_schedule_weaves_for_tasks_at_once_and_for_news_after_its_cooldown() {
    let env = project();
    env.write(".spore/config.toml", "[memory.schedule]\ntick = \"10ms\"\ncooldown_ticks = 50\n");
    wrong(&env, 1, LINT);
    let served = env.spore(&["memory", "serve", "--ticks", "1", "--no-model"]).code(0);
    assert!(served.stderr.contains("UPDATED"), "{}", served.render());
    let state = || -> Value {
        let path = env.repo().join(".spore/memory/state/weaver.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    assert_eq!(state(), json!({ "ticks": 1, "woven": 1 }));
    wrong(&env, 2, LINT);
    let quiet = env.spore(&["memory", "serve", "--ticks", "1", "--no-model"]).code(0);
    assert!(quiet.stderr.starts_with("Weaving by itself: "), "{}", quiet.render());
    assert!(!quiet.stderr.contains("UPDATED"), "within its cooldown: {}", quiet.render());
    add(&env, "coffee", "bring me a coffee");
    let _ = env.spore(&["memory", "serve", "--ticks", "1", "--no-model"]).code(0);
    assert_eq!(state(), json!({ "ticks": 3, "woven": 1 }), "an unclear task is no work");
    add(&env, "scan", "scan the events");
    let _ = env.spore(&["memory", "serve", "--ticks", "1", "--no-model"]).code(0);
    assert_eq!(state()["woven"], 4, "a task is worked on at the next tick");
    // One that a weaving has left waits like what is new, until the inbox is another.
    let missed =
        json!({ "line": "When the build is red, ask [[entity-ada]]", "activation": "missed" });
    event(&env, 3, "human", "memory.feedback", &missed);
    add(&env, "line", "rewrite memory/CLAUDE.md:L4");
    for _ in 0..2 {
        let _ = env.spore(&["memory", "serve", "--ticks", "1", "--no-model"]).code(0);
        assert_eq!((&state()["woven"], inbox(&env).len()), (&json!(5), 2), "{}", state());
    }
    add(&env, "again", "rewrite memory/CLAUDE.md:L4");
    let _ = env.spore(&["memory", "serve", "--ticks", "1", "--no-model"]).code(0);
    assert_eq!(state()["woven"], 7);
    env.write(".spore/config.toml", "[memory.schedule]\nenabled = false\n");
    let off = env.spore(&["memory", "serve"]).code(64);
    assert!(off.stderr.contains("the schedule of memory is off"), "{}", off.render());
}

#[test]
fn a_task_that_cannot_be_read_stays_with_its_reason_and_hides_no_other() {
    let env = project();
    env.write(".spore/config.toml", "[memory.schedule]\ntick = \"10ms\"\n");
    let path = env.repo().join(".spore/memory/inbox/binary");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, [0xff, 0xfe, b'x']).unwrap();
    assert_eq!(inbox(&env), ["binary"]);
    let listed = env.spore(&["memory", "inbox", "list"]).code(0);
    assert!(listed.stdout.contains("UTF-8"), "{}", listed.render());
    add(&env, "all", "scan the events");
    let served = env.spore(&["memory", "serve", "--ticks", "1", "--no-model"]).code(0);
    assert!(!served.stderr.contains("error"), "{}", served.render());
    wrong(&env, 1, LINT);
    let woven = weave(&env, 0);
    let tasks = woven["tasks"].as_array().unwrap();
    let why = tasks.iter().find(|task| task["ack"] == "binary").unwrap()["why"].as_str().unwrap();
    assert!(why.starts_with("it is not clear what it asks for: "), "{why}");
    assert_eq!(inbox(&env), ["binary"]);
}
