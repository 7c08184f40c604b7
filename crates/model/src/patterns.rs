//! Patterns that settings spell names and paths with.
//!
//! `*` stands for any run of characters and `?` for any one byte; everything else stands for
//! itself, brackets, braces and backslashes too, for they are parts of real file names
//! (`app/[id]/page.tsx`). The matching itself is `globset`'s. What a list of patterns means for
//! a directory, for what is below it or for a `!` is up to the setting, and is decided there.

use globset::{Candidate, GlobBuilder, GlobSet};

/// No path is longer on Linux (PATH_MAX), so a pattern with more characters covers none, and
/// `globset` never has to refuse one for its size.
const MAX_CHARACTERS: usize = 4096;

/// What stands in the list for such a pattern: no path or variable has a NUL in its name.
const COVERS_NOTHING: &str = "\0\0";

/// How many patterns are searched for at once; together they stay below `globset`'s own limit.
const AT_ONCE: usize = 16;

/// A list of patterns, ready to be asked.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    sets: Vec<GlobSet>,
}

/// Whether a slash is like every other character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slash {
    IsCharacter,
    Separates,
}

impl Patterns {
    /// Patterns of flat names, such as those of variables: a `*` stands for anything.
    pub fn of_names<P: AsRef<str>>(patterns: &[P]) -> Self {
        Self::new(patterns, Slash::IsCharacter)
    }

    /// Patterns of whole paths: `*` and `?` stay within one name, and a `**` that is a name by
    /// itself stands for any number of directories.
    pub fn of_paths<P: AsRef<str>>(patterns: &[P]) -> Self {
        Self::new(patterns, Slash::Separates)
    }

    fn new<P: AsRef<str>>(patterns: &[P], slash: Slash) -> Self {
        let sets = patterns.chunks(AT_ONCE).map(|some| {
            let globs = some.iter().map(|pattern| {
                let glob = spelled_for_globset(pattern.as_ref(), slash);
                GlobBuilder::new(&glob)
                    .literal_separator(slash == Slash::Separates)
                    .backslash_escape(false)
                    .build()
            });
            globs.collect::<Result<Vec<_>, _>>().and_then(GlobSet::new)
        });
        // Nothing is left in a pattern that could be wrong, nor is any too long.
        Self { sets: sets.map(Result::unwrap_or_default).collect() }
    }

    /// Returns whether one of the patterns covers all of `text`.
    pub fn cover(&self, text: impl AsRef<[u8]>) -> bool {
        let text = Candidate::from_bytes(text.as_ref());
        self.sets.iter().any(|set| set.is_match_candidate(&text))
    }

    /// Returns the place in the list of the first pattern that covers all of `text`.
    pub fn first(&self, text: impl AsRef<[u8]>) -> Option<usize> {
        let text = Candidate::from_bytes(text.as_ref());
        self.sets.iter().enumerate().find_map(|(index, set)| {
            let first = set.matches_candidate(&text).into_iter().min()?;
            Some(index * AT_ONCE + first)
        })
    }
}

/// Takes every meaning from a pattern that it has to `globset` and not here.
fn spelled_for_globset(pattern: &str, slash: Slash) -> String {
    let characters = pattern.chars().filter(|c| *c != '*').count();
    if characters > MAX_CHARACTERS {
        return COVERS_NOTHING.to_owned();
    }
    let mut glob = String::with_capacity(pattern.len());
    let mut stars = 0_usize;
    for c in pattern.chars() {
        stars = if c == '*' { stars + 1 } else { 0 };
        match c {
            '[' | '{' | '}' => glob.extend(['[', c, ']']),
            // Two stars mean directories, and more mean no more than two.
            '*' if stars > 1 && slash == Slash::IsCharacter || stars > 2 => {}
            c => glob.push(c),
        }
    }
    glob
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Says what a pattern of names means, slowly.
    fn fits(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), _) => {
                fits(rest, text) || text.split_first().is_some_and(|(_, left)| fits(pattern, left))
            }
            (Some((b'?', rest)), Some((_, left))) => fits(rest, left),
            (Some((one, rest)), Some((other, left))) => one == other && fits(rest, left),
            _ => false,
        }
    }

    /// More stars mean no more than two.
    fn is_stars(name: &str) -> bool {
        name.len() > 1 && name.bytes().all(|byte| byte == b'*')
    }

    /// Says what a pattern of paths means, slowly.
    fn fits_path(pattern: &[&str], path: &[&str]) -> bool {
        match (pattern.split_first(), path.split_first()) {
            (None, None) => true,
            (Some((name, [])), _) if is_stars(name) => !path.is_empty(),
            (Some((name, rest)), _) if is_stars(name) => {
                (0..=path.len()).any(|skipped| fits_path(rest, &path[skipped..]))
            }
            (Some((name, rest)), Some((first, below))) => {
                fits(name.as_bytes(), first.as_bytes()) && fits_path(rest, below)
            }
            _ => false,
        }
    }

    #[test]
    fn only_stars_and_question_marks_have_a_meaning() {
        for (pattern, text, expected) in [
            ("LC_*", "LC_ALL", true),
            ("*_proxy", "http_proxy", true),
            ("*a*b", "aabab", true),
            ("a*b*c", "a-b-c", true),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("**", "x/y", true),
            ("a/**/b", "a/b", false),
            ("a*", "a/b\n", true),
            ("[ab]", "a", false),
            ("[ab]", "[ab]", true),
            ("{a,b}", "{a,b}", true),
            ("{a,b}", "a", false),
            ("}", "}", true),
            ("a\\*", "a\\b", true),
            ("!a", "!a", true),
            ("[!a]", "[!a]", true),
            (".", "x", false),
            ("a.", "a.", true),
        ] {
            assert_eq!(Patterns::of_names(&[pattern]).cover(text), expected, "{pattern} {text}");
            assert_eq!(fits(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_covered_too() {
        assert!(Patterns::of_names(&["a*b"]).cover(b"a\xff\xfeb"));
        assert!(Patterns::of_paths(&["**/a?"]).cover(b"\xff/a\xff"));
    }

    #[test]
    fn the_first_that_covers_is_told_by_its_place() {
        let mut list = vec!["x".repeat(5000); 40];
        list.extend(["b*".to_owned(), "*c".to_owned(), "*".repeat(9000)]);
        let patterns = Patterns::of_names(&list);
        assert_eq!(patterns.first("bc"), Some(40));
        assert_eq!(patterns.first("ac"), Some(41));
        assert_eq!(patterns.first("a"), Some(42));
        assert_eq!(Patterns::of_names::<&str>(&[]).first("a"), None);
        assert!(!Patterns::default().cover(""));
    }

    #[test]
    fn no_list_is_too_long_for_its_patterns_to_count() {
        let mut list: Vec<String> =
            (0..200).map(|n| format!("*{n}{}?*", "ab".repeat(2000))).collect();
        list.push("last*".to_owned());
        for patterns in [Patterns::of_names(&list), Patterns::of_paths(&list)] {
            assert_eq!(patterns.first("last one"), Some(200));
            assert_eq!(patterns.first(format!("x7{}yz", "ab".repeat(2000))), Some(7));
        }
    }

    #[test]
    fn no_pattern_takes_for_ever() {
        let (pattern, text) = ("*a".repeat(200) + "b", "a".repeat(5_000));
        assert!(!Patterns::of_names(&[pattern]).cover(text));
    }

    proptest! {
        #[test]
        fn names_are_covered_as_if_looked_at_one_by_one(
            pattern in "[ab/.*?\\[\\]{},!\\\\-]{0,8}",
            text in "[ab/.\\[\\]{},!\\\\-]{0,8}",
        ) {
            let expected = fits(pattern.as_bytes(), text.as_bytes());
            prop_assert_eq!(Patterns::of_names(&[&pattern]).cover(&text), expected);
        }

        #[test]
        fn paths_are_covered_as_if_looked_at_name_by_name(
            pattern in "(\\*\\*|[ab.*?\\[{}\\\\]{1,3})(/(\\*\\*|[ab.*?\\[{}\\\\]{1,3})){0,4}",
            path in "[ab.\\[{}\\\\]{1,3}(/[ab.\\[{}\\\\]{1,3}){0,4}",
        ) {
            let parts = |text: &'static str| text.split('/').collect::<Vec<_>>();
            let (pattern, path): (&'static str, &'static str) = (pattern.leak(), path.leak());
            // No path that is asked about ends so, and `globset` sees no file name in it.
            prop_assume!(!path.ends_with(".."));
            let expected = fits_path(&parts(pattern), &parts(path));
            prop_assert_eq!(Patterns::of_paths(&[pattern]).cover(path), expected);
        }
    }
}
