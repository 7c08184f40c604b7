//! One turn of a scenario: when it is played, what it says, and what goes wrong with it.

use std::time::Duration;

use serde_json::Value;
use spore_model::Usage;

use crate::dialect::ModelConversation;

/// How many characters a streamed piece of text, thinking or tool input has, unless told.
const PIECE: usize = 12;

#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    pub(crate) name: Option<String>,
    pub(crate) when: When,
    pub(crate) parts: Vec<TurnPart>,
    pub(crate) stop: Option<TurnStop>,
    pub(crate) usage: Option<Usage>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) repeats: Repeats,
    pub(crate) pace: TurnPace,
    pub(crate) fault: Option<TurnFault>,
}

/// What must be true of a request. All of it; nothing asked for is true of every request.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    /// In what was said since the model last spoke, tool results included.
    pub contains: Option<String>,
    /// Not in what was said since the model last spoke.
    pub not_contains: Option<String>,
    pub system_contains: Option<String>,
    pub tool_result_contains: Option<String>,
    /// A word of its own, in any case, in the system prompt or in the first message: a role's
    /// name reaches the model by one way or the other, depending on the agent.
    pub role_word: Option<String>,
    /// The model asked for, exactly.
    pub model: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TurnPart {
    Thinking(String),
    Text(String),
    Call {
        name: String,
        namespace: Option<String>,
        /// A string is the input of a free-form tool, anything else the arguments.
        input: Value,
    },
    /// So many megabytes of text in one piece.
    Huge(usize),
}

/// Why the model stopped; each dialect has its own word for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStop {
    EndTurn,
    ToolUse,
    MaxTokens,
    Refusal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeats {
    Times(u32),
    Sticky,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TurnPace {
    /// Before the headers.
    pub(crate) before: Duration,
    /// Before every event of the stream.
    pub(crate) between: Duration,
    /// Characters in a streamed piece.
    pub(crate) piece: usize,
}

/// What goes wrong. Places are counted in events of the stream already sent; an answer that is
/// not streamed breaks in the middle of its body instead.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TurnFault {
    Refused(VendorRefusal),
    HangBeforeHeaders,
    HangAfter(usize),
    /// The connection is closed inside the body, as HTTP sees it.
    CutAfter(usize),
    /// The body ends as it should for HTTP, but the vendor's last events are missing.
    EndAfter(usize),
    /// The next event is broken off in its middle; those after it are whole.
    MalformedAfter(usize),
    /// The stream reports an error and ends.
    FailAfter(usize, VendorRefusal),
}

/// An error of the vendor, in the vendor's words.
#[derive(Clone, Debug, PartialEq)]
pub struct VendorRefusal {
    pub(crate) status: u16,
    pub(crate) message: Option<String>,
    /// The vendor's name of the error, where the usual one for the status is not meant.
    pub(crate) kind: Option<String>,
    pub(crate) retry_after: Option<u32>,
    /// When the limit is lifted, as the header is to say it.
    pub(crate) reset: Option<String>,
    /// Sent instead of the body that follows from all the others.
    pub(crate) body: Option<Value>,
}

impl Turn {
    /// A turn that says nothing yet and simply ends.
    pub fn silent() -> Self {
        Self {
            name: None,
            when: When::default(),
            parts: Vec::new(),
            stop: None,
            usage: None,
            headers: Vec::new(),
            repeats: Repeats::Times(1),
            pace: TurnPace { before: Duration::ZERO, between: Duration::ZERO, piece: PIECE },
            fault: None,
        }
    }

    pub fn says(text: &str) -> Self {
        Self::silent().text(text)
    }

    pub fn calls(tool: &str, input: Value) -> Self {
        Self::silent().call(tool, input)
    }

    pub fn refuses(refusal: VendorRefusal) -> Self {
        Self::silent().with_fault(TurnFault::Refused(refusal))
    }

    /// Takes the request and never sends a byte.
    pub fn hangs() -> Self {
        Self::silent().with_fault(TurnFault::HangBeforeHeaders)
    }

    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    #[must_use]
    pub fn when(mut self, when: When) -> Self {
        self.when = when;
        self
    }

    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.part(TurnPart::Text(text.to_owned()))
    }

    #[must_use]
    pub fn thinking(self, text: &str) -> Self {
        self.part(TurnPart::Thinking(text.to_owned()))
    }

    #[must_use]
    pub fn call(self, tool: &str, input: Value) -> Self {
        self.part(TurnPart::Call { name: tool.to_owned(), namespace: None, input })
    }

    /// Calls a tool of a group, as Codex names the tools of an MCP server.
    #[must_use]
    pub fn call_in(self, namespace: &str, tool: &str, input: Value) -> Self {
        let namespace = Some(namespace.to_owned());
        self.part(TurnPart::Call { name: tool.to_owned(), namespace, input })
    }

    /// Says so many megabytes in one line.
    #[must_use]
    pub fn huge(self, megabytes: usize) -> Self {
        self.part(TurnPart::Huge(megabytes))
    }

    #[must_use]
    pub fn stop(mut self, stop: TurnStop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Claims these numbers instead of counting.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.repeats = Repeats::Times(times);
        self
    }

    #[must_use]
    pub fn sticky(mut self) -> Self {
        self.repeats = Repeats::Sticky;
        self
    }

    #[must_use]
    pub fn delay(mut self, before_headers: Duration) -> Self {
        self.pace.before = before_headers;
        self
    }

    #[must_use]
    pub fn delay_between(mut self, events: Duration) -> Self {
        self.pace.between = events;
        self
    }

    /// Streams in pieces of so many characters.
    #[must_use]
    pub fn pieces_of(mut self, characters: usize) -> Self {
        self.pace.piece = characters.max(1);
        self
    }

    #[must_use]
    pub fn hang_after(self, events: usize) -> Self {
        self.with_fault(TurnFault::HangAfter(events))
    }

    /// Closes the connection inside the body.
    #[must_use]
    pub fn cut_after(self, events: usize) -> Self {
        self.with_fault(TurnFault::CutAfter(events))
    }

    /// Ends the body properly, but too early for the protocol.
    #[must_use]
    pub fn end_after(self, events: usize) -> Self {
        self.with_fault(TurnFault::EndAfter(events))
    }

    #[must_use]
    pub fn malformed_after(self, events: usize) -> Self {
        self.with_fault(TurnFault::MalformedAfter(events))
    }

    /// Reports the error inside the stream; whole answers are refused with it.
    #[must_use]
    pub fn fail_after(self, events: usize, refusal: VendorRefusal) -> Self {
        self.with_fault(TurnFault::FailAfter(events, refusal))
    }

    pub(crate) fn with_fault(mut self, fault: TurnFault) -> Self {
        self.fault = Some(fault);
        self
    }

    pub(crate) fn part(mut self, part: TurnPart) -> Self {
        self.parts.push(part);
        self
    }

    pub(crate) fn stops_with(&self) -> TurnStop {
        let calls = self.parts.iter().any(|part| matches!(part, TurnPart::Call { .. }));
        self.stop.unwrap_or(if calls { TurnStop::ToolUse } else { TurnStop::EndTurn })
    }
}

impl VendorRefusal {
    pub fn new(status: u16) -> Self {
        Self { status, message: None, kind: None, retry_after: None, reset: None, body: None }
    }

    #[must_use]
    pub fn message(mut self, message: &str) -> Self {
        self.message = Some(message.to_owned());
        self
    }

    #[must_use]
    pub fn kind(mut self, kind: &str) -> Self {
        self.kind = Some(kind.to_owned());
        self
    }

    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    #[must_use]
    pub fn reset(mut self, when: &str) -> Self {
        self.reset = Some(when.to_owned());
        self
    }

    pub(crate) fn words(&self) -> String {
        self.message.clone().unwrap_or_else(|| format!("the scenario answers with {}", self.status))
    }
}

impl When {
    pub fn contains(text: &str) -> Self {
        Self { contains: Some(text.to_owned()), ..Self::default() }
    }

    pub fn role(word: &str) -> Self {
        Self { role_word: Some(word.to_owned()), ..Self::default() }
    }

    pub(crate) fn holds(&self, model: &str, heard: &ModelConversation) -> bool {
        let all = |wanted: &Option<String>, test: &dyn Fn(&str) -> bool| {
            wanted.as_deref().is_none_or(test)
        };
        all(&self.contains, &|text| heard.news.contains(text))
            && all(&self.not_contains, &|text| !heard.news.contains(text))
            && all(&self.system_contains, &|text| heard.system.contains(text))
            && all(&self.tool_result_contains, &|text| heard.tool_results.contains(text))
            && all(&self.role_word, &|word| {
                has_word(&heard.system, word) || has_word(&heard.first, word)
            })
            && all(&self.model, &|wanted| wanted == model)
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '-')
        .any(|found| found.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard() -> ModelConversation {
        ModelConversation {
            system: "You are the Verifier.".into(),
            first: "Check the change".into(),
            news: "exit code 1".into(),
            tool_results: "exit code 1".into(),
        }
    }

    #[track_caller]
    fn check(when: When, holds: bool) {
        assert_eq!(when.holds("m-1", &heard()), holds, "{when:?}");
    }

    #[test]
    fn every_condition_must_hold() {
        let when = When::default;
        check(when(), true);
        check(When::contains("code 1"), true);
        check(When::contains("Check"), false);
        check(When { not_contains: Some("code 1".into()), ..when() }, false);
        check(When { system_contains: Some("Verifier".into()), ..when() }, true);
        check(When { tool_result_contains: Some("code 2".into()), ..when() }, false);
        check(When { model: Some("m".into()), ..when() }, false);
        check(When { model: Some("m-1".into()), ..When::contains("nowhere") }, false);
    }

    #[test]
    fn a_role_is_a_word_of_its_own() {
        check(When::role("verifier"), true);
        check(When::role("change"), true);
        check(When::role("verif"), false);
    }

    #[test]
    fn a_turn_with_a_call_stops_for_it() {
        assert_eq!(Turn::calls("Read", Value::Null).stops_with(), TurnStop::ToolUse);
        assert_eq!(Turn::says("hi").stops_with(), TurnStop::EndTurn);
        assert_eq!(Turn::says("hi").stop(TurnStop::MaxTokens).stops_with(), TurnStop::MaxTokens);
    }
}
