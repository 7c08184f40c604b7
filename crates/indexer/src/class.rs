//! What kind of file a path is, by its name alone.

use spore_index::Language;
use spore_store::FileMarks;

/// What is read of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FileClass {
    Code(Language),
    /// Text without a grammar: it is found by its words, and has no items.
    Text,
}

impl FileClass {
    /// Returns the class of a path; `None` for what no index is for.
    pub(crate) fn of(path: &str) -> Option<Self> {
        if let Some(language) = Language::of_path(path) {
            return Some(Self::Code(language));
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        let is_text = TEXT_NAMES.contains(&name)
            || ending.is_some_and(|ending| TEXT_ENDINGS.contains(&ending.as_str()));
        is_text.then_some(Self::Text)
    }

    pub(crate) fn language(self) -> Option<Language> {
        match self {
            Self::Code(language) => Some(language),
            Self::Text => None,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        self.language().map_or("", Language::as_str)
    }
}

const TEXT_NAMES: [&str; 9] = [
    "Dockerfile",
    "Gemfile",
    "Justfile",
    "Makefile",
    "Rakefile",
    "Vagrantfile",
    "justfile",
    "makefile",
    "go.mod",
];

const TEXT_ENDINGS: [&str; 24] = [
    "adoc",
    "bzl",
    "cfg",
    "cmake",
    "conf",
    "css",
    "gradle",
    "graphql",
    "html",
    "ini",
    "json",
    "lua",
    "mk",
    "properties",
    "proto",
    "scss",
    "sql",
    "svelte",
    "toml",
    "txt",
    "vue",
    "xml",
    "yaml",
    "yml",
];

/// Directories that hold code from elsewhere.
const VENDORED: [&str; 7] =
    ["vendor", "third_party", "third-party", "node_modules", "dist", "bower_components", "Pods"];

const GENERATED_ENDINGS: [&str; 9] = [
    ".d.ts",
    "_pb2.py",
    "_pb2_grpc.py",
    ".pb.go",
    ".pb.cc",
    ".pb.h",
    ".g.dart",
    ".min.css",
    "_generated.go",
];

const TEST_DIRECTORIES: [&str; 5] = ["test", "tests", "__tests__", "spec", "testdata"];

/// Returns what a path says about a file; `generated` is what the file says itself.
pub(crate) fn marks(path: &str, generated: bool) -> FileMarks {
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
    let among = |known: &[&str]| directories.split('/').any(|part| known.contains(&part));
    let stem = name.split('.').next().unwrap_or(name);
    let test_name = stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem == "tests"
        || stem.ends_with("Test")
        || name.contains(".test.")
        || name.contains(".spec.");
    FileMarks {
        generated: generated || GENERATED_ENDINGS.iter().any(|ending| name.ends_with(ending)),
        vendored: among(&VENDORED),
        test: test_name || among(&TEST_DIRECTORIES),
    }
}

/// Returns whether a name says that the file is for machines alone.
pub(crate) fn is_minified_name(path: &str) -> bool {
    [".min.js", ".min.css", ".min.mjs", ".bundle.js"].iter().any(|ending| path.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_what_is_special_about_a_file() {
        let mark = |path: &str| {
            let marks = marks(path, false);
            (marks.generated, marks.vendored, marks.test)
        };
        assert_eq!(mark("src/main.rs"), (false, false, false));
        assert_eq!(mark("vendor/x/lib.go"), (false, true, false));
        assert_eq!(mark("vendors.go"), (false, false, false));
        assert_eq!(mark("a/b_pb2.py"), (true, false, false));
        assert_eq!(mark("types/node.d.ts"), (true, false, false));
        for test in ["tests/a.rs", "pkg/a_test.go", "src/a.spec.ts", "test_a.py", "src/x/tests.rs"]
        {
            assert_eq!(mark(test), (false, false, true), "{test}");
        }
        assert!(marks("a.go", true).generated);
    }

    #[test]
    fn pictures_and_locks_have_no_class() {
        assert_eq!(FileClass::of("a/b.png"), None);
        assert_eq!(FileClass::of("Cargo.lock"), None);
        assert_eq!(FileClass::of("Cargo.toml"), Some(FileClass::Text));
        assert_eq!(FileClass::of("a/Makefile"), Some(FileClass::Text));
        assert!(matches!(FileClass::of("a.rs"), Some(FileClass::Code(_))));
    }
}
