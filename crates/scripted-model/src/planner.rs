//! Decides, before anything is sent, what will be sent: chooses the turn, puts it into the
//! client's dialect, breaks it where the scenario wants it broken, and books it.
//!
//! Pure but for the log file: no socket and no clock, so a test of a scenario needs neither.

use std::time::Duration;

use serde_json::Value;
use spore_model::Usage;

use crate::books::{AnsweredBy, Books, RecordedExchange};
use crate::dialect::{Delivery, Dialect, PathRequest, Route, ScriptedReply, Spoken, SseFrame};
use crate::http::HttpRequest;
use crate::scenario::ModelScenario;
use crate::turn::{Repeats, Turn, TurnFault, TurnPart, VendorRefusal};

const MEGABYTE: usize = 1024 * 1024;

/// An estimate, the one all of Spore uses: a token for every four bytes, rounded up. A
/// request's input is its body as it was sent; the output is text, thinking and tool input.
pub fn tokens_of(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

/// Everything a connection needs to know to answer one request.
#[derive(Debug)]
pub(crate) struct PlannedAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Body,
    /// Before the headers.
    pub(crate) before: Duration,
    /// Before every event.
    pub(crate) between: Duration,
    pub(crate) fault: Option<ConnectionFault>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Whole(String),
    Stream(Vec<SseFrame>),
}

/// What the connection itself must do wrong; every other fault is in the body already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionFault {
    HangBeforeHeaders,
    HangAfter(usize),
    CutAfter(usize),
}

pub(crate) struct AnswerPlanner {
    scenario: ModelScenario,
    /// How often each turn was played.
    played: Vec<u32>,
    pub(crate) books: Books,
}

impl AnswerPlanner {
    pub(crate) fn new(scenario: ModelScenario, books: Books) -> Self {
        let played = vec![0; scenario.turns.len()];
        Self { scenario, played, books }
    }

    fn lists_models(&self, target: &str) -> bool {
        target == "/v1/models" && !self.scenario.models.is_empty()
    }

    pub(crate) fn receive(&mut self, request: &HttpRequest) -> PlannedAnswer {
        let body = serde_json::from_slice(&request.body);
        let json = body.as_ref().ok().cloned().unwrap_or_default();
        let mut exchange = RecordedExchange::arrived(self.books.next_number(), request, json);
        let answer = match (Route::of(&request.method, &request.target), body) {
            (None, _) if request.method == "GET" && self.lists_models(&request.target) => {
                let listed = self.scenario.models.iter().map(|id| serde_json::json!({ "id": id }));
                let list: Vec<_> = listed.collect();
                let body = serde_json::json!({ "object": "list", "data": list });
                PlannedAnswer::whole(200, body.to_string())
            }
            (None, _) => refuse(Dialect::Messages, 404, "nobody speaks this protocol here"),
            (Some(Route::Speak(dialect, _) | Route::CountTokens(dialect)), Err(_)) => {
                exchange.dialect = Some(dialect);
                exchange.answered = AnsweredBy::NotJson;
                refuse(dialect, 400, "the body is not JSON")
            }
            (Some(Route::CountTokens(dialect)), Ok(_)) => {
                exchange.dialect = Some(dialect);
                exchange.answered = AnsweredBy::TokenCount;
                let tokens = tokens_of(request.body.len());
                PlannedAnswer::whole(200, dialect.token_count(tokens).to_string())
            }
            (Some(Route::Speak(dialect, asked)), Ok(_)) => {
                exchange.dialect = Some(dialect);
                self.speak(&mut exchange, dialect, &asked, &request.body)
            }
        };
        let silent = answer.fault == Some(ConnectionFault::HangBeforeHeaders);
        exchange.status = (!silent).then_some(answer.status);
        match self.books.enter(exchange) {
            Ok(()) => answer,
            Err(error) => {
                refuse(Dialect::Messages, 500, &format!("the log cannot be written: {error}"))
            }
        }
    }

    fn speak(
        &mut self,
        exchange: &mut RecordedExchange,
        dialect: Dialect,
        asked: &PathRequest,
        sent: &[u8],
    ) -> PlannedAnswer {
        exchange.model = asked.model(&exchange.body);
        let delivery = asked.delivery(&exchange.body);
        exchange.streamed = delivery == Delivery::Stream;
        let Some((place, turn)) = self.choose(dialect, exchange) else {
            exchange.answered = AnsweredBy::NoTurn;
            let what = format!(
                "no turn of the scenario answers request {} for the model {:?}",
                exchange.number, exchange.model
            );
            return refuse(dialect, 500, &what);
        };
        exchange.answered = AnsweredBy::Turn { turn: place + 1, name: turn.name.clone() };
        let id = format!("{:04}_{:08x}", exchange.number, fingerprint(sent));
        let spoken = spoken(&turn, &id);
        let usage = turn.usage.unwrap_or_else(|| counted(sent, &spoken));
        let reply = ScriptedReply {
            id: &id,
            model: &exchange.model,
            spoken: &spoken,
            stop: turn.stops_with(),
            usage,
            wants_usage: dialect.wants_usage(&exchange.body),
        };
        let mut answer = perform(dialect, delivery, &turn, &reply);
        exchange.usage = booked(usage, &answer, turn.fault.as_ref());
        let price = self.scenario.price_of(&exchange.model);
        exchange.cost_usd = price.map(|price| price.of(exchange.usage));
        answer.headers.extend(turn.headers.iter().cloned());
        answer.before = turn.pace.before;
        answer.between = turn.pace.between;
        answer
    }

    /// The first turn that is not used up and whose condition holds.
    fn choose(&mut self, dialect: Dialect, exchange: &RecordedExchange) -> Option<(usize, Turn)> {
        let heard = dialect.conversation(&exchange.body);
        let turns = self.scenario.turns.iter().zip(&mut self.played).enumerate();
        for (place, (turn, played)) in turns {
            let left = match turn.repeats {
                Repeats::Times(times) => *played < times,
                Repeats::Sticky => true,
            };
            if left && turn.when.holds(&exchange.model, &heard) {
                *played += 1;
                return Some((place, with_nonce(turn.clone(), &exchange.body)));
            }
        }
        None
    }
}

/// Fills in the nonce that the request asks a verdict to carry, where a turn says `$NONCE`: no
/// scenario can know it beforehand.
fn with_nonce(mut turn: Turn, body: &Value) -> Turn {
    const PLACE: &str = "$NONCE";
    let texts = turn.parts.iter_mut().filter_map(|part| match part {
        TurnPart::Text(text) if text.contains(PLACE) => Some(text),
        _ => None,
    });
    for text in texts {
        // In the body's JSON the quotes of the prompt are escaped.
        let asked = body.to_string();
        let nonce = asked.rsplit_once(r#"<verdict>{\"nonce\": \""#).map(|(_, after)| after);
        if let Some((nonce, _)) = nonce.and_then(|after| after.split_once('\\')) {
            *text = text.replace(PLACE, nonce);
        }
    }
    turn
}

/// Tells requests with different bodies apart, after a restart of the server too (FNV-1a).
fn fingerprint(body: &[u8]) -> u32 {
    body.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

fn spoken(turn: &Turn, id: &str) -> Vec<Spoken> {
    let piece = turn.pace.piece;
    let parts = turn.parts.iter().enumerate();
    parts
        .map(|(index, part)| match part {
            TurnPart::Thinking(text) => Spoken::Thinking(pieces(text, piece)),
            TurnPart::Text(text) => Spoken::Text(pieces(text, piece)),
            TurnPart::Huge(megabytes) => Spoken::Text(vec!["x".repeat(megabytes * MEGABYTE)]),
            TurnPart::Call { name, namespace, input } => {
                let arguments = input.as_str().map_or_else(|| input.to_string(), str::to_owned);
                Spoken::Call {
                    id: format!("{id}_{index}"),
                    name: name.clone(),
                    namespace: namespace.clone(),
                    input: input.clone(),
                    pieces: pieces(&arguments, piece),
                }
            }
        })
        .collect()
}

fn pieces(text: &str, characters: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(characters).map(|piece| piece.iter().collect()).collect()
}

fn counted(sent: &[u8], spoken: &[Spoken]) -> Usage {
    let said: usize = spoken
        .iter()
        .flat_map(|spoken| match spoken {
            Spoken::Thinking(pieces) | Spoken::Text(pieces) | Spoken::Call { pieces, .. } => pieces,
        })
        .map(String::len)
        .sum();
    Usage {
        input_tokens: tokens_of(sent.len()),
        output_tokens: tokens_of(said),
        ..Usage::default()
    }
}

/// What a vendor would charge: nothing for a refused request, and no output for an answer that
/// breaks off.
fn booked(usage: Usage, answer: &PlannedAnswer, fault: Option<&TurnFault>) -> Usage {
    match fault {
        _ if answer.status >= 400 => Usage::default(),
        None | Some(TurnFault::Refused(_) | TurnFault::MalformedAfter(_)) => usage,
        Some(TurnFault::HangBeforeHeaders) => Usage::default(),
        Some(
            TurnFault::HangAfter(_)
            | TurnFault::CutAfter(_)
            | TurnFault::EndAfter(_)
            | TurnFault::FailAfter(..),
        ) => Usage { output_tokens: 0, ..usage },
    }
}

fn perform(
    dialect: Dialect,
    delivery: Delivery,
    turn: &Turn,
    reply: &ScriptedReply<'_>,
) -> PlannedAnswer {
    match (&turn.fault, delivery) {
        (Some(TurnFault::Refused(refusal)), _) => refused(dialect, refusal),
        (fault, Delivery::Stream) => stream(dialect, fault.as_ref(), reply),
        (Some(TurnFault::FailAfter(_, refusal)), _) => refused(dialect, refusal),
        (fault, Delivery::Whole) => whole(&dialect.whole(reply), fault.as_ref()),
        (fault, Delivery::Array) => {
            let frames = dialect.frames(reply);
            let events: Vec<Value> =
                frames.iter().filter_map(|frame| serde_json::from_str(&frame.data).ok()).collect();
            whole(&Value::Array(events), fault.as_ref())
        }
    }
}

fn stream(dialect: Dialect, fault: Option<&TurnFault>, reply: &ScriptedReply<'_>) -> PlannedAnswer {
    let mut frames = dialect.frames(reply);
    let mut connection_fault = None;
    match fault {
        None | Some(TurnFault::Refused(_)) => {}
        Some(TurnFault::HangBeforeHeaders) => {
            connection_fault = Some(ConnectionFault::HangBeforeHeaders)
        }
        Some(TurnFault::HangAfter(events)) => {
            connection_fault = Some(ConnectionFault::HangAfter(*events))
        }
        Some(TurnFault::CutAfter(events)) => {
            connection_fault = Some(ConnectionFault::CutAfter(*events))
        }
        Some(TurnFault::EndAfter(events)) => frames.truncate(*events),
        Some(TurnFault::FailAfter(events, refusal)) => {
            frames.truncate(*events);
            frames.push(dialect.failure(reply, frames.len(), refusal));
        }
        Some(TurnFault::MalformedAfter(events)) => {
            if let Some(frame) = frames.get_mut(*events) {
                frame.data = first_half(&frame.data);
            }
        }
    }
    let kind = ("content-type".to_owned(), "text/event-stream; charset=utf-8".to_owned());
    let cache = ("cache-control".to_owned(), "no-cache".to_owned());
    PlannedAnswer {
        headers: vec![kind, cache],
        body: Body::Stream(frames),
        fault: connection_fault,
        ..PlannedAnswer::whole(200, String::new())
    }
}

fn whole(value: &Value, fault: Option<&TurnFault>) -> PlannedAnswer {
    let text = value.to_string();
    let halved = |text: &str, fault| PlannedAnswer {
        fault: Some(fault),
        ..PlannedAnswer::whole(200, text.to_owned())
    };
    match fault {
        Some(TurnFault::HangBeforeHeaders) => halved(&text, ConnectionFault::HangBeforeHeaders),
        Some(TurnFault::HangAfter(events)) => halved(&text, ConnectionFault::HangAfter(*events)),
        Some(TurnFault::CutAfter(events)) => halved(&text, ConnectionFault::CutAfter(*events)),
        Some(TurnFault::EndAfter(_) | TurnFault::MalformedAfter(_)) => {
            PlannedAnswer::whole(200, first_half(&text))
        }
        None | Some(TurnFault::Refused(_) | TurnFault::FailAfter(..)) => {
            PlannedAnswer::whole(200, text)
        }
    }
}

/// Where a broken answer is broken off.
pub(crate) fn first_half(text: &str) -> String {
    text.chars().take(text.chars().count() / 2).collect()
}

fn refused(dialect: Dialect, refusal: &VendorRefusal) -> PlannedAnswer {
    let mut answer = PlannedAnswer::whole(refusal.status, dialect.refusal(refusal).to_string());
    answer.headers.extend(dialect.refusal_headers(refusal));
    answer
}

/// Refuses on the server's own account. Vendors' clients take the header as "do not try again",
/// which turns a mistake in a scenario into a quick failure.
fn refuse(dialect: Dialect, status: u16, what: &str) -> PlannedAnswer {
    let mut answer =
        refused(dialect, &VendorRefusal::new(status).message(&format!("scripted model: {what}")));
    answer.headers.push(("x-should-retry".to_owned(), "false".to_owned()));
    answer
}

impl PlannedAnswer {
    fn whole(status: u16, text: String) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: Body::Whole(text),
            before: Duration::ZERO,
            between: Duration::ZERO,
            fault: None,
        }
    }

    /// The answer to what was no request at all.
    pub(crate) fn bad_request(what: &str) -> Self {
        refuse(Dialect::Messages, 400, what)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::turn::When;

    /// Asks with these last words one after the other, and says which turns answered.
    #[track_caller]
    fn check(scenario: ModelScenario, asked: &[&str], turns: &[Option<usize>]) {
        let mut planner = AnswerPlanner::new(scenario, Books::default());
        for words in asked {
            let body = json!({"model": "m", "messages": [{"role": "user", "content": words}]});
            planner.receive(&HttpRequest {
                method: "POST".into(),
                target: "/v1/messages".into(),
                headers: Vec::new(),
                body: body.to_string().into_bytes(),
                keep_alive: true,
            });
        }
        let played: Vec<_> = planner.books.exchanges().iter().map(RecordedExchange::turn).collect();
        assert_eq!(played, turns);
    }

    #[test]
    fn turns_without_a_condition_are_played_in_their_order() {
        let scenario = ModelScenario::new().turn(Turn::says("one")).turn(Turn::says("two"));
        check(scenario, &["a", "b", "c"], &[Some(1), Some(2), None]);
    }

    #[test]
    fn a_turn_waits_for_its_condition() {
        let scenario = ModelScenario::new()
            .turn(Turn::says("late").when(When::contains("go")))
            .turn(Turn::says("early"));
        check(scenario, &["a", "go", "go"], &[Some(2), Some(1), None]);
    }

    #[test]
    fn a_turn_is_played_so_many_times_and_a_sticky_one_for_ever() {
        let scenario = ModelScenario::new()
            .turn(Turn::refuses(VendorRefusal::new(429)).times(2))
            .turn(Turn::says("yes").sticky());
        check(scenario, &["a", "a", "a", "a"], &[Some(1), Some(1), Some(2), Some(2)]);
    }

    #[test]
    fn four_bytes_are_a_token() {
        for (bytes, tokens) in [(0, 0), (1, 1), (4, 1), (5, 2)] {
            assert_eq!(tokens_of(bytes), tokens);
        }
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(pieces("äöüß", 3), ["äöü", "ß"]);
        assert_eq!(pieces("", 3), Vec::<String>::new());
    }
}
