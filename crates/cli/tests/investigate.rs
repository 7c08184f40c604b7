//! `spore investigate` without a model: a run like any other, and entries that go stale
//! exactly when their places change.

use serde_json::Value;
use spore_testkit::TestEnv;
use spore_testkit::kill::{KillTarget, matrix};

use crate::scenes;

fn shop() -> TestEnv {
    let env = scenes::env();
    env.write("src/lib.rs", "//! Sells.\n\npub fn sell() {}\n");
    env.write("src/price/mod.rs", "pub fn total() -> u32 {\n    7\n}\n");
    env.write("docs/guide.md", "# Guide\n\nSell.\n");
    for path in ["src/lib.rs", "src/price/mod.rs", "docs/guide.md"] {
        let file = std::fs::File::options().write(true).open(env.repo().join(path)).unwrap();
        let at = std::time::Duration::from_secs(1_767_225_600);
        file.set_modified(std::time::UNIX_EPOCH + at).unwrap();
    }
    env.commit_all("a shop");
    let _ = env.spore(&["init"]).code(0);
    env
}

fn investigate(env: &TestEnv, more: &[&str]) -> Value {
    let args: Vec<&str> = ["investigate", "--json"].iter().chain(more).copied().collect();
    env.spore(&args).code(0).json()
}

/// Fresh, stale, new, gone.
fn kept(answer: &Value) -> [u64; 4] {
    ["fresh", "stale", "new", "gone"].map(|name| answer["entries"][name].as_u64().unwrap())
}

fn live(env: &TestEnv, kind: &str) -> u64 {
    let status = env.spore(&["graph", "status", "--json"]).code(0).json();
    let text = status.to_string();
    assert!(text.contains("nodes"), "{text}");
    fn find(value: &Value, kind: &str) -> Option<u64> {
        match value {
            Value::Array(all) => all.iter().find_map(|one| find(one, kind)),
            Value::Object(fields) if fields.get("kind").is_some_and(|found| found == kind) => {
                fields["live"].as_u64()
            }
            Value::Object(fields) => fields.values().find_map(|one| find(one, kind)),
            _ => None,
        }
    }
    find(&status, kind).unwrap_or(0)
}

#[test]
fn without_a_model_there_is_the_scan_the_brief_and_how_to_get_the_rest() {
    let env = shop();
    let answer = env.spore(&["investigate"]).code(0);
    assert_eq!(answer.stderr, "");
    let told = scenes::told(&answer);
    let end = told.find("\nRun RUN-").unwrap();
    insta::assert_snapshot!(&told[end..], @r#"

    Run RUN-0002: of its entries 7 are new. What it left is in .spore/runs/RUNID-002.

    This is what counting tells: no model has read anything. To have it read, sign in to an agent (`spore agents list`) or add `--backend NAME`.
    --- stderr
    "#);
    assert!(told.contains("repo holds 3 files in 4 directories"), "{told}");
}

#[test]
fn one_edit_costs_one_entry_for_each_directory_above_it() {
    let env = shop();
    // Four directories, the root among them, and three files.
    assert_eq!(kept(&investigate(&env, &[])), [0, 0, 7, 0]);
    assert_eq!(kept(&investigate(&env, &[])), [7, 0, 0, 0]);
    env.write("src/price/mod.rs", "pub fn total() -> u32 {\n    8\n}\n");
    assert_eq!(kept(&investigate(&env, &[])), [3, 4, 0, 0]);
    env.write("src/new.rs", "");
    std::fs::remove_file(env.repo().join("docs/guide.md")).unwrap();
    // The root, src and docs are stale; a file is new and one is gone.
    assert_eq!(kept(&investigate(&env, &[])), [3, 3, 1, 1]);
    assert_eq!(kept(&investigate(&env, &["--fresh"])), [0, 7, 0, 0]);
    assert_eq!(live(&env, "directory_entry"), 4);
}

#[test]
fn a_part_is_investigated_with_the_same_entries_as_the_whole() {
    let env = shop();
    assert_eq!(kept(&investigate(&env, &[])), [0, 0, 7, 0]);
    // From another directory, too: paths are the project's.
    let answer = env.spore_in(&env.repo().join("docs"), &["investigate", "../src", "--json"], &[]);
    assert_eq!(kept(&answer.code(0).json()), [4, 0, 0, 0]);
    // Another scope has entries of its own and replaces none of the first scope.
    assert_eq!(kept(&investigate(&env, &["-x", "docs"]))[1..], [0, 5, 0]);
    assert_eq!(kept(&investigate(&env, &[])), [7, 0, 0, 0]);
}

#[test]
fn it_is_a_run_with_its_artefacts_and_its_events() {
    let env = shop();
    let _ = investigate(&env, &["src"]);
    let run = scenes::newest(&env);
    assert_eq!(run["status"], "finished");
    assert_eq!(run["run"]["kind"], "investigate");
    assert_eq!(run["run"]["name"], "investigate src");
    insta::assert_snapshot!(scenes::told(&env.spore(&["runs", "show", run["run"]["id"].as_str().unwrap()]).code(0)), @"
    exit code: 0
    --- stdout
    Run RUNID-001  finished
      task        investigate src
      started     2026-01-02 03:07 UTC, took 0.0 s
      cost        $0.00 in 0 sessions
      reason      src holds 2 files in 2 directories, 61 B in all. 4 lines of code: Rust 100 %. Most of it is in price/ (1 file, mostly source).
      files       .spore/runs/RUNID-001
    --- stderr
    ");
    insta::assert_snapshot!(scenes::plain(&scenes::artefact(&env, "meta.json")), @r#"
    {
      "investigation_id": "RUNID-001",
      "target": "src",
      "model": null,
      "started_at": "2026-01-02T03:07:00.000Z",
      "directories": 2,
      "files": 2,
      "hash": "HASH-002",
      "scope": "visible",
      "version": "0.1.0"
    }
    "#);
    insta::assert_snapshot!(scenes::artefact(&env, "investigation.log"), @r#"
    {"directory":"src","turn":0,"timestamp":"2026-01-02T03:07:00.000Z","tool":"scan","args":{"scope":"visible"},"result_length":2544}
    {"directory":"src","turn":0,"timestamp":"2026-01-02T03:07:00.000Z","tool":"entries","args":{"fresh":0,"gone":0,"new":4,"stale":0},"result_length":0}
    "#);
    insta::assert_snapshot!(scenes::artefact(&env, "brief.md"), @"src holds 2 files in 2 directories, 61 B in all. 4 lines of code: Rust 100 %. Most of it is in price/ (1 file, mostly source).");
    let scan: Value = serde_json::from_str(&scenes::artefact(&env, "scan.json")).unwrap();
    assert_eq!(scan["totals"]["files"], 2);
    let events = env.spore(&["events", "tail", "--json"]).code(0).stdout;
    for kind in ["run.started", "run.finished"] {
        assert!(events.contains(kind), "{kind} in {events}");
    }
}

#[test]
fn an_entry_says_where_it_belongs_and_for_which_content_it_holds() {
    let env = shop();
    let answer = investigate(&env, &[]);
    let shown = env.spore(&["graph", "show", "src/price", "--json"]).code(0).json();
    assert_eq!(shown["kind"], "directory_entry");
    assert_eq!(shown["metadata"]["path"], "src/price");
    assert_eq!(shown["metadata"]["confidence_reason"], "counted, not read");
    assert_eq!(shown["run"], answer["run"]["run"]["id"]);
    let content = shown["content"].as_str().unwrap();
    assert_eq!(content, "1 file, 32 B, mostly source; Rust 3 lines of code in 1 file.");
}

#[test]
fn an_entry_stands_below_the_place_that_the_code_index_knows() {
    let env = shop();
    let _ = investigate(&env, &[]);
    let parents = [".", "src/price"].map(|path| {
        let entry = env.spore(&["graph", "show", path, "--json"]).code(0).json();
        assert_eq!(entry["kind"], "directory_entry");
        entry["parent"].as_str().unwrap().to_owned()
    });
    let _ = env.spore(&["index", "--no-embed"]).code(0);
    for parent in parents {
        let place = env.spore(&["graph", "show", &parent, "--json"]).code(0).json();
        assert_eq!(place["kind"], "directory", "{place}");
    }
}

#[test]
fn without_a_project_nothing_is_recorded_and_that_is_said() {
    let env = scenes::env();
    env.write("a.txt", "hello\n");
    let answer = env.spore(&["investigate"]).code(0);
    let told = &answer.stdout[answer.stdout.find("\nNothing was recorded").unwrap()..];
    insta::assert_snapshot!(told, @r#"

    Nothing was recorded: the directory belongs to no Spore project. `spore init` there makes it one.

    This is what counting tells: no model has read anything. To have it read, sign in to an agent (`spore agents list`) or add `--backend NAME`.
    "#);
    assert!(!env.repo().join(".spore").exists());
    let json = investigate(&env, &[]);
    assert!(json["run"].is_null() && json["entries"].is_null(), "{json}");
}

#[test]
fn a_directory_outside_of_the_named_project_is_scanned_and_not_recorded() {
    let env = shop();
    env.write_at(&env.dir().join("other/a.rs"), "fn a() {}\n");
    let root = env.repo().display().to_string();
    let answer = env.spore(&["investigate", "../other", "--root", &root]).code(0);
    assert!(answer.stdout.contains("outside of the project"), "{}", answer.stdout);
    let runs = env.spore(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 0);
}

#[test]
fn an_investigation_killed_at_any_effect_ends_like_one_that_was_not() {
    let target = KillTarget { scene: &shop, command: &["investigate"], random: 2 };
    let tally = matrix(&target);
    println!("kill matrix: {}", tally.line());
    assert!(tally.points > 20, "{}", tally.line());
    let nothing: Vec<String> = Vec::new();
    assert_eq!(tally.divergent, nothing, "{}", tally.line());
    assert_eq!(tally.duplicates, nothing, "{}", tally.line());
}
