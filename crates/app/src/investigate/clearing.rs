//! `spore investigate --clear-cache`: what models said of a target no longer counts.
//!
//! Nothing is removed: entries, flags and briefs are marked, and stay in the graph for a person who asks
//! for them by their ids. What counting found stays as it is, for it costs nothing to find.

use serde::Serialize;
use serde_json::json;
use spore_investigate::EntryKind;
use spore_store::{Journal, Knowledge, NodeQuery};

use super::base_scan;
use super::passes::{BRIEF, below};
use super::shared::{CLEARED, named, own_times_cleared, place_of};
use crate::knowledge::places::{FLAG, summary_kind};
use crate::{Result, Surroundings, Workspace};

/// What no longer counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ClearedCounts {
    pub summaries: u64,
    pub flags: u64,
    pub briefs: u64,
}

/// Clears what models said of a directory and everything below it.
pub fn clear_investigation(around: &Surroundings, dir: &std::path::Path) -> Result<ClearedCounts> {
    let target = base_scan::target(around, dir)?;
    let place = place_of(around, &target)?;
    let (workspace, base) = match place.base.filter(|_| place.workspace.is_initialised()) {
        Some(base) => (place.workspace, base),
        None => (Workspace::for_stranger(around, &target), std::path::PathBuf::new()),
    };
    if !workspace.spore_dir().is_dir() {
        return Ok(ClearedCounts::default());
    }
    let config = workspace.config(around, &[])?;
    let knowledge = workspace.knowledge(&config)?;
    let (base, now) = (named(&base), around.clock.now());
    let clear = |kind: &str, place: &str| -> Result<u64> {
        let query = NodeQuery { kind: Some(kind.to_owned()), ..NodeQuery::default() };
        let mut count = 0;
        for node in knowledge.list(&query)? {
            let at = node.metadata[place].as_str().unwrap_or_default();
            if node.metadata["cleared"] != true && below(&base, at).is_some() {
                let marks = json!({ "cleared": true, "stale": true });
                knowledge.update_metadata(&node.id, &marks, now)?;
                count += 1;
            }
        }
        Ok(count)
    };
    let cleared = ClearedCounts {
        summaries: clear(summary_kind(EntryKind::Directory), "place")?
            + clear(summary_kind(EntryKind::File), "place")?,
        flags: clear(FLAG, "path")?,
        briefs: clear(BRIEF, "path")?,
    };
    let journal = workspace.journal(&config)?;
    let times = own_times_cleared(&journal, &base)? + 1;
    journal.cache(CLEARED, &base, &json!(times), now)?;
    Ok(cleared)
}
