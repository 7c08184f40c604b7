//! `spore events collect`: what people did about the work of runs.

use spore_testkit::TestEnv;

use crate::scenes::{self, told};

/// What the run writes: one line that was there before, and a file of its own.
const WORK: &str = r#"{ write = "answer.txt", content = "42\n" }, { write = "notes.txt", content = "one\ntwo\nthree\nfour\n" }"#;

/// A project with one verified run, whose branch is returned.
fn with_run() -> (TestEnv, String) {
    let env = scenes::with_scenario(&scenes::one_bounce(WORK));
    let _ = scenes::orchestrate(&env, &[]).code(0);
    let branch = scenes::newest_branch(&env);
    (env, branch)
}

fn commit(env: &TestEnv, path: &str, content: &str, message: &str) {
    env.write(path, content);
    env.commit_all(message);
}

/// What a collect finds: type, commit's subject, number of lines.
#[track_caller]
fn collected(env: &TestEnv) -> Vec<String> {
    let json = env.spore(&["events", "collect", "--json"]).code(0).json();
    let line = |found: &serde_json::Value| {
        let payload = &found["payload"];
        let told = [&payload["subject"], &payload["found_by"], &payload["lines"], &payload["task"]];
        let words = told.iter().filter(|value| !value.is_null());
        let words: Vec<String> = words.map(|value| value.to_string().replace('"', "")).collect();
        format!("{}: {}", found["type"].as_str().unwrap(), words.join(" "))
    };
    json["corrections"].as_array().unwrap().iter().map(line).collect()
}

/// The corrections that stand on the spine, in the files as they are.
fn on_spine(env: &TestEnv) -> usize {
    let files = std::fs::read_dir(env.repo().join(".spore/events")).unwrap();
    let text: String = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let is_correction =
        |line: &&str| line.contains("correction.") || line.contains("task.reopened");
    text.lines().filter(is_correction).count()
}

#[test]
fn an_edit_of_lines_that_a_run_wrote_is_found_once() {
    let (env, branch) = with_run();
    env.git(&["merge", "--quiet", &branch]);
    commit(&env, "notes.txt", "one\n2\nthree\n", "say it better");
    insta::assert_snapshot!(told(&env.spore(&["events", "collect"]).code(0)), @"
    exit code: 0
    --- stdout
    Run RUN-0001: 2 lines edited by hash-0000002 say it better
    Looked at 3 new commits for the work of 1 run.
    --- stderr
    ");
    let tail = ["events", "tail", "--type", "correction.*", "--json"];
    insta::assert_snapshot!(told(&env.spore(&tail).code(0)), @r#"
    exit code: 0
    --- stdout
    {"id":"RUNID-001","ts":"2026-01-01T00:00:00.000Z","source":{"kind":"git","name":"collect","own":true},"type":"correction.edited","session_key":"RUNID-002","run":"RUNID-002","trace":"RUNID-002","payload":{"commit":"HASH-003","files":{"notes.txt":2},"lines":2,"subject":"say it better"}}
    --- stderr
    "#);
    insta::assert_snapshot!(told(&env.spore(&["events", "collect"]).code(0)), @"
    exit code: 0
    --- stdout
    No new corrections. Looked at 0 new commits for the work of 1 run.
    --- stderr
    ");
    assert_eq!(on_spine(&env), 1);
}

#[test]
fn a_revert_is_found_by_its_message_and_by_its_patch() {
    let (env, branch) = with_run();
    env.git(&["merge", "--quiet", "--no-ff", "-m", "take it", &branch]);
    env.git(&["revert", "--no-edit", &branch]);
    insta::assert_snapshot!(told(&env.spore(&["events", "collect", "--json"]).code(0)));
    env.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    std::fs::remove_file(env.repo().join("notes.txt")).unwrap();
    commit(&env, "answer.txt", "41\n", "no");
    assert_eq!(collected(&env), ["correction.reverted: no patch"]);
    assert_eq!(collected(&env), [] as [&str; 0]);
}

#[test]
fn work_that_was_picked_or_squashed_is_known_by_its_trailer() {
    let (env, branch) = with_run();
    commit(&env, "kept.txt", "keep me\n\n", "meanwhile");
    env.git(&["cherry-pick", &branch]);
    commit(&env, "notes.txt", "one\ntwo\nthree\n4\n", "mend");
    assert_eq!(collected(&env), ["correction.edited: mend 1"]);

    let (env, branch) = with_run();
    commit(&env, "kept.txt", "keep me\n\n", "meanwhile");
    env.git(&["merge", "--quiet", "--squash", &branch]);
    env.write("notes.txt", "one\ntwo\nthree\nfour\nmine\n");
    env.git(&["add", "--all"]);
    let message = env.repo().join(".git/SQUASH_MSG").display().to_string();
    env.git(&["commit", "--quiet", "--file", &message]);
    // The squashed commit itself may be gone; what matters is in the one that carries it.
    commit(&env, "notes.txt", "one\ntwo\nthree\nfour\nhers\n", "of a person's line");
    commit(&env, "notes.txt", "one\ntwo\n3\nfour\nhers\n", "of a run's line");
    assert_eq!(collected(&env), ["correction.edited: of a run's line 1"]);
}

#[test]
fn work_that_never_arrived_is_not_corrected_by_anybody() {
    let (env, _) = with_run();
    commit(&env, "answer.txt", "43\n", "my own answer");
    commit(&env, "notes.txt", "one\ntwo\n", "my own notes");
    commit(&env, "notes.txt", "one\n", "fewer");
    assert_eq!(collected(&env), [] as [&str; 0]);
}

#[test]
fn other_peoples_lines_merges_renames_and_further_runs_are_no_corrections() {
    let (env, branch) = with_run();
    env.git(&["merge", "--quiet", &branch]);
    commit(&env, "kept.txt", "keep me \n", "another file");
    commit(&env, "notes.txt", "zero\none\ntwo\nthree\nfour\nfive\n", "more notes");
    commit(&env, "notes.txt", "one\ntwo\nthree\nfour\n5\n", "of the person's own lines");
    env.git(&["mv", "notes.txt", "renamed.txt"]);
    env.commit_all("a better name");
    env.git(&["commit", "--quiet", "--allow-empty", "--message", "nothing at all"]);
    assert_eq!(collected(&env), [] as [&str; 0]);
    commit(&env, "renamed.txt", "one\nTWO\nthree\nfour\n5\n", "under the new name");
    assert_eq!(collected(&env), ["correction.edited: under the new name 1"]);
}

#[test]
fn a_task_that_is_given_again_after_its_work_arrived_was_not_done() {
    let (env, branch) = with_run();
    let again = ["orchestrate", " write  the answer", "--backend", "replay", "--scenario"];
    let again: Vec<&str> = again.iter().chain(&["../scenario.toml"]).copied().collect();
    let _ = env.spore(&again).code(0);
    assert_eq!(collected(&env), [] as [&str; 0], "nobody took the first one");
    env.git(&["merge", "--quiet", &branch]);
    insta::assert_snapshot!(told(&env.spore(&["events", "collect"]).code(0)), @"
    exit code: 0
    --- stdout
    Run RUN-0001: its task was given again as run RUN-0002
    Looked at 1 new commit for the work of 1 run.
    --- stderr
    ");
    assert_eq!(collected(&env), [] as [&str; 0]);
    assert_eq!(on_spine(&env), 1);
}

#[test]
fn a_collect_that_was_killed_tells_nothing_twice() {
    let (env, branch) = with_run();
    env.git(&["merge", "--quiet", &branch]);
    commit(&env, "notes.txt", "one\n2\nthree\nfour\n", "first");
    commit(&env, "notes.txt", "one\n2\n3\nfour\n", "second");
    for point in [
        "before:row:finish correction/RUN#1",
        "after:row:finish correction/RUN#1",
        "after:event:flush#1",
    ] {
        let kill = [("SPORE_KILL_AT", point)];
        let _ = env.spore_in(&env.repo(), &["events", "collect"], &kill).code(137);
    }
    let _ = env.spore(&["events", "collect"]).code(0);
    assert_eq!(on_spine(&env), 2);
}

#[test]
fn history_that_was_rewritten_is_read_again() {
    let (env, branch) = with_run();
    env.git(&["merge", "--quiet", &branch]);
    commit(&env, "notes.txt", "one\n2\nthree\nfour\n", "first try");
    assert_eq!(collected(&env).len(), 1);
    env.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    env.git(&["reflog", "expire", "--expire=now", "--all"]);
    env.git(&["gc", "--quiet", "--prune=now"]);
    commit(&env, "notes.txt", "one\ntwo\n3\nfour\n", "second try");
    assert_eq!(collected(&env), ["correction.edited: second try 1"]);
}
