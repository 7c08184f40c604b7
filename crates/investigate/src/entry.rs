//! What an investigation keeps about one file or directory, and what it refuses to keep.
//!
//! Entries are proposed: by counting today, by a model tomorrow. The same pure rules decide
//! about both. The one that matters most is that an entry is a summary:
//! what a file says stays in the file.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use spore_model::Timestamp;

use crate::category::Category;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    Directory,
    File,
}

impl EntryKind {
    pub const ALL: [Self; 2] = [Self::Directory, Self::File];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Directory => "directory",
            Self::File => "file",
        }
    }

    const fn required(self) -> [(&'static str, FieldShape); 6] {
        let (measure, shape, category) = match self {
            Self::File => ("size_bytes", FieldShape::Count, "category"),
            Self::Directory => ("child_count", FieldShape::Count, "dominant_category"),
        };
        [
            ("path", FieldShape::Text),
            ("relative_path", FieldShape::PathText),
            (measure, shape),
            (category, FieldShape::Category),
            ("summary", FieldShape::Text),
            ("cached_at", FieldShape::Time),
        ]
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is known about one place, in the seed's words.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct InvestigationEntry {
    /// From the project's root, so that it means the same on every machine.
    pub path: String,
    /// From what was investigated; `.` is that itself.
    pub relative_path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_count: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dominant_category: Option<Category>,
    pub summary: String,
    pub cached_at: Timestamp,
    /// Of the content that the summary is about: another hash, and it is stale.
    pub hash: String,
    /// What was looked at; hashes from different scopes are not compared.
    pub scope: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completeness: Option<f64>,
}

/// Keys under which a proposal might carry the content of a file.
const RAW: [&str; 3] = ["content", "contents", "raw"];
/// A summary longer than this is a copy.
const MAX_TEXT: usize = 8_000;

#[derive(Clone, Copy)]
enum FieldShape {
    /// Something is said.
    Text,
    /// May be empty: the target itself has no path.
    PathText,
    Count,
    Share,
    Flag,
    Time,
    Category,
    Texts,
}

const OPTIONAL: [(&str, FieldShape); 10] = [
    ("hash", FieldShape::Text),
    ("scope", FieldShape::Text),
    ("confidence", FieldShape::Share),
    ("confidence_reason", FieldShape::Text),
    ("completeness", FieldShape::Share),
    ("notable", FieldShape::Flag),
    ("notable_reason", FieldShape::Text),
    ("notable_files", FieldShape::Texts),
    ("partial", FieldShape::Flag),
    ("partial_reason", FieldShape::Text),
];

/// One thing that is wrong with a proposed entry, as told to the model that proposed it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, thiserror::Error)]
#[error("{field}: {what}")]
pub struct EntryProblem {
    pub field: String,
    pub what: String,
}

/// Checks a proposed entry and returns everything that is wrong with it.
pub fn problems(kind: EntryKind, proposed: &Value) -> Vec<EntryProblem> {
    let Some(fields) = proposed.as_object() else {
        return vec![problem("entry", "must be a JSON object")];
    };
    let mut found = raw_content(fields);
    let required = kind.required();
    for (name, shape) in required {
        match fields.get(name) {
            None | Some(Value::Null) => found.push(problem(name, "is missing")),
            Some(value) => found.extend(misfit(name, shape, value)),
        }
    }
    for (name, value) in fields {
        if required.iter().any(|(known, _)| known == name) || RAW.contains(&name.as_str()) {
            continue;
        }
        match OPTIONAL.iter().find(|(known, _)| known == name) {
            Some((_, shape)) => found.extend(misfit(name, *shape, value)),
            None => found.push(problem(name, "is no field of such an entry")),
        }
    }
    found
}

fn problem(field: &str, what: impl Into<String>) -> EntryProblem {
    EntryProblem { field: field.to_owned(), what: what.into() }
}

fn raw_content(fields: &Map<String, Value>) -> Vec<EntryProblem> {
    let raw = fields.keys().filter(|name| RAW.contains(&name.as_str()));
    raw.map(|name| problem(name, "is raw content: keep a summary, the file keeps itself")).collect()
}

fn misfit(name: &str, shape: FieldShape, value: &Value) -> Option<EntryProblem> {
    let what = match (shape, value) {
        (FieldShape::Text, Value::String(text)) if text.trim().is_empty() => "must not be empty",
        (FieldShape::Text | FieldShape::PathText, Value::String(text)) if text.len() > MAX_TEXT => {
            "is too long for a summary: 8,000 bytes are the limit"
        }
        (FieldShape::Text | FieldShape::PathText, Value::String(_)) => return None,
        (FieldShape::Text | FieldShape::PathText, _) => "must be text",
        (FieldShape::Count, value) if value.as_u64().is_some() => return None,
        (FieldShape::Count, _) => "must be a whole number from 0 on",
        (FieldShape::Share, value) => match value.as_f64() {
            Some(share) if (0.0..=1.0).contains(&share) => return None,
            _ => "must be a number from 0 to 1",
        },
        (FieldShape::Flag, Value::Bool(_)) => return None,
        (FieldShape::Flag, _) => "must be true or false",
        (FieldShape::Time, Value::String(text)) if text.parse::<Timestamp>().is_ok() => {
            return None;
        }
        (FieldShape::Time, _) => "must be a time such as 2026-01-31T12:00:00Z",
        (FieldShape::Category, value)
            if serde_json::from_value::<Category>(value.clone()).is_ok() =>
        {
            return None;
        }
        (FieldShape::Category, _) => {
            "must be one of source, config, data, document, media, archive, unknown"
        }
        (FieldShape::Texts, Value::Array(all)) if all.iter().all(is_short_text) => return None,
        (FieldShape::Texts, _) => "must be a list of short texts",
    };
    Some(problem(name, what))
}

fn is_short_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.len() <= MAX_TEXT)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn file() -> Value {
        json!({
            "path": "src/lib.rs", "relative_path": "lib.rs", "size_bytes": 12,
            "category": "source", "summary": "the door", "cached_at": "2026-01-02T03:04:05Z",
        })
    }

    fn directory() -> Value {
        json!({
            "path": "src", "relative_path": "", "child_count": 3,
            "dominant_category": "source", "summary": "all of it",
            "cached_at": "2026-01-02T03:04:05Z",
        })
    }

    #[track_caller]
    fn check(kind: EntryKind, name: &str, value: Value, expected: &[&str]) {
        let mut entry = if kind == EntryKind::File { file() } else { directory() };
        entry[name] = value;
        let found: Vec<String> =
            problems(kind, &entry).iter().map(EntryProblem::to_string).collect();
        assert_eq!(found, expected, "{name}");
    }

    #[test]
    fn a_whole_entry_is_taken() {
        assert_eq!(problems(EntryKind::File, &file()), []);
        assert_eq!(problems(EntryKind::Directory, &directory()), []);
        check(EntryKind::File, "confidence", json!(1), &[]);
        check(EntryKind::File, "notable_files", json!(["a", "b"]), &[]);
    }

    #[test]
    fn every_required_field_is_required() {
        for kind in EntryKind::ALL {
            for (name, _) in kind.required() {
                check(kind, name, Value::Null, &[&format!("{name}: is missing")]);
            }
        }
        assert_eq!(problems(EntryKind::File, &json!([])).len(), 1);
    }

    #[test]
    fn raw_content_is_refused_whatever_its_name() {
        for name in RAW {
            let told = format!("{name}: is raw content: keep a summary, the file keeps itself");
            check(EntryKind::File, name, json!("fn main() {}"), &[&told]);
        }
        check(
            EntryKind::File,
            "text",
            json!("fn main() {}"),
            &["text: is no field of such an entry"],
        );
        let copy = "fn main() {}\n".repeat(1000);
        check(
            EntryKind::File,
            "summary",
            json!(copy),
            &["summary: is too long for a summary: 8,000 bytes are the limit"],
        );
    }

    #[test]
    fn what_has_the_wrong_shape_is_refused() {
        check(
            EntryKind::File,
            "confidence",
            json!(1.01),
            &["confidence: must be a number from 0 to 1"],
        );
        check(
            EntryKind::File,
            "completeness",
            json!("0.5"),
            &["completeness: must be a number from 0 to 1"],
        );
        check(
            EntryKind::File,
            "size_bytes",
            json!(-1),
            &["size_bytes: must be a whole number from 0 on"],
        );
        check(EntryKind::File, "summary", json!("  "), &["summary: must not be empty"]);
        check(
            EntryKind::Directory,
            "size_bytes",
            json!(1),
            &["size_bytes: is no field of such an entry"],
        );
        check(
            EntryKind::File,
            "cached_at",
            json!("yesterday"),
            &["cached_at: must be a time such as 2026-01-31T12:00:00Z"],
        );
        check(EntryKind::File, "partial", json!("yes"), &["partial: must be true or false"]);
    }

    proptest! {
        #[test]
        fn a_share_is_taken_exactly_from_0_to_1(share in -2.0_f64..3.0) {
            for name in ["confidence", "completeness"] {
                let mut entry = file();
                entry[name] = json!(share);
                let taken = problems(EntryKind::File, &entry).is_empty();
                prop_assert_eq!(taken, (0.0..=1.0).contains(&share));
            }
        }
    }
}
