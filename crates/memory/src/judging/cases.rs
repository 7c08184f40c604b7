//! What a judge is shown: an event, the line that it touches, and what else its session has.

use serde::{Deserialize, Serialize};
use spore_plain::line_within;

use crate::gate::{self, EventHeader, Passage};
use crate::lines::{LineHash, LineMap, LinePlace};
use crate::pending::{Touch, TouchKey};
use crate::rules::{CarriedBy, ToldByRun, words_of};

/// How much of an event a judge is shown.
const SAID: usize = 4_000;
const SAID_AROUND: usize = 1_500;
/// How many events of its session, before and after it.
pub const AROUND: usize = 6;
/// A shorter quote is in every text.
const SHORTEST_QUOTE: usize = 8;

/// An event that a judge is asked about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct JudgeCase {
    pub touch: Touch,
    /// Nothing where the event touches no line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<CaseLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// What the event says.
    pub said: String,
    /// What else its session has, in order. Context, never a source.
    pub around: Vec<SessionEvent>,
}

/// The line of a case, as it stands today.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CaseLine {
    pub place: LinePlace,
    pub hash: LineHash,
    pub text: String,
    /// Whether it points to a dossier that is there.
    pub has_dossier: bool,
    /// Whether the run that the event speaks of was told it; nothing where that is not known.
    #[serde(default)]
    pub told: Option<bool>,
}

/// What a case is made with.
#[derive(Clone, Copy)]
pub struct CaseGround<'a> {
    pub map: &'a LineMap,
    /// Whether a dossier is there.
    pub has_dossier: &'a dyn Fn(&crate::cues::DossierPointer) -> bool,
    /// What a run was told.
    pub carried: &'a CarriedBy<'a>,
}

/// Another event of a case's session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SessionEvent {
    pub kind: String,
    #[serde(rename = "type")]
    pub what: String,
    pub said: String,
    /// Whether it came after the event of the case.
    pub after: bool,
}

/// A line of the spine, as a judge may read it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadEvent {
    pub id: String,
    pub kind: String,
    pub what: String,
    pub session_key: Option<String>,
    pub run: Option<String>,
    pub is_external: bool,
    pub said: String,
}

impl ReadEvent {
    /// Reads a line of the spine; nothing where it is no event with a kind.
    pub fn of(line: &[u8]) -> Option<Self> {
        let header = EventHeader::read(line).ok()?;
        let (kind, is_external) = match header.gate() {
            Passage::External(kind) => (kind.into_owned(), true),
            Passage::Internal(kind) if header.is_witness() => (kind.as_str().to_owned(), false),
            Passage::Internal(_) | Passage::Unscannable => return None,
        };
        let heard = header.hear(kind.into()).ok()?;
        let said = words_of(heard.payload).unwrap_or_else(|| heard.payload.to_owned());
        Some(Self {
            id: line_within(&heard.id, 80),
            kind: heard.kind.into_owned(),
            what: line_within(&heard.what, 100),
            session_key: heard.session_key.map(|key| line_within(&key, 200)),
            run: heard.run.map(|run| line_within(&run, 80)),
            is_external,
            said,
        })
    }
}

impl JudgeCase {
    /// Makes a case of a touch; nothing where what stands at its place is not its event any more,
    /// where that is no event from outside, or where its line is gone.
    pub fn of(
        touch: &Touch,
        event: &ReadEvent,
        around: Vec<SessionEvent>,
        ground: &CaseGround<'_>,
    ) -> Option<Self> {
        if event.id != touch.event || !event.is_external || !gate::is_external(&touch.kind) {
            return None;
        }
        let line = match &touch.line {
            None => None,
            Some(hash) => {
                let line = ground.map.by_hash(hash)?;
                let told = event.run.as_deref().map(|run| (ground.carried)(run));
                Some(CaseLine {
                    place: line.place.clone(),
                    hash: hash.clone(),
                    text: line.text.clone(),
                    has_dossier: line.cues.pointers.iter().any(ground.has_dossier),
                    told: told.filter(ToldByRun::is_known).map(|told| told.has(line)),
                })
            }
        };
        Some(Self {
            touch: touch.clone(),
            line,
            session_key: event.session_key.clone(),
            said: spore_plain::head(&event.said, SAID).to_owned(),
            around,
        })
    }

    pub(super) fn key(&self) -> TouchKey {
        (self.touch.event.clone(), self.touch.line.clone())
    }

    pub(super) fn is_quoted(&self, quote: &str) -> bool {
        has(&self.said, quote)
    }

    /// Whether what was done after the event has the quote.
    pub(super) fn is_shown_after(&self, quote: &str) -> bool {
        let mut after = self.around.iter().filter(|event| event.after && event.tells_a_deed());
        after.any(|event| has(&event.said, quote))
    }

    /// Whether it is known that the run was not told the line.
    pub(super) fn is_untold(&self) -> bool {
        self.line.as_ref().is_some_and(|line| line.told == Some(false))
    }
}

impl SessionEvent {
    pub fn of(event: &ReadEvent, after: bool) -> Self {
        Self {
            kind: event.kind.clone(),
            what: event.what.clone(),
            said: spore_plain::head(&event.said, SAID_AROUND).to_owned(),
            after,
        }
    }

    /// Whether it tells what was done: the tools of a session, or a commit. That gates were green,
    /// or that a person said thanks, is no deed.
    fn tells_a_deed(&self) -> bool {
        match self.kind.as_str() {
            "runner" => gate::is_trace(&self.what),
            "git" => self.what.starts_with("commit."),
            _ => false,
        }
    }
}

/// Whether a text has a quote, however its white space is set.
fn has(text: &str, quote: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let quote = plain(quote);
    quote.chars().count() >= SHORTEST_QUOTE && plain(text).contains(&quote)
}
