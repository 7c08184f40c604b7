//! The steps of a run, one module each. None of them uses another.

pub(crate) mod coder;
mod escalation;
mod finish;
mod gates;
mod landing;
mod nodes;
mod proposals;
mod rebase;
mod summarizer;
mod tester;
mod verifier;
