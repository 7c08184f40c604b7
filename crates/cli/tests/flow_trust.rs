//! What parts of a flow left is the work of agents: it decides neither what runs outside of the
//! sandbox nor how it is checked.

use serde_json::Value;
use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes;

/// Something is prepared, then worked on, then checked.
const FLOW: &str = r#"
[executors.look]
role = "researcher"
prompt = "Prepare {target}."

[executors.make]
role = "builder"
prompt = "Do {target}."

[orchestrators.checked]
stages = [
  { name = "NOTES", executor = "look" },
  { name = "WORK", executor = "make", heal = 0, retry = 0 },
  { name = "CHECK", executor = "sentinel", heal = 0, retry = 0 },
]

[orchestrators.verified]
stages = [
  { name = "NOTES", executor = "look" },
  { name = "BUILD", executor = "orchestrate", target = "say that it is 42", heal = 0, retry = 0 },
]
"#;

fn sessions(notes: &str, work: &str) -> String {
    format!(
        r#"
[[session]]
role = "researcher"
bounce = 1
final = "STAGE_NOTES_COMPLETE"
steps = [{notes}]

[[session]]
role = "builder"
bounce = 1
final = "STAGE_WORK_COMPLETE"
steps = [{work}]

[[session]]
role = "coder"
bounce = 1
final = "done"
steps = [{{ write = "answer.txt", content = "42\n" }}]

[[session]]
role = "verifier"
bounce = 1
final = '''<verdict>{{"nonce":"$NONCE","verdict":"supports","confidence":0.95,"reason":"it says 42"}}</verdict>'''
"#
    )
}

const REPLAY: &[&str] = &["--backend", "replay", "--scenario", "../parts.toml", "--json"];

fn scene(notes: &str, work: &str) -> TestEnv {
    let env = scenes::small();
    env.write(".spore/flows/checked.toml", FLOW);
    for role in ["researcher", "builder"] {
        env.write(&format!(".spore/agents/{role}.md"), "You do one thing.\n");
    }
    env.write_at(&env.dir().join("parts.toml"), &sessions(notes, work));
    env
}

fn stage(env: &TestEnv, orchestrator: &str) -> ProgramOutput {
    let args: Vec<&str> =
        ["stage", orchestrator, "full", "life"].iter().chain(REPLAY).copied().collect();
    env.spore(&args)
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{pointer}: {value:#}"))
}

#[test]
fn what_an_agent_wrote_is_not_run_when_the_next_checkout_is_set_up() {
    let planted = r#"{ write = "prepare.sh", content = "touch ../../../../escaped \"$HOME/escaped\" 2>/dev/null; touch ready\n" }"#;
    let env =
        scene(planted, r#"{ run = "test -e ready && test ! -e planted && echo 43 > answer.txt" }"#);
    env.write("prepare.sh", "touch ready\n");
    env.write(".gitignore", ".spore/\nready\nplanted\n");
    env.commit_all("a set-up");
    let seen = env.dir().join("seen");
    env.write(
        ".spore/config.toml",
        &format!(
            "[gates.commands.check]\nrun = \"sh check.sh\"\n[checkout]\nsetup = [\"cat prepare.sh >> {}; sh prepare.sh\"]\n",
            seen.display()
        ),
    );
    for orchestrator in ["checked", "verified"] {
        let told = stage(&env, orchestrator).code(0).json();
        let branch = text(&told, "/branch");
        assert!(env.git(&["show", &format!("{branch}:prepare.sh")]).contains("escaped"));
    }
    // Every checkout was set up, and by what the person wrote alone.
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(seen.lines().count() >= 4, "{seen}");
    assert!(seen.lines().all(|line| line == "touch ready"), "{seen}");
}

#[test]
fn what_lay_there_before_is_no_artifact_of_a_stage() {
    let flow = FLOW.replace("prompt = \"Prepare", "artifact = \"notes.md\"\nprompt = \"Prepare");
    let flow = flow.replace("executor = \"look\"", "executor = \"look\", heal = 0, retry = 0");
    let env = scene("", "");
    env.write(".spore/flows/checked.toml", &flow);
    env.write("notes.md", "old\n");
    env.commit_all("notes of another time");
    let told = stage(&env, "checked").code(1).json();
    assert_eq!(text(&told, "/stages/0/error"), "it left notes.md as it was before");
}

#[test]
fn what_each_attempt_left_is_kept_under_a_ref_of_its_own() {
    let env = scene("", r#"{ write = "first.txt", content = "1\n" }"#);
    let args: Vec<&str> =
        ["stage", "checked", "full", "life"].iter().chain(REPLAY).copied().collect();
    let point = [("SPORE_KILL_AT", "before:row:finish WORK/1 session#1")];
    let _ = env.spore_in(&env.repo(), &args, &point).code(137);
    let failing = sessions("", r#"{ write = "second.txt", content = "2\n" }"#)
        .replace("STAGE_WORK_COMPLETE", "STAGE_FAILED: no");
    env.write_at(&env.dir().join("parts.toml"), &failing);
    let _ = env.spore(&["resume"]).code(1);
    let refs = env.work_git(&["for-each-ref", "--format=%(refname)", "refs/spore"]);
    let left: Vec<&str> = refs.lines().filter(|name| name.contains("/left/")).collect();
    assert_eq!(left.len(), 2, "{refs}");
    for (name, file) in left.iter().zip(["first.txt", "second.txt"]) {
        let files = env.work_git(&["ls-tree", "--name-only", "-r", name]);
        assert!(files.contains(file), "{name}: {files}");
    }
}

#[test]
fn a_stage_that_rewrites_the_check_does_not_pass_it() {
    let tampers = r#"{ write = "check.sh", content = "exit 0\n" }, { write = "kept.txt", content = "gone\n" }"#;
    let env = scene("", tampers);
    let told = stage(&env, "checked").code(10).json();
    assert_eq!(text(&told, "/stages/2/grade"), "FAIL");
    let found =
        scenes::artefact(&env, "stages/CHECK/attempt-1/sentinel/cycle-1/verification-results.json");
    assert!(found.contains("check.sh decides how check runs"), "{found}");
    // A person's own word allows it, as it does for verified runs.
    let config =
        "[gates]\nallow_test_changes = true\n[gates.commands.check]\nrun = \"sh check.sh\"\n";
    env.write(".spore/config.toml", config);
    let told = stage(&env, "checked").code(0).json();
    assert_eq!(text(&told, "/stages/2/grade"), "PASS");
}

#[test]
fn a_verified_stage_takes_its_checks_from_the_person_and_not_from_the_stage_before() {
    let env = scene(r#"{ write = "check.sh", content = "exit 0\n" }"#, "");
    let told = stage(&env, "verified").code(1).json();
    let error = text(&told, "/stages/1/error");
    assert!(error.contains("check.sh decides how check runs"), "{error}");
    // What adds to the product is no reason to refuse.
    let env = scene(r#"{ write = "notes.md", content = "it is 42\n" }"#, "");
    let _ = stage(&env, "verified").code(0);
}
