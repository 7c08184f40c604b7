//! `spore scan`: any directory, nothing written, one document for machines.

use std::os::unix::fs::{PermissionsExt, chown};

use spore_testkit::TestEnv;

use crate::scenes;

fn shop() -> TestEnv {
    let env = scenes::env();
    env.write("Cargo.toml", "[package]\nname = \"shop\"\n");
    env.write("src/lib.rs", "//! Sells.\n\npub fn sell() {}\n");
    env.write("src/price/mod.rs", "// @generated\npub fn total() -> u32 {\n    7\n}\n");
    env.write("docs/guide.md", "# Guide\n\nSell.\n");
    env.write("target/debug/out.rs", "fn out() {}\n");
    env.write(".gitignore", "target/\n");
    for path in ["Cargo.toml", "src/lib.rs", "src/price/mod.rs", "docs/guide.md"] {
        age(&env, path);
    }
    env
}

/// All files are from the day before the tests' clock.
fn age(env: &TestEnv, path: &str) {
    let file = std::fs::File::options().write(true).open(env.repo().join(path)).unwrap();
    let at = std::time::Duration::from_secs(1_767_225_600);
    file.set_modified(std::time::UNIX_EPOCH + at).unwrap();
}

/// The answer without what the file system decides: how many blocks things take.
fn plain(text: &str) -> String {
    let (before, after) = text.split_once("Largest directories\n").unwrap();
    let closing = after.trim_end().lines().last().unwrap();
    let (sizes, rest) = closing.split_once(" on the disk").unwrap();
    let (sizes, _) = sizes.rsplit_once(", ").unwrap();
    format!("{before}Largest directories\n\n{sizes}, SIZE on the disk{rest}")
}

#[test]
fn a_directory_without_git_or_project_is_scanned_and_left_as_it_is() {
    let env = shop();
    let before = scenes::system(&env, "find", &[".", "-printf", "%p %s %T@\n"]);
    let answer = env.spore(&["scan"]).code(0);
    insta::assert_snapshot!(plain(&answer.stdout));
    assert_eq!(answer.stderr, "");
    assert_eq!(scenes::system(&env, "find", &[".", "-printf", "%p %s %T@\n"]), before);
}

#[test]
fn machines_get_one_document_with_the_names_of_the_seed() {
    let env = shop();
    let answer = env.spore(&["scan", "src", "--json", "--files"]).code(0);
    assert_eq!(answer.stderr, "");
    let scan = answer.json();
    for name in [
        "tree",
        "tree_rendered",
        "classified_files",
        "file_categories",
        "survey_signals",
        "languages",
        "lines_of_code",
        "large_files",
        "recent_files",
        "disk_usage",
        "top_directories",
        "brief",
    ] {
        assert!(!scan[name].is_null(), "{name}");
    }
    assert_eq!(scan["totals"]["files"], 2);
    assert_eq!(scan["lines_of_code"]["Rust"], 4);
    assert_eq!(scan["classified_files"][0]["path"], "lib.rs");
    assert_eq!(scan["tree"]["children"][0]["type"], "directory");
    assert_eq!(scan["generated_files"][0]["path"], "price/mod.rs");
    assert_eq!(scan["recent_files"][0]["modified_human"], "1 day ago");
    let hash = scan["hash"].as_str().unwrap().to_owned();
    assert_eq!(env.spore(&["scan", "src", "--json"]).code(0).json()["hash"], hash);
    env.write("src/lib.rs", "//! Buys.\n");
    assert_ne!(env.spore(&["scan", "src", "--json"]).code(0).json()["hash"], hash);
}

#[test]
fn depth_all_and_exclude_do_what_they_say() {
    let env = shop();
    let scan = |args: &[&str]| {
        let args: Vec<&str> = ["scan", "--json"].iter().chain(args).copied().collect();
        env.spore(&args).code(0).json()
    };
    assert_eq!(scan(&[])["totals"]["files"], 4);
    assert_eq!(scan(&["-a"])["totals"]["files"], 6);
    assert_eq!(scan(&["-a", "-x", "target", "-x", "*.md"])["totals"]["files"], 4);
    let flat = scan(&["-d", "1"]);
    let names: Vec<&str> = flat["tree"]["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(|child| child["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["docs", "src", "Cargo.toml"]);
    assert_eq!(flat["tree"]["children"][1]["truncated"], 2);
}

#[test]
fn an_answer_can_go_to_a_file() {
    let env = shop();
    let answer = env.spore(&["scan", "--json", "-o", "../scan.json"]).code(0);
    assert_eq!(answer.stdout, "");
    let written = std::fs::read_to_string(env.dir().join("scan.json")).unwrap();
    let scan: serde_json::Value = serde_json::from_str(&written).unwrap();
    assert_eq!(scan["totals"]["files"], 4);
    insta::assert_snapshot!(env.spore(&["scan", "-o", "no/such/scan.txt"]).code(74).render(), @"
    exit code: 74
    --- stdout
    --- stderr
    error: cannot write $TEST_ENV/repo/no/such/scan.txt
      because: No such file or directory (os error 2)
    ");
}

#[test]
fn what_cannot_be_scanned_is_told_with_what_to_do() {
    let env = shop();
    let tell = |args: &[&str], code: i32| env.spore(args).code(code).render();
    insta::assert_snapshot!(tell(&["scan", "nowhere"], 65), @"
    exit code: 65
    --- stdout
    --- stderr
    error: there is no directory nowhere
      because: No such file or directory (os error 2)
      try: name a directory as seen from here, or none for this one
    ");
    insta::assert_snapshot!(tell(&["scan", "Cargo.toml"], 65), @"
    exit code: 65
    --- stdout
    --- stderr
    error: Cargo.toml is not a directory
      try: name the directory that it is in
    ");
    insta::assert_snapshot!(tell(&["scan", "-x", "["], 64), @r#"
    exit code: 64
    --- stdout
    --- stderr
    error: "[" is no name or pattern to leave out: unclosed character class; missing ']'
      try: name files or directories, or use patterns as in a .gitignore: -x '*.log'
    "#);
}

/// A user who owns nothing.
const NOBODY: u32 = 65534;

#[test]
fn what_this_user_may_not_read_is_counted_and_named() {
    let env = shop();
    env.write("secret/inner/key.txt", "shh\n");
    env.write("private.txt", "shh\n");
    let lock = |path: &str, mode: u32| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(env.repo().join(path), permissions).unwrap();
    };
    lock("secret", 0o000);
    lock("private.txt", 0o000);
    std::fs::set_permissions(env.dir(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let is_root = is_root();
    let output = if is_root {
        for path in [".", "src", "docs"] {
            chown(env.repo().join(path), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mut command = env.command("setpriv", &env.repo());
        let exe = env.exe().display().to_string();
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", &exe, "scan", "--json"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    } else {
        env.spore(&["scan", "--json"]).code(0).json()
    };
    lock("secret", 0o755);
    assert_eq!(output["totals"]["unreadable_directories"], 1);
    assert_eq!(output["totals"]["unreadable_files"], 1);
    let told: Vec<String> = output["unreadable"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| format!("{} {}", row["path"].as_str().unwrap(), row["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(told, ["secret permission denied", "private.txt permission denied"]);
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self")
        .is_ok_and(|data| std::os::unix::fs::MetadataExt::uid(&data) == 0)
}
