//! A fragment: one event's evidence about one line, as a Markdown file that is written once.
//!
//! The name says everything that makes it the same evidence: the event, the kind of signal,
//! the line and the trajectory. So whether evidence is known already is a question to the
//! directory, and a line's evidence can be counted without opening a file.
//!
//! A fragment from outside is a proposal like any other. [`Fragment::parse`] takes only what
//! [`Fragment::render`] could have written: with a line or as a new signal, from an external
//! source, and with words on the list.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::cues::DossierPointer;
use crate::evidence::{Decider, EvidenceSignal, RootCause, Trajectory};
use crate::gate;
use crate::lines::{LineHash, LinePlace};

/// One piece of evidence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fragment {
    pub event: String,
    pub ts: String,
    pub kind: String,
    pub session_key: Option<String>,
    pub what: String,
    pub signal: EvidenceSignal,
    /// `None` is a new signal: no line says it yet.
    pub line: Option<LineRef>,
    pub trajectory: Trajectory,
    pub root_cause: Option<RootCause>,
    /// Who gave it its trajectory.
    pub by: Decider,
    /// What was seen, a sentence each.
    pub evidence: Vec<String>,
    /// What it means for the line.
    pub note: String,
    pub pointers: Vec<DossierPointer>,
}

/// A line as a fragment knew it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineRef {
    /// Where it stood then.
    pub place: LinePlace,
    pub hash: LineHash,
}

/// What is wrong with a file that should be a fragment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadFragment {
    #[error("it has no front matter")]
    NoFrontMatter,
    #[error("{0} is missing")]
    Missing(&'static str),
    #[error("{0}")]
    Unknown(String),
    /// Only external events are evidence.
    #[error("its source kind {0:?} is internal")]
    Internal(String),
    #[error("a new signal has no line, and everything else has one")]
    LineAndTrajectory,
    #[error("only a weakening has a root cause")]
    RootCause,
    /// Then the directory would answer wrongly whether it is known.
    #[error("by its content its name would be {0}")]
    Name(String),
}

impl Fragment {
    /// Returns the file's name, the same for the same evidence for ever.
    pub fn name(&self) -> String {
        let line = self.line.as_ref().map_or("none", |line| line.hash.as_str());
        format!(
            "{}-{}-{}-{line}-{}.md",
            stamp(&self.ts),
            event_word(&self.event),
            self.signal,
            self.trajectory.as_str().to_lowercase()
        )
    }

    pub fn render(&self) -> String {
        let mut text = String::from("---\n");
        let mut put = |key: &str, value: &str| {
            text.push_str(&format!("{key}: {}\n", scalar(value)));
        };
        put("source_event_id", &self.event);
        put("source_ts", &self.ts);
        put("source_kind", &self.kind);
        if let Some(key) = &self.session_key {
            put("session_key", key);
        }
        put("event_type", &self.what);
        put("signal", self.signal.as_str());
        match &self.line {
            Some(line) => {
                put("claude_md_ref", &line.place.to_string());
                if let LinePlace::File(number) = line.place {
                    put("source_line", &number.to_string());
                }
                put("source_line_hash", line.hash.as_str());
            }
            None => put("claude_md_ref", "none"),
        }
        put("trajectory", self.trajectory.as_str());
        put("activation", self.trajectory.activation().as_str());
        if let Some(cause) = self.root_cause {
            put("root_cause", cause.as_str());
        }
        put("decided_by", &self.by.to_string());
        text.push_str("---\n\n# Fragment\n\nEvidence:\n\n");
        for sentence in &self.evidence {
            text.push_str(&format!("- {sentence}\n"));
        }
        text.push_str(&format!("\nEffectiveness note:\n\n- {}\n", self.note));
        if !self.pointers.is_empty() {
            text.push_str("\nPointers:\n\n");
            for pointer in &self.pointers {
                text.push_str(&format!("- {}: {pointer}\n", pointer.kind.as_str()));
            }
        }
        text
    }

    /// Returns twelve hexadecimal digits of the SHA-256 of the file.
    pub fn digest(&self) -> String {
        short_digest(&self.render())
    }

    /// Reads the file `name`.
    pub fn parse(name: &str, text: &str) -> Result<Self, BadFragment> {
        let (front, body) = front_matter(text).ok_or(BadFragment::NoFrontMatter)?;
        let get = |key: &'static str| front.get(key).ok_or(BadFragment::Missing(key));
        let kind = get("source_kind")?.clone();
        if !gate::is_external(&kind) {
            return Err(BadFragment::Internal(kind));
        }
        let fragment = Self {
            event: get("source_event_id")?.clone(),
            ts: get("source_ts")?.clone(),
            kind,
            session_key: front.get("session_key").cloned(),
            what: get("event_type")?.clone(),
            signal: word(get("signal")?)?,
            line: line_of(&front)?,
            trajectory: word(get("trajectory")?)?,
            root_cause: front.get("root_cause").map(|cause| word(cause)).transpose()?,
            // What was written before judges were is a rule's.
            by: front.get("decided_by").map(|by| word(by)).transpose()?.unwrap_or_default(),
            evidence: bullets(body, "Evidence:"),
            note: bullets(body, "Effectiveness note:").join(" "),
            pointers: bullets(body, "Pointers:")
                .iter()
                .flat_map(|row| DossierPointer::all_in(row))
                .collect(),
        };
        fragment.check(&front, name)?;
        Ok(fragment)
    }

    fn check(&self, front: &BTreeMap<String, String>, name: &str) -> Result<(), BadFragment> {
        let is_new = self.trajectory == Trajectory::NewSignal;
        if is_new != self.line.is_none() {
            return Err(BadFragment::LineAndTrajectory);
        }
        if self.root_cause.is_some() && self.trajectory != Trajectory::Weakening {
            return Err(BadFragment::RootCause);
        }
        let activation = front.get("activation").ok_or(BadFragment::Missing("activation"))?;
        if activation != self.trajectory.activation().as_str() {
            let told = format!("{activation:?} is not the activation of {}", self.trajectory);
            return Err(BadFragment::Unknown(told));
        }
        if self.evidence.is_empty() || self.note.is_empty() {
            return Err(BadFragment::Missing("the explanation"));
        }
        if self.name() != name {
            return Err(BadFragment::Name(self.name()));
        }
        Ok(())
    }
}

fn word<T: std::str::FromStr<Err = E>, E: std::fmt::Display>(text: &str) -> Result<T, BadFragment> {
    text.parse().map_err(|error: E| BadFragment::Unknown(error.to_string()))
}

fn line_of(front: &BTreeMap<String, String>) -> Result<Option<LineRef>, BadFragment> {
    let reference = front.get("claude_md_ref").ok_or(BadFragment::Missing("claude_md_ref"))?;
    if reference == "none" {
        return Ok(None);
    }
    let place = reference.parse().map_err(|_| BadFragment::Missing("claude_md_ref"))?;
    let hash = front.get("source_line_hash").ok_or(BadFragment::Missing("source_line_hash"))?;
    Ok(Some(LineRef { place, hash: word(hash)? }))
}

/// What a file's name says about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    pub line: Option<LineHash>,
    pub trajectory: Trajectory,
}

/// Reads the name of a fragment, `None` if it is none.
pub fn read_name(name: &str) -> Option<Named> {
    let mut parts = name.strip_suffix(".md")?.rsplitn(3, '-');
    let trajectory = parts.next()?.to_uppercase().parse().ok()?;
    let line = match parts.next()? {
        "none" => None,
        hash => Some(hash.parse().ok()?),
    };
    parts.next()?;
    (line.is_none() == (trajectory == Trajectory::NewSignal)).then_some(Named { line, trajectory })
}

/// Twelve hexadecimal digits of the SHA-256 of a text.
pub fn short_digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let half = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    digest.iter().take(6).flat_map(|byte| [half(byte >> 4), half(byte & 15)]).collect()
}

/// A time as a part of a name that sorts as time does.
fn stamp(ts: &str) -> String {
    let kept: String = ts.chars().filter(char::is_ascii_alphanumeric).take(20).collect();
    if kept.is_empty() { "undated".to_owned() } else { kept }
}

/// An event's id as a part of a name. Two ids never become one: what a name cannot hold is
/// made up for by a digest.
fn event_word(id: &str) -> String {
    let plain: String = spore_plain::word(id, gate::WORD).replace('.', "_");
    if plain == id {
        return plain;
    }
    format!("{plain}_{}", short_digest(id))
}

/// Writes a value of the front matter: bare where it is a plain word, else as a JSON string.
fn scalar(value: &str) -> String {
    let is_plain =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'/' | b':' | b'-');
    let starts = value.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts && value.bytes().all(is_plain) && !value.ends_with(':') {
        return value.to_owned();
    }
    serde_json::to_string(value).unwrap_or_default()
}

fn front_matter(text: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let rest = text.strip_prefix("---\n")?;
    let (front, body) = rest.split_once("\n---\n")?;
    let mut fields = BTreeMap::new();
    for line in front.lines() {
        let (key, value) = line.split_once(':')?;
        let value = value.trim();
        let value = if value.starts_with('"') {
            serde_json::from_str(value).ok()?
        } else {
            value.to_owned()
        };
        // A key that is given twice could say two things.
        if fields.insert(key.trim().to_owned(), value).is_some() {
            return None;
        }
    }
    Some((fields, body))
}

/// The bullets of one part of the body.
fn bullets(body: &str, title: &str) -> Vec<String> {
    body.lines()
        .skip_while(|line| line.trim() != title)
        .skip(1)
        .skip_while(|line| line.trim().is_empty())
        .map_while(|line| line.strip_prefix("- "))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn fragment(text: &str, trajectory: Trajectory) -> Fragment {
        let line = (trajectory != Trajectory::NewSignal)
            .then(|| LineRef { place: LinePlace::File(3), hash: LineHash::of(text) });
        Fragment {
            event: "01KDVDNA00GE7GV2JAMA490ASB".into(),
            ts: "2026-01-02T03:04:05.006Z".into(),
            kind: "human".into(),
            session_key: Some("chat 7".into()),
            what: "memory.feedback".into(),
            signal: EvidenceSignal::Statement,
            line,
            trajectory,
            root_cause: None,
            by: Decider::Rule,
            evidence: vec!["A person said so.".into()],
            note: "This strengthens `memory/CLAUDE.md:L3`.".into(),
            pointers: DossierPointer::all_in("[[entity-ada]]"),
        }
    }

    #[test]
    fn a_fragment_is_a_file_that_people_can_read() {
        let fragment = fragment("Run the tests", Trajectory::Strengthening);
        insta::assert_snapshot!(format!("{}\n\n{}", fragment.name(), fragment.render()));
    }

    #[test]
    fn the_name_says_which_evidence_it_is() {
        let one = fragment("Run the tests", Trajectory::Weakening);
        let named = read_name(&one.name()).unwrap();
        assert_eq!(
            (named.line.unwrap(), named.trajectory),
            (one.line.clone().unwrap().hash, one.trajectory)
        );
        let others = [
            Fragment { event: "other".into(), ..one.clone() },
            Fragment { signal: EvidenceSignal::Correction, ..one.clone() },
            fragment("Run no tests", Trajectory::Weakening),
            fragment("Run the tests", Trajectory::Neutral),
            fragment("", Trajectory::NewSignal),
        ];
        for other in others {
            assert_ne!(other.name(), one.name());
            assert!(read_name(&other.name()).is_some(), "{}", other.name());
        }
        let said_otherwise = Fragment { note: "x".into(), session_key: None, ..one.clone() };
        assert_eq!(said_otherwise.name(), one.name());
        for bad in ["", "x.md", "notes.md", "a-b-c.md", "a-none-weakening.md", "README"] {
            assert_eq!(read_name(bad), None, "{bad}");
        }
    }

    #[track_caller]
    fn refused(change: impl Fn(String) -> String, expected: &str) {
        let fragment = fragment("Run the tests", Trajectory::Weakening);
        let text = change(fragment.render());
        let error = Fragment::parse(&fragment.name(), &text).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn what_could_not_have_been_written_is_refused() {
        let swap =
            |from: &'static str, to: &'static str| move |text: String| text.replace(from, to);
        refused(|_| String::new(), "it has no front matter");
        refused(swap("source_kind: human\n", ""), "source_kind is missing");
        refused(
            swap("source_kind: human", "source_kind: runner"),
            "its source kind \"runner\" is internal",
        );
        refused(
            swap("source_kind: human", "source_kind: Meta"),
            "its source kind \"Meta\" is internal",
        );
        refused(swap("claude_md_ref: memory/CLAUDE.md:L3\n", ""), "claude_md_ref is missing");
        refused(
            swap("memory/CLAUDE.md:L3\nsource_line: 3", "none\nsource_line: 3"),
            "a new signal has no line, and everything else has one",
        );
        refused(swap("WEAKENING", "WEAKER"), "\"WEAKER\" is not a trajectory");
        refused(
            swap("activation: missed", "activation: activated"),
            "\"activated\" is not the activation of WEAKENING",
        );
        refused(swap("- A person said so.\n", ""), "the explanation is missing");
        refused(
            swap("signal: statement", "signal: statement\nsignal: coverage"),
            "it has no front matter",
        );
    }

    #[test]
    fn a_fragment_under_another_name_is_refused() {
        let fragment = fragment("Run the tests", Trajectory::Neutral);
        let error = Fragment::parse("x.md", &fragment.render()).unwrap_err();
        assert_eq!(error, BadFragment::Name(fragment.name()));
    }

    #[test]
    fn only_a_weakening_has_a_root_cause() {
        let mut fragment = fragment("Run the tests", Trajectory::Weakening);
        fragment.root_cause = Some(RootCause::RecallMiss);
        assert_eq!(Fragment::parse(&fragment.name(), &fragment.render()), Ok(fragment.clone()));
        fragment.trajectory = Trajectory::Strengthening;
        let read = Fragment::parse(&fragment.name(), &fragment.render());
        assert_eq!(read, Err(BadFragment::RootCause));
    }

    proptest! {
        #[test]
        fn a_fragment_survives_its_file_and_its_name_is_no_path(
            event in "\\PC{1,60}", ts in "\\PC{0,30}", session in any::<Option<String>>(),
            what in any::<String>(), said in "[^\\p{C}\\s][^\\p{C}\n]{0,40}"
        ) {
            let fragment = Fragment {
                event, ts, session_key: session, what, evidence: vec![said],
                ..fragment("Run the tests", Trajectory::Weakening)
            };
            let name = fragment.name();
            prop_assert!(name.len() < 200 && !name.contains('/') && !name.starts_with('.'));
            prop_assert!(name.is_ascii());
            prop_assert_eq!(Fragment::parse(&name, &fragment.render()), Ok(fragment));
        }
    }
}
