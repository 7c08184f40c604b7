//! The kill harness: the same run, killed at every effect it has, must come to the same end.
//!
//! First a run that nobody disturbs writes down each effect it passes. Then the same command
//! is started once for each of these points and killed with SIGKILL right there, and a number
//! of times at random instants; `spore resume` brings it to its end; and what is left (trees,
//! refs, ledger, events, files) is compared with the undisturbed run. What a crash may rightly
//! add is left out of the comparison and counted on its own: a paid session that was run
//! again, and the record that it was lost.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{TestEnv, wait_until_none};

/// Something to be killed, and how to bring it to an end afterwards.
pub struct Crime<'a> {
    /// Makes a fresh place, ready for the command.
    pub scene: &'a (dyn Fn() -> TestEnv + Sync),
    pub command: &'a [&'a str],
    /// How many times to kill at a random instant.
    pub random: u32,
}

/// What the matrix came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub points: usize,
    pub killed: u32,
    pub divergent: Vec<String>,
    pub duplicates: Vec<String>,
    pub left_running: Vec<String>,
    /// Paid sessions that were run again.
    pub repeated_sessions: u32,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.killed += other.killed;
        self.divergent.extend(other.divergent);
        self.duplicates.extend(other.duplicates);
        self.left_running.extend(other.left_running);
        self.repeated_sessions += other.repeated_sessions;
    }

    pub fn line(&self) -> String {
        format!(
            "{} scenarios ({} named points), {} divergent, {} duplicate keyed effects, {} processes left, {} paid sessions repeated",
            self.killed,
            self.points,
            self.divergent.len(),
            self.duplicates.len(),
            self.left_running.len(),
            self.repeated_sessions
        )
    }
}

/// One way to kill the command.
enum Blow<'a> {
    At(&'a str),
    /// After this share of the time that an undisturbed run takes.
    After(f64),
}

/// What is special about a command.
#[derive(Clone, Copy, Default)]
pub struct Manner {
    /// It does several things at once, so that the order of what it leaves says nothing.
    pub parallel: bool,
    /// Kill it at one effect of each kind only, for a test that has to be quick.
    pub one_of_each: bool,
}

/// Runs the whole matrix, on as many threads as there are cores.
pub fn matrix(crime: &Crime<'_>) -> Tally {
    matrix_of(crime, Manner::default())
}

/// Like [`matrix`], for a command with a manner of its own.
pub fn matrix_of(crime: &Crime<'_>, manner: Manner) -> Tally {
    let (mut points, reference, took) = undisturbed(crime, manner);
    if manner.one_of_each {
        let mut seen = BTreeSet::new();
        points.retain(|point| seen.insert(kind_of(point)));
    }
    let mut seed = 0x5eed_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / f64::from(1_u32 << 31)
    };
    let mut blows: Vec<Blow<'_>> = points.iter().map(|point| Blow::At(point)).collect();
    blows.extend((0..crime.random).map(|_| Blow::After(random())));
    let next = AtomicUsize::new(0);
    let tally = Mutex::new(Tally { points: points.len(), ..Tally::default() });
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(blow) = blows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = strike(crime, manner, blow, &reference, took);
                    tally.lock().unwrap().add(found);
                }
            });
        }
    });
    tally.into_inner().unwrap()
}

/// The kind of effect a point stands for: its side, what it is, and its name without what
/// tells one stage or attempt from another.
fn kind_of(point: &str) -> String {
    let (point, _) = point.rsplit_once('#').unwrap_or((point, ""));
    let mut parts = point.splitn(3, ':');
    let (side, effect) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let name = parts.next().unwrap_or_default();
    let mut words = name.split(' ');
    let (first, last) = (words.next().unwrap_or_default(), words.next_back().unwrap_or_default());
    let file = first.rsplit('/').next().unwrap_or_default();
    let file = if first.contains(".signals/") { "signal" } else { file };
    let last = last.split('/').next().unwrap_or_default();
    // The last word of an opening is the name of what is opened.
    let last = if first == "open" { "" } else { last };
    format!("{side}:{effect}:{file} {last}")
}

fn strike(
    crime: &Crime<'_>,
    manner: Manner,
    blow: &Blow<'_>,
    reference: &Value,
    took: Duration,
) -> Tally {
    let mut tally = Tally::default();
    let env = (crime.scene)();
    match blow {
        Blow::At(point) => {
            let killed = env.spore_in(&env.repo(), crime.command, &[("SPORE_KILL_AT", point)]);
            if killed.code == 137 {
                examine(crime, manner, &env, point, reference, &mut tally);
            } else {
                tally.divergent.push(format!("{point}: was not killed: {}", killed.render()));
            }
        }
        Blow::After(share) => {
            let mut child = env.start_in(&env.repo(), crime.command, &[]);
            let until = Instant::now() + took.mul_f64(*share);
            while Instant::now() < until && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            let _ = child.kill();
            let _ = env.finish(child);
            let point = format!("after {share:.3} of it");
            examine(crime, manner, &env, &point, reference, &mut tally);
        }
    }
    tally
}

fn undisturbed(crime: &Crime<'_>, manner: Manner) -> (Vec<String>, Value, Duration) {
    let env = (crime.scene)();
    let log = env.dir().join("effects.log");
    let start = Instant::now();
    let output = env.spore_in(
        &env.repo(),
        crime.command,
        &[("SPORE_EFFECTS_LOG", &log.display().to_string())],
    );
    let took = start.elapsed();
    assert!(output.code < 64, "{}", output.render());
    let points: Vec<String> =
        std::fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect();
    assert!(!points.is_empty(), "the command has no effects");
    let mut tally = Tally::default();
    let state = canonical(&env, manner, "undisturbed", &mut tally);
    assert_eq!(tally.duplicates, Vec::<String>::new());
    (points, state, took)
}

/// Brings a killed run to its end and compares.
fn examine(
    crime: &Crime<'_>,
    manner: Manner,
    env: &TestEnv,
    point: &str,
    reference: &Value,
    tally: &mut Tally,
) {
    tally.killed += 1;
    // The shims end what they started by themselves, within their grace.
    for (pid, command) in wait_until_none(env.dir(), Duration::from_secs(8)) {
        tally.left_running.push(format!("{point}: {pid} {command}"));
    }
    let runs = env.spore(&["runs", "list", "--json"]);
    let begun = runs.code == 0 && runs.json().as_array().is_some_and(|runs| !runs.is_empty());
    // Killed before there was a run: the person types the command again.
    let output = if !begun {
        env.spore_in(&env.repo(), crime.command, &[])
    } else if runs.json()[0]["state"] == "ended" {
        runs
    } else {
        env.spore(&["resume"])
    };
    if output.code >= 64 {
        tally.divergent.push(format!("{point}: {}", output.render()));
        return;
    }
    for (pid, command) in wait_until_none(env.dir(), Duration::from_secs(8)) {
        tally.left_running.push(format!("{point}: after resume: {pid} {command}"));
    }
    let state = canonical(env, manner, point, tally);
    if state != *reference {
        tally.divergent.push(format!("{point}: {}", difference(reference, &state)));
    }
}

/// Everything a finished run leaves, with ids and times taken out.
fn canonical(env: &TestEnv, manner: Manner, point: &str, tally: &mut Tally) -> Value {
    // Carries over what a kill left in the outbox.
    let listed = env.spore(&["runs", "list", "--json"]).code(0).json();
    let run = listed[0]["id"].as_str().unwrap().to_owned();
    let shown = env.spore(&["runs", "show", &run, "--json"]).code(0).json();
    let lost = lost_sessions(&shown);
    tally.repeated_sessions += u32::try_from(lost.len()).unwrap();
    json!({
        "status": shown["status"],
        "tree": shown["run"]["tree_hash"],
        "bounces": bounces(&shown),
        "parts": parts(&shown, &lost),
        "refs": refs(env, &run),
        "ledger": in_order(manner, ledger(&shown, point, tally)),
        "events": in_order(manner, events(env, &run, &lost, point, tally)),
        "graph": graph(env, &run),
        "files": files(&env.repo().join(".spore/runs").join(&run), &run),
    })
}

/// The order counts, unless several things happened at once.
fn in_order(manner: Manner, mut values: Vec<Value>) -> Vec<Value> {
    if manner.parallel {
        values.sort_by_key(Value::to_string);
    }
    values
}

/// The layers of a flow. What a session costs that was run again is not compared.
fn parts(shown: &Value, lost: &BTreeSet<String>) -> Vec<String> {
    let parts = shown["parts"].as_array().cloned().unwrap_or_default();
    let mut told: Vec<String> = parts
        .iter()
        .filter(|part| !lost.contains(part["id"].as_str().unwrap_or_default()))
        .map(|part| {
            let attempt = if part["kind"] == "session" { &Value::Null } else { &part["attempt"] };
            let what = [&part["kind"], &part["name"], attempt, &part["depth"]];
            let how = [&part["status"], &part["outcome"], &part["reason"], &part["turns"]];
            format!("{what:?} {how:?}")
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
fn refs(env: &TestEnv, run: &str) -> Vec<String> {
    env.git(&["for-each-ref", "--format=%(refname) %(tree)"])
        .lines()
        .map(|line| plain(&line.replace(run, "RUN")))
        .filter(|line| !line.starts_with("refs/spore/RUN/left/"))
        .collect()
}

fn ledger(shown: &Value, point: &str, tally: &mut Tally) -> Vec<Value> {
    let rows = shown["ledger"].as_array().unwrap();
    let mut seen = BTreeSet::new();
    for row in rows {
        if !seen.insert(row["session"].to_string()) {
            tally.duplicates.push(format!("{point}: ledger row {}", row["session"]));
        }
    }
    rows.iter()
        .filter(|row| row["interrupted"] == false)
        .map(|row| json!([row["role"], row["backend"], row["turns"], row["usage"], row["cost"]]))
        .collect()
}

/// Events in order. Whatever only a crash causes is left out; anything else twice is a
/// duplicate.
fn events(
    env: &TestEnv,
    run: &str,
    lost: &BTreeSet<String>,
    point: &str,
    tally: &mut Tally,
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
            *keys.entry(format!("{kind} of {about}")).or_default() += 1;
            let payload = plain(&event["payload"].to_string().replace(run, "RUN"));
            kept.push(json!([event["source"], kind, without_commit(&payload)]));
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
        fields.remove("commit");
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
            let title = |end: &str| edge[end].to_string().replace(run, "RUN");
            format!("{} {} → {} {live}", edge["kind"], title("source_title"), title("target_title"))
        })
        .collect();
    told.sort();
    told
}

/// Files by name; content too, where it does not tell how long something took.
fn files(dir: &Path, run: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(dir).unwrap().display().to_string();
            // What a session left that was cut short.
            if name.contains(".lost-") {
                continue;
            }
            let content = match name.as_str() {
                _ if name.ends_with(".log") || name.ends_with("results.json") => String::new(),
                "report.json" => String::new(),
                _ => plain(&std::fs::read_to_string(&path).unwrap().replace(run, "RUN")),
            };
            let content = if name == ".live-report" { sorted(&content) } else { content };
            found.insert(name, content);
        }
    }
    found
}

fn sorted(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// A text without other runs' ids, times, and how long something took: a run that was killed
/// has others.
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
        match word {
            _ if is_id => plain.push_str("ID"),
            _ if is_time || is_span => plain.push('0'),
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

/// The first place in which two states differ.
fn difference(reference: &Value, state: &Value) -> String {
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
