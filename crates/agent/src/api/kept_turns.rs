//! The turns of a session, kept as they are made, so that one that is cut off goes on where it was.
//!
//! A complete answer is kept before anything that it calls for is done, and what came of it after. So
//! a process that is killed loses the answer that it waits for and no other; calls that were in the
//! middle of being made are made again, which tools that serve such a session must bear.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use serde::{Deserialize, Serialize};

use super::CallForm;
use super::conversation::{ConversationTurn, ModelReply};
use super::repeats::RepeatedCalls;
use crate::TurnFiles;

/// One line of the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TurnLine {
    /// What the session was asked: turns of another question are not gone on from.
    Asked(String),
    /// A complete answer, nothing of which is done yet.
    Reply(ModelReply),
    /// What came of it, and how far the session is then.
    Done(Vec<ConversationTurn>, TurnCounts),
}

/// How far a session is, as far as it decides what happens next.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct TurnCounts {
    pub(super) turns: u32,
    pub(super) nudges: u32,
    pub(super) faults: u32,
    pub(super) calls: u32,
    #[serde(default)]
    pub(super) has_changed: bool,
    #[serde(default)]
    pub(super) repeated: RepeatedCalls,
    pub(super) last_input: u64,
    pub(super) longest_input: u64,
    pub(super) call_form: Option<CallForm>,
}

/// What earlier attempts at a session have come to.
#[derive(Default)]
pub(super) struct EarlierTurns {
    pub(super) turns: Vec<ConversationTurn>,
    pub(super) counts: TurnCounts,
    /// An answer that nothing is known to have come of.
    pub(super) reply: Option<ModelReply>,
}

/// Keeps turns where that is asked for, and does nothing where it is not.
#[derive(Default)]
pub(super) struct TurnKeeper {
    file: Option<File>,
}

impl TurnKeeper {
    /// Opens the file of this attempt, which begins with what earlier ones kept.
    pub(super) fn open(
        files: Option<&TurnFiles>,
        prompt: &str,
        mask: &dyn Fn(&str) -> String,
    ) -> (Self, EarlierTurns) {
        let Some(files) = files else { return Default::default() };
        let prompt = mask(prompt);
        // An attempt that was cut off while it copied has less than the one before it.
        let found = files.earlier.iter().map(|path| read(path, &prompt));
        let (lines, earlier) = found.max_by_key(|(lines, _)| lines.len()).unwrap_or_default();
        // A full disk must not end the session: it is only not gone on with.
        let mut keeper = Self { file: File::create(&files.file).ok() };
        keeper.add(&TurnLine::Asked(prompt), &str::to_owned);
        lines.iter().for_each(|line| keeper.write(line));
        (keeper, earlier)
    }

    pub(super) fn reply(&mut self, reply: &ModelReply, mask: &dyn Fn(&str) -> String) {
        if self.file.is_some() {
            self.add(&TurnLine::Reply(reply.clone()), mask);
        }
    }

    pub(super) fn done(
        &mut self,
        turns: &[ConversationTurn],
        counts: TurnCounts,
        mask: &dyn Fn(&str) -> String,
    ) {
        if self.file.is_some() {
            self.add(&TurnLine::Done(turns.to_vec(), counts), mask);
        }
    }

    fn add(&mut self, line: &TurnLine, mask: &dyn Fn(&str) -> String) {
        let text = serde_json::to_string(line).unwrap_or_default();
        self.write(&mask(&text));
    }

    fn write(&mut self, line: &str) {
        let Some(file) = &mut self.file else { return };
        if file.write_all(format!("{line}\n").as_bytes()).is_err() {
            self.file = None;
        }
    }
}

/// Reads what an attempt kept of the same question: its whole lines after the first, and what they
/// come to. A line that cannot be read ends it.
fn read(path: &std::path::Path, prompt: &str) -> (Vec<String>, EarlierTurns) {
    let (mut lines, mut earlier) = (Vec::new(), EarlierTurns::default());
    let Ok(file) = File::open(path) else { return (lines, earlier) };
    let mut all = BufReader::new(file).lines().map_while(Result::ok);
    let asked = all.next().and_then(|line| serde_json::from_str::<TurnLine>(&line).ok());
    if !matches!(asked, Some(TurnLine::Asked(asked)) if asked == prompt) {
        return (lines, earlier);
    }
    for line in all {
        match serde_json::from_str::<TurnLine>(&line) {
            Ok(TurnLine::Reply(reply)) => earlier.reply = Some(reply),
            Ok(TurnLine::Done(turns, counts)) => {
                earlier.turns.extend(turns);
                earlier.counts = counts;
                earlier.reply = None;
            }
            Ok(TurnLine::Asked(_)) | Err(_) => break,
        }
        lines.push(line);
    }
    if let Some(reply) = &earlier.reply {
        earlier.counts.turns += 1;
        earlier.counts.last_input = reply.usage.read_tokens();
        earlier.counts.longest_input = earlier.counts.longest_input.max(earlier.counts.last_input);
    }
    (lines, earlier)
}

#[cfg(test)]
mod tests {
    use spore_model::Usage;

    use super::super::conversation::StopReason;
    use super::*;

    fn reply(text: &str) -> ModelReply {
        ModelReply {
            text: text.to_owned(),
            thinking: String::new(),
            calls: Vec::new(),
            stop: StopReason::Done,
            usage: Usage { input_tokens: 7, ..Usage::default() },
            raw: Vec::new(),
        }
    }

    fn same(text: &str) -> String {
        text.to_owned()
    }

    #[test]
    fn an_attempt_begins_with_what_the_one_before_it_kept() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let files = |file: &str, earlier: &[&str]| TurnFiles {
            file: at(file),
            earlier: earlier.iter().map(|name| at(name)).collect(),
        };
        let (mut first, none) = TurnKeeper::open(Some(&files("1", &[])), "task", &same);
        assert_eq!((none.turns.len(), none.counts.turns), (0, 0));
        first.reply(&reply("one"), &same);
        let counts = TurnCounts { turns: 1, ..TurnCounts::default() };
        first.done(&[ConversationTurn::Said("go on".to_owned())], counts, &same);
        first.reply(&reply("two"), &same);

        let (_, second) = TurnKeeper::open(Some(&files("2", &["1"])), "task", &same);
        assert_eq!(second.turns.len(), 1);
        // The answer that nothing came of is not asked for again.
        assert_eq!(second.reply, Some(reply("two")));
        assert_eq!((second.counts.turns, second.counts.last_input), (2, 7));
        // The second attempt was cut off at once: what it copied is whole.
        let (_, third) = TurnKeeper::open(Some(&files("3", &["2", "1"])), "task", &same);
        assert_eq!((third.turns.len(), third.reply), (1, Some(reply("two"))));
    }

    #[test]
    fn turns_of_another_question_and_half_lines_are_not_gone_on_from() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("turns");
        let files = TurnFiles { file: file.clone(), earlier: Vec::new() };
        let (mut keeper, _) = TurnKeeper::open(Some(&files), "task", &same);
        keeper.reply(&reply("one"), &same);
        std::fs::OpenOptions::new()
            .append(true)
            .open(&file)
            .unwrap()
            .write_all(b"{\"reply\": {\"te")
            .unwrap();
        let again = TurnFiles { file: dir.path().join("again"), earlier: vec![file] };
        let (_, other) = TurnKeeper::open(Some(&again), "another task", &same);
        assert_eq!(other.reply, None);
        let (_, whole) = TurnKeeper::open(Some(&again), "task", &same);
        assert_eq!(whole.reply, Some(reply("one")));
    }

    #[test]
    fn what_is_kept_has_no_secret_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("turns");
        let files = TurnFiles { file: file.clone(), earlier: Vec::new() };
        let mask = |text: &str| text.replace("hunter22", "[secret]");
        let (mut keeper, _) = TurnKeeper::open(Some(&files), "say hunter22", &mask);
        keeper.reply(&reply("hunter22"), &mask);
        assert!(!std::fs::read_to_string(&file).unwrap().contains("hunter22"));
    }
}
