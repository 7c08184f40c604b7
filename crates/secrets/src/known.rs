//! Values that are known to be secret, found and struck out of any text.
//!
//! A key of one's own making has no shape that could be recognised. But the user's environment
//! and the files in which programs keep their credentials say what it is, and a value that is
//! known needs no guessing. [`crate::credentials`] says which values those are; here they are
//! looked for, all of them in one pass, as they are and in the encodings that a program puts
//! them into without meaning to: JSON strings, URLs, base64.
//!
//! A value that the project's base holds already is public, and a change may repeat it. Asking
//! the base costs a look through all its files, so it is asked about a value only when that
//! value was found somewhere, and once.
//!
//! Not stopped: an agent that wants a value to pass, and cuts it in two or encodes it in a way
//! of its own. This guards against accidents, the sandbox against intent.

mod finder;
mod forms;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use finder::Finder;

/// Shorter values are words that would be found everywhere.
pub const SHORTEST_VALUE: usize = 12;

/// A value that must not get out, and what it is called where it is struck.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownValue {
    pub name: String,
    pub value: String,
}

impl KnownValue {
    pub fn new(name: &str, value: &str) -> Self {
        // The mark stands inside of JSON strings and paths.
        let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
        Self { name: name.chars().filter(plain).collect(), value: value.to_owned() }
    }
}

/// Never shows the value: what is printed for debugging ends up in logs.
impl fmt::Debug for KnownValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownValue").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Says whether a value is public already.
type IsPublic = dyn Fn(&str) -> bool + Send + Sync;

/// All values that are known to be secret. Cheap to clone.
#[derive(Clone, Default)]
pub struct KnownSecrets(Option<Arc<Table>>);

struct Table {
    values: Vec<TableValue>,
    /// Finds each form of each value.
    finder: Finder,
    /// Whose each form is.
    owners: Vec<usize>,
    is_public: Option<Arc<IsPublic>>,
}

struct TableValue {
    known: KnownValue,
    mark: String,
    is_public: OnceLock<bool>,
}

impl fmt::Debug for KnownSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().flat_map(|table| &table.values).map(|value| &value.known.name);
        f.debug_tuple("KnownSecrets").field(&names.collect::<Vec<_>>()).finish()
    }
}

impl KnownSecrets {
    /// Takes up `values`; those that are too short are left out.
    pub fn new(values: impl IntoIterator<Item = KnownValue>) -> Self {
        Self::table(values, None)
    }

    /// Like [`Self::new`]; a value that `is_public` is no secret. It is asked about a value that
    /// was found somewhere, at most once.
    pub fn unless(
        values: impl IntoIterator<Item = KnownValue>,
        is_public: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::table(values, Some(Arc::new(is_public)))
    }

    /// Returns these and `more`.
    #[must_use]
    pub fn with(&self, more: impl IntoIterator<Item = KnownValue>) -> Self {
        let values = || self.0.iter().flat_map(|table| &table.values);
        let is_new = |value: &KnownValue| !values().any(|one| one.known.value == value.value);
        let more: Vec<KnownValue> = more.into_iter().filter(is_new).collect();
        if more.is_empty() {
            return self.clone();
        }
        let is_public = self.0.as_ref().and_then(|table| table.is_public.clone());
        Self::table(values().map(|value| value.known.clone()).chain(more), is_public)
    }

    fn table(
        values: impl IntoIterator<Item = KnownValue>,
        is_public: Option<Arc<IsPublic>>,
    ) -> Self {
        let mut taken = BTreeSet::new();
        let values: Vec<TableValue> = values
            .into_iter()
            .filter(|known| {
                known.value.len() >= SHORTEST_VALUE && taken.insert(known.value.clone())
            })
            .map(|known| {
                let mark = format!("[secret {}]", known.name);
                TableValue { known, mark, is_public: OnceLock::new() }
            })
            .collect();
        let (mut forms, mut owners) = (Vec::new(), Vec::new());
        let mut seen = BTreeSet::new();
        for (index, value) in values.iter().enumerate() {
            for form in forms::forms(&value.known.value) {
                if seen.insert(form.clone()) {
                    forms.push(form);
                    owners.push(index);
                }
            }
        }
        if forms.is_empty() {
            return Self(None);
        }
        let finder = Finder::new(forms);
        Self(Some(Arc::new(Table { values, finder, owners, is_public })))
    }

    /// Returns whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the names of the secrets that a text holds, each once.
    pub fn names_in(&self, text: &[u8]) -> Vec<&str> {
        let Some(table) = &self.0 else { return Vec::new() };
        let found: BTreeSet<usize> =
            table.places(text).into_iter().map(|(_, value)| value).collect();
        found.into_iter().map(|value| table.values[value].known.name.as_str()).collect()
    }

    /// Returns whether a text holds a secret.
    pub fn are_in(&self, text: &[u8]) -> bool {
        self.0.as_ref().is_some_and(|table| !table.places(text).is_empty())
    }

    /// Returns `text` with a mark in the place of each secret. Almost always that is `text`.
    pub fn strike<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.strike_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Forms and marks are whole characters.
            Cow::Owned(bytes) => match String::from_utf8(bytes) {
                Ok(struck) => Cow::Owned(struck),
                Err(error) => Cow::Owned(String::from_utf8_lossy(error.as_bytes()).into_owned()),
            },
        }
    }

    /// Like [`Self::strike`], of text that may be no UTF-8.
    pub fn strike_bytes<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let Some(table) = &self.0 else { return Cow::Borrowed(text) };
        let places = table.places(text);
        if places.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(table.replace(text, &places))
    }

    /// Looks at a part of a stream that goes on.
    pub(crate) fn part(&self, text: &[u8]) -> StreamPart {
        let Some(table) = &self.0 else { return StreamPart { end: text.len(), struck: None } };
        let places = table.places(text);
        let begun = table.finder.begun(text);
        // A secret that is whole may still be the beginning of a longer one.
        let crossing = places.iter().find(|(place, _)| place.end > begun);
        let end = crossing.map_or(begun, |(place, _)| place.start.min(begun));
        let struck = (!places.is_empty()).then(|| table.replace(&text[..end], &places));
        StreamPart { end, struck }
    }

    /// Strikes the secrets of a text in its place.
    pub fn strike_in(&self, text: &mut String) {
        if let Cow::Owned(struck) = self.strike(text) {
            *text = struck;
        }
    }

    /// Strikes the secrets of every text of a document, names of fields included.
    pub fn strike_json(&self, value: &mut Value) {
        if self.is_empty() {
            return;
        }
        match value {
            Value::String(text) => self.strike_in(text),
            Value::Array(all) => all.iter_mut().for_each(|one| self.strike_json(one)),
            Value::Object(fields) => {
                if fields.keys().any(|name| self.are_in(name.as_bytes())) {
                    let renamed = std::mem::take(fields).into_iter();
                    fields
                        .extend(renamed.map(|(name, one)| (self.strike(&name).into_owned(), one)));
                }
                fields.values_mut().for_each(|one| self.strike_json(one));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// A part of a stream that was looked at.
pub(crate) struct StreamPart {
    /// Up to where nothing depends on what comes next.
    pub(crate) end: usize,
    /// What to put in the place of that, where it holds a secret.
    pub(crate) struck: Option<Vec<u8>>,
}

impl Table {
    /// Returns where secrets are, in order, and whose value each is; what overlaps is one.
    fn places(&self, text: &[u8]) -> Vec<(Range<usize>, usize)> {
        let mut found: Vec<(Range<usize>, usize)> = self
            .finder
            .find(text)
            .into_iter()
            .map(|(place, form)| (place, self.owners[form]))
            .filter(|(_, value)| !self.is_public(*value))
            .collect();
        found.sort_by_key(|(place, _)| (place.start, usize::MAX - place.end));
        found.dedup_by(|next, last| {
            let overlaps = next.0.start < last.0.end;
            if overlaps {
                last.0.end = last.0.end.max(next.0.end);
            }
            overlaps
        });
        found
    }

    fn is_public(&self, value: usize) -> bool {
        let Some(is_public) = &self.is_public else { return false };
        let value = &self.values[value];
        *value.is_public.get_or_init(|| is_public(&value.known.value))
    }

    fn replace(&self, text: &[u8], places: &[(Range<usize>, usize)]) -> Vec<u8> {
        let mut clean = Vec::with_capacity(text.len());
        let mut from = 0;
        for (place, value) in places.iter().filter(|(place, _)| place.end <= text.len()) {
            clean.extend_from_slice(&text[from..place.start]);
            clean.extend_from_slice(self.values[*value].mark.as_bytes());
            from = place.end;
        }
        clean.extend_from_slice(&text[from..]);
        clean
    }
}

#[cfg(test)]
mod tests;
