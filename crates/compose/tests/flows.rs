//! Flow files: what is accepted and what it means, what is refused and in which words.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::path::Path;

use spore_compose::{FlowFile, Flows, Habits, PlanError};

const HABITS: Habits = Habits {
    heals: 2,
    retries: 1,
    max_attempts: 4,
    max_parallel: 4,
    max_items: 50,
    max_planned: 20,
    max_rounds: 3,
    max_phases: 8,
    campaign_heals: 2,
    max_cycles: 3,
};

fn sample(name: &str) -> FlowFile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/flows").join(name);
    FlowFile { path: name.into(), text: std::fs::read_to_string(path).unwrap() }
}

fn release() -> Flows {
    Flows::read(&[sample("valid/release.toml")]).unwrap()
}

#[test]
fn a_flow_is_planned_with_every_name_looked_up_and_every_hole_filled() {
    let plan = release().phases("release", None, &HABITS).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&plan).unwrap());
    let again: spore_compose::CoordinatorPlan =
        serde_json::from_value(serde_json::to_value(&plan).unwrap()).unwrap();
    assert_eq!(again, plan);
}

#[test]
fn what_is_wrong_with_a_flow_file_is_said_with_its_place() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/flows/invalid");
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let told: Vec<String> = names
        .iter()
        .map(|name| Flows::read(&[sample(&format!("invalid/{name}"))]).unwrap_err().to_string())
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn names_are_one_set_over_all_files_and_mean_one_thing() {
    let file = |path: &str, text: &str| FlowFile { path: path.into(), text: text.to_owned() };
    let executors = file("a.toml", "[executors.e]\n");
    let uses = file("b.toml", "[orchestrators.o]\nstages = [{ name = \"x\", executor = \"e\" }]\n");
    let flows = Flows::read(&[executors.clone(), uses]).unwrap();
    assert!(flows.stages("o", "full", "t", &HABITS).is_ok());
    let twice = Flows::read(&[executors, file("c.toml", "\n[executors.e]\n")]).unwrap_err();
    assert_eq!(twice.to_string(), "c.toml:2:12: executors.e is there already: a.toml:1:12");
}

#[test]
fn a_call_that_names_nothing_says_what_there_is() {
    let flows = release();
    let told = |error: PlanError| error.to_string();
    let wrong = [
        told(flows.exec("spex", "PLAN", "t").unwrap_err()),
        told(flows.exec("spec", "PLANT", "t").unwrap_err()),
        told(flows.stages("ospec", "leam", "t", &HABITS).unwrap_err()),
        told(flows.stages("nothing-like-it", "full", "t", &HABITS).unwrap_err()),
        told(flows.phases("releases", None, &HABITS).unwrap_err()),
        told(flows.stages("ospec", "leanest", "../../etc", &HABITS).unwrap_err()),
    ];
    assert_eq!(
        wrong,
        [
            "there is no executor \"spex\"; did you mean spec?",
            "there is no action of spec \"PLANT\"; did you mean PLAN?",
            "there is no modifier of ospec \"leam\"; did you mean lean?",
            "there is no orchestrator \"nothing-like-it\"",
            "there is no coordinator \"releases\"; did you mean release?",
            "the artifact \"out/specs/../../etc/x\" is not inside the project",
        ]
    );
}

fn flow(path: &str, text: &str) -> FlowFile {
    FlowFile { path: path.into(), text: text.to_owned() }
}

/// Files of other tools name a script where they mean what it runs, and a schema for editors.
#[test]
fn a_script_is_what_it_runs_wherever_it_is_and_a_schema_is_for_editors() {
    let executors = flow("a.toml", "[executors.spec]\n");
    let one = flow(
        "ospec.json",
        r#"{ "$schema": "https://example.com/o.json", "name": "ospec",
             "stages": [{ "name": "SPEC", "executor": "executors/spec.py" }] }"#,
    );
    let flows = Flows::read(&[executors.clone(), one]).unwrap();
    let plan = flows.stages("ospec", "full", "x", &HABITS).unwrap();
    assert_eq!(serde_json::to_value(&plan).unwrap()["stages"][0]["executor"], "spec");
    // A key of that name below the file itself is one like any other.
    let inner = r#"{ "stages": [{ "$schema": "x", "name": "SPEC", "executor": "spec" }] }"#;
    let refused = Flows::read(&[executors, flow("o.json", inner)]).unwrap_err().to_string();
    assert!(refused.contains("$schema"), "{refused}");
}

#[test]
fn what_can_never_be_done_is_refused_with_its_line() {
    let words = [
        ("actions = [\"PLAN\", \"../x\"]", "actions"),
        ("actions = [\"\"]", "actions"),
        ("actions = [\"a b\"]", "actions"),
        ("model = \" \"", "model"),
    ];
    for (line, key) in words {
        let text = format!("[executors.e]\n{line}\n");
        let refused = Flows::read(&[flow("a.toml", &text)]).unwrap_err().to_string();
        assert!(refused.contains("a.toml:2") && refused.contains(key), "{refused}");
    }
    let stage = "[executors.e]\n[[orchestrators.o.stages]]\nname = \"A\"\nexecutor = \"e\"\n";
    for action in ["", "a b", "a\\nb", "../x"] {
        let text = format!("{stage}action = \"{action}\"\n");
        let refused = Flows::read(&[flow("a.toml", &text)]).unwrap_err().to_string();
        assert!(refused.contains("a.toml:5"), "{refused}");
    }
    let flows = Flows::read(&[flow("a.toml", "[executors.e]\n")]).unwrap();
    for action in ["", "a b", "a\nb", "../x"] {
        let refused = flows.exec("e", action, "t").unwrap_err();
        assert_eq!(refused, PlanError::BadAction { action: action.to_owned() });
    }
    let left_out = |path: &str| path.starts_with(".env");
    let own = format!("{stage}artifact = \".env.{{target}}\"\n");
    let flows = Flows::read(&[flow("a.toml", &own)]).unwrap();
    let refused = flows.check_artifacts(&left_out).unwrap_err().to_string();
    assert!(refused.contains("a.toml:5") && refused.contains("commit"), "{refused}");
    let flows = Flows::read(&[flow("a.toml", "[executors.e]\nartifact = \".env\"\n")]).unwrap();
    let refused = flows.check_artifacts(&left_out).unwrap_err().to_string();
    assert!(refused.contains("a.toml:2"), "{refused}");
    assert!(release().check_artifacts(&left_out).is_ok());
}
