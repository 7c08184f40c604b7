//! What the tool loop does with answers whose calls are written as text.

use spore_model::Outcome;
use spore_tools::written::{self, HeldAnswer, WrittenAnswer, WrittenFault};

use super::CallForm;
use super::conversation::{ConversationTurn, ModelReply, RequestedCall, StopReason};
use super::tool_loop::ToolLoop;
use crate::AgentWatch;

const NOTHING_DONE: &str = "You have called no tool, so nothing was changed, whatever you say. \
                            Code that you only show is not saved. To save a file answer with \
                            nothing but a block that begins with `write` and its path, and holds \
                            every line of it. To look at one first answer with\n\n\
                            ```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"PATH\"}}\n```";

const KNOWN: &str = "You were told this before, and nothing has changed since.";

const CUT: &str =
    "Your answer was cut off at its longest, so nothing of it was done. Say less at once.";

impl ToolLoop<'_> {
    /// Reads the calls that are written in an answer; nothing where this model calls natively. A
    /// model that has called natively once is never read again: what it writes is prose.
    pub(super) fn written(&mut self, reply: &ModelReply) -> Option<WrittenAnswer> {
        if !reply.calls.is_empty() {
            self.call_form = CallForm::Native;
            return None;
        }
        match self.call_form {
            CallForm::Native => None,
            CallForm::Text => Some(written::read(&reply.text, &self.tools)),
            CallForm::Held => Some(self.held(&reply.text)),
            CallForm::Auto => {
                let read = written::read(&reply.text, &self.tools);
                let is_text = !read.calls.is_empty() || read.fault.is_some();
                if is_text {
                    self.call_form = CallForm::Text;
                }
                // A doubt is asked about, and says nothing of how this model calls. Nor does code that
                // is only shown, which small models take for work that is done.
                let is_shown = self.shows_only(reply);
                (is_text || read.doubt.is_some() || is_shown).then_some(read)
            }
        }
    }

    /// Returns whether a model on this machine, which has called nothing so far, shows a block of code
    /// where it should change a file.
    fn shows_only(&self, reply: &ModelReply) -> bool {
        self.settings.local.is_some()
            && reply.stop == StopReason::Done
            && !self.has_called()
            && self.can_write()
            && reply.text.contains("```")
    }

    fn held(&mut self, text: &str) -> WrittenAnswer {
        match written::read_held(text, &self.tools) {
            Ok(HeldAnswer::Call(call)) => {
                WrittenAnswer { calls: vec![call], ..WrittenAnswer::default() }
            }
            Ok(HeldAnswer::Done(text)) => {
                self.say_last(&text);
                WrittenAnswer::default()
            }
            Err(fault) => WrittenAnswer { fault: Some(fault), ..WrittenAnswer::default() },
        }
    }

    /// Makes the calls and tells what came of them; returns how the session ended, if it did.
    pub(super) fn go_on_written(
        &mut self,
        reply: ModelReply,
        read: WrittenAnswer,
        turns: &mut Vec<ConversationTurn>,
        watch: &mut dyn AgentWatch,
    ) -> Option<(Outcome, Option<String>)> {
        let (mut told, mut whole) = (Vec::new(), Vec::new());
        let is_cut = reply.stop == StopReason::Length;
        // Where a block of an answer that was cut off would have ended cannot be known.
        let calls = if is_cut { Vec::new() } else { read.calls };
        for (index, call) in calls.into_iter().enumerate() {
            let call = RequestedCall {
                id: format!("written_{index}"),
                name: call.name,
                arguments: Some(call.arguments),
            };
            let answer = self.call(&call, watch);
            let how = if answer.is_error { "failed" } else { "answers" };
            let shown =
                |text: &str| format!("{} {how}:\n\n{}", call.name, spore_plain::fenced("", text));
            match self.count_repeated(&call, &answer) {
                Some(known) => {
                    let note = self.next_step(&call);
                    let both = format!("{}\n\n{note}", shown(&answer.text));
                    // The model can still read what it was told, unless that had to make room.
                    let is_there = known.is_same && !self.room.has_left_out;
                    told.push(if is_there {
                        format!("{}: {note}", call.name)
                    } else {
                        both.clone()
                    });
                    whole.push(both);
                }
                None => {
                    told.push(shown(&answer.text));
                    whole.push(shown(&answer.text));
                }
            }
        }
        let withholds = told != whole;
        if self.has_result() {
            return Some((Outcome::Success, None));
        }
        if told.is_empty() && read.fault.is_none() && !is_cut {
            let Some(missing) = self.missing(read.doubt) else {
                return self.without_calls(reply, turns);
            };
            told.push(missing);
        }
        let fault = read.fault.map(|WrittenFault { line, why }| {
            format!("Line {line} of your answer: {why}. Nothing from there on was done.")
        });
        if let Some(reason) = self.gives_up(fault.as_deref(), is_cut) {
            return Some((Outcome::Partial, Some(reason)));
        }
        let more: Vec<String> = fault.into_iter().chain(is_cut.then(|| CUT.to_owned())).collect();
        let joined =
            |parts: &[String]| ConversationTurn::Told([parts, &more].concat().join("\n\n"));
        turns.push(ConversationTurn::Replied(reply.raw));
        turns.push(joined(&told));
        self.keep_whole(withholds.then(|| joined(&whole)));
        None
    }

    /// What a model is told that asks again for what it knows. A small one goes on asking where it is
    /// only told not to: it has to see the form of what it should do instead.
    fn next_step(&self, call: &RequestedCall) -> String {
        if !self.can_write() {
            return format!("{KNOWN} Make another call, or end where all is done.");
        }
        if self.has_changed() {
            return format!(
                "{KNOWN} If the task is done, end now: answer with one sentence and without any \
                 block. If it is not, change a file."
            );
        }
        let path = call.arguments.as_ref().and_then(|given| given.get("path")?.as_str());
        // A model is not led to write over the tests that it only read.
        if path.is_some_and(|path| path.to_lowercase().contains("test")) {
            return format!(
                "{KNOWN} Tests stay as they are: read or write the file that the task asks to change."
            );
        }
        format!(
            "{KNOWN} Asking again brings nothing. Change the file now: answer with nothing but a \
             block of this form, with every line of the file as it has to be:\n\n\
             ```write {}\n…\n```",
            path.unwrap_or("PATH")
        )
    }

    /// What a model is told, so often and no more, that answers without a call and is likely not
    /// to have meant that.
    fn missing(&mut self, doubt: Option<WrittenFault>) -> Option<String> {
        let is_idle = !self.has_called() && self.can_write();
        let told = match doubt {
            Some(WrittenFault { line, why }) => format!("Line {line} of your answer: {why}."),
            None if is_idle => NOTHING_DONE.to_owned(),
            None => return None,
        };
        self.nudges_once_more().then_some(told)
    }

    /// Counts answers in a row that could not be read, and says when there were too many.
    fn gives_up(&mut self, fault: Option<&str>, is_cut: bool) -> Option<String> {
        let faults = self.count_faults(fault.is_some() || is_cut);
        let why = fault.unwrap_or(CUT);
        (faults > self.settings.mends)
            .then(|| format!("it wrote no call that can be read, {faults} times in a row: {why}"))
    }
}
