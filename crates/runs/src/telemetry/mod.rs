//! Runs as traces of OpenTelemetry: OTLP in its JSON form, read off the journal.
//!
//! Nothing is kept in memory while a run goes on, so a process that is killed loses no span: what
//! the journal has is what there is to send. Ids are derived from those of runs. To send a run again
//! is to send the same spans again. A part that is not over has no span yet.
//!
//! What an agent did with its own tools is on record as how often it used each: a session has one
//! `execute_tool` span for each tool, as long as the session, with the number of its calls.
//!
//! Figures, names and reasons are sent, and no prompt, diff or log.

mod conventions;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use spore_model::{
    LedgerEntry, Outcome, Run, RunKind, SessionFailure, SessionNotes, Timestamp, ToolUse,
};
use spore_store::{Journal, JournalError};

use conventions as names;

/// No request has more spans than this: collectors bound what they read at once.
const MOST_SPANS: usize = 1000;

/// The longest text of an attribute.
const MOST_LETTERS: usize = 300;

/// One span, ready to be sent.
#[derive(Clone, PartialEq, Debug)]
pub struct RunSpan {
    pub name: String,
    pub trace_id: String,
    pub span_id: String,
    pub parent_span_id: Option<String>,
    value: Value,
}

/// Returns the spans of a run and of all that is below it, each before its own parts; those of
/// parts that are over.
pub fn spans_of_run(journal: &dyn Journal, root: &Run) -> Result<Vec<RunSpan>, JournalError> {
    let mut spans = Vec::new();
    // What sessions cost is booked on the run they belong to, which may be any above them.
    let mut bills: Vec<LedgerEntry> = Vec::new();
    let mut waiting = vec![root.clone()];
    while let Some(run) = waiting.pop() {
        if run.kind != RunKind::Session {
            bills.extend(journal.ledger(run.id)?);
        }
        // A session has parts, too, where its agent started runs.
        waiting.extend(journal.children(run.id)?.into_iter().rev());
        let bill = bills.iter().find(|bill| bill.session == run.id);
        spans.extend(span(&run, bill));
        let used = SessionNotes::of_row(&run).used;
        spans.extend(used.iter().filter_map(|tool| tool_span(&run, tool)));
    }
    Ok(spans)
}

/// The span of all calls of one tool in a session.
fn tool_span(session: &Run, used: &ToolUse) -> Option<RunSpan> {
    let ended = session.ended?;
    let name = format!("{} {}", names::EXECUTE_TOOL, spore_plain::line_within(&used.tool, 60));
    let trace_id = trace_id(session);
    let span_id = span_id(&format!("{} tool {}", session.id, used.tool));
    let parent = self::span_id(&session.id.to_string());
    let value = json!({
        "traceId": trace_id,
        "spanId": span_id,
        "parentSpanId": parent,
        "name": name,
        "kind": 1,
        "startTimeUnixNano": nanos(session.started),
        "endTimeUnixNano": nanos(ended.max(session.started)),
        "attributes": [
            text(names::OPERATION, names::EXECUTE_TOOL),
            text(names::TOOL, &used.tool),
            text(names::TOOL_TYPE, "function"),
            number("spore.tool.calls", u64::from(used.times)),
        ],
        // Whether single calls went well is not on record.
        "status": { "code": 0 },
    });
    Some(RunSpan { name, trace_id, span_id, parent_span_id: Some(parent), value })
}

/// Returns the requests that send these spans, in OTLP's JSON form.
pub fn trace_requests(spans: &[RunSpan], version: &str) -> Vec<Value> {
    let request = |spans: &[RunSpan]| {
        let spans: Vec<&Value> = spans.iter().map(|span| &span.value).collect();
        json!({ "resourceSpans": [{
            "resource": { "attributes": [
                text(names::SERVICE_NAME, "spore"),
                text(names::SERVICE_VERSION, version),
            ] },
            "schemaUrl": names::SCHEMA,
            "scopeSpans": [{
                "scope": { "name": "spore", "version": version },
                "schemaUrl": names::SCHEMA,
                "spans": spans,
            }],
        }] })
    };
    spans.chunks(MOST_SPANS).map(request).collect()
}

fn span(run: &Run, bill: Option<&LedgerEntry>) -> Option<RunSpan> {
    let ended = run.ended?;
    let (trace_id, span_id) = (trace_id(run), span_id(&run.id.to_string()));
    let parent_span_id = run.parent.map(|parent| self::span_id(&parent.to_string()));
    let (name, attributes) = described(run, bill);
    let mut value = json!({
        "traceId": trace_id,
        "spanId": span_id,
        "name": name,
        // Internal: agents and checks are programs on this machine.
        "kind": 1,
        "startTimeUnixNano": nanos(run.started),
        "endTimeUnixNano": nanos(ended.max(run.started)),
        "attributes": attributes,
        "status": status(run),
    });
    if let Some(parent) = &parent_span_id {
        value["parentSpanId"] = json!(parent);
    }
    Some(RunSpan { name, trace_id, span_id, parent_span_id, value })
}

/// Returns a span's name and its attributes.
fn described(run: &Run, bill: Option<&LedgerEntry>) -> (String, Vec<Value>) {
    let mut told = vec![
        text("spore.run.id", &run.id.to_string()),
        text("spore.run.kind", run.kind.as_str()),
        text("spore.run.name", &run.name),
        number("spore.run.attempt", u64::from(run.attempt)),
    ];
    let role = run.role.as_deref().unwrap_or(&run.name);
    let name = match run.kind {
        RunKind::Session => {
            told.extend(session(run, role, bill));
            format!("{} {}", names::INVOKE_AGENT, spore_plain::line_within(role, 60))
        }
        RunKind::Gates => {
            told.push(text(names::OPERATION, names::EXECUTE_TOOL));
            told.push(text(names::TOOL, &run.name));
            told.push(text(names::TOOL_TYPE, "extension"));
            format!("{} {}", names::EXECUTE_TOOL, spore_plain::line_within(&run.name, 60))
        }
        // A round of a task is a part of the task's workflow, and none by itself.
        RunKind::Bounce => spore_plain::line_within(&run.name, 60),
        kind => {
            told.push(text(names::OPERATION, names::INVOKE_WORKFLOW));
            told.push(text(names::WORKFLOW, kind.as_str()));
            told.extend(paid(run));
            format!("{} {}", names::INVOKE_WORKFLOW, kind.as_str())
        }
    };
    if let Some(experiment) = &run.experiment {
        told.push(text("spore.experiment", experiment));
    }
    if let Some(failed) = failure(run) {
        told.push(text(names::ERROR_TYPE, &failed));
    }
    (name, told)
}

fn session(run: &Run, role: &str, bill: Option<&LedgerEntry>) -> Vec<Value> {
    let usage = bill.map_or(run.tokens, |bill| bill.usage);
    let cost = bill.map_or_else(|| run.cost.into(), |bill| bill.cost);
    let mut told = vec![
        text(names::OPERATION, names::INVOKE_AGENT),
        text(names::AGENT, role),
        text(names::AGENT_ID, &run.id.to_string()),
        text(names::CONVERSATION, &run.id.to_string()),
        number(names::INPUT_TOKENS, usage.input_tokens),
        number(names::OUTPUT_TOKENS, usage.output_tokens),
        number(names::CACHE_READ_TOKENS, usage.cache_read_tokens),
        number(names::CACHE_WRITE_TOKENS, usage.cache_write_tokens),
        number("spore.turns", u64::from(bill.map_or(run.turns, |bill| bill.turns))),
        json!({ "key": "spore.cost.usd", "value": { "doubleValue": cost.usd.as_dollars() } }),
        json!({ "key": "spore.cost.estimated", "value": { "boolValue": cost.estimated } }),
    ];
    if let Some(backend) = bill.map(|bill| bill.backend.as_str()).or(run.backend.as_deref()) {
        told.push(text(names::PROVIDER, names::provider(backend)));
        told.push(text("spore.backend", backend));
    }
    if let Some(model) = &run.model {
        told.push(text(names::MODEL_ASKED, model));
    }
    if let Some(model) = bill.and_then(|bill| bill.model.as_deref()) {
        told.push(text(names::MODEL_USED, model));
    }
    told
}

/// Returns the sum of all sessions of a run.
fn paid(run: &Run) -> Vec<Value> {
    let dollars = run.cost.cost_usd.as_dollars();
    vec![
        json!({ "key": "spore.cost.usd", "value": { "doubleValue": dollars } }),
        json!({ "key": "spore.cost.estimated", "value": { "boolValue": run.cost.cost_estimated } }),
    ]
}

fn failure(run: &Run) -> Option<String> {
    if let Some(failed) = SessionFailure::of_row(run) {
        return Some(failed.as_str().to_owned());
    }
    let outcome = run.outcome.filter(|outcome| *outcome != Outcome::Success)?;
    serde_json::to_value(outcome).ok()?.as_str().map(str::to_owned)
}

fn status(run: &Run) -> Value {
    match run.outcome {
        Some(Outcome::Success) => json!({ "code": 1 }),
        None => json!({ "code": 0 }),
        Some(_) => {
            let why = run.reason.as_deref().unwrap_or_default();
            json!({ "code": 2, "message": spore_plain::line_within(why, MOST_LETTERS) })
        }
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": spore_plain::line_within(value, MOST_LETTERS) } })
}

/// OTLP writes whole numbers of 64 bits as text.
fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn nanos(time: Timestamp) -> String {
    (i128::from(time.as_millis().max(0)) * 1_000_000).to_string()
}

fn trace_id(run: &Run) -> String {
    hex(&Sha256::digest(format!("spore trace {}", run.trace))[..16])
}

fn span_id(of: &str) -> String {
    hex(&Sha256::digest(format!("spore span {of}"))[..8])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use spore_model::{Cost, RunId, RunState, Usage, Usd};
    use spore_store::SqliteJournal;

    use super::*;

    fn journal() -> (tempfile::TempDir, SqliteJournal, Run) {
        let dir = tempfile::tempdir().unwrap();
        let journal = SqliteJournal::open(&dir.path().join("spore.db")).unwrap();
        let at = Timestamp::from_millis;
        let ended = |id: u128, kind, name: &str, from: i64, to: i64| Run {
            state: RunState::Ended,
            outcome: Some(Outcome::Success),
            ended: Some(at(to)),
            ..Run::begin(RunId::from_parts(0, id), kind, name, at(from))
        };
        let root = ended(1, RunKind::Orchestrate, "a task", 1_000, 9_000);
        let below = |parent: &Run, run: Run| Run {
            parent: Some(parent.id),
            trace: root.trace.clone(),
            ..run
        };
        let bounce = below(&root, ended(2, RunKind::Bounce, "bounce 1", 1_100, 8_000));
        let coder = below(&bounce, ended(3, RunKind::Session, "coder", 1_200, 5_000));
        let coder = Run {
            role: Some("coder".into()),
            outcome: Some(Outcome::TimedOut),
            reason: Some("it took\ntoo long\u{202e}".into()),
            model: Some("asked".into()),
            settings: json!({ "used": [{ "tool": "Edit", "times": 3 }] }),
            ..coder
        };
        let gates = below(&bounce, ended(4, RunKind::Gates, "gates", 5_000, 7_000));
        let open = Run {
            ended: None,
            outcome: None,
            ..below(&root, ended(5, RunKind::Session, "summarizer", 8_000, 0))
        };
        for run in [&root, &bounce, &coder, &gates, &open] {
            journal.create_run(run, &[]).unwrap();
        }
        let bill = LedgerEntry {
            session: coder.id,
            root: root.id,
            role: "coder".into(),
            backend: "claude".into(),
            model: Some("used".into()),
            turns: 4,
            usage: Usage { input_tokens: 10, output_tokens: 3, ..Usage::default() },
            cost: Cost::estimated(Usd::from_dollars(0.25).unwrap()),
            interrupted: false,
            duration_ms: None,
            failure: None,
            booked: at(5_000),
        };
        assert!(journal.book(&bill).unwrap());
        (dir, journal, root)
    }

    fn attribute<'v>(span: &'v RunSpan, key: &str) -> &'v Value {
        let all = span.value["attributes"].as_array().unwrap();
        all.iter().find(|one| one["key"] == key).map_or(&Value::Null, |one| &one["value"])
    }

    #[test]
    fn a_run_is_a_trace_of_what_is_over() {
        let (_dir, journal, root) = journal();
        let spans = spans_of_run(&journal, &root).unwrap();
        let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
        let expected = [
            "invoke_workflow orchestrate",
            "bounce 1",
            "invoke_agent coder",
            "execute_tool Edit",
            "execute_tool gates",
        ];
        assert_eq!(names, expected);
        let [root, bounce, coder, edit, gates] = spans.as_slice() else { panic!("{names:?}") };
        assert_eq!(edit.parent_span_id.as_ref(), Some(&coder.span_id));
        assert_eq!(attribute(edit, "spore.tool.calls")["intValue"], "3");
        assert_eq!(edit.value["endTimeUnixNano"], coder.value["endTimeUnixNano"]);
        assert_eq!(root.parent_span_id, None);
        assert_eq!(bounce.parent_span_id.as_ref(), Some(&root.span_id));
        assert_eq!(gates.parent_span_id.as_ref(), Some(&bounce.span_id));
        assert!(spans.iter().all(|span| span.trace_id == root.trace_id));
        assert_eq!((root.trace_id.len(), root.span_id.len()), (32, 16));
        assert_eq!(attribute(coder, names::INPUT_TOKENS)["intValue"], "10");
        assert_eq!(attribute(coder, names::MODEL_USED)["stringValue"], "used");
        assert_eq!(attribute(coder, names::PROVIDER)["stringValue"], "anthropic");
        assert_eq!(attribute(coder, names::ERROR_TYPE)["stringValue"], "failed-limit");
        assert_eq!(attribute(coder, "spore.cost.usd")["doubleValue"], 0.25);
        assert_eq!(coder.value["status"], json!({ "code": 2, "message": "it took too long" }));
        assert_eq!(coder.value["startTimeUnixNano"], "1200000000");
        assert_eq!(attribute(gates, names::TOOL)["stringValue"], "gates");
    }

    #[test]
    fn what_a_session_started_is_a_part_of_the_trace() {
        let (_dir, journal, root) = journal();
        let coder = journal.run(RunId::from_parts(0, 3)).unwrap().unwrap();
        let below = |id: u128, parent: &Run, kind, name: &str| Run {
            parent: Some(parent.id),
            kind,
            name: name.to_owned(),
            role: None,
            settings: Value::Null,
            id: RunId::from_parts(0, id),
            ..coder.clone()
        };
        let spawned = below(6, &coder, RunKind::Spawn, "ask");
        let of_spawn = below(7, &spawned, RunKind::Session, "worker");
        for run in [&spawned, &of_spawn] {
            journal.create_run(run, &[]).unwrap();
        }
        // The run that the session belongs to pays for it.
        let bill =
            LedgerEntry { session: of_spawn.id, ..journal.ledger(root.id).unwrap().remove(0) };
        assert!(journal.book(&bill).unwrap());
        let spans = spans_of_run(&journal, &root).unwrap();
        let of = |id: RunId| span_id(&id.to_string());
        let find = |id: RunId| spans.iter().find(|span| span.span_id == of(id)).unwrap();
        assert_eq!(find(spawned.id).name, "invoke_workflow spawn");
        assert_eq!(find(spawned.id).parent_span_id, Some(of(coder.id)));
        assert_eq!(find(of_spawn.id).parent_span_id, Some(of(spawned.id)));
        assert_eq!(attribute(find(of_spawn.id), "spore.cost.usd")["doubleValue"], 0.25);
        assert_eq!(find(of_spawn.id).trace_id, spans[0].trace_id);
    }

    #[test]
    fn to_send_a_run_again_is_to_send_the_same() {
        let (_dir, journal, root) = journal();
        let requests = || trace_requests(&spans_of_run(&journal, &root).unwrap(), "1.2.3");
        assert_eq!(requests(), requests());
        let [request] = requests().try_into().unwrap();
        let resource = &request["resourceSpans"][0];
        assert_eq!(resource["scopeSpans"][0]["spans"].as_array().unwrap().len(), 5);
        assert_eq!(resource["resource"]["attributes"][0]["value"]["stringValue"], "spore");
    }
}
