//! Killed anywhere, a pass of memory leaves whole files and ends like one that was not killed.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use spore_testkit::TestEnv;

use crate::memory::{event, project, wrong};
use crate::{memory_judge, scenes};

/// The files of memory, by name, but for locks and leftovers of a killed write.
fn files(env: &TestEnv) -> BTreeMap<String, String> {
    let root = env.repo().join(".spore/memory");
    let mut found = BTreeMap::new();
    let mut open = vec![root.clone()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            if path.is_dir() {
                open.push(path);
            } else if name != "state/lock" && !name.ends_with(".tmp") {
                // How far the spine was read depends on what the run itself wrote to it.
                let text = std::fs::read_to_string(&path).unwrap();
                let text = if name == "state/spine-scanner.json" { String::new() } else { text };
                found.insert(name, timeless(&text));
            }
        }
    }
    found
}

/// A ledger without the times of its links: a command that was called again decided later.
fn timeless(text: &str) -> String {
    let kept = |line: &str| match line.split_once(" REWRITTEN ") {
        Some((_, link)) => {
            format!("REWRITTEN {}\n", link.rsplit_once(" #").map_or(link, |(link, _)| link))
        }
        None => format!("{line}\n"),
    };
    match text.contains(" REWRITTEN ") {
        true => text.lines().map(kept).collect(),
        false => text.to_owned(),
    }
}

/// What the spine tells of memory, without what only a crash causes.
fn events(env: &TestEnv) -> Vec<String> {
    let dir = env.repo().join(".spore/events");
    let mut partitions: Vec<_> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    partitions.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    partitions.sort();
    let text: String =
        partitions.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    text.lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["source"]["name"] == "memory" && event["type"] != "run.resumed")
        // A session that was cut off and had again is one more on the bill, and nothing else.
        .filter(|event| event["type"] != "session.lost")
        .map(|mut event| {
            // A run that was gone on with has one more event of its own to read and reject.
            if let Some(payload) = event["payload"].as_object_mut() {
                payload.retain(|name, _| name != "events" && name != "rejected");
            }
            format!("{} {}", event["type"], event["payload"])
        })
        .collect()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target)
        } else {
            let _ = std::fs::copy(&path, &target).unwrap();
        }
    }
}

/// Another place that is exactly like this one.
fn double(env: &TestEnv) -> TestEnv {
    let double = scenes::env();
    copy(&env.repo(), &double.repo());
    double
}

/// Kills `command` at each of its effects and goes on; everything ends as without the kill.
/// Returns the files that are left.
fn check(scene: &TestEnv, command: &[&str], least: usize) -> BTreeMap<String, String> {
    check_with(scene, command, &[], least, 1)
}

/// The same for a command that asks a model, at every so many-th of its effects.
fn check_with(
    scene: &TestEnv,
    command: &[&str],
    variables: &[(&str, &str)],
    least: usize,
    every: usize,
) -> BTreeMap<String, String> {
    let undisturbed = double(scene);
    let log = undisturbed.dir().join("effects.log");
    let with = |more: (&'static str, String)| -> Vec<(&str, String)> {
        let given = variables.iter().map(|(name, value)| (*name, (*value).to_owned()));
        given.chain([more]).collect()
    };
    let spore = |env: &TestEnv, command: &[&str], more: (&'static str, String)| {
        let all = with(more);
        let all: Vec<(&str, &str)> = all.iter().map(|(n, v)| (*n, v.as_str())).collect();
        env.spore_in(&env.repo(), command, &all)
    };
    let none = || ("NOTHING_AT_ALL", String::new());
    let logged = ("SPORE_EFFECTS_LOG", log.to_str().unwrap().to_owned());
    let _ = spore(&undisturbed, command, logged).code(0);
    let (expected, told) = (files(&undisturbed), events(&undisturbed));
    let points = std::fs::read_to_string(&log).unwrap();
    assert!(points.lines().count() >= least, "{points}");
    let before = files(scene);
    for point in points.lines().step_by(every) {
        let env = double(scene);
        let _ = spore(&env, command, ("SPORE_KILL_AT", point.to_owned())).code(137);
        // Between the passes of a weaving a file may be as one of them left it; each has a matrix.
        let is_one_pass = command[1] != "weave";
        for (name, text) in files(&env).into_iter().filter(|_| is_one_pass) {
            let whole = [before.get(&name), expected.get(&name)];
            assert!(whole.contains(&Some(&text)), "{point}: {name} is half written: {text}");
        }
        let runs = env.spore(&["runs", "list", "--json"]).code(0).json();
        let name = command[..2].join(" ");
        let mine = runs.as_array().unwrap().iter().find(|run| run["name"] == name.as_str());
        match mine {
            None => drop(spore(&env, command, none()).code(0)),
            Some(run) if run["state"] == "ended" => {}
            Some(run) => {
                assert_eq!(run["status"], "interrupted", "{point}");
                let _ = spore(&env, &["resume"], none()).code(0);
            }
        }
        assert_eq!(files(&env), expected, "{point}");
        assert_eq!(events(&env), told, "{point}");
    }
    expected
}

fn evidence() -> TestEnv {
    let env = project();
    wrong(&env, 1, "Run `make lint` before committing");
    wrong(&env, 2, "Run `make lint` before committing");
    event(&env, 3, "human", "chat.message", &"the build is red".into());
    let add = ["memory", "inbox", "add", "the dossier is missing", "--name", "task"];
    let _ = env.spore(&add).code(0);
    env
}

#[test]
fn a_scan_killed_at_any_effect_ends_like_one_that_was_not() {
    let left = check(&evidence(), &["memory", "scan"], 30);
    assert!(left.contains_key("state/pending.jsonl") && left.contains_key("inbox/task"));
}

#[test]
fn a_crystallization_killed_at_any_effect_ends_like_one_that_was_not() {
    let env = evidence();
    let _ = env.spore(&["memory", "scan"]).code(0);
    // With a task: it leaves the inbox once, and not before its result is on record.
    let left = check(&env, &["memory", "crystallize", "--task", "task"], 28);
    assert!(left.contains_key("entities/ada.md") && !left.contains_key("inbox/task"));
}

#[test]
fn an_update_killed_at_any_effect_ends_like_one_that_was_not() {
    let env = evidence();
    let _ = env.spore(&["memory", "scan"]).code(0);
    let _ = env.spore(&["memory", "crystallize"]).code(0);
    let left = check(&env, &["memory", "update"], 28);
    assert!(!left["CLAUDE.md"].contains("make lint"));
}

/// Every so many-th effect, or each where all are asked for.
fn sampled(every: usize) -> usize {
    #[expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]
    let all = std::env::var("SPORE_KILLS").is_ok_and(|asked| asked == "all");
    if all { 1 } else { every }
}

/// The variables of a model, as a command of memory is given them.
fn asking<'a>(
    variables: &'a [(&'static str, String)],
    command: &[&'a str],
) -> (Vec<(&'a str, &'a str)>, Vec<&'a str>) {
    let variables = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let model = ["--backend", "api", "--model", crate::verified_run::MODEL];
    (variables, command.iter().copied().chain(model).collect())
}

#[test]
fn a_judgement_killed_at_any_effect_ends_like_one_that_was_not() {
    let env = memory_judge::undecided();
    let line = crate::memory::hash(&env, memory_judge::RED);
    let answers = serde_json::json!([
        { "event": memory_judge::event_id(1), "line": line, "answer": "WEAKENING",
          "quote": "nobody was asked", "why": "Ada was not asked." },
        { "event": memory_judge::event_id(2), "line": null, "answer": "nothing" },
    ]);
    let server = memory_judge::model(&answers, &serde_json::json!([]));
    let variables = crate::verified_run::variables(&server.url());
    let (variables, command) = asking(&variables, &["memory", "judge"]);
    let left = check_with(&env, &command, &variables, 30, sampled(4));
    assert_eq!(left["state/judged.jsonl"].lines().count(), 2);
    assert_eq!(left["state/pending.jsonl"], "");
}

#[test]
fn a_rewriting_killed_at_any_effect_ends_like_one_that_was_not() {
    let (env, fragments) = memory_judge::lint_failed(1);
    let line = crate::memory::hash(&env, "Run `make lint` before committing");
    let edits = serde_json::json!([{ "do": "rewrite", "line": line, "fragments": fragments,
        "text": "Run `just lint` before committing", "why": "It is just now." }]);
    let server = memory_judge::model(&serde_json::json!([]), &edits);
    let variables = crate::verified_run::variables(&server.url());
    let (variables, command) = asking(&variables, &["memory", "update", "--propose"]);
    let left = check_with(&env, &command, &variables, 30, sampled(5));
    assert!(left["CLAUDE.md"].contains("just lint"));
    assert!(left["effectiveness/CLAUDE-md-effectiveness.md"].contains("REWRITTEN "));
}

#[test]
fn a_weaving_killed_at_any_effect_ends_like_one_that_was_not() {
    let env = evidence();
    let add = ["memory", "inbox", "add", "scan the events, then prune the lines", "--name", "all"];
    let _ = env.spore(&add).code(0);
    let left = check_with(&env, &["memory", "weave", "--no-model"], &[], 60, sampled(12));
    assert!(!left.contains_key("inbox/task") && !left.contains_key("inbox/all"));
    assert!(!left["CLAUDE.md"].contains("make lint"));
}

#[test]
fn an_import_killed_at_any_effect_ends_like_one_that_was_not() {
    let env = project();
    env.write("AGENTS.md", "# Rules\n\n- Squash before merging\n");
    let left = check_with(&env, &["memory", "import", "AGENTS.md"], &[], 15, sampled(4));
    assert!(left["CLAUDE.md"].contains("Squash before merging"));
}

#[test]
fn a_trial_that_is_killed_while_it_starts_is_on_or_is_not() {
    let scene = project();
    let command = ["memory", "trial", "L5", "--share", "0.5"];
    let undisturbed = double(&scene);
    let log = undisturbed.dir().join("effects.log");
    let logged = [("SPORE_EFFECTS_LOG", log.to_str().unwrap())];
    let _ = undisturbed.spore_in(&undisturbed.repo(), &command, &logged).code(0);
    let trials = |env: &TestEnv| files(env).remove("state/trials.json");
    let points = std::fs::read_to_string(&log).unwrap();
    assert!(points.contains("trials.json"), "{points}");
    for point in points.lines() {
        let env = double(&scene);
        let _ = env.spore_in(&env.repo(), &command, &[("SPORE_KILL_AT", point)]).code(137);
        let left = trials(&env);
        assert!(left.is_none() || left == trials(&undisturbed), "{point}: {left:?}");
        // Who asks again starts it, or is told that it is on.
        let again = env.spore(&command).code;
        assert_eq!(again, if left.is_some() { 65 } else { 0 }, "{point}");
        let on: Vec<Value> = serde_json::from_str(&trials(&env).unwrap()).unwrap();
        assert_eq!(on.len(), 1, "{point}");
    }
}
