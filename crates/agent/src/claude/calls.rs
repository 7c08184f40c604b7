//! The calls to the model, as far as the lines of a session tell of them.
//!
//! An assistant's line names the tokens that were known when the answer began: the input is
//! right, the output is 1. What the answer used comes with the pieces of it, at its end. So a
//! call is counted when its last piece came; one whose end was not heard is estimated, and the
//! estimate has bounds.

use std::collections::HashMap;

use spore_model::Usage;

use crate::CallsCounted;

/// Tokens that the first call reads where nothing is told: instructions, tools and the task.
const FIRST_CONTEXT: u64 = 20_000;

/// The most tokens that one call can read.
const WINDOW: u64 = 1_000_000;

/// Tokens that a call may have written without a line of it: thinking that is not shown.
const UNHEARD: u64 = 8_000;

/// Who calls: the session itself under `None`, subagents by the call that started them.
type Speaker = Option<String>;

#[derive(Debug, Default)]
pub(super) struct ModelCalls {
    /// Tokens of the calls that are over: estimated, at least and at most.
    over: Usage,
    least: Usage,
    most: Usage,
    open: HashMap<Speaker, OpenCall>,
    /// A call is over whose tokens are an estimate.
    is_guessed: bool,
    /// The program said that it asks the model, and no answer has begun.
    is_asking: bool,
    /// The model has all that it asked for, so that the next call may be on its way before the
    /// program says so.
    is_due: bool,
    /// The session's own last call, and what was printed after it: both are in the next one.
    last: Usage,
    since: u64,
    /// Calls of the session itself.
    pub(super) own: u32,
    /// Their answers come in pieces, so that each call is known by its first one.
    pub(super) come_in_pieces: bool,
}

/// A call whose answer has begun.
#[derive(Debug, Default)]
struct OpenCall {
    usage: Usage,
    /// Bytes of what was said in it.
    said: u64,
    comes_in_pieces: bool,
    /// Its tokens are known: the last piece of the answer was heard.
    is_counted: bool,
}

/// What is known of a session's tokens.
pub(super) struct CallCount {
    pub(super) usage: Usage,
    pub(super) bounds: Option<(Usage, Usage)>,
    pub(super) counted: CallsCounted,
}

impl ModelCalls {
    /// The program asks the model now.
    pub(super) fn asks(&mut self) {
        self.is_asking = true;
        self.is_due = false;
    }

    /// Nothing is missing for the next call, which the program makes unless it ends now.
    pub(super) fn is_next(&mut self) {
        self.is_due = true;
    }

    /// The program ended by itself: what it did not say that it asks it did not ask.
    pub(super) fn no_more(&mut self) {
        self.is_due = false;
    }

    /// A line of so many bytes was printed: its content may be part of the next call.
    pub(super) fn printed(&mut self, bytes: usize) {
        self.since = self.since.saturating_add(bytes as u64);
    }

    /// An answer begins: with its first piece, or with a line of its own where no pieces come.
    pub(super) fn begins(&mut self, speaker: &Speaker, usage: Usage, comes_in_pieces: bool) {
        let _ = self.ends(speaker);
        if speaker.is_none() {
            self.is_asking = false;
            self.is_due = false;
            self.own += 1;
            self.come_in_pieces |= comes_in_pieces;
        }
        let usage = Usage { output_tokens: 0, ..usage };
        self.open
            .insert(speaker.clone(), OpenCall { usage, comes_in_pieces, ..OpenCall::default() });
    }

    /// Part of the answer was said.
    pub(super) fn says(&mut self, speaker: &Speaker, text: &str) {
        if let Some(call) = self.open.get_mut(speaker) {
            call.said = call.said.saturating_add(text.len() as u64);
        }
    }

    /// The answer tells what it used. Its last piece may name the output alone.
    pub(super) fn counts(&mut self, speaker: &Speaker, told: Usage) {
        if let Some(call) = self.open.get_mut(speaker) {
            let known = call.usage;
            call.usage = if told.read_tokens() > 0 {
                told
            } else {
                Usage { output_tokens: told.output_tokens, ..known }
            };
            call.is_counted = true;
        }
    }

    /// The answer is over. Returns its tokens, where they are known.
    pub(super) fn ends(&mut self, speaker: &Speaker) -> Option<Usage> {
        let call = self.open.remove(speaker)?;
        let (usage, least, most) = call.range();
        self.over = self.over + usage;
        self.least = self.least + least;
        self.most = self.most + most;
        self.is_guessed |= !call.is_counted;
        if speaker.is_none() {
            self.last = usage;
            self.since = 0;
        }
        call.is_counted.then_some(usage)
    }

    /// The model refused to answer, which costs nothing.
    pub(super) fn refused(&mut self) {
        self.is_asking = false;
        self.is_due = false;
    }

    /// Tells whether the session waits for an answer, or is in the middle of one.
    pub(super) fn is_in_flight(&self) -> bool {
        let is_open = |call: &OpenCall| call.comes_in_pieces && !call.is_counted;
        self.is_asking || self.open.get(&None).is_some_and(is_open)
    }

    /// Tells whether any call is known to have been made, or to be on its way.
    pub(super) fn any(&self) -> bool {
        self.is_asking || !self.open.is_empty() || self.most != Usage::default() || self.own > 0
    }

    pub(super) fn count(&self) -> CallCount {
        let (mut usage, mut least, mut most) = (self.over, self.least, self.most);
        for call in self.open.values() {
            let (about, low, high) = call.range();
            (usage, least, most) = (usage + about, least + low, most + high);
        }
        let is_open = self.open.values().any(|call| !call.is_counted);
        let is_unheard = self.is_asking || self.is_due;
        if is_unheard {
            // Nothing is heard of a call that was only sent. It may have cost nothing.
            let (about, high) = self.unheard();
            (usage, most) = (usage + about, most + high);
        }
        if !self.any() {
            return CallCount { usage, bounds: None, counted: CallsCounted::NoneMade };
        }
        if is_open || is_unheard || self.is_guessed {
            let counted = CallsCounted::InDoubt;
            return CallCount { usage, bounds: Some((least, most)), counted };
        }
        CallCount { usage, bounds: None, counted: CallsCounted::All }
    }

    /// What a call of the session itself reads of which nothing was heard: about, and at most.
    fn unheard(&self) -> (Usage, Usage) {
        let before = self.last.read_tokens().saturating_add(self.last.output_tokens);
        let input = |tokens: u64| Usage { input_tokens: tokens.min(WINDOW), ..Usage::default() };
        if before == 0 {
            let most = Usage { output_tokens: UNHEARD, ..input(WINDOW) };
            return (input(FIRST_CONTEXT), most);
        }
        let most = input(before.saturating_add(self.since).saturating_add(FIRST_CONTEXT));
        (input(before.saturating_add(self.since / 4)), Usage { output_tokens: UNHEARD, ..most })
    }
}

impl OpenCall {
    /// Its tokens: about, at least, at most.
    fn range(&self) -> (Usage, Usage, Usage) {
        if self.is_counted {
            return (self.usage, self.usage, self.usage);
        }
        let output = |tokens: u64| Usage { output_tokens: tokens, ..self.usage };
        (output(self.said.div_ceil(4)), output(1), output(self.said.saturating_add(UNHEARD)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(input: u64, output: u64) -> Usage {
        Usage { input_tokens: input, output_tokens: output, ..Usage::default() }
    }

    fn whole(calls: &mut ModelCalls, input: u64, output: u64) {
        calls.asks();
        calls.begins(&None, used(input, 1), true);
        calls.says(&None, "four letters");
        calls.counts(&None, used(0, output));
        assert_eq!(calls.ends(&None), Some(used(input, output)));
    }

    #[test]
    fn a_call_counts_as_its_last_piece_says() {
        let mut calls = ModelCalls::default();
        assert_eq!(calls.count().counted, CallsCounted::NoneMade);
        whole(&mut calls, 100, 50);
        whole(&mut calls, 200, 60);
        let count = calls.count();
        assert_eq!((count.usage, count.bounds, calls.own), (used(300, 110), None, 2));
        assert_eq!(count.counted, CallsCounted::All);
        assert!(!calls.is_in_flight());
    }

    #[test]
    fn a_call_in_flight_is_an_estimate_within_bounds() {
        let mut calls = ModelCalls::default();
        whole(&mut calls, 100, 50);
        calls.printed(400);
        calls.asks();
        let sent = calls.count();
        assert_eq!(sent.counted, CallsCounted::InDoubt);
        assert_eq!(sent.usage, used(100 + 150 + 100, 50));
        let (least, most) = sent.bounds.unwrap();
        assert_eq!(least, used(100, 50));
        assert_eq!(most, used(100 + 150 + 400 + FIRST_CONTEXT, 50 + UNHEARD));

        calls.begins(&None, used(260, 1), true);
        calls.says(&None, "eight letters");
        let begun = calls.count();
        assert_eq!(begun.usage, used(360, 50 + 4));
        assert_eq!(begun.bounds, Some((used(360, 51), used(360, 50 + 13 + UNHEARD))));
        assert!(calls.is_in_flight());
    }

    #[test]
    fn a_call_that_nothing_is_missing_for_may_have_been_made() {
        let mut calls = ModelCalls::default();
        whole(&mut calls, 100, 50);
        calls.printed(400);
        calls.is_next();
        let due = calls.count();
        assert_eq!(due.counted, CallsCounted::InDoubt);
        assert_eq!(due.bounds.unwrap().0, used(100, 50));
        // It is the one that the program then says that it makes, and not another one.
        calls.asks();
        assert_eq!(calls.count().usage, due.usage);
        whole(&mut calls, 200, 60);
        assert_eq!(calls.count().counted, CallsCounted::All);
        // A program that ends instead has made none.
        calls.is_next();
        calls.no_more();
        assert_eq!(
            (calls.count().counted, calls.count().usage),
            (CallsCounted::All, used(300, 110))
        );
    }

    #[test]
    fn what_the_model_refused_costs_nothing() {
        let mut calls = ModelCalls::default();
        calls.asks();
        assert_eq!(calls.count().counted, CallsCounted::InDoubt);
        calls.refused();
        assert_eq!(calls.count().counted, CallsCounted::NoneMade);
        assert_eq!(calls.count().usage, Usage::default());
    }

    #[test]
    fn an_answer_that_comes_whole_is_estimated_and_not_in_flight() {
        let mut calls = ModelCalls::default();
        let subagent = Some("call".to_owned());
        calls.begins(&None, used(10, 1), false);
        calls.begins(&subagent, used(20, 1), false);
        calls.says(&subagent, "12345678");
        assert!(!calls.is_in_flight());
        assert_eq!((calls.own, calls.count().usage), (1, used(30, 2)));
        assert_eq!(calls.count().counted, CallsCounted::InDoubt);
    }
}
