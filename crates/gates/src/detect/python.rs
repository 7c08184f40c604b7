//! Python: pytest where the project is set up for it, unittest where it has tests at all.

use std::collections::BTreeSet;

use super::{ProjectFolder, as_name, file_name, parent_folder, quoted, words};
use crate::{Gate, GateKind, Held, Parser};

/// -B: checkouts follow each other within a second, and a .pyc file is called fresh when its
/// source has the same size and the same second.
const INTERPRETER: &str = "python3 -B";

/// Modules that would be found in the project before the real ones. A folder is one only with
/// an `__init__.py`.
const SHADOWS: [&str; 9] = [
    "pytest.py",
    "pytest/__init__.py",
    "_pytest/__init__.py",
    "pluggy.py",
    "pluggy/__init__.py",
    "unittest.py",
    "unittest/__init__.py",
    "sitecustomize.py",
    "usercustomize.py",
];

/// Where many projects keep their modules, apart from what else is at their root.
const SOURCES: &str = "src";

const SETTINGS: [(&str, &str, &str); 4] = [
    ("pytest.ini", "[pytest]", "pytest"),
    ("pyproject.toml", "[tool.pytest", "tool.pytest"),
    ("setup.cfg", "[tool:pytest]", "tool:pytest"),
    ("tox.ini", "[pytest]", "pytest"),
];

pub(super) fn gates(folder: &ProjectFolder<'_>) -> Vec<Gate> {
    let interpreter = interpreter(folder);
    if uses_pytest(folder) {
        // The closing list has the passed as well: a test that is gone must be missed.
        let command = format!("{interpreter} -m pytest -q -rpfE --color=no -p no:cacheprovider");
        let mut gate = folder.gate("pytest", command, GateKind::Test, Parser::Pytest);
        gate.needs = words(&["python3 -m pytest"]);
        gate.guards = words(&["pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"]);
        gate.guards.extend(shadows(folder));
        gate.held = SETTINGS
            .iter()
            .filter(|(file, ..)| *file != "pytest.ini")
            .map(|(file, _, key)| Held::Key { file: (*file).into(), key: (*key).into() })
            .collect();
        return vec![gate];
    }
    let start = |start: &str| {
        let command = format!("{interpreter} -m unittest discover -v");
        let mut gate = if start.is_empty() {
            folder.gate("unittest", command, GateKind::Test, Parser::Unittest)
        } else {
            let name = format!("unittest-{}", as_name(start));
            let command = format!("{command} -s {}", quoted(start));
            folder.gate(&name, command, GateKind::Test, Parser::Unittest)
        };
        gate.needs = words(&["python3"]);
        gate.guards = shadows(folder);
        gate
    };
    unittest_starts(folder).into_iter().map(start).collect()
}

/// Returns how Python is started. Where the modules are kept below `src`, a project is installed before it
/// is tested, and what is installed on the person's machine is not the tree under check: a link to
/// their own files, or a copy of some older state. So the tree's own modules come first.
fn interpreter(folder: &ProjectFolder<'_>) -> String {
    match has_modules_below_src(folder) {
        true => format!("PYTHONPATH=\"$PWD/{SOURCES}\" {INTERPRETER}"),
        false => INTERPRETER.to_owned(),
    }
}

fn shadows(folder: &ProjectFolder<'_>) -> Vec<String> {
    let mut names = words(&SHADOWS);
    if has_modules_below_src(folder) {
        names.extend(SHADOWS.iter().map(|name| format!("{SOURCES}/{name}")));
    }
    names
}

fn has_modules_below_src(folder: &ProjectFolder<'_>) -> bool {
    let is_module = |path: &str| {
        let below = path.strip_prefix(SOURCES).and_then(|path| path.strip_prefix('/'));
        below.is_some_and(|below| match below.split_once('/') {
            Some((_, name)) => name == "__init__.py",
            None => below.ends_with(".py") && below != "__init__.py",
        })
    };
    !folder.has(&format!("{SOURCES}/__init__.py")) && folder.own().any(is_module)
}

/// A file of which both runners would say that it holds tests.
fn is_test_file(path: &str) -> bool {
    let name = file_name(path);
    name.starts_with("test") && name.ends_with(".py")
}

/// Returns whether the project is set up for pytest. A project that is, but has nothing that
/// pytest would collect, is not: its gate would be red for want of tests.
fn uses_pytest(folder: &ProjectFolder<'_>) -> bool {
    let collected = |path: &str| is_test_file(path) || path.ends_with("_test.py");
    let tests: Vec<&str> = folder.own().filter(|path| collected(path)).collect();
    let named_files = SETTINGS.iter().any(|(path, section, _)| {
        folder.has(path) && folder.has_line(path, "python_files") && folder.has_line(path, section)
    });
    if tests.is_empty() && !named_files {
        return false;
    }
    let imports = |path: &&str| {
        folder.has_line(path, "import pytest") || folder.has_line(path, "from pytest ")
    };
    // An empty pytest.ini counts: pytest itself takes it for the root of the project.
    folder.has("pytest.ini")
        || SETTINGS
            .iter()
            .any(|(path, section, _)| folder.has(path) && folder.has_line(path, section))
        || folder.own().any(|path| file_name(path) == "conftest.py")
        || folder.own().any(|path| is_requirements(path) && requires_pytest(folder, path))
        || tests.iter().any(imports)
}

/// Returns whether `path` is like requirements.txt, requirements-dev.txt or
/// requirements/test.txt.
fn is_requirements(path: &str) -> bool {
    path.ends_with(".txt")
        && (file_name(path).contains("requirements")
            || file_name(parent_folder(path)) == "requirements")
}

fn requires_pytest(folder: &ProjectFolder<'_>, path: &str) -> bool {
    let names_it = |line: &str| {
        let name_end = line
            .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.'))
            .unwrap_or(line.len());
        // A plugin such as pytest-cov brings pytest with it.
        let name = line[..name_end].to_ascii_lowercase();
        name == "pytest" || name.starts_with("pytest-") || name.starts_with("pytest_")
    };
    folder.text(path).is_some_and(|text| text.lines().any(|line| names_it(line.trim_start())))
}

/// Returns the folders to start unittest's discovery in. Discovery goes down into packages
/// only, and imports by the path from where it started; so a test's start is the nearest
/// folder above it that is no package.
fn unittest_starts<'a>(folder: &'a ProjectFolder<'_>) -> BTreeSet<&'a str> {
    folder
        .own()
        .filter(|path| is_test_file(path))
        .map(|path| {
            let mut start = parent_folder(path);
            while !start.is_empty() && folder.has(&format!("{start}/__init__.py")) {
                start = parent_folder(start);
            }
            start
        })
        .collect()
}
