//! What a person does about a run that does not go on by itself: in words, and what to type.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spore_model::{Park, Run, RunId, RunKind, RunState, RunStatus, SessionNotes, Timestamp};
use spore_store::{Journal, JournalError};

use crate::applied::Applied;
use crate::questions::who_asks;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NextStep {
    /// What has to be done, or waited for, first.
    pub say: String,
    /// What to type then; a line each, where that is more than one command.
    pub command: String,
    /// Typing it earlier is in vain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// How the reason of a campaign begins whose plan a person has to look at.
pub const REVIEW: &str = "a person is to look at the phases";

/// What the journal has of a run that waits, beside its row.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct WaitFacts {
    /// When the limit is over that its newest session met.
    resets_at: Option<Timestamp>,
    /// The parts of it that have a question without an answer.
    asks: Vec<RunId>,
    /// What became of its work, where that is not where it was asked to be.
    unapplied: Option<Applied>,
}

/// Returns what to do about `run`, read with its settings; nothing where it works or is well over.
pub(crate) fn advise(
    journal: &dyn Journal,
    run: &Run,
    status: RunStatus,
) -> Result<Option<NextStep>, JournalError> {
    let waits_for_a_person = run.state == RunState::Parked && run.park == Some(Park::Human);
    let facts = WaitFacts {
        resets_at: resets_at(journal, run)?,
        asks: match waits_for_a_person && is_flow(run.kind) {
            true => who_asks(journal, run)?,
            false => Vec::new(),
        },
        unapplied: unapplied(journal, run, status)?,
    };
    Ok(next_step(run, status, facts))
}

/// Returns what became of the work of a run that is over, if it could not be brought where it was asked
/// to be.
pub(crate) fn unapplied(
    journal: &dyn Journal,
    run: &Run,
    status: RunStatus,
) -> Result<Option<Applied>, JournalError> {
    if !matches!(status, RunStatus::Verified | RunStatus::Finished | RunStatus::Partial) {
        return Ok(None);
    }
    Ok(Applied::of(journal, run.id)?.filter(|applied| !applied.done))
}

/// Whether a run of this kind can be answered.
pub(crate) const fn is_flow(kind: RunKind) -> bool {
    matches!(kind, RunKind::Exec | RunKind::Stage | RunKind::Phase | RunKind::Campaign)
}

fn next_step(run: &Run, status: RunStatus, facts: WaitFacts) -> Option<NextStep> {
    let WaitFacts { resets_at, asks, unapplied } = facts;
    let id = run.id.short();
    let resume = format!("spore resume {id}");
    let step =
        |say: &str, command: String| Some(NextStep { say: say.to_owned(), command, until: None });
    let reason = run.reason.as_deref().unwrap_or_default();
    if let Some(command) = unapplied.and_then(|applied| applied.next) {
        return step("bring the work in", command);
    }
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
        RunStatus::ParkedHuman if run.kind == RunKind::Sentinel && is_red(reason) => {
            step("fix what the checks found", "spore sentinel --checks-only".to_owned())
        }
        RunStatus::ParkedHuman if run.kind == RunKind::Campaign && is_review(reason) => step(
            "look at the phases, then say yes or what to change",
            format!("spore resolve {id} --approve"),
        ),
        // Before any word of the reason, which is the agent's own where it asks.
        RunStatus::ParkedHuman if !asks.is_empty() => answers(run, &asks),
        RunStatus::ParkedHuman if is_signed_out(reason) => step(&sign_in(run), resume),
        // An agent stops by itself when what it may spend is spent.
        RunStatus::ParkedHuman if reason.contains("it reached its budget") => {
            step("give it more to spend", format!("{resume} --budget +5"))
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
        // A race is not run again, but the task of one of its racers is.
        RunStatus::Failed | RunStatus::Escalated if run.kind == RunKind::Race => {
            let racer = racers(run).next()?.short();
            step("decide, or let a racer try anew", format!("spore retry {racer}"))
        }
        RunStatus::Escalated if run.kind == RunKind::Solo => {
            step("decide, or let it try anew", format!("spore retry {id}"))
        }
        RunStatus::Escalated if run.kind == RunKind::Sentinel && is_red(reason) => {
            step("mend what the checks found", "spore sentinel --checks-only".to_owned())
        }
        // The checks may be green: it is a role that was not understood.
        RunStatus::Escalated if run.kind == RunKind::Sentinel => {
            step("nobody judged the work: see why, then ask anew", "spore sentinel".to_owned())
        }
        // Nothing goes on with a flow that is over: it is started anew as it was.
        RunStatus::Escalated => {
            step("see why, then start it anew", format!("spore runs explain {id}"))
        }
        _ => None,
    }
}

/// How what is asked is answered. What a campaign has collected is put as one question; elsewhere each
/// part is answered by its own id.
fn answers(run: &Run, asks: &[RunId]) -> Option<NextStep> {
    let command = |id: RunId| format!("spore resolve {} --file ANSWER.md", id.short());
    let (say, command) = match asks {
        [_, _, ..] if run.kind != RunKind::Campaign => {
            let each: Vec<String> = asks.iter().map(|part| command(*part)).collect();
            ("answer each of them by itself", each.join("\n"))
        }
        _ => ("answer it", command(run.id)),
    };
    Some(NextStep { say: say.to_owned(), command, until: None })
}

/// Returns the runs of those who raced, in their order; none where the settings were not read.
pub(crate) fn racers(race: &Run) -> impl Iterator<Item = RunId> {
    let racers = race.settings.get("racers").and_then(serde_json::Value::as_array);
    let run = |racer: &serde_json::Value| racer.get("run")?.as_str()?.parse().ok();
    racers.into_iter().flatten().filter_map(run)
}

/// Returns when the limit is over that the newest session of a parked run met.
fn resets_at(journal: &dyn Journal, run: &Run) -> Result<Option<Timestamp>, JournalError> {
    if run.state != RunState::Parked {
        return Ok(None);
    }
    let mut newest: Option<(Timestamp, Timestamp)> = None;
    let mut below = vec![run.id];
    while let Some(parent) = below.pop() {
        for child in journal.children(parent)? {
            let until = SessionNotes::of_row(&child).resets_at;
            newest = newest.max(until.map(|until| (child.started, until)));
            below.push(child.id);
        }
    }
    Ok(newest.map(|(_, until)| until))
}

/// A campaign that waits for a look at its plan says so in these words.
fn is_review(reason: &str) -> bool {
    reason.starts_with(REVIEW)
}

/// A sentinel that was stopped by its checks says how many of their findings block.
fn is_red(reason: &str) -> bool {
    reason.contains(" blocking")
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
        let facts = WaitFacts {
            resets_at: Some(Timestamp::from_millis(60_000)),
            asks: match run.reason.as_deref().unwrap_or_default() {
                "two?" => vec![RunId::from_parts(0, 2), RunId::from_parts(0, 3)],
                reason if reason.ends_with('?') => vec![RunId::from_parts(0, 2)],
                _ => Vec::new(),
            },
            unapplied: run.reason.as_deref().filter(|reason| reason.contains("not merged")).map(
                |what| Applied {
                    how: crate::Apply::Merge,
                    done: false,
                    what: what.to_owned(),
                    next: Some("git merge spore/a".to_owned()),
                    branch: None,
                    commit: None,
                    path: None,
                },
            ),
        };
        let found = next_step(&run, status, facts).map(|next| {
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
        // What an agent asks is answered, whatever words it asks in.
        for asked in ["PLAN: it reached its budget, may I?", "the user is not signed in. Why?"] {
            check(
                parked(RunKind::Stage, Park::Human, asked),
                "answer it: spore resolve 00000001 --file ANSWER.md",
            );
        }
        check(
            parked(RunKind::Phase, Park::Human, "two?"),
            "answer each of them by itself: spore resolve 00000002 --file ANSWER.md\n\
             spore resolve 00000003 --file ANSWER.md",
        );
        check(
            parked(RunKind::Campaign, Park::Human, "two?"),
            "answer it: spore resolve 00000001 --file ANSWER.md",
        );
        check(
            parked(RunKind::Stage, Park::Human, "the branch moved on"),
            "when that is fixed: spore resume 00000001",
        );
        check(
            parked(RunKind::Sentinel, Park::Human, "cycle 1 of 3: 2 blocking"),
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

    #[test]
    fn work_that_is_not_where_it_was_asked_to_be_has_a_command_whatever_made_it() {
        let ended = |kind, outcome| Run {
            state: RunState::Ended,
            outcome: Some(outcome),
            ..parked(kind, Park::Human, "all verified; not merged: no branch is checked out")
        };
        for (kind, outcome) in [
            (RunKind::Orchestrate, Outcome::Success),
            (RunKind::Loop, Outcome::Partial),
            (RunKind::Race, Outcome::Partial),
            (RunKind::Campaign, Outcome::Success),
        ] {
            check(ended(kind, outcome), "bring the work in: git merge spore/a");
        }
    }

    #[test]
    fn what_was_escalated_has_a_command_whatever_it_is() {
        let escalated = |kind| Run {
            state: RunState::Ended,
            outcome: Some(Outcome::NeedsEscalation),
            ..parked(kind, Park::Human, "the work of no racer holds")
        };
        let racer = RunId::from_parts(0, 7);
        let settings = serde_json::json!({ "racers": [{ "run": racer }] });
        let race = Run { settings, ..escalated(RunKind::Race) };
        let of_racer = format!("decide, or let a racer try anew: spore retry {}", racer.short());
        check(race, &of_racer);
        let flow = "see why, then start it anew: spore runs explain 00000001";
        for kind in [RunKind::Exec, RunKind::Stage, RunKind::Phase, RunKind::Campaign] {
            check(escalated(kind), flow);
        }
        let sentinel =
            |reason: &str| Run { reason: Some(reason.to_owned()), ..escalated(RunKind::Sentinel) };
        let red = "mend what the checks found: spore sentinel --checks-only";
        check(sentinel("2 blocking, and 2 cycles in a row were no better"), red);
        let unjudged = "nobody judged the work: see why, then ask anew: spore sentinel";
        check(sentinel("there is no test specification: it cannot be read"), unjudged);
        let solo = "decide, or let it try anew: spore retry 00000001";
        check(escalated(RunKind::Solo), solo);
    }
}
