//! What a run checks with, what it keeps of it, and what it tells whom.

use serde_json::Value;
use spore_testkit::TestEnv;

use crate::scenes::{self, WRITE_42, orchestrate};

fn scene(files: &[(&str, &str)], config: &str, scenario: &str) -> TestEnv {
    let env = scenes::env();
    for (path, content) in files {
        env.write(path, content);
    }
    env.write(".gitignore", ".spore/\nnode_modules/\n");
    env.commit_all("a project");
    env.write(".spore/config.toml", config);
    env.write_at(&env.dir().join("scenario.toml"), scenario);
    env
}

#[test]
fn a_run_without_what_its_checks_need_is_refused_before_anyone_is_paid() {
    let config = "[gates.commands.check]\nrun = \"true\"\nneeds = [\"sh\", \"no-such-tool\"]\n";
    let env = scene(&[("a", "")], config, &scenes::one_bounce(WRITE_42));
    let refused = orchestrate(&env, &["--json"]).code(69);
    assert_eq!(refused.stdout, "");
    let error: Value = serde_json::from_str(&refused.stderr).unwrap();
    let told = error.to_string();
    assert!(told.contains("without `no-such-tool` for check"), "{told}");
    assert!(!env.repo().join(".spore/spore.db").exists(), "a run was begun");
    let checkup = env.spore(&["doctor", "--json"]).json();
    let gates = checkup["findings"].as_array().unwrap().iter().find(|one| one["name"] == "gates");
    let gates = gates.unwrap();
    assert_eq!(gates["ok"], false);
    assert_eq!(gates["remedy"], "no run can start without no-such-tool: install it");
}

#[test]
fn a_repository_of_several_projects_is_checked_project_by_project() {
    let files = [
        ("a/Makefile", "test:\n\tgrep -q 42 answer.txt\n"),
        ("a/answer.txt", "42\n"),
        ("b/Makefile", "check:\n\tgrep -q 42 answer.txt\n"),
        ("b/answer.txt", "42\n"),
    ];
    let ruin = r#"{ write = "b/answer.txt", content = "43\n" }"#;
    let env = scene(&files, "", &scenes::one_bounce(ruin));
    if env.command("make", env.dir()).arg("--version").output().is_err() {
        println!("skipped: make is not installed");
        return;
    }
    let checkup = env.spore(&["doctor"]);
    let listed = "make-test-a: make test (in a), make-check-b: make check (in b)";
    assert!(checkup.stdout.contains(listed), "{}", checkup.stdout);
    let output = orchestrate(&env, &["--max-bounces", "1"]).code(11);
    for told in ["make-test-a `make test`: green", "make-check-b `make check`: red, exit 2"] {
        assert!(output.stderr.contains(told), "{}", output.stderr);
    }
}

#[test]
fn modules_below_src_are_those_of_the_tree_under_check() {
    let files = [
        ("src/calc/__init__.py", "def answer():\n    return 42\n"),
        (
            "tests/test_calc.py",
            "import calc, unittest\n\nclass Test(unittest.TestCase):\n    def test_answer(self):\n        \
             self.assertEqual(calc.answer(), 42)\n",
        ),
    ];
    let ruin = r#"{ write = "src/calc/__init__.py", content = "def answer():\n    return 43\n" }"#;
    let env = scene(&files, "", &scenes::one_bounce(ruin));
    let output = orchestrate(&env, &["--max-bounces", "1"]).code(11);
    assert!(output.stderr.contains("green, 1 passed, 0 failed"), "{}", output.stderr);
    assert!(
        output.stderr.contains("red, failing: test_answer (test_calc.Test.test_answer)"),
        "{}",
        output.stderr
    );
}

#[test]
fn every_check_leaves_its_numbers_and_its_log() {
    let files =
        [("run.sh", "echo 1..2; echo ok 1 - one; echo ok 2 - two\n"), ("answer.txt", "41\n")];
    let config = "[gates.commands.check]\nrun = \"sh run.sh\"\nparser = \"tap\"\n";
    let env = scene(&files, config, &scenes::one_bounce(WRITE_42));
    let _ = orchestrate(&env, &[]).code(0);
    let text = scenes::artefact(&env, "bounce-1/gates/results.json");
    let results: Value = serde_json::from_str(&text).unwrap();
    let result = &results[0];
    assert_eq!(result["command"], "sh run.sh");
    assert_eq!(result["tree"], scenes::newest(&env)["run"]["tree_hash"]);
    assert_eq!(
        (&result["exit"], &result["passed"], &result["failed"]),
        (&0.into(), &2.into(), &0.into())
    );
    assert_eq!(result["new_failures"], serde_json::json!([]));
    assert_eq!(result["ran"], serde_json::json!(["one", "two"]));
    assert!(result["duration_ms"].is_u64());
    let log = std::fs::read_to_string(result["log"].as_str().unwrap()).unwrap();
    assert!(log.starts_with("1..2\n"), "{log}");
}

#[test]
fn a_coder_is_told_that_its_tests_were_set_aside() {
    let files = [
        ("answer.txt", "42\n"),
        ("tests/check.sh", "grep -q 42 answer.txt\n"),
        ("run.sh", "sh tests/check.sh && echo 1..1 && echo ok 1 - answer\n"),
    ];
    let config = "[gates.commands.check]\nrun = \"sh run.sh\"\nparser = \"tap\"\n";
    let scenario = r#"
[[session]]
role = "coder"
bounce = 1
cost_usd = 0.1
final = "done"
steps = [
  { write = "answer.txt", content = "43\n" },
  { write = "tests/check.sh", content = "true\n" },
]

[[session]]
role = "coder"
bounce = 2
cost_usd = 0.1
final = "done"
steps = [
  { expect = "With the tests as they were before your change" },
  { write = "answer.txt", content = "forty-two: 42\n" },
  { write = "tests/check.sh", content = "grep -q 42 answer.txt\n" },
]

[[session]]
role = "verifier"
bounce = 2
cost_usd = 0.1
final = '''<verdict>{"nonce":"$NONCE","verdict":"supports"}</verdict>'''
"#;
    let env = scene(&files, config, scenario);
    let output = orchestrate(&env, &[]).code(0);
    let told = "check `sh run.sh` with the base's tests: red";
    assert!(output.stderr.contains(told), "{}", output.stderr);
    let log = scenes::artefact(&env, "bounce-1/gates/check.base-tests.log");
    assert_eq!(log, "");
}

#[test]
fn what_scripts_need_is_installed_when_it_has_to_be() {
    let manifest = r#"{"name": "demo", "version": "1.0.0", "scripts": {"test": "node check.js"}, "dependencies": {"dep": "file:./dep"}}"#;
    let files = [
        ("package.json", manifest),
        ("dep/package.json", r#"{"name": "dep", "version": "1.0.0", "main": "index.js"}"#),
        ("dep/index.js", "module.exports = 42;\n"),
        ("check.js", "if (require('dep') !== 42) process.exit(1);\n"),
    ];
    let scenario = scenes::one_bounce(r#"{ write = "notes.txt", content = "x\n" }"#);
    let env = scene(&files, "", &scenario);
    if env.command("npm", env.dir()).arg("--version").output().is_err() {
        println!("skipped: npm is not installed");
        return;
    }
    let installs = |stderr: &str| stderr.matches("npm-install `npm install").count();
    let first = orchestrate(&env, &[]).code(0);
    assert_eq!(installs(&first.stderr), 1, "{}", first.stderr);
    let bump =
        r#"{ edit = "package.json", find = '"version": "1.0.0"', replace = '"version": "1.1.0"' }"#;
    env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(bump));
    let second = orchestrate(&env, &[]).code(0);
    // The base is known; the change has another manifest.
    assert_eq!(installs(&second.stderr), 2, "{}", second.stderr);
    assert_eq!(second.stderr.matches("(known from an earlier run)").count(), 2);
}

/// Whatever the reason: here the copy of its build output is not whole any more.
#[test]
fn a_checkout_of_the_gates_that_cannot_be_put_in_order_is_made_anew() {
    let config =
        "[gates.commands.build]\nrun = \"mkdir -p node_modules; echo 1 > node_modules/x\"\n";
    let env = scene(&[("a", "")], config, &scenes::one_bounce(WRITE_42));
    let _ = orchestrate(&env, &[]).code(0);
    let state = env.dir().join("state/spore");
    let mut kept = std::fs::read_dir(state).unwrap().map(|entry| entry.unwrap().path());
    let gates =
        kept.find_map(|dir| Some(dir.join("gates")).filter(|gates| gates.is_dir())).unwrap();
    let copy = gates.join("cache/files/node_modules/x");
    std::fs::remove_file(&copy).unwrap();
    std::fs::write(gates.join("checkout/node_modules/x"), "planted\n").unwrap();
    let again = orchestrate(&env, &[]).code(0);
    assert!(!again.stderr.contains("cannot keep build output in order"), "{}", again.stderr);
    assert!(gates.join("checkout/node_modules/x").exists());
}

/// What a check says is worth something only if it was of the files that would be committed. A
/// change whose own code mends them while the check runs, and undoes it afterwards, is turned down
/// with an agreeing verifier; one that writes what the project says its checks write is not.
#[test]
fn a_check_that_rewrites_the_tree_has_not_checked_it() {
    let files = [
        ("answer.txt", "42\n"),
        ("make.sh", "true\n"),
        ("log.txt", "\n"),
        ("run.sh", "sh make.sh; grep -q 42 answer.txt || exit 1; sh make.sh undo\n"),
    ];
    let run = "[gates.commands.check]\nrun = \"sh run.sh\"\n";
    let ruins = |script: &str| {
        let step = format!(r#"{{ write = "make.sh", content = {script:?} }}"#);
        scenes::one_bounce(&format!(r#"{{ write = "answer.txt", content = "43\n" }}, {step}"#))
    };
    for script in [
        "echo 42 > answer.txt\n",
        "if test -n \"$1\"; then echo 43 > answer.txt; else echo 42 > answer.txt; fi\n",
        "if test -n \"$1\"; then mv kept answer.txt; else mv answer.txt kept; echo 42 > answer.txt; fi\n",
        "cp -p answer.txt x; echo 42 > y; mv y answer.txt; test -z \"$1\" || mv x answer.txt\n",
    ] {
        let env = scene(&files, run, &ruins(script));
        let output = orchestrate(&env, &["--max-bounces", "1"]).code(11);
        let told = "tracked files were rewritten while it ran";
        assert!(output.stderr.contains(told), "{script}: {}", output.stderr);
        assert!(output.stderr.contains("answer.txt"), "{script}: {}", output.stderr);
    }
    let writes = scenes::one_bounce(r#"{ write = "make.sh", content = "date >> log.txt\n" }"#);
    let env = scene(&files, run, &writes);
    let _ = orchestrate(&env, &["--max-bounces", "1"]).code(11);
    let env = scene(&files, &format!("[gates]\noutputs = [\"log.txt\"]\n{run}"), &writes);
    let _ = orchestrate(&env, &[]).code(0);
    let files = [("answer.txt", "42\n"), ("log.txt", "\n"), ("run.sh", "date >> log.txt\n")];
    let env = scene(&files, run, &scenes::one_bounce(r#"{ write = "more.txt", content = "x\n" }"#));
    let _ = orchestrate(&env, &[]).code(0);
}
