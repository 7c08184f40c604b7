//! What letters can decide about an event and the lines it touches.
//!
//! Three rules, and none of them reads prose:
//!
//! - **A statement.** An event `memory.feedback` names a line by its hash or its words and
//!   says what it did: `{"line": …, "activation": "activated" | "missed" | "waiting",
//!   "root_cause": …, "note": …}`. A line's number alone is not enough, for it may be that of
//!   another line by now.
//! - **A correction.** `correction.edited` from git says which files of a run's work had to be
//!   put right. Where the run's task file carried a line that names such a file, the trigger
//!   was there and the work needed correction: the line was missed. The event does not say
//!   why, so the evidence has no root cause and removes nothing by itself.
//! - **A new signal.** An event `memory.instruction` or `memory.preference` declares itself to
//!   be worth remembering. If it touches no line, no line says it.
//!
//! Everything else that touches a line is left to a judge.

use serde::Deserialize;
use serde_json::Value;
use spore_plain::line_within;

use crate::evidence::{Activation, EvidenceSignal, RootCause, Trajectory};
use crate::gate::AdmittedEvent;
use crate::lines::{LineHash, LineMap};
use crate::matcher::{Related, Relation};

/// The types of events that are meant for memory.
pub const FEEDBACK: &str = "memory.feedback";
pub const INSTRUCTION: &str = "memory.instruction";
pub const PREFERENCE: &str = "memory.preference";
const EDITED: &str = "correction.edited";

/// How much of a person's own words a fragment keeps.
const NOTE: usize = 400;

/// What a rule decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RuleDecision {
    /// The line's place in the map; `None` is a new signal.
    pub(crate) line: Option<usize>,
    pub(crate) trajectory: Trajectory,
    pub(crate) signal: EvidenceSignal,
    pub(crate) root_cause: Option<RootCause>,
    pub(crate) evidence: Vec<String>,
    pub(crate) reason: String,
}

/// Returns the lines that the task files of a run carried.
pub type CarriedBy<'a> = dyn Fn(&str) -> Vec<LineHash> + 'a;

/// Returns all that the rules can say about an event. `related` are the lines it touches.
pub(crate) fn judge(
    heard: &AdmittedEvent<'_>,
    related: &[Related],
    map: &LineMap,
    carried: &CarriedBy<'_>,
) -> Vec<RuleDecision> {
    match heard.what.as_ref() {
        FEEDBACK => statement(heard, map).into_iter().collect(),
        EDITED if heard.kind == "git" => corrections(heard, related, map, carried),
        INSTRUCTION | PREFERENCE if related.is_empty() => new_signal(heard).into_iter().collect(),
        _ => Vec::new(),
    }
}

#[derive(Deserialize)]
struct Statement {
    line: String,
    activation: Activation,
    #[serde(default)]
    root_cause: Option<RootCause>,
    #[serde(default)]
    note: Option<String>,
}

fn statement(heard: &AdmittedEvent<'_>, map: &LineMap) -> Option<RuleDecision> {
    let said: Statement = serde_json::from_str(heard.payload).ok()?;
    let hash = said.line.parse().unwrap_or_else(|_| LineHash::of(&said.line));
    let line = map.lines().iter().position(|line| line.hash == hash)?;
    let trajectory = said.activation.trajectory();
    if trajectory == Trajectory::NewSignal {
        return None;
    }
    let mut evidence = vec![format!(
        "An event from {} said outright that this line was {}.",
        heard.kind, said.activation
    )];
    evidence.extend(own_words(said.note.as_deref()));
    let (verb, why) = match trajectory {
        Trajectory::Strengthening => ("strengthens", "it was stated to have helped"),
        Trajectory::Weakening => ("weakens", "it was stated to have failed"),
        _ => ("leaves unchanged", "it was stated to be waiting for its trigger"),
    };
    Some(RuleDecision {
        line: Some(line),
        trajectory,
        signal: EvidenceSignal::Statement,
        root_cause: said.root_cause.filter(|_| trajectory == Trajectory::Weakening),
        evidence,
        reason: format!("This {verb} `{}` because {why}.", map.lines()[line].reference()),
    })
}

fn corrections(
    heard: &AdmittedEvent<'_>,
    related: &[Related],
    map: &LineMap,
    carried: &CarriedBy<'_>,
) -> Vec<RuleDecision> {
    let by_path = related.iter().filter(|related| related.relation <= Relation::Path);
    let Some(run) = heard.run.as_deref().filter(|_| by_path.clone().next().is_some()) else {
        return Vec::new();
    };
    let files = corrected_files(heard.payload);
    let carried = carried(run);
    by_path
        .filter_map(|related| {
            let line = &map.lines()[related.line];
            let named = line.cues.paths.iter();
            let mut hit = named.filter(|path| files.iter().any(|file| is_at(file, path)));
            let path = hit.next().filter(|_| carried.contains(&line.hash))?;
            Some(RuleDecision {
                line: Some(related.line),
                trajectory: Trajectory::Weakening,
                signal: EvidenceSignal::Correction,
                root_cause: None,
                evidence: vec![
                    "The task file of a run carried this line.".to_owned(),
                    format!("What the run wrote in `{path}`, which the line names, was edited afterwards."),
                ],
                reason: format!(
                    "This weakens `{}` because its path was worked on and the work needed correction.",
                    line.reference()
                ),
            })
        })
        .collect()
}

fn corrected_files(payload: &str) -> Vec<String> {
    let payload: Value = serde_json::from_str(payload).unwrap_or_default();
    payload["files"].as_object().map(|files| files.keys().cloned().collect()).unwrap_or_default()
}

/// Whether a file is the one that a line names, or below it.
fn is_at(file: &str, named: &str) -> bool {
    let named = named.trim_start_matches("./").trim_end_matches('/');
    file == named || file.strip_prefix(named).is_some_and(|rest| rest.starts_with('/'))
}

fn new_signal(heard: &AdmittedEvent<'_>) -> Option<RuleDecision> {
    let payload: Value = serde_json::from_str(heard.payload).ok()?;
    let text = payload.as_str().or_else(|| payload["text"].as_str())?;
    let (signal, what) = match heard.what.as_ref() {
        INSTRUCTION => (EvidenceSignal::Instruction, "standing instruction"),
        _ => (EvidenceSignal::Preference, "preference"),
    };
    let mut evidence = vec![format!("An event from {} declared a {what}.", heard.kind)];
    evidence.extend(own_words(Some(text)));
    (evidence.len() > 1).then(|| RuleDecision {
        line: None,
        trajectory: Trajectory::NewSignal,
        signal,
        root_cause: None,
        evidence,
        reason: "No line of the broadcast file has a pointer, path or cue that the event has."
            .to_owned(),
    })
}

/// A person's words, marked as such. They are data, and never more than a line.
fn own_words(text: Option<&str>) -> Option<String> {
    let said = line_within(text?, NOTE);
    (!said.is_empty()).then(|| format!("In its own words: “{said}”"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::matcher::Matcher;

    const FILE: &str = "- SQL stays in `crates/store/`\n- Run the tests\n";

    /// What is decided: trajectory, line and root cause.
    #[track_caller]
    fn check(kind: &str, what: &str, payload: &Value, carried: &[&str], expected: &str) {
        let map = LineMap::read(FILE);
        let payload = payload.to_string();
        let heard = AdmittedEvent {
            id: "1".into(),
            ts: "".into(),
            kind: kind.into(),
            what: what.into(),
            session_key: None,
            run: Some("RUN".into()),
            payload: &payload,
        };
        let mut related = Vec::new();
        Matcher::new(&map).related(&payload, &mut related);
        let hashes = |run: &str| -> Vec<LineHash> {
            assert_eq!(run, "RUN");
            carried.iter().map(|text| LineHash::of(text)).collect()
        };
        let judged = judge(&heard, &related, &map, &hashes);
        let told: Vec<String> = judged
            .iter()
            .map(|j| {
                let line = j.line.map_or(0, |line| map.lines()[line].number);
                let cause = j.root_cause.map_or("", RootCause::as_str);
                format!("{} {line} {cause}", j.trajectory).trim_end().to_owned()
            })
            .collect();
        assert_eq!(told.join(", "), expected, "{what} {payload}");
    }

    #[test]
    fn a_statement_decides_about_the_line_it_names() {
        let hash = LineHash::of("Run the tests").to_string();
        let say = |line: &str, more: Value| {
            let mut payload = json!({ "line": line, "activation": "missed" });
            payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            payload
        };
        check("human", FEEDBACK, &say(&hash, json!({})), &[], "WEAKENING 2");
        check("ci", FEEDBACK, &say("- Run  the tests", json!({})), &[], "WEAKENING 2");
        check(
            "human",
            FEEDBACK,
            &say(&hash, json!({"activation": "activated"})),
            &[],
            "STRENGTHENING 2",
        );
        check("human", FEEDBACK, &say(&hash, json!({"activation": "waiting"})), &[], "NEUTRAL 2");
        check(
            "human",
            FEEDBACK,
            &say(&hash, json!({"root_cause": "direction-wrong"})),
            &[],
            "WEAKENING 2 direction-wrong",
        );
        let wrong_but_helped = json!({"activation": "activated", "root_cause": "recall-miss"});
        check("human", FEEDBACK, &say(&hash, wrong_but_helped), &[], "STRENGTHENING 2");
    }

    #[test]
    fn a_statement_that_is_not_plain_decides_nothing() {
        let hash = LineHash::of("Run the tests").to_string();
        for payload in [
            json!({ "line": "L2", "activation": "missed" }),
            json!({ "line": "memory/CLAUDE.md:L2", "activation": "missed" }),
            json!({ "line": "Run no tests", "activation": "missed" }),
            json!({ "line": hash, "activation": "none" }),
            json!({ "line": hash, "activation": "bad" }),
            json!({ "line": hash }),
            json!({ "activation": "missed" }),
            json!(format!("{hash} was missed")),
            json!(null),
        ] {
            check("human", FEEDBACK, &payload, &[], "");
        }
        check("human", "chat.message", &json!({ "line": hash, "activation": "missed" }), &[], "");
    }

    #[test]
    fn a_correction_weakens_a_carried_line_that_names_the_file() {
        let payload = json!({ "files": { "crates/store/src/lib.rs": 3 } });
        let (line, other) = ("SQL stays in `crates/store/`", "Run the tests");
        check("git", EDITED, &payload, &[line, other], "WEAKENING 1");
        check("git", EDITED, &payload, &[other], "");
        check("git", EDITED, &payload, &[], "");
        check("human", EDITED, &payload, &[line], "");
        check("git", "correction.reverted", &payload, &[line], "");
        check("git", EDITED, &json!({ "files": { "crates/storeroom/x": 1 } }), &[line], "");
        check(
            "git",
            EDITED,
            &json!({ "subject": "crates/store/", "files": { "a": 1 } }),
            &[line],
            "",
        );
    }

    #[test]
    fn what_declares_itself_is_a_new_signal_unless_a_line_says_it() {
        check("human", INSTRUCTION, &json!({ "text": "Always squash" }), &[], "NEW_SIGNAL 0");
        check("channel", PREFERENCE, &json!("tabs"), &[], "NEW_SIGNAL 0");
        check("human", INSTRUCTION, &json!({ "text": "no SQL outside crates/store/" }), &[], "");
        check("human", INSTRUCTION, &json!({ "text": "  " }), &[], "");
        check("human", INSTRUCTION, &json!(7), &[], "");
    }
}
