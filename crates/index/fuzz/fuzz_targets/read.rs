//! Any text as any language. The first byte says which.
//!
//!     RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir crates/index/fuzz -s none read -- -max_len=65536
//!
//! The variable lets a stable compiler take the flags that a fuzzer needs, and `-s none` leaves
//! out the address sanitizer, for speed. `cargo install cargo-fuzz` comes first.
//!
//! `tests/random.rs` runs the same function over seeded random texts with a stable compiler.

#![no_main]

#[path = "../../tests/invariants/mod.rs"]
mod invariants;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| invariants::check_bytes(data));
