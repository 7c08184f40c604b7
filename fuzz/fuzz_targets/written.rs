//! The reader of calls that models write as text, given any answer.
//!
//! What must hold is what `crates/tools/tests/written` finds out in another way, line by line:
//! nothing is a call that is not whole, valid and by itself.

#![no_main]

#[path = "../../crates/tools/tests/written/mod.rs"]
mod written;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    written::check_answer(&String::from_utf8_lossy(data));
});
