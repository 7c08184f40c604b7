//! A row of the ledger: one piece of evidence, and how it is written.

use crate::evidence::{Decider, EvidenceSignal, RootCause, Trajectory};
use crate::fragment::short_digest;

/// One piece of evidence, as the ledger keeps it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LedgerRow {
    pub ts: String,
    pub trajectory: Trajectory,
    pub signal: EvidenceSignal,
    pub kind: String,
    pub root_cause: Option<RootCause>,
    /// The fragment's file name.
    pub fragment: String,
    /// Who gave the trajectory; a row of an earlier version is a rule's.
    pub by: Decider,
    /// What it rests on; an earlier version kept nothing of it.
    pub proof: Option<RowProof>,
}

/// What a row rests on, for readers who do not have the fragment.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RowProof {
    /// The event's own id.
    pub event: String,
    /// The fragment's [digest](crate::fragment::Fragment::digest).
    pub fragment_hash: String,
    /// What was seen, in a line.
    pub evidence: String,
}

pub(super) fn read_row(text: &str) -> Option<LedgerRow> {
    let (words, evidence) = match text.split_once(" | ") {
        Some(_) => {
            let (words, evidence) = unsummed(text)?.split_once(" | ")?;
            (words, Some(evidence))
        }
        None => (text, None),
    };
    let parts: Vec<&str> = words.split(' ').collect();
    let (row, told) = parts.split_at_checked(6)?;
    let [ts, trajectory, signal, kind, cause, fragment] = row else { return None };
    let (by, proof) = match (told, evidence) {
        ([], None) => (Decider::Rule, None),
        ([by, event, hash], Some(evidence)) => {
            let proof = RowProof {
                event: (*event).to_owned(),
                fragment_hash: (*hash).to_owned(),
                evidence: evidence.to_owned(),
            };
            (by.parse().ok()?, Some(proof))
        }
        _ => return None,
    };
    Some(LedgerRow {
        ts: (*ts).to_owned(),
        trajectory: trajectory.parse().ok()?,
        signal: signal.parse().ok()?,
        kind: (*kind).to_owned(),
        root_cause: if *cause == "-" { None } else { Some(cause.parse().ok()?) },
        fragment: (*fragment).to_owned(),
        by,
        proof,
    })
}

/// A text with the sum over it.
pub(super) fn summed(text: &str) -> String {
    format!("{text} #{}", short_digest(text))
}

/// The text before its sum, if that is the sum over it.
pub(super) fn unsummed(text: &str) -> Option<&str> {
    let (said, sum) = text.rsplit_once(" #")?;
    (short_digest(said) == sum).then_some(said)
}

pub(super) fn row_text(row: &LedgerRow) -> String {
    let LedgerRow { ts, trajectory, signal, kind, root_cause, fragment, by, proof } = row;
    let cause = root_cause.map_or("-", RootCause::as_str);
    let words = format!("{ts} {trajectory} {signal} {kind} {cause} {fragment}");
    match proof {
        None => words,
        Some(RowProof { event, fragment_hash, evidence }) => {
            summed(&format!("{words} {by} {event} {fragment_hash} | {evidence}"))
        }
    }
}

/// A word that has no space in it.
pub(super) fn row_word(text: &str) -> String {
    let word: String = spore_plain::line(text).chars().filter(|c| *c != ' ').take(40).collect();
    if word.is_empty() { "-".to_owned() } else { word }
}
