//! The kinds of checkout of a run: the coder's, the gates', the verifier's, the tester's.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use spore_effects::Tool;
use spore_git::{ChangeCaps, Checkout, Exclusions, GitError, Repository};
use spore_model::{CommitId, Fault, RunId, TreeId};

use super::files::create_private_dir;
use crate::{Error, Result, Surroundings, Workspace};

pub(crate) struct Checkouts<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) repository: &'a Repository,
    pub(crate) run: RunId,
    pub(crate) settings: CheckoutSettings<'a>,
}

/// How checkouts of a run are made.
#[derive(Clone, Copy)]
pub(crate) struct CheckoutSettings<'a> {
    pub(crate) base: &'a CommitId,
    /// The commit of a person's that what Spore runs outside of the sandbox goes by: set-up commands,
    /// attributes and their filters. It is not the base where that is work of agents.
    pub(crate) trusted: &'a CommitId,
    /// What snapshots leave out, and what of it they take all the same.
    pub(crate) exclude: &'a [String],
    pub(crate) allow: &'a [String],
    /// What a change may write at most.
    pub(crate) caps: ChangeCaps,
    /// Commands that make a fresh checkout ready.
    pub(crate) setup: &'a [String],
    /// Files of the project that a fresh checkout lacks.
    pub(crate) copy: &'a [String],
    pub(crate) max_bounces: u32,
}

/// What came of storing a checkout's files.
pub(crate) enum Snapshot {
    Taken(TreeId),
    /// They cannot be stored, for a reason that is the agent's to mend.
    Refused(String),
}

impl Checkouts<'_> {
    /// Lays out the coder's checkout at the base, or finds the one that is there.
    pub(crate) fn coder(&self) -> Result<Checkout> {
        self.lay_out(&self.place("coder"), self.settings.base)
    }

    pub(crate) fn has_coder(&self) -> bool {
        let place = self.place("coder");
        self.open(&place).is_some() && prepared(&place).exists()
    }

    /// Takes the coder's checkout back to the base, as if it had just been laid out.
    pub(crate) fn begin_coder_anew(&self) -> Result<()> {
        self.coder()?.reset(self.settings.base)?;
        self.around.write_file(&prepared(&self.place("coder")), b"")
    }

    /// Returns whether a file of the coder's checkout was written since that was laid out, be it with
    /// what it said before. The time of its last change is the system's to say, and no program's.
    pub(crate) fn is_written_by_coder(&self, file: &str) -> bool {
        let place = self.place("coder");
        let changed = |path: &Path| {
            let found = std::fs::symlink_metadata(path).ok()?;
            Some((found.ctime(), found.ctime_nsec()))
        };
        let (Some(checkout), Some(laid)) = (self.open(&place), changed(&prepared(&place))) else {
            return false;
        };
        changed(&checkout.dir().join(file)).is_some_and(|written| written > laid)
    }

    /// Lays out a clean checkout for a verifier; what an earlier one left is removed.
    pub(crate) fn verifier(&self, bounce: u32, commit: &CommitId) -> Result<Checkout> {
        let place = self.place(&format!("verifier-{bounce}"));
        self.retire(&place)?;
        self.lay_out(&place, commit)
    }

    pub(crate) fn retire_verifiers(&self) -> Result<()> {
        for bounce in 1..=self.settings.max_bounces {
            self.retire(&self.place(&format!("verifier-{bounce}")))?;
        }
        Ok(())
    }

    /// Lays out a clean checkout of the base for a tester; what an earlier one left is removed.
    pub(crate) fn tester(&self) -> Result<Checkout> {
        self.discard_tester()?;
        self.lay_out(&self.place("tester"), self.settings.base)
    }

    /// Removes the tester's checkout. No other is made of it: what it holds is for no other role.
    pub(crate) fn discard_tester(&self) -> Result<()> {
        self.remove(&self.place("tester"))
    }

    /// Gives up the coder's checkout: all that was judged is kept by refs.
    pub(crate) fn retire_coder(&self) -> Result<()> {
        self.retire(&self.place("coder"))
    }

    /// Returns the gates' checkout, whatever is in it; nothing if there is none that is whole.
    pub(crate) fn gates(&self) -> Option<Checkout> {
        let place = self.gates_place();
        self.open(&place).filter(|_| prepared(&place).exists())
    }

    /// Makes the gates' checkout anew, at the base.
    pub(crate) fn gates_anew(&self) -> Result<Checkout> {
        let place = self.gates_place();
        self.remove(&place)?;
        self.lay_out(&place, self.settings.base)
    }

    fn gates_place(&self) -> PathBuf {
        self.workspace.gates_state().join("checkout")
    }

    pub(crate) fn exclusions(&self) -> Exclusions {
        Exclusions::new(self.settings.exclude, self.settings.allow)
    }

    /// Stores what a checkout holds, or says why its files cannot be stored.
    pub(crate) fn snapshot(&self, checkout: &Checkout) -> Result<Snapshot> {
        let CheckoutSettings { base, caps, .. } = self.settings;
        match checkout.snapshot_within(base, &self.exclusions(), caps) {
            Ok(tree) => Ok(Snapshot::Taken(tree)),
            Err(GitError::Unstorable { why }) => Ok(Snapshot::Refused(why)),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the first of the files that were edited since the base and that snapshots leave
    /// out; a directory that is new for itself. To be asked right after a snapshot.
    pub(crate) fn left_out(&self, checkout: &Checkout) -> Result<Vec<String>> {
        const MOST: usize = 20;
        let mut files = checkout.left_out(&self.exclusions())?;
        // Spore itself brought these.
        files.retain(|file| !self.settings.copy.iter().any(|copied| copied == file));
        if !self.settings.setup.is_empty() {
            // What the set-up's commands installed is not told apart from what a coder made.
            files.retain(|file| !file.ends_with('/'));
        }
        files.truncate(MOST);
        Ok(files)
    }

    fn open(&self, place: &Path) -> Option<Checkout> {
        Checkout::open(&self.by_trusted(), place)
    }

    /// The repository, in whose checkouts a person's attributes count and never a change's.
    fn by_trusted(&self) -> Repository {
        self.repository.with_attributes_of(self.settings.trusted)
    }

    fn remove(&self, place: &Path) -> Result<()> {
        self.given_up(place).map_or(Ok(()), |checkout| Ok(checkout.discard()?))
    }

    /// Removes a checkout whose files the next one can be made of.
    fn retire(&self, place: &Path) -> Result<()> {
        let spares = self.workspace.spares();
        self.given_up(place).map_or(Ok(()), |checkout| Ok(checkout.retire(&spares)?))
    }

    /// Returns a checkout that is no longer called prepared.
    fn given_up(&self, place: &Path) -> Option<Checkout> {
        let _ = self.around.remove_file(&prepared(place));
        self.open(place)
    }

    fn place(&self, name: &str) -> PathBuf {
        self.workspace.run_state(self.run).join(name)
    }

    fn lay_out(&self, place: &Path, commit: &CommitId) -> Result<Checkout> {
        if let Some(checkout) = self.open(place)
            && prepared(place).exists()
        {
            return Ok(checkout);
        }
        if let Some(parent) = place.parent() {
            create_private_dir(parent)?;
        }
        let CheckoutSettings { trusted, setup, .. } = self.settings;
        // The set-up's commands run without a sandbox, so they see what a person made and never
        // the work of an agent: its manifests can name programs, too.
        let first = if setup.is_empty() { commit } else { trusted };
        let spares = self.workspace.spares();
        let checkout = self.by_trusted().checkout_reusing(&spares, place, first)?;
        self.bring_along(checkout.dir())?;
        self.set_up(checkout.dir())?;
        if first != commit {
            checkout.reset(commit)?;
            self.bring_along(checkout.dir())?;
        }
        self.around.write_file(&prepared(place), b"")?;
        Ok(checkout)
    }

    /// Copies what a fresh checkout lacks and the person listed: local settings, fixtures.
    fn bring_along(&self, dir: &Path) -> Result<()> {
        for name in self.settings.copy {
            let (from, to) = (self.workspace.root().join(name), dir.join(name));
            self.around.copy_file(&from, &to).map_err(|source| {
                Error::new(Fault::Config, format!("[checkout] copy: cannot copy {name}"))
                    .because(source)
            })?;
        }
        Ok(())
    }

    fn set_up(&self, dir: &Path) -> Result<()> {
        for command in self.settings.setup {
            let output = Tool::new("sh").args(["-c", command]).cwd(dir).output()?;
            if !output.is_success() {
                return Err(Error::new(
                    Fault::Config,
                    format!("[checkout] setup: `{command}` exited with {}", output.code),
                )
                .hint(output.complaint()));
            }
        }
        Ok(())
    }
}

/// Written last, beside the checkout: its files and its set-up are whole.
fn prepared(place: &Path) -> PathBuf {
    place.with_extension("prepared")
}
