//! Projects whose checks fail before anything is done: refused, worked around, or the task.

use serde_json::Value;
use spore_testkit::TestEnv;

use crate::scenes::{self, orchestrate, told};

/// A check of two tests by name, of which `sums` fails unless `answer.txt` says 42.
const RUN: &str = "echo 1..2\n\
    if grep -q 42 answer.txt; then echo ok 1 - sums; else echo not ok 1 - sums; fi\n\
    if grep -q keep kept.txt; then echo ok 2 - keeps; else echo not ok 2 - keeps; fi\n\
    grep -q 42 answer.txt && grep -q keep kept.txt\n";

fn scene(check: &str, config: &str, scenario: &str) -> TestEnv {
    let env = scenes::env();
    env.write("answer.txt", "41\n");
    env.write("kept.txt", "keep me\n");
    env.write("run.sh", check);
    env.write(".gitignore", ".spore/\n");
    env.commit_all("a red project");
    env.write(".spore/config.toml", config);
    env.write_at(&env.dir().join("scenario.toml"), scenario);
    env
}

const TAP: &str = "[gates.commands.check]\nrun = \"sh run.sh\"\nparser = \"tap\"\n";
const PLAIN: &str = "[gates.commands.check]\nrun = \"sh run.sh\"\n";

fn coder(bounce: u32, steps: &str) -> String {
    format!(
        "[[session]]\nrole = \"coder\"\nbounce = {bounce}\ncost_usd = 0.5\nfinal = \"done\"\n\
         steps = [{steps}]\n"
    )
}

fn verifier(bounce: u32) -> String {
    format!(
        "[[session]]\nrole = \"verifier\"\nbounce = {bounce}\ncost_usd = 0.25\n\
         final = '''<verdict>{{\"nonce\":\"$NONCE\",\"verdict\":\"supports\"}}</verdict>'''\n"
    )
}

#[track_caller]
fn nobody_was_paid(env: &TestEnv) {
    assert_eq!(scenes::newest(env)["ledger"], serde_json::json!([]));
}

#[test]
fn a_list_stops_at_the_first_task_that_finds_its_base_red() {
    let env = scene(RUN, TAP, &scenes::one_bounce(scenes::WRITE_42));
    env.write_at(&env.dir().join("tasks.txt"), "write the answer.\nwrite more.\nwrite most.\n");
    for command in [&["loop", "--source"][..], &["batch"]] {
        let replay = ["../tasks.txt", "--backend", "replay", "--scenario", "../scenario.toml"];
        let output = env.spore(&[command, &replay[..]].concat()).code(65);
        assert!(output.stdout.contains("`spore orchestrate --fix-red`"), "{}", output.render());
        let list = scenes::newest(&env);
        assert_eq!((&list["status"], &list["ledger"]), (&"failed".into(), &serde_json::json!([])));
        assert_eq!(list["parts"].as_array().unwrap().len(), 1, "{list:#}");
    }
}

#[test]
fn a_check_that_names_no_test_is_refused_with_its_last_lines() {
    let check = "echo looking\necho 'tests/conftest: no such module' >&2\nexit 2\n";
    let env = scene(check, PLAIN, &scenes::one_bounce(scenes::WRITE_42));
    let refused = orchestrate(&env, &["--allow-red"]).code(65);
    insta::assert_snapshot!(told(&refused));
    nobody_was_paid(&env);
    let error: Value =
        serde_json::from_str(&orchestrate(&env, &["--allow-red", "--json"]).code(65).stderr)
            .unwrap();
    let message = error["error"]["message"].as_str().unwrap();
    assert!(message.contains("tests/conftest: no such module"), "{message}");
}

#[test]
fn a_check_that_cannot_start_is_nobodys_task() {
    let config = "[gates.commands.check]\nrun = \"./no-such-script\"\n";
    let env = scene("", config, &scenes::one_bounce(scenes::WRITE_42));
    let refused = orchestrate(&env, &["--fix-red"]).code(65);
    assert!(refused.stderr.contains("cannot even be started"), "{}", refused.stderr);
    assert!(refused.stderr.contains("no-such-script"), "{}", refused.stderr);
    nobody_was_paid(&env);
}

#[test]
fn what_fails_can_be_the_task() {
    // The first attempt leaves it red as it was, the second mends it and breaks something else.
    let scenario = coder(
        1,
        r#"{ expect = "What Fails Already" }, { expect = "not ok 1 - sums" }, { write = "notes.txt", content = "x\n" }"#,
    ) + &coder(
        2,
        r#"{ expect = "still failing: sums" }, { write = "answer.txt", content = "42\n" }, { write = "kept.txt", content = "gone\n" }"#,
    ) + &coder(
        3,
        r#"{ expect = "keeps" }, { write = "kept.txt", content = "keep me\n" }"#,
    ) + &verifier(3);
    let env = scene(RUN, TAP, &scenario);
    let args =
        ["orchestrate", "--fix-red", "--backend", "replay", "--scenario", "../scenario.toml"];
    let output = env.spore(&args).code(0);
    assert!(output.stderr.contains("still failing: sums"), "{}", output.stderr);
    let report = scenes::newest(&env);
    assert_eq!(report["status"], "verified");
    assert_eq!(report["bounces"].as_array().unwrap().len(), 3);
    // The same change is good enough where red was only allowed.
    env.write_at(
        &env.dir().join("scenario.toml"),
        &(coder(1, r#"{ write = "notes.txt", content = "x\n" }"#) + &verifier(1)),
    );
    let _ = orchestrate(&env, &["--allow-red"]).code(0);
}

#[test]
fn a_test_that_was_bent_mends_nothing() {
    let env = scenes::env();
    env.write("answer.txt", "41\n");
    env.write("tests/check.sh", "grep -q 42 answer.txt\n");
    env.write("run.sh", "echo 1..1; if sh tests/check.sh; then echo ok 1 - sums; else echo not ok 1 - sums; exit 1; fi\n");
    env.write(".gitignore", ".spore/\n");
    env.commit_all("a red project");
    env.write(".spore/config.toml", TAP);
    let bent = coder(1, r#"{ write = "tests/check.sh", content = "true\n" }"#);
    env.write_at(&env.dir().join("scenario.toml"), &bent);
    let output = orchestrate(&env, &["--fix-red", "--max-bounces", "1"]).code(11);
    assert!(output.stderr.contains("with the base's tests: red"), "{}", output.stderr);
}

#[test]
fn green_checks_leave_nothing_to_mend() {
    let env = scenes::with_scenario(&scenes::one_bounce(scenes::WRITE_42));
    let refused = orchestrate(&env, &["--fix-red"]).code(65);
    assert!(refused.stderr.contains("nothing to mend"), "{}", refused.stderr);
    nobody_was_paid(&env);
}

#[test]
fn a_check_of_ones_own_is_added_to_those_that_are_found() {
    let env = scenes::env();
    env.write("package.json", r#"{"name": "x", "scripts": {"lint": "true", "test": "true"}}"#);
    env.commit_all("a project");
    let gates = |config: &str| -> Vec<String> {
        env.write(".spore/config.toml", config);
        let plan = env.spore(&["orchestrate", "x", "--dry-run", "--json"]).code(0).json();
        let gates = plan["gates"].as_array().unwrap();
        gates.iter().map(|gate| gate.as_str().unwrap().to_owned()).collect()
    };
    let found = gates("");
    assert!(!found.is_empty());
    let own = "[gates.commands.extra]\nrun = \"sh extra.sh\"\n";
    assert_eq!(gates(own), [found.clone(), vec!["sh extra.sh".to_owned()]].concat());
    assert_eq!(gates(&format!("[gates]\nonly = true\n{own}")), ["sh extra.sh"]);
    let same = format!("[gates.commands.mine]\nrun = {:?}\n", found[0]);
    let mut moved = found[1..].to_vec();
    moved.push(found[0].clone());
    assert_eq!(gates(&same), moved, "nothing is run twice");
}
