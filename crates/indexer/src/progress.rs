//! How far the work is, and how long each phase of it took.

use std::time::Duration;

use serde::Serialize;
use spore_effects::Clock;

/// The phases of making an index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexPhase {
    /// Which files there are.
    Walk,
    /// Which of them changed.
    Compare,
    /// Reading, parsing, and writing what was read.
    Read,
    /// What names and imports mean.
    Resolve,
    /// Edges and look-ups.
    Write,
    /// What git knows of the past.
    History,
    /// Vectors, when all else is done.
    Embed,
}

impl IndexPhase {
    /// Those that an index is made in; vectors come after.
    const ALL: [Self; 6] =
        [Self::Walk, Self::Compare, Self::Read, Self::Resolve, Self::Write, Self::History];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Walk => "walk",
            Self::Compare => "compare",
            Self::Read => "read",
            Self::Resolve => "resolve",
            Self::Write => "write",
            Self::History => "history",
            Self::Embed => "embed",
        }
    }
}

/// Hears how far the work is.
pub trait Reporter: Sync {
    /// Tells how much of a phase is done; `total` is 0 where it is not known.
    fn progress(&self, phase: IndexPhase, done: u64, total: u64);

    /// Tells something worth a line of its own.
    fn note(&self, text: &str);

    /// Tells that nothing more of this is to be expected for now.
    fn rest(&self) {}
}

/// For callers that do not listen.
pub struct Silent;

impl Reporter for Silent {
    fn progress(&self, _: IndexPhase, _: u64, _: u64) {}

    fn note(&self, _: &str) {}
}

/// How long one phase took.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PhaseTime {
    #[serde(rename = "stage")]
    pub phase: IndexPhase,
    pub millis: u64,
}

/// How long each phase took so far.
#[derive(Default)]
pub(crate) struct PhaseTimes([Duration; 7]);

impl PhaseTimes {
    pub(crate) fn add(&mut self, phase: IndexPhase, time: Duration) {
        self.0[phase as usize] += time;
    }

    /// Times one piece of work.
    pub(crate) fn time<T>(
        &mut self,
        clock: &dyn Clock,
        phase: IndexPhase,
        work: impl FnOnce() -> T,
    ) -> T {
        let begun = clock.monotonic();
        let done = work();
        self.add(phase, begun.elapsed());
        done
    }

    pub(crate) fn times(&self) -> Vec<PhaseTime> {
        let time = |phase: IndexPhase| PhaseTime { phase, millis: millis(self.0[phase as usize]) };
        IndexPhase::ALL.into_iter().map(time).collect()
    }
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
