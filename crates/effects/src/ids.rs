//! New ids, from time and randomness.

use std::sync::{Arc, Mutex, PoisonError};

use spore_model::{EdgeId, EventId, NodeId, RunId, SessionToken};

use crate::Clock;

/// Makes ids that sort in the order they were made, within one process. Clones make them together.
#[derive(Clone)]
pub struct Ids {
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<IdState>>,
}

struct IdState {
    /// `None` draws from the operating system; tests give a seed.
    seed: Option<u64>,
    last: (u64, u128),
}

/// A ULID has 80 random bits.
const RANDOM_BITS: u128 = (1 << 80) - 1;

impl Ids {
    pub fn random(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Arc::new(Mutex::new(IdState { seed: None, last: (0, 0) })) }
    }

    pub fn seeded(clock: Arc<dyn Clock>, seed: u64) -> Self {
        Self { clock, state: Arc::new(Mutex::new(IdState { seed: Some(seed), last: (0, 0) })) }
    }

    pub fn run(&self) -> RunId {
        let (millis, random) = self.next();
        RunId::from_parts(millis, random)
    }

    pub fn event(&self) -> EventId {
        let (millis, random) = self.next();
        EventId::from_parts(millis, random)
    }

    pub fn node(&self) -> NodeId {
        let (millis, random) = self.next();
        NodeId::from_parts(millis, random)
    }

    pub fn edge(&self) -> EdgeId {
        let (millis, random) = self.next();
        EdgeId::from_parts(millis, random)
    }

    /// Makes a word that no other process of this machine carries. Never from a seed:
    /// processes are killed by it, and those of another test must not be.
    pub fn session_token(&self) -> SessionToken {
        let random = system_random();
        #[expect(clippy::expect_used, reason = "32 hex digits are always a token")]
        SessionToken::new(format!("{random:032x}")).expect("hex digits make a token")
    }

    /// Returns hex digits that no text written before can hold.
    pub fn nonce(&self) -> String {
        let drawn = self.lock().draw() & RANDOM_BITS;
        format!("{drawn:020x}")
    }

    fn next(&self) -> (u64, u128) {
        let millis = u64::try_from(self.clock.now().as_millis()).unwrap_or(0);
        let mut state = self.lock();
        // Two ids of one millisecond, or of a clock that went back: count up from the last.
        let next = if millis > state.last.0 {
            (millis, state.draw() & RANDOM_BITS)
        } else if state.last.1 < RANDOM_BITS {
            (state.last.0, state.last.1 + 1)
        } else {
            (state.last.0 + 1, 0)
        };
        state.last = next;
        next
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, IdState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdState {
    fn draw(&mut self) -> u128 {
        if let Some(seed) = &mut self.seed {
            return u128::from(split_mix(seed)) << 64 | u128::from(split_mix(seed));
        }
        system_random()
    }
}

fn system_random() -> u128 {
    let mut bytes = [0; 16];
    // A kernel without randomness is no machine to run agents on; the counter in `Ids::next`
    // still keeps ids of this process apart.
    let _ = getrandom::fill(&mut bytes);
    u128::from_le_bytes(bytes)
}

/// The SplitMix64 step: enough for ids in tests, and the same everywhere.
fn split_mix(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *seed;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FixedClock;
    use spore_model::Timestamp;

    #[test]
    fn ids_sort_in_the_order_they_were_made() {
        let clock = Arc::new(FixedClock(Timestamp::from_millis(1_000)));
        let ids = Ids::random(clock);
        let made: Vec<RunId> = (0..100).map(|_| ids.run()).collect();
        assert!(made.is_sorted());
        assert!(made.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn a_seed_gives_the_same_ids_again() {
        let make = || {
            let ids = Ids::seeded(Arc::new(FixedClock(Timestamp::from_millis(1))), 7);
            (ids.run(), ids.event())
        };
        assert_eq!(make(), make());
        let ids = Ids::seeded(Arc::new(FixedClock(Timestamp::from_millis(1))), 7);
        assert_ne!(ids.session_token(), ids.session_token());
    }
}
