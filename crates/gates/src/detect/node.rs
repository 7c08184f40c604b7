//! JavaScript projects: the scripts `build`, `lint` and `test`, as far as there are any.
//!
//! The package manager is the one that the project names or has a lock file of. What the
//! scripts need is installed by a gate of its own, in the gates' sandbox, and only when it has
//! to be.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{ProjectFolder, words};
use crate::{Gate, GateKind, Held, InstallRule, Parser};

pub(super) fn gates(folder: &ProjectFolder<'_>) -> Vec<Gate> {
    let manifest = folder.text("package.json");
    let Some(Value::Object(manifest)) = manifest.and_then(|text| serde_json::from_str(&text).ok())
    else {
        return Vec::new();
    };
    let project =
        NodeProject { folder, scripts: scripts(&manifest), manager: manager(folder, &manifest) };
    let mut gates = Vec::new();
    for (script, kind) in
        [("build", GateKind::Build), ("lint", GateKind::Lint), ("test", GateKind::Test)]
    {
        gates.extend(project.gate(script, kind));
    }
    let is_empty =
        |key: &str| manifest.get(key).and_then(Value::as_object).is_none_or(Map::is_empty);
    let needs_packages = !is_empty("dependencies") || !is_empty("devDependencies");
    if needs_packages && !gates.is_empty() {
        gates.insert(0, project.install());
    }
    gates
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PackageManager {
    Npm,
    Pnpm,
    Yarn,
    /// From version 2 on it has other flags.
    Berry,
}

impl PackageManager {
    const fn program(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn | Self::Berry => "yarn",
        }
    }
}

fn manager(folder: &ProjectFolder<'_>, manifest: &Map<String, Value>) -> PackageManager {
    let named = manifest.get("packageManager").and_then(Value::as_str).unwrap_or_default();
    let (name, version) = named.split_once('@').unwrap_or((named, ""));
    let yarn = || {
        let new = || folder.has(".yarnrc.yml") || folder.has_line("yarn.lock", "__metadata:");
        let old = version.starts_with("1.") || version.is_empty() && !new();
        if old { PackageManager::Yarn } else { PackageManager::Berry }
    };
    match name {
        "npm" => PackageManager::Npm,
        "pnpm" => PackageManager::Pnpm,
        "yarn" => yarn(),
        _ if folder.has("pnpm-lock.yaml") => PackageManager::Pnpm,
        _ if folder.has("yarn.lock") => yarn(),
        _ => PackageManager::Npm,
    }
}

fn scripts(manifest: &Map<String, Value>) -> Vec<(String, String)> {
    let all = manifest.get("scripts").and_then(Value::as_object);
    let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    all.into_iter().flatten().filter_map(text).collect()
}

struct NodeProject<'a> {
    folder: &'a ProjectFolder<'a>,
    scripts: Vec<(String, String)>,
    manager: PackageManager,
}

impl NodeProject<'_> {
    fn script(&self, name: &str) -> Option<&str> {
        self.scripts.iter().find(|(one, _)| one == name).map(|(_, text)| text.as_str())
    }

    fn gate(&self, name: &str, kind: GateKind) -> Option<Gate> {
        let text = self.script(name)?;
        // What `npm init` writes where there is no test.
        if text.trim().is_empty() || text.contains("no test specified") {
            return None;
        }
        let used = self.used(name);
        let all: String =
            used.iter().filter_map(|one| self.script(one)).collect::<Vec<_>>().join(" ");
        let parser = if kind == GateKind::Test { runner(&all) } else { Parser::Plain };
        let program = self.manager.program();
        // CI: nothing watches, and no snapshot is written that was not there.
        let mut command = format!("CI=true {program} run {name}");
        if let Some(flag) = verbose(parser, text) {
            let dashes = if self.manager == PackageManager::Npm { " --" } else { "" };
            command = format!("{command}{dashes} {flag}");
        }
        let mut gate = self.folder.gate(&format!("{program}-{name}"), command, kind, parser);
        gate.needs = words(&["node", program]);
        gate.guards = guards(self.folder, kind, parser);
        gate.guards.extend(named_files(self.folder, &all));
        gate.held = used.iter().map(|one| held(&format!("scripts.{one}"))).collect();
        gate.held.extend(["jest", "vitest", "mocha", "ava", "packageManager"].map(held));
        Some(gate)
    }

    /// Returns the script, what runs before and after it, and every script that one of these
    /// names. A script that is not there is on the list where it would be run if it were.
    fn used(&self, name: &str) -> BTreeSet<String> {
        let mut used: BTreeSet<String> = BTreeSet::new();
        let mut open = vec![name.to_owned()];
        while let Some(next) = open.pop() {
            if !used.insert(next.clone()) {
                continue;
            }
            if let Some(text) = self.script(&next) {
                let named = tokens(text).filter(|word| self.script(word).is_some());
                open.extend(named.map(str::to_owned));
                used.insert(format!("pre{next}"));
                used.insert(format!("post{next}"));
            }
        }
        used
    }

    fn install(&self) -> Gate {
        let lock = self.folder.first_of(match self.manager {
            PackageManager::Npm => &["package-lock.json", "npm-shrinkwrap.json"],
            PackageManager::Pnpm => &["pnpm-lock.yaml"],
            PackageManager::Yarn | PackageManager::Berry => &["yarn.lock"],
        });
        let command = match (self.manager, lock) {
            (PackageManager::Npm, Some(_)) => "npm ci --no-audit --no-fund",
            (PackageManager::Npm, None) => "npm install --no-audit --no-fund --no-package-lock",
            // CI: without it, pnpm asks before it replaces what was installed with other settings.
            (PackageManager::Pnpm, Some(_)) => "CI=true pnpm install --frozen-lockfile",
            (PackageManager::Pnpm, None) => "CI=true pnpm install --no-lockfile",
            (PackageManager::Yarn, Some(_)) => "yarn install --frozen-lockfile",
            (PackageManager::Yarn, None) => "yarn install --no-lockfile",
            (PackageManager::Berry, Some(_)) => "yarn install --immutable",
            (PackageManager::Berry, None) => "yarn install",
        };
        let program = self.manager.program();
        let name = format!("{program}-install");
        let mut gate = self.folder.gate(&name, command, GateKind::Build, Parser::Plain);
        gate.needs = words(&["node", program]);
        let mut inputs = words(&["package.json"]);
        inputs.extend(lock.map(str::to_owned));
        // Yarn's own way of installing has no such directory; what it notes for itself is
        // there whichever way it installs.
        let product = match self.manager {
            PackageManager::Berry => ".yarn/install-state.gz",
            _ => "node_modules",
        };
        // Where packages are is in a file of the project's, with paths from the place where it
        // was written: it has to be written anew for every tree.
        if !self.folder.has(".pnp.cjs") {
            gate.install = Some(InstallRule { product: product.into(), inputs });
        }
        gate.guards = words(&MANAGERS);
        gate
    }
}

fn held(key: &str) -> Held {
    Held::Key { file: "package.json".into(), key: key.into() }
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "\"'();&|".contains(c))
        .filter(|word| !word.is_empty())
}

/// Returns who reads the output, from the programs that the scripts start.
fn runner(text: &str) -> Parser {
    let names: BTreeSet<&str> =
        tokens(text).map(|word| word.rsplit('/').next().unwrap_or(word)).collect();
    let has = |name: &str| names.contains(name);
    if has("jest") || has("react-scripts") {
        Parser::Jest
    } else if has("vitest") {
        Parser::Vitest
    } else if has("mocha") {
        Parser::Mocha
    } else if has("--test") || has("tape") || has("tap") {
        Parser::Tap
    } else {
        Parser::Auto
    }
}

/// Returns the flag with which the runner names each test, where it is the last program of
/// the script and would take it.
fn verbose(parser: Parser, script: &str) -> Option<&'static str> {
    let last = script.rsplit(['&', '|', ';']).next()?;
    let mut programs = tokens(last)
        .filter(|word| !word.contains('=') && !matches!(*word, "npx" | "cross-env" | "run-s"));
    let program = programs.next()?.rsplit('/').next()?;
    let chosen = last.contains("reporter") || last.contains("--verbose") || last.contains("--json");
    match (parser, program) {
        _ if chosen => None,
        (Parser::Jest, "jest" | "react-scripts") => Some("--verbose"),
        (Parser::Vitest, "vitest") => Some("--reporter=verbose"),
        _ => None,
    }
}

/// What decides which program a script's name means.
const MANAGERS: [&str; 8] = [
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".yarn/releases/",
    ".yarn/plugins/",
    ".pnpmfile.cjs",
    ".pnp.cjs",
    ".pnp.loader.mjs",
];

fn guards(folder: &ProjectFolder<'_>, kind: GateKind, parser: Parser) -> Vec<String> {
    let mut guards = words(&MANAGERS);
    if kind == GateKind::Lint {
        guards.extend(words(&[".eslintrc*", "eslint.config.*", ".eslintignore", "biome.json*"]));
        guards.extend(words(&[".prettierrc*", ".prettierignore", "tslint.json"]));
    }
    if kind == GateKind::Test {
        guards.extend(words(&["jest.config.*", "vitest.config.*", "vitest.workspace.*"]));
        guards.extend(words(&[".mocharc*", ".taprc", "ava.config.*", "karma.conf.*"]));
    }
    // Tests read their settings from the build's where they have no file of their own.
    let apart = folder.here().any(|name| name.starts_with("vitest.config."));
    if parser == Parser::Vitest && !apart {
        guards.extend(words(&["vite.config.*"]));
    }
    guards
}

/// Returns the scripts among the files that a command names: they are a part of it.
fn named_files(folder: &ProjectFolder<'_>, text: &str) -> Vec<String> {
    let is_script = |path: &str| {
        path.ends_with(".sh")
            || ["scripts/", "tools/", "ci/", "build/"].iter().any(|dir| path.starts_with(dir))
    };
    tokens(text)
        .map(|word| word.trim_start_matches("./"))
        .filter(|word| is_script(word) && folder.has(word))
        .map(str::to_owned)
        .collect()
}
