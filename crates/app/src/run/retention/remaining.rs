//! What is in the coder's checkout of a run that does not go on, and whether a ref has it.
//!
//! Giving a run up and making room both have to know. A task's run says by itself how its files are
//! read; parts of flows are read by what they started from and by the project's settings.

use spore_config::Config;
use spore_git::{ChangeCaps, Checkout, Repository};
use spore_model::{CommitId, Run, TreeId};

use crate::base::checkouts::{CheckoutSettings, Checkouts, Snapshot};
use crate::base::run_refs;
use crate::run::settings::settings_of;
use crate::{Result, Surroundings, Workspace};

/// What is in the coder's checkout of a run.
pub(crate) enum Remaining {
    /// There is none, or its files are those of the base or of a ref of the run's own.
    Nothing,
    /// Files that no ref has, and what they were made from.
    Work { tree: TreeId, base: CommitId },
    /// Files that cannot be stored.
    Unstorable(String),
    /// What the run began with is not on record.
    Unknown,
}

/// Looks into the coder's checkout of a run.
pub(crate) fn remaining(
    around: &Surroundings,
    workspace: &Workspace,
    repository: &Repository,
    config: &Config,
    run: &Run,
) -> Result<Remaining> {
    let place = workspace.run_state(run.id).join("coder");
    let Some(checkout) = Checkout::open(repository, &place) else { return Ok(Remaining::Nothing) };
    let own = settings_of(run).ok();
    let settings = match (&own, &run.base_commit) {
        (Some(own), _) => own.checkout(),
        (None, Some(base)) => of_part(config, base),
        // A run that cannot be read any more is not judged by what it might have meant.
        (None, None) => return Ok(Remaining::Unknown),
    };
    let checkouts = Checkouts { around, workspace, repository, run: run.id, settings };
    let tree = match checkouts.snapshot(&checkout)? {
        Snapshot::Taken(tree) => tree,
        Snapshot::Refused(why) => return Ok(Remaining::Unstorable(why)),
    };
    let refs = repository.refs_under(&run_refs::prefix(run.id))?;
    let mut kept = refs.iter().map(|(_, commit)| commit).chain([settings.base]);
    let is_it = |commit: &CommitId| repository.tree_of(commit).is_ok_and(|one| one == tree);
    Ok(match kept.any(is_it) {
        true => Remaining::Nothing,
        false => Remaining::Work { tree, base: settings.base.clone() },
    })
}

/// How the checkout of a flow's part is read. It is made as the project's settings say, and these
/// are not on record with it.
fn of_part<'a>(config: &'a Config, base: &'a CommitId) -> CheckoutSettings<'a> {
    CheckoutSettings {
        base,
        // Nothing is laid out by this.
        trusted: base,
        exclude: &config.commit.exclude,
        allow: &config.commit.allow,
        caps: ChangeCaps {
            bytes: config.commit.max_bytes,
            files: u64::from(config.commit.max_files),
        },
        setup: &config.checkout.setup,
        copy: &config.checkout.copy,
        max_bounces: 1,
    }
}
