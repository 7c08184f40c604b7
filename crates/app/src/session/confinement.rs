//! What holds one session: the only place that decides on its sandbox, its temporary directory
//! and what its agent is told about both.
//!
//! A session in a checkout is held by the kernel as far as the run's [`Enforcement`] says. One in the
//! person's own directory is not: Spore's state may be a part of that directory, and the
//! session may start others. Home and caches are the user's own in both.

use std::path::PathBuf;

use spore_agent::SessionSandbox;
use spore_config::Config;
use spore_model::{Fault, SessionToken};

use crate::session::sandbox::{ConfinedPlace, Enforcement, Sandboxes, Scratch, SessionHold};
use crate::{Error, Result};

/// Said and recorded, because runs in a checkout are held.
pub(crate) const NOT_HELD: &str = "No sandbox holds this session: it works in your own directory.";

/// How a session is to be held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SessionConfinement {
    /// It works in a checkout, held to what its run is held to.
    Checkout(Enforcement),
    /// It works in the person's own directory, and nothing holds it.
    OwnDirectory,
}

/// A session's confinement, made and ready. Dropping it removes the temporary directory.
pub(crate) struct Confined {
    pub(crate) sandbox: SessionSandbox,
    scratch: Option<Scratch>,
    /// Its own home, where it has one.
    pub(crate) home: Option<PathBuf>,
}

impl SessionConfinement {
    /// Returns what the session's own record says of it. What a run is held to is on record
    /// with the run.
    pub(crate) fn notes(&self) -> &'static [&'static str] {
        match self {
            Self::Checkout(_) => &[],
            Self::OwnDirectory => &[NOT_HELD],
        }
    }

    /// Makes what a session of `backend` needs to be held in its place.
    pub(crate) fn make(
        &self,
        sandboxes: &Sandboxes<'_>,
        backend: &str,
        place: ConfinedPlace<'_>,
        token: &SessionToken,
    ) -> Result<Confined> {
        match self {
            Self::Checkout(enforcement) => {
                let SessionHold { sandbox, scratch, home } =
                    sandboxes.of_session(enforcement, backend, place, token)?;
                Ok(Confined { sandbox, scratch, home })
            }
            Self::OwnDirectory => {
                Ok(Confined { sandbox: SessionSandbox::None, scratch: None, home: None })
            }
        }
    }
}

impl Confined {
    /// Tells the session's programs where to put temporary files. Claude refuses to skip its
    /// questions as root unless `IS_SANDBOX` says that something else holds it.
    pub(crate) fn tell(&self, variables: &mut Vec<(String, String)>) {
        let Some(scratch) = &self.scratch else { return };
        scratch.tell(variables);
        variables.retain(|(name, _)| name != "IS_SANDBOX");
        variables.push(("IS_SANDBOX".to_owned(), "1".to_owned()));
    }
}

/// Refuses a session in the person's own directory where a sandbox is required.
pub(crate) fn refuse_if_required(config: &Config) -> Result<()> {
    if config.sandbox.mode != "required" {
        return Ok(());
    }
    Err(Error::new(Fault::Missing, "a sandbox is required, and a spawned session has none").hint(
        "let `spore orchestrate` do the task in a checkout, or set `[sandbox] mode = \"auto\"`",
    ))
}
