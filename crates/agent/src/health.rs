//! Whether a session went well: its signs judged together, the same for every protocol.
//!
//! Success is never one sign: the turn ended, for a good reason, with the result that was asked
//! for, and the process exited with zero by itself, or Spore ended it after its last message. A
//! model that was not reached is reported by what a person can do about it.

use serde_json::Value;
use spore_model::{Outcome, SessionFailure, Timestamp, Usage};
use spore_plain::headline;

use crate::SessionReport;
use crate::claude::{Exit, Stopped};

/// Characters of a reason.
const CAP: usize = 200;

/// Why the model's server refused, by what can be done about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ServerRefusal {
    /// A person has to sign in or to replace the key.
    SignIn,
    /// Waiting helps.
    Quota,
    Other,
}

impl ServerRefusal {
    /// Returns what a session failed by that was refused like this.
    pub(crate) const fn failure(self) -> SessionFailure {
        match self {
            Self::Quota => SessionFailure::FailedLimit,
            Self::SignIn | Self::Other => SessionFailure::FailedModel,
        }
    }
}

/// A call that did not get its answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ServerTrouble {
    pub(crate) refusal: ServerRefusal,
    pub(crate) text: String,
    pub(crate) resets_at: Option<Timestamp>,
}

impl ServerTrouble {
    /// Reads a status, where there is one, and the words, in which agents hide the rest.
    pub(crate) fn new(status: Option<u64>, text: &str) -> Self {
        let lower = text.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let refusal = match status.or_else(|| status_in(&lower)) {
            Some(401 | 403) => ServerRefusal::SignIn,
            Some(429 | 529) => ServerRefusal::Quota,
            _ if says(SIGN_IN_WORDS) => ServerRefusal::SignIn,
            _ if says(LIMIT_WORDS) => ServerRefusal::Quota,
            _ => ServerRefusal::Other,
        };
        Self { refusal, text: one_line(text), resets_at: None }
    }

    pub(crate) fn of(refusal: ServerRefusal, text: &str) -> Self {
        Self { refusal, text: one_line(text), resets_at: None }
    }
}

const SIGN_IN_WORDS: &[&str] =
    &["unauthenticated", "unauthorized", "invalid api key", "not logged in", "authentication"];

/// Codex says `high demand` for any 5xx: that is no limit of ours.
const LIMIT_WORDS: &[&str] = &[
    "usage limit",
    "rate limit",
    "rate_limit",
    "resource_exhausted",
    "at capacity",
    "overloaded",
    "quota",
];

/// The first number in the text that can only be a status: `last status: 429 Too Many`.
fn status_in(text: &str) -> Option<u64> {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.find_map(|word| match word {
        "401" | "403" | "429" | "529" => word.parse().ok(),
        _ => None,
    })
}

/// What the output of a session shows, before the exit of its process is added.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Signs {
    /// The agent ended its turn by itself.
    pub(crate) is_whole: bool,
    /// Why the turn that ended did not end well.
    pub(crate) flaw: Option<(Outcome, String)>,
    /// The last call that got no answer, unless one did after it.
    pub(crate) trouble: Option<ServerTrouble>,
    /// Why the session was given up by us.
    pub(crate) give_up: Option<(Outcome, String)>,
}

/// Judges the signs; the figures are for the caller to put beside it.
pub(crate) fn judge(signs: &Signs, exit: &Exit) -> SessionReport {
    let report = match (exit.stopped, &signs.give_up) {
        (Some(Stopped::Cancelled), _) => {
            ended(Outcome::Interrupted, "it was interrupted".to_owned())
        }
        (Some(Stopped::GivenUp), Some((outcome, reason))) => ended(*outcome, reason.clone()),
        (Some(Stopped::GivenUp), None) if exit.given_up.is_some() => {
            ended(Outcome::Failure, exit.given_up.clone().unwrap_or_default())
        }
        (Some(Stopped::TimeUp), _) => out_of_time(signs, exit, "its time was over"),
        (Some(Stopped::Idle), _) => out_of_time(signs, exit, "it fell silent"),
        (Some(Stopped::NoFirstWord), _) => {
            ended(Outcome::TimedOut, "it never said a word".to_owned())
                .failed_by(SessionFailure::FailedStartup)
        }
        _ => judge_turn(signs, exit),
    };
    let exit_code = exit.stopped.is_none().then_some(exit.code);
    SessionReport { swept: exit.swept, exit_code, ..report }
}

fn judge_turn(signs: &Signs, exit: &Exit) -> SessionReport {
    if let Some(trouble) = &signs.trouble {
        return refused(trouble);
    }
    if let Some((outcome, reason)) = &signs.flaw {
        return ended(*outcome, reason.clone());
    }
    // Spore ended a program that did not exit: its code says nothing about its work.
    let failed = exit.code != 0 && exit.stopped.is_none();
    if !signs.is_whole || failed {
        return ended(Outcome::Failure, exited(exit, signs.is_whole))
            .failed_by(SessionFailure::FailedProcess);
    }
    SessionReport::ended(Outcome::Success, None)
}

fn ended(outcome: Outcome, reason: String) -> SessionReport {
    SessionReport::ended(outcome, Some(reason))
}

fn refused(trouble: &ServerTrouble) -> SessionReport {
    let text = &trouble.text;
    let report = match trouble.refusal {
        ServerRefusal::SignIn => ended(Outcome::Failure, format!("it is not signed in: {text}")),
        ServerRefusal::Quota => SessionReport {
            resets_at: trouble.resets_at,
            ..ended(Outcome::QuotaParked, format!("the model is over its limit: {text}"))
        },
        ServerRefusal::Other => {
            ended(Outcome::Failure, format!("the model could not be asked: {text}"))
        }
    };
    report.failed_by(trouble.refusal.failure())
}

/// A session that ran out of time while the server refused it did not work too long: what it
/// waited for says what to do.
fn out_of_time(signs: &Signs, exit: &Exit, reason: &str) -> SessionReport {
    let grumbled = || grumble(&exit.complaint);
    let trouble = signs.trouble.clone().or_else(grumbled);
    let failure =
        trouble.as_ref().map_or(SessionFailure::FailedLimit, |trouble| trouble.refusal.failure());
    let report = match &trouble {
        Some(ServerTrouble { refusal: ServerRefusal::SignIn, .. }) => ended(
            Outcome::Failure,
            format!("it is not signed in, and {reason} before it was let in"),
        ),
        Some(ServerTrouble { refusal: ServerRefusal::Quota, resets_at, .. }) => SessionReport {
            resets_at: *resets_at,
            ..ended(
                Outcome::QuotaParked,
                format!("the model is over its limit, and {reason} before it answered"),
            )
        },
        Some(ServerTrouble { refusal: ServerRefusal::Other, .. }) => {
            ended(Outcome::TimedOut, format!("{reason} while it tried to reach the model again"))
        }
        None => ended(Outcome::TimedOut, reason.to_owned()),
    };
    report.failed_by(failure)
}

/// Reads the last HTTP status on stderr: Gemini CLI retries, and prints the status only there.
fn grumble(complaint: &str) -> Option<ServerTrouble> {
    let (_, after) = complaint.rsplit_once("status")?;
    let number: String = after
        .trim_start_matches([':', ' ', '='])
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let status: u64 = number.parse().ok().filter(|status| (400..600).contains(status))?;
    Some(ServerTrouble::new(Some(status), complaint))
}

fn exited(exit: &Exit, is_whole: bool) -> String {
    match exit.complaint.lines().last() {
        Some(complaint) => format!("it exited with code {}: {complaint}", exit.code),
        None if is_whole => format!("it exited with code {}", exit.code),
        None => format!("it exited with code {} and no final message", exit.code),
    }
}

/// The first line of a complaint, as much of it as people read.
pub(crate) fn one_line(text: &str) -> String {
    headline(text, CAP)
}

/// Estimates the tokens of a text for which the agent gives no count.
pub(crate) fn estimated_tokens(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

/// Reads a count of tokens: none is zero, and what is no count is not.
pub(crate) fn tokens(told: &Value) -> u64 {
    spore_model::token_count(told).unwrap_or(Usage::NO_COUNT)
}

/// Takes apart what vendors count together: an input that includes what came from the cache.
pub(crate) fn usage_of(input: u64, cache_read: u64, cache_write: u64, output: u64) -> Usage {
    Usage {
        input_tokens: input.saturating_sub(cache_read.saturating_add(cache_write)),
        output_tokens: output,
        cache_read_tokens: cache_read,
        cache_write_tokens: cache_write,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(signs: &Signs, exit: &Exit, outcome: Outcome, reason: &str) {
        let report = judge(signs, exit);
        assert_eq!((report.outcome, report.reason.unwrap_or_default().as_str()), (outcome, reason));
    }

    fn stopped(why: Stopped) -> Exit {
        Exit { code: 143, stopped: Some(why), ..Exit::default() }
    }

    #[test]
    fn each_sign_alone_makes_a_good_session_a_bad_one() {
        let good = Signs { is_whole: true, ..Signs::default() };
        let code = |code| Exit { code, ..Exit::default() };
        check(&good, &code(0), Outcome::Success, "");
        check(&good, &stopped(Stopped::Lingered), Outcome::Success, "");
        check(&good, &code(1), Outcome::Failure, "it exited with code 1");
        let flaw = Some((Outcome::Failure, "its answer was cut".to_owned()));
        check(&Signs { flaw, ..good.clone() }, &code(0), Outcome::Failure, "its answer was cut");
        check(
            &Signs::default(),
            &code(0),
            Outcome::Failure,
            "it exited with code 0 and no final message",
        );
        check(&good, &stopped(Stopped::Cancelled), Outcome::Interrupted, "it was interrupted");
        check(&good, &stopped(Stopped::TimeUp), Outcome::TimedOut, "its time was over");
    }

    #[test]
    fn what_the_server_refused_is_told_by_what_can_be_done() {
        let with = |status, text: &str| Signs {
            trouble: Some(ServerTrouble::new(status, text)),
            ..Signs::default()
        };
        let exit = Exit { code: 1, ..Exit::default() };
        check(&with(Some(401), "no"), &exit, Outcome::Failure, "it is not signed in: no");
        check(
            &with(None, "last status: 429 Too Many Requests"),
            &exit,
            Outcome::QuotaParked,
            "the model is over its limit: last status: 429 Too Many Requests",
        );
        check(&with(Some(500), "no"), &exit, Outcome::Failure, "the model could not be asked: no");
        check(
            &with(Some(500), "no"),
            &stopped(Stopped::Idle),
            Outcome::TimedOut,
            "it fell silent while it tried to reach the model again",
        );
        check(
            &with(Some(429), "no"),
            &stopped(Stopped::TimeUp),
            Outcome::QuotaParked,
            "the model is over its limit, and its time was over before it answered",
        );
    }

    #[test]
    fn what_it_grumbled_on_stderr_tells_what_it_waited_for() {
        let silent =
            |complaint: &str| Exit { complaint: complaint.to_owned(), ..stopped(Stopped::Idle) };
        check(
            &Signs::default(),
            &silent("Attempt 2 failed with status 429. Retrying with backoff..."),
            Outcome::QuotaParked,
            "the model is over its limit, and it fell silent before it answered",
        );
        check(&Signs::default(), &silent("status: fine"), Outcome::TimedOut, "it fell silent");
    }
}
