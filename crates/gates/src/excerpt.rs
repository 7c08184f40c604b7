//! The part of a log that the next attempt needs.
//!
//! Runners explain themselves in two places: where something failed, and at the end. So the
//! end gets half of the room and the failures, first ones first, get the rest. What is left
//! out is marked where it was, with its size, so that the excerpt is not taken for the whole.

use std::collections::BTreeSet;

use crate::report::plain_text;

/// How many lines behind a telling one belong to it: a compiler's arrow and code, an
/// assertion's two sides.
const LINES_AFTER: usize = 5;
/// What one line may take: a longer one is data, not prose.
const LINE_BYTES: usize = 400;
/// What a marker takes at most.
const MARKER_BYTES: usize = 48;
/// With less room than this, markers would be all there is.
const LEAST_BYTES: usize = 400;

/// Returns at most `max_bytes` of `log`, as text without colours.
pub fn excerpt(log: &[u8], max_bytes: usize) -> String {
    let text = plain_text(log);
    if text.len() <= max_bytes {
        return text;
    }
    if max_bytes < LEAST_BYTES {
        return text[text.ceil_char_boundary(text.len() - max_bytes)..].to_owned();
    }
    let line_bytes = LINE_BYTES.min(max_bytes / 4);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let kept = choose(&lines, max_bytes, line_bytes);
    let mut excerpt = String::new();
    let mut left_out = 0;
    for (index, line) in lines.iter().enumerate() {
        if kept.contains(&index) {
            mark(&mut excerpt, left_out);
            left_out = 0;
            push_line(&mut excerpt, line, line_bytes);
        } else {
            left_out += line.len();
        }
    }
    excerpt
}

fn choose(lines: &[&str], max_bytes: usize, line_bytes: usize) -> BTreeSet<usize> {
    let cost = |line: &str| line.len().min(line_bytes + MARKER_BYTES);
    let mut kept = BTreeSet::new();
    // The marker is the one between the failures and the end.
    let mut room = max_bytes - MARKER_BYTES;
    let mut tail = lines.len();
    let mut tail_room = max_bytes / 2;
    while tail > 0 && cost(lines[tail - 1]) <= tail_room {
        tail -= 1;
        tail_room -= cost(lines[tail]);
        room -= cost(lines[tail]);
        kept.insert(tail);
    }
    let mut covered = 0;
    for index in (0..tail).filter(|&index| is_telling(lines[index])) {
        let first = index.max(covered);
        for line in &lines[first..tail.min(index + 1 + LINES_AFTER).max(first)] {
            let next = index.max(covered);
            let gap = if next == covered { 0 } else { MARKER_BYTES };
            let Some(left) = room.checked_sub(cost(line) + gap) else { return kept };
            room = left;
            kept.insert(next);
            covered = next + 1;
        }
    }
    kept
}

fn is_telling(line: &str) -> bool {
    let line = line.trim();
    let starts = [
        "error",
        "FAILED ",
        "FAIL: ",
        "ERROR",
        "E  ",
        "thread '",
        "Traceback",
        "---- ",
        "not ok ",
        "--- FAIL: ",
        "FAIL\t",
        "FAIL ",
        "panic: ",
        "● ",
        "✕ ",
        "✖ ",
        "× ",
        "[ERROR] ",
    ];
    let holds = [
        "panicked at",
        "... FAILED",
        "assertion ",
        "AssertionError",
        ": error",
        "fatal:",
        "***Failed",
        "***Exception",
        "> FAILED",
        " FAILED",
    ];
    starts.iter().any(|start| line.starts_with(start))
        || holds.iter().any(|part| line.contains(part))
}

fn push_line(excerpt: &mut String, line: &str, line_bytes: usize) {
    if line.len() <= line_bytes + MARKER_BYTES {
        excerpt.push_str(line);
        return;
    }
    let cut = line.floor_char_boundary(line_bytes - 1);
    excerpt.push_str(&line[..cut]);
    excerpt.push(' ');
    mark(excerpt, line.len() - cut);
}

fn mark(excerpt: &mut String, left_out: usize) {
    if left_out > 0 {
        excerpt.push_str(&format!("[… {left_out} bytes left out …]\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_log_is_its_own_excerpt() {
        assert_eq!(excerpt(b"\x1b[31mred\x1b[0m\n", 100), "red\n");
        assert_eq!(excerpt(b"", 0), "");
    }

    #[test]
    fn failures_and_the_end_are_kept_and_the_rest_is_marked() {
        let log = format!(
            "{}error[E0308]: mismatched types\n --> src/lib.rs:5:13\n{}test result: FAILED\n",
            "   Compiling something\n".repeat(100),
            "test tests::one_of_many ... ok\n".repeat(100),
        );
        let short = excerpt(log.as_bytes(), 600);
        let lines: Vec<&str> = short.lines().collect();
        assert_eq!(lines[0], "[… 2300 bytes left out …]");
        assert_eq!(lines[1], "error[E0308]: mismatched types");
        assert_eq!(lines[2], " --> src/lib.rs:5:13");
        assert_eq!(lines.iter().filter(|line| line.contains("left out")).count(), 2);
        assert_eq!(lines.last(), Some(&"test result: FAILED"));
    }

    #[test]
    fn no_excerpt_is_too_long_or_cut_inside_a_character() {
        let log = "error: größer … als erwartet\nE   assert 'ß' == 'ss'\nzwölf Zeilen ohne Sinn\n"
            .repeat(60);
        let one_line = "ß".repeat(3000);
        for log in [log.as_str(), one_line.as_str(), "\n\n\n\n\n\n\n\n"] {
            for max_bytes in 0..1200 {
                let short = excerpt(log.as_bytes(), max_bytes);
                assert!(short.len() <= max_bytes, "{max_bytes}");
                assert!(short.len() + 3 >= max_bytes / 4 || log.len() < max_bytes, "{short}");
            }
        }
    }

    #[test]
    fn a_long_line_does_not_push_out_the_others() {
        let log = format!("{}\nFAILED tests/test_a.py::test_b - no\n", "x".repeat(100_000));
        let short = excerpt(log.as_bytes(), 1000);
        assert!(short.contains("bytes left out"), "{short}");
        assert!(short.ends_with("FAILED tests/test_a.py::test_b - no\n"), "{short}");
    }
}
