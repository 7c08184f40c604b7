//! A task, read for what it says about where the work is.
//!
//! The first line counts most. Commit-like prefixes (`fix(css): …`, `printer: …`) name a kind
//! of change or a place. Names in code's spelling are kept apart from plain words, because a
//! definition that is called so is worth more than a file that happens to use the words.

use spore_lexical::{for_each_word, plain_name, terms};

// The weights of the ranking were fitted on questions that were read with these figures.

/// Later words of a long text say little about where the work is.
const MAX_BODY_TERMS: usize = 150;
/// More text than this is a log or a file; what it is about stands at its beginning.
const MAX_BYTES: usize = 16 << 10;

/// What a task says, in the words of the index.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct TaskQuestion {
    /// Each once, with what it counts in each part.
    pub(crate) terms: Vec<TaskTerm>,
    /// What is spelled as code spells names, as plain names; each with what it counts.
    pub(crate) names: Vec<(String, f64)>,
    /// Places that a prefix names: `css` of `fix(css): …`.
    pub(crate) scopes: Vec<String>,
    pub(crate) mood: Mood,
    /// The whole text in lower case, for file names in it.
    pub(crate) lower: String,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TaskTerm {
    pub(crate) term: String,
    pub(crate) in_subject: f64,
    pub(crate) in_body: f64,
}

impl TaskTerm {
    /// Returns what the term counts in all.
    pub(crate) fn weight(&self) -> f64 {
        3.0 * self.in_subject + self.in_body
    }
}

/// What a conventional prefix says the change is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ChangeKind {
    Fix,
    Feature,
    Documentation,
    Test,
    Chore,
    Refactoring,
    Speed,
}

const KINDS: [(&str, ChangeKind); 19] = [
    ("bug", ChangeKind::Fix),
    ("bugfix", ChangeKind::Fix),
    ("build", ChangeKind::Chore),
    ("chore", ChangeKind::Chore),
    ("ci", ChangeKind::Chore),
    ("cleanup", ChangeKind::Refactoring),
    ("deps", ChangeKind::Chore),
    ("doc", ChangeKind::Documentation),
    ("docs", ChangeKind::Documentation),
    ("feat", ChangeKind::Feature),
    ("feature", ChangeKind::Feature),
    ("fix", ChangeKind::Fix),
    ("lint", ChangeKind::Chore),
    ("perf", ChangeKind::Speed),
    ("refactor", ChangeKind::Refactoring),
    ("style", ChangeKind::Refactoring),
    ("test", ChangeKind::Test),
    ("tests", ChangeKind::Test),
    ("types", ChangeKind::Refactoring),
];

/// What kinds of files the task talks about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Mood {
    pub(crate) tests: bool,
    pub(crate) tooling: bool,
    pub(crate) repair: bool,
}

impl TaskQuestion {
    pub(crate) fn new(task: &str) -> Self {
        let task = &task[..task.floor_char_boundary(MAX_BYTES)];
        let text = without_noise(task);
        let (first, body) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
        let prefix = SubjectPrefix::of(first);
        // A kind of change is no word of the code; the place in brackets is.
        let subject = match prefix.kind {
            Some(_) => format!("{} {}", prefix.bracketed, prefix.rest),
            None => first.to_owned(),
        };
        let lower = task.to_lowercase();
        let mood = Mood::of(&lower, prefix.kind);
        Self {
            terms: weighed(&subject, body),
            names: names(&subject, body),
            scopes: prefix.scopes,
            mood,
            lower,
        }
    }
}

/// Takes out what no code is called by: addresses, numbers of issues, trailers.
fn without_noise(task: &str) -> String {
    const TRAILERS: [&str; 7] = [
        "acked-by",
        "change-id",
        "co-authored-by",
        "pr-url",
        "reviewed-by",
        "signed-off-by",
        "tested-by",
    ];
    let is_trailer = |line: &str| {
        let line = line.trim_start().to_ascii_lowercase();
        TRAILERS.iter().any(|trailer| line.starts_with(trailer))
    };
    let mut text = String::with_capacity(task.len());
    for line in task.lines().filter(|line| !is_trailer(line)) {
        for word in line.split_inclusive(char::is_whitespace) {
            let bare = word.trim_start_matches(['(', '<', '[', '"', '\'']);
            let is_issue = bare
                .strip_prefix('#')
                .is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()));
            if !bare.starts_with("http://") && !bare.starts_with("https://") && !is_issue {
                text.push_str(word);
            }
        }
        text.push('\n');
    }
    text
}

/// The parts of a conventional first line.
#[derive(Debug, Default, PartialEq)]
struct SubjectPrefix<'a> {
    kind: Option<ChangeKind>,
    scopes: Vec<String>,
    bracketed: &'a str,
    rest: &'a str,
}

impl<'a> SubjectPrefix<'a> {
    /// Longer than this it is a sentence with a colon in it.
    const MAX_BYTES: usize = 40;
    const MAX_WORDS: usize = 3;

    /// Reads `kind(place)!: rest`, `place: rest` and `[place] rest: …`.
    fn of(line: &'a str) -> Self {
        let none = Self { rest: line, ..Self::default() };
        let Some((head, rest)) = line.split_once(": ") else { return none };
        let head = head.trim().trim_end_matches('!');
        let (front, head) = match head.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((front, head)) => (front, head.trim()),
            None => ("", head),
        };
        let (words, bracketed) = match head.split_once('(') {
            Some((words, bracketed)) => (words.trim(), bracketed.trim_end_matches(')')),
            None => (head, ""),
        };
        let is_plain = |letter: char| letter.is_alphanumeric() || "_./,*+ -&".contains(letter);
        if words.len() > Self::MAX_BYTES
            || bracketed.len() > Self::MAX_BYTES
            || words.split_whitespace().count() > Self::MAX_WORDS
            || !words.chars().all(is_plain)
        {
            return none;
        }
        let mut prefix = Self { bracketed, rest, ..Self::default() };
        for (text, may_be_kind) in [(front, false), (words, true), (bracketed, false)] {
            for word in text.split([',', '&', '+', ' ']).filter(|word| !word.is_empty()) {
                let word = word.to_lowercase();
                match kind_of(&word) {
                    Some(kind) if may_be_kind => prefix.kind = Some(kind),
                    _ => prefix.scopes.push(word),
                }
            }
        }
        prefix
    }
}

fn kind_of(word: &str) -> Option<ChangeKind> {
    let place = KINDS.binary_search_by_key(&word, |(known, _)| known).ok()?;
    Some(KINDS[place].1)
}

/// Returns the places that a commit's first line names.
pub(crate) fn scopes_of(subject: &str) -> Vec<String> {
    SubjectPrefix::of(subject).scopes
}

fn weighed(subject: &str, body: &str) -> Vec<TaskTerm> {
    let mut found: Vec<(TaskTerm, [u32; 2])> = Vec::new();
    let of_subject = terms(subject).into_iter().map(|term| (term, 0));
    let of_body = terms(body).into_iter().take(MAX_BODY_TERMS).map(|term| (term, 1));
    for (term, part) in of_subject.chain(of_body) {
        let known = found.iter().position(|(known, _)| known.term == term);
        let place = known.unwrap_or_else(|| {
            found.push((TaskTerm { term, in_subject: 0.0, in_body: 0.0 }, [0, 0]));
            found.len() - 1
        });
        found[place].1[part] += 1;
    }
    // The tenth time says little more than the second.
    let damped = |count: u32| if count == 0 { 0.0 } else { 1.0 + f64::from(count).ln() };
    found
        .into_iter()
        .map(|(term, [subject, body])| TaskTerm {
            in_subject: damped(subject),
            in_body: damped(body),
            ..term
        })
        .collect()
}

/// A text with more names in it is code.
const MAX_NAMES: usize = 100;
/// What a name counts in the subject, and in the rest.
const SUBJECT: f64 = 2.0;
const BODY: f64 = 1.0;

fn names(subject: &str, body: &str) -> Vec<(String, f64)> {
    let mut names: Vec<(String, f64)> = Vec::new();
    for (text, weight) in [(subject, SUBJECT), (body, BODY)] {
        for_each_word(text, |word| {
            let plain = plain_name(word);
            let is_compound = terms(word).iter().any(|term| term.starts_with('#'));
            if let Some((_, known)) = names.iter_mut().find(|(known, _)| *known == plain) {
                // Said in the subject and in the body: both count, once each.
                *known = known.max(weight).max(if weight < *known { SUBJECT + BODY } else { 0.0 });
            } else if is_compound && names.len() < MAX_NAMES {
                names.push((plain, weight));
            }
        });
    }
    names
}

impl Mood {
    fn of(lower: &str, kind: Option<ChangeKind>) -> Self {
        let words: Vec<&str> = lower.split(|letter: char| !letter.is_ascii_lowercase()).collect();
        let says = |any: &[&str]| words.iter().any(|word| any.contains(word));
        Self {
            tests: kind == Some(ChangeKind::Test)
                || says(&[
                    "flaky",
                    "pytest",
                    "regression",
                    "spec",
                    "test",
                    "tested",
                    "testing",
                    "tests",
                    "unittest",
                ]),
            tooling: says(&[
                "bench",
                "benchmark",
                "benchmarks",
                "build",
                "ci",
                "script",
                "scripts",
            ]),
            repair: kind == Some(ChangeKind::Fix)
                || words.iter().any(|word| {
                    word.starts_with("fix") || word.starts_with("bug") || *word == "regression"
                }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn prefix(line: &str, kind: Option<ChangeKind>, scopes: &[&str]) {
        let prefix = SubjectPrefix::of(line);
        assert_eq!(prefix.kind, kind, "{line}");
        assert_eq!(prefix.scopes, scopes, "{line}");
    }

    #[test]
    fn a_prefix_names_a_kind_and_places() {
        prefix("fix(css): handle @import", Some(ChangeKind::Fix), &["css"]);
        prefix("feat(ssr, worker)!: x", Some(ChangeKind::Feature), &["ssr", "worker"]);
        prefix("printer: print paths", None, &["printer"]);
        prefix("[core] docs: x", Some(ChangeKind::Documentation), &["core"]);
        prefix("add a flag that is long: and more", None, &[]);
        prefix("no prefix at all", None, &[]);
        prefix("std::fmt: x", None, &[]);
    }

    #[test]
    fn names_are_told_from_words() {
        let question = TaskQuestion::new(
            "fix: `print_path` prints the search path twice\n\nSee https://x.y/z and #12.\n\
             The line buffer of SearchPath is flushed.\nSigned-off-by: A B",
        );
        let names: Vec<String> =
            question.names.iter().map(|(name, weight)| format!("{name} {weight}")).collect();
        assert_eq!(names, ["printpath 2", "searchpath 1"]);
        assert!(question.mood.repair && !question.mood.tests);
        let said: Vec<&str> = question.terms.iter().map(|term| term.term.as_str()).collect();
        assert!(!said.contains(&"sign") && !said.contains(&"12"), "{said:?}");
        let path = question.terms.iter().find(|term| term.term == "path").unwrap();
        assert!(path.in_subject > 1.0 && path.in_body == 1.0);
    }

    #[test]
    fn what_is_said_in_the_subject_counts_most_and_the_tenth_time_little() {
        #[track_caller]
        fn check(task: &str, term: &str, subject: f64, body: f64) {
            let question = TaskQuestion::new(task);
            let term = &terms(term)[0];
            let found = question.terms.iter().find(|known| known.term == *term);
            let weights = found.map_or((0.0, 0.0), |term| (term.in_subject, term.in_body));
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
            assert!(near(weights.0, subject) && near(weights.1, body), "{task}: {weights:?}");
        }
        let twice = 1.0 + 2_f64.ln();
        check("cache", "cache", 1.0, 0.0);
        check("cache cache", "cache", twice, 0.0);
        check("x\n\ncache", "cache", 0.0, 1.0);
        check("cache\n\ncache cache", "cache", 1.0, twice);
        // A kind of change is no word of the code; a place is.
        check("perf(cache): slow", "perf", 0.0, 0.0);
        check("perf(cache): slow", "cache", 1.0, 0.0);
        check("cache: slow", "cache", 1.0, 0.0);
        let term = TaskTerm { term: "x".into(), in_subject: 1.0, in_body: 1.0 };
        assert!((term.weight() - 4.0).abs() < 1e-9);
    }

    #[test]
    fn a_name_counts_by_where_it_is_said() {
        #[track_caller]
        fn check(task: &str, expected: &[(&str, f64)]) {
            let names = TaskQuestion::new(task).names;
            let names: Vec<(&str, f64)> = names.iter().map(|(n, w)| (n.as_str(), *w)).collect();
            assert_eq!(names, expected, "{task}");
        }
        check("read_file fails", &[("readfile", 2.0)]);
        check("it fails\n\nin read_file", &[("readfile", 1.0)]);
        check("read_file fails\n\nreadFile again", &[("readfile", 3.0)]);
        check("read the file", &[]);
    }

    #[test]
    fn a_mood_follows_from_prefix_and_words() {
        #[track_caller]
        fn check(task: &str, tests: bool, tooling: bool, repair: bool) {
            assert_eq!(TaskQuestion::new(task).mood, Mood { tests, tooling, repair }, "{task}");
        }
        check("add a flag", false, false, false);
        check("test: cover the parser", true, false, false);
        check("the parser is untestable", false, false, false);
        check("fix: the parser", false, false, true);
        check("a bug in the parser", false, false, true);
        check("a regression in the build script", true, true, true);
    }

    #[test]
    fn addresses_numbers_of_issues_and_trailers_are_no_words() {
        let text = without_noise("see (https://a.b/c) and #12, not #a\nReviewed-by: A\nend");
        assert_eq!(text, "see and not #a\nend\n");
    }

    #[test]
    fn a_question_can_be_anything() {
        for text in
            ["", "   \n\n", "`", "```", "#1", "🦀", "fix: ", ": x", "[", "[a] ", "(", "配置を読む"]
        {
            TaskQuestion::new(text);
        }
        assert!(TaskQuestion::new("").terms.is_empty());
        let long = "word ".repeat(200_000);
        assert_eq!(TaskQuestion::new(&format!("x\n{long}")).terms.len(), 1);
    }

    #[test]
    fn kinds_are_sorted() {
        assert!(KINDS.is_sorted_by_key(|(word, _)| *word));
    }
}
