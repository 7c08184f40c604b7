//! Any text as an answer with calls in it.
//!
//!     RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir crates/tools/fuzz -s none written -- -max_len=4096
//!
//! `tests/written_answers.rs` runs the same check over seeded random texts with a stable compiler.

#![no_main]

#[path = "../../tests/written/mod.rs"]
mod written;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| written::check_answer(&String::from_utf8_lossy(data)));
