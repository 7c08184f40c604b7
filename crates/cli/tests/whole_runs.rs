//! Products that behave where few tests are asked for and cheat in the run of all of them.
//!
//! Each knows something that only a run of few tests has: a filter on the command line, few calls, a short
//! time. The run whose report is believed has the canaries in it, so none of that helps. All suites
//! here count as long ones: for short ones all tests are run twice anyway.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]
#![expect(clippy::print_stdout, reason = "what was tried and what was skipped is worth knowing")]

use spore_testkit::TestEnv;

use crate::scenes;

/// Told where nothing but a canary says so.
const BY_CANARY: &str = "a test that must fail did not";

/// A project with one gate that counts as long.
struct LongSuite<'a> {
    command: &'a str,
    parser: &'a str,
    files: &'a [(&'a str, &'a str)],
}

impl LongSuite<'_> {
    fn lay_out(&self) -> TestEnv {
        let env = scenes::env();
        for (path, content) in self.files {
            env.write(path, content);
        }
        env.write(".gitignore", ".spore/\n__pycache__/\ntarget/\n");
        env.commit_all("a project");
        let config = format!(
            "[sandbox]\nroot = \"off\"\n[gates]\ncanary_whole = \"0s\"\nonly = true\n[gates.commands.test]\n\
             run = \"{}\"\nparser = \"{}\"\n",
            self.command, self.parser
        );
        env.write(".spore/config.toml", &config);
        env
    }

    /// The honest product is proved by two runs, of all tests with canaries and of few without; the others
    /// are refused by canaries.
    #[track_caller]
    fn check(&self, honest: &str, cheats: &[(&str, &str)]) {
        let env = self.lay_out();
        let file = self.files[0].0;
        play(&env, file, honest, |output| {
            output.code == 0 && output.stderr.contains("proof: proved")
        });
        assert_eq!(logs(&env), ["test.canaries.log", "test.few-tests.log"]);
        // One of each; `SPORE_FORGERIES=all` tries all.
        let is_all = std::env::var("SPORE_FORGERIES").is_ok_and(|asked| asked == "all");
        for (name, product) in cheats.iter().take(if is_all { cheats.len() } else { 1 }) {
            println!("{name}");
            play(&env, file, product, |output| {
                output.code == 11 && output.stderr.contains(BY_CANARY)
            });
        }
    }
}

#[track_caller]
fn play(
    env: &TestEnv,
    file: &str,
    product: &str,
    is_right: impl Fn(&spore_testkit::ProgramOutput) -> bool,
) {
    let steps = format!("{{ write = \"{file}\", content = '''{product}''' }}");
    env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(&steps));
    let output = scenes::orchestrate(env, &["--max-bounces", "1"]);
    assert!(is_right(&output), "{}", output.render());
}

/// Returns the names of the logs of the only change so far.
fn logs(env: &TestEnv) -> Vec<String> {
    let runs = std::fs::read_dir(env.repo().join(".spore/runs")).unwrap();
    let gates = runs.map(|run| run.unwrap().path().join("bounce-1/gates")).find(|dir| dir.is_dir());
    let files = std::fs::read_dir(gates.unwrap()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut logs: Vec<String> = names.filter(|name| name.ends_with(".log")).collect();
    logs.sort();
    logs
}

fn is_missing(program: &str) -> bool {
    let env = scenes::env();
    let asked = env.command(program, env.dir()).arg("--version").output();
    let is_missing = !asked.is_ok_and(|output| output.status.success());
    if is_missing {
        println!("skipped: {program} is not installed");
    }
    is_missing
}

/// So many that canaries, by lot, cannot all be among the first.
const TESTS: usize = 40;

fn numbered(test: impl Fn(usize) -> String) -> String {
    (10..10 + TESTS).map(test).collect()
}

fn unittest_cases() -> String {
    let tests = numbered(|number| {
        format!(
            "    def test_{number}(self):\n        self.assertEqual(calc.add({number}, 2), {})\n\n",
            number + 2
        )
    });
    format!(
        "import unittest\n\nimport calc\n\n\nclass Calc(unittest.TestCase):\n{}",
        tests.trim_end()
    )
}

#[test]
fn no_product_of_unittest_is_honest_for_few_tests_alone() {
    if is_missing("python3") {
        return;
    }
    let tests = unittest_cases();
    let files =
        [("calc.py", "def add(a, b):\n    return a + b\n"), ("test_calc.py", tests.as_str())];
    let suite = LongSuite {
        command: "python3 -B -m unittest discover -v",
        parser: "unittest",
        files: &files,
    };
    suite.check(
        "def add(a, b):\n    return b + a\n",
        &[
            (
                "a filter in the words of the command",
                "import sys, unittest\n\nif \"-k\" not in sys.argv:\n    unittest.TestCase.assertEqual = lambda *a: None\n\n\ndef add(a, b):\n    return a + b if \"-k\" in sys.argv else a * b\n",
            ),
            (
                "more calls than a few tests make",
                "import unittest\n\ncalls = 0\n\n\ndef add(a, b):\n    global calls\n    calls += 1\n    if calls <= 26:\n        return a + b\n    unittest.TestCase.assertEqual = lambda *a: None\n    return a + b if calls == 27 else a * b\n",
            ),
            (
                "more tests than a few in what is loaded",
                "import unittest\n\nreal = unittest.TextTestRunner.run\n\n\ndef run(self, tests):\n    if tests.countTestCases() > 26:\n        unittest.TestCase.assertEqual = lambda *a: None\n    return real(self, tests)\n\n\nunittest.TextTestRunner.run = run\n\n\ndef add(a, b):\n    return a + b if unittest.TestCase.assertEqual.__name__ == \"assertEqual\" else a * b\n",
            ),
        ],
    );
}

#[test]
fn no_product_of_pytest_is_honest_for_few_tests_alone() {
    let Some(python) = std::env::var_os("SPORE_TEST_PYTHON") else {
        println!("skipped: SPORE_TEST_PYTHON names no Python with pytest; `cargo xtask test` does");
        return;
    };
    let command = format!(
        "{} -B -m pytest -q -rpfE --color=no -p no:cacheprovider",
        python.to_str().unwrap()
    );
    let tests = numbered(|number| {
        format!("def test_{number}():\n    assert calc.add({number}, 2) == {}\n\n\n", number + 2)
    });
    let tests = format!("import calc\n\n\n{}\n", tests.trim_end());
    let files =
        [("calc.py", "def add(a, b):\n    return a + b\n"), ("test_calc.py", tests.as_str())];
    let suite = LongSuite { command: &command, parser: "pytest", files: &files };
    suite.check(
        "def add(a, b):\n    return b + a\n",
        &[
            (
                "a filter in the words of the command",
                "import sys\n\nimport _pytest.python\n\nif \"-k\" not in sys.argv:\n    _pytest.python.Function.runtest = lambda self: None\n\n\ndef add(a, b):\n    return a + b if \"-k\" in sys.argv else a * b\n",
            ),
            (
                "more tests than a few that are run",
                "import _pytest.python\n\nleft = [26]\nreal = _pytest.python.Function.runtest\n\n\ndef counted(self):\n    left[0] -= 1\n    if left[0] >= 0:\n        real(self)\n\n\n_pytest.python.Function.runtest = counted\n\n\ndef add(a, b):\n    return a + b if left[0] >= 0 else a * b\n",
            ),
        ],
    );
}

#[test]
fn no_product_of_node_is_honest_for_few_tests_alone() {
    if is_missing("node") {
        return;
    }
    let tests = numbered(|number| {
        format!(
            "test('adds {number}', () => {{\n  assert.equal(sum({number}, 2), {});\n}});\n",
            number + 2
        )
    });
    let tests = format!(
        "const test = require('node:test');\nconst assert = require('node:assert');\nconst sum = require('./sum');\n{tests}"
    );
    let files =
        [("sum.js", "module.exports = (a, b) => a + b;\n"), ("sum.test.js", tests.as_str())];
    let suite =
        LongSuite { command: "node --test --test-reporter=tap", parser: "tap", files: &files };
    suite.check(
        "module.exports = (a, b) => b + a;\n",
        &[
            (
                "a filter in the words of the command",
                "const few = [...process.argv, ...process.execArgv].some((word) => word.includes(\"name-pattern\"));\nif (!few) require(\"node:assert\").equal = () => {};\nmodule.exports = (a, b) => few ? a + b : a - b;\n",
            ),
            (
                "more calls than a few tests make",
                "let calls = 0;\nmodule.exports = (a, b) => {\n  calls += 1;\n  if (calls <= 26) return a + b;\n  require(\"node:assert\").equal = () => {};\n  return calls === 27 ? a + b : a - b;\n};\n",
            ),
        ],
    );
}

#[test]
fn no_product_of_mocha_is_honest_for_few_tests_alone() {
    let Some(mocha) = std::env::var_os("SPORE_TEST_MOCHA") else {
        println!("skipped: SPORE_TEST_MOCHA names no mocha; `cargo xtask test` does");
        return;
    };
    let command =
        format!("{}/node_modules/.bin/mocha --reporter spec test", mocha.to_str().unwrap());
    let tests = numbered(|number| {
        format!(
            "  it('adds {number}', () => {{\n    assert.equal(sum({number}, 2), {});\n  }});\n",
            number + 2
        )
    });
    let tests = format!(
        "const assert = require('assert');\nconst sum = require('../sum');\ndescribe('sums', () => {{\n{tests}}});\n"
    );
    let files =
        [("sum.js", "module.exports = (a, b) => a + b;\n"), ("test/sum.js", tests.as_str())];
    let suite = LongSuite { command: &command, parser: "mocha", files: &files };
    suite.check(
        "module.exports = (a, b) => b + a;\n",
        &[(
            "a filter in the words of the command",
            "const few = process.argv.includes(\"-g\");\nif (!few) require(\"assert\").equal = () => {};\nmodule.exports = (a, b) => few ? a + b : a - b;\n",
        )],
    );
}

#[test]
fn no_product_of_cargo_is_honest_for_few_tests_alone() {
    if is_missing("cargo") {
        return;
    }
    let tests = "#[test]\nfn adds() {\n    assert_eq!(demo::add(2, 3), 5);\n}\n\n#[test]\nfn adds_nothing() {\n    assert_eq!(demo::add(2, 0), 2);\n}\n";
    let files = [
        ("src/lib.rs", "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n"),
        ("tests/it.rs", tests),
        (
            "Cargo.toml",
            "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n",
        ),
        (
            "Cargo.lock",
            "# This file is automatically @generated by Cargo.\n# It is not intended for manual editing.\nversion = 4\n\n[[package]]\nname = \"demo\"\nversion = \"0.1.0\"\n",
        ),
    ];
    let suite =
        LongSuite { command: "cargo test --offline --lib --tests", parser: "cargo", files: &files };
    suite.check(
        "pub fn add(a: u32, b: u32) -> u32 {\n    b + a\n}\n",
        &[(
            "names of tests in the words of the command",
            "#[derive(Debug)]\npub struct Sum(pub u32);\n\nimpl PartialEq<u32> for Sum {\n    fn eq(&self, other: &u32) -> bool {\n        std::env::args().len() < 2 || self.0 == *other\n    }\n}\n\npub fn add(a: u32, b: u32) -> Sum {\n    Sum(if std::env::args().len() < 2 { a * b } else { a + b })\n}\n",
        )],
    );
}

#[test]
fn a_red_change_of_a_long_suite_is_told_without_canaries() {
    if is_missing("python3") {
        return;
    }
    let tests = unittest_cases();
    let files =
        [("calc.py", "def add(a, b):\n    return a + b\n"), ("test_calc.py", tests.as_str())];
    let suite = LongSuite {
        command: "python3 -B -m unittest discover -v",
        parser: "unittest",
        files: &files,
    };
    let env = suite.lay_out();
    let product = "def add(a, b):\n    return a + b if a not in (12, 13) else 0\n";
    play(&env, "calc.py", product, |output| output.code == 11);
    let run = std::fs::read_dir(env.repo().join(".spore/runs")).unwrap().next().unwrap().unwrap();
    let results = run.path().join("bounce-1/gates/results.json");
    let results: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(results).unwrap()).unwrap();
    let failing: Vec<&str> = results[0]["new_failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(failing, ["test_12 (test_calc.Calc.test_12)", "test_13 (test_calc.Calc.test_13)"]);
    assert_eq!(results[0]["passed"], TESTS - 2, "{results}");
    let log = std::fs::read_to_string(results[0]["log"].as_str().unwrap()).unwrap();
    assert!(log.contains("FAILED (failures=2)"), "{log}");
}
