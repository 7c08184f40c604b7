//! What a task file's list of files was worth: which of the files that a change touched it named.

use serde::{Deserialize, Serialize};

use crate::{Run, RunKind};

/// Kept as the settings of a bounce's row, which needs none of its own.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ContextUse {
    /// How many files the coder's task file named.
    pub named: u32,
    /// The files that the change touched and that were there before it: a file that a change makes
    /// could not have been named.
    pub changed: Vec<FileUse>,
}

/// A file that a change touched.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileUse {
    pub path: String,
    /// Its place among the files that the task file named, the first being 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
}

impl ContextUse {
    /// More files of a change than this are not kept.
    const MOST: usize = 100;

    pub fn of(named: &[String], changed: impl IntoIterator<Item = String>) -> Self {
        let rank = |path: &String| {
            let at = named.iter().position(|named| named == path)?;
            u32::try_from(at + 1).ok()
        };
        let changed = changed.into_iter().take(Self::MOST);
        Self {
            named: u32::try_from(named.len()).unwrap_or(u32::MAX),
            changed: changed.map(|path| FileUse { rank: rank(&path), path }).collect(),
        }
    }

    /// Reads what the row of a bounce keeps; others have nothing.
    pub fn of_row(run: &Run) -> Option<Self> {
        match run.kind {
            RunKind::Bounce => serde_json::from_value(run.settings.clone()).ok(),
            _ => None,
        }
    }

    /// Returns the places of those files that were named.
    pub fn ranks(&self) -> impl Iterator<Item = u32> {
        self.changed.iter().filter_map(|file| file.rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_has_the_place_that_the_task_file_gave_it() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let used = ContextUse::of(&words(&["a", "b", "c"]), words(&["c", "x", "a"]));
        assert_eq!(used.named, 3);
        assert_eq!(used.ranks().collect::<Vec<_>>(), [3, 1]);
        let run = Run::begin(
            crate::RunId::from_parts(0, 1),
            RunKind::Bounce,
            "",
            crate::Timestamp::from_millis(0),
        );
        assert_eq!(ContextUse::of_row(&run), None);
        let kept = Run { settings: serde_json::to_value(&used).unwrap(), ..run };
        assert_eq!(ContextUse::of_row(&kept), Some(used));
    }

    #[test]
    fn a_huge_change_keeps_a_bounded_list() {
        let many = (0..1000).map(|number| number.to_string());
        assert_eq!(ContextUse::of(&[], many).changed.len(), ContextUse::MOST);
    }
}
