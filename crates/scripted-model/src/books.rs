//! The books: every request, who answered it, what it used and what that cost.
//!
//! Counted here and not taken from a client, so a test can hold a client's claims against
//! them. Keys never get in: a header that might hold one is entered without its value.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use spore_model::{Usage, Usd};

use crate::dialect::Dialect;
use crate::http::HttpRequest;

const HIDDEN: &str = "(hidden)";

/// One request and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordedExchange {
    /// From 1, in the order of arrival.
    pub number: u64,
    pub method: String,
    /// Path and query.
    pub target: String,
    pub dialect: Option<Dialect>,
    pub model: String,
    pub streamed: bool,
    /// Names in lower case, without the values of those that may hold a secret.
    pub headers: BTreeMap<String, String>,
    /// Null where it was not JSON.
    pub body: Value,
    pub answered: AnsweredBy,
    /// `None` where not even the headers are sent.
    pub status: Option<u16>,
    /// What the request is booked with: nothing if it was refused, no output if the answer
    /// breaks off.
    pub usage: Usage,
    /// `None` where the scenario has no price for the model.
    pub cost_usd: Option<Usd>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    /// By a turn of the scenario: its place, from 1, and its name.
    Turn {
        turn: usize,
        name: Option<String>,
    },
    /// Only tokens were to be counted.
    TokenCount,
    /// No turn was left whose condition holds. A mistake in the test or in the client.
    NoTurn,
    /// No dialect has this path.
    NoSuchPath,
    NotJson,
}

/// The sums over everything that was asked of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ModelTotals {
    /// Requests for an answer, whatever became of them; counting tokens is none.
    pub requests: u64,
    /// Those that got an error instead.
    pub refused: u64,
    pub usage: Usage,
    pub cost_usd: Usd,
    /// Requests that used tokens of a model without a price.
    pub unpriced: u64,
}

impl RecordedExchange {
    pub(crate) fn arrived(number: u64, request: &HttpRequest, body: Value) -> Self {
        Self {
            number,
            method: request.method.clone(),
            target: without_key(&request.target),
            dialect: None,
            model: String::new(),
            streamed: false,
            headers: request.headers.iter().map(|(name, value)| shown(name, value)).collect(),
            body,
            answered: AnsweredBy::NoSuchPath,
            status: None,
            usage: Usage::default(),
            cost_usd: None,
        }
    }

    /// The place of the turn that answered, from 1.
    pub fn turn(&self) -> Option<usize> {
        match self.answered {
            AnsweredBy::Turn { turn, .. } => Some(turn),
            _ => None,
        }
    }
}

impl AnsweredBy {
    /// Whether something was asked of the model and got no answer. Claude Code begins with a
    /// `HEAD /` and others may look for lists of models: only what is posted asks for words.
    fn is_missing(&self, method: &str) -> bool {
        match self {
            Self::Turn { .. } | Self::TokenCount => false,
            Self::NoTurn | Self::NotJson => true,
            Self::NoSuchPath => method == "POST",
        }
    }
}

fn shown(name: &str, value: &str) -> (String, String) {
    let secret =
        ["auth", "key", "token", "cookie", "secret"].iter().any(|word| name.contains(word));
    (name.to_owned(), if secret { HIDDEN.to_owned() } else { value.to_owned() })
}

/// Gemini's clients may send the key in the query.
fn without_key(target: &str) -> String {
    let Some((path, query)) = target.split_once('?') else { return target.to_owned() };
    let pairs: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) => {
                let (name, value) = shown(name, value);
                format!("{name}={value}")
            }
            None => pair.to_owned(),
        })
        .collect();
    format!("{path}?{}", pairs.join("&"))
}

#[derive(Debug, Default)]
pub(crate) struct Books {
    exchanges: Vec<RecordedExchange>,
    log: Option<File>,
}

impl Books {
    pub(crate) fn new(log: Option<File>) -> Self {
        Self { exchanges: Vec::new(), log }
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.exchanges.len() as u64 + 1
    }

    /// Enters the exchange; fails where the log cannot be written, but enters it all the same.
    pub(crate) fn enter(&mut self, exchange: RecordedExchange) -> io::Result<()> {
        let written = match &mut self.log {
            None => Ok(()),
            Some(log) => serde_json::to_string(&exchange)
                .map_err(io::Error::other)
                .and_then(|line| log.write_all(format!("{line}\n").as_bytes())),
        };
        self.exchanges.push(exchange);
        written
    }

    pub(crate) fn exchanges(&self) -> Vec<RecordedExchange> {
        self.exchanges.clone()
    }

    pub(crate) fn unanswered(&self) -> Vec<RecordedExchange> {
        let missing = |exchange: &&RecordedExchange| exchange.answered.is_missing(&exchange.method);
        self.exchanges.iter().filter(missing).cloned().collect()
    }

    pub(crate) fn totals(&self) -> ModelTotals {
        let asked = |exchange: &&RecordedExchange| {
            !matches!(exchange.answered, AnsweredBy::TokenCount | AnsweredBy::NoSuchPath)
        };
        self.exchanges.iter().filter(asked).fold(ModelTotals::default(), |sum, exchange| {
            let unpriced = exchange.cost_usd.is_none() && exchange.usage != Usage::default();
            ModelTotals {
                requests: sum.requests + 1,
                refused: sum.refused + u64::from(exchange.status.is_some_and(|code| code >= 400)),
                usage: sum.usage + exchange.usage,
                cost_usd: sum.cost_usd + exchange.cost_usd.unwrap_or_default(),
                unpriced: sum.unpriced + u64::from(unpriced),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_written_down() {
        for (name, expected) in [
            ("authorization", HIDDEN),
            ("x-api-key", HIDDEN),
            ("x-goog-api-key", HIDDEN),
            ("cookie", HIDDEN),
            ("anthropic-beta", "s3cret"),
        ] {
            assert_eq!(shown(name, "s3cret").1, expected, "{name}");
        }
        for (target, expected) in [
            ("/v1/messages?beta=true", "/v1/messages?beta=true"),
            ("/m:generateContent?key=s3cret&alt=sse", "/m:generateContent?key=(hidden)&alt=sse"),
            ("/v1/responses", "/v1/responses"),
        ] {
            assert_eq!(without_key(target), expected);
        }
    }
}
