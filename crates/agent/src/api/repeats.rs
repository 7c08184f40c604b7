//! A model that makes one and the same call over and over.
//!
//! Small models do: a call fails, and the next answer is the same call. The answer says so from the
//! second time on, and the session ends when that does not help, for what is left of its turns would
//! be paid for nothing.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::conversation::RequestedCall;

/// The calls of the newest turn and of the one with calls before it, each with how many turns in a row
/// made it to the same end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RepeatedCalls {
    turn: u32,
    newest: Vec<CountedCall>,
    before: Vec<CountedCall>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CountedCall {
    /// A sum of the call and its answer. Another version of Spore may make another sum, and then
    /// counts from the beginning.
    sum: u64,
    times: u32,
}

impl RepeatedCalls {
    /// Returns how often in a row all that the newest turn did was done. A turn with something new in
    /// it is no repetition, and has one.
    pub(super) fn times(&self) -> u32 {
        self.newest.iter().map(|call| call.times).min().unwrap_or(0)
    }

    /// Counts a call that `turn` made and `answer` answered; returns what the model is told if the
    /// turn before made it too. A call that one turn makes several times counts once: the model has not
    /// read what came of it.
    pub(super) fn count(
        &mut self,
        turn: u32,
        call: &RequestedCall,
        answer: &str,
    ) -> Option<String> {
        let mut hasher = DefaultHasher::new();
        let arguments = call.arguments.as_ref().map(ToString::to_string);
        (&call.name, arguments, answer).hash(&mut hasher);
        let sum = hasher.finish();
        if self.turn != turn {
            self.before = std::mem::take(&mut self.newest);
            self.turn = turn;
        }
        let known = self.before.iter().find(|call| call.sum == sum);
        let times = 1 + known.map_or(0, |call| call.times);
        if self.newest.iter().all(|call| call.sum != sum) {
            self.newest.push(CountedCall { sum, times });
        }
        (times > 1).then(|| {
            format!(
                "You made this very call {times} times in a row, and its answer is the same as \
                 before. Do the next step now: make another call, or end where all is done."
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, path: &str) -> RequestedCall {
        RequestedCall {
            id: format!("{name} {path}"),
            name: name.to_owned(),
            arguments: Some(json!({ "path": path })),
        }
    }

    #[test]
    fn only_the_same_call_to_the_same_end_is_a_repetition() {
        let mut repeated = RepeatedCalls::default();
        let mut times = |turn, name, path, answer: &str| {
            let is_told = repeated.count(turn, &call(name, path), answer).is_some();
            (repeated.times(), is_told)
        };
        assert_eq!(times(1, "read", "a", "x"), (1, false));
        assert_eq!(times(1, "read", "a", "x"), (1, false), "in one answer");
        assert_eq!(times(2, "read", "a", "x"), (2, true));
        assert_eq!(times(3, "read", "a", "x"), (3, true));
        assert_eq!(times(4, "read", "a", "y"), (1, false), "something changed");
        assert_eq!(times(5, "read", "b", "y"), (1, false));
        assert_eq!(times(6, "list", "b", "y"), (1, false));
        assert_eq!(times(7, "list", "b", "y"), (2, true));
    }

    #[test]
    fn a_turn_of_several_calls_is_a_repetition_where_all_of_them_are() {
        let mut repeated = RepeatedCalls::default();
        let mut turn = |turn, paths: &[&str]| {
            let told = paths.iter().map(|path| repeated.count(turn, &call("read", path), "x"));
            let told = told.filter(Option::is_some).count();
            (repeated.times(), told)
        };
        assert_eq!(turn(1, &["a", "b"]), (1, 0));
        assert_eq!(turn(2, &["a", "b"]), (2, 2));
        assert_eq!(turn(3, &["b", "a"]), (3, 2), "in another order");
        assert_eq!(turn(4, &["a", "b", "c"]), (1, 2), "something is new");
        assert_eq!(turn(5, &["c"]), (2, 1));
        assert_eq!(turn(6, &["a"]), (1, 0));
    }

    #[test]
    fn what_an_earlier_version_kept_is_counted_from_the_beginning() {
        let kept = json!({ "sum": 7, "times": 3, "turn": 3 });
        let repeated: RepeatedCalls = serde_json::from_value(kept).unwrap();
        assert_eq!(repeated.times(), 0);
    }
}
