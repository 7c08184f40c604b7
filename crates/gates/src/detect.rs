//! Finds a project's gates in its manifests.
//!
//! The tree that is looked at is the base, never the change: otherwise an agent could make a
//! gate green by removing it. Looking is all that happens here; the caller hands in the names
//! of the files and a way to read them, which is a git tree in earnest and a map in tests.
//!
//! A language that is not known here gets no gate, and the person names one in the
//! configuration. A wrong guess would be worse: it is red for reasons nobody can act on.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::{Gate, GateKind, Parser};

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
    let tree = Tree { files, list };
    let mut gates = Vec::new();
    gates.extend(cargo(detection, &tree));
    gates.extend(python(detection, &tree));
    for index in 1..gates.len() {
        let twins = gates[..index].iter().filter(|gate| gate.name == gates[index].name).count();
        if twins > 0 {
            gates[index].name = format!("{}.{}", gates[index].name, index + 1);
        }
    }
    gates
}

struct Tree<'a> {
    files: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    list: &'a [String],
}

impl Tree<'_> {
    fn text(&self, path: &str) -> Option<String> {
        (self.files)(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn has(&self, path: &str) -> bool {
        self.list.iter().any(|listed| listed == path)
    }

    /// Returns whether a line of the file at `path` starts with `prefix`.
    fn has_line(&self, path: &str, prefix: &str) -> bool {
        self.text(path)
            .is_some_and(|text| text.lines().any(|line| line.trim_start().starts_with(prefix)))
    }

    /// Returns the files that belong to the project and not to a copy of somebody else's.
    fn own(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(String::as_str).filter(|path| {
            path.split('/').all(|part| {
                !part.starts_with('.') && !matches!(part, "node_modules" | "vendor" | "third_party")
            })
        })
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn cargo(detection: &Detection, tree: &Tree<'_>) -> Option<Gate> {
    if !tree.has("Cargo.toml") {
        return None;
    }
    let scope = if tree.has_line("Cargo.toml", "[workspace") { " --workspace" } else { "" };
    Some(Gate {
        name: "cargo-test".into(),
        // Cargo's own way is to stop at the first red test binary. The binaries behind it
        // would then be missing from the baseline, or from the comparison with it.
        command: format!("cargo test{scope} --no-fail-fast"),
        kind: GateKind::Test,
        parser: Parser::Cargo,
        timeout: detection.timeout,
    })
}

fn python(detection: &Detection, tree: &Tree<'_>) -> Vec<Gate> {
    // -B: checkouts follow each other within a second, and a .pyc file is called fresh when
    // its source has the same size and the same second.
    let interpreter = "python3 -B";
    let gate = |name: String, parser: Parser, command: String| Gate {
        name,
        command,
        kind: GateKind::Test,
        parser,
        timeout: detection.timeout,
    };
    if uses_pytest(tree) {
        let flags = "-q -rfE --color=no -p no:cacheprovider";
        let command = format!("{interpreter} -m pytest {flags}");
        return vec![gate("pytest".into(), Parser::Pytest, command)];
    }
    unittest_starts(tree)
        .into_iter()
        .map(|start| {
            let command = format!("{interpreter} -m unittest discover -v");
            if start.is_empty() {
                return gate("unittest".into(), Parser::Unittest, command);
            }
            let plain = |c: char| c.is_alphanumeric() || c == '_';
            let name = format!("unittest-{}", start.replace(|c| !plain(c), "-"));
            gate(name, Parser::Unittest, format!("{command} -s {}", quoted(start)))
        })
        .collect()
}

/// A file of which both runners would say that it holds tests.
fn is_test_file(path: &str) -> bool {
    let name = file_name(path);
    name.starts_with("test") && name.ends_with(".py")
}

/// Returns whether the project is set up for pytest. A project that is, but has nothing that
/// pytest would collect, is not: its gate would be red for want of tests.
fn uses_pytest(tree: &Tree<'_>) -> bool {
    let collected = |path: &str| is_test_file(path) || path.ends_with("_test.py");
    let tests: Vec<&str> = tree.own().filter(|path| collected(path)).collect();
    let settings = [
        ("pytest.ini", "[pytest]"),
        ("pyproject.toml", "[tool.pytest"),
        ("setup.cfg", "[tool:pytest]"),
        ("tox.ini", "[pytest]"),
    ];
    let named_files = settings.iter().any(|(path, section)| {
        tree.has(path) && tree.has_line(path, "python_files") && tree.has_line(path, section)
    });
    if tests.is_empty() && !named_files {
        return false;
    }
    // An empty pytest.ini counts: pytest itself takes it for the root of the project.
    tree.has("pytest.ini")
        || settings.iter().any(|(path, section)| tree.has(path) && tree.has_line(path, section))
        || tree.own().any(|path| file_name(path) == "conftest.py")
        || tree.own().any(|path| is_requirements(path) && requires_pytest(tree, path))
        || tests
            .iter()
            .any(|path| tree.has_line(path, "import pytest") || tree.has_line(path, "from pytest "))
}

/// Returns whether `path` is like requirements.txt, requirements-dev.txt or
/// requirements/test.txt.
fn is_requirements(path: &str) -> bool {
    path.ends_with(".txt")
        && (file_name(path).contains("requirements") || file_name(folder(path)) == "requirements")
}

fn requires_pytest(tree: &Tree<'_>, path: &str) -> bool {
    let names_it = |line: &str| {
        let name_end = line
            .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.'))
            .unwrap_or(line.len());
        // A plugin such as pytest-cov brings pytest with it.
        let name = line[..name_end].to_ascii_lowercase();
        name == "pytest" || name.starts_with("pytest-") || name.starts_with("pytest_")
    };
    tree.text(path).is_some_and(|text| text.lines().any(|line| names_it(line.trim_start())))
}

/// Returns the folders to start unittest's discovery in. Discovery goes down into packages
/// only, and imports by the path from where it started; so a test's start is the nearest
/// folder above it that is no package.
fn unittest_starts<'a>(tree: &'a Tree<'_>) -> BTreeSet<&'a str> {
    tree.own()
        .filter(|path| is_test_file(path))
        .map(|path| {
            let mut start = folder(path);
            while !start.is_empty() && tree.has(&format!("{start}/__init__.py")) {
                start = folder(start);
            }
            start
        })
        .collect()
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const CARGO: &str = "cargo-test: cargo test --no-fail-fast";
    const PYTEST: &str = "pytest: python3 -B -m pytest -q -rfE --color=no -p no:cacheprovider";
    const UNITTEST: &str = "unittest: python3 -B -m unittest discover -v";

    #[track_caller]
    fn check(tree: &[(&str, &str)], expected: &[&str]) {
        let content: BTreeMap<&str, &str> = tree.iter().copied().collect();
        let list: Vec<String> = tree.iter().map(|(path, _)| (*path).to_owned()).collect();
        let files = |path: &str| content.get(path).map(|text| text.as_bytes().to_vec());
        let detection = Detection { timeout: Duration::from_secs(7) };
        let gates = detect(&files, &list, &detection);
        let found: Vec<String> =
            gates.iter().map(|gate| format!("{}: {}", gate.name, gate.command)).collect();
        assert_eq!(found, expected);
        assert!(gates.iter().all(|gate| gate.timeout == detection.timeout));
    }

    #[test]
    fn a_manifest_at_the_root_gives_cargo_test() {
        check(&[("Cargo.toml", "[package]\nname = \"a\"")], &[CARGO]);
        check(&[("tools/Cargo.toml", "[package]")], &[]);
        check(&[], &[]);
    }

    #[test]
    fn a_workspace_is_tested_whole() {
        let whole = "cargo-test: cargo test --workspace --no-fail-fast";
        check(&[("Cargo.toml", "[workspace]\nmembers = []")], &[whole]);
        check(&[("Cargo.toml", "[package]\n[workspace.package]")], &[whole]);
    }

    #[test]
    fn every_sign_of_pytest_is_enough() {
        let test = ("tests/test_a.py", "def test_a(): pass");
        for sign in [
            ("pytest.ini", ""),
            ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"\""),
            ("setup.cfg", "[metadata]\n[tool:pytest]"),
            ("tox.ini", "[pytest]"),
            ("tests/conftest.py", ""),
            ("requirements.txt", "requests\npytest>=7"),
            ("requirements-dev.txt", "pytest-cov"),
            ("requirements/test.txt", "PyTest"),
            ("lib/test_b.py", "import pytest"),
        ] {
            check(&[test, sign], &[PYTEST]);
        }
    }

    #[test]
    fn what_only_looks_like_pytest_is_unittest() {
        let test = ("test_a.py", "import unittest");
        for other in [
            ("requirements.txt", "# pytest\npytestify"),
            ("pyproject.toml", "[tool.black]"),
            ("node_modules/x/conftest.py", ""),
            (".venv/conftest.py", ""),
        ] {
            check(&[test, other], &[UNITTEST]);
        }
    }

    #[test]
    fn pytest_without_a_test_is_no_gate() {
        check(&[("pytest.ini", "[pytest]"), ("app.py", "")], &[]);
        let named = "[pytest]\npython_files = check_*.py";
        check(&[("pytest.ini", named), ("check_a.py", "")], &[PYTEST]);
    }

    #[test]
    fn unittest_starts_where_the_packages_of_its_tests_start() {
        let from = |folder: &str| {
            format!(
                "unittest-{}: python3 -B -m unittest discover -v -s {folder}",
                folder.replace('/', "-")
            )
        };
        check(&[("test_a.py", "")], &[UNITTEST]);
        check(&[("tests/test_a.py", "")], &[&from("tests")]);
        check(&[("tests/__init__.py", ""), ("tests/test_a.py", "")], &[UNITTEST]);
        check(&[("tests/unit/test_a.py", "")], &[&from("tests/unit")]);
        check(
            &[("src/p/__init__.py", ""), ("src/p/test_a.py", ""), ("test_b.py", "")],
            &[UNITTEST, &from("src")],
        );
        check(&[("tests/helper.py", "")], &[]);
    }

    #[test]
    fn a_folder_is_never_more_than_one_word_to_the_shell() {
        check(
            &[("a b; c/test_a.py", "")],
            &["unittest-a-b--c: python3 -B -m unittest discover -v -s './a b; c'"],
        );
    }

    #[test]
    fn folders_that_are_written_alike_still_have_gates_of_their_own() {
        check(
            &[("a-b/test_a.py", ""), ("a/b/test_a.py", "")],
            &[
                "unittest-a-b: python3 -B -m unittest discover -v -s a-b",
                "unittest-a-b.2: python3 -B -m unittest discover -v -s a/b",
            ],
        );
    }

    #[test]
    fn two_languages_give_two_gates() {
        check(&[("Cargo.toml", ""), ("test_a.py", "")], &[CARGO, UNITTEST]);
    }
}
