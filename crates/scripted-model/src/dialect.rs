//! The four protocols: how each asks, answers and refuses.
//!
//! A dialect is two pure translations, from a request's body to what was said, and from a
//! [`ScriptedReply`] to the vendor's JSON or to the events of a stream. Which turn is played, when, and
//! what goes wrong on the way is none of its business.

mod chat;
mod gemini;
mod messages;
mod responses;

use serde::Serialize;
use serde_json::Value;
use spore_model::Usage;

use crate::turn::{TurnStop, VendorRefusal};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// Anthropic Messages.
    Messages,
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions, as most other servers speak it.
    Chat,
    /// Google's generateContent.
    Gemini,
}

/// What a path asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Speak(Dialect, PathRequest),
    CountTokens(Dialect),
}

/// What the path alone says about the answer wanted; the other vendors say it in the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathRequest {
    InBody,
    Gemini { model: String, delivery: Delivery },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Whole,
    /// Server-sent events.
    Stream,
    /// The events of the stream as one JSON array, which Gemini sends without `alt=sse`.
    Array,
}

/// What the model is asked to answer, with the vendor's form taken off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModelConversation {
    pub(crate) system: String,
    /// The first thing the user said.
    pub(crate) first: String,
    /// All that was said since the model last spoke. Not the last message alone: agents send
    /// tool results, reminders and listings as messages of their own.
    pub(crate) news: String,
    /// The part of the news that tools said.
    pub(crate) tool_results: String,
}

pub(crate) enum Speaker {
    System,
    User,
    Tool,
    Model,
}

/// What the model says, ready to be put into a vendor's words.
pub(crate) struct ScriptedReply<'a> {
    /// Different for every request, so that a client never meets the same message twice.
    pub(crate) id: &'a str,
    pub(crate) model: &'a str,
    pub(crate) spoken: &'a [Spoken],
    pub(crate) stop: TurnStop,
    pub(crate) usage: Usage,
    /// The client asked for the numbers at the end of a stream.
    pub(crate) wants_usage: bool,
}

/// Each kind in the pieces in which it is streamed.
pub(crate) enum Spoken {
    Thinking(Vec<String>),
    Text(Vec<String>),
    Call { id: String, name: String, namespace: Option<String>, input: Value, pieces: Vec<String> },
}

/// One server-sent event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SseFrame {
    pub(crate) event: Option<String>,
    pub(crate) data: String,
}

impl Route {
    pub(crate) fn of(method: &str, target: &str) -> Option<Self> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if method != "POST" {
            return None;
        }
        let path = path.strip_prefix("/v1/").or_else(|| path.strip_prefix('/'))?;
        Some(match path {
            "messages" => Self::Speak(Dialect::Messages, PathRequest::InBody),
            "messages/count_tokens" => Self::CountTokens(Dialect::Messages),
            "responses" => Self::Speak(Dialect::Responses, PathRequest::InBody),
            "chat/completions" => Self::Speak(Dialect::Chat, PathRequest::InBody),
            _ => Self::of_gemini(path, query)?,
        })
    }

    fn of_gemini(path: &str, query: &str) -> Option<Self> {
        let path = path.strip_prefix("v1beta/").unwrap_or(path);
        let (model, verb) = path.strip_prefix("models/")?.split_once(':')?;
        let delivery = match verb {
            "countTokens" => return Some(Self::CountTokens(Dialect::Gemini)),
            "generateContent" => Delivery::Whole,
            "streamGenerateContent" if query.split('&').any(|pair| pair == "alt=sse") => {
                Delivery::Stream
            }
            "streamGenerateContent" => Delivery::Array,
            _ => return None,
        };
        Some(Self::Speak(
            Dialect::Gemini,
            PathRequest::Gemini { model: model.to_owned(), delivery },
        ))
    }
}

impl PathRequest {
    pub(crate) fn model(&self, body: &Value) -> String {
        match self {
            Self::InBody => body["model"].as_str().unwrap_or_default().to_owned(),
            Self::Gemini { model, .. } => model.clone(),
        }
    }

    pub(crate) fn delivery(&self, body: &Value) -> Delivery {
        match self {
            Self::InBody if body["stream"] == true => Delivery::Stream,
            Self::InBody => Delivery::Whole,
            Self::Gemini { delivery, .. } => *delivery,
        }
    }
}

impl Dialect {
    pub(crate) fn conversation(self, body: &Value) -> ModelConversation {
        let said = match self {
            Self::Messages => messages::said(body),
            Self::Responses => responses::said(body),
            Self::Chat => chat::said(body),
            Self::Gemini => gemini::said(body),
        };
        ModelConversation::of(&said)
    }

    pub(crate) fn wants_usage(self, body: &Value) -> bool {
        self != Self::Chat || body["stream_options"]["include_usage"] == true
    }

    pub(crate) fn whole(self, reply: &ScriptedReply<'_>) -> Value {
        match self {
            Self::Messages => messages::whole(reply),
            Self::Responses => responses::whole(reply),
            Self::Chat => chat::whole(reply),
            Self::Gemini => gemini::whole(reply),
        }
    }

    pub(crate) fn frames(self, reply: &ScriptedReply<'_>) -> Vec<SseFrame> {
        match self {
            Self::Messages => messages::frames(reply),
            Self::Responses => responses::frames(reply),
            Self::Chat => chat::frames(reply),
            Self::Gemini => gemini::frames(reply),
        }
    }

    /// The body of an error.
    pub(crate) fn refusal(self, refusal: &VendorRefusal) -> Value {
        if let Some(body) = &refusal.body {
            return body.clone();
        }
        match self {
            Self::Messages => messages::refusal(refusal),
            Self::Responses | Self::Chat => chat::refusal(refusal),
            Self::Gemini => gemini::refusal(refusal),
        }
    }

    /// The headers of an error that say when to come back.
    pub(crate) fn refusal_headers(self, refusal: &VendorRefusal) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        let mut add = |name: &str, value: String| headers.push((name.to_owned(), value));
        if let Some(seconds) = refusal.retry_after {
            add("retry-after", seconds.to_string());
            if matches!(self, Self::Responses | Self::Chat) {
                add("x-ratelimit-reset-requests", format!("{seconds}s"));
                add("x-ratelimit-reset-tokens", format!("{seconds}s"));
            }
        }
        if let (Self::Messages, Some(reset)) = (self, &refusal.reset) {
            for name in ["requests", "tokens", "unified"] {
                add(&format!("anthropic-ratelimit-{name}-reset"), reset.clone());
            }
        }
        headers
    }

    /// An error inside a stream that had begun well, after so many events.
    pub(crate) fn failure(
        self,
        reply: &ScriptedReply<'_>,
        sent: usize,
        refusal: &VendorRefusal,
    ) -> SseFrame {
        match self {
            Self::Messages => SseFrame::named("error", &self.refusal(refusal)),
            Self::Responses => responses::failed(reply, sent, refusal),
            Self::Chat | Self::Gemini => SseFrame::bare(&self.refusal(refusal)),
        }
    }

    pub(crate) fn token_count(self, tokens: u64) -> Value {
        match self {
            Self::Gemini => serde_json::json!({ "totalTokens": tokens }),
            _ => serde_json::json!({ "input_tokens": tokens }),
        }
    }
}

impl ModelConversation {
    fn of(said: &[(Speaker, String)]) -> Self {
        let mut heard = Self::default();
        for (speaker, text) in said {
            match speaker {
                Speaker::System => append(&mut heard.system, text),
                Speaker::Model => {
                    heard.news.clear();
                    heard.tool_results.clear();
                }
                Speaker::User => {
                    if heard.first.is_empty() {
                        heard.first.clone_from(text);
                    }
                    append(&mut heard.news, text);
                }
                Speaker::Tool => {
                    append(&mut heard.news, text);
                    append(&mut heard.tool_results, text);
                }
            }
        }
        heard
    }
}

fn append(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

/// The text in a vendor's content, however deep it is wrapped; other things as their JSON.
fn plain(content: &Value) -> String {
    match content {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let mut all = String::new();
            parts.iter().for_each(|part| append(&mut all, &plain(part)));
            all
        }
        Value::Object(fields) => match fields.get("text").or_else(|| fields.get("content")) {
            Some(inner) => plain(inner),
            None => content.to_string(),
        },
        other => other.to_string(),
    }
}

impl SseFrame {
    /// An event that is named as its data's type is.
    fn typed(data: &Value) -> Self {
        Self { event: data["type"].as_str().map(str::to_owned), data: data.to_string() }
    }

    fn named(event: &str, data: &Value) -> Self {
        Self { event: Some(event.to_owned()), data: data.to_string() }
    }

    fn bare(data: &Value) -> Self {
        Self { event: None, data: data.to_string() }
    }

    pub(crate) fn text(&self) -> String {
        match &self.event {
            Some(event) => format!("event: {event}\ndata: {}\n\n", self.data),
            None => format!("data: {}\n\n", self.data),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_says_who_is_asked() {
        let gemini = |delivery| {
            Some(Route::Speak(Dialect::Gemini, PathRequest::Gemini { model: "g".into(), delivery }))
        };
        let speak = |dialect| Some(Route::Speak(dialect, PathRequest::InBody));
        for (target, expected) in [
            ("/v1/messages?beta=true", speak(Dialect::Messages)),
            ("/v1/messages/count_tokens", Some(Route::CountTokens(Dialect::Messages))),
            ("/v1/responses", speak(Dialect::Responses)),
            ("/responses", speak(Dialect::Responses)),
            ("/v1/chat/completions", speak(Dialect::Chat)),
            ("/chat/completions", speak(Dialect::Chat)),
            ("/v1beta/models/g:generateContent", gemini(Delivery::Whole)),
            ("/v1beta/models/g:streamGenerateContent?alt=sse", gemini(Delivery::Stream)),
            ("/v1beta/models/g:streamGenerateContent", gemini(Delivery::Array)),
            ("/v1beta/models/g:countTokens", Some(Route::CountTokens(Dialect::Gemini))),
            ("/v1beta/models/g:embedContent", None),
            ("/v1/models", None),
            ("/", None),
        ] {
            assert_eq!(Route::of("POST", target), expected, "{target}");
        }
        assert_eq!(Route::of("GET", "/v1/messages"), None);
    }

    #[track_caller]
    fn check(dialect: Dialect, body: &Value) {
        let expected = ModelConversation {
            system: "Be brief.\nListing.".into(),
            first: "Fix it".into(),
            news: "exit 1\nHurry".into(),
            tool_results: "exit 1".into(),
        };
        assert_eq!(dialect.conversation(body), expected, "{dialect:?}");
    }

    #[test]
    fn all_dialects_ask_the_same_question() {
        check(
            Dialect::Messages,
            &json!({"system": [{"type": "text", "text": "Be brief."}], "messages": [
                {"role": "user", "content": "Fix it"},
                {"role": "system", "content": [{"type": "text", "text": "Listing."}]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "1"}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "content": [{"type": "text", "text": "exit 1"}]},
                    {"type": "text", "text": "Hurry"}]}]}),
        );
        check(
            Dialect::Responses,
            &json!({"instructions": "Be brief.", "input": [
                {"role": "developer", "content": [{"type": "input_text", "text": "Listing."}]},
                {"type": "message", "role": "user",
                 "content": [{"type": "input_text", "text": "Fix it"}]},
                {"type": "reasoning", "summary": []},
                {"type": "function_call", "name": "shell", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "1", "output": "exit 1"},
                {"role": "user", "content": "Hurry"}]}),
        );
        check(
            Dialect::Chat,
            &json!({"messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "developer", "content": "Listing."},
                {"role": "user", "content": [{"type": "text", "text": "Fix it"}]},
                {"role": "assistant", "content": null, "tool_calls": []},
                {"role": "tool", "content": "exit 1"},
                {"role": "user", "content": "Hurry"}]}),
        );
        check(
            Dialect::Gemini,
            &json!({"systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Listing."}]},
                "contents": [
                {"role": "user", "parts": [{"text": "Fix it"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "shell"}}]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "shell", "response": {"output": "exit 1"}}},
                    {"text": "Hurry"}]}]}),
        );
    }
}
