//! Where a project's state is: `.spore/` in the repository, checkouts in the state directory.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use spore_config::{Config, Loaded, SettingsLayer, SettingsOrigin};
use spore_effects::Probe;
use spore_git::{GitError, Repository};
use spore_model::{Fault, RunId};

use super::credentials::Credentials;
use super::run_files::RunFiles;
use super::stores::{self, ProjectJournal, ProjectKnowledge};
use crate::{Error, Result, Surroundings};

/// What the bare repository of unverified work is called in `.spore/`.
pub(crate) const WORK: &str = "work.git";

/// Where, in the user's state directory, directories without a project have theirs.
const STRANGERS: &str = "investigations";

pub struct Workspace {
    root: PathBuf,
    state: PathBuf,
    /// Told of every durable effect of the stores and repositories that are opened here.
    probe: Probe,
    /// In nothing that those stores write.
    credentials: Credentials,
    /// Found when it is first asked for: many commands never ask git.
    project: OnceLock<Repository>,
    here: OnceLock<Repository>,
}

impl Workspace {
    /// Finds the project: the directory that was named, else the nearest one above with a
    /// `.spore/`, else the git work tree around. A linked worktree shares the `.spore/` of
    /// the main one.
    pub fn find(around: &Surroundings) -> Result<Self> {
        if let Some(root) = &around.root {
            let root = root.canonicalize().map_err(|source| {
                Error::new(
                    Fault::Usage,
                    format!("there is no directory {}", spore_plain::path(root)),
                )
                .because(source)
            })?;
            if !root.is_dir() {
                let message =
                    format!("there is no directory {}: it is a file", spore_plain::path(&root));
                return Err(Error::new(Fault::Usage, message));
            }
            return Ok(Self::at(root, around));
        }
        Self::around_dir(around, &around.cwd)
    }

    /// Like [`Self::find`], for a command that starts a run. Its records and its sessions hold
    /// paths as text, so one that is none is refused before anything is begun.
    pub(crate) fn find_for_run(around: &Surroundings) -> Result<Self> {
        let workspace = Self::find(around)?;
        for path in [&workspace.root, &around.state_home, &around.exe] {
            refuse_unless_text(path, Fault::BadInput)?;
        }
        Ok(workspace)
    }

    /// Like [`Self::find`], for a command about runs that were begun. Where there is no project
    /// these are investigations of the directory itself.
    pub(crate) fn find_with_runs(around: &Surroundings) -> Result<Self> {
        let project = Self::find(around)?;
        if around.root.is_some() || project.is_initialised() {
            return Ok(project);
        }
        let here = around.cwd.canonicalize().unwrap_or_else(|_| around.cwd.clone());
        let known = Self::for_stranger(around, &here);
        Ok(if known.is_initialised() { known } else { project })
    }

    /// Finds the project that a directory belongs to, wherever the command was called.
    pub(crate) fn around_dir(around: &Surroundings, dir: &Path) -> Result<Self> {
        let cwd = dir.canonicalize().map_err(|source| {
            Error::io(format!("cannot read {}", spore_plain::path(dir)), source)
        })?;
        let marked = cwd.ancestors().find(|dir| dir.join(".spore").is_dir());
        let root = match marked {
            // Its `.git` is a file: a linked worktree, whose `.spore/` is only a copy of what
            // is committed.
            Some(root) if root.join(".git").is_file() => main_work_tree_of(root),
            Some(root) => root.to_owned(),
            None => main_work_tree_of(&cwd),
        };
        Ok(Self::at(root, around))
    }

    /// A place of Spore's own for a directory that belongs to no project: what is known of it is
    /// kept in the user's state directory.
    pub(crate) fn for_stranger(around: &Surroundings, dir: &Path) -> Self {
        let home = around.state_home.join(STRANGERS);
        Self::at(home.join(directory_name(dir)), around)
    }

    /// Returns whether this is such a place.
    pub(crate) fn is_of_stranger(&self) -> bool {
        let home = self.state.parent().map(|state_home| state_home.join(STRANGERS));
        home.is_some_and(|home| self.root.parent() == Some(home.as_path()))
    }

    /// Returns the repository as seen from where the command was called: a linked worktree
    /// has a HEAD of its own, and that is the one meant. Another repository that happens to
    /// lie below the project is not.
    pub fn repository(&self, around: &Surroundings) -> std::result::Result<Repository, GitError> {
        if let Some(known) = self.here.get() {
            return Ok(known.clone());
        }
        let project = self.project_repository()?;
        let at_the_root = around.cwd.canonicalize().is_ok_and(|cwd| cwd == self.root);
        if around.root.is_some() || at_the_root {
            return Ok(project);
        }
        let here = self.discover(&around.cwd).ok();
        let here = here.filter(|here| here.git_dir() == project.git_dir()).unwrap_or(project);
        Ok(self.here.get_or_init(|| here).clone())
    }

    /// Returns the repository around the project's root.
    pub(crate) fn project_repository(&self) -> std::result::Result<Repository, GitError> {
        match self.project.get() {
            Some(known) => Ok(known.clone()),
            None => {
                let found = self.discover(&self.root)?;
                Ok(self.project.get_or_init(|| found).clone())
            }
        }
    }

    /// Finds the repository around a directory. Its commits, refs and checkouts are effects by
    /// construction.
    pub(crate) fn discover(&self, dir: &Path) -> std::result::Result<Repository, GitError> {
        let repository = Repository::discover(dir)?.probed(&self.probe);
        Ok(repository.keeping_work_in(&self.work_dir()))
    }

    fn at(root: PathBuf, around: &Surroundings) -> Self {
        let state = around.state_home.join(directory_name(&root));
        Self {
            root,
            state,
            probe: around.probe.clone(),
            credentials: around.credentials.clone(),
            project: OnceLock::new(),
            here: OnceLock::new(),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn spore_dir(&self) -> PathBuf {
        self.root.join(".spore")
    }

    /// Refuses a project whose `.spore` is something else than our directory.
    pub(crate) fn refuse_file(&self) -> Result<()> {
        let spore = self.spore_dir();
        if spore.exists() && !spore.is_dir() {
            let message = format!("{} is not a directory", spore_plain::path(&spore));
            return Err(Error::new(Fault::BadInput, message)
                .hint("move it away: Spore keeps what it knows of a project there"));
        }
        Ok(())
    }

    pub fn is_initialised(&self) -> bool {
        self.spore_dir().is_dir()
    }

    /// The bare repository of work that was not verified.
    pub(crate) fn work_dir(&self) -> PathBuf {
        self.spore_dir().join(WORK)
    }

    pub fn database(&self) -> PathBuf {
        self.spore_dir().join("spore.db")
    }

    pub fn config_file(&self) -> PathBuf {
        self.spore_dir().join("config.toml")
    }

    pub fn events_dir(&self) -> PathBuf {
        self.spore_dir().join("events")
    }

    /// What a run leaves for people to read.
    pub(crate) fn run_files(&self, run: RunId) -> RunFiles {
        RunFiles::new(self.spore_dir().join("runs").join(run.to_string()))
    }

    /// The checkouts of all runs of this project.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The checkouts of one run, where no agent of another run looks.
    pub fn run_state(&self, run: RunId) -> PathBuf {
        self.state.join(run.to_string())
    }

    /// The gates' checkout, kept for its build cache.
    pub fn gates_state(&self) -> PathBuf {
        self.state.join("gates")
    }

    /// Checkouts that were given up, for the next ones to be made of.
    pub fn spares(&self) -> PathBuf {
        self.state.join("spares")
    }

    /// Returns where a record about a file outside of `.spore/` is kept.
    pub fn record_of(&self, kind: &str, file: &Path) -> PathBuf {
        let name = fnv1a(file.as_os_str().as_encoded_bytes());
        self.state.join(kind).join(format!("{name:016x}.json"))
    }

    /// Refuses to work where there is no project.
    pub fn check_initialised(&self) -> Result<()> {
        if self.is_initialised() {
            return Ok(());
        }
        Err(Error::new(
            Fault::Missing,
            format!("{} is not a Spore project: it has no .spore/", spore_plain::path(&self.root)),
        )
        .hint("run `spore init`"))
    }

    /// Opens the journal of an initialised project.
    pub(crate) fn journal(&self, config: &Config) -> Result<ProjectJournal> {
        self.check_initialised()?;
        stores::journal(&self.database(), config, &self.probe, &self.credentials)
    }

    /// Opens what an initialised project knows; it shares the journal's file.
    pub(crate) fn knowledge(&self, config: &Config) -> Result<ProjectKnowledge> {
        self.check_initialised()?;
        stores::knowledge(&self.database(), config, &self.probe, &self.credentials)
    }

    /// Reads all layers of the configuration, `flags` last.
    pub fn config(&self, around: &Surroundings, flags: &[SettingsLayer]) -> Result<Config> {
        Ok(self.settings(around, flags)?.config)
    }

    /// Like [`Self::config`], with the place that each value comes from.
    pub fn settings(&self, around: &Surroundings, flags: &[SettingsLayer]) -> Result<Loaded> {
        self.refuse_file()?;
        let mut layers = Vec::new();
        let files = [
            (around.config_file.clone(), SettingsOrigin::User(around.config_file.clone())),
            (self.config_file(), SettingsOrigin::Project(self.config_file())),
        ];
        for (path, origin) in files {
            match spore_effects::files::read_text(&path) {
                Ok(text) => layers.push(SettingsLayer { origin, text }),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(Error::io(
                        format!("cannot read {}", spore_plain::path(&path)),
                        error,
                    ));
                }
            }
        }
        layers.extend(spore_config::env_layers(&around.variables));
        layers.extend(flags.iter().cloned());
        Ok(Config::load(&layers)?)
    }
}

/// Refuses a path that no record can hold.
pub(crate) fn refuse_unless_text(path: &Path, fault: Fault) -> Result<()> {
    match path.to_str() {
        Some(_) => Ok(()),
        None => {
            let message = format!("the path {} is not UTF-8 text", spore_plain::path(path));
            Err(Error::new(fault, message).hint("give what is there a name in UTF-8"))
        }
    }
}

/// The work tree beside the common git directory of `dir`: for a linked worktree, the main
/// one. Where there is no repository, `dir` itself.
fn main_work_tree_of(dir: &Path) -> PathBuf {
    let Ok(repository) = Repository::discover(dir) else { return dir.to_owned() };
    match repository.git_dir().parent() {
        Some(main) if repository.git_dir().ends_with(".git") => main.to_owned(),
        _ => repository.root().to_owned(),
    }
}

/// A directory name for a project: readable, and unlike that of any other path.
fn directory_name(root: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let name: String = root
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .take(40)
        .collect();
    format!("{name}-{:016x}", fnv1a(root.as_os_str().as_bytes()))
}

/// FNV-1a: stable between builds, which the standard hasher does not promise.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
