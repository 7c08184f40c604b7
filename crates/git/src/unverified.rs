//! Where work lives that was not verified: a bare repository of Spore's own.
//!
//! It borrows the user's objects through `alternates` and has the refs of everything that only
//! Spore knows: what each bounce left, what a lost session left, what a sentinel looked at. So the
//! user's repository gets no object and no ref of work that was turned down, and
//! [`Repository::forget_work`] removes all of it.
//!
//! Every call goes on with the user's git directory, for its settings, its refs and its attributes;
//! only where objects are written to is another place, by `GIT_OBJECT_DIRECTORY`, in the way that
//! git itself holds back what a push brings until its hooks agree
//! (<https://git-scm.com/docs/git-receive-pack#_quarantine_environment>). The one decision: a ref of
//! the user's repository is only set after everything it leads to was [taken over](Repository::admit).
//!
//! A checkout of such a commit has a copy of its objects in the agent's own `.git`, for no session
//! sees Spore's.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use spore_effects::files::{create_private_dir, remove_all, touch, write_atomic};
use spore_model::CommitId;

use crate::command::Git;
use crate::{GitError, Repository};

/// What follows the run's id in the name of a ref that keeps unverified work.
const UNVERIFIED: [&str; 4] = ["bounce", "held-out", "left", "sentinel"];

/// Returns whether a ref of Spore's keeps work that was not verified.
pub(crate) fn is_unverified(name: &str) -> bool {
    let mut parts = name.strip_prefix("refs/spore/").unwrap_or_default().split('/');
    parts.next().is_some() && parts.next().is_some_and(|part| UNVERIFIED.contains(&part))
}

impl Repository {
    /// Returns the same repository, which keeps unverified work in a bare one at `dir`. That is
    /// made when it is first needed.
    #[must_use]
    pub fn keeping_work_in(mut self, dir: &Path) -> Self {
        self.work = Some(Arc::from(dir));
        if self.work().is_some() {
            // Nothing of it could be read where the project was moved. If this cannot be mended,
            // what needs it will say so.
            let _ = self.make_work();
        }
        self
    }

    /// Returns the bare repository, if there is one.
    pub(crate) fn work(&self) -> Option<&Path> {
        self.work.as_deref().filter(|dir| alternates(dir).exists())
    }

    /// Makes the bare repository, if it is wanted and not there.
    pub(crate) fn make_work(&self) -> Result<(), GitError> {
        // Runs that begin at once in one process would write into one and the same draft.
        static MAKING: Mutex<()> = Mutex::new(());
        let Some(dir) = self.work.as_deref() else { return Ok(()) };
        let _alone = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut borrowed = self.git_dir().join("objects").as_os_str().as_bytes().to_vec();
        borrowed.push(b'\n');
        // A project that was moved is elsewhere by now.
        match fs::read(alternates(dir)) {
            Ok(known) if known == borrowed => return Ok(()),
            Ok(_) => return write_atomic(&alternates(dir), &borrowed).map_err(GitError::io(dir)),
            Err(_) => {}
        }
        let scratch = dir.with_extension(format!("new-{}", std::process::id()));
        let is_sha256 = self.settings().get("extensions.objectformat").as_deref() == Some("sha256");
        write_bare(&scratch, &borrowed, is_sha256).map_err(GitError::io(&scratch))?;
        if fs::rename(&scratch, dir).is_err() && !alternates(dir).exists() {
            // What is there is no repository: a removal that was cut short.
            remove_all(dir).map_err(GitError::io(dir))?;
            fs::rename(&scratch, dir).map_err(GitError::io(dir))?;
        }
        // Another process may have been first.
        remove_all(&scratch).map_err(GitError::io(&scratch))
    }

    /// Lets a call see unverified work, and write there what it writes.
    pub(crate) fn with_work(&self, call: Git) -> Git {
        match self.work() {
            Some(dir) => call.env("GIT_OBJECT_DIRECTORY", dir.join("objects")),
            None => call,
        }
    }

    /// A call on the refs of unverified work.
    pub(crate) fn work_git(&self, action: &'static str, dir: &Path) -> Git {
        Git::new(action, dir).env("GIT_DIR", dir)
    }

    /// Takes over into the user's repository what a commit leads to and is not there yet. Done
    /// again it changes nothing.
    pub(crate) fn admit(&self, commit: &CommitId) -> Result<(), GitError> {
        let Some(work) = self.work() else { return Ok(()) };
        let action = "take over verified work";
        let here = work.join("objects");
        if is_all_loose(&here) {
            // What is not here is the user's: a commit is taken over after all that it leads to.
            if !here.join(loose_name(commit.as_str())).exists() {
                return Ok(());
            }
            let list = self.objects_of(action, commit)?;
            let there = self.git_dir().join("objects");
            // One that other users share has rights that only git knows to give.
            let is_shared = self.settings().get("core.sharedrepository").is_some();
            if !is_shared && link_all(&list, &here, &there).is_ok() {
                return Ok(());
            }
        }
        if let Some(pack) = self.pack_of(action, commit)? {
            let call = Git::new(action, self.git_dir()).env("GIT_DIR", self.git_dir());
            call.args(["unpack-objects", "-q"]).stdin(pack).run()?;
        }
        Ok(())
    }

    /// Copies what a commit leads to and the user's repository lacks into another one.
    pub(crate) fn lend(&self, commit: &CommitId, git_dir: &Path) -> Result<(), GitError> {
        let Some(work) = self.work() else { return Ok(()) };
        let (here, there) = (work.join("objects"), git_dir.join("objects"));
        if !here.join(loose_name(commit.as_str())).exists() {
            return Ok(());
        }
        let action = "copy a commit";
        // Almost always each object is a file: to copy those takes no other program.
        if is_all_loose(&here) {
            let list = self.objects_of(action, commit)?;
            for name in list.lines().map(loose_name) {
                copy_if_there(&here.join(&name), &there.join(&name))
                    .map_err(GitError::io(&there))?;
            }
            return Ok(());
        }
        if let Some(pack) = self.pack_of(action, commit)? {
            let call = Git::new(action, git_dir).env("GIT_DIR", git_dir);
            call.args(["index-pack", "--stdin"]).stdin(pack).run()?;
        }
        Ok(())
    }

    fn pack_of(
        &self,
        action: &'static str,
        commit: &CommitId,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let list = self.objects_of(action, commit)?;
        if list.is_empty() {
            return Ok(None);
        }
        // Without what the user's repository has anyway, reachable there or not.
        let call = self.git(action).args(["pack-objects", "--quiet", "--local", "--stdout"]);
        let pack = call.stdin(list.as_bytes()).run()?.stdout;
        let count = pack.get(8..12).unwrap_or_default();
        Ok(count.iter().any(|byte| *byte != 0).then_some(pack))
    }

    /// Returns what a commit leads to and no ref of the user's does, an object a line.
    /// Each comes after what leads to it.
    fn objects_of(&self, action: &'static str, commit: &CommitId) -> Result<Arc<String>, GitError> {
        self.recall().unverified.answer(commit.clone(), || {
            let list = self.git(action).args(["rev-list", "--objects", "--no-object-names"]);
            let list = list.args(["--ignore-missing", commit.as_str(), "--not", "--all"]);
            Ok(list.run()?.text())
        })
    }

    /// Forgets the unverified work below a prefix of refs such as `refs/spore/<run>`. What is no
    /// longer kept stays on the disk until [`Self::sweep_work`].
    pub fn forget_work(&self, prefix: &str) -> Result<(), GitError> {
        for (name, commit) in self.refs_under(prefix)? {
            if is_unverified(&name) {
                self.remove_ref(&name, &commit)?;
            }
        }
        Ok(())
    }

    /// Removes the objects of unverified work that no ref keeps. The caller knows that no process
    /// is at work on any: what it has not given a ref yet would go.
    pub fn sweep_work(&self) -> Result<(), GitError> {
        let Some(dir) = self.work() else { return Ok(()) };
        // By the clock of the file system, which the objects have their times from. What is
        // written from here on is another process's.
        let mark = dir.join("swept");
        fs::write(&mark, b"").map_err(GitError::io(&mark))?;
        let now = fs::metadata(&mark).map_err(GitError::io(&mark))?.mtime();
        let call = self.work_git("remove what nothing keeps", dir);
        call.args(["prune".to_owned(), format!("--expire=@{now}")]).run()?;
        Ok(())
    }
}

/// Returns where an object lies that is a file of its own
/// (<https://git-scm.com/docs/gitrepository-layout>).
fn loose_name(object: &str) -> PathBuf {
    let (start, rest) = object.split_at(object.len().min(2));
    Path::new(start).join(rest)
}

/// Copies an object, which the user's repository may have instead.
fn copy_if_there(from: &Path, to: &Path) -> io::Result<()> {
    if !from.exists() {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(from, to).map(drop)
}

/// Returns whether each object in a directory of objects is a file of its own.
fn is_all_loose(objects: &Path) -> bool {
    fs::read_dir(objects.join("pack")).is_ok_and(|mut packs| packs.next().is_none())
}

/// Gives the objects of a list a second name in another directory of objects, as git's own local
/// clone does it: no object ever changes. What leads to others comes after them, so that a kill
/// leaves nothing that is there and not whole; and the ref that is set next is written after all
/// of it, also to the disk.
fn link_all(list: &str, here: &Path, there: &Path) -> io::Result<()> {
    for name in list.lines().rev().map(loose_name) {
        let (from, to) = (here.join(&name), there.join(&name));
        if to.exists() || !from.exists() {
            continue;
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        // The user's git removes what is old and has no ref, and this has none yet.
        touch(&from)?;
        match fs::hard_link(&from, &to) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn alternates(dir: &Path) -> PathBuf {
    dir.join("objects/info/alternates")
}

fn write_bare(scratch: &Path, borrowed: &[u8], is_sha256: bool) -> io::Result<()> {
    remove_all(scratch)?;
    create_private_dir(scratch)?;
    for folder in ["objects/info", "objects/pack", "refs/heads"] {
        fs::create_dir_all(scratch.join(folder))?;
    }
    let version = u8::from(is_sha256);
    let mut config =
        format!("[core]\n\trepositoryformatversion = {version}\n\tbare = true\n[gc]\n\tauto = 0\n");
    if is_sha256 {
        config += "[extensions]\n\tobjectformat = sha256\n";
    }
    fs::write(scratch.join("HEAD"), "ref: refs/heads/none\n")?;
    fs::write(scratch.join("config"), config)?;
    // The directory may lie in the user's work tree.
    fs::write(scratch.join(".gitignore"), "*\n")?;
    fs::write(alternates(scratch), borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refs_name_says_whether_its_work_is_verified() {
        for name in
            ["refs/spore/RUN/bounce/1", "refs/spore/RUN/left/1-2", "refs/spore/R/sentinel/3"]
        {
            assert!(is_unverified(name), "{name}");
        }
        for name in ["refs/spore/RUN/base", "refs/spore/bounce", "refs/heads/spore/RUN", "bounce"] {
            assert!(!is_unverified(name), "{name}");
        }
    }

    #[test]
    fn a_commit_is_taken_over_after_all_that_it_leads_to() {
        let dir = tempfile::tempdir().unwrap();
        let (here, there) = (dir.path().join("here"), dir.path().join("there"));
        let objects = ["c0commit", "700tree", "b0blob"];
        for object in objects {
            let path = here.join(loose_name(object));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, object).unwrap();
        }
        fs::create_dir_all(&there).unwrap();
        fs::write(there.join("70"), "in the way").unwrap();
        let list = objects.join("\n");
        link_all(&list, &here, &there).unwrap_err();
        let taken = || objects.map(|object| there.join(loose_name(object)).exists());
        assert_eq!(taken(), [false, false, true]);
        fs::remove_file(there.join("70")).unwrap();
        link_all(&list, &here, &there).unwrap();
        assert_eq!(taken(), [true; 3]);
    }
}
