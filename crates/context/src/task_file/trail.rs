//! What happened in a run, for the role that sums it up.
//!
//! The figures are Spore's own: what was changed, what the checks and the verifier said. What
//! agents said is quoted, so that nothing in it can pass for a heading or an order of Spore's.

use std::collections::VecDeque;
use std::fmt::Write;

use spore_model::{Lesson, Ruling, Verdict};

use crate::options::TrailLimits;
use crate::quoting::{inline, quoted};

/// Bytes of a path, of a line about a check and of each part of a lesson: bounds on foreign
/// text.
const PATH_BYTES: usize = 300;
const CHECK_BYTES: usize = 300;
const TITLE_BYTES: usize = 200;
const LESSON_BYTES: usize = 400;

/// A run that has ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RunTrail<'a> {
    /// How it ended, in a sentence of Spore's.
    pub ended: &'a str,
    /// Of the last bounce, against the base.
    pub files: &'a [ChangeSize],
    pub bounces: &'a [BounceTrail],
    /// Lessons that its task files carried.
    pub lessons: &'a [Lesson],
}

/// A file that was changed, and how much.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeSize {
    pub path: String,
    /// Lines added and removed; none for a file that has no lines.
    pub lines: Option<(u32, u32)>,
}

/// One bounce of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BounceTrail {
    pub bounce: u32,
    /// Why it held or did not.
    pub reason: String,
    pub gates: Vec<String>,
    pub verdict: Option<Verdict>,
    /// The coder's last message.
    pub coder_said: String,
}

impl RunTrail<'_> {
    /// Writes the trail as one section of a task file.
    pub(super) fn section(&self, limits: TrailLimits) -> String {
        let mut text = format!(
            "\n## Implementation to Summarize\n\nHow the run ended: {}\n",
            inline(self.ended, limits.reason_bytes)
        );
        text.push_str(&self.changed(limits.files));
        let bounces = self.bounces.iter().map(|bounce| bounce.text(limits)).collect();
        text.push_str(&within(bounces, limits.bytes));
        text.push_str(&self.lessons());
        text
    }

    fn changed(&self, most: usize) -> String {
        let mut text = String::from("\n### What Was Changed\n\n");
        if self.files.is_empty() {
            text.push_str("Nothing was.\n");
        }
        for ChangeSize { path, lines } in self.files.iter().take(most) {
            let _ = write!(text, "- `{}`", inline(path, PATH_BYTES));
            if let Some((added, removed)) = lines {
                let _ = write!(text, " (+{added} −{removed})");
            }
            text.push('\n');
        }
        if let Some(more) = self.files.len().checked_sub(most).filter(|more| *more > 0) {
            let _ = writeln!(text, "- … and {more} more");
        }
        text
    }

    fn lessons(&self) -> String {
        if self.lessons.is_empty() {
            return String::new();
        }
        let mut text = String::from("\n### Lessons the Run Was Given\n\n");
        for lesson in self.lessons {
            let _ = write!(
                text,
                "- `{}`: {}\n  - seen: {}\n  - what helped: {}\n",
                lesson.id.short(),
                inline(&lesson.title, TITLE_BYTES),
                inline(&lesson.pattern, LESSON_BYTES),
                inline(&lesson.fix, LESSON_BYTES)
            );
        }
        text
    }
}

impl BounceTrail {
    fn text(&self, limits: TrailLimits) -> String {
        let mut text = format!("\n### Bounce {}\n\n", self.bounce);
        if !self.reason.is_empty() {
            let reason = quoted(beginning(&self.reason, limits.reason_bytes));
            let _ = write!(text, "How it ended:\n\n{reason}\n");
        }
        if !self.gates.is_empty() {
            text.push_str("Checks:\n\n");
            for line in self.gates.iter().take(limits.checks) {
                let _ = writeln!(text, "- {}", inline(line, CHECK_BYTES));
            }
            text.push('\n');
        }
        if let Some(verdict) = &self.verdict {
            text.push_str(&verdict_text(verdict, limits));
        }
        let message = self.coder_said.trim();
        if !message.is_empty() {
            let message = quoted(beginning(message, limits.message_bytes));
            let _ = write!(text, "The coder's last words:\n\n{message}");
        }
        text
    }
}

fn verdict_text(verdict: &Verdict, limits: TrailLimits) -> String {
    let ruling = match verdict.ruling {
        Ruling::Supports => "supports",
        Ruling::Contradicts => "contradicts",
        Ruling::Unknown => "could not tell",
    };
    let mut text = format!("The verifier: {ruling}\n\n");
    let mut said = verdict.reason.clone();
    for finding in verdict.findings.iter().take(limits.findings) {
        let _ = write!(said, "\n{finding}");
    }
    if !said.trim().is_empty() {
        let _ = writeln!(text, "{}", quoted(beginning(&said, 2 * limits.reason_bytes)));
    }
    text
}

fn beginning(text: &str, most: usize) -> &str {
    text[..text.floor_char_boundary(most.min(text.len()))].trim_end()
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
    let mut parts = VecDeque::from(parts);
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
