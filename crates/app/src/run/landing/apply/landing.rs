//! Verified work, brought into the branch that the user has checked out.
//!
//! What is going to happen is written down first, in the run's `landing.json`: which branch,
//! from which commit to which. Then the branch is moved, by compare and swap, and then the
//! files follow. A process that dies in between leaves the note, and the next process reads off
//! the branch how far it was.
//!
//! The one decision: nothing gets there that was not checked as it stands there. Onto a branch that
//! went on while the run worked the change is brought as a commit of its own, which the gates pass;
//! one that does not come from the base, or that keeps moving, is left alone.

use std::fmt;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use spore_git::{BranchTip, GitError, HeadState, Repository};
use spore_model::{CommitId, Fault};
use spore_runs::{Applied, Apply, NOT_MERGED};

use super::{ApplyEnd, Bring, Brought, Site, short_branch};
use crate::{Error, Result, counted};

/// A branch of the user's on its way from one commit to another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Landing {
    /// The work tree that has the branch checked out, if one has: its files follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) root: Option<PathBuf>,
    pub(crate) branch: String,
    pub(crate) from: CommitId,
    pub(crate) to: CommitId,
}

/// How a landing ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LandingEnd {
    Landed,
    /// Nothing was changed.
    Not(Refused),
}

/// Why nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// These files of the user's are in the way, each with what is the matter.
    InTheWay(Vec<String>),
    /// The branch was moved by another process at the same time.
    Moved(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InTheWay(files) => f.write_str(&listed(files)),
            Self::Moved(branch) => write!(f, "{branch} was moved at the same time"),
        }
    }
}

/// So often a branch may move on while work is brought onto it.
pub(crate) const MOST_MERGES: usize = 3;

/// How many names a person is shown.
const SHOWN: usize = 5;

impl Site<'_> {
    pub(super) fn merge(
        &self,
        base: &CommitId,
        commit: &CommitId,
        bring: Bring<'_>,
    ) -> Result<ApplyEnd> {
        let over = |applied| Ok(ApplyEnd::Over(applied));
        if let Some(landing) = self.landing_on_record("landing")?
            && self.finish("landing", &landing)? == Some(LandingEnd::Landed)
        {
            return over(self.merged(&landing));
        }
        let mut moved = String::new();
        for _ in 0..MOST_MERGES {
            let spot = match self.repository.standing()? {
                HeadState::OnBranch(spot) => spot,
                other => return over(self.not_merged(&refusal(&other))),
            };
            if self.repository.is_ancestor(commit, &spot.tip)? {
                return over(self.already_in(&spot));
            }
            let to = match self.way_onto(base, commit, &spot, &mut *bring)? {
                Brought::Onto(to) if to == spot.tip => return over(self.already_in(&spot)),
                Brought::Onto(to) => to,
                Brought::Not(why) => return over(self.not_merged(&why)),
                Brought::Waits { park, reason } => return Ok(ApplyEnd::Waits { park, reason }),
            };
            let root = Some(self.repository.root().to_owned());
            let landing = Landing { root, branch: spot.branch, from: spot.tip, to };
            match self.land("landing", &landing)? {
                LandingEnd::Landed => return over(self.merged(&landing)),
                // The next round brings it onto what is there then.
                LandingEnd::Not(why @ Refused::Moved(_)) => moved = why.to_string(),
                LandingEnd::Not(why) => return over(self.not_merged(&why.to_string())),
            }
        }
        over(self.not_merged(&moved))
    }

    /// Returns the commit that the branch can be moved to: the work itself, where all that the branch
    /// has is below it.
    fn way_onto(
        &self,
        base: &CommitId,
        commit: &CommitId,
        spot: &BranchTip,
        bring: Bring<'_>,
    ) -> Result<Brought> {
        if spot.tip == *base || self.repository.is_ancestor(&spot.tip, commit)? {
            return Ok(Brought::Onto(commit.clone()));
        }
        if !self.repository.is_ancestor(base, &spot.tip)? {
            let name = short_branch(&spot.branch);
            return Ok(Brought::Not(format!(
                "{name} does not have the commit that the run began from"
            )));
        }
        bring(&spot.tip)
    }

    /// Brings a landing to its end, from its beginning.
    pub(crate) fn land(&self, name: &str, landing: &Landing) -> Result<LandingEnd> {
        let home = self.home_of(landing)?;
        if landing.root.is_some() {
            let obstacles = home.obstacles(&landing.from, &landing.to, &self.scratch())?;
            if !obstacles.is_empty() {
                let told = obstacles.iter().map(ToString::to_string).collect();
                return Ok(LandingEnd::Not(Refused::InTheWay(told)));
            }
        }
        self.set_ref(&self.own_ref(name), &landing.to)?;
        let note = serde_json::to_vec_pretty(landing).map_err(crate::base::error::bug)?;
        self.around.write_file(&self.note(name), &note)?;
        if !self.move_branch(&home, landing, Way::There)? {
            self.around.remove_file(&self.note(name))?;
            let branch = short_branch(&landing.branch).to_owned();
            return Ok(LandingEnd::Not(Refused::Moved(branch)));
        }
        self.follow(name, &home, landing)
    }

    /// Goes on with a landing that is on record. `None` is one that never began, or whose
    /// branch has gone another way since.
    pub(crate) fn finish(&self, name: &str, landing: &Landing) -> Result<Option<LandingEnd>> {
        let home = self.home_of(landing)?;
        let Some(tip) = home.ref_target(&landing.branch)? else { return Ok(None) };
        if tip != landing.to {
            let landed = tip != landing.from && home.is_ancestor(&landing.to, &tip)?;
            return Ok(landed.then_some(LandingEnd::Landed));
        }
        let spot = BranchTip { branch: landing.branch.clone(), tip };
        if landing.root.is_none() || home.standing()? != HeadState::OnBranch(spot) {
            // The user has gone to another branch, and git took the files along.
            return Ok(Some(LandingEnd::Landed));
        }
        self.mend_turn(&home, &landing.from, &landing.to)?;
        self.follow(name, &home, landing).map(Some)
    }

    /// Prepares what was cut off for being brought to its end. What the user wrote since then
    /// is not overwritten.
    pub(super) fn mend_turn(
        &self,
        home: &Repository,
        from: &CommitId,
        to: &CommitId,
    ) -> Result<()> {
        let obstacles = home.mend_turn(from, to)?;
        if obstacles.is_empty() {
            return Ok(());
        }
        let told: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
        let message = format!(
            "Spore was cut off while it changed your files, and cannot go on: {}",
            listed(&told)
        );
        Err(Error::new(Fault::BadInput, message)
            .hint("move what is yours out of the way, then call the same again"))
    }

    /// Lets the files follow their branch.
    fn follow(&self, name: &str, home: &Repository, landing: &Landing) -> Result<LandingEnd> {
        if landing.root.is_none() {
            return Ok(LandingEnd::Landed);
        }
        match home.turn(&landing.from, &landing.to) {
            Ok(()) => Ok(LandingEnd::Landed),
            // Git looks at all files before it writes one: the user edited one just now.
            Err(GitError::Failed { complaint, .. }) => {
                self.move_branch(home, landing, Way::Back)?;
                self.around.remove_file(&self.note(name))?;
                Ok(LandingEnd::Not(Refused::InTheWay(vec![complaint])))
            }
            Err(error @ GitError::Locked { .. }) => {
                self.move_branch(home, landing, Way::Back)?;
                Err(error.into())
            }
            // The note stays: what was begun is brought to its end later.
            Err(error) => Err(error.into()),
        }
    }

    fn move_branch(&self, home: &Repository, landing: &Landing, way: Way) -> Result<bool> {
        let (from, to) = match way {
            Way::There => (&landing.from, &landing.to),
            Way::Back => (&landing.to, &landing.from),
        };
        let why = format!("spore: run {}", self.run);
        Ok(home.move_branch(&landing.branch, from, to, &why)?)
    }

    /// Returns the repository as seen from the work tree that the landing is in.
    fn home_of(&self, landing: &Landing) -> Result<Repository> {
        match &landing.root {
            Some(root) if root != self.repository.root() => Ok(self.workspace.discover(root)?),
            _ => Ok(self.repository.clone()),
        }
    }

    pub(crate) fn landing_on_record(&self, name: &str) -> Result<Option<Landing>> {
        self.on_record(name)
    }

    /// Reads a note about the user's files, if it was written.
    pub(super) fn on_record<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let path = self.note(name);
        match std::fs::read(&path) {
            Ok(note) => serde_json::from_slice(&note).map(Some).map_err(|source| {
                let message = format!("{} cannot be read", spore_plain::path(&path));
                Error::new(spore_model::Fault::BadInput, message)
                    .because(source)
                    .hint("move the file away: then what it tells is done by hand")
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                Err(Error::io(format!("cannot read {}", spore_plain::path(&path)), error))
            }
        }
    }

    pub(crate) fn note(&self, name: &str) -> PathBuf {
        self.files().landing_note(name)
    }

    pub(crate) fn scratch(&self) -> PathBuf {
        self.files().index_copy()
    }

    fn merged(&self, landing: &Landing) -> Applied {
        let name = short_branch(&landing.branch);
        Applied {
            how: Apply::Merge,
            done: true,
            what: format!("merged into {name}"),
            next: Some(format!("spore runs rollback {}", self.run.short())),
            branch: Some(name.to_owned()),
            commit: Some(landing.to.clone()),
            path: None,
        }
    }

    fn already_in(&self, spot: &BranchTip) -> Applied {
        let name = short_branch(&spot.branch);
        Applied {
            how: Apply::Merge,
            done: true,
            what: format!("already in {name}"),
            next: None,
            branch: Some(name.to_owned()),
            commit: Some(spot.tip.clone()),
            path: None,
        }
    }

    fn not_merged(&self, why: &str) -> Applied {
        let branch = self.branch.clone();
        Applied {
            how: Apply::Merge,
            done: false,
            what: format!("{NOT_MERGED}{why}; the work is on branch {branch}"),
            next: Some(format!("git merge {branch}")),
            branch: Some(branch),
            commit: None,
            path: None,
        }
    }
}

#[derive(Clone, Copy)]
enum Way {
    There,
    Back,
}

fn refusal(standing: &HeadState) -> String {
    match standing {
        HeadState::OnBranch(spot) => format!("{} is checked out", short_branch(&spot.branch)),
        HeadState::Detached => "no branch is checked out".to_owned(),
        HeadState::Unborn => "the branch that is checked out has no commit".to_owned(),
        HeadState::Busy { doing } => format!("a {doing} is under way"),
        HeadState::Shared { branch, dir } => {
            format!("{} is checked out in {} too", short_branch(branch), spore_plain::path(dir))
        }
    }
}

/// Names the first of several files, and how many more there are.
pub(crate) fn listed(files: &[String]) -> String {
    let names = files.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match files.len().checked_sub(SHOWN) {
        Some(more @ 1..) => {
            let more = counted(u32::try_from(more).unwrap_or(u32::MAX), "more file");
            format!("{names} and {more}")
        }
        _ => names,
    }
}
