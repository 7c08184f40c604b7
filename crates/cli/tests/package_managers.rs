//! JavaScript projects checked with the package manager that they lock with: the real one, in
//! the sandbox as it is by default and at a home that has never seen it.
//!
//! The dependency lies beside the project, so no test needs a network. npm comes with node;
//! `cargo xtask test` installs pnpm and both yarns and names them. Where one is missing, its
//! test says so.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use spore_testkit::TestEnv;

use crate::scenes;

/// A package manager and what its projects have that others have not.
struct Manager {
    program: &'static str,
    /// Names the program to the tests; without it, it is the one on the path.
    variable: Option<&'static str>,
    /// Writes the lock file.
    lock: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    ignored: &'static str,
    /// How often it installs for a base and for a change that leaves its inputs alone.
    installs: usize,
}

const NPM: Manager = Manager {
    program: "npm",
    variable: None,
    lock: &["install", "--offline", "--package-lock-only", "--no-audit"],
    files: &[],
    ignored: "node_modules/\n",
    installs: 1,
};

const PNPM: Manager = Manager {
    program: "pnpm",
    variable: Some("SPORE_TEST_PNPM"),
    lock: &["install", "--offline", "--lockfile-only"],
    files: &[],
    ignored: "node_modules/\n",
    installs: 1,
};

const YARN: Manager = Manager {
    program: "yarn",
    variable: Some("SPORE_TEST_YARN"),
    lock: &["install", "--offline"],
    files: &[],
    ignored: "node_modules/\n",
    installs: 1,
};

const BERRY: Manager = Manager {
    program: "yarn",
    variable: Some("SPORE_TEST_YARN_BERRY"),
    lock: &["install"],
    files: &[(".yarnrc.yml", "enableTelemetry: false\n")],
    ignored: ".yarn/\n.pnp.*\n",
    installs: 1,
};

const TEST: &str = "const { test } = require('node:test');
test('the answer', () => { if (require('./answer') !== 42) throw new Error('wrong'); });
test('the dependency', () => { if (require('dep') !== 'dep') throw new Error('wrong'); });
";

impl Manager {
    fn path(&self) -> Option<PathBuf> {
        match self.variable {
            Some(variable) => std::env::var_os(variable).map(PathBuf::from),
            None => std::env::split_paths(&std::env::var_os("PATH")?)
                .map(|dir| dir.join(self.program))
                .find(|path| path.exists()),
        }
    }
}

/// A project that needs what is in its directory `dep`, locked and committed.
#[expect(clippy::print_stdout, reason = "what was skipped is worth knowing")]
fn project(manager: &Manager) -> Option<TestEnv> {
    let Some(program) = manager.path() else {
        println!("skipped: {} is not there; see `cargo xtask test`", manager.program);
        return None;
    };
    let bin = program.parent().unwrap().display();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    let env = scenes::env()
        .with_variable("PATH", &path)
        // Nothing is writable that is not by default.
        .with_variable("SPORE_SANDBOX_WRITE", "")
        .with_variable("npm_config_update_notifier", "false");
    let manifest = r#"{"name": "demo", "version": "1.0.0", "license": "MIT", "scripts": {"test": "node --test"}, "dependencies": {"dep": "file:./dep"}}"#;
    env.write("package.json", manifest);
    env.write("dep/package.json", r#"{"name": "dep", "version": "1.0.0", "license": "MIT"}"#);
    env.write("dep/index.js", "module.exports = 'dep';\n");
    env.write("answer.js", "module.exports = 42;\n");
    env.write("a.test.js", TEST);
    for (path, content) in manager.files {
        env.write(path, content);
    }
    // For root the first yarn keeps its cache outside of any home.
    if manager.variable == YARN.variable && env.dir().metadata().unwrap().uid() == 0 {
        env.write(".yarnrc", "cache-folder \"./node_modules/.yarn-cache\"\n");
    }
    env.write(".gitignore", &format!(".spore/\n{}", manager.ignored));
    scenes::system(&env, &program.display().to_string(), manager.lock);
    // What that left at home is not what a new machine has.
    std::fs::remove_dir_all(env.dir().join("home")).unwrap();
    std::fs::create_dir(env.dir().join("home")).unwrap();
    env.commit_all("a project");
    Some(env)
}

/// Checks that the base is green, that a wrong answer is found by the name of its test, and
/// that what is needed was installed as often as it had to be.
fn check(manager: &Manager) {
    let Some(env) = project(manager) else { return };
    let wrong = r#"{ write = "answer.js", content = "module.exports = 43;\n" }"#;
    env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(wrong));
    let output = scenes::orchestrate(&env, &["--max-bounces", "1"]).code(11);
    let program = manager.program;
    let test = format!("{program}-test `CI=true {program} run test`");
    for told in [
        format!("{test}: green, 2 passed, 0 failed"),
        format!("{test}: red, failing: the answer, 1 passed, 1 failed"),
    ] {
        assert!(output.stderr.contains(&told), "{told:?} is not in\n{}", output.stderr);
    }
    let installs = output.stderr.matches(&format!("checks: {program}-install")).count();
    assert_eq!(installs, manager.installs, "{}", output.stderr);
}

#[test]
fn a_project_of_npm_is_installed_and_checked() {
    check(&NPM);
}

#[test]
fn a_project_of_pnpm_is_installed_and_checked() {
    check(&PNPM);
}

#[test]
fn a_project_of_the_first_yarn_is_installed_and_checked() {
    check(&YARN);
}

#[test]
fn a_project_of_the_new_yarn_is_installed_and_checked() {
    check(&BERRY);
}

#[test]
fn a_project_of_the_new_yarn_that_commits_where_packages_are_is_installed_for_every_tree() {
    check(&Manager { ignored: ".yarn/\n", installs: 2, ..BERRY });
}
