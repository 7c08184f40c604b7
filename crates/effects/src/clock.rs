//! What time it is, and how much of it passes.

use std::time::Instant;

use spore_model::Timestamp;

pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;

    /// Returns the reading of a clock that only goes forward, for deadlines and durations.
    ///
    /// It runs also where [`now`](Self::now) stands still: a wait whose deadline never came
    /// would be endless.
    fn monotonic(&self) -> Instant {
        monotonic()
    }
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the time of day")]
    fn now(&self) -> Timestamp {
        let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let millis = since_1970.map_or(0, |passed| passed.as_millis());
        Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    }
}

/// The machine's monotonic clock, for the waits of this crate.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the monotonic clock")]
pub(crate) fn monotonic() -> Instant {
    Instant::now()
}

/// A clock that stands still, for tests that compare what people read.
#[derive(Debug)]
pub struct FixedClock(pub Timestamp);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}
