//! What the checks say where a part of the change is taken back.

use serde::{Deserialize, Serialize};
use spore_gates::{GateKind, GateResult};

use crate::hunks::HunkPlace;
use crate::new_tests::is_same;

/// How many parts are named one by one.
const NAMED: usize = 20;

/// Whether the checks notice that a part of the change is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Noticed {
    /// A test fails that passes with it.
    Seen,
    /// Every check is green without it.
    Unseen,
    /// Without it nothing builds, loads or ends: any part has that effect whose names are used.
    Unbuilt,
    /// The time was over.
    NotTried,
}

/// A part of a change, and whether the checks notice that it is gone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProbedHunk {
    #[serde(flatten)]
    pub place: HunkPlace,
    pub noticed: Noticed,
}

/// What became of every part of a change.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct HunkReport {
    pub hunks: Vec<ProbedHunk>,
}

impl HunkReport {
    /// Returns whether nothing of the change can go unnoticed.
    pub fn is_all_seen(&self) -> bool {
        self.count(Noticed::Seen) == self.hunks.len()
    }

    /// Returns it in a few words, where the change has parts: `2 of 5 hunks seen`.
    pub fn words(&self) -> Option<String> {
        let (seen, all) = (self.count(Noticed::Seen), self.hunks.len());
        (all > 0).then(|| format!("{seen} of {all} hunks seen"))
    }

    /// Returns why not every part is seen, a sentence each.
    pub fn doubts(&self) -> Vec<String> {
        let unseen: Vec<&ProbedHunk> =
            self.hunks.iter().filter(|hunk| hunk.noticed == Noticed::Unseen).collect();
        let mut doubts: Vec<String> = unseen
            .iter()
            .take(NAMED)
            .map(|hunk| format!("no check notices when {} is taken back", hunk.place.text()))
            .collect();
        if let Some(more) = unseen.len().checked_sub(NAMED).filter(|more| *more > 0) {
            doubts.push(format!("nor when {more} more hunks are taken back, each alone"));
        }
        let unbuilt = self.hunks.iter().filter(|hunk| hunk.noticed == Noticed::Unbuilt);
        let unbuilt: Vec<String> = unbuilt.map(|hunk| hunk.place.text()).collect();
        if !unbuilt.is_empty() {
            let shown = unbuilt[..unbuilt.len().min(NAMED)].join(", ");
            doubts.push(format!("without {shown} nothing builds, which proves nothing"));
        }
        match self.count(Noticed::NotTried) {
            0 => {}
            left => doubts.push(format!("hunks that were not tried in the time for it: {left}")),
        }
        doubts
    }

    /// Returns what a reader should know, a line each.
    pub fn lines(&self) -> Vec<String> {
        let unseen = self.count(Noticed::Unseen);
        let why = |at: usize| if at < unseen { ": say why it is right" } else { "" };
        let doubts = self.doubts().into_iter().enumerate();
        doubts.map(|(at, doubt)| format!("not seen: {doubt}{}", why(at))).collect()
    }

    fn count(&self, what: Noticed) -> usize {
        self.hunks.iter().filter(|hunk| hunk.noticed == what).count()
    }
}

/// Compares the checks of the change as it is, `change`, with those that ran without a part of it.
/// They end with the first that fails. Where tests went with the part (`holds_tests`), that they are
/// gone says nothing.
pub fn notice(
    change: &[GateResult],
    without: &[(GateKind, GateResult)],
    holds_tests: bool,
) -> Noticed {
    let mut has_built = false;
    for (kind, probe) in without {
        let Some(now) = change.iter().find(|now| now.gate == probe.gate) else { continue };
        let noticed = match kind {
            GateKind::Build if probe.exit == now.exit => {
                has_built = true;
                None
            }
            GateKind::Build => Some(Noticed::Unbuilt),
            GateKind::Test => of_tests(now, probe, has_built, holds_tests),
            GateKind::Lint => None,
        };
        if let Some(noticed) = noticed {
            return noticed;
        }
    }
    Noticed::Unseen
}

/// Returns what one check with tests says; nothing if it does not mind.
fn of_tests(
    now: &GateResult,
    probe: &GateResult,
    has_built: bool,
    holds_tests: bool,
) -> Option<Noticed> {
    let fails = |result: &GateResult, name: &str| {
        result.failures.iter().any(|failed| is_same(failed, name))
    };
    let passed = now.ran.iter().filter(|name| !fails(now, name));
    let mut passed_before = passed.peekable();
    let is_named = passed_before.peek().is_some();
    if passed_before.any(|name| probe.ran.contains(name) && fails(probe, name)) {
        return Some(Noticed::Seen);
    }
    if probe.exit == now.exit {
        let is_missed = now.ran.iter().any(|name| !probe.ran.contains(name));
        return (is_named && is_missed && !holds_tests).then_some(Noticed::Seen);
    }
    // It fails and names no test. Where it never names one and a build was green before, that is
    // its way to say so; else it may be that nothing was built or loaded.
    let is_told = !is_named && (has_built || probe.failed > now.failed);
    Some(if is_told && probe.exit.is_some() { Noticed::Seen } else { Noticed::Unbuilt })
}

#[cfg(test)]
mod tests;
