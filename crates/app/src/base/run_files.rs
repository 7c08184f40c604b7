//! The files that a run leaves for people, each under one name that is made here alone.

use std::path::{Path, PathBuf};

use spore_model::RunId;

/// The directory of one run, `.spore/runs/<id>/`, and what is in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RunFiles {
    dir: PathBuf,
}

impl RunFiles {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Held by the process that works on the run.
    pub(crate) fn lock(&self) -> PathBuf {
        self.file("lock")
    }

    /// What is going on, a file for each session and check.
    pub(crate) fn live_dir(&self) -> PathBuf {
        self.file("live")
    }

    pub(crate) fn live(&self, id: RunId) -> PathBuf {
        self.live_dir().join(format!("{id}.json"))
    }

    pub(crate) fn report(&self) -> PathBuf {
        self.file("report.json")
    }

    pub(crate) fn escalation(&self) -> PathBuf {
        self.file("escalation.md")
    }

    pub(crate) fn patch(&self) -> PathBuf {
        self.file("result.patch")
    }

    /// What is about to be done to the user's branch or files, written before it is done.
    pub(crate) fn landing_note(&self, name: &str) -> PathBuf {
        self.file(&format!("{name}.json"))
    }

    /// A copy of the user's index, for looking without touching.
    pub(crate) fn index_copy(&self) -> PathBuf {
        self.file("index")
    }

    /// The logs of the gates on the base.
    pub(crate) fn baseline(&self) -> PathBuf {
        self.file("baseline")
    }

    /// The logs of the gates on a bounce's tree.
    pub(crate) fn gates(&self, bounce: u32) -> PathBuf {
        self.bounce(bounce).join("gates")
    }

    /// The logs of the commands that its verifiers had run.
    pub(crate) fn verifier_commands(&self, bounce: u32) -> PathBuf {
        self.bounce(bounce).join("verifier-commands")
    }

    pub(crate) fn diff(&self, bounce: u32) -> PathBuf {
        self.bounce(bounce).join("change.diff")
    }

    pub(crate) fn coder(&self, bounce: u32) -> SessionFiles {
        SessionFiles::new(self.bounce(bounce).join("coder"))
    }

    /// `attempt` counts restarts of a verifier that broke down; the first is 1.
    pub(crate) fn verifier(&self, bounce: u32, attempt: u32) -> SessionFiles {
        SessionFiles::new(self.bounce(bounce).join(match attempt {
            1 => "verifier".to_owned(),
            _ => format!("verifier-{attempt}"),
        }))
    }

    /// The session of a role that belongs to the run and to no bounce.
    pub(crate) fn role(&self, role: &str) -> SessionFiles {
        SessionFiles::new(self.file(role))
    }

    /// The one session of a run that is nothing else.
    pub(crate) fn alone(&self) -> SessionFiles {
        SessionFiles::new(self.file("session"))
    }

    /// Any other file of the run.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn bounce(&self, bounce: u32) -> PathBuf {
        self.dir.join(format!("bounce-{bounce}"))
    }
}

/// The files of one session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SessionFiles {
    dir: PathBuf,
}

/// Found below a run's directory by the memory's scan and by the lessons' credit.
pub(crate) const CARRIED: &str = "carried.json";

impl SessionFiles {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the session was told.
    pub(crate) fn task(&self) -> PathBuf {
        self.dir.join("task.md")
    }

    /// Which nodes and lines its task file carried.
    pub(crate) fn carried(&self) -> PathBuf {
        self.dir.join(CARRIED)
    }

    pub(crate) fn transcript(&self) -> PathBuf {
        self.dir.join("transcript.jsonl")
    }

    /// The turns of our own loop, where they are kept.
    pub(crate) fn turns(&self) -> PathBuf {
        self.dir.join("turns.jsonl")
    }

    /// What the agent thought aloud, apart from what it said.
    pub(crate) fn thinking(&self) -> PathBuf {
        self.dir.join("thinking.log")
    }

    /// What the kernel took on, right by right.
    pub(crate) fn sandbox(&self) -> PathBuf {
        self.dir.join("sandbox.json")
    }

    /// What it handed in through its tools.
    pub(crate) fn proposals(&self) -> PathBuf {
        self.dir.join("proposals.json")
    }

    /// The last message.
    pub(crate) fn last_message(&self) -> PathBuf {
        self.dir.join("final.md")
    }
}
