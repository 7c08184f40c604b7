//! When a session is started a second time.
//!
//! Both rules are about sessions in which the agent did no work: one that worked is not
//! repeated here, because its changes are already made.

use spore_effects::Clock;

use super::listener::HEARTBEAT;
use super::{EndedBy, SessionEnding};
use crate::{AgentError, AgentWatch, Request, SessionReport, Watchdog};

/// What became of one attempt at a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AttemptOutcome {
    /// The agent took a turn or gave a result, or Spore ended the session.
    Lived,
    /// The program exited by itself without a turn and without a result.
    Stillborn,
    /// The program never said a word, and Spore ended it: it hung while it started.
    Mute,
    /// The program does not know the conversation that it was to resume.
    NoSuchConversation,
}

impl AttemptOutcome {
    /// Returns what became of an attempt: whether it missed the conversation it was to go on
    /// with, whether it showed any sign of life, and how it ended.
    pub(crate) fn of(lost_conversation: bool, alive: bool, ending: &SessionEnding) -> Self {
        if lost_conversation {
            Self::NoSuchConversation
        } else if ending.by == EndedBy::Itself && !alive {
            Self::Stillborn
        } else if ending.by == EndedBy::Silence && !alive {
            Self::Mute
        } else {
            Self::Lived
        }
    }
}

/// Runs one session for a request.
pub(crate) type Attempt<'a> = dyn FnMut(&Request, &mut dyn AgentWatch) -> Result<(SessionReport, AttemptOutcome), AgentError>
    + 'a;

/// Starts a session once more after the pause that was stillborn or mute. What is left of the
/// time is the same for both.
pub(crate) fn with_start_retry(
    clock: &dyn Clock,
    request: &Request,
    watchdog: &Watchdog,
    watch: &mut dyn AgentWatch,
    attempt: &mut Attempt<'_>,
) -> Result<(SessionReport, AttemptOutcome), AgentError> {
    let start = clock.monotonic();
    let first = attempt(request, watch)?;
    if !matches!(first.1, AttemptOutcome::Stillborn | AttemptOutcome::Mute) {
        return Ok(first);
    }
    let again = clock.monotonic() + watchdog.start_retry_pause;
    while let Some(left) =
        again.checked_duration_since(clock.monotonic()).filter(|left| !left.is_zero())
    {
        if watch.cancelled() {
            return Ok(first);
        }
        std::thread::sleep(left.min(HEARTBEAT));
    }
    match request.limits.wall.checked_sub(start.elapsed()) {
        Some(wall) if !wall.is_zero() && !watch.cancelled() => {
            let mut request = request.clone();
            request.limits.wall = wall;
            attempt(&request, watch)
        }
        _ => Ok(first),
    }
}

/// Starts afresh, with the whole prompt, where an earlier conversation cannot be gone on with.
pub(crate) fn with_fresh_start(
    clock: &dyn Clock,
    request: &Request,
    watch: &mut dyn AgentWatch,
    attempt: &mut Attempt<'_>,
) -> Result<(SessionReport, AttemptOutcome), AgentError> {
    let start = clock.monotonic();
    let first = attempt(request, watch)?;
    // A program that hangs while it starts does not hang for the conversation's sake.
    let is_vain = matches!(first.1, AttemptOutcome::Lived | AttemptOutcome::Mute);
    if request.resume.is_none() || is_vain || watch.cancelled() {
        return Ok(first);
    }
    watch.afresh().map_err(AgentError::Refused)?;
    let mut fresh = request.clone();
    fresh.resume = None;
    fresh.limits.wall = request.limits.wall.saturating_sub(start.elapsed());
    attempt(&fresh, watch)
}

/// Gives a session both second chances: a stillborn one, and one whose conversation is lost.
pub(crate) fn with_second_chances(
    clock: &dyn Clock,
    request: &Request,
    watchdog: &Watchdog,
    watch: &mut dyn AgentWatch,
    attempt: &mut Attempt<'_>,
) -> Result<SessionReport, AgentError> {
    let mut patiently = |request: &Request, watch: &mut dyn AgentWatch| {
        with_start_retry(clock, request, watchdog, watch, attempt)
    };
    with_fresh_start(clock, request, watch, &mut patiently).map(|(report, _)| report)
}
