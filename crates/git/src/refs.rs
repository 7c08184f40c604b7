//! The refs Spore adds to the user's repository, and no others; and the one way in which a
//! branch of the user's is moved, when they asked for that.

use std::path::Path;

use spore_effects::Effect;
use spore_model::CommitId;

use crate::command::Git;
use crate::ref_files::{NamedRefs, loose, refs_below};
use crate::unverified::is_unverified;
use crate::{GitError, Repository};

const OURS: [&str; 2] = ["refs/spore/", "refs/heads/spore/"];

impl Repository {
    /// Points one of Spore's refs at a commit. Doing it twice is doing it once. A branch that
    /// the user has checked out is not moved under them.
    pub fn set_ref(&self, name: &str, commit: &CommitId) -> Result<(), GitError> {
        if !is_ours(name) {
            return Err(GitError::ForeignRef { name: name.to_owned() });
        }
        if is_unverified(name) && self.work.is_some() {
            return self.set_work_ref(name, commit);
        }
        if let Some(target) = self.ref_target(name)? {
            if target == *commit {
                return Ok(());
            }
            if let Some(dir) = self.work_trees_on(name)?.into_iter().next() {
                return Err(GitError::CheckedOut { name: name.to_owned(), dir });
            }
        }
        self.admit(commit)?;
        let call = self.users_git("set a ref").args(["update-ref", "--no-deref", "-m", "spore"]);
        let call = call.args(["--", name, commit.as_str()]);
        self.probe().around(Effect::Ref, name, || call.run())?;
        Ok(())
    }

    /// Points a ref of unverified work at a commit.
    fn set_work_ref(&self, name: &str, commit: &CommitId) -> Result<(), GitError> {
        self.make_work()?;
        let Some(dir) = self.work() else { return Ok(()) };
        if self.work_ref(name)?.as_ref() == Some(commit) {
            return Ok(());
        }
        let call = self.work_git("set a ref", dir).args(["update-ref", "--no-deref"]);
        let call = call.args(["--", name, commit.as_str()]);
        self.probe().around(Effect::Ref, name, || call.run())?;
        Ok(())
    }

    fn work_ref(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        let Some(dir) = self.work() else { return Ok(None) };
        if let Some(commit) = loose(dir, name) {
            return Ok(Some(commit));
        }
        Ok(self
            .work_refs(dir, name)?
            .into_iter()
            .find(|(found, _)| found == name)
            .map(|(_, commit)| commit))
    }

    /// Removes one of Spore's refs that still points at `commit`. One that is gone is fine; one
    /// that points elsewhere by now, or that is checked out in a work tree, stays: then this is
    /// false.
    pub fn remove_ref(&self, name: &str, commit: &CommitId) -> Result<bool, GitError> {
        if !is_ours(name) {
            return Err(GitError::ForeignRef { name: name.to_owned() });
        }
        match self.ref_target(name)? {
            None => return Ok(true),
            Some(target) if target != *commit => return Ok(false),
            Some(_) => {}
        }
        if let (Some(dir), Some(_)) = (self.work(), self.work_ref(name)?) {
            let call = self.work_git("remove a ref", dir).args(["update-ref", "--no-deref", "-d"]);
            let call = call.args(["--", name, commit.as_str()]);
            self.probe().around(Effect::Ref, &format!("remove {name}"), || call.run())?;
            return Ok(true);
        }
        if !self.work_trees_on(name)?.is_empty() {
            return Ok(false);
        }
        let call = self.git("remove a ref").args(["update-ref", "--no-deref", "-m", "spore", "-d"]);
        let call = call.args(["--", name, commit.as_str()]);
        let answer =
            self.probe().around(Effect::Ref, &format!("remove {name}"), || call.answer())?;
        if answer.is_success() {
            return Ok(true);
        }
        match self.ref_target(name)? {
            None => Ok(true),
            Some(target) if target != *commit => Ok(false),
            Some(_) => Err(call.failure(&answer)),
        }
    }

    /// Moves a branch of the user's from one commit to another, if it is still on the first.
    /// Returns whether it was. The branch's own log and that of HEAD say `why`; no file and
    /// no index follows by itself.
    pub fn move_branch(
        &self,
        branch: &str,
        from: &CommitId,
        to: &CommitId,
        why: &str,
    ) -> Result<bool, GitError> {
        if !branch.starts_with("refs/heads/") || branch.starts_with("refs/heads/spore/") {
            return Err(GitError::ForeignRef { name: branch.to_owned() });
        }
        self.admit(to)?;
        // From the user's own work tree: the log of its HEAD tells of the move.
        let call = self.on_users_files("move a branch").args(["update-ref", "-m", why, "--"]);
        let call = call.args([branch, to.as_str(), from.as_str()]);
        let answer = self.probe().around(Effect::Ref, "branch of the user", || call.answer())?;
        if answer.is_success() {
            return Ok(true);
        }
        if self.ref_target(branch)?.as_ref() == Some(from) {
            return Err(call.failure(&answer));
        }
        Ok(false)
    }

    /// Returns what a ref, given by its full name, points at.
    pub fn ref_target(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        if is_unverified(name)
            && let Some(commit) = self.work_ref(name)?
        {
            return Ok(Some(commit));
        }
        // A run asks for its own again and again, and they lie in files of their own.
        if is_ours(name)
            && let Some(commit) = loose(self.git_dir(), name)
        {
            return Ok(Some(commit));
        }
        let refs = self.refs_under(name)?;
        Ok(refs.into_iter().find(|(found, _)| found == name).map(|(_, commit)| commit))
    }

    /// Returns the refs below a prefix of whole parts, such as `refs/spore`, by name: the user's,
    /// and those of unverified work.
    pub fn refs_under(&self, prefix: &str) -> Result<Vec<(String, CommitId)>, GitError> {
        let mut refs = self.users_refs(prefix)?;
        if let Some(dir) = self.work().filter(|_| prefix.starts_with("refs/spore")) {
            let unverified = self.work_refs(dir, prefix)?;
            refs.retain(|(name, _)| unverified.iter().all(|(other, _)| other != name));
            refs.extend(unverified);
            refs.sort();
        }
        Ok(refs)
    }

    /// Returns the refs of the user's repository below a prefix.
    pub(crate) fn users_refs(&self, prefix: &str) -> Result<NamedRefs, GitError> {
        // Another store than files has none of what is read there.
        let store = self.settings().get("extensions.refstorage");
        let in_files = store.is_none_or(|store| store == "files");
        let found = in_files.then(|| refs_below(self.git_dir(), prefix)).flatten();
        found.map_or_else(|| listed(&self.users_git("list refs"), prefix), Ok)
    }

    /// Returns the refs of unverified work below a prefix.
    fn work_refs(&self, dir: &Path, prefix: &str) -> Result<NamedRefs, GitError> {
        let found = refs_below(dir, prefix);
        found.map_or_else(|| listed(&self.work_git("list refs", dir), prefix), Ok)
    }
}

fn listed(call: &Git, prefix: &str) -> Result<NamedRefs, GitError> {
    let call =
        call.clone().args(["for-each-ref", "--format=%(objectname) %(refname)", "--", prefix]);
    let parse = |line: &str| {
        let (commit, name) = line.split_once(' ')?;
        Some((name.to_owned(), CommitId::new(commit).ok()?))
    };
    let read = |line| parse(line).ok_or_else(|| GitError::unreadable("list refs", line.as_bytes()));
    call.run()?.text().lines().map(read).collect()
}

fn is_ours(name: &str) -> bool {
    OURS.iter().any(|ours| name.len() > ours.len() && name.starts_with(ours))
}
