//! What looks like a secret in the lines that a change adds, and striking it out of a text.
//!
//! A change with a key in it must not become a commit: once pushed it cannot be taken back. So
//! the lines that a coder adds are looked at before anything else is done with them. A finding
//! names the file, the line and the kind of secret, and never the secret: findings end up in
//! prompts, logs and events.
//!
//! The one decision: there is no mark that a line could carry to be let through. The coder
//! writes the lines; only a person, in `[commit] allow_secrets`, says where a key is meant to
//! be. A text that also stands in a line which the change removes was in the files before, and
//! is not reported.
//!
//! Pure: the caller brings the lines. Not done here: looking at what was committed before, and
//! undoing encodings. The values of a session's own environment variables, which are known and
//! need no guessing, are struck out of its transcript by the crate `agent`.

mod shapes;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ops::Range;

use shapes::Shapes;

/// The lines that a change adds to one file, and those it removes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChangedLines {
    /// As the file is called afterwards.
    pub path: String,
    /// Line numbers, counted from one, and the lines without their ends.
    pub added: Vec<(u32, Vec<u8>)>,
    pub removed: Vec<Vec<u8>>,
}

/// A line that holds a secret, by all appearances.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SecretFinding {
    pub file: String,
    pub line: u32,
    /// What it looks like, for people: `an AWS access key`.
    pub rule: String,
}

impl std::fmt::Display for SecretFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: looks like {}", self.file, self.line, self.rule)
    }
}

/// A reader who has seen this many learns nothing from more.
const MOST_FINDINGS: usize = 50;

/// Returns `text` with everything that looks like a secret taken out, line by line: for what is
/// written down about a change that has one.
pub fn strike_out(text: &str) -> String {
    let shapes = Shapes::get();
    let mut struck = String::with_capacity(text.len());
    let mut in_key = false;
    for line in text.split_inclusive('\n') {
        let end = shapes::ends_private_key(line);
        if in_key && !end {
            in_key = !line.trim_matches(['+', '-', ' ', '\n']).is_empty();
            let sign = line.chars().next().filter(|sign| ['+', '-', ' '].contains(sign));
            struck.extend(sign);
            struck.push_str("[secret]\n");
            continue;
        }
        in_key = !end && shapes::begins_private_key(line.as_bytes());
        let mut at = 0;
        for (rule, span) in hits(shapes, "", line.as_bytes()) {
            if span.start >= at
                && line.is_char_boundary(span.start)
                && line.is_char_boundary(span.end)
            {
                struck.push_str(&line[at..span.start]);
                struck.push_str(&format!("[{rule}]"));
                at = span.end;
            }
        }
        struck.push_str(&line[at..]);
    }
    struck
}

/// Returns what looks like a secret in the added lines of all files whose path is not allowed
/// to hold one.
pub fn find_secrets(
    files: &[ChangedLines],
    is_allowed: impl Fn(&str) -> bool,
) -> Vec<SecretFinding> {
    let shapes = Shapes::get();
    let mut known: HashSet<Vec<u8>> = HashSet::new();
    for file in files {
        for line in &file.removed {
            let hits = hits(shapes, &file.path, line);
            known.extend(hits.into_iter().map(|(_, span)| line[span].to_vec()));
        }
    }
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !is_allowed(&file.path)) {
        for (index, (number, line)) in file.added.iter().enumerate() {
            let mut rules: Vec<&str> = hits(shapes, &file.path, line)
                .into_iter()
                .filter(|(_, span)| !known.contains(&line[span.clone()]))
                .map(|(rule, _)| rule)
                .collect();
            if shapes::begins_private_key(line) && has_key_material(file, index) {
                rules.push(shapes::PRIVATE_KEY);
            }
            rules.dedup();
            found.extend(rules.into_iter().map(|rule| SecretFinding {
                file: file.path.clone(),
                line: *number,
                rule: rule.to_owned(),
            }));
            if found.len() >= MOST_FINDINGS {
                found.truncate(MOST_FINDINGS);
                return found;
            }
        }
    }
    found
}

/// Returns where a line holds secrets, in order.
fn hits<'s>(shapes: &'s Shapes, path: &str, line: &[u8]) -> Vec<(&'s str, Range<usize>)> {
    let mut hits = shapes.fixed(line);
    if let Some(hit) = shapes.assigned(path, line)
        && !hits.iter().any(|(_, span)| span.start < hit.1.end && hit.1.start < span.end)
    {
        hits.push(hit);
    }
    hits.sort_by_key(|(_, span)| span.start);
    hits
}

/// Programs that read keys name the line a key begins with; only in a key more follows.
fn has_key_material(file: &ChangedLines, index: usize) -> bool {
    let (first, line) = &file.added[index];
    let after = line.len() - shapes::after_begin(line).len();
    if shapes::is_key_material(&line[after..]) {
        return true;
    }
    let next = file.added[index + 1..].iter().zip(1_u32..9);
    let adjacent = next.take_while(|((number, _), away)| *number == first + away);
    adjacent.map(|((_, line), _)| line).any(|line| shapes::is_key_material(line))
}
