//! Asks many programs for their versions at once.
//!
//! Each has a thread of its own and all have the same deadline, so that a doctor's visit takes
//! as long as the slowest program may, and does not wait for one that hangs.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use spore_effects::{Clock, Tool, ToolError};

/// Agents that are scripts take a while to start; the user should not wait longer than this.
const PATIENCE: Duration = Duration::from_millis(900);

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// The first line it said.
    Version(String),
    NotInstalled,
    /// It is there and did not answer in time.
    Silent,
    /// It is there and does not work.
    Broken(String),
}

pub(super) struct Answers<'a> {
    clock: &'a dyn Clock,
    waiting: HashMap<&'static str, Receiver<Answer>>,
    deadline: Instant,
}

impl<'a> Answers<'a> {
    /// Starts asking; each program with the words that make it tell its version.
    pub(super) fn ask(
        clock: &'a dyn Clock,
        questions: impl IntoIterator<Item = (&'static str, &'static [&'static str])>,
    ) -> Self {
        let ask = |(program, args): (&'static str, &'static [&'static str])| {
            let (sender, answer) = channel();
            std::thread::spawn(move || {
                let tool = Tool::new(program).args(args).timeout(PATIENCE);
                let _ = sender.send(answer_of(&tool));
            });
            (program, answer)
        };
        let waiting = questions.into_iter().map(ask).collect();
        Self { clock, waiting, deadline: clock.monotonic() + PATIENCE }
    }

    /// Waits for the answer of `program`.
    pub(super) fn of(&self, program: &str) -> Answer {
        let left = self.deadline.saturating_duration_since(self.clock.monotonic());
        let answer = self.waiting.get(program).and_then(|answer| answer.recv_timeout(left).ok());
        answer.unwrap_or(Answer::Silent)
    }
}

fn answer_of(tool: &Tool) -> Answer {
    match tool.output() {
        Ok(output) if output.is_success() => {
            // Some say it where others complain.
            let text = [output.text(), output.complaint()].join("\n");
            let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            Answer::Version(spore_plain::line_within(line, 80))
        }
        Ok(output) => Answer::Broken(format!("exits with {}", output.code)),
        Err(ToolError::NotInstalled { .. }) => Answer::NotInstalled,
        Err(ToolError::TimedOut { .. }) => Answer::Silent,
        Err(error @ ToolError::Io { .. }) => Answer::Broken(error.to_string()),
    }
}

/// Reads the first two numbers of a version, wherever they stand in what was said.
pub(super) fn version(said: &str) -> Option<(u32, u32)> {
    said.split_whitespace().find_map(|word| {
        let mut parts = word.split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use spore_effects::SystemClock;

    use super::*;

    #[track_caller]
    fn check(script: &str, expected: Answer) {
        assert_eq!(answer_of(&Tool::new("sh").args(["-c", script]).timeout(PATIENCE)), expected);
    }

    #[test]
    fn a_version_is_the_first_line_wherever_it_is_said() {
        check("echo; echo '  x 1.2  '; echo more", Answer::Version("x 1.2".into()));
        check("echo x 1.2 >&2", Answer::Version("x 1.2".into()));
        check("printf 'x\\033[2J 1\\n'", Answer::Version("x 1".into()));
        check("exit 3", Answer::Broken("exits with 3".into()));
    }

    #[test]
    fn nobody_waits_for_a_program_that_hangs() {
        let begun = SystemClock.monotonic();
        // Its child keeps the pipe open when it is gone.
        let answers = Answers::ask(
            &SystemClock,
            [("sh", &["-c", "sleep 3 & wait"][..]), ("no-such-program", &[][..])],
        );
        assert_eq!(answers.of("no-such-program"), Answer::NotInstalled);
        assert_eq!(answers.of("sh"), Answer::Silent);
        assert_eq!(answers.of("never asked"), Answer::Silent);
        assert!(begun.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn the_numbers_of_a_version_are_found() {
        for (said, expected) in [
            ("git version 2.47.3", Some((2, 47))),
            ("git version 2.39.5 (Apple Git-154)", Some((2, 39))),
            ("git version 2.31.GIT", Some((2, 31))),
            ("git", None),
            ("v1.2", None),
        ] {
            assert_eq!(version(said), expected, "{said}");
        }
    }
}
