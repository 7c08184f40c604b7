//! The tools of a loop that read: a file, a directory, a search, a structure. Only what the scan saw is
//! there, whatever it is called now.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use spore_effects::session::ProcessIdentity;
use spore_index::Language;
use spore_investigate::{EntryKind, mime_of, path_text, size_text};
use spore_secrets::KeyLines;
use spore_tools::{BoxError, FileView, LineView, Registry, ToolAnswer, ToolCaller};

use super::ground::Ground;
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
        let view = Arc::new(ScannedFiles(Arc::clone(&self.ground)));
        Registry::of_view(&self.ground.root, view).call(tool, &arguments, &mut Unhurried)
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
                self.ground.struck(&String::from_utf8_lossy(&bytes))
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

/// What was scanned, without its secrets. A link is another name of a place; one that leads to what
/// was not scanned is none.
struct ScannedFiles(Arc<Ground>);

impl FileView for ScannedFiles {
    fn is_there(&self, path: &str) -> bool {
        self.0.places.contains_key(path)
    }

    fn lines(&self) -> Box<dyn LineView + '_> {
        Box::new(StruckLines { ground: &self.0, keys: KeyLines::default() })
    }
}

/// The lines of a file, followed from its first one: a line of a private key is known by what stands
/// above it.
struct StruckLines<'a> {
    ground: &'a Ground,
    keys: KeyLines,
}

impl LineView for StruckLines<'_> {
    fn is_hidden(&mut self, line: &str) -> bool {
        self.keys.is_inside(line)
    }

    fn shown(&self, line: &str) -> String {
        self.ground.struck(line)
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
