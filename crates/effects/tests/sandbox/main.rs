//! What a confined session cannot do, tried for real on this kernel.
//!
//! Each trick is a shell script that is played many times, as root and as another user, and
//! leaves a trace where it must not be able to. The traces are counted and the count is told.
//! Each also runs once without a sandbox: a trick that does not work anyway proves nothing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::print_stdout, reason = "the count is a figure that people quote")]

mod attempts;
mod kills;
mod landlock;
mod network;
mod recording;
mod root;
mod stage;
