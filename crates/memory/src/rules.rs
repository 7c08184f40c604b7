//! What letters can decide about an event and the lines it touches.
//!
//! - **A statement.** An event `memory.feedback` names a line by its hash or its words and
//!   says what it did: `{"line": …, "activation": "activated" | "missed" | "waiting",
//!   "root_cause": …, "note": …}`. A line's number alone is not enough, for it may be that of
//!   another line by now.
//! - **A correction by hand.** `correction.edited` and `correction.reverted` from git say which
//!   files of a run's work had to be put right. Where the run's task file carried a line that
//!   names such a file, the trigger was there and the work needed correction: the line was missed.
//! - **A correction in words.** A person says that what was done is wrong (the module `speech`) and
//!   names what a line names, or speaks in the words of that line more than of any other (the module
//!   `rare_words`). A log of git's that another program keeps says it of a person: they took back,
//!   edited or reopened what a run had done. Why the line failed is only told where the turn shows it: the person
//!   blames the rule itself, or reproaches the very deed that the line asks for and the trace shows
//!   that it was done (direction-wrong); or the person names its dossier and the trace shows that it
//!   was not opened (recall-miss). Who complains that something was left out says nothing against
//!   the line that asks for it.
//! - **Help.** The line's trigger was there, what it asks for was done after it, and no person
//!   objected: see [`crate::reading::turns`]. That a session carried a line, or that its gates were green,
//!   says nothing about the line.
//! - **A new signal.** A person corrects, instructs or prefers, in words or by an event
//!   `memory.instruction` or `memory.preference`, and no line is touched nor shares a name with it.
//!   What memory itself has told a session is never a new signal ([`crate::reading::recalled`]).
//!
//! Everything else that touches a line is left to a judge.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use spore_plain::line_within;

use crate::cues::DossierPointer;
use crate::evidence::{Activation, EvidenceSignal, RootCause, Trajectory};
use crate::gate::AdmittedEvent;
use crate::lines::{LineHash, LineMap, ToldLine};
use crate::reading::matcher::{Related, Relation};
use crate::reading::recalled::Quoting;
use crate::reading::speech::{self, SpokenKind};
use crate::reading::turns::RunTurn;
use crate::signals::DECLARED;

/// The types of events that are meant for memory.
pub const FEEDBACK: &str = "memory.feedback";
pub const INSTRUCTION: &str = "memory.instruction";
pub const PREFERENCE: &str = "memory.preference";
/// A person took back an update: the line that it had changed is there again.
pub const RESTORED: &str = "memory.restored";
const EDITED: &str = "correction.edited";
const REVERTED: &str = "correction.reverted";

/// A correction that names what more lines name is about none of them for sure.
pub(crate) const MOST_CORRECTED: usize = 3;

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

/// What the task files of a run told its sessions, as far as it is known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ToldByRun {
    pub carried: Vec<LineHash>,
    /// Kept back from the run because they are on trial.
    pub withheld: Vec<LineHash>,
}

impl ToldByRun {
    /// Whether the run was told a line. Where it is not known what it was told, it was told the
    /// broadcast file: every session is; but only some are told a lesson.
    pub(crate) fn has(&self, line: &ToldLine) -> bool {
        match self.is_known() {
            true => self.carried.contains(&line.hash),
            false => !line.is_lesson(),
        }
    }

    /// Whether it is known what the run was told.
    pub(crate) fn is_known(&self) -> bool {
        !(self.carried.is_empty() && self.withheld.is_empty())
    }
}

/// Returns what a run was told.
pub type CarriedBy<'a> = dyn Fn(&str) -> ToldByRun + 'a;

/// An event and all that the rules go by.
pub(crate) struct Hearing<'a> {
    pub(crate) heard: &'a AdmittedEvent<'a>,
    /// The lines it touches.
    pub(crate) related: &'a [Related],
    pub(crate) map: &'a LineMap,
    /// What the run was told that the event speaks of.
    pub(crate) told: &'a ToldByRun,
    /// The turn of that run so far.
    pub(crate) turn: Option<&'a RunTurn>,
    /// What kind of thing a person says.
    pub(crate) speech: Option<SpokenKind>,
    pub(crate) quoting: Quoting,
}

/// Whether a kind is that of people who talk.
pub(crate) fn is_people(kind: &str) -> bool {
    matches!(kind, "human" | "channel")
}

/// Whether an event of git, in a type that is not Spore's own, tells that people put right what was
/// done: they took back, edited or reopened what `said` calls the work of a run.
pub(crate) fn tells_correction(kind: &str, what: &str, said: &str) -> bool {
    let deed = what.rsplit(['.', '_', ' ']).next().unwrap_or_default();
    let is_of_run = || {
        said.split(|c: char| !c.is_alphanumeric())
            .any(|word| matches!(word, "run" | "agent" | "bot"))
    };
    kind == "git"
        && !matches!(what, EDITED | REVERTED)
        && matches!(deed, "revert" | "reverted" | "edit" | "edited" | "reopen" | "reopened")
        && is_of_run()
}

/// A payload that has texts in its usual places, each once, or none.
#[derive(Deserialize)]
struct PlainWords<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    message: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    body: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<Cow<'a, str>>,
}

/// Returns a person's words, where the payload is a text or has one in its usual place.
pub(crate) fn words_of(payload: &str) -> Option<String> {
    // Nearly all are plain, and need no tree.
    if let Ok(words) = serde_json::from_str::<PlainWords<'_>>(payload) {
        let places = [words.text, words.message, words.body, words.content];
        return places.into_iter().flatten().next().map(Cow::into_owned);
    }
    match serde_json::from_str(payload).ok()? {
        Value::String(text) => Some(text),
        Value::Object(mut fields) => {
            let places = ["text", "message", "body", "content"];
            places.iter().find_map(|place| match fields.remove(*place) {
                Some(Value::String(text)) => Some(text),
                _ => None,
            })
        }
        _ => None,
    }
}

/// Returns all that the rules can say about an event.
pub(crate) fn judge(hearing: &Hearing<'_>) -> Vec<RuleDecision> {
    let Hearing { heard, related, map, told, speech, quoting, .. } = *hearing;
    let is_new = related.is_empty() && quoting == Quoting::Nothing && !shares_name(heard, map);
    match heard.what.as_ref() {
        FEEDBACK => statement(heard, map).into_iter().collect(),
        RESTORED => restored(heard, map).into_iter().collect(),
        EDITED | REVERTED => match heard.kind == "git" {
            true => corrections(heard, related, map, told),
            false => Vec::new(),
        },
        INSTRUCTION if is_new => new_signal(heard, SpokenKind::Instruction).into_iter().collect(),
        PREFERENCE if is_new => new_signal(heard, SpokenKind::Preference).into_iter().collect(),
        INSTRUCTION | PREFERENCE => Vec::new(),
        _ => match speech.filter(|_| puts_right(heard)) {
            Some(SpokenKind::Correction) if !related.is_empty() => corrected_in_words(hearing),
            // What git tells of keeps no person's words, so nothing could ever become a line of it.
            Some(speech) if is_new && is_people(&heard.kind) => {
                new_signal(heard, speech).into_iter().collect()
            }
            _ => Vec::new(),
        },
    }
}

/// Whether an event has a name or a number that a line has, too: then a line may well say it, in
/// words or a language that letters do not compare.
fn shares_name(heard: &AdmittedEvent<'_>, map: &LineMap) -> bool {
    let is_name = |word: &&str| {
        let digits = word.chars().filter(char::is_ascii_digit).count();
        digits >= 4 || word.len() >= 6 && word.contains(['_', '.', '/', ':'])
    };
    let ascii = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | ':'));
    let said = words_of(heard.payload).unwrap_or_default();
    said.split(ascii)
        .map(|word| word.trim_matches(['.', ':', '/']))
        .filter(is_name)
        .any(|name| map.lines().iter().any(|line| line.text.contains(name)))
}

/// Whether people talk, or did with git what needs no words.
fn puts_right(heard: &AdmittedEvent<'_>) -> bool {
    let by_deed = |said: String| tells_correction(&heard.kind, &heard.what, &said);
    is_people(&heard.kind) || words_of(heard.payload).is_some_and(by_deed)
}

fn corrected_in_words(hearing: &Hearing<'_>) -> Vec<RuleDecision> {
    let Hearing { heard, related, map, told, turn, .. } = *hearing;
    // What git tells of may have an agent's words, in a commit of its own: then only the place that
    // was put right says which line it was, and nothing is quoted.
    let by_people = is_people(&heard.kind);
    // A number may be that of another line by now, and what was only worked with was not named. A
    // run that was not told a line has not missed it.
    let is_tested = |related: &&Related| {
        !matches!(related.relation, Relation::Number | Relation::Used)
            && (by_people || related.relation == Relation::Path)
            && (related.relation == Relation::Line || told.has(&map.lines()[related.line]))
    };
    let touched: Vec<&Related> = related.iter().filter(is_tested).collect();
    if touched.len() > MOST_CORRECTED {
        return Vec::new();
    }
    let words = words_of(heard.payload).filter(|_| by_people);
    let decide = |related: &&Related| {
        let line = &map.lines()[related.line];
        let shows =
            |ask: fn(&RunTurn, &LineHash) -> bool| turn.is_some_and(|turn| ask(turn, &line.hash));
        let followed = related.names_action && shows(RunTurn::followed);
        // A deed that was forgotten the second time was done the first time, too.
        let reproached = followed && words.as_deref().is_some_and(|said| reproaches(said, line));
        let blamed = touched.len() == 1 && words.as_deref().is_some_and(|said| blames(said, line));
        let unopened = by_people
            && matches!(related.relation, Relation::Pointer | Relation::Path)
            && !line.cues.pointers.is_empty()
            && names_pointer(heard.payload, line)
            && shows(RunTurn::opened_nothing);
        let root_cause = match (blamed || reproached, unopened) {
            (true, _) => Some(RootCause::DirectionWrong),
            (false, true) => Some(RootCause::RecallMiss),
            (false, false) => None,
        };
        let mut evidence = vec![format!(
            "A message from {} corrected what was done and has what the line names.",
            heard.kind
        )];
        if related.relation == Relation::Words {
            evidence[0] = format!(
                "A message from {} corrected what was done, in words of this line and of no other.",
                heard.kind
            );
        }
        if followed {
            evidence.push("The session's trace shows that the line had been followed.".to_owned());
        } else if shows(RunTurn::went_against) {
            evidence.push("The session's trace shows what the line warns of.".to_owned());
        }
        evidence.extend(own_words(words.as_deref()));
        RuleDecision {
            line: Some(related.line),
            trajectory: Trajectory::Weakening,
            signal: EvidenceSignal::Correction,
            root_cause,
            evidence,
            reason: format!(
                "This weakens `{}` because its trigger was there and the work needed correction.",
                line.reference()
            ),
        }
    };
    touched.iter().map(decide).collect()
}

/// Whether a person finds fault with what a line asks for.
fn reproaches(said: &str, line: &ToldLine) -> bool {
    let mut deeds = line.cues.actions.iter().chain(&line.cues.wanted);
    deeds.any(|deed| speech::reproaches(said, deed))
}

/// Whether a person says that what a line says is wrong.
fn blames(said: &str, line: &ToldLine) -> bool {
    let cues = &line.cues;
    let named = cues.wanted.iter().chain(&cues.actions).chain(&cues.avoided).chain(&cues.paths);
    // A single word behind "before" or "when" is in too many rules to be this one's.
    let conditions = cues.triggers.iter().filter(|cue| cue.contains(char::is_whitespace));
    let pointers: Vec<String> = cues.pointers.iter().map(DossierPointer::to_string).collect();
    let own = [line.hash.as_str()].into_iter().chain(pointers.iter().map(String::as_str));
    let names: Vec<&str> = named.chain(conditions).map(String::as_str).chain(own).collect();
    speech::blames(said, &names)
}

fn names_pointer(payload: &str, line: &ToldLine) -> bool {
    let named = |pointer: &DossierPointer| {
        payload.contains(&pointer.to_string()) || payload.contains(&pointer.dossier())
    };
    line.cues.pointers.iter().any(named)
}

/// What a rule says of a line whose trigger was there and whose action followed.
pub(crate) fn helped(line: usize, map: &LineMap, kind: &str) -> RuleDecision {
    let who = if kind == "git" {
        "The task of a run had the line's trigger, and its work stands as a commit."
    } else {
        "The event had the line's trigger, and what was said next objected to nothing."
    };
    RuleDecision {
        line: Some(line),
        trajectory: Trajectory::Strengthening,
        signal: EvidenceSignal::Helped,
        root_cause: None,
        evidence: vec![
            who.to_owned(),
            "The session's trace shows that what the line asks for was done after it.".to_owned(),
        ],
        reason: format!(
            "This strengthens `{}` because its trigger was there and its action followed.",
            map.lines()[line].reference()
        ),
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

#[derive(Deserialize)]
struct RestoredLine {
    line: LineHash,
}

/// What is on record of a line whose change a person took back: that, and no word of theirs. It holds
/// off the rule that changed the line, until more is said against it.
fn restored(heard: &AdmittedEvent<'_>, map: &LineMap) -> Option<RuleDecision> {
    let said: RestoredLine =
        serde_json::from_str(heard.payload).ok().filter(|_| heard.kind == "human")?;
    let line = map.lines().iter().position(|line| line.hash == said.line)?;
    Some(RuleDecision {
        line: Some(line),
        trajectory: Trajectory::Neutral,
        signal: EvidenceSignal::Restored,
        root_cause: None,
        evidence: vec!["A person took back the update that had changed this line.".to_owned()],
        reason: format!(
            "This leaves `{}` as it is: only what is said after it counts toward another change.",
            map.lines()[line].reference()
        ),
    })
}

fn corrections(
    heard: &AdmittedEvent<'_>,
    related: &[Related],
    map: &LineMap,
    told: &ToldByRun,
) -> Vec<RuleDecision> {
    let by_path = related.iter().filter(|related| related.relation <= Relation::Path);
    if heard.run.is_none() || by_path.clone().next().is_none() {
        return Vec::new();
    }
    let files = corrected_files(heard.payload);
    by_path
        .filter_map(|related| {
            let line = &map.lines()[related.line];
            let named = line.cues.paths.iter();
            let mut hit = named.filter(|path| files.iter().any(|file| is_at(file, path)));
            let path = hit.next().filter(|_| told.carried.contains(&line.hash))?;
            Some(RuleDecision {
                line: Some(related.line),
                trajectory: Trajectory::Weakening,
                signal: EvidenceSignal::Correction,
                root_cause: None,
                evidence: vec![
                    "The task file of a run carried this line.".to_owned(),
                    format!(
                        "What the run wrote in `{path}`, which the line names, was {} afterwards.",
                        if heard.what == REVERTED { "taken back" } else { "edited" }
                    ),
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

fn new_signal(heard: &AdmittedEvent<'_>, speech: SpokenKind) -> Option<RuleDecision> {
    let text = words_of(heard.payload)?;
    let (signal, what) = match speech {
        SpokenKind::Correction => (EvidenceSignal::Correction, "corrected what was done"),
        SpokenKind::Instruction => (EvidenceSignal::Instruction, "gave a standing instruction"),
        SpokenKind::Preference => (EvidenceSignal::Preference, "said what is preferred"),
    };
    let opening = match heard.what == INSTRUCTION {
        true => DECLARED,
        false => "An event from ",
    };
    let mut evidence = vec![format!("{opening}{} {what}.", heard.kind)];
    evidence.extend(own_words(Some(&text)));
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
    use crate::reading::matcher::Matcher;

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
        let carried = carried.iter().map(|text| LineHash::of(text)).collect();
        let told = ToldByRun { carried, withheld: Vec::new() };
        let read = words_of(&payload).map(|text| speech::read(&text)).unwrap_or_default();
        let speech = match words_of(&payload) {
            Some(said) if tells_correction(kind, what, &said) => Some(SpokenKind::Correction),
            _ => read.kind,
        };
        let judged = judge(&Hearing {
            heard: &heard,
            related: &related,
            map: &map,
            told: &told,
            turn: None,
            speech,
            quoting: Quoting::Nothing,
        });
        let told: Vec<String> = judged
            .iter()
            .map(|j| {
                let line = j.line.map(|line| map.lines()[line].reference());
                let line = line.as_deref().and_then(|line| line.rsplit('L').next()).unwrap_or("0");
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
    fn a_line_that_was_put_back_is_neither_helped_nor_harmed_by_it() {
        let payload = json!({ "line": LineHash::of("Run the tests") });
        check("human", RESTORED, &payload, &[], "NEUTRAL 2");
        for kind in ["channel", "ci", "git"] {
            check(kind, RESTORED, &payload, &[], "");
        }
        check("human", RESTORED, &json!({ "line": "Run the tests" }), &[], "");
    }

    #[test]
    fn a_correction_weakens_a_carried_line_that_names_the_file() {
        let payload = json!({ "files": { "crates/store/src/lib.rs": 3 } });
        let (line, other) = ("SQL stays in `crates/store/`", "Run the tests");
        check("git", EDITED, &payload, &[line, other], "WEAKENING 1");
        check("git", EDITED, &payload, &[other], "");
        check("git", EDITED, &payload, &[], "");
        check("human", EDITED, &payload, &[line], "");
        check("git", REVERTED, &payload, &[line], "WEAKENING 1");
        check("git", REVERTED, &json!({ "commit": "crates/store/" }), &[line], "");
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

    #[test]
    fn who_took_back_the_work_of_a_run_corrected_it() {
        let edit = "ada changed 3 lines written by run r-1 in crates/store/src/lib.rs";
        check("git", "edit", &json!({ "text": edit }), &[], "WEAKENING 1");
        check("git", "task.reopened", &json!({ "text": "reopened, run r-1" }), &[], "");
        // Whose work it was is not said, or it was no such deed, or not a person's.
        check("git", "revert", &json!({ "text": "Revert crates/store/" }), &[], "");
        check("git", "commit.created", &json!({ "text": edit }), &[], "");
        check("ci", "edit", &json!({ "text": edit }), &[], "");
    }

    #[test]
    fn people_are_understood_and_tools_are_not() {
        let wrong = json!({ "text": "You forgot that SQL stays in crates/store/" });
        check("human", "chat.message", &wrong, &[], "WEAKENING 1");
        check("channel", "chat.message", &wrong, &[], "WEAKENING 1");
        for kind in ["ci", "check", "verifier", "git"] {
            check(kind, "chat.message", &wrong, &[], "");
        }
        let blamed = json!("That is wrong: the rule about crates/store/ is out of date.");
        check("human", "chat.message", &blamed, &[], "WEAKENING 1 direction-wrong");
        check("human", "chat.message", &json!("You forgot the header."), &[], "NEW_SIGNAL 0");
        check(
            "human",
            "chat.message",
            &json!("From now on, squash all commits."),
            &[],
            "NEW_SIGNAL 0",
        );
        check("human", "chat.message", &json!("From now on, SQL goes to crates/store/"), &[], "");
        check("human", "chat.message", &json!({ "note": "You forgot it." }), &[], "");
    }
}
