//! Any text as any language. The first byte says which.
//!
//!     cargo +nightly fuzz run read --fuzz-dir crates/index/fuzz -- -max_len=65536
//!
//! `tests/random.rs` runs the same function over seeded random texts with a stable compiler.

#![no_main]

#[path = "../../tests/invariants/mod.rs"]
mod invariants;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| invariants::check_bytes(data));
