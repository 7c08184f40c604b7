//! How text is cut into terms.
//!
//! A word is a run of letters and digits that underscores and hyphens may hold together. It
//! is cut where its case, a digit or a joint says that another word begins, and each part is
//! reduced to its stem: prose says *printing* where code says `print`. A word of several parts
//! is also one term by itself, marked with `#`: `search_path`, `searchPath`, `search-path` and
//! `SearchPath` are all `search`, `path` and `#searchpath`.
//!
//! Parts that say nothing in prose about code are left out, on both sides.

/// A longer run of letters is not a word: base64, a hash, a minified line.
const MAX_WORD: usize = 80;
/// Single letters are everywhere and say nothing.
const MIN_PART: usize = 2;
/// Shorter compounds (`a-z`, `is_a`) are no names.
const MIN_COMPOUND: usize = 4;

/// Words that do not tell which code is meant.
const COMMON: &[&str] = &[
    "about", "add", "added", "adding", "adds", "after", "again", "all", "allow", "also", "an",
    "and", "any", "are", "as", "at", "be", "because", "been", "before", "being", "both", "but",
    "by", "can", "change", "close", "closed", "closes", "could", "did", "do", "does", "doesn",
    "don", "done", "each", "ensure", "etc", "feat", "few", "fix", "fixed", "fixes", "fixing",
    "for", "from", "get", "gets", "got", "had", "has", "have", "he", "here", "how", "if", "in",
    "instead", "into", "is", "isn", "issue", "it", "its", "just", "let", "made", "make", "makes",
    "making", "may", "me", "merge", "might", "more", "most", "much", "my", "no", "nor", "not",
    "now", "of", "off", "on", "once", "only", "or", "other", "our", "out", "over", "own", "per",
    "pr", "ref", "refactor", "refs", "remove", "same", "see", "should", "since", "so", "some",
    "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "to", "too", "under", "until", "up", "update", "use", "used", "uses", "using", "very",
    "via", "was", "we", "were", "what", "when", "where", "which", "while", "who", "why", "will",
    "with", "would", "you", "your",
];

/// Returns whether a word says nothing by itself.
pub fn is_common(word: &str) -> bool {
    COMMON.binary_search(&word).is_ok()
}

/// Hands every term of the text to `emit`, in order.
pub fn for_each_term(text: &str, mut emit: impl FnMut(&str)) {
    let mut scratch = String::new();
    for_each_word(text, |word| terms_of_word(word, &mut scratch, &mut emit));
}

/// Returns the terms of a text, in order.
pub fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for_each_term(text, |term| terms.push(term.to_owned()));
    terms
}

/// Hands every word of the text to `each`, as it is written.
pub fn for_each_word<'t>(text: &'t str, mut each: impl FnMut(&'t str)) {
    let is_inside = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    let mut keep = |run: &'t str| {
        let word = run.trim_matches(['_', '-']);
        if word.len() >= MIN_PART && word.len() <= MAX_WORD {
            each(word);
        }
    };
    if !text.is_ascii() {
        text.split(|letter| !is_inside(letter)).for_each(keep);
        return;
    }
    // Nearly all code: a byte is a letter, and whether it is inside of a word is looked up.
    let mut start = None;
    for (at, byte) in text.bytes().enumerate() {
        match (start, INSIDE[usize::from(byte)]) {
            (None, true) => start = Some(at),
            (Some(first), false) => {
                start = None;
                keep(&text[first..at]);
            }
            _ => {}
        }
    }
    if let Some(first) = start {
        keep(&text[first..]);
    }
}

/// Which bytes of ASCII are inside of a word.
const INSIDE: [bool; 256] = {
    let mut inside = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        inside[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        byte += 1;
    }
    inside
};

/// Returns a whole name as one word: in lower case, without its joints.
pub fn plain_name(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    push_plain(&mut plain, name);
    plain
}

/// Returns the term under which a definition is found by its whole name.
pub fn name_term(name: &str) -> String {
    let mut term = String::with_capacity(name.len() + 1);
    put_name_term(name, &mut term);
    term
}

/// Puts the term of a whole name in the place of what `term` held.
pub(crate) fn put_name_term(name: &str, term: &mut String) {
    term.clear();
    term.push('=');
    push_plain(term, name);
}

/// Returns the term of a compound by its plain name.
pub fn compound_term(plain: &str) -> String {
    format!("#{plain}")
}

pub(crate) fn terms_of_word(word: &str, scratch: &mut String, mut emit: impl FnMut(&str)) {
    let mut parts = 0;
    for part in WordParts(word) {
        parts += 1;
        if part.len() < MIN_PART || part.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        scratch.clear();
        push_plain(scratch, part);
        if !is_common(scratch) {
            stem(scratch);
            emit(scratch);
        }
    }
    if parts > 1 {
        scratch.clear();
        scratch.push('#');
        push_plain(scratch, word);
        if scratch.len() > MIN_COMPOUND {
            emit(scratch);
        }
    }
}

fn push_plain(text: &mut String, word: &str) {
    if word.is_ascii() {
        let letters = word.bytes().filter(u8::is_ascii_alphanumeric);
        text.extend(letters.map(|letter| char::from(letter.to_ascii_lowercase())));
    } else {
        let letters = word.chars().filter(|letter| letter.is_alphanumeric());
        text.extend(letters.flat_map(char::to_lowercase));
    }
}

/// Cuts the endings that English gives one word in different sentences. Crude on purpose: it
/// only has to do the same to the task and to the code.
fn stem(word: &mut String) {
    if !word.is_ascii() {
        return;
    }
    let length = word.len();
    if length > 4 && word.ends_with("ies") {
        word.truncate(length - 3);
        word.push('y');
    } else if length > 4 && ["sses", "ches", "shes", "xes"].iter().any(|end| word.ends_with(end)) {
        word.truncate(length - 2);
    } else if length > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") {
        word.truncate(length - 1);
    }
    let length = word.len();
    if length > 5 && word.ends_with("ing") {
        word.truncate(length - 3);
    } else if length > 4 && word.ends_with("ed") {
        word.truncate(length - 2);
    }
    let bytes = word.as_bytes();
    if let [.., before, last] = bytes
        && bytes.len() > 3
        && before == last
        && !b"lsz".contains(last)
    {
        word.pop();
    }
    if word.len() > 4 && word.ends_with('e') {
        word.pop();
    }
}

/// The parts of a word: `HTTPServer2_url` is `HTTP`, `Server`, `2`, `url`.
struct WordParts<'a>(&'a str);

impl<'a> Iterator for WordParts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let word = self.0.trim_start_matches(['_', '-']);
        if word.is_empty() {
            return None;
        }
        let end = part_end(word);
        self.0 = &word[end..];
        Some(&word[..end])
    }
}

/// Returns where the first part ends: at a joint, between letters and digits, before a capital
/// that follows a small letter, and before the last capital of a run that a small letter
/// follows.
fn part_end(word: &str) -> usize {
    let mut letters = word.char_indices().peekable();
    let mut before: Option<char> = None;
    while let Some((at, letter)) = letters.next() {
        if letter == '_' || letter == '-' {
            return at;
        }
        let begins = before.is_some_and(|before| {
            let ends_run = letters.peek().is_some_and(|(_, next)| next.is_lowercase());
            before.is_ascii_digit() != letter.is_ascii_digit()
                || (letter.is_uppercase() && (!before.is_uppercase() || ends_run))
        });
        if begins {
            return at;
        }
        before = Some(letter);
    }
    word.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(terms(text).join(" "), expected, "{text}");
    }

    #[test]
    fn a_compound_is_its_parts_and_itself() {
        check("search_path", "search path #searchpath");
        check("searchPath(SearchPath)", "search path #searchpath search path #searchpath");
        check("search-path SEARCH_PATH", "search path #searchpath search path #searchpath");
        check("parse HTTPServer", "pars http server #httpserver");
        check("utf8 x.y is_a __init__", "utf #utf8 init");
        check("UTF8Error ABC aB", "utf error #utf8error abc");
    }

    #[test]
    fn words_of_one_stem_are_one_term() {
        check("print prints printed printing", "print print print print");
        check("parse parsed parsing", "pars pars pars");
        check("entries entry matches match stopped", "entry entry match match stop");
        check("class status process", "class status process");
    }

    #[test]
    fn words_of_other_scripts_are_terms_too() {
        check("Größe_ändern Ошибка", "größe ändern #größeändern ошибка");
        check("配置 読む", "配置 読む");
    }

    #[test]
    fn what_says_nothing_is_left_out() {
        check("", "");
        check("fix the +-*/ _ __ a 1 404", "");
        check(&"a".repeat(81), "");
    }

    #[test]
    fn a_name_is_one_term_however_it_is_spelled() {
        for name in ["read_file", "readFile", "ReadFile", "READ_FILE"] {
            assert_eq!(
                (plain_name(name), name_term(name)),
                ("readfile".into(), "=readfile".into())
            );
        }
    }

    #[test]
    fn common_words_are_sorted() {
        assert!(COMMON.is_sorted() && is_common("the") && !is_common("path"));
    }

    proptest! {
        #[test]
        fn plain_text_is_cut_like_any_other(text in "[a-zA-Z0-9_ .,;(){}\\n-]{0,80}") {
            let words = |text: &str| {
                let mut words = Vec::new();
                for_each_word(text, |word| words.push(word.to_owned()));
                words
            };
            // A letter that is not ASCII, far from all others, takes the other way.
            let mut other = words(&format!("{text} \u{e9}"));
            other.pop();
            prop_assert_eq!(words(&text), other);
        }

        #[test]
        fn any_text_can_be_cut(text in any::<String>()) {
            for term in terms(&text) {
                prop_assert!(!term.is_empty() && !term.contains('_'));
            }
        }
    }
}
