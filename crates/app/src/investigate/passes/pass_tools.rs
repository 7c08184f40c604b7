//! What the tools of one pass stand on: the tree, the directory that is looked at, and what was done.
//!
//! A path that a model names is untrusted: only what the scan saw is a place, so neither a link nor
//! `..` nor a name that was left out leads anywhere.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::{Value, json};
use spore_investigate::passes::SummaryWriter;
use spore_investigate::{EntryKind, path_text};
use spore_model::Timestamp;
use spore_tools::ToolAnswer;
use spore_tools::investigation::InvestigationPass;

use super::ground::Ground;

/// What a pass has done so far.
#[derive(Default)]
pub(super) struct PassState {
    /// What ended it.
    pub(super) handed_in: Option<Value>,
    /// Places whose entry was sent back once for names that are not there.
    pub(super) sent_back: BTreeSet<String>,
    pub(super) calls: u32,
}

/// The tools of one pass over one directory, or over the whole.
pub(super) struct PassTools {
    pub(super) ground: Arc<Ground>,
    pub(super) pass: InvestigationPass,
    /// The directory that is looked at, from the target.
    pub(super) dir: String,
    pub(super) writer: SummaryWriter,
    /// What the directory's entry holds for, and the summaries it was written with.
    pub(super) key: String,
    pub(super) children: Value,
    /// What a synthesis sums up.
    pub(super) part: Option<String>,
    /// Tools that a survey has taken away.
    pub(super) left_out: BTreeSet<String>,
    pub(super) at: Timestamp,
    pub(super) state: Mutex<PassState>,
    pub(super) words: OnceLock<BTreeSet<String>>,
}

impl PassTools {
    pub(super) fn new(
        ground: &Arc<Ground>,
        pass: InvestigationPass,
        writer: SummaryWriter,
        at: Timestamp,
    ) -> Self {
        Self {
            ground: Arc::clone(ground),
            pass,
            dir: ".".to_owned(),
            writer,
            key: String::new(),
            children: json!({}),
            part: None,
            left_out: BTreeSet::new(),
            at,
            state: Mutex::default(),
            words: OnceLock::new(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, PassState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place of the tree by what a model calls it: from the target, or from the directory that
    /// is looked at; an absolute path only where it leads into the target.
    pub(super) fn place(&self, typed: &str) -> Option<(String, EntryKind, usize)> {
        let typed = typed.trim();
        let inside = match Path::new(typed).is_absolute() {
            true => Path::new(typed).strip_prefix(&self.ground.target).ok()?.to_owned(),
            false => Path::new(typed).to_owned(),
        };
        let mut parts: Vec<String> = Vec::new();
        for part in inside.components() {
            match part {
                std::path::Component::Normal(name) => parts.push(path_text(Path::new(name))),
                std::path::Component::CurDir => {}
                // No place needs a way out of a directory and back.
                _ => return None,
            }
        }
        let from_target = if parts.is_empty() { ".".to_owned() } else { parts.join("/") };
        let from_here = match self.dir.as_str() {
            "." => from_target.clone(),
            dir => format!("{dir}/{from_target}"),
        };
        [from_target, from_here].into_iter().find_map(|path| {
            let (kind, at) = *self.ground.places.get(&path)?;
            Some((path, kind, at))
        })
    }

    pub(super) fn no_place(typed: &str) -> ToolAnswer {
        let typed = spore_plain::cut(typed, 200);
        ToolAnswer::error(format!("{typed} is not a file or directory of the target"))
    }
}
