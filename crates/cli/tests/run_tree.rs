//! One tree of runs across processes: what a session starts belongs to it, whatever it says itself.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;
use spore_model::{Outcome, Run, RunId, RunKind, Usd};
use spore_store::{Journal, RunQuery, SqliteJournal};
use spore_testkit::{TestEnv, wait_until_none};

use crate::cancel::STUBBORN;
use crate::scenes;

const SPORE: &str = env!("CARGO_BIN_EXE_spore");
const PLAYED: &[&str] = &["--backend", "replay", "--scenario", "../scenario.toml"];

/// Every run on record, each after the one that it is below.
fn runs(env: &TestEnv) -> Vec<Run> {
    let journal = SqliteJournal::open(&env.repo().join(".spore/spore.db")).unwrap();
    let mut all = journal.runs(&RunQuery::default()).unwrap();
    all.sort_by_key(|run| (run.started, run.id));
    all
}

/// Every role may run commands, and so may have others started.
const FREE: &str =
    "[roles.default]\ntools = [\"read\", \"search\", \"write\", \"shell\", \"graph\"]\n";

fn session(role: &str, cost: f64, steps: &str) -> String {
    format!(
        "[[session]]\nrole = \"{role}\"\nbounce = 1\nfinal = \"done\\nSTAGE_A_COMPLETE\"\n\
         cost_usd = {cost}\nsteps = [{steps}]\n"
    )
}

/// A scene whose operator calls these, one after the other.
fn scene(outer: &str, helpers: &[(&str, &str)]) -> TestEnv {
    let env = scenes::with_scenario(outer);
    env.write(
        ".spore/flows/o.toml",
        "[executors.e]\nrole = \"helper\"\n[orchestrators.o]\n\
         stages = [{ name = \"A\", executor = \"e\", heal = 0, retry = 0 }]\n",
    );
    for (role, text) in helpers {
        env.write(&format!("{role}.toml"), text);
        env.write(&format!(".spore/agents/{role}.md"), "You help.\n");
    }
    env
}

fn call(words: &str) -> String {
    format!("{{ run = \"{SPORE} {words}\" }}, ")
}

fn spawn(role: &str, more: &str) -> String {
    let play = format!("--backend replay --scenario {role}.toml");
    format!("spawn --role {role} --prompt 'by {role}' {play} {more}")
}

#[test]
fn what_a_session_starts_is_below_it_and_paid_for_by_the_same_run() {
    let stage = "stage o full t --backend replay --scenario helper.toml";
    let outer = session("operator", 0.25, &(call(&spawn("middle", "")) + &call(stage)));
    let middle = session("middle", 0.5, &call(&spawn("helper", "")));
    let helper = session("helper", 0.125, "");
    let env = scene(&outer, &[("middle", &middle), ("helper", &helper)]);
    env.write(".spore/config.toml", &format!("[spawn]\nmax_depth = 4\n{FREE}"));
    let args = ["spawn", "--role", "operator", "--prompt", "outer", "--json"];
    let told = env.spore(&[&args, PLAYED].concat()).code(0).json();
    // What the outer session answers for: itself, two spawned ones, and the exec of a stage.
    assert_eq!(told["cost"]["usd"], 1.0, "{told}");
    let all = runs(&env);
    let by_id: BTreeMap<RunId, &Run> = all.iter().map(|run| (run.id, run)).collect();
    let root = all.iter().find(|run| run.parent.is_none()).unwrap();
    assert_eq!(all.iter().filter(|run| run.parent.is_none()).count(), 1);
    let line = |run: &Run| {
        let mut words = vec![format!("{} {}", run.kind.as_str(), run.name)];
        let mut above = run.parent;
        while let Some(id) = above {
            words.push(by_id[&id].kind.as_str().to_owned());
            above = by_id[&id].parent;
        }
        assert_eq!(run.trace, root.trace);
        words.join(" < ")
    };
    let mut lines: Vec<String> = all.iter().map(line).collect();
    lines.sort();
    insta::assert_snapshot!(lines.join("\n"), @"
    exec A < stage < session < spawn
    session helper < exec < stage < session < spawn
    session helper < spawn < session < spawn < session < spawn
    session middle < spawn < session < spawn
    session operator < spawn
    spawn by helper < session < spawn < session < spawn
    spawn by middle < session < spawn
    spawn outer
    stage o < session < spawn
    ");
    let cost = |name: &str| {
        let run = all.iter().find(|run| run.name == name).unwrap();
        run.cost.cost_usd.as_dollars()
    };
    assert_eq!((cost("outer"), cost("by middle"), cost("o")), (1.0, 0.625, 0.125));
    let journal = SqliteJournal::open(&env.repo().join(".spore/spore.db")).unwrap();
    assert_eq!(journal.ledger(root.id).unwrap().len(), 4, "one run pays");
    // People see one run, and the others in it.
    let listed = env.spore(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let shown = env.spore(&["runs", "show", &root.id.to_string(), "--json"]).code(0).json();
    assert_eq!(shown["parts"].as_array().unwrap().len(), 8, "{shown}");
    assert_eq!(shown["cost"]["usd"], 1.0);
    let middle = all.iter().find(|run| run.name == "by middle").unwrap();
    let shown = env.spore(&["runs", "show", &middle.id.to_string(), "--json"]).code(0).json();
    assert_eq!(shown["cost"]["usd"], 0.625);
}

/// A session in the project that has a task verified and its files checked.
fn asking(budget: &str) -> (TestEnv, Value) {
    let play = "--backend replay --scenario task.toml --json";
    let calls = [
        format!("{SPORE} orchestrate 'write the answer' {play} > told.json; echo $? > codes"),
        format!("{SPORE} sentinel --checks-only --json > checked.json; echo $? >> codes"),
        format!("{SPORE} orchestrate x --in-place {play} 2> refused; echo $? >> codes"),
    ];
    let steps = calls.map(|call| format!("{{ run = \"{call}\" }}, ")).concat();
    let env = scene(&session("operator", 0.25, &steps), &[]);
    env.write("task.toml", &scenes::one_bounce(scenes::WRITE_42));
    let gates = "[gates.commands.check]\nrun = \"sh check.sh\"\n";
    env.write(".spore/config.toml", &format!("{gates}{FREE}"));
    let args = ["spawn", "--role", "operator", "--prompt", "outer", "--json", "--budget", budget];
    let told = env.spore(&[&args, PLAYED].concat()).code(0).json();
    assert!(runs(&env).iter().all(|run| !run.is_open()), "{:#?}", runs(&env));
    (env, told)
}

fn read(env: &TestEnv, name: &str) -> String {
    std::fs::read_to_string(env.repo().join(name)).unwrap()
}

#[test]
fn a_task_and_a_sentinel_that_a_session_asks_for_are_below_it_and_paid_for_by_it() {
    let (env, told) = asking("10");
    assert_eq!(read(&env, "codes"), "0\n0\n64\n", "{}", read(&env, "refused"));
    assert!(read(&env, "refused").contains("a session cannot ask for --in-place"));
    assert_eq!(told["cost"]["usd"], 1.0, "{told:#}");
    let all = runs(&env);
    let root = all.iter().find(|run| run.parent.is_none()).unwrap();
    assert_eq!(root.cost.cost_usd.as_dollars(), 1.0);
    let outer = all.iter().find(|run| run.parent == Some(root.id)).unwrap();
    let below = |run: &&Run| run.parent == Some(outer.id);
    let kinds: BTreeSet<&str> = all.iter().filter(below).map(|run| run.kind.as_str()).collect();
    assert_eq!(kinds, BTreeSet::from(["orchestrate", "sentinel"]));
    assert!(all.iter().all(|run| run.trace == root.trace));
    let task: Value = serde_json::from_str(&read(&env, "told.json")).unwrap();
    assert_eq!(task["status"], "verified");
    let branch = task["branch"].as_str().unwrap();
    assert_eq!(env.git(&["show", &format!("{branch}:answer.txt")]), "42");
    assert_eq!(read(&env, "answer.txt"), "41\n");
    let checked: Value = serde_json::from_str(&read(&env, "checked.json")).unwrap();
    assert_eq!(checked["grade"], "PASS");
}

#[test]
fn a_task_of_a_session_that_has_no_more_to_spend_is_over_and_told_to_the_session() {
    let (env, told) = asking("0.9");
    // Half of what the session may spend is for the first that it asks for, and its coder took it all.
    assert_eq!(read(&env, "codes").lines().next(), Some("3"), "{told:#}");
    let task: Value = serde_json::from_str(&read(&env, "told.json")).unwrap();
    assert!(task["run"]["reason"].as_str().unwrap().contains("budget"), "{task:#}");
}

/// How a session may try to begin a tree of its own, with a budget of its own.
const WAYS: [&str; 5] = [
    "env -u SPORE_SESSION_RUN -u SPORE_STARTS -u SPORE_STARTS_TOKEN -u SPORE_SPAWN_DEPTH",
    "env -i HOME=$HOME PATH=$PATH",
    "env SPORE_SPAWN_DEPTH=0 SPORE_STARTS= SPORE_STARTS_TOKEN= SPORE_SESSION_RUN=",
    "env SPORE_STARTS_TOKEN=wrong",
    "setsid env -i HOME=$HOME PATH=$PATH",
];

#[test]
fn a_session_begins_no_tree_of_its_own_whatever_it_takes_out_of_its_environment() {
    let commands = [
        "spawn --role helper --prompt x --backend replay --scenario helper.toml",
        "exec e A t --backend replay --scenario helper.toml",
        "stage o full t --backend replay --scenario helper.toml",
        "orchestrate x --backend replay --scenario helper.toml",
    ];
    for mode in ["auto", "off"] {
        let mut steps = String::new();
        for way in WAYS {
            for command in commands {
                steps.push_str(&format!(
                    "{{ run = \"{way} {SPORE} {command} >> told 2>&1 < /dev/null; echo exit $? >> told\" }}, "
                ));
            }
        }
        let outer = session("operator", 0.25, &steps);
        let env = scene(&outer, &[("helper", &session("helper", 0.125, ""))]);
        env.write(".spore/config.toml", &format!("[sandbox]\nmode = \"{mode}\"\n{FREE}"));
        let args = ["spawn", "--role", "operator", "--prompt", "outer", "--json"];
        let told = env.spore(&[&args, PLAYED].concat()).code(0).json();
        assert_eq!(told["cost"]["usd"], 0.25, "{mode}: {told}");
        let roots: Vec<String> = runs(&env)
            .iter()
            .filter(|run| run.parent.is_none())
            .map(|run| run.name.clone())
            .collect();
        assert_eq!(roots, ["outer"], "{mode}");
        let told = std::fs::read_to_string(env.repo().join("told")).unwrap_or_default();
        let codes: Vec<&str> = told.lines().filter(|line| line.starts_with("exit ")).collect();
        assert_eq!(codes.len(), WAYS.len() * commands.len(), "{mode}: {told}");
        assert!(!codes.contains(&"exit 0"), "{mode}: {told}");
    }
}

/// A tree of sessions that start each other: what each asks for those it starts, at once or one
/// after the other.
#[derive(Clone, Debug)]
struct Asked {
    cents: Option<u32>,
    way: AskedWay,
    at_once: bool,
    below: Vec<Asked>,
}

/// How a session is started by another.
#[derive(Clone, Copy, Debug)]
enum AskedWay {
    Spawned,
    /// As the stage of a flow.
    Stage,
    /// As a stage of a flow whose next stage cannot even begin.
    FailingFlow,
}

fn asked() -> impl Strategy<Value = Asked> {
    let cents = || proptest::option::of(1..150u32);
    let way =
        || prop_oneof![Just(AskedWay::Spawned), Just(AskedWay::Stage), Just(AskedWay::FailingFlow)];
    let leaf = (cents(), way()).prop_map(|(cents, way)| Asked {
        cents,
        way,
        at_once: false,
        below: Vec::new(),
    });
    leaf.prop_recursive(2, 6, 3, move |inner| {
        (cents(), way(), any::<bool>(), proptest::collection::vec(inner, 1..4))
            .prop_map(|(cents, way, at_once, below)| Asked { cents, way, at_once, below })
    })
}

/// The command that starts the session of `role` as a stage.
fn staged(env: &TestEnv, role: &str, next: &str, budget: &str) -> String {
    let plan = "[[stages]]\nname = \"W\"\nexecutor = \"orchestrate\"\ntask = \"x\"\n";
    env.write("plan.toml", plan);
    env.write(
        &format!(".spore/flows/{role}.toml"),
        &format!(
            "[executors.{role}]\nrole = \"{role}\"\n[orchestrators.{role}]\n\
             stages = [{{ name = \"A\", executor = \"{role}\", heal = 0, retry = 0 }}{next}]\n"
        ),
    );
    format!("stage {role} full t --backend replay --scenario {role}.toml {budget}")
}

/// A stage that no project without checks can begin. That it is one is only known on the way.
const CANNOT_BEGIN: &str = ", { name = \"B\", executor = \"planned\", plan = \"plan.toml\" }";

/// Writes the parts of everything below `asked`, and returns what its session does.
fn play(env: &TestEnv, asked: &Asked, next: &mut u32) -> String {
    let calls: Vec<String> = asked
        .below
        .iter()
        .map(|below| {
            let role = format!("r{next}");
            *next += 1;
            let steps = play(env, below, next);
            env.write(&format!("{role}.toml"), &session(&role, 0.01, &steps));
            env.write(&format!(".spore/agents/{role}.md"), "You help.\n");
            let budget = below.cents.map_or_else(String::new, |cents| {
                format!("--budget {}.{:02}", cents / 100, cents % 100)
            });
            let words = match below.way {
                AskedWay::Spawned => spawn(&role, &budget),
                AskedWay::Stage => staged(env, &role, "", &budget),
                AskedWay::FailingFlow => staged(env, &role, CANNOT_BEGIN, &budget),
            };
            format!("{SPORE} {words}")
        })
        .collect();
    match (calls.is_empty(), asked.at_once) {
        (true, _) => String::new(),
        (_, true) => format!("{{ run = \"{} & wait\" }}", calls.join(" & ")),
        (_, false) => calls.iter().map(|call| format!("{{ run = \"{call}; true\" }}, ")).collect(),
    }
}

/// Holds every session on record to what it was given: what it set aside for others while they ran,
/// and what those had cost before, is never more than that.
fn held(all: &[Run], cap: Usd) {
    let given =
        |run: &Run| -> Usd { serde_json::from_value(run.settings["budget"].clone()).unwrap() };
    // What a session has started has a budget of its own: spawned sessions, and flows.
    let has_own = |run: &&Run| !run.settings["budget"].is_null();
    for run in all.iter().filter(has_own) {
        assert!(given(run) <= cap, "{} has {} of {cap}", run.name, given(run));
        let mut sessions = BTreeSet::new();
        let mut layers = vec![run.id];
        while let Some(layer) = layers.pop() {
            for one in all.iter().filter(|one| one.parent == Some(layer)) {
                match one.kind {
                    RunKind::Session => {
                        sessions.insert(one.id);
                    }
                    _ => layers.push(one.id),
                }
            }
        }
        let started: Vec<&Run> =
            all.iter().filter(|one| one.parent.is_some_and(|id| sessions.contains(&id))).collect();
        for one in &started {
            let before = started.iter().filter(|other| {
                other.ended.is_some_and(|ended| ended <= one.started) && other.id != one.id
            });
            let gone: Usd = before.clone().map(|other| other.cost.cost_usd).sum();
            let beside = started.iter().filter(|other| {
                other.started <= one.started && other.ended.is_none_or(|end| end > one.started)
            });
            let promised: Usd = beside.map(|other| given(other)).sum();
            let all = gone + promised;
            assert!(all <= given(run), "{}: {all} of {}", run.name, given(run));
        }
    }
    // A session that began may overshoot by its last response, and no other begins then.
    let sessions = all.iter().filter(|run| run.kind == RunKind::Session).count();
    let last = Usd::from_nanos(10_000_000 * i64::try_from(sessions).unwrap());
    let whole: Usd =
        all.iter().filter(|run| run.parent.is_none()).map(|run| run.cost.cost_usd).sum();
    assert!(whole <= cap + last, "{whole} of {cap} and {last}");
}

/// Real processes that start each other, as chance has it.
#[test]
fn reservations_never_exceed_the_cap_through_nested_processes() {
    let cases = if std::env::var("SPORE_LOOPS").is_ok_and(|all| all == "all") { 40 } else { 4 };
    let mut runner =
        TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let tree = (asked(), 50..200u32);
    runner
        .run(&tree, |(tree, cents)| {
            let env = scene("", &[]);
            env.write(".spore/config.toml", &format!("[spawn]\nmax_depth = 9\n{FREE}"));
            let steps = play(&env, &Asked { cents: None, ..tree }, &mut 0);
            env.write_at(&env.dir().join("scenario.toml"), &session("operator", 0.01, &steps));
            let budget = format!("{}.{:02}", cents / 100, cents % 100);
            let args = ["spawn", "--role", "operator", "--prompt", "outer", "--budget", &budget];
            let _ = env.spore(&[&args, PLAYED].concat()).code(0);
            let all = runs(&env);
            assert!(all.iter().all(|run| !run.is_open()), "{all:#?}");
            held(&all, Usd::from_nanos(i64::from(cents) * 10_000_000));
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_flow_that_stops_with_an_error_is_over_and_paid_for_as_far_as_it_came() {
    let env = scene("", &[("helper", &session("helper", 0.125, ""))]);
    let stage = staged(&env, "helper", CANNOT_BEGIN, "");
    let steps = format!("{{ run = \"{SPORE} {stage} > told 2>&1; echo $? > code\" }}");
    env.write_at(&env.dir().join("scenario.toml"), &session("operator", 0.25, &steps));
    env.write(".spore/config.toml", FREE);
    let args = ["spawn", "--role", "operator", "--prompt", "outer", "--json"];
    let told = env.spore(&[&args, PLAYED].concat()).code(0).json();
    let said = std::fs::read_to_string(env.repo().join("told")).unwrap();
    assert!(said.contains("no build or test command was found"), "{said}");
    assert_ne!(std::fs::read_to_string(env.repo().join("code")).unwrap(), "0\n");
    assert_eq!(told["cost"]["usd"], 0.375, "{told}");
    let all = runs(&env);
    assert!(all.iter().all(|run| !run.is_open()), "{all:#?}");
    let stage = all.iter().find(|run| run.kind == RunKind::Stage).unwrap();
    assert_eq!(stage.cost.cost_usd.as_dollars(), 0.125);
    assert!(stage.reason.as_deref().unwrap().contains("no build or test command"), "{stage:?}");
}

#[test]
fn a_session_neither_answers_nor_goes_on_with_what_is_a_persons() {
    let commands = ["resume", "resolve x --approve", "campaign resume", "campaign change --drop x"];
    let steps = commands.map(|words| {
        format!("{{ run = \"{SPORE} {words} >> told 2>&1; echo exit $? >> told\" }}, ")
    });
    let env = scene(&session("operator", 0.25, &steps.concat()), &[]);
    // What a sandbox keeps out of sight cannot be answered anyway.
    env.write(".spore/config.toml", &format!("[sandbox]\nmode = \"off\"\n{FREE}"));
    let args = [&["spawn", "--role", "operator", "--prompt", "outer"], PLAYED].concat();
    let _ = env.spore(&args).code(0);
    let told = std::fs::read_to_string(env.repo().join("told")).unwrap();
    let refused = told.matches("a session cannot start this by itself").count();
    assert_eq!(refused, commands.len(), "{told}");
}

#[test]
fn a_link_in_the_place_of_an_artifact_leads_nowhere() {
    let link = |to: &str| {
        let steps = format!("{{ run = \"ln -sf {to} out.md\" }}");
        session("helper", 0.125, &steps)
    };
    for (to, code) in [("../secret", "1\n"), ("kept.txt", "1\n")] {
        let env = scene("", &[("helper", &link(to))]);
        env.write_at(&env.dir().join("secret"), "a key\n");
        env.write(
            ".spore/flows/o.toml",
            "[executors.e]\nrole = \"helper\"\nartifact = \"out.md\"\n[orchestrators.o]\n\
             stages = [{ name = \"A\", executor = \"e\", heal = 0, retry = 0 }]\n",
        );
        let stage = "stage o full t --backend replay --scenario helper.toml";
        let steps = format!("{{ run = \"{SPORE} {stage} > told 2>&1; echo $? > code\" }}");
        env.write_at(&env.dir().join("scenario.toml"), &session("operator", 0.25, &steps));
        env.write(".spore/config.toml", FREE);
        let args = [&["spawn", "--role", "operator", "--prompt", "outer"], PLAYED].concat();
        let _ = env.spore(&args).code(0);
        let told = std::fs::read_to_string(env.repo().join("told")).unwrap();
        assert!(told.contains("it left no out.md"), "{to}: {told}");
        assert_eq!(std::fs::read_to_string(env.repo().join("code")).unwrap(), code, "{told}");
    }
}

#[test]
fn a_file_that_lay_there_before_is_no_artifact_of_an_exec_inside_a_session() {
    for (steps, code) in [("", "1\n"), ("{ run = \"echo old > out.md\" }", "0\n")] {
        let env = scene("", &[("helper", &session("helper", 0.125, steps))]);
        env.write("out.md", "old\n");
        env.write(
            ".spore/flows/o.toml",
            "[executors.e]\nrole = \"helper\"\nartifact = \"out.md\"\n[orchestrators.o]\n\
             stages = [{ name = \"A\", executor = \"e\", heal = 0, retry = 0 }]\n",
        );
        let stage = "stage o full t --backend replay --scenario helper.toml";
        let steps = format!("{{ run = \"{SPORE} {stage} > told 2>&1; echo $? > code\" }}");
        env.write_at(&env.dir().join("scenario.toml"), &session("operator", 0.25, &steps));
        env.write(".spore/config.toml", FREE);
        let args = [&["spawn", "--role", "operator", "--prompt", "outer"], PLAYED].concat();
        let _ = env.spore(&args).code(0);
        let told = std::fs::read_to_string(env.repo().join("told")).unwrap();
        assert_eq!(std::fs::read_to_string(env.repo().join("code")).unwrap(), code, "{told}");
        assert_eq!(told.contains("it left out.md as it was before"), code == "1\n", "{told}");
    }
}

#[test]
fn ctrl_c_ends_what_a_session_has_started_with_the_session() {
    let helper = session("helper", 0.125, "{ run = \"touch waits\" }, { hang = true }");
    let stage = "stage o full t --backend replay --scenario helper.toml";
    let outer = session("operator", 0.25, &format!("{{ run = \"{SPORE} {stage}\" }}"));
    let env = scene(&outer, &[("helper", &helper)]);
    env.write(".spore/config.toml", FREE);
    let args = [&["spawn", "--role", "operator", "--prompt", "outer"], PLAYED].concat();
    let child = env.start_in(&env.repo(), &args, &[]);
    scenes::wait_for("the session below", || env.repo().join("waits").exists());
    scenes::system(&env, "kill", &["-INT", &child.id().to_string()]);
    let output = env.finish(child).code(20);
    assert_eq!(wait_until_none(env.dir(), Duration::from_secs(8)), [], "{}", output.render());
    let all = runs(&env);
    let below: Vec<&Run> = all.iter().filter(|run| run.kind != RunKind::Spawn).collect();
    assert!(below.iter().any(|run| run.kind == RunKind::Exec), "{all:#?}");
    assert!(below.iter().all(|run| !run.is_open()), "{all:#?}");
    let stages = below.iter().filter(|run| run.kind == RunKind::Stage);
    for stage in stages {
        assert_eq!(stage.outcome, Some(Outcome::Interrupted), "{all:#?}");
    }
}

/// Below a session in the project and below a stage in a checkout, whether or not the agent inside
/// listens to signals, and whichever of both runs a person names.
#[test]
fn a_cancelled_run_takes_along_what_its_session_has_started_and_a_flow_goes_on() {
    let stage = "stage o full t --backend replay --scenario helper.toml";
    let spawn = [&["spawn", "--role", "operator", "--prompt", "outer"], PLAYED].concat();
    let flow = [&["stage", "outer", "full", "t"], PLAYED].concat();
    for (args, waits, names_nested) in [
        (&spawn, scenes::WAIT_ONCE, false),
        (&flow, scenes::WAIT_ONCE, true),
        (&flow, STUBBORN, false),
    ] {
        let outer = session("operator", 0.25, &call(stage));
        let env = scene(&outer, &[("helper", &session("helper", 0.125, waits))]);
        env.write(
            ".spore/flows/outer.toml",
            "[executors.outer]\nrole = \"operator\"\n[orchestrators.outer]\n\
             stages = [{ name = \"A\", executor = \"outer\", heal = 0, retry = 0 }]\n",
        );
        env.write(".spore/config.toml", FREE);
        env.commit_all("what helps");
        let child = env.start_in(&env.repo(), args, &[]);
        scenes::wait_for("the session below", || env.dir().join("home/waits").exists());
        let all = runs(&env);
        let root = all.iter().find(|run| run.parent.is_none()).unwrap();
        let nested = all.iter().find(|run| run.name == "o" && run.kind == RunKind::Stage).unwrap();
        let named = if names_nested { nested } else { root };
        let begun = Instant::now();
        let output = env.spore(&["runs", "cancel", &named.id.to_string(), "--json"]).code(0);
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(2), "{took:?}: {}", output.render());
        assert_eq!(output.json()["run"], root.id.to_string());
        let left = wait_until_none(env.dir(), Duration::from_millis(200));
        assert_eq!(left, [], "{args:?} {waits}");
        let _ = env.finish(child);
        for run in [root, nested] {
            let shown = env.spore(&["runs", "show", &run.id.to_string(), "--json"]).code(0).json();
            assert_eq!(shown["status"], "interrupted", "{args:?} {waits}: {shown:#}");
        }
        if root.kind == RunKind::Spawn {
            // Nothing is kept of the conversation of a session by itself that this agent has.
            let all = runs(&env);
            assert!(all.iter().all(|run| !run.is_open()), "{all:#?}");
            continue;
        }
        let _ = env.spore(&["resume"]).code(0);
        let all = runs(&env);
        assert!(all.iter().all(|run| !run.is_open()), "{all:#?}");
        let root = all.iter().find(|run| run.parent.is_none()).unwrap();
        assert_eq!(root.outcome, Some(Outcome::Success), "{all:#?}");
        let nested = all.iter().filter(|run| run.name == "o" && run.kind == RunKind::Stage);
        let nested: Vec<Option<Outcome>> = nested.map(|run| run.outcome).collect();
        // What was begun is over with the session that began it; that one has it done again.
        assert_eq!(nested, [Some(Outcome::Interrupted), Some(Outcome::Success)], "{all:#?}");
    }
}

#[test]
fn what_a_lost_session_had_started_is_closed_and_booked_with_it() {
    let outer = format!(
        "[[session]]\nrole = \"operator\"\nbounce = 1\nfinal = \"done\"\ncost_usd = 0.25\n\
         steps = [{{ run = \"test -e $HOME/once || {SPORE} {}\" }}]\n",
        spawn("helper", "")
    );
    let helper = "[[session]]\nrole = \"helper\"\nbounce = 1\nfinal = \"\"\n\
                  steps = [{ run = \"touch $HOME/once; touch once\" }, { hang = true }]\n";
    let env = scene(&outer, &[("helper", helper)]);
    let args = [&["spawn", "--role", "operator", "--prompt", "outer"], PLAYED].concat();
    let mut child = env.start_in(&env.repo(), &args, &[]);
    scenes::wait_for("the helper", || env.repo().join("once").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::write(env.dir().join("home/once"), "").unwrap();
    // The helper would wait for ever, so the second time it is not asked.
    let scenario = session("operator", 0.25, "");
    env.write_at(&env.dir().join("scenario.toml"), &scenario);
    let _ = env.spore(&["resume"]).code(0);
    let wait = std::time::Duration::from_secs(8);
    assert_eq!(spore_testkit::wait_until_none(env.dir(), wait), []);
    let all = runs(&env);
    assert!(all.iter().all(|run| !run.is_open()), "{all:#?}");
    let helper = all.iter().find(|run| run.name == "by helper").unwrap();
    assert_eq!(helper.reason.as_deref(), Some("the session that started it was lost"));
    let journal = SqliteJournal::open(&env.repo().join(".spore/spore.db")).unwrap();
    let root = all.iter().find(|run| run.parent.is_none()).unwrap();
    assert_eq!(journal.ledger(root.id).unwrap().len(), 3);
}

#[test]
fn a_flow_that_a_session_started_and_that_asks_is_over_and_told_to_the_session() {
    let stage = "stage o full t --backend replay --scenario helper.toml --json";
    let outer = session(
        "operator",
        0.25,
        &format!("{{ run = \"{SPORE} {stage} > told; echo $? > code\" }}"),
    );
    let helper =
        "[[session]]\nrole = \"helper\"\nbounce = 1\nfinal = \"STAGE_NEEDS_HUMAN: which?\"\n";
    let env = scene(&outer, &[("helper", helper)]);
    let args = [&["spawn", "--role", "operator", "--prompt", "outer"], PLAYED].concat();
    let _ = env.spore(&args).code(0);
    assert_eq!(std::fs::read_to_string(env.repo().join("code")).unwrap(), "3\n");
    let told: Value =
        serde_json::from_str(&std::fs::read_to_string(env.repo().join("told")).unwrap()).unwrap();
    assert!(told["reason"].as_str().unwrap().contains("which?"), "{told}");
    assert!(runs(&env).iter().all(|run| !run.is_open()));
}
