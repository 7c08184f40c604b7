//! Where a project's state is: `.spore/` in the repository, checkouts in the state directory.

use std::path::{Path, PathBuf};

use spore_config::{Config, Layer, Origin};
use spore_model::{Fault, RunId};
use spore_store::{OpenOptions, SqliteJournal};

use crate::{Error, Result, Surroundings};

pub struct Workspace {
    root: PathBuf,
    state: PathBuf,
}

impl Workspace {
    /// Finds the project: the directory that was named, else the nearest one above with a
    /// `.spore/`, else the git work tree around. A linked worktree shares the `.spore/` of
    /// the main one.
    pub fn find(around: &Surroundings) -> Result<Self> {
        if let Some(root) = &around.root {
            let root = root.canonicalize().map_err(|source| {
                Error::new(Fault::Usage, format!("there is no directory {}", root.display()))
                    .because(source)
            })?;
            return Ok(Self::at(root, around));
        }
        let cwd = around
            .cwd
            .canonicalize()
            .map_err(|source| Error::io("cannot read the current directory", source))?;
        let marked = cwd.ancestors().find(|dir| dir.join(".spore").is_dir());
        let root = match marked {
            Some(root) => root.to_owned(),
            None => spore_git::Repository::discover(&cwd)
                .ok()
                .map_or_else(|| cwd.clone(), |repository| main_work_tree(&repository)),
        };
        Ok(Self::at(root, around))
    }

    fn at(root: PathBuf, around: &Surroundings) -> Self {
        let state = around.state_home.join(directory_name(&root));
        Self { root, state }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn spore_dir(&self) -> PathBuf {
        self.root.join(".spore")
    }

    pub fn is_initialised(&self) -> bool {
        self.spore_dir().is_dir()
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
    pub fn run_dir(&self, run: RunId) -> PathBuf {
        self.spore_dir().join("runs").join(run.to_string())
    }

    /// Held by the process that works on the run.
    pub fn run_lock(&self, run: RunId) -> PathBuf {
        self.run_dir(run).join("lock")
    }

    /// The checkouts of one run, where no agent of another run looks.
    pub fn run_state(&self, run: RunId) -> PathBuf {
        self.state.join(run.to_string())
    }

    /// The gates' checkout, kept for its build cache.
    pub fn gates_state(&self) -> PathBuf {
        self.state.join("gates")
    }

    /// Opens the journal of an initialised project.
    pub fn journal(&self, config: &Config) -> Result<SqliteJournal> {
        if !self.database().exists() && !self.is_initialised() {
            return Err(Error::new(
                Fault::Missing,
                format!("{} is not a Spore project: it has no .spore/", self.root.display()),
            )
            .hint("run `spore init`"));
        }
        let options = OpenOptions { busy_timeout: config.store.busy_timeout };
        Ok(SqliteJournal::open_with(&self.database(), &options)?)
    }

    /// Reads all layers of the configuration, `flags` last.
    pub fn config(&self, around: &Surroundings, flags: &[Layer]) -> Result<Config> {
        let mut layers = Vec::new();
        let files = [
            (around.config_file.clone(), Origin::User(around.config_file.clone())),
            (self.config_file(), Origin::Project(self.config_file())),
        ];
        for (path, origin) in files {
            match std::fs::read_to_string(&path) {
                Ok(text) => layers.push(Layer { origin, text }),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(Error::io(format!("cannot read {}", path.display()), error));
                }
            }
        }
        layers.extend(spore_config::env_layers(&around.variables));
        layers.extend(flags.iter().cloned());
        Ok(Config::load(&layers)?.config)
    }
}

/// The work tree beside the common git directory: for a linked worktree, the main one.
fn main_work_tree(repository: &spore_git::Repository) -> PathBuf {
    let beside = repository.git_dir().parent();
    match beside {
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
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
