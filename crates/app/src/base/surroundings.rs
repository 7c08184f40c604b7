//! Everything a use case takes from outside, handed in by the program that calls it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use spore_effects::{Clock, Ids, Probe, programs};
use spore_model::Fault;
use spore_secrets::KnownSecrets;
use spore_tools::remote::Start;

use super::credentials::Credentials;
use super::error::{Error, Result};
use super::progress::Progress;
use super::starts::StartBounds;

pub struct Surroundings {
    pub clock: Arc<dyn Clock>,
    pub ids: Ids,
    pub probe: Probe,
    /// Our own executable: the shim and the replay agent are modes of it.
    pub exe: PathBuf,
    /// Where the command was called.
    pub cwd: PathBuf,
    /// `--root` or `SPORE_ROOT`: no discovery then.
    pub root: Option<PathBuf>,
    /// The user's environment.
    pub variables: Vec<(String, String)>,
    /// The user's own settings, `$XDG_CONFIG_HOME/spore/config.toml`.
    pub config_file: PathBuf,
    /// Where checkouts live, `$XDG_STATE_HOME/spore`.
    pub state_home: PathBuf,
    /// The user's credentials, which are in nothing that is written or shown to a model.
    pub credentials: Credentials,
    pub interrupt: Interrupt,
    /// Starts what sessions ask for; without it they may start nothing.
    pub starter: Option<Arc<dyn SessionStarter>>,
}

impl Surroundings {
    /// Returns a variable of the user's environment, empty or not.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the values that must not get out.
    pub fn secrets(&self) -> KnownSecrets {
        self.credentials.known()
    }

    /// Finds a program the way a session would: a path, or a name on the user's PATH.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        programs::find(name, self.variable("PATH").unwrap_or_default(), &self.cwd)
    }

    /// The same as if it was called in another directory. Where none is named it is just the same.
    pub fn called_in(&self, dir: Option<&Path>) -> Result<Self> {
        let cwd = match dir {
            None => self.cwd.clone(),
            Some(dir) => self.cwd.join(dir).canonicalize().map_err(|source| {
                let message = format!("there is no directory {}", spore_plain::path(dir));
                Error::new(Fault::Usage, message).because(source)
            })?,
        };
        if !cwd.is_dir() {
            let message = format!("{} is no directory", spore_plain::path(&cwd));
            return Err(Error::new(Fault::Usage, message));
        }
        Ok(Self { cwd, ..self.interruptible(self.interrupt.clone()) })
    }

    /// The same for a run of its own that can be interrupted apart from the rest.
    pub(crate) fn interruptible(&self, interrupt: Interrupt) -> Self {
        Self {
            ids: self.ids.clone(),
            probe: self.probe.clone(),
            cwd: self.cwd.clone(),
            root: self.root.clone(),
            interrupt,
            ..self.apart(&self.cwd)
        }
    }

    /// The same for a thread of its own that works on one project and leaves nothing behind
    /// that a run would have to know of.
    pub(crate) fn apart(&self, root: &Path) -> Self {
        Self {
            clock: Arc::clone(&self.clock),
            ids: Ids::random(Arc::clone(&self.clock)),
            probe: Probe::idle(),
            exe: self.exe.clone(),
            cwd: root.to_owned(),
            root: Some(root.to_owned()),
            variables: self.variables.clone(),
            config_file: self.config_file.clone(),
            state_home: self.state_home.clone(),
            credentials: self.credentials.clone(),
            interrupt: self.interrupt.clone(),
            starter: self.starter.clone(),
        }
    }
}

/// Performs what sessions ask to be started. Handed in from above, because what can be started
/// is made of what sessions are made of.
pub trait SessionStarter: Send + Sync {
    /// Starts it and waits for its end. Returns the answer that its command would print.
    fn start(
        &self,
        around: &Surroundings,
        start: &Start,
        bounds: &StartBounds,
        progress: &mut dyn Progress,
    ) -> Result<Value>;
}

/// Set once by Ctrl-C; everything that waits looks at it.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Gives the flag itself, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}
