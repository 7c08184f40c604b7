//! What holds one session: the only place that decides on its sandbox, its temporary directory
//! and what its agent is told about both.
//!
//! The kernel holds a session as far as an [`Enforcement`] says, in a checkout and in the person's
//! own directory alike. In the latter it may write what the person works on, and neither git's own
//! directory nor Spore's state. What is not held there is on record with the session.

use std::path::{Path, PathBuf};

use spore_agent::SessionSandbox;
use spore_config::Config;
use spore_model::SessionToken;

use crate::session::sandbox::{
    ConfinedPlace, Enforcement, OwnDirectory, Sandboxes, Scratch, SessionGround, SessionHold,
};
use crate::{Result, Surroundings};

/// How a session is to be held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SessionConfinement {
    /// It works in a checkout, held to what its run is held to.
    Checkout(Enforcement),
    /// It works in the person's own directory.
    OwnDirectory(OwnHold),
}

/// How a session in the person's own directory is held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OwnHold {
    enforcement: Enforcement,
    /// What it is shown. It may work further down.
    shown: PathBuf,
    /// Where its home is kept; nothing where that ends with the session.
    home: Option<PathBuf>,
}

/// A session's confinement, made and ready. Dropping it removes the temporary directory.
pub(crate) struct Confined {
    pub(crate) sandbox: SessionSandbox,
    scratch: Option<Scratch>,
    /// Its own home, where it has one.
    pub(crate) home: Option<PathBuf>,
}

impl OwnHold {
    /// Finds out what can be held for sessions of `backend` that are shown `dir`. Refuses where a
    /// sandbox is required and cannot be had, and a directory that holds what must stay hidden.
    pub(crate) fn find(
        around: &Surroundings,
        config: &Config,
        backend: &str,
        dir: &Path,
    ) -> Result<Self> {
        let mut enforcement = Enforcement::find(around, config, backend)?;
        if enforcement.held {
            OwnDirectory::refuse_unfit(around, dir)?;
            for note in &mut enforcement.notes {
                *note = note.replace("the checkout", "the directory");
            }
            if !enforcement.root {
                let note =
                    "No new file can be made beside .git and .spore here, only further down.";
                enforcement.notes.push(note.to_owned());
            }
        }
        Ok(Self { enforcement, shown: dir.to_owned(), home: None })
    }

    /// Keeps the session's home, so that its conversation can be gone on with.
    pub(crate) fn keeping(self, home: PathBuf) -> Self {
        Self { home: Some(home), ..self }
    }

    /// Returns what is not held, a sentence each.
    pub(crate) fn notes(&self) -> &[String] {
        &self.enforcement.notes
    }
}

impl SessionConfinement {
    /// Returns what the session's own record says of it. What a run is held to is on record
    /// with the run.
    pub(crate) fn notes(&self) -> &[String] {
        match self {
            Self::Checkout(_) => &[],
            Self::OwnDirectory(own) => own.notes(),
        }
    }

    /// Returns what a session that works in `dir` is shown.
    pub(crate) fn shown<'a>(&'a self, dir: &'a Path) -> &'a Path {
        match self {
            Self::Checkout(_) => dir,
            Self::OwnDirectory(own) => &own.shown,
        }
    }

    /// Makes what a session of `backend` that works in `dir` needs to be held in its place.
    pub(crate) fn make(
        &self,
        sandboxes: &Sandboxes<'_>,
        backend: &str,
        dir: &Path,
        place: ConfinedPlace<'_>,
        token: &SessionToken,
    ) -> Result<Confined> {
        let hold = match self {
            Self::Checkout(enforcement) => {
                let ground = SessionGround::Checkout(dir);
                sandboxes.of_session(enforcement, backend, ground, place, token)?
            }
            // The choice of an agent's own sandbox is the person's there.
            Self::OwnDirectory(own) if !own.enforcement.held => SessionHold::none(),
            Self::OwnDirectory(own) => {
                let (around, workspace) = (sandboxes.around, sandboxes.workspace);
                let found = OwnDirectory::find(around, workspace, &own.shown)?;
                let ground = SessionGround::Own(&found, own.home.as_deref());
                sandboxes.of_session(&own.enforcement, backend, ground, place, token)?
            }
        };
        let SessionHold { sandbox, scratch, home } = hold;
        Ok(Confined { sandbox, scratch, home })
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
