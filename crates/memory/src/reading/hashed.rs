//! Sets of what is a hash already: to hash it once more would cost as much as the rest.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// A set of hashes.
pub(crate) type HashedSet = HashSet<u64, BuildHasherDefault<HashedAlready>>;

/// Takes a hash as it is.
#[derive(Clone, Default)]
pub(crate) struct HashedAlready(u64);

impl Hasher for HashedAlready {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
