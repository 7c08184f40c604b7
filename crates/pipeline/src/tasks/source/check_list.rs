//! Markdown check lists: their boxes, what stands in fences and comments, and ticks.

use super::{SourceError, fault, means_nothing, task};
use crate::tasks::task::LoopTask;

/// Why boxes mean nothing on a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Hidden {
    No,
    Fence,
    Comment,
}

/// Returns what a person sees of each line on a rendered page, and whether it stands in a fence. A fence or
/// comment without an end would hide every box behind it, so it is refused.
pub(super) fn shown(text: &str) -> Result<Vec<(Hidden, String)>, SourceError> {
    let mut shown = Vec::new();
    // The marks of the fence that is open, and where it and a comment began.
    let mut fence: Option<(char, usize, usize)> = None;
    let mut comment: Option<usize> = None;
    let mut swallowed = false;
    for (at, line) in text.lines().enumerate() {
        if let Some((mark, count, _)) = fence {
            swallowed |= check_box(line).is_some();
            let marks = line.trim().chars().take_while(|c| *c == mark).count();
            if marks >= count && line.trim().len() == marks {
                (fence, swallowed) = (None, false);
            }
            shown.push((Hidden::Fence, line.to_owned()));
            continue;
        }
        let was_open = comment.is_some();
        let (seen, open) = uncommented(line, was_open);
        swallowed = open && (swallowed || was_open && check_box(line).is_some());
        comment = open.then(|| comment.unwrap_or(at));
        if was_open && seen.trim().is_empty() {
            shown.push((Hidden::Comment, String::new()));
            continue;
        }
        if !was_open && let Some((mark, count)) = fence_of(&seen) {
            fence = Some((mark, count, at));
            shown.push((Hidden::Fence, line.to_owned()));
            continue;
        }
        shown.push((Hidden::No, seen));
    }
    let open = fence.map(|(_, _, at)| ("fence", at)).or(comment.map(|at| ("comment", at)));
    match open {
        Some((what, at)) if swallowed => {
            let what = format!("this {what} has no end, and there are boxes behind it");
            Err(fault(at + 1, what))
        }
        _ => Ok(shown),
    }
}

/// Returns a line without what stands in comments, and whether one is still open at its end.
fn uncommented(line: &str, mut open: bool) -> (String, bool) {
    let mut seen = String::new();
    let mut rest = line;
    loop {
        let mark = if open { "-->" } else { "<!--" };
        let Some((before, behind)) = rest.split_once(mark) else {
            seen.push_str(if open { "" } else { rest });
            return (seen, open);
        };
        seen.push_str(if open { "" } else { before });
        (rest, open) = (behind, !open);
    }
}

/// Returns the marks that open a fence, and how many there are.
fn fence_of(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let count = line.chars().take_while(|c| *c == mark).count();
    // What stands behind back-ticks on one line is code within words where there are more of them.
    let is_fence = count >= 3 && (mark == '~' || !line[count..].contains('`'));
    is_fence.then_some((mark, count))
}

pub(super) fn check_list(shown: &[(Hidden, String)]) -> Result<Vec<LoopTask>, SourceError> {
    let mut tasks: Vec<LoopTask> = Vec::new();
    // How far the text of the task before is set in, while lines may still belong to it.
    let mut open: Option<usize> = None;
    for (at, (hidden, line)) in shown.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let of_task = open.is_some_and(|above| indent > above);
        match (hidden, check_box(line)) {
            (Hidden::Comment, _) => {}
            (Hidden::No, Some((ticked, words))) => {
                super::refuse_setting(at + 1, words.trim(), "a check list has none")?;
                tasks.push(LoopTask { ticked, ..task(at + 1, words.trim().to_owned()) });
                open = Some(indent);
            }
            (Hidden::No, None) if means_nothing(line) => open = None,
            (Hidden::No, None) if is_almost_box(line) => return Err(no_box(at + 1)),
            _ if of_task && !line.trim().is_empty() => {
                if *hidden == Hidden::No {
                    super::refuse_setting(at + 1, line.trim(), "a check list has none")?;
                }
                if let Some(last) = tasks.last_mut() {
                    last.text = format!("{} {}", last.text, line.trim()).trim().to_owned();
                }
            }
            (Hidden::Fence, _) if line.trim().is_empty() => {}
            _ => open = None,
        }
    }
    tasks.retain(|task| !task.text.is_empty());
    Ok(tasks)
}

pub(super) fn no_box(line: usize) -> SourceError {
    fault(
        line,
        "this begins like a box and is none: a task is `- [ ] words`, a done one `- [x] words`, with \
         a blank behind each part",
    )
}

/// Reads `- [ ] words`; returns whether the box is ticked, and the words.
pub(super) fn check_box(line: &str) -> Option<(bool, &str)> {
    let rest = behind_bullet(line)?.strip_prefix(' ')?.trim_start().strip_prefix('[')?;
    let mark = rest.chars().next()?;
    let words = rest[mark.len_utf8()..].strip_prefix(']')?;
    if !(words.is_empty() || words.starts_with(char::is_whitespace)) {
        return None;
    }
    match mark {
        ' ' => Some((false, words)),
        'x' | 'X' => Some((true, words)),
        _ => None,
    }
}

/// Returns what stands behind `-`, `*`, `+`, `1.` or `1)`.
fn behind_bullet(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match digits {
        0 => line.strip_prefix(['-', '*', '+']),
        _ => line[digits..].strip_prefix(['.', ')']),
    }
}

/// Returns whether a line that has no box was meant to have one. A link is none, and neither is the
/// number of a note.
pub(super) fn is_almost_box(line: &str) -> bool {
    if check_box(line).is_some() {
        return false;
    }
    let rest = behind_bullet(line).unwrap_or(line).trim_start();
    let Some((mark, words)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return false;
    };
    let mut letters = mark.trim().chars();
    let is_mark = match (letters.next(), letters.next()) {
        (None, _) => true,
        (Some(only), None) => matches!(only, 'x' | 'X') || !only.is_alphanumeric(),
        _ => false,
    };
    is_mark && !words.starts_with(['(', '[', ':'])
}

/// Returns a check list with the boxes of these tasks ticked. A line that is no open box any more
/// is left as it is.
pub fn ticked(text: &str, done: &dyn Fn(&LoopTask) -> bool) -> String {
    let Ok(list) = super::read_tasks(text) else { return text.to_owned() };
    let lines: Vec<u32> =
        list.tasks.iter().filter(|task| done(task)).map(|task| task.line).collect();
    let tick = |(at, line): (usize, &str)| {
        let is_done = lines.contains(&u32::try_from(at + 1).unwrap_or(u32::MAX));
        match check_box(line) {
            Some((false, _)) if is_done => line.replacen("[ ]", "[x]", 1),
            _ => line.to_owned(),
        }
    };
    text.split_inclusive('\n').enumerate().map(tick).collect()
}
