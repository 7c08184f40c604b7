//! What `spore runs … --json`, `spore dashboard --json` and `spore health --json` print is described by
//! schemas in `docs/schemas`, for programs that read it. They are derived from the types that are printed, so a field that comes, goes or changes
//! is seen here; `SPORE_SCHEMAS=write` writes them anew.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use spore_testkit::TestEnv;

use crate::runs::history;
use crate::scenes::{self, ORCHESTRATE, THREE_BOUNCES, WRITE_42};
use crate::task_loop::{REPLAY, args, idles, scene, writes};

fn schema<T: JsonSchema>(title: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    schema["title"] = json!(title);
    schema
}

/// The documents, by the command that prints them.
fn published() -> Vec<(&'static str, Value)> {
    vec![
        ("runs-list", schema::<Vec<spore_app::RunRow>>("spore runs list --json")),
        ("runs-show", schema::<spore_app::ShownRun>("spore runs show --json")),
        ("runs-explain", schema::<spore_app::RunExplanation>("spore runs explain --json")),
        ("runs-timeline", schema::<spore_app::RunTimeline>("spore runs timeline --json")),
        ("runs-cost", schema::<spore_app::SpendingReport>("spore runs cost --json")),
        ("runs-top", schema::<Vec<spore_app::RunFigures>>("spore runs top --json")),
        ("runs-stats", schema::<spore_app::StatsReport>("spore runs stats --json")),
        ("runs-compare", schema::<spore_app::RunComparison>("spore runs compare --json")),
        (
            "runs-compare-experiments",
            schema::<spore_app::ExperimentComparison>("spore runs compare-experiments --json"),
        ),
        ("runs-diff", schema::<spore_app::RunDiff>("spore runs diff --json")),
        ("runs-export", schema::<spore_app::Exported>("spore runs export --json")),
        ("runs-export-otlp", schema::<spore_app::SentTraces>("spore runs export --otlp --json")),
        // A line each.
        ("runs-watch", schema::<spore_app::News>("spore runs watch --json")),
        ("runs-cancel", schema::<spore_app::Interrupted>("spore runs cancel --json")),
        ("runs-rollback", schema::<spore_app::RolledBack>("spore runs rollback --json")),
        ("runs-prune", schema::<spore_app::Pruned>("spore runs prune --json")),
        ("runs-abandon", schema::<spore_app::Abandoned>("spore runs abandon --json")),
        // Of `spore batch`, too.
        ("loop", schema::<spore_app::LoopReport>("spore loop --json")),
        ("dashboard", schema::<spore_app::Dashboard>("spore dashboard --json")),
        ("health", schema::<spore_app::ProjectHealth>("spore health --json")),
        ("distill", schema::<spore_app::RunDistillation>("spore distill --json")),
        ("lessons", schema::<Vec<spore_app::LessonRow>>("spore lessons --json")),
        ("prompt-stats", schema::<spore_app::PromptStats>("spore prompt-stats --json")),
        ("campaign-status", schema::<spore_app::CampaignStatus>("spore campaign status --json")),
        ("campaign-change", schema::<spore_app::ChangedPhases>("spore campaign change --json")),
    ]
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/schemas/{name}.json"))
}

#[test]
fn the_published_schemas_are_those_of_what_is_printed() {
    let is_asked = std::env::var("SPORE_SCHEMAS").is_ok_and(|asked| asked == "write");
    for (name, schema) in published() {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if is_asked {
            std::fs::create_dir_all(file(name).parent().unwrap()).unwrap();
            std::fs::write(file(name), &text).unwrap();
        }
        let there = std::fs::read_to_string(file(name)).unwrap_or_default();
        assert!(there == text, "docs/schemas/{name}.json is not up to date: SPORE_SCHEMAS=write");
    }
}

/// Says what of a document is not as a schema has it. Knows what our schemas use, and refuses a
/// schema that uses anything else: what is not understood is not checked.
fn faults(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    const KNOWN: &[&str] = &[
        "$schema",
        "$defs",
        "$ref",
        "title",
        "description",
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "allOf",
        "additionalProperties",
        "format",
        "minimum",
        "maximum",
        "default",
    ];
    let Some(fields) = schema.as_object() else {
        if schema == &json!(false) {
            found.push(format!("{at} may not be there"));
        }
        return;
    };
    for key in fields.keys().filter(|key| !KNOWN.contains(&key.as_str())) {
        found.push(format!("the schema at {at} says {key:?}, which nothing here checks"));
    }
    if let Some(name) = schema["$ref"].as_str() {
        let target = root.pointer(name.trim_start_matches('#'));
        faults(root, target.unwrap_or(&json!(false)), value, at, found);
    }
    let holds = |schema: &Value| {
        let mut inner = Vec::new();
        faults(root, schema, value, at, &mut inner);
        inner.is_empty()
    };
    for (key, is_enough) in [("anyOf", None), ("oneOf", Some(1))] {
        if let Some(any) = schema[key].as_array() {
            let holding = any.iter().filter(|schema| holds(schema)).count();
            if holding == 0 || is_enough.is_some_and(|enough| holding != enough) {
                found.push(format!("{at} is {holding} of {key}: {value}"));
            }
        }
    }
    for all in schema["allOf"].as_array().into_iter().flatten() {
        faults(root, all, value, at, found);
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        found.push(format!("{at} is none of {words:?}: {value}"));
    }
    if fields.get("const").is_some_and(|only| only != value) {
        found.push(format!("{at} is not {}: {value}", schema["const"]));
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is_kind(value, kind)) {
        found.push(format!("{at} is not {kinds:?}: {value}"));
    }
    if let (Some(least), Some(number)) = (schema["minimum"].as_f64(), value.as_f64())
        && number < least
    {
        found.push(format!("{at} is below {least}"));
    }
    members(root, schema, value, at, found);
}

fn is_kind(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

fn members(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
        if let Some(items) = schema.get("items") {
            faults(root, items, item, &format!("{at}[{number}]"), found);
        }
    }
    let Some(object) = value.as_object() else { return };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(name) {
            found.push(format!("{at} has no {name}"));
        }
    }
    let known = schema["properties"].as_object();
    for (name, member) in object {
        let at = format!("{at}.{name}");
        match (known.and_then(|known| known.get(name)), schema.get("additionalProperties")) {
            (Some(schema), _) => faults(root, schema, member, &at, found),
            (None, Some(others)) => faults(root, others, member, &at, found),
            // A reader may take what it does not know; what we print is all in the schema.
            (None, None) if known.is_some() => found.push(format!("{at} is not in the schema")),
            (None, None) => {}
        }
    }
}

fn check(env: &TestEnv, name: &str, args: &[&str]) -> Value {
    let words = [&["runs"], args, &["--json"]].concat();
    let document = env.spore(&words).code(0).json();
    hold_to(name, &document, &words);
    document
}

/// Asserts that a document is as its published schema says.
#[track_caller]
pub(crate) fn hold_to(name: &str, document: &Value, words: &[&str]) {
    let text = std::fs::read_to_string(file(name)).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    let mut found = Vec::new();
    faults(&schema, &schema, document, "", &mut found);
    assert_eq!(found, Vec::<String>::new(), "{words:?}");
}

#[test]
fn every_document_about_runs_is_as_its_schema_says() {
    let (env, ids) = history();
    let _ = check(&env, "runs-list", &["list"]);
    for id in &ids {
        let _ = check(&env, "runs-show", &["show", id]);
        let _ = check(&env, "runs-timeline", &["timeline", id]);
        let _ = check(&env, "runs-explain", &["explain", id]);
    }
    for by in ["run", "role", "model", "day", "experiment"] {
        let _ = check(&env, "runs-cost", &["cost", "--by", by]);
    }
    let _ = check(&env, "runs-top", &["top"]);
    let _ = check(&env, "runs-stats", &["stats"]);
    let _ = check(&env, "runs-stats", &["stats", "--task", "no run is like this"]);
    let _ = check(&env, "runs-compare", &["compare", &ids[0], &ids[1]]);
    let _ = check(&env, "runs-export", &["export", "--since", "7d"]);
    let _ = check(&env, "runs-cancel", &["cancel", &ids[3]]);
    let _ = check(&env, "runs-prune", &["prune", "--dry-run"]);
    let _ = check(&env, "runs-prune", &["prune"]);
    for id in &ids {
        let told = env.spore(&["runs", "watch", id, "--json"]).stdout;
        assert!(!told.is_empty(), "{id}");
        for line in told.lines() {
            hold_to("runs-watch", &serde_json::from_str(line).unwrap(), &["runs", "watch", id]);
        }
    }
    for words in [
        ["dashboard", "--json"],
        ["health", "--json"],
        ["distill", "--json"],
        ["lessons", "--json"],
        ["prompt-stats", "--json"],
    ] {
        hold_to(words[0], &env.spore(&words).json(), &words);
    }
    let shown = check(&env, "runs-diff", &["diff", &ids[0]]);
    let _ = check(&env, "runs-rollback", &["rollback", &ids[0], "--dry-run"]);
    let _ = check(&env, "runs-rollback", &["rollback", &ids[0], "--yes"]);
    let _ = check(&env, "runs-rollback", &["rollback", &ids[0], "--yes"]);

    // What is wrong is seen: one thing too few, one too many, one of another kind.
    let text = std::fs::read_to_string(file("runs-diff")).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    let count = |document: &Value| {
        let mut found = Vec::new();
        faults(&schema, &schema, document, "", &mut found);
        found.len()
    };
    let mut less = shown.clone();
    less.as_object_mut().unwrap().remove("diff");
    let (mut more, mut other) = (shown.clone(), shown);
    more["unheard"] = json!(1);
    other["status"] = json!("splendid");
    assert_eq!([count(&less), count(&more), count(&other)].map(|faults| faults > 0), [true; 3]);
}

#[test]
fn documents_of_longer_runs_are_as_their_schemas_say() {
    let env = scenes::with_scenario(THREE_BOUNCES);
    let _ = env.spore(&["index"]).code(0);
    let _ = env.spore(&[ORCHESTRATE, &["--experiment", "no-context"]].concat()).code(0);
    env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(WRITE_42));
    let _ = scenes::orchestrate(&env, &["--race", "2"]).code(0);
    let _ = check(&env, "runs-show", &["show"]);
    let _ = check(&env, "runs-timeline", &["timeline"]);
    let _ = check(&env, "runs-list", &["list"]);
    let labels = ["compare-experiments", "no-context", "unlabelled"];
    let _ = check(&env, "runs-compare-experiments", &labels);
    let _ = check(&env, "runs-export", &["export", "-o", "run.html"]);
}

#[test]
fn documents_about_lists_are_as_their_schemas_say() {
    let env = scene("write a.\nwrite b.\n- c\n", &[writes(&["a"]), idles("b")]);
    for words in
        [args(&["--json", "--apply", "merge"]), args(&["--json", "--reset", "--budget", "0.5"])]
    {
        hold_to("loop", &env.spore(&words).json(), &words);
    }
    let batch = [&["batch", "../tasks.txt", "--json"][..], &REPLAY].concat();
    hold_to("loop", &env.spore(&batch).json(), &batch);
    let waiting = env.spore(&["runs", "list", "--json"]).code(0).json();
    let waiting = waiting.as_array().unwrap().iter().find(|run| run["status"] == "parked:budget");
    let _ = check(&env, "runs-abandon", &["abandon", waiting.unwrap()["id"].as_str().unwrap()]);
}
