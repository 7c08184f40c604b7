//! Patterns for paths, as people know them from ignore files.
//!
//! `*` and `?` stay within one name, `**` crosses folders. A pattern without a slash inside
//! means a name at any depth, one that begins with a slash starts at the root, one that ends
//! with a slash means all that is below. Nothing else has a meaning, so a file whose name has
//! brackets is named as it is.

use spore_model::Patterns;

/// A list of patterns, ready to be asked.
pub(crate) struct PathPatterns<'p> {
    spelled: &'p [String],
    patterns: Patterns,
}

impl<'p> PathPatterns<'p> {
    pub(crate) fn new(spelled: &'p [String]) -> Self {
        let anchored: Vec<String> = spelled.iter().map(|pattern| anchored(pattern)).collect();
        Self { spelled, patterns: Patterns::of_paths(&anchored) }
    }

    /// Returns the first pattern that covers the file at `path`.
    pub(crate) fn first(&self, path: &str) -> Option<&'p str> {
        let first = self.patterns.first(path)?;
        self.spelled.get(first).map(String::as_str)
    }
}

/// Returns whether `pattern` covers the file at `path`.
pub fn matches(pattern: &str, path: &str) -> bool {
    Patterns::of_paths(&[anchored(pattern)]).cover(path)
}

/// Returns the pattern as one of a whole path.
fn anchored(pattern: &str) -> String {
    if pattern.is_empty() {
        // No path is empty.
        return String::new();
    }
    let whole = match pattern.strip_suffix('/') {
        Some(folder) => format!("{folder}/**"),
        None => pattern.to_owned(),
    };
    let inner = pattern.trim_end_matches('/');
    match whole.strip_prefix('/') {
        Some(rest) => rest.to_owned(),
        None if inner.contains('/') => whole,
        None => format!("**/{whole}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_what_it_means_in_an_ignore_file() {
        for (pattern, path, expected) in [
            ("pytest.ini", "pytest.ini", true),
            ("pytest.ini", "a/pytest.ini", true),
            ("/pytest.ini", "a/pytest.ini", false),
            ("/pytest.ini", "pytest.ini", true),
            ("jest.config.*", "web/jest.config.mjs", true),
            ("jest.config.*", "web/jest.config", false),
            (".github/workflows/", ".github/workflows/ci.yml", true),
            (".github/workflows/", "a/.github/workflows/ci.yml", false),
            ("tests/", "a/tests/b/c.py", true),
            ("tests/", "tests", false),
            ("a/**/b", "a/b", true),
            ("a/**/b", "a/x/y/b", true),
            ("**/target/*.xml", "target/x.xml", true),
            ("**/target/*.xml", "m/target/x/y.xml", false),
            ("a*c?", "abcbcd", true),
            ("a*c?", "abc", false),
            ("*", "x/y", true),
            ("", "x", false),
            ("/", "x/y", true),
            ("**/", "x", true),
            ("a/**", "a/b/c", true),
            ("a/**", "a", false),
            ("a/**b", "a/x/b", false),
            ("tests", "tests/a", false),
            ("app/[id]/", "app/[id]/page.tsx", true),
            ("app/[id]/", "app/i/page.tsx", false),
            ("*.{ts,js}", "a.ts", false),
            ("a\\*", "a\\b", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
            let list = ["never".to_owned(), pattern.to_owned()];
            let first = PathPatterns::new(&list).first(path);
            assert_eq!(first, expected.then_some(pattern), "{pattern} {path}");
        }
    }
}
