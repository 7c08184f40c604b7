//! The settings that a block begins with, and what only looks like one.

use spore_model::Usd;

use super::MOST_NAME;
use crate::tasks::task::LoopTask;

pub(super) const SETTINGS: [&str; 9] =
    ["id", "after", "touches", "budget", "backend", "model", "gates", "max_bounces", "fix_red"];

/// Reads `name: value`, however its name is written.
pub(super) fn setting(line: &str) -> Option<(&'static str, &str)> {
    let (key, value) = line.split_once(':')?;
    let key = SETTINGS.into_iter().find(|name| key.trim().eq_ignore_ascii_case(name))?;
    Some((key, value.trim()))
}

/// Returns what a line would set that is written like a setting and is none: a plain name and values
/// without blanks, or a name that is all but one of ours.
pub(super) fn looks_like_setting(line: &str) -> Option<&str> {
    let (key, value) = line.split_once(':')?;
    let key = key.trim();
    let is_plain = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '-');
    let is_name = !key.is_empty() && key.chars().all(is_plain);
    // `see: https://…` is prose, and so is a name with two colons in it.
    let is_address = value.contains("//") || value.starts_with(':');
    let is_meant = is_mistyped(key) || is_one_word(value.trim());
    (is_name && !is_address && is_meant).then_some(key)
}

/// Returns whether a name is one letter away from that of a setting, or has another sign in it.
fn is_mistyped(key: &str) -> bool {
    let key = key.to_ascii_lowercase().replace('-', "_");
    SETTINGS.iter().any(|name| name.len() > 3 && is_one_away(&key, name))
}

fn is_one_away(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[same..], &other[same..]);
    let without_first = |letters: &[u8]| letters.get(1..).unwrap_or_default().to_vec();
    let is_swapped = matches!((one, other), ([a, b, x @ ..], [c, d, y @ ..])
        if a == d && b == c && x == y);
    without_first(one) == other
        || one == without_first(other)
        || without_first(one) == without_first(other)
        || is_swapped
}

/// Returns whether a value is one word, or several with commas between them.
pub(super) fn is_one_word(value: &str) -> bool {
    let parts: Vec<&str> =
        in_brackets(value).split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    !parts.is_empty() && !parts.iter().any(|part| part.contains(char::is_whitespace))
}

pub(super) fn settle(task: &mut LoopTask, key: &str, value: &str) -> Result<(), String> {
    if value.is_empty() {
        return Err(format!("`{key}` has no value"));
    }
    match key {
        "id" => {
            check_name(value)?;
            (task.id, task.named) = (value.to_owned(), true);
        }
        "after" => task.after = listed(value),
        "touches" => task.touches = listed(value),
        "gates" => task.gates.extend(commands(value)?),
        "backend" => task.backend = Some(value.to_owned()),
        "model" => task.model = Some(value.to_owned()),
        "budget" => task.budget = Some(dollars(value)?),
        "fix_red" => task.fix_red = value.parse().map_err(|_| "`fix_red` is `true` or `false`")?,
        _ => {
            let bounces = value.parse().ok().filter(|bounces| *bounces > 0);
            task.max_bounces = Some(bounces.ok_or("`max_bounces` is a number from 1")?);
        }
    }
    Ok(())
}

pub(super) fn dollars(value: &str) -> Result<Usd, String> {
    let dollars = value.trim_start_matches('$').parse().ok().and_then(Usd::from_dollars);
    let positive = dollars.filter(|usd| *usd > Usd::ZERO);
    positive.ok_or_else(|| "`budget` is an amount of dollars such as 2.50".to_owned())
}

fn in_brackets(value: &str) -> &str {
    value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(value)
}

/// Reads `a, b`, `a b` or `[a, b]`; what is quoted may have blanks and commas in it.
fn listed(value: &str) -> Vec<String> {
    let (mut parts, mut part, mut quote) = (Vec::new(), String::new(), None);
    for c in in_brackets(value).chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '"' | '\'') && part.is_empty() => quote = Some(c),
            None if c == ',' || c.is_whitespace() => parts.push(std::mem::take(&mut part)),
            _ => part.push(c),
        }
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}

/// Reads the commands of one line: it is one, whatever signs are in it, unless it is a list of quoted
/// ones in brackets. `[ -f a.txt ]` is a command, too.
fn commands(value: &str) -> Result<Vec<String>, String> {
    if let Some(list) = quoted_list(value) {
        return Ok(list);
    }
    if let Some((whole, "")) = quoted(value) {
        return Ok(vec![whole]);
    }
    let inner = value.strip_prefix('[').unwrap_or(" ");
    if !inner.starts_with(|c: char| c.is_whitespace() || c == '[') {
        let what = "`gates` in brackets are quoted, each by itself: [\"sh a.sh\", \"sh b.sh\"]";
        return Err(what.to_owned());
    }
    Ok(vec![value.to_owned()])
}

/// Reads `["a", 'b']`.
fn quoted_list(value: &str) -> Option<Vec<String>> {
    let mut rest = value.strip_prefix('[')?.strip_suffix(']')?.trim();
    let mut parts = Vec::new();
    loop {
        let (part, behind) = quoted(rest)?;
        parts.push(part);
        match behind.trim_start().strip_prefix(',').map(str::trim_start) {
            None if behind.trim().is_empty() => break,
            None => return None,
            Some("") => break,
            Some(more) => rest = more,
        }
    }
    // `[ "$CI" ]` asks whether a variable has a value.
    let is_test = value.starts_with("[ ") && parts.len() == 1 && parts[0].starts_with('$');
    (!is_test && parts.iter().all(|part| !part.trim().is_empty())).then_some(parts)
}

/// Reads a quoted string that `text` begins with; returns it, and what stands behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut part = String::new();
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = letters.next() {
        match c {
            _ if c == quote => return Some((part, &text[at + 1..])),
            '\\' if quote == '"' => match letters.next_if(|(_, c)| matches!(c, '"' | '\\')) {
                Some((_, escaped)) => part.push(escaped),
                None => part.push(c),
            },
            _ => part.push(c),
        }
    }
    None
}

fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let fits = (1..=MOST_NAME).contains(&name.len()) && name.chars().all(is_plain);
    fits.then_some(()).ok_or_else(|| {
        format!("`id` is made of letters, digits, `.`, `_` and `-`, {MOST_NAME} at most")
    })
}
