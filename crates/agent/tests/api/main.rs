//! The api backend against the scripted model, on all three protocols: what it does, what it
//! never takes for a success, and that its books are the server's.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod faults;
mod scene;
mod work;
mod written;
