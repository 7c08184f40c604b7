//! A tool as it is declared to a model, and the words that declarations are made of.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spore_model::ToolGroup;

/// A tool as a model sees it; the process that holds the stores performs it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Declared {
    pub name: String,
    /// For people who look at a list of tools.
    pub title: String,
    /// What it is for, to the model.
    pub description: String,
    /// What its arguments must look like.
    pub schema: Value,
    /// What a role needs to be granted to call it.
    pub group: ToolGroup,
    /// Whether its arguments are the result of the session, which a call that is taken ends.
    #[serde(default, skip_serializing_if = "is_not")]
    pub ends: bool,
}

fn is_not(it: &bool) -> bool {
    !it
}

impl Declared {
    /// Returns whether it proposes something; the others only read.
    pub fn proposes(&self) -> bool {
        !matches!(
            self.group,
            ToolGroup::Graph
                | ToolGroup::Commands
                | ToolGroup::Investigation
                | ToolGroup::Memory
                | ToolGroup::Layers
        )
    }
}

/// Declares a tool whose arguments are these fields and no others.
pub(crate) fn declare(
    group: ToolGroup,
    name: &str,
    title: &str,
    description: &str,
    fields: Value,
    required: &[&str],
) -> Declared {
    let mut schema = json!({
        "type": "object",
        "properties": fields,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    Declared {
        name: name.to_owned(),
        title: title.to_owned(),
        description: description.to_owned(),
        schema,
        group,
        ends: false,
    }
}

/// A text that says something.
pub(crate) fn bounded(most: u64, description: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": most, "description": description })
}

/// A text that may be empty.
pub(crate) fn loose(most: u64, description: &str) -> Value {
    json!({ "type": "string", "maxLength": most, "description": description })
}

pub(crate) fn whole(least: u64, most: u64, description: &str) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": most, "description": description })
}

pub(crate) fn fraction(description: &str) -> Value {
    json!({ "type": "number", "minimum": 0, "maximum": 1, "description": description })
}

/// A list of texts, each so long at the most.
pub(crate) fn list_of(most: u64, description: &str) -> Value {
    json!({
        "type": "array",
        "maxItems": 50,
        "items": { "type": "string", "minLength": 1, "maxLength": most },
        "description": description,
    })
}

pub(crate) fn one_of(words: &[&str], description: &str) -> Value {
    json!({ "type": "string", "enum": words, "description": description })
}
