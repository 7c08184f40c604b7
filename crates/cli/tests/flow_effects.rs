//! Every key of a flow file, by what becomes of a run because of it.
//!
//! [`SHOWN`] names the test that shows the effect of each key. A key that is in no line of it fails
//! `no_key_is_without_a_run_that_shows_its_effect`. Keys of campaigns are shown in what is planned
//! (`flow_keys` of compose), and by the runs of `campaign`, which has no such table yet.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use spore_scripted_model::{ModelServer, Turn};
use spore_testkit::{ProgramOutput, TestEnv};

use crate::verified_run::{self, MODEL};
use crate::{agent_mode, flow_data, flows, held_out, judged_phases, questions, scenes};

/// A test, and the keys whose effect it shows.
type ShownKeys = (fn(), &'static [&'static str]);

const SHOWN: &[ShownKeys] = &[
    (
        who_works_is_told_what_its_stage_says,
        &[
            "executor.role",
            "executor.prompt",
            "executor.backend",
            "executor.scenario",
            "executor.artifact",
            "orchestrator.stages",
            "stage.name",
            "stage.executor",
            "stage.action",
            "stage.target",
            "stage.prompt",
            "stage.artifact",
            "stage.backend",
            "stage.scenario",
        ],
    ),
    (an_action_that_an_executor_does_not_have_is_not_run, &["executor.actions"]),
    (
        a_session_has_the_model_turns_and_tools_that_are_said,
        &[
            "executor.model",
            "executor.max_turns",
            "executor.allowed_tools",
            "stage.model",
            "stage.max_turns",
        ],
    ),
    (a_session_ends_when_its_time_is_over, &["executor.timeout", "stage.timeout"]),
    (
        a_stage_is_tried_as_often_as_it_says,
        &["stage.heal", "stage.retry", "stage.required", "stage.idempotent"],
    ),
    (
        a_cap_of_any_layer_parks_what_would_exceed_it,
        &["stage.budget_usd", "phase.budget_usd", "coordinator.budget_usd"],
    ),
    (
        as_many_are_at_work_as_is_said_and_no_more,
        &["stage.each", "stage.max_parallel", "coordinator.max_parallel"],
    ),
    (
        flow_data::a_stage_is_repeated_until_it_says_that_it_is_enough,
        &["stage.until", "stage.from", "stage.max_rounds"],
    ),
    (
        flow_data::a_plan_that_a_stage_made_is_run_after_it_was_refused_with_its_line,
        &["stage.plan"],
    ),
    (
        flow_data::a_plan_says_neither_who_works_nor_with_what_and_is_not_endless,
        &["stage.max_stages"],
    ),
    (flows::a_stage_may_be_a_whole_verified_run, &["stage.task"]),
    (
        judged_phases::what_judges_do_not_let_pass_is_refined_and_healed_like_what_is_red,
        &["stage.judged", "stage.max_cycles"],
    ),
    (
        judged_phases::an_agent_or_role_of_a_judge_that_cannot_be_had_is_refused_at_once,
        &["stage.writer", "stage.auditor", "stage.consolidator"],
    ),
    (
        held_out::what_a_sentinel_specifies_is_told_to_the_tester_of_a_fix_and_not_to_its_coder,
        &["stage.hold_out"],
    ),
    (
        questions::an_escalated_run_inside_a_stage_is_tried_again_with_the_answer,
        &["stage.max_bounces"],
    ),
    (
        flow_data::configs_of_other_tools_run_as_they_are_and_are_refused_with_their_line,
        &["orchestrator.name", "orchestrator.executor", "orchestrator.modifiers", "stage.args"],
    ),
    (
        a_phase_waits_for_others_and_is_tried_as_often_as_it_says,
        &[
            "coordinator.name",
            "coordinator.phases",
            "phase.name",
            "phase.orchestrator",
            "phase.modifier",
            "phase.target",
            "phase.depends_on",
            "phase.retry",
            "phase.resolve",
            "phase.required",
        ],
    ),
    (
        questions::a_resolver_is_told_a_bounded_summary_and_its_words_reach_the_next_attempt,
        &["coordinator.resolver"],
    ),
    (
        agent_mode::a_flow_file_says_which_of_its_layers_a_session_leads,
        &["orchestrator.mode", "coordinator.mode"],
    ),
    (
        a_run_is_shown_with_what_its_flow_is_for,
        &["orchestrator.description", "coordinator.description"],
    ),
];

#[test]
fn no_key_is_without_a_run_that_shows_its_effect() {
    let keys = SHOWN.iter().flat_map(|(_, keys)| keys.iter().map(|key| (*key).to_owned()));
    let shown: BTreeSet<String> = keys.clone().collect();
    assert_eq!(shown.len(), keys.count(), "a key is shown in one place");
    let is_of_campaigns = |key: &String| key.starts_with("campaign.") || key.starts_with("domain.");
    let mut keys = spore_compose::flow_keys();
    keys.retain(|key| !is_of_campaigns(key));
    assert_eq!(shown, keys);
}

pub(crate) fn scene(flow: &str, parts: &str) -> TestEnv {
    let env = scenes::small();
    env.write(".spore/flows/f.toml", flow);
    for role in ["finder", "maker"] {
        env.write(&format!(".spore/agents/{role}.md"), "You do one thing.\n");
    }
    env.write_at(&env.dir().join("parts.toml"), parts);
    env
}

pub(crate) const REPLAY: &[&str] =
    &["--backend", "replay", "--scenario", "../parts.toml", "--json"];

fn run(env: &TestEnv, args: &[&str]) -> ProgramOutput {
    env.spore(&[args, REPLAY].concat())
}

/// A session of the maker that plays these steps and ends with this line.
pub(crate) fn part(task: &str, bounce: u32, last: &str, steps: &str) -> String {
    format!(
        "[[session]]\nrole = \"maker\"\ntask = \"{task}\"\nbounce = {bounce}\ncost_usd = 0.25\n\
         final = \"{last}\"\nsteps = [{steps}]\n"
    )
}

#[track_caller]
fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_else(|| panic!("{pointer} of {value:#}"))
}

#[test]
fn who_works_is_told_what_its_stage_says() {
    let flow = r#"
[executors.find]
role = "finder"
backend = "replay"
scenario = "../parts.toml"
prompt = "{action} what there is about {target}."
artifact = "notes/{target}.md"
[executors.make]
role = "maker"
[orchestrators.o]
stages = [
  { name = "LOOK", executor = "find", action = "FIND" },
  { name = "AGAIN", executor = "find", target = "the {target}", prompt = "Once more: {target}.", artifact = "more.md", scenario = "../other.toml" },
  { name = "MAKE", executor = "make", backend = "replay", scenario = "../other.toml" },
]
"#;
    let finder = |action: &str, expected: &str, file: &str| {
        format!(
            "[[session]]\nrole = \"finder\"\nbounce = 1\nfinal = \"STAGE_{action}_COMPLETE\"\n\
             steps = [{{ expect = \"{expected}\" }}, {{ write = \"{file}\", content = \"x\\n\" }}]\n"
        )
    };
    let env = scene(flow, &finder("FIND", "FIND what there is about sky.", "notes/sky.md"));
    let other = finder("AGAIN", "Once more: the sky.", "more.md")
        + &part("MAKE sky", 1, "STAGE_MAKE_COMPLETE", "");
    env.write_at(&env.dir().join("other.toml"), &other);
    // The call names neither agent nor scenario: the flow's own are used, or the run fails.
    let told = env.spore(&["stage", "o", "full", "sky", "--json"]).code(0).json();
    let left: Vec<&Value> =
        told["stages"].as_array().unwrap().iter().map(|stage| &stage["artifact"]).collect();
    assert_eq!(left, [&json!("notes/sky.md"), &json!("more.md"), &Value::Null]);
    let names = env.git(&["ls-tree", "-r", "--name-only", text(&told, "/branch")]);
    assert!(names.contains("notes/sky.md") && names.contains("more.md"), "{names}");
    let shown = scenes::newest(&env);
    let sessions = shown["parts"].as_array().unwrap().iter().filter(|part| part["kind"] == "exec");
    let names: Vec<&str> = sessions.map(|part| text(part, "/name")).collect();
    assert_eq!(names, ["LOOK", "AGAIN", "MAKE"]);
}

#[test]
fn an_action_that_an_executor_does_not_have_is_not_run() {
    let flow = "[executors.make]\nrole = \"maker\"\nactions = [\"MAKE\"]\n";
    let env = scene(flow, &part("MAKE", 1, "STAGE_MAKE_COMPLETE", ""));
    let _ = run(&env, &["exec", "make", "MAKE", "it"]).code(0);
    let refused = env.spore(&["exec", "make", "MAKES", "it", "--backend", "replay"]).code(64);
    assert!(refused.stderr.contains("did you mean MAKE?"), "{}", refused.render());
    let listed = env.spore(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
}

#[test]
fn a_session_has_the_model_turns_and_tools_that_are_said() {
    let flow = r#"
[executors.few]
role = "maker"
backend = "api"
model = "claude-haiku-4-5"
max_turns = 1
allowed_tools = ["read"]
[executors.many]
role = "maker"
backend = "api"
[orchestrators.o]
stages = [
  { name = "FEW", executor = "few", heal = 0, retry = 0, required = false },
  { name = "MORE", executor = "few", model = "claude-opus-4-1", max_turns = 3, heal = 0, retry = 0, required = false },
  { name = "MANY", executor = "many", max_turns = 2, heal = 0, retry = 0, required = false },
]
"#;
    let reads = Turn::calls("read", json!({ "path": "kept.txt" })).sticky();
    let server = ModelServer::start(verified_run::scenario([reads])).unwrap();
    let env = scene(flow, "");
    let variables = verified_run::variables(&server.url());
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let args = ["stage", "o", "full", "it", "--model", MODEL, "--json"];
    let output = env.spore_in(&env.repo(), &args, &variables).code(1);
    let requests = server.requests();
    let asked = |model: &str| -> Vec<Value> {
        let bodies = requests.iter().map(|exchange| exchange.body.clone());
        bodies.filter(|body| body["model"].as_str() == Some(model)).collect()
    };
    let turns = ["claude-haiku-4-5", "claude-opus-4-1", MODEL].map(|model| asked(model).len());
    assert_eq!(turns, [1, 3, 2], "{}", output.render());
    let tools = |body: &Value| -> BTreeSet<String> {
        let all = body["tools"].as_array().unwrap().iter();
        all.map(|tool| text(tool, "/name").to_owned()).collect()
    };
    let (few, many) = (tools(&asked("claude-haiku-4-5")[0]), tools(&asked(MODEL)[0]));
    assert!(few.contains("read") && !few.contains("grep"), "{few:?}");
    assert!(many.contains("read") && many.contains("grep"), "{many:?}");
}

#[test]
fn a_session_ends_when_its_time_is_over() {
    let flow = r#"
[executors.short]
role = "maker"
timeout = "1s"
[executors.long]
role = "maker"
timeout = "5m"
[orchestrators.o]
stages = [
  { name = "A", executor = "short", heal = 0, retry = 0, required = false },
  { name = "B", executor = "long", timeout = "1s", heal = 0, retry = 0 },
]
"#;
    let hangs = |name: &str| part(&format!("{name} it"), 1, "", "{ hang = true }");
    let env = scene(flow, &format!("{}{}", hangs("A"), hangs("B")));
    let told = run(&env, &["stage", "o", "full", "it"]).code(21).json();
    for stage in told["stages"].as_array().unwrap() {
        assert_eq!(stage["exit_code"], 21, "{told:#}");
    }
}

#[test]
fn a_stage_is_tried_as_often_as_it_says() {
    let flow = r#"
[executors.make]
role = "maker"
[orchestrators.o]
stages = [
  { name = "HEALED", executor = "make", heal = 1, retry = 0, required = false },
  { name = "RETRIED", executor = "make", heal = 0, retry = 1, required = false },
  { name = "ONCE", executor = "make", heal = 0, retry = 1, idempotent = false, required = false },
  { name = "TWICE", executor = "make", heal = 0, retry = 1, required = false },
  { name = "NEEDED", executor = "make", heal = 0, retry = 0 },
  { name = "LAST", executor = "make" },
]
"#;
    let mut parts = String::new();
    for bounce in 1..=2 {
        for name in ["HEALED", "RETRIED", "NEEDED"] {
            parts.push_str(&part(&format!("{name} it"), bounce, "STAGE_FAILED: no idea", ""));
        }
        for name in ["ONCE", "TWICE"] {
            parts.push_str(&part(&format!("{name} it"), bounce, "", "{ exit = 21 }"));
        }
    }
    let env = scene(flow, &parts);
    let told = run(&env, &["stage", "o", "full", "it"]).code(1).json();
    let stages = told["stages"].as_array().unwrap().iter();
    let attempts: Vec<u64> = stages.map(|stage| stage["attempts"].as_u64().unwrap()).collect();
    assert_eq!(attempts, [2, 2, 1, 2, 1, 0], "{told:#}");
    let second =
        |name: &str| scenes::artefact(&env, &format!("stages/{name}/attempt-2/session/task.md"));
    assert!(second("HEALED").contains("Attempt 1 did not succeed: no idea"));
    assert!(!second("RETRIED").contains("no idea"));
    assert!(text(&told, "/reason").starts_with("NEEDED: "), "{told:#}");
}

#[test]
fn a_cap_of_any_layer_parks_what_would_exceed_it() {
    let flow = |stage: &str, phase: &str, coordinator: &str| {
        format!(
            r#"
[executors.make]
role = "maker"
[orchestrators.o]
stages = [{{ name = "A", executor = "make", each = ["a", "b"], target = "{{item}}", max_parallel = 1{stage} }}]
[coordinators.c]
{coordinator}
phases = [{{ name = "p", orchestrator = "o", target = "t"{phase} }}]
"#
        )
    };
    let parts: String =
        ["a", "b"].map(|item| part(&format!("A {item}"), 1, "STAGE_A_COMPLETE", "")).concat();
    let cap = ", budget_usd = 0.2";
    for flow in [flow(cap, "", ""), flow("", cap, ""), flow("", "", "budget_usd = 0.2")] {
        let env = scene(&flow, &parts);
        let told = run(&env, &["phase", "c"]).code(3).json();
        assert_eq!(scenes::newest(&env)["status"], "parked:budget", "{flow}");
        // The first of both overshot the cap, and the second was not begun.
        assert_eq!(told["cost"]["usd"], 0.25, "{flow}");
    }
    let env = scene(&flow("", "", ""), &parts);
    assert_eq!(run(&env, &["phase", "c"]).code(0).json()["cost"]["usd"], 0.5);
}

#[test]
fn the_cap_of_a_stage_is_one_for_all_its_attempts() {
    let flow = r#"
[executors.make]
role = "maker"
[orchestrators.o]
stages = [{ name = "A", executor = "make", target = "x", heal = 0, retry = 3, budget_usd = 0.4 }]
"#;
    let parts: String = (1..=4).map(|bounce| part("A x", bounce, "STAGE_FAILED: no", "")).collect();
    let env = scene(flow, &parts);
    let told = run(&env, &["stage", "o", "full", "t"]).code(3).json();
    assert_eq!(scenes::newest(&env)["status"], "parked:budget", "{told:#}");
    // The second attempt overshot what the first had left, and there was no third.
    assert_eq!(told["cost"]["usd"], 0.5, "{told:#}");
}

/// A step that only ends well while another session plays the same one.
const TOGETHER: &str = r#"{ run = "touch $HOME/here-$$; for i in $(seq 100); do test $(ls $HOME/here-* | wc -l) -ge 2 && exit 0; sleep 0.1; done; exit 1" }"#;
#[test]
fn phases_at_once_have_equal_shares_of_what_is_left() {
    let flow = r#"
[executors.make]
role = "maker"
[orchestrators.o]
stages = [{ name = "A", executor = "make", heal = 0, retry = 0 }, { name = "B", executor = "make" }]
[coordinators.c]
max_parallel = 2
phases = [{ name = "p", orchestrator = "o", target = "a" }, { name = "q", orchestrator = "o", target = "b" }]
"#;
    let parts = ["a", "b"].map(|target| {
        part(&format!("A {target}"), 1, "STAGE_A_COMPLETE", TOGETHER)
            + &part(&format!("B {target}"), 1, "STAGE_B_COMPLETE", "")
    });
    let env = scene(flow, &parts.concat());
    let told = run(&env, &["phase", "c", "--budget", "1"]).code(0).json();
    assert_eq!(told["cost"]["usd"], 1.0, "{told:#}");
}

#[test]
fn a_phase_that_ends_the_flow_does_so_although_another_waits_for_an_answer() {
    let flow = r#"
[executors.make]
role = "maker"
[orchestrators.o]
stages = [{ name = "A", executor = "make", heal = 0, retry = 0 }]
[coordinators.c]
max_parallel = 2
phases = [{ name = "p", orchestrator = "o", target = "a" }, { name = "q", orchestrator = "o", target = "b" }]
"#;
    let deep = part("A a", 1, "", r#"{ run = "sleep 1" }, { exit = 2 }"#);
    let env = scene(flow, &(deep + &part("A b", 1, "STAGE_NEEDS_HUMAN: which?", "")));
    let _ = run(&env, &["phase", "c"]).code(2);
    let state = scenes::artefact(&env, ".session-state");
    assert!(state.starts_with("state: COMPLETE"), "{state}");
}

/// A step that only ends well while no other session plays it.
const ALONE: &str = r#"{ run = "mkdir $HOME/alone && sleep 0.3 && rmdir $HOME/alone" }"#;

#[test]
fn as_many_are_at_work_as_is_said_and_no_more() {
    let flow = |most: u32| {
        format!(
            r#"
[executors.make]
role = "maker"
[orchestrators.one]
stages = [{{ name = "A", executor = "make", heal = 0, retry = 0 }}]
[orchestrators.each]
stages = [{{ name = "A", executor = "make", each = ["a", "b"], target = "{{item}}", heal = 0, retry = 0, max_parallel = {most} }}]
[coordinators.c]
max_parallel = {most}
phases = [
  {{ name = "p", orchestrator = "one", target = "a", retry = 0 }},
  {{ name = "q", orchestrator = "one", target = "b", retry = 0 }},
]
"#
        )
    };
    for (most, step) in [(2, TOGETHER), (1, ALONE)] {
        for args in [&["stage", "each", "full", "t"][..], &["phase", "c"]] {
            let parts =
                ["a", "b"].map(|one| part(&format!("A {one}"), 1, "STAGE_A_COMPLETE", step));
            let env = scene(&flow(most), &parts.concat());
            let _ = run(&env, args).code(0);
        }
    }
}

#[test]
fn a_phase_waits_for_others_and_is_tried_as_often_as_it_says() {
    let stages = r#"
[executors.make]
role = "maker"
[orchestrators.o]
stages = [
  { name = "A", executor = "make", heal = 0, retry = 0 },
  { name = "B", executor = "make", heal = 0, retry = 0 },
]
modifiers = { lean = ["B"] }
"#;
    // A coordinator in a file of its own is called what it says.
    let coordinator = json!({ "name": "whole", "phases": [
        { "name": "first", "orchestrator": "o", "target": "one" },
        { "name": "then", "orchestrator": "o", "modifier": "lean", "target": "two",
          "depends_on": ["first"] },
        { "name": "retried", "orchestrator": "o", "modifier": "lean", "target": "fails",
          "retry": 1, "required": false },
        { "name": "once", "orchestrator": "o", "modifier": "lean", "target": "fails",
          "retry": 0, "required": false },
        { "name": "resolved", "orchestrator": "o", "modifier": "lean", "target": "asks",
          "resolve": 1, "required": false },
        { "name": "raised", "orchestrator": "o", "modifier": "lean", "target": "asks",
          "resolve": 0, "required": false },
    ] });
    let parts = [
        part("A one", 1, "STAGE_A_COMPLETE", r#"{ write = "one.txt", content = "1\n" }"#),
        part("B one", 1, "STAGE_B_COMPLETE", ""),
        part("B two", 1, "STAGE_B_COMPLETE", r#"{ run = "cp one.txt two.txt" }"#),
        part("B fails", 1, "STAGE_FAILED: no idea", ""),
        part("B asks", 1, "STAGE_NEEDS_REFINEMENT: which?", ""),
    ];
    let env = scene(stages, &parts.concat());
    env.write(".spore/flows/any.json", &coordinator.to_string());
    let told = run(&env, &["phase", "whole"]).code(12).json();
    let phases: Vec<String> = told["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|phase| {
            let attempts = phase["orchestrators"].as_array().unwrap().len();
            format!("{} {} ×{attempts}", text(phase, "/phase"), phase["exit_code"])
        })
        .collect();
    assert_eq!(
        phases,
        ["first 0 ×1", "then 0 ×1", "retried 1 ×2", "once 1 ×1", "resolved 10 ×2", "raised 10 ×1"]
    );
    let made = env.git(&["show", &format!("{}:two.txt", text(&told, "/branch"))]);
    assert_eq!(made, "1");
}

#[test]
fn a_run_is_shown_with_what_its_flow_is_for() {
    let flow = r#"
[executors.make]
role = "maker"
[orchestrators.o]
description = "makes things"
stages = [{ name = "A", executor = "make" }]
[coordinators.c]
description = "makes all things"
phases = [{ name = "p", orchestrator = "o", target = "t" }]
"#;
    let env = scene(flow, &part("A t", 1, "STAGE_A_COMPLETE", ""));
    let told = run(&env, &["phase", "c"]).code(0).json();
    assert_eq!(scenes::newest(&env)["run"]["task"], "c: p (makes all things)");
    let stage = text(&told, "/phases/0/orchestrators/0/run");
    let shown = env.spore(&["runs", "show", stage, "--json"]).code(0).json();
    assert_eq!(shown["run"]["task"], "o full t (makes things)");
}
