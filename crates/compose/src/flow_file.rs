//! Reads a flow file table by table, and remembers where each value stands.
//!
//! Errors are those of the settings, with the same file, line and column: a flow file is one
//! more file that people write by hand, and a key that is not known is an error here too.

use std::path::PathBuf;
use std::time::Duration;

use spore_config::{ConfigError, Position, SettingPlace, SettingsOrigin, distance, parse_duration};
use spore_model::Usd;
use toml_edit::{Item, Key, TableLike, Value};

/// The text of one flow file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowFile {
    pub path: PathBuf,
    pub text: String,
}

impl FlowFile {
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
    table: &'a dyn TableLike,
}

/// One key of a section.
pub(crate) struct FlowField<'a> {
    pub(crate) key: String,
    pub(crate) place: SettingPlace,
    item: &'a Item,
}

impl<'a> FlowSection<'a> {
    pub(crate) fn whole(file: &'a FlowFile, table: &'a dyn TableLike) -> Self {
        Self { file, path: String::new(), place: file.place(None), table }
    }

    fn full(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Refuses every key that is not in `known`.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), ConfigError> {
        for (key, _) in self.entries() {
            if !known.contains(&key.get()) {
                return Err(ConfigError::UnknownKey {
                    place: self.file.place(key.span()),
                    key: self.full(key.get()),
                    nearest: nearest(key.get(), known).map(|key| self.full(key)),
                });
            }
        }
        Ok(())
    }

    fn entries(&self) -> impl Iterator<Item = (&'a Key, &'a Item)> {
        let table = self.table;
        table.iter().filter_map(move |(name, _)| table.get_key_value(name))
    }

    pub(crate) fn field(&self, key: &str) -> Option<FlowField<'a>> {
        let (name, item) = self.table.get_key_value(key)?;
        Some(FlowField { key: self.full(key), place: self.file.place(name.span()), item })
    }

    /// Returns the tables below `key`, whose names people choose.
    pub(crate) fn named(&self, key: &str) -> Result<Vec<(String, FlowSection<'a>)>, ConfigError> {
        let Some(field) = self.field(key) else { return Ok(Vec::new()) };
        let Some(table) = field.item.as_table_like() else {
            return Err(field.wrong("a table"));
        };
        let below = FlowSection { file: self.file, path: field.key, place: field.place, table };
        let mut found = Vec::new();
        for (name, item) in below.entries() {
            let place = self.file.place(name.span());
            let path = below.full(name.get());
            refuse_bad_name(name.get(), &path, &place)?;
            let Some(table) = item.as_table_like() else {
                return Err(FlowField { key: path, place, item }.wrong("a table"));
            };
            found
                .push((name.get().to_owned(), FlowSection { file: self.file, path, place, table }));
        }
        Ok(found)
    }

    /// Returns the entries of a table of lists, in the order they are written.
    pub(crate) fn lists(
        &self,
        key: &str,
    ) -> Result<Vec<(PlacedValue<String>, FlowField<'a>)>, ConfigError> {
        let Some(field) = self.field(key) else { return Ok(Vec::new()) };
        let Some(table) = field.item.as_table_like() else {
            return Err(field.wrong("a table of lists"));
        };
        let below = FlowSection { file: self.file, path: field.key, place: field.place, table };
        let entries = below.entries().map(|(name, item)| {
            let place = self.file.place(name.span());
            let key = below.full(name.get());
            refuse_bad_name(name.get(), &key, &place)?;
            let spot = PlacedValue { value: name.get().to_owned(), place: place.clone() };
            Ok((spot, FlowField { key, place, item }))
        });
        entries.collect()
    }

    /// Returns the tables of the array `key`, however it is written.
    pub(crate) fn each(&self, key: &str) -> Result<Vec<FlowSection<'a>>, ConfigError> {
        let Some(field) = self.field(key) else { return Ok(Vec::new()) };
        let section = |index: usize, table: &'a dyn TableLike, span| FlowSection {
            file: self.file,
            path: format!("{}[{}]", field.key, index + 1),
            place: self.file.place(span),
            table,
        };
        if let Some(tables) = field.item.as_array_of_tables() {
            let all = tables.iter().enumerate();
            return Ok(all.map(|(index, one)| section(index, one, one.span())).collect());
        }
        let Some(array) = field.item.as_array() else {
            return Err(field.wrong("an array of tables"));
        };
        let all = array.iter().enumerate().map(|(index, value)| match value.as_inline_table() {
            Some(table) => Ok(section(index, table, value.span())),
            None => Err(field.wrong("an array of tables")),
        });
        all.collect()
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<PlacedValue<String>>, ConfigError> {
        let Some(field) = self.field(key) else { return Ok(None) };
        match field.item.as_str() {
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
        field.item.as_bool().map(Some).ok_or_else(|| field.wrong("true or false"))
    }

    pub(crate) fn count(&self, key: &str, least: u32) -> Result<Option<u32>, ConfigError> {
        let Some(field) = self.field(key) else { return Ok(None) };
        let number = field.item.as_integer().ok_or_else(|| field.wrong("a whole number"))?;
        match u32::try_from(number) {
            Ok(count) if count >= least => Ok(Some(count)),
            _ => Err(field.bad(format!("must be at least {least}"))),
        }
    }

    pub(crate) fn dollars(&self, key: &str) -> Result<Option<Usd>, ConfigError> {
        let Some(field) = self.field(key) else { return Ok(None) };
        let number = field.item.as_float().or_else(|| {
            let whole = field.item.as_integer().and_then(|whole| i32::try_from(whole).ok());
            whole.map(f64::from)
        });
        let number = number.ok_or_else(|| field.wrong("a number"))?;
        let amount = Usd::from_dollars(number).filter(|amount| *amount > Usd::ZERO);
        amount.map(Some).ok_or_else(|| field.bad("must be more than 0".to_owned()))
    }

    pub(crate) fn time(&self, key: &str) -> Result<Option<Duration>, ConfigError> {
        let Some(field) = self.field(key) else { return Ok(None) };
        let text = field.item.as_str().ok_or_else(|| field.wrong("a duration such as \"10m\""))?;
        match parse_duration(text) {
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
    fn texts(&self, file: &FlowFile) -> Result<Vec<PlacedValue<String>>, ConfigError> {
        let wrong = || self.wrong("a list of texts");
        let array = self.item.as_array().ok_or_else(wrong)?;
        let spot = |value: &Value| {
            let text = value.as_str().ok_or_else(wrong)?;
            Ok(PlacedValue { value: text.to_owned(), place: file.place(value.span()) })
        };
        array.iter().map(spot).collect()
    }

    pub(crate) fn bad(&self, problem: String) -> ConfigError {
        ConfigError::BadValue { place: self.place.clone(), key: self.key.clone(), problem }
    }

    fn wrong(&self, expected: &'static str) -> ConfigError {
        let found = match self.item {
            Item::None => "nothing",
            Item::Table(_) => "a table",
            Item::ArrayOfTables(_) => "an array of tables",
            Item::Value(value) => match value {
                Value::String(_) => "text",
                Value::Integer(_) => "a whole number",
                Value::Float(_) => "a number",
                Value::Boolean(_) => "true or false",
                Value::Datetime(_) => "a date",
                Value::Array(_) => "a list",
                Value::InlineTable(_) => "a table",
            },
        };
        let (place, key) = (self.place.clone(), self.key.clone());
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
