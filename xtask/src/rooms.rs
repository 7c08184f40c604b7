//! Modules of one crate depend one way, at every level: what `dependencies` holds between
//! crates, this holds inside of them.
//!
//! A *room* is a module that has modules in it. Every path in the code that leads to another
//! module (see `reading` for which paths are found) is followed through imports and re-exports to
//! the module that defines the item. The use is then lifted to the innermost room that has both
//! ends, where it is an arrow between two children. These arrows must form no cycle: a reader
//! who takes the modules of a room in the printed order never meets one that was not yet read.
//!
//! What a room's own file defines is a part of the room like its children and called its *front
//! door*. A child that uses it points at the front door, and the front door's own code that uses
//! a child points back; both together are a cycle. A `pub use` of a child is no such code: it is
//! only a signpost, unless the front door uses the name itself. So a room's file may either put
//! its children together, or hold what all of them are made of, but not both for the same child.
//!
//! What is not seen: methods that are called on anything but `self`, since that needs types; and
//! what a macro makes of its tokens. Tests may look anywhere.
//!
//! A room has at most [`MOST_CHILDREN`] children: one that has everything shows nothing.

mod levels;
mod reading;
mod resolving;
mod text;
mod tokens;
mod tree;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use levels::{FrontDoors, ModuleRoom};
use reading::Sources;
use tree::ModuleTree;

/// How many modules may stand side by side.
const MOST_CHILDREN: usize = 20;

/// What a crate is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strictness {
    /// No cycle between the modules of a room, its front door among them.
    Wholly,
    /// No cycle between the modules of a room, whatever its front door does.
    BetweenSiblings,
    /// Not yet.
    No,
}

/// The crates that are not held wholly, each by its directory. A crate that is not listed is; a
/// line that is no longer needed fails the test.
#[cfg_attr(not(test), expect(dead_code, reason = "the test holds the table"))]
const EXCEPTIONS: &[(&str, Strictness)] = &[
    ("agent", Strictness::No),
    ("cli", Strictness::No),
    ("config", Strictness::No),
    ("conformance", Strictness::No),
    ("context", Strictness::No),
    ("effects", Strictness::BetweenSiblings),
    ("embed", Strictness::No),
    ("gates", Strictness::BetweenSiblings),
    ("git", Strictness::No),
    ("index", Strictness::No),
    ("indexer", Strictness::No),
    ("investigate", Strictness::No),
    ("mcp", Strictness::BetweenSiblings),
    ("model", Strictness::BetweenSiblings),
    ("pipeline", Strictness::No),
    ("scripted-model", Strictness::No),
    ("store", Strictness::No),
    ("testkit", Strictness::BetweenSiblings),
    ("tools", Strictness::No),
];

/// One root of a crate, read.
struct Plan {
    /// The crate's directory, as `cargo xtask rooms` takes it.
    name: String,
    root: PathBuf,
    tree: ModuleTree,
    rooms: Vec<ModuleRoom>,
}

impl Plan {
    fn read(name: &str, sources: &Sources, root: &Path) -> Result<Self, String> {
        let tree = reading::read(sources, root)?;
        let rooms = levels::rooms(&tree, &levels::uses(&tree));
        Ok(Self { name: name.to_owned(), root: root.to_owned(), tree, rooms })
    }

    /// What breaks the rules, as texts.
    fn faults(&self, held: Strictness) -> Vec<String> {
        let front_doors = match held {
            Strictness::Wholly => FrontDoors::Count,
            Strictness::BetweenSiblings => FrontDoors::AreLeftOut,
            Strictness::No => return Vec::new(),
        };
        let mut faults = Vec::new();
        for room in &self.rooms {
            faults.extend(text::cycles(&self.tree, room, front_doors));
            if room.children() > MOST_CHILDREN {
                let path = self.tree.path(room.module);
                let count = room.children();
                faults.push(format!(
                    "{path} has {count} modules side by side, and {MOST_CHILDREN} are the most"
                ));
            }
        }
        faults
    }

    /// The strictest grade that the crate keeps.
    fn keeps(&self) -> Strictness {
        let grades = [Strictness::Wholly, Strictness::BetweenSiblings];
        grades.into_iter().find(|held| self.faults(*held).is_empty()).unwrap_or(Strictness::No)
    }
}

/// Prints the rooms of one crate, or a line on each crate.
pub(crate) fn show(workspace: &Path, args: &[String]) -> Result<String, String> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let (asked, is_dot) = match words[..] {
        [] => return Ok(overview(&plans(workspace)?)),
        [name] if !name.starts_with('-') => (name, false),
        [name, "--dot"] | ["--dot", name] => (name, true),
        _ => return Err("usage: cargo xtask rooms [CRATE [--dot]]".to_owned()),
    };
    let asked = asked.trim_start_matches("spore-");
    let plans = plans(workspace)?.into_iter().filter(|plan| plan.name == asked);
    let told: Vec<String> = plans
        .map(|plan| match is_dot {
            true => text::dot(&plan.tree, &plan.rooms),
            false => {
                let report = text::report(&plan.tree, &plan.rooms);
                format!("{}\n\n{report}", plan.root.display())
            }
        })
        .collect();
    if told.is_empty() { Err(format!("there is no crate {asked:?}")) } else { Ok(told.concat()) }
}

fn overview(plans: &[Plan]) -> String {
    let lines = plans.iter().map(|plan| {
        let standing = match plan.keeps() {
            Strictness::Wholly => "one way".to_owned(),
            Strictness::BetweenSiblings => "one way but for front doors".to_owned(),
            Strictness::No => format!("{} faults", plan.faults(Strictness::BetweenSiblings).len()),
        };
        let modules = plan.tree.modules.len();
        format!("{:<40} {modules:>3} modules  {standing}\n", plan.root.display())
    });
    lines.collect()
}

/// Every library and program of the workspace.
fn plans(workspace: &Path) -> Result<Vec<Plan>, String> {
    let crates = files(&workspace.join("crates"))?;
    let mut dirs: Vec<PathBuf> = crates.into_iter().chain([workspace.join("xtask")]).collect();
    dirs.sort();
    let mut plans = Vec::new();
    for dir in dirs.iter().filter(|dir| dir.join("Cargo.toml").exists()) {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let mut sources = Sources::new();
        gather(workspace, &dir.join("src"), &mut sources)?;
        for root in ["src/lib.rs", "src/main.rs"] {
            let root = dir.strip_prefix(workspace).unwrap_or(dir).join(root);
            if sources.contains_key(&root) {
                plans.push(Plan::read(&name, &sources, &root)?);
            }
        }
    }
    Ok(plans)
}

/// Reads every source file below a directory.
fn gather(workspace: &Path, dir: &Path, sources: &mut Sources) -> Result<(), String> {
    for path in files(dir)? {
        if path.is_dir() {
            gather(workspace, &path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path);
            let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
            let name = path.strip_prefix(workspace).unwrap_or(&path);
            sources.insert(name.to_owned(), text);
        }
    }
    Ok(())
}

fn files(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let listed = std::fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    listed
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{}: {error}", dir.display()))
}
