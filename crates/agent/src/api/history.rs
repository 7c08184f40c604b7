//! A conversation made to fit a small window: the oldest results are left out first, then the
//! oldest turns, then the middle of the newest results, and never the task.

use serde_json::Value;

use super::conversation::ConversationTurn;

/// Stands for a result that had to make room.
const LEFT_OUT: &str = "[left out to save room; ask again if you need it]";

/// What a turn costs besides its text.
const TURN_TOKENS: u64 = 8;

/// What is left of the newest results at the least: with less a model cannot go on.
const RESULT_BYTES: usize = 400;

/// What tells of the part that was left out, at the longest.
const MARK_BYTES: usize = 48;

/// Estimates the tokens of a text, rather too many: code has short tokens.
pub(super) fn tokens_of(bytes: usize) -> u64 {
    bytes.div_ceil(3) as u64
}

/// The task and what goes before it do not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TaskTooLong {
    /// What they come to, by estimate.
    pub(super) tokens: u64,
}

/// Makes room until `turns` and `fixed` other tokens are at most `room`. The first turn is the
/// task and stays as it is. The last results, which the model has not read yet, are cut short only
/// where all the rest was not enough: one answer may call for many.
pub(super) fn fit(
    turns: &mut Vec<ConversationTurn>,
    fixed: u64,
    room: u64,
) -> Result<(), TaskTooLong> {
    let sum = |turns: &[ConversationTurn]| fixed + turns.iter().map(tokens).sum::<u64>();
    let mut at = 1;
    while sum(turns) > room && at + 1 < turns.len() {
        leave_out(&mut turns[at]);
        at += 1;
    }
    // An answer goes together with its results: vendors refuse the one without the other.
    while sum(turns) > room && turns.len() > 3 {
        turns.drain(1..3);
    }
    let over = sum(turns).saturating_sub(room);
    if over > 0 && turns.len() > 1 {
        shorten(turns.last_mut(), usize::try_from(over * 3).unwrap_or(usize::MAX));
    }
    let tokens = sum(turns);
    if tokens > room { Err(TaskTooLong { tokens }) } else { Ok(()) }
}

/// Takes at least `bytes` out of the middle of results, of the longest ones first.
fn shorten(turn: Option<&mut ConversationTurn>, bytes: usize) {
    let mut texts: Vec<&mut String> = match turn {
        Some(ConversationTurn::Answered(answers)) => {
            answers.iter_mut().map(|answer| &mut answer.text).collect()
        }
        Some(ConversationTurn::Told(told)) => vec![told],
        Some(ConversationTurn::Said(_) | ConversationTurn::Replied(_)) | None => return,
    };
    let length: usize = texts.iter().map(|text| text.len()).sum();
    let kept = length.saturating_sub(bytes);
    // The most that each may keep, so that together they keep no more than that.
    texts.sort_by_key(|text| text.len());
    let (mut left, mut others) = (kept, texts.len());
    for text in texts {
        let most = (left / others).max(RESULT_BYTES);
        if text.len() > most {
            *text = spore_tools::both_ends(text, most.saturating_sub(MARK_BYTES));
        }
        left = left.saturating_sub(text.len());
        others -= 1;
    }
}

fn leave_out(turn: &mut ConversationTurn) {
    match turn {
        ConversationTurn::Answered(answers) => {
            let long = answers.iter_mut().filter(|answer| answer.text.len() > LEFT_OUT.len());
            long.for_each(|answer| answer.text = LEFT_OUT.to_owned());
        }
        ConversationTurn::Told(told) if told.len() > LEFT_OUT.len() => {
            *told = LEFT_OUT.to_owned();
        }
        ConversationTurn::Told(_) | ConversationTurn::Said(_) | ConversationTurn::Replied(_) => {}
    }
}

pub(super) fn tokens(turn: &ConversationTurn) -> u64 {
    let bytes: usize = match turn {
        ConversationTurn::Said(text) | ConversationTurn::Told(text) => text.len(),
        ConversationTurn::Answered(answers) => answers.iter().map(|answer| answer.text.len()).sum(),
        ConversationTurn::Replied(raw) => raw.iter().map(bytes_of).sum(),
    };
    tokens_of(bytes) + TURN_TOKENS
}

fn bytes_of(value: &Value) -> usize {
    value.to_string().len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::conversation::CallAnswer;
    use super::*;

    /// Each turn by its first letter and its length; results that were left out as `-`.
    fn shape(turns: &[ConversationTurn]) -> String {
        let one = |turn: &ConversationTurn| match turn {
            ConversationTurn::Said(text) => format!("s{}", text.len()),
            ConversationTurn::Told(text) if text == LEFT_OUT => "-".to_owned(),
            ConversationTurn::Told(text) => format!("t{}", text.len()),
            ConversationTurn::Replied(_) => "r".to_owned(),
            ConversationTurn::Answered(answers) if answers[0].text == LEFT_OUT => "-".to_owned(),
            ConversationTurn::Answered(answers) => format!("a{}", answers[0].text.len()),
        };
        turns.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    fn conversation(results: &[usize], is_native: bool) -> Vec<ConversationTurn> {
        let mut turns = vec![ConversationTurn::Said("t".repeat(300))];
        for bytes in results {
            let text = "x".repeat(*bytes);
            turns.push(ConversationTurn::Replied(vec![json!({ "content": "y".repeat(60) })]));
            turns.push(if is_native {
                let id = "1".to_owned();
                ConversationTurn::Answered(vec![CallAnswer { id, text, is_error: false }])
            } else {
                ConversationTurn::Told(text)
            });
        }
        turns
    }

    #[track_caller]
    fn check(room: u64, expected: Result<&str, TaskTooLong>) {
        for is_native in [false, true] {
            let mut turns = conversation(&[900, 900, 300], is_native);
            let found = fit(&mut turns, 50, room).map(|()| shape(&turns).replace('a', "t"));
            assert_eq!(found.as_deref().map_err(|error| *error), expected, "{room}");
        }
    }

    #[test]
    fn the_oldest_results_go_first_and_the_task_never() {
        check(1000, Ok("s300 r t900 r t900 r t300"));
        check(700, Ok("s300 r - r t900 r t300"));
        check(450, Ok("s300 r - r - r t300"));
        check(400, Ok("s300 r - r t300"));
        check(310, Ok("s300 r t300"));
        check(100, Err(TaskTooLong { tokens: 299 }));
    }

    #[test]
    fn the_newest_results_are_cut_short_where_nothing_else_is_left_to_go() {
        let id = "1".to_owned();
        let answer =
            |bytes: usize| CallAnswer { id: id.clone(), text: "x".repeat(bytes), is_error: false };
        let mut turns = conversation(&[900], true);
        turns.push(ConversationTurn::Replied(vec![json!({ "content": "y" })]));
        turns.push(ConversationTurn::Answered(vec![answer(6000), answer(100), answer(6000)]));
        fit(&mut turns, 50, 2000).unwrap();
        let Some(ConversationTurn::Answered(answers)) = turns.last() else { panic!("{turns:?}") };
        let lengths: Vec<usize> = answers.iter().map(|answer| answer.text.len()).collect();
        assert_eq!(lengths[1], 100, "{lengths:?}");
        assert!(lengths[0] > 1500 && lengths[0].abs_diff(lengths[2]) < 100, "{lengths:?}");
        assert!(answers[0].text.starts_with('x') && answers[0].text.ends_with('x'));
        // A task that does not fit by itself is told as that.
        let mut turns = conversation(&[], true);
        assert_eq!(fit(&mut turns, 50, 100), Err(TaskTooLong { tokens: 158 }));
    }

    #[test]
    fn what_cannot_be_made_to_fit_is_told() {
        check(100, Err(TaskTooLong { tokens: 299 }));
    }
}
