//! Why git did not do what was asked, sorted by what the caller does about it.

use std::io;
use std::path::{Path, PathBuf};

use spore_effects::files::LockError;
use spore_effects::{ToolError, ToolOutput};
use spore_model::CommitId;

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git is not installed or not on PATH")]
    NotInstalled,
    #[error("{dir} is not in a git repository", dir = .dir.display())]
    NotARepository { dir: PathBuf },
    /// There are no files to work on.
    #[error("{dir} is a bare repository, without a work tree", dir = .dir.display())]
    Bare { dir: PathBuf },
    #[error("the repository {dir} has no commit yet", dir = .dir.display())]
    NoCommits { dir: PathBuf },
    /// Git refuses to read a repository that another user owns; only the person who runs Spore may
    /// allow it, see `safe.directory` in <https://git-scm.com/docs/git-config>.
    #[error("git does not trust {dir}: {complaint}", dir = .dir.display())]
    Unsafe { dir: PathBuf, complaint: String },
    #[error("{revision:?} names no commit of the repository")]
    UnknownRevision { revision: String },
    /// A ref that is the user's, refused by this crate: a bug of the caller.
    #[error("{name:?} is not one of Spore's refs")]
    ForeignRef { name: String },
    /// Moving the branch would move what the user has checked out.
    #[error("branch {name} is checked out in {dir}", dir = .dir.display())]
    CheckedOut { name: String, dir: PathBuf },
    /// The git on PATH cannot do it yet.
    #[error("cannot {action}: that takes git {needs} or newer")]
    TooOld { action: &'static str, needs: &'static str },
    /// Another git is at work in the user's repository, or died there. Worth another try;
    /// the lock is the user's to remove.
    #[error("cannot {action}: another git holds a lock: {complaint}")]
    Locked { action: &'static str, complaint: String },
    #[error("cannot {action}: the disk is full: {complaint}")]
    DiskFull { action: &'static str, complaint: String },
    /// The repository or checkout was there before; now it is gone, or no directory any more.
    #[error("{dir} is gone or no longer a directory", dir = .dir.display())]
    Vanished { dir: PathBuf },
    /// Something that Spore did not make is where a checkout should go.
    #[error("{dir} already holds files that are not a checkout of Spore's", dir = .dir.display())]
    Occupied { dir: PathBuf },
    /// A pipe or device where git expects a file of settings: reading it might never end.
    #[error("{path} is no regular file", path = .path.display())]
    Unusable { path: PathBuf },
    /// Its path is longer than the system or Spore takes.
    #[error("{path} lies below more directories than Spore goes into", path = .path.display())]
    TooDeep { path: PathBuf },
    /// What lies in a checkout cannot become a tree. The machine has done its part: the agent
    /// whose files they are has to change them.
    #[error("the files cannot be stored: {why}")]
    Unstorable { why: String },
    /// Something that a commit is made of is no longer there.
    #[error("cannot {action}: the repository has lost objects: {complaint}")]
    ObjectsGone { action: &'static str, complaint: String },
    /// A partial clone lacks files of a commit, and its remote did not send them.
    #[error(
        "{files} files of {commit} are not in this partial clone, and {remote} did not send them: {complaint}"
    )]
    NotFetched { commit: CommitId, files: usize, remote: String, complaint: String },
    #[error("cannot {action}: git ended with code {code}: {complaint}")]
    Failed { action: &'static str, complaint: String, code: i32 },
    /// git answered with something that is not what its manual promises.
    #[error("cannot {action}: git gave an answer that Spore cannot read: {answer:?}")]
    Unreadable { action: &'static str, answer: String },
    #[error("cannot {action}")]
    Tool {
        action: &'static str,
        #[source]
        source: ToolError,
    },
    #[error("cannot use {path}", path = .path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// What git says when it does not find an object, in the words of its various commands.
const LOST: [&str; 10] = [
    "unable to read tree",
    "from promisor remote",
    "unable to read sha1 file",
    "fatal: unable to read ",
    "Could not read ",
    "not a tree object",
    "failed to unpack tree object",
    "bad object ",
    "invalid object ",
    "is not a valid object",
];

impl GitError {
    /// Sorts an answer with a non-zero code.
    pub(crate) fn of_answer(action: &'static str, dir: &Path, answer: &ToolOutput) -> Self {
        let complaint = answer.complaint();
        let says = |words: &str| complaint.contains(words);
        let dir = || dir.to_owned();
        if says("detected dubious ownership") {
            Self::Unsafe { dir: dir(), complaint }
        } else if says("not a git repository") {
            Self::NotARepository { dir: dir() }
        } else if says("No space left on device") || says("Disk quota exceeded") {
            Self::DiskFull { action, complaint }
        } else if says(".lock': File exists") {
            Self::Locked { action, complaint }
        } else if LOST.iter().any(|words| says(words)) {
            Self::ObjectsGone { action, complaint }
        } else {
            Self::Failed { action, complaint, code: answer.code }
        }
    }

    pub(crate) fn unreadable(action: &'static str, answer: &[u8]) -> Self {
        let answer = String::from_utf8_lossy(answer).chars().take(200).collect();
        Self::Unreadable { action, answer }
    }

    /// Returns whether git was refused by the machine: no room, no rights, a broken disk.
    pub(crate) fn is_of_the_machine(complaint: &str) -> bool {
        const REFUSALS: [&str; 8] = [
            "insufficient permission",
            "unable to create",
            "unable to write",
            "Read-only file system",
            "Input/output error",
            "ut of memory",
            "index file",
            "bad signature",
        ];
        REFUSALS.iter().any(|words| complaint.contains(words))
    }

    /// Wraps an error of the file system around the path that had it.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

impl From<LockError> for GitError {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Held { path } => {
                Self::Io { path, source: io::ErrorKind::ResourceBusy.into() }
            }
            LockError::Io { path, source } => Self::Io { path, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stderr: &str, expected: &str) {
        let answer = ToolOutput { code: 128, stdout: Vec::new(), stderr: stderr.into() };
        let error = GitError::of_answer("store files", Path::new("repo"), &answer);
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_complaint_is_sorted_by_what_the_caller_can_do() {
        check("fatal: not a git repository: 'x'", "repo is not in a git repository");
        check(
            "error: unable to write file: No space left on device",
            "cannot store files: the disk is full: error: unable to write file: No space left on \
             device",
        );
        check(
            "fatal: Unable to create 'packed-refs.lock': File exists.",
            "cannot store files: another git holds a lock: fatal: Unable to create \
             'packed-refs.lock': File exists.",
        );
        check(
            "fatal: detected dubious ownership in repository at 'repo'",
            "git does not trust repo: fatal: detected dubious ownership in repository at 'repo'",
        );
        check(
            "fatal: failed to unpack tree object 0123",
            "cannot store files: the repository has lost objects: fatal: failed to unpack tree \
             object 0123",
        );
        check("fatal: oh", "cannot store files: git ended with code 128: fatal: oh");
    }
}
