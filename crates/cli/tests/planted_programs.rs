//! Programs that an agent leaves where a careless PATH finds them: Spore never starts one.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::os::unix::fs::PermissionsExt;

use spore_testkit::TestEnv;

use crate::scenes::{self, ORCHESTRATE, WRITE_42};

/// Leaves a mark and does what was asked for, so that only the mark tells that it ran.
const PLANTED: &str = "#!/bin/sh\necho \"$0 in $PWD\" >> \"$HOME/ran\"\n\
                       PATH=/usr/local/bin:/usr/bin:/bin exec git \"$@\"\n";

/// A project that tracks a program called `git`, and an agent that writes two more.
fn scene() -> TestEnv {
    let planted = PLANTED.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let plant = |path: &str| format!("{{ write = \"{path}\", content = \"{planted}\" }}");
    let steps = [
        plant("node_modules/.bin/git"),
        plant("git"),
        "{ run = \"chmod +x git node_modules/.bin/git\" }".to_owned(),
        WRITE_42.to_owned(),
    ];
    let env = scenes::with_scenario(&scenes::one_bounce(&steps.join(", ")));
    for path in ["bin/git", "node_modules/.bin/git"] {
        env.write(path, PLANTED);
        let file = env.repo().join(path);
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    env.commit_all("programs");
    env
}

/// Returns what ran of the planted programs.
fn marks(env: &TestEnv) -> String {
    let marks = env.dir().join("home/ran");
    let text = std::fs::read_to_string(&marks).unwrap_or_default();
    let _ = std::fs::remove_file(marks);
    text
}

/// Runs a task, and what looks at it afterwards, with these directories at the front of PATH.
#[track_caller]
fn check(front: &dyn Fn(&TestEnv) -> String) {
    let env = scene();
    let path = format!("{}:{}", front(&env), std::env::var("PATH").unwrap());
    let mut shell = env.command("/bin/sh", &env.repo());
    assert!(shell.env("PATH", &path).args(["-c", "git --version"]).output().is_ok());
    assert_ne!(marks(&env), "", "the PATH of this test leads to no planted program");
    let spore = |args: &[&str]| env.spore_in(&env.repo(), args, &[("PATH", &path)]);
    let _ = spore(ORCHESTRATE).code(0);
    for args in [&["runs", "list"][..], &["runs", "prune"], &["index"], &["doctor"]] {
        let _ = spore(args);
    }
    assert_eq!(marks(&env), "");
    assert_eq!(env.git(&["status", "--porcelain"]), "", "the run was to leave the tree alone");
}

#[test]
fn a_git_in_the_work_tree_is_not_run_though_path_names_it_relatively() {
    check(&|_| ".:./node_modules/.bin:bin".to_owned());
}

#[test]
fn a_git_in_the_project_is_not_run_though_path_names_it_in_full() {
    check(&|env| env.repo().join("bin").display().to_string());
    check(&|env| env.repo().join("node_modules/.bin").display().to_string());
}

#[test]
fn a_gate_has_no_relative_directory_on_its_path() {
    let env = scene();
    env.write(".spore/config.toml", "[gates.commands.check]\nrun = \"echo $PATH > $HOME/path\"\n");
    let path = format!(".:./node_modules/.bin::{}", std::env::var("PATH").unwrap());
    let _ = env.spore_in(&env.repo(), ORCHESTRATE, &[("PATH", &path)]).code(0);
    let seen = std::fs::read_to_string(env.dir().join("home/path")).unwrap();
    assert!(seen.trim().split(':').all(|part| part.starts_with('/')), "{seen}");
}
