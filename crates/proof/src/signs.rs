//! Lines of a product by which it could tell that it is tested, or reach what tests it.
//!
//! A product that knows that it is tested can be right there and wrong elsewhere, and no check says
//! so. Few honest lines ask for it: a compiler's word for tests, the name of a runner, the stack, the
//! processes around. One that is new is no proof of anything, but it is named, and what it is in is not
//! called proved. The list is no guard: a product can tell in other ways, by the time or by what it
//! is asked.

use serde::{Deserialize, Serialize};
use similar::{ChangeTag, TextDiff};

use crate::exchange::test_items;

/// A new line of the product that asks what only tests answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProductSign {
    pub path: String,
    /// Counted from one.
    pub line: usize,
    pub word: String,
}

impl ProductSign {
    /// Returns what is doubtful about it, for people.
    pub fn doubt(&self) -> String {
        let (path, word) = (spore_plain::code(&self.path, 200), spore_plain::code(&self.word, 80));
        let line = self.line;
        format!("line {line} of {path} has {word}: a product can tell by it that it is tested")
    }
}

/// In code of any language.
const OF_ALL: &[&str] = &["/proc/", "SPORE_", "LD_PRELOAD", "getppid"];

const OF_PYTHON: &[&str] = &[
    "unittest",
    "pytest",
    "_pytest",
    "doctest",
    "pluggy",
    "PYTEST_",
    "sys.modules",
    "sys.argv[0]",
    "orig_argv",
    "sys.meta_path",
    "path_hooks",
    "_getframe",
    "currentframe",
    "inspect.stack",
    "extract_stack",
    "format_stack",
    "walk_stack",
    "print_stack",
    "_current_frames",
    "getouterframes",
    "findCaller",
    "faulthandler",
    "tb_frame",
    "gi_frame",
    "cr_frame",
    "f_back",
    "settrace",
    "gettrace",
    "setprofile",
    "get_objects",
    "get_referrers",
    "ctypes",
    "_exit",
    "atexit",
    "linecache",
    "__builtins__",
    "builtins",
    "__code__",
    "co_consts",
    "excepthook",
    "addaudithook",
    "flags.optimize",
    "__debug__",
];

const OF_SCRIPTS: &[&str] = &[
    "node:test",
    "node:assert",
    "'assert'",
    "\"assert\"",
    "'assert/strict'",
    "\"assert/strict\"",
    "mocha",
    "jest",
    "vitest",
    "chai",
    "NODE_TEST_CONTEXT",
    "JEST_WORKER_ID",
    "VITEST",
    "require.cache",
    "Module._",
    "module.parent",
    "captureStackTrace",
    "prepareStackTrace",
    "Error().stack",
    "Error('').stack",
    ".stack.includes",
    ".stack.indexOf",
    ".stack.match",
    ".stack.split",
    ".stack.search",
    "arguments.callee",
    "reallyExit",
    "process.on",
    "process.once",
    "process.binding",
    "process.ppid",
    "process.argv[1]",
    "process.mainModule",
    "execArgv",
    "async_hooks",
    "AsyncResource",
    "globalThis",
    "Object.prototype",
    "Function.prototype",
    "Array.prototype",
    "Promise.prototype",
    "npm_lifecycle",
];

const OF_RUST: &[&str] = &[
    "cfg!(test",
    "cfg(test",
    "not(test",
    "cfg_attr(test",
    "any(test",
    "all(test",
    "debug_assertions",
    "macro_rules! assert",
    "macro_rules! assert_",
    "macro_rules! debug_assert",
    "macro_rules! debug_assert_",
    "macro_rules! panic",
    "link_section",
    "no_mangle",
    "export_name",
    "global_asm",
    "set_hook",
    "take_hook",
    "catch_unwind",
    "Location::caller",
    "current_exe",
    "thread::current",
    "Backtrace",
    "RUST_TEST",
    "NEXTEST",
    "CARGO_BIN_EXE",
];

/// Returns the first lines that a change adds to the file at `path` and that ask such things.
pub(crate) fn signs(path: &str, base: &str, now: &str) -> Vec<ProductSign> {
    const MOST: usize = 3;
    const LONGEST: usize = 1 << 20;
    let Some(words) = words_of(path).filter(|_| now.len() <= LONGEST) else { return Vec::new() };
    let diff = TextDiff::from_lines(base, now);
    let tests = tests_among(path, now);
    let added = diff.iter_all_changes().filter(|change| change.tag() == ChangeTag::Insert);
    let lines = added.filter_map(|change| Some((change.new_index()? + 1, change.value())));
    lines
        .filter(|(line, text)| !is_comment(text) && !tests.iter().any(|range| range.contains(line)))
        .filter_map(|(line, text)| {
            let has = |word: &&&str| is_in(text, word);
            let word = words.iter().chain(OF_ALL).find(has)?;
            Some(ProductSign { path: path.to_owned(), line, word: (*word).to_owned() })
        })
        .take(MOST)
        .collect()
}

fn words_of(path: &str) -> Option<&'static [&'static str]> {
    Some(match path.rsplit_once('.')?.1 {
        "py" | "pyi" | "pyx" => OF_PYTHON,
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" | "vue" | "svelte" => {
            OF_SCRIPTS
        }
        "rs" => OF_RUST,
        _ => return None,
    })
}

/// Returns the lines of items that only tests compile.
fn tests_among(path: &str, text: &str) -> Vec<std::ops::RangeInclusive<usize>> {
    if !path.ends_with(".rs") {
        return Vec::new();
    }
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let items = test_items(text).unwrap_or_default();
    items.into_iter().map(|(start, end)| line(start)..=line(end)).collect()
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    ["//", "#", "*", "/*"].iter().any(|start| line.starts_with(start))
        && !line.starts_with("#[")
        && !line.starts_with("#![")
}

/// Returns whether a word stands in a text, and not as a part of another one.
fn is_in(text: &str, word: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let begins = word.starts_with(is_name);
    // One that ends with a sign or an underscore is the beginning of others.
    let ends = word.ends_with(|c: char| c.is_alphanumeric());
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let behind = text[at + word.len()..].chars().next();
        !(begins && before.is_some_and(is_name) || ends && behind.is_some_and(is_name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, base: &str, now: &str, expected: &[(usize, &str)]) {
        let found: Vec<(usize, String)> =
            signs(path, base, now).into_iter().map(|sign| (sign.line, sign.word)).collect();
        let expected: Vec<(usize, String)> =
            expected.iter().map(|(line, word)| (*line, (*word).to_owned())).collect();
        assert_eq!(found, expected, "{now}");
    }

    #[test]
    fn a_new_line_that_asks_whether_it_is_tested_is_a_sign() {
        check("a.py", "x = 1\n", "x = 1\nif 'pytest' in sys.modules:\n", &[(2, "pytest")]);
        check("a.py", "import unittest\n", "import unittest\nx = 1\n", &[]);
        check("a.py", "", "# as pytest does\nmy_unittest_x = 1\n", &[]);
        check("a.js", "", "if (process.env.NODE_TEST_CONTEXT) x();\n", &[(1, "NODE_TEST_CONTEXT")]);
        check("a.js", "", "const t = open('/proc/self/cmdline');\n", &[(1, "/proc/")]);
        check(
            "a.rs",
            "",
            "fn a() -> u8 {\n    if cfg!(test) { 1 } else { 2 }\n}\n",
            &[(2, "cfg!(test")],
        );
        check(
            "a.rs",
            "",
            "#[cfg(test)]\nmod tests {\n    fn a() {\n        set_hook();\n    }\n}\n",
            &[],
        );
        check("a.rs", "", "macro_rules! assert_eq {}\n", &[(1, "macro_rules! assert_")]);
        check("a.rs", "", "#[cfg(not(test))]\nfn a() {}\n", &[(1, "not(test")]);
        check("a.md", "", "/proc/self\n", &[]);
    }
}
