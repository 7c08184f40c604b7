//! Which agents may lead a layer: those whose own tools can all be taken away, so that what is left
//! is the layer below.

use spore_agent::api::is_own_loop;
use spore_model::Fault;

use crate::{Error, Result};

/// Why an agent may not lead, by what the conformance suite knows of it; nothing where it may.
pub fn cannot_lead(backend: &str) -> Option<&'static str> {
    match backend {
        // `--tools` offers none of its own, and what is not offered is refused.
        "claude" => None,
        // It has the tools that it is served.
        own if is_own_loop(own) => None,
        // It does what its scenario says, and its scenario is the user's.
        "replay" => None,
        "command" => Some("what a command does with its tools is its own affair"),
        _ => Some("its own tools are only asked for, and cannot be taken away"),
    }
}

/// Refuses a layer in agent mode on an agent that keeps tools of its own.
pub(crate) fn refuse_unless_leads(backend: &str) -> Result<()> {
    let Some(why) = cannot_lead(backend) else { return Ok(()) };
    let name = spore_plain::word(backend, 40);
    Err(Error::new(Fault::Missing, format!("{name} cannot lead a layer: {why}"))
        .hint("`--backend claude` or `--backend api` can; `--mode tool` needs no session"))
}
