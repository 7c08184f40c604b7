//! Finds a project's gates in its manifests.
//!
//! The tree that is looked at is the base, never the change: otherwise an agent could make a
//! gate green by removing it. Looking is all that happens here; the caller hands in the names
//! of the files and a way to read them, which is a git tree in earnest and a map in tests.
//!
//! A project with a manifest at its root is checked from there, whatever lies below: its own
//! tools know about their workspaces. One without is a collection, and each of its topmost
//! folders with a manifest has gates of its own.
//!
//! A language that is not known here gets no gate, and the person names one in the
//! configuration. A wrong guess would be worse: it is red for reasons that neither the
//! agent nor the person can act on.

mod cargo;
mod dotnet;
mod golang;
mod jvm;
mod native;
mod node;
mod python;

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use crate::{Gate, GateKind, Held, Parser};

/// What detection does not decide by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Detection {
    /// How long each gate may take.
    pub timeout: Duration,
}

/// Returns the gates of the tree whose files are `list`, each readable with `files`.
pub fn detect(
    files: &dyn Fn(&str) -> Option<Vec<u8>>,
    list: &[String],
    detection: &Detection,
) -> Vec<Gate> {
    let names: HashSet<&str> = list.iter().map(String::as_str).collect();
    let folder = |dir: &str, except: Vec<String>| ProjectFolder {
        files,
        list,
        names: &names,
        timeout: detection.timeout,
        dir: dir.to_owned(),
        except,
    };
    let root = folder("", Vec::new());
    let mut gates = if root.has_manifest() {
        root.gates()
    } else {
        let projects = root.projects_below();
        let mut gates = folder("", projects.iter().cloned().collect()).gates();
        gates.extend(projects.iter().flat_map(|dir| folder(dir, Vec::new()).gates()));
        gates
    };
    for index in 1..gates.len() {
        let twins = gates[..index].iter().filter(|gate| gate.name == gates[index].name).count();
        if twins > 0 {
            gates[index].name = format!("{}.{}", gates[index].name, index + 1);
        }
    }
    gates
}

/// One folder of the tree as a project: all paths are as they are seen from there.
struct ProjectFolder<'a> {
    files: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    list: &'a [String],
    names: &'a HashSet<&'a str>,
    timeout: Duration,
    dir: String,
    /// Folders below that are projects of their own.
    except: Vec<String>,
}

impl ProjectFolder<'_> {
    fn gates(&self) -> Vec<Gate> {
        let mut gates = cargo::gates(self);
        gates.extend(node::gates(self));
        gates.extend(python::gates(self));
        gates.extend(golang::gates(self));
        gates.extend(jvm::gates(self));
        gates.extend(dotnet::gates(self));
        gates.extend(native::cmake(self));
        if gates.is_empty() {
            gates.extend(native::make(self));
        }
        for gate in &mut gates {
            self.place(gate);
        }
        gates
    }

    /// Turns what a detector said of its own folder into what it means from the root.
    fn place(&self, gate: &mut Gate) {
        gate.dir.clone_from(&self.dir);
        if !self.dir.is_empty() {
            gate.name = format!("{}-{}", gate.name, as_name(&self.dir));
        }
        for guard in &mut gate.guards {
            *guard = format!("/{}", self.at(guard.trim_start_matches('/')));
        }
        for held in &mut gate.held {
            let (Held::Key { file, .. } | Held::Lines { file, .. }) = held;
            *file = self.at(file);
        }
        if let Some(install) = &mut gate.install {
            install.product = self.at(&install.product);
            install.inputs = install.inputs.iter().map(|input| self.at(input)).collect();
        }
    }

    fn gate(&self, name: &str, command: impl Into<String>, kind: GateKind, parser: Parser) -> Gate {
        Gate::new(name, command, kind, parser, self.timeout)
    }

    /// Returns the path from the root of what is at `path` from here.
    fn at(&self, path: &str) -> String {
        if self.dir.is_empty() { path.to_owned() } else { format!("{}/{path}", self.dir) }
    }

    fn text(&self, path: &str) -> Option<String> {
        (self.files)(&self.at(path)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn has(&self, path: &str) -> bool {
        self.names.contains(self.at(path).as_str())
    }

    fn first_of(&self, paths: &[&'static str]) -> Option<&'static str> {
        paths.iter().copied().find(|path| self.has(path))
    }

    /// Returns whether a line of the file at `path` starts with `prefix`.
    fn has_line(&self, path: &str, prefix: &str) -> bool {
        self.text(path)
            .is_some_and(|text| text.lines().any(|line| line.trim_start().starts_with(prefix)))
    }

    /// Returns the files that belong to the project and not to a copy of another one.
    fn own(&self) -> impl Iterator<Item = &str> {
        let below = |path: &'_ str, dir: &str| {
            path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
        };
        self.list
            .iter()
            .map(String::as_str)
            .filter(move |path| !self.except.iter().any(|dir| below(path, dir)))
            .filter_map(|path| match self.dir.as_str() {
                "" => Some(path),
                dir => path.strip_prefix(dir)?.strip_prefix('/'),
            })
            .filter(|path| {
                path.split('/').all(|part| {
                    !part.starts_with('.')
                        && !matches!(part, "node_modules" | "vendor" | "third_party")
                })
            })
    }

    /// Returns the names of the files right here.
    fn here(&self) -> impl Iterator<Item = &str> {
        self.own().filter(|path| !path.contains('/'))
    }

    fn has_manifest(&self) -> bool {
        self.here().any(is_manifest)
    }

    /// Returns the topmost folders with a manifest.
    fn projects_below(&self) -> BTreeSet<String> {
        let mut found: BTreeSet<String> = BTreeSet::new();
        let all: BTreeSet<&str> =
            self.own().filter(|path| is_manifest(file_name(path))).map(parent_folder).collect();
        for dir in all {
            // Sorted, so that what is above comes before what is below.
            let inside = found.iter().any(|above| {
                dir.strip_prefix(above.as_str()).is_some_and(|rest| rest.starts_with('/'))
            });
            if !inside {
                found.insert(dir.to_owned());
            }
        }
        found
    }
}

fn is_manifest(name: &str) -> bool {
    const NAMES: [&str; 14] = [
        "Cargo.toml",
        "package.json",
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "pytest.ini",
        "go.mod",
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        "settings.gradle",
        "settings.gradle.kts",
        "CMakeLists.txt",
        "Makefile",
    ];
    NAMES.contains(&name) || dotnet::is_project(name)
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn parent_folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Writes a folder so that it can be part of a gate's name.
fn as_name(dir: &str) -> String {
    dir.replace(|c: char| !(c.is_alphanumeric() || c == '_'), "-")
}

/// Quotes a path for `sh`.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if path.chars().all(plain) && !path.starts_with('-') {
        path.to_owned()
    } else {
        format!("'./{}'", path.replace('\'', r"'\''"))
    }
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|&word| word.to_owned()).collect()
}
