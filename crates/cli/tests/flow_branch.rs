//! The branch of a flow: stages that build on each other, phases that land one by one.

use serde_json::Value;
use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes;

/// Notes, then work that needs them, then the project's checks on what both left.
const CAREFUL: &str = r#"
[executors.look]
role = "researcher"
prompt = "Write notes about {target}."
artifact = "notes/{target}.md"

[executors.make]
role = "builder"
prompt = "Do what the notes about {target} say."

[orchestrators.careful]
stages = [
  { name = "NOTES", executor = "look" },
  { name = "WORK", executor = "make", heal = 0, retry = 0 },
  { name = "CHECK", executor = "sentinel" },
]
"#;

fn parts(work: &str) -> String {
    format!(
        r#"
[[session]]
role = "researcher"
bounce = 1
cost_usd = 0.25
final = "STAGE_NOTES_COMPLETE"
steps = [{{ write = "notes/life.md", content = "it is 42\n" }}]

[[session]]
role = "builder"
bounce = 1
cost_usd = 0.5
final = "STAGE_WORK_COMPLETE"
steps = [{work}]
"#
    )
}

const REPLAY: &[&str] = &["--backend", "replay", "--scenario", "../parts.toml"];

fn scene(flow: &str, parts: &str) -> TestEnv {
    let env = scenes::small();
    env.write(".spore/flows/careful.toml", flow);
    for role in ["researcher", "builder", "writer"] {
        env.write(&format!(".spore/agents/{role}.md"), "You do one thing.\n");
    }
    env.write_at(&env.dir().join("parts.toml"), parts);
    env
}

fn run(env: &TestEnv, args: &[&str]) -> ProgramOutput {
    let args: Vec<&str> = args.iter().chain(REPLAY).copied().collect();
    env.spore(&args)
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} of {value:#}"))
}

/// The subjects of what is on a branch beside what is at HEAD, oldest first.
fn subjects(env: &TestEnv, branch: &str) -> Vec<String> {
    let log = env.git(&["log", "--reverse", "--format=%s", &format!("HEAD..{branch}")]);
    log.lines().map(str::to_owned).collect()
}

#[test]
fn stages_build_on_each_other_on_one_branch_and_never_in_the_persons_files() {
    let env = scene(CAREFUL, &parts(r#"{ run = "cp notes/life.md answer.txt" }"#));
    env.write("kept.txt", "keep me\nand this, which is not committed\n");
    let output = run(&env, &["stage", "careful", "full", "life", "--json"]).code(0);
    let told = output.json();
    let branch = text(&told, "branch");
    assert_eq!(branch, format!("spore/flow/{}", &text(&told, "run")[18..]));
    assert_eq!(subjects(&env, branch), ["flow: NOTES life", "flow: WORK life"]);
    assert_eq!(env.git(&["show", &format!("{branch}:answer.txt")]), "it is 42");
    assert_eq!(env.git(&["rev-parse", branch]), text(&told, "commit"));
    // What is not committed is not in the base, so the check does not see it.
    let stages = told["stages"].as_array().unwrap();
    assert_eq!(text(&stages[2], "grade"), "PASS");
    assert_eq!(text(&stages[0]["artifact_mark"], "commit"), text(&stages[0], "commit"));
    // The person's files are as they were.
    assert!(!env.repo().join("notes").exists());
    assert_eq!(env.git(&["status", "--porcelain"]), " M kept.txt");
    // Every run below, with its commit.
    let shown = env.spore(&["runs", "show", text(&told, "run")]).code(0).stdout;
    for stage in &stages[..2] {
        let commit = &text(stage, "commit")[..12];
        let name = text(stage, "name");
        let line = shown.lines().find(|line| line.contains(&format!("exec {name}"))).unwrap();
        assert!(line.contains(commit), "{shown}");
        assert!(
            told["children"]
                .as_array()
                .unwrap()
                .iter()
                .any(|child| child["run"] == stage["run"] && child["commit"] == stage["commit"])
        );
    }
    assert!(shown.contains(branch), "{shown}");
}

#[test]
fn a_change_that_breaks_the_build_makes_the_check_fail() {
    let env = scene(CAREFUL, &parts(r#"{ write = "kept.txt", content = "gone\n" }"#));
    let output = run(&env, &["stage", "careful", "full", "life", "--json"]).code(10);
    let told = output.json();
    assert_eq!(text(&told["stages"][2], "grade"), "FAIL");
    // The project itself passes: the work was checked, and not the person's files.
    let _ = env.spore(&["sentinel", "--checks-only"]).code(0);
    assert_eq!(env.git(&["show", "HEAD:kept.txt"]), "keep me");
}

#[test]
fn a_stage_that_does_not_say_that_it_is_done_has_failed() {
    let broken = parts("").replace("STAGE_WORK_COMPLETE", "I could not decide.");
    let env = scene(
        CAREFUL,
        &broken.replace("steps = []", r#"steps = [{ write = "x", content = "1" }]"#),
    );
    let output = run(&env, &["stage", "careful", "full", "life", "--json"]).code(1);
    let told = output.json();
    assert_eq!(text(&told["stages"][1], "error"), "its last line is not STAGE_WORK_COMPLETE");
    assert_eq!(subjects(&env, text(&told, "branch")), ["flow: NOTES life"]);
    // What it left is under a ref, for people to look at.
    let run = text(&told["stages"][1], "run");
    let left = format!("refs/spore/{run}/left/1-1:x");
    assert_eq!(env.git(&["--git-dir=.spore/work.git", "show", &left]), "1");
}

/// Two phases that do not wait for each other.
const TWO: &str = r#"
[executors.make]
role = "builder"
[executors.write]
role = "writer"
[orchestrators.code]
stages = [{ name = "WORK", executor = "make", heal = 0, retry = 0 }]
[orchestrators.docs]
stages = [
  { name = "WORK", executor = "write", heal = 0, retry = 0 },
  { name = "MORE", executor = "make", heal = 0, retry = 0, required = true },
]
[coordinators.both]
phases = [
  { name = "code", orchestrator = "code", target = "a" },
  { name = "docs", orchestrator = "docs", target = "b" },
]
[coordinators.apart]
max_parallel = 1
phases = [
  { name = "code", orchestrator = "code", target = "a" },
  { name = "docs", orchestrator = "docs", target = "b", retry = 0, required = false },
]
"#;

fn two(builder: &str, last: &str) -> String {
    format!(
        r#"
[[session]]
role = "builder"
bounce = 1
task = "WORK a"
final = "STAGE_WORK_COMPLETE"
steps = [{{ write = "code.txt", content = "code\n" }}]

[[session]]
role = "builder"
bounce = 1
task = "MORE b"
final = "{last}"
steps = [{builder}]

[[session]]
role = "writer"
bounce = 1
final = "STAGE_WORK_COMPLETE"
steps = [{{ write = "docs.txt", content = "docs\n" }}]
"#
    )
}

#[test]
fn phases_at_once_land_one_by_one_on_one_branch() {
    let env = scene(TWO, &two("", "STAGE_MORE_COMPLETE"));
    let told = run(&env, &["phase", "both", "--json"]).code(0).json();
    let branch = text(&told, "branch");
    let names = env.git(&["ls-tree", "--name-only", "-r", branch]);
    assert!(names.contains("code.txt") && names.contains("docs.txt"), "{names}");
    assert_eq!(subjects(&env, branch).len(), 2, "{:?}", subjects(&env, branch));
    // Two stages are called WORK: their signals and files do not collide.
    for signal in ["exec-code.WORK.done", "exec-docs.WORK.done", "orch-code.done", "orch-docs.done"]
    {
        let _ = scenes::artefact(&env, &format!(".signals/{signal}"));
    }
    // The one that came second was checked on top of the first, by a run of its own.
    let merges = told["children"].as_array().unwrap().iter().filter(|one| one["kind"] == "merge");
    assert_eq!(merges.count(), 1, "{:#}", told["children"]);
}

#[test]
fn a_phase_that_fails_is_taken_back_and_a_ref_keeps_what_it_made() {
    let env = scene(TWO, &two("", "STAGE_FAILED: no idea"));
    let told = run(&env, &["phase", "apart", "--json"]).code(12).json();
    let branch = text(&told, "branch");
    assert_eq!(subjects(&env, branch), ["flow: code.WORK a"]);
    let docs = &told["phases"][1];
    assert_eq!(text(docs, "status"), "failure");
    let attempt = &docs["orchestrators"][0];
    let kept = format!("refs/spore/{}/rolled-back", text(attempt, "run"));
    assert_eq!(env.git(&["show", &format!("{kept}:docs.txt")]), "docs");
}

#[test]
fn the_whole_branch_comes_where_it_is_asked_to_be() {
    let env = scene(TWO, &two("", "STAGE_MORE_COMPLETE"));
    let output = run(&env, &["phase", "apart", "--apply", "merge"]).code(0);
    assert!(env.repo().join("code.txt").exists(), "{}", output.render());
    assert!(env.repo().join("docs.txt").exists(), "{}", output.render());
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn two_flows_in_one_second_do_not_collide() {
    let env = scene(CAREFUL, &parts(r#"{ run = "cp notes/life.md answer.txt" }"#));
    let args: Vec<&str> =
        ["stage", "careful", "full", "life", "--json"].iter().chain(REPLAY).copied().collect();
    let _ = env.spore(&["init"]);
    let first = env.start_in(&env.repo(), &args, &[]);
    let second = env.start_in(&env.repo(), &args, &[]);
    let (first, second) = (env.finish(first).code(0).json(), env.finish(second).code(0).json());
    assert_ne!(text(&first, "branch"), text(&second, "branch"));
    for told in [first, second] {
        assert_eq!(subjects(&env, text(&told, "branch")).len(), 2);
    }
}

#[test]
fn a_question_is_answered_by_resolve_and_the_answer_is_in_the_next_prompt() {
    let flow = CAREFUL.replace("prompt = \"Do what", "prompt = \"WORK: do what");
    let env = scene(&flow, &parts(""));
    // The same words are for two sessions: the one that has its answer, and before it the one that asks.
    let scenario = r#"
[[session]]
role = "researcher"
bounce = 1
final = "STAGE_NOTES_COMPLETE"
steps = [{ write = "notes/life.md", content = "it is 42\n" }]
[[session]]
role = "builder"
bounce = 1
task = "It is to be 42."
final = "STAGE_WORK_COMPLETE"
steps = [{ expect = "What a person answered" }, { write = "answer.txt", content = "42\n" }]
[[session]]
role = "builder"
bounce = 1
final = "STAGE_NEEDS_HUMAN: which number?"
"#;
    env.write_at(&env.dir().join("parts.toml"), scenario);
    let asked = run(&env, &["stage", "careful", "full", "life"]).code(3);
    assert!(asked.stdout.contains("which number?"), "{}", asked.render());
    assert!(asked.stdout.contains("spore resolve"), "{}", asked.render());
    let id = scenes::newest_id(&env);
    let without = env.spore(&["resolve", &id]).code(64);
    for answer in ["--file", "--approve", "--reject"] {
        assert!(without.stderr.contains(answer), "{}", without.render());
    }
    env.write_at(&env.dir().join("answer.md"), "It is to be 42.\n");
    let told = env.spore(&["resolve", &id, "--file", "../answer.md", "--json"]).code(0).json();
    assert_eq!(env.git(&["show", &format!("{}:answer.txt", text(&told, "branch"))]), "42");
    assert_eq!(scenes::artefact(&env, "resolutions/person-1.md"), "It is to be 42.\n");
    let over = env.spore(&["resolve", &id, "--approve"]);
    assert_ne!(over.code, 0, "{}", over.render());
}

#[test]
fn a_dry_run_tells_what_every_flag_comes_to_and_starts_nothing() {
    let env = scene(CAREFUL, &parts(""));
    env.write_at(&env.dir().join("extra.md"), "Mind the tabs.\n");
    let plain =
        run(&env, &["stage", "careful", "full", "life", "--dry-run", "--json"]).code(0).json();
    let stage = |told: &Value, at: usize| told["plan"]["plan"]["stages"][at].clone();
    assert_eq!(stage(&plain, 0)["timeout"]["secs"], 600);
    assert_eq!(stage(&plain, 0)["model"], Value::Null);
    let flags = ["--model", "medium-tier", "--timeout", "90s", "--extra-context", "../extra.md"];
    let args = [&["stage", "careful", "full", "life", "--dry-run", "--json"][..], &flags].concat();
    let told = run(&env, &args).code(0).json();
    assert_eq!(stage(&told, 1)["timeout"]["secs"], 90);
    assert_eq!(stage(&told, 1)["model"], "medium-tier");
    assert!(text(&stage(&told, 1), "prompt").contains("Mind the tabs."));
    assert!(!env.repo().join(".spore/spore.db").exists());
}

/// What is wrong with a flow file is said with its line, and nothing is paid.
#[track_caller]
fn check_refused(flow: &str, expected: &str) {
    let env = scene(flow, &parts(""));
    let output = run(&env, &["exec", "e", "A", "t"]).code(78);
    let told = output.stderr;
    assert!(told.contains(expected), "{told}");
    assert!(!env.repo().join(".spore/spore.db").exists());
}

#[test]
fn an_unknown_word_is_refused_with_its_line_before_anything_is_paid() {
    check_refused("[executors.e]\nrole = \"bilder\"\n", "careful.toml:2:");
    check_refused("[executors.e]\nrole = \"bilder\"\n", "did you mean builder?");
    check_refused(
        "[executors.e]\nrole = \"builder\"\nbackend = \"claude\"\nallowed_tools = [\"Raed\"]\n",
        "careful.toml:4:18: executors.e.allowed_tools is wrong: claude has no tool \"Raed\"; did you \
         mean Read?",
    );
    check_refused("[executors.e]\nprompt = \"{traget}\"\n", "did you mean {target}?");
    check_refused(
        "[orchestrators.o]\nstages = [{ name = \"A\", executor = \"f\" }]\n",
        "careful.toml:2:",
    );
}

#[test]
fn what_an_exec_left_is_kept_when_its_flow_is_given_up_and_then_pruned() {
    let env = scene(CAREFUL, &parts(r#"{ write = "answer.txt", content = "42\n" }"#));
    let all = [&["stage", "careful", "full", "life"], REPLAY].concat();
    let point = [("SPORE_KILL_AT", "before:row:finish WORK/1 session#1")];
    let _ = env.spore_in(&env.repo(), &all, &point).code(137);
    let id = scenes::newest_id(&env);
    let given_up = env.spore(&["runs", "abandon", &id, "--json"]).code(0).json();
    let left = given_up["left"].as_array().unwrap();
    assert_eq!(left.len(), 1, "{given_up:#}");
    assert_eq!(env.work_git(&["show", &format!("{}:answer.txt", left[0].as_str().unwrap())]), "42");
    // What the session used whose end was not seen is an estimate: the record has not what a flow's scenario said.
    let cost = &given_up["cost"];
    assert!(cost["usd"].as_f64() >= Some(0.75) && cost["estimated"] == true, "{given_up:#}");
    let pruned = env.spore(&["runs", "prune", "--json"]).code(0).json();
    assert_eq!(
        (pruned["runs"].as_array().unwrap().len(), &pruned["left"]),
        (1, &Value::from(vec![0; 0]))
    );
}
