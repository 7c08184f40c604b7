//! Where verified work was asked to be, and where it is.

use schemars::JsonSchema;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use spore_model::{CommitId, RunId, StepKey};
use spore_pipeline::Done;
use spore_store::{Journal, JournalError};

/// What to do with a verified change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Apply {
    /// It is the run's own branch.
    #[default]
    Branch,
    /// It comes into the branch that is checked out.
    Merge,
    /// It is a file that `git am` takes.
    Patch,
    /// A ref of Spore's keeps it, and that is all.
    None,
}

impl Apply {
    pub const ALL: [Self; 4] = [Self::Branch, Self::Merge, Self::Patch, Self::None];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Merge => "merge",
            Self::Patch => "patch",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Apply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A way to apply work that is not on the list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no way to apply verified work: it is branch, merge, patch or none")]
pub struct UnknownApply(String);

impl FromStr for Apply {
    type Err = UnknownApply;

    fn from_str(text: &str) -> std::result::Result<Self, UnknownApply> {
        Self::ALL
            .into_iter()
            .find(|way| way.as_str() == text)
            .ok_or_else(|| UnknownApply(text.chars().take(80).collect()))
    }
}

/// How [`Applied::what`] begins where a merge was asked for and could not be.
pub const NOT_MERGED: &str = "not merged: ";

/// What became of a verified commit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Applied {
    pub how: Apply,
    /// Whether the work is where it was asked to be.
    pub done: bool,
    /// One line for people.
    pub what: String,
    /// What to type next, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The run's branch, or the user's that the work came into; short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The tip of that branch: the run's commit, or the merge of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// The patch, from the project's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}

impl Applied {
    /// Returns what is on record of a run's own work; nothing where it was not applied yet.
    pub fn of(journal: &dyn Journal, run: RunId) -> Result<Option<Self>, JournalError> {
        let step = journal.step(run, &StepKey::apply())?.and_then(|step| step.result);
        Ok(match step.and_then(|done| serde_json::from_value(done).ok()) {
            Some(Done::Applied { record }) => serde_json::from_value(record).ok(),
            _ => None,
        })
    }

    /// Returns the commit to name to people: that of the branch the work came into, which is another
    /// than the one `made` where the branch had moved on.
    pub fn named<'a>(&'a self, made: &'a CommitId) -> &'a CommitId {
        self.commit.as_ref().unwrap_or(made)
    }

    /// Adds to a reason that the work is not where it was asked to be.
    pub fn added_to(&self, reason: &str) -> String {
        match self.done {
            true => reason.to_owned(),
            false => format!("{reason}; {}", self.what),
        }
    }
}
