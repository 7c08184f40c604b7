//! Data between the parts of a flow: what a stage left reaches those after it, lists and plans that
//! are made on the way, rounds, and what becomes of work that is gone.

use serde_json::{Value, json};
use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes;

const REPLAY: &[&str] = &["--backend", "replay", "--scenario", "../parts.toml"];

fn scene(flow: &str, parts: &str) -> TestEnv {
    let env = scenes::small();
    env.write(".spore/flows/data.toml", flow);
    for role in ["finder", "maker", "judge"] {
        env.write(&format!(".spore/agents/{role}.md"), "You do one thing.\n");
    }
    env.write_at(&env.dir().join("parts.toml"), parts);
    env
}

fn run(env: &TestEnv, args: &[&str]) -> ProgramOutput {
    let args: Vec<&str> = args.iter().chain(REPLAY).copied().collect();
    env.spore(&args)
}

#[track_caller]
fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_else(|| panic!("{pointer} of {value:#}"))
}

fn show(env: &TestEnv, told: &Value, file: &str) -> String {
    env.git(&["show", &format!("{}:{file}", text(told, "/branch"))])
}

/// Notes whose path reaches the stage after them, and the phase after theirs.
const HANDED_ON: &str = r#"
[executors.find]
role = "finder"
prompt = "Find out about {target}."
artifact = "notes/{target}.md"

[executors.make]
role = "maker"
prompt = "Make {target}."

[orchestrators.code]
stages = [
  { name = "NOTES", executor = "find" },
  { name = "WORK", executor = "make", prompt = "Build {target} by {stage.NOTES.artifact}, which is {stage.NOTES.status}." },
]
[orchestrators.docs]
stages = [{ name = "WORK", executor = "make" }]

[coordinators.whole]
phases = [
  { name = "code", orchestrator = "code", target = "{target}" },
  { name = "docs", orchestrator = "docs", target = "a page about {phase.code.NOTES.artifact} at {phase.code.commit}", depends_on = ["code"] },
]
"#;

const HANDED_PARTS: &str = r#"
[[session]]
role = "finder"
bounce = 1
final = "STAGE_NOTES_COMPLETE"
steps = [{ expect = "Find out about {braces}." }, { write = "notes/{braces}.md", content = "it is 42\n" }]

[[session]]
role = "maker"
task = "Build"
bounce = 1
final = "STAGE_WORK_COMPLETE"
steps = [
  { expect = "Build {braces} by notes/{braces}.md, which is success." },
  { run = "cp notes/*.md answer.txt" },
]

[[session]]
role = "maker"
task = "a page"
bounce = 1
final = "STAGE_WORK_COMPLETE"
steps = [
  { expect = "Make a page about notes/{braces}.md at " },
  { run = "cp answer.txt page.txt" },
]
"#;

#[test]
fn what_a_stage_left_reaches_the_stages_and_phases_after_it() {
    let env = scene(HANDED_ON, HANDED_PARTS);
    // What a person says is never a hole, whatever braces it has.
    let told = run(&env, &["phase", "whole", "{braces}", "--json"]).code(0).json();
    assert_eq!(show(&env, &told, "page.txt"), "it is 42");
    let docs = text(&told, "/phases/1/orchestrators/0/run");
    let shown = env.spore(&["runs", "show", docs, "--json"]).code(0).stdout;
    let commit = text(&told, "/phases/0/orchestrators/0/commit");
    assert!(shown.contains(&format!("a page about notes/{{braces}}.md at {commit}")), "{shown}");
    let none = run(&env, &["phase", "whole"]).code(64);
    assert!(none.stderr.contains("spore phase whole TARGET"), "{}", none.render());
}

/// A list that is made on the way, a part for each of its things, and the checks on all.
const EACH: &str = r#"
[executors.find]
role = "finder"
artifact = "list.md"

[executors.make]
role = "maker"

[orchestrators.all]
stages = [
  { name = "LIST", executor = "find" },
  { name = "WRITE", executor = "make", target = "{item} of {target}", artifact = "out/{item}.md", each = "{stage.LIST.artifact}", max_parallel = 3 },
  { name = "SUM", executor = "make", target = "{stage.WRITE.artifact}" },
  { name = "CHECK", executor = "sentinel" },
]
"#;

const EACH_PARTS: &str = r#"
[[session]]
role = "finder"
bounce = 1
cost_usd = 0.25
final = "STAGE_LIST_COMPLETE"
steps = [{ write = "list.md", content = "- red\n- red\n" }]

[[session]]
role = "finder"
bounce = 2
cost_usd = 0.25
final = "STAGE_LIST_COMPLETE"
steps = [
  { expect = "what it left cannot be used: list.md:2: one of the things is there twice" },
  { write = "list.md", content = "\n# Colours\n\n- red\n- green\n- blue\n- grey\n" },
]

[[session]]
role = "maker"
task = "SUM"
bounce = 1
cost_usd = 0.25
final = "STAGE_SUM_COMPLETE"
steps = [{ expect = "out/red.md, out/green.md, out/blue.md, out/grey.md" }, { run = "cat out/*.md > sum.txt" }]
"#;

fn colour(name: &str, bounce: u32, steps: &str) -> String {
    format!(
        r#"
[[session]]
role = "maker"
task = "WRITE {name} of sky"
bounce = {bounce}
cost_usd = 0.25
final = "STAGE_WRITE_COMPLETE"
steps = [{steps}]
"#
    )
}

fn colours(steps: impl Fn(&str) -> String) -> String {
    ["red", "green", "blue", "grey"].iter().map(|name| colour(name, 1, &steps(name))).collect()
}

#[test]
fn a_stage_is_done_for_each_thing_of_a_list_and_its_parts_are_joined() {
    let own = |name: &str| format!(r#"{{ write = "out/{name}.md", content = "{name}\n" }}"#);
    let env = scene(EACH, &format!("{EACH_PARTS}{}", colours(own)));
    let told = run(&env, &["stage", "all", "full", "sky", "--json"]).code(0).json();
    assert_eq!(show(&env, &told, "sum.txt"), "blue\ngreen\ngrey\nred");
    assert_eq!(told["stages"][0]["attempts"], 2);
    let parts = told["stages"][1]["parts"].as_array().unwrap();
    let names: Vec<&str> = parts.iter().map(|part| text(part, "/name")).collect();
    assert_eq!(names, ["red", "green", "blue", "grey"]);
    assert_eq!(told["cost"]["usd"], 1.75);
    assert_eq!(text(&told, "/stages/3/grade"), "PASS");
    // A commit for each, and each part is a run of its own.
    let log = env.git(&["log", "--format=%s", &format!("HEAD..{}", text(&told, "/branch"))]);
    assert_eq!(log.lines().filter(|line| line.starts_with("flow: WRITE")).count(), 4, "{log}");
    let dir = env.repo().join(text(&told, "/directory")).join(".signals");
    for part in 1..=4 {
        assert!(dir.join(format!("exec-WRITE.{part}.done")).exists(), "{}", dir.display());
    }
}

#[test]
fn parts_that_change_the_same_lines_are_run_again_on_each_other() {
    let both = |name: &str| {
        format!(
            r#"{{ run = "mkdir -p out && echo {name} > out/{name}.md && echo {name} >> answer.txt" }}"#
        )
    };
    let again = |name: &str| format!(r#"{{ expect = "answer.txt" }}, {}"#, both(name));
    let mut parts = format!("{EACH_PARTS}{}", colours(both));
    for name in ["red", "green", "blue", "grey"] {
        for bounce in 2..=4 {
            parts.push_str(&colour(name, bounce, &again(name)));
        }
    }
    let env = scene(EACH, &parts);
    let told = run(&env, &["stage", "all", "full", "sky", "--json"]).code(0).json();
    let mut lines: Vec<String> =
        show(&env, &told, "answer.txt").lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["41", "blue", "green", "grey", "red"]);
}

/// Three things, of which the second cannot be done as it is asked for.
const SOME: &str = r#"
[executors.make]
role = "maker"
[orchestrators.o]
stages = [{ name = "WRITE", executor = "make", each = ["red", "green", "blue"], target = "{item} of {target}", artifact = "out/{item}.md", heal = 1, retry = 1 }]
[coordinators.c]
phases = [{ name = "p", orchestrator = "o", target = "sky", retry = 1 }]
"#;

fn some_parts(second: &str) -> String {
    let own = |name: &str| format!(r#"{{ write = "out/{name}.md", content = "{name}\n" }}"#);
    let good = ["red", "blue"].map(|name| colour(name, 1, &own(name)));
    format!("{}{second}", good.concat())
}

#[test]
fn what_some_parts_made_stays_although_another_fails_and_none_is_tried_too_often() {
    let fails = |bounce: u32| {
        colour("green", bounce, "").replace("STAGE_WRITE_COMPLETE", "STAGE_FAILED: no green")
    };
    let parts = some_parts(&(1..=4).map(fails).collect::<String>());
    let env = scene(SOME, &parts);
    let told = run(&env, &["stage", "o", "full", "sky", "--json"]).code(12).json();
    let files = env.git(&["ls-tree", "-r", "--name-only", text(&told, "/branch")]);
    assert!(files.contains("out/red.md") && files.contains("out/blue.md"), "{files}");
    let tries: Vec<&Value> = told["stages"][0]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| &part["attempts"])
        .collect();
    assert_eq!(tries, [1, 3, 1], "{told:#}");
    // Those that hold were paid for once, and the other as often as it was tried.
    assert_eq!(told["cost"]["usd"], 1.25, "{told:#}");
    assert_eq!(told["stages"][0]["commit"], told["commit"]);
    // Four attempts at each are all, whichever layer tries again: a phase has one more.
    let env = scene(SOME, &parts);
    let told = run(&env, &["phase", "c", "--json"]).code(12).json();
    let log = env.spore(&["runs", "show", text(&told, "/run"), "--json"]).code(0).json();
    let green = log["parts"].as_array().unwrap().iter();
    let green = green.filter(|part| part["name"] == "p.WRITE.2").count();
    assert_eq!(green, 4, "{log:#}");
}

#[test]
fn a_part_that_asks_is_answered_and_the_others_are_not_done_again() {
    let asks = colour("green", 1, "")
        .replace("STAGE_WRITE_COMPLETE", "STAGE_NEEDS_ESCALATION: which green?");
    let answered = colour("green", 1, r#"{ write = "out/green.md", content = "dark\n" }"#)
        .replace("task = \"WRITE green of sky\"", "task = \"Approved: go on.\"");
    let env = scene(SOME, &some_parts(&format!("{answered}{asks}")));
    let told = run(&env, &["stage", "o", "full", "sky", "--json"]).code(11).json();
    assert_eq!(told["questions"].as_array().unwrap().len(), 1, "{told:#}");
    let told = env.spore(&["resolve", text(&told, "/run"), "--approve", "--json"]).code(0).json();
    assert_eq!(show(&env, &told, "out/green.md"), "dark");
    assert_eq!(told["cost"]["usd"], 1.0, "{told:#}");
}

/// A judge that is not content with the first notes.
const ROUNDS: &str = r#"
[executors.find]
role = "finder"
artifact = "notes.md"

[executors.judge]
role = "judge"
artifact = "verdict.md"

[orchestrators.research]
stages = [
  { name = "FIND", executor = "find" },
  { name = "JUDGE", executor = "judge", until = "ENOUGH", from = "FIND", max_rounds = 3 },
]
"#;

fn rounds(enough: &str) -> String {
    format!(
        r#"
[[session]]
role = "finder"
task = "JUDGE does not say ENOUGH in round"
bounce = 1
final = "STAGE_FIND_COMPLETE"
steps = [{{ expect = "say more about blue" }}, {{ run = "echo more >> notes.md" }}]

[[session]]
role = "finder"
bounce = 1
final = "STAGE_FIND_COMPLETE"
steps = [{{ write = "notes.md", content = "first\n" }}]

[[session]]
role = "judge"
bounce = 1
final = "STAGE_JUDGE_COMPLETE"
steps = [{{ run = "if [ $(wc -l < notes.md) -ge {enough} ]; then echo ENOUGH; else echo 'say more about blue'; fi > verdict.md" }}]
"#
    )
}

#[test]
pub(crate) fn a_stage_is_repeated_until_it_says_that_it_is_enough() {
    let env = scene(ROUNDS, &rounds("3"));
    let told = run(&env, &["stage", "research", "full", "sky", "--json"]).code(0).json();
    assert_eq!(show(&env, &told, "notes.md"), "first\nmore\nmore");
    assert_eq!(told["stages"][0]["rounds"], 3);
    assert_eq!(told["stages"][1]["rounds"], 3);
    let env = scene(ROUNDS, &rounds("9"));
    let told = run(&env, &["stage", "research", "full", "sky", "--json"]).code(10).json();
    assert_eq!(text(&told, "/stages/1/error"), "it does not say ENOUGH after 3 rounds");
    // What was found until then stays on the branch.
    assert_eq!(show(&env, &told, "notes.md"), "first\nmore\nmore");
}

/// A plan that a stage makes, within what the flow files define.
const PLANNED: &str = r#"
[executors.split]
role = "finder"
artifact = "plan.toml"

[executors.make]
role = "maker"
actions = ["WRITE"]

[orchestrators.big]
stages = [
  { name = "SPLIT", executor = "split", heal = 1, retry = 0 },
  { name = "BUILD", executor = "planned", plan = "{stage.SPLIT.artifact}", max_stages = 2 },
  { name = "CHECK", executor = "sentinel" },
]
"#;

fn planned(first: &str, second: &str) -> String {
    format!(
        r#"
[[session]]
role = "finder"
bounce = 1
final = "STAGE_SPLIT_COMPLETE"
steps = [{{ write = "plan.toml", content = '''{first}''' }}]

[[session]]
role = "finder"
bounce = 2
final = "STAGE_SPLIT_COMPLETE"
steps = [{{ expect = "plan.toml:" }}, {{ write = "plan.toml", content = '''{second}''' }}]

[[session]]
role = "maker"
task = "WRITE one"
bounce = 1
final = "STAGE_WRITE_COMPLETE"
steps = [{{ write = "one.txt", content = "1\n" }}]

[[session]]
role = "maker"
task = "WRITE two by one.txt"
bounce = 1
final = "STAGE_WRITE_COMPLETE"
steps = [{{ run = "cp one.txt two.txt" }}]
"#
    )
}

const GOOD_PLAN: &str = r#"
[[stages]]
name = "first"
executor = "make"
action = "WRITE"
target = "one"
artifact = "one.txt"
[[stages]]
name = "second"
executor = "make"
action = "WRITE"
target = "two by {stage.first.artifact}"
"#;

#[test]
pub(crate) fn a_plan_that_a_stage_made_is_run_after_it_was_refused_with_its_line() {
    let wrong = "[[stages]]\nname = \"x\"\nexecutor = \"make\"\naction = \"DELETE\"\n";
    let env = scene(PLANNED, &planned(wrong, GOOD_PLAN));
    let told = run(&env, &["stage", "big", "full", "sky", "--json"]).code(0).json();
    assert_eq!(show(&env, &told, "two.txt"), "1");
    assert_eq!(told["stages"][0]["attempts"], 2);
    let parts = told["stages"][1]["parts"].as_array().unwrap();
    let names: Vec<&str> = parts.iter().map(|part| text(part, "/name")).collect();
    assert_eq!(names, ["first", "second"]);
    assert_eq!(text(&told, "/stages/2/grade"), "PASS");
}

#[test]
pub(crate) fn a_plan_says_neither_who_works_nor_with_what_and_is_not_endless() {
    let plans = [
        ("[[stages]]\nname = \"x\"\nexecutor = \"make\"\nbackend = \"claude\"\n", "plan.toml:4:1"),
        ("[executors.own]\nrole = \"maker\"\n", "plan.toml:1:"),
        ("[[stages]]\nname = \"x\"\nexecutor = \"planned\"\n", "plan.toml:3:1"),
        ("stages = []\n", "plan.toml:1:1: stages needs at least one stage"),
        ("this is no plan", "plan.toml:1:6: this is not TOML"),
        (
            "stages = [\n{name=\"a\",executor=\"make\"},\n{name=\"b\",executor=\"make\"},\n\
             {name=\"c\",executor=\"make\"}]\n",
            "plan.toml:4:1: stages has 3 stages; at most 2 are run",
        ),
        (
            "[[stages]]\nname=\"x\"\nexecutor=\"make\"\naction=\"WRITE\"\nartifact=\"../x\"\n",
            "is not inside the project",
        ),
    ];
    for (plan, why) in plans {
        let env = scene(PLANNED, &planned(plan, plan));
        let told = run(&env, &["stage", "big", "full", "sky", "--json"]).code(1).json();
        let error = text(&told, "/stages/0/error");
        assert!(error.contains(why), "{plan}\n{error}");
        assert_eq!(told["stages"][1]["status"], "skipped");
    }
}

/// A stage whose work is done, and one that asks a person.
const ASKS: &str = r#"
[executors.find]
role = "finder"
artifact = "notes.md"
[executors.make]
role = "maker"
[orchestrators.two]
stages = [
  { name = "FIND", executor = "find" },
  { name = "WORK", executor = "make" },
]
"#;

const ASKS_PARTS: &str = r#"
[[session]]
role = "finder"
bounce = 1
cost_usd = 0.25
final = "STAGE_FIND_COMPLETE"
steps = [{ write = "notes.md", content = "found\n" }]

[[session]]
role = "maker"
task = "What a person answered"
bounce = 1
cost_usd = 0.125
final = "STAGE_WORK_COMPLETE"
steps = [{ run = "cp notes.md answer.txt" }]

[[session]]
role = "maker"
bounce = 1
cost_usd = 0.125
final = "STAGE_NEEDS_HUMAN: may I?"
"#;

#[test]
fn what_is_there_when_a_flow_goes_on_is_not_done_again() {
    let env = scene(ASKS, ASKS_PARTS);
    let told = run(&env, &["stage", "two", "full", "sky", "--json"]).code(3).json();
    let id = text(&told, "/run").to_owned();
    let told = env.spore(&["resolve", &id, "--approve", "--json"]).code(0).json();
    assert_eq!(show(&env, &told, "answer.txt"), "found");
    assert_eq!(told["stages"][0]["rounds"], Value::Null);
    assert_eq!(told["cost"]["usd"], 0.5);
}

/// Work that stands on work: notes, a copy of them, the checks, and a stage that asks.
const STANDS: &str = r#"
[executors.find]
role = "finder"
artifact = "notes.md"
[executors.make]
role = "maker"
[orchestrators.first]
stages = [
  { name = "FIND", executor = "find" },
  { name = "COPY", executor = "make" },
  { name = "CHECK", executor = "sentinel" },
]
[orchestrators.last]
stages = [{ name = "WORK", executor = "make" }]
[orchestrators.all]
stages = [
  { name = "FIND", executor = "find" },
  { name = "COPY", executor = "make" },
  { name = "CHECK", executor = "sentinel" },
  { name = "WORK", executor = "make" },
]
[orchestrators.each]
stages = [{ name = "WORK", executor = "make", each = ["FIND", "COPY", "ASK"], target = "{item}", max_parallel = 1 }]
[coordinators.phases]
phases = [
  { name = "first", orchestrator = "first", target = "sky" },
  { name = "last", orchestrator = "last", target = "sky", depends_on = ["first"] },
]
"#;

/// What is found differs from the second time on, so that it is seen what stands on what.
fn stands_parts() -> String {
    let find =
        r#"{ run = "if test -e $HOME/again; then echo second; else echo first; fi > notes.md" }"#;
    let part = |role: &str, task: &str, last: &str, steps: &str| {
        format!(
            "[[session]]\nrole = \"{role}\"\nbounce = 1\ntask = \"{task}\"\ncost_usd = 0.25\n\
             final = \"{last}\"\nsteps = [{steps}]\n"
        )
    };
    let copy = r#"{ run = "cp notes.md copy.md" }"#;
    let work = r#"{ expect = "What a person answered" }, { run = "cp copy.md answer.txt" }"#;
    let all = [
        part("maker", "What a person answered", "STAGE_WORK_COMPLETE", work),
        part("finder", "FIND sky", "STAGE_FIND_COMPLETE", find),
        part("maker", "COPY sky", "STAGE_COPY_COMPLETE", copy),
        part("maker", "WORK sky", "STAGE_NEEDS_HUMAN: may I?", ""),
        part("maker", "WORK FIND", "STAGE_WORK_COMPLETE", find),
        part("maker", "WORK COPY", "STAGE_WORK_COMPLETE", copy),
        part("maker", "WORK ASK", "STAGE_NEEDS_HUMAN: may I?", ""),
    ]
    .concat();
    // A part of several that is done again is another attempt.
    format!("{all}{}", all.replace("bounce = 1", "bounce = 2"))
}

/// Takes everything from git that only a flow refers to.
fn forget_work(env: &TestEnv) {
    for dir in [".git", ".spore/work.git"] {
        let dir = format!("--git-dir={dir}");
        let listed = env.git(&[&dir, "for-each-ref", "--format=%(refname)"]);
        let own = |name: &&str| name.starts_with("refs/spore/") || name.contains("/spore/");
        for name in listed.lines().filter(own) {
            env.git(&[&dir, "update-ref", "-d", name]);
        }
        env.git(&[&dir, "reflog", "expire", "--expire=now", "--all"]);
        env.git(&[&dir, "prune", "--expire=now"]);
        env.git(&[&dir, "gc", "--quiet", "--prune=now"]);
    }
}

#[test]
fn what_is_gone_when_a_flow_goes_on_is_done_again_and_so_is_all_that_stands_on_it() {
    let cases: [(&[&str], &[&str]); 3] = [
        (&["stage", "all", "full", "sky"], &["FIND", "COPY", "CHECK", "WORK"]),
        (&["stage", "each", "full", "sky"], &["WORK.1", "WORK.2"]),
        (&["phase", "phases"], &["first", "last"]),
    ];
    for (args, pending) in cases {
        let env = scene(STANDS, &stands_parts());
        let told = run(&env, &[args, &["--json"]].concat()).code(3).json();
        let (id, commit) = (text(&told, "/run").to_owned(), told["commit"].clone());
        let commits = env.git(&[
            "--git-dir=.spore/work.git",
            "cat-file",
            "--batch-check",
            "--batch-all-objects",
        ]);
        assert!(commits.contains(" commit "), "{commits}");
        forget_work(&env);
        if let Some(commit) = commit.as_str() {
            let there = env.command("git", &env.repo()).args(["cat-file", "-e", commit]).output();
            assert!(!there.unwrap().status.success(), "{commit} can still be reached");
        }
        std::fs::write(env.dir().join("home/again"), "").unwrap();
        let again = env.spore(&["resolve", &id, "--approve"]);
        for name in pending {
            assert!(again.stderr.contains(&format!("[{name}] PENDING")), "{}", again.render());
        }
        // What asked on ground that is gone asks once more, and nothing else does.
        let told = match again.code {
            0 => scenes::newest(&env),
            _ => {
                assert_eq!(again.code, 3, "{}", again.render());
                env.spore(&["resolve", &id, "--approve", "--json"]).code(0).json()
            }
        };
        let branch = format!("spore/flow/{}", &id[18..]);
        assert_eq!(env.git(&["show", &format!("{branch}:answer.txt")]), "second", "{told:#}");
        let open = env.spore(&["runs", "show", &id, "--json"]).code(0).json();
        assert_eq!(open["status"], "finished");
    }
}

#[test]
fn a_flow_is_run_for_the_project_of_another_directory() {
    let env = scene(ASKS, &ASKS_PARTS.replace("STAGE_NEEDS_HUMAN: may I?", "STAGE_WORK_COMPLETE"));
    let cwd = env.repo().display().to_string();
    let elsewhere = env.dir().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let flags = ["stage", "two", "full", "sky", "--json", "--cwd", &cwd];
    let output = env.spore_in(&elsewhere, &[&flags[..], REPLAY].concat(), &[]).code(0);
    assert_eq!(show(&env, &output.json(), "notes.md"), "found");
    let wrong =
        env.spore_in(&elsewhere, &["stage", "two", "full", "x", "--cwd", "nowhere"], &[]).code(64);
    assert!(wrong.stderr.contains("there is no directory nowhere"), "{}", wrong.render());
}

#[test]
fn the_files_of_a_flow_go_where_the_call_wants_them() {
    let env = scene(ASKS, ASKS_PARTS);
    let flags = ["stage", "two", "full", "sky", "--json", "--session-dir", "../session"];
    let told = run(&env, &flags).code(3).json();
    let dir = env.dir().join("session");
    assert!(dir.join(".signals/exec-FIND.done").exists());
    let _ = env.spore(&["resolve", text(&told, "/run"), "--approve", "--json"]).code(0);
    for file in [".trace", ".live-report", "manifest.json", "resolutions/person-1.md"] {
        assert!(dir.join(file).exists(), "{file}");
    }
    assert!(
        !env.repo().join(format!(".spore/runs/{}/manifest.json", text(&told, "/run"))).exists()
    );
    let taken = run(&env, &flags).code(64);
    assert!(taken.stderr.contains("is not empty"), "{}", taken.render());
}

/// The shapes of other tools: one orchestrator or coordinator a file, with their words.
const OSPEC_JSON: &str = r#"{
  "name": "ospec",
  "description": "spec work",
  "executor": "spec.py",
  "modifiers": {
    "full": { "stages": [
      { "name": "RESEARCH", "model": "medium-tier", "retry": 1 },
      { "name": "build", "args": ["IMPLEMENT"], "model": "high-tier", "timeout": 60, "required": true }
    ] },
    "leanest": { "stages": [{ "name": "IMPLEMENT", "retry": 0 }] }
  }
}"#;
const COORDINATOR_JSON: &str = r#"{
  "phases": [
    { "name": "one", "orchestrator": "ospec.py", "modifier": "full", "target": "sky" },
    { "name": "two", "orchestrator": "ospec", "modifier": "leanest", "target": "sea", "depends_on": ["one"] }
  ]
}"#;
const SPEC_TOML: &str = r#"
[executors.spec]
role = "maker"
actions = ["RESEARCH", "IMPLEMENT"]
"#;
const SPEC_PARTS: &str = r#"
[[session]]
role = "maker"
task = "RESEARCH"
bounce = 1
final = "STAGE_RESEARCH_COMPLETE"
[[session]]
role = "maker"
task = "IMPLEMENT"
bounce = 1
final = "STAGE_IMPLEMENT_COMPLETE"
"#;

#[test]
pub(crate) fn configs_of_other_tools_run_as_they_are_and_are_refused_with_their_line() {
    let env = scene(SPEC_TOML, SPEC_PARTS);
    env.write(".spore/flows/ospec.json", OSPEC_JSON);
    env.write(".spore/flows/big.json", COORDINATOR_JSON);
    let dry = run(&env, &["stage", "ospec", "full", "sky", "--dry-run", "--json"]).code(0).json();
    let stages = &dry["plan"]["plan"]["stages"];
    assert_eq!(stages[0]["model"], "medium-tier");
    assert_eq!(stages[1]["action"], "IMPLEMENT");
    assert_eq!(stages[1]["timeout"], json!({ "secs": 60, "nanos": 0 }));
    let told = run(&env, &["phase", "big", "--json"]).code(0).json();
    assert_eq!(told["summary"]["passed"], 2);
    for (wrong, why) in [
        (OSPEC_JSON.replace("\"retry\": 0", "\"retrie\": 0"), "ospec.json:10:52"),
        (OSPEC_JSON.replace("\"IMPLEMENT\", \"ret", "\"IMPLEMENTED\", \"ret"), "ospec.json:10:"),
        (OSPEC_JSON.replace("spec.py", "speck.py"), "did you mean spec?"),
        (OSPEC_JSON.replace("[\"IMPLEMENT\"]", "[\"IMPLEMENT\", \"x\"]"), "ospec.json:8:"),
        (
            OSPEC_JSON.replace("},\n    \"leanest", "}\n    \"leanest"),
            "this is not JSON: expected `}`",
        ),
    ] {
        env.write(".spore/flows/ospec.json", &wrong);
        let refused = run(&env, &["stage", "ospec", "full", "sky"]).code(78);
        assert!(refused.stderr.contains(why), "{why}\n{}", refused.render());
    }
}

#[test]
fn flows_of_one_second_and_stages_of_one_name_do_not_collide() {
    let env = scene(SPEC_TOML, SPEC_PARTS);
    env.write(".spore/flows/ospec.json", OSPEC_JSON);
    let both = COORDINATOR_JSON
        .replace("\"leanest\"", "\"full\"")
        .replace(", \"depends_on\": [\"one\"]", "");
    env.write(".spore/flows/big.json", &both);
    let args = [&["phase", "big", "--json"], REPLAY].concat();
    let started = || env.start_in(&env.repo(), &args, &[]);
    let flows = [started(), started(), started()];
    let mut seen = std::collections::BTreeSet::new();
    for flow in flows {
        let told = env.finish(flow).code(0).json();
        assert!(seen.insert(text(&told, "/directory").to_owned()));
        let dir = env.repo().join(text(&told, "/directory")).join(".signals");
        for name in ["exec-one.RESEARCH", "exec-two.RESEARCH", "exec-one.build", "exec-two.build"] {
            let signal = std::fs::read_to_string(dir.join(format!("{name}.done"))).unwrap();
            assert!(signal.contains(text(&told, "/trace_id")), "{signal}");
        }
    }
}
