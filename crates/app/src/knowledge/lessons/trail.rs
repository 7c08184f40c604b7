//! What happened in a run, written down for whoever sums it up.
//!
//! The figures are Spore's own: what was changed, what the checks and the verifier said. What
//! agents said is quoted, so that nothing in it can pass for a heading or an order of ours.

use std::fmt::Write;

use spore_context::{inline, quoted};
use spore_git::ChangedFile;
use spore_model::{Lesson, Ruling, Verdict};

use crate::base::title::title;
use crate::knowledge::line_counts::line_counts;

/// How much of what a coder said at the end of one bounce is quoted.
const WORDS_BYTES: usize = 2_000;
const REASON_BYTES: usize = 1_000;
const GATE_LINES: usize = 20;
const FINDINGS: usize = 10;
const FILES: usize = 60;
/// The whole, whatever happened: a run of many bounces is cut in its middle.
const MOST_BYTES: usize = 48 << 10;

/// A run that has ended.
pub(crate) struct Trail<'a> {
    pub(crate) task: &'a str,
    pub(crate) run: &'a str,
    /// How it ended, in a sentence of ours.
    pub(crate) ended: &'a str,
    /// Of the last bounce, against the base.
    pub(crate) files: &'a [ChangedFile],
    pub(crate) bounces: &'a [BounceTrail],
    /// Lessons that its task files carried.
    pub(crate) lessons: &'a [Lesson],
}

/// One bounce of it.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct BounceTrail {
    pub(crate) bounce: u32,
    /// Why it held or did not.
    pub(crate) reason: String,
    pub(crate) gates: Vec<String>,
    pub(crate) verdict: Option<Verdict>,
    /// The coder's last message.
    pub(crate) coder_said: String,
}

impl Trail<'_> {
    /// Returns the task file of the summarizer.
    pub(crate) fn task_file(&self) -> String {
        let mut text = format!(
            "# {}\n\nRun {}, to be summed up.\n\n## Task\n\n{}\n\n## How it ended\n\n{}\n",
            title(self.task),
            self.run,
            self.task.trim(),
            inline(self.ended, REASON_BYTES)
        );
        text.push_str(&self.changed());
        text.push_str(&within(self.bounces.iter().map(bounce_text).collect(), MOST_BYTES));
        text.push_str(&self.carried());
        text
    }

    fn changed(&self) -> String {
        let mut text = String::from("\n## What was changed\n\n");
        if self.files.is_empty() {
            text.push_str("Nothing was.\n");
        }
        for file in self.files.iter().take(FILES) {
            let _ = writeln!(text, "- `{}`{}", inline(&file.path, 300), line_counts(file));
        }
        if let Some(more) = self.files.len().checked_sub(FILES).filter(|more| *more > 0) {
            let _ = writeln!(text, "- … and {more} more");
        }
        text
    }

    fn carried(&self) -> String {
        if self.lessons.is_empty() {
            return String::new();
        }
        let mut text = String::from("\n## Lessons the run was given\n\n");
        for lesson in self.lessons {
            let _ = write!(
                text,
                "- `{}`: {}\n  - seen: {}\n  - what helped: {}\n",
                lesson.id.short(),
                inline(&lesson.title, 200),
                inline(&lesson.pattern, 400),
                inline(&lesson.fix, 400)
            );
        }
        text
    }
}

fn bounce_text(bounce: &BounceTrail) -> String {
    let mut text = format!("\n## Bounce {}\n\n", bounce.bounce);
    if !bounce.reason.is_empty() {
        let _ = write!(text, "How it ended:\n\n{}\n", quoted(&cut(&bounce.reason, REASON_BYTES)));
    }
    if !bounce.gates.is_empty() {
        text.push_str("Checks:\n\n");
        for line in bounce.gates.iter().take(GATE_LINES) {
            let _ = writeln!(text, "- {}", inline(line, 300));
        }
        text.push('\n');
    }
    if let Some(verdict) = &bounce.verdict {
        text.push_str(&verdict_text(verdict));
    }
    let words = bounce.coder_said.trim();
    if !words.is_empty() {
        let _ = write!(text, "The coder's last words:\n\n{}", quoted(&cut(words, WORDS_BYTES)));
    }
    text
}

fn verdict_text(verdict: &Verdict) -> String {
    let ruling = match verdict.ruling {
        Ruling::Supports => "supports",
        Ruling::Contradicts => "contradicts",
        Ruling::Unknown => "could not tell",
    };
    let mut text = format!("The verifier: {ruling}\n\n");
    let mut words = verdict.reason.clone();
    for finding in verdict.findings.iter().take(FINDINGS) {
        let _ = write!(words, "\n{finding}");
    }
    if !words.trim().is_empty() {
        let _ = writeln!(text, "{}", quoted(&cut(&words, 2 * REASON_BYTES)));
    }
    text
}

fn cut(text: &str, most: usize) -> std::borrow::Cow<'_, str> {
    spore_plain::cut(text.trim_end(), most)
}

/// Joins parts; where they are too long together, those in the middle are left out and said.
fn within(parts: Vec<String>, most: usize) -> String {
    let total: usize = parts.iter().map(String::len).sum();
    if total <= most {
        return parts.concat();
    }
    let (mut first, mut last) = (None, Vec::new());
    let mut room = most;
    let all = parts.len();
    let mut parts = std::collections::VecDeque::from(parts);
    // The last bounces say most, the first one says what was tried at all.
    if let Some(part) = parts.pop_front().filter(|part| part.len() <= room) {
        room -= part.len();
        first = Some(part);
    }
    while let Some(part) = parts.pop_back().filter(|part| part.len() <= room) {
        room -= part.len();
        last.push(part);
    }
    let left_out = all - last.len() - usize::from(first.is_some());
    last.reverse();
    format!("{}\n({left_out} bounces left out)\n{}", first.unwrap_or_default(), last.concat())
}
