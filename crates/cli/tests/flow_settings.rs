//! Every setting of `[flows]`, by what becomes of a flow because of it.

use std::collections::BTreeSet;

use serde_json::json;
use spore_testkit::{ProgramOutput, TestEnv};

use crate::flow_effects::{REPLAY, part, scene};
use crate::{questions, scenes};

/// A test, and the settings whose effect it shows.
type ShownSettings = (fn(), &'static [&'static str]);

const SHOWN: &[ShownSettings] = &[
    (
        each_layer_may_be_nested_as_deep_as_its_own_setting_says,
        &["exec_depth", "stage_depth", "phase_depth", "campaign_depth"],
    ),
    (
        questions::where_depth_runs_out_a_flow_gives_up_asks_for_more_or_does_all_in_one_session,
        &["at_depth"],
    ),
    (
        what_flows_leave_out_is_for_the_configuration_to_say,
        &[
            "heals",
            "retries",
            "max_attempts",
            "max_parallel",
            "max_items",
            "max_rounds",
            "max_planned",
        ],
    ),
    (a_plan_that_is_made_has_as_many_phases_as_may_be, &["max_phases"]),
    (what_failed_of_a_campaign_is_healed_in_as_many_rounds_as_may_be, &["campaign_heals"]),
    (the_next_attempt_is_told_so_much_of_what_the_last_one_left, &["diagnosis_bytes"]),
];

#[test]
fn no_setting_of_flows_is_without_a_run_that_shows_its_effect() {
    let shown = SHOWN.iter().flat_map(|(_, settings)| settings.iter().copied());
    let known = scenes::small().spore(&["config", "show", "flows"]).code(0);
    let known = known.stdout.lines().filter_map(|line| line.split_once(" = "));
    let known: BTreeSet<String> = known.map(|(name, _)| name.replace("flows.", "")).collect();
    assert_eq!(shown.clone().count(), known.len(), "a setting is shown in one place");
    assert_eq!(shown.map(str::to_owned).collect::<BTreeSet<_>>(), known);
}

/// Runs a command with these settings, which people write in capitals where they are variables.
fn run_with(env: &TestEnv, args: &[&str], settings: &[(&str, &str)]) -> ProgramOutput {
    let variable = |name: &str| {
        if name.contains("SPORE") { name.to_owned() } else { format!("SPORE_FLOWS_{name}") }
    };
    let settings: Vec<(String, &str)> =
        settings.iter().map(|(name, value)| (variable(name), *value)).collect();
    let settings: Vec<(&str, &str)> =
        settings.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    env.spore_in(&env.repo(), &[args, REPLAY].concat(), &settings)
}

#[test]
fn each_layer_may_be_nested_as_deep_as_its_own_setting_says() {
    let flow = r#"
[executors.make]
role = "maker"
[orchestrators.o]
stages = [{ name = "A", executor = "make" }]
[coordinators.c]
phases = [{ name = "p", orchestrator = "o", target = "t" }]
[campaigns.k]
coordinator = "c"
"#;
    let layers = [
        ("EXEC_DEPTH", &["exec", "make", "A", "t"][..]),
        ("STAGE_DEPTH", &["stage", "o", "full", "t"]),
        ("PHASE_DEPTH", &["phase", "c"]),
        ("CAMPAIGN_DEPTH", &["campaign", "run", "k"]),
    ];
    for (own, args) in layers {
        // One session is around it already.
        let limits = |limit_of_own: &'static str, of_others: &'static str| {
            let limit =
                |name: &'static str| (name, if name == own { limit_of_own } else { of_others });
            let mut settings: Vec<(&str, &str)> =
                layers.iter().map(|(name, _)| limit(name)).collect();
            settings.push(("SPORE_SPAWN_DEPTH", "1"));
            settings
        };
        let env = scene(flow, &part("", 1, "STAGE_A_COMPLETE", ""));
        let _ = run_with(&env, args, &limits("1", "9")).code(2);
        assert!(!env.repo().join(".spore/spore.db").exists(), "{own}");
        let _ = run_with(&env, args, &limits("2", "1")).code(0);
    }
}

/// Two phases that are made on the way, of which the second fails until it is healed.
fn campaign_scene() -> TestEnv {
    let flow = r#"
[executors.split]
role = "finder"
[executors.make]
role = "maker"
[orchestrators.o]
stages = [{ name = "A", executor = "make", heal = 0, retry = 0 }]
[campaigns.k]
decomposer = "split"
review = false
"#;
    let phase = |name: &str| {
        format!("[[phases]]\nname = \"{name}\"\norchestrator = \"o\"\ntarget = \"{name}\"\n")
    };
    let split = |bounce: u32| {
        format!(
            "[[session]]\nrole = \"finder\"\nbounce = {bounce}\nfinal = \"STAGE_DECOMPOSE_COMPLETE\"\n\
             steps = [{{ write = \"notes/k/phases.toml\", content = '''{}''' }}]\n",
            phase("one") + &phase("two")
        )
    };
    let parts = [
        (1..=4).map(split).collect(),
        part("two was run before", 1, "STAGE_A_COMPLETE", ""),
        part("A two", 1, "STAGE_FAILED: no string", ""),
        part("A one", 1, "STAGE_A_COMPLETE", ""),
    ];
    scene(flow, &parts.concat())
}

#[test]
fn a_plan_that_is_made_has_as_many_phases_as_may_be() {
    let args = ["campaign", "run", "k", "tabs"];
    let refused = run_with(&campaign_scene(), &args, &[("MAX_PHASES", "1")]).code(11).json();
    assert!(refused.to_string().contains("has 2 phases; at most 1 are run"), "{refused:#}");
    let told = run_with(&campaign_scene(), &args, &[("MAX_PHASES", "2")]).code(0).json();
    assert_eq!(told["phases"].as_array().unwrap().len(), 2, "{told:#}");
}

#[test]
fn what_failed_of_a_campaign_is_healed_in_as_many_rounds_as_may_be() {
    for (heals, code, attempts) in [("0", 12, 1), ("1", 0, 2)] {
        let settings = [("CAMPAIGN_HEALS", heals), ("RETRIES", "0")];
        let told = run_with(&campaign_scene(), &["campaign", "run", "k", "tabs"], &settings);
        assert_eq!(told.code(code).json()["phases"][1]["attempts"], attempts, "{heals}");
    }
}

#[test]
fn the_next_attempt_is_told_so_much_of_what_the_last_one_left() {
    let flow = r#"
[executors.make]
role = "maker"
[orchestrators.o]
stages = [{ name = "A", executor = "make", heal = 1, retry = 0 }]
"#;
    let said = "the first word\nthe last word\nSTAGE_FAILED: no idea";
    let parts = part("", 2, "STAGE_A_COMPLETE", "")
        + &part("", 1, "@", "").replace("\"@\"", &format!("'''{said}'''"));
    for (bytes, is_told) in [("40", false), ("4096", true)] {
        let env = scene(flow, &parts);
        let args = ["stage", "o", "full", "t"];
        let _ = run_with(&env, &args, &[("DIAGNOSIS_BYTES", bytes)]).code(0);
        let task = scenes::artefact(&env, "stages/A/attempt-2/session/task.md");
        assert!(task.contains("the last word"), "{bytes}: {task}");
        assert_eq!(task.contains("the first word"), is_told, "{bytes}: {task}");
    }
}

#[test]
fn what_flows_leave_out_is_for_the_configuration_to_say() {
    let flow = r#"
[executors.make]
role = "maker"
artifact = "list.md"
[orchestrators.o]
stages = [
  { name = "LIST", executor = "make" },
  { name = "EACH", executor = "make", each = "{stage.LIST.artifact}", target = "{item}", artifact = "{item}.md" },
  { name = "AGAIN", executor = "make", until = "LGTM" },
  { name = "MADE", executor = "planned", plan = "plan.toml" },
]
[coordinators.c]
phases = [{ name = "p", orchestrator = "o", target = "t" }]
"#;
    let env = scene(flow, "");
    let phase = "/plan/plan/phases/0";
    let stage = |at: usize, key: &str| format!("{phase}/orchestrator/stages/{at}/{key}");
    for (setting, places) in [
        ("HEALS", vec![stage(0, "heals")]),
        ("RETRIES", vec![stage(0, "retries"), format!("{phase}/retries")]),
        ("MAX_ATTEMPTS", vec![format!("{phase}/orchestrator/max_attempts")]),
        ("MAX_PARALLEL", vec!["/plan/plan/max_parallel".to_owned(), stage(1, "each/max_parallel")]),
        ("MAX_ITEMS", vec![stage(1, "each/max_items")]),
        ("MAX_ROUNDS", vec![stage(2, "rounds/max_rounds")]),
        ("MAX_PLANNED", vec![stage(3, "max_stages")]),
    ] {
        let args = [&["phase", "c", "--dry-run"], REPLAY].concat();
        let variable = format!("SPORE_FLOWS_{setting}");
        let output = env.spore_in(&env.repo(), &args, &[(variable.as_str(), "3")]).code(0).json();
        let other = env.spore_in(&env.repo(), &args, &[(variable.as_str(), "5")]).code(0).json();
        for place in places {
            let found = (output.pointer(&place), other.pointer(&place));
            assert_eq!(found, (Some(&json!(3)), Some(&json!(5))), "{setting}: {output:#}");
        }
    }
}
