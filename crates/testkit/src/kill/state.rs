//! What a run left, in a form that two runs can be compared in: ids and times taken out, and
//! so is what only a crash causes, which is counted instead.
//!
//! The one decision: everything is compared unless there is a reason, written down here, why
//! two good runs may differ in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use super::{CommandTraits, KillTally};
use crate::TestEnv;

/// How many letters of a commit's id people are told.
const SHORT_COMMIT: usize = 12;

/// Everything a finished run leaves, with ids and times taken out.
pub(super) fn canonical(
    env: &TestEnv,
    traits: CommandTraits,
    point: &str,
    tally: &mut KillTally,
) -> Value {
    // Carries over what a kill left in the outbox.
    let listed = env.spore(&["runs", "list", "--json"]).code(0).json();
    let run = listed[0]["id"].as_str().unwrap().to_owned();
    let shown = env.spore(&["runs", "show", &run, "--json"]).code(0).json();
    let lost = lost_sessions(&shown);
    let names = MadeNames { commits: commits(env), runs: other_runs(&shown, &run) };
    tally.repeated_sessions += u32::try_from(lost.len()).unwrap();
    json!({
        "status": shown["status"],
        "tree": shown["run"]["tree_hash"],
        "bounces": bounces(&shown),
        "parts": parts(&shown, &run, traits, &lost),
        "refs": refs(env, &run, &names),
        "ledger": in_order(traits, ledger(&shown, traits, point, tally)),
        "turns": traits.goes_on.then(|| turns(&shown)),
        "events": in_order(traits, events(env, &run, traits, &lost, &names, point, tally)),
        "graph": graph(env, &run),
        "work_tree": env.git(&["status", "--porcelain"]),
        "files": files(env, traits, &run, &names),
    })
}

/// The order counts, unless several things happened at once.
fn in_order(traits: CommandTraits, mut values: Vec<Value>) -> Vec<Value> {
    if traits.parallel {
        values.sort_by_key(Value::to_string);
    }
    values
}

/// The layers of a flow. What a session costs that was run again is not compared.
fn parts(shown: &Value, run: &str, traits: CommandTraits, lost: &BTreeSet<String>) -> Vec<String> {
    let parts = shown["parts"].as_array().cloned().unwrap_or_default();
    let mut told: Vec<String> = parts
        .iter()
        .filter(|part| !lost.contains(part["id"].as_str().unwrap_or_default()))
        .map(|part| {
            // A layer's turns are those of all its sessions, one that was cut off included.
            let (attempt, turns) = match part["kind"] == "session" {
                true if traits.goes_on => (&Value::Null, &Value::Null),
                true => (&Value::Null, &part["turns"]),
                false => (&part["attempt"], &Value::Null),
            };
            let what = [&part["kind"], &part["name"], attempt, &part["depth"]];
            let how = [&part["status"], &part["outcome"], &part["reason"], turns];
            // A merge of a list is named after the branch, which is named after the list.
            without_run(&format!("{what:?} {how:?}"), run)
        })
        .collect();
    told.sort();
    told
}

fn lost_sessions(shown: &Value) -> BTreeSet<String> {
    let rows = shown["ledger"].as_array().unwrap();
    rows.iter()
        .filter(|row| row["interrupted"] == true)
        .map(|row| row["session"].as_str().unwrap().to_owned())
        .collect()
}

fn bounces(shown: &Value) -> Vec<Value> {
    let bounces = shown["bounces"].as_array().unwrap();
    bounces
        .iter()
        .map(|bounce| {
            json!([
                bounce["bounce"],
                bounce["status"],
                bounce["tree"],
                bounce["reason"],
                bounce["gates"],
                bounce["verdict"]
            ])
        })
        .collect()
}

/// Ref names with the trees they point to: a commit's id has its time in it.
fn refs(env: &TestEnv, run: &str, names: &MadeNames) -> Vec<String> {
    let list = ["for-each-ref", "--format=%(refname) %(tree)"];
    [env.git(&list), env.work_git(&list)]
        .iter()
        .flat_map(|refs| refs.lines())
        .map(|line| plain(&without_run(&names.replaced(line), run)))
        .filter(|line| !(line.starts_with("refs/spore/") && line.contains("/left/")))
        .collect()
}

/// The commits of all refs, each with its tree: a commit's id has its time and its run in it, and
/// the ids of all that stand on it.
fn commits(env: &TestEnv) -> BTreeMap<String, String> {
    let list = ["rev-list", "--all", "--format=%H %T"];
    [env.git(&list), env.work_git(&list)]
        .iter()
        .flat_map(|told| told.lines())
        .filter(|line| !line.starts_with("commit "))
        .filter_map(|line| line.split_once(' '))
        .map(|(id, tree)| (id.to_owned(), tree.to_owned()))
        .collect()
}

/// The runs below this one.
fn other_runs(shown: &Value, run: &str) -> Vec<String> {
    let parts = shown["parts"].as_array().into_iter().flatten();
    let ids = parts.filter_map(|part| part["id"].as_str()).filter(|id| *id != run);
    ids.map(str::to_owned).collect()
}

/// What is named after the time at which it was made or begun.
struct MadeNames {
    /// Commits, each with its tree.
    commits: BTreeMap<String, String>,
    runs: Vec<String>,
}

impl MadeNames {
    /// A text in which each commit is told by its tree, and other runs by no name at all: where the
    /// whole id stands, and where the short one does that people are told.
    fn replaced(&self, text: &str) -> String {
        let mut told = text.to_owned();
        for (id, tree) in &self.commits {
            let short = &id[..SHORT_COMMIT];
            if told.contains(short) {
                told = told.replace(id, &format!("commit-of-{tree}"));
                told = told.replace(short, &format!("commit-of-{}", &tree[..SHORT_COMMIT]));
            }
        }
        for id in &self.runs {
            let short = id.get(id.len().saturating_sub(8)..).unwrap_or(id);
            if told.contains(short) {
                told = told.replace(id, "ID").replace(short, "ID");
            }
        }
        told
    }
}

/// All turns that were paid for, and what they used: a turn that was heard is never paid for again.
fn turns(shown: &Value) -> Value {
    let rows = shown["ledger"].as_array().unwrap();
    let sum = |of: &dyn Fn(&Value) -> &Value| -> u64 {
        rows.iter().map(|row| of(row).as_u64().unwrap_or(0)).sum()
    };
    json!([
        sum(&|row| &row["turns"]),
        sum(&|row| &row["usage"]["input_tokens"]),
        sum(&|row| &row["usage"]["output_tokens"]),
    ])
}

/// What each session cost that has an end. A real agent goes on with a conversation that was cut
/// off, so that its calls are spread over two sessions: what they come to is for a test that knows
/// the model.
fn ledger(shown: &Value, traits: CommandTraits, point: &str, tally: &mut KillTally) -> Vec<Value> {
    let rows = shown["ledger"].as_array().unwrap();
    let mut seen = BTreeSet::new();
    for row in rows {
        if !seen.insert(row["session"].to_string()) {
            tally.duplicates.push(format!("{point}: ledger row {}", row["session"]));
        }
    }
    rows.iter()
        .filter(|row| row["interrupted"] == false)
        .map(|row| match traits.foreign || traits.goes_on {
            true => json!([row["role"], row["backend"]]),
            false => {
                json!([row["role"], row["backend"], row["turns"], row["usage"], row["cost"]])
            }
        })
        .collect()
}

/// Events in order. Whatever only a crash causes is left out; anything else twice is a
/// duplicate.
fn events(
    env: &TestEnv,
    run: &str,
    traits: CommandTraits,
    lost: &BTreeSet<String>,
    names: &MadeNames,
    point: &str,
    tally: &mut KillTally,
) -> Vec<Value> {
    let dir = env.repo().join(".spore/events");
    let mut partitions: Vec<_> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    partitions.sort();
    let mut kept = Vec::new();
    let mut ids = BTreeSet::new();
    let mut keys: BTreeMap<String, u32> = BTreeMap::new();
    for path in partitions.iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
    {
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let event: Value = serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{point}: {error} in event {line}"));
            if !ids.insert(event["id"].to_string()) {
                tally.duplicates.push(format!("{point}: event {line}"));
            }
            let kind = event["type"].as_str().unwrap();
            let about = event["run"].as_str().unwrap_or_default();
            if ["run.resumed", "session.lost"].contains(&kind) || lost.contains(about) {
                continue;
            }
            // A run may wait for one thing after another, and for each of them once.
            let what = match kind {
                "run.parked" => event["payload"]["reason"].to_string(),
                _ => String::new(),
            };
            *keys.entry(format!("{kind} of {about} {what}")).or_default() += 1;
            // A real agent that goes on in its conversation calls no tool again whose result it
            // has: which tools were used is spread over two sessions, like what they cost.
            if (traits.foreign || traits.goes_on) && kind == "tools.used" {
                continue;
            }
            let payload = names.replaced(&event["payload"].to_string());
            let payload = plain(&without_run(&payload, run));
            let mut payload = without_commit(&payload);
            if let Some(fields) =
                payload.as_object_mut().filter(|_| traits.foreign || traits.goes_on)
            {
                fields.retain(|name, _| !["turns", "usage", "cost", "tools"].contains(&&name[..]));
            }
            kept.push(json!([event["source"], kind, payload]));
        }
    }
    for (key, count) in keys {
        if count > 1 {
            tally.duplicates.push(format!("{point}: {count} × {key}"));
        }
    }
    kept
}

/// A commit's id depends on when it was first meant to be made.
fn without_commit(payload: &str) -> Value {
    let mut value: Value = serde_json::from_str(payload).unwrap();
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|name, _| !["commit", "to"].contains(&name.as_str()));
    }
    value
}

/// What the run wrote into the knowledge graph, with ids and times taken out.
fn graph(env: &TestEnv, run: &str) -> Vec<String> {
    let edges = env.spore(&["graph", "query-edges", "--limit", "1000", "--json"]).code(0).json();
    let mut told: Vec<String> = edges
        .as_array()
        .unwrap()
        .iter()
        .map(|edge| {
            let live = edge["superseded_by"].is_null();
            let title = |end: &str| without_run(&edge[end].to_string(), run);
            format!("{} {} → {} {live}", edge["kind"], title("source_title"), title("target_title"))
        })
        .collect();
    told.sort();
    told
}

/// Files by name; content too, where it does not tell how long something took.
fn files(
    env: &TestEnv,
    traits: CommandTraits,
    run: &str,
    names: &MadeNames,
) -> BTreeMap<String, String> {
    let dir = env.repo().join(".spore/runs").join(run);
    let mut found = BTreeMap::new();
    let mut open = vec![dir.clone()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(&dir).unwrap().display().to_string();
            // What a session left that was cut short.
            if name.contains(".lost-") {
                continue;
            }
            let content = match name.as_str() {
                _ if name.ends_with(".log") || name.ends_with("results.json") => String::new(),
                "report.json" => String::new(),
                // A claim names its process, and means nothing once no process holds it.
                "lock" => String::new(),
                // A real agent makes up ids of its own and tells times and places all through.
                _ if (traits.foreign || traits.goes_on) && name.ends_with("transcript.jsonl") => {
                    String::new()
                }
                _ => plain(&without_run(&names.replaced(&without_place(env, &path)), run)),
            };
            let content = match name.as_str() {
                ".live-report" => sorted(&content),
                "execution-report.md" if traits.parallel => sorted(&content),
                // Which of two that work at once is over first is chance.
                _ if traits.parallel && name.contains("checkpoints/") => String::new(),
                "landing.json" | "in-place.json" => without_commit(&content).to_string(),
                // What a session is told that another one left before it was cut off.
                _ if name.ends_with("task.md") => {
                    let told = content.split("\n## Left behind\n").next().unwrap_or_default();
                    told.trim_end().to_owned()
                }
                _ => content,
            };
            let name = if name.contains("checkpoints/") { plain(&name) } else { name };
            found.insert(name, content);
        }
    }
    found
}

/// A file without the name of the place it is in, which is another one for every run.
fn without_place(env: &TestEnv, path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    text.replace(&env.dir().display().to_string(), "PLACE")
}

/// A text without the run's id, whole or short as people read it.
fn without_run(text: &str, run: &str) -> String {
    let short = run.get(run.len().saturating_sub(8)..).unwrap_or(run);
    text.replace(run, "RUN").replace(short, "RUN")
}

fn sorted(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// A text without other runs' ids, calls' ids, times, and how long something took: a run that was
/// killed has others.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let is_id = word.len() == 26 && word.starts_with('0') && !word.contains(char::is_lowercase);
        let is_time = word.len() == 2 && word.parse::<u32>().is_ok() && plain.ends_with(':');
        let took = ["elapsed_ms\":", "elapsed_seconds: ", "elapsed_seconds: 0."];
        let is_span = took.iter().any(|key| plain.ends_with(key));
        // The scripted model names a call after its request's number and text. A request whose answer
        // the kill cut off is one more.
        let is_call = ["toolu_", "toolu_0_"].iter().any(|start| plain.ends_with(start));
        match word {
            _ if is_id => plain.push_str("ID"),
            _ if is_time || is_span || is_call => plain.push('0'),
            // A time as names of files have it.
            _ if word.len() == 15 && word.as_bytes()[8] == b'T' => plain.push('0'),
            _ if word.contains('T') && word.len() == 5 && word.starts_with(char::is_numeric) => {
                plain.push('0');
            }
            word => plain.push_str(word),
        }
        let gap = after.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(after.len());
        plain.push_str(&after[..gap]);
        rest = &after[gap..];
    }
    plain
}

/// Whether a state differs from the undisturbed one in nothing but one more turn. A kill between two
/// effects can cut off an answer: it was paid for in part, is booked, and is asked for again.
pub(super) fn is_one_turn_more(reference: &Value, state: &Value) -> bool {
    let turns = |of: &Value| of["turns"][0].as_u64().unwrap_or(0);
    turns(state) <= turns(reference) + 1 && without_turns(reference) == without_turns(state)
}

fn without_turns(state: &Value) -> Value {
    let mut state = state.clone();
    state["turns"] = Value::Null;
    if let Some(Value::String(told)) = state["files"].get_mut("plan_evaluation.json") {
        let counts = |line: &str| line.contains("turns_used") || line.contains("utilization");
        *told = told.lines().filter(|line| !counts(line)).collect();
    }
    state
}

/// The first place in which two states differ.
pub(super) fn difference(reference: &Value, state: &Value) -> String {
    match (reference, state) {
        (Value::Object(expected), Value::Object(found)) => {
            let names: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
            let differs = names.into_iter().find(|name| expected.get(*name) != found.get(*name));
            differs.map_or_else(String::new, |name| {
                let none = Value::Null;
                let (left, right) = (expected.get(name), found.get(name));
                format!("{name}/{}", difference(left.unwrap_or(&none), right.unwrap_or(&none)))
            })
        }
        (Value::Array(expected), Value::Array(found)) => {
            let at = (0..expected.len().max(found.len()))
                .find(|index| expected.get(*index) != found.get(*index))
                .unwrap_or(0);
            let none = Value::Null;
            let (left, right) = (expected.get(at), found.get(at));
            format!("{at}/{}", difference(left.unwrap_or(&none), right.unwrap_or(&none)))
        }
        _ => format!(": expected {reference}, found {state}"),
    }
}
