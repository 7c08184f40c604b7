//! An answer as a page: as much as its budget holds, and where to read on.
//!
//! Whatever was found is a list of entries. A page has as many whole ones as fit; only one that
//! is too long for any page is cut, and says so. What follows the page is reached with a cursor,
//! which is good for the same question alone.

use serde_json::Value;
use spore_config::ToolConfig;
use spore_tools::graph::{MAX_ANSWER_TOKENS, MIN_ANSWER_TOKENS};

use super::question::{Refusal, ToolRequest};
use crate::base::workspace::fnv1a;

/// Kept free for what is said below the entries.
const FOOT_BYTES: usize = 160;

/// What a tool found.
#[derive(Default)]
pub(super) struct ToolFindings {
    /// What it is, in a line.
    pub(super) heading: String,
    pub(super) entries: Vec<String>,
    /// What to know about the answer as a whole, such as how old it is.
    pub(super) notes: Vec<String>,
    /// Said in place of entries.
    pub(super) nothing: String,
}

impl ToolFindings {
    pub(super) fn new(heading: impl Into<String>, entries: Vec<String>) -> Self {
        Self { heading: heading.into(), entries, ..Self::default() }
    }

    /// Says what to do where nothing was found.
    pub(super) fn or(mut self, nothing: impl Into<String>) -> Self {
        self.nothing = nothing.into();
        self
    }

    pub(super) fn note(mut self, note: Option<String>) -> Self {
        self.notes.extend(note);
        self
    }

    /// Writes the page that was asked for.
    pub(super) fn page(
        self,
        asked: &ToolRequest<'_>,
        limits: &ToolConfig,
    ) -> Result<String, Refusal> {
        let key = key_of(asked);
        let first = match asked.text("cursor") {
            Some(cursor) => read_cursor(cursor, key)?,
            None => 0,
        };
        let mut text = self.heading;
        for note in &self.notes {
            text.push_str(&format!("\n[{note}]"));
        }
        if self.entries.is_empty() {
            return Ok(format!("{text}\n{}", self.nothing).trim().to_owned());
        }
        if first >= self.entries.len() {
            return Ok(format!("{text}\nNothing follows.").trim().to_owned());
        }
        let budget = bytes(asked, limits);
        let room = budget.saturating_sub(FOOT_BYTES);
        let mut next = first;
        for entry in &self.entries[first..] {
            if text.len() + 1 + entry.len() > room {
                break;
            }
            text.push('\n');
            text.push_str(entry);
            next += 1;
        }
        if next == first {
            text.push('\n');
            text.push_str(&cut(&self.entries[first], room.saturating_sub(text.len())));
            next += 1;
        }
        let left = self.entries.len() - next;
        if left > 0 {
            text.push_str(&format!("\n… {left} more: cursor \"{next}-{key:08x}\""));
        }
        Ok(text.trim_start().to_owned())
    }
}

/// How many bytes an answer may have: a token is four.
pub(super) fn bytes(asked: &ToolRequest<'_>, limits: &ToolConfig) -> usize {
    let usual = match asked.tool {
        "explore" | "read_content" | "code_show" => limits.source_tokens,
        "context" => limits.context_tokens,
        _ => limits.list_tokens,
    };
    let tokens = u64::from(asked.number("max_tokens").unwrap_or(usual));
    let tokens = tokens.clamp(MIN_ANSWER_TOKENS, MAX_ANSWER_TOKENS);
    usize::try_from(tokens * 4).unwrap_or(usize::MAX)
}

/// Cuts an entry that no page holds, at the end of a line if there is one.
fn cut(entry: &str, room: usize) -> String {
    const MARK: &str = "\n… cut here: ask for more with max_tokens, or for a part";
    let kept = spore_plain::head(entry, room.saturating_sub(MARK.len()));
    let kept = kept.rfind('\n').map_or(kept, |end| &kept[..end]);
    format!("{kept}{MARK}")
}

/// What makes a question the same: everything but how much of the answer is wanted.
fn key_of(asked: &ToolRequest<'_>) -> u32 {
    let mut arguments = asked.arguments.clone();
    if let Value::Object(fields) = &mut arguments {
        fields.remove("cursor");
        fields.remove("max_tokens");
    }
    let hash = fnv1a(format!("{} {arguments}", asked.tool).as_bytes());
    u32::try_from(hash >> 32).unwrap_or_default()
}

fn read_cursor(cursor: &str, key: u32) -> Result<usize, Refusal> {
    let parts = cursor.trim().split_once('-');
    let read = parts.and_then(|(next, of)| {
        let is_ours = u32::from_str_radix(of, 16).is_ok_and(|of| of == key);
        is_ours.then(|| next.parse().ok())?
    });
    read.ok_or_else(|| {
        Refusal(
            "this cursor belongs to another question: ask with the same arguments, or without it"
                .to_owned(),
        )
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn page(entries: &[String], arguments: &Value) -> Result<String, Refusal> {
        let found = ToolFindings::new("heading", entries.to_vec()).or("nothing");
        let config = spore_config::Config::load(&[]).unwrap().config;
        found.page(&ToolRequest { tool: "search", arguments }, &config.tools)
    }

    fn cursor_of(page: &str) -> Option<String> {
        let (_, rest) = page.rsplit_once("cursor \"")?;
        Some(rest.strip_suffix('"')?.to_owned())
    }

    proptest! {
        #[test]
        fn pages_hold_every_entry_once_and_never_more_than_their_budget(
            sizes in prop::collection::vec(1_usize..600, 0..60),
            tokens in 256_u32..900,
        ) {
            let entries: Vec<String> =
                (0..).zip(&sizes).map(|(n, size): (u32, _)| format!("<{n}>{}", "x".repeat(*size))).collect();
            let mut arguments = json!({ "query": "q", "max_tokens": tokens });
            let mut seen = Vec::new();
            for _ in 0..=entries.len() {
                let text = page(&entries, &arguments).unwrap();
                prop_assert!(text.len() <= tokens as usize * 4, "{} > {tokens}", text.len());
                seen.extend(text.lines().filter(|line| line.starts_with('<')).map(str::to_owned));
                let Some(cursor) = cursor_of(&text) else { break };
                arguments["cursor"] = json!(cursor);
            }
            prop_assert_eq!(seen, entries);
        }
    }

    #[test]
    fn an_entry_that_no_page_holds_is_cut_and_says_so() {
        let long = "line\n".repeat(1000);
        let text = page(&[long, "next".to_owned()], &json!({ "max_tokens": 256 })).unwrap();
        assert!(text.len() <= 1_024 && text.contains("… cut here"), "{text}");
        assert!(cursor_of(&text).is_some());
    }

    #[test]
    fn a_cursor_is_good_for_its_question_alone() {
        let entries: Vec<String> = (0..500).map(|n| format!("entry {n}")).collect();
        let first = page(&entries, &json!({ "query": "a", "max_tokens": 256 })).unwrap();
        let cursor = cursor_of(&first).unwrap();
        let with = |query: &str, cursor: &str| {
            page(&entries, &json!({ "query": query, "cursor": cursor, "max_tokens": 400 }))
        };
        assert!(with("a", &cursor).is_ok());
        assert!(with("b", &cursor).is_err());
        for junk in ["", "7", "x-y", "-1-00", "99999999999999999999-0"] {
            assert!(with("a", junk).is_err(), "{junk}");
        }
    }

    #[test]
    fn nothing_found_says_what_to_do() {
        assert_eq!(page(&[], &json!({})).unwrap(), "heading\nnothing");
    }
}
