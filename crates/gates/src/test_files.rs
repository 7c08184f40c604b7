//! Which files of a change are tests.
//!
//! Goes by the conventions of each ecosystem, by the path alone: what a file says of itself is
//! the change's word. A person can name more, or take some away.

use crate::paths::matches;

/// What a change did to one file. A rename is two of these.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TouchedFile {
    pub path: String,
    pub how: TouchKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TouchKind {
    Added,
    Modified,
    Deleted,
}

/// Returns whether the file at `path` is a test, or made for tests. A pattern counts before
/// any convention, the last one first; with a `!` in front it says that a file is none.
pub fn is_test_file(path: &str, patterns: &[String]) -> bool {
    for pattern in patterns.iter().rev() {
        match pattern.strip_prefix('!') {
            Some(pattern) if matches(pattern, path) => return false,
            None if matches(pattern, path) => return true,
            _ => {}
        }
    }
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    folders.split('/').any(is_test_folder) || is_test_name(name)
}

fn is_test_folder(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "tests",
        "test",
        "__tests__",
        "__mocks__",
        "__snapshots__",
        "testdata",
        "integrationTest",
        "androidTest",
    ];
    NAMES.contains(&name)
        || [".Tests", ".UnitTests", ".IntegrationTests"].iter().any(|end| name.ends_with(end))
}

fn is_test_name(name: &str) -> bool {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let ends = |ends: &[&str]| ends.iter().any(|end| stem.ends_with(end));
    match ending {
        "py" => {
            stem.starts_with("test_")
                || stem.ends_with("_test")
                || matches!(stem, "test" | "tests" | "conftest")
        }
        "go" => stem.ends_with("_test"),
        "rs" => stem == "tests" || ends(&["_test", "_tests"]),
        "snap" => true,
        "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "cts" | "vue" | "svelte" => {
            ends(&[".test", ".spec", "_test", ".cy", "-test"])
                || matches!(stem, "setupTests" | "jest.setup" | "vitest.setup" | "test")
        }
        "java" | "kt" | "groovy" | "scala" => ends(&["Test", "Tests", "IT", "Spec", "TestCase"]),
        "cs" | "fs" | "vb" => ends(&["Test", "Tests"]),
        "c" | "cc" | "cpp" | "cxx" | "h" | "hpp" => {
            stem.starts_with("test_") || ends(&["_test", "_tests", "_unittest"])
        }
        "rb" => ends(&["_spec", "_test"]),
        "bats" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_the_conventions_of_their_language() {
        for path in [
            "tests/it.rs",
            "crates/a/tests/data/x.json",
            "src/parser/tests.rs",
            "src/snapshots/a.snap",
            "test_a.py",
            "pkg/a_test.py",
            "conftest.py",
            "app/tests.py",
            "pkg/a_test.go",
            "pkg/testdata/in.txt",
            "src/a.test.tsx",
            "src/a.spec.ts",
            "src/__tests__/a.js",
            "src/__mocks__/fs.js",
            "setupTests.ts",
            "m/src/test/java/demo/Sum.java",
            "m/src/main/java/demo/SumTest.java",
            "App.Tests/Sum.cs",
            "SumTests.cs",
            "src/sum_test.cc",
            "test/run.bats",
        ] {
            assert!(is_test_file(path, &[]), "{path}");
        }
        for path in [
            "src/lib.rs",
            "src/testing.rs",
            "latest.py",
            "contest/a.py",
            "src/attest.ts",
            "protest.go",
            "Fastest.java",
            "README.md",
            "src/main/java/demo/Sum.java",
        ] {
            assert!(!is_test_file(path, &[]), "{path}");
        }
    }

    #[test]
    fn a_person_can_name_tests_and_say_that_others_are_none() {
        let patterns: Vec<String> =
            ["!lib/test/", "checks/", "!checks/shared.py"].map(str::to_owned).to_vec();
        for (path, expected) in [
            ("lib/test/runner.js", false),
            ("checks/a.py", true),
            ("checks/shared.py", false),
            ("tests/a.py", true),
        ] {
            assert_eq!(is_test_file(path, &patterns), expected, "{path}");
        }
    }
}
