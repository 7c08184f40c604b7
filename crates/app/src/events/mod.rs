//! The spine of events as people use it: appending, following, collecting corrections.

pub(crate) mod append;
pub(crate) mod collect;
pub(crate) mod corrections;
pub(crate) mod tail;
