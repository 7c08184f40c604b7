//! Everything the project does to itself, as commands: `cargo xtask demo`, `cargo xtask test`,
//! `cargo xtask lint`. CI runs the same ones.

#![expect(clippy::disallowed_methods, reason = "a tool for us, outside the product")]

mod dependencies;
mod tidy;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

const HELP: &str = "\
cargo xtask demo    build Spore and watch a whole run, offline
cargo xtask test    install what the tests need, then run them all
cargo xtask lint    formatting, clippy and documentation, as CI sees them
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.first().map(String::as_str) {
        Some("demo") => demo(&words[1..]),
        Some("test") => test(&words[1..]),
        Some("lint") => lint(),
        Some("help" | "--help" | "-h") | None => {
            say(HELP);
            Ok(())
        }
        Some(other) => Err(format!("there is no task {other:?}\n\n{HELP}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("xtask: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn demo(args: &[String]) -> Result<(), String> {
    cargo(&["build", "--quiet", "--release", "--package", "spore-cli"])?;
    run(Command::new(root().join("target/release/spore")).arg("demo").args(args))
}

fn test(args: &[String]) -> Result<(), String> {
    let tools = [
        ("SPORE_TEST_PYTHON", "pytest", test_python()),
        ("SPORE_TEST_CLAUDE", "Claude Code", test_claude()),
    ];
    let nextest = Command::new("cargo").args(["nextest", "--version"]).output();
    let runner: &[&str] = if nextest.is_ok_and(|output| output.status.success()) {
        &["nextest", "run", "--workspace", "--no-fail-fast"]
    } else {
        &["test", "--workspace", "--no-fail-fast"]
    };
    // Whole-program tests run the real binary; building it first keeps that out of their time.
    cargo(&["build", "--quiet", "--workspace", "--bins"])?;
    let mut command = Command::new("cargo");
    command.current_dir(root()).args(runner).args(args);
    for (variable, _, tool) in &tools {
        if let Some(tool) = tool {
            command.env(variable, tool);
        }
    }
    let done = run(&mut command);
    // Last, where it is read: a green run that skipped something is not the whole run.
    for (_, name, _) in tools.iter().filter(|(_, _, tool)| tool.is_none()) {
        say(&format!("xtask: {name} could not be installed; the tests that need it were skipped"));
    }
    done
}

fn lint() -> Result<(), String> {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    run(Command::new("cargo")
        .current_dir(root())
        .args(["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"])
        .env("RUSTDOCFLAGS", "-D warnings"))
}

/// A Python that has pytest.
fn test_python() -> Option<PathBuf> {
    const PYTEST: &str = "8.4.2";
    let venv = cache()?.join(format!("pytest-{PYTEST}"));
    let python = venv.join("bin/python3");
    if !works(&python, &["-c", "import pytest"]) {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv)).ok()?;
        run(Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .arg(format!("pytest=={PYTEST}")))
        .ok()?;
    }
    works(&python, &["-c", "import pytest"]).then_some(python)
}

/// The Claude Code that the recorded sessions were made with. It never leaves the loopback
/// address: the tests bring the model.
fn test_claude() -> Option<PathBuf> {
    const CLAUDE_CODE: &str = "2.1.197";
    let dir = cache()?.join(format!("claude-code-{CLAUDE_CODE}"));
    let claude = dir.join("node_modules/.bin/claude");
    if !works(&claude, &["--version"]) {
        run(Command::new("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
            .arg(&dir)
            .arg(format!("@anthropic-ai/claude-code@{CLAUDE_CODE}")))
        .ok()?;
    }
    works(&claude, &["--version"]).then_some(claude)
}

/// Where things that tests need are kept by version, so that a second run downloads nothing.
fn cache() -> Option<PathBuf> {
    let home = std::env::var_os("HOME")?;
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map_or_else(|| PathBuf::from(home).join(".cache"), PathBuf::from);
    Some(cache.join("spore-dev"))
}

fn works(program: &PathBuf, args: &[&str]) -> bool {
    let asked = Command::new(program).args(args).output();
    asked.is_ok_and(|output| output.status.success())
}

fn cargo(args: &[&str]) -> Result<(), String> {
    run(Command::new("cargo").current_dir(root()).args(args))
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(PathBuf::from).unwrap_or(here)
}

fn say(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
}
