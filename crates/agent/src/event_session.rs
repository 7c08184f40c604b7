//! One session in Spore's own event format, and the report that follows from it.
//!
//! For programs that print one [`AgentEvent`] a line: the replay, and commands that a user has
//! taught the format. Success is never one signal: the program printed a result, exited with
//! zero, and did not have to be ended before its last message.

use std::collections::BTreeMap;
use std::io::BufRead;

use spore_model::{Outcome, SessionFailure, Timestamp};

use crate::control::{AttemptOutcome, EndedBy, LineMeaning, SessionEnding};
use crate::request::lines_of;
use crate::{AgentEvent, AgentWatch, Request, ResultEvent, SessionReport};

pub(crate) struct EventSession<'a> {
    request: &'a Request,
    result: Option<ResultEvent>,
    /// The agent said something or used a tool.
    active: bool,
    tools_running: u32,
    mcp: BTreeMap<String, String>,
    /// A limit held the agent back, until this time where it named one.
    limited: Option<Option<Timestamp>>,
}

impl<'a> EventSession<'a> {
    pub(crate) fn new(request: &'a Request) -> Self {
        let (result, active, tools_running) = (None, false, 0);
        Self { request, result, active, tools_running, mcp: BTreeMap::new(), limited: None }
    }

    /// Reads one line, passes it on, and says what it means for the session.
    pub(crate) fn hear(&mut self, watch: &mut dyn AgentWatch, line: &str) -> LineMeaning {
        let event = AgentEvent::from_line(line);
        watch.event(&event);
        match event {
            AgentEvent::Result(result) => {
                self.result = Some(result);
                return LineMeaning::LastWord;
            }
            AgentEvent::ToolUse { .. } => {
                self.active = true;
                self.tools_running += 1;
            }
            AgentEvent::ToolResult { .. } => {
                self.tools_running = self.tools_running.saturating_sub(1);
            }
            AgentEvent::McpStatus { server, status } => {
                let missing = missing_server(self.request, &server, &status);
                self.mcp.insert(server, status);
                if let Some(reason) = missing {
                    return LineMeaning::Abort(reason);
                }
            }
            AgentEvent::RateLimit { resets_at, .. } => self.limited = Some(resets_at),
            AgentEvent::Text { .. } | AgentEvent::Thinking { .. } | AgentEvent::Usage { .. } => {
                self.active = true;
            }
            AgentEvent::Raw { .. } | AgentEvent::ToolRefused { .. } => {}
        }
        if self.tools_running > 0 { LineMeaning::Busy } else { LineMeaning::GoOn }
    }

    pub(crate) fn life(&self, ending: &SessionEnding) -> AttemptOutcome {
        AttemptOutcome::of(false, self.active || self.result.is_some(), ending)
    }

    pub(crate) fn report(self, ending: &SessionEnding) -> SessionReport {
        let is_whole = self.result.is_some();
        let report = match (conclude(ending, is_whole), self.limited) {
            (SessionReport { outcome: Outcome::Failure, reason, .. }, Some(resets_at)) => {
                let parked = SessionReport::ended(Outcome::QuotaParked, reason);
                SessionReport { resets_at, ..parked.failed_by(SessionFailure::FailedLimit) }
            }
            (report, _) => report,
        };
        let report = SessionReport {
            swept: ending.end.swept,
            mcp: self.mcp.into_iter().collect(),
            ..report
        };
        let Some(result) = self.result else { return report };
        SessionReport {
            final_text: result.text,
            session_id: result.session_id,
            turns: result.turns,
            usage: result.usage,
            cost: result.cost_usd,
            ..report
        }
    }
}

/// Reads a transcript of events: the result where there is one, else the calls that were told.
pub(crate) fn recount(transcript: &mut dyn BufRead) -> SessionReport {
    let mut report = SessionReport::ended(Outcome::Interrupted, None);
    let mut result = None;
    lines_of(transcript, &mut |line| match AgentEvent::from_line(line) {
        AgentEvent::Usage { usage } => {
            report.turns += 1;
            report.usage = report.usage + usage;
        }
        AgentEvent::Result(event) => result = Some(event),
        _ => {}
    });
    let Some(result) = result else { return report };
    SessionReport {
        session_id: result.session_id,
        turns: result.turns,
        usage: result.usage,
        cost: result.cost_usd,
        ..report
    }
}

/// Says why a session is worthless when `server` is in this state, if it is.
fn missing_server(request: &Request, server: &str, status: &str) -> Option<String> {
    let required = request.mcp_servers.iter().any(|known| known.required && known.name == server);
    (required && status != "connected")
        .then(|| format!("the MCP server {server} is not connected but {status}"))
}

/// Judges how a session ended. `is_whole` says that all was heard that was to be heard.
pub(crate) fn conclude(ending: &SessionEnding, is_whole: bool) -> SessionReport {
    let code = ending.end.code;
    let (outcome, fallback) = match ending.by {
        EndedBy::Cancel => (Outcome::Interrupted, None),
        EndedBy::WallClock | EndedBy::Silence | EndedBy::Idle => (Outcome::TimedOut, None),
        EndedBy::Abort(_) => (Outcome::Failure, None),
        EndedBy::Lingering if is_whole => (Outcome::Success, None),
        EndedBy::Itself if is_whole && code == 0 => (Outcome::Success, None),
        EndedBy::Lingering => {
            (Outcome::Failure, Some("it fell silent for good and lived on".to_owned()))
        }
        EndedBy::Itself => {
            let reason = match ending.complaint.lines().last() {
                Some(complaint) => format!("it exited with code {code}: {complaint}"),
                None if is_whole => format!("it exited with code {code}"),
                None => format!("it exited with code {code} and no final message"),
            };
            (Outcome::Failure, Some(reason))
        }
    };
    let failure = match ending.by {
        EndedBy::WallClock | EndedBy::Idle => Some(SessionFailure::FailedLimit),
        EndedBy::Silence => Some(SessionFailure::FailedStartup),
        EndedBy::Itself | EndedBy::Lingering => Some(SessionFailure::FailedProcess),
        EndedBy::Cancel | EndedBy::Abort(_) => None,
    };
    let failure = failure.filter(|_| outcome != Outcome::Success);
    let exit = (ending.by == EndedBy::Itself).then_some(code);
    let exit_code = exit;
    SessionReport {
        exit,
        exit_code,
        failure,
        ..SessionReport::ended(outcome, ending.by.reason().or(fallback))
    }
}

#[cfg(test)]
mod tests {
    use spore_effects::session::SessionEnd;

    use super::*;

    #[track_caller]
    fn check(by: EndedBy, code: i32, is_whole: bool, outcome: Outcome, reason: &str) {
        let end = SessionEnd { code, stopped: by != EndedBy::Itself, swept: 0 };
        let ending = SessionEnding { by, end, complaint: String::new() };
        let report = conclude(&ending, is_whole);
        assert_eq!((report.outcome, report.reason.unwrap_or_default().as_str()), (outcome, reason));
    }

    #[test]
    fn success_needs_a_result_and_an_exit_code_of_its_own() {
        use EndedBy::{Abort, Cancel, Idle, Itself, Lingering, Silence, WallClock};
        check(Itself, 0, true, Outcome::Success, "");
        check(Itself, 1, true, Outcome::Failure, "it exited with code 1");
        check(Itself, 0, false, Outcome::Failure, "it exited with code 0 and no final message");
        check(Lingering, 137, true, Outcome::Success, "");
        check(Lingering, 137, false, Outcome::Failure, "it fell silent for good and lived on");
        check(Cancel, 0, true, Outcome::Interrupted, "it was interrupted");
        check(WallClock, 0, true, Outcome::TimedOut, "its time was over");
        check(Silence, 130, false, Outcome::TimedOut, "it never said a word");
        check(Idle, 130, false, Outcome::TimedOut, "it fell silent");
        check(Abort("no".to_owned()), 0, true, Outcome::Failure, "no");
    }
}
