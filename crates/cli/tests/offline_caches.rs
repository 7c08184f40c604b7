//! Checks without a network find what the person's own package managers downloaded before.
//!
//! A registry on the loopback address serves one package to the person's own install; then it is
//! gone, and the checks are denied the network. What they need is in the person's caches or nowhere.
//! `cargo xtask test` installs pnpm; npm and cargo are those of the machine. pip asks its index even
//! for what it has in its cache, so there is nothing to find offline.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use spore_testkit::TestEnv;

use crate::{isolation, scenes};

/// Serves the files of a directory until it is dropped.
struct Registry {
    server: Child,
    url: String,
}

impl Registry {
    fn serve(env: &TestEnv, dir: &Path) -> Self {
        std::fs::create_dir_all(dir).unwrap();
        let mut python = env.command("python3", dir);
        let python = python.args(["-u", "-m", "http.server", "--bind", "127.0.0.1", "0"]);
        let mut server = python.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let port = line.split_whitespace().skip_while(|word| *word != "port").nth(1).unwrap();
        Self { url: format!("http://127.0.0.1:{port}"), server }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The answer is 42, and the dependency is there.
const NODE_TEST: &str = "const { test } = require('node:test');
test('the answer', () => { if (require('./answer') !== 42) throw new Error('wrong'); });
test('the dependency', () => { if (require('dep') !== 'dep') throw new Error('wrong'); });
";

/// Lays a package for npm and pnpm into the registry.
fn offer_to_node(env: &TestEnv, dir: &Path, url: &str) {
    let package = dir.join("package");
    env.write_at(&package.join("package.json"), r#"{"name": "dep", "version": "1.0.0"}"#);
    env.write_at(&package.join("index.js"), "module.exports = 'dep';\n");
    let archive = dir.join("dep-1.0.0.tgz").display().to_string();
    let place = dir.display().to_string();
    scenes::system(env, "tar", &["--directory", &place, "-czf", &archive, "package"]);
    let script = "const c = require('crypto'), f = require('fs');\
        console.log(c.createHash('sha512').update(f.readFileSync(process.argv[1])).digest('base64'))";
    let sum = scenes::system(env, "node", &["-e", script, &archive]);
    let sum = sum.trim();
    env.write_at(
        &dir.join("dep"),
        &format!(
            r#"{{"name": "dep", "dist-tags": {{"latest": "1.0.0"}}, "versions": {{"1.0.0": {{"name": "dep", "version": "1.0.0", "dist": {{"tarball": "{url}/dep-1.0.0.tgz", "integrity": "sha512-{sum}"}}}}}}}}"#
        ),
    );
}

/// Lays a crate into the registry, as cargo looks for it.
fn offer_to_cargo(env: &TestEnv, dir: &Path, url: &str) {
    let package = dir.join("dep-1.0.0");
    let manifest = "[package]\nname = \"dep\"\nversion = \"1.0.0\"\nedition = \"2021\"\n";
    env.write_at(&package.join("Cargo.toml"), manifest);
    env.write_at(&package.join("src/lib.rs"), "pub fn dep() -> u32 {\n    42\n}\n");
    let archive = dir.join("dep-1.0.0.crate").display().to_string();
    let place = dir.display().to_string();
    scenes::system(env, "tar", &["--directory", &place, "-czf", &archive, "dep-1.0.0"]);
    let sum = scenes::system(env, "sha256sum", &[&archive]);
    let sum = sum.split_whitespace().next().unwrap();
    env.write_at(
        &dir.join("config.json"),
        &format!(r#"{{"dl": "{url}/{{crate}}-{{version}}.crate"}}"#),
    );
    env.write_at(
        &dir.join("3/d/dep"),
        &format!(
            r#"{{"name": "dep", "vers": "1.0.0", "deps": [], "cksum": "{sum}", "features": {{}}, "yanked": false}}"#
        ),
    );
}

/// Runs a change that keeps the answer, without a network, and sees that the checks were green.
#[track_caller]
fn check(env: &TestEnv, told: &[&str]) {
    env.commit_all("a project");
    let honest = r#"{ write = "notes.txt", content = "noted\n" }"#;
    env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(honest));
    env.write(".spore/config.toml", "[sandbox]\nchecks_network = \"deny\"\n");
    let output = scenes::orchestrate(env, &[]).code(0);
    for line in told {
        assert!(output.stderr.contains(line), "{line:?} is not in\n{}", output.stderr);
    }
}

fn node_project(manager: &str, program: &Path) {
    let path =
        format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let env = scenes::env()
        .with_variable("PATH", &path)
        .with_variable("SPORE_SANDBOX_WRITE", "")
        .with_variable("npm_config_update_notifier", "false");
    if isolation::is_skipped(&env) {
        return;
    }
    env.write(".gitignore", ".spore/\nnode_modules/\n");
    env.write("answer.js", "module.exports = 42;\n");
    env.write("a.test.js", NODE_TEST);
    let dir = env.dir().join("registry");
    let registry = Registry::serve(&env, &dir);
    offer_to_node(&env, &dir, &registry.url);
    env.write(
        "package.json",
        r#"{"name": "demo", "version": "1.0.0", "license": "MIT", "scripts": {"test": "node --test"}, "dependencies": {"dep": "1.0.0"}}"#,
    );
    let address = format!("--registry={}", registry.url);
    scenes::system(&env, &program.display().to_string(), &["install", &address]);
    std::fs::remove_dir_all(env.repo().join("node_modules")).unwrap();
    drop(registry);
    let test = format!("{manager}-test `CI=true {manager} run test`: green, 2 passed, 0 failed");
    check(&env, &[&test]);
}

fn on_path(name: &str) -> Option<PathBuf> {
    let dirs = std::env::var_os("PATH")?;
    std::env::split_paths(&dirs).map(|dir| dir.join(name)).find(|path| path.exists())
}

#[test]
fn npm_finds_its_cache_without_a_network() {
    match on_path("npm") {
        Some(program) => node_project("npm", &program),
        None => println!("skipped: npm is not installed"),
    }
}

#[test]
fn pnpm_finds_its_store_without_a_network() {
    match std::env::var_os("SPORE_TEST_PNPM") {
        Some(program) => node_project("pnpm", Path::new(&program)),
        None => println!("skipped: SPORE_TEST_PNPM names no program; `cargo xtask test` does"),
    }
}

#[test]
fn cargo_finds_its_registry_without_a_network() {
    let env = scenes::env();
    let home = env.dir().join("home/.cargo").display().to_string();
    let env = env.with_variable("CARGO_HOME", &home).with_variable("SPORE_SANDBOX_WRITE", "");
    if isolation::is_skipped(&env) {
        return;
    }
    env.write(".gitignore", ".spore/\ntarget/\n");
    env.write(
        "Cargo.toml",
        "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\ndep = \"1.0.0\"\n",
    );
    env.write(
        "src/lib.rs",
        "#[cfg(test)]\nmod tests {\n    #[test]\n    fn asks() {\n        assert_eq!(dep::dep(), 42);\n    }\n}\n",
    );
    let dir = env.dir().join("registry");
    let registry = Registry::serve(&env, &dir);
    offer_to_cargo(&env, &dir, &registry.url);
    let replaced = format!(
        "[source.crates-io]\nreplace-with = \"near\"\n\n[source.near]\nregistry = \"sparse+{}/\"\n",
        registry.url
    );
    env.write_at(&env.dir().join("home/.cargo/config.toml"), &replaced);
    scenes::system(&env, "cargo", &["fetch", "--quiet"]);
    drop(registry);
    check(&env, &["cargo-test", "green, 1 passed, 0 failed"]);
}
