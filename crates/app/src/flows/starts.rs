//! What sessions may start: the commands that run sessions in a directory.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use spore_model::Fault;
use spore_tools::remote::Start;

use crate::base::error::bug;
use crate::base::starts::StartBounds;
use crate::base::surroundings::SessionStarter;
use crate::events::append::{APPEND, append_for_session};
use crate::{Error, Progress, Result, Surroundings, flows, run, session};

/// Starts sessions and flows on behalf of sessions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Starts;

impl SessionStarter for Starts {
    fn start(
        &self,
        around: &Surroundings,
        start: &Start,
        bounds: &StartBounds,
        progress: &mut dyn Progress,
    ) -> Result<Value> {
        match start.command.as_str() {
            "spawn" => {
                told(session::spawn::spawn_within(around, &read(start)?, Some(bounds), progress)?)
            }
            "exec" => told(flows::exec_within(around, &read(start)?, bounds, progress)?),
            "stage" => told(flows::stage_within(around, &read(start)?, bounds, progress)?),
            "orchestrate" => {
                told(run::start::orchestrate_within(around, &read(start)?, bounds, progress)?)
            }
            "sentinel" => told(flows::sentinel_within(around, &read(start)?, bounds, progress)?),
            "phase" => told(flows::phase_within(around, &read(start)?, bounds, progress)?),
            APPEND => told(append_for_session(around, &read(start)?)?),
            _ => Err(Error::new(Fault::Usage, "a session cannot start this").hint(
                "it may call `spore spawn`, `exec`, `stage`, `phase`, `orchestrate`, `sentinel`",
            )),
        }
    }
}

fn read<T: DeserializeOwned>(start: &Start) -> Result<T> {
    serde_json::from_value(start.request.clone()).map_err(|source| {
        Error::new(Fault::BadInput, format!("this is no request for `{}`", start.command))
            .because(source)
    })
}

fn told(answer: impl Serialize) -> Result<Value> {
    serde_json::to_value(answer).map_err(bug)
}
