//! Gates as they are detected, run with the real tools: what is detected, run and read fits
//! together. A tool that this machine does not have is named and passed over.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::print_stdout, reason = "what was skipped is worth knowing")]

use std::path::Path;
use std::time::Duration;

use spore_effects::Tool;
use spore_effects::session::{Grace, Shim};
use spore_gates::{Absence, Detection, Gate, GateResult, Runner, Standing, detect, judge};
use spore_model::{SessionToken, TreeId};

type Files<'a> = &'a [(&'a str, &'a str)];

struct Bench {
    dir: tempfile::TempDir,
    gates: Vec<Gate>,
}

impl Bench {
    /// Lays out a project and finds its gates; nothing if one of them cannot be run here.
    fn new(files: Files<'_>) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), files);
        let list: Vec<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
        let read = |path: &str| std::fs::read(dir.path().join(path)).ok();
        let gates = detect(&read, &list, &Detection { timeout: Duration::from_secs(300) });
        assert!(!gates.is_empty());
        for need in gates.iter().flat_map(|gate| &gate.needs) {
            let mut words = need.split(' ');
            let program = words.next().unwrap();
            // Go and Java do not know the usual flag, and are there all the same.
            if Tool::new(program).args(words).arg("--version").output().is_err() {
                println!("skipped: {need} is not installed");
                return None;
            }
        }
        Some(Self { dir, gates })
    }

    fn run(&self) -> Vec<GateResult> {
        let home = self.dir.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        // Go builds its own library first; once is enough.
        let go = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-build");
        let mut env = vec![
            ("HOME".to_owned(), home.display().to_string()),
            ("GOCACHE".to_owned(), go.display().to_string()),
        ];
        for name in ["PATH", "CARGO_HOME", "RUSTUP_HOME", "PYENV_ROOT"] {
            env.extend(std::env::var(name).ok().map(|value| (name.to_owned(), value)));
        }
        if let (Err(_), Ok(home)) = (std::env::var("RUSTUP_HOME"), std::env::var("HOME")) {
            env.push(("RUSTUP_HOME".to_owned(), format!("{home}/.rustup")));
        }
        let shim = Shim::new(env!("CARGO_BIN_EXE_gates-test-shim").into());
        let grace = Grace { interrupt_ms: 50, terminate_ms: 50 };
        let runner = Runner::new(shim, env, 1 << 20, grace);
        let run = |gate: &Gate| {
            let log = self.dir.path().join(format!("{}.log", gate.name));
            let plain = gate.name.replace('-', "0");
            let token = SessionToken::new(format!("{plain:0<16}{}", std::process::id()));
            let tree = TreeId::new("0".repeat(40)).unwrap();
            let mut on_start = |_: &_| Ok::<(), String>(());
            let work = self.dir.path();
            runner.run(gate, &tree, work, &log, token.unwrap(), &mut on_start, &|| false).unwrap()
        };
        self.gates.iter().map(run).collect()
    }

    fn log(&self, gate: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(format!("{gate}.log"))).unwrap()
    }
}

fn write(dir: &Path, files: Files<'_>) {
    for (name, content) in files {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

/// Runs the gates of a project, then with `change`: its last gate is green with `ran` tests
/// and then red, with `failure` as the one new failure.
#[track_caller]
fn check(files: Files<'_>, change: (&str, &str), ran: &[&str], failure: &str) {
    let Some(bench) = Bench::new(files) else { return };
    let before = bench.run();
    let last = before.last().unwrap();
    for result in &before {
        assert_eq!(result.standing, Standing::Green, "{}", bench.log(&result.gate));
    }
    assert!(last.recognised, "{}", bench.log(&last.gate));
    assert_eq!(last.ran, ran, "{}", bench.log(&last.gate));
    write(bench.dir.path(), &[change]);
    let mut after = bench.run().pop().unwrap();
    judge(&mut after, Some(last), Absence::IsRed);
    assert_eq!(after.standing, Standing::Red, "{}", bench.log(&after.gate));
    assert!(after.recognised, "{}", bench.log(&after.gate));
    assert_eq!(after.new_failures, [failure], "{}", bench.log(&after.gate));
    assert_eq!(after.missing, Vec::<String>::new());
}

#[test]
fn cargo_is_detected_run_and_read() {
    let lib = "#[test]\nfn one() {}\n#[test]\nfn two() {}\n";
    check(
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"demo\"\nversion = \"0.1.0\"\n[lib]\ndoctest = false\n",
            ),
            ("src/lib.rs", lib),
        ],
        ("src/lib.rs", &lib.replace("fn two() {}", "fn two() { panic!() }")),
        &["demo src/lib.rs one", "demo src/lib.rs two"],
        "--lib two",
    );
}

#[test]
fn unittest_is_detected_run_and_read() {
    let test = "import unittest\nclass T(unittest.TestCase):\n    def test_one(self): pass\n    \
                def test_two(self): \"\"\"Says what.\"\"\"\n";
    let Some(bench) = Bench::new(&[("test_a.py", test)]) else { return };
    let result = bench.run().pop().unwrap();
    assert_eq!(
        (result.standing, result.ran.len()),
        (Standing::Green, 2),
        "{}",
        bench.log("unittest")
    );
}

#[test]
fn node_is_detected_run_and_read() {
    let test = "const { test, describe, it } = require('node:test');\n\
                test('one', () => {});\ndescribe('group', () => { it('two', () => {}); });\n";
    check(
        &[("package.json", r#"{"scripts": {"test": "node --test"}}"#), ("a.test.js", test)],
        ("a.test.js", &test.replace("'two', () => {}", "'two', () => { throw 1; }")),
        &["group › two", "one"],
        "group › two",
    );
}

#[test]
fn go_is_detected_run_and_read() {
    let test = "package demo\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {}\n\
                func TestTwo(t *testing.T) { t.Run(\"sub\", func(t *testing.T) {}) }\n";
    check(
        &[
            ("go.mod", "module example.com/demo\n\ngo 1.19\n"),
            ("a.go", "package demo\n"),
            ("a_test.go", test),
        ],
        (
            "a_test.go",
            &test.replace("TestOne(t *testing.T) {}", "TestOne(t *testing.T) { t.Fail() }"),
        ),
        &["example.com/demo TestOne", "example.com/demo TestTwo", "example.com/demo TestTwo/sub"],
        "example.com/demo TestOne",
    );
}

#[test]
fn ctest_is_detected_run_and_read() {
    let lists = "cmake_minimum_required(VERSION 3.10)\nproject(demo NONE)\nenable_testing()\n\
                 add_test(NAME one COMMAND true)\nadd_test(NAME two COMMAND true)\n";
    check(
        &[("CMakeLists.txt", lists)],
        ("CMakeLists.txt", &lists.replace("two COMMAND true", "two COMMAND false")),
        &["one", "two"],
        "two",
    );
}

#[test]
fn make_is_detected_run_and_read() {
    check(
        &[("Makefile", "test:\n\t@sh run.sh\n"), ("run.sh", "echo 1..1; echo ok 1 - one\n")],
        ("run.sh", "echo 1..1; echo not ok 1 - one; exit 1\n"),
        &["one"],
        "one",
    );
}
