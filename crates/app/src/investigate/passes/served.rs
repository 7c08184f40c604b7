//! The tools of one pass, performed here for whatever agent calls them.
//!
//! A path that a model names is untrusted: it is walked from the target's own descriptor, and only
//! what the scan saw can be read, so neither a link nor `..` nor a name that was left out leads
//! anywhere. What a model is told and what it hands in has its secrets struck.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::{Value, json};
use spore_effects::session::ProcessIdentity;
use spore_index::Language;
use spore_investigate::artefacts::{FLAGS, LOG, LogLine};
use spore_investigate::passes::{DOUBTFUL, PROMPT_VERSION, SummaryWriter, file_key, unknown_names};
use spore_investigate::{EntryKind, Tree, path_text, problems, size_text};
use spore_model::Timestamp;
use spore_secrets::KnownSecrets;
use spore_tools::graph::Declared;
use spore_tools::investigation::{InvestigationPass, declared_for_pass};
use spore_tools::{BoxError, Registry, Root, ToolAnswer, ToolCaller};

use super::summaries::Summaries;
use crate::base::run_files::RunFiles;
use crate::session::broker::SessionCommands;
use crate::{Result, Surroundings};

/// Bytes of a file that `parse_structure` reads.
const PARSED_BYTES: u64 = 1 << 20;
/// Bytes of each file in which names are looked for, and files of a directory.
const WORDS_BYTES: u64 = 256 << 10;
const WORDS_FILES: usize = 400;
/// Entries that one answer lists.
const LISTED: usize = 200;

/// What all passes of one investigation share.
pub(super) struct Ground {
    pub(super) around: Arc<Surroundings>,
    pub(super) files: RunFiles,
    pub(super) target: std::path::PathBuf,
    pub(super) tree: Arc<Tree>,
    pub(super) root: Arc<Root>,
    pub(super) summaries: Summaries,
    /// Of everything that was scanned: places by their path from the target.
    pub(super) places: BTreeMap<String, (EntryKind, usize)>,
    /// Finds symbols, where the code is indexed.
    pub(super) index: Option<spore_store::CodeIndex>,
    pub(super) log: Mutex<()>,
}

impl Ground {
    pub(super) fn places_of(tree: &Tree) -> BTreeMap<String, (EntryKind, usize)> {
        let dirs = tree.dirs.iter().enumerate();
        let dirs = dirs.map(|(at, dir)| (named(&dir.path), (EntryKind::Directory, at)));
        let files = tree.files.iter().enumerate().filter(|(_, file)| file.kind.is_file());
        let files = files.map(|(at, file)| (named(&tree.path_of(file)), (EntryKind::File, at)));
        dirs.chain(files).collect()
    }

    fn secrets(&self) -> KnownSecrets {
        self.around.secrets()
    }

    /// Strikes what is known to be secret, and what looks like it.
    pub(super) fn struck(&self, text: &str) -> String {
        spore_secrets::strike_out(&self.secrets().strike(text))
    }

    fn append(&self, name: &str, line: &impl serde::Serialize) -> Result<()> {
        let text = serde_json::to_string(line).map_err(crate::base::error::bug)?;
        let _one_at_a_time = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        self.around
            .append_file(&self.files.file(name), format!("{}\n", self.struck(&text)).as_bytes())
    }
}

/// A path from the target; `.` is the target itself.
pub(super) fn named(path: &Path) -> String {
    let text = path_text(path);
    if text.is_empty() { ".".to_owned() } else { text }
}

/// What a pass has done so far.
#[derive(Default)]
pub(super) struct PassState {
    /// What ended it.
    pub(super) handed_in: Option<Value>,
    /// Places whose entry was sent back once for names that are not there.
    sent_back: BTreeSet<String>,
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
    fn place(&self, typed: &str) -> Option<(String, EntryKind, usize)> {
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

    fn no_place(typed: &str) -> ToolAnswer {
        let typed = spore_plain::cut(typed, 200);
        ToolAnswer::error(format!("{typed} is not a file or directory of the target"))
    }

    /// Reads or searches through the same tools that a checkout has.
    fn look(&self, tool: &str, arguments: &Value) -> ToolAnswer {
        let mut arguments = arguments.clone();
        let typed = arguments["path"].as_str().unwrap_or(&self.dir).to_owned();
        let Some((path, kind, _)) = self.place(&typed) else { return Self::no_place(&typed) };
        if tool == "read" && kind == EntryKind::Directory {
            return ToolAnswer::error(format!("{path} is a directory: list it"));
        }
        arguments["path"] = json!(path);
        let registry = Registry::of_checkout(&self.ground.root, None);
        let mut answer = registry.call(tool, &arguments, &mut Unhurried);
        if tool == "read" {
            // A link is another name of a place; one that leads to what was not scanned is none.
            let shown = answer.text.split(", lines ").next().unwrap_or_default();
            let is_elsewhere = !answer.is_error
                && answer.text.contains(", lines ")
                && !self.ground.places.contains_key(shown);
            if is_elsewhere {
                return Self::no_place(&typed);
            }
        } else {
            let is_scanned = |line: &&str| {
                let path = line.split(':').next().unwrap_or_default();
                self.ground.places.contains_key(path)
            };
            if !answer.is_error {
                let lines: Vec<&str> = answer.text.lines().filter(is_scanned).collect();
                answer.text =
                    if lines.is_empty() { "no match".to_owned() } else { lines.join("\n") };
            }
        }
        answer
    }

    fn list(&self, arguments: &Value) -> ToolAnswer {
        let typed = arguments["path"].as_str().unwrap_or(&self.dir);
        let Some((path, EntryKind::Directory, at)) = self.place(typed) else {
            return Self::no_place(typed);
        };
        let (tree, mut lines) = (&self.ground.tree, Vec::new());
        let dir = &tree.dirs[at];
        for below in &dir.dirs {
            lines.push(format!("{}/", path_text(Path::new(tree.dirs[*below].name()))));
        }
        for file in &tree.files[dir.files.clone()] {
            let kind = file.language.map(|language| language.name()).or(file.description);
            let kind = kind.map_or_else(|| file.category.to_string(), str::to_owned);
            let name = path_text(Path::new(&file.name));
            lines.push(format!("{name} {}, {kind}", size_text(file.size)));
        }
        let more = lines.len().saturating_sub(1_000);
        lines.truncate(1_000);
        let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
        ToolAnswer::ok(format!("{path}, {} entries\n{}{more}", lines.len(), lines.join("\n")))
    }

    fn structure(&self, arguments: &Value) -> ToolAnswer {
        let typed = arguments["path"].as_str().unwrap_or_default();
        let Some((path, EntryKind::File, _)) = self.place(typed) else {
            return Self::no_place(typed);
        };
        let Some(language) = Language::of_path(&path) else {
            return ToolAnswer::error(format!(
                "{path} is in no language that can be read so: read it"
            ));
        };
        let text = match self.ground.root.read_part(&path, PARSED_BYTES) {
            Ok((bytes, _, shown)) if self.ground.places.contains_key(&shown) => {
                String::from_utf8_lossy(&bytes).into_owned()
            }
            Ok(_) => return Self::no_place(typed),
            Err(error) => return ToolAnswer::error(error.to_string()),
        };
        let facts = spore_index::read(&path, &text, language);
        let mut lines = vec![format!("{path}, {language}, {} lines", text.lines().count())];
        let items = facts.items.iter().take(200);
        lines.extend(items.map(|item| format!("{}: {}", item.lines.first, item.signature)));
        let imports: Vec<String> =
            facts.imports.iter().take(50).map(|import| format!("{import:?}")).collect();
        if !imports.is_empty() {
            lines.push(format!("imports: {}", imports.len()));
        }
        if facts.syntax_errors > 0 {
            lines.push(format!("{} places could not be read", facts.syntax_errors));
        }
        ToolAnswer::ok(lines.join("\n"))
    }

    fn write_cache(&self, arguments: &Value) -> ToolAnswer {
        let typed = arguments["path"].as_str().unwrap_or_default();
        let Some((path, kind, at)) = self.place(typed) else { return Self::no_place(typed) };
        let wanted =
            if arguments["cache_type"] == "dir" { EntryKind::Directory } else { EntryKind::File };
        let is_own = match kind {
            EntryKind::Directory => path == self.dir,
            EntryKind::File => {
                named(&self.ground.tree.dirs[self.ground.tree.files[at].dir].path) == self.dir
            }
        };
        if wanted != kind || !is_own {
            let dir = &self.dir;
            return ToolAnswer::error(format!(
                "{path} is not this directory's to describe: only files of {dir}, and {dir} itself"
            ));
        }
        self.keep(kind, &path, at, &arguments["data"], None)
    }

    /// Takes a loop's report: it is the directory's entry.
    fn report(&self, arguments: &Value) -> ToolAnswer {
        let Some(&(kind, at)) = self.ground.places.get(&self.dir) else {
            return Self::no_place(&self.dir);
        };
        let mut data = arguments.clone();
        let completeness = data.as_object_mut().and_then(|data| data.remove("completeness"));
        if data.get("confidence").is_none()
            && let Some(known) = self.ground.summaries.holding(kind, &self.dir, &self.key)
        {
            data["confidence"] = known.metadata["confidence"].clone();
        }
        if data["confidence"].is_null() {
            data["confidence"] = json!(0.5);
        }
        let dir = self.dir.clone();
        let answer = self.keep(kind, &dir, at, &data, completeness.as_ref());
        if !answer.is_error {
            self.state().handed_in = Some(arguments.clone());
        }
        answer
    }

    fn take(&self, arguments: &Value) -> ToolAnswer {
        let mut handed_in = arguments.clone();
        strike_json(&self.ground, &mut handed_in);
        self.state().handed_in = Some(handed_in);
        ToolAnswer::ok("taken")
    }

    /// Checks an entry by all rules, and keeps it.
    fn keep(
        &self,
        kind: EntryKind,
        path: &str,
        at: usize,
        data: &Value,
        completeness: Option<&Value>,
    ) -> ToolAnswer {
        let mut entry = data.clone();
        if !entry.is_object() {
            return ToolAnswer::error("data: must be a JSON object with a summary");
        }
        strike_json(&self.ground, &mut entry);
        let tree = &self.ground.tree;
        let key = match kind {
            EntryKind::File => {
                let file = &tree.files[at];
                entry["size_bytes"] = json!(file.size);
                entry["category"] = json!(file.category);
                entry["hash"] = json!(file.hash.to_string());
                file_key(file, path, &self.writer)
            }
            EntryKind::Directory => {
                let dir = &tree.dirs[at];
                entry["child_count"] = json!(dir.child_count());
                entry["dominant_category"] = json!(dir.sums.dominant());
                entry["hash"] = json!(dir.hash.to_string());
                self.key.clone()
            }
        };
        entry["path"] = json!(path);
        entry["relative_path"] = json!(path);
        entry["cached_at"] = json!(self.at.to_string());
        if let Some(completeness) = completeness {
            entry["completeness"] = completeness.clone();
        }
        let found = problems(kind, &entry);
        if !found.is_empty() {
            let told: Vec<String> = found.iter().map(ToString::to_string).collect();
            return ToolAnswer::error(format!("not kept: {}", told.join("; ")));
        }
        let summary = entry["summary"].as_str().unwrap_or_default().to_owned();
        let unknown = unknown_names(&summary, |name| self.is_known(name));
        if !unknown.is_empty() {
            if self.state().sent_back.insert(path.to_owned()) {
                return ToolAnswer::error(format!(
                    "not kept: these names are not there: {}. Name only what you have seen, or hand it \
                     in again as it is to have it kept as doubtful",
                    unknown.join(", ")
                ));
            }
            let confidence = entry["confidence"].as_f64().unwrap_or(DOUBTFUL).min(DOUBTFUL);
            entry["confidence"] = json!(confidence);
            entry["confidence_reason"] =
                json!(format!("names what is not there: {}", unknown.join(", ")));
        }
        match self.write(kind, path, &key, entry) {
            Ok(()) => ToolAnswer::ok("kept"),
            Err(error) => ToolAnswer::error(format!("not kept: {error}")),
        }
    }

    /// Writes an entry that passed, with what it was written from.
    pub(super) fn write(
        &self,
        kind: EntryKind,
        path: &str,
        key: &str,
        mut entry: Value,
    ) -> Result<()> {
        let summary = entry["summary"].as_str().unwrap_or_default().to_owned();
        if let Some(fields) = entry.as_object_mut() {
            // It stands in the node's content.
            fields.remove("summary");
        }
        entry["key"] = json!(key);
        entry["writer"] = json!(self.writer.backend);
        entry["model"] = json!(self.writer.model);
        entry["prompt_version"] = json!(PROMPT_VERSION);
        if kind == EntryKind::Directory {
            entry["children"] = self.children.clone();
        }
        self.ground.summaries.keep(kind, path, &summary, entry, self.at)?;
        Ok(())
    }

    /// Whether something of this name is there: a place of the tree, a symbol of the index, or a
    /// word of the directory's own files.
    fn is_known(&self, name: &str) -> bool {
        let bare = name.split(':').next().unwrap_or(name).trim_end_matches('/');
        if self.place(name).is_some() || self.place(bare).is_some() {
            return true;
        }
        let is_end = |place: &String| {
            place == bare || place.strip_suffix(bare).is_some_and(|rest| rest.ends_with('/'))
        };
        if self.ground.places.keys().any(is_end) {
            return true;
        }
        let symbols =
            |index: &spore_store::CodeIndex| index.find(name).is_ok_and(|found| !found.is_empty());
        if self.ground.index.as_ref().is_some_and(symbols) {
            return true;
        }
        let words = self.words.get_or_init(|| self.words_of_dir());
        let parts =
            name.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|part| !part.is_empty());
        parts.clone().count() > 0 && parts.into_iter().all(|part| words.contains(part))
    }

    fn words_of_dir(&self) -> BTreeSet<String> {
        let tree = &self.ground.tree;
        let Some((EntryKind::Directory, at)) = self.ground.places.get(&self.dir).copied() else {
            return BTreeSet::new();
        };
        let mut words = BTreeSet::new();
        for file in tree.files[tree.dirs[at].files.clone()].iter().take(WORDS_FILES) {
            let path = named(&tree.path_of(file));
            let Ok((bytes, _, _)) = self.ground.root.read_part(&path, WORDS_BYTES) else {
                continue;
            };
            let text = String::from_utf8_lossy(&bytes);
            let found = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.extend(found.filter(|word| !word.is_empty()).map(str::to_owned));
        }
        words
    }

    fn flag(&self, arguments: &Value) -> ToolAnswer {
        let mut flag = arguments.clone();
        strike_json(&self.ground, &mut flag);
        let typed = flag["path"].as_str().unwrap_or(&self.dir).to_owned();
        let Some((path, kind, _)) = self.place(&typed) else { return Self::no_place(&typed) };
        flag["path"] = json!(path);
        flag["timestamp"] = json!(self.at.to_string());
        let kept = self
            .ground
            .summaries
            .flag(Some((kind, &path)), &flag, self.at)
            .and_then(|()| self.ground.append(FLAGS, &flag));
        match kept {
            Ok(()) => ToolAnswer::ok("ok"),
            Err(error) => ToolAnswer::error(format!("not kept: {error}")),
        }
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

/// Strikes every text of a value that a model handed in.
fn strike_json(ground: &Ground, value: &mut Value) {
    match value {
        Value::String(text) => *text = ground.struck(text),
        Value::Array(all) => all.iter_mut().for_each(|one| strike_json(ground, one)),
        Value::Object(fields) => fields.values_mut().for_each(|one| strike_json(ground, one)),
        _ => {}
    }
}

/// A caller that starts nothing and is not cut short: these tools end by themselves.
struct Unhurried;

impl ToolCaller for Unhurried {
    fn starting(&mut self, _: &ProcessIdentity) -> std::result::Result<(), BoxError> {
        Err("nothing is started here".into())
    }

    fn cancelled(&self) -> bool {
        false
    }
}
