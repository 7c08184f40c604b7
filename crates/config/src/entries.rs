//! Single values by their keys, each of the kind that is asked for.

use std::collections::BTreeMap;
use std::time::Duration;

use spore_model::Usd;

use crate::error::{ConfigError, SettingPlace};
use crate::{SettingEntry, SettingsOrigin, Value, parse_duration};

/// Reads entries by key, and says where a bad one was written.
#[derive(Clone, Copy)]
pub(crate) struct Entries<'a>(pub(crate) &'a BTreeMap<String, SettingEntry>);

impl<'a> Entries<'a> {
    /// Reads every member of the open table `prefix`.
    pub(crate) fn members<T>(
        self,
        prefix: &str,
        read: impl Fn(Self, &str) -> Result<T, ConfigError>,
    ) -> Result<BTreeMap<String, T>, ConfigError> {
        let prefix = format!("{prefix}.");
        let mut members = BTreeMap::new();
        let rest = self.0.keys().filter_map(|key| key.strip_prefix(&prefix));
        for (name, _) in rest.filter_map(|rest| rest.rsplit_once('.')) {
            if !members.contains_key(name) {
                members.insert(name.to_owned(), read(self, &format!("{prefix}{name}"))?);
            }
        }
        Ok(members)
    }

    pub(crate) fn value(self, key: &str) -> Result<&'a Value, ConfigError> {
        match self.0.get(key) {
            Some(entry) => Ok(&entry.value),
            None => Err(self.bad(key, "is missing")),
        }
    }

    /// Blames the value at `key`, or its neighbours if there is none.
    pub(crate) fn bad(self, key: &str, problem: impl Into<String>) -> ConfigError {
        let table = &key[..key.rfind('.').map_or(0, |dot| dot + 1)];
        let neighbour = || self.0.iter().find(|(other, _)| other.starts_with(table));
        let place = self.0.get(key).or_else(|| neighbour().map(|(_, entry)| entry));
        let place = place
            .map_or(SettingPlace { origin: SettingsOrigin::Defaults, position: None }, |entry| {
                entry.place.clone()
            });
        ConfigError::BadValue { place, key: key.to_owned(), problem: problem.into() }
    }

    pub(crate) fn text(self, key: &str) -> Result<String, ConfigError> {
        match self.value(key)? {
            Value::Text(text) => Ok(text.clone()),
            _ => Err(self.bad(key, "must be text")),
        }
    }

    pub(crate) fn word(self, key: &str, known: &[&str]) -> Result<String, ConfigError> {
        let word = self.text(key)?;
        if known.contains(&word.as_str()) {
            return Ok(word);
        }
        let problem = match known {
            [only] => format!("must be {only:?}, not {word:?}"),
            known => format!("must be one of {}, not {word:?}", known.join(", ")),
        };
        Err(self.bad(key, problem))
    }

    pub(crate) fn flag(self, key: &str) -> Result<bool, ConfigError> {
        match self.value(key)? {
            Value::Bool(flag) => Ok(*flag),
            _ => Err(self.bad(key, "must be true or false")),
        }
    }

    pub(crate) fn list(self, key: &str) -> Result<Vec<String>, ConfigError> {
        match self.value(key)? {
            Value::List(list) => Ok(list.clone()),
            _ => Err(self.bad(key, "must be a list of texts")),
        }
    }

    /// Returns a list that may be left out; it is empty then.
    pub(crate) fn list_if_set(self, key: &str) -> Result<Vec<String>, ConfigError> {
        if self.0.contains_key(key) { self.list(key) } else { Ok(Vec::new()) }
    }

    pub(crate) fn time(self, key: &str) -> Result<Duration, ConfigError> {
        parse_duration(&self.text(key)?)
            .map_err(|error| self.bad(key, format!("is wrong: {error}")))
    }

    pub(crate) fn integer<N: TryFrom<i64>>(self, key: &str) -> Result<N, ConfigError> {
        match self.value(key)? {
            Value::Integer(number) => N::try_from(*number)
                .map_err(|_| self.bad(key, format!("is out of range: {number}"))),
            _ => Err(self.bad(key, "must be a whole number")),
        }
    }

    pub(crate) fn count(self, key: &str) -> Result<u32, ConfigError> {
        self.integer(key)
    }

    pub(crate) fn positive(self, key: &str) -> Result<u32, ConfigError> {
        match self.integer(key)? {
            0 => Err(self.bad(key, "must be at least 1")),
            count => Ok(count),
        }
    }

    pub(crate) fn bytes(self, key: &str) -> Result<u64, ConfigError> {
        self.integer(key)
    }

    pub(crate) fn number(self, key: &str) -> Result<f64, ConfigError> {
        match self.value(key)? {
            Value::Float(number) => Ok(*number),
            _ => Err(self.bad(key, "must be a number")),
        }
    }

    pub(crate) fn fraction(self, key: &str) -> Result<f64, ConfigError> {
        let number = self.number(key)?;
        if (0.0..=1.0).contains(&number) {
            Ok(number)
        } else {
            Err(self.bad(key, "must be from 0 to 1"))
        }
    }

    /// Reads a part of something, which is more than nothing and at most all of it.
    pub(crate) fn share(self, key: &str) -> Result<f64, ConfigError> {
        match self.fraction(key)? {
            0.0 => Err(self.bad(key, "must be more than 0")),
            share => Ok(share),
        }
    }

    pub(crate) fn money(self, key: &str) -> Result<Usd, ConfigError> {
        Usd::from_dollars(self.number(key)?)
            .ok_or_else(|| self.bad(key, "is not an amount of money"))
    }

    pub(crate) fn price(self, key: &str) -> Result<f64, ConfigError> {
        self.money(key).map(Usd::as_dollars)
    }
}
