//! Reads what a summarizer proposes: one summary, and lessons if there were any.
//!
//! The last `<summary>` block of its final message counts, as JSON; a block that cannot be
//! read is no proposal, and prose is none. What is read is held to what a later task file can
//! bear: capped, on few lines, about places that exist, in words and not in code. A lesson
//! that fails is dropped with the reason and the others stay; a summary that fails takes the
//! whole with it, because lessons are derived from it.
//!
//! A lesson is read by every later agent, so a hostile agent or file would plant an order here.
//! What speaks like a turn of conversation, a block of Spore's or an order to the reader is
//! refused.
//! That list cannot be complete: what really holds is that lessons stand in a task file as
//! data, on one line each, and that gates and verdicts do not read them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use spore_plain::{line, line_within};

/// More than this is not a summary of anything.
const BLOCK_BYTES: usize = 64 << 10;
const TITLE_CHARS: usize = 120;

/// How much of a proposal may be kept; the caller reads it from its configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProposalLimits {
    /// Characters of a summary; a longer one is refused.
    pub summary_chars: usize,
    /// Lessons that one run leaves.
    pub lessons: usize,
    /// Characters and lines of a lesson's pattern, fix and evidence, each: a lesson is a
    /// thought, not a report.
    pub lesson_chars: usize,
    pub lesson_lines: usize,
    /// Paths that one lesson is about.
    pub scopes: usize,
}

/// What a summarizer proposed, as far as it may be kept.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Proposed {
    pub summary: ProposedSummary,
    pub lessons: Vec<ProposedLesson>,
    /// What was left out, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<ProposalProblem>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ProposedSummary {
    /// One line.
    pub title: String,
    pub text: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ProposedLesson {
    pub title: String,
    /// When it applies.
    pub pattern: String,
    /// What to do then.
    pub fix: String,
    /// Paths it is about; none is everywhere.
    #[serde(default)]
    pub scope: Vec<String>,
    /// Where it was learnt, in a few words.
    #[serde(default)]
    pub evidence: String,
    /// The lesson whose place it takes, as the task file named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
}

/// Something that was not kept as it was proposed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProposalProblem {
    /// `summary`, or `lesson 2`.
    pub about: String,
    pub what: String,
}

impl ProposalProblem {
    fn new(about: &str, what: impl Into<String>) -> Self {
        Self { about: about.to_owned(), what: what.into() }
    }
}

impl std::fmt::Display for ProposalProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.about, self.what)
    }
}

/// Looks up which paths of the tree an agent means by a path or by the name of a piece of code;
/// none if the tree has no such place.
pub type PathLookup<'a> = dyn Fn(&str) -> Vec<String> + 'a;

/// Reads what a summarizer proposes at the end of `final_text`. Whatever cannot be kept as a
/// whole is an error with all its reasons.
pub fn read_summary(
    final_text: &str,
    places: &PathLookup<'_>,
    limits: ProposalLimits,
) -> Result<Proposed, Vec<ProposalProblem>> {
    let whole = |what: &str| vec![ProposalProblem::new("summary", what)];
    let block = last_block(final_text).ok_or_else(|| whole("the message has no summary block"))?;
    if block.len() > BLOCK_BYTES {
        return Err(whole("the summary block is too large"));
    }
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(block.trim()) else {
        return Err(whole("the summary block could not be read"));
    };
    let summary = ProposedSummary { title: word(&fields, "title"), text: word(&fields, "summary") };
    let (lessons, mut misshapen) = shaped_lessons(fields.get("lessons"));
    let mut proposed = hold(summary, lessons, places, limits)?;
    misshapen.append(&mut proposed.dropped);
    proposed.dropped = misshapen;
    Ok(proposed)
}

/// Holds a proposal, however it arrived, to what may be kept.
pub fn hold(
    summary: ProposedSummary,
    lessons: Vec<ProposedLesson>,
    places: &PathLookup<'_>,
    limits: ProposalLimits,
) -> Result<Proposed, Vec<ProposalProblem>> {
    let summary = held_summary(&summary, limits)?;
    let mut proposed = Proposed { summary, ..Proposed::default() };
    for (number, lesson) in (1..).zip(lessons) {
        let about = format!("lesson {number}");
        if proposed.lessons.len() == limits.lessons {
            let most = format!("a run leaves {} lessons at most", limits.lessons);
            proposed.dropped.push(ProposalProblem::new(&about, most));
            continue;
        }
        match held_lesson(lesson, places, limits) {
            Ok(lesson) if says_the_same(&proposed.lessons, &lesson) => {
                proposed.dropped.push(ProposalProblem::new(&about, "it repeats an earlier one"));
            }
            Ok(lesson) => proposed.lessons.push(lesson),
            Err(what) => proposed.dropped.push(ProposalProblem::new(&about, what)),
        }
    }
    Ok(proposed)
}

fn last_block(text: &str) -> Option<&str> {
    let (_, rest) = text.rsplit_once("<summary>")?;
    // An unclosed block is a cut message.
    Some(rest.split_once("</summary>").map_or("", |(block, _)| block))
}

/// Returns the lessons that have the shape of one.
fn shaped_lessons(value: Option<&Value>) -> (Vec<ProposedLesson>, Vec<ProposalProblem>) {
    let items = match value {
        None | Some(Value::Null) => return (Vec::new(), Vec::new()),
        Some(Value::Array(items)) => items,
        Some(_) => {
            return (Vec::new(), vec![ProposalProblem::new("lessons", "they are not a list")]);
        }
    };
    let (mut lessons, mut problems) = (Vec::new(), Vec::new());
    for (number, item) in (1..).zip(items) {
        let Value::Object(fields) = item else {
            problems.push(ProposalProblem::new(&format!("lesson {number}"), "it is not an object"));
            continue;
        };
        let scope = match fields.get("scope") {
            Some(Value::Array(paths)) => {
                paths.iter().filter_map(|path| path.as_str().map(str::to_owned)).collect()
            }
            Some(Value::String(path)) => vec![path.clone()],
            _ => Vec::new(),
        };
        let replaces = Some(word(fields, "replaces")).filter(|id| !id.is_empty());
        lessons.push(ProposedLesson {
            title: word(fields, "title"),
            pattern: word(fields, "pattern"),
            fix: word(fields, "fix"),
            scope,
            evidence: word(fields, "evidence"),
            replaces,
        });
    }
    (lessons, problems)
}

fn word(fields: &Map<String, Value>, key: &str) -> String {
    fields.get(key).and_then(Value::as_str).unwrap_or_default().trim().to_owned()
}

fn held_summary(
    summary: &ProposedSummary,
    limits: ProposalLimits,
) -> Result<ProposedSummary, Vec<ProposalProblem>> {
    let mut problems = Vec::new();
    let (title, text) = (plain(&summary.title), plain(&summary.text));
    let mut refuse = |what: &str| problems.push(ProposalProblem::new("summary", what));
    if text.is_empty() {
        refuse("it says nothing");
    }
    if text.chars().count() > limits.summary_chars {
        refuse(&format!("it is longer than {} characters", limits.summary_chars));
    }
    for text in [&title, &text] {
        if let Some(what) = poses(text) {
            refuse(what);
        }
    }
    if is_code(&text) {
        refuse("it holds raw code");
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let title = if title.is_empty() { first_sentence(&text) } else { line(&title).into_owned() };
    Ok(ProposedSummary { title: line_within(&title, TITLE_CHARS), text })
}

fn held_lesson(
    lesson: ProposedLesson,
    places: &PathLookup<'_>,
    limits: ProposalLimits,
) -> Result<ProposedLesson, String> {
    let ProposedLesson { title, pattern, fix, scope, evidence, replaces } = lesson;
    let (title, pattern) = (line(&title).into_owned(), plain(&pattern));
    let (fix, evidence) = (plain(&fix), plain(&evidence));
    if title.is_empty() || pattern.is_empty() || fix.is_empty() {
        return Err("it needs a title, a pattern and a fix".to_owned());
    }
    let ProposalLimits { lesson_chars, lesson_lines, .. } = limits;
    for (name, text) in [("pattern", &pattern), ("fix", &fix), ("evidence", &evidence)] {
        if text.chars().count() > lesson_chars || text.lines().count() > lesson_lines {
            return Err(format!(
                "its {name} is longer than {lesson_chars} characters or {lesson_lines} lines"
            ));
        }
        if is_code(text) {
            return Err(format!("its {name} is raw code"));
        }
    }
    for text in [&title, &pattern, &fix, &evidence] {
        if let Some(what) = poses(text) {
            return Err(what.to_owned());
        }
    }
    let scope = held_scope(&scope, places, limits.scopes)?;
    let replaces = replaces.map(|id| plain(&id)).filter(|id| is_id(id));
    Ok(ProposedLesson {
        title: line_within(&title, TITLE_CHARS),
        pattern,
        fix,
        scope,
        evidence,
        replaces,
    })
}

/// Keeps the places that exist, the first `most`. A lesson that named places, none of which exists, is about
/// nothing: taken for one about everything it would be read everywhere.
fn held_scope(
    scope: &[String],
    places: &PathLookup<'_>,
    most: usize,
) -> Result<Vec<String>, String> {
    let named = || scope.iter().map(|place| place.trim()).filter(|place| !place.is_empty());
    let mut held: Vec<String> = Vec::new();
    for place in named().take(most) {
        let tidy = place.trim_start_matches("./").trim_end_matches('/');
        let leads_out = tidy.starts_with(['/', '~']) || tidy.split('/').any(|part| part == "..");
        if leads_out || tidy.chars().any(char::is_control) {
            continue;
        }
        for path in places(tidy) {
            if !held.contains(&path) && held.len() < most {
                held.push(path);
            }
        }
    }
    if held.is_empty() && named().next().is_some() {
        return Err("none of the places it is about exists".to_owned());
    }
    held.sort_unstable();
    Ok(held)
}

/// Returns the text without invisible characters: control and format characters can hide words
/// from a person that a model reads.
fn plain(text: &str) -> String {
    spore_plain::block(text).trim().to_owned()
}

/// Returns why a text is not taken for data, if it is not.
fn poses(text: &str) -> Option<&'static str> {
    let lower = text.to_lowercase();
    let squeezed = lower.split_whitespace().collect::<Vec<_>>().join(" ");
    let tags = ["verdict", "summary", "system", "assistant", "user", "human", "tool", "function"];
    let opens_tag = |tag: &&str| {
        let forms =
            [format!("<{tag}>"), format!("</{tag}"), format!("<{tag} "), format!("[{tag}]")];
        forms.iter().any(|form| squeezed.contains(form.as_str()))
    };
    if tags.iter().any(opens_tag) || squeezed.contains("<|") {
        return Some("it holds a tag that could be taken for a turn or a block of ours");
    }
    let turns = ["system:", "assistant:", "human:", "user:", "developer:"];
    let is_turn = |line: &str| turns.iter().any(|turn| line.trim_start().starts_with(turn));
    if lower.lines().any(is_turn) {
        return Some("it reads like a turn of a conversation");
    }
    if lower.lines().any(|line| line.trim_start().starts_with("spore-")) {
        return Some("it reads like a trailer of ours");
    }
    ORDERS.iter().any(|order| squeezed.contains(order)).then_some("it gives the reader an order")
}

/// How texts speak that want a reader to forget whom it works for.
const ORDERS: [&str; 18] = [
    "ignore all previous",
    "ignore any previous",
    "ignore previous instructions",
    "ignore the previous instructions",
    "ignore the above",
    "ignore your instructions",
    "ignore the task",
    "disregard all previous",
    "disregard previous",
    "disregard the above",
    "disregard your instructions",
    "forget your instructions",
    "forget all previous",
    "override your instructions",
    "new instructions:",
    "you are now",
    "your new task",
    "system prompt",
];

/// Returns whether a text is code and not words about it: a fence, a piece of a diff, or
/// several lines in a row that no sentence has.
fn is_code(text: &str) -> bool {
    const IN_A_ROW: usize = 3;
    let mut row = 0;
    for line in text.lines() {
        let bare = line.trim();
        if bare.starts_with("```") || bare.starts_with("~~~") || bare.starts_with("@@ ") {
            return true;
        }
        row = if looks_like_code(line) { row + 1 } else { 0 };
        if row == IN_A_ROW {
            return true;
        }
    }
    false
}

fn looks_like_code(line: &str) -> bool {
    let bare = line.trim();
    if bare.is_empty() || bare.starts_with(['-', '*']) && bare[1..].starts_with(' ') {
        return false;
    }
    let ends = bare.ends_with([';', '{', '}']) || bare.ends_with("):") || bare.ends_with("),");
    let indented = line.starts_with("    ") || line.starts_with('\t');
    ends || indented && bare.contains(['(', '=', '['])
}

/// Returns whether a text could be the id of a node, in any of the forms people see.
fn is_id(text: &str) -> bool {
    (4..=32).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn first_sentence(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let sentence = first.split_inclusive(". ").next().unwrap_or(first);
    line(sentence.trim_end_matches(['.', ' '])).into_owned()
}

/// Returns whether one of these lessons says the same in the same words.
fn says_the_same(known: &[ProposedLesson], new: &ProposedLesson) -> bool {
    let words = |lesson: &ProposedLesson| {
        (normalised(&lesson.pattern), normalised(&lesson.fix), lesson.scope.clone())
    };
    known.iter().any(|known| words(known) == words(new))
}

/// Returns a text as its words in lower case, whatever stands between them.
pub fn normalised(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
