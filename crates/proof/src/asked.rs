//! Some tests of a gate by themselves.
//!
//! Where a run asks nothing but what a few tests say, the others need not be run. Nothing that decides how far
//! a change is proved rests on such a run alone: a product can see by the words of the command that few
//! tests are asked for.

use std::collections::BTreeSet;

use spore_gates::{Gate, GateResult};

use crate::canary::{limited, parts};
use crate::sorting::file_of_test;

/// So long may the names be that one command is given.
const LONGEST: usize = 32 * 1024;

/// Returns the gate with nothing to run but tests with these names, where its runner can be told so.
pub fn asked_alone(gate: &Gate, names: &BTreeSet<String>) -> Option<Gate> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // What a shell or a pattern could read more into is not asked for by its name.
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | ',' | ':');
    let are_plain = names.iter().all(|name| name.chars().all(is_plain));
    let long = names.iter().map(|name| name.len() + 4).sum::<usize>();
    if names.is_empty() || !are_plain || long > LONGEST {
        return None;
    }
    Some(Gate { command: limited(&gate.command, gate.parser, &names)?, ..gate.clone() })
}

/// A file with tests in two versions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestFileVersions {
    pub path: String,
    /// The version whose tests are asked.
    pub text: String,
    /// The other one; empty where the file is not there.
    pub other: String,
}

impl TestFileVersions {
    /// Returns the tests that the other version does not have as they are: all of them where more than
    /// tests differs. Nothing where it does and no test is known there.
    fn names(&self, ran: &[String]) -> Option<BTreeSet<String>> {
        let (own, other) = (parts(&self.path, &self.text), parts(&self.path, &self.other));
        if own.rest == other.rest {
            let new = own.tests.into_iter().filter(|test| !other.tests.contains(test));
            return Some(new.map(|(test, _)| test.name).collect());
        }
        let is_of = |name: &&String| {
            let of = file_of_test(name);
            of.is_some_and(|of| self.path == of || self.path.ends_with(&format!("/{of}")))
        };
        let named = ran.iter().filter(is_of).filter_map(|name| written_name(name));
        let found = own.tests.into_iter().map(|(test, _)| test.name);
        let names: BTreeSet<String> = found.chain(named).collect();
        (!names.is_empty()).then_some(names)
    }
}

/// Returns the names of the tests that differ in these files, by their syntax and by what `ran` says of them;
/// nothing where a file that has none differs.
pub fn altered_tests(files: &[TestFileVersions], ran: &[String]) -> Option<BTreeSet<String>> {
    let names: Option<Vec<BTreeSet<String>>> = files.iter().map(|file| file.names(ran)).collect();
    Some(names?.into_iter().flatten().collect())
}

/// Returns the tests that a run of the change's tests has to ask: those that it brings or alters, and every
/// one that did not run at the base. Nothing where one of them cannot be asked for by itself.
pub fn new_names(
    files: &[TestFileVersions],
    change: &GateResult,
    base: &GateResult,
) -> Option<BTreeSet<String>> {
    // Examples in documentation have no names of their own: `demo doc src/lib.rs - add`.
    let is_example =
        |name: &String| files.iter().any(|file| name.contains(&format!("{} - ", file.path)));
    if change.ran.iter().any(is_example) {
        return None;
    }
    let names = altered_tests(files, &change.ran)?;
    let mut new = change.ran.iter().filter(|name| !base.ran.contains(name));
    let is_asked = |name: &String| names.iter().any(|asked| name.contains(asked.as_str()));
    (!change.ran.is_empty() && !base.ran.is_empty() && new.all(is_asked)).then_some(names)
}

/// Returns what tests of a report are called in their files; nothing where one has no name of its own.
pub fn written_names(names: &[String]) -> Option<BTreeSet<String>> {
    names.iter().map(|name| written_name(name)).collect()
}

/// Returns what a test is called in its file: `test_x` of `tests/test_a.py::Case::test_x[1]` and of
/// `test_x (test_a.Case.test_x)`.
fn written_name(name: &str) -> Option<String> {
    let name = name.split_once(" (").map_or(name, |(name, _)| name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    let own = [" › ", " > ", "::"]
        .iter()
        .fold(name, |name, part| name.rsplit_once(*part).map_or(name, |(_, own)| own));
    let own = own.trim();
    (!own.is_empty()).then(|| own.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use spore_gates::{GateKind, Parser};

    use super::*;

    fn result(ran: &[&str]) -> GateResult {
        let result = serde_json::json!({
            "gate": "test", "command": "test", "tree": "0".repeat(40), "exit": 0, "passed": ran.len(),
            "failed": 0, "skipped": 0, "failures": [], "new_failures": [], "ran": ran,
            "recognised": true, "log": "/log", "log_bytes": 0, "duration_ms": 1, "standing": "green",
        });
        serde_json::from_value(result).unwrap()
    }

    /// Checks what is asked of a file with these two versions, the change's and the base's.
    #[track_caller]
    fn check(texts: [&str; 2], base: &[&str], change: &[&str], expected: Option<&str>) {
        let path = "tests/test_a.py".to_owned();
        let [text, other] = texts.map(str::to_owned);
        let files = [TestFileVersions { path, text, other }];
        let names = new_names(&files, &result(change), &result(base));
        let names = names.map(|names| names.into_iter().collect::<Vec<_>>().join(" "));
        assert_eq!(names.as_deref(), expected);
    }

    #[test]
    fn new_tests_are_asked_alone_only_where_each_of_them_can_be() {
        let text = "def test_b():\n    assert b() == 1\n";
        let both = "def test_old():\n    assert a()\n\n\ndef test_b():\n    assert b() == 1\n";
        let (a, b) = ("tests/test_a.py::test_old", "tests/test_a.py::test_b");
        check([both, text], &[b], &[a, b], Some("test_old"));
        check([both, &both.replace("== 1", "== 2")], &[a, b], &[a, b], Some("test_b"));
        check([text, both], &[a, b], &[b], Some(""));
        // Where more than tests differs, all of them may say something else.
        check([&format!("import b\n{both}"), both], &[a, b], &[a, b], Some("test_b test_old"));
        let elsewhere = "tests/test_o.py::test_o";
        check(["import b\n", "import c\n"], &[elsewhere], &[elsewhere], None);
        // One that is made while it runs is known by its report, without what it is asked with.
        let made = "tests/test_a.py::test_made[1-2]";
        check(
            [&format!("import b\n{text}"), ""],
            &[a],
            &[a, b, made],
            Some("test_b test_made test_old"),
        );
        check(
            [text, ""],
            &["test_o (test_o.O.test_o)"],
            &["test_b (test_a.A.test_b)"],
            Some("test_b"),
        );
        // One of a file that the change does not bring may come from anywhere.
        check([text, ""], &[a], &[a, b, "tests/test_other.py::test_c"], None);
        check([text, ""], &[], &[a], None);
    }

    #[test]
    fn tests_are_asked_for_by_what_they_are_called_in_their_files() {
        let names =
            ["test_a (test_c.Case.test_a)", "t/test_b.py::Case::test_b[1-2]", "sums › adds 1"];
        let written = written_names(&names.map(str::to_owned)).unwrap();
        assert_eq!(written.into_iter().collect::<Vec<_>>(), ["adds 1", "test_a", "test_b"]);
        assert_eq!(written_names(&["test_a".to_owned(), "a::".to_owned()]), None);
    }

    #[test]
    fn a_gate_is_told_the_names_or_is_left_as_it_is() {
        let gate = |command: &str| {
            Gate::new("test", command, GateKind::Test, Parser::Pytest, Duration::from_secs(1))
        };
        let names = BTreeSet::from(["test_a".to_owned(), "test_b".to_owned()]);
        let asked = asked_alone(&gate("python3 -m pytest"), &names).unwrap();
        assert_eq!(asked.command, "python3 -m pytest --maxfail=0 -k 'test_a or test_b'");
        assert_eq!(asked_alone(&gate("make test"), &names), None);
        assert_eq!(asked_alone(&gate("python3 -m pytest"), &BTreeSet::new()), None);
        let many = (0..5000).map(|number| format!("test_{number}")).collect();
        assert_eq!(asked_alone(&gate("python3 -m pytest"), &many), None);
    }
}
