//! Which events were heard already.

use std::collections::VecDeque;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use spore_store::spine::DEDUP_WINDOW;

use crate::reading::hashed::HashedSet;

/// The last ids that were heard: a writer that retried must not count twice.
#[derive(Default)]
pub(super) struct Recent {
    ids: HashedSet,
    order: VecDeque<u64>,
}

impl Recent {
    /// Returns whether an event is new, and keeps its id.
    pub(super) fn admit(&mut self, id: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let id = hasher.finish();
        if !self.ids.insert(id) {
            return false;
        }
        self.order.push_back(id);
        if self.order.len() > DEDUP_WINDOW
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}
