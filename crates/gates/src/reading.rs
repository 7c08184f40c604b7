//! What a gate would read, as far as its command and the files that names tell.
//!
//! The second best: where the kernel tells what a gate looks up, that is the truth (see
//! [`Runner::run_recorded`](crate::Runner::run_recorded)). Here the command is followed instead: words that are
//! files, scripts that are called, recipes and what they include, scripts of manifests, the
//! settings that a known tool looks for. Where such a tool looks and finds nothing, that is told
//! too. No shell is imitated: a part of a word that only a shell could know is left open, and the
//! rest is looked for in the likely places. What it returns is therefore never complete.
//!
//! Pure: the base's files are handed in by name, with a way to read them.

mod makefile;
mod tools;
mod words;

use std::collections::{BTreeSet, HashSet, VecDeque};

use serde_json::Value;
use spore_effects::session::{Recording, RecordingMethod};

use crate::paths::matches;
use crate::{Gate, Read};
use tools::{Arguments, SettingsOf, settings_of};
use words::{commands, open_end};

/// How far a chain of calls is followed, how many there may be, and how much of a file is read.
const DEEPEST: usize = 12;
const MOST_STEPS: usize = 4000;
const LONGEST: usize = 1 << 20;

/// Returns what `gate` would read of `files`, which are all of the base, from its root.
pub fn follow(gate: &Gate, files: &BTreeSet<String>, read: Read<'_>) -> Recording {
    let mut follower = Follower {
        files,
        read,
        recording: Recording { method: RecordingMethod::Followed, ..Recording::default() },
        open: VecDeque::new(),
        done: HashSet::new(),
        depth: 0,
    };
    let dir = joined("", &gate.dir).unwrap_or_default();
    follower.add(FollowStep::Text { text: gate.command.clone(), dir, script: None });
    follower.run();
    let Recording { read, run, why, .. } = &mut follower.recording;
    read.retain(|path| !run.contains(path));
    why.push("what the command names was followed, not what it reads".to_owned());
    follower.recording
}

/// One thing to follow. Directories are relative to the root, which is the empty one.
#[derive(Clone, PartialEq, Eq, Hash)]
enum FollowStep {
    /// Words of a shell, run in `dir`; `script` is where they stand.
    Text {
        text: String,
        dir: String,
        script: Option<String>,
    },
    Makefile {
        path: String,
        dir: String,
    },
    /// A script of the manifest in `dir`.
    ManifestScript {
        dir: String,
        name: String,
    },
    CMake {
        dir: String,
        file: String,
    },
}

struct Follower<'a> {
    files: &'a BTreeSet<String>,
    read: Read<'a>,
    recording: Recording,
    open: VecDeque<(FollowStep, usize)>,
    done: HashSet<FollowStep>,
    depth: usize,
}

impl Follower<'_> {
    fn add(&mut self, step: FollowStep) {
        if self.done.insert(step.clone()) {
            self.open.push_back((step, self.depth + 1));
        }
    }

    fn run(&mut self) {
        for _ in 0..MOST_STEPS {
            let Some((step, depth)) = self.open.pop_front() else { return };
            self.depth = depth;
            if depth > DEEPEST {
                continue;
            }
            match step {
                FollowStep::Text { text, dir, script } => self.text(&text, dir, script.as_deref()),
                FollowStep::Makefile { path, dir } => self.makefile(&path, &dir),
                FollowStep::ManifestScript { dir, name } => self.manifest_script(&dir, &name),
                FollowStep::CMake { dir, file } => self.cmake(&dir, &file),
            }
        }
        self.recording.why.push("there was more to follow than is followed".to_owned());
    }

    /// Takes in a file that would be read, or that is not there. Returns its text.
    fn take(&mut self, path: &str) -> Option<String> {
        if !self.files.contains(path) {
            self.recording.missed.insert(path.to_owned());
            return None;
        }
        self.recording.read.insert(path.to_owned());
        let mut bytes = (self.read)(path)?;
        bytes.truncate(LONGEST);
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the file that `word` names, seen from `dir`, or from `script` where a variable
    /// stands in front.
    fn file(&self, word: &str, dir: &str, script: Option<&str>) -> Option<String> {
        let is_file = |path: &String| self.files.contains(path);
        if let Some(end) = open_end(word) {
            let beside = script.map(parent);
            let places = [beside, Some(dir), Some("")].into_iter().flatten();
            return places.filter_map(|place| joined(place, end)).find(is_file);
        }
        joined(dir, word).filter(is_file)
    }

    fn text(&mut self, text: &str, mut dir: String, script: Option<&str>) {
        for words in commands(text) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let words = words::without_wrappers(&words);
            let Some((&program, arguments)) = words.split_first() else { continue };
            if program == "cd" || program == "pushd" {
                let to = arguments.iter().find(|word| !word.starts_with('-'));
                if let Some(to) = to.and_then(|to| self.directory(to, &dir, script)) {
                    dir = to;
                }
                continue;
            }
            self.command(program, arguments, &dir, script);
        }
    }

    /// Returns the directory that a word of `cd` means, if the base has it.
    fn directory(&self, word: &str, dir: &str, script: Option<&str>) -> Option<String> {
        let (place, word) = match open_end(word) {
            Some("") => return script.map(|script| parent(script).to_owned()),
            Some(end) => (script.map_or("", parent), end),
            None => (dir, word),
        };
        let wanted = joined(place, word)?;
        let below = format!("{wanted}/");
        let is_there = wanted.is_empty()
            || self
                .files
                .range(below.clone()..)
                .next()
                .is_some_and(|path| path.starts_with(&below));
        is_there.then_some(wanted)
    }

    fn command(&mut self, program: &str, arguments: &[&str], dir: &str, script: Option<&str>) {
        if let Some(path) = self.file(program, dir, script).filter(|_| program.contains('/')) {
            self.recording.run.insert(path.clone());
            self.script(&path, dir);
        }
        for word in arguments {
            let value = word.split_once('=').map_or(*word, |(_, value)| value);
            for word in [*word, value] {
                if let Some(path) = self.file(word, dir, script) {
                    self.recording.read.insert(path);
                }
            }
        }
        let name = program.rsplit('/').next().unwrap_or(program);
        let arguments = Arguments(arguments);
        match tools::kind_of(name) {
            tools::ToolKind::Shell => self.shell(arguments, dir, script),
            tools::ToolKind::Sourced => {
                if let Some(path) = arguments.first().and_then(|word| self.file(word, dir, script))
                {
                    self.script(&path, dir);
                }
            }
            tools::ToolKind::Python => {
                if let Some(module) = arguments.after(&["-m"]) {
                    let rest: Vec<&str> = arguments.behind(module).to_vec();
                    self.command(module, &rest, dir, script);
                }
                for name in ["sitecustomize.py", "usercustomize.py"] {
                    self.settings(name, dir);
                }
            }
            tools::ToolKind::Make => self.make(arguments, dir),
            tools::ToolKind::PackageManager => self.package_manager(arguments, dir),
            tools::ToolKind::CMake => {
                let sources = arguments.after(&["-S"]).unwrap_or("");
                for dir in [joined(dir, sources), Some(String::new())].into_iter().flatten() {
                    self.add(FollowStep::CMake { dir, file: "CMakeLists.txt".to_owned() });
                }
            }
            tools::ToolKind::Other => {}
        }
        for known in settings_of(name, arguments) {
            self.take_settings(known, dir);
        }
    }

    fn shell(&mut self, arguments: Arguments<'_>, dir: &str, script: Option<&str>) {
        if let Some(text) = arguments.after(&["-c", "-ec", "-lc", "-xc", "-euc", "-exc"]) {
            let script = script.map(str::to_owned);
            self.add(FollowStep::Text { text: text.to_owned(), dir: dir.to_owned(), script });
        } else if let Some(path) = arguments.first().and_then(|word| self.file(word, dir, script)) {
            self.script(&path, dir);
        }
    }

    /// Follows a script if it is one of a shell; others only read.
    fn script(&mut self, path: &str, dir: &str) {
        let Some(text) = self.take(path) else { return };
        let first = text.lines().next().unwrap_or_default();
        let is_shell = match first.strip_prefix("#!") {
            Some(interpreter) => interpreter
                .split(|c: char| c.is_whitespace() || c == '/')
                .any(|word| tools::kind_of(word) == tools::ToolKind::Shell),
            None => true,
        };
        if let Some(interpreter) = first.strip_prefix("#!").filter(|_| !is_shell) {
            // `#!/usr/bin/make -f` and its like.
            let line = format!("{} {path}", interpreter.trim());
            let (text, dir) = (line, dir.to_owned());
            return self.add(FollowStep::Text { text, dir, script: None });
        }
        let (dir, script) = (dir.to_owned(), Some(path.to_owned()));
        self.add(FollowStep::Text { text, dir, script });
    }

    fn make(&mut self, arguments: Arguments<'_>, dir: &str) {
        let to = arguments.value(&["-C", "--directory"]).unwrap_or("");
        if let Some(dir) = joined(dir, open_end(to).unwrap_or(to)) {
            self.make_in(arguments, &dir);
        }
    }

    fn make_in(&mut self, arguments: Arguments<'_>, dir: &str) {
        if let Some(path) = arguments.value(&["-f", "--file", "--makefile"]) {
            if let Some(path) = self.file(path, dir, None) {
                self.add(FollowStep::Makefile { path, dir: dir.to_owned() });
            }
            return;
        }
        for name in ["GNUmakefile", "makefile", "Makefile"] {
            let Some(path) = joined(dir, name) else { return };
            if self.files.contains(&path) {
                return self.add(FollowStep::Makefile { path, dir: dir.to_owned() });
            }
            self.recording.missed.insert(path);
        }
    }

    fn makefile(&mut self, path: &str, dir: &str) {
        let Some(text) = self.take(path) else { return };
        let parts = makefile::parts(&text);
        for word in parts.includes {
            for path in self.included(&word, dir, path) {
                self.add(FollowStep::Makefile { path, dir: dir.to_owned() });
            }
        }
        for text in parts.recipes {
            let (dir, script) = (dir.to_owned(), Some(path.to_owned()));
            self.add(FollowStep::Text { text, dir, script });
        }
    }

    /// Returns what a word of an include means: a file, a pattern, or, where only make would
    /// know, every file of that name.
    fn included(&mut self, word: &str, dir: &str, from: &str) -> Vec<String> {
        if word.contains('*') {
            let Some(pattern) = joined(dir, word) else { return Vec::new() };
            let pattern = format!("/{pattern}");
            return self.files.iter().filter(|path| matches(&pattern, path)).cloned().collect();
        }
        if let Some(path) = self.file(word, dir, Some(from)) {
            return vec![path];
        }
        match open_end(word) {
            Some(end) => {
                let name = end.rsplit('/').next().unwrap_or(end);
                self.named(name).into_iter().filter(|_| !name.is_empty()).collect()
            }
            None => {
                self.recording.missed.extend(joined(dir, word));
                Vec::new()
            }
        }
    }

    /// All files of this name, or with this ending if it begins with a star.
    fn named(&self, name: &str) -> Vec<String> {
        let fits = |path: &&String| {
            let last = path.rsplit('/').next().unwrap_or(path);
            name.strip_prefix('*').map_or(last == name, |ending| last.ends_with(ending))
        };
        let own = |path: &&String| !path.split('/').any(|folder| folder == "node_modules");
        self.files.iter().filter(fits).filter(own).cloned().collect()
    }

    fn package_manager(&mut self, arguments: Arguments<'_>, dir: &str) {
        let dir = match arguments.value(&["--prefix", "-C", "--dir", "--cwd"]) {
            Some(to) => joined(dir, to).unwrap_or_default(),
            None => dir.to_owned(),
        };
        let flags =
            ["--workspaces", "-ws", "-r", "--recursive", "-w", "--workspace", "--filter", "-F"];
        let is_wide = arguments.has(&flags) || arguments.first() == Some("workspaces");
        let mut names = arguments.plain();
        while names.first().is_some_and(|word| tools::RUNS_SCRIPT.contains(word)) {
            names.remove(0);
        }
        self.settings(".npmrc", &dir);
        let manifests = self.named("package.json");
        for name in names {
            let name = if name == "t" { "test" } else { name };
            self.add(FollowStep::ManifestScript { dir: dir.clone(), name: name.to_owned() });
            for path in manifests.iter().filter(|_| is_wide) {
                let dir = parent(path).to_owned();
                self.add(FollowStep::ManifestScript { dir, name: name.to_owned() });
            }
        }
    }

    fn manifest_script(&mut self, dir: &str, name: &str) {
        let Some(path) = joined(dir, "package.json") else { return };
        let manifest = self.take(&path).and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let Some(Value::Object(scripts)) = manifest.and_then(|all| all.get("scripts").cloned())
        else {
            return;
        };
        let is_one = |key: &str| scripts.get(key).and_then(Value::as_str).map(str::to_owned);
        for text in [format!("pre{name}"), name.to_owned(), format!("post{name}")]
            .iter()
            .filter_map(|key| is_one(key))
        {
            // Runners of several scripts name them as words: `run-s lint test`, `npm:lint`.
            for word in commands(&text).into_iter().flatten() {
                let word = word.trim_start_matches("npm:");
                for key in scripts.keys().filter(|key| *key == word && *key != name) {
                    let (dir, name) = (dir.to_owned(), key.clone());
                    self.add(FollowStep::ManifestScript { dir, name });
                }
            }
            self.add(FollowStep::Text { text, dir: dir.to_owned(), script: None });
        }
    }

    fn cmake(&mut self, dir: &str, file: &str) {
        let Some(path) = joined(dir, file) else { return };
        let Some(text) = self.take(&path) else { return };
        for (call, argument) in tools::cmake_calls(&text) {
            let step = match call {
                "add_subdirectory" | "subdirs" => {
                    joined(dir, argument).map(|dir| (dir, "CMakeLists.txt".to_owned()))
                }
                _ => {
                    let end = open_end(argument).unwrap_or(argument);
                    let module = format!("{end}.cmake");
                    let found = [end, module.as_str()]
                        .into_iter()
                        .flat_map(|end| [joined(dir, end), joined("", end)])
                        .flatten()
                        .find(|path| self.files.contains(path));
                    let name = module.rsplit('/').next().unwrap_or(&module);
                    found
                        .or_else(|| self.named(name).into_iter().next())
                        .map(|path| (dir.to_owned(), relative(dir, &path)))
                }
            };
            if let Some((dir, file)) = step {
                self.add(FollowStep::CMake { dir, file });
            }
        }
    }

    /// Takes in a file that a tool looks for where it runs.
    fn settings(&mut self, name: &str, dir: &str) {
        if let Some(path) = joined(dir, name) {
            self.take(&path);
        }
    }

    fn take_settings(&mut self, known: &SettingsOf, dir: &str) {
        let mut place = Some(dir);
        while let Some(dir) = place {
            for name in known.upwards {
                self.settings(name, dir);
            }
            place = (!dir.is_empty()).then(|| parent(dir));
        }
        for name in known.here {
            self.settings(name, dir);
        }
        for name in known.anywhere {
            for path in self.named(name) {
                self.take(&path);
            }
        }
        for (manifest, beside) in known.beside {
            for path in self.named(manifest) {
                self.settings(beside, parent(&path));
            }
        }
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Returns `word` seen from `dir`, without `.` and `..`; nothing where that is outside.
fn joined(dir: &str, word: &str) -> Option<String> {
    if word.starts_with(['/', '~']) || word.contains('\0') {
        return None;
    }
    let mut names: Vec<&str> = dir.split('/').filter(|name| !name.is_empty()).collect();
    for name in word.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

/// The way from `dir` to `path`, both from the root.
fn relative(dir: &str, path: &str) -> String {
    let depth = dir.split('/').filter(|name| !name.is_empty()).count();
    format!("{}{path}", "../".repeat(depth))
}

#[cfg(test)]
mod tests;
