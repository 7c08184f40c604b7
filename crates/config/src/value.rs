//! What a setting can hold.

use std::fmt;

use serde::Serialize;
use toml_edit::Item;

/// The value of one setting. A duration is text here, as it was written.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Value {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<String>),
}

impl fmt::Display for Value {
    /// Writes the value as TOML does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => toml_edit::Value::from(*value).fmt(f),
            Self::Text(text) => toml_edit::Value::from(text.as_str()).fmt(f),
            Self::List(texts) => texts.iter().collect::<toml_edit::Array>().fmt(f),
        }
    }
}

/// What a setting must hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ValueKind {
    Bool,
    Integer,
    Float,
    Text,
    Duration,
    List,
}

impl ValueKind {
    /// Returns the kind of which `value` is a default.
    pub(crate) fn of_default(value: &Value) -> Self {
        match value {
            Value::Bool(_) => Self::Bool,
            Value::Integer(_) => Self::Integer,
            Value::Float(_) => Self::Float,
            Value::Text(text) if crate::parse_duration(text).is_ok() => Self::Duration,
            Value::Text(_) => Self::Text,
            Value::List(_) => Self::List,
        }
    }

    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Integer => "a whole number",
            Self::Float => "a number",
            Self::Text => "text",
            Self::Duration => "a duration as text",
            Self::List => "a list of texts",
        }
    }

    /// Returns `value` if it is of this kind. A whole number is a number.
    pub(crate) fn accept(self, value: Value) -> Option<Value> {
        match (self, value) {
            (Self::Float, Value::Integer(number)) => Some(Value::Float(number as f64)),
            (Self::Bool, value @ Value::Bool(_))
            | (Self::Integer, value @ Value::Integer(_))
            | (Self::Float, value @ Value::Float(_))
            | (Self::Text | Self::Duration, value @ Value::Text(_))
            | (Self::List, value @ Value::List(_)) => Some(value),
            _ => None,
        }
    }

    /// Reads `text` as a person types it without quotes, in a variable or in an argument. What is
    /// not of this kind stays the text it is.
    pub(crate) fn literal(self, text: &str) -> toml_edit::Value {
        let bare = match self {
            Self::Bool | Self::Integer | Self::Float => text.trim().parse().ok(),
            Self::List if text.trim_start().starts_with('[') => text.trim().parse().ok(),
            Self::List => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                Some(toml_edit::Value::Array(parts.collect()))
            }
            Self::Text | Self::Duration => None,
        };
        bare.unwrap_or_else(|| text.into())
    }
}

/// Reads a value out of a document; `None` if it is nothing that a setting can hold.
pub(crate) fn read(item: &Item) -> Option<Value> {
    let value = item.as_value()?;
    Some(match value {
        toml_edit::Value::Boolean(value) => Value::Bool(*value.value()),
        toml_edit::Value::Integer(value) => Value::Integer(*value.value()),
        toml_edit::Value::Float(value) => Value::Float(*value.value()),
        toml_edit::Value::String(value) => Value::Text(value.value().clone()),
        toml_edit::Value::Array(array) => {
            let texts = array.iter().map(|item| item.as_str().map(str::to_owned));
            Value::List(texts.collect::<Option<_>>()?)
        }
        toml_edit::Value::Datetime(_) | toml_edit::Value::InlineTable(_) => return None,
    })
}

/// Names what is at `item`, for people.
pub(crate) fn describe(item: &Item) -> &'static str {
    match item {
        Item::Value(toml_edit::Value::Boolean(_)) => "true or false",
        Item::Value(toml_edit::Value::Integer(_)) => "a whole number",
        Item::Value(toml_edit::Value::Float(_)) => "a number with a fraction",
        Item::Value(toml_edit::Value::String(_)) => "text",
        Item::Value(toml_edit::Value::Datetime(_)) => "a date",
        Item::Value(toml_edit::Value::Array(_)) if read(item).is_some() => "a list of texts",
        Item::Value(toml_edit::Value::Array(_)) => "a list of something else",
        Item::Value(toml_edit::Value::InlineTable(_)) | Item::Table(_) => "a table",
        Item::ArrayOfTables(_) => "a list of tables",
        Item::None => "nothing",
    }
}
