//! One tree to be checked, and what the results of its gates are held to.

use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

use spore_gates::{Absence, Gate, GateKind, GateResult};
use spore_model::{CommitId, RunId, TreeId};
use spore_proof::ReachRecord;

/// What the gates said, or that they were interrupted before the last of them ended.
pub(crate) enum Checked {
    Done(Vec<GateResult>),
    Interrupted,
}

/// One tree to be checked, and what it is compared with.
pub(crate) struct Check<'a> {
    pub(crate) session: RunId,
    pub(crate) commit: &'a CommitId,
    pub(crate) tree: &'a TreeId,
    pub(crate) logs: &'a Path,
    pub(crate) against: Against<'a>,
}

pub(crate) enum Against<'a> {
    /// It is the base itself: what its gates build may be used for changes.
    Itself,
    /// The results are not compared with any earlier ones.
    Nothing,
    /// The change as it is. Tests may be missing if another run looks at those of the base. What its
    /// checks look up is put on record where parts of it will be taken back.
    Base { baseline: &'a [GateResult], absence: Absence, recorded: bool },
    /// The change with the base's own tests.
    Restored { expected: &'a [GateResult] },
    /// The same with data that the checks read as it was at the base. It may well fail.
    HeldBack { expected: &'a [GateResult] },
    /// The change's tests without the change: only tests are run, and they may well fail.
    WithoutChange,
    /// A tree with tests in it that must fail.
    Canaries,
    /// The change as it is with few of its tests; what has none is held to the base.
    FewTests { baseline: &'a [GateResult] },
    /// Tests of the base that the change touched, by themselves, on its product.
    TouchedTests,
    /// The base itself once more, to see whether it says the same.
    BaseAgain,
    /// A tree with tests in it that the coder never saw; the base with them, or a change. They may well
    /// fail, and are told of without their names.
    HeldOut { at_base: bool },
    /// The change as it is, to see which lines of these files are reached. It decides nothing else.
    Reached { asked: &'a ReachAsked<'a>, until: Option<Instant> },
    /// The change without a part of it. Nothing is run behind the first check that minds, and
    /// nothing goes on when the time for it is over.
    WithoutPart { number: usize, change: &'a [GateResult], until: Option<Instant> },
}

/// Which files of a change are followed, and what was found.
pub(crate) struct ReachAsked<'a> {
    pub(crate) paths: Vec<String>,
    pub(crate) change: &'a [GateResult],
    pub(crate) found: RefCell<Vec<ReachRecord>>,
}

impl Against<'_> {
    /// Returns the results that a gate's are held to; nothing where they are compared with none.
    pub(super) fn expected(&self) -> Option<&[GateResult]> {
        match self {
            Self::Base { baseline, .. } | Self::FewTests { baseline } => Some(baseline),
            Self::Restored { expected } | Self::HeldBack { expected } => Some(expected),
            Self::Itself
            | Self::Nothing
            | Self::WithoutChange
            | Self::WithoutPart { .. }
            | Self::Reached { .. }
            | Self::BaseAgain
            | Self::HeldOut { .. }
            | Self::TouchedTests
            | Self::Canaries => None,
        }
    }

    /// Returns whether a failure is told with the proof, and not as it happens.
    pub(super) fn may_fail(&self) -> bool {
        !matches!(self, Self::Itself | Self::Nothing | Self::Base { .. } | Self::Restored { .. })
    }

    /// Returns the gate as it runs on this tree. Without a part of the change it may never end, and
    /// how long it takes with it is known.
    pub(super) fn paced(&self, gate: &Gate) -> Gate {
        const SLACK: Duration = Duration::from_secs(5);
        let mut gate = gate.clone();
        if let Self::WithoutPart { change, .. }
        | Self::Reached { asked: ReachAsked { change, .. }, .. } = self
            && let Some(known) = change.iter().find(|one| one.gate == gate.name)
        {
            let most = Duration::from_millis(known.duration_ms).saturating_mul(3) + SLACK;
            gate.timeout = gate.timeout.min(most);
        }
        gate
    }

    /// Returns whether gates behind this result have nothing more to say.
    pub(super) fn is_settled_by(&self, result: &GateResult) -> bool {
        match self {
            Self::WithoutPart { change, .. } => {
                change.iter().any(|one| one.gate == result.gate && one.exit != result.exit)
            }
            _ => false,
        }
    }
}

impl Check<'_> {
    pub(super) fn log_name(&self, gate: &Gate) -> String {
        match self.against {
            Against::Restored { .. } => format!("{}.base-tests.log", gate.name),
            Against::HeldBack { .. } => format!("{}.base-data.log", gate.name),
            Against::WithoutChange => format!("{}.without-change.log", gate.name),
            Against::Canaries => format!("{}.canaries.log", gate.name),
            Against::FewTests { .. } if gate.kind == GateKind::Test => {
                format!("{}.few-tests.log", gate.name)
            }
            Against::TouchedTests => format!("{}.touched-tests.log", gate.name),
            Against::BaseAgain => format!("{}.base-again.log", gate.name),
            Against::HeldOut { at_base: true } => format!("{}.held-out-base.log", gate.name),
            Against::HeldOut { at_base: false } => format!("{}.held-out.log", gate.name),
            Against::Reached { .. } => format!("{}.reached.log", gate.name),
            Against::WithoutPart { number, .. } => format!("{}.probe-{number}.log", gate.name),
            _ => format!("{}.log", gate.name),
        }
    }

    /// Returns whether a gate rewrote tracked files that it leaves alone at the base. What it also
    /// writes there, the gates behind it may need: what an install leaves.
    pub(super) fn is_unlike_base(&self, result: &GateResult) -> bool {
        let Some(base) = self.against.expected() else { return false };
        let base = base.iter().find(|one| one.gate == result.gate);
        let is_known = |name: &String| base.is_some_and(|base| base.rewritten.contains(name));
        result.rewritten.iter().any(|name| !is_known(name))
    }

    pub(super) fn judge(&self, result: &mut GateResult) {
        let all = self.against.expected().unwrap_or_default();
        let expected = all.iter().find(|one| one.gate == result.gate);
        let absence = match self.against {
            Against::Base { absence, .. } => absence,
            Against::FewTests { .. } => Absence::IsAllowed,
            _ => Absence::IsRed,
        };
        result.restored |=
            matches!(self.against, Against::Restored { .. } | Against::HeldBack { .. });
        spore_gates::judge(result, expected, absence);
    }
}

/// Returns what gates with the base's own tests are held to: the tests of the base, and of
/// its failures only those that the change did not mend by its own account. A test that
/// passes in the change and fails as it was at the base passes because it was changed.
pub(crate) fn expected_of_base_tests(
    baseline: &[GateResult],
    change: &[GateResult],
) -> Vec<GateResult> {
    let mut expected = baseline.to_vec();
    for one in &mut expected {
        let Some(now) = change.iter().find(|now| now.gate == one.gate) else { continue };
        one.failures.retain(|name| now.failures.contains(name));
        one.exit = now.exit;
        one.recognised &= now.recognised;
    }
    expected
}
