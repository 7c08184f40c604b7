//! What the ledger asks to be done with a line.
//!
//! A rule removes a line only where people or their tools said repeatedly, and with the reason
//! to change its content, that it is wrong, and nothing has spoken for it since. Everything
//! short of that is kept: help is a reason to keep, silence is none to drop, and a failure
//! without a stated cause is for a judge.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::{EvidenceSignal, RootCause, Trajectory};
use crate::ledger::{LedgerRow, LineRecord};

/// What a rule can do about a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Nothing is known about it.
    Untested,
    /// The line helped, and nothing since says otherwise.
    Keep,
    /// All evidence says that the line waits for its trigger.
    Waiting,
    /// The line failed, and a rule cannot decide what to do about it.
    Judge,
    Remove,
}

impl Decision {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Untested => "untested",
            Self::Keep => "keep",
            Self::Waiting => "waiting",
            Self::Judge => "judge",
            Self::Remove => "remove",
        }
    }
}

/// When evidence is enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Enough {
    /// How many times a line must have been said to be wrong.
    pub wrong: u32,
}

/// Kinds whose word a rule may act on: people, and what their own tools measured. A verifier
/// is a model, and a channel may carry any person's or program's words.
const TRUSTED: [&str; 4] = ["human", "git", "ci", "check"];

/// Decides about a line from its evidence.
pub fn decide(entry: Option<&LineRecord>, enough: Enough) -> Decision {
    let Some(entry) = entry else { return Decision::Untested };
    let tests = |row: &&LedgerRow| {
        row.trajectory != Trajectory::Neutral || row.signal == EvidenceSignal::Restored
    };
    let rows: Vec<&LedgerRow> = entry.rows().filter(tests).collect();
    let behind = |is_it: fn(&LedgerRow) -> bool| {
        rows.iter().rposition(|row| is_it(row)).map_or(0, |at| at + 1)
    };
    // What was seen after the line helped the last time; and what was said to be wrong after a person
    // put it back, too, who had what was said before.
    let since = behind(|row| row.trajectory == Trajectory::Strengthening);
    let restored = behind(|row| row.signal == EvidenceSignal::Restored);
    let is_test = |row: &&&LedgerRow| row.trajectory != Trajectory::Neutral;
    let tested: Vec<&LedgerRow> = rows.iter().filter(is_test).copied().collect();
    let after: Vec<&LedgerRow> = rows[since..].iter().filter(is_test).copied().collect();
    let wrong = rows[since.max(restored)..].iter().filter(|row| is_wrong(row)).count();
    match (tested.is_empty(), after.is_empty()) {
        (true, _) => Decision::Waiting,
        (false, true) => Decision::Keep,
        _ if u32::try_from(wrong).unwrap_or(u32::MAX) >= enough.wrong.max(1) => Decision::Remove,
        _ => Decision::Judge,
    }
}

/// A judge's label never counts here: what a model made of an event is not what people said.
fn is_wrong(row: &LedgerRow) -> bool {
    row.by.is_rule()
        && row.root_cause == Some(RootCause::DirectionWrong)
        && TRUSTED.contains(&row.kind.as_str())
}

/// Returns whether a line's content may be changed at all: it failed, and not only because
/// an agent did not recall it.
pub(crate) fn may_change(entry: Option<&LineRecord>) -> bool {
    let against = |row: &LedgerRow| {
        row.trajectory == Trajectory::Weakening && row.root_cause != Some(RootCause::RecallMiss)
    };
    entry.is_some_and(|entry| entry.rows().any(against))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Decider;
    use crate::fragment::Fragment;
    use crate::fragment::tests::fragment;
    use crate::ledger::Ledger;
    use crate::lines::LineHash;

    /// `+` helped, `-` missed, `x` wrong, `m` not recalled, `o` waiting, `v` wrong by a
    /// verifier's word, `c` by a channel's, `j` by a judge's label, `u` put back: one event after the
    /// other.
    #[track_caller]
    fn check(seen: &str, wrong: u32, expected: Decision) {
        let mut ledger = Ledger::default();
        for (at, what) in seen.chars().enumerate() {
            let (trajectory, root_cause) = match what {
                '+' => (Trajectory::Strengthening, None),
                'o' | 'u' => (Trajectory::Neutral, None),
                '-' => (Trajectory::Weakening, None),
                'm' => (Trajectory::Weakening, Some(RootCause::RecallMiss)),
                _ => (Trajectory::Weakening, Some(RootCause::DirectionWrong)),
            };
            let kind = match what {
                'v' => "verifier",
                'c' => "channel",
                _ => "human",
            };
            ledger.fold(&Fragment {
                ts: format!("2026-01-{:02}T00:00:00.000Z", at + 1),
                event: format!("e{at}"),
                kind: kind.into(),
                by: if what == 'j' { Decider::judge("m", "1") } else { Decider::Rule },
                root_cause,
                signal: match what {
                    'u' => EvidenceSignal::Restored,
                    _ => EvidenceSignal::Statement,
                },
                ..fragment("a", trajectory)
            });
        }
        let entry = ledger.entry(&LineHash::of("a"));
        assert_eq!(decide(entry, Enough { wrong }), expected, "{seen}");
    }

    #[test]
    fn only_repeated_and_uncontradicted_words_remove_a_line() {
        check("xx", 2, Decision::Remove);
        check("+xx", 2, Decision::Remove);
        check("x-oxm", 2, Decision::Remove);
        check("x", 1, Decision::Remove);
        check("x", 0, Decision::Remove);
        for kept in ["x", "--", "mmm", "vvv", "ccc", "jjjj", "xj", "xv", "x+x", "-"] {
            check(kept, 2, Decision::Judge);
        }
    }

    #[test]
    fn help_keeps_a_line_and_silence_does_not_drop_it() {
        check("", 2, Decision::Untested);
        check("oo", 2, Decision::Waiting);
        check("+", 2, Decision::Keep);
        check("xx+", 2, Decision::Keep);
        check("-+oo", 2, Decision::Keep);
    }

    #[test]
    fn what_a_person_put_back_is_not_removed_for_what_was_said_before() {
        for kept in ["xxu", "xxux", "xxu-", "xuxu"] {
            check(kept, 2, Decision::Judge);
        }
        check("xxuxx", 2, Decision::Remove);
        // It is no help.
        check("u", 2, Decision::Waiting);
        check("+xxu", 2, Decision::Judge);
        check("+u", 2, Decision::Keep);
    }
}
