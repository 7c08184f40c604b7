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
