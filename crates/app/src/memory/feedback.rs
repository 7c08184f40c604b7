//! `spore memory feedback`: what a person says about a line, as an event that a scan can read.

use serde::Serialize;
use serde_json::json;
use spore_memory::rules::FEEDBACK;
use spore_model::{Event, Fault};

use crate::events::append::{NewEvent, append_event};
use crate::memory::line_status::why_line;
use crate::session::within::refuse_within;
use crate::{Error, Result, Surroundings, Workspace};

/// What a line did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineDeed {
    Helped,
    /// It said the wrong thing.
    Failed,
    /// It said the right thing, and the agent did not go by it.
    Missed,
}

/// What a person says about a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineFeedback {
    /// The line as it was typed: L3, a hash, its words.
    pub line: String,
    pub deed: LineDeed,
    pub why: String,
}

/// What was put on the spine.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FeedbackGiven {
    pub hash: String,
    pub text: String,
    pub event: Event,
}

/// Says for a person what a line did. It becomes evidence with the next scan.
pub fn give_feedback(around: &Surroundings, said: &LineFeedback) -> Result<FeedbackGiven> {
    if said.why.trim().is_empty() {
        return Err(Error::new(Fault::Usage, "the reason is empty")
            .hint("say what happened: spore memory feedback L3 failed \"we use just now\""));
    }
    let line = why_line(around, &said.line)?;
    let workspace = Workspace::find(around)?;
    let config = workspace.config(around, &[])?;
    refuse_within(around, &workspace.journal(&config)?, "say what a line did")?;
    let (activation, root_cause) = match said.deed {
        LineDeed::Helped => ("activated", None),
        LineDeed::Failed => ("missed", Some("direction-wrong")),
        LineDeed::Missed => ("missed", Some("recall-miss")),
    };
    let mut payload = json!({ "line": line.hash, "activation": activation, "note": said.why });
    if let Some(cause) = root_cause {
        payload["root_cause"] = cause.into();
    }
    let event = append_event(
        around,
        &NewEvent {
            kind: "human".to_owned(),
            what: FEEDBACK.to_owned(),
            payload: Some(payload.to_string().into_bytes()),
            ..NewEvent::default()
        },
    )?;
    Ok(FeedbackGiven { hash: line.hash.to_string(), text: line.text, event })
}
