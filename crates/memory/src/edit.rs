//! The guard of the broadcast file: no evidence, no edit, whatever asks for it.
//!
//! An [`Edit`] is a proof: it cannot be made but from the file as it is, the file as it should
//! be, and a ledger that defends every difference. The code that writes the file takes an
//! `Edit`, so no rule, no flag of a person, no task of the inbox and, later, no model gets
//! around the guard.
//!
//! The ledger defends the removal of a line that failed, unless all its failures are that an
//! agent did not recall it. It does not defend another order, another heading, white space, the
//! removal of a line without evidence, or a new line. Those are cosmetic, or a judge's business.

use std::collections::BTreeMap;

use similar::TextDiff;

use crate::decision::may_change;
use crate::ledger::Ledger;
use crate::lines::{BROADCAST, FilePiece, LineHash, LineMap, pieces, reference};

/// A change of the broadcast file that the ledger defends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    before: String,
    after: String,
    removed: Vec<RemovedLine>,
}

/// A line that goes.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct RemovedLine {
    /// Where it stood.
    pub number: u32,
    pub hash: LineHash,
}

/// Why a change is not made. All of it is left undone.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RefusedEdit {
    #[error("{} has no evidence against it in the ledger, so it stays", reference(*number))]
    NoEvidence { number: u32, hash: LineHash },
    #[error("a line that is new, or says something else, needs a judge: {}", reference(*number))]
    Unfounded { number: u32 },
    #[error(
        "the change touches what is no line, or the order of the lines; no evidence asks for that"
    )]
    Cosmetic,
    #[error("the change changes nothing")]
    Nothing,
}

impl Edit {
    /// Checks a change against the ledger, which must be up to date.
    pub fn defend(before: &str, after: &str, ledger: &Ledger) -> Result<Self, RefusedEdit> {
        if before == after {
            return Err(RefusedEdit::Nothing);
        }
        let removed = removed(before, after)?;
        for line in &removed {
            if !may_change(ledger.entry(&line.hash)) {
                return Err(RefusedEdit::NoEvidence {
                    number: line.number,
                    hash: line.hash.clone(),
                });
            }
        }
        // Nothing else may differ, to the byte.
        let numbers: Vec<u32> = removed.iter().map(|line| line.number).collect();
        if without(before, &numbers) != after {
            return Err(RefusedEdit::Cosmetic);
        }
        Ok(Self { before: before.to_owned(), after: after.to_owned(), removed })
    }

    pub fn before(&self) -> &str {
        &self.before
    }

    pub fn after(&self) -> &str {
        &self.after
    }

    pub fn removed(&self) -> &[RemovedLine] {
        &self.removed
    }
}

/// Returns the lines of `before` that are not in `after`; refused where `after` has others.
fn removed(before: &str, after: &str) -> Result<Vec<RemovedLine>, RefusedEdit> {
    let mut left: BTreeMap<LineHash, u32> = BTreeMap::new();
    for line in LineMap::read(after).lines() {
        *left.entry(line.hash.clone()).or_default() += 1;
    }
    let mut removed = Vec::new();
    for line in LineMap::read(before).lines() {
        match left.get_mut(&line.hash).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => removed.push(RemovedLine { number: line.number, hash: line.hash.clone() }),
        }
    }
    let new =
        |line: &&crate::lines::BroadcastLine| left.get(&line.hash).is_some_and(|count| *count > 0);
    let map = LineMap::read(after);
    match map.lines().iter().find(new) {
        Some(line) => Err(RefusedEdit::Unfounded { number: line.number }),
        None => Ok(removed),
    }
}

/// Returns the file without the lines that stand at `numbers`. What surrounds them stays.
pub fn without(text: &str, numbers: &[u32]) -> String {
    let mut gone = vec![false; text.lines().count()];
    for piece in pieces(text) {
        if let FilePiece::Line { number, last, .. } = piece
            && numbers.contains(&number)
        {
            for at in number..=last {
                gone[at as usize - 1] = true;
            }
        }
    }
    let kept = text.split_inclusive('\n').zip(&gone).filter(|(_, gone)| !**gone);
    kept.map(|(line, _)| line).collect()
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::evidence::{RootCause, Trajectory};
    use crate::fragment::Fragment;
    use crate::fragment::tests::fragment;

    const FILE: &str = "# Memory\n\n- One\n- Two\n  and more\n\n- Three\n";

    /// A ledger in which these lines failed.
    fn against(texts: &[&str]) -> Ledger {
        let mut ledger = Ledger::default();
        for text in texts {
            ledger.fold(&fragment(text, Trajectory::Weakening));
        }
        ledger
    }

    #[test]
    fn a_line_that_failed_may_go_as_a_whole() {
        let after = "# Memory\n\n- One\n\n- Three\n";
        let edit = Edit::defend(FILE, after, &against(&["Two and more"])).unwrap();
        assert_eq!(edit.after(), after);
        let removed: Vec<u32> = edit.removed().iter().map(|line| line.number).collect();
        assert_eq!(removed, [4]);
        insta::assert_snapshot!(diff(edit.before(), edit.after()));
    }

    #[test]
    fn without_evidence_nothing_may_go() {
        let after = without(FILE, &[3]);
        let number = LineHash::of("One");
        let refused = RefusedEdit::NoEvidence { number: 3, hash: number };
        let mut other = Ledger::default();
        for trajectory in [Trajectory::Strengthening, Trajectory::Neutral] {
            other.fold(&fragment("One", trajectory));
        }
        let mut recall = Ledger::default();
        recall.fold(&Fragment {
            root_cause: Some(RootCause::RecallMiss),
            ..fragment("One", Trajectory::Weakening)
        });
        for ledger in [Ledger::default(), against(&["Two and more", "one"]), other, recall] {
            assert_eq!(Edit::defend(FILE, &after, &ledger), Err(refused.clone()));
        }
        assert_eq!(Edit::defend(FILE, "", &against(&["Two and more"])), Err(refused));
    }

    #[test]
    fn a_change_that_no_evidence_can_ask_for_is_refused() {
        let ledger = against(&["One", "Two and more", "Three"]);
        let refused = |after: &str| Edit::defend(FILE, after, &ledger).unwrap_err();
        assert_eq!(refused(FILE), RefusedEdit::Nothing);
        assert_eq!(
            refused("# Memory\n\n- Three\n- One\n- Two\n  and more\n"),
            RefusedEdit::Cosmetic
        );
        assert_eq!(refused(&FILE.replace("# Memory", "# Mind")), RefusedEdit::Cosmetic);
        assert_eq!(refused(&FILE.replace("- One", "* One")), RefusedEdit::Cosmetic);
        assert_eq!(refused(FILE.trim_end()), RefusedEdit::Cosmetic);
        assert_eq!(refused(&FILE.replace("One", "Won")), RefusedEdit::Unfounded { number: 3 });
        assert_eq!(refused(&format!("{FILE}- Four\n")), RefusedEdit::Unfounded { number: 8 });
        assert_eq!(refused(&format!("{FILE}- One\n")), RefusedEdit::Unfounded { number: 3 });
        assert_eq!(refused("# Memory\n\n- Three\n"), RefusedEdit::Cosmetic);
    }

    proptest! {
        /// Whatever is asked for, what comes out is the file without lines that failed.
        #[test]
        fn every_edit_is_a_removal_that_the_ledger_defends(
            lines in prop::collection::vec(0_usize..6, 1..9),
            asked in prop::collection::vec((0_usize..9, 0_usize..4), 0..4),
            failed in prop::collection::vec(any::<bool>(), 6),
        ) {
            let words = ["- alpha", "- beta", "gamma", "# Title", "", "- delta\n  epsilon"];
            let mut parts: Vec<&str> = lines.iter().map(|at| words[*at]).collect();
            let before = parts.join("\n") + "\n";
            for (at, deed) in &asked {
                let at = at % parts.len().max(1);
                match deed {
                    0 if !parts.is_empty() => { parts.remove(at); }
                    1 => parts.insert(at, "- zeta"),
                    2 if !parts.is_empty() => parts.swap(at, 0),
                    _ => parts.push(""),
                }
            }
            let after = parts.join("\n") + "\n";
            let texts: Vec<String> = words
                .iter().zip(&failed).filter(|(_, failed)| **failed)
                .map(|(text, _)| text.replace('\n', " "))
                .collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let ledger = against(&texts);
            if let Ok(edit) = Edit::defend(&before, &after, &ledger) {
                prop_assert!(!edit.removed().is_empty());
                for line in edit.removed() {
                    prop_assert!(ledger.entry(&line.hash).is_some());
                }
                let numbers: Vec<u32> = edit.removed().iter().map(|line| line.number).collect();
                prop_assert_eq!(without(&before, &numbers), after);
            }
        }
    }
}
