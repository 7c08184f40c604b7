//! The guard of the broadcast file: no evidence, no edit, whatever asks for it.
//!
//! An [`Edit`] is a proof: it cannot be made but from the file as it is, changes of single lines,
//! and a ledger that defends every one of them. The code that writes the file takes an `Edit`, so
//! no rule, no flag of a person, no task of the inbox and no model gets around the guard.
//!
//! Each kind of change needs evidence of its own kind. A line that failed may go or be rewritten,
//! unless all its failures are that an agent did not recall it; one that helped since is rewritten by
//! people alone; one that helped may be sharpened, which keeps every cue that it has; a new line needs a standing instruction of a person or
//! something that came up more than once. Another order, another heading, white space: there is no
//! change for those, so they cannot be asked for.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use similar::TextDiff;

use crate::cues::{Cues, DossierPointer};
use crate::decision::{Decision, Enough, decide, may_change};
use crate::evidence::{Decider, RootCause, Trajectory};
use crate::ledger::{Ledger, LedgerRow};
use crate::lines::{BROADCAST, FilePiece, LineHash, LineMap, LinePlace, pieces, without_bullet};
use crate::signals::is_standing;

/// What a broadcast file with a first file of its own begins with.
const IMPORT: &str = "@priority.md";
/// How long a line may be that is written here.
pub const LONGEST_LINE: usize = 300;
const SHORTEST_LINE: usize = 8;

/// One change of the broadcast file, with the fragments that ask for it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum LineChange {
    Remove {
        hash: LineHash,
    },
    Rewrite {
        hash: LineHash,
        text: String,
        fragments: Vec<String>,
        by: Decider,
    },
    Sharpen {
        hash: LineHash,
        text: String,
        fragments: Vec<String>,
        by: Decider,
    },
    Add {
        text: String,
        fragments: Vec<String>,
        by: Decider,
    },
    /// The file gets the import of `priority.md`, which is there and is to be told first.
    ImportPriority,
}

impl LineChange {
    /// Returns the line that it changes.
    pub fn hash(&self) -> Option<&LineHash> {
        match self {
            Self::Remove { hash } | Self::Rewrite { hash, .. } | Self::Sharpen { hash, .. } => {
                Some(hash)
            }
            Self::Add { .. } | Self::ImportPriority => None,
        }
    }

    /// Returns what it writes, and who wrote it.
    pub fn text(&self) -> Option<(&str, &Decider)> {
        match self {
            Self::Rewrite { text, by, .. }
            | Self::Sharpen { text, by, .. }
            | Self::Add { text, by, .. } => Some((text, by)),
            Self::Remove { .. } | Self::ImportPriority => None,
        }
    }
}

/// What changes are held against.
#[derive(Clone, Copy)]
pub struct EditGround<'a> {
    /// Up to date.
    pub ledger: &'a Ledger,
    pub enough: Enough,
    /// The file grows no further than this.
    pub most_bytes: u64,
    /// Whether a dossier is there.
    pub has_dossier: &'a dyn Fn(&DossierPointer) -> bool,
    pub has_priority: bool,
}

/// A change of the broadcast file that the ledger defends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    before: String,
    after: String,
    changes: Vec<LineChange>,
}

/// Why a change is not made. All of it is left undone.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RefusedEdit {
    #[error("{place} has no evidence against it in the ledger, so it stays")]
    NoEvidence { place: LinePlace, hash: LineHash },
    #[error("there is no line {0} in {BROADCAST}")]
    NoLine(LineHash),
    #[error("{0} is no fragment in the ledger that asks for this")]
    Unfounded(String),
    #[error("the change cites no fragment")]
    NoFragments,
    #[error("a new line needs a standing instruction, or something that came up more than once")]
    NotRecurring,
    #[error("a line that was only said to fail by a judge is rewritten when it was twice")]
    JudgedOnce,
    #[error("{0} helped since it failed the last time, so a model does not rewrite it")]
    HelpedSince(LinePlace),
    #[error("what would be written is not one plain line of 8 to 300 characters")]
    NotOneLine,
    #[error("{BROADCAST} says so already, or said so and it failed")]
    Known,
    #[error("the new line points to {0}, which is not there")]
    NoDossier(String),
    #[error("the new line leaves out {0}, which the line that helped has")]
    LostCue(String),
    #[error("{BROADCAST} would be longer than {0} bytes")]
    TooLong(u64),
    #[error("two changes are about one line")]
    Twice,
    #[error("there is no {} to be imported, or it is imported already", "memory/priority.md")]
    NoPriority,
    #[error("the change changes nothing")]
    Nothing,
}

impl Edit {
    /// Makes the changes, if the ledger defends each of them.
    pub fn defend(
        before: &str,
        changes: &[LineChange],
        ground: &EditGround<'_>,
    ) -> Result<Self, RefusedEdit> {
        let map = LineMap::read(before);
        let mut concerned: BTreeSet<&LineHash> = BTreeSet::new();
        for change in changes {
            if change.hash().is_some_and(|hash| !concerned.insert(hash)) {
                return Err(RefusedEdit::Twice);
            }
            check(change, &map, before, ground)?;
        }
        let mut written: BTreeSet<LineHash> = BTreeSet::new();
        for (text, _) in changes.iter().filter_map(LineChange::text) {
            if !written.insert(LineHash::of(text)) {
                return Err(RefusedEdit::Twice);
            }
        }
        let after = apply(before, changes);
        if after == before {
            return Err(RefusedEdit::Nothing);
        }
        let bytes = |text: &str| u64::try_from(text.len()).unwrap_or(u64::MAX);
        if bytes(&after) > ground.most_bytes && bytes(&after) > bytes(before) {
            return Err(RefusedEdit::TooLong(ground.most_bytes));
        }
        Ok(Self { before: before.to_owned(), after, changes: changes.to_vec() })
    }

    pub fn before(&self) -> &str {
        &self.before
    }

    pub fn after(&self) -> &str {
        &self.after
    }

    pub fn changes(&self) -> &[LineChange] {
        &self.changes
    }
}

fn check(
    change: &LineChange,
    map: &LineMap,
    before: &str,
    ground: &EditGround<'_>,
) -> Result<(), RefusedEdit> {
    let line = match change.hash() {
        Some(hash) => Some(map.by_hash(hash).ok_or_else(|| RefusedEdit::NoLine(hash.clone()))?),
        None => None,
    };
    if let Some((text, _)) = change.text() {
        let old = line.map(|line| &line.cues);
        check_text(text, map, old, ground)?;
    }
    match (change, line) {
        (LineChange::Remove { hash }, Some(line)) => {
            let place = line.place.clone();
            let defended = may_change(ground.ledger.entry(hash));
            let refused = || RefusedEdit::NoEvidence { place, hash: hash.clone() };
            if defended { Ok(()) } else { Err(refused()) }
        }
        (LineChange::Rewrite { hash, fragments, by, .. }, Some(line)) => {
            let failed = |row: &LedgerRow| {
                row.trajectory == Trajectory::Weakening
                    && row.root_cause != Some(RootCause::RecallMiss)
            };
            let rows = cited(ground.ledger, Some(hash), fragments, failed)?;
            // What spoke for a line since it failed is not for a model to pass over.
            let is_kept = decide(ground.ledger.entry(hash), ground.enough) == Decision::Keep;
            if is_kept && matches!(by, Decider::Judge { .. }) {
                return Err(RefusedEdit::HelpedSince(line.place.clone()));
            }
            let events: BTreeSet<&str> = rows.iter().map(|row| event_of(row)).collect();
            match rows.iter().any(|row| row.by.is_rule()) || events.len() >= 2 {
                true => Ok(()),
                false => Err(RefusedEdit::JudgedOnce),
            }
        }
        (LineChange::Sharpen { hash, text, fragments, .. }, Some(line)) => {
            let helped = |row: &LedgerRow| row.trajectory == Trajectory::Strengthening;
            cited(ground.ledger, Some(hash), fragments, helped)?;
            if decide(ground.ledger.entry(hash), ground.enough) != Decision::Keep {
                return Err(RefusedEdit::NoEvidence {
                    place: line.place.clone(),
                    hash: hash.clone(),
                });
            }
            keeps_cues(&line.cues, text)
        }
        (LineChange::Add { fragments, .. }, _) => {
            let rows = cited(ground.ledger, None, fragments, |_| true)?;
            let events: BTreeSet<&str> = rows.iter().map(|row| event_of(row)).collect();
            match rows.iter().any(|row| is_standing(row)) || events.len() >= 2 {
                true => Ok(()),
                false => Err(RefusedEdit::NotRecurring),
            }
        }
        (LineChange::ImportPriority, _) => {
            let first = before.lines().map(str::trim).find(|line| !line.is_empty());
            let is_wanted = ground.has_priority && first != Some(IMPORT);
            if is_wanted { Ok(()) } else { Err(RefusedEdit::NoPriority) }
        }
        // A change of a line has found it above.
        _ => Err(RefusedEdit::Nothing),
    }
}

/// What a row's evidence was seen in; a row of an earlier version stands for itself.
fn event_of(row: &LedgerRow) -> &str {
    row.proof.as_ref().map_or(row.fragment.as_str(), |proof| proof.event.as_str())
}

/// Returns the rows that are cited; each must be about the line and of the right kind.
fn cited<'l>(
    ledger: &'l Ledger,
    line: Option<&LineHash>,
    fragments: &[String],
    asks: impl Fn(&LedgerRow) -> bool,
) -> Result<Vec<&'l LedgerRow>, RefusedEdit> {
    if fragments.is_empty() {
        return Err(RefusedEdit::NoFragments);
    }
    let rows: Vec<&LedgerRow> = match line {
        Some(hash) => ledger.entry(hash).into_iter().flat_map(|entry| entry.rows()).collect(),
        None => ledger.unsaid().collect(),
    };
    let find = |cited: &String| {
        let name = cited.rsplit('/').next().unwrap_or(cited);
        let found = rows.iter().copied().find(|row| row.fragment == name && asks(row));
        found.ok_or_else(|| RefusedEdit::Unfounded(spore_plain::line_within(cited, 200)))
    };
    fragments.iter().map(find).collect()
}

/// What is written is one line like any other, says something new, and points to what is there.
fn check_text(
    text: &str,
    map: &LineMap,
    old: Option<&Cues>,
    ground: &EditGround<'_>,
) -> Result<(), RefusedEdit> {
    let length = text.chars().count();
    let is_plain = spore_plain::line(text) == text && without_bullet(text) == text;
    let read = LineMap::read(&format!("- {text}\n"));
    let is_one = matches!(read.lines(), [line] if line.text == text)
        && matches!(LineMap::read(text).lines(), [line] if line.text == text);
    if !(SHORTEST_LINE..=LONGEST_LINE).contains(&length) || !is_plain || !is_one {
        return Err(RefusedEdit::NotOneLine);
    }
    let hash = LineHash::of(text);
    let failed = ground.ledger.entry(&hash).is_some_and(|entry| may_change(Some(entry)));
    if failed || map.by_hash(&hash).is_some() {
        return Err(RefusedEdit::Known);
    }
    let points_nowhere = |pointer: &DossierPointer| {
        !old.is_some_and(|old| old.pointers.contains(pointer)) && !(ground.has_dossier)(pointer)
    };
    match DossierPointer::all_in(text).into_iter().find(points_nowhere) {
        Some(pointer) => Err(RefusedEdit::NoDossier(pointer.to_string())),
        None => Ok(()),
    }
}

/// A sharper line says at least what the line said that helped.
fn keeps_cues(old: &Cues, text: &str) -> Result<(), RefusedEdit> {
    let lower = text.to_lowercase();
    let pointers = old.pointers.iter().map(ToString::to_string);
    let words = [&old.paths, &old.triggers, &old.actions, &old.wanted, &old.avoided];
    let words = words.into_iter().flatten().cloned();
    match pointers.chain(words).find(|cue| !lower.contains(&cue.to_lowercase())) {
        Some(lost) => Err(RefusedEdit::LostCue(lost)),
        None => Ok(()),
    }
}

/// Returns the file with the changes made. What surrounds the lines stays as it is, to the byte.
fn apply(text: &str, changes: &[LineChange]) -> String {
    let raw: Vec<&str> = text.split_inclusive('\n').collect();
    let mut kept: Vec<Option<String>> = raw.iter().map(|line| Some((*line).to_owned())).collect();
    for piece in pieces(text) {
        let FilePiece::Line { number, last, text: words } = piece else { continue };
        let hash = LineHash::of(&words);
        let Some(change) = changes.iter().find(|change| change.hash() == Some(&hash)) else {
            continue;
        };
        let (first, last) = (number as usize - 1, last as usize - 1);
        let replaced = change.text().map(|(text, _)| {
            let (line, end) = (raw[first], raw[last]);
            let bullet = line.len() - without_bullet(line.trim_start()).len();
            let ending = &end[end.trim_end_matches(['\n', '\r']).len()..];
            format!("{}{text}{ending}", &line[..bullet])
        });
        kept[first..=last].fill(None);
        kept[first] = replaced;
    }
    let mut after: String = kept.into_iter().flatten().collect();
    for change in changes {
        match change {
            LineChange::Add { text, .. } => {
                if !after.is_empty() && !after.ends_with('\n') {
                    after.push('\n');
                }
                after.push_str(&format!("- {text}\n"));
            }
            LineChange::ImportPriority => after = format!("{IMPORT}\n\n{after}"),
            _ => {}
        }
    }
    after
}

/// Shows a change as people know it.
pub fn diff(before: &str, after: &str) -> String {
    TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(2)
        .header(&format!("a/{BROADCAST}"), &format!("b/{BROADCAST}"))
        .to_string()
}

#[cfg(test)]
mod tests;
