//! What a file is for, by where it stands and what it is called.

use spore_store::StoredFile;

use super::signals::{RankSignal, RankSignals};
use crate::question::Mood;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct FilePurpose {
    pub(crate) test: bool,
    /// What builds, measures or releases the code.
    pub(crate) tooling: bool,
}

const TESTS: [&str; 8] =
    ["__tests__", "e2e", "spec", "specs", "test", "testdata", "testing", "tests"];
const TOOLING: [&str; 12] = [
    ".github",
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
    "build",
    "ci",
    "hack",
    "perf",
    "script",
    "scripts",
    "tools",
];

impl FilePurpose {
    pub(crate) fn of(file: &StoredFile) -> Self {
        let path = file.path.to_lowercase();
        let (directories, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let below = |known: &[&str]| directories.split('/').any(|part| known.contains(&part));
        let bare = name.rsplit_once('.').map_or(name, |(bare, _)| bare);
        let test_name = bare.starts_with("test_")
            || ["_test", ".test", ".spec", "-test", "-spec"].iter().any(|end| bare.ends_with(end))
            || matches!(bare, "test" | "tests" | "conftest");
        Self {
            test: file.marks.test || test_name || below(&TESTS),
            tooling: below(&TOOLING)
                || matches!(name, "build.rs" | "setup.py")
                || bare.ends_with("config"),
        }
    }
}

/// Fills in what follows from the kinds of files and the mood of the question.
pub(super) fn fill(signals: &mut RankSignals, kinds: &[FilePurpose], mood: Mood) {
    signals.set_if(RankSignal::IsTest, |file| kinds[file].test);
    signals.set_if(RankSignal::TestAsked, |file| kinds[file].test && mood.tests);
    signals.set_if(RankSignal::TestOfRepair, |file| kinds[file].test && mood.repair);
    signals.set_if(RankSignal::IsTooling, |file| kinds[file].tooling);
    signals.set_if(RankSignal::ToolingAsked, |file| kinds[file].tooling && mood.tooling);
}

#[cfg(test)]
mod tests {
    use spore_store::FileMarks;

    use super::*;

    #[track_caller]
    fn check(path: &str, marked_test: bool, expected: &str) {
        let file = StoredFile {
            no: 1,
            path: path.to_owned(),
            language: "rust".to_owned(),
            package: None,
            size: 1,
            lines: 1,
            marks: FileMarks { test: marked_test, ..FileMarks::default() },
            syntax_errors: 0,
            blob: Vec::new(),
        };
        let told = match FilePurpose::of(&file) {
            FilePurpose { test: true, tooling: true } => "test and tooling",
            FilePurpose { test: true, .. } => "test",
            FilePurpose { tooling: true, .. } => "tooling",
            _ => "code",
        };
        assert_eq!(told, expected, "{path}");
    }

    #[test]
    fn a_purpose_follows_from_place_and_name() {
        check("src/main.rs", false, "code");
        check("src/testament.rs", false, "code");
        check("src/latest.py", false, "code");
        check("src/lib.rs", true, "test");
        check("tests/all.rs", false, "test");
        check("pkg/parser_test.go", false, "test");
        check("pkg/Test_Parser.py", false, "test");
        check("web/button.spec.ts", false, "test");
        check("conftest.py", false, "test");
        check("__tests__/button.js", false, "test");
        check("build.rs", false, "tooling");
        check("crates/x/benches/speed.rs", false, "tooling");
        check("web/vite.config.ts", false, "tooling");
        check("scripts/test_release.py", false, "test and tooling");
    }
}
