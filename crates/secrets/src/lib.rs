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
//! What a secret looks like is one half. The other half needs no guessing: the values of the
//! user's own credentials are known ([`KnownSecrets`]), and they are looked for and struck
//! everywhere, whatever they look like.
//!
//! Pure: the caller brings the lines, the variables and the files. Not done here: looking at
//! what was committed before.

pub mod credentials;
mod key_lines;
mod known;
mod scrubber;
mod shapes;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ops::Range;

pub use key_lines::KeyLines;
pub use known::{KnownSecrets, KnownValue, SHORTEST_VALUE};
pub use scrubber::Scrubber;
use shapes::Shapes;

/// The lines that a change adds to one file, and those it removes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChangedLines {
    /// As the file is called afterwards.
    pub path: String,
    /// No file was called so before.
    pub is_new_name: bool,
    /// Line numbers, counted from one, and the lines without their ends.
    pub added: Vec<(u32, Vec<u8>)>,
    pub removed: Vec<Vec<u8>>,
}

/// A line that holds a secret, by all appearances.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SecretFinding {
    pub file: String,
    /// Nothing where the file's own name holds it.
    pub line: Option<u32>,
    /// What it looks like, for people: `an AWS access key`.
    pub rule: String,
}

impl std::fmt::Display for SecretFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: looks like {}", self.file, self.rule),
            None => write!(f, "{}: its name looks like {}", self.file, self.rule),
        }
    }
}

/// A reader who has seen this many learns nothing from more.
const MOST_FINDINGS: usize = 50;

/// Returns `text` with everything that looks like a secret taken out, line by line: for what is
/// written down about a change that has one.
///
/// The text must hold a private key's first line to have the others struck. Who shows a part of a
/// file follows the file from its beginning with [`KeyLines`].
pub fn strike_out(text: &str) -> String {
    let shapes = Shapes::get();
    let mut struck = String::with_capacity(text.len());
    let mut keys = KeyLines::default();
    for line in text.split_inclusive('\n') {
        if keys.is_inside(line) {
            let sign = line.chars().next().filter(|sign| ['+', '-', ' '].contains(sign));
            struck.extend(sign);
            struck.push_str("[secret]\n");
            continue;
        }
        let mut at = 0;
        let mut hits = hits(shapes, "", line.as_bytes());
        for key in shapes::keys_of_one_line(line.as_bytes()) {
            hits.retain(|(_, span)| span.end <= key.start || span.start >= key.end);
            hits.push((shapes::PRIVATE_KEY, key));
            hits.sort_by_key(|(_, span)| span.start);
        }
        for (rule, span) in hits {
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

/// Returns what looks like a secret, or is `known` to be one, in the names and the added lines
/// of all files whose path is not allowed to hold one.
///
/// The file of a finding is called as it is, secret or not: the caller strikes it where it is
/// written down.
pub fn find_secrets(
    files: &[ChangedLines],
    known_values: &KnownSecrets,
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
        let rule = name_rule(shapes, known_values, file);
        found.extend(rule.map(|rule| SecretFinding { file: file.path.clone(), line: None, rule }));
        for (index, (number, line)) in file.added.iter().enumerate() {
            let mut rules: Vec<String> = hits(shapes, &file.path, line)
                .into_iter()
                .filter(|(_, span)| !known.contains(&line[span.clone()]))
                .map(|(rule, _)| rule.to_owned())
                .collect();
            if shapes::begins_private_key(line) && has_key_material(file, index) {
                rules.push(shapes::PRIVATE_KEY.to_owned());
            }
            rules.extend(known_values.names_in(line).into_iter().map(known_rule));
            rules.dedup();
            found.extend(rules.into_iter().map(|rule| SecretFinding {
                file: file.path.clone(),
                line: Some(*number),
                rule,
            }));
            if found.len() >= MOST_FINDINGS {
                found.truncate(MOST_FINDINGS);
                return found;
            }
        }
    }
    found
}

/// What a known value is called in a finding.
fn known_rule(name: &str) -> String {
    format!("the value of {name}")
}

/// Returns what the name of a file that was called otherwise before holds.
fn name_rule(shapes: &Shapes, known: &KnownSecrets, file: &ChangedLines) -> Option<String> {
    if !file.is_new_name {
        return None;
    }
    let known = known.names_in(file.path.as_bytes()).first().map(|name| known_rule(name));
    let shaped = || shapes.fixed(file.path.as_bytes()).first().map(|(rule, _)| (*rule).to_owned());
    known.or_else(shaped)
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
