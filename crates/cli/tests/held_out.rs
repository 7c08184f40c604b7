//! Tests that are written before the coder begins, and that it never sees: what they reject, what
//! raises a change by them, and what becomes of a tester that fails.

use spore_testkit::kill::{CommandTraits, KillPoint, KillTarget, sample};
use spore_testkit::{ProgramOutput, TestEnv};

use crate::{isolation, scenes};

const LOAD: &str = "import os, sys, unittest\n\
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))\nimport calc\n\n\n";

/// In the tests that are held out and nowhere else, but for the scenario that the agent plays. Its parts are
/// put together by the shell.
const MARKER: &str = "kestrel_9f3";

/// One test that fails at the base, and one that guards what is there.
fn held(names: &str) -> String {
    format!(
        "{LOAD}class Held(unittest.TestCase):\n    \
         def test_{MARKER}(self):\n        self.assertEqual(calc.{names}(2, 1), 1, 'the lower of two')\n\n    \
         def test_guard(self):\n        self.assertEqual(calc.{names}(1, 2), 1, 'the first may be lower')\n"
    )
}

fn session(role: &str, bounce: u32, steps: &str, last: &str) -> String {
    format!(
        "[[session]]\nrole = \"{role}\"\nbounce = {bounce}\ncost_usd = 0.5\nfinal = '''{last}'''\nsteps = [{steps}]\n"
    )
}

fn tester(path: &str, content: &str) -> String {
    let write = format!("{{ write = \"{path}\", content = '''{content}''' }}");
    session("tester", 0, &write, "the tests are written")
}

const SUPPORTS: &str =
    r#"<verdict>{"nonce":"$NONCE","verdict":"supports","confidence":1.0}</verdict>"#;

/// Does the task, with a test of its own.
fn right() -> String {
    let test = format!(
        "{LOAD}class Low(unittest.TestCase):\n    def test_low(self):\n        self.assertEqual(calc.low(4, 3), 3)\n"
    );
    format!(
        r#"{{ write = "calc.py", content = "def low(a, b):\n    return min(a, b)\n\n\ndef add(a, b):\n    return a + b\n" }},
           {{ write = "tests/test_low.py", content = '''{test}''' }},"#
    )
}

fn lay_out(scenario: &str, settings: &str) -> TestEnv {
    let env = scenes::env();
    env.write("calc.py", "def low(a, b):\n    return a\n\n\ndef add(a, b):\n    return a + b\n");
    env.write(
        "tests/test_calc.py",
        &format!("{LOAD}class Calc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(2, 3), 5)\n"),
    );
    env.write(".gitignore", ".spore/\n__pycache__/\n");
    env.commit_all("a project");
    env.write(".spore/config.toml", settings);
    env.write_at(&env.dir().join("scenario.toml"), scenario);
    env
}

const ON: &str = "[gates]\nprobe = \"all\"\nhold_out = true\n";

fn proof_of(env: &TestEnv) -> serde_json::Value {
    let shown = scenes::shown(env);
    shown["bounces"].as_array().unwrap().last().unwrap()["proof"].clone()
}

#[test]
fn held_out_tests_are_kept_from_the_coder_and_reject_by_what_they_assert() {
    let probe = scenes::env();
    if isolation::is_skipped(&probe) {
        return;
    }
    let (head, tail) = MARKER.split_at(4);
    let word = format!("m={head}\"\"{tail}");
    let look = format!(
        r#"{{ run = '''{word}; ! grep -rqs --exclude=scenario.toml $m . ~ /tmp /dev/shm''' }},
           {{ run = '''{word}; ! git cat-file --batch-all-objects --batch | grep -aqs $m''' }},
           {{ run = '''{word}; ! env | grep -qs $m''' }},
           {{ run = '''{word}; ! grep -rqs $m {}/''' }},"#,
        "$PROJECT"
    );
    let wrong = r#"{ edit = "calc.py", find = "low(a, b):\n    return a\n", replace = "low(a, b):\n    return b\n" },"#;
    let told = r#"{ expect = "AssertionError: 2 != 1 : the first may be lower" },"#;
    let judged = r#"{ expect = "held-out tests: 1 fail without the change and pass with it, 1 pass with both" }"#;
    let scenario = [
        tester("tests/test_held.py", &held("low")),
        session("coder", 1, &format!("{look}{wrong}"), "done"),
        session("coder", 2, &format!("{told}{look}{}", right()), "done"),
        session("verifier", 2, judged, SUPPORTS),
    ];
    let env = lay_out("", ON).with_variable("SPORE_SANDBOX_WRITE", "");
    let project = env.repo().to_str().unwrap().to_owned();
    let scenario = scenario.concat().replace("$PROJECT", &project);
    env.write_at(&env.dir().join("scenario.toml"), &scenario);
    let output = scenes::orchestrate(&env, &[]).code(0);
    for bounce in ["bounce-1", "bounce-2"] {
        let looks = isolation::went_well(&env, &format!("{bounce}/coder"));
        let transcript = scenes::artefact(&env, &format!("{bounce}/coder/transcript.jsonl"));
        assert!(looks.len() >= 4 && looks.iter().all(|ok| *ok), "{bounce}: {transcript}");
        let task = scenes::artefact(&env, &format!("{bounce}/coder/task.md"));
        assert!(!task.contains(MARKER) && !task.contains("test_guard"), "{task}");
        assert!(!task.contains("test_held"), "{task}");
    }
    let line = "held-out, 1 kept, 1 new, 1 of 1 hunks seen, 1 held out";
    if !output.stderr.contains("is not on record") {
        assert_eq!(proof_of(&env)["line"], line, "{}", output.render());
    }
    let message = env.git(&["log", "--branches=spore/*", "--format=%B"]);
    assert!(message.contains(", 1 held out\n"), "{message}");
    // Its tests are no part of what was made, and its cost is.
    let files = env.git(&["log", "--branches=spore/*", "--name-only", "--format="]);
    assert!(!files.contains("held"), "{files}");
    let shown = scenes::shown(&env);
    let roles = shown["sessions"].as_array().unwrap();
    let tester = roles.iter().find(|one| one["role"] == "tester").unwrap();
    assert_eq!(tester["cost"]["usd"], 0.5, "{tester}");
    let report = scenes::artefact(&env, "bounce-1/gates/held-out.json");
    assert!(report.contains("test_guard"), "{report}");
}

/// Runs a change that does the task behind a tester, and returns what was said.
fn after(tester: &str, settings: &str) -> (TestEnv, ProgramOutput) {
    let scenario = format!(
        "{tester}{}{}",
        session("coder", 1, &right(), "done"),
        session("verifier", 1, "", SUPPORTS)
    );
    let env = lay_out(&scenario, settings);
    let output = scenes::orchestrate(&env, &[]);
    (env, output)
}

#[test]
fn a_tester_that_fails_costs_the_level_and_not_the_run() {
    for (tester, why) in [
        (tester("calc.py", "x = 1\n"), "the tester touched `calc.py`, which is no new test file"),
        (
            tester("tests/test_held.py", &held("lowest")),
            "held-out tests that do not load or end in an error",
        ),
        (
            tester("tests/test_held.py", "import nothing_of_this_name\n"),
            "held-out tests that do not load or end in an error",
        ),
        (String::new(), "the scenario has no session for the tester"),
    ] {
        let (_, output) = after(&tester, "[gates]\nhold_out = true\ncanary_tests = 0\n");
        assert!(output.stderr.contains(why), "{why}: {}", output.render());
        assert_eq!(output.code, 0, "{}", output.render());
    }
}

#[test]
fn one_who_requires_held_out_tests_is_asked_where_there_are_none() {
    let settings = "[verdict]\nrequire = \"held-out\"\n";
    let (env, output) = after(&tester("notes.txt", "no tests\n"), settings);
    assert_eq!(output.code, 3, "{}", output.render());
    let said = output.render();
    assert!(said.contains("there are no held-out tests, which are required"), "{said}");
    let shown = scenes::shown(&env);
    assert_eq!(shown["cost"]["usd"], 0.5, "{shown}");
    let good = tester("tests/test_held.py", &held("low"));
    let (env, output) = after(&good, settings);
    if !isolation::is_skipped(&env) && !output.stderr.contains("is not on record") {
        assert_eq!(output.code, 0, "{}", output.render());
        assert_eq!(proof_of(&env)["level"], "held-out", "{}", output.render());
    }
}

#[test]
fn a_run_with_a_tester_killed_in_it_ends_like_one_that_was_not() {
    let scene = || {
        let tester = tester("tests/test_held.py", &held("low"));
        let coder = session("coder", 1, &right(), "done");
        let scenario = format!("{tester}{coder}{}", session("verifier", 1, "", SUPPORTS));
        lay_out(&scenario, "[gates]\nhold_out = true\ncanary_tests = 0\n")
    };
    let target = KillTarget { scene: &scene, command: scenes::ORCHESTRATE, random: 0 };
    let points = [
        "after:process:start tester/1#1",
        "after:ref:refs/spore/RUN/held-out#1",
        "before:row:finish tester#1",
        "before:row:finish gates/1#1",
    ];
    let tally = sample(&target, CommandTraits::default(), &points.map(KillPoint::At));
    let nothing: Vec<String> = Vec::new();
    assert_eq!(tally.ended, "verified");
    assert_eq!(tally.divergent, nothing, "{}", tally.line());
    assert_eq!(tally.duplicates, nothing, "{}", tally.line());
    assert_eq!(tally.left_running, nothing, "{}", tally.line());
}

#[test]
fn work_that_lands_on_a_branch_that_moved_on_is_held_to_the_same_tests() {
    let probe = scenes::env();
    if isolation::is_skipped(&probe) {
        return;
    }
    let scenario = tester("tests/test_held.py", &held("low"))
        + &session("coder", 1, &right(), "done")
        + &session("verifier", 1, "", SUPPORTS);
    let env = lay_out(&scenario, ON);
    env.write("notes.txt", "theirs\n");
    env.commit_all("theirs");
    let _ = scenes::orchestrate(&env, &["--base", "HEAD~1", "--apply", "merge"]).code(0);
    let landed = env.git(&["log", "-1", "--format=%B"]);
    assert!(landed.contains("Spore-Proof: held-out"), "{landed}");
    assert!(landed.contains("Spore-Merge: "), "{landed}");
    assert!(!env.git(&["ls-tree", "-r", "--name-only", "main"]).contains("test_held"));
}

/// What a writer specified for a sentinel reaches the tester of the run that mends, and of it only what is
/// not met reaches its coder.
#[test]
pub(crate) fn what_a_sentinel_specifies_is_told_to_the_tester_of_a_fix_and_not_to_its_coder() {
    let word = "albatross rule";
    let spec = format!(
        r#"<test-spec>{{"requirements": [{{"id": "R1", "text": "low gives the lower of two"}},
        {{"id": "R2", "text": "add is the sum, by the {word}"}}]}}</test-spec>"#
    );
    let audit = |grade: &str, status: &str| {
        format!(
            r#"<audit>{{"grade": "{grade}", "requirements": [{{"id": "R1", "status": "{status}", "evidence": "calc.py:2"}},
            {{"id": "R2", "status": "met", "evidence": "calc.py:6"}}],
            "findings": [{{"severity": "{}", "file": "calc.py", "line": 2, "issue": "low is not the lower"}}]}}</audit>"#,
            if grade == "FAIL" { "blocking" } else { "warning" }
        )
    };
    let told = format!(r#"{{ expect = "R2 [must] add is the sum, by the {word}" }},"#);
    let write = format!("{{ write = \"tests/test_held.py\", content = '''{}''' }}", held("low"));
    let scenario = [
        session("spec-writer", 1, "", &spec),
        session("auditor", 1, "", &audit("FAIL", "unmet")),
        session("consolidator", 1, "", r#"<fixes>{"fixes": [{"id": 1}]}</fixes>"#),
        session("tester", 0, &format!("{told}{write}"), "the tests are written"),
        session("coder", 1, &right(), "done"),
        session("verifier", 1, "", SUPPORTS),
        session("auditor", 3, "", &audit("WARN", "met")),
    ];
    let alone = ["sentinel", "--hold-out", "--task", "low is right", "--json"];
    let stage = ["stage", "held", "full", "low", "--json"];
    for ask in [alone.as_slice(), stage.as_slice()] {
        let env = lay_out(&scenario.concat(), "[gates]\ncanary_tests = 0\n");
        env.write(
            ".spore/flows/held.toml",
            "[orchestrators.held]\nstages = [{ name = \"CHECK\", executor = \"sentinel\", judged = true, \
             hold_out = true, task = \"{target} is right\" }]\n",
        );
        env.write(
        "tests/test_first.py",
        &format!("{LOAD}class First(unittest.TestCase):\n    def test_first(self):\n        self.assertEqual(calc.low(6, 5), 5)\n"),
    );
        env.commit_all("a test that is red");
        let replay = ["--backend", "replay", "--scenario", "../scenario.toml"];
        let output = env.spore(&[ask, &replay].concat());
        assert_eq!(output.code, 0, "{}", output.render());
        let id = scenes::newest_id(&env);
        let shown = env.spore(&["runs", "show", &id, "--json"]).code(0).json();
        let parts = shown["parts"].as_array().unwrap();
        let fix = parts.iter().find(|part| part["kind"] == "orchestrate").unwrap();
        let dir = env.repo().join(".spore/runs").join(fix["id"].as_str().unwrap());
        let read = |file: &str| std::fs::read_to_string(dir.join(file)).unwrap();
        assert!(read("tester/task.md").contains(word));
        assert!(!read("bounce-1/coder/task.md").contains(word));
    }
}
