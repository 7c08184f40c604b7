//! Puts layers of settings on top of each other.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;

use toml_edit::{Document, TableLike};

use crate::error::{ConfigError, SettingPlace, TextLines};
use crate::schema::{KnownKey, Schema, is_open, parts};
use crate::value::{self, ValueKind};
use crate::{BARE_DEFAULTS, Config, Value, parse_duration};

/// Where a layer comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingsOrigin {
    Defaults,
    User(PathBuf),
    Project(PathBuf),
    /// The name of a variable.
    Env(String),
    /// A flag or argument, as it is spelled.
    Flag(String),
}

impl fmt::Display for SettingsOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Defaults => f.write_str("defaults.toml"),
            Self::User(path) | Self::Project(path) => f.write_str(&spore_plain::path(path)),
            Self::Env(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// Settings from one place, as TOML.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingsLayer {
    pub origin: SettingsOrigin,
    pub text: String,
}

impl SettingsLayer {
    /// Sets one `key` to what a person typed without TOML's quotes. Whether there is such a
    /// key and whether it takes the value is found out when the layer is loaded.
    pub fn single(origin: SettingsOrigin, key: &str, typed: &str) -> Self {
        let kind = Schema::of_defaults().ok().and_then(|schema| schema.kind(key));
        let value = kind.unwrap_or(ValueKind::Text).literal(typed);
        Self { origin, text: format!("{} = {value}\n", written(key)) }
    }
}

/// One setting: its value, and where that was written.
#[derive(Clone, PartialEq, Debug)]
pub struct SettingEntry {
    pub value: Value,
    pub place: SettingPlace,
}

/// Whether a listing says where values come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origins {
    Shown,
    Hidden,
}

/// The settings in force.
#[derive(Clone, PartialEq, Debug)]
pub struct Loaded {
    pub config: Config,
    entries: BTreeMap<String, SettingEntry>,
}

impl Loaded {
    /// Returns every setting with its key, sorted by key.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &SettingEntry)> {
        self.entries.iter().map(|(key, entry)| (key.as_str(), entry))
    }

    /// Returns the setting `key`, or all settings in the table of that name. Neither is an
    /// error that blames `asked`.
    pub fn find(
        &self,
        key: &str,
        asked: SettingsOrigin,
    ) -> Result<Vec<(&str, &SettingEntry)>, ConfigError> {
        let below = format!("{key}.");
        let found: Vec<(&str, &SettingEntry)> =
            self.entries().filter(|(name, _)| *name == key || name.starts_with(&below)).collect();
        let schema = Schema::of_defaults()?;
        match schema.look_up(key) {
            KnownKey::Nothing => {
                let place = SettingPlace { origin: asked, position: None };
                let nearest = schema.nearest(key);
                Err(ConfigError::UnknownKey { place, key: key.to_owned(), nearest })
            }
            KnownKey::Leaf(_) | KnownKey::Table => Ok(found),
        }
    }

    pub fn origin(&self, key: &str) -> Option<&SettingsOrigin> {
        self.entries.get(key).map(|entry| &entry.place.origin)
    }

    /// Returns the settings as lines of TOML.
    pub fn show(&self, origins: Origins) -> String {
        let line = |(key, SettingEntry { value, place }): (&String, &SettingEntry)| match origins {
            Origins::Shown => format!("{} = {value}  # {place}\n", written(key)),
            Origins::Hidden => format!("{} = {value}\n", written(key)),
        };
        self.entries.iter().map(line).collect()
    }
}

/// A key as TOML wants it, with quotes where a name needs them.
fn written(key: &str) -> String {
    let parts = parts(key).into_iter().map(|part| toml_edit::Key::new(part).to_string());
    parts.collect::<Vec<_>>().join(".")
}

impl Config {
    /// Puts `layers` on the defaults, the last one on top, and reads what comes out.
    pub fn load(layers: &[SettingsLayer]) -> Result<Loaded, ConfigError> {
        let Defaults { entries, schema } = defaults()?;
        let mut entries = entries.clone();
        for layer in layers.iter().filter(|layer| layer.origin != SettingsOrigin::Defaults) {
            let mut reader = LayerReader::new(layer, Some(schema));
            reader.read()?;
            entries.extend(reader.entries);
        }
        Ok(Loaded { config: Self::from_entries(&entries)?, entries })
    }
}

impl Schema {
    pub(crate) fn of_defaults() -> Result<&'static Self, ConfigError> {
        Ok(&defaults()?.schema)
    }

    fn of_entries(defaults: &BTreeMap<String, SettingEntry>) -> Self {
        let kinds =
            defaults.iter().map(|(key, entry)| (key.clone(), ValueKind::of_default(&entry.value)));
        Self::new(kinds.collect())
    }
}

/// What the compiled-in text says.
struct Defaults {
    entries: BTreeMap<String, SettingEntry>,
    schema: Schema,
}

/// Reads the defaults, once a process: the smallest command asks for them several times, and
/// they were most of what it did.
fn defaults() -> Result<&'static Defaults, ConfigError> {
    static READ: OnceLock<Defaults> = OnceLock::new();
    if let Some(read) = READ.get() {
        return Ok(read);
    }
    let layer = SettingsLayer { origin: SettingsOrigin::Defaults, text: BARE_DEFAULTS.to_owned() };
    let mut reader = LayerReader::new(&layer, None);
    reader.read()?;
    let entries = reader.entries;
    Ok(READ.get_or_init(|| Defaults { schema: Schema::of_entries(&entries), entries }))
}

/// Reads the settings of one layer.
struct LayerReader<'a> {
    layer: &'a SettingsLayer,
    lines: TextLines<'a>,
    /// Nothing while the defaults are read, which define it.
    schema: Option<&'a Schema>,
    entries: BTreeMap<String, SettingEntry>,
}

impl<'a> LayerReader<'a> {
    fn new(layer: &'a SettingsLayer, schema: Option<&'a Schema>) -> Self {
        Self { layer, lines: TextLines::of(&layer.text), schema, entries: BTreeMap::new() }
    }

    fn place(&self, span: Option<std::ops::Range<usize>>) -> SettingPlace {
        SettingPlace::in_lines(&self.layer.origin, &self.lines, span.map(|span| span.start))
    }

    fn read(&mut self) -> Result<(), ConfigError> {
        let document = Document::parse(self.layer.text.as_str()).map_err(|source| {
            ConfigError::Syntax { place: self.place(source.span()), source: Box::new(source) }
        })?;
        self.table("", document.as_table())
    }

    fn table(&mut self, path: &str, table: &dyn TableLike) -> Result<(), ConfigError> {
        for (name, _) in table.iter() {
            let Some((name, item)) = table.get_key_value(name) else { continue };
            let key = match path {
                "" => name.get().to_owned(),
                path => format!("{path}.{}", name.get()),
            };
            match (self.known(&key, item.is_table_like()), item.as_table_like()) {
                (KnownKey::Table, Some(table)) => self.table(&key, table)?,
                (KnownKey::Leaf(kind), None) => self.leaf(key, kind, item)?,
                (KnownKey::Nothing, _) if is_open(path) => {
                    let key = format!("{path}.{name}");
                    let problem = "must have a name of letters, digits, - and _".to_owned();
                    let place = self.place(name.span());
                    return Err(ConfigError::BadValue { place, key, problem });
                }
                (KnownKey::Nothing, _) => {
                    let nearest = self.schema.and_then(|schema| schema.nearest(&key));
                    return Err(ConfigError::UnknownKey {
                        place: self.place(name.span()),
                        key,
                        nearest,
                    });
                }
                (KnownKey::Table, None) => return Err(self.wrong_type(key, "a table", item)),
                (KnownKey::Leaf(kind), Some(_)) => {
                    return Err(self.wrong_type(key, kind.describe(), item));
                }
            }
        }
        Ok(())
    }

    fn known(&self, key: &str, is_table: bool) -> KnownKey {
        match self.schema {
            Some(schema) => schema.look_up(key),
            None if is_table => KnownKey::Table,
            // The kind is what the value turns out to be.
            None => KnownKey::Leaf(ValueKind::Text),
        }
    }

    fn leaf(
        &mut self,
        key: String,
        kind: ValueKind,
        item: &toml_edit::Item,
    ) -> Result<(), ConfigError> {
        let place = self.place(item.span());
        let accept = |value| if self.schema.is_some() { kind.accept(value) } else { Some(value) };
        let Some(value) = value::read(item).and_then(accept) else {
            return Err(self.wrong_type(key, kind.describe(), item));
        };
        if let (ValueKind::Duration, Value::Text(text)) = (kind, &value)
            && let Err(error) = parse_duration(text)
        {
            return Err(ConfigError::BadValue {
                place,
                key,
                problem: format!("is wrong: {error}"),
            });
        }
        self.entries.insert(key, SettingEntry { value, place });
        Ok(())
    }

    fn wrong_type(
        &self,
        key: String,
        expected: &'static str,
        item: &toml_edit::Item,
    ) -> ConfigError {
        let found = value::describe(item);
        ConfigError::WrongType { place: self.place(item.span()), key, expected, found }
    }
}
