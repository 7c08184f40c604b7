//! What never enters a commit, whether an agent or a gate changed it: secrets, databases, build
//! output, the tools' own state.
//!
//! A pattern is matched against every part of a path, so it counts at any depth; `*` is any
//! run of characters, `?` any one. With `/` at its end it means directories only; with `/`
//! inside it is matched against the path from the root. A person may allow single paths,
//! except below `.spore/`: an agent does not get to edit the rules it is judged by.
//!
//! The list itself is configuration; only the last rule is here.

use spore_model::Patterns;

const ALWAYS: &str = ".spore";

/// Patterns of paths that stay as they were in the base.
#[derive(Clone, Debug, Default)]
pub struct Exclusions {
    /// Matched against every name in a path.
    names: PathKinds,
    /// Matched against the path of the file and of each directory that it is in.
    from_root: PathKinds,
    allow: Vec<Vec<u8>>,
}

#[derive(Clone, Debug, Default)]
struct PathKinds {
    any: Patterns,
    directories: Patterns,
}

impl Exclusions {
    pub fn new(patterns: &[String], allow: &[String]) -> Self {
        let bare = |pattern: &str| pattern.trim_end_matches('/').to_owned();
        let patterns: Vec<&str> = patterns
            .iter()
            .map(String::as_str)
            .filter(|pattern| !bare(pattern).is_empty())
            .collect();
        let (from_root, names): (Vec<&str>, Vec<&str>) =
            patterns.into_iter().partition(|pattern| bare(pattern).contains('/'));
        let allow = allow.iter().map(|path| path.trim_matches('/').as_bytes().to_vec());
        Self {
            names: PathKinds::new(&names),
            from_root: PathKinds::new(&from_root),
            allow: allow.filter(|path| !path.is_empty()).collect(),
        }
    }

    /// Returns whether the file at `path`, relative to the root, is excluded.
    pub fn excludes(&self, path: &str) -> bool {
        self.excludes_file(path.as_bytes())
    }

    pub(crate) fn excludes_file(&self, name: &[u8]) -> bool {
        is_always(name) || (self.matches(name, ExcludedKind::File) && !self.is_allowed(name))
    }

    /// Returns whether nothing below the directory can enter, so that it need not be read.
    pub(crate) fn excludes_directory(&self, name: &[u8]) -> bool {
        let holds_allowed = || self.allow.iter().any(|path| is_at_or_below(path, name));
        is_always(name)
            || (self.matches(name, ExcludedKind::Directory)
                && !self.is_allowed(name)
                && !holds_allowed())
    }

    fn is_allowed(&self, name: &[u8]) -> bool {
        self.allow.iter().any(|path| is_at_or_below(name, path))
    }

    fn matches(&self, name: &[u8], kind: ExcludedKind) -> bool {
        let ends = name.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let mut start = 0;
        for end in ends.chain([name.len()]) {
            let kind = if end < name.len() { ExcludedKind::Directory } else { kind };
            if self.names.cover(&name[start..end], kind) || self.from_root.cover(&name[..end], kind)
            {
                return true;
            }
            start = end + 1;
        }
        false
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ExcludedKind {
    File,
    Directory,
}

impl PathKinds {
    fn new(patterns: &[&str]) -> Self {
        let bare = |patterns: Vec<&str>| {
            let bare = patterns.iter().map(|pattern| pattern.trim_matches('/'));
            Patterns::of_names(&bare.collect::<Vec<_>>())
        };
        let (directories, any) = patterns.iter().partition(|pattern| pattern.ends_with('/'));
        Self { any: bare(any), directories: bare(directories) }
    }

    fn cover(&self, text: &[u8], kind: ExcludedKind) -> bool {
        self.any.cover(text) || kind == ExcludedKind::Directory && self.directories.cover(text)
    }
}

fn is_always(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'/').any(|part| part == ALWAYS.as_bytes())
}

fn is_at_or_below(name: &[u8], directory: &[u8]) -> bool {
    name.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a list of patterns against paths: `-` before an excluded one, `+` otherwise.
    #[track_caller]
    fn check(patterns: &[&str], allow: &[&str], paths: &[&str]) {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.into()).collect::<Vec<String>>();
        let exclusions = Exclusions::new(&owned(patterns), &owned(allow));
        for path in paths {
            let (sign, path) = path.split_at(1);
            assert_eq!(exclusions.excludes(path), sign == "-", "{path}");
        }
    }

    #[test]
    fn a_pattern_counts_at_any_depth() {
        check(
            &[".env*", "*.db*", "target/", "*.loop-state.json"],
            &[],
            &[
                "-.env",
                "-a/b/.env.local",
                "-.env/bin/python",
                "+env",
                "-x.db",
                "-a/x.db-wal",
                "+dbx",
                "-target/debug/x",
                "-a/target/x",
                "+target",
                "+src/target.rs",
                "-deep/er/my.loop-state.json",
                "+loop-state.json",
            ],
        );
    }

    #[test]
    fn a_pattern_with_a_slash_inside_starts_at_the_root() {
        check(&["docs/private/", "/top"], &[], &["-docs/private/x", "+a/docs/private/x"]);
        check(&["a/*.txt"], &[], &["-a/b.txt", "+b/a/b.txt", "+a/b.md"]);
        check(&["a*c?"], &[], &["-abcbcd", "-x/acd", "+abc", "+xabcd"]);
    }

    #[test]
    fn a_star_crosses_directories_and_nothing_else_has_a_meaning() {
        check(&["a/*.txt", "b/**/c"], &[], &["-a/x/y.txt", "-b/x/y/c", "+b/c", "-b/x/c/d"]);
        check(&["[ab]", "{c,d}/", "e\\*"], &[], &["-[ab]", "+a", "-{c,d}/x", "+c/x", "-e\\f"]);
        check(&["", "/", "//"], &[], &["+a", "+a/b"]);
        check(&["/top", "/dir/"], &[], &["-top", "-top/x", "+a/top", "-dir/x", "+dir", "+a/dir/x"]);
    }

    proptest::proptest! {
        #[test]
        fn a_file_is_excluded_with_its_directory(
            pattern in "/?[ab*?]{1,3}(/[ab*?]{1,3})?/?",
            directory in "[ab]{1,3}(/[ab]{1,3})?",
        ) {
            let exclusions = Exclusions::new(&[pattern], &[]);
            let below = format!("{directory}/x/y");
            if exclusions.excludes_directory(directory.as_bytes()) {
                assert!(exclusions.excludes(&below));
            }
            if exclusions.excludes(&directory) {
                assert!(exclusions.excludes_directory(directory.as_bytes()));
            }
        }
    }

    #[test]
    fn an_allowed_path_enters_though_a_pattern_matches() {
        check(
            &[".env*", ".claude/"],
            &[".env.example", ".claude/agents/"],
            &["+.env.example", "-.env", "-a/.env.example", "+.claude/agents/x", "-.claude/y"],
        );
        let exclusions = Exclusions::new(&[".claude/".into()], &[".claude/agents/x".into()]);
        assert!(!exclusions.excludes_directory(b".claude"));
        assert!(exclusions.excludes_directory(b".claude/skills"));
        assert!(!exclusions.excludes_directory(b".claude/agents"));
    }

    #[test]
    fn nothing_below_spores_own_directory_is_ever_allowed() {
        check(&[], &[".spore/config.toml", "a"], &["-.spore/config.toml", "-a/.spore/x", "+a/x"]);
    }
}
