//! The crate through its public face, on real git in temporary directories.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod attributes;
mod checkout;
mod discovery;
mod history;
mod isolation;
mod landing;
mod landing_property;
mod mixed_tree;
mod reset;
mod results;
mod snapshot;
mod spares;
mod unstorable;
mod unverified;
mod work_files;
mod world;
