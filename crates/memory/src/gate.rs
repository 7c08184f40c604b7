//! The source gate: who an event comes from is settled before anything it says is read.
//!
//! Spore's own chatter must never become evidence about itself. So a line of the spine is
//! first read as an [`EventHeader`], in which the payload is unread bytes; the gate opens on the
//! source's kind alone; and only an [`AdmittedEvent`] has a payload to read.
//!
//! Which kinds are internal is said in the model. Any other word is external: people have
//! channels that Spore does not know.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use spore_model::SourceKind;

/// The longest word that is kept whole.
pub(crate) const WORD: usize = 40;

/// An event as far as it may be read before the gate.
#[derive(Deserialize)]
pub struct EventHeader<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    ts: Option<&'a RawValue>,
    #[serde(borrow, default)]
    source: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "type")]
    what: Option<&'a RawValue>,
    #[serde(borrow, default)]
    session_key: Option<&'a RawValue>,
    #[serde(borrow, default)]
    run: Option<&'a RawValue>,
    #[serde(borrow, default)]
    trace: Option<&'a RawValue>,
    #[serde(borrow, default)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct SourceHeader<'a> {
    #[serde(borrow, default)]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default)]
    own: Option<&'a RawValue>,
}

/// What the gate says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Passage<'a> {
    /// May become evidence.
    External(Cow<'a, str>),
    /// Never does.
    Internal(SourceKind),
    /// There is no kind, or it is not a word.
    Unscannable,
}

/// An event that was let in.
#[derive(Debug)]
pub struct AdmittedEvent<'a> {
    pub id: Cow<'a, str>,
    pub ts: Cow<'a, str>,
    pub kind: Cow<'a, str>,
    pub what: Cow<'a, str>,
    pub session_key: Option<Cow<'a, str>>,
    pub run: Option<Cow<'a, str>>,
    /// Well-formed JSON.
    pub payload: &'a str,
}

/// What an event of Spore's own adds to its turn. It is context for what people say there, and
/// never a source of evidence itself.
#[derive(Debug)]
pub(crate) struct TurnContext<'a> {
    pub(crate) session_key: Cow<'a, str>,
    pub(crate) what: ContextKind,
    pub(crate) payload: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ContextKind {
    /// A task that was given.
    Task,
    /// Tools that were used, in their order.
    Trace,
}

impl<'a> EventHeader<'a> {
    /// Reads a line. What is wrong with it is told in a sentence.
    pub fn read(line: &'a [u8]) -> Result<Self, String> {
        // A list of values would be taken for the fields in their order.
        if line.trim_ascii_start().first() != Some(&b'{') {
            return Err("an event is an object".to_owned());
        }
        serde_json::from_slice(line).map_err(|error| error.to_string())
    }

    /// Returns whether the event may be heard, from its source alone.
    pub fn gate(&self) -> Passage<'a> {
        let kind = self.source_header().and_then(|source| source.kind).and_then(text_of);
        match kind {
            Some(kind) if !kind.trim().is_empty() => passage(kind),
            _ => Passage::Unscannable,
        }
    }

    /// Returns the event's own name, however it is spelt.
    pub fn id(&self) -> Option<Cow<'a, str>> {
        self.id.and_then(text_of).filter(|id| !id.trim().is_empty())
    }

    pub(crate) fn run(&self) -> Option<Cow<'a, str>> {
        self.run.and_then(text_of)
    }

    pub fn ts(&self) -> Option<Cow<'a, str>> {
        self.ts.and_then(text_of)
    }

    fn source_header(&self) -> Option<SourceHeader<'a>> {
        let source = self.source.filter(|raw| raw.get().starts_with('{'))?;
        serde_json::from_str(source.get()).ok()
    }

    /// Whether Spore itself wrote the event. Nothing that was appended has the mark, and nothing
    /// of a log from before there was one.
    fn is_own(&self) -> bool {
        let own = self.source_header().and_then(|source| source.own);
        own.is_some_and(|own| own.get() == "true")
    }

    /// Whether an internal event tells what happened, and not what an agent says of itself: it is
    /// Spore's own, or it has nothing of a run of Spore and is of another program's session.
    pub(crate) fn is_witness(&self) -> bool {
        let own_type = |what: Cow<'_, str>| spore_model::is_own_type(&what);
        let is_foreign = || {
            self.run.is_none()
                && self.trace.is_none()
                && !self.what.and_then(text_of).is_some_and(own_type)
        };
        is_foreign() || self.is_own()
    }

    /// Returns what an event of kind `runner` adds to its turn.
    pub(crate) fn context(&self, kind: SourceKind) -> Option<TurnContext<'a>> {
        let (payload, what) = (self.payload?, self.what?);
        let what = match (kind, what.get()) {
            (SourceKind::Runner, "\"run.started\"") => ContextKind::Task,
            (SourceKind::Runner, what) if is_trace(what.trim_matches('"')) => ContextKind::Trace,
            _ => return None,
        };
        if !self.is_witness() {
            return None;
        }
        let session_key = self.session_key.and_then(text_of)?;
        Some(TurnContext { session_key, what, payload: payload.get() })
    }

    /// Opens an event that the gate has let in as one of `kind`.
    pub fn hear(&self, kind: Cow<'a, str>) -> Result<AdmittedEvent<'a>, String> {
        let id = self.id().ok_or("an event needs an id that is a text")?;
        Ok(AdmittedEvent {
            id,
            ts: self.ts().unwrap_or_default(),
            kind,
            what: self.what.and_then(text_of).unwrap_or_default(),
            session_key: self.session_key.and_then(text_of),
            run: self.run.and_then(text_of),
            payload: self.payload.map_or("null", RawValue::get),
        })
    }
}

/// Whether an event of this type tells which tools a session used.
pub(crate) fn is_trace(what: &str) -> bool {
    matches!(what, "tools.used" | "agent.tool_use" | "tool_use")
}

/// Another spelling of an internal kind does not make it external.
fn passage(kind: Cow<'_, str>) -> Passage<'_> {
    let word = kind.trim();
    let internal = SourceKind::ALL
        .into_iter()
        .filter(|known| !known.is_external())
        .find(|known| known.as_str().eq_ignore_ascii_case(word));
    match internal {
        Some(known) => Passage::Internal(known),
        None if !word.is_ascii() => of_look(word),
        None if is_tidy(word) && word.len() == kind.len() => Passage::External(kind),
        None => Passage::External(Cow::Owned(spore_plain::word(word, WORD))),
    }
}

/// The passage of a kind with letters of other alphabets: what looks like a known kind is never that
/// of people, and an internal one stays internal.
fn of_look<'a>(word: &str) -> Passage<'a> {
    let look: String = word.chars().filter_map(looks_like).collect();
    match SourceKind::ALL.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(&look)) {
        Some(known) if known.is_external() => Passage::Unscannable,
        Some(known) => Passage::Internal(known),
        None => Passage::External(Cow::Owned(spore_plain::word(word, WORD))),
    }
}

/// The letter of ASCII that a character looks like; nothing where nothing is drawn for it.
fn looks_like(c: char) -> Option<char> {
    Some(match c {
        'а' | 'α' => 'a',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ё' => 'e',
        'ɡ' => 'g',
        'һ' | 'н' => 'h',
        'і' | 'ı' | 'ι' => 'i',
        'м' => 'm',
        'ո' | 'п' => 'n',
        'о' | 'ο' => 'o',
        'р' | 'ρ' => 'p',
        'г' => 'r',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' => 'v',
        'ԝ' | 'ω' => 'w',
        'у' => 'y',
        '\u{ff21}'..='\u{ff5a}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        c if c.is_ascii() => c,
        c if c.is_alphanumeric() => c,
        _ => return None,
    })
}

fn is_tidy(word: &str) -> bool {
    word.len() <= WORD && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// Reads a JSON text, without a copy where it has no escapes.
fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    let json = raw.get();
    // What was parsed once and has no escape is the text between its quotes.
    if let Some(text) = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))
        && memchr::memchr(b'\\', text.as_bytes()).is_none()
    {
        return Some(Cow::Borrowed(text));
    }
    match serde_json::from_str::<&str>(json) {
        Ok(text) => Some(Cow::Borrowed(text)),
        Err(_) => serde_json::from_str::<String>(json).ok().map(Cow::Owned),
    }
}

/// Returns whether a fragment may come from a source of this kind.
pub(crate) fn is_external(kind: &str) -> bool {
    !kind.trim().is_empty() && matches!(passage(Cow::Borrowed(kind)), Passage::External(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &Passage<'_>) {
        let line = format!(r#"{{"payload": {{"a": 1}}, "id": "x", {source}"type": "a.b"}}"#);
        let header = EventHeader::read(line.as_bytes()).unwrap();
        assert_eq!(header.gate(), *expected, "{source}");
    }

    fn kind(json: &str) -> String {
        format!(r#""source": {{"name": "n", "kind": {json}}}, "#)
    }

    #[test]
    fn every_internal_kind_is_rejected() {
        let internal: Vec<SourceKind> =
            SourceKind::ALL.into_iter().filter(|kind| !kind.is_external()).collect();
        let words: Vec<&str> = internal.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(words, ["runner", "system", "cadence", "meta", "route", "gateway"]);
        for known in internal {
            let word = known.as_str();
            for spelt in [word.to_owned(), word.to_uppercase(), format!(" {word}\\n")] {
                check(&kind(&format!("\"{spelt}\"")), &Passage::Internal(known));
            }
        }
    }

    #[test]
    fn every_other_word_is_external() {
        for word in ["human", "git", "ci", "channel", "check", "verifier", "feishu", "runners"] {
            check(&kind(&format!("\"{word}\"")), &Passage::External(word.into()));
        }
    }

    #[test]
    fn a_kind_that_only_looks_like_another_gains_nothing_by_it() {
        check(&kind("\"runnеr\""), &Passage::Internal(SourceKind::Runner));
        check(&kind("\"ｒｕｎｎｅｒ\""), &Passage::Internal(SourceKind::Runner));
        check(&kind("\"run\u{200b}ner\""), &Passage::Internal(SourceKind::Runner));
        check(&kind("\"humаn\""), &Passage::Unscannable);
        check(&kind("\"human\u{2060}\""), &Passage::Unscannable);
        check(&kind("\"почта\""), &Passage::External("_____".into()));
    }

    #[test]
    fn a_kind_that_is_no_word_is_unscannable() {
        for json in ["7", "0", "1.5", "true", "null", "[]", "{}", "[\"human\"]", "\"\"", "\"  \""] {
            check(&kind(json), &Passage::Unscannable);
        }
        for source in [
            "",
            r#""source": null, "#,
            r#""source": "human", "#,
            r#""source": 3, "#,
            r#""source": ["human"], "#,
        ] {
            check(source, &Passage::Unscannable);
        }
        check(r#""source": {"name": "human"}, "#, &Passage::Unscannable);
    }

    #[test]
    fn a_source_that_is_told_twice_is_no_event() {
        let line = br#"{"source": {"kind": "human"}, "source": {"kind": "runner"}, "id": "x"}"#;
        assert!(EventHeader::read(line).is_err());
    }

    #[test]
    fn an_event_without_a_name_is_not_heard() {
        for id in ["", r#""id": 7, "#, r#""id": "", "#] {
            let line = format!(r#"{{{id}"source": {{"kind": "human"}}}}"#);
            let header = EventHeader::read(line.as_bytes()).unwrap();
            assert!(header.hear("human".into()).is_err(), "{id}");
        }
    }
}
