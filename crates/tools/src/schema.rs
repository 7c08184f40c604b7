//! Whether a JSON value fits a JSON schema, as far as tools use schemas.
//!
//! A part of JSON Schema (<https://json-schema.org/draft/2020-12/json-schema-validation>), and
//! exactly that part: a schema with a keyword that is not checked here is no schema to
//! [`check_schema`], so a tool that has one cannot be registered, and no value fits it. The crate
//! `jsonschema` (0.60.2) knows all of it, for 29 more packages in the build and another way to
//! read numbers in every JSON document (`serde_json/float_roundtrip`).

use serde_json::{Map, Value};
use spore_plain::cut;

/// Far deeper than any schema of ours, and far from the end of a stack.
const DEPTH: usize = 64;

/// Keywords that describe and do not restrict.
const ANNOTATIONS: [&str; 6] =
    ["$schema", "$comment", "title", "description", "default", "examples"];

const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// Why a schema cannot be checked against.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SchemaError {
    #[error("the schema has the keyword {keyword:?} at {at}, which is not checked here")]
    Unknown { keyword: String, at: String },
    #[error("the schema has a {keyword:?} at {at} that does not mean anything")]
    Meaningless { keyword: String, at: String },
    #[error("the schema has something at {at} that is no schema")]
    NotASchema { at: String },
    #[error("the schema is nested too deeply")]
    TooDeep,
}

/// Says whether every word of `schema` is one that [`misfit`] goes by.
pub fn check_schema(schema: &Value) -> Result<(), SchemaError> {
    check_below(schema, "#", DEPTH)
}

fn check_below(schema: &Value, at: &str, depth: usize) -> Result<(), SchemaError> {
    let schema = match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(schema) if depth > 0 => schema,
        Value::Object(_) => return Err(SchemaError::TooDeep),
        _ => return Err(SchemaError::NotASchema { at: at.to_owned() }),
    };
    for (keyword, value) in schema {
        let below = || format!("{at}/{}", spore_plain::cut(keyword, 80));
        let is_meant = match keyword.as_str() {
            "type" => match value {
                Value::Array(kinds) => !kinds.is_empty() && kinds.iter().all(is_type),
                kind => is_type(kind),
            },
            "enum" => value.as_array().is_some_and(|choices| !choices.is_empty()),
            "const" => true,
            "required" => value.as_array().is_some_and(|names| names.iter().all(Value::is_string)),
            "minimum" | "maximum" => value.is_number(),
            "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
            "anyOf" => match value.as_array() {
                Some(ways) if !ways.is_empty() => {
                    ways.iter().try_for_each(|way| check_below(way, &below(), depth - 1))?;
                    true
                }
                _ => false,
            },
            "properties" => match value.as_object() {
                Some(fields) => {
                    for (name, field) in fields {
                        let at = format!("{}/{}", below(), spore_plain::cut(name, 80));
                        check_below(field, &at, depth - 1)?;
                    }
                    true
                }
                None => false,
            },
            "items" | "additionalProperties" => {
                check_below(value, &below(), depth - 1)?;
                true
            }
            other if ANNOTATIONS.contains(&other) => true,
            _ => {
                let keyword = spore_plain::cut(keyword, 80).into_owned();
                return Err(SchemaError::Unknown { keyword, at: at.to_owned() });
            }
        };
        if !is_meant {
            let keyword = spore_plain::cut(keyword, 80).into_owned();
            return Err(SchemaError::Meaningless { keyword, at: at.to_owned() });
        }
    }
    Ok(())
}

fn is_type(name: &Value) -> bool {
    name.as_str().is_some_and(|name| TYPES.contains(&name))
}

/// Returns what is wrong with `value`, in a sentence for the model that made it. Nothing fits a
/// schema that cannot be checked against.
pub fn misfit(schema: &Value, value: &Value) -> Option<String> {
    if let Err(error) = check_schema(schema) {
        return Some(error.to_string());
    }
    fit(schema, value, "", DEPTH).err()
}

fn fit(schema: &Value, value: &Value, at: &str, depth: usize) -> Result<(), String> {
    let place = if at.is_empty() { "the arguments" } else { at };
    let schema = match schema {
        Value::Object(schema) => schema,
        Value::Bool(true) => return Ok(()),
        _ => return Err(format!("{place} may not be there")),
    };
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
    fn a_schema_has_no_word_that_is_not_checked() {
        for (schema, expected) in [
            (json!({}), ""),
            (json!(true), ""),
            (json!({ "type": ["string", "null"], "description": "d", "default": 1 }), ""),
            (json!({ "properties": { "pattern": { "type": "string" } } }), ""),
            (json!({ "additionalProperties": { "items": { "const": [] } } }), ""),
            (json!({ "anyOf": [{ "required": ["a"] }, false] }), ""),
            (json!({ "pattern": "^a" }), "keyword \"pattern\" at #,"),
            (
                json!({ "properties": { "a": { "items": { "format": "uri" } } } }),
                "keyword \"format\" at #/properties/a/items,",
            ),
            (json!({ "anyOf": [{ "not": {} }] }), "keyword \"not\" at #/anyOf,"),
            (json!({ "additionalProperties": { "$ref": "#" } }), "keyword \"$ref\""),
            (json!({ "minimun": 1 }), "keyword \"minimun\""),
            (json!({ "minimum": "1" }), "\"minimum\" at # that"),
            (json!({ "maxLength": -1 }), "\"maxLength\" at # that"),
            (json!({ "maxItems": 1.5 }), "\"maxItems\" at # that"),
            (json!({ "type": "strnig" }), "\"type\" at # that"),
            (json!({ "type": [] }), "\"type\" at # that"),
            (json!({ "type": 1 }), "\"type\" at # that"),
            (json!({ "enum": "a" }), "\"enum\" at # that"),
            (json!({ "enum": [] }), "\"enum\" at # that"),
            (json!({ "required": "a" }), "\"required\" at # that"),
            (json!({ "required": [1] }), "\"required\" at # that"),
            (json!({ "properties": [] }), "\"properties\" at # that"),
            (json!({ "anyOf": [] }), "\"anyOf\" at # that"),
            (json!({ "items": [{}] }), "something at #/items that is no schema"),
            (json!(null), "something at # that is no schema"),
            (json!("object"), "something at # that is no schema"),
        ] {
            let said =
                check_schema(&schema).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{said}");
            if !expected.is_empty() {
                assert_eq!(misfit(&schema, &json!({})), Some(said), "{schema}");
            }
        }
        let mut deep = json!({});
        for _ in 0..1000 {
            deep = json!({ "items": deep });
        }
        assert_eq!(check_schema(&deep), Err(SchemaError::TooDeep));
    }

    #[test]
    fn what_may_not_be_there_fits_nothing() {
        assert_eq!(misfit(&json!(false), &json!({})).unwrap(), "the arguments may not be there");
        let schema = json!({ "properties": { "a": false, "b": true } });
        assert_eq!(misfit(&schema, &json!({ "b": 1 })), None);
        assert_eq!(misfit(&schema, &json!({ "a": 1 })).unwrap(), "a may not be there");
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
