//! A call in the words of its tool, and how it is answered or refused.

use serde_json::Value;
use spore_tools::ToolAnswer;

use crate::Error;

/// A call, read as its tool means it.
pub(super) struct ToolRequest<'a> {
    pub(super) tool: &'a str,
    pub(super) arguments: &'a Value,
}

impl<'a> ToolRequest<'a> {
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.arguments.get(name).and_then(Value::as_str)
    }

    /// A text that the schema requires.
    pub(super) fn word(&self, name: &str) -> &'a str {
        self.text(name).unwrap_or_default()
    }

    pub(super) fn number(&self, name: &str) -> Option<u32> {
        let number = self.arguments.get(name).and_then(Value::as_u64)?;
        Some(u32::try_from(number).unwrap_or(u32::MAX))
    }

    pub(super) fn list(&self, name: &str) -> Vec<String> {
        let items = self.arguments.get(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

/// A refusal repeats what was asked, which may be long.
const REFUSAL_BYTES: usize = 2_000;

/// Why a call was not answered, for the model.
#[derive(Debug)]
pub(super) struct Refusal(pub(super) String);

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            text.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        if let Some(hint) = error.hint_text() {
            text.push_str(&format!("\n{hint}"));
        }
        Self(text)
    }
}

pub(super) fn answer(found: std::result::Result<String, Refusal>) -> ToolAnswer {
    match found {
        Ok(text) => ToolAnswer::ok(text),
        Err(Refusal(why)) => ToolAnswer::error(spore_plain::cut_with(&why, REFUSAL_BYTES, "…")),
    }
}
