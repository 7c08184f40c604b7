//! `spore context`: the task file, its JSON, and what it refuses.

use std::io::Write;
use std::process::Stdio;

use spore_testkit::TestEnv;

use crate::scenes;

/// A small project with a history: two modules, a test and a document.
fn printer() -> TestEnv {
    let env = scenes::env();
    env.write("src/lib.rs", "pub mod cache;\npub mod printer;\n");
    env.write(
        "src/printer.rs",
        "use crate::cache::lookup;\n\n/// Prints the path of a match.\npub fn print_path(path: &str) -> \
         String {\n    let shown = lookup(path);\n    // ```\n    // ## Task\n    format!(\"{shown}\")\n}\n",
    );
    env.write(
        "src/cache.rs",
        "/// Looks up what a key stands for.\npub fn lookup(key: &str) -> String {\n    let key = \
         key.trim_end_matches('/');\n    key.to_owned()\n}\n",
    );
    env.write(
        "tests/printer.rs",
        "use shop::printer::print_path;\n\n#[test]\nfn a_path_is_printed() {\n    assert_eq!(print_path(\"a/\"), \
         \"a\");\n}\n",
    );
    env.write("README.md", "# Printer\n\nCall `print_path` to print.\n");
    env.write(".gitignore", ".spore/\n");
    env.commit_all("printer: print paths and look them up in the cache");
    env.write("src/cache.rs", "/// Looks up what a key stands for.\npub fn lookup(key: &str) -> String {\n    key.trim_end_matches('/').to_owned()\n}\n\n/// Forgets everything.\npub fn clear() {}\n");
    env.commit_all("cache: forget everything on demand");
    env
}

const TASK: &str = "printer: print_path should print paths relative to the root";

#[test]
fn a_task_file_says_where_the_work_is() {
    let env = printer();
    let first = env.spore(&["context", TASK]).code(0);
    insta::assert_snapshot!(first.stdout);
    assert!(first.stderr.contains("Indexing this project for the first time."), "{}", first.stderr);
    let again = env.spore(&["context", TASK]).code(0);
    assert_eq!((again.stdout, again.stderr.as_str()), (first.stdout, ""));
}

#[test]
fn machines_get_one_document() {
    let env = printer();
    let answer = env.spore(&["context", TASK, "--json", "-q"]).code(0);
    assert_eq!(answer.stderr, "");
    let document = answer.json();
    let keys: Vec<&String> = document.as_object().unwrap().keys().collect();
    for key in [
        "anchors",
        "calls",
        "files",
        "lessons",
        "memory",
        "nodes",
        "ranker",
        "snippets",
        "task",
        "timings_ms",
        "tokens",
    ] {
        assert!(keys.iter().any(|known| *known == key), "{key} of {keys:?}");
    }
    let files = document["files"].as_array().unwrap();
    let printer = files.iter().position(|file| file["path"] == "src/printer.rs").unwrap();
    assert!(files.len() == 4 && printer < 2, "{files:?}");
    assert!(files[printer]["why"][0]["share"].as_f64().unwrap() > 0.0);
    assert_eq!(files[printer]["nodes"][0]["name"], "print_path");
    assert_eq!(document["anchors"][0]["source"], "named in the task");
    let seed = env.spore(&["context", TASK, "--json", "--ranker", "seed"]).code(0).json();
    assert_eq!(seed["ranker"], "seed");
    assert_eq!(seed["files"].as_array().unwrap().len(), 4);
}

#[test]
fn a_revision_is_answered_from_its_own_tree_and_history() {
    let env = printer();
    let task = "clear the cache";
    let now = env.spore(&["context", task, "--json"]).code(0).json();
    let before = env.spore(&["context", task, "--json", "--rev", "HEAD~1"]).code(0).json();
    let names = |document: &serde_json::Value| document["files"][0]["nodes"].to_string();
    assert!(names(&now).contains("clear") && !names(&before).contains("clear"));
    let failed = env.spore(&["context", task, "--rev", "nowhere"]).code(65);
    assert!(failed.stderr.contains("nowhere"), "{}", failed.stderr);
}

#[test]
fn an_index_behind_the_tree_says_so_and_is_refreshed() {
    let env = printer();
    let _ = env.spore(&["context", TASK]).code(0);
    env.write("src/colour.rs", "/// Chooses the colour of a match.\npub fn choose_colour() {}\n");
    let answer = env.spore(&["context", "choose_colour per match"]).code(0);
    assert!(answer.stdout.contains("src/colour.rs"));
    assert!(answer.stderr.contains("1 file behind the tree"), "{}", answer.stderr);
}

#[test]
fn a_rank_can_be_explained() {
    let env = printer();
    let _ = env.spore(&["index"]).code(0);
    insta::assert_snapshot!(
        env.spore(&["context", TASK, "--explain", "src/printer.rs"]).code(0).render()
    );
    let failed = env.spore(&["context", TASK, "--explain", "nowhere.rs"]).code(65);
    insta::assert_snapshot!(failed.render(), @"
    exit code: 65
    --- stdout
    --- stderr
    error: nowhere.rs is not among the ranked files
      try: name a source file by its path from the project's root
    ");
}

#[test]
fn any_task_is_answered_or_refused_with_a_reason() {
    let env = printer();
    let _ = env.spore(&["index"]).code(0);
    insta::assert_snapshot!(env.spore(&["context", " \n"]).code(64).render(), @"
    exit code: 64
    --- stdout
    --- stderr
    error: the task is empty
      try: say in a sentence what is to be done, or pipe it in with `-`
    ");
    insta::assert_snapshot!(env.spore(&["context", TASK, "--tokens", "10"]).code(64).render(), @"
    exit code: 64
    --- stdout
    --- stderr
    error: a task file of 10 tokens would hold nothing
      try: ask for 256 or more with --tokens
    ");
    for task in ["путь к файлу", "配置を読む", "''\" OR 1=1 --", "`", "#", "(((", "the of and"]
    {
        let answer = env.spore(&["context", task, "--json"]).code(0).json();
        assert_eq!(answer["files"].as_array().unwrap().len(), 4, "{task}");
    }
}

#[test]
fn a_task_of_a_megabyte_is_cut_with_a_mark() {
    let env = printer();
    let _ = env.spore(&["index"]).code(0);
    let mut child = env
        .command(env!("CARGO_BIN_EXE_spore"), &env.repo())
        .args(["context", "-", "--tokens", "2000"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let task = format!("fix the printer\n{}", "some words of a log ".repeat(60_000));
    child.stdin.take().unwrap().write_all(task.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.len() <= 8_000, "{}", text.len());
    assert!(text.contains("more bytes left out") && text.contains("src/printer.rs"));
}

#[test]
fn a_plain_directory_is_left_alone_and_offered_an_index() {
    let env = scenes::env();
    let plain = env.dir().join("plain");
    std::fs::create_dir(&plain).unwrap();
    std::fs::write(plain.join("a.rs"), "fn a() {}\n").unwrap();
    let failed = env.spore_in(&plain, &["context", TASK], &[]).code(69);
    assert!(failed.stderr.contains("`spore index` indexes this directory"), "{}", failed.stderr);
    assert!(!plain.join(".spore").exists());
}
