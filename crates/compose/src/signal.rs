//! Signals and the live report: what others watch to see how far a flow is.
//!
//! Both are projections of run rows. Nothing ever reads them back to decide anything, and
//! whatever is missing after a crash is written again from the rows.

use serde::Serialize;
use spore_model::{Outcome, Run, RunKind, Timestamp};

/// One file under `.signals/`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignalFile {
    pub file: String,
    pub text: String,
}

/// What a signal points at, relative to the project, and its size.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SignalPointer {
    pub path: String,
    pub bytes: u64,
}

/// Tells the end of `run` under a name that no other part of the flow has.
pub fn signal(run: &Run, name: &str, pointer: &SignalPointer) -> Option<SignalFile> {
    let (outcome, ended) = (run.outcome?, run.ended?);
    let (suffix, status) = match outcome {
        Outcome::Success => ("done", "success"),
        Outcome::NeedsRefinement | Outcome::NeedsEscalation => ("refine", "needs-refinement"),
        Outcome::NeedsHuman => ("refine", "needs-refinement"),
        _ => ("fail", "fail"),
    };
    let layer = layer(run.kind);
    let elapsed = ended.as_millis().saturating_sub(run.started.as_millis());
    let text = format!(
        "path: {}\nsize: {}\nstatus: {status}\nexit_code: {}\ncreated_at: {}\ncompleted_at: {ended}\n\
         trace_id: {}\nlayer: {layer}\nname: {name}\nelapsed_seconds: {}\nrun: {}\nversion: 1\n",
        quoted(&pointer.path),
        pointer.bytes,
        outcome.exit_code(),
        run.started,
        run.trace,
        seconds(elapsed),
        run.id
    );
    Some(SignalFile { file: format!("{layer}-{}.{suffix}", spore_plain::word(name, 160)), text })
}

/// The layer's word in signals and reports.
pub fn layer(kind: RunKind) -> &'static str {
    match kind {
        RunKind::Stage => "orch",
        RunKind::Phase => "coord",
        RunKind::Campaign => "monitor",
        RunKind::Sentinel => "sentinel",
        _ => "exec",
    }
}

/// Lines of the live report that `run` gives rise to: its start and, once it is over, its end. What its
/// parts give rise to is between them.
pub fn live_lines(run: &Run) -> [Option<String>; 2] {
    #[derive(Serialize)]
    struct LiveLine<'a> {
        ts: Timestamp,
        layer: &'a str,
        stage: &'a str,
        status: String,
        run: String,
        trace_id: String,
        depth: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<&'a str>,
    }
    let line = |ts, status, elapsed_ms, detail| LiveLine {
        ts,
        layer: layer(run.kind),
        stage: &run.name,
        status,
        run: run.id.to_string(),
        trace_id: run.trace.to_string(),
        depth: run.depth,
        elapsed_ms,
        detail,
    };
    let text = |line: LiveLine<'_>| serde_json::to_string(&line).ok();
    let starting = text(line(run.started, "STARTING".to_owned(), None, None));
    let (Some(outcome), Some(ended)) = (run.outcome, run.ended) else { return [starting, None] };
    let elapsed = ended.as_millis().saturating_sub(run.started.as_millis());
    let reason = run.reason.as_deref().filter(|_| outcome != Outcome::Success);
    [starting, text(line(ended, status(outcome), Some(elapsed), reason))]
}

/// The word for a beginning, as progress has it.
pub fn started(attempt: u32) -> String {
    if attempt == 1 { "STARTING".to_owned() } else { format!("RETRY:{attempt}") }
}

/// The word for an end, as reports and progress have it.
pub fn status(outcome: Outcome) -> String {
    match outcome {
        Outcome::Success => "COMPLETE".to_owned(),
        Outcome::TimedOut => "TIMEOUT".to_owned(),
        Outcome::Interrupted => "INTERRUPTED".to_owned(),
        other => format!("FAILED:exit={}", other.exit_code()),
    }
}

fn seconds(millis: i64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

/// A path as YAML takes it, whatever it is called.
fn quoted(path: &str) -> String {
    serde_json::to_string(path).unwrap_or_default()
}
