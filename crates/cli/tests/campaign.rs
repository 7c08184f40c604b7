//! Campaigns: research, a plan that a person looks at, phases, healing and an evaluation.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]
#![expect(clippy::print_stdout, reason = "what was tried is worth knowing")]

use serde_json::{Value, json};
use spore_testkit::kill::{CommandTraits, KillTarget, matrix_of};
use spore_testkit::{ProgramOutput, TestEnv};

use crate::kill_matrix::asked_for;
use crate::scenes;

/// Two domains, a judge who is not content at first, a roadmap, a decomposer, a look at the plan, and
/// an evaluator; phases whose one stage may fail.
pub(crate) const FLOW: &str = r#"
[executors.look]
role = "researcher"
prompt = "Find out what {target} needs."

[executors.join]
role = "research-consolidator"
prompt = "Make one account of what {target} needs."

[executors.enough]
role = "sufficiency-judge"
prompt = "Is this enough to plan {target}?"

[executors.road]
role = "roadmap-writer"
prompt = "Write the roadmap of {target}."

[executors.split]
role = "decomposer"
prompt = "Split {target} into phases."

[executors.rate]
role = "evaluator"
prompt = "Hold {target} to what was promised."

[executors.make]
role = "builder"
prompt = "Make {target}."

[orchestrators.careful]
description = "one session, tried twice"
stages = [{ name = "WORK", executor = "make", heal = 1, retry = 0 }]

[orchestrators.once]
stages = [{ name = "WORK", executor = "make", heal = 0, retry = 0 }]

[campaigns.feature]
description = "something new"
domains = [
  { name = "code", executor = "look" },
  { name = "use", executor = "look", prompt_file = "prompts/use.md" },
]
consolidator = "join"
judge = "enough"
max_rounds = 2
max_parallel = 1
roadmap = "road"
decomposer = "split"
max_phases = 3
review = true
heal = 2
evaluator = "rate"
budget_usd = 9
"#;

const PHASES: &str = r#"[[phases]]
name = "notes"
orchestrator = "careful"
target = "the notes"

[[phases]]
name = "build"
orchestrator = "once"
target = "the answer"
depends_on = ["notes"]
"#;

const SHIP: &str = r#"
[[phases]]
name = "ship"
target = "the parcel"
depends_on = ["build"]
stages = [{ name = "WORK", executor = "make" }]
"#;

/// The first round is not enough, the first plan lacks a phase, the notes fail at first, the answer
/// spoils a file at first, and the parcel fails until it is healed.
const PARTS: &str = r#"
[[session]]
role = "researcher"
bounce = 1
task = "who calls it"
cost_usd = 0.125
final = "STAGE_RESEARCH_COMPLETE"
steps = [
  { write = "notes/feature/research-code.md", content = "code, again\n" },
  { write = "notes/feature/research-use.md", content = "use, again\n" },
]

[[session]]
role = "researcher"
bounce = 1
task = "Who uses tabs?"
cost_usd = 0.125
final = "STAGE_RESEARCH_COMPLETE"
steps = [{ write = "notes/feature/research-use.md", content = "use\n" }]

[[session]]
role = "researcher"
bounce = 1
cost_usd = 0.125
final = "STAGE_RESEARCH_COMPLETE"
steps = [{ write = "notes/feature/research-code.md", content = "code\n" }]

[[session]]
role = "research-consolidator"
bounce = 1
cost_usd = 0.125
final = "STAGE_CONSOLIDATE_COMPLETE"
steps = [
  { expect = "notes/feature/research-use.md" },
  { write = "notes/feature/research.md", content = "all of it\n" },
]

[[session]]
role = "sufficiency-judge"
bounce = 1
task = "who calls it"
cost_usd = 0.0625
final = '''<sufficiency>{"sufficient": true, "gaps": [], "reason": "it is known now"}</sufficiency>
STAGE_JUDGE_COMPLETE'''

[[session]]
role = "sufficiency-judge"
bounce = 1
cost_usd = 0.0625
final = '''<sufficiency>{"sufficient": false, "gaps": ["who calls it: look at the tests"]}</sufficiency>
STAGE_JUDGE_COMPLETE'''

[[session]]
role = "roadmap-writer"
bounce = 1
task = "Ship it, too."
cost_usd = 0.25
final = "STAGE_ROADMAP_COMPLETE"
steps = [{ write = "notes/feature/roadmap.md", content = "notes, build, ship\n" }]

[[session]]
role = "roadmap-writer"
bounce = 1
cost_usd = 0.25
final = "STAGE_ROADMAP_COMPLETE"
steps = [
  { expect = "notes/feature/research.md" },
  { write = "notes/feature/roadmap.md", content = "notes, build\n" },
]

[[session]]
role = "decomposer"
bounce = 1
task = "Ship it, too."
cost_usd = 0.125
final = "STAGE_DECOMPOSE_COMPLETE"
steps = [{ write = "notes/feature/phases.toml", content = '''@SECOND@''' }]

[[session]]
role = "decomposer"
bounce = 1
cost_usd = 0.125
final = "STAGE_DECOMPOSE_COMPLETE"
steps = [
  { expect = "- careful (full): one session, tried twice" },
  { write = "notes/feature/phases.toml", content = '''[[phases]]
name = "notes"
orchestrator = "carefull"
target = "the notes"
''' },
]

[[session]]
role = "decomposer"
bounce = 2
cost_usd = 0.125
final = "STAGE_DECOMPOSE_COMPLETE"
steps = [
  { expect = "phases.toml:3" },
  { write = "notes/feature/phases.toml", content = '''@FIRST@''' },
]

[[session]]
role = "builder"
bounce = 1
task = "Make the notes."
cost_usd = 0.25
final = "STAGE_FAILED: no paper"

[[session]]
role = "builder"
bounce = 2
task = "Make the notes."
cost_usd = 0.25
final = "STAGE_WORK_COMPLETE"
steps = [{ expect = "no paper" }, { write = "notes.md", content = "notes\n" }]

[[session]]
role = "builder"
bounce = 1
task = "build was run before"
cost_usd = 0.5
final = "STAGE_WORK_COMPLETE"
steps = [{ write = "answer.txt", content = "42\n" }]

[[session]]
role = "builder"
bounce = 1
task = "Make the answer."
cost_usd = 0.5
final = "STAGE_WORK_COMPLETE"
steps = [
  { write = "answer.txt", content = "43\n" },
  { write = "kept.txt", content = "gone\n" },
]

[[session]]
role = "builder"
bounce = 1
task = "ship was run before"
cost_usd = 0.25
final = "STAGE_WORK_COMPLETE"
steps = [{ run = "cp answer.txt parcel.txt" }]

[[session]]
role = "builder"
bounce = 1
task = "Make the parcel."
cost_usd = 0.25
final = "STAGE_FAILED: no string"

[[session]]
role = "builder"
bounce = 2
task = "Make the parcel."
cost_usd = 0.25
final = "STAGE_FAILED: no string"

[[session]]
role = "builder"
bounce = 3
cost_usd = 0.25
final = "STAGE_FAILED: no string"

[[session]]
role = "builder"
bounce = 4
cost_usd = 0.25
final = "STAGE_FAILED: no string"

[[session]]
role = "evaluator"
bounce = 1
cost_usd = 0.125
final = '''@EVALUATION@
STAGE_EVALUATE_COMPLETE'''
"#;

/// The same with what the evaluator says.
pub(crate) fn parts(evaluation: &str) -> String {
    PARTS
        .replace("@FIRST@", PHASES)
        .replace("@SECOND@", &format!("{PHASES}{SHIP}"))
        .replace("@EVALUATION@", evaluation)
}

pub(crate) const PASS: &str = r#"<evaluation>{"verdict": "pass", "criteria": [{"criterion": "the answer is 42", "met": true, "evidence": "answer.txt:1"}]}</evaluation>"#;

pub(crate) const REPLAY: &[&str] = &["--backend", "replay", "--scenario", "../parts.toml"];
const RUN: &[&str] =
    &["campaign", "run", "feature", "tabs", "--backend", "replay", "--scenario", "../parts.toml"];

pub(crate) fn scene_with(flow: &str, parts: &str) -> TestEnv {
    let env = scenes::small();
    env.write(".spore/flows/feature.toml", flow);
    env.write(".spore/agents/builder.md", "You do one thing.\n");
    env.write("prompts/use.md", "Who uses {target}?\n");
    env.write_at(&env.dir().join("parts.toml"), parts);
    env
}

fn scene() -> TestEnv {
    scene_with(FLOW, &parts(PASS))
}

fn run(env: &TestEnv, args: &[&str]) -> ProgramOutput {
    env.spore(&[args, REPLAY].concat())
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} of {value:#}"))
}

/// What became of each phase, a line each.
fn lines(told: &Value) -> Vec<String> {
    let line = |one: &Value| {
        let grade = one["sentinel_grade"].as_str().unwrap_or("-");
        format!("{} {} ×{} {grade}", text(one, "phase"), text(one, "status"), one["attempts"])
    };
    told["phases"].as_array().unwrap().iter().map(line).collect()
}

/// Looks at the first plan and wants more, and is content with the second.
fn look(env: &TestEnv) {
    for _ in 0..4 {
        let shown = scenes::newest(env);
        if shown["status"] != "parked:human" {
            return;
        }
        let id = text(&shown["run"], "id").to_owned();
        let second = env.repo().join(".spore/runs").join(&id).join("review-2.md");
        let _ = match second.exists() {
            true => env.spore(&["resolve", &id, "--approve"]),
            false => env.spore(&["resolve", &id, "--reject", "Ship it, too."]),
        };
    }
}

#[test]
fn a_campaign_of_three_phases_comes_to_its_end_past_all_that_goes_wrong() {
    let env = scene();
    let asked = run(&env, &["campaign", "run", "feature", "tabs", "--json"]).code(3).json();
    let id = text(&asked, "run").to_owned();
    assert_eq!(lines(&asked), ["notes pending ×0 -", "build pending ×0 -"]);
    assert_eq!((&asked["research_rounds"], &asked["revision"]), (&json!(2), &json!(1)));
    let next = text(&asked["next"], "command");
    assert!(next.contains("spore resolve") && next.contains("--approve"), "{asked:#}");
    let review = scenes::artefact(&env, "review-1.md");
    assert!(
        review.contains("- build (waits for notes)") && review.contains("notes, build"),
        "{review}"
    );
    // To go on without an answer asks no model again and costs nothing.
    let before = scenes::newest(&env)["cost"]["usd"].clone();
    let _ = env.spore(&["campaign", "resume", &id]).code(3);
    assert_eq!(scenes::newest(&env)["cost"]["usd"], before);

    let again = env.spore(&["resolve", &id, "--reject", "Ship it, too.", "--json"]).code(3).json();
    assert_eq!(lines(&again).len(), 3, "{again:#}");
    assert_eq!(again["revision"], 2);
    let shown = env.spore(&["campaign", "status", &id]).code(0);
    insta::assert_snapshot!("campaign_status_parked", scenes::plain(&shown.stdout));

    let told = env.spore(&["resolve", &id, "--approve", "--json"]).code(0).json();
    assert_eq!(
        lines(&told),
        ["notes complete ×1 PASS", "build complete ×1 PASS", "ship complete ×2 PASS"],
        "{told:#}"
    );
    assert_eq!((&told["heal_rounds"], &told["evaluation"]["passed"]), (&json!(1), &json!(true)));
    let branch = text(&told, "branch");
    assert_eq!(env.git(&["show", &format!("{branch}:parcel.txt")]), "42");
    assert_eq!(env.git(&["show", &format!("{branch}:kept.txt")]), "keep me");
    // What failed the checks is kept, and never was on the branch.
    let refs = env.git(&["for-each-ref", "--format=%(refname)", "refs/spore"]);
    let kept: Vec<&str> = refs.lines().filter(|name| name.ends_with("/rolled-back")).collect();
    assert_eq!(kept.len(), 1, "{refs}");
    assert_eq!(env.git(&["show", &format!("{}:kept.txt", kept[0])]), "gone");
    let log = env.git(&["log", "--format=%H", branch]);
    for commit in log.lines() {
        assert_eq!(env.git(&["show", &format!("{commit}:kept.txt")]), "keep me");
    }
    let signals = env.repo().join(".spore/runs").join(&id).join(".signals");
    for name in [
        "monitor-feature.done",
        "coord-ship.done",
        "coord-research.done",
        "sentinel-build.SENTINEL.done",
    ] {
        assert!(signals.join(name).is_file(), "{name}");
    }
    let report = scenes::artefact(&env, "execution-report.md");
    assert!(report.contains("| ship | complete | 2 | 0 | PASS |"), "{report}");
    let review = scenes::artefact(&env, "review-2.md");
    assert!(review.contains("- build (waits for notes): the answer\n  - once: WORK\n"), "{review}");
    let shown = env.spore(&["campaign", "status"]).code(0);
    insta::assert_snapshot!("campaign_status_over", scenes::plain(&shown.stdout));
    let listed = env.spore(&["runs", "list", "--kind", "campaign", "--json"]).code(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let _ = env.spore(&["runs", "show", &id]).code(0);
    let _ = env.spore(&["runs", "explain", &id]).code(0);
    let _ = env.spore(&["dashboard", "--json"]).code(0);
}

/// Linters warn by themselves, but no phase lands that makes one red.
#[test]
fn a_linter_that_a_phase_makes_red_keeps_it_from_landing_and_one_that_was_red_does_not() {
    let flow = r#"
[executors.make]
role = "builder"
prompt = "Make {target}."
[orchestrators.once]
stages = [{ name = "WORK", executor = "make", heal = 0, retry = 0 }]
[coordinators.one]
phases = [{ name = "build", orchestrator = "once", target = "the answer" }]
[campaigns.small]
coordinator = "one"
heal = 0
"#;
    let parts = "[[session]]\nrole = \"builder\"\nbounce = 1\nfinal = \"STAGE_WORK_COMPLETE\"\n\
                 steps = [{ write = \"answer.txt\", content = \"42 \\n\" }]\n";
    for (lint, code, grade) in [("! grep -q ' $' answer.txt", 10, "FAIL"), ("false", 0, "WARN")] {
        let env = scene_with(flow, parts);
        let config = format!(
            "[gates.commands.check]\nrun = \"sh check.sh\"\n\
             [gates.commands.lint]\nrun = \"{lint}\"\nkind = \"lint\"\n"
        );
        env.write(".spore/config.toml", &config);
        let output = run(&env, &["campaign", "run", "small", "--json"]);
        assert_eq!(output.code, code, "{lint}: {output:?}");
        let told = env.spore(&["campaign", "status", "--json"]).code(0).json();
        assert_eq!(told["phases"][0]["sentinel_grade"], grade, "{lint}: {told:#}");
        assert_eq!(told["phases"][0]["commit"].is_string(), code == 0, "{told:#}");
    }
}

/// What is found out and planned is not checked like the product: so it is none of it.
#[test]
fn research_and_plans_change_nothing_but_their_notes() {
    let flow = r#"
[executors.look]
role = "researcher"
prompt = "Find out what {target} needs."
[campaigns.small]
domains = [{ name = "code", executor = "look" }]
ends_with = "research"
"#;
    let parts = |more: &str| {
        let session = |bounce: u32| {
            format!(
                "[[session]]\nrole = \"researcher\"\nbounce = {bounce}\nfinal = \"STAGE_RESEARCH_COMPLETE\"\n\
                 steps = [{{ write = \"notes/small/research-code.md\", content = \"code\\n\" }}{more}]\n"
            )
        };
        (1..=4).map(session).collect::<String>()
    };
    let env = scene_with(flow, &parts(""));
    let _ = run(&env, &["campaign", "run", "small", "tabs", "--apply", "merge"]).code(0);
    assert!(env.repo().join("notes/small/research-code.md").exists());
    let env = scene_with(flow, &parts(", { write = \"answer.txt\", content = \"\" }"));
    let output = run(&env, &["campaign", "run", "small", "tabs", "--apply", "merge", "--json"]);
    assert_ne!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains("was to change notes/small/ alone"), "{output:?}");
    assert_eq!(std::fs::read_to_string(env.repo().join("answer.txt")).unwrap(), "41\n");
}

/// A cloned repository names the files that go into prompts.
#[test]
fn no_prompt_file_leads_out_of_the_project() {
    let env = scene();
    env.write_at(&env.dir().join("secret.md"), "the key\n");
    std::os::unix::fs::symlink("../../secret.md", env.repo().join("prompts/link.md")).unwrap();
    for path in ["prompts/link.md", "../secret.md", "/etc/hostname"] {
        let flow = FLOW.replace("prompts/use.md", path);
        env.write(".spore/flows/feature.toml", &flow);
        let told = run(&env, &["campaign", "run", "feature", "tabs", "--dry-run"]);
        assert!(told.stderr.contains("is outside of the project"), "{path}: {told:?}");
    }
}

/// The effects that a campaign has beside those of its coordinators, which have their own matrices:
/// up to its plan, of its phases, and of a plan that is looked at.
fn is_of_research(effect: &str) -> bool {
    names(effect, &["row:begin review", "row:finish research/1/1", "land/research-code"])
}

fn is_of_phases(effect: &str) -> bool {
    names(effect, &["row:finish phase/", "row:finish evaluation/", "monitor-", "campaign.json"])
}

fn is_of_a_plan(effect: &str) -> bool {
    names(effect, &["row:finish review", "row:finish plan/"])
}

fn names(effect: &str, words: &[&str]) -> bool {
    words.iter().any(|word| effect.contains(word))
}

#[track_caller]
fn check_kills(
    (what, least): (&str, usize),
    scene: &(dyn Fn() -> TestEnv + Sync),
    command: &[&str],
    own: fn(&str) -> bool,
) {
    let whole = asked_for("all");
    let target = KillTarget { scene, command, random: if whole { 20 } else { 0 } };
    let traits = CommandTraits {
        one_of_each: !whole,
        only: if whole { None } else { Some(own) },
        then: Some(look),
        ..CommandTraits::default()
    };
    let tally = matrix_of(&target, traits);
    println!("kill matrix of {what}: {}", tally.line());
    assert_eq!(tally.ended, "finished");
    let least = if whole { 40 } else { least };
    assert!(tally.points >= least, "{}", tally.line());
    let nothing: Vec<String> = Vec::new();
    assert_eq!(tally.divergent, nothing, "{}", tally.line());
    assert_eq!(tally.duplicates, nothing, "{}", tally.line());
    assert_eq!(tally.left_running, nothing, "{}", tally.line());
}

/// `SPORE_KILLS=all` asks for every effect; the usual run takes one of each kind that is new here.
#[test]
fn a_campaign_killed_at_any_effect_ends_like_one_that_was_not() {
    check_kills(("a campaign up to its review", 3), &scene, RUN, is_of_research);
}

#[test]
fn phases_of_a_campaign_killed_at_any_effect_end_like_those_that_were_not() {
    let planned = || {
        let env = scene();
        let _ = env.spore(RUN).code(3);
        let id = scenes::newest_id(&env);
        let _ = env.spore(&["resolve", &id, "--reject", "Ship it, too."]).code(3);
        env
    };
    let id = scenes::newest_id(&planned());
    let command = ["resolve", id.as_str(), "--approve"];
    check_kills(("phases of a campaign", 5), &planned, &command, is_of_phases);
}

#[test]
fn feedback_killed_at_any_effect_is_given_once_and_reaches_the_plan() {
    let asked = || {
        let env = scene();
        let _ = env.spore(RUN).code(3);
        env
    };
    let id = scenes::newest_id(&asked());
    let command = ["resolve", id.as_str(), "--reject", "Ship it, too."];
    check_kills(("feedback to a plan", 5), &asked, &command, is_of_a_plan);
}

/// What a campaign makes of each exit code of its phase: how it exits, how often the agent was
/// called, and what its run is called then.
#[test]
fn a_campaign_does_with_every_exit_code_what_the_table_says() {
    const EXITS: [u8; 10] = [0, 1, 2, 3, 10, 11, 12, 20, 21, 75];
    let env = scenes::small();
    env.write_at(
        &env.dir().join("agent.sh"),
        "code=$(grep -xE '[0-9]+' | head -n 1)\necho x >> \"$HOME/calls\"\necho STAGE_A_COMPLETE\nexit $code\n",
    );
    let mut flow =
        "[executors.e]\nprompt = \"{target}\"\nbackend = \"command\"\n[orchestrators.o]\n\
                    stages = [{ name = \"A\", executor = \"e\", heal = 0, retry = 0 }]\n"
            .to_owned();
    for code in EXITS {
        flow.push_str(&format!(
            "[coordinators.c{code}]\nphases = [{{ name = \"p\", orchestrator = \"o\", target = \"{code}\", \
             retry = 0, resolve = 0 }}]\n[campaigns.m{code}]\ncoordinator = \"c{code}\"\nheal = 1\n"
        ));
    }
    env.write(".spore/flows/exits.toml", &flow);
    let config = std::fs::read_to_string(env.repo().join(".spore/config.toml")).unwrap();
    let agent = env.dir().join("agent.sh").display().to_string();
    let command = format!("[command]\nprogram = \"sh\"\nargs = [\"{agent}\"]\noutput = \"text\"\n");
    env.write(
        ".spore/config.toml",
        &format!("{config}{command}[roles.operator]\ntier = \"high\"\n"),
    );
    let mut told = Vec::new();
    for code in EXITS {
        let calls = env.dir().join("home/calls");
        let _ = std::fs::remove_file(&calls);
        let output = env.spore(&["campaign", "run", &format!("m{code}")]);
        let calls = std::fs::read_to_string(&calls).map_or(0, |text| text.lines().count());
        let status = scenes::newest(&env)["status"].as_str().unwrap().to_owned();
        told.push(format!("{code} → {} ×{calls} {status}", output.code));
    }
    insta::assert_snapshot!(told.join("\n"), @r"
    0 → 0 ×1 finished
    1 → 11 ×2 escalated
    2 → 2 ×1 failed
    3 → 3 ×1 parked:human
    10 → 10 ×3 failed
    11 → 11 ×1 parked:human
    12 → 12 ×2 partial
    20 → 20 ×1 interrupted
    21 → 21 ×3 failed
    75 → 75 ×1 parked:quota
    ");
}

/// One phase that holds and an evaluator who says anything but what a pass needs.
#[test]
fn no_answer_of_an_evaluator_but_a_pass_with_green_checks_is_one() {
    let flow = r#"
[executors.make]
role = "builder"
prompt = "Make {target}."
[executors.rate]
role = "evaluator"
prompt = "Hold it to what was promised."
[orchestrators.once]
stages = [{ name = "WORK", executor = "make" }]
[coordinators.one]
phases = [{ name = "build", orchestrator = "once", target = "the answer" }]
[campaigns.small]
coordinator = "one"
heal = 0
evaluator = "rate"
"#;
    let parts = |evaluation: &str, more: &str| {
        format!(
            "[[session]]\nrole = \"builder\"\nbounce = 1\nfinal = \"STAGE_WORK_COMPLETE\"\n\
             steps = [{{ write = \"answer.txt\", content = \"42\\n\" }}]\n{more}\n\
             [[session]]\nrole = \"evaluator\"\nbounce = 1\nfinal = '''{evaluation}\nSTAGE_EVALUATE_COMPLETE'''\n"
        )
    };
    let end = |flow: &str, parts: &str| {
        let env = scene_with(flow, parts);
        let output = run(&env, &["campaign", "run", "small", "--json"]);
        (output.code, output.json()["evaluation"]["passed"].clone())
    };
    assert_eq!(end(flow, &parts(PASS, "")), (0, json!(true)));
    let unmet = PASS.replace("true", "false");
    let twice = format!("{PASS}\n{PASS}");
    for bad in ["", "PASS", "It is all fine.", "<evaluation>pass</evaluation>", &unmet, &twice] {
        assert_eq!(end(flow, &parts(bad, "")), (10, json!(false)), "{bad}");
    }
    // Nothing at all: the session fails, and no other says more.
    let silent = parts(PASS, "").replace("STAGE_EVALUATE_COMPLETE", "");
    let (code, passed) = end(flow, &silent);
    assert!(code != 0 && passed != json!(true), "{code} {passed}");
    // A pass with red checks: nothing is evaluated that the project's own checks turn down.
    let env = scene_with(flow, &parts(PASS, ""));
    env.write("check.sh", "exit 1\n");
    env.commit_all("red from the start");
    let output = run(&env, &["campaign", "run", "small", "--json"]);
    let told = output.json();
    assert_eq!((output.code, &told["evaluation"]), (10, &Value::Null), "{told:#}");
    assert_eq!(text(&told["phases"][0], "sentinel_grade"), "FAIL", "{told:#}");
}

/// What a person changes while a campaign waits is on record, and what is under way stays.
#[test]
fn phases_are_dropped_added_and_put_elsewhere_while_it_waits() {
    let env = scene();
    let _ = run(&env, &["campaign", "run", "feature", "tabs"]).code(3);
    let id = scenes::newest_id(&env);
    let _ = env.spore(&["resolve", &id, "--reject", "Ship it, too."]).code(3);
    let endless = env.spore(&["campaign", "change", &id, "--add", "/dev/zero"]).code(65);
    assert!(endless.stderr.contains("a device or a pipe"), "{}", endless.render());
    env.write_at(&env.dir().join("long.toml"), &"# long\n".repeat(20_000));
    let long = env.spore(&["campaign", "change", &id, "--add", "../long.toml"]).code(65);
    assert!(long.stderr.contains("longer than 100 KB"), "{}", long.render());
    let refused = env.spore(&["campaign", "change", &id, "--drop", "build"]).code(65);
    assert!(
        refused.stderr.contains("ship waits for build: drop ship first"),
        "{}",
        refused.render()
    );
    let changed = env.spore(&["campaign", "change", &id, "--drop", "ship"]).code(0);
    assert!(changed.stdout.contains("--approve"), "{}", changed.render());
    assert!(!scenes::artefact(&env, "review-2.md").contains("- ship"), "the review is rewritten");
    env.write_at(
        &env.dir().join("more.toml"),
        "[[phases]]\nname = \"extra\"\norchestrator = \"none\"\ntarget = \"x\"\n",
    );
    let refused = env.spore(&["campaign", "change", &id, "--add", "../more.toml"]).code(65);
    assert!(refused.stderr.contains("more.toml:3"), "{}", refused.render());
    env.write_at(
        &env.dir().join("more.toml"),
        "[[phases]]\nname = \"extra\"\norchestrator = \"careful\"\ntarget = \"the notes\"\n",
    );
    let _ = env.spore(&["campaign", "change", &id, "--add", "../more.toml"]).code(0);
    let changed =
        env.spore(&["campaign", "change", &id, "--order", "extra,notes,build", "--json"]).code(0);
    assert_eq!(changed.json()["phases"], json!(["extra", "notes", "build"]));
    let told = env.spore(&["resolve", &id, "--approve", "--json"]).code(0).json();
    assert_eq!(
        lines(&told),
        [
            "ship dropped ×0 -",
            "extra complete ×1 PASS",
            "notes complete ×1 PASS",
            "build complete ×1 PASS"
        ]
    );
    let over = env.spore(&["campaign", "change", &id, "--drop", "build"]).code(65);
    assert!(!over.stderr.is_empty());
    let status = env.spore(&["campaign", "status", "--json"]).code(0).json();
    assert_eq!(status["changes"].as_array().unwrap().len(), 3, "{status:#}");
    let events = env.spore(&["events", "tail", "--type", "campaign.changed", "--json"]).stdout;
    assert_eq!(events.matches("campaign.changed").count(), 3, "{events}");
}

/// Phases that owe each other nothing, each of one session.
fn apart(phases: &[(&str, &str)], campaign: &str) -> String {
    let phases: Vec<String> = phases
        .iter()
        .map(|(name, target)| {
            format!(
                "{{ name = \"{name}\", orchestrator = \"once\", target = \"{target}\", retry = 0, resolve = 0 }}"
            )
        })
        .collect();
    format!(
        "[executors.make]\nrole = \"builder\"\nprompt = \"Make {{target}}.\"\n\
         [executors.choose]\nrole = \"operator\"\nprompt = \"Choose.\"\n\
         [orchestrators.once]\nstages = [{{ name = \"WORK\", executor = \"make\", heal = 0, retry = 0 }}]\n\
         [coordinators.all]\nmax_parallel = 1\nphases = [{}]\n\
         [campaigns.meal]\ncoordinator = \"all\"\n{campaign}\n",
        phases.join(", ")
    )
}

/// A session of the builder whose task has these words in it.
fn builder(words: &str, steps: &str, last: &str) -> String {
    format!(
        "[[session]]\nrole = \"builder\"\nbounce = 1\ntask = \"{words}\"\ncost_usd = 0.25\n\
         final = \"{last}\"\nsteps = [{steps}]\n"
    )
}

const DONE: &str = "STAGE_WORK_COMPLETE";

/// The first and the last ask; what is between them is over and said to be so. One answer answers all
/// that was put as one.
#[test]
fn two_questions_are_put_as_one_and_answered_by_one_answer() {
    let three = [("first", "the bread"), ("between", "the answer"), ("last", "the soup")];
    let salted = r#"{ expect = "What a person answered" }, { run = "echo salt >> salted.txt" }"#;
    let parts = [
        builder("With salt.", salted, DONE),
        builder("Make the bread.", "", "STAGE_NEEDS_HUMAN: how much salt in the bread?"),
        builder("Make the soup.", "", "STAGE_NEEDS_HUMAN: how much salt in the soup?"),
        builder("Make the answer.", scenes::WRITE_42, DONE),
    ];
    for mode in ["tool", "agent"] {
        let mut parts = parts.concat();
        let call = |name: &str| {
            format!("{{ call = \"run_phase\", arguments = {{ name = \"{name}\" }} }},")
        };
        let calls = [call("first"), call("between"), call("last")].concat();
        parts.push_str(&format!(
            "[[session]]\nrole = \"leader\"\nbounce = 1\nfinal = \"done\"\nsteps = [{calls}]\n"
        ));
        let env = scene_with(&apart(&three, "heal = 0"), &parts);
        let _ = run(&env, &["campaign", "run", "meal", "--mode", mode]).code(3);
        let id = scenes::newest_id(&env);
        let status = env.spore(&["campaign", "status", "--json"]).code(0).json();
        assert_eq!(
            lines(&status),
            ["first asks ×0 -", "between complete ×1 PASS", "last asks ×0 -"],
            "{mode}: {status:#}"
        );
        assert_eq!(status["questions"].as_array().unwrap().len(), 2, "{status:#}");
        let asked = scenes::artefact(&env, "escalation.md");
        assert!(asked.contains("in the bread?") && asked.contains("in the soup?"), "{asked}");
        env.write_at(&env.dir().join("answer.md"), "With salt.\n");
        let told = env.spore(&["resolve", &id, "--file", "../answer.md", "--json"]).code(0).json();
        let grades = ["first", "between", "last"].map(|name| format!("{name} complete ×1 PASS"));
        assert_eq!(lines(&told), grades, "{mode}: {told:#}");
        let branch = text(&told, "branch");
        assert_eq!(env.git(&["show", &format!("{branch}:salted.txt")]), "salt");
        let file = env.repo().join(".spore/runs").join(&id).join("escalation.md");
        assert!(!file.exists(), "{mode}: what is answered is asked no more");
    }
}

/// A phase that had nothing to begin with was not begun: it can be dropped, and the raise of the
/// budget is on record like the drop.
#[test]
fn a_phase_that_found_the_budget_spent_can_still_be_dropped() {
    let three = [("bread", "the bread"), ("soup", "the soup"), ("extra", "the rest")];
    let parts = [
        builder("Make the bread.", scenes::WRITE_42, DONE),
        builder("Make the soup.", r#"{ write = "soup.txt", content = "hot\n" }"#, DONE),
    ];
    let env = scene_with(&apart(&three, "heal = 0\nbudget_usd = 0.25"), &parts.concat());
    let _ = run(&env, &["campaign", "run", "meal"]).code(3);
    let id = scenes::newest_id(&env);
    let status = env.spore(&["campaign", "status", "--json"]).code(0).json();
    assert_eq!(status["status"], "parked:budget", "{status:#}");
    let waiting = ["bread complete ×1 PASS", "soup pending ×0 -", "extra pending ×0 -"];
    assert_eq!(lines(&status), waiting, "{status:#}");
    let order = ["campaign", "change", &id, "--order", "extra,soup", "--json"];
    let changed = env.spore(&order).code(0).json();
    assert_eq!(changed["phases"], json!(["bread", "extra", "soup"]));
    let _ = env.spore(&["campaign", "change", &id, "--drop", "extra"]).code(0);
    let told = env.spore(&["campaign", "resume", &id, "--budget", "+1", "--json"]).code(0).json();
    let over = ["bread complete ×1 PASS", "extra dropped ×0 -", "soup complete ×1 PASS"];
    assert_eq!(lines(&told), over, "{told:#}");
    let status = env.spore(&["campaign", "status", "--json"]).code(0).json();
    let told = "the budget is raised by $1.00, to $1.25";
    let changes = json!(["the order is now extra, soup", "extra is dropped", told]);
    assert_eq!(status["changes"], changes);
    let events = env.spore(&["events", "tail", "--type", "campaign.changed", "--json"]).stdout;
    assert_eq!(events.matches("campaign.changed").count(), 3, "{events}");
    assert!(events.contains(told), "{events}");
}

/// An executor that is asked says what is worth another round; what it leaves out stays failed.
#[test]
fn only_what_is_decided_to_be_worth_it_is_healed() {
    let two = [("bread", "the bread"), ("soup", "the soup")];
    let decision = "[[session]]\nrole = \"operator\"\nbounce = 1\ncost_usd = 0.0625\n\
                    final = '''<decision>{\"heal\": [\"soup\"], \"reason\": \"it is near\"}</decision>\n\
                    STAGE_DECIDE_COMPLETE'''\nsteps = [{ expect = \"no flour\" }]\n";
    let parts = [
        builder("soup was run before", scenes::WRITE_42, DONE),
        builder("Make the bread.", "", "STAGE_FAILED: no flour"),
        builder("Make the soup.", "", "STAGE_FAILED: no water"),
        decision.to_owned(),
    ];
    let env = scene_with(&apart(&two, "heal = 2\ndecide = \"choose\""), &parts.concat());
    let told = run(&env, &["campaign", "run", "meal", "--json"]).code(12).json();
    assert_eq!(lines(&told), ["bread failure ×1 -", "soup complete ×2 PASS"], "{told:#}");
    assert_eq!(told["heal_rounds"], 1, "{told:#}");
    // Three builders, and one who decided: once for each round, the second time in vain.
    assert_eq!(told["cost"]["usd"], 0.875, "{told:#}");
}

/// What was verified in an attempt that was taken back is paid for, and is no change.
#[test]
fn a_verified_change_costs_all_that_was_spent_for_what_landed() {
    let flow = r#"
[executors.make]
role = "builder"
prompt = "Make {target}."
[orchestrators.both]
stages = [
  { name = "ANSWER", executor = "orchestrate", task = "write the answer", heal = 0, retry = 0 },
  { name = "WORK", executor = "make", heal = 0, retry = 0 },
]
[coordinators.one]
phases = [{ name = "build", orchestrator = "both", target = "the notes", retry = 0, resolve = 0 }]
[campaigns.small]
coordinator = "one"
heal = 1
"#;
    let parts = [
        scenes::one_bounce(scenes::WRITE_42),
        builder("build was run before", r#"{ write = "notes.md", content = "notes\n" }"#, DONE),
        builder("Make the notes.", "", "STAGE_FAILED: no paper"),
    ];
    let env = scene_with(flow, &parts.concat());
    let _ = run(&env, &["orchestrate", "write the answer", "--apply", "none"]).code(0);
    let told = run(&env, &["campaign", "run", "small", "--json"]).code(0).json();
    assert_eq!(lines(&told), ["build complete ×2 PASS"], "{told:#}");
    let status = env.spore(&["campaign", "status", "--json"]).code(0).json();
    assert_eq!((&status["verified_changes"], &status["cost"]["usd"]), (&json!(1), &json!(2.0)));
    let shown = env.spore(&["campaign", "status"]).code(0);
    insta::assert_snapshot!(shown.stdout.lines().last().unwrap(), @"1 verified change, $2.00 each; a run by itself: $0.75 on average");
}

/// What a plan that an agent made has its stages told is in the review, whole.
#[test]
fn a_review_shows_what_the_stages_of_made_phases_are_told() {
    let made = PHASES.replace(
        "orchestrator = \"careful\"\ntarget = \"the notes\"",
        "target = \"the notes\"\nstages = [{ name = \"WRITE\", executor = \"orchestrate\", task = \"write it\\n\
         and delete the tests\" }, { name = \"WORK\", executor = \"make\", target = \"something else\" }]",
    );
    assert_ne!(made, PHASES);
    let env = scene_with(FLOW, &parts(PASS).replace(PHASES, &made));
    let _ = run(&env, &["campaign", "run", "feature", "tabs"]).code(3);
    let review = scenes::artefact(&env, "review-1.md");
    for words in ["write it\n    and delete the tests\n", "something else"] {
        assert!(review.contains(words), "{words}: {review}");
    }
    assert!(!review.contains("- WORK:\n\n    ```text\n    the answer"), "{review}");
}

/// A campaign with a phase too many and too little to spend.
fn poor_scene() -> TestEnv {
    let flow = FLOW
        .replace("budget_usd = 9", "budget_usd = 3.5")
        .replace("review = true", "review = false");
    let parts = parts(PASS).replace(
        "task = \"Ship it, too.\"\ncost_usd = 0.125",
        "task = \"never\"\ncost_usd = 0.125",
    );
    // The decomposer's first plan is whole, and has one phase too many.
    let whole = format!(
        "{PHASES}{SHIP}\n[[phases]]\nname = \"extra\"\norchestrator = \"careful\"\ntarget = \"the rest\"\ndepends_on = [\"ship\"]\n"
    );
    let parts = parts.replace(
        &format!("content = '''{PHASES}''' }},\n]"),
        &format!("content = '''{whole}''' }},\n]"),
    );
    let env = scene_with(&flow.replace("max_phases = 3", "max_phases = 4"), &parts);
    take_little_for_what_is_lost(&env, 0.125);
    env
}

/// A session of which nothing is known is taken for about what one costs here, so that many that are
/// lost do not spend the budget before there is a plan.
pub(crate) fn take_little_for_what_is_lost(env: &TestEnv, usd: f64) {
    let config = std::fs::read_to_string(env.repo().join(".spore/config.toml")).unwrap();
    let config = format!("{config}[prices]\nlost_session_usd = {usd}\n");
    env.write(".spore/config.toml", &config);
}

/// What a person types next: to a campaign that waits for more to spend, that it has more; else to go
/// on. The phase too many is dropped first, or as soon after the raise as it is planned.
pub(crate) fn next_command(env: &TestEnv, status: &str) -> Vec<&'static str> {
    let told = env.spore(&["campaign", "status", "--json"]).code(0).json();
    let is_raised = told["changes"].to_string().contains("is raised");
    let is_planned = lines(&told).iter().any(|line| line.starts_with("extra pending"));
    if is_planned && (is_raised || status == "parked:budget") {
        let _ = env.spore(&["campaign", "change", "--drop", "extra"]).code(0);
    }
    match status {
        "parked:budget" => vec!["campaign", "resume", "--budget", "+9"],
        _ => vec!["campaign", "resume"],
    }
}

/// The state of the newest run, where there is one.
pub(crate) fn status_of(env: &TestEnv) -> Option<String> {
    let listed = env.spore(&["runs", "list", "--json"]).json();
    listed[0]["status"].as_str().map(str::to_owned)
}

/// How a campaign ended: its status, its phases, its tree, its cost, and what people changed.
pub(crate) fn end_of(env: &TestEnv) -> (String, Vec<String>, String, Value, Value) {
    let status = env.spore(&["campaign", "status", "--json"]).code(0).json();
    let phases =
        status["phases"].as_array().unwrap().iter().map(|one| {
            format!("{} {} ×{}", text(one, "phase"), text(one, "status"), one["attempts"])
        });
    let branch = scenes::newest_branch(env);
    let tree = env.git(&["rev-parse", &format!("{branch}^{{tree}}")]);
    let (phases, cost) = (phases.collect(), status["cost"]["usd"].clone());
    (text(&status, "status").to_owned(), phases, tree, cost, status["changes"].clone())
}

/// Every session is booked once; those that came to their end cost what they cost in a campaign
/// without a kill, and only those that were cut off come on top.
#[track_caller]
fn the_books_agree(env: &TestEnv, cost: &Value, expected: &Value) {
    let shown = scenes::shown(env);
    let rows = shown["report"]["ledger"].as_array().or_else(|| shown["ledger"].as_array()).unwrap();
    let sum = |which: &dyn Fn(&Value) -> bool| -> f64 {
        let own = rows.iter().filter(|row| which(row));
        own.map(|row| row["cost"]["usd"].as_f64().unwrap_or(0.0)).sum()
    };
    let is_near = |one: f64, other: &Value| (one - other.as_f64().unwrap()).abs() < 1e-9;
    let (all, whole) = (sum(&|_| true), sum(&|row| row["interrupted"] == false));
    assert!(is_near(all, cost), "{all} {cost}");
    assert!(is_near(whole, expected), "{whole} {expected}");
}

#[test]
fn a_campaign_killed_at_random_its_budget_raised_and_a_phase_dropped_ends_the_same() {
    let straight = poor_scene();
    let began = std::time::Instant::now();
    let _ = straight.spore(RUN).code(3);
    let waits = status_of(&straight).unwrap();
    assert_eq!(waits, "parked:budget", "{:#}", scenes::newest(&straight));
    let _ = straight.spore(&next_command(&straight, &waits)).code(0);
    let took = began.elapsed();
    let expected = end_of(&straight);
    assert_eq!(expected.0, "finished", "{expected:?}");
    assert!(expected.1.contains(&"extra dropped ×0".to_owned()), "{expected:?}");
    assert_eq!(expected.4, json!(["extra is dropped", "the budget is raised by $9.00, to $12.50"]));

    // `SPORE_KILLS=all` kills it as often as the promise says. A kill counts that hit a process which
    // had a run under way, and some of them hit one whose budget was raised.
    let whole = asked_for("all");
    let (most, step, share) = if whole { (20, 0.02, 0.1) } else { (4, 0.1, 0.2) };
    let (mut kills, mut late, mut rounds) = (0u32, 0u32, 0u32);
    let mut seed = 7u64;
    while kills < most || late == 0 {
        rounds += 1;
        assert!(rounds <= 12, "{kills} kills, {late} of them late, in {rounds} rounds");
        let env = poor_scene();
        let mut command = RUN.to_vec();
        for turn in 0.. {
            assert!(turn < 60, "it comes to no end: {:#}", scenes::newest(&env));
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let chance = f64::from(u32::try_from(seed >> 40).unwrap_or(0)) / f64::from(1u32 << 24);
            let mut child = env.start_in(&env.repo(), &command, &[]);
            // After the last of them a round is left to its end, but for a kill after the raise.
            if kills < most || (late == 0 && command.contains(&"--budget")) {
                std::thread::sleep(took.mul_f64(step + chance * share));
                if child.try_wait().unwrap().is_none() {
                    let _ = child.kill();
                }
            }
            let was_killed = env.finish(child).code == 137;
            let Some(status) = status_of(&env) else { continue };
            if was_killed && !status.starts_with("parked") && status != "finished" {
                kills += 1;
                let told = env.spore(&["campaign", "status", "--json"]).code(0).json();
                late += u32::from(told["budget_usd"].as_f64().unwrap() > 4.0);
            }
            if status == "finished" {
                break;
            }
            command = next_command(&env, &status);
        }
        let found = end_of(&env);
        assert_eq!((&found.0, &found.1, &found.2), (&expected.0, &expected.1, &expected.2));
        assert_eq!(found.4, expected.4, "each change is on record once");
        the_books_agree(&env, &found.3, &expected.3);
    }
    println!("killed {kills} times at work, {late} of them after the raise, in {rounds} rounds");
    assert!(kills >= most && late > 0, "{kills} {late}");
}
