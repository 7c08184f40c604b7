//! The steps of a run, one module each.

pub(crate) mod coder;
pub(crate) mod conclusion;
pub(crate) mod gates;
pub(crate) mod nodes;
pub(crate) mod proposals;
pub(crate) mod secrets;
pub(crate) mod verifier;
