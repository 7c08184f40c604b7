//! `spore memory export` and `import`: CLAUDE.md and AGENTS.md of a project, between markers.
//!
//! Exported lines stand in a block of the project's own file, for agents that are started without
//! Spore; what surrounds the block is not touched. What is imported are the lines of such a file
//! that are not ours, into a block of the broadcast file, where they are tested like any other.
//! Both are a person's decision; an import can be taken back with `spore memory undo`.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spore_memory::decision::{Decision, decide};
use spore_memory::edit::diff;
use spore_memory::inbox::Terminal;
use spore_memory::lines::foreign::sentences_of;
use spore_memory::lines::{BROADCAST, LineHash, LineMap};
use spore_memory::markers::{BadMarkers, block, put_block, without_block};
use spore_model::Fault;

use super::passes::{Pass, PassEnding, Report};
use super::requests::{ImportSettings, PassSettings};
use super::update::kept;
use crate::base::files::read_text;
use crate::knowledge::broadcast::broadcast_lines;
use crate::knowledge::ledger::enough;
use crate::session::within::refuse_within;
use crate::{Error, Result, Surroundings, Workspace, counted};

/// The block of a project's file that holds our lines.
const EXPORTED: &str = "memory";

/// What an export did.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MemoryExported {
    pub file: String,
    pub lines: usize,
    /// Whether the file says something else now.
    pub changed: bool,
}

/// Writes the lines that every session is told into a file of the project.
pub fn export_memory(around: &Surroundings, file: &Path) -> Result<MemoryExported> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let config = workspace.config(around, &[])?;
    refuse_within(around, &workspace.journal(&config)?, "export what every session is told")?;
    let (path, name) = inside(&workspace, file)?;
    let before = read_text(&path)?.unwrap_or_default();
    // What the file says itself its readers are told already.
    let theirs = without_block(&before, EXPORTED).map_err(|bad| unpaired(&name, bad))?;
    let theirs: Vec<LineHash> =
        sentences_of(&theirs).iter().map(|text| LineHash::of(text)).collect();
    let mut lines = broadcast_lines(&workspace)?;
    lines.retain(|(_, _, text)| !theirs.contains(&LineHash::of(text)));
    let content: String = lines.iter().map(|(_, _, text)| format!("- {text}\n")).collect();
    let after = put_block(&before, EXPORTED, &content).map_err(|bad| unpaired(&name, bad))?;
    if after != before {
        around.write_exact_file(&path, after.as_bytes())?;
    }
    Ok(MemoryExported { file: name, lines: lines.len(), changed: after != before })
}

fn unpaired(name: &str, bad: BadMarkers) -> Error {
    Error::new(Fault::BadInput, format!("{name} is left as it is: {bad}"))
        .hint("look for lines that begin with `<!-- spore:` and mend or remove them")
}

/// A Markdown file of the project, by its path from the root. Links must not lead out of it, nor to
/// what git or Spore keeps there.
fn inside(workspace: &Workspace, file: &Path) -> Result<(PathBuf, String)> {
    let shown = spore_plain::path(file);
    let refuse = |why: &str| {
        Error::new(Fault::Usage, format!("{shown} {why}"))
            .hint("name a Markdown file of the project from its root: CLAUDE.md or AGENTS.md")
    };
    let root = workspace.root();
    let real_root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let below = match file.is_absolute() {
        true => file.strip_prefix(root).or_else(|_| file.strip_prefix(&real_root)).ok(),
        false => Some(file),
    };
    let parts = below.and_then(plain_parts).filter(|parts| !parts.is_empty());
    let Some(parts) = parts else { return Err(refuse("is not a file of the project")) };
    if !parts.last().is_some_and(|name| is_markdown(name)) {
        return Err(refuse("is no Markdown file"));
    }
    let path = root.join(parts.iter().collect::<PathBuf>());
    if path.is_symlink() || path.is_dir() {
        return Err(refuse("is not a file itself"));
    }
    // The nearest directory that is there: those below it are made, and are no links.
    let real = path.ancestors().skip(1).find_map(|dir| dir.canonicalize().ok());
    let real = real.as_deref().and_then(|dir| dir.strip_prefix(&real_root).ok());
    if real.and_then(plain_parts).is_none() {
        return Err(refuse("is not a file of the project"));
    }
    Ok((path, parts.join("/")))
}

/// The parts of a path that leads downward and into nothing that git or Spore keeps.
fn plain_parts(path: &Path) -> Option<Vec<String>> {
    let kept = |name: &str| {
        [".git", ".spore"].iter().any(|kept| name.trim_end_matches('.').eq_ignore_ascii_case(kept))
    };
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => {
                parts.push(name.to_str().filter(|name| !kept(name))?.to_owned());
            }
            _ => return None,
        }
    }
    Some(parts)
}

fn is_markdown(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| {
        ["md", "markdown", "mdx"].iter().any(|known| ending.eq_ignore_ascii_case(known))
    })
}

/// What an import did.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MemoryImported {
    #[serde(flatten)]
    pub ending: PassEnding,
    pub file: String,
    /// The lines that are new.
    pub added: Vec<LineHash>,
    /// Those that an earlier import had brought and the file no longer has.
    pub removed: Vec<LineHash>,
    pub diff: String,
}

impl Report for MemoryImported {
    fn ending(&mut self) -> &mut PassEnding {
        &mut self.ending
    }

    fn told(&self) -> (&'static str, Value) {
        let payload = json!({
            "terminal": self.ending.terminal, "file": self.file, "added": self.added,
            "removed": self.removed,
        });
        ("memory.imported", payload)
    }
}

/// Takes the lines of a file of the project into the broadcast file.
pub fn import_memory(around: &Surroundings, file: &Path) -> Result<MemoryImported> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let config = workspace.config(around, &[])?;
    refuse_within(around, &workspace.journal(&config)?, "change what every session is told")?;
    let (path, name) = inside(&workspace, file)?;
    if !path.is_file() {
        return Err(Error::new(Fault::BadInput, format!("there is no {name}"))
            .hint("name a file of the project from its root: CLAUDE.md or AGENTS.md"));
    }
    let settings = ImportSettings { file: name };
    let tagged = PassSettings::Import(settings.clone());
    let pass = Pass::begin(around, &workspace, &config, "memory import", &tagged)?;
    perform(&pass, &settings)
}

pub(super) fn perform(pass: &Pass<'_>, settings: &ImportSettings) -> Result<MemoryImported> {
    pass.perform(None, None, || {
        let report: MemoryImported = pass.step("decide", || plan(pass, settings))?;
        let _: bool = pass.step("write", || {
            if report.diff.is_empty() {
                return Ok(false);
            }
            let read = |name: &str| -> Result<String> {
                let path = kept(pass.workspace, pass.run, name);
                Ok(pass.places.read(&path)?.unwrap_or_default())
            };
            let (before, after) = (read("before.md")?, read("after.md")?);
            pass.places.replace_broadcast(pass.around, &before, &after)?;
            Ok(true)
        })?;
        Ok(report)
    })
}

fn plan(pass: &Pass<'_>, settings: &ImportSettings) -> Result<MemoryImported> {
    let name = &settings.file;
    let path = pass.workspace.root().join(name);
    let theirs = pass.places.read(&path)?.unwrap_or_default();
    // What we exported there is ours and does not come back as a person's word.
    let theirs = without_block(&theirs, EXPORTED).map_err(|bad| unpaired(name, bad))?;
    let before = pass.places.read(&pass.places.broadcast())?.unwrap_or_default();
    let block_name = format!("import {}", spore_plain::word(name, 60));
    let own = without_block(&before, &block_name).map_err(|bad| unpaired(BROADCAST, bad))?;
    let known = LineMap::read(&own);
    let mut content = String::new();
    let mut hashes: Vec<LineHash> = Vec::new();
    let (ledger, enough) = (pass.places.ledger()?, enough(pass.config));
    for text in sentences_of(&theirs) {
        let hash = LineHash::of(&text);
        // What people said often enough to be wrong an update has removed, or will.
        if decide(ledger.entry(&hash), enough) == Decision::Remove {
            continue;
        }
        if known.by_hash(&hash).is_none() && !hashes.contains(&hash) {
            hashes.push(hash);
            content.push_str(&format!("- {text}\n"));
        }
    }
    let old = block(&before, &block_name).map_err(|bad| unpaired(BROADCAST, bad))?;
    let old: Vec<LineHash> = LineMap::read(old.unwrap_or_default())
        .lines()
        .iter()
        .map(|line| line.hash.clone())
        .collect();
    let after = match (hashes.is_empty(), old.is_empty()) {
        (true, true) => before.clone(),
        _ => put_block(&before, &block_name, &content).map_err(|bad| unpaired(BROADCAST, bad))?,
    };
    if after.len() as u64 > pass.config.memory.broadcast_bytes && after.len() > before.len() {
        let most = pass.config.memory.broadcast_bytes;
        return Err(Error::new(
            Fault::BadInput,
            format!("{BROADCAST} would be longer than {most} bytes, and every session is told it"),
        )
        .hint("shorten the file, or raise `memory.broadcast_bytes`"));
    }
    let added: Vec<LineHash> = hashes.iter().filter(|hash| !old.contains(hash)).cloned().collect();
    let removed: Vec<LineHash> = old.into_iter().filter(|hash| !hashes.contains(hash)).collect();
    let keep = |file: &str, text: &str| {
        pass.around.write_exact_file(&kept(pass.workspace, pass.run, file), text.as_bytes())
    };
    let mut changed = String::new();
    if after != before {
        keep("before.md", &before)?;
        keep("after.md", &after)?;
        changed = diff(&before, &after);
    }
    let count = |number: usize| counted(u32::try_from(number).unwrap_or(u32::MAX), "line");
    let (terminal, result) = match changed.is_empty() {
        true => (Terminal::NoOp, format!("{name} has no line that {BROADCAST} lacks.")),
        false => (
            Terminal::Updated,
            format!("{} of {name} added, {} removed.", count(added.len()), removed.len()),
        ),
    };
    Ok(MemoryImported {
        ending: PassEnding {
            run: Some(pass.run),
            terminal,
            result: format!("{terminal}: {result}"),
            acked: None,
            pending_task: None,
        },
        file: name.clone(),
        added,
        removed,
        diff: changed,
    })
}
