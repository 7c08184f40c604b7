//! The trials: each plays a session or two and says what was seen, for one or more cases.

use spore_agent::{AgentError, Conversation, SessionReport};
use spore_model::{Outcome, Usage, Usd};

use crate::kits::{Grant, ModelStep};
use crate::scene::{TrialScene, Witness};

pub(crate) struct Trial {
    /// The cases that it shows.
    pub(crate) shows: &'static [&'static str],
    pub(crate) steps: &'static [ModelStep],
    pub(crate) run: fn(&mut TrialScene) -> Result<Vec<Observation>, AgentError>,
}

/// What a case looked like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Observation {
    pub(crate) case: &'static str,
    pub(crate) got: String,
}

const COPY: &str = "cp hello.txt copy.txt";
const ENDLESS: &str = "touch started; tail -f /dev/null";
const ESCAPE: &str = "touch inside; echo hi >../outside/by-shell.txt";
const SHELL_WRITE: &str = "echo hi >by-shell.txt";

/// Some take a refusal for the end of the turn; those that do not ask once more.
const TRIED: ModelStep = ModelStep::Say("I tried.");

/// In the order in which they are run: the plain ones first.
pub(crate) const TRIALS: &[Trial] = &[
    Trial {
        shows: &["edit", "command", "tokens", "cost"],
        steps: &[ModelStep::Write("hello.txt"), ModelStep::Shell(COPY), ModelStep::Say("Done.")],
        run: work,
    },
    Trial {
        shows: &["mcp"],
        steps: &[ModelStep::Ping, ModelStep::SayOn("pong", "It answers.")],
        run: mcp,
    },
    Trial { shows: &["mcp-fails"], steps: &[ModelStep::Say("Done without it.")], run: mcp_fails },
    Trial {
        shows: &["resume"],
        steps: &[
            ModelStep::Say("The word is plover."),
            ModelStep::Say("Second."),
            ModelStep::Say("Third."),
        ],
        run: resume,
    },
    Trial {
        shows: &["refused-write"],
        steps: &[ModelStep::Write("by-tool.txt"), TRIED, TRIED],
        run: refused_write,
    },
    Trial {
        shows: &["refused-shell"],
        steps: &[ModelStep::Shell(SHELL_WRITE), TRIED, TRIED],
        run: refused_shell,
    },
    Trial { shows: &["outside"], steps: &[ModelStep::Shell(ESCAPE), TRIED, TRIED], run: outside },
    Trial { shows: &["turns"], steps: &[ModelStep::ShellAgain("true")], run: turns },
    Trial {
        shows: &["stop", "tokens-when-stopped"],
        steps: &[ModelStep::Shell(ENDLESS)],
        run: stop,
    },
    Trial { shows: &["wall-time"], steps: &[ModelStep::Shell(ENDLESS)], run: wall_time },
    Trial { shows: &["401"], steps: &[ModelStep::Refuse(401)], run: |scene| broken(scene, "401") },
    Trial { shows: &["429"], steps: &[ModelStep::Refuse(429)], run: |scene| broken(scene, "429") },
    Trial { shows: &["500"], steps: &[ModelStep::Refuse(500)], run: |scene| broken(scene, "500") },
    Trial {
        shows: &["cut-stream"],
        steps: &[ModelStep::Cut],
        run: |scene| broken(scene, "cut-stream"),
    },
    Trial {
        shows: &["silent-stream"],
        steps: &[ModelStep::FallSilent],
        run: |scene| broken(scene, "silent-stream"),
    },
];

fn one(case: &'static str, got: impl Into<String>) -> Result<Vec<Observation>, AgentError> {
    Ok(vec![Observation { case, got: got.into() }])
}

/// Writes, runs, says; tokens and cost are held against the model's own books.
fn work(scene: &mut TrialScene) -> Result<Vec<Observation>, AgentError> {
    scene.allow(&[Grant::Read, Grant::Edit, Grant::Command(COPY)]);
    let report = scene.run()?;
    let is_whole = report.outcome == Outcome::Success && report.final_text == "Done.";
    let done = |name: &str| match scene.file(name).as_deref() {
        Some("hi\n") if is_whole => "done".to_owned(),
        Some("hi\n") => format!("done, but the session {}", ending(&report)),
        _ => format!("not done: {}", ending(&report)),
    };
    let (usage, cost) = scene.booked();
    let heard = scene.kit().model().is_none() || {
        let said = scene.last_request();
        said.contains("Your word is heron.") && said.contains("Begin the task.")
    };
    let edit = match (heard, scene.model.unanswered().len()) {
        (true, 0) => done("hello.txt"),
        (true, more) => format!("done, but asked the model {more} times more"),
        (false, _) => "role or prompt did not arrive".to_owned(),
    };
    Ok(vec![
        Observation { case: "edit", got: edit },
        Observation { case: "command", got: done("copy.txt") },
        Observation { case: "tokens", got: tokens(&report, usage) },
        Observation { case: "cost", got: costs(report.cost, cost) },
    ])
}

/// Exact, or an estimate that says so and whose bounds hold the true count.
fn tokens(report: &SessionReport, booked: Usage) -> String {
    let read =
        |usage: Usage| usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
    if let Some((low, high)) = report.usage_bounds {
        let holds = (read(low)..=read(high)).contains(&read(booked))
            && (low.output_tokens..=high.output_tokens).contains(&booked.output_tokens);
        return if holds { "within its bounds" } else { "outside of its bounds" }.to_owned();
    }
    if report.usage == booked {
        "exact".to_owned()
    } else if report.usage == Usage::default() {
        "none told".to_owned()
    } else {
        let (told, true_count) = (report.usage, booked);
        format!(
            "{} + {} instead of {} + {}",
            read(told),
            told.output_tokens,
            read(true_count),
            true_count.output_tokens
        )
    }
}

/// Agents count dollars in binary fractions: a millionth is close enough.
fn costs(told: Option<Usd>, booked: Option<Usd>) -> String {
    const CLOSE: u64 = 1000;
    match (told, booked) {
        (None, _) => "none named".to_owned(),
        (Some(told), Some(booked)) if told.as_nanos().abs_diff(booked.as_nanos()) < CLOSE => {
            "exact".to_owned()
        }
        (Some(told), Some(booked)) => format!("{told} instead of {booked}"),
        (Some(told), None) => format!("{told}, which nobody can check"),
    }
}

fn mcp(scene: &mut TrialScene) -> Result<Vec<Observation>, AgentError> {
    scene.serve_echo(true);
    scene.allow(&[Grant::Server]);
    let report = scene.run()?;
    let answered = report.outcome == Outcome::Success && report.final_text == "It answers.";
    one("mcp", if answered { "done".to_owned() } else { format!("not done: {}", ending(&report)) })
}

fn mcp_fails(scene: &mut TrialScene) -> Result<Vec<Observation>, AgentError> {
    scene.serve_echo(false);
    let report = scene.run()?;
    one(
        "mcp-fails",
        match report.outcome {
            Outcome::Success => "goes on without it".to_owned(),
            _ => ending(&report),
        },
    )
}

fn resume(scene: &mut TrialScene) -> Result<Vec<Observation>, AgentError> {
    let first = scene.run()?;
    if first.outcome != Outcome::Success {
        return one("resume", format!("the first session {}", ending(&first)));
    }
    let unknown = || "01a1e19c-0000-7000-8000-000000000000".to_owned();
    let prompt = || "And now the rest.".to_owned();
    let session_id = first.session_id.clone().unwrap_or_else(unknown);
    scene.request.resume = Some(Conversation { session_id, prompt: prompt() });
    let second = scene.run()?;
    let said = scene.last_request();
    if second.outcome != Outcome::Success {
        return one("resume", format!("the second session {}", ending(&second)));
    }
    if said.contains("Begin the task.") && !said.contains("plover") {
        return one("resume", "begins afresh");
    }
    let goes_on = said.contains("plover") && said.contains("And now the rest.");
    if !goes_on || second.session_id != first.session_id {
        return one("resume", "neither goes on nor begins afresh");
    }
    // A conversation that is lost must not be taken for one that goes on.
    scene.request.resume = Some(Conversation { session_id: unknown(), prompt: prompt() });
    let third = scene.run()?;
    let said = scene.last_request();
    let begins_afresh = third.outcome == Outcome::Success
        && said.contains("Begin the task.")
        && !said.contains("plover");
    one(
        "resume",
        if begins_afresh {
            "goes on".to_owned()
        } else {
            format!("goes on, but with a lost conversation {}", ending(&third))
        },
    )
}

fn refused_write(scene: &mut TrialScene) -> Result<Vec<Observation>, AgentError> {
    scene.allow(&[Grant::Read]);
    let report = scene.run()?;
    let is_there = scene.file("by-tool.txt").is_some();
    one("refused-write", refused(scene, &report, is_there))
}

fn refused_shell(scene: &mut TrialScene) -> Result<Vec<Observation>, AgentError> {
    scene.allow(&[Grant::Read]);
    let report = scene.run()?;
    let is_there = scene.file("by-shell.txt").is_some();
    one("refused-shell", refused(scene, &report, is_there))
}

/// The agent may write without a question, and the kernel refuses.
fn outside(scene: &mut TrialScene) -> Result<Vec<Observation>, AgentError> {
    scene.set_free();
    if !scene.confine() {
        return one("outside", UNHELD);
    }
    let report = scene.run()?;
    let has_escaped = scene.has_escaped();
    one(
        "outside",
        match scene.file("inside") {
            // A shell that never ran has been held to nothing.
            None if !has_escaped => format!("not tried: {}", ending(&report)),
            _ => refused(scene, &report, has_escaped),
        },
    )
}

/// The kernel of this machine is no part of what is checked.
pub(crate) const UNHELD: &str = "not possible here: the kernel has no Landlock";

fn refused(scene: &TrialScene, report: &SessionReport, is_there: bool) -> String {
    if is_there {
        "written".to_owned()
    } else if !scene.was_asked() {
        format!("not tried: {}", ending(report))
    } else if report.outcome == Outcome::TimedOut {
        ending(report)
    } else {
        "refused".to_owned()
    }
}

fn turns(scene: &mut TrialScene) -> Result<Vec<Observation>, AgentError> {
    scene.allow(&[Grant::Command("true")]);
    scene.request.limits.turns = 2;
    one("turns", ending(&scene.run()?))
}

/// A tool at work is not silence, but its time ends.
fn wall_time(scene: &mut TrialScene) -> Result<Vec<Observation>, AgentError> {
    scene.set_free();
    scene.request.limits.wall = scene.kit().wall();
    let report = scene.run()?;
    one(
        "wall-time",
        match (scene.file("started"), scene.left_over()) {
            (None, _) => format!("no tool was started: {}", ending(&report)),
            (_, 0) => ending(&report),
            (_, left) => format!("{} processes are left: {}", left, ending(&report)),
        },
    )
}

fn stop(scene: &mut TrialScene) -> Result<Vec<Observation>, AgentError> {
    scene.set_free();
    let mut witness = Witness::until(scene.place.checkout.join("started"));
    let report = scene.run_watched_by(&mut witness)?;
    let got = match (scene.file("started"), scene.left_over(), report.outcome) {
        (None, _, _) => format!("no tool was started: {}", ending(&report)),
        (_, 0, Outcome::Interrupted) => "nothing is left".to_owned(),
        (_, 0, _) => ending(&report),
        (_, left, _) => format!("{left} processes are left"),
    };
    Ok(vec![
        Observation { case: "stop", got },
        Observation { case: "tokens-when-stopped", got: tokens(&report, scene.booked().0) },
    ])
}

fn broken(scene: &mut TrialScene, case: &'static str) -> Result<Vec<Observation>, AgentError> {
    scene.request.limits.idle = Some(scene.kit().patience());
    if scene.kit().model().is_none() {
        // Only the wall clock holds a session that does not tell of its tools.
        scene.request.limits.wall = scene.kit().wall();
    }
    one(case, ending(&scene.run()?))
}

/// How a session ended: its outcome in a word, and the first clause of its reason.
fn ending(report: &SessionReport) -> String {
    let word = match report.outcome {
        Outcome::Success => return "ended well".to_owned(),
        Outcome::QuotaParked => "parked",
        Outcome::TimedOut => "timed out",
        Outcome::Interrupted => "interrupted",
        Outcome::NeedsHuman => "waits for a person",
        Outcome::Partial => "partial",
        _ => "failed",
    };
    let reason = report.reason.as_deref().unwrap_or_default();
    let clause = reason.split([':', '\n']).next().unwrap_or_default().trim();
    if clause.is_empty() { word.to_owned() } else { format!("{word}: {clause}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_is_told_in_one_clause() {
        let told =
            |outcome, reason: &str| ending(&SessionReport::ended(outcome, Some(reason.to_owned())));
        assert_eq!(told(Outcome::Success, ""), "ended well");
        assert_eq!(told(Outcome::TimedOut, "it fell silent"), "timed out: it fell silent");
        let reason = "it is not signed in: the API said {\"error\":1}";
        assert_eq!(told(Outcome::Failure, reason), "failed: it is not signed in");
        assert_eq!(told(Outcome::QuotaParked, ""), "parked");
    }

    #[test]
    fn tokens_are_exact_or_bounded_or_wrong() {
        let usage =
            |input_tokens, output_tokens| Usage { input_tokens, output_tokens, ..Usage::default() };
        let mut report = SessionReport::ended(Outcome::Success, None);
        assert_eq!(tokens(&report, usage(10, 2)), "none told");
        report.usage = usage(10, 2);
        assert_eq!(tokens(&report, usage(10, 2)), "exact");
        assert_eq!(tokens(&report, usage(10, 3)), "10 + 2 instead of 10 + 3");
        report.usage_bounds = Some((usage(5, 1), usage(20, 3)));
        assert_eq!(tokens(&report, usage(20, 1)), "within its bounds");
        assert_eq!(tokens(&report, usage(21, 1)), "outside of its bounds");
    }

    #[test]
    fn a_cost_is_exact_to_a_millionth() {
        let usd = |nanos| Some(Usd::from_nanos(nanos));
        assert_eq!(costs(usd(1_000_400), usd(1_000_000)), "exact");
        assert_eq!(costs(None, usd(1)), "none named");
        assert!(costs(usd(2_000_000), usd(1_000_000)).contains("instead of"));
        assert!(costs(usd(2_000_000), None).contains("nobody can check"));
    }
}
