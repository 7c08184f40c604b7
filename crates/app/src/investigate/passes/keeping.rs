//! The tools by which a pass keeps something: entries about files and directories, a loop's report,
//! flags. An entry is held to its rules and to what is there, and is on disk when the call is answered.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use spore_investigate::artefacts::FLAGS;
use spore_investigate::passes::{DOUBTFUL, PROMPT_VERSION, file_key, unknown_names};
use spore_investigate::{Dir, EntryKind, problems};
use spore_model::NodeId;
use spore_tools::ToolAnswer;
use spore_tools::investigation::InvestigationPass;

use super::ground::{named, strike_json};
use super::pass_tools::PassTools;
use super::summaries::{FlagOrigin, below};
use crate::Result;

/// Bytes of each file in which names are looked for, of all of them, and files below a directory.
const WORDS_BYTES: u64 = 256 << 10;
const WORDS_ALL_BYTES: u64 = 32 << 20;
const WORDS_FILES: usize = 2_000;
/// Symbols of one name that are looked at for one below the target.
const NAMESAKES: usize = 50;

impl PassTools {
    pub(super) fn write_cache(&self, arguments: &Value) -> ToolAnswer {
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
    pub(super) fn report(&self, arguments: &Value) -> ToolAnswer {
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

    pub(super) fn take(&self, arguments: &Value) -> ToolAnswer {
        let mut handed_in = arguments.clone();
        strike_json(&self.ground, &mut handed_in);
        if self.pass == InvestigationPass::Synthesis {
            let text = |name: &str| handed_in[name].as_str().unwrap_or_default().to_owned();
            let unknown =
                self.unknown_paths(&format!("{}\n{}", text("brief"), text("detailed"))).join(", ");
            if !unknown.is_empty() {
                if self.state().sent_back.insert(self.dir.clone()) {
                    return not_there(&unknown);
                }
                let detailed =
                    format!("{}\n\nNamed here and not there: {unknown}.", text("detailed"));
                handed_in["detailed"] = json!(detailed);
            }
        }
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
                file_key(file, &self.ground.summaries.title(path), &self.writer)
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
                return not_there(&unknown.join(", "));
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
    /// word of the files below the directory.
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
        if self.ground.index.as_ref().is_some_and(|index| self.is_symbol(index, name)) {
            return true;
        }
        let words = self.words.get_or_init(|| self.words_of_dir());
        let parts =
            name.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|part| !part.is_empty());
        parts.clone().count() > 0 && parts.into_iter().all(|part| words.contains(part))
    }

    /// Whether the index has a symbol of this name below the target.
    fn is_symbol(&self, index: &spore_store::CodeIndex, name: &str) -> bool {
        let is_below = |id: &NodeId| {
            let node = index.node(id).ok().flatten();
            let path = node.as_ref().and_then(|node| node.metadata["path"].as_str());
            path.is_some_and(|path| below(&self.ground.base, path).is_some())
        };
        index.find(name).is_ok_and(|found| found.iter().take(NAMESAKES).any(is_below))
    }

    /// The words of the directory's own files and of those below it, as far as there is room: who
    /// describes a directory names what is in its children.
    fn words_of_dir(&self) -> BTreeSet<String> {
        let tree = &self.ground.tree;
        let Some((EntryKind::Directory, at)) = self.ground.places.get(&self.dir).copied() else {
            return BTreeSet::new();
        };
        let (mut words, mut room) = (BTreeSet::new(), WORDS_ALL_BYTES);
        let mut dirs: Vec<&Dir> =
            tree.dirs.iter().filter(|dir| dir.path.starts_with(&tree.dirs[at].path)).collect();
        // The nearest come first.
        dirs.sort_by_key(|dir| dir.depth());
        let files = dirs.into_iter().flat_map(|dir| &tree.files[dir.files.clone()]);
        for file in files.filter(|file| file.kind.is_file()).take(WORDS_FILES) {
            let path = named(&tree.path_of(file));
            let Ok((bytes, _, _)) = self.ground.root.read_part(&path, WORDS_BYTES.min(room)) else {
                continue;
            };
            room = room.saturating_sub(bytes.len() as u64);
            let text = String::from_utf8_lossy(&bytes);
            let found = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.extend(found.filter(|word| !word.is_empty()).map(str::to_owned));
            if room == 0 {
                break;
            }
        }
        words
    }

    /// Paths of a text that are not there. Other names are looked up for entries alone: of a whole tree
    /// not all words are known.
    fn unknown_paths(&self, text: &str) -> Vec<String> {
        unknown_names(text, |name| !name.contains('/') || self.is_known(name))
    }

    pub(super) fn flag(&self, arguments: &Value) -> ToolAnswer {
        let mut flag = arguments.clone();
        strike_json(&self.ground, &mut flag);
        let typed = flag["path"].as_str().unwrap_or(&self.dir).to_owned();
        let Some((path, kind, _)) = self.place(&typed) else { return Self::no_place(&typed) };
        let finding = flag["finding"].as_str().unwrap_or_default().to_owned();
        let unknown = self.unknown_paths(&finding);
        if !unknown.is_empty() {
            let unknown = unknown.join(", ");
            if self.state().sent_back.insert(format!("flag {path}")) {
                return not_there(&unknown);
            }
            flag["finding"] = json!(format!("{finding} (names what is not there: {unknown})"));
        }
        flag["path"] = json!(path);
        flag["timestamp"] = json!(self.at.to_string());
        let hash = match self.ground.places.get(&path) {
            Some((EntryKind::File, at)) => Some(self.ground.tree.files[*at].hash.to_string()),
            _ => None,
        };
        let origin = FlagOrigin { dir: &self.dir, part: self.part.as_deref(), hash };
        let kept = self
            .ground
            .summaries
            .flag((kind, &path), &flag, origin, self.at)
            .and_then(|()| self.ground.append_once(FLAGS, &flag));
        match kept {
            Ok(()) => ToolAnswer::ok("ok"),
            Err(error) => ToolAnswer::error(format!("not kept: {error}")),
        }
    }
}

/// Sends back what names things that are not there.
fn not_there(unknown: &str) -> ToolAnswer {
    ToolAnswer::error(format!(
        "not kept: these names are not there: {unknown}. Name only what you have seen, or hand it in \
         again as it is to have it kept as doubtful"
    ))
}
