//! Whether a JSON value fits a JSON schema, as far as tools use schemas.
//!
//! Knows `type`, `enum`, `const`, `required`, `properties`, `additionalProperties`, `items`,
//! `minItems`, `maxItems`, `minimum`, `maximum`, `minLength`, `maxLength` and `anyOf`. What it
//! does not know it does not check: a schema of somebody else's making is then too lenient,
//! never a reason to refuse a good result.

use serde_json::{Map, Value};
use spore_plain::cut;

/// Far deeper than any schema of ours, and far from the end of a stack.
const DEPTH: usize = 64;

/// Returns what is wrong with `value`, in a sentence for whoever made it.
pub fn misfit(schema: &Value, value: &Value) -> Option<String> {
    fit(schema, value, "", DEPTH).err()
}

fn fit(schema: &Value, value: &Value, at: &str, depth: usize) -> Result<(), String> {
    let Some(schema) = schema.as_object() else { return Ok(()) };
    let place = if at.is_empty() { "the arguments" } else { at };
    if depth == 0 {
        return Err(format!("{place} are nested too deeply"));
    }
    if let Some(kinds) = schema.get("type")
        && !is_of_type(kinds, value)
    {
        let wanted = kinds.to_string().replace('"', "");
        return Err(format!("{place} must be of type {wanted}, not {}", kind(value)));
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array)
        && !choices.contains(value)
    {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        return Err(format!("{place} must be one of {}", choices.join(", ")));
    }
    if let Some(only) = schema.get("const")
        && only != value
    {
        return Err(format!("{place} must be {only}"));
    }
    if let Some(ways) = schema.get("anyOf").and_then(Value::as_array)
        && !ways.iter().any(|way| fit(way, value, at, depth - 1).is_ok())
    {
        return Err(format!("{place} fits none of the shapes it may have"));
    }
    fit_size(schema, value, place)?;
    match value {
        Value::Object(fields) => fit_object(schema, fields, at, depth),
        Value::Array(items) => match schema.get("items") {
            Some(item) => items.iter().enumerate().try_for_each(|(index, value)| {
                fit(item, value, &format!("{at}[{index}]"), depth - 1)
            }),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

fn fit_object(
    schema: &Map<String, Value>,
    fields: &Map<String, Value>,
    at: &str,
    depth: usize,
) -> Result<(), String> {
    let path = |name: &str| match at {
        "" => cut(name, 80).into_owned(),
        at => format!("{at}.{}", cut(name, 80)),
    };
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            return Err(format!("{} is missing", path(name)));
        }
    }
    let known = schema.get("properties").and_then(Value::as_object);
    let others = schema.get("additionalProperties");
    for (name, value) in fields {
        match (known.and_then(|known| known.get(name)), others) {
            (Some(schema), _) => fit(schema, value, &path(name), depth - 1)?,
            (None, Some(Value::Bool(false))) => return Err(format!("{} is unknown", path(name))),
            (None, Some(schema)) => fit(schema, value, &path(name), depth - 1)?,
            (None, None) => {}
        }
    }
    Ok(())
}

fn fit_size(schema: &Map<String, Value>, value: &Value, place: &str) -> Result<(), String> {
    let (size, least, most, unit) = match value {
        Value::Number(number) => (number.as_f64(), "minimum", "maximum", ""),
        Value::String(text) => {
            (count(text.chars().count()), "minLength", "maxLength", " characters")
        }
        Value::Array(items) => (count(items.len()), "minItems", "maxItems", " items"),
        _ => return Ok(()),
    };
    let Some(size) = size else { return Ok(()) };
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    if let Some(least) = bound(least).filter(|least| size < *least) {
        return Err(format!("{place} must be at least {least}{unit}"));
    }
    if let Some(most) = bound(most).filter(|most| size > *most) {
        return Err(format!("{place} must be at most {most}{unit}"));
    }
    Ok(())
}

fn count(number: usize) -> Option<f64> {
    u32::try_from(number).ok().map(f64::from)
}

fn is_of_type(kinds: &Value, value: &Value) -> bool {
    match kinds {
        Value::String(wanted) => wanted == kind(value) || (wanted == "number" && value.is_number()),
        Value::Array(kinds) => kinds.iter().any(|kind| is_of_type(kind, value)),
        _ => true,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(value: &Value, expected: Option<&str>) {
        let schema = json!({
            "type": "object",
            "properties": {
                "verdict": { "enum": ["supports", "contradicts"] },
                "confidence": { "type": "number", "minimum": 0, "maximum": 1 },
                "line": { "type": ["integer", "null"] },
                "name": { "type": "string", "minLength": 1 },
                "findings": { "type": "array", "maxItems": 2, "items": {
                    "type": "object", "properties": { "file": { "type": "string" } },
                    "required": ["file"],
                } },
            },
            "required": ["verdict"],
            "additionalProperties": false,
        });
        assert_eq!(misfit(&schema, value).as_deref(), expected);
    }

    #[test]
    fn what_fits_is_taken() {
        check(&json!({ "verdict": "supports" }), None);
        check(
            &json!({ "verdict": "contradicts", "confidence": 1, "line": null,
                     "findings": [{ "file": "a", "more": 1 }] }),
            None,
        );
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_place() {
        check(&json!([]), Some("the arguments must be of type object, not array"));
        check(&json!({}), Some("verdict is missing"));
        check(
            &json!({ "verdict": "maybe" }),
            Some("verdict must be one of \"supports\", \"contradicts\""),
        );
        let with = |name: &str, value: Value| json!({ "verdict": "supports", name: value });
        check(&with("confidence", json!(1.5)), Some("confidence must be at most 1"));
        check(
            &with("confidence", json!("1")),
            Some("confidence must be of type number, not string"),
        );
        check(&with("line", json!(1.5)), Some("line must be of type [integer,null], not number"));
        check(&with("name", json!("")), Some("name must be at least 1 characters"));
        check(&with("shape", json!(1)), Some("shape is unknown"));
        check(&with("findings", json!([{}])), Some("findings[0].file is missing"));
        check(&with("findings", json!([1, 2, 3])), Some("findings must be at most 2 items"));
    }
}
