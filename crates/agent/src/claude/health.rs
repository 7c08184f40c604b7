//! Whether a session went well: the one place that judges its signs together.
//!
//! No single sign can be believed. Claude Code calls an API error `success` and sets
//! `is_error`; it calls a stream that was cut in mid-sentence `success` with neither, and
//! exits with 0; with a schema it may succeed without the structured result; qwen-code calls a
//! refused key `success` in every field. So a session is healthy when *all* signs are good,
//! and the reason is the first that is not.

use spore_model::{Outcome, SessionFailure, Timestamp, Usage};

use super::line::ResultLine;
use super::stream::ClaudeStream;
use super::summary::one_line;
use crate::{CallsCounted, SessionReport};

/// How qwen-code begins the text of an answer that never was one.
const QWEN_ERROR: &str = "[API Error:";

/// How the process ended, seen from outside.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exit {
    pub code: i32,
    /// Set where it did not end by itself.
    pub stopped: Option<Stopped>,
    /// Why the caller gave it up, where it did.
    pub given_up: Option<String>,
    /// The last of what it printed on stderr.
    pub complaint: String,
    /// Processes that outlived it and were ended.
    pub swept: u32,
}

impl Exit {
    /// The end of a process that Spore did not see.
    pub(crate) fn unseen() -> Self {
        Self { stopped: Some(Stopped::Cancelled), ..Self::default() }
    }
}

/// Why a session was stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// The caller cancelled the session.
    Cancelled,
    TimeUp,
    /// The program printed nothing in the time allowed for a start.
    NoFirstWord,
    /// The program printed nothing for too long while no tool was running.
    Idle,
    /// A line of the stream made the session worthless.
    GivenUp,
    /// The program had printed its result and did not exit.
    Lingered,
}

/// Why the API refused, by what can be done about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ApiRefusal {
    /// A person has to sign in or to replace the key.
    SignIn,
    /// Waiting helps.
    Quota,
    Other,
}

impl ApiRefusal {
    /// Reads the status of the API, the program's own word for it, and its text, whichever
    /// there is.
    pub(super) fn new(status: Option<u16>, word: Option<&str>, text: &str) -> Self {
        match (status, word) {
            (Some(401 | 403), _) => Self::SignIn,
            (Some(429 | 529), _) => Self::Quota,
            (_, Some("authentication_failed" | "oauth_org_not_allowed")) => Self::SignIn,
            (_, Some("rate_limit" | "overloaded")) => Self::Quota,
            _ if says_limit(text) => Self::Quota,
            _ => Self::Other,
        }
    }
}

impl ApiRefusal {
    /// Returns what a session failed by that was refused like this.
    const fn failure(self) -> SessionFailure {
        match self {
            Self::Quota => SessionFailure::FailedLimit,
            Self::SignIn | Self::Other => SessionFailure::FailedModel,
        }
    }
}

/// Limits that come as a sentence only: an overload inside a stream has no status, and the
/// limit of a subscription is told in words.
fn says_limit(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["overloaded", "usage limit reached", "you've hit your"]
        .iter()
        .any(|words| text.contains(words))
}

/// The outcome of a session, before its figures are added.
struct SessionFinding {
    outcome: Outcome,
    reason: Option<String>,
    resets_at: Option<Timestamp>,
    failure: Option<SessionFailure>,
}

impl SessionFinding {
    fn new(outcome: Outcome, reason: impl Into<String>) -> Self {
        Self { outcome, reason: Some(reason.into()), resets_at: None, failure: None }
    }

    fn by(self, failure: SessionFailure) -> Self {
        Self { failure: Some(failure), ..self }
    }

    fn failure(reason: impl Into<String>) -> Self {
        Self::new(Outcome::Failure, reason)
    }
}

pub(super) fn conclude(stream: &ClaudeStream, exit: &Exit) -> SessionReport {
    let finding = judge(stream, exit);
    let result = stream.result.as_ref();
    let stated = result.map(ResultLine::tokens).filter(|usage| *usage != Usage::default());
    let heard = stream.calls.count();
    // A stream that was cut is priced at nothing although the model was paid, and an answer that
    // the program was stopped in is not in its sum: no whole sum is no price, and the caller
    // estimates from what was heard.
    let is_short = match stated {
        None => heard.usage != Usage::default(),
        Some(stated) => {
            heard.counted == CallsCounted::All && stated.read_tokens() < heard.usage.read_tokens()
        }
    };
    let is_unpriced = is_short || stream.calls.is_in_flight();
    let is_summed = result.is_some() && !is_unpriced;
    SessionReport {
        final_text: result
            .and_then(|result| result.result.clone())
            .unwrap_or_else(|| stream.last_text.clone()),
        structured: result.and_then(|result| result.structured_output.clone()),
        session_id: stream.session_id.clone(),
        turns: stream.turns(result),
        usage: stated.filter(|_| is_summed).unwrap_or(heard.usage),
        usage_bounds: heard.bounds.filter(|_| !is_summed),
        counted: if is_summed { CallsCounted::All } else { heard.counted },
        model: stream.model.clone(),
        cost: result.and_then(ResultLine::cost).filter(|_| is_summed),
        mcp: stream.mcp.clone(),
        resets_at: finding.resets_at,
        failure: finding.failure,
        swept: exit.swept,
        exit_code: exit.stopped.is_none().then_some(exit.code),
        ..SessionReport::ended(finding.outcome, finding.reason)
    }
}

fn judge(stream: &ClaudeStream, exit: &Exit) -> SessionFinding {
    if exit.stopped == Some(Stopped::Cancelled) {
        return SessionFinding::new(Outcome::Interrupted, "it was interrupted");
    }
    if exit.stopped == Some(Stopped::GivenUp)
        && let Some(reason) = stream.give_up().or(exit.given_up.as_deref())
    {
        return SessionFinding::failure(reason);
    }
    match (&stream.result, exit.stopped) {
        (Some(result), None | Some(Stopped::Lingered)) => judge_result(stream, result, exit),
        (_, Some(Stopped::TimeUp)) => out_of_time(stream, "its time was over"),
        (_, Some(Stopped::Idle)) => out_of_time(stream, "it fell silent"),
        (_, Some(Stopped::NoFirstWord)) => {
            SessionFinding::new(Outcome::TimedOut, "it never said a word")
                .by(SessionFailure::FailedStartup)
        }
        _ => SessionFinding::failure(exited(exit)).by(SessionFailure::FailedProcess),
    }
}

/// The first sign that is not good, or success.
fn judge_result(stream: &ClaudeStream, result: &ResultLine, exit: &Exit) -> SessionFinding {
    let text = result.result.as_deref().unwrap_or_default();
    match result.subtype.as_deref() {
        _ if is_lost_conversation(result) => {
            return SessionFinding::failure("there is no such conversation to go on with");
        }
        Some("error_max_turns") => {
            let reason = refused_tools("it reached its limit of turns", result);
            return SessionFinding::failure(reason).by(SessionFailure::FailedLimit);
        }
        Some("error_max_budget_usd") => {
            return SessionFinding::new(Outcome::NeedsHuman, "it reached its budget")
                .by(SessionFailure::FailedLimit);
        }
        Some("success") if result.is_error => return api_error(stream, result, text),
        Some("success") => {}
        other => {
            let what = result.errors.first().map_or(other.unwrap_or("no reason"), String::as_str);
            return SessionFinding::failure(format!("it gave up: {}", one_line(what)));
        }
    }
    if let Some(error) = text.strip_prefix(QWEN_ERROR) {
        let status = error.split_whitespace().next().and_then(|word| word.parse().ok());
        let error = error.trim().trim_end_matches(']');
        return refused(stream, ApiRefusal::new(status, None, error), error);
    }
    if result.stop_reason == Some(None) {
        return SessionFinding::failure("the model's answer was cut off");
    }
    if stream.expectations.structured && result.structured_output.is_none() {
        return SessionFinding::failure(refused_tools("it gave no structured result", result));
    }
    // Spore ended a program that did not exit: its code says nothing about its work.
    if exit.code != 0 && exit.stopped.is_none() {
        return SessionFinding::failure(exited(exit)).by(SessionFailure::FailedProcess);
    }
    SessionFinding { outcome: Outcome::Success, reason: None, resets_at: None, failure: None }
}

fn api_error(stream: &ClaudeStream, result: &ResultLine, text: &str) -> SessionFinding {
    let refusal = match ApiRefusal::new(result.api_error_status, None, text) {
        ApiRefusal::Other => stream.refusal.unwrap_or(ApiRefusal::Other),
        known => known,
    };
    refused(stream, refusal, text)
}

fn refused(stream: &ClaudeStream, refusal: ApiRefusal, text: &str) -> SessionFinding {
    let text = one_line(text);
    let finding = match refusal {
        ApiRefusal::SignIn => SessionFinding::failure(format!("it is not signed in: {text}")),
        ApiRefusal::Quota => SessionFinding {
            resets_at: stream.resets_at.or_else(|| epoch_after_bar(&text)),
            ..SessionFinding::new(
                Outcome::QuotaParked,
                format!("the model is over its limit: {text}"),
            )
        },
        ApiRefusal::Other => {
            SessionFinding::failure(format!("the model could not be asked: {text}"))
        }
    };
    finding.by(refusal.failure())
}

/// A session that ran out of time while the API refused it did not work too long: it waited,
/// and what it waited for says what to do.
fn out_of_time(stream: &ClaudeStream, reason: &str) -> SessionFinding {
    let failure = stream.refusal.map_or(SessionFailure::FailedLimit, ApiRefusal::failure);
    let finding = match stream.refusal {
        Some(ApiRefusal::SignIn) => SessionFinding::failure(format!(
            "it is not signed in, and {reason} before the API let it in"
        )),
        Some(ApiRefusal::Quota) => SessionFinding {
            resets_at: stream.resets_at,
            ..SessionFinding::new(
                Outcome::QuotaParked,
                format!("the model is over its limit, and {reason} before it answered"),
            )
        },
        Some(ApiRefusal::Other) => SessionFinding::new(
            Outcome::TimedOut,
            format!("{reason} while it tried to reach the model again"),
        ),
        None => SessionFinding::new(Outcome::TimedOut, reason),
    };
    finding.by(failure)
}

pub(super) fn is_lost_conversation(result: &ResultLine) -> bool {
    result.num_turns == 0
        && result.errors.iter().any(|error| error.starts_with("No conversation found"))
}

fn exited(exit: &Exit) -> String {
    match exit.complaint.lines().last() {
        Some(complaint) => format!("it exited with code {}: {complaint}", exit.code),
        None => format!("it exited with code {} and no final message", exit.code),
    }
}

/// A session that was kept from its tools may have failed for that: say which.
fn refused_tools(reason: &str, result: &ResultLine) -> String {
    let mut tools: Vec<&str> =
        result.permission_denials.iter().map(|denial| denial.tool_name.as_str()).collect();
    tools.sort_unstable();
    tools.dedup();
    if tools.is_empty() {
        return reason.to_owned();
    }
    format!("{reason}; it was not allowed to use {}", tools.join(", "))
}

/// `ClaudeAgent AI usage limit reached|1760000000`: seconds since the epoch.
fn epoch_after_bar(text: &str) -> Option<Timestamp> {
    let (_, seconds) = text.rsplit_once('|')?;
    let seconds: i64 = seconds.trim().parse().ok()?;
    Some(Timestamp::from_millis(seconds.checked_mul(1000)?))
}
