//! What never enters a commit, whether an agent or a gate changed it: secrets, databases, build
//! output, the tools' own state.
//!
//! A pattern is matched against every part of a path, so it counts at any depth; `*` is any
//! run of characters, `?` any one. With `/` at its end it means directories only; with `/`
//! inside it is matched against the path from the root. A person may allow single paths,
//! except below `.spore/`: an agent does not get to edit the rules it is judged by.
//!
//! The list itself is configuration; only the last rule is here.

const ALWAYS: &str = ".spore";

/// Patterns of paths that stay as they were in the base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exclusions {
    patterns: Vec<Pattern>,
    allow: Vec<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    glob: Vec<u8>,
    directories_only: bool,
    from_root: bool,
}

impl Exclusions {
    pub fn new(patterns: &[String], allow: &[String]) -> Self {
        let patterns = patterns.iter().filter_map(|pattern| Pattern::parse(pattern)).collect();
        let allow = allow.iter().map(|path| path.trim_matches('/').as_bytes().to_vec());
        Self { patterns, allow: allow.filter(|path| !path.is_empty()).collect() }
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
            let is_directory = end < name.len() || kind == ExcludedKind::Directory;
            let hit = |pattern: &Pattern| {
                let text = if pattern.from_root { &name[..end] } else { &name[start..end] };
                (is_directory || !pattern.directories_only) && glob(&pattern.glob, text)
            };
            if self.patterns.iter().any(hit) {
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

impl Pattern {
    fn parse(text: &str) -> Option<Self> {
        let directories_only = text.ends_with('/');
        let glob = text.trim_end_matches('/');
        let from_root = glob.contains('/');
        let glob = glob.trim_start_matches('/');
        (!glob.is_empty()).then(|| Self { glob: glob.into(), directories_only, from_root })
    }
}

fn is_always(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'/').any(|part| part == ALWAYS.as_bytes())
}

fn is_at_or_below(name: &[u8], directory: &[u8]) -> bool {
    name.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

/// Matches without recursion: on a mismatch, only the last `*` is worth stretching.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(byte) if *byte == b'?' || *byte == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((star_p, star_t)) = star else { return false };
                star = Some((star_p, star_t + 1));
                (p, t) = (star_p + 1, star_t + 1);
            }
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
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
