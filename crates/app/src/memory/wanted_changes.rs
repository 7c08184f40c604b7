//! What is wanted of the broadcast file, by people, rules and models, and what of it the ledger
//! defends.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use spore_memory::cues::DossierPointer;
use spore_memory::decision::Enough;
use spore_memory::edit::{Edit, EditGround, LONGEST_LINE, LineChange, RefusedEdit};
use spore_memory::evidence::{Decider, RootCause, Trajectory};
use spore_memory::ledger::Ledger;
use spore_memory::lines::LineHash;
use spore_memory::proposing::EditProposal;
use spore_memory::signals;
use spore_model::Fault;

use super::places::MemoryPlaces;
use super::requests::MemoryUpdate;
use crate::base::error::bug;
use crate::knowledge::ledger::enough;
use crate::{Error, Result};
use spore_memory::lines::PRIORITY;

/// A proposal that changed nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RefusedChange {
    pub proposal: String,
    pub reason: String,
}

/// When evidence is enough, and how long the file may be.
#[derive(Clone, Copy)]
pub(super) struct UpdateRules {
    pub(super) enough: Enough,
    pub(super) most_bytes: u64,
}

impl UpdateRules {
    pub(super) fn of(config: &spore_config::Config) -> Self {
        Self { enough: enough(config), most_bytes: config.memory.broadcast_bytes }
    }
}

/// What a model proposed, as its step keeps it.
#[derive(Clone, Debug, Default)]
pub(super) struct ProposedEdits {
    pub(super) edits: Vec<EditProposal>,
    pub(super) by: Decider,
    /// Why it was not asked, or said nothing.
    pub(super) stopped: Option<String>,
}

/// What changes are held against, with the closures that it borrows.
pub(super) struct HeldChanges<'a> {
    pub(super) ledger: &'a Ledger,
    rules: UpdateRules,
    memory: PathBuf,
    has_priority: bool,
}

impl<'a> HeldChanges<'a> {
    pub(super) fn of(places: &MemoryPlaces, ledger: &'a Ledger, rules: UpdateRules) -> Self {
        let has_priority = places.path(PRIORITY).is_file();
        Self { ledger, rules, memory: places.path("memory"), has_priority }
    }

    pub(super) fn defend(
        &self,
        before: &str,
        changes: &[LineChange],
    ) -> std::result::Result<Edit, RefusedEdit> {
        let has_dossier = |pointer: &DossierPointer| self.memory.join(pointer.dossier()).exists();
        let ground = EditGround {
            ledger: self.ledger,
            enough: self.rules.enough,
            most_bytes: self.rules.most_bytes,
            has_dossier: &has_dossier,
            has_priority: self.has_priority,
        };
        Edit::defend(before, changes, &ground)
    }
}

/// What a person asked for by naming lines: evidence is cited for them, never made up.
pub(super) fn by_person(asked: &MemoryUpdate, ledger: &Ledger) -> Result<Vec<LineChange>> {
    let mut changes = Vec::new();
    for typed in &asked.remove {
        changes.push(LineChange::Remove { hash: typed.parse().map_err(bug)? });
    }
    for (typed, text) in &asked.rewrite {
        let hash: LineHash = typed.parse().map_err(bug)?;
        let rows = ledger.entry(&hash).into_iter().flat_map(|entry| entry.rows());
        let against = rows.filter(|row| {
            row.trajectory == Trajectory::Weakening && row.root_cause != Some(RootCause::RecallMiss)
        });
        let fragments = against.map(|row| row.fragment.clone()).collect();
        let text = text.trim().to_owned();
        changes.push(LineChange::Rewrite { hash, text, fragments, by: Decider::Person });
    }
    Ok(changes)
}

/// Takes what the evidence defends of a model's proposals; what it does not is told.
pub(super) fn accept_proposals(
    changes: &mut Vec<LineChange>,
    proposed: &ProposedEdits,
    before: &str,
    held: &HeldChanges<'_>,
) -> Vec<RefusedChange> {
    let mut refused = Vec::new();
    for proposal in &proposed.edits {
        let read = proposal.read(held.ledger, held.rules.enough, &proposed.by);
        let accepted = match read {
            Ok(None) => continue,
            Ok(Some(change)) => {
                let taken =
                    |known: &LineChange| known.hash().is_some() && known.hash() == change.hash();
                match changes.iter().any(taken) {
                    true => Err("the line is changed otherwise".to_owned()),
                    false => held
                        .defend(before, std::slice::from_ref(&change))
                        .map(|_| change)
                        .map_err(|why| why.to_string()),
                }
            }
            Err(reason) => Err(reason),
        };
        match accepted {
            Ok(change) => changes.push(change),
            Err(reason) => {
                let named = proposal.line.as_deref().unwrap_or("a new line");
                let what = spore_plain::line_within(&format!("{} {named}", proposal.deed), 80);
                refused.push(RefusedChange { proposal: what, reason });
            }
        }
    }
    refused
}

/// What a person told as a standing instruction, in words that leave no doubt, becomes a line in those
/// words. Once it was added it is only added again where it was said again since.
pub(super) fn by_rule(changes: &mut Vec<LineChange>, before: &str, held: &HeldChanges<'_>) {
    for group in signals::group(held.ledger) {
        let fragments = group.fragments();
        let cites = |change: &LineChange| {
            matches!(change, LineChange::Add { fragments: cited, .. }
                if cited.iter().any(|one| fragments.contains(one)))
        };
        let Some(text) = group.standing_words().filter(|text| text.len() <= LONGEST_LINE) else {
            continue;
        };
        if changes.iter().any(cites)
            || signals::was_added(held.ledger, &LineHash::of(&text), &group)
        {
            continue;
        }
        let change = LineChange::Add { text, fragments, by: Decider::Rule };
        // Words that cannot be a line wait for a person or a model with better ones.
        if held.defend(before, std::slice::from_ref(&change)).is_ok() {
            changes.push(change);
        }
    }
}

/// Defends all changes together. Where the file would be too long, what no person asked for waits,
/// the last of it first: new lines, then other words for lines. Returns what waits of a model's
/// proposals; those were taken one by one, and may not fit together.
pub(super) fn defend_all(
    changes: &mut Vec<LineChange>,
    before: &str,
    held: &HeldChanges<'_>,
) -> Result<(Option<Edit>, Vec<RefusedChange>)> {
    let mut left = Vec::new();
    loop {
        let refused = match held.defend(before, changes) {
            Ok(edit) => return Ok((Some(edit), left)),
            Err(RefusedEdit::Nothing) if changes.is_empty() => return Ok((None, left)),
            Err(refused) => refused,
        };
        let last = match refused {
            RefusedEdit::TooLong(_) | RefusedEdit::Twice => last_that_waits(changes),
            _ => None,
        };
        let Some(last) = last else { return Err(refuse(&refused)) };
        let (hash, judge) = match changes.remove(last) {
            LineChange::Rewrite { hash, by, .. } | LineChange::Sharpen { hash, by, .. } => {
                (Some(hash), by)
            }
            LineChange::Add { by, .. } => (None, by),
            LineChange::Remove { .. } | LineChange::ImportPriority => continue,
        };
        if matches!(judge, Decider::Judge { .. }) {
            let named = hash.map_or_else(|| "a new line".to_owned(), |hash| hash.to_string());
            let reason = format!("with the other changes, {refused}");
            left.push(RefusedChange { proposal: named, reason });
        }
    }
}

/// What may wait until there is room for it.
fn last_that_waits(changes: &[LineChange]) -> Option<usize> {
    let is_new = |change: &LineChange| matches!(change, LineChange::Add { .. });
    let is_other_words = |change: &LineChange| {
        matches!(change, LineChange::Rewrite { by, .. } | LineChange::Sharpen { by, .. }
            if *by != Decider::Person)
    };
    changes.iter().rposition(is_new).or_else(|| changes.iter().rposition(is_other_words))
}

pub(super) fn refuse(refused: &RefusedEdit) -> Error {
    let error = Error::new(Fault::BadInput, format!("no evidence, no edit: {refused}"));
    match refused {
        RefusedEdit::NoEvidence { hash, .. } => error.hint(format!(
            "if it is wrong, say so: spore memory feedback {hash} failed \"why\"; then scan and \
             crystallize. Or edit the file yourself: it is yours"
        )),
        RefusedEdit::NoFragments => error.hint(
            "if the line is wrong, say so: spore memory feedback LINE failed \"why\"; then scan and \
             crystallize. Or edit the file yourself: it is yours",
        ),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spore_memory::lines::LineMap;

    const FILE: &str = "- Run `make lint` first\n- Ask before merging\n";

    fn rewrite(line: &str, text: &str, by: Decider, ledger: &Ledger) -> LineChange {
        let hash = LineHash::of(line);
        let rows = ledger.entry(&hash).into_iter().flat_map(|entry| entry.rows());
        let fragments = rows.map(|row| row.fragment.clone()).collect();
        LineChange::Rewrite { hash, text: text.into(), fragments, by }
    }

    /// Both lines failed, by what people said.
    fn both_failed() -> Ledger {
        let mut ledger = Ledger::default();
        for hash in ["Run `make lint` first", "Ask before merging"].map(LineHash::of) {
            ledger.fold(&spore_memory::fragment::Fragment {
                event: "e1".into(),
                ts: "2026-01-02T03:04:05.006Z".into(),
                kind: "human".into(),
                session_key: None,
                what: "memory.feedback".into(),
                signal: spore_memory::evidence::EvidenceSignal::Statement,
                line: Some(spore_memory::fragment::LineRef {
                    place: spore_memory::lines::LinePlace::File(1),
                    hash,
                }),
                trajectory: Trajectory::Weakening,
                root_cause: None,
                by: Decider::Rule,
                evidence: vec!["A person said so.".into()],
                note: "This weakens the line.".into(),
                pointers: Vec::new(),
            });
        }
        ledger
    }

    #[test]
    fn edits_that_fit_one_by_one_and_not_together_are_made_as_far_as_they_fit() {
        let ledger = both_failed();
        let rules = UpdateRules { enough: Enough { wrong: 2 }, most_bytes: FILE.len() as u64 + 16 };
        let held =
            HeldChanges { ledger: &ledger, rules, memory: PathBuf::new(), has_priority: false };
        let judge = || Decider::judge("m", "1");
        let first =
            |by| rewrite("Run `make lint` first", "Run `just lint` first, always", by, &ledger);
        let second =
            |by| rewrite("Ask before merging", "Ask before you merge any of it", by, &ledger);
        for one in [first(judge()), second(judge())] {
            assert!(held.defend(FILE, &[one]).is_ok());
        }
        let mut changes = vec![first(judge()), second(judge())];
        let (edit, left) = defend_all(&mut changes, FILE, &held).unwrap();
        let after = edit.unwrap().after().to_owned();
        assert_eq!(after, "- Run `just lint` first, always\n- Ask before merging\n");
        assert_eq!((changes.len(), left.len()), (1, 1));
        assert!(left[0].reason.contains("with the other changes"), "{left:?}");
        // What a person asked for is made as a whole or not at all.
        let mut asked = vec![first(Decider::Person), second(Decider::Person)];
        assert!(defend_all(&mut asked, FILE, &held).is_err());
        let mut mixed = vec![first(judge()), second(Decider::Person)];
        let (edit, _) = defend_all(&mut mixed, FILE, &held).unwrap();
        let map = LineMap::read(edit.unwrap().after());
        assert!(map.by_hash(&LineHash::of("Ask before you merge any of it")).is_some());
    }
}
