//! Who races, as a person types it.

use std::str::FromStr;

/// Who races, and whether the first that holds wins or the best of all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RaceField {
    pub best: bool,
    /// Agents by name.
    names: Vec<String>,
    /// So many of the usual one.
    count: usize,
}

/// More at once say nothing that fewer do not, and each is paid.
const MOST: usize = 8;

/// What names no field of racers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadRace {
    #[error("a race has two racers or more: `claude,codex`, or `3` of the usual agent")]
    TooFew,
    #[error("{0} racers are more than {MOST}")]
    TooMany(usize),
}

impl RaceField {
    /// Returns the agent of each racer; nothing for the usual one.
    pub(super) fn backends(&self) -> Vec<Option<String>> {
        let named = self.names.iter().cloned().map(Some);
        named.chain(std::iter::repeat_n(None, self.count)).collect()
    }
}

impl FromStr for RaceField {
    type Err = BadRace;

    /// Reads `claude,codex`, `3`, or either with `best` before it; `best` alone is two.
    fn from_str(text: &str) -> Result<Self, BadRace> {
        let mut field = Self { best: false, names: Vec::new(), count: 0 };
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word.parse::<usize>() {
                Ok(count) => field.count = field.count.saturating_add(count),
                Err(_) if word == "best" => field.best = true,
                Err(_) => field.names.push(word.to_owned()),
            }
        }
        if field.best && field.names.is_empty() && field.count == 0 {
            field.count = 2;
        }
        match field.names.len().saturating_add(field.count) {
            0 | 1 => Err(BadRace::TooFew),
            many if many > MOST => Err(BadRace::TooMany(many)),
            _ => Ok(field),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_races_is_read_from_names_and_numbers() {
        let told = |text: &str| match text.parse::<RaceField>() {
            Ok(field) => {
                let names = field.backends().into_iter();
                let names: Vec<String> = names.map(|name| name.unwrap_or("-".into())).collect();
                format!("{}{}", if field.best { "best of " } else { "" }, names.join(" "))
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(told("claude,codex"), "claude codex");
        assert_eq!(told(" claude , claude "), "claude claude");
        assert_eq!(told("3"), "- - -");
        assert_eq!(told("codex,2"), "codex - -");
        assert_eq!(told("best"), "best of - -");
        assert_eq!(told("best,claude,codex"), "best of claude codex");
        for few in ["", "1", "claude", "best,1", ","] {
            assert!(told(few).starts_with("a race has two"), "{few}");
        }
        assert_eq!(told("9"), "9 racers are more than 8");
        assert!(told("99999999999999999999,99999999999999999999").contains(' '));
    }
}
