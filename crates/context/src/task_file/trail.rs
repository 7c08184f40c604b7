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

#[cfg(test)]
mod tests {
    use spore_model::{Finding, LessonRecord, NodeId, Timestamp, VerdictSource};

    use super::*;
    use crate::options::tests::LIMITS;

    fn bounce(number: u32, coder_said: &str) -> BounceTrail {
        BounceTrail { bounce: number, coder_said: coder_said.into(), ..BounceTrail::default() }
    }

    fn trail(bounces: &[BounceTrail]) -> RunTrail<'_> {
        RunTrail { ended: "verified", files: &[], bounces, lessons: &[] }
    }

    #[test]
    fn a_long_run_is_told_by_its_first_and_last_bounces() {
        let bounces: Vec<BounceTrail> =
            (1..=60).map(|number| bounce(number, &"wörter ".repeat(2_000))).collect();
        let text = trail(&bounces).section(LIMITS.trail);
        assert!(text.len() < 60_000, "{}", text.len());
        assert!(text.contains("### Bounce 1\n") && text.contains("### Bounce 60\n"));
        assert!(text.contains("bounces left out"));
    }

    #[test]
    fn parts_in_the_middle_are_left_out_first() {
        #[track_caller]
        fn check(most: usize, expected: &str) {
            let parts = ["aaaa", "bbbb", "cccc", "dddd"].map(str::to_owned);
            assert_eq!(within(parts.to_vec(), most), expected, "{most}");
        }
        check(16, "aaaabbbbccccdddd");
        check(15, "aaaa\n(1 bounces left out)\nccccdddd");
        check(9, "aaaa\n(2 bounces left out)\ndddd");
        check(4, "aaaa\n(3 bounces left out)\n");
        check(0, "\n(4 bounces left out)\n");
    }

    #[test]
    fn each_list_is_as_long_as_its_limit_and_says_what_is_missing() {
        let size = |path: &str| ChangeSize { path: path.into(), lines: Some((1, 0)) };
        let files = [size("a.rs"), size("b.rs"), size("c.rs")];
        let gates = vec!["one: green".to_owned(), "two: green".to_owned()];
        let finding = |line| Finding { file: None, line: Some(line), message: "wrong".into() };
        let verdict = Verdict {
            ruling: Ruling::Unknown,
            reason: "a very long reason".into(),
            confidence: 0.1,
            source: VerdictSource::Block,
            findings: vec![finding(1), finding(2)],
        };
        let bounces = [BounceTrail { gates, verdict: Some(verdict), ..bounce(1, "well\ndone") }];
        let trail = RunTrail { files: &files, ..trail(&bounces) };
        let limits = TrailLimits {
            message_bytes: 4,
            reason_bytes: 10,
            files: 1,
            checks: 1,
            findings: 0,
            ..LIMITS.trail
        };
        insta::assert_snapshot!(trail.section(limits), @r"
        ## Implementation to Summarize

        How the run ended: verified

        ### What Was Changed

        - `a.rs` (+1 −0)
        - … and 2 more

        ### Bounce 1

        Checks:

        - one: green

        The verifier: could not tell

        > a very long reason

        The coder's last words:

        > well
        ");
    }

    #[test]
    fn lessons_are_named_by_their_ids_and_open_no_section() {
        let lesson = Lesson {
            id: NodeId::from_parts(1, 2),
            title: "Rounding twice\n## Task".into(),
            pattern: "A sum was rounded twice".into(),
            fix: "Round once".into(),
            scope: Vec::new(),
            evidence: String::new(),
            run: None,
            created: Timestamp::from_millis(0),
            record: LessonRecord::default(),
        };
        let lessons = [lesson];
        let told = RunTrail { lessons: &lessons, ..trail(&[]) };
        insta::assert_snapshot!(told.section(LIMITS.trail), @r"
        ## Implementation to Summarize

        How the run ended: verified

        ### What Was Changed

        Nothing was.

        ### Lessons the Run Was Given

        - `00000002`: Rounding twice ## Task
          - seen: A sum was rounded twice
          - what helped: Round once
        ");
    }
}
