//! The tools of a loop that read: a file, a directory, a search, a structure. Only what the scan saw is
//! there, whatever it is called now.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use spore_effects::session::ProcessIdentity;
use spore_index::{Import, Language};
use spore_investigate::{EntryKind, mime_of, path_text, size_text};
use spore_secrets::{KeyLines, KnownSecrets};
use spore_tools::{BoxError, FileView, LineView, Registry, ToolAnswer, ToolCaller};

use super::ground::Ground;
use super::pass_tools::PassTools;

/// Bytes of a file that `parse_structure` reads, and imports of it that are told.
const PARSED_BYTES: u64 = 1 << 20;
const IMPORTS: usize = 50;

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
        let imports = facts.imports.iter().take(IMPORTS).map(imported);
        lines.extend(imports);
        if facts.imports.len() > IMPORTS {
            lines.push(format!("and {} more imports", facts.imports.len() - IMPORTS));
        }
        if facts.syntax_errors > 0 {
            lines.push(format!("{} places could not be read", facts.syntax_errors));
        }
        ToolAnswer::ok(lines.join("\n"))
    }
}

/// What a file brings in, as one line of its structure.
fn imported(import: &Import) -> String {
    let Import { line, segments, name, alias, glob, .. } = import;
    let from = segments.join("/");
    let taken = match name {
        _ if *glob => format!("all of {from}"),
        Some(name) if from.is_empty() => name.clone(),
        Some(name) => format!("{name} of {from}"),
        None => from,
    };
    let called = alias.as_ref().map(|alias| format!(" as {alias}")).unwrap_or_default();
    format!("{line}: imports {taken}{called}")
}

/// What was scanned, without its secrets. A link is another name of a place; one that leads to what
/// was not scanned is none.
struct ScannedFiles(Arc<Ground>);

impl FileView for ScannedFiles {
    fn is_there(&self, path: &str) -> bool {
        self.0.places.contains_key(path)
    }

    fn lines(&self) -> Box<dyn LineView + '_> {
        Box::new(StruckLines { secrets: self.0.secrets(), keys: KeyLines::default() })
    }
}

/// The lines of a file, followed from its first one: a line of a private key is known by what stands
/// above it.
struct StruckLines {
    secrets: KnownSecrets,
    keys: KeyLines,
}

impl LineView for StruckLines {
    fn is_hidden(&mut self, line: &str) -> bool {
        self.keys.is_inside(line)
    }

    fn shown(&self, line: &str) -> String {
        spore_secrets::strike_out(&self.secrets.strike(line))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_brings_in_is_told_by_name() {
        let text = "use std::io::Read as R;\nuse std::fmt::*;\nuse serde;\n";
        let facts = spore_index::read("a.rs", text, Language::Rust);
        let told: Vec<String> = facts.imports.iter().map(imported).collect();
        assert_eq!(
            told,
            ["1: imports Read of std/io as R", "2: imports all of std/fmt", "3: imports serde"]
        );
    }
}
