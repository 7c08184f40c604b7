//! What in a line can be recognised in an event, word for word.
//!
//! Pointers to dossiers, paths, terms in quotes or backticks, and the words after "when" or
//! "before". What a line means beyond its letters is for a judge; nothing is guessed here.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The two kinds of dossier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DossierKind {
    Entity,
    Topic,
}

impl DossierKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Entity => "entity",
            Self::Topic => "topic",
        }
    }

    /// Returns the directory below the memory's own.
    pub const fn directory(self) -> &'static str {
        match self {
            Self::Entity => "entities",
            Self::Topic => "topics",
        }
    }
}

/// `[[entity-X]]` or `[[topic-X]]`: a dossier that a line rests on.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct DossierPointer {
    pub kind: DossierKind,
    /// Letters, digits, `-`, `_` and `.`, and no path: it becomes the name of a file.
    pub slug: String,
}

impl DossierPointer {
    /// Reads what stands between the brackets.
    pub fn parse(inner: &str) -> Option<Self> {
        let (kind, slug) = match inner.split_once('-')? {
            ("entity", slug) => (DossierKind::Entity, slug),
            ("topic", slug) => (DossierKind::Topic, slug),
            _ => return None,
        };
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let fits = !slug.is_empty() && slug.len() <= 80 && !slug.starts_with('.');
        (fits && slug.chars().all(is_plain)).then(|| Self { kind, slug: slug.to_owned() })
    }

    /// Returns every pointer in `text`, once each, in order.
    pub fn all_in(text: &str) -> Vec<Self> {
        let mut found = Vec::new();
        for rest in text.split("[[").skip(1) {
            let pointer = rest.split_once("]]").and_then(|(inner, _)| Self::parse(inner));
            push_new(&mut found, pointer);
        }
        found
    }

    /// Returns the dossier's path below the memory's directory.
    pub fn dossier(&self) -> String {
        format!("{}/{}.md", self.kind.directory(), self.slug)
    }
}

impl fmt::Display for DossierPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[[{}-{}]]", self.kind.as_str(), self.slug)
    }
}

/// Everything in a line that can be recognised.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cues {
    pub pointers: Vec<DossierPointer>,
    /// Files and directories.
    pub paths: Vec<String>,
    /// What has to be seen for the line to apply.
    pub triggers: Vec<String>,
    /// What the line wants done. Seeing it proves nothing yet.
    pub actions: Vec<String>,
    /// What it wants done where it says so without a condition, too: its actions, or else its
    /// terms but for those it warns of.
    pub wanted: Vec<String>,
    /// What it says is not to be used.
    pub avoided: Vec<String>,
    /// Words for what it has to be done before, as commands have them: `commit` for "committing".
    pub next: Vec<String>,
}

/// Words after which a condition stands, in any language that sets words apart.
const CONDITIONS: [&str; 22] = [
    "when",
    "whenever",
    "if",
    "before",
    "after",
    "while",
    "once",
    "unless",
    "wenn",
    "bevor",
    "sobald",
    "falls",
    "quand",
    "avant",
    "après",
    "cuando",
    "antes",
    "después",
    "когда",
    "если",
    "перед",
    "после",
];

/// Those behind which stands what comes later.
const BEFORE: [&str; 5] = ["before", "bevor", "avant", "antes", "перед"];

/// Words right before a term that the line warns of, and such right behind it.
const AGAINST: [&str; 23] = [
    "not",
    "never",
    "no",
    "avoid",
    "don't",
    "without",
    "than",
    "over",
    "nicht",
    "nie",
    "niemals",
    "statt",
    "anstatt",
    "kein",
    "keine",
    "ohne",
    "pas",
    "jamais",
    "nunca",
    "не",
    "вместо",
    "никогда",
    "без",
];
const AGAINST_BEFORE: [&str; 6] =
    ["instead of", "au lieu de", "en vez de", "不要用", "别用", "而不是"];
const AGAINST_BEHIND: [&str; 6] =
    ["は使わない", "を使わない", "ではなく", "じゃなく", "は禁止", "を使わず"];

/// A longer condition is never met to the letter.
const CONDITION_WORDS: usize = 8;
const CUE_CHARS: usize = 80;

/// How much of a line is looked at. A longer one is no line that an agent keeps in mind, and one that
/// was pasted must not hold up every command that reads the file.
const MOST_OF_A_LINE: usize = 8 << 10;

/// The beginning of a line, in which its cues and words are looked for.
pub(crate) fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST_OF_A_LINE)]
}

impl Cues {
    pub fn of(text: &str) -> Self {
        let text = beginning(text);
        let mut cues = Self { pointers: DossierPointer::all_in(text), ..Self::default() };
        let clauses = clauses(text);
        for term in quoted(text) {
            if !is_path(term.text, true) {
                let list = match is_avoided(text, &term) {
                    true => &mut cues.avoided,
                    false => &mut cues.wanted,
                };
                push_new(list, Some(term.text.to_owned()));
            }
            let inside = clauses.iter().any(|clause| clause.contains(&term.at));
            if is_path(term.text, true) {
                push_new(&mut cues.paths, Some(term.text.to_owned()));
            } else if inside || clauses.is_empty() {
                push_new(&mut cues.triggers, Some(term.text.to_owned()));
            } else {
                push_new(&mut cues.actions, Some(term.text.to_owned()));
            }
        }
        for word in text.split_whitespace() {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !"/._~".contains(c));
            let word = word.trim_end_matches(['.', '…']);
            if is_path(word, false) {
                push_new(&mut cues.paths, Some(word.to_owned()));
            }
        }
        for clause in clauses {
            let opens = text[..clause.start].split_whitespace().next_back().map(str::to_lowercase);
            if opens.is_some_and(|word| BEFORE.contains(&word.as_str())) {
                deed_words(&text[clause.clone()])
                    .for_each(|word| push_new(&mut cues.next, Some(word)));
            }
            push_new(&mut cues.triggers, condition(&text[clause]));
        }
        if !cues.actions.is_empty() {
            cues.wanted.retain(|term| cues.actions.contains(term));
        }
        cues
    }

    /// Finds what can be recognised in a lesson, which says apart when it applies and what to do
    /// then: all terms of the one are triggers, those of the other actions.
    pub(crate) fn of_lesson(pattern: &str, fix: &str, scope: &[String]) -> Self {
        let (when, then) = (Self::of(pattern), Self::of(fix));
        let (wanted, avoided, next) = (then.wanted, then.avoided, then.next);
        let mut cues = Self { wanted, avoided, next, ..Self::default() };
        let named = scope.iter().map(|path| path.trim_end_matches('/').to_owned());
        // A bare word such as `src` is in too many texts to say anything.
        for path in named.filter(|path| is_path(path, true)).chain(when.paths).chain(then.paths) {
            push_new(&mut cues.paths, Some(path));
        }
        for pointer in when.pointers.into_iter().chain(then.pointers) {
            push_new(&mut cues.pointers, Some(pointer));
        }
        for term in when.triggers.into_iter().chain(when.actions) {
            push_new(&mut cues.triggers, Some(term));
        }
        for term in then.triggers.into_iter().chain(then.actions) {
            if cues.wanted.contains(&term) {
                push_new(&mut cues.actions, Some(term));
            }
        }
        cues
    }
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: Option<T>) {
    if let Some(item) = item
        && !list.contains(&item)
    {
        list.push(item);
    }
}

/// A term in quotes, and where its first letter is.
struct Term<'a> {
    at: usize,
    text: &'a str,
}

fn quoted(text: &str) -> Vec<Term<'_>> {
    let mut found = Vec::new();
    let mut rest = 0;
    while let Some((open, mark)) = text[rest..].char_indices().find(|(_, c)| closing(*c).is_some())
    {
        let start = rest + open + mark.len_utf8();
        let close = closing(mark).unwrap_or(mark);
        let Some(length) = text[start..].find(close) else {
            rest = start;
            continue;
        };
        let inner = &text[start..start + length];
        let term = inner.trim();
        if (2..=CUE_CHARS).contains(&term.chars().count()) {
            found.push(Term { at: start + (inner.len() - inner.trim_start().len()), text: term });
        }
        rest = start + length + close.len_utf8();
    }
    found
}

/// Whether a line names a term to warn of it.
fn is_avoided(text: &str, term: &Term<'_>) -> bool {
    let before = text[..term.at].trim_end().trim_end_matches(['`', '"', '“', '«', '「']).trim_end();
    let behind = text[term.at + term.text.len()..]
        .trim_start()
        .trim_start_matches(['`', '"', '”', '»', '」']);
    let before = before.to_lowercase();
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    AGAINST.contains(&word)
        || AGAINST_BEFORE.iter().any(|words| before.ends_with(words))
        || AGAINST_BEHIND.iter().any(|words| behind.trim_start().starts_with(words))
}

fn closing(open: char) -> Option<char> {
    match open {
        '`' => Some('`'),
        '"' => Some('"'),
        '“' => Some('”'),
        '«' => Some('»'),
        '「' => Some('」'),
        _ => None,
    }
}

/// Where conditions stand: from behind the word that opens one to the next pause.
fn clauses(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    let mut at = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim().trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let start = at + word.len();
        at = start;
        let within = found.last().is_some_and(|last| start <= last.end);
        if !within && CONDITIONS.contains(&bare.as_str()) {
            found.push(start..start + pause(&text[start..]));
        }
    }
    found
}

/// How far it is to a comma, colon, dash or the end of the sentence.
fn pause(text: &str) -> usize {
    let mut quote = None;
    for (index, c) in text.char_indices() {
        let next = text[index + c.len_utf8()..].chars().next();
        let ends_word = next.is_none_or(char::is_whitespace);
        match quote {
            Some(close) if c == close => quote = None,
            Some(_) => {}
            None if matches!(c, ',' | ';' | ':' | '.' | '!' | '?') && ends_word => return index,
            None if matches!(c, '—' | '→') => return index,
            None => quote = closing(c),
        }
    }
    text.len()
}

/// The words of a condition, if they can be met to the letter.
fn condition(clause: &str) -> Option<String> {
    let plain: String =
        clause.chars().filter(|c| !matches!(c, '`' | '"' | '“' | '”' | '*')).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let text = words.join(" ");
    let fits = (1..=CONDITION_WORDS).contains(&words.len())
        && (4..=CUE_CHARS).contains(&text.chars().count())
        && !text.contains("[[");
    fits.then_some(text)
}

/// The words of a condition that a command may have, in the form that commands have them.
fn deed_words(clause: &str) -> impl Iterator<Item = String> {
    const NONE: [&str; 15] = [
        "the",
        "any",
        "all",
        "every",
        "each",
        "your",
        "you",
        "with",
        "from",
        "that",
        "this",
        "them",
        "anything",
        "something",
        "work",
    ];
    let words = clause.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| word.chars().count() >= 3 && !NONE.contains(&word.as_str())).flat_map(
        |word| {
            let Some(stem) = word.strip_suffix("ing").filter(|stem| stem.len() >= 3) else {
                return vec![word];
            };
            let mut ends = stem.chars().rev();
            let is_doubled = ends.next() == ends.next();
            let short = if is_doubled { &stem[..stem.len() - 1] } else { stem };
            vec![stem.to_owned(), short.to_owned(), format!("{stem}e")]
        },
    )
}

/// Whether a word names a file or directory. Outside of quotes `and/or` must not.
fn is_path(word: &str, quoted: bool) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "/._-+~@*".contains(c);
    let plain = word.chars().all(is_part) && word.chars().any(char::is_alphanumeric);
    if !plain || word.chars().count() > CUE_CHARS {
        return false;
    }
    let name = word.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let has_ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=5).contains(&ending.len())
            && ending.starts_with(|c: char| c.is_ascii_alphabetic())
            && ending.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    let has_slash = word.contains('/');
    if quoted { has_slash || has_ending } else { has_slash && (has_ending || word.ends_with('/')) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pointers, paths, triggers and actions, each list after its letter.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let cues = Cues::of(text);
        let pointers: Vec<String> = cues.pointers.iter().map(DossierPointer::dossier).collect();
        let lists = [('p', pointers), ('f', cues.paths), ('t', cues.triggers), ('a', cues.actions)];
        let told: Vec<String> = lists
            .iter()
            .filter(|(_, list)| !list.is_empty())
            .map(|(letter, list)| format!("{letter}: {}", list.join(" | ")))
            .collect();
        assert_eq!(told.join("; "), expected, "{text}");
    }

    #[test]
    fn pointers_name_dossiers() {
        check(
            "See [[entity-ada]] and [[topic-release.notes]].",
            "p: entities/ada.md | topics/release.notes.md",
        );
        check("[[entity-ada]] [[entity-ada]]", "p: entities/ada.md");
        check(
            "[[person-ada]] [[entity-]] [[entity-../x]] [[entity-a b]] [[entity-.x]] [[entity-ada]",
            "",
        );
    }

    #[test]
    fn paths_are_told_from_words_with_a_slash() {
        check(
            "SQL stays in crates/store/src/ and `src/main.rs`",
            "f: src/main.rs | crates/store/src/",
        );
        check("read/write and/or I/O, see docs/notes.md.", "f: docs/notes.md");
        check("`Cargo.toml` but not `v2`, https://example.org/a.html", "f: Cargo.toml; t: v2");
    }

    #[test]
    fn what_stands_after_a_condition_is_a_trigger() {
        check("When the build is red, run `cargo test`.", "t: the build is red; a: cargo test");
        check("Run `make lint` before committing.", "t: committing; a: make lint");
        check(
            "If you see \"lock poisoned\": restart, don't retry",
            "t: lock poisoned | you see lock poisoned",
        );
        check("Prefer “small steps”", "t: small steps");
        check("Say why, never how", "");
    }

    #[test]
    fn what_a_line_has_to_be_done_before_is_known_as_commands_have_it() {
        for (text, word) in [
            ("Run `make lint` before committing.", "commit"),
            ("Run `make lint` before you push", "push"),
            ("Run `make all` before releasing a version", "release"),
            ("Run `make lint` before every `git merge`", "merge"),
        ] {
            assert!(Cues::of(text).next.iter().any(|next| next == word), "{text}");
        }
        assert_eq!(Cues::of("When you commit, run `make lint`").next, [] as [&str; 0]);
    }

    #[test]
    fn what_a_line_wants_is_told_from_what_it_warns_of() {
        for (text, wanted, avoided) in [
            ("Use `uv add`, not `pip install`", "uv add", "pip install"),
            ("Prefer `rg` over `grep -r`", "rg", "grep -r"),
            ("Nimm `just` statt `make all`", "just", "make all"),
            ("Бери `chrono::Utc`, а не `SystemTime`", "chrono::Utc", "SystemTime"),
            ("`pytest -q` を使う。`unittest` は使わない。", "pytest -q", "unittest"),
            ("When the build is red, run `make fix`, never `make force`", "make fix", "make force"),
            ("Ask first", "", ""),
        ] {
            let cues = Cues::of(text);
            assert_eq!(
                (cues.wanted.join(" "), cues.avoided.join(" ")),
                (wanted.into(), avoided.into()),
                "{text}"
            );
        }
    }

    #[test]
    fn a_condition_that_can_never_be_met_to_the_letter_is_no_cue() {
        check("when one two three four five six seven eight nine happen", "");
        check("if so, wait", "");
    }

    #[test]
    fn a_line_of_any_length_is_read_in_bounded_time() {
        // Each of them took minutes.
        let pasted = |text: &str| text.repeat(100_000);
        for text in ["`a b` ", "“ ", "when `a`, "] {
            let _ = Cues::of(&pasted(text));
        }
        let terms: Vec<String> = (0..100_000).map(|n| format!("`term {n}`")).collect();
        let cues = Cues::of(&terms.join(" "));
        assert!(cues.triggers.first().is_some_and(|term| term == "term 0"));
        assert!(!cues.triggers.contains(&"term 99999".to_owned()));
    }

    #[test]
    fn quotes_that_never_close_hold_nothing() {
        check("an odd ` mark and `one` more", "t: mark and");
        check("5\" wide", "");
    }
}
