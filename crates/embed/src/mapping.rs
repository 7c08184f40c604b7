//! Files as memory.
//!
//! This module may use `unsafe`: a mapping is undefined once a process shortens or rewrites the
//! file below it (<https://docs.rs/memmap2/latest/memmap2/struct.Mmap.html#safety>). Spore does
//! neither: weights are put in place by a rename and never written again, and a vectors file is
//! only ever appended to or replaced by a rename, which leaves the old file to the processes that
//! have it mapped.

#![expect(unsafe_code, reason = "a mapping is sound while no process shortens the file")]

use std::fs::File;
use std::io;
use std::path::Path;

/// A file's content at the time it was opened.
pub(crate) struct Mapping(memmap2::Mmap);

impl Mapping {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::of(&File::open(path)?)
    }

    pub(crate) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: see above; the length is the file's, and it only grows.
        unsafe { memmap2::Mmap::map(file) }.map(Self)
    }

    /// Gives the memory of what was read back; the next look reads it from the file again.
    /// Where that is not possible, nothing happens.
    pub(crate) fn let_go(&self) {
        // SAFETY: the mapping is of a file and never written to, so its pages come back the same.
        let _ = unsafe { self.0.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
