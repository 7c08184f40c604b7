//! What a person does about a run that does not go on by itself: in words, and what to type.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spore_model::{Run, RunKind, RunStatus, Timestamp};

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NextStep {
    /// What has to be done, or waited for, first.
    pub say: String,
    /// What to type then.
    pub command: String,
    /// Typing it earlier is in vain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// How the reason of a campaign begins whose plan a person has to look at.
pub const REVIEW: &str = "a person is to look at the phases";

/// Returns what to do about `run`; nothing where it works or is well over.
pub(crate) fn next_step(
    run: &Run,
    status: RunStatus,
    resets_at: Option<Timestamp>,
) -> Option<NextStep> {
    let id = run.id.short();
    let resume = format!("spore resume {id}");
    let step =
        |say: &str, command: String| Some(NextStep { say: say.to_owned(), command, until: None });
    let reason = run.reason.as_deref().unwrap_or_default();
    match status {
        RunStatus::ParkedBudget => step("give it more to spend", format!("{resume} --budget +5")),
        RunStatus::ParkedQuota => Some(NextStep {
            say: match resets_at {
                Some(_) => "wait until its limit is over".to_owned(),
                None => "wait until its agent has quota again".to_owned(),
            },
            command: resume,
            until: resets_at,
        }),
        RunStatus::ParkedHuman if run.kind == RunKind::Sentinel => {
            step("fix what the checks found", "spore sentinel --checks-only".to_owned())
        }
        RunStatus::ParkedHuman if is_signed_out(reason) => step(&sign_in(run), resume),
        // An agent stops by itself when what it may spend is spent.
        RunStatus::ParkedHuman if reason.contains("it reached its budget") => {
            step("give it more to spend", format!("{resume} --budget +5"))
        }
        RunStatus::ParkedHuman if run.kind == RunKind::Campaign && is_review(reason) => step(
            "look at the phases, then say yes or what to change",
            format!("spore resolve {id} --approve"),
        ),
        RunStatus::ParkedHuman
            if matches!(
                run.kind,
                RunKind::Exec | RunKind::Stage | RunKind::Phase | RunKind::Campaign
            ) =>
        {
            step("answer it", format!("spore resolve {id} --file ANSWER.md"))
        }
        RunStatus::ParkedHuman => step("when that is fixed", resume),
        RunStatus::Interrupted if run.is_open() => step("nothing recorded is lost", resume),
        RunStatus::Failed | RunStatus::Escalated if run.kind == RunKind::Orchestrate => {
            let retry = format!("spore retry {id}");
            match status {
                _ if is_signed_out(reason) => step(&sign_in(run), retry),
                RunStatus::Escalated => step("decide, or let it try anew", retry),
                _ => step("mend what it failed for, or let it try anew", retry),
            }
        }
        _ => None,
    }
}

/// A campaign that waits for a look at its plan says so in these words.
fn is_review(reason: &str) -> bool {
    reason.starts_with(REVIEW)
}

fn is_signed_out(reason: &str) -> bool {
    ["not signed in", "key was not accepted"].iter().any(|words| reason.contains(words))
}

fn sign_in(run: &Run) -> String {
    let backend = run.backend.as_deref().unwrap_or("the agent");
    format!("sign in to {backend} (`spore doctor` says how)")
}

#[cfg(test)]
mod tests {
    use spore_model::{Outcome, Park, RunId, RunState};

    use super::*;

    #[track_caller]
    fn check(run: Run, expected: &str) {
        let status = run.status(false);
        let reset = Timestamp::from_millis(60_000);
        let found = next_step(&run, status, Some(reset)).map(|next| {
            let until = next.until.map(|until| format!(" at {until}")).unwrap_or_default();
            format!("{}{until}: {}", next.say, next.command)
        });
        assert_eq!(found.unwrap_or_default(), expected);
    }

    fn parked(kind: RunKind, park: Park, reason: &str) -> Run {
        let run = Run::begin(RunId::from_parts(0, 1), kind, "", Timestamp::from_millis(0));
        Run {
            state: RunState::Parked,
            park: Some(park),
            reason: Some(reason.to_owned()),
            backend: Some("claude".to_owned()),
            ..run
        }
    }

    #[test]
    fn a_parked_run_says_what_to_type() {
        let task = RunKind::Orchestrate;
        check(
            parked(task, Park::Budget, ""),
            "give it more to spend: spore resume 00000001 --budget +5",
        );
        check(
            parked(task, Park::Quota, ""),
            "wait until its limit is over at 1970-01-01T00:01:00.000Z: spore resume 00000001",
        );
        check(
            parked(task, Park::Human, "the verifier broke down twice: it is not signed in: 401"),
            "sign in to claude (`spore doctor` says how): spore resume 00000001",
        );
        check(
            parked(task, Park::Human, "it reached its budget"),
            "give it more to spend: spore resume 00000001 --budget +5",
        );
        check(parked(task, Park::Interrupt, ""), "nothing recorded is lost: spore resume 00000001");
        check(
            parked(RunKind::Stage, Park::Human, "PLAN: which format?"),
            "answer it: spore resolve 00000001 --file ANSWER.md",
        );
        check(
            parked(RunKind::Sentinel, Park::Human, ""),
            "fix what the checks found: spore sentinel --checks-only",
        );
    }

    #[test]
    fn a_run_that_is_over_says_what_can_be_done_about_it() {
        let ended = |outcome| Run {
            state: RunState::Ended,
            outcome: Some(outcome),
            ..parked(RunKind::Orchestrate, Park::Human, "")
        };
        check(ended(Outcome::Success), "");
        check(ended(Outcome::NeedsEscalation), "decide, or let it try anew: spore retry 00000001");
        check(
            Run { reason: Some("it is not signed in".to_owned()), ..ended(Outcome::Failure) },
            "sign in to claude (`spore doctor` says how): spore retry 00000001",
        );
    }
}
