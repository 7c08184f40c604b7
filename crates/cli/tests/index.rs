//! `spore index`: what it prints, what it refuses, and what a kill leaves behind.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::time::Duration;

use serde_json::Value;
use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes;

const LIB: &str =
    "mod price;\n\nuse price::total;\n\n/// Sells.\npub fn sell() {\n    total();\n}\n";
const PRICE: &str = "/// Adds up.\npub fn total() -> u32 {\n    7\n}\n";

fn shop() -> TestEnv {
    let env = scenes::env();
    env.write("src/lib.rs", LIB);
    env.write("src/price.rs", PRICE);
    env.write("README.md", "# Shop\n\nCall `sell` to sell.\n");
    env.commit_all("a shop");
    let _ = env.spore(&["init"]).code(0);
    env
}

/// The answer without what differs between two runs.
fn told(output: &ProgramOutput) -> String {
    let lines = output.stdout.lines().filter(|line| !line.starts_with("time"));
    lines.collect::<Vec<_>>().join("\n")
}

fn dump(env: &TestEnv) -> String {
    env.spore(&["index", "--dump"]).code(0).stdout
}

#[test]
fn the_closing_table_says_what_there_is() {
    let env = shop();
    env.write("blob.rs", "fn\0");
    insta::assert_snapshot!(told(&env.spore(&["index"]).code(0)), @"
    3 files, 8 nodes, 16 edges: 3 added
    files    rust 2, markdown 1
    nodes    file 3, directory 2, function 2, section 1
    edges    contains 7, changed_with 3, defined_in 3, calls 1, documents 1, imports 1
    skipped  binary 1
    ");
    env.write("src/price.rs", &PRICE.replace('7', "8"));
    insta::assert_snapshot!(told(&env.spore(&["index"]).code(0)), @"
    3 files, 8 nodes, 16 edges: 1 changed, 2 unchanged
    files    rust 2, markdown 1
    nodes    file 3, directory 2, function 2, section 1
    edges    contains 7, changed_with 3, defined_in 3, calls 1, documents 1, imports 1
    skipped  binary 1
    ");
}

#[test]
fn machines_get_one_document_with_numbers() {
    let env = shop();
    let answer = env.spore(&["index", "--json"]).code(0);
    assert_eq!(answer.stderr, "");
    let report = answer.json();
    assert_eq!(report["added"], 3);
    assert_eq!(report["files"]["rust"], 2);
    assert_eq!(report["edges"]["calls"], 1);
    assert_eq!(report["nodes"]["directory"], 2);
    assert_eq!(report["source"], "work tree");
    let stages: Vec<&Value> = report["stages"].as_array().unwrap().iter().collect();
    assert!(stages.iter().all(|stage| stage["millis"].is_u64()), "{stages:?}");
}

#[test]
fn any_spelling_of_a_path_from_anywhere_means_the_same_file() {
    let env = shop();
    let _ = env.spore(&["index"]).code(0);
    let absolute = env.repo().join("src/price.rs").display().to_string();
    for (number, typed) in ["price.rs", "./../src/price.rs", &absolute].into_iter().enumerate() {
        env.write("src/price.rs", &PRICE.replace('7', &format!("{number}{number}")));
        env.write("src/lib.rs", &format!("{LIB}// {number}{number}\n"));
        let answer = env.spore_in(&env.repo().join("src"), &["index", typed, "--json"], &[]);
        assert_eq!(answer.code(0).json()["changed"], 1, "{typed}");
    }
    assert_eq!(env.spore(&["index", "--json"]).code(0).json()["changed"], 1);
}

#[test]
fn what_cannot_be_indexed_is_refused_with_a_reason() {
    let env = shop();
    insta::assert_snapshot!(env.spore(&["index", "/etc"]).code(64).render(), @"
    exit code: 64
    --- stdout
    --- stderr
    error: /etc is outside of $TEST_ENV/repo
      try: name paths of the project, or another project with --root
    ");
    insta::assert_snapshot!(env.spore(&["index", "nowhere"]).code(65).render(), @"
    exit code: 65
    --- stdout
    --- stderr
    index: walk
    error: there is no file or directory nowhere
      try: name paths as seen from here, or none for everything
    ");
    insta::assert_snapshot!(env.spore(&["index", "--languages", "rust,pyton"]).code(64).render(), @r#"
    exit code: 64
    --- stdout
    --- stderr
    error: "pyton" is not a language that can be read
      try: did you mean python? There are: rust, python, typescript, tsx, javascript, go, java, kotlin, c, cpp, csharp, ruby, php, swift, scala, bash, markdown, rst
    "#);
    insta::assert_snapshot!(env.spore(&["index", "--rev", "nothing"]).code(65).render(), @r#"
    exit code: 65
    --- stdout
    --- stderr
    error: "nothing" names no commit of the repository
      try: name a commit of this repository
    "#);
    let both = env.spore(&["index", "--rev", "HEAD", "--watch"]).code(64);
    assert_eq!(both.stdout, "");
}

#[test]
fn languages_limit_what_is_looked_at_and_remove_nothing() {
    let env = shop();
    let only = env.spore(&["index", "--languages", "markdown", "--json"]).code(0).json();
    assert_eq!((&only["files"]["markdown"], &only["files"]["rust"]), (&1.into(), &Value::Null));
    let all = env.spore(&["index", "--json"]).code(0).json();
    assert_eq!(all["added"], 2);
    let only = env.spore(&["index", "--languages", "markdown", "--json"]).code(0).json();
    assert_eq!((&only["removed"], &only["files"]["rust"]), (&0.into(), &2.into()));
}

#[test]
fn a_revision_is_indexed_beside_the_work_tree() {
    let env = shop();
    let _ = env.spore(&["index"]).code(0);
    let before = dump(&env);
    env.write("src/price.rs", &PRICE.replace("total", "sum"));
    let report = env.spore(&["index", "--rev", "HEAD", "--json"]).code(0).json();
    assert_eq!((&report["added"], &report["changed"]), (&0.into(), &0.into()));
    assert!(report["index"].as_str().unwrap().contains(".spore/index/"));
    assert_eq!(dump(&env), before);
}

#[test]
fn the_graph_commands_know_code() {
    let env = shop();
    let _ = env.spore(&["index"]).code(0);
    let shown = env.spore(&["graph", "show", "sell", "--json"]).code(0).json();
    assert_eq!(shown["kind"], "function");
    let kinds: Vec<&str> =
        shown["edges"].as_array().unwrap().iter().map(|e| e["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"calls") && kinds.contains(&"documents"), "{kinds:?}");
    let text = env.spore(&["graph", "read-content", "src/price.rs:2"]).code(0).stdout;
    assert!(text.contains("pub fn total() -> u32 {\n    7\n}"), "{text}");
    let ways = env.spore(&["graph", "path-between", "Shop", "total", "--json"]).code(0).json();
    assert_eq!(ways["paths"][0]["steps"].as_array().unwrap().len(), 2, "{ways}");
}

#[test]
fn a_watch_keeps_up_with_changes_and_ends_well() {
    let env = shop();
    let mut child = env.start_in(&env.repo(), &["index", "--watch", "--json"], &[]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["added"], 3);
    env.write("src/more.rs", "pub fn more() {}\n");
    assert_eq!(next()["added"], 1);
    std::fs::remove_file(env.repo().join("src/more.rs")).unwrap();
    assert_eq!(next()["removed"], 1);
    // A branch switch is many changes at once.
    env.git(&["checkout", "--quiet", "-b", "side"]);
    for number in 0..100 {
        env.write(&format!("many/f{number}.rs"), &format!("pub fn f{number}() {{}}\n"));
    }
    let mut added = 0;
    while added < 100 {
        added += next()["added"].as_u64().unwrap();
    }
    assert_eq!(added, 100);
    let pid = child.id().to_string();
    let _ = scenes::system(&env, "kill", &["-INT", &pid]);
    assert_eq!(env.finish(child).code, 0);
    let kept = dump(&env);
    let _ = env.spore(&["index", "--full"]).code(0);
    assert_eq!(kept, dump(&env));
}

/// Reads what an undisturbed call passes.
fn points(env: &TestEnv) -> Vec<String> {
    let log = env.dir().join("effects");
    let place = log.display().to_string();
    let variables = [("SPORE_EFFECTS_LOG", place.as_str())];
    let _ = env.spore_in(&env.repo(), &["index"], &variables).code(0);
    std::fs::read_to_string(log).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_kill_at_any_effect_leaves_an_index_that_can_be_brought_up_to_date() {
    let fresh = points(&shop());
    assert!(fresh.iter().any(|point| point.contains("file:index")), "{fresh:?}");
    for point in &fresh {
        let env = shop();
        let killed = [("SPORE_KILL_AT", point.as_str())];
        let _ = env.spore_in(&env.repo(), &["index"], &killed).code(137);
        check_mended(&env, point);
        env.write("src/price.rs", &PRICE.replace("total", "sum"));
        env.write("src/more.rs", "pub fn more() {}\n");
        let _ = env.spore_in(&env.repo(), &["index"], &killed);
        check_mended(&env, point);
    }
}

#[test]
fn a_kill_at_any_moment_leaves_an_index_that_can_be_brought_up_to_date() {
    let env = shop();
    for number in 0..300 {
        let body = "    total();\n".repeat(20);
        env.write(&format!("src/f{number}.rs"), &format!("pub fn f{number}() {{\n{body}}}\n"));
    }
    for round in 0..12_u64 {
        let mut child = env.start_in(&env.repo(), &["index", "--full"], &[]);
        std::thread::sleep(Duration::from_millis(15 * round));
        let _ = child.kill();
        let _ = env.finish(child);
        let _ = env.spore(&["index"]).code(0);
    }
    check_mended(&env, "any");
}

#[track_caller]
fn check_mended(env: &TestEnv, point: &str) {
    let _ = env.spore(&["index"]).code(0);
    let kept = dump(env);
    let _ = env.spore(&["index", "--full"]).code(0);
    assert_eq!(kept, dump(env), "{point}");
    let left = std::fs::read_dir(env.repo().join(".spore")).unwrap().flatten();
    let left: Vec<_> = left.map(|it| it.file_name()).filter(|it| it == "index.db.new").collect();
    assert!(left.is_empty(), "{point}: {left:?}");
}

#[test]
fn two_calls_at_once_both_succeed_and_agree() {
    let env = shop();
    let calls: Vec<_> =
        (0..4).map(|_| env.start_in(&env.repo(), &["index", "--full"], &[])).collect();
    for call in calls {
        let _ = env.finish(call).code(0);
    }
    check_mended(&env, "together");
}

/// A user that owns nothing.
const NOBODY: u32 = 65534;

#[test]
fn what_may_not_be_read_is_left_out_and_counted() {
    let env = shop();
    let root = scenes::system(&env, "id", &["-u"]) == "0";
    let can = env.command("setpriv", &env.repo()).arg("--version").output().is_ok();
    if !root || !can {
        println!("skipped: needs root and setpriv");
        return;
    }
    env.write("secret.rs", "fn secret() {}\n");
    env.write("closed/inside.rs", "fn inside() {}\n");
    let close = |path: &str| {
        let mode = std::fs::Permissions::from_mode(0o000);
        std::fs::set_permissions(env.repo().join(path), mode).unwrap();
    };
    close("secret.rs");
    close("closed");
    std::fs::set_permissions(env.dir(), std::fs::Permissions::from_mode(0o755)).unwrap();
    for path in [".spore", "."] {
        chown(env.repo().join(path), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    for entry in std::fs::read_dir(env.repo().join(".spore")).unwrap().flatten() {
        chown(entry.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let exe = env.exe().display().to_string();
    let mut command = env.command("setpriv", &env.repo());
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", &exe, "index", "--json"]);
    let output = command.output().unwrap();
    if output.stdout.is_empty() && !output.status.success() {
        println!("skipped: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["skipped"]["permission denied"], 2, "{report}");
    assert_eq!(report["files"]["rust"], 2);
}
