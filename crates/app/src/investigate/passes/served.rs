//! The tools of one pass, performed here for whatever agent calls them.
//!
//! A path that a model names is untrusted: it is walked from the target's own descriptor, and only
//! what the scan saw can be read, so neither a link nor `..` nor a name that was left out leads
//! anywhere. What a model is told and what it hands in has its secrets struck.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::{Value, json};
use spore_investigate::artefacts::{LOG, LogLine};
use spore_investigate::passes::SummaryWriter;
use spore_investigate::{EntryKind, path_text};
use spore_model::Timestamp;
use spore_tools::investigation::{InvestigationPass, declared_for_pass};
use spore_tools::{Declared, ToolAnswer};

use super::ground::Ground;
use crate::session::broker::SessionCommands;

/// Entries that one answer lists.
const LISTED: usize = 200;

/// What a pass has done so far.
#[derive(Default)]
pub(super) struct PassState {
    /// What ended it.
    pub(super) handed_in: Option<Value>,
    /// Places whose entry was sent back once for names that are not there.
    pub(super) sent_back: BTreeSet<String>,
    calls: u32,
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
            left_out: BTreeSet::new(),
            at,
            state: Mutex::default(),
            words: OnceLock::new(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, PassState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn perform(&self, tool: &str, arguments: &Value) -> ToolAnswer {
        if self.own_tools().iter().all(|declared| declared.name != tool) {
            return ToolAnswer::refused(format!("there is no tool {tool:?} here"));
        }
        if self.state().handed_in.is_some() {
            return ToolAnswer::error("the result is handed in: end the session now");
        }
        match tool {
            "read" | "grep" => self.look(tool, arguments),
            "list" => self.list(arguments),
            "parse_structure" => self.structure(arguments),
            "write_cache" => self.write_cache(arguments),
            "think" | "checkpoint" => ToolAnswer::ok("ok"),
            "flag" => self.flag(arguments),
            "read_cache" => self.read_cache(arguments),
            "list_cache" => self.list_cache(arguments),
            "submit_report" if self.pass == InvestigationPass::Directory => self.report(arguments),
            "submit_report" | "submit_survey" | "submit_plan" => self.take(arguments),
            _ => ToolAnswer::refused(format!("there is no tool {tool:?} here")),
        }
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

    fn read_cache(&self, arguments: &Value) -> ToolAnswer {
        let typed = arguments["path"].as_str().unwrap_or_default();
        let Some((path, kind, _)) = self.place(typed) else { return Self::no_place(typed) };
        match self.ground.summaries.of(kind, &path) {
            Some(node) => ToolAnswer::ok(format!("{path}: {}", node.content)),
            None => ToolAnswer::error(format!("nothing is known of {path}")),
        }
    }

    fn list_cache(&self, arguments: &Value) -> ToolAnswer {
        let from =
            arguments["from"].as_u64().and_then(|from| usize::try_from(from).ok()).unwrap_or(0);
        let below = arguments["path"].as_str().unwrap_or(".");
        let places = self.ground.summaries.places();
        let is_below = |path: &&str| below == "." || path.starts_with(below);
        let paths: Vec<&str> =
            places.iter().map(|(_, path)| path.as_str()).filter(is_below).collect();
        let shown: Vec<&str> = paths.iter().copied().skip(from).take(LISTED).collect();
        let more = paths.len().saturating_sub(from + shown.len());
        let more = if more > 0 {
            format!("\nand {more} more: from={}", from + shown.len())
        } else {
            String::new()
        };
        ToolAnswer::ok(format!("{} entries\n{}{more}", paths.len(), shown.join("\n")))
    }
}

impl SessionCommands for PassTools {
    fn run(&self, _command: &str) -> ToolAnswer {
        ToolAnswer::refused("no command can be run here")
    }

    fn own_tools(&self) -> Vec<Declared> {
        let all = declared_for_pass(self.pass).into_iter();
        all.filter(|tool| !self.left_out.contains(&tool.name)).collect()
    }

    fn call(&self, tool: &str, arguments: &Value) -> ToolAnswer {
        let mut answer = self.perform(tool, arguments);
        answer.text = self.ground.struck(&answer.text);
        let turn = {
            let mut state = self.state();
            state.calls += 1;
            state.calls
        };
        let mut args = arguments.clone();
        if let Some(fields) = args.as_object_mut() {
            // What is said stands in the entry, not in the log.
            ["data", "summary", "brief", "detailed"].iter().for_each(|name| {
                fields.remove(*name);
            });
        }
        let line = LogLine {
            directory: self.dir.clone(),
            turn,
            timestamp: self.at,
            tool: tool.to_owned(),
            args,
            result_length: answer.text.len() as u64,
        };
        match self.ground.append(LOG, &line) {
            Ok(()) => answer,
            Err(error) => ToolAnswer::error(format!("the log cannot be written: {error}")),
        }
    }
}
