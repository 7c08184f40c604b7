//! Takes a change apart: what of it is the product, what are tests, what the checks themselves go by.
//!
//! What a test is, the runner says: the names of the tests that it ran tell their files, and the
//! conventions of each language stand in where they do not. What a check reads, the check says: its
//! look-ups at the base are on record. From both follows what is *held*: tests; settings, scripts
//! and recipes that runner, shell and build tools read; a path where the base's check looked and found
//! nothing, because a file there would be taken in the place of another; and data that the checks
//! read, which may be the product's or the tests'.
//!
//! A file that holds both, tests and product, is the product's, and that its tests cannot be told from
//! it is said.

mod names;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use spore_gates::{GateRecord, GateResult, Read, TouchKind, TouchedFile, is_test_file};

use crate::canary;
use crate::examples;
use crate::exchange::{Exchanged, exchange};
use crate::manifest::{self, ManifestChange};
use crate::signs::{ProductSign, signs};
use names::{
    decides_checks, is_data_of_tests, is_script, is_settings, is_source, is_source_ending,
    may_serve_tests, shadows_module,
};

/// What is known of the checks at the base.
#[derive(Clone, Copy)]
pub struct BaseChecks<'a> {
    pub results: &'a [GateResult],
    /// What each of them looked up; those that are not on record are not here.
    pub records: &'a [GateRecord],
    /// What counts as a test besides what convention says.
    pub test_patterns: &'a [String],
    /// Files that their commands name, and those that the scripts of these name.
    pub named: &'a BTreeSet<String>,
}

/// Why a file that is no test is the base's where the change is proved.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldReason {
    /// Runner, shell or build tools go by it.
    DecidesChecks,
    /// The checks looked there at the base and found nothing.
    TakesAPlace,
    /// The checks read it, and it may be the product's or the tests': it is no code, or its name says
    /// that tests share it.
    SharedData,
    /// It is new, and the runner may take it for a test: it is loaded beside the others then.
    MayBeLoaded,
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
            HeldReason::MayBeLoaded => {
                format!("the change adds {path}, which the runner may load beside the tests")
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
    /// Files of the product with examples in their documentation that are not as they were and cannot be put
    /// back.
    pub examples: Vec<String>,
    /// Lines of the product by which it could tell that it is tested.
    pub signs: Vec<ProductSign>,
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
        match known.kind(one, base, now) {
            FileKind::Test => sorted.tests.push(one.clone()),
            FileKind::Held(reason) => {
                sorted.held.push(HeldFile { path: one.path.clone(), reason });
                sorted.held_touched.push(one.clone());
            }
            FileKind::Mixed => {
                sorted.product.push(one.clone());
                sorted.unreadable.push(one.path.clone());
            }
            FileKind::Product => {
                sorted.product.push(one.clone());
                sorted.look_inside(one, base, now);
            }
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
        let mut kept = None;
        match exchange(&one.path, &now, &base) {
            Exchanged::Same => {}
            Exchanged::Text(text) => {
                self.inline.push(one.path.clone());
                kept = Some(text);
            }
            Exchanged::Unreadable => self.unreadable.push(one.path.clone()),
        }
        if examples::are_lost(&one.path, &base, kept.as_ref().unwrap_or(&now)) {
            self.examples.push(one.path.clone());
        }
        self.signs.extend(signs(&one.path, &base, &now));
    }
}

/// What one file of a change is.
enum FileKind {
    Product,
    Test,
    /// Tests and product.
    Mixed,
    Held(HeldReason),
}

/// What the checks of the base say of files.
struct KnownFiles<'a> {
    /// Those that hold tests by the names of the tests that ran.
    tests: BTreeSet<String>,
    patterns: &'a [String],
    named: &'a BTreeSet<String>,
    read: BTreeSet<&'a str>,
    seen: BTreeSet<&'a str>,
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
            named: checks.named,
            read: all(|record| &record.recording.read),
            seen: all(|record| &record.recording.seen),
            missed: all(|record| &record.recording.missed),
            run: all(|record| &record.recording.run),
            is_complete: !checks.records.is_empty()
                && checks.records.iter().all(|record| record.recording.complete),
        }
    }

    fn kind(&self, one: &TouchedFile, base: Read<'_>, now: Read<'_>) -> FileKind {
        let path = one.path.as_str();
        let is_none = self.patterns.iter().any(|pattern| {
            pattern
                .strip_prefix('!')
                .is_some_and(|pattern| spore_gates::path_matches(pattern, path))
        });
        if is_test_file(path, self.patterns) {
            return FileKind::Test;
        }
        let text =
            |read: Read<'_>| read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if !is_none && self.holds_tests(path, &|| text(base)) {
            return match canary::holds_product(path, &text(base).unwrap_or_default()) {
                true => FileKind::Mixed,
                false => FileKind::Test,
            };
        }
        match self.held(one, base, now) {
            Some(reason) => FileKind::Held(reason),
            None if !is_none && self.may_be_loaded(one, base, &|| text(now)) => {
                let text = text(now).unwrap_or_default();
                match canary::holds_tests(path, &text) && !canary::holds_product(path, &text) {
                    true => FileKind::Test,
                    false => FileKind::Held(HeldReason::MayBeLoaded),
                }
            }
            None => FileKind::Product,
        }
    }

    /// Returns whether a file of the base holds tests by what the runner says, or, where its runner
    /// names no files, by its syntax.
    fn holds_tests(&self, path: &str, base: &dyn Fn() -> Option<String>) -> bool {
        // A module of tests is known by its last part alone where the runner names no directory.
        let is_named = self.tests.contains(path)
            || self.tests.iter().any(|test| path.ends_with(&format!("/{test}")));
        let may_be_read = !self.is_complete || self.read.contains(path) || self.seen.contains(path);
        is_named || may_be_read && base().is_some_and(|text| canary::calls_tests(path, &text))
    }

    /// Returns whether a runner may take a new file for tests: it says so itself, or it is called like
    /// one that the runner takes.
    fn may_be_loaded(
        &self,
        one: &TouchedFile,
        base: Read<'_>,
        now: &dyn Fn() -> Option<String>,
    ) -> bool {
        let path = one.path.as_str();
        if one.how != TouchKind::Added || !is_source(path) {
            return false;
        }
        // The first word of a name that has more than one, and its ending.
        let likeness = |path: &str| -> Option<(String, String)> {
            let (stem, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
            let (first, _) = stem.split_once(['_', '-', '.'])?;
            Some((first.to_owned(), ending.to_owned()))
        };
        let alike = |test: &String| {
            !is_test_file(test, &[]) && likeness(test).is_some() && likeness(test) == likeness(path)
        };
        let name = path.rsplit('/').next().unwrap_or(path);
        name.starts_with("test") && name.ends_with(".py")
            || self.tests.iter().any(alike)
            || now().is_some_and(|text| canary::calls_tests(path, &text))
            || self.is_among_tests(path, base)
    }

    /// Returns whether everything of its kind that the checks read in its folder holds tests.
    fn is_among_tests(&self, path: &str, base: Read<'_>) -> bool {
        const MOST: usize = 20;
        let place = |path: &'_ str| -> (String, String) {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
            (folder.to_owned(), ending.to_owned())
        };
        let own = place(path);
        let mut beside = self.read.iter().filter(|other| place(other) == own).take(MOST).peekable();
        let text =
            |path: &str| base(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        beside.peek().is_some()
            && beside.all(|other| {
                is_test_file(other, self.patterns) || self.holds_tests(other, &|| text(other))
            })
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
        let is_called = self.named.contains(path) && (is_source(path) || is_script(path));
        if decides_checks(path) && !self.is_passed_over(one) || is_called {
            return Some(HeldReason::DecidesChecks);
        }
        if one.how == TouchKind::Added {
            return self.takes_a_place(path, base).then_some(HeldReason::TakesAPlace);
        }
        let may_be_read = !self.is_complete || self.read.contains(path) || self.run.contains(path);
        if may_be_read && (is_script(path) || is_settings(path)) {
            return Some(HeldReason::DecidesChecks);
        }
        let is_shared = match is_source(path) {
            true => may_serve_tests(path),
            false => self.is_complete || is_data_of_tests(path),
        };
        (may_be_read && is_shared).then_some(HeldReason::SharedData)
    }

    /// Returns whether the checks would find a new file where they found another one before, or none.
    fn takes_a_place(&self, path: &str, base: Read<'_>) -> bool {
        let below = format!("{path}/");
        let is_package = |folder: &str| match folder {
            "" => false,
            _ => base(&format!("{folder}/__init__.py")).is_some(),
        };
        self.missed.contains(path)
            // A link there would bring about what was looked for below.
            || self.missed.iter().any(|missed| missed.starts_with(&below))
            || shadows_module(path, &is_package)
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

/// Returns whether pytest means an example in the documentation: `calc.py::calc.add`. The file is the
/// product's then.
fn is_example(file: &str, test: &str) -> bool {
    let module = file.trim_end_matches(".py").replace('/', ".");
    let last = module.rsplit('.').next().unwrap_or_default().to_owned();
    let is_of = |name: &str| test == name || test.starts_with(&format!("{name}."));
    file.ends_with(".py") && !test.contains("::") && (is_of(&module) || is_of(&last))
}

/// Returns the file that the name of a test names: `tests/test_a.py::test_x`,
/// `test_x (tests.test_a.Case.test_x)`, `src/a.test.ts > works`.
pub(crate) fn file_of_test(name: &str) -> Option<String> {
    let is_file = |text: &str| {
        let (stem, ending) = text.rsplit_once('.').unwrap_or((text, ""));
        !stem.is_empty() && is_source_ending(ending) && !text.contains(char::is_whitespace)
    };
    for separator in ["::", " > ", " › "] {
        if let Some((file, test)) = name.split_once(separator)
            && is_file(file)
        {
            return Some(file.to_owned()).filter(|file| !is_example(file, test));
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

#[cfg(test)]
mod tests;
