//! What people say to a flow that waits.

use serde::{Deserialize, Serialize};
use spore_model::{Fault, RunId, Usd};

use crate::{Error, Result};

/// What a person says to a flow that asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FlowAnswer {
    Words(String),
    Approve,
    Reject(String),
}

impl FlowAnswer {
    /// Returns what the session that asked is told.
    pub(crate) fn words(&self) -> Result<String> {
        let text = match self {
            Self::Words(text) => text.trim().to_owned(),
            Self::Approve => "Approved: go on.".to_owned(),
            Self::Reject(reason) => format!("Rejected: {}", reason.trim()),
        };
        if text.is_empty() {
            return Err(Error::new(Fault::Usage, "the answer is empty"));
        }
        Ok(text)
    }
}

/// What a person answered, and to whom: the session that asked, or the run that left a question.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct PersonAnswer {
    pub(crate) to: RunId,
    pub(crate) words: String,
}

/// What a person adds to a flow that goes on.
#[derive(Default)]
pub(crate) struct MoreSaid {
    pub(crate) budget: Option<Usd>,
    pub(crate) answer: Option<PersonAnswer>,
}
