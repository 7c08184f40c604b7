//! What a pass is given, and what it comes to.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use spore_store::spine::{Cursor, SpineProblem};

use crate::fragment::Fragment;
use crate::known::KnownFragments;
use crate::lines::{LineHash, LineMap};
use crate::pending::Pending;
use crate::reading::recalled::Recalled;
use crate::reading::turns::Turns;
use crate::rules::CarriedBy;

/// What a pass is to look for.
pub struct ScanTask<'a> {
    pub map: &'a LineMap,
    /// The fragments there are.
    pub known: &'a KnownFragments,
    /// The lines that have a place in the ledger.
    pub in_ledger: &'a HashSet<LineHash>,
    /// The lines that the command or its task names.
    pub named: &'a [LineHash],
    /// Whether to tell of every line that nothing touched.
    pub coverage: bool,
    /// How many fragments end the pass.
    pub most: usize,
    /// How many open touches are kept for each line.
    pub pending_per_line: usize,
    pub carried: &'a CarriedBy<'a>,
    /// The turns that were open when the last pass ended.
    pub turns: &'a Turns,
    /// What memory has told sessions.
    pub recalled: &'a Recalled,
    pub stop: &'a dyn Fn() -> bool,
}

/// What a pass found.
#[derive(Debug, Default)]
pub struct Scanned {
    pub events: u64,
    /// How many events of each kind were heard, and how many were not.
    pub accepted: BTreeMap<String, u64>,
    pub rejected: BTreeMap<String, u64>,
    /// Events whose kind is missing or no word.
    pub unscannable: u64,
    /// What is new, in the order of the events.
    pub fragments: Vec<Fragment>,
    /// Evidence that was found again, by line.
    pub repeated: u64,
    pub pending: Pending,
    /// The turns that are open now.
    pub turns: Turns,
    /// Events of people that only said back what memory had told.
    pub recalled: u64,
    /// The first flaws of the spine, and how many there were.
    pub flaws: Vec<SpineFlaw>,
    pub flawed: u64,
    pub from: Cursor,
    pub to: Cursor,
    pub last: Option<LastEvent>,
    /// The pass ended early because it had found enough; the next one goes on.
    pub full: bool,
}

/// The last event that was parsed, heard or not.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LastEvent {
    pub id: String,
    pub ts: String,
}

/// A place on the spine that is no event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SpineFlaw {
    pub partition: String,
    pub offset: u64,
    pub what: String,
}

/// Why a pass ended early. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    #[error("the scan was interrupted")]
    Interrupted,
    #[error(transparent)]
    Unreadable(SpineProblem),
}
