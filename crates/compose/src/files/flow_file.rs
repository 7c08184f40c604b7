//! Reads a flow file table by table, and remembers where each value stands.
//!
//! Errors are those of the settings, with the same file, line and column: a flow file is one
//! more file that people write by hand, and a key that is not known is an error here too.

use std::path::PathBuf;
use std::time::Duration;

use spore_config::{ConfigError, Position, SettingPlace, SettingsOrigin, distance, parse_duration};
use spore_model::Usd;
use toml_edit::Document;

use crate::files::flow_json;
use crate::files::flow_node::{FlowEntry, FlowNode, FlowValue};

/// The text of one flow file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowFile {
    pub path: PathBuf,
    pub text: String,
}

impl FlowFile {
    pub(crate) fn is_json(&self) -> bool {
        self.path.extension().is_some_and(|end| end == "json")
    }

    /// Reads it by the format that its name says.
    pub(crate) fn node(&self) -> Result<FlowNode, ConfigError> {
        if self.is_json() {
            let read = flow_json::read(&self.text).map_err(|(at, problem)| ConfigError::BadValue {
                place: self.place(Some(at..at)),
                key: "this".to_owned(),
                problem: format!("is not JSON: {problem}"),
            });
            // By which editors know what may stand in it.
            return read.map(|root| root.without("$schema"));
        }
        let document = Document::parse(self.text.as_str()).map_err(|source| {
            ConfigError::Syntax { place: self.place(source.span()), source: Box::new(source) }
        })?;
        Ok(FlowNode::of_toml(&document))
    }

    pub(crate) fn place(&self, span: Option<std::ops::Range<usize>>) -> SettingPlace {
        let position = span.map(|span| Position::of(&self.text, span.start));
        SettingPlace { origin: SettingsOrigin::Project(self.path.clone()), position }
    }
}

/// A value and where it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PlacedValue<T> {
    pub(crate) value: T,
    pub(crate) place: SettingPlace,
}

/// One table of a flow file, under the name that errors give it.
pub(crate) struct FlowSection<'a> {
    file: &'a FlowFile,
    pub(crate) path: String,
    pub(crate) place: SettingPlace,
    table: &'a [FlowEntry],
}

/// One key of a section.
pub(crate) struct FlowField<'a> {
    pub(crate) key: String,
    pub(crate) place: SettingPlace,
    node: &'a FlowNode,
}

impl<'a> FlowSection<'a> {
    pub(crate) fn whole(file: &'a FlowFile, table: &'a [FlowEntry]) -> Self {
        Self { file, path: String::new(), place: file.place(None), table }
    }

    /// The same table under the name that it has in a set of flows.
    pub(crate) fn under(self, path: String) -> Self {
        Self { path, ..self }
    }

    fn full(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Refuses every key that is not in `known`.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), ConfigError> {
        for entry in self.table {
            if !known.contains(&entry.key.as_str()) {
                return Err(ConfigError::UnknownKey {
                    place: self.file.place(entry.span.clone()),
                    key: self.full(&entry.key),
                    nearest: nearest(&entry.key, known).map(|key| self.full(key)),
                });
            }
        }
        Ok(())
    }

    pub(crate) fn field(&self, key: &str) -> Option<FlowField<'a>> {
        let entry = self.table.iter().find(|entry| entry.key == key)?;
        Some(self.field_of(entry))
    }

    fn field_of(&self, entry: &'a FlowEntry) -> FlowField<'a> {
        let place = self.file.place(entry.span.clone());
        FlowField { key: self.full(&entry.key), place, node: &entry.node }
    }

    /// Returns the table that is the value of a field.
    fn below(&self, field: &FlowField<'a>) -> Option<FlowSection<'a>> {
        let (path, place) = (field.key.clone(), field.place.clone());
        Some(FlowSection { file: self.file, path, place, table: field.node.entries()? })
    }

    /// Returns the tables below `key`, whose names people choose.
    pub(crate) fn named(&self, key: &str) -> Result<Vec<(String, FlowSection<'a>)>, ConfigError> {
        let Some(field) = self.field(key) else { return Ok(Vec::new()) };
        let below = self.below(&field).ok_or_else(|| field.wrong("a table"))?;
        let mut found = Vec::new();
        for entry in below.table {
            let field = below.field_of(entry);
            refuse_bad_name(&entry.key, &field.key, &field.place)?;
            let section = below.below(&field).ok_or_else(|| field.wrong("a table"))?;
            found.push((entry.key.clone(), section));
        }
        Ok(found)
    }

    /// Returns the entries of a table of lists, in the order they are written.
    pub(crate) fn lists(
        &self,
        key: &str,
    ) -> Result<Vec<(PlacedValue<String>, FlowField<'a>)>, ConfigError> {
        let Some(field) = self.field(key) else { return Ok(Vec::new()) };
        let below = self.below(&field).ok_or_else(|| field.wrong("a table of lists"))?;
        let entries = below.table.iter().map(|entry| {
            let field = below.field_of(entry);
            refuse_bad_name(&entry.key, &field.key, &field.place)?;
            Ok((PlacedValue { value: entry.key.clone(), place: field.place.clone() }, field))
        });
        entries.collect()
    }

    /// Returns the table that a field of [`Self::lists`] is in place of a list.
    pub(crate) fn table_of(&self, field: &FlowField<'a>) -> Option<FlowSection<'a>> {
        self.below(field)
    }

    /// Returns the tables of the array `key`, however it is written.
    pub(crate) fn each(&self, key: &str) -> Result<Vec<FlowSection<'a>>, ConfigError> {
        let Some(field) = self.field(key) else { return Ok(Vec::new()) };
        let wrong = || field.wrong("an array of tables");
        let section = |(index, node): (usize, &'a FlowNode)| {
            let table = node.entries().ok_or_else(wrong)?;
            let path = format!("{}[{}]", field.key, index + 1);
            let place = self.file.place(node.span.clone());
            Ok(FlowSection { file: self.file, path, place, table })
        };
        field.node.list().ok_or_else(wrong)?.iter().enumerate().map(section).collect()
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<PlacedValue<String>>, ConfigError> {
        let Some(field) = self.field(key) else { return Ok(None) };
        match field.node.text() {
            Some(text) => Ok(Some(PlacedValue { value: text.to_owned(), place: field.place })),
            None => Err(field.wrong("text")),
        }
    }

    /// Returns a text that the section cannot do without.
    pub(crate) fn needed(&self, key: &str) -> Result<PlacedValue<String>, ConfigError> {
        self.text(key)?.ok_or_else(|| ConfigError::BadValue {
            place: self.place.clone(),
            key: self.path.clone(),
            problem: format!("needs {key}"),
        })
    }

    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, ConfigError> {
        let Some(field) = self.field(key) else { return Ok(None) };
        match field.node.value {
            FlowValue::Flag(flag) => Ok(Some(flag)),
            _ => Err(field.wrong("true or false")),
        }
    }

    pub(crate) fn count(&self, key: &str, least: u32) -> Result<Option<u32>, ConfigError> {
        let Some(field) = self.field(key) else { return Ok(None) };
        let FlowValue::Integer(number) = field.node.value else {
            return Err(field.wrong("a whole number"));
        };
        match u32::try_from(number) {
            Ok(count) if count >= least => Ok(Some(count)),
            _ => Err(field.bad(format!("must be at least {least}"))),
        }
    }

    pub(crate) fn dollars(&self, key: &str) -> Result<Option<Usd>, ConfigError> {
        let Some(field) = self.field(key) else { return Ok(None) };
        let number = match field.node.value {
            FlowValue::Float(number) => Some(number),
            FlowValue::Integer(whole) => i32::try_from(whole).ok().map(f64::from),
            _ => None,
        };
        let number = number.ok_or_else(|| field.wrong("a number"))?;
        let amount = Usd::from_dollars(number).filter(|amount| *amount > Usd::ZERO);
        amount.map(Some).ok_or_else(|| field.bad("must be more than 0".to_owned()))
    }

    pub(crate) fn time(&self, key: &str) -> Result<Option<Duration>, ConfigError> {
        let Some(field) = self.field(key) else { return Ok(None) };
        // A number is in seconds, as in the configs of other tools.
        let seconds = match field.node.value {
            FlowValue::Integer(seconds) => Some(format!("{seconds}s")),
            _ => field.node.text().map(str::to_owned),
        };
        let text = seconds.ok_or_else(|| field.wrong("a duration such as \"10m\""))?;
        match parse_duration(&text) {
            Ok(time) if time > Duration::ZERO => Ok(Some(time)),
            Ok(_) => Err(field.bad("must be more than nothing".to_owned())),
            Err(error) => Err(field.bad(format!("is wrong: {error}"))),
        }
    }

    pub(crate) fn texts(&self, key: &str) -> Result<Vec<PlacedValue<String>>, ConfigError> {
        match self.field(key) {
            Some(field) => field.texts(self.file),
            None => Ok(Vec::new()),
        }
    }

    /// Reads a list of texts that [`Self::lists`] found.
    pub(crate) fn texts_of(
        &self,
        field: &FlowField<'_>,
    ) -> Result<Vec<PlacedValue<String>>, ConfigError> {
        field.texts(self.file)
    }
}

impl FlowField<'_> {
    pub(crate) fn is_list(&self) -> bool {
        self.node.list().is_some()
    }

    fn texts(&self, file: &FlowFile) -> Result<Vec<PlacedValue<String>>, ConfigError> {
        let wrong = || self.wrong("a list of texts");
        let spot = |node: &FlowNode| {
            let text = node.text().ok_or_else(wrong)?;
            Ok(PlacedValue { value: text.to_owned(), place: file.place(node.span.clone()) })
        };
        self.node.list().ok_or_else(wrong)?.iter().map(spot).collect()
    }

    pub(crate) fn bad(&self, problem: String) -> ConfigError {
        ConfigError::BadValue { place: self.place.clone(), key: self.key.clone(), problem }
    }

    pub(crate) fn wrong(&self, expected: &'static str) -> ConfigError {
        let (place, key, found) = (self.place.clone(), self.key.clone(), self.node.kind());
        ConfigError::WrongType { place, key, expected, found }
    }
}

/// Names become parts of step keys and of file names.
pub(crate) fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    !text.is_empty() && text.len() <= 80 && text.bytes().all(plain)
}

pub(crate) fn refuse_bad_name(
    name: &str,
    key: &str,
    place: &SettingPlace,
) -> Result<(), ConfigError> {
    if is_name(name) {
        return Ok(());
    }
    let problem = "must have a name of at most 80 letters, digits, - and _".to_owned();
    Err(ConfigError::BadValue { place: place.clone(), key: key.to_owned(), problem })
}

/// Returns what was probably meant, if anything is near enough to be worth saying.
pub(crate) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let is_half = |known: &str| !word.is_empty() && known.starts_with(word);
    let far = |known: &'k str| if is_half(known) { 1 } else { distance(word, known) };
    let (far, nearest) = known.iter().map(|known| (far(known), *known)).min()?;
    (far <= (word.chars().count() / 3).max(2)).then_some(nearest)
}
