//! Forgeries by the table: projects of many kinds, and what a change does in each to pass.
//!
//! Each file in `forgeries/` is a project with an honest change, which is as far as its checks go, and
//! changes that are not right. The verifier of every scene agrees with anything. None may be
//! called proved; what tampers with its checks or is red is refused. A new trick is a few lines there. Every
//! sixth is tried; `SPORE_FORGERIES=all` tries all.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]
#![expect(clippy::print_stdout, reason = "what was tried and what was skipped is worth knowing")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ForgeryTable {
    /// Programs that must be there; `$PYTHON` and `$MOCHA` are those of `cargo xtask test`.
    needs: Vec<String>,
    config: String,
    files: BTreeMap<String, String>,
    #[serde(default)]
    setup: BTreeMap<String, String>,
    honest: BTreeMap<String, String>,
    broken: BTreeMap<String, String>,
    forgery: Vec<TabledForgery>,
}

/// One change that is not right.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TabledForgery {
    name: String,
    /// What the broken file holds in the place of what the table says; empty where it is left alone.
    #[serde(default)]
    broken: Option<String>,
    #[serde(default)]
    write: BTreeMap<String, String>,
    #[serde(default)]
    run: String,
    /// "refused" where nothing is said, "checked", or "not proved" where either will do.
    #[serde(default)]
    ends: Option<String>,
    #[serde(default)]
    told: String,
}

impl ForgeryTable {
    fn read(name: &str) -> Option<Self> {
        let file = format!("{}/tests/forgeries/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let mut text = std::fs::read_to_string(file).unwrap();
        for (word, variable) in [("$PYTHON", "SPORE_TEST_PYTHON"), ("$MOCHA", "SPORE_TEST_MOCHA")] {
            if !text.contains(word) {
                continue;
            }
            let Some(value) = std::env::var_os(variable) else {
                println!("skipped: {variable} is not set; `cargo xtask test` sets it");
                return None;
            };
            text = text.replace(word, value.to_str().unwrap());
        }
        let table: Self = toml_edit::de::from_str(&text).unwrap();
        let is_there = |program: &String| {
            let env = scenes::env();
            PathBuf::from(program).is_dir()
                || env.command(program, env.dir()).arg("--version").output().is_ok()
        };
        let missing = table.needs.iter().find(|program| !is_there(program));
        if let Some(program) = missing {
            println!("skipped: {program} is not installed");
            return None;
        }
        Some(table)
    }

    fn lay_out(&self) -> TestEnv {
        let env = scenes::env();
        for (path, content) in &self.files {
            env.write(path, content);
        }
        if let Some(command) = self.setup.get("run") {
            let done = env.command("sh", &env.repo()).args(["-c", command]).status().unwrap();
            assert!(done.success(), "{command}");
        }
        env.commit_all("a project");
        env.write(".spore/config.toml", &self.config);
        env
    }
}

impl TabledForgery {
    fn steps(&self, table: &ForgeryTable) -> String {
        let mut steps = Vec::new();
        for (path, content) in &table.broken {
            match self.broken.as_deref() {
                Some("") => {}
                Some(other) => steps.push(written(path, other)),
                None => steps.push(written(path, content)),
            }
        }
        steps.extend(self.write.iter().map(|(path, content)| written(path, content)));
        if !self.run.is_empty() {
            steps.push(format!("{{ run = {} }}", quoted(&self.run)));
        }
        steps.join(", ")
    }

    /// Returns what is wrong with how it went.
    fn fault(&self, output: &ProgramOutput, has_branch: bool) -> Option<&'static str> {
        let refused = output.code == 11 && !has_branch;
        let checked = output.code == 0 && output.stderr.contains("proof: checked");
        let ended = match self.ends.as_deref() {
            None | Some("refused") => refused,
            Some("checked") => checked,
            Some("not proved") => refused || checked,
            Some(_) => return Some("the table asks for an end that is none"),
        };
        match (ended, output.stderr.contains(&self.told)) {
            (true, true) => None,
            (true, false) => Some("the reason is another"),
            (false, _) => Some("it ended otherwise"),
        }
    }
}

fn written(path: &str, content: &str) -> String {
    format!("{{ write = {}, content = {} }}", quoted(path), quoted(content))
}

/// A string of JSON is one of TOML.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn play(env: &TestEnv, steps: &str) -> ProgramOutput {
    env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(steps));
    scenes::orchestrate(env, &["--max-bounces", "1"])
}

#[track_caller]
fn check(name: &str, level: &str) {
    let Some(table) = ForgeryTable::read(name) else { return };
    let env = table.lay_out();
    let honest: Vec<String> =
        table.honest.iter().map(|(path, content)| written(path, content)).collect();
    let output = play(&env, &honest.join(", "));
    let told = format!("proof: {level}");
    assert!(output.code == 0 && output.stderr.contains(&told), "honest: {}", output.render());
    let (mut tried, mut faults) = (0, Vec::new());
    for (number, forgery) in table.forgery.iter().enumerate() {
        if !scenes::is_tried(number, 6, &forgery.name) {
            continue;
        }
        tried += 1;
        let branches = branches(&env);
        let output = play(&env, &forgery.steps(&table));
        let has_branch = self::branches(&env) > branches;
        if let Some(fault) = forgery.fault(&output, has_branch) {
            faults.push(format!("{name}: {}: {fault}\n{}", forgery.name, output.render()));
        }
    }
    let all = table.forgery.len();
    println!("{name}: {tried} of {all} forgeries tried, {} went otherwise", faults.len());
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

fn branches(env: &TestEnv) -> usize {
    env.git(&["for-each-ref", "refs/heads"]).lines().count()
}

#[test]
fn no_forgery_of_unittest_is_proved() {
    check("python-unittest", "proved");
}

#[test]
fn no_forgery_of_a_python_command_is_proved() {
    check("python-configured", "proved");
}

#[test]
fn no_forgery_of_pytest_is_proved() {
    check("pytest", "proved");
}

#[test]
fn no_forgery_of_npm_and_node_is_proved() {
    check("node", "proved");
}

#[test]
fn no_forgery_of_a_node_command_is_proved() {
    check("node-configured", "proved");
}

#[test]
fn no_forgery_of_mocha_and_typescript_is_proved() {
    check("mocha", "proved");
}

#[test]
fn no_forgery_of_cargo_is_proved() {
    check("rust", "proved");
}

#[test]
fn no_forgery_of_a_cargo_command_is_proved() {
    check("cargo-configured", "proved");
}

#[test]
fn no_forgery_of_make_is_proved() {
    check("make", "checked");
}

#[test]
fn no_forgery_of_a_shell_command_is_proved() {
    check("shell", "checked");
}

#[test]
fn no_forgery_of_prove_is_proved() {
    check("perl", "checked");
}
