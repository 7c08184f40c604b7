//! `spore events append`: other people's events, checked and put on the spine.
//!
//! Inside of a session or a check every event is one of kind `runner`, whatever it says: a session
//! that a sandbox holds asks the broker, which stamps it, and of any other it is known by its
//! process ([`crate::session::within`]). So an agent's word is never a person's.
//!
//! A script, a hook or a person tells what happened; it goes straight to the day's file and
//! into no journal. Everything is checked before anything is written, because a line of the
//! spine is never taken back. A payload is only ever data: nothing here looks into it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spore_model::{Event, EventSource, Fault, RunId, SourceKind, TraceId, is_own_type};
use spore_store::spine::{MAX_LINE_BYTES, Spine, SpineError};

use crate::session::nesting::Ancestry;
use crate::session::parent::ParentSession;
use crate::session::within::{AroundSession, around_session};
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

/// What a session asks the broker for.
pub(crate) const APPEND: &str = "append";

/// No payload that is longer than this can be on the spine, so there is no use reading on.
pub const MAX_PAYLOAD_BYTES: usize = MAX_LINE_BYTES;

/// What the user types about an event. What is left out is filled in.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct NewEvent {
    pub kind: String,
    pub what: String,
    /// The source's own name; the kind if left out.
    pub name: Option<String>,
    pub session: Option<String>,
    /// JSON of any shape.
    pub payload: Option<Vec<u8>>,
}

/// Appends an event and returns it as it stands on the spine.
pub fn append_event(around: &Surroundings, asked: &NewEvent) -> Result<Event> {
    source_kind(&asked.kind)?;
    free_type(&asked.what, None)?;
    if let Some(parent) = ParentSession::of(around) {
        return parent.start(APPEND, asked, around, &mut NoProgress);
    }
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let config = workspace.config(around, &[])?;
    let inside = around_session(around, &workspace.journal(&config)?)?;
    let stamp = inside.map(|AroundSession { session, root }| SessionStamp {
        session,
        trace: root.map(TraceId::from),
    });
    append(around, &workspace, asked, stamp.as_ref())
}

/// Appends an event on behalf of a session, whose ancestry is in `around`.
pub(crate) fn append_for_session(around: &Surroundings, asked: &NewEvent) -> Result<Event> {
    let workspace = Workspace::find(around)?;
    let (session, trace) = Ancestry::told(around);
    append(around, &workspace, asked, Some(&SessionStamp { session, trace }))
}

/// Whose event it is that a session appends.
struct SessionStamp {
    session: Option<RunId>,
    trace: Option<TraceId>,
}

/// An event is appended at once: there is nothing to tell meanwhile.
struct NoProgress;

impl Progress for NoProgress {
    fn update(&mut self, _: &Update) {}
}

fn append(
    around: &Surroundings,
    workspace: &Workspace,
    asked: &NewEvent,
    stamp: Option<&SessionStamp>,
) -> Result<Event> {
    let asked_kind = source_kind(&asked.kind)?;
    let kind = if stamp.is_some() { SourceKind::Runner } else { asked_kind };
    let secrets = around.secrets();
    let struck = |text: &str| secrets.strike(text).into_owned();
    let mut event = Event {
        id: around.ids.event(),
        ts: around.clock.now(),
        source: EventSource {
            kind,
            name: asked
                .name
                .as_deref()
                .map_or(Ok(asked_kind.as_str()), |name| word("name", name))
                .map(struck)?,
            own: false,
        },
        kind: free_type(&asked.what, stamp)?.to_owned(),
        session_key: match stamp {
            // Into the turn of another session a session has nothing to say.
            Some(stamp) => stamp.trace.as_ref().map(ToString::to_string),
            None => named_session(asked)?.map(struck),
        },
        run: stamp.and_then(|stamp| stamp.session),
        trace: stamp.and_then(|stamp| stamp.trace.clone()),
        payload: asked.payload.as_deref().map_or(Ok(Value::Null), payload)?,
    };
    secrets.strike_json(&mut event.payload);
    let cap = workspace.config(around, &[])?.spine.line_cap_bytes;
    let line = serde_json::to_string(&event).map_err(crate::base::error::bug)?;
    if line.len() as u64 > cap.min(MAX_LINE_BYTES as u64) {
        return Err(too_large(line.len()));
    }
    Spine::new(workspace.events_dir()).append(&event.ts.day(), &[line])?;
    Ok(event)
}

fn named_session(asked: &NewEvent) -> Result<Option<&str>> {
    asked.session.as_deref().map(|key| word("session", key)).transpose()
}

/// What programs that are not Spore call the use of a tool. A session's own word about that is no
/// trace of it.
const FOREIGN_TRACE: &str = "agent.tool_use";

/// Refuses the types by which Spore tells what runs and sessions did.
fn free_type<'a>(what: &'a str, stamp: Option<&SessionStamp>) -> Result<&'a str> {
    let what = event_type(what)?;
    if is_own_type(what) || (stamp.is_some() && what == FOREIGN_TRACE) {
        return Err(Error::new(Fault::Usage, format!("events of type {what} are Spore's own"))
            .hint("tell of it under a name of yours, such as build.finished"));
    }
    Ok(what)
}

/// Reads the kind of a source; a wrong one names the nearest.
pub(crate) fn source_kind(text: &str) -> Result<SourceKind> {
    text.parse().map_err(|error: spore_model::UnknownSourceKind| {
        let distance = |kind: &SourceKind| spore_config::distance(text, kind.as_str());
        let nearest = SourceKind::ALL.into_iter().min_by_key(distance);
        let hint = match nearest.filter(|kind| distance(kind) <= 2) {
            Some(kind) => format!("did you mean {kind}?"),
            None => format!("one of {}", SourceKind::ALL.map(SourceKind::as_str).join(", ")),
        };
        Error::new(Fault::Usage, error.to_string()).hint(hint)
    })
}

/// `word.word`, as in `build.finished`: so that a pattern such as `build.*` finds a family.
fn event_type(text: &str) -> Result<&str> {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
    };
    if text.len() <= 100 && text.contains('.') && text.split('.').all(is_word) {
        return Ok(text);
    }
    let shown: String = text.chars().take(100).collect();
    Err(Error::new(Fault::Usage, format!("{shown:?} is not a type of event"))
        .hint("two or more words in lower case with dots between them, such as build.finished"))
}

/// A name for people to read: one line, not endless.
fn word<'a>(what: &str, text: &'a str) -> Result<&'a str> {
    let is_fine = !text.trim().is_empty() && text.len() <= 200 && !text.contains(char::is_control);
    if is_fine {
        return Ok(text);
    }
    Err(Error::new(Fault::Usage, format!("the {what} must be one line of 1 to 200 bytes")))
}

fn payload(bytes: &[u8]) -> Result<Value> {
    if bytes.len() > MAX_PAYLOAD_BYTES {
        return Err(too_large(bytes.len()));
    }
    serde_json::from_slice(bytes).map_err(|source| {
        Error::new(Fault::BadInput, "the payload is not JSON")
            .hint("quote it for the shell: --payload '{\"result\": \"ok\"}'")
            .because(source)
    })
}

fn too_large(bytes: usize) -> Error {
    Error::new(Fault::BadInput, format!("an event of {bytes} bytes or more is too large"))
        .hint("keep the bulk in a file and name the file in the payload; the limit is `[spine] line_cap_bytes`")
}

impl From<SpineError> for Error {
    fn from(error: SpineError) -> Self {
        match error {
            SpineError::Io { path, source } => {
                Self::io(format!("cannot use {}", spore_plain::path(&path)), source)
            }
            error @ SpineError::BadLine { .. } => Self::new(Fault::BadInput, error.to_string()),
            error @ SpineError::BadDay { .. } => Self::new(Fault::Bug, error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_words_with_dots_between_them() {
        for good in ["a.b", "build.finished", "a.b.c", "x1.y_z-2"] {
            assert!(event_type(good).is_ok(), "{good}");
        }
        let long = format!("a.{}", "b".repeat(100));
        for bad in ["", ".", "a", "a.", ".a", "a..b", "A.b", "a.1", "a b.c", "a.b\n", "ä.b", &long]
        {
            assert!(event_type(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_spore_tells_of_runs_and_sessions_only_spore_tells() {
        let inside = SessionStamp { session: None, trace: None };
        for own in ["tools.used", "run.started", "commit.created", "verdict.given"] {
            assert!(free_type(own, None).is_err() && free_type(own, Some(&inside)).is_err());
        }
        assert!(free_type(FOREIGN_TRACE, None).is_ok());
        assert!(free_type(FOREIGN_TRACE, Some(&inside)).is_err());
        for free in ["memory.feedback", "build.finished"] {
            assert!(free_type(free, Some(&inside)).is_ok());
        }
    }

    #[test]
    fn a_wrong_kind_names_the_nearest_or_all() {
        let hint = |text: &str| source_kind(text).unwrap_err().hint_text().map(str::to_owned);
        assert_eq!(hint("humna").as_deref(), Some("did you mean human?"));
        assert_eq!(hint("verifer").as_deref(), Some("did you mean verifier?"));
        assert!(hint("weather").is_some_and(|hint| hint.starts_with("one of human, git")));
        assert_eq!(source_kind("ci").unwrap(), SourceKind::Ci);
    }

    #[test]
    fn a_name_is_one_line() {
        for bad in ["", " ", "a\nb", "\u{1b}[2J", &"x".repeat(201)] {
            assert!(word("name", bad).is_err(), "{bad:?}");
        }
        assert_eq!(word("name", "nightly build").unwrap(), "nightly build");
    }
}
