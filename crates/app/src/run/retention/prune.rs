//! Removes the checkouts of runs that are over, and what they left that was not verified.
//!
//! A verified run gives its checkouts up by itself; those of other runs stay, for the user may
//! want to look at them. What is removed here is lost for good, so a checkout goes only if its
//! run has ended, no process works on it, and its files are those of a bounce: one that holds
//! other files is left, and it is said where it is. What git ignores, and what an agent committed
//! in the checkout's own repository, does not count. With the checkouts go the refs and objects of
//! what each bounce left; the diffs stay with the run's other files.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use spore_config::Config;
use spore_effects::files::paths_in;
use spore_git::{Checkout, Repository};
use spore_model::{Run, RunId};
use spore_store::Journal;

use crate::base::run_lock::{claim, is_claimed};
use crate::base::run_refs;
use crate::base::stores::ProjectJournal;
use crate::run::retention::records::{TrimmedRecords, trim_records};
use crate::run::retention::remaining::{Remaining, remaining};
use crate::{Error, Result, Surroundings, Workspace};

/// What was removed, or would be.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
pub struct Pruned {
    pub dry_run: bool,
    /// Oldest first.
    pub runs: Vec<PrunedRun>,
    /// Checkouts that were kept for the next ones to be made of.
    pub spares: u32,
    /// What all of that took on the disk.
    pub bytes: u64,
    pub left: Vec<LeftCheckout>,
    /// Transcripts and logs beyond `records.cap_bytes`.
    pub records: TrimmedRecords,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct PrunedRun {
    pub run: RunId,
    pub bytes: u64,
}

/// A run's checkouts that were not removed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct LeftCheckout {
    pub run: RunId,
    pub dir: PathBuf,
    pub why: String,
}

/// Removes what can be removed, or tells what that would be.
pub fn prune(around: &Surroundings, dry_run: bool) -> Result<Pruned> {
    let workspace = Workspace::find(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let repository = workspace.project_repository()?;
    let pruning =
        Pruning { around, workspace: &workspace, repository: &repository, config: &config };
    let mut pruned = Pruned { dry_run, ..Pruned::default() };
    for (run, dir) in runs_with_checkouts(&workspace)? {
        let bytes = taken(&dir);
        match pruning.one(journal.run(run)?.as_ref(), run, &dir, dry_run)? {
            None => {
                pruned.bytes += bytes;
                pruned.runs.push(PrunedRun { run, bytes });
            }
            Some(why) => pruned.left.push(LeftCheckout { run, dir, why }),
        }
    }
    if !dry_run {
        let left: Vec<RunId> = pruned.left.iter().map(|left| left.run).collect();
        pruning.forget_work(&journal, &left)?;
    }
    let spares = workspace.spares();
    pruned.bytes += taken(&spares);
    pruned.spares = if dry_run { count(&spares) } else { Repository::remove_spares(&spares)? };
    let cap = config.records.cap_bytes;
    pruned.records = trim_records(around, &workspace, &journal, cap, dry_run)?;
    pruned.bytes += pruned.records.bytes;
    Ok(pruned)
}

struct Pruning<'a> {
    around: &'a Surroundings,
    workspace: &'a Workspace,
    repository: &'a Repository,
    config: &'a Config,
}

impl Pruning<'_> {
    /// Removes a run's checkouts, or returns why they stay.
    fn one(
        &self,
        run: Option<&Run>,
        id: RunId,
        dir: &Path,
        dry_run: bool,
    ) -> Result<Option<String>> {
        let Some(run) = run else {
            return Ok(Some("nothing is known of this run".to_owned()));
        };
        if run.is_open() {
            let short = id.short();
            return Ok(Some(format!("the run can go on: `spore resume {short}`")));
        }
        let Ok(_lock) = claim(self.workspace, id) else {
            return Ok(Some("somebody works on the run".to_owned()));
        };
        if let Some(why) = self.unkept(run)? {
            return Ok(Some(why));
        }
        if !dry_run {
            self.remove(dir)?;
        }
        Ok(None)
    }

    /// Returns why the coder's checkout has to stay: its files are neither those of the base nor
    /// those of a ref of the run's own.
    fn unkept(&self, run: &Run) -> Result<Option<String>> {
        let Self { around, workspace, repository, config } = *self;
        Ok(match remaining(around, workspace, repository, config, run)? {
            Remaining::Nothing => None,
            Remaining::Work { .. } | Remaining::Unknown => {
                Some("it holds work that no ref keeps".to_owned())
            }
            Remaining::Unstorable(why) => {
                Some(format!("it holds work that cannot be stored: {why}"))
            }
        })
    }

    /// Removes the unverified work of runs that are over, but of those whose checkouts are left.
    fn forget_work(&self, journal: &ProjectJournal, left: &[RunId]) -> Result<()> {
        let refs = self.repository.refs_under("refs/spore")?;
        let run_of = |name: &str| name.split('/').nth(2)?.parse::<RunId>().ok();
        let runs: BTreeSet<RunId> = refs.iter().filter_map(|(name, _)| run_of(name)).collect();
        for id in runs {
            let is_over = journal.run(id)?.is_some_and(|run| !run.is_open());
            if is_over && !left.contains(&id) && !is_claimed(self.workspace, id) {
                self.repository.forget_work(&run_refs::prefix(id))?;
            }
        }
        // A run at work has objects that no ref keeps yet.
        let runs = self.workspace.spore_dir().join("runs");
        let run_in = |dir: &PathBuf| dir.file_name()?.to_str()?.parse::<RunId>().ok();
        let known = paths_in(&runs).map_err(|error| {
            Error::io(format!("cannot read {}", spore_plain::path(&runs)), error)
        })?;
        let is_busy = |id: RunId| is_claimed(self.workspace, id);
        if !known.iter().filter_map(run_in).any(is_busy) {
            self.repository.sweep_work()?;
        }
        Ok(())
    }

    fn remove(&self, dir: &Path) -> Result<()> {
        let failed =
            |source| Error::io(format!("cannot remove {}", spore_plain::path(dir)), source);
        for entry in std::fs::read_dir(dir).map_err(failed)? {
            let place = entry.map_err(failed)?.path();
            if let Some(checkout) = Checkout::open(self.repository, &place) {
                checkout.discard()?;
            }
        }
        self.around.remove_tree(dir)
    }
}

/// The directories with checkouts of runs, oldest run first.
fn runs_with_checkouts(workspace: &Workspace) -> Result<Vec<(RunId, PathBuf)>> {
    let state = workspace.state();
    let paths = paths_in(state)
        .map_err(|error| Error::io(format!("cannot read {}", spore_plain::path(state)), error))?;
    let run = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.parse().ok()?;
        Some((name, path))
    };
    Ok(paths.into_iter().filter_map(run).collect())
}

fn count(spares: &Path) -> u32 {
    let entries = std::fs::read_dir(spares).into_iter().flatten().flatten();
    u32::try_from(entries.count()).unwrap_or(u32::MAX)
}

/// What a directory takes on the disk; what cannot be read takes nothing.
fn taken(path: &Path) -> u64 {
    let Ok(metadata) = path.symlink_metadata() else { return 0 };
    let own = metadata.blocks() * 512;
    if !metadata.is_dir() {
        return own;
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    own + entries.map(|entry| taken(&entry.path())).sum::<u64>()
}
