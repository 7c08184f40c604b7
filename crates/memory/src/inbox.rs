//! Tasks for memory, one file each, and when one may be taken off the pile.
//!
//! A task comes as `<file>: <body>`. The file's name is what is acknowledged; the body is kept
//! as it is; a `[marker]` in front of it says how it came. What work a task needs is read off its
//! words; one whose words ask for nothing that memory does is unclear and stays where it is.
//!
//! A task is done when the last pass it needs has a [`Terminal`] result. Until then its
//! file stays where it is: a task may be done twice, never lost.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cues::DossierPointer;
use crate::lines::number_in;

/// The passes there are, in the order in which evidence flows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassKind {
    Scan,
    Crystallize,
    Update,
}

impl PassKind {
    pub const ALL: [Self; 3] = [Self::Scan, Self::Crystallize, Self::Update];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::Crystallize => "crystallize",
            Self::Update => "update",
        }
    }
}

/// How a pass ended, as its report begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Terminal {
    #[serde(rename = "UPDATED")]
    Updated,
    #[serde(rename = "NO-OP")]
    NoOp,
    #[serde(rename = "NO_NEW_GRADIENT")]
    NoNewGradient,
    #[serde(rename = "BOOTSTRAPPED")]
    Bootstrapped,
    /// Something is left to do: terminal for what was changed, not for the task.
    #[serde(rename = "PARTIAL_UPDATE")]
    PartialUpdate,
}

impl Terminal {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Updated => "UPDATED",
            Self::NoOp => "NO-OP",
            Self::NoNewGradient => "NO_NEW_GRADIENT",
            Self::Bootstrapped => "BOOTSTRAPPED",
            Self::PartialUpdate => "PARTIAL_UPDATE",
        }
    }

    pub const fn settles_a_task(self) -> bool {
        !matches!(self, Self::PartialUpdate)
    }
}

impl fmt::Display for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a weaving that changed nothing says, and nothing else with it.
pub const NOTHING_CHANGED: &str = "NO_NEW_GRADIENT: no external evidence changed memory.";

/// What a scan without a fragment says, and nothing else with it.
pub const NO_EVIDENCE: &str = "NO_NEW_GRADIENT: no external line-referenced evidence found.";

/// A task, taken apart.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Packet {
    /// The file that is removed when the task is done.
    pub ack: String,
    /// As it came.
    pub body: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
    /// Lines it names, as it names them.
    pub lines: Vec<String>,
    pub pointers: Vec<DossierPointer>,
    /// Files it names.
    pub paths: Vec<String>,
    /// What it wants to have, as far as its words say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<WantedOutput>,
    /// The passes it needs, in order; none where it is not clear what it asks for.
    pub passes: Vec<PassKind>,
}

impl Packet {
    pub fn new(ack: &str, body: &str) -> Self {
        let (marker, prose) = split_marker(body);
        let (lines, pointers) = (named_lines(prose), DossierPointer::all_in(prose));
        let passes = passes(marker, prose);
        Self {
            ack: ack.to_owned(),
            body: body.to_owned(),
            marker: marker.map(str::to_owned),
            paths: named_paths(prose),
            output: passes.last().map(|pass| WantedOutput::of(*pass)),
            lines,
            pointers,
            passes,
        }
    }

    /// Returns whether a pass that ended so leaves nothing of the task to be done.
    pub fn is_settled_by(&self, pass: PassKind, result: Terminal) -> bool {
        self.passes.last() == Some(&pass) && result.settles_a_task()
    }
}

/// What a task wants to have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WantedOutput {
    /// Fragments of new evidence.
    Evidence,
    /// Ledger and dossiers up to date.
    Dossiers,
    /// A change of the broadcast file, where the evidence asks for one.
    Edit,
}

impl WantedOutput {
    const fn of(last: PassKind) -> Self {
        match last {
            PassKind::Scan => Self::Evidence,
            PassKind::Crystallize => Self::Dossiers,
            PassKind::Update => Self::Edit,
        }
    }
}

/// Reads `<file>: <body>`.
pub fn read_entry(entry: &str) -> Option<Packet> {
    let (ack, body) = entry.split_once(':')?;
    let ack = ack.trim();
    is_ack_name(ack).then(|| Packet::new(ack, body.trim_start()))
}

/// A name that is a file of the inbox and nothing else.
pub fn is_ack_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.chars().all(is_plain)
}

fn split_marker(body: &str) -> (Option<&str>, &str) {
    let trimmed = body.trim_start();
    let Some(rest) = trimmed.strip_prefix('[').filter(|rest| !rest.starts_with('[')) else {
        return (None, body);
    };
    match rest.split_once(']') {
        Some((marker, prose)) if !marker.contains('\n') => (Some(marker), prose),
        _ => (None, body),
    }
}

fn named_lines(prose: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in prose.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_number = word.contains('L') && number_in(word).is_some();
        let is_hash = word.parse::<crate::lines::LineHash>().is_ok();
        if (is_number || is_hash) && !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
    }
    found
}

fn named_paths(prose: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in prose.split_whitespace() {
        let word =
            word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '.' | '_'));
        let word = word.trim_end_matches('.');
        let is_path = word.contains('/') && !word.contains("//") && word.len() > 2;
        if is_path && !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
    }
    found
}

/// What a verb asks for, and what it has to be asked of. Without such an object a verb is not for
/// memory, and a page is any page.
const ASKED: [(PassKind, &[&str], &[&str]); 3] = [
    (
        PassKind::Scan,
        &["scan", "rescan", "read", "search"],
        &["event", "events", "spine", "evidence", "log"],
    ),
    (
        PassKind::Crystallize,
        &["crystallize", "fold", "rebuild", "refresh", "repair", "resolve", "update", "write"],
        &["dossier", "dossiers", "pointer", "pointers", "ledger", "fragments", "evidence"],
    ),
    (
        PassKind::Update,
        &[
            "compact", "compress", "prune", "repair", "rewrite", "remove", "update", "sharpen",
            "shorten", "tidy",
        ],
        &["line", "lines", "rule", "rules", "memory", "broadcast", "claude.md"],
    ),
];
/// Verbs that only memory is asked with: alone they say enough.
const OWN_VERBS: [(&str, PassKind); 5] = [
    ("scan", PassKind::Scan),
    ("rescan", PassKind::Scan),
    ("crystallize", PassKind::Crystallize),
    ("prune", PassKind::Update),
    ("compact", PassKind::Update),
];
/// What is missing is to be written.
const LACKING: [&str; 4] = ["missing", "unresolved", "broken", "stale"];
/// Words that may stand before a verb, and between it and its object.
const POLITE: [&str; 6] = ["please", "then", "and", "also", "now", "first"];
const BETWEEN: [&str; 30] = [
    "the",
    "a",
    "an",
    "all",
    "any",
    "every",
    "each",
    "this",
    "that",
    "these",
    "those",
    "our",
    "its",
    "of",
    "in",
    "at",
    "from",
    "recent",
    "new",
    "latest",
    "last",
    "old",
    "stale",
    "obsolete",
    "wrong",
    "missing",
    "unresolved",
    "memory",
    "broadcast",
    "file",
];
/// Who says one of these may want the contrary.
const DENIALS: [&str; 8] = ["not", "no", "never", "don't", "doesn't", "nothing", "without", "stop"];
/// The one task that says all in its marker.
const COMPRESS: &str = "memory:claude-compress";

/// The least that a task needs, by its words. Evidence flows one way, so from the first pass
/// that is needed to the last all of them run. A marker is transport, but for the one that asks
/// for the file to be compressed. A question, and what says no, is unclear: it stays.
fn passes(marker: Option<&str>, prose: &str) -> Vec<PassKind> {
    let text = prose.to_lowercase().replace('’', "'");
    let is_denied = words_of(&text).any(|word| DENIALS.contains(&word));
    let is_unclear = is_denied || text.contains('?');
    let mut needed: Vec<PassKind> = Vec::new();
    if marker == Some(COMPRESS) {
        needed.push(PassKind::Update);
    } else if is_unclear {
        return Vec::new();
    }
    let apart = |c: char| matches!(c, ',' | ';' | '!' | '\n' | '(');
    for clause in text.split(". ").flat_map(|part| part.split(apart)) {
        for part in clause.split(" and ").flat_map(|part| part.split(" then ")) {
            needed.extend(asked_of(part));
        }
    }
    match (needed.iter().min(), needed.iter().max()) {
        (Some(first), Some(last)) => {
            // Fragments that no ledger has are of no use.
            let last = last.max(&PassKind::Crystallize);
            PassKind::ALL.into_iter().filter(|pass| (first..=last).contains(&pass)).collect()
        }
        _ => Vec::new(),
    }
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| {
        !c.is_alphanumeric() && !matches!(c, '.' | '_' | '-' | '/' | ':' | '\'' | '[' | ']')
    })
    .map(|word| word.trim_matches(['.', '-', ':', '\'']))
    .filter(|word| !word.is_empty())
}

/// The passes that a clause asks for: a verb at its beginning, and behind it what it is asked of; or
/// something of memory's that is said to be missing.
fn asked_of(clause: &str) -> Vec<PassKind> {
    let words: Vec<&str> = words_of(clause).skip_while(|word| POLITE.contains(word)).collect();
    let Some((verb, behind)) = words.split_first() else { return Vec::new() };
    let mut found: Vec<PassKind> = Vec::new();
    // "Prune what failed" is said of lines alone.
    let is_what_failed = behind.first() == Some(&"what")
        && behind.last().is_some_and(|word| matches!(*word, "failed" | "fails"));
    if behind.is_empty() || is_what_failed {
        found.extend(OWN_VERBS.iter().filter(|(own, _)| own == verb).map(|(_, pass)| *pass));
    }
    let object = behind.iter().find(|word| {
        !BETWEEN.contains(word) || ASKED.iter().any(|(.., objects)| objects.contains(word))
    });
    for (pass, verbs, objects) in ASKED {
        let is_object = |word: &&&str| match pass {
            PassKind::Scan => objects.contains(*word),
            PassKind::Crystallize => objects.contains(*word) || word.starts_with("[["),
            PassKind::Update => objects.contains(*word) || names_line(word),
        };
        // A line of code is not one of memory's.
        let is_elsewhere = pass != PassKind::Scan && is_of_something_else(behind);
        if verbs.contains(verb) && object.is_some_and(|object| is_object(&object)) && !is_elsewhere
        {
            found.push(pass);
        }
    }
    // "Repair the pointer in CLAUDE.md": where it stands is changed, too.
    if found == [PassKind::Crystallize] && behind.contains(&"claude.md") {
        found.push(PassKind::Update);
    }
    let is_dossier =
        |word: &&str| word.starts_with("[[") || matches!(*word, "dossier" | "dossiers");
    let subject = words.iter().find(|word| !BETWEEN.contains(*word));
    if found.is_empty()
        && subject.is_some_and(is_dossier)
        && words.last().is_some_and(|word| LACKING.contains(word))
    {
        found.push(PassKind::Crystallize);
    }
    found
}

/// Whether words say that what is asked for is part of something that is none of memory's.
fn is_of_something_else(words: &[&str]) -> bool {
    let mut rest = words.iter();
    let Some(_) = rest.find(|word| matches!(**word, "of" | "in" | "from")) else { return false };
    let Some(what) = rest.find(|word| !BETWEEN.contains(*word) || **word == "memory") else {
        return false;
    };
    let is_known = ASKED.iter().any(|(.., objects)| objects.contains(what));
    !is_known && !what.starts_with("[[") && !names_line(what)
}

fn names_line(word: &str) -> bool {
    let bare = word.rsplit(':').next().unwrap_or_default();
    bare.strip_prefix('l').is_some_and(|digits| digits.parse::<u32>().is_ok())
        || word.parse::<crate::lines::LineHash>().is_ok()
        || word.ends_with("claude.md")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entry: &str, expected: &str) {
        let told = match read_entry(entry) {
            None => "nothing".to_owned(),
            Some(packet) => {
                let passes: Vec<&str> = packet.passes.iter().map(|pass| pass.as_str()).collect();
                let marker = packet.marker.unwrap_or_default();
                let lines = packet.lines.join(" ");
                format!("{} [{marker}] {{{lines}}} {}", packet.ack, passes.join("+"))
            }
        };
        assert_eq!(told, expected, "{entry}");
    }

    #[test]
    fn the_name_ends_at_the_first_colon_and_a_marker_is_transport() {
        check("a.md: do: this", "a.md [] {} ");
        for unclear in [
            "bring me a coffee",
            "update me on the weather",
            "remove the old printer",
            "please page Bob",
            "the pointer device is unresolved",
            "scandalous recent news",
            "[memory:hello] good morning",
            "Do not remove any line, ever.",
            "Never scan the events.",
            "update the readme lines about installation",
            "What is the weather like on page 3 of the ledger?",
            "Could you scan the events?",
            "prune the apple trees",
            "remove the line of code in parser.rs that logs",
            "the memory of the server is missing",
            "write the evidence of the theft down for the police",
            "people say the rules should be updated",
        ] {
            let marker = if unclear.starts_with('[') { "memory:hello" } else { "" };
            check(&format!("a.md: {unclear}"), &format!("a.md [{marker}] {{}} "));
        }
        check("a.md: [memory:claude-compress] tidy up", "a.md [memory:claude-compress] {} update");
        check("a.md:[[entity-ada]] is unresolved", "a.md [] {} crystallize");
        check("no colon here", "nothing");
        check("../a: x", "nothing");
        check(".a: x", "nothing");
    }

    #[test]
    fn words_say_which_passes_a_task_needs() {
        check("a: Scan recent events", "a [] {} scan+crystallize");
        check(
            "a: scan, then prune memory/CLAUDE.md:L3",
            "a [] {memory/CLAUDE.md:L3} scan+crystallize+update",
        );
        check("a: rewrite L3 and L3", "a [] {L3} update");
        check("a: the dossier of ada is missing", "a [] {} crystallize");
        check("a: please compact memory/CLAUDE.md", "a [] {} update");
        check("a: Rescan the spine, then refresh the ledger.", "a [] {} scan+crystallize");
        check("a: Remove all stale lines of memory.", "a [] {} update");
        check("a: prune what failed", "a [] {} update");
        check("a: repair the pointer in CLAUDE.md", "a [] {} crystallize+update");
    }

    #[test]
    fn only_the_last_pass_settles_a_task_and_only_when_it_is_done() {
        let packet = Packet::new("a", "scan recent events");
        assert!(packet.is_settled_by(PassKind::Crystallize, Terminal::Updated));
        assert!(packet.is_settled_by(PassKind::Crystallize, Terminal::NoOp));
        assert!(!packet.is_settled_by(PassKind::Crystallize, Terminal::PartialUpdate));
        assert!(!packet.is_settled_by(PassKind::Scan, Terminal::NoNewGradient));
        let update = Packet::new("a", "prune the lines");
        assert!(!update.is_settled_by(PassKind::Scan, Terminal::Updated));
        assert!(update.is_settled_by(PassKind::Update, Terminal::NoOp));
        let unclear = Packet::new("a", "bring me a coffee");
        assert!(PassKind::ALL.iter().all(|pass| !unclear.is_settled_by(*pass, Terminal::Updated)));
    }
}
