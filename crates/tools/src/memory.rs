//! The tools of memory's own sessions, as a model sees them. Each ends its session by handing in
//! proposals; what becomes of those is decided where the evidence is.

use serde_json::{Value, json};
use spore_model::ToolGroup;

use crate::declared::Declared;

/// The tool of a judge of events.
pub fn submit_judgements() -> Declared {
    ending(
        "submit_judgements",
        "Hand in judgements",
        "Hands in one answer for each case and ends the session.",
        "judgements",
        json!({
            "event": text(100, "the event of the case, as it stands there"),
            "line": maybe(20, "the line of the case, as it stands there; null where it has none"),
            "answer": {
                "type": "string",
                "enum": ["STRENGTHENING", "WEAKENING", "NEUTRAL", "NEW_SIGNAL", "nothing"],
            },
            "quote": maybe(2_000, "from the event, to the letter"),
            "action_quote": maybe(2_000, "from an event after it, to the letter"),
            "root_cause": maybe(40, "recall-miss or direction-wrong, for WEAKENING alone"),
            "why": maybe(1_000, "one sentence"),
        }),
        &["event", "answer"],
    )
}

/// The tool of an updater of the broadcast file.
pub fn submit_edits() -> Declared {
    ending(
        "submit_edits",
        "Hand in edits",
        "Hands in what should become of the lines and ends the session.",
        "edits",
        json!({
            "do": { "type": "string", "enum": ["rewrite", "sharpen", "remove", "add", "keep"] },
            "line": maybe(20, "the hash of the line; null for add"),
            "text": maybe(2_000, "the new line, for rewrite, sharpen and add"),
            "fragments": {
                "type": "array",
                "maxItems": 50,
                "items": { "type": "string", "maxLength": 250 },
                "description": "the names of the fragments that ask for it",
            },
            "why": maybe(1_000, "one sentence"),
        }),
        &["do", "fragments"],
    )
}

/// Returns the names of all tools of memory's sessions.
pub fn names() -> Vec<String> {
    [submit_judgements(), submit_edits()].map(|tool| tool.name).to_vec()
}

fn ending(
    name: &str,
    title: &str,
    description: &str,
    list: &str,
    fields: Value,
    required: &[&str],
) -> Declared {
    let item = json!({ "type": "object", "properties": fields, "required": required });
    Declared {
        name: name.to_owned(),
        title: title.to_owned(),
        description: description.to_owned(),
        schema: json!({
            "type": "object",
            "properties": { list: { "type": "array", "maxItems": 200, "items": item } },
            "required": [list],
            "additionalProperties": false,
        }),
        group: ToolGroup::Memory,
        ends: true,
    }
}

fn text(most: u64, description: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": most, "description": description })
}

fn maybe(most: u64, description: &str) -> Value {
    json!({ "type": ["string", "null"], "maxLength": most, "description": description })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check_schema, misfit};

    #[test]
    fn what_is_handed_in_has_the_shape_that_is_asked_for() {
        for tool in [submit_judgements(), submit_edits()] {
            check_schema(&tool.schema).unwrap();
            assert!(misfit(&tool.schema, &json!({})).is_some());
        }
        let judged = json!({ "judgements": [{ "event": "e", "line": null, "answer": "nothing" }] });
        assert_eq!(misfit(&submit_judgements().schema, &judged), None);
        let edits = json!({ "edits": [{ "do": "burn", "fragments": [] }] });
        assert!(misfit(&submit_edits().schema, &edits).is_some());
    }
}
