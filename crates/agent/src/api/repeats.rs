//! A model that makes one and the same call over and over.
//!
//! Small models do: a call fails, and the next answer is the same call. The answer says so from the
//! second time on, and the session ends when that does not help, for what is left of its turns would
//! be paid for nothing.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::conversation::RequestedCall;

/// The newest call, and how often in a row it was made with the same answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RepeatedCall {
    /// A sum of the call and its answer. Another version of Spore may make another sum, and then
    /// counts from the beginning.
    sum: u64,
    times: u32,
    /// The turn that made it. A call that one answer makes several times counts once: the model has
    /// not read what came of it.
    turn: u32,
}

impl RepeatedCall {
    pub(super) fn times(self) -> u32 {
        self.times
    }

    /// Counts a call that `turn` made and `answer` answered; returns what the model is told if it is
    /// the one from before.
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
        let is_same = self.times > 0 && self.sum == sum;
        let times = if is_same { self.times + u32::from(self.turn != turn) } else { 1 };
        *self = Self { sum, times, turn };
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

    #[test]
    fn only_the_same_call_to_the_same_end_is_a_repetition() {
        let call = |name: &str, path: &str| RequestedCall {
            id: format!("{name} {path}"),
            name: name.to_owned(),
            arguments: Some(json!({ "path": path })),
        };
        let mut repeated = RepeatedCall::default();
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
}
