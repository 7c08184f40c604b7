//! `spore init`: a directory becomes a project, once.

use std::path::Path;

use crate::scenes::{self, told};

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_repository_becomes_a_project() {
    let env = scenes::env();
    env.commit_all("nothing");
    let output = env.spore(&["init"]).code(0);
    insta::assert_snapshot!(told(&output), @"
    exit code: 0
    --- stdout
    $TEST_ENV/repo is a Spore project now: .spore/.gitignore, .spore/config.toml, .spore/spore.db.
    --- stderr
    ");
    let spore = env.repo().join(".spore");
    assert_eq!(names(&spore), [".gitignore", "config.toml", "spore.db"]);
    let read = |name: &str| std::fs::read_to_string(spore.join(name)).unwrap();
    insta::assert_snapshot!(read("config.toml"), @r#"
    # Settings of this project. `spore config show` prints what is in force and from where;
    # every key and its default is in defaults.toml of Spore's source.
    #
    # [gates.commands.test]
    # run = "cargo test"
    "#);
    insta::assert_snapshot!(read(".gitignore"), @"
    spore.db*
    index.db*
    index/
    vectors*
    events/
    runs/
    sessions/
    exports/
    memory/fragments/
    memory/state/
    memory/inbox/
    *.tmp
    ");
    // Only what people share shows up in git.
    let status = env.git(&["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(status, "?? .spore/.gitignore\n?? .spore/config.toml");
}

#[test]
fn a_project_stays_as_it_is() {
    let env = scenes::env();
    env.commit_all("nothing");
    let _ = env.spore(&["init"]).code(0);
    env.write(".spore/config.toml", "[orchestrate]\nmax_bounces = 7\n");
    let database = std::fs::read(env.repo().join(".spore/spore.db")).unwrap();
    let output = env.spore(&["init"]).code(0);
    insta::assert_snapshot!(told(&output), @"
    exit code: 0
    --- stdout
    $TEST_ENV/repo is a Spore project already.
    --- stderr
    ");
    let config = std::fs::read_to_string(env.repo().join(".spore/config.toml")).unwrap();
    assert_eq!(config, "[orchestrate]\nmax_bounces = 7\n");
    assert_eq!(std::fs::read(env.repo().join(".spore/spore.db")).unwrap(), database);
    let json = env.spore(&["init", "--json"]).code(0).json();
    assert_eq!(json["written"], serde_json::json!([]));
}

#[test]
fn what_is_missing_is_added_and_nothing_else() {
    let env = scenes::small();
    let output = env.spore(&["init"]).code(0);
    insta::assert_snapshot!(told(&output), @"
    exit code: 0
    --- stdout
    $TEST_ENV/repo is a Spore project now: .spore/.gitignore, .spore/spore.db.
    --- stderr
    ");
    let config = std::fs::read_to_string(env.repo().join(".spore/config.toml")).unwrap();
    assert!(config.contains("sh check.sh"));
}

#[test]
fn a_directory_without_git_becomes_a_project_with_a_word_of_warning() {
    let env = scenes::env();
    let output = env.spore(&["init"]).code(0);
    insta::assert_snapshot!(told(&output), @"
    exit code: 0
    --- stdout
    $TEST_ENV/repo is a Spore project now: .spore/.gitignore, .spore/config.toml, .spore/spore.db.
    It is not a git repository yet, and tasks need one: git init, then commit.
    --- stderr
    ");
}

#[test]
fn a_bare_repository_is_no_place_for_a_project() {
    let env = scenes::env();
    env.git(&["init", "--quiet", "--bare"]);
    let before = names(&env.repo());
    let output = env.spore(&["init", "--agents"]).code(65);
    insta::assert_snapshot!(told(&output), @"
    exit code: 65
    --- stdout
    --- stderr
    error: $TEST_ENV/repo is a bare repository, without a work tree
      try: clone it, and work in the clone
    ");
    assert_eq!(names(&env.repo()), before, "a refusal leaves nothing behind");
}

#[test]
fn a_sub_directory_is_part_of_the_project_around_it() {
    let env = scenes::env();
    env.write("src/deep/file.txt", "");
    env.commit_all("a file");
    let deep = env.repo().join("src/deep");
    let _ = env.spore_in(&deep, &["init"], &[]).code(0);
    assert!(env.repo().join(".spore/spore.db").exists());
    assert!(!deep.join(".spore").exists());
}

#[test]
fn a_file_in_the_place_of_the_directory_is_left_alone() {
    let env = scenes::env();
    env.write(".spore", "my own notes\n");
    env.commit_all("notes");
    let output = env.spore(&["init"]).code(65);
    insta::assert_snapshot!(told(&output), @"
    exit code: 65
    --- stdout
    --- stderr
    error: $TEST_ENV/repo/.spore is not a directory
      try: move it away: Spore keeps what it knows of a project there
    ");
    let run = env.spore(&["orchestrate", "x", "--backend", "replay"]).code(65);
    insta::assert_snapshot!(told(&run), @"
    exit code: 65
    --- stdout
    --- stderr
    error: $TEST_ENV/repo/.spore is not a directory
      try: move it away: Spore keeps what it knows of a project there
    ");
    let notes = std::fs::read_to_string(env.repo().join(".spore")).unwrap();
    assert_eq!(notes, "my own notes\n");
}
