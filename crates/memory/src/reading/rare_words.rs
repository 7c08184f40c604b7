//! Which line a person speaks of without naming anything of it to the letter: the one whose rare
//! words they use.
//!
//! Who corrects says "the ticket number is missing", not what the line sets in backticks. So the
//! words of all lines are weighed by how few lines have them, names and abbreviations more than
//! plain words, and a message is about a line that is clearly ahead of all others. Words are compared
//! by their beginnings, without marks over letters, and the words that work is told with in other
//! languages stand for the English ones (the module `glosses`): people do not all speak as their lines do.

use std::collections::{BTreeMap, HashMap};

use crate::cues::beginning;
use crate::lines::LineMap;
use crate::reading::glosses::{fold, glosses, unspaced_glosses};
use crate::reading::scripts::is_unspaced;

/// What a line's words must weigh together: two of its own, or one name of its own and a part.
const ENOUGH: f32 = 1.75;
/// What is enough for a line whose path or dossier the session has just worked with.
const ENOUGH_IF_USED: f32 = 1.0;
/// How far it must be ahead of the next line.
const AHEAD: f32 = 1.3;
/// A longer message has words of any line.
const MOST_WORDS: usize = 120;

/// What a name weighs beside a plain word, and an abbreviation.
const NAME: f32 = 1.5;
const ABBREVIATION: f32 = 1.75;
/// What a Latin word weighs in a message of another script: it was left as it is for a reason.
const LEFT_LATIN: f32 = 1.5;

/// Knows the words of all lines.
#[derive(Debug)]
pub(crate) struct RareWords {
    /// The lines that have a word, each with what it weighs there.
    lines: HashMap<String, Vec<(usize, f32)>>,
}

impl RareWords {
    pub(crate) fn new(map: &LineMap) -> Self {
        let mut lines: HashMap<String, Vec<(usize, f32)>> = HashMap::new();
        for (at, line) in map.lines().iter().enumerate() {
            for (word, weight) in words_of(beginning(&line.text)) {
                lines.entry(word).or_default().push((at, weight));
            }
        }
        for found in lines.values_mut() {
            let rare = 1.0 / found.len() as f32;
            found.iter_mut().for_each(|(_, weight)| *weight *= rare);
        }
        Self { lines }
    }

    /// Returns the one line that a text speaks of, if it is clear which. Of the lines that `used`
    /// tells less is asked.
    pub(crate) fn line_of(&self, text: &str, used: impl Fn(usize) -> bool) -> Option<usize> {
        if text.split_whitespace().nth(MOST_WORDS).is_some() {
            return None;
        }
        let mut weights: BTreeMap<usize, f32> = BTreeMap::new();
        for (word, spoken) in words_of(beginning(text)) {
            for &(line, weight) in self.lines.get(&word).into_iter().flatten() {
                // A name is one where it is written as one, and by whom does not matter.
                *weights.entry(line).or_default() += match common(&word) {
                    true => weight / 2.0,
                    false => weight * spoken.max(1.0),
                };
            }
        }
        let (&best, &weight) = weights.iter().max_by(|one, other| one.1.total_cmp(other.1))?;
        let next = weights.iter().filter(|(line, _)| **line != best).map(|(_, weight)| *weight);
        let is_ahead = next.fold(0.0, f32::max) * AHEAD <= weight;
        let enough = if used(best) { ENOUGH_IF_USED } else { ENOUGH };
        (is_ahead && weight >= enough).then_some(best)
    }
}

/// The words of a text by which it is compared, each with what it weighs.
fn words_of(text: &str) -> BTreeMap<String, f32> {
    let mut words: BTreeMap<String, f32> = BTreeMap::new();
    let is_latin = |c: char| c.is_alphabetic() && c <= '\u{24f}';
    let (latin, other) = text
        .chars()
        .filter(|c| c.is_alphabetic())
        .fold((0, 0), |(l, o), c| if is_latin(c) { (l + 1, o) } else { (l, o + 1) });
    let left_latin = if other > latin { LEFT_LATIN } else { 1.0 };
    let shouts = text.chars().filter(|c| c.is_uppercase()).count() * 2 > latin;
    let mut add = |word: String, weight: f32| {
        if !word.is_empty() && !STOPPED.contains(&word.as_str()) {
            let known = words.entry(word).or_insert(weight);
            *known = known.max(weight);
        }
    };
    let joined = ALIASES.iter().fold(text.to_owned(), |text, (long, short)| {
        match text.to_lowercase().contains(long) {
            true => format!("{text} {short}"),
            false => text,
        }
    });
    let is_part = |c: char| (c.is_alphanumeric() && !is_unspaced(c)) || "._/-'’".contains(c);
    for term in joined.split(|c: char| !is_part(c)) {
        let term = term.trim_matches(|c: char| !c.is_alphanumeric());
        // The number of one ticket says nothing about another.
        if term.is_empty() || is_numbered(term) {
            continue;
        }
        let latin = if term.chars().next().is_some_and(is_latin) { left_latin } else { 1.0 };
        let is_name = is_name(term);
        if is_name {
            add(term.to_lowercase(), NAME * latin);
        }
        for part in parts(term) {
            let is_short = (2..=5).contains(&part.len()) && !shouts;
            let is_capitals = is_short && part.chars().all(|c| c.is_ascii_uppercase());
            let weight = match (is_capitals, is_name && !term.contains(['-', '\''])) {
                (true, _) => ABBREVIATION,
                (false, true) => NAME,
                (false, false) => 1.0,
            };
            let folded = fold(part);
            add(key(&folded, is_capitals), weight * latin);
            for english in glosses(&folded) {
                add(english.to_owned(), 1.0);
            }
        }
        // What a hyphen joins is one word as well: "hard-coded" is "hardcoded".
        if term.contains('-') && !term.contains(['/', '_', '.']) {
            add(key(&fold(&term.replace('-', "")), false), 1.0);
        }
    }
    for english in unspaced_glosses(text) {
        add(english.to_owned(), 1.0);
    }
    words
}

/// The plain words in a term: what signs join and what capitals do.
fn parts(term: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for piece in term.split(|c: char| !c.is_alphanumeric()).filter(|piece| !piece.is_empty()) {
        let mut start = 0;
        let mut before = ' ';
        for (at, c) in piece.char_indices() {
            if c.is_uppercase() && before.is_lowercase() {
                parts.push(&piece[start..at]);
                start = at;
            }
            before = c;
        }
        parts.push(&piece[start..]);
    }
    parts
}

/// Whether a term is a name of code, and no plain word.
fn is_name(term: &str) -> bool {
    let has_hump = term
        .chars()
        .zip(term.chars().skip(1))
        .any(|(one, next)| one.is_lowercase() && next.is_uppercase());
    let has_both = term.chars().any(char::is_numeric) && term.chars().any(char::is_alphabetic);
    has_hump || has_both || term.contains(['_', '/', '.'])
}

/// Whether a term numbers one of many: `KIT-123`, `r-0091`, `2026-01-02`.
fn is_numbered(term: &str) -> bool {
    let number = term.rsplit('-').next().unwrap_or_default();
    number.len() < term.len() && number.chars().all(|c| c.is_ascii_digit())
}

/// What a word is compared by: its beginning, without an ending.
fn key(folded: &str, is_abbreviation: bool) -> String {
    let least = if is_abbreviation { 2 } else { 3 };
    if folded.chars().count() < least {
        return ALIASES
            .iter()
            .find(|(_, short)| *short == folded)
            .map(|(_, short)| (*short).to_owned())
            .unwrap_or_default();
    }
    if !folded.is_ascii() {
        return folded.chars().take(6).collect();
    }
    let stem = match folded {
        word if word.len() > 4 && word.ends_with("ies") => {
            return cut(&format!("{}y", &word[..word.len() - 3]));
        }
        word if word.len() > 5 && word.ends_with("ing") => without_double(&word[..word.len() - 3]),
        word if word.len() > 4 && word.ends_with("ed") => without_double(&word[..word.len() - 2]),
        word if word.len() > 4 && word.ends_with("es") => &word[..word.len() - 2],
        word if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") => {
            &word[..word.len() - 1]
        }
        word => word,
    };
    cut(stem.strip_suffix('e').filter(|stem| stem.len() >= 3).unwrap_or(stem))
}

fn cut(word: &str) -> String {
    word.chars().take(6).collect()
}

/// "runn" is "run".
fn without_double(stem: &str) -> &str {
    let bytes = stem.as_bytes();
    match bytes {
        [.., one, other] if one == other && !matches!(one, b's' | b'l') => &stem[..stem.len() - 1],
        _ => stem,
    }
}

fn common(word: &str) -> bool {
    COMMON.contains(&word)
}

/// What is written out in one place and cut short in another.
const ALIASES: &[(&str, &str)] = &[
    ("pull request", "pr"),
    ("merge request", "mr"),
    ("database", "db"),
    ("user interface", "ui"),
    ("continuous integration", "ci"),
    ("プルリク", "pr"),
    ("拉取请求", "pr"),
    ("базу данных", "db"),
];

/// Words that stand in most lines whatever they are about: half of a word each.
const COMMON: &[&str] = &[
    "run", "use", "make", "change", "chang", "add", "file", "fil", "code", "cod", "test", "line",
    "new", "work", "time", "tim", "name", "nam", "set", "get", "see", "read", "writ", "check",
    "text", "part", "case", "cas", "data", "open", "let", "first", "user", "need", "keep", "task",
    "put", "take", "tak", "go", "only", "direct", "number", "messag", "error", "end", "go", "one",
    "way", "small", "local",
];

/// Words that say nothing about what a text is about, as [`key`] has them.
const STOPPED: &[&str] = &[
    "the", "and", "for", "are", "but", "not", "you", "your", "all", "any", "can", "had", "has",
    "hav", "her", "was", "our", "out", "who", "its", "his", "how", "may", "now", "use", "that",
    "this", "thes", "thos", "then", "than", "them", "they", "ther", "their", "with", "without",
    "withou", "when", "wher", "what", "which", "while", "whil", "will", "would", "should", "could",
    "must", "from", "into", "onto", "over", "under", "before", "befor", "after", "again", "also",
    "alway", "never", "ever", "every", "each", "pleas", "thank", "instea", "rather", "just",
    "like", "more", "most", "some", "such", "very", "via", "per", "yet", "why", "did", "doe",
    "don", "does", "done", "don't", "didn", "isn", "been", "bee", "being", "still", "here", "her",
    "som", "about", "abov", "below", "same", "sam", "other", "becaus", "through", "throug",
    "until", "unless", "der", "die", "das", "und", "ist", "ein", "ein", "mit", "von", "vor", "auf",
    "fur", "nicht", "les", "des", "une", "un", "pour", "dans", "que", "qui", "est", "pas", "los",
    "las", "una", "con", "por", "para", "del", "como", "это", "что", "для", "как", "или", "если",
    "его", "она", "they", "let", "way", "thing", "goe", "com", "stay", "say", "said",
];

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "\
- Money is integer cents; no floats in `billing/`
- Ask before adding a dependency to `go.mod`
- Times in the database are UTC
- A pull request has a ticket number such as AB-12
- Run `make seed` before the browser tests
- Run `make lint` before the unit tests
- No hard-coded strings in components
";

    #[track_caller]
    fn check(text: &str, expected: Option<usize>) {
        let words = RareWords::new(&LineMap::read(LINES));
        assert_eq!(words.line_of(text, |_| false).map(|line| line + 1), expected, "{text}");
    }

    #[test]
    fn the_line_is_the_one_whose_rare_words_are_said() {
        check("The refund adds up floats instead of cents.", Some(1));
        check("A new dependency, and you did not ask", Some(2));
        check("That PR has no ticket", Some(4));
        check("hardcoded again, and in a component", Some(7));
    }

    #[test]
    fn another_language_and_another_script_say_it_too() {
        check("Время в базе должно быть в UTC", Some(3));
        check("数据库里的时间要用 UTC", Some(3));
        check("コンポーネントに直書きされています", Some(7));
        check("Neue Abhängigkeit, und keiner wurde gefragt", Some(2));
    }

    #[test]
    fn what_is_said_of_many_lines_or_of_none_is_about_none() {
        check("Run the tests before lunch", None);
        check("The unit tests and the browser tests are slow", None);
        check("AB-77 is done", None);
        check("you forgot the header", None);
        check("", None);
        check(&"floats cents ".repeat(MOST_WORDS), None);
    }

    #[test]
    fn of_a_line_that_was_worked_with_less_is_asked() {
        let words = RareWords::new(&LineMap::read(LINES));
        for (used, expected) in [(0, Some(0)), (1, None)] {
            assert_eq!(words.line_of("no floats", |line| line == used), expected);
        }
    }

    #[test]
    fn endings_and_marks_over_letters_make_no_other_word() {
        for (one, other) in [
            ("retries", "retry"),
            ("deleting", "delete"),
            ("running", "run"),
            ("messages", "message"),
            ("prüft", "pruft"),
            ("dependencies", "dependency"),
        ] {
            assert_eq!(key(&fold(one), false), key(&fold(other), false), "{one}");
        }
        assert_ne!(key("pass", false), key("pas", false));
    }
}
