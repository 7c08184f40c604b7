//! Which lines an event touches, to the letter.
//!
//! All cues of all lines are looked for in one pass over the payload. A payload is searched as
//! the JSON it came as, with its escapes undone where it has any: no tree is built, and what
//! stands in a key counts as well, for events have paths there.
//!
//! ASCII letters match in either case. A cue must stand alone: `parse` is not in `parser`.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::lines::{LineMap, LinePlace};
use crate::reading::deeds::{TraceDeed, deeds_of};
use crate::reading::scripts::is_unspaced;

/// How an event touches a line, the strongest first.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// Names it by its hash.
    Line,
    /// Names it by a number, which may be that of another line by now.
    Number,
    /// Has a pointer that the line has.
    Pointer,
    /// Has a path that the line names, or that of a dossier it points to.
    Path,
    /// Has the name of a dossier that the line points to.
    Slug,
    /// Has one of the line's triggers.
    Cue,
    /// Has only what the line wants done, which is no trigger of it.
    Action,
    /// Names nothing of the line, but finds fault in the words that are the line's more than any
    /// other's.
    Words,
    /// Names nothing of the line, but corrects a session that worked with its path or dossier.
    Used,
    /// The task of the pass names the line, and a person said something about no line.
    Dispatch,
}

impl Relation {
    /// Those that letters show, the strongest first.
    const SHOWN: [Self; 7] =
        [Self::Line, Self::Number, Self::Pointer, Self::Path, Self::Slug, Self::Cue, Self::Action];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Number => "number",
            Self::Pointer => "pointer",
            Self::Path => "path",
            Self::Slug => "slug",
            Self::Cue => "cue",
            Self::Action => "action",
            Self::Words => "words",
            Self::Used => "used",
            Self::Dispatch => "dispatch",
        }
    }

    /// Whether it shows that the line applies.
    pub(crate) const fn is_trigger(self) -> bool {
        matches!(self, Self::Pointer | Self::Path | Self::Slug | Self::Cue)
    }

    /// Its place among those that letters show.
    const fn mark(self) -> u8 {
        match self {
            Self::Line => 1,
            Self::Number => 1 << 1,
            Self::Pointer => 1 << 2,
            Self::Path => 1 << 3,
            Self::Slug => 1 << 4,
            Self::Cue => 1 << 5,
            Self::Action => 1 << 6,
            Self::Words | Self::Used | Self::Dispatch => 0,
        }
    }
}

/// A line of the map that an event touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Related {
    /// The line's place in the map.
    pub line: usize,
    /// The strongest there is.
    pub relation: Relation,
    /// Whether the event names what the line wants done.
    pub names_action: bool,
}

/// What a session's own trace shows of a line.
pub(crate) mod trace {
    /// What the line wants done was done.
    pub(crate) const ACTED: u8 = 1;
    /// What it warns of was done.
    pub(crate) const AGAINST: u8 = 1 << 1;
    /// A dossier it points to was opened.
    pub(crate) const OPENED: u8 = 1 << 2;
    /// A path it names, or such a dossier, was worked with.
    pub(crate) const USED: u8 = 1 << 3;
    /// What it has to be done before was done.
    pub(crate) const NEXT: u8 = 1 << 4;
}

/// Shorter ones are in every text.
const SHORTEST_SLUG: usize = 3;

/// How many bytes of cues are looked for in the fastest way there is.
const SMALL: usize = 16 << 10;

/// Finds the lines that a payload touches.
pub struct Matcher(CueSearch);

impl Matcher {
    pub fn new(map: &LineMap) -> Self {
        let cues = cues_of(map).into_iter();
        Self(CueSearch::new(
            map,
            cues.map(|(line, (text, relation))| (line, text, relation.mark())),
        ))
    }

    /// Returns the lines that `payload` touches, in the order of the map, each with the
    /// strongest relation there is.
    pub fn related(&mut self, payload: &str, related: &mut Vec<Related>) {
        related.clear();
        self.0.marks(payload, |line, marks| {
            let strongest = Relation::SHOWN.into_iter().find(|one| marks & one.mark() != 0);
            let names_action = marks & Relation::Action.mark() != 0;
            related.extend(strongest.map(|relation| Related { line, relation, names_action }));
        });
    }
}

/// Finds what a session's trace shows of the lines. The letters of a term only say where to look:
/// what was done is read from the commands and the text themselves.
pub(crate) struct TraceMatcher {
    search: CueSearch,
    /// The terms of each line.
    terms: Vec<TraceTerms>,
    found: Vec<(usize, u8)>,
}

/// What a line wants done, what it warns of, and what it has to be done before.
struct TraceTerms {
    wanted: Vec<String>,
    avoided: Vec<String>,
    next: Vec<String>,
}

impl TraceMatcher {
    pub(crate) fn new(map: &LineMap) -> Self {
        let mut all: Vec<(usize, String, u8)> = Vec::new();
        for (at, line) in map.lines().iter().enumerate() {
            let terms = |list: &[String], mark| -> Vec<(usize, String, u8)> {
                list.iter().map(|term| (at, term.clone(), mark)).collect()
            };
            all.extend(terms(&line.cues.wanted, trace::ACTED));
            all.extend(terms(&line.cues.avoided, trace::AGAINST));
            all.extend(terms(&line.cues.next, trace::NEXT));
            all.extend(terms(&line.cues.paths, trace::USED));
            for pointer in &line.cues.pointers {
                // As the tool that opens dossiers may be asked for it.
                let word = format!("{}-{}", pointer.kind.as_str(), pointer.slug);
                let opened = [pointer.to_string(), pointer.dossier(), word];
                all.extend(terms(&opened, trace::OPENED | trace::USED));
            }
        }
        let terms = map.lines().iter().map(|line| TraceTerms {
            wanted: line.cues.wanted.clone(),
            avoided: line.cues.avoided.clone(),
            next: line.cues.next.clone(),
        });
        let terms = terms.collect();
        Self { search: CueSearch::new(map, all.into_iter()), terms, found: Vec::new() }
    }

    /// Tells what `payload` shows of the lines, in the order in which it was done.
    pub(crate) fn shown(&mut self, payload: &str, mut each: impl FnMut(usize, u8)) {
        const DONE: u8 = trace::ACTED | trace::AGAINST | trace::NEXT;
        let Self { search, terms, found } = self;
        found.clear();
        search.marks(payload, |line, marks| {
            if marks & !DONE != 0 {
                each(line, marks & !DONE);
            }
            if marks & DONE != 0 {
                found.push((line, marks & DONE));
            }
        });
        if found.is_empty() {
            return;
        }
        for deed in deeds_of(payload) {
            for (line, marks) in found.iter() {
                let shown = terms[*line].shown_by(&deed, *marks);
                if shown != 0 {
                    each(*line, shown);
                }
            }
        }
    }
}

impl TraceTerms {
    /// What a deed shows of the line; only `marks` may be in it.
    fn shown_by(&self, deed: &TraceDeed, marks: u8) -> u8 {
        let mark = |mark: u8, is_done: &dyn Fn() -> bool| match marks & mark != 0 && is_done() {
            true => mark,
            false => 0,
        };
        mark(trace::ACTED, &|| self.wanted.iter().any(|term| deed.does(term)))
            | mark(trace::AGAINST, &|| self.avoided.iter().any(|term| deed.may_do(term)))
            | mark(trace::NEXT, &|| self.next.iter().any(|word| deed.is_called(word)))
    }
}

/// Looks for the cues of all lines in one pass, and tells of each line which were there.
struct CueSearch {
    search: Option<AhoCorasick>,
    /// What each pattern stands for: lines, each with a mark.
    meaning: Vec<Vec<(usize, u8)>>,
    /// The marks found for each line, cleared after use.
    found: Vec<u8>,
    unescaped: Vec<u8>,
}

impl CueSearch {
    fn new(map: &LineMap, cues: impl Iterator<Item = (usize, String, u8)>) -> Self {
        let mut patterns: Vec<String> = Vec::new();
        let mut meaning: Vec<Vec<(usize, u8)>> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        for (line, pattern, mark) in cues {
            let at = *known.entry(pattern.to_ascii_lowercase()).or_insert(patterns.len());
            if at == patterns.len() {
                patterns.push(pattern);
                meaning.push(Vec::new());
            }
            meaning[at].push((line, mark));
        }
        // Twice as fast, as long as its tables stay small.
        let small = patterns.iter().map(String::len).sum::<usize>() <= SMALL;
        let search = AhoCorasick::builder()
            .kind(small.then_some(AhoCorasickKind::DFA))
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(&patterns)
            .ok()
            .filter(|_| !patterns.is_empty());
        Self { search, meaning, found: vec![0; map.lines().len()], unescaped: Vec::new() }
    }

    fn marks(&mut self, payload: &str, mut each: impl FnMut(usize, u8)) {
        let Some(search) = &self.search else { return };
        let text = if memchr::memchr(b'\\', payload.as_bytes()).is_some() {
            unescape(payload.as_bytes(), &mut self.unescaped);
            self.unescaped.as_slice()
        } else {
            payload.as_bytes()
        };
        let mut any = false;
        for hit in search.find_overlapping_iter(text) {
            if !stands_alone(text, hit.start(), hit.end()) {
                continue;
            }
            for &(line, mark) in &self.meaning[hit.pattern().as_usize()] {
                self.found[line] |= mark;
                any = true;
            }
        }
        if any {
            for (line, found) in self.found.iter_mut().enumerate().filter(|(_, found)| **found != 0)
            {
                each(line, std::mem::take(found));
            }
        }
    }
}

/// Every text that stands for a line, with the place of the line.
fn cues_of(map: &LineMap) -> Vec<(usize, (String, Relation))> {
    let mut all = Vec::new();
    for (at, line) in map.lines().iter().enumerate() {
        let mut add = |text: String, relation| all.push((at, (text, relation)));
        add(line.hash.to_string(), Relation::Line);
        match &line.place {
            LinePlace::File(_) | LinePlace::Priority(_) => add(line.reference(), Relation::Number),
            LinePlace::Lesson(id) => add(id.to_string(), Relation::Line),
        }
        for pointer in &line.cues.pointers {
            add(pointer.to_string(), Relation::Pointer);
            add(pointer.dossier(), Relation::Path);
            if pointer.slug.chars().count() >= SHORTEST_SLUG {
                add(pointer.slug.clone(), Relation::Slug);
            }
        }
        for path in &line.cues.paths {
            add(path.clone(), Relation::Path);
        }
        for trigger in &line.cues.triggers {
            add(trigger.clone(), Relation::Cue);
        }
        for action in line.cues.actions.iter().chain(&line.cues.wanted) {
            add(action.clone(), Relation::Action);
        }
    }
    all
}

/// Whether no word goes on over either end. A text that begins or ends with something else
/// than a letter has its end in itself; so has one whose neighbour is of a script that sets no
/// words apart.
fn stands_alone(text: &[u8], start: usize, end: usize) -> bool {
    let is_word =
        |c: Option<char>| c.is_some_and(|c| (c.is_alphanumeric() || c == '_') && !is_unspaced(c));
    let before = char_before(text, start);
    let begins = !is_word(char_at(text, start)) || !is_word(before);
    let ends = !is_word(char_before(text, end)) || !is_word(char_at(text, end));
    begins && ends
}

fn char_at(text: &[u8], at: usize) -> Option<char> {
    let first = *text.get(at)?;
    if first.is_ascii() {
        return Some(char::from(first));
    }
    let piece = &text[at..text.len().min(at + 4)];
    piece.utf8_chunks().next()?.valid().chars().next().or(Some(char::REPLACEMENT_CHARACTER))
}

fn char_before(text: &[u8], at: usize) -> Option<char> {
    let is_start = |byte: &u8| (byte & 0xc0) != 0x80;
    let start = text.get(..at)?.iter().rposition(is_start)?;
    char_at(text, start)
}

/// Undoes the escapes of well-formed JSON; everything else stays. Half a surrogate pair
/// becomes a replacement character.
fn unescape(json: &[u8], into: &mut Vec<u8>) {
    into.clear();
    let mut rest = json;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        into.extend_from_slice(&rest[..at]);
        let (taken, c) = escape(&rest[at + 1..]);
        let mut buffer = [0; 4];
        into.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
        rest = rest.get(at + 1 + taken..).unwrap_or_default();
    }
    into.extend_from_slice(rest);
}

/// Reads what follows a backslash: how many bytes it takes, and what it stands for.
fn escape(after: &[u8]) -> (usize, char) {
    match after.first() {
        Some(b'n') => (1, '\n'),
        Some(b't') => (1, '\t'),
        Some(b'r') => (1, '\r'),
        Some(b'b') => (1, '\u{8}'),
        Some(b'f') => (1, '\u{c}'),
        Some(b'u') => {
            let high = hex(&after[1..]);
            let pair = after.get(5..7) == Some(b"\\u");
            match (high, pair.then(|| hex(&after[7..]))) {
                (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
                    let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                    (11, char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
                }
                _ => (5, char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER)),
            }
        }
        Some(byte) => (1, char::from(*byte)),
        None => (0, '\\'),
    }
}

fn hex(bytes: &[u8]) -> u32 {
    let digits = bytes.get(..4).and_then(|digits| std::str::from_utf8(digits).ok());
    digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0xfffd)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const FILE: &str = "\
- Ask [[entity-ada-lovelace]] about numbers
- SQL stays in `crates/store/`
- When the build is red, stop
- Say `über` alles
";

    /// The numbers of the lines that `payload` touches, with how.
    #[track_caller]
    fn check(payload: &Value, expected: &str) {
        let map = LineMap::read(FILE);
        let mut matcher = Matcher::new(&map);
        let mut related = Vec::new();
        for _ in 0..2 {
            matcher.related(&payload.to_string(), &mut related);
            let told: Vec<String> = related
                .iter()
                .map(|r| {
                    let line = &map.lines()[r.line];
                    let number = line.reference().rsplit('L').next().map(str::to_owned);
                    format!("{} {}", number.unwrap_or_default(), r.relation.as_str())
                })
                .collect();
            assert_eq!(told.join(", "), expected, "{payload}");
        }
    }

    #[test]
    fn a_line_is_touched_by_pointer_path_slug_name_and_cue() {
        let hash = LineMap::read(FILE).lines()[2].hash.clone();
        check(&json!({"text": "see [[entity-ada-lovelace]]"}), "1 pointer");
        check(&json!({"path": "memory/entities/ada-lovelace.md"}), "1 path");
        check(&json!("Ada-Lovelace said so"), "1 slug");
        check(&json!({"files": {"crates/store/src/lib.rs": 2}}), "2 path");
        check(&json!("the Build is RED again"), "3 cue");
        check(&json!({"line": hash}), "3 line");
        check(&json!("as memory/CLAUDE.md:L3 says: the build is red"), "3 number");
        check(&json!(["the build is red", "crates/store/"]), "2 path, 3 cue");
    }

    #[test]
    fn a_cue_must_stand_alone() {
        check(&json!("ada-lovelaces, xada-lovelace"), "");
        check(&json!("the build is reddish"), "");
        check(&json!("memory/CLAUDE.md:L33"), "");
        check(&json!("überall"), "");
        check(&json!("sagt über!"), "4 cue");
        check(&json!("überを使う"), "4 cue");
    }

    #[test]
    fn escapes_hide_nothing() {
        let map = LineMap::read(FILE);
        let mut matcher = Matcher::new(&map);
        let mut related = Vec::new();
        for payload in [
            r#""the build\u0020is red""#,
            r#""crates\/store\/""#,
            r#""a\nthe build is red\tb""#,
            r#""\u00fcber""#,
        ] {
            matcher.related(payload, &mut related);
            assert_eq!(related.len(), 1, "{payload}");
        }
    }

    #[test]
    fn an_empty_map_touches_nothing() {
        let mut related = vec![Related { line: 0, relation: Relation::Cue, names_action: false }];
        Matcher::new(&LineMap::default()).related("\"anything\"", &mut related);
        assert_eq!(related, []);
    }

    proptest! {
        #[test]
        fn unescaping_gives_back_any_text(text in any::<String>(), ascii in any::<bool>()) {
            let json = if ascii {
                let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
                format!("\"{}\"", units.collect::<String>())
            } else {
                serde_json::to_string(&text).unwrap()
            };
            let mut found = Vec::new();
            unescape(json.as_bytes(), &mut found);
            prop_assert_eq!(String::from_utf8(found).unwrap(), format!("\"{text}\""));
        }

        #[test]
        fn a_cue_is_found_wherever_it_stands(before in "[ .,a-z]{0,9}", after in "[ .,a-z]{0,9}") {
            let map = LineMap::read(FILE);
            let payload = json!({ "text": format!("{before} the build is red {after}") });
            let mut related = Vec::new();
            Matcher::new(&map).related(&payload.to_string(), &mut related);
            prop_assert_eq!(related, vec![Related { line: 2, relation: Relation::Cue, names_action: false }]);
        }
    }
}
