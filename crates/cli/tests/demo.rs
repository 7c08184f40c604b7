//! `spore demo`: a whole run that needs nothing but git and Python.

use crate::scenes::{self, told};

#[test]
fn the_demo_goes_from_a_failing_test_to_a_verified_commit() {
    let env = scenes::env();
    let output = env.spore_in(env.dir(), &["demo", "try-it"], &[]).code(0);
    insta::assert_snapshot!(timeless(&told(&output)));
    let root = env.dir().join("try-it/bill");
    // What it says to look at is there.
    let shown = env.spore_in(&root, &["runs", "list", "--json"], &[]).code(0).json();
    assert_eq!(shown[0]["status"], "verified");
    let id = shown[0]["id"].as_str().unwrap();
    let branch = env.spore_in(&root, &["runs", "show", id, "--json"], &[]).code(0).json();
    let branch = branch["branch"].as_str().unwrap().to_owned();
    assert!(branch.starts_with("spore/make-split-bill-share-the-cents"), "{branch}");
    let place = root.display().to_string();
    let change = env.git(&["-C", &place, "show", "--format=", &branch]);
    assert!(change.contains("+    share, rest = divmod(cents, people)"), "{change}");
    assert_eq!(env.git(&["-C", &place, "status", "--porcelain", "--untracked-files=no"]), "");
}

/// A text without how long a check's tests took, which is never the same.
fn timeless(text: &str) -> String {
    let line = |line: &str| match line.split_once(" in ") {
        Some((tests, time)) if tests.trim().starts_with("Ran ") && time.ends_with('s') => {
            format!("{tests} in TIME")
        }
        _ => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_demo_for_machines_is_one_document() {
    let env = scenes::env();
    let output = env.spore_in(env.dir(), &["demo", "try-it", "--json", "-q"], &[]).code(0);
    assert_eq!(output.stderr, "");
    assert_eq!(output.json()["status"], "verified");
    assert_eq!(output.json()["bounces"].as_array().unwrap().len(), 3);
}

#[test]
fn the_demo_does_not_mix_with_what_is_there() {
    let env = scenes::env();
    env.write_at(&env.dir().join("mine/notes.txt"), "mine\n");
    let refused = env.spore_in(env.dir(), &["demo", "mine"], &[]).code(64);
    insta::assert_snapshot!(told(&refused), @"
    exit code: 64
    --- stdout
    --- stderr
    error: $TEST_ENV/mine is not empty
      try: name an empty directory, or none for a temporary one
    ");
    let left: Vec<_> = std::fs::read_dir(env.dir().join("mine")).unwrap().collect();
    assert_eq!(left.len(), 1);
    let file = env.spore_in(env.dir(), &["demo", "mine/notes.txt"], &[]).code(64);
    insta::assert_snapshot!(told(&file), @"
    exit code: 64
    --- stdout
    --- stderr
    error: $TEST_ENV/mine/notes.txt is not a directory
      try: name an empty directory, or none for a temporary one
    ");
}

#[test]
fn the_demo_without_git_says_what_is_missing() {
    let env = scenes::env();
    let bin = scenes::path_without_git(&env);
    let output = env.spore_in(env.dir(), &["demo", "try-it"], &[("PATH", &bin)]).code(69);
    insta::assert_snapshot!(told(&output), @"
    exit code: 69
    --- stdout
    --- stderr
    error: git is not installed or not on PATH
      try: install it; `spore doctor` tells what else is missing
    ");
    assert!(!env.dir().join("try-it").exists(), "half a demo is left");
}
