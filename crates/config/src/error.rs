//! What is wrong with a layer, and where.

use std::fmt;

use crate::SettingsOrigin;
use crate::environment::variable;

/// Both count from one; a column is a character.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Position {
    /// Returns where the byte at `offset` of `text` is.
    pub fn of(text: &str, offset: usize) -> Self {
        let before = &text[..text.floor_char_boundary(offset)];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        Self {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// The lines of a text, to find many positions in it without counting from the start each time.
pub(crate) struct TextLines<'t> {
    text: &'t str,
    /// Where each line starts.
    starts: Vec<usize>,
}

impl<'t> TextLines<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(end, _)| end + 1)).collect();
        Self { text, starts }
    }

    /// Returns what [`Position::of`] returns.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line - 1];
        Position { line, column: self.text[start..offset].chars().count() + 1 }
    }
}

/// Where a value was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingPlace {
    pub origin: SettingsOrigin,
    /// Nothing where the origin is a single value.
    pub position: Option<Position>,
}

impl SettingPlace {
    pub(crate) fn new(origin: &SettingsOrigin, text: &str, offset: Option<usize>) -> Self {
        Self::within(origin, offset, |offset| Position::of(text, offset))
    }

    /// Like [`Self::new`], in a text whose lines are known.
    pub(crate) fn in_lines(
        origin: &SettingsOrigin,
        lines: &TextLines<'_>,
        offset: Option<usize>,
    ) -> Self {
        Self::within(origin, offset, |offset| lines.position(offset))
    }

    fn within(
        origin: &SettingsOrigin,
        offset: Option<usize>,
        position: impl FnOnce(usize) -> Position,
    ) -> Self {
        let is_file = !matches!(origin, SettingsOrigin::Env(_) | SettingsOrigin::Flag(_));
        let position = offset.filter(|_| is_file).map(position);
        Self { origin: origin.clone(), position }
    }
}

impl fmt::Display for SettingPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.origin.fmt(f)?;
        match self.position {
            Some(Position { line, column }) => write!(f, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

/// Why the settings cannot be used. Always the user's to mend, in the place that is named.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{place}: this is not TOML: {}", source.message().trim().replace('\n', ", "))]
    Syntax {
        place: SettingPlace,
        #[source]
        source: Box<toml_edit::TomlError>,
    },
    #[error("{}", unknown(place, key, nearest.as_deref()))]
    UnknownKey { place: SettingPlace, key: String, nearest: Option<String> },
    #[error("{place}: {key} must be {expected}, not {found}")]
    WrongType { place: SettingPlace, key: String, expected: &'static str, found: &'static str },
    #[error("{place}: {key} {problem}")]
    BadValue { place: SettingPlace, key: String, problem: String },
}

fn unknown(place: &SettingPlace, key: &str, nearest: Option<&str>) -> String {
    if let SettingsOrigin::Env(name) = &place.origin {
        let meant = nearest.map(|key| format!("; did you mean {}?", variable(key)));
        return format!("{name} is not a setting{}", meant.unwrap_or_default());
    }
    let meant = nearest.map(|key| format!("; did you mean {key}?"));
    format!("{place}: there is no setting {key}{}", meant.unwrap_or_default())
}

impl ConfigError {
    pub fn place(&self) -> &SettingPlace {
        match self {
            Self::Syntax { place, .. }
            | Self::UnknownKey { place, .. }
            | Self::WrongType { place, .. }
            | Self::BadValue { place, .. } => place,
        }
    }

    /// Returns the setting in question; a text that is no TOML has none.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Syntax { .. } => None,
            Self::UnknownKey { key, .. }
            | Self::WrongType { key, .. }
            | Self::BadValue { key, .. } => Some(key),
        }
    }

    pub(crate) fn moved_to(mut self, origin: SettingsOrigin) -> Self {
        match &mut self {
            Self::Syntax { place, .. }
            | Self::UnknownKey { place, .. }
            | Self::WrongType { place, .. }
            | Self::BadValue { place, .. } => *place = SettingPlace { origin, position: None },
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_lines_give_the_same_positions() {
        for text in ["", "\n", "a = 1\nb = \"ü\"\r\n\n[c]\n", "no end"] {
            let lines = TextLines::of(text);
            for offset in 0..text.len() + 2 {
                let expected = Position::of(text, offset);
                assert_eq!(lines.position(offset), expected, "{offset} of {text:?}");
            }
        }
    }
}
