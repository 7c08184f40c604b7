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
pub(crate) fn parts(evaluation: &str) -> String {
    let (first, second) = (PHASES, format!("{PHASES}{SHIP}"));
    format!(
        r#"
[[session]]
role = "researcher"
bounce = 1
task = "who calls it"
cost_usd = 0.125
final = "STAGE_RESEARCH_COMPLETE"
steps = [
  {{ write = "notes/feature/research-code.md", content = "code, again\n" }},
  {{ write = "notes/feature/research-use.md", content = "use, again\n" }},
]

[[session]]
role = "researcher"
bounce = 1
task = "Who uses tabs?"
cost_usd = 0.125
final = "STAGE_RESEARCH_COMPLETE"
steps = [{{ write = "notes/feature/research-use.md", content = "use\n" }}]

[[session]]
role = "researcher"
bounce = 1
cost_usd = 0.125
final = "STAGE_RESEARCH_COMPLETE"
steps = [{{ write = "notes/feature/research-code.md", content = "code\n" }}]

[[session]]
role = "research-consolidator"
bounce = 1
cost_usd = 0.125
final = "STAGE_CONSOLIDATE_COMPLETE"
steps = [
  {{ expect = "notes/feature/research-use.md" }},
  {{ write = "notes/feature/research.md", content = "all of it\n" }},
]

[[session]]
role = "sufficiency-judge"
bounce = 1
task = "who calls it"
cost_usd = 0.0625
final = '''<sufficiency>{{"sufficient": true, "gaps": [], "reason": "it is known now"}}</sufficiency>
STAGE_JUDGE_COMPLETE'''

[[session]]
role = "sufficiency-judge"
bounce = 1
cost_usd = 0.0625
final = '''<sufficiency>{{"sufficient": false, "gaps": ["who calls it: look at the tests"]}}</sufficiency>
STAGE_JUDGE_COMPLETE'''

[[session]]
role = "roadmap-writer"
bounce = 1
task = "Ship it, too."
cost_usd = 0.25
final = "STAGE_ROADMAP_COMPLETE"
steps = [{{ write = "notes/feature/roadmap.md", content = "notes, build, ship\n" }}]

[[session]]
role = "roadmap-writer"
bounce = 1
cost_usd = 0.25
final = "STAGE_ROADMAP_COMPLETE"
steps = [
  {{ expect = "notes/feature/research.md" }},
  {{ write = "notes/feature/roadmap.md", content = "notes, build\n" }},
]

[[session]]
role = "decomposer"
bounce = 1
task = "Ship it, too."
cost_usd = 0.125
final = "STAGE_DECOMPOSE_COMPLETE"
steps = [{{ write = "notes/feature/phases.toml", content = '''{second}''' }}]

[[session]]
role = "decomposer"
bounce = 1
cost_usd = 0.125
final = "STAGE_DECOMPOSE_COMPLETE"
steps = [
  {{ expect = "- careful (full): one session, tried twice" }},
  {{ write = "notes/feature/phases.toml", content = '''[[phases]]
name = "notes"
orchestrator = "carefull"
target = "the notes"
''' }},
]

[[session]]
role = "decomposer"
bounce = 2
cost_usd = 0.125
final = "STAGE_DECOMPOSE_COMPLETE"
steps = [
  {{ expect = "phases.toml:3" }},
  {{ write = "notes/feature/phases.toml", content = '''{first}''' }},
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
steps = [{{ expect = "no paper" }}, {{ write = "notes.md", content = "notes\n" }}]

[[session]]
role = "builder"
bounce = 1
task = "build was run before"
cost_usd = 0.5
final = "STAGE_WORK_COMPLETE"
steps = [{{ write = "answer.txt", content = "42\n" }}]

[[session]]
role = "builder"
bounce = 1
task = "Make the answer."
cost_usd = 0.5
final = "STAGE_WORK_COMPLETE"
steps = [
  {{ write = "answer.txt", content = "43\n" }},
  {{ write = "kept.txt", content = "gone\n" }},
]

[[session]]
role = "builder"
bounce = 1
task = "ship was run before"
cost_usd = 0.25
final = "STAGE_WORK_COMPLETE"
steps = [{{ run = "cp answer.txt parcel.txt" }}]

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
final = '''{evaluation}
STAGE_EVALUATE_COMPLETE'''
"#
    )
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
    let shown = env.spore(&["campaign", "status"]).code(0);
    insta::assert_snapshot!("campaign_status_over", scenes::plain(&shown.stdout));
    let listed = env.spore(&["runs", "list", "--kind", "campaign", "--json"]).code(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let _ = env.spore(&["runs", "show", &id]).code(0);
    let _ = env.spore(&["runs", "explain", &id]).code(0);
    let _ = env.spore(&["dashboard", "--json"]).code(0);
}

/// The effects that a campaign has beside those of its coordinators, which have their own matrices.
fn is_of_a_campaign(effect: &str) -> bool {
    let words = [
        "review",
        "campaign.json",
        "escalation",
        "research/",
        "plan/",
        "phase/",
        "evaluation/",
        "monitor-",
    ];
    words.iter().any(|word| effect.contains(word))
}

/// `SPORE_KILLS=all` asks for every effect; the usual run takes one of each kind that is new here.
#[test]
fn a_campaign_killed_at_any_effect_ends_like_one_that_was_not() {
    let whole = asked_for("all");
    let target = KillTarget { scene: &scene, command: RUN, random: if whole { 20 } else { 0 } };
    let traits = CommandTraits {
        one_of_each: !whole,
        only: if whole { None } else { Some(is_of_a_campaign) },
        then: Some(look),
        ..CommandTraits::default()
    };
    let tally = matrix_of(&target, traits);
    println!("kill matrix of a campaign: {}", tally.line());
    let nothing: Vec<String> = Vec::new();
    assert_eq!(tally.divergent, nothing, "{}", tally.line());
    assert_eq!(tally.duplicates, nothing, "{}", tally.line());
    assert_eq!(tally.left_running, nothing, "{}", tally.line());
}
