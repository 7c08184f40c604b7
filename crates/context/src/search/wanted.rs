//! A question, read for the names, paths and words in it.

use spore_lexical::{for_each_word, name_term, plain_name, terms};

// Bounds on what a question of any length can cost.

/// More text than this is a log or a file; what it is about stands at its beginning.
const MAX_BYTES: usize = 4 << 10;
const MAX_TERMS: usize = 64;
/// More names than this are a stack trace; the first ones say where.
const MAX_NAMES: usize = 8;
/// Words that may be one name together: `read file` for `read_file`.
const MAX_JOINED: usize = 4;

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Wanted {
    pub(super) terms: Vec<WantedTerm>,
    pub(super) names: Vec<WantedName>,
    pub(super) paths: Vec<WantedPath>,
    /// Whether tests are asked for.
    pub(super) tests: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct WantedTerm {
    pub(super) term: String,
    /// As it was typed, for telling why.
    pub(super) word: String,
}

/// A symbol, in any language's spelling.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct WantedName {
    /// What holds it, outermost first, as plain names.
    pub(super) parents: Vec<String>,
    /// As it was typed.
    pub(super) name: String,
    pub(super) extent: Extent,
}

/// A path or the end of one, in lower case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct WantedPath {
    pub(super) path: String,
    /// `flask.sessions`, `crate::flags`: a path without its ending, by another joint.
    pub(super) as_module: bool,
    pub(super) extent: Extent,
}

/// How much of the question something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extent {
    Whole,
    Part,
    /// All words of the question, put together as one name.
    Joined,
}

impl WantedName {
    /// Returns the term under which a definition of this name is found.
    pub(super) fn term(&self) -> String {
        name_term(&self.name)
    }
}

impl Wanted {
    pub(super) fn of(text: &str) -> Self {
        let text = text.trim();
        let text = &text[..text.floor_char_boundary(MAX_BYTES)];
        let mut wanted = Self::default();
        wanted.read_terms(text);
        let tokens: Vec<&str> = text.split_whitespace().collect();
        let extent = if tokens.len() == 1 { Extent::Whole } else { Extent::Part };
        for token in &tokens {
            wanted.read_token(token, extent);
        }
        if (2..=MAX_JOINED).contains(&tokens.len()) && tokens.iter().all(is_identifier) {
            let name = tokens.join("_");
            wanted.names.push(WantedName { parents: Vec::new(), name, extent: Extent::Joined });
        }
        wanted.tests = tokens.iter().any(|word| {
            let word = word.to_lowercase();
            word.starts_with("test") || word.ends_with("_test") || word.ends_with("tests")
        });
        wanted
    }

    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.names.is_empty() && self.paths.is_empty()
    }

    fn read_terms(&mut self, text: &str) {
        for_each_word(text, |word| {
            for term in terms(word) {
                let known = self.terms.iter().any(|known| known.term == term);
                if !known && self.terms.len() < MAX_TERMS {
                    self.terms.push(WantedTerm { term, word: word.to_owned() });
                }
            }
        });
    }

    fn read_token(&mut self, token: &str, extent: Extent) {
        const AROUND: [char; 18] = [
            '"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', ':', '?', '!', '&',
            '*',
        ];
        let bare = token.trim_matches(AROUND).trim_end_matches('.');
        if bare.is_empty() || self.names.len() >= MAX_NAMES {
            return;
        }
        // Of `src/a.rs:12` and `src/a.rs:12:3` the path counts.
        let path = bare.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == ':');
        let path = if path.len() + 1 < bare.len() && looks_like_path(path) { path } else { bare };
        if looks_like_path(path) {
            let path = path.trim_start_matches("./").trim_matches('/').to_lowercase();
            self.paths.push(WantedPath { path, as_module: false, extent });
        }
        if bare.contains('/') {
            return;
        }
        let parts = split_name(bare);
        let Some((name, parents)) = parts.split_last().filter(|_| parts.iter().all(is_identifier))
        else {
            return;
        };
        let quoted = token.contains('`') || token.contains("()");
        if extent == Extent::Whole || quoted || !parents.is_empty() || is_spelled_as_code(name) {
            let parents = parents.iter().map(|part| plain_name(part)).collect();
            self.names.push(WantedName { parents, name: (*name).to_owned(), extent });
        }
        if extent == Extent::Whole || parts.len() > 1 {
            let parts = parts.iter().filter(|part| !is_relative(part));
            let path = parts.copied().collect::<Vec<_>>().join("/").to_lowercase();
            if !path.is_empty() {
                self.paths.push(WantedPath { path, as_module: true, extent });
            }
        }
    }
}

/// Words that lead through a module tree without naming anything in it.
pub(super) fn is_relative(part: &str) -> bool {
    matches!(part, "crate" | "self" | "super" | "this" | "Self")
}

/// Cuts a symbol at the joints of all languages.
fn split_name(symbol: &str) -> Vec<&str> {
    symbol
        .split("::")
        .flat_map(|part| part.split("->"))
        .flat_map(|part| part.split(['.', '#']))
        .filter(|part| !part.is_empty())
        .collect()
}

fn is_identifier(part: impl AsRef<str>) -> bool {
    let mut letters = part.as_ref().chars();
    let is_inside = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '$');
    letters.next().is_some_and(|first| first.is_alphabetic() || matches!(first, '_' | '$'))
        && letters.all(is_inside)
}

/// Returns whether a word is spelled as prose never is.
fn is_spelled_as_code(word: &str) -> bool {
    let inner = word.trim_matches('_');
    let has_hump = inner
        .chars()
        .zip(inner.chars().skip(1))
        .any(|(before, letter)| before.is_lowercase() && letter.is_uppercase());
    inner.contains('_') || has_hump || inner.len() < word.len()
}

/// Returns whether it has a directory in it, or a file's ending.
fn looks_like_path(token: &str) -> bool {
    if token.contains("://") || token.contains("::") {
        return false;
    }
    let inside = token.trim_matches('/');
    if inside.contains('/') {
        return true;
    }
    inside.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=5).contains(&ending.len())
            && ending.chars().all(|letter| letter.is_ascii_alphanumeric())
            && ending.chars().any(|letter| letter.is_ascii_alphabetic())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names as `parents>name`, paths as they are; `~` marks a part, `+` what was joined.
    fn told(text: &str) -> (Vec<String>, Vec<String>) {
        let mark = |extent: Extent| match extent {
            Extent::Whole => "",
            Extent::Part => "~",
            Extent::Joined => "+",
        };
        let wanted = Wanted::of(text);
        let name = |name: &WantedName| {
            let parents: String = name.parents.iter().map(|parent| format!("{parent}>")).collect();
            format!("{}{parents}{}", mark(name.extent), name.name)
        };
        let path = |path: &WantedPath| {
            let kind = if path.as_module { "mod " } else { "" };
            format!("{}{kind}{}", mark(path.extent), path.path)
        };
        (wanted.names.iter().map(name).collect(), wanted.paths.iter().map(path).collect())
    }

    #[track_caller]
    fn check(text: &str, names: &[&str], paths: &[&str]) {
        let (found_names, found_paths) = told(text);
        assert_eq!(found_names, names, "{text}");
        assert_eq!(found_paths, paths, "{text}");
    }

    #[test]
    fn a_symbol_is_read_in_any_spelling() {
        check("Searcher", &["Searcher"], &["mod searcher"]);
        check("Searcher::search_path", &["searcher>search_path"], &["mod searcher/search_path"]);
        check("`a.b.c()`", &["a>b>c"], &["a.b.c", "mod a/b/c"]);
        check("crate::a::B", &["crate>a>B"], &["mod a/b"]);
    }

    #[test]
    fn a_path_is_read_with_or_without_a_line() {
        check("src/Main.rs", &[], &["src/main.rs"]);
        check("./src/main.rs:12:3", &[], &["src/main.rs"]);
        check("main.rs", &["main>rs"], &["main.rs", "mod main/rs"]);
        check("https://example.com/a", &[], &[]);
    }

    #[test]
    fn in_a_sentence_only_what_is_spelled_as_code_is_a_name() {
        check("where is the config read", &[], &[]);
        check("why does read_file fail here", &["~read_file"], &[]);
        check("parse `args` in src/cli.rs", &["~args"], &["~src/cli.rs"]);
        check("read file", &["+read_file"], &[]);
    }

    #[test]
    fn any_text_can_be_asked_for() {
        for text in [
            "",
            " \n ",
            "!?*",
            "'; DROP TABLE nodes; --",
            "\"\"",
            "\u{0}",
            "配置を読む",
            "::",
            "a::",
            "/",
        ] {
            let _ = Wanted::of(text);
        }
        assert!(Wanted::of("!?* -- ''").is_empty());
        let long = Wanted::of(&"öword_x other ".repeat(100_000));
        assert!(long.terms.len() <= MAX_TERMS && long.names.len() <= MAX_NAMES);
    }

    #[test]
    fn tests_are_asked_for_by_name() {
        assert!(Wanted::of("tests of the printer").tests);
        assert!(!Wanted::of("latest printer").tests);
    }
}
