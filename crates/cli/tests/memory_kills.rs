//! Killed anywhere, a pass of memory leaves whole files and ends like one that was not killed.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use spore_testkit::TestEnv;

use crate::memory::{event, project, wrong};
use crate::scenes;

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
                found.insert(name, text);
            }
        }
    }
    found
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
    let undisturbed = double(scene);
    let log = undisturbed.dir().join("effects.log");
    let logged = [("SPORE_EFFECTS_LOG", log.to_str().unwrap())];
    let _ = undisturbed.spore_in(&undisturbed.repo(), command, &logged).code(0);
    let (expected, told) = (files(&undisturbed), events(&undisturbed));
    let points = std::fs::read_to_string(&log).unwrap();
    assert!(points.lines().count() >= least, "{points}");
    let before = files(scene);
    for point in points.lines() {
        let env = double(scene);
        let _ = env.spore_in(&env.repo(), command, &[("SPORE_KILL_AT", point)]).code(137);
        for (name, text) in files(&env) {
            let whole = [before.get(&name), expected.get(&name)];
            assert!(whole.contains(&Some(&text)), "{point}: {name} is half written: {text}");
        }
        let runs = env.spore(&["runs", "list", "--json"]).code(0).json();
        let name = command[..2].join(" ");
        let mine = runs.as_array().unwrap().iter().find(|run| run["name"] == name.as_str());
        match mine {
            None => drop(env.spore(command).code(0)),
            Some(run) if run["state"] == "ended" => {}
            Some(run) => {
                assert_eq!(run["status"], "interrupted", "{point}");
                let _ = env.spore(&["resume"]).code(0);
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
