//! The line map: which sentences of the broadcast file can be tested, and who they are.
//!
//! A line is one list item or one plain line of Markdown; what is set in below it belongs to
//! it, so that an edit never removes half a sentence. Headings, fenced code, comments, front
//! matter and imports (`@priority.md`) are furniture: they are shown to agents, but no event
//! can prove them right or wrong.
//!
//! The one decision: a line is known by the hash of its words. Its number is where it stands
//! today and is only ever shown. A line that moves, or gets another bullet, keeps its
//! evidence; one that says something else is another line.
//!
//! Lessons of runs are tested like lines: [`LineMap::with_lessons`] puts them behind the file's
//! own, known by the hash of their words as well.

pub mod foreign;

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use spore_model::{Lesson, NodeId};
use spore_plain::line_within;

use crate::cues::Cues;

/// What reports call the broadcast file.
pub const BROADCAST: &str = "memory/CLAUDE.md";

/// What reports call the file that the broadcast file imports first. People alone write it.
pub const PRIORITY: &str = "memory/priority.md";

/// Who a line is: twelve hexadecimal digits of the SHA-256 of its words.
#[derive(
    Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct LineHash(String);

/// Text that is no hash of a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the hash of a line")]
pub struct BadHash(String);

impl LineHash {
    const DIGITS: usize = 12;

    /// Hashes what a line says, whatever its bullet and its white space.
    pub fn of(text: &str) -> Self {
        let words = words_of(text);
        let digest = Sha256::digest(words.as_bytes());
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self(hex[..Self::DIGITS].to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for LineHash {
    type Err = BadHash;

    fn from_str(text: &str) -> Result<Self, BadHash> {
        let is_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == Self::DIGITS && text.bytes().all(is_hex) {
            return Ok(Self(text.to_owned()));
        }
        Err(BadHash(text.chars().take(80).collect()))
    }
}

impl TryFrom<String> for LineHash {
    type Error = BadHash;

    fn try_from(text: String) -> Result<Self, BadHash> {
        text.parse()
    }
}

impl From<LineHash> for String {
    fn from(hash: LineHash) -> String {
        hash.0
    }
}

/// Where a sentence stands that sessions are told.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LinePlace {
    /// In the broadcast file, at this number, counted from one.
    File(u32),
    /// In the file that comes before it, at this number.
    Priority(u32),
    /// Among the lessons of runs.
    Lesson(NodeId),
}

/// Text that names no place of a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither a line of {BROADCAST} or {PRIORITY} nor a lesson")]
pub struct BadPlace(String);

/// What a lesson's place begins with.
const LESSON: &str = "lesson:";

impl LinePlace {
    /// Returns the lesson that stands there.
    pub fn lesson(&self) -> Option<&NodeId> {
        match self {
            Self::File(_) | Self::Priority(_) => None,
            Self::Lesson(id) => Some(id),
        }
    }
}

impl fmt::Display for LinePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(number) => write!(f, "{BROADCAST}:L{number}"),
            Self::Priority(number) => write!(f, "{PRIORITY}:L{number}"),
            Self::Lesson(id) => write!(f, "{LESSON}{id}"),
        }
    }
}

impl FromStr for LinePlace {
    type Err = BadPlace;

    fn from_str(text: &str) -> Result<Self, BadPlace> {
        let found = match (text.strip_prefix(LESSON), text.strip_prefix(PRIORITY)) {
            (Some(id), _) => id.parse().ok().map(Self::Lesson),
            (None, Some(rest)) => {
                rest.strip_prefix(":L").and_then(|digits| digits.parse().ok()).map(Self::Priority)
            }
            (None, None) => number_in(text).map(Self::File),
        };
        found.ok_or_else(|| BadPlace(text.chars().take(80).collect()))
    }
}

impl TryFrom<String> for LinePlace {
    type Error = BadPlace;

    fn try_from(text: String) -> Result<Self, BadPlace> {
        text.parse()
    }
}

impl From<LinePlace> for String {
    fn from(place: LinePlace) -> String {
        place.to_string()
    }
}

/// One sentence that sessions are told: a line of the broadcast file, or a lesson.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToldLine {
    pub place: LinePlace,
    /// The last line of the file that belongs to it; of a lesson none does.
    pub last: u32,
    /// What it says, in one line and without its bullet.
    pub text: String,
    pub hash: LineHash,
    pub cues: Cues,
}

impl ToldLine {
    /// Makes a line of what a lesson says: when it applies, and what to do then.
    pub fn of_lesson(lesson: &Lesson) -> Self {
        let said = format!("{}: {} → {}", lesson.title, lesson.pattern, lesson.fix);
        let text = words_of(&line_within(&said, LESSON_TEXT));
        let cues = Cues::of_lesson(&lesson.pattern, &lesson.fix, &lesson.scope);
        let place = LinePlace::Lesson(lesson.id.clone());
        Self { place, last: 0, hash: LineHash::of(&text), text, cues }
    }

    /// Returns how reports name it: `memory/CLAUDE.md:L3`, or `lesson:` and its id.
    pub fn reference(&self) -> String {
        self.place.to_string()
    }

    pub fn is_lesson(&self) -> bool {
        self.place.lesson().is_some()
    }
}

/// How much of a lesson is its line.
const LESSON_TEXT: usize = 800;

/// All lines of one broadcast file in order, and the lessons that were put behind them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LineMap {
    lines: Vec<ToldLine>,
}

impl LineMap {
    /// Reads a broadcast file. Any text has a map.
    pub fn read(text: &str) -> Self {
        let mut lines: Vec<ToldLine> = Vec::new();
        for piece in pieces(text) {
            if let FilePiece::Line { number, last, text } = piece {
                let hash = LineHash::of(&text);
                let cues = Cues::of(&text);
                let place = LinePlace::File(number);
                lines.push(ToldLine { place, last, text, hash, cues });
            }
        }
        Self { lines }
    }

    /// Puts the lines of the file in front that the broadcast file imports: they are told first.
    #[must_use]
    pub fn with_priority(mut self, text: &str) -> Self {
        let mut first = Self::read(text).lines;
        for line in &mut first {
            if let LinePlace::File(number) = line.place {
                line.place = LinePlace::Priority(number);
            }
        }
        first.append(&mut self.lines);
        Self { lines: first }
    }

    /// Puts lessons behind the lines. One that says what a line or an earlier lesson says has its
    /// evidence there.
    #[must_use]
    pub fn with_lessons<'l>(mut self, lessons: impl IntoIterator<Item = &'l Lesson>) -> Self {
        for lesson in lessons {
            let line = ToldLine::of_lesson(lesson);
            if self.by_hash(&line.hash).is_none() {
                self.lines.push(line);
            }
        }
        self
    }

    pub fn lines(&self) -> &[ToldLine] {
        &self.lines
    }

    /// Returns the first line with this hash; a file may say the same thing twice.
    pub fn by_hash(&self, hash: &LineHash) -> Option<&ToldLine> {
        self.lines.iter().find(|line| line.hash == *hash)
    }

    /// Returns the line that stands at `number`, or goes on there.
    pub fn at(&self, number: u32) -> Option<&ToldLine> {
        let is_there = |line: &&ToldLine| match line.place {
            LinePlace::File(first) => (first..=line.last).contains(&number),
            LinePlace::Priority(_) | LinePlace::Lesson(_) => false,
        };
        self.lines.iter().find(is_there)
    }

    /// Returns the lines that `typed` may mean: `L3`, `3`, `memory/CLAUDE.md:L3`, the
    /// beginning of a hash, a lesson's id or the beginning or end of one, or the words
    /// themselves. Several are a question to the person.
    pub fn find(&self, typed: &str) -> Vec<&ToldLine> {
        if let Some(number) = number_in(typed) {
            return self.at(number).into_iter().collect();
        }
        let whole = match typed.starts_with("priority.md:") {
            true => format!("memory/{typed}"),
            false => typed.to_owned(),
        };
        if let Ok(place @ LinePlace::Priority(_)) = whole.parse() {
            return self.lines.iter().filter(|line| line.place == place).collect();
        }
        let by_hash = |line: &&ToldLine| typed.len() >= 4 && line.hash.as_str().starts_with(typed);
        let mut found: Vec<&ToldLine> = self.lines.iter().filter(by_hash).collect();
        if found.is_empty() {
            found = self.lines.iter().filter(|line| is_lesson_named(line, typed)).collect();
        }
        if found.is_empty() {
            let hash = LineHash::of(typed);
            found = self.lines.iter().filter(|line| line.hash == hash).collect();
        }
        found.dedup_by(|a, b| a.hash == b.hash);
        found
    }
}

/// Whether a line is the lesson that `typed` begins or ends the id of.
fn is_lesson_named(line: &ToldLine, typed: &str) -> bool {
    let typed = typed.strip_prefix(LESSON).unwrap_or(typed).to_ascii_uppercase();
    let is_meant = |id: &NodeId| {
        let id = id.as_str().to_ascii_uppercase();
        id.starts_with(&typed) || id.ends_with(&typed)
    };
    typed.len() >= 4 && line.place.lesson().is_some_and(is_meant)
}

/// Reads `L3`, `3`, `CLAUDE.md:L3` or `memory/CLAUDE.md:L3`.
pub(crate) fn number_in(typed: &str) -> Option<u32> {
    let rest = typed.strip_prefix(BROADCAST).or_else(|| typed.strip_prefix("CLAUDE.md"));
    let rest = rest.map_or(typed, |rest| rest.trim_start_matches(':'));
    let digits = rest.strip_prefix('L').unwrap_or(rest);
    // Twelve digits are a hash.
    (digits.len() < LineHash::DIGITS).then(|| digits.parse().ok()).flatten()
}

/// A part of the file: a line that can be tested, or furniture, word for word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FilePiece {
    Line { number: u32, last: u32, text: String },
    Furniture(String),
}

/// Splits a file into lines and furniture, in order and without losing anything.
pub(crate) fn pieces(text: &str) -> Vec<FilePiece> {
    let mut pieces: Vec<FilePiece> = Vec::new();
    let mut inside = LineContext::Text;
    for (index, raw) in text.lines().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let (next, furniture) = inside.read(raw, index == 0);
        inside = next;
        if furniture {
            pieces.push(FilePiece::Furniture(raw.to_owned()));
            continue;
        }
        match pieces.last_mut() {
            Some(FilePiece::Line { last, text, .. }) if *last + 1 == number && continues(raw) => {
                *last = number;
                text.push(' ');
                text.push_str(&words_of(raw));
            }
            _ => pieces.push(FilePiece::Line { number, last: number, text: words_of(raw) }),
        }
    }
    pieces
}

/// What surrounds a line of the file.
#[derive(Clone, PartialEq, Eq)]
enum LineContext {
    Text,
    FrontMatter,
    Comment,
    /// With the characters that close it.
    Fence(String),
}

impl LineContext {
    /// Returns what surrounds the next line, and whether this one is furniture.
    fn read(&self, raw: &str, first: bool) -> (Self, bool) {
        let line = raw.trim();
        match self {
            Self::FrontMatter if line == "---" => (Self::Text, true),
            Self::Fence(mark) if line.starts_with(mark.as_str()) => (Self::Text, true),
            Self::Comment if line.contains("-->") => (Self::Text, true),
            Self::FrontMatter | Self::Fence(_) | Self::Comment => (self.clone(), true),
            Self::Text if first && line == "---" => (Self::FrontMatter, true),
            Self::Text if line.starts_with("<!--") => {
                let next = if line.contains("-->") { Self::Text } else { Self::Comment };
                (next, true)
            }
            Self::Text => match fence(line) {
                Some(mark) => (Self::Fence(mark), true),
                None => (Self::Text, is_furniture(line)),
            },
        }
    }
}

fn fence(line: &str) -> Option<String> {
    let mark =
        ['`', '~'].into_iter().find(|mark| line.chars().take_while(|c| c == mark).count() >= 3)?;
    Some(line.chars().take_while(|c| *c == mark).collect())
}

fn is_furniture(line: &str) -> bool {
    let is_import = line.starts_with('@') && !line.contains(char::is_whitespace);
    let is_rule = line.len() >= 3
        && ["-", "*", "_", "="].iter().any(|mark| line.replace(mark, "").trim().is_empty());
    let hashes = line.bytes().take_while(|b| *b == b'#').count();
    let is_heading =
        (1..=6).contains(&hashes) && line[hashes..].chars().next().is_none_or(char::is_whitespace);
    words_of(line).is_empty() || is_heading || is_import || is_rule
}

/// Whether a line goes on with the one above: it is set in and has no bullet of its own.
fn continues(raw: &str) -> bool {
    let set_in = raw.starts_with("  ") || raw.starts_with('\t');
    set_in && without_bullet(raw.trim()) == raw.trim()
}

/// What a line says: no bullet, and single spaces.
fn words_of(text: &str) -> String {
    without_bullet(text.trim()).split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn without_bullet(line: &str) -> &str {
    for mark in ["-", "*", "+"] {
        if let Some(rest) = line.strip_prefix(mark)
            && (rest.is_empty() || rest.starts_with(char::is_whitespace))
        {
            return rest.trim_start();
        }
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &line[digits..];
    match rest.strip_prefix(['.', ')']) {
        Some(after) if (1..=3).contains(&digits) && after.starts_with(' ') => after.trim_start(),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_imported_comes_first_and_has_a_place_of_its_own() {
        let map = LineMap::read("@priority.md\n\n- Ask first\n").with_priority("# P\n- Stop\n");
        let places: Vec<String> = map.lines().iter().map(ToldLine::reference).collect();
        assert_eq!(places, ["memory/priority.md:L2", "memory/CLAUDE.md:L3"]);
        for (typed, found) in [
            ("L2", ""),
            ("L3", "Ask first"),
            (&places[0], "Stop"),
            ("priority.md:L2", "Stop"),
            ("priority.md:L3", ""),
        ] {
            let text: Vec<&str> = map.find(typed).iter().map(|line| line.text.as_str()).collect();
            assert_eq!(text.join(","), found, "{typed}");
        }
        for place in &places {
            assert_eq!(place.parse::<LinePlace>().unwrap().to_string(), *place);
        }
        assert!("memory/priority.md".parse::<LinePlace>().is_err());
    }

    fn number(line: &ToldLine) -> u32 {
        match line.place {
            LinePlace::File(number) | LinePlace::Priority(number) => number,
            LinePlace::Lesson(_) => 0,
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &[(u32, u32, &str)]) {
        let map = LineMap::read(text);
        let found: Vec<(u32, u32, &str)> =
            map.lines().iter().map(|line| (number(line), line.last, line.text.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn list_items_and_plain_lines_are_lines() {
        check(
            "- one\n* two\n+ three\n4. four\n5) five\nsix\n",
            &[
                (1, 1, "one"),
                (2, 2, "two"),
                (3, 3, "three"),
                (4, 4, "four"),
                (5, 5, "five"),
                (6, 6, "six"),
            ],
        );
    }

    #[test]
    fn what_is_set_in_belongs_to_the_line_above() {
        check(
            "- one\n  goes on\n\tand on\n  - a part of it\n",
            &[(1, 3, "one goes on and on"), (4, 4, "a part of it")],
        );
        check("- one\n\n  apart\n", &[(1, 1, "one"), (3, 3, "apart")]);
    }

    #[test]
    fn furniture_cannot_be_tested() {
        check("---\na: b\n---\n@priority.md\n\n# Title\n---\n***\n", &[]);
        check(
            "<!-- no -->\n<!--\n- no\n-->\n```sh\n- no\n```\n~~~~\n```\n~~~~\n-\n- yes\n",
            &[(12, 12, "yes")],
        );
        check(
            "#tag is no heading\n@ada wants tabs\n",
            &[(1, 1, "#tag is no heading"), (2, 2, "@ada wants tabs")],
        );
    }

    #[test]
    fn the_hash_is_that_of_the_words() {
        let hash = LineHash::of("- run  the tests");
        for same in ["run the tests", "  * run the tests  ", "7. run\tthe tests"] {
            assert_eq!(LineHash::of(same), hash, "{same}");
        }
        for other in ["run the test", "Run the tests", ""] {
            assert_ne!(LineHash::of(other), hash, "{other}");
        }
        assert_eq!(hash.as_str().parse(), Ok(hash.clone()));
        for bad in ["", "abc", "ABCDEF012345", "abcdef01234g", "abcdef0123456"] {
            assert!(bad.parse::<LineHash>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_line_is_found_by_number_hash_and_words() {
        let map = LineMap::read("# x\n- one\n  more\n- two\n");
        let hash = map.lines()[1].hash.clone();
        let numbers =
            |typed: &str| -> Vec<u32> { map.find(typed).iter().map(|line| number(line)).collect() };
        assert_eq!(numbers("L2"), [2]);
        assert_eq!(numbers("3"), [2]);
        assert_eq!(numbers("memory/CLAUDE.md:L4"), [4]);
        assert_eq!(numbers(&hash.as_str()[..5]), [4]);
        assert_eq!(numbers("- two"), [4]);
        assert_eq!(numbers("L1"), [] as [u32; 0]);
        assert_eq!(numbers("three"), [] as [u32; 0]);
    }

    fn lesson(number: u64, title: &str) -> Lesson {
        Lesson {
            id: NodeId::from_parts(
                1_767_225_600_000,
                0xabc_def0_1234_5678_9abc + u128::from(number),
            ),
            title: title.into(),
            pattern: "When a path becomes a key of `PathCache`,\nit is compared as text".into(),
            fix: "Call `normalise`, never `to_string`".into(),
            scope: vec!["src/cache".into()],
            evidence: String::new(),
            run: None,
            created: spore_model::Timestamp::from_millis(1_767_225_600_000),
            record: spore_model::LessonRecord::default(),
        }
    }

    #[test]
    fn lessons_stand_behind_the_lines_and_are_found_by_id_hash_and_words() {
        let (one, again) = (lesson(1, "Keys"), lesson(2, "Keys"));
        let map = LineMap::read("- one\n").with_lessons([&one, &again]);
        let [line, told] = map.lines() else { unreachable!("the same words are one lesson") };
        assert!(!line.is_lesson() && told.is_lesson());
        assert_eq!(told.hash, LineHash::of(&told.text));
        assert!(!told.text.contains('\n'), "{}", told.text);
        assert_eq!(told.reference(), format!("lesson:{}", one.id));
        assert_eq!(told.reference().parse(), Ok(told.place.clone()));
        assert_eq!(map.at(0), None, "a lesson has no number");
        for typed in [
            one.id.as_str(),
            &one.id.short().to_lowercase(),
            &told.reference(),
            &told.hash.as_str()[..6],
            &told.text,
        ] {
            assert_eq!(map.find(typed), [told], "{typed}");
        }
        assert!(map.find(&one.id.short()[5..]).is_empty(), "too short to mean one");
    }

    #[test]
    fn a_lesson_applies_by_its_pattern_and_asks_for_its_fix() {
        let cues = ToldLine::of_lesson(&lesson(1, "Keys")).cues;
        assert_eq!(cues.paths, ["src/cache"]);
        assert!(cues.triggers.contains(&"PathCache".to_owned()), "{:?}", cues.triggers);
        assert_eq!(
            (cues.wanted, cues.avoided),
            (vec!["normalise".into()], vec!["to_string".into()])
        );
    }

    proptest! {
        #[test]
        fn any_text_has_a_map_and_no_line_is_in_it_twice(text in "([-#`<> a-z0-9@.!\\[\\]]{0,12}\n){0,12}") {
            let count = u32::try_from(text.lines().count()).unwrap();
            let mut end = 0;
            for line in LineMap::read(&text).lines() {
                let first = number(line);
                prop_assert!(first > end && line.last >= first && line.last <= count);
                prop_assert_eq!(&LineHash::of(&line.text), &line.hash);
                end = line.last;
            }
        }

        #[test]
        fn a_line_that_moves_is_the_same_line(words in "[a-z]{1,9}( [a-z]{1,9}){0,5}", above in 0_usize..9) {
            let text = format!("{}- {words}\n", "- other line\n".repeat(above));
            let map = LineMap::read(&text);
            let hash = LineHash::of(&words);
            prop_assert!(map.by_hash(&hash).is_some());
        }
    }
}
