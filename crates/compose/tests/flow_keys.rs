//! Every key of a flow file has an effect on what is planned, and no key is without a case here.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::collections::BTreeSet;

use serde_json::Value;
use spore_compose::{FlowFile, Flows, Habits, flow_keys};

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

/// A flow with a place for one more key in each of its tables.
const FLOW: &str = r#"
[executors.e]
<executor>
[executors.other]
artifact = "list.md"
[orchestrators.o]
<orchestrator>
[[orchestrators.o.stages]]
name = "FIRST"
executor = "other"
[[orchestrators.o.stages]]
name = "S"
<stage>
[orchestrators.p]
stages = [{ name = "P", executor = "other" }]
modifiers = { lean = ["P"] }
[coordinators.c]
<coordinator>
[[coordinators.c.phases]]
name = "before"
orchestrator = "p"
target = "t"
[[coordinators.c.phases]]
name = "it"
<phase>
[campaigns.m]
<campaign>
[[campaigns.m.domains]]
<domain>
"#;

/// What a table has to have, and its word for `key`.
fn usual(table: &str) -> Vec<(&'static str, &'static str)> {
    match table {
        "stage" => vec![("executor", r#""e""#)],
        "phase" => vec![("orchestrator", r#""o""#), ("target", r#""t""#)],
        "campaign" => vec![("decomposer", r#""e""#)],
        "domain" => vec![("name", r#""d""#), ("executor", r#""e""#)],
        _ => Vec::new(),
    }
}

/// Plans the flow with these keys in a table.
fn planned(table: &str, keys: &[(&str, &str)]) -> Result<Value, String> {
    let lines = |name: &str| {
        let own = if name == table { keys.to_vec() } else { Vec::new() };
        let mut all: Vec<(&str, &str)> = usual(name)
            .into_iter()
            .filter(|(key, _)| own.iter().all(|(one, _)| one != key))
            .collect();
        all.extend(own);
        all.iter().map(|(key, value)| format!("{key} = {value}\n")).collect::<String>()
    };
    let mut text = FLOW.to_owned();
    for name in ["executor", "orchestrator", "stage", "coordinator", "phase", "campaign", "domain"]
    {
        text = text.replace(&format!("<{name}>"), &lines(name));
    }
    let flows = Flows::read(&[FlowFile { path: "f.toml".into(), text }]);
    let flows = flows.map_err(|error| error.to_string())?;
    if ["campaign", "domain"].contains(&table) {
        let read = |path: &str| Ok(format!("by {path} for {{target}}"));
        let plan = flows.campaign("m", Some("t"), &HABITS, &read);
        return Ok(serde_json::to_value(plan.map_err(|error| error.to_string())?).unwrap());
    }
    let plan = flows.phases("c", None, &HABITS).map_err(|error| error.to_string())?;
    Ok(serde_json::to_value(plan).unwrap())
}

/// Where two plans differ, by their paths.
fn differences(one: &Value, other: &Value, path: &str, found: &mut BTreeSet<String>) {
    match (one, other) {
        (Value::Object(left), Value::Object(right)) => {
            for key in left.keys().chain(right.keys()) {
                let get = |map: &serde_json::Map<String, Value>| map.get(key).cloned();
                let (left, right) = (get(left), get(right));
                if left != right {
                    let path = format!("{path}/{key}");
                    match (left, right) {
                        (Some(left), Some(right)) => differences(&left, &right, &path, found),
                        _ => drop(found.insert(path)),
                    }
                }
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (at, (left, right)) in left.iter().zip(right).enumerate() {
                differences(left, right, &format!("{path}/{at}"), found);
            }
        }
        _ if one != other => drop(found.insert(path.to_owned())),
        _ => {}
    }
}

const STAGE: &str = "/phases/1/orchestrator/stages/1";
const PHASE: &str = "/phases/1";

/// A key, its value, what it needs beside it, and what becomes of the plan.
struct KeyCase {
    key: &'static str,
    value: &'static str,
    beside: &'static [(&'static str, &'static str)],
    changes: &'static str,
}

const fn case(key: &'static str, value: &'static str, changes: &'static str) -> KeyCase {
    KeyCase { key, value, beside: &[], changes }
}

const VERIFIED: &[(&str, &str)] = &[("executor", "\"orchestrate\"")];
const PLANNED: &[(&str, &str)] =
    &[("executor", "\"planned\""), ("plan", "\"{stage.FIRST.artifact}\"")];
const JUDGED: &[(&str, &str)] = &[("executor", "\"sentinel\""), ("judged", "true")];
const REPEATED: &[(&str, &str)] = &[("artifact", "\"a\""), ("until", "\"OK\"")];

/// Keys whose effect is in one place of the plan.
const CASES: &[KeyCase] = &[
    case("executor.role", "\"judge\"", "role"),
    case("executor.prompt", "\"do {target}\"", "prompt"),
    case("executor.backend", "\"replay\"", "backend"),
    case("executor.scenario", "\"s.toml\"", "scenario"),
    case("executor.model", "\"high-tier\"", "model"),
    case("executor.allowed_tools", "[\"Read\"]", "allowed_tools"),
    case("executor.max_turns", "3", "max_turns"),
    case("executor.timeout", "\"5m\"", "timeout"),
    case("executor.artifact", "\"a.md\"", "artifact"),
    case("orchestrator.description", "\"why\"", "@/phases/1/orchestrator/description"),
    case("stage.action", "\"GO\"", "action"),
    case("stage.args", "[\"GO\"]", "action"),
    case("stage.target", "\"x {target}\"", "target"),
    case("stage.prompt", "\"by {stage.FIRST.artifact}\"", "prompt"),
    case("stage.backend", "\"replay\"", "backend"),
    case("stage.scenario", "\"s.toml\"", "scenario"),
    case("stage.model", "\"low\"", "model"),
    case("stage.max_turns", "3", "max_turns"),
    case("stage.timeout", "90", "timeout"),
    case("stage.artifact", "\"a.md\"", "artifact"),
    case("stage.budget_usd", "0.5", "budget"),
    case("stage.heal", "0", "heals"),
    case("stage.retry", "0", "retries"),
    case("stage.required", "false", "required"),
    case("stage.idempotent", "false", "idempotent"),
    case("stage.each", "[\"a\", \"b\"]", "each"),
    KeyCase {
        key: "stage.max_parallel",
        value: "1",
        beside: &[("each", "[\"a\"]")],
        changes: "each/max_parallel",
    },
    KeyCase {
        key: "stage.until",
        value: "\"OK\"",
        beside: &[("artifact", "\"a\"")],
        changes: "rounds",
    },
    KeyCase { key: "stage.from", value: "\"FIRST\"", beside: REPEATED, changes: "rounds/from" },
    KeyCase { key: "stage.max_rounds", value: "7", beside: REPEATED, changes: "rounds/max_rounds" },
    KeyCase { key: "stage.task", value: "\"do {target}\"", beside: VERIFIED, changes: "task" },
    KeyCase { key: "stage.max_bounces", value: "2", beside: VERIFIED, changes: "max_bounces" },
    KeyCase { key: "stage.max_stages", value: "2", beside: PLANNED, changes: "max_stages" },
    KeyCase {
        key: "stage.judged",
        value: "true",
        beside: &[("executor", "\"sentinel\"")],
        changes: "judged",
    },
    KeyCase { key: "stage.max_cycles", value: "7", beside: JUDGED, changes: "judged/max_cycles" },
    KeyCase { key: "stage.hold_out", value: "true", beside: JUDGED, changes: "judged/hold_out" },
    KeyCase { key: "stage.writer", value: "\"w\"", beside: JUDGED, changes: "judged/roles" },
    KeyCase { key: "stage.auditor", value: "\"a\"", beside: JUDGED, changes: "judged/roles" },
    KeyCase { key: "stage.consolidator", value: "\"c\"", beside: JUDGED, changes: "judged/roles" },
    case("coordinator.description", "\"why\"", "@/description"),
    case("coordinator.max_parallel", "1", "@/max_parallel"),
    case("coordinator.budget_usd", "2", "@/budget"),
    case("coordinator.resolver", "\"other\"", "@/phases/1/resolver"),
    case("phase.target", "\"{phase.before.P.artifact}\"", "target"),
    case("phase.depends_on", "[\"before\"]", "@/phases/1/depends_on"),
    case("phase.retry", "0", "@/phases/1/retries"),
    case("phase.resolve", "3", "@/phases/1/resolves"),
    case("phase.required", "false", "@/phases/1/required"),
    case("phase.budget_usd", "1", "@/phases/1/budget"),
    case("orchestrator.mode", "\"agent\"", "@/phases/1/orchestrator/mode"),
    case("coordinator.mode", "\"agent\"", "@/mode"),
    case("campaign.description", "\"why\"", "@/description"),
    case("campaign.consolidator", "\"e\"", "@/research/consolidator"),
    case("campaign.judge", "\"e\"", "@/research/judge"),
    KeyCase {
        key: "campaign.max_rounds",
        value: "7",
        beside: &[("judge", "\"e\"")],
        changes: "@/research/max_rounds",
    },
    case("campaign.max_parallel", "1", "@/research/max_parallel"),
    case("campaign.roadmap", "\"e\"", "@/planning/roadmap"),
    case("campaign.max_phases", "2", "@/planning/max_phases"),
    case("campaign.review", "false", "@/review"),
    case("campaign.heal", "0", "@/terms/heals"),
    case("campaign.decide", "\"e\"", "@/decide"),
    case("campaign.evaluator", "\"e\"", "@/evaluator"),
    case("campaign.ends_with", "\"plan\"", "@/ends_with"),
    case("campaign.budget_usd", "2", "@/budget"),
    case("campaign.mode", "\"agent\"", "@/mode"),
    case("domain.action", "\"LOOK\"", "@/research/domains/0/exec/action"),
    case("domain.prompt_file", "\"p.md\"", "@/research/domains/0/exec/prompt"),
];

/// Keys that name or hold other things: `what_names_or_holds_other_things_is_looked_up`.
const NAMES: &[&str] = &[
    "executor.actions",
    "orchestrator.name",
    "coordinator.name",
    "orchestrator.executor",
    "orchestrator.stages",
    "orchestrator.modifiers",
    "coordinator.phases",
    "stage.name",
    "stage.executor",
    "stage.plan",
    "phase.name",
    "phase.orchestrator",
    "phase.modifier",
    "campaign.domains",
    "campaign.decomposer",
    "campaign.coordinator",
    "domain.name",
    "domain.executor",
];

#[test]
fn every_key_changes_what_is_planned_where_it_says_so() {
    for one in CASES {
        let (table, key) = one.key.split_once('.').unwrap();
        let mut beside = one.beside.to_vec();
        if one.key == "phase.target" {
            beside.push(("depends_on", "[\"before\"]"));
        }
        let without = planned(table, &beside).unwrap();
        beside.push((key, one.value));
        let with = planned(table, &beside).unwrap();
        let mut found = BTreeSet::new();
        differences(&without, &with, "", &mut found);
        let wanted = match (one.changes.strip_prefix('@'), table) {
            (Some(path), _) => path.to_owned(),
            (None, "phase") => format!("{PHASE}/orchestrator/{}", one.changes),
            (None, _) => format!("{STAGE}/{}", one.changes),
        };
        assert!(found.contains(&wanted), "{}: {wanted} is not in {found:?}", one.key);
        // What is not said to change stays: but for texts that a text is a part of, and for what
        // the maker of a plan or list is held to.
        let is_own = |path: &&String| {
            path.starts_with(&wanted)
                || ["target", "prompt", "late", "late_target", "action", "makes", "resolver"]
                    .iter()
                    .any(|word| path.contains(word))
        };
        let strays: Vec<&String> = found.iter().filter(|path| !is_own(path)).collect();
        assert!(strays.is_empty(), "{} changes {strays:?}, too", one.key);
    }
}

/// What a campaign names is looked up, and a key that would have no effect is refused with its line.
#[test]
fn a_campaign_that_cannot_be_is_refused_in_words() {
    let told = |table: &str, keys: &[(&str, &str)]| planned(table, keys).unwrap_err();
    for (key, value, problem) in [
        ("decomposer", "\"none\"", "there is no executor \"none\""),
        ("judge", "\"none\"", "there is no executor \"none\""),
        ("coordinator", "\"c\"", "do not go together"),
        ("max_rounds", "2", "is without `judge`"),
        ("ends_with", "\"never\"", "there is no end \"never\""),
        ("mode", "\"both\"", "there is no mode \"both\""),
        ("dragons", "1", "dragons"),
    ] {
        let error = told("campaign", &[(key, value)]);
        assert!(error.contains(problem) && error.contains("f.toml:"), "{key}: {error}");
    }
    let error = told("campaign", &[("ends_with", "\"research\"")]);
    assert!(error.contains("is without a plan"), "{error}");
    let error = told("campaign", &[("ends_with", "\"plan\""), ("evaluator", "\"e\"")]);
    assert!(error.contains("is without phases"), "{error}");
    let error = told("domain", &[("name", "\"judge\""), ("executor", "\"e\"")]);
    assert!(error.contains("is a name that is taken already"), "{error}");
    let error = told("domain", &[("executor", "\"none\"")]);
    assert!(error.contains("there is no executor"), "{error}");
    for outside in ["\"../secret.md\"", "\"/etc/hostname\"", "\"\""] {
        let error = told("domain", &[("prompt_file", outside)]);
        assert!(error.contains("is outside of the project"), "{outside}: {error}");
    }
    // Phases that are known from the start.
    let flow = "[executors.e]\nrole = \"r\"\n[orchestrators.o]\nstages = [{ name = \"A\", executor = \"e\" }]\n\
                [coordinators.c]\nphases = [{ name = \"NAME\", orchestrator = \"o\", target = \"t\" }]\n\
                [campaigns.m]\ncoordinator = \"c\"\n";
    let read = |name: &str| {
        let text = flow.replace("NAME", name);
        Flows::read(&[FlowFile { path: "f.toml".into(), text }])
    };
    let none = |_: &str| Err("no".to_owned());
    let plan = read("p").unwrap().campaign("m", None, &HABITS, &none).unwrap();
    assert_eq!(plan.coordinator.unwrap().phases.len(), 1);
    for own in ["research-x", "plan-x", "research", "plan", "evaluation", "decision"] {
        let error = read(own).unwrap_err().to_string();
        assert!(error.contains("a campaign has for itself"), "{own}: {error}");
    }
}

#[test]
fn no_key_is_without_a_case() {
    let shown: BTreeSet<String> = CASES
        .iter()
        .map(|one| one.key.to_owned())
        .chain(NAMES.iter().map(|key| (*key).to_owned()))
        .collect();
    assert_eq!(shown, flow_keys());
}

#[test]
fn what_names_or_holds_other_things_is_looked_up() {
    let told = |table: &str, keys: &[(&str, &str)]| planned(table, keys).unwrap_err();
    assert!(told("executor", &[("actions", "[\"X\"]")]).contains("there is no action of e \"S\""));
    assert!(told("stage", &[("executor", "\"none\"")]).contains("there is no executor"));
    assert!(told("phase", &[("orchestrator", "\"none\"")]).contains("there is no orchestrator"));
    assert!(told("phase", &[("modifier", "\"none\"")]).contains("there is no modifier of o"));
    assert!(told("stage", &[("executor", "\"planned\"")]).contains("needs plan"));
    let plan = planned("stage", PLANNED).unwrap();
    let stages = &plan["phases"][1]["orchestrator"]["stages"];
    assert_eq!(stages[1]["plan"], "{stage.FIRST.artifact}");
    // The one who makes the plan is held to it.
    assert_eq!(stages[0]["makes"]["made_for"], "plan");
    let plan = planned("phase", &[("orchestrator", "\"p\""), ("modifier", "\"lean\"")]).unwrap();
    assert_eq!(plan["phases"][1]["orchestrator"]["modifier"], "lean");
    // The stages of an orchestrator have its executor where they name none.
    let text = "[executors.e]\nrole = \"r\"\n[orchestrators.o]\nexecutor = \"e\"\n\
                stages = [{ name = \"A\" }, { name = \"B\" }]\nmodifiers = { lean = [\"B\"] }\n";
    let flows = Flows::read(&[FlowFile { path: "f.toml".into(), text: text.to_owned() }]).unwrap();
    let plan = flows.stages("o", "lean", "t", &HABITS).unwrap();
    assert_eq!(plan.stages.len(), 1);
    assert_eq!(serde_json::to_value(&plan.stages[0]).unwrap()["executor"], "e");
    // A file that is one flow has its name from within.
    let text = r#"{ "name": "other", "stages": [{ "name": "A", "executor": "orchestrate" }] }"#;
    let flows = Flows::read(&[FlowFile { path: "f.json".into(), text: text.to_owned() }]).unwrap();
    assert!(flows.stages("other", "full", "t", &HABITS).is_ok());
    let text = r#"{ "name": "all", "phases": [] }"#;
    let told = Flows::read(&[FlowFile { path: "f.json".into(), text: text.to_owned() }]);
    assert!(told.unwrap_err().to_string().contains("coordinators.all needs at least one"));
}

/// A key about judges is refused where there are none.
#[test]
fn whom_a_sentinel_asks_is_settled_with_the_flow() {
    let sentinel = |keys: &[(&str, &str)]| {
        planned("stage", &[&[("executor", "\"sentinel\"")][..], keys].concat())
    };
    let stage = |plan: &Value| plan["phases"][1]["orchestrator"]["stages"][1].clone();
    // Without the key nothing is asked, and the plan is what it was before there were judges.
    let plain = stage(&sentinel(&[]).unwrap());
    assert_eq!((&plain["work"], plain.get("judged")), (&"sentinel".into(), None));
    assert_eq!(stage(&sentinel(&[("judged", "false")]).unwrap()), plain);
    for (key, value) in [
        ("task", "\"t\""),
        ("backend", "\"replay\""),
        ("budget_usd", "1"),
        ("max_cycles", "2"),
        ("hold_out", "true"),
        ("auditor", "\"a\""),
    ] {
        let told = sentinel(&[(key, value)]).unwrap_err();
        assert!(told.contains("f.toml:") && told.contains("with `judged = true`"), "{key}: {told}");
    }
    let judged = |keys: &[(&str, &str)]| {
        stage(&sentinel(&[&[("judged", "true")][..], keys].concat()).unwrap())["judged"].clone()
    };
    assert_eq!((&judged(&[])["task"], &judged(&[])["max_cycles"]), (&"t".into(), &3.into()));
    let own = judged(&[("task", "\"make {target}, as {stage.FIRST.artifact} says\"")]);
    assert_eq!(own["task"], "make t, as {stage.FIRST.artifact} says");
    assert!(planned("stage", &[("judged", "true")]).unwrap_err().contains("judged"));
    // Only a sentinel with judges leaves a commit.
    let text = |judged: bool| {
        format!(
            "[executors.e]\nrole = \"r\"\n[orchestrators.o]\nstages = [\n\
             {{ name = \"A\", executor = \"sentinel\", judged = {judged} }},\n\
             {{ name = \"B\", executor = \"e\", prompt = \"of {{stage.A.commit}}\" }} ]\n"
        )
    };
    let read = |text: String| Flows::read(&[FlowFile { path: "f.toml".into(), text }]);
    assert!(read(text(true)).is_ok());
    assert!(read(text(false)).unwrap_err().to_string().contains("A changes nothing"));
}

#[test]
fn a_role_of_a_sentinel_that_nobody_described_is_refused_with_its_line() {
    let text = "[orchestrators.o]\nstages = [\n  { name = \"A\", executor = \"sentinel\", judged = true, \
                auditor = \"strict\" },\n]\n";
    let flows = Flows::read(&[FlowFile { path: "f.toml".into(), text: text.to_owned() }]).unwrap();
    let role = |name: &str| (name == "strict").then(|| "there is no role".to_owned());
    let told = flows.check_words(&role, &|_, _| None).unwrap_err().to_string();
    assert!(told.contains("f.toml:3") && told.contains("stages.A.auditor"), "{told}");
    assert!(flows.check_words(&|_| None, &|_, _| None).is_ok());
}

#[test]
fn a_tool_that_the_backend_of_a_stage_lacks_is_refused_with_the_line_of_the_stage() {
    let text = "[executors.e]\nrole = \"r\"\nallowed_tools = [\"Bash\"]\n[orchestrators.o]\n\
                stages = [\n  { name = \"A\", executor = \"e\" },\n\
                \x20 { name = \"B\", executor = \"e\", backend = \"other\" },\n]\n";
    let flows = Flows::read(&[FlowFile { path: "f.toml".into(), text: text.to_owned() }]).unwrap();
    let tool = |backend: Option<&str>, name: &str| {
        (backend == Some("other")).then(|| format!("{name} is no tool of other"))
    };
    let told = flows.check_words(&|_| None, &tool).unwrap_err().to_string();
    assert!(told.contains("f.toml:7") && told.contains("Bash is no tool of other"), "{told}");
    assert!(flows.check_words(&|_| None, &|_, _| None).is_ok());
}
