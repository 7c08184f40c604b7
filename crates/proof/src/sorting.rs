//! Takes a change apart: what of it is the product, what are tests, what the checks themselves go by.
//!
//! What a test is, the runner says: the names of the tests that it ran tell their files, and the
//! conventions of each language stand in where they do not. What a check reads, the check says: its
//! look-ups at the base are on record. From both follows what is *held*: tests; settings, scripts
//! and recipes that runner, shell and build tools read; a path where the base's check looked and found
//! nothing, because a file there would be taken in the place of another; and data that the checks
//! read, which may be the product's or the tests'.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use spore_gates::{GateRecord, GateResult, Read, TouchKind, TouchedFile, is_test_file};

use crate::exchange::{Exchanged, exchange};
use crate::manifest::{self, ManifestChange};

/// What is known of the checks at the base.
#[derive(Clone, Copy)]
pub struct BaseChecks<'a> {
    pub results: &'a [GateResult],
    /// What each of them looked up; those that are not on record are not here.
    pub records: &'a [GateRecord],
    /// What counts as a test besides what convention says.
    pub test_patterns: &'a [String],
}

/// Why a file that is no test is the base's where the change is proved.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldReason {
    /// Runner, shell or build tools go by it.
    DecidesChecks,
    /// The checks looked there at the base and found nothing.
    TakesAPlace,
    /// The checks read it, and it is no code: it may be the product's or the tests'.
    SharedData,
}

/// A file of the change that is no test and is not simply the product's.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct HeldFile {
    pub path: String,
    pub reason: HeldReason,
}

impl HeldFile {
    /// Returns what is doubtful about it, for people.
    pub fn doubt(&self) -> String {
        let path = spore_plain::code(&self.path, 200);
        match self.reason {
            HeldReason::DecidesChecks => {
                format!("the change touches {path}, which the checks go by")
            }
            HeldReason::TakesAPlace => {
                format!("the change adds {path}, where the checks looked before and found nothing")
            }
            HeldReason::SharedData => {
                format!("{path} is read by the checks and had to be the change's")
            }
        }
    }
}

/// The files of a change by what they are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SortedChange {
    pub product: Vec<TouchedFile>,
    pub tests: Vec<TouchedFile>,
    pub held: Vec<HeldFile>,
    /// How each held file was touched, in the same order.
    pub held_touched: Vec<TouchedFile>,
    /// Files of the product that have tests among their code which the change touches.
    pub inline: Vec<String>,
    /// Those of them that cannot be taken apart.
    pub unreadable: Vec<String>,
}

impl SortedChange {
    /// Returns whether tests were touched, in files of their own or among code.
    pub fn touches_tests(&self) -> bool {
        !self.tests.is_empty() || !self.inline.is_empty()
    }

    /// Returns whether it adds tests or alters some.
    pub fn brings_tests(&self) -> bool {
        !self.inline.is_empty() || self.tests.iter().any(|one| one.how != TouchKind::Deleted)
    }
}

/// Sorts the files that a change touched; `base` and `now` read both versions.
pub fn sort(
    touched: &[TouchedFile],
    checks: BaseChecks<'_>,
    base: Read<'_>,
    now: Read<'_>,
) -> SortedChange {
    let known = KnownFiles::of(checks);
    let mut sorted = SortedChange::default();
    for one in touched {
        if known.is_test(&one.path) {
            sorted.tests.push(one.clone());
        } else if let Some(reason) = known.held(one, base, now) {
            sorted.held.push(HeldFile { path: one.path.clone(), reason });
            sorted.held_touched.push(one.clone());
        } else {
            sorted.product.push(one.clone());
            sorted.look_inside(one, base, now);
        }
    }
    sorted
}

impl SortedChange {
    fn look_inside(&mut self, one: &TouchedFile, base: Read<'_>, now: Read<'_>) {
        let text = |read: Read<'_>| {
            read(&one.path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        let (base, now) = (text(base).unwrap_or_default(), text(now).unwrap_or_default());
        match exchange(&one.path, &now, &base) {
            Exchanged::Same => {}
            Exchanged::Text(_) => self.inline.push(one.path.clone()),
            Exchanged::Unreadable => self.unreadable.push(one.path.clone()),
        }
    }
}

/// What the checks of the base say of files.
struct KnownFiles<'a> {
    /// Those that hold tests by the names of the tests that ran.
    tests: BTreeSet<String>,
    patterns: &'a [String],
    read: BTreeSet<&'a str>,
    missed: BTreeSet<&'a str>,
    run: BTreeSet<&'a str>,
    /// Whether the record is all that was looked up.
    is_complete: bool,
}

impl<'a> KnownFiles<'a> {
    fn of(checks: BaseChecks<'a>) -> Self {
        let all = |of: fn(&GateRecord) -> &BTreeSet<String>| {
            checks.records.iter().flat_map(of).map(String::as_str).collect()
        };
        let names = checks.results.iter().flat_map(|result| &result.ran);
        Self {
            tests: names.filter_map(|name| file_of_test(name)).collect(),
            patterns: checks.test_patterns,
            read: all(|record| &record.recording.read),
            missed: all(|record| &record.recording.missed),
            run: all(|record| &record.recording.run),
            is_complete: !checks.records.is_empty()
                && checks.records.iter().all(|record| record.recording.complete),
        }
    }

    fn is_test(&self, path: &str) -> bool {
        let is_none = self.patterns.iter().any(|pattern| {
            pattern
                .strip_prefix('!')
                .is_some_and(|pattern| spore_gates::path_matches(pattern, path))
        });
        // A module of tests is known by its last part alone where the runner names no directory.
        let is_named = self.tests.contains(path)
            || self.tests.iter().any(|test| path.ends_with(&format!("/{test}")));
        is_test_file(path, self.patterns) || is_named && !is_none
    }

    /// Returns why a file that is no test is held; nothing for one of the product.
    fn held(&self, one: &TouchedFile, base: Read<'_>, now: Read<'_>) -> Option<HeldReason> {
        let path = one.path.as_str();
        match manifest::compare(path, base(path).as_deref(), now(path).as_deref()) {
            ManifestChange::OfTheProduct => return None,
            ManifestChange::OfTheChecks if !self.is_passed_over(one) => {
                return Some(HeldReason::DecidesChecks);
            }
            ManifestChange::OfTheChecks | ManifestChange::NotOne => {}
        }
        if decides_checks(path) && !self.is_passed_over(one) {
            return Some(HeldReason::DecidesChecks);
        }
        if one.how == TouchKind::Added {
            return self.missed.contains(path).then_some(HeldReason::TakesAPlace);
        }
        let is_read = self.read.contains(path) || self.run.contains(path);
        if is_script(path) && (is_read || !self.is_complete) {
            return Some(HeldReason::DecidesChecks);
        }
        let may_be_read = is_read || !self.is_complete && is_data_of_tests(path);
        (may_be_read && !is_source(path)).then_some(HeldReason::SharedData)
    }

    /// Returns whether a recipe or a file of Python's packaging, which checks may go by, is one that those of
    /// the base have nothing to do with: by a whole record nothing read it, or what it was compiled
    /// to. Not asked of files that a tool may have known by their time alone.
    fn is_passed_over(&self, one: &TouchedFile) -> bool {
        const ALWAYS_READ: [&str; 13] = [
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "noxfile.py",
            "tox.ini",
            "tox.toml",
            ".coveragerc",
            "makefile",
            "Makefile",
            "GNUmakefile",
            "justfile",
            "Justfile",
            "Taskfile.yml",
        ];
        let (folder, name) = one.path.rsplit_once('/').unwrap_or(("", &one.path));
        let cache = match folder {
            "" => "__pycache__/".to_owned(),
            folder => format!("{folder}/__pycache__/"),
        };
        let compiled = format!("{cache}{}.", name.trim_end_matches(".py"));
        let is_compiled = |paths: &BTreeSet<&str>| {
            paths.range(compiled.as_str()..).next().is_some_and(|path| path.starts_with(&compiled))
        };
        self.is_complete
            && one.how == TouchKind::Modified
            && ALWAYS_READ.contains(&name)
            && !self.read.contains(one.path.as_str())
            && !self.run.contains(one.path.as_str())
            && !is_compiled(&self.read)
            && !is_compiled(&self.missed)
    }
}

/// Returns the file that the name of a test names: `tests/test_a.py::test_x`,
/// `test_x (tests.test_a.Case.test_x)`, `src/a.test.ts > works`.
fn file_of_test(name: &str) -> Option<String> {
    let is_file = |text: &str| {
        let (stem, ending) = text.rsplit_once('.').unwrap_or((text, ""));
        !stem.is_empty() && is_source_ending(ending) && !text.contains(char::is_whitespace)
    };
    for separator in ["::", " > ", " › "] {
        if let Some((file, _)) = name.split_once(separator)
            && is_file(file)
        {
            return Some(file.to_owned());
        }
    }
    let inner = name.split_once(" (")?.1.split(')').next()?;
    // The module, then classes, whose names begin with a capital, and the test.
    let module: Vec<&str> = inner
        .split('.')
        .take_while(|part| part.chars().next().is_some_and(|c| c.is_lowercase() || c == '_'))
        .collect();
    let module = match module.len() == inner.split('.').count() {
        // `test_x (test_a.test_x)`: no class, so the last part is the test.
        true => module.split_last()?.1.join("/"),
        false => module.join("/"),
    };
    (!module.is_empty()).then(|| format!("{module}.py"))
}

/// Returns whether runner, shell or build tools go by a file of this name, wherever it lies.
fn decides_checks(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let lower = name.to_ascii_lowercase();
    let is_config = |stem: &str| lower.starts_with(stem) && lower.contains(".config.");
    let in_folder = |end: &str| folders.split('/').any(|folder| folder.ends_with(end));
    matches!(
        lower.as_str(),
        "conftest.py"
            | "sitecustomize.py"
            | "usercustomize.py"
            | "pytest.ini"
            | "pytest.toml"
            | "tox.ini"
            | "tox.toml"
            | "setup.cfg"
            | "setup.py"
            | "noxfile.py"
            | ".coveragerc"
            | "makefile"
            | "gnumakefile"
            | "cmakelists.txt"
            | "meson.build"
            | "build.rs"
            | "rust-toolchain"
            | "rust-toolchain.toml"
            | "clippy.toml"
            | "tsconfig.json"
            | "jsconfig.json"
            | "deno.json"
            | "bunfig.toml"
            | "go.work"
            | "build.gradle"
            | "build.gradle.kts"
            | "settings.gradle"
            | "settings.gradle.kts"
            | "gradle.properties"
            | "pom.xml"
            | "rakefile"
            | "phpunit.xml"
            | "justfile"
            | "taskfile.yml"
    ) || [".mk", ".cmake", ".pth", ".pyc", ".pyo"].iter().any(|end| lower.ends_with(end))
        || [".mocharc", ".babelrc", ".eslintrc", ".npmrc", ".yarnrc", ".nycrc", ".swcrc", ".taprc"]
            .iter()
            .any(|start| lower.starts_with(start))
        || ["jest", "vitest", "vite", "babel", "ava", "karma", "webpack", "rollup", "playwright"]
            .iter()
            .any(|stem| is_config(stem))
        || lower.starts_with("tsconfig.")
        || in_folder(".dist-info")
        || in_folder(".egg-info")
        || folders.split('/').any(|folder| folder == ".cargo")
}

/// Returns whether a file is what a shell runs.
fn is_script(path: &str) -> bool {
    [".sh", ".bash", ".zsh", ".ksh", ".fish", ".bat", ".ps1"].iter().any(|end| path.ends_with(end))
}

/// Returns whether a file lies where tests keep what they compare with.
fn is_data_of_tests(path: &str) -> bool {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    let names = ["fixtures", "fixture", "golden", "goldens", "expected", "samples", "cassettes"];
    folders.split('/').any(|folder| names.contains(&folder))
}

/// Returns whether a file is code that compilers and interpreters read.
fn is_source(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(_, ending)| is_source_ending(ending))
}

fn is_source_ending(ending: &str) -> bool {
    const ENDINGS: &[&str] = &[
        "rs", "py", "pyi", "pyx", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue",
        "svelte", "go", "c", "h", "cc", "cpp", "cxx", "hpp", "hh", "java", "kt", "kts", "scala",
        "groovy", "cs", "fs", "vb", "rb", "php", "swift", "m", "mm", "pl", "pm", "t", "lua", "ex",
        "exs", "erl", "hs", "ml", "mli", "zig", "nim", "dart", "r", "jl", "clj", "s", "asm",
    ];
    ENDINGS.contains(&ending.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests;
