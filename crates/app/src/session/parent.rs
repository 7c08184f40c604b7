//! The session that this process was started in, where that may start others.
//!
//! What it starts is run by the process that holds it, see [`crate::base::starts`]. Everything that
//! a request names is read here, as this session sees it, but for a directory to work in.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use spore_model::{Fault, Usd};
use spore_tools::remote::{Ask, Remote, Start, Told};

use crate::base::error::bug;
use crate::base::starts::StartBounds;
use crate::session::within::is_in_session;
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

pub(crate) struct ParentSession(Remote);

impl ParentSession {
    /// Finds it in the environment. A broker that is gone was that of a session that is over.
    pub(crate) fn of(around: &Surroundings) -> Option<Self> {
        Remote::for_starts(&around.variables).filter(Remote::is_there).map(Self)
    }

    /// Has a command run, and waits for its answer.
    pub(crate) fn start<T: DeserializeOwned>(
        &self,
        command: &str,
        asked: &impl Serialize,
        around: &Surroundings,
        progress: &mut dyn Progress,
    ) -> Result<T> {
        let start = Start {
            command: command.to_owned(),
            request: serde_json::to_value(asked).map_err(bug)?,
            cwd: around.cwd.clone(),
        };
        let cancelled = || around.interrupt.is_raised();
        let mut meanwhile =
            |line: &str| progress.update(&Update::Relayed { line: line.to_owned() });
        match self.0.follow(&Ask::Start(start), &cancelled, &mut meanwhile) {
            Ok(Told::Ended(Ok(answer))) => serde_json::from_value(answer).map_err(bug),
            Ok(Told::Ended(Err(error))) => Err(Error::told(error)),
            Ok(_) => Err(Error::new(Fault::Usage, "this session may start no others")
                .hint("do the work in this session")),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                Err(Error::interrupted("interrupted: what was started is ended, too"))
            }
            Err(source) => Err(Error::io("the process that runs this session is gone", source)),
        }
    }
}

/// Refuses to begin a tree of its own inside of a session: what a session starts is asked of the
/// process that holds it, which gives `bounds`. Whether this is inside of one is not the
/// environment's to say: the journal knows the processes of sessions, and where a sandbox keeps it
/// out of sight nothing can be started anyway.
pub(crate) fn refuse_inside(
    around: &Surroundings,
    workspace: &Workspace,
    bounds: Option<&StartBounds>,
) -> Result<()> {
    if bounds.is_some() {
        return Ok(());
    }
    let is_inside = match workspace.database().exists() {
        true => is_in_session(around, &workspace.journal(&workspace.config(around, &[])?)?)?,
        false => {
            let is_marked = around.variable("SPORE_SESSION_RUN").is_some_and(|it| !it.is_empty());
            is_marked && around.variable("IS_SANDBOX") == Some("1")
        }
    };
    match is_inside {
        false => Ok(()),
        true => Err(Error::new(Fault::Usage, "a session cannot start this by itself").hint(
            "use `spore spawn`, `exec`, `stage`, `phase`, `orchestrate` or `sentinel` as the session \
             was given it, or ask for this outside of the session",
        )),
    }
}

/// Refuses to a session in a checkout what begins from a commit or is about the project's own files:
/// its work has no commit yet, and the repository beside it is not believed.
pub(crate) fn refuse_checkout(workspace: &Workspace, bounds: &StartBounds) -> Result<()> {
    if bounds.dir == workspace.root() {
        return Ok(());
    }
    let message =
        "this is about the project's commits and files, and the session works in a checkout";
    Err(Error::new(Fault::Usage, message)
        .hint("do the work in this session, or have it done by `spore spawn` or `spore exec`"))
}

impl StartBounds {
    /// Returns `path` as it is meant by a session that works in `cwd`, if that session can see it.
    pub(crate) fn seen(&self, cwd: &Path, path: &Path) -> Result<PathBuf> {
        let real = cwd.join(path).canonicalize().ok().filter(|real| real.starts_with(&self.dir));
        real.ok_or_else(|| {
            let (path, dir) = (spore_plain::path(path), spore_plain::path(&self.dir));
            let message = format!("there is no {path} below {dir}, which the session is shown");
            Error::new(Fault::Usage, message).hint("name something in the session's own directory")
        })
    }

    /// Returns the smaller of what is asked for and what may be spent.
    pub(crate) fn budget(&self, asked: Option<Usd>) -> Option<Usd> {
        match (asked, self.usd) {
            (Some(asked), Some(most)) => Some(asked.min(most)),
            (asked, most) => asked.or(most),
        }
    }

    /// Returns the smaller of the limits to nesting.
    pub(crate) fn depth(&self, asked: Option<u32>) -> u32 {
        asked.map_or(self.limit, |asked| asked.min(self.limit))
    }
}
