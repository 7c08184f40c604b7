//! What of a directory is looked at, and how closely.

use serde::{Deserialize, Serialize};

/// Never looked into: what version control and Spore itself keep is about the files, not of
/// them, and Spore's own changes with every run. Named as the target, they are a directory
/// like any other.
pub const KEPT_OUT: [&str; 5] = [".git", ".hg", ".jj", ".spore", ".svn"];

/// What of a directory is looked at.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ScanScope {
    /// Hidden and ignored files too.
    pub all: bool,
    /// Names, or patterns as in an ignore file, that are left out at any depth.
    pub exclude: Vec<String>,
}

impl ScanScope {
    /// Puts a scope into its one spelling: equal scopes see equal trees.
    #[must_use]
    pub fn new(all: bool, mut exclude: Vec<String>) -> Self {
        exclude.sort_unstable();
        exclude.dedup();
        Self { all, exclude }
    }

    /// Returns a word for the scope; hashes from different scopes are not to be compared.
    pub fn word(&self) -> String {
        let all = if self.all { "all" } else { "visible" };
        self.exclude.iter().fold(all.to_owned(), |word, name| format!("{word} -{name}"))
    }
}

/// How closely a directory is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScanLimits {
    /// How many levels of the tree are shown.
    pub depth: u32,
    /// How many entries of one directory the tree shows.
    pub width: u32,
    /// A larger file is neither read whole nor counted.
    pub whole_bytes: u64,
    /// From this size on a file is called large, whatever it is.
    pub large_bytes: u64,
    /// A source file with more lines than this is called large.
    pub large_lines: u32,
    /// How many of the newest files are named.
    pub recent: u32,
    /// How many of the largest directories are named.
    pub top_directories: u32,
    /// How many large, generated and unreadable files are named, each.
    pub listed: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scopes_have_equal_words() {
        let one = ScanScope::new(false, vec!["b".into(), "a".into(), "b".into()]);
        assert_eq!(one.word(), "visible -a -b");
        assert_eq!(one, ScanScope::new(false, vec!["a".into(), "b".into()]));
        let word = one.word();
        assert_ne!(word, ScanScope::new(true, one.exclude).word());
    }
}
