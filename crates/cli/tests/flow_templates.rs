//! The flows that a project can begin with: each is written out and run.

use spore_testkit::TestEnv;

use crate::scenes;

/// What every role of the templates does when it is its turn.
const PARTS: &str = r#"
[[session]]
role = "researcher"
task = "notes/tabs/RESEARCH.md"
bounce = 1
final = "STAGE_RESEARCH_COMPLETE"
steps = [{ write = "notes/tabs/RESEARCH.md", content = "what is there\n" }]

[[session]]
role = "researcher"
task = "notes/tabs/CODE.md"
bounce = 1
final = "STAGE_CODE_COMPLETE"
steps = [{ write = "notes/tabs/CODE.md", content = "the code\n" }]

[[session]]
role = "researcher"
task = "notes/tabs/USE.md"
bounce = 1
final = "STAGE_USE_COMPLETE"
steps = [{ write = "notes/tabs/USE.md", content = "its use\n" }]

[[session]]
role = "researcher"
task = "notes/tabs/RISK.md"
bounce = 1
final = "STAGE_RISK_COMPLETE"
steps = [{ write = "notes/tabs/RISK.md", content = "the risk\n" }]

[[session]]
role = "researcher"
task = "notes/tabs/cause.md"
bounce = 1
final = "STAGE_CAUSE_COMPLETE"
steps = [{ write = "notes/tabs/cause.md", content = "the cause\n" }]

[[session]]
role = "research-consolidator"
bounce = 1
final = "STAGE_CONSOLIDATE_COMPLETE"
steps = [{ write = "notes/tabs/research.md", content = "all of it\n" }]

[[session]]
role = "planner"
bounce = 1
final = "STAGE_PLAN_COMPLETE"
steps = [{ write = "notes/tabs/plan.md", content = "the plan\n" }]

[[session]]
role = "coder"
bounce = 1
final = "done"
steps = [{ expect = "tabs" }, { write = "answer.txt", content = "42\n" }]

[[session]]
role = "verifier"
bounce = 1
final = '''<verdict>{"nonce":"$NONCE","verdict":"supports","confidence":0.95,"reason":"it says 42"}</verdict>'''

[[session]]
role = "spec-writer"
bounce = 1
final = '''<test-spec>{"requirements": [{"id": "R1", "text": "it says 42"}]}</test-spec>'''
steps = [{ expect = "Build tabs." }]

[[session]]
role = "auditor"
bounce = 1
final = '''<audit>{"grade": "PASS", "requirements": [{"id": "R1", "status": "met", "evidence": "answer.txt:1"}]}</audit>'''
"#;

#[track_caller]
fn check(env: &TestEnv, flow: &str, modifier: &str, stages: &str) {
    let args =
        ["stage", flow, modifier, "tabs", "--backend", "replay", "--scenario", "../parts.toml"];
    let output = env.spore(&[&args[..], &["--json"]].concat()).code(0).json();
    let run: Vec<String> = output["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stage| {
            assert_eq!(stage["status"], "success", "{flow}: {stage}");
            stage["name"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(run.join(" "), stages, "{flow} {modifier}");
}

fn scene() -> TestEnv {
    let env = scenes::small();
    env.write_at(&env.dir().join("parts.toml"), PARTS);
    let made = env.spore(&["init", "--flows"]).code(0);
    assert!(made.stdout.contains(".spore/flows/big-feature.toml"), "{}", made.render());
    env
}

#[test]
fn each_flow_to_begin_with_runs_to_its_end() {
    let env = scene();
    check(&env, "big-feature", "full", "RESEARCH PLAN BUILD CHECK");
    check(&env, "iteration", "full", "CHANGE CHECK");
    check(&env, "debug-fix", "full", "CAUSE FIX CHECK");
    check(&env, "chores", "full", "CHORE CHECK");
    check(&env, "planning-only", "full", "RESEARCH PLAN");
    check(&env, "research-only", "full", "CODE USE RISK CONSOLIDATE");
}

/// What the campaign's own roles do; its one phase is an iteration.
const CAMPAIGN: &str = r#"
[[session]]
role = "researcher"
task = "notes/feature/research-code.md"
bounce = 1
final = "STAGE_RESEARCH_COMPLETE"
steps = [{ write = "notes/feature/research-code.md", content = "the code\n" }]

[[session]]
role = "researcher"
task = "notes/feature/research-use.md"
bounce = 1
final = "STAGE_RESEARCH_COMPLETE"
steps = [{ write = "notes/feature/research-use.md", content = "its use\n" }]

[[session]]
role = "research-consolidator"
task = "notes/feature/research.md"
bounce = 1
final = "STAGE_CONSOLIDATE_COMPLETE"
steps = [{ write = "notes/feature/research.md", content = "all of it\n" }]

[[session]]
role = "sufficiency-judge"
bounce = 1
final = '''<sufficiency>{"sufficient": true, "gaps": [], "reason": "clear"}</sufficiency>
STAGE_JUDGE_COMPLETE'''

[[session]]
role = "roadmap-writer"
bounce = 1
final = "STAGE_ROADMAP_COMPLETE"
steps = [{ write = "notes/feature/roadmap.md", content = "one phase\n" }]

[[session]]
role = "decomposer"
bounce = 1
final = "STAGE_DECOMPOSE_COMPLETE"
steps = [{ write = "notes/feature/phases.toml", content = '''[[phases]]
name = "build"
orchestrator = "iteration"
target = "tabs: write 42"
''' }]

[[session]]
role = "evaluator"
bounce = 1
final = '''<evaluation>{"verdict": "pass", "criteria": [{"criterion": "it says 42", "met": true, "evidence": "answer.txt:1"}]}</evaluation>
STAGE_EVALUATE_COMPLETE'''
"#;

#[test]
fn the_campaign_to_begin_with_runs_to_its_end() {
    let env = scene();
    env.write_at(&env.dir().join("parts.toml"), &format!("{CAMPAIGN}{PARTS}"));
    let args = [
        "campaign",
        "run",
        "feature",
        "tabs",
        "--backend",
        "replay",
        "--scenario",
        "../parts.toml",
    ];
    let _ = env.spore(&args).code(3);
    let told =
        env.spore(&["resolve", &scenes::newest_id(&env), "--approve", "--json"]).code(0).json();
    assert_eq!(told["phases"][0]["sentinel_grade"], "PASS", "{told:#}");
    let status = env.spore(&["campaign", "status", "--json"]).code(0).json();
    assert_eq!(status["verified_changes"], 1, "{status:#}");
    let _ = env.spore(&["prompt-lint"]).code(0);
}

#[test]
fn flows_of_the_project_stay_as_they_are_and_hold_to_the_rule_of_prompts() {
    let env = scene();
    env.write(".spore/flows/chores.toml", "# mine\n");
    let again = env.spore(&["init", "--flows"]).code(0);
    assert!(again.stdout.contains("already"), "{}", again.render());
    let kept = std::fs::read_to_string(env.repo().join(".spore/flows/chores.toml")).unwrap();
    assert_eq!(kept, "# mine\n");
    let _ = env.spore(&["prompt-lint"]).code(0);
}
