//! Which part of the tree is looked at.
//!
//! Any spelling of a path means the same file: relative to where the command was called, with
//! `.` and `..` in it, absolute, or through a link.

use std::path::{Component, Path, PathBuf};

use spore_index::Language;

use crate::error::{IndexerError, Result};

/// Which files are looked at; by default all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IndexScope {
    /// From the root; none is all.
    paths: Vec<String>,
    /// None is all; plain text has no language.
    languages: Vec<&'static str>,
}

impl IndexScope {
    pub fn is_everything(&self) -> bool {
        self.paths.is_empty() && self.languages.is_empty()
    }

    pub(crate) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Reads paths as typed in the directory `cwd`, and names of languages.
    pub fn typed(root: &Path, cwd: &Path, paths: &[PathBuf], languages: &[String]) -> Result<Self> {
        let mut scope = Self::default();
        for typed in paths {
            let path = path_from_root(root, cwd, typed)?;
            if path.is_empty() {
                scope.paths.clear();
                break;
            }
            scope.paths.push(path);
        }
        for typed in languages {
            scope.languages.push(language(typed)?.as_str());
        }
        Ok(scope)
    }

    /// Limits the scope to paths from the root.
    pub(crate) fn of_paths(paths: Vec<String>) -> Self {
        Self { paths, languages: Vec::new() }
    }

    /// Returns whether a file with this path and language is in it.
    pub(crate) fn holds(&self, path: &str, language: &str) -> bool {
        (self.languages.is_empty() || self.languages.contains(&language)) && self.holds_path(path)
    }

    pub(crate) fn holds_path(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|top| is_below(path, top))
    }

    /// Returns whether a walk has to go through a path to see all of it.
    pub(crate) fn leads_to(&self, path: &str) -> bool {
        path.is_empty() || self.holds_path(path) || self.paths.iter().any(|top| is_below(top, path))
    }
}

fn is_below(path: &str, top: &str) -> bool {
    path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns a typed path as seen from the root.
pub fn path_from_root(root: &Path, cwd: &Path, typed: &Path) -> Result<String> {
    let absolute = plain(&cwd.join(typed));
    // What is gone can still be named; then what is left of its way counts.
    let there = absolute.ancestors().find_map(|above| {
        let real = above.canonicalize().ok()?;
        Some(real.join(absolute.strip_prefix(above).ok()?))
    });
    let real = there.unwrap_or(absolute);
    let Ok(inside) = real.strip_prefix(root) else {
        return Err(IndexerError::Outside { typed: typed.to_owned(), root: root.to_owned() });
    };
    let inside = inside.to_str().map(|path| path.trim_end_matches('/').to_owned());
    inside.ok_or_else(|| IndexerError::NotText { typed: typed.to_owned() })
}

/// Takes `.` and `..` out of a path without looking at the disk.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

fn language(typed: &str) -> Result<Language> {
    let word = typed.trim().to_ascii_lowercase();
    let known = Language::ALL.iter().find(|language| language.as_str() == word);
    known.copied().ok_or_else(|| IndexerError::UnknownLanguage {
        typed: typed.to_owned(),
        known: Language::ALL.iter().map(|language| language.as_str()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_spelling_means_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        std::fs::write(root.join("src/a.rs"), "").unwrap();
        let cwd = root.join("src/deep");
        let absolute = root.join("src/a.rs");
        for typed in ["../a.rs", "./../a.rs", "../../src/./a.rs", absolute.to_str().unwrap()] {
            assert_eq!(
                path_from_root(&root, &cwd, Path::new(typed)).unwrap(),
                "src/a.rs",
                "{typed}"
            );
        }
        assert_eq!(
            path_from_root(&root, &cwd, Path::new("gone/b.rs")).unwrap(),
            "src/deep/gone/b.rs"
        );
        assert_eq!(path_from_root(&root, &cwd, Path::new("../..")).unwrap(), "");
        let outside = path_from_root(&root, &cwd, Path::new("/"));
        assert!(matches!(outside, Err(IndexerError::Outside { .. })));
    }

    #[test]
    fn a_scope_leads_to_what_it_holds_and_to_nothing_else() {
        let scope = IndexScope::of_paths(vec!["a/b".to_owned()]);
        assert!(scope.holds_path("a/b/c.rs") && scope.holds_path("a/b"));
        assert!(!scope.holds_path("a/bc.rs") && !scope.holds_path("a"));
        assert!(scope.leads_to("") && scope.leads_to("a") && scope.leads_to("a/b/c"));
        assert!(!scope.leads_to("c") && !scope.leads_to("a/c"));
    }
}
