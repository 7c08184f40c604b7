//! Signals that no line says yet, and which of them come up again.
//!
//! One remark is not a rule. A new line is defensible where a person gave a standing instruction,
//! or where what was said came up in more than one event. That two remarks are the same one is
//! decided by their words, which is coarse on purpose: what it misses waits, and a person or a
//! judge may still cite both.

use std::collections::BTreeSet;

use crate::evidence::EvidenceSignal;
use crate::ledger::{Ledger, LedgerRow};
use crate::lines::LineHash;
use crate::reading::speech;

/// How many of the words of two remarks must be the same.
const SAME: f64 = 0.5;

/// Remarks that say the same, oldest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignalGroup<'a> {
    pub rows: Vec<&'a LedgerRow>,
    /// In the words of the latest.
    pub words: String,
}

impl SignalGroup<'_> {
    /// Whether a person said it as a standing instruction.
    pub fn is_standing(&self) -> bool {
        self.rows.iter().any(|row| is_standing(row))
    }

    /// In how many events it came up.
    pub fn times(&self) -> usize {
        let event = |row: &&LedgerRow| row.proof.as_ref().map(|proof| proof.event.clone());
        self.rows.iter().filter_map(event).collect::<BTreeSet<_>>().len()
    }

    /// What a line would say of it without a judge's help: the latest standing instruction, as far as
    /// its words leave no doubt. A ledger may have rows of a time when rules took more for one.
    pub fn standing_words(&self) -> Option<String> {
        let of_row = |row: &&LedgerRow| {
            // Half of what was said may say the opposite.
            let words = own_words(row).filter(|_| is_whole(row))?;
            match is_declared(row) {
                true => Some(words),
                false => speech::standing_part(&words),
            }
        };
        self.rows.iter().rev().filter(|row| is_standing(row)).find_map(of_row)
    }

    /// Whether some of it was said after a time.
    pub fn is_after(&self, ts: &str) -> bool {
        self.rows.iter().any(|row| row.ts.as_str() > ts)
    }

    pub fn fragments(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.fragment.clone()).collect()
    }
}

/// Whether a row is a person's own standing instruction. A channel may carry any sender's words, and
/// a judge's reading of them is not what was said.
pub(crate) fn is_standing(row: &LedgerRow) -> bool {
    row.by.is_rule() && row.signal == EvidenceSignal::Instruction && row.kind == "human"
}

/// Groups what no line says. The order of the rows decides nothing but the order of the groups.
pub fn group(ledger: &Ledger) -> Vec<SignalGroup<'_>> {
    let said: Vec<(&LedgerRow, String)> =
        ledger.unsaid().filter_map(|row| Some((row, own_words(row)?))).collect();
    let words: Vec<BTreeSet<String>> = said.iter().map(|(_, text)| words_of(text)).collect();
    // Groups are what hangs together: by the first remark that one is like, however far that goes.
    let mut leader: Vec<usize> = (0..said.len()).collect();
    for at in 0..said.len() {
        for before in 0..at {
            if likeness(&words[before], &words[at]) >= SAME {
                let (a, b) = (leader[before], leader[at]);
                let (low, high) = (a.min(b), a.max(b));
                leader.iter_mut().filter(|l| **l == high).for_each(|l| *l = low);
            }
        }
    }
    let mut groups = Vec::new();
    for first in 0..said.len() {
        let members: Vec<usize> = (first..said.len()).filter(|at| leader[*at] == first).collect();
        if let Some(last) = members.last() {
            let rows = members.iter().map(|at| said[*at].0).collect();
            groups.push(SignalGroup { rows, words: said[*last].1.clone() });
        }
    }
    groups
}

/// Whether a line was added for a signal before, and no person has said it since: then people took the
/// line out, and it stays out.
pub fn was_added(ledger: &Ledger, hash: &LineHash, group: &SignalGroup<'_>) -> bool {
    let added = ledger.links().filter(|link| link.old == *hash && link.new == *hash);
    added.map(|link| link.ts.as_str()).max().is_some_and(|last| !group.is_after(last))
}

/// A person's words, as the evidence quotes them.
pub fn own_words(row: &LedgerRow) -> Option<String> {
    let (_, quoted) = row.proof.as_ref()?.evidence.split_once('“')?;
    let words = quoted.strip_suffix('”').unwrap_or(quoted).trim();
    (!words.is_empty()).then(|| words.to_owned())
}

/// Whether a row has all that was said.
fn is_whole(row: &LedgerRow) -> bool {
    row.proof
        .as_ref()
        .is_some_and(|proof| proof.evidence.ends_with('”') && !proof.evidence.ends_with("…”"))
}

/// Whether a row is of an event that declares itself an instruction.
fn is_declared(row: &LedgerRow) -> bool {
    row.proof.as_ref().is_some_and(|proof| proof.evidence.starts_with(DECLARED))
}

/// How the evidence of an event begins that declares itself an instruction.
pub(crate) const DECLARED: &str = "An event memory.instruction from ";

fn words_of(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 2);
    let mut all: BTreeSet<String> = words.map(str::to_owned).collect();
    if all.len() < 3 {
        // A script that sets no words apart is compared by pairs of letters.
        let letters: Vec<char> = lower.chars().filter(|c| c.is_alphanumeric()).collect();
        all.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
    }
    all
}

fn likeness(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let common = a.intersection(b).count() as f64;
    let all = a.union(b).count() as f64;
    if all == 0.0 { 0.0 } else { common / all }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{Decider, Trajectory};
    use crate::fragment::Fragment;
    use crate::fragment::tests::fragment;

    fn said(event: &str, words: &str) -> Fragment {
        Fragment {
            event: event.into(),
            signal: EvidenceSignal::Preference,
            evidence: vec!["An event.".into(), format!("In its own words: “{words}”")],
            ..fragment("", Trajectory::NewSignal)
        }
    }

    #[test]
    fn what_is_said_again_is_one_group_and_anything_else_is_none() {
        let mut ledger = Ledger::default();
        for (event, words) in [
            ("a", "Please squash commits before merging"),
            ("b", "squash all commits before merging please"),
            ("c", "I prefer short names"),
            ("d", "コミットは必ずまとめてください"),
            ("e", "コミットは必ずまとめてください。"),
        ] {
            ledger.fold(&said(event, words));
        }
        let groups = group(&ledger);
        let told: Vec<(usize, bool)> =
            groups.iter().map(|g| (g.times(), g.is_standing())).collect();
        assert_eq!(told, [(2, false), (1, false), (2, false)]);
        assert_eq!(groups[0].words, "squash all commits before merging please");
    }

    #[test]
    fn only_what_leaves_no_doubt_has_words_for_a_line() {
        let words = |evidence: String| {
            let mut one = said("a", "");
            one.signal = EvidenceSignal::Instruction;
            one.evidence = vec![evidence];
            let mut ledger = Ledger::default();
            ledger.fold(&one);
            group(&ledger)[0].standing_words()
        };
        let told = |text: &str| words(format!("An event. In its own words: “{text}”"));
        assert_eq!(
            told("The build is slow. From now on run “cargo x” first.").as_deref(),
            Some("From now on run “cargo x” first.")
        );
        assert_eq!(told("As of now the branch is red."), None);
        assert_eq!(told("From now on run everything that is in the lo…"), None);
        let declared = |text: &str| words(format!("{DECLARED}human gave it. “{text}”"));
        assert_eq!(declared("Squash").as_deref(), Some("Squash"));
    }

    #[test]
    fn what_was_added_and_taken_out_stays_out_until_it_is_said_again() {
        let mut ledger = Ledger::default();
        let mut one = said("a", "Always squash commits");
        one.ts = "2026-01-02T00:00:00.000Z".into();
        ledger.fold(&one);
        let hash = LineHash::of("Always squash commits");
        assert!(!was_added(&ledger, &hash, &group(&ledger)[0]));
        ledger.link(crate::ledger::LineLink {
            ts: "2026-01-03T00:00:00.000Z".into(),
            old: hash.clone(),
            new: hash.clone(),
            by: Decider::Rule,
        });
        assert!(was_added(&ledger, &hash, &group(&ledger)[0]));
        one.event = "b".into();
        one.ts = "2026-01-04T00:00:00.000Z".into();
        ledger.fold(&one);
        assert!(!was_added(&ledger, &hash, &group(&ledger)[0]));
    }

    #[test]
    fn only_a_persons_own_instruction_stands() {
        let stands = |change: fn(&mut Fragment)| {
            let mut one = said("a", "Always squash commits");
            one.signal = EvidenceSignal::Instruction;
            change(&mut one);
            let mut ledger = Ledger::default();
            ledger.fold(&one);
            group(&ledger)[0].is_standing()
        };
        assert!(stands(|_| {}));
        assert!(!stands(|one| one.kind = "channel".into()));
        assert!(!stands(|one| one.by = Decider::judge("m", "1")));
        assert!(!stands(|one| one.signal = EvidenceSignal::Preference));
    }
}
