//! What runs leave on the disk, and how long it stays: checkouts are removed when a ref has their work,
//! transcripts and logs when they take more than they may.

pub(crate) mod prune;
pub(crate) mod records;
pub(crate) mod remaining;
