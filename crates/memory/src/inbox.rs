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
        let passes = passes(marker, prose, !lines.is_empty() || !pointers.is_empty());
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

const SCAN_WORDS: [&str; 5] = ["scan", "rescan", "events", "spine", "evidence"];
const DOSSIER_WORDS: [&str; 9] = [
    "dossier",
    "dossiers",
    "page",
    "pages",
    "pointer",
    "pointers",
    "unresolved",
    "crystallize",
    "ledger",
];
const UPDATE_WORDS: [&str; 9] = [
    "compact",
    "compress",
    "prune",
    "repair",
    "rewrite",
    "remove",
    "update",
    "sharpen",
    "claude.md",
];
/// What memory can be asked about. Without one of these a verb is not for memory, and a page is any
/// page.
const OBJECTS: [&str; 15] = [
    "dossier",
    "dossiers",
    "crystallize",
    "memory",
    "claude.md",
    "line",
    "lines",
    "rule",
    "rules",
    "broadcast",
    "events",
    "spine",
    "fragments",
    "evidence",
    "ledger",
];
/// Verbs that only memory is asked with.
const OWN_VERBS: [&str; 4] = ["prune", "compact", "compress", "rescan"];
/// The one task that says all in its marker.
const COMPRESS: &str = "memory:claude-compress";

/// The least that a task needs, by its words. Evidence flows one way, so from the first pass
/// that is needed to the last all of them run. A marker is transport, but for the one that asks
/// for the file to be compressed.
fn passes(marker: Option<&str>, prose: &str, names_something: bool) -> Vec<PassKind> {
    let text = prose.to_lowercase();
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '_' | '-'))
        .map(|word| word.trim_matches(['.', '-']))
        .collect();
    let has = |known: &[&str]| known.iter().any(|word| words.contains(word));
    let compresses = marker == Some(COMPRESS);
    let dossier = has(&DOSSIER_WORDS);
    if !(compresses || names_something || has(&OWN_VERBS) || has(&OBJECTS)) {
        return Vec::new();
    }
    let (scan, update) = (has(&SCAN_WORDS), compresses || has(&UPDATE_WORDS));
    let (first, last) = match (scan, dossier, update) {
        (false, false, false) => return Vec::new(),
        (true, _, true) => (PassKind::Scan, PassKind::Update),
        (true, _, false) => (PassKind::Scan, PassKind::Crystallize),
        (false, true, true) => (PassKind::Crystallize, PassKind::Update),
        (false, true, false) => (PassKind::Crystallize, PassKind::Crystallize),
        (false, false, true) => (PassKind::Update, PassKind::Update),
    };
    PassKind::ALL.into_iter().filter(|pass| (first..=last).contains(pass)).collect()
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
