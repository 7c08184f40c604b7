//! A model that asks over and over for what it has been told.
//!
//! Small models do: a call fails, and the next answer is the same call; or a file is read, the tests
//! are run, and the file is read once more, until all turns are used up. The answer says so, and the
//! session ends when that does not help, for what is left of its turns would be paid for nothing.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::conversation::RequestedCall;

/// What calls have brought since a file was last changed, and how many turns brought nothing new.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RepeatedCalls {
    turn: u32,
    /// Sums of calls with their answers, numbers aside, and those of the answers to the letter. Another
    /// version of Spore may make other sums, and then counts from the beginning.
    known: BTreeMap<u64, u64>,
    /// What the newest turn has added to them: it has not read that yet.
    unread: BTreeMap<u64, u64>,
    /// Turns in a row, with the newest, that brought nothing new.
    idle: u32,
}

/// A call whose answer is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct KnownAnswer {
    /// To the letter: else it is another in its numbers alone, as times of tests are.
    pub(super) is_same: bool,
}

impl RepeatedCalls {
    /// Returns how many turns in a row were made for one and the same: 1 where the newest brought
    /// something new.
    pub(super) fn times(&self) -> u32 {
        self.idle + u32::from(self.turn > 0)
    }

    /// Counts a call that `turn` made and `answer` answered; returns whether an earlier turn had that
    /// answer already. A call that one turn makes several times counts once: the model has not read
    /// what came of it. What `changes` a file makes all answers new.
    pub(super) fn count(
        &mut self,
        turn: u32,
        call: &RequestedCall,
        answer: &str,
        changes: bool,
    ) -> Option<KnownAnswer> {
        if self.turn != turn {
            self.known.append(&mut self.unread);
            self.turn = turn;
            self.idle += 1;
        }
        let arguments = call.arguments.as_ref().map(ToString::to_string);
        let words: String = answer.chars().filter(|one| !one.is_ascii_digit()).collect();
        let sum = sum_of(&(&call.name, arguments, words));
        let known = self.known.get(&sum).copied();
        // The same lines in the same place once more are no change.
        if changes && known.is_none() {
            self.known.clear();
            self.unread.clear();
        }
        if known.is_none() {
            self.idle = 0;
        }
        self.unread.insert(sum, sum_of(&answer));
        known.map(|exact| KnownAnswer { is_same: exact == sum_of(&answer) })
    }
}

fn sum_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A call: its name, its path and its answer.
    type Called<'a> = (&'a str, &'a str, &'a str);

    /// How often in a row, and how many answers were known.
    type Counted = (u32, usize);

    /// Returns what is counted after each turn, and how many of its answers were known.
    fn counted(turns: &[&[Called<'_>]]) -> Vec<Counted> {
        let mut repeated = RepeatedCalls::default();
        let mut turn = |(number, calls): (u32, &&[Called<'_>])| {
            let known = calls.iter().filter(|(name, path, answer)| {
                let call = RequestedCall {
                    id: format!("{name} {path}"),
                    name: (*name).to_owned(),
                    arguments: Some(json!({ "path": path })),
                };
                repeated.count(number, &call, answer, *name == "edit").is_some()
            });
            let known = known.count();
            (repeated.times(), known)
        };
        (1..).zip(turns).map(&mut turn).collect()
    }

    #[test]
    fn what_was_told_is_no_news_until_a_file_changes() {
        let read: &[_] = &[("read", "a", "x")];
        let run: &[_] = &[("run", "", "2 tests in 0.3 s")];
        let again: &[_] = &[("run", "", "2 tests in 0.4 s")];
        let failed: &[_] = &[("run", "", "1 failed")];
        let edit: &[_] = &[("edit", "a", "changed")];
        let other: &[_] = &[("edit", "b", "changed")];
        let cases: &[(&[&[Called<'_>]], &[Counted])] = &[
            (&[read, read, read], &[(1, 0), (2, 1), (3, 1)]),
            (&[read, run, read, again], &[(1, 0), (1, 0), (2, 1), (3, 1)]),
            (&[run, failed, failed], &[(1, 0), (1, 0), (2, 1)]),
            (&[read, run, edit, run, read, run], &[(1, 0), (1, 0), (1, 0), (1, 0), (1, 0), (2, 1)]),
            (&[edit, edit, edit], &[(1, 0), (2, 1), (3, 1)]),
            (&[read, edit, other, edit, read], &[(1, 0), (1, 0), (1, 0), (1, 0), (1, 0)]),
        ];
        for (turns, expected) in cases {
            assert_eq!(counted(turns), *expected, "{turns:?}");
        }
    }

    #[test]
    fn a_turn_with_something_new_is_no_repetition() {
        let (a, b, c) = (("read", "a", "x"), ("read", "b", "x"), ("read", "c", "x"));
        let turns: &[&[_]] = &[&[a, a], &[a, b], &[b, a], &[a, b, c], &[c]];
        assert_eq!(counted(turns), [(1, 0), (1, 1), (2, 2), (1, 2), (2, 1)]);
    }

    #[test]
    fn an_answer_that_is_another_in_its_numbers_is_told_as_such() {
        let mut repeated = RepeatedCalls::default();
        let call = RequestedCall { id: String::new(), name: "run".to_owned(), arguments: None };
        let mut count = |turn, answer| repeated.count(turn, &call, answer, false);
        assert_eq!(count(1, "in 0.3 s"), None);
        assert_eq!(count(2, "in 0.4 s"), Some(KnownAnswer { is_same: false }));
        assert_eq!(count(3, "in 0.4 s"), Some(KnownAnswer { is_same: true }));
    }

    #[test]
    fn what_an_earlier_version_kept_is_counted_from_the_beginning() {
        let kept = json!({ "newest": [{ "sum": 7, "times": 3 }], "before": [], "turn": 3 });
        let repeated: RepeatedCalls = serde_json::from_value(kept).unwrap();
        assert_eq!(repeated.times(), 1);
    }
}
