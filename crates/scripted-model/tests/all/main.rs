//! The server through its sockets, with a client that knows nothing but TCP.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod books;
mod client;
mod connections;
mod faults;
mod program;
mod protocols;
