//! Paths as people write them in the settings.

use std::path::{Path, PathBuf};

use crate::Surroundings;

/// Knows the variables that a path may name.
pub(super) struct SandboxPlaces<'a> {
    variables: &'a [(String, String)],
}

impl<'a> SandboxPlaces<'a> {
    pub(super) fn new(around: &'a Surroundings) -> Self {
        Self { variables: &around.variables }
    }

    /// Returns the paths that are meant; those that name an unset variable are none.
    pub(super) fn all(&self, written: &[String]) -> Vec<PathBuf> {
        written.iter().filter_map(|text| self.read(text)).collect()
    }

    /// The same, and makes the directories among them that are missing. Where one cannot be made,
    /// the program that needs it fails and says why.
    pub(super) fn all_made(&self, written: &[String]) -> Vec<PathBuf> {
        let made = |text: &String| {
            let place = self.read(text)?;
            if text.ends_with('/') {
                let _ = std::fs::create_dir_all(&place);
            }
            Some(place)
        };
        written.iter().filter_map(made).collect()
    }

    /// The same for caches, which are only made for toolchains that are there: those whose
    /// program, the word before the path, is among what is needed, and those without such a
    /// word beside something of their own.
    pub(super) fn caches(&self, written: &[String], needs: &[String]) -> Vec<PathBuf> {
        let is_needed = |program: &str| {
            needs.iter().any(|need| need.split_whitespace().next() == Some(program))
        };
        let made = |text: &String| {
            let (program, text) = whose(text);
            let place = self.read(text)?;
            let parent = place.parent().unwrap_or(&place);
            let wanted = match program {
                Some(program) => is_needed(program),
                None => parent.is_dir() || parent.ends_with(".cache"),
            };
            if wanted && text.ends_with('/') {
                let _ = std::fs::create_dir_all(&place);
            }
            Some(place)
        };
        written.iter().filter_map(made).collect()
    }

    /// Returns what is written for caches without the programs that keep them.
    pub(super) fn without_programs(&self, written: &[String]) -> Vec<String> {
        written.iter().map(|text| whose(text).1.to_owned()).collect()
    }

    /// Reads `~/x`, `$NAME/x` or an absolute path; nothing else is a place.
    fn read(&self, text: &str) -> Option<PathBuf> {
        let (start, rest) = match text.split_once('/') {
            Some(("", rest)) => return Some(Path::new("/").join(rest)),
            Some(parts) => parts,
            None => (text, ""),
        };
        let name = if start == "~" { "HOME" } else { start.strip_prefix('$')? };
        let value = self.variables.iter().find(|(known, _)| known == name)?;
        let start = Path::new(&value.1);
        start.is_absolute().then(|| start.join(rest))
    }
}

/// Parts a cache from the program that keeps it, where one is named.
fn whose(text: &str) -> (Option<&str>, &str) {
    match text.split_once(' ') {
        Some((program, place)) if !program.contains(['/', '~', '$']) => (Some(program), place),
        _ => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_begins_at_the_root_at_home_or_at_a_variable() {
        let variables = [("HOME", "/h/me"), ("CACHE", "/c"), ("ODD", "relative")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let places = SandboxPlaces { variables: &variables };
        for (text, expected) in [
            ("/dev/shm", Some("/dev/shm")),
            ("~/.claude/", Some("/h/me/.claude/")),
            ("~", Some("/h/me")),
            ("$CACHE/x", Some("/c/x")),
            ("$CACHE", Some("/c")),
            ("$UNSET/x", None),
            ("$ODD/x", None),
            ("plain", None),
            ("~other/x", None),
        ] {
            assert_eq!(places.read(text), expected.map(PathBuf::from), "{text}");
        }
    }

    #[test]
    fn caches_are_made_only_where_their_toolchain_is() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".cargo")).unwrap();
        let variables = [("HOME".to_owned(), home.path().display().to_string())];
        let places = SandboxPlaces { variables: &variables };
        let written = [
            "~/.cargo/registry/",
            "~/.other/cache/",
            "~/.cache/pip/",
            "npm ~/.npm/",
            "yarn ~/.yarn/berry/",
            "~/my caches/x/",
        ];
        let written = written.map(str::to_owned);
        let needs = ["node", "yarn --flag"].map(str::to_owned);
        let expected = written.each_ref().map(|text| {
            let (_, place) = text.split_once("~/").unwrap();
            home.path().join(place)
        });
        assert_eq!(places.caches(&written, &needs), expected);
        let is_there = |name: &str| home.path().join(name).exists();
        assert!(is_there(".cargo/registry") && is_there(".cache/pip") && is_there(".yarn/berry"));
        assert!(!is_there(".other") && !is_there(".npm") && !is_there("my caches"));
    }
}
