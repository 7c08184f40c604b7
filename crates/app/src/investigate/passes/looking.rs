//! The tools of a loop that read: a file, a directory, a search, a structure. Only what the scan saw is
//! there, whatever it is called now.

use std::path::Path;

use serde_json::{Value, json};
use spore_effects::session::ProcessIdentity;
use spore_index::Language;
use spore_investigate::{EntryKind, mime_of, path_text, size_text};
use spore_tools::{BoxError, Registry, ToolAnswer, ToolCaller};

use super::pass_tools::PassTools;

/// Bytes of a file that `parse_structure` reads.
const PARSED_BYTES: u64 = 1 << 20;

impl PassTools {
    /// Reads or searches through the same tools that a checkout has.
    pub(super) fn look(&self, tool: &str, arguments: &Value) -> ToolAnswer {
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

    pub(super) fn list(&self, arguments: &Value) -> ToolAnswer {
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
            let name = path_text(Path::new(&file.name));
            lines.push(format!("{name} {}, {}", size_text(file.size), mime_of(file)));
        }
        let more = lines.len().saturating_sub(1_000);
        lines.truncate(1_000);
        let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
        ToolAnswer::ok(format!("{path}, {} entries\n{}{more}", lines.len(), lines.join("\n")))
    }

    pub(super) fn structure(&self, arguments: &Value) -> ToolAnswer {
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
