//! Tests that must fail, put among the base's own, to see whether the runner still tells the truth.
//!
//! The product runs in the process that judges it. It can leave early with a good exit code, patch
//! the runner or the functions that assert, choose which tests are run, return values that are equal
//! to everything, or print a report of its own. No list of such tricks is ever whole. So the runner
//! is asked about tests whose answer is known: some of the base's tests get an end that must fail,
//! under their own names, so that no name gives them away and a trick that is meant for one test is
//! met as well; and a copy of each, under a name that was never there before, must pass, as must all
//! that were left alone: a product that is honest only where it sees tests which it does not know
//! fails those. A report that says otherwise is not about these tests.
//!
//! An end is inverted by syntax: the last assertion asks for another value of the same kind, so that
//! it goes through the same function with the same product's value ([`CanaryEnding::Inverted`]). Where
//! that is not to be had, something is thrown behind the last statement ([`CanaryEnding::Thrown`]).
//!
//! What the base's tree says of these tests is the measure ([`GateCanary::placed`]): only what is red
//! there has to be red with a change ([`GateCanary::answer`]).

mod edits;
mod javascript;
mod limit;
mod python;
mod riding;
mod rust;
mod syntax;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use spore_gates::{Gate, GateResult, Parser};

pub use edits::CanaryEnding;
use edits::{FoundTest, TextEdit};
pub(crate) use limit::limited;

use crate::new_tests::is_same;

/// A test of the base that can be given another end.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct CanaryTest {
    pub path: String,
    /// Where it is in the file, with what it is inside of: one of its kind there.
    pub place: String,
    /// As it is written there. What a report calls it has this in it.
    pub name: String,
}

/// The canaries of one gate, as the base's tree answered to them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GateCanary {
    pub gate: String,
    pub tests: Vec<CanaryTest>,
    pub ending: CanaryEnding,
    /// Those that are copied: at the base their copies pass.
    pub copied: Vec<CanaryTest>,
    /// The names of those that failed at the base, as the report spells them.
    pub red: Vec<String>,
    /// The names of all others that passed there beside them.
    pub green: Vec<String>,
    /// What the gate ended with there.
    pub exit: Option<i32>,
}

/// What the answer of a run with canaries is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CanaryAnswerKind {
    Right,
    /// What must fail does, but not all of what must pass does pass: a product that is honest only
    /// where it sees other tests than it knows, or a test that fails now and then.
    Unsettled,
    /// What must fail did not, or there is nothing that passes.
    Wrong,
}

/// What one run with canaries is made of.
pub struct PlacedCanaries {
    /// The files with their new texts.
    pub texts: Vec<(String, String)>,
    /// What the names of copies end with.
    pub suffix: String,
}

/// Returns whether tests of a gate with this parser may be in the file at `path`.
pub fn may_hold_tests(parser: Parser, path: &str) -> bool {
    let Some(language) = TestLanguage::of(path) else { return false };
    match parser {
        Parser::Cargo => language == TestLanguage::Rust,
        Parser::Pytest | Parser::Unittest => language == TestLanguage::Python,
        Parser::Jest | Parser::Vitest | Parser::Mocha | Parser::Tap => {
            !matches!(language, TestLanguage::Rust | TestLanguage::Python)
        }
        Parser::Auto | Parser::Junit => true,
        Parser::Go | Parser::Ctest | Parser::Dotnet | Parser::Plain => false,
    }
}

/// Returns whether a script calls a runner's functions, so that it holds tests. Other languages say by
/// the names of their tests where these are.
pub(crate) fn calls_tests(path: &str, text: &str) -> bool {
    let is_script = TestLanguage::of(path).is_some_and(|language| language.is_script());
    is_script && text.lines().any(|line| javascript::begins_tests(line.trim_start()))
}

/// Returns whether a file holds tests by its syntax.
pub(crate) fn holds_tests(path: &str, text: &str) -> bool {
    calls_tests(path, text) || !suitable(path, text).is_empty()
}

/// Returns whether a file that holds tests holds something else as well that others may use.
pub(crate) fn holds_product(path: &str, text: &str) -> bool {
    let Some(language) = TestLanguage::of(path) else { return true };
    let Some(tree) = language.parse(text) else { return true };
    let source = syntax::Source { text, ending: CanaryEnding::Thrown, mark: "" };
    match language {
        TestLanguage::Python => python::holds_product(&source, tree.root_node()),
        TestLanguage::Rust => true,
        _ => javascript::holds_product(&source, tree.root_node()),
    }
}

/// Returns the tests of a file that can be given another end.
pub fn suitable(path: &str, text: &str) -> Vec<CanaryTest> {
    let found = find(path, text, CanaryEnding::Thrown, "");
    let test =
        |one: FoundTest| CanaryTest { path: path.to_owned(), place: one.place, name: one.name };
    found.into_iter().map(test).collect()
}

/// The tests of a file, each with its text, and what else there is.
pub(crate) struct FileParts {
    pub(crate) tests: Vec<(CanaryTest, String)>,
    /// Without empty lines.
    pub(crate) rest: String,
}

/// Returns the tests of a file apart from what is around them.
pub(crate) fn parts(path: &str, text: &str) -> FileParts {
    let mut found = find(path, text, CanaryEnding::Thrown, "");
    found.sort_by_key(|one| one.start);
    let (mut tests, mut rest, mut end) = (Vec::new(), String::new(), 0);
    for one in found {
        rest.push_str(&text[end..one.start.max(end)]);
        end = one.stop.max(end);
        let own = text[one.start..one.stop].to_owned();
        tests.push((CanaryTest { path: path.to_owned(), place: one.place, name: one.name }, own));
    }
    rest.push_str(&text[end..]);
    let lines = rest.lines().map(str::trim_end).filter(|line| !line.is_empty());
    FileParts { tests, rest: lines.collect::<Vec<_>>().join("\n") }
}

/// Chooses by lot: returns `all` in an order that `nonce` decides.
pub fn shuffled<T: AsRef<str>>(mut all: Vec<T>, nonce: &str) -> Vec<T> {
    all.sort_by_cached_key(|one| drawn(nonce, one.as_ref()));
    all
}

/// A number that follows from both (FNV-1a): who does not know the nonce cannot tell the order.
fn drawn(nonce: &str, text: &str) -> u64 {
    let bytes = nonce.bytes().chain([0]).chain(text.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Puts other ends to the tests of these canaries, and copies beside those that are copied. `texts`
/// holds each of their files. Nothing if one of the tests is not there.
pub fn place(
    canaries: &[GateCanary],
    texts: &BTreeMap<String, String>,
    nonce: &str,
) -> Option<PlacedCanaries> {
    let (suffix, mark) = nonce.split_at_checked(6)?;
    let mut asked = canaries.iter().flat_map(|one| one.tests.iter().chain(&one.copied));
    if !asked.all(|test| texts.contains_key(&test.path)) {
        return None;
    }
    let mut placed = Vec::new();
    for (path, text) in texts {
        // Ends before copies: behind its last statement a test has both in one place.
        let (mut edits, mut copies): (Vec<TextEdit>, Vec<TextEdit>) = (Vec::new(), Vec::new());
        for canary in canaries {
            let found = find(path, text, canary.ending, mark);
            let of = |test: &CanaryTest| found.iter().find(|one| one.place == test.place);
            for test in canary.tests.iter().filter(|test| test.path == *path) {
                edits.push(of(test)?.end.clone());
            }
            for test in canary.copied.iter().filter(|test| test.path == *path) {
                copies.push(of(test)?.copy(text, suffix));
            }
        }
        edits.extend(copies);
        edits.sort_by_key(|edit| (edit.start, edit.end));
        // Gates may have tests in common.
        edits.dedup();
        if edits.is_empty() {
            continue;
        }
        let mut edited = text.clone();
        for edit in edits.iter().rev() {
            edited.replace_range(edit.start..edit.end, &edit.text);
        }
        TestLanguage::of(path)?.parse(&edited)?;
        placed.push((path.clone(), edited));
    }
    Some(PlacedCanaries { texts: placed, suffix: suffix.to_owned() })
}

impl GateCanary {
    /// Returns the gate with nothing to run but the canaries, where its runner can be told so.
    pub fn limited(&self, gate: &Gate) -> Option<Gate> {
        let mut names: Vec<&str> = self.tests.iter().map(|test| test.name.as_str()).collect();
        names.extend(self.copied.iter().map(|test| test.name.as_str()));
        names.sort_unstable();
        names.dedup();
        Some(Gate { command: limited(&gate.command, gate.parser, &names)?, ..gate.clone() })
    }

    /// Returns it with what the base's tree answered; nothing if the answer is not fit to be a
    /// measure. `base` is the gate's result without canaries.
    #[must_use]
    pub fn placed(self, said: &GateResult, suffix: &str, base: &GateResult) -> Option<Self> {
        let is_ours = |name: &&String| {
            !name.contains(suffix)
                && !base.failures.contains(name)
                && self.tests.iter().any(|test| name.contains(&test.name))
        };
        let red: Vec<String> = said.failures.iter().filter(is_ours).cloned().collect();
        let passes = |name: &&String| {
            !name.contains(suffix) && base.ran.contains(name) && !fails(said, name)
        };
        let green: Vec<String> = said.ran.iter().filter(passes).cloned().collect();
        let copied: Vec<CanaryTest> =
            self.copied.iter().filter(|test| passes_copied(said, test, suffix)).cloned().collect();
        let placed = Self { red, green, copied, exit: said.exit, ..self };
        let is_fit = !placed.red.is_empty() && !placed.copied.is_empty();
        (is_fit && placed.answer(said, suffix) == CanaryAnswerKind::Right).then_some(placed)
    }

    /// Returns what a run with canaries is worth.
    pub fn answer(&self, said: &GateResult, suffix: &str) -> CanaryAnswerKind {
        let red = self.red.iter().all(|name| said.failures.contains(name));
        let ended = said.exit.is_some_and(|code| (code != 0) == (self.exit != Some(0)));
        let copies = self.copied.iter().filter(|test| passes_copied(said, test, suffix)).count();
        let passes = |name: &String| said.ran.contains(name) && !fails(said, name);
        match red && ended && said.recognised && copies > 0 {
            false => CanaryAnswerKind::Wrong,
            true if copies == self.copied.len() && self.green.iter().all(passes) => {
                CanaryAnswerKind::Right
            }
            true => CanaryAnswerKind::Unsettled,
        }
    }
}

fn fails(said: &GateResult, name: &str) -> bool {
    said.failures.iter().any(|failed| is_same(failed, name))
}

/// Returns whether the copy of a test ran, and did not fail.
fn passes_copied(said: &GateResult, test: &CanaryTest, suffix: &str) -> bool {
    let spelled = ["_", " "].map(|joint| format!("{}{joint}{suffix}", test.name));
    let is_copy = |name: &String| spelled.iter().any(|spelled| name.contains(spelled));
    said.ran.iter().any(is_copy) && !said.failures.iter().any(is_copy)
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestLanguage {
    Python,
    JavaScript,
    TypeScript,
    Tsx,
    Rust,
}

impl TestLanguage {
    pub(crate) fn of(path: &str) -> Option<Self> {
        Some(match path.rsplit_once('.')?.1 {
            "py" => Self::Python,
            "js" | "mjs" | "cjs" | "jsx" => Self::JavaScript,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "rs" => Self::Rust,
            _ => return None,
        })
    }

    fn is_script(self) -> bool {
        matches!(self, Self::JavaScript | Self::TypeScript | Self::Tsx)
    }

    pub(crate) fn parse(self, text: &str) -> Option<tree_sitter::Tree> {
        let language = match self {
            Self::Python => tree_sitter_python::LANGUAGE,
            Self::JavaScript => tree_sitter_javascript::LANGUAGE,
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
            Self::Rust => tree_sitter_rust::LANGUAGE,
        };
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&language.into()).ok()?;
        parser.parse(text, None).filter(|tree| !tree.root_node().has_error())
    }
}

/// Returns the tests of a file, each with an end that fails. Of two in one place neither is told.
fn find(path: &str, text: &str, ending: CanaryEnding, mark: &str) -> Vec<FoundTest> {
    let Some(language) = TestLanguage::of(path) else { return Vec::new() };
    let Some(tree) = language.parse(text) else { return Vec::new() };
    let source = syntax::Source { text, ending, mark };
    let root = tree.root_node();
    let found = match language {
        TestLanguage::Python => python::tests(&source, root),
        TestLanguage::Rust => rust::tests(&source, root),
        _ => javascript::tests(&source, root),
    };
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    found.iter().for_each(|one| *times.entry(one.place.clone()).or_default() += 1);
    found.into_iter().filter(|one| times[&one.place] == 1).collect()
}
