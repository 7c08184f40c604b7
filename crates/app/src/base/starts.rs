//! Sessions that are started on behalf of a session.
//!
//! An agent that is held cannot open the journal, so its `spore spawn` asks the process that holds
//! it. What is started there belongs to the session that asked: it is as deep as that plus one,
//! in the same trace, sees the same directory, ends with it and spends from what it may.

use std::path::PathBuf;

use spore_model::{RunId, Usd};

/// What a session gives to one that it starts, at most.
#[derive(Clone, PartialEq, Debug)]
pub struct StartBounds {
    /// The directory that it is shown.
    pub dir: PathBuf,
    pub usd: Option<Usd>,
    /// How deep sessions may be nested.
    pub limit: u32,
    /// The session itself: what it starts is below it in the tree of runs.
    pub session: RunId,
    /// The run that pays for it, and so for what it starts.
    pub payer: RunId,
}
