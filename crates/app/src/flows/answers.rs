//! What people say to a flow that waits.

use spore_model::{Fault, Usd};

use super::questions::PersonAnswer;
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

/// What a person adds to a flow that goes on.
#[derive(Default)]
pub(crate) struct MoreSaid {
    pub(crate) budget: Option<Usd>,
    pub(crate) answer: Option<PersonAnswer>,
}
