//! What is on disk in a checkout, set against what a commit has there.
//!
//! The walk is ours and not git's, because git, at a directory that holds a `.git`, starts
//! to read that repository; here a `.git` is only noted and stepped over. Which untracked
//! files are ignored is still git's to say. It is asked once for all that lies beside tracked
//! files, and once more for each level of new directories, so an ignored directory of a
//! hundred thousand files costs nothing.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use spore_effects::files::open_up;
use spore_effects::walk;

use crate::GitError;
use crate::command::{Git, records};
use crate::listing::{Name, TreeListing, below, inside};

pub(crate) type Names = HashSet<Name>;

/// How many levels of new directories are gone into. Each is a question to git, and a path of some
/// thousand parts is more than the system takes.
const MAX_LEVELS: usize = 200;

/// The longest path below the root, in bytes, that is looked at. The system takes 4,096 with
/// everything above it (<https://man7.org/linux/man-pages/man7/path_resolution.7.html>), and a
/// checkout of the same files may lie at a longer path than this one.
const MAX_NAME: usize = 2048;

#[derive(Debug, Default)]
pub(crate) struct WorkTreeSurvey {
    /// Files and links that the commit has too, whatever they hold now.
    pub(crate) tracked: Names,
    /// The other files and links.
    pub(crate) untracked: Vec<Name>,
    /// Directories with nothing tracked in them, each after the one that holds it.
    pub(crate) folders: Vec<Name>,
    /// What no tree can hold: pipes, sockets, and the `.git` of a repository in the checkout.
    pub(crate) foreign: Vec<Name>,
}

/// What a survey leaves out.
pub(crate) struct SurveyScope<'a> {
    /// Whether the files are Spore's, which may give itself the right to look at them.
    pub(crate) is_own: bool,
    /// Untracked paths not even worth asking git about.
    pub(crate) skip: &'a dyn Fn(&[u8], SurveyedKind) -> bool,
    /// Returns those of the given paths that are ignored.
    pub(crate) ignored: &'a dyn Fn(&[&Name]) -> Result<Names, GitError>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SurveyedKind {
    /// A regular file or a symbolic link.
    File,
    Directory,
    /// A pipe, a socket, a device, or another repository's `.git`.
    Foreign,
}

/// Walks `root`. Symbolic links are never followed.
pub(crate) fn survey(
    root: &Path,
    commit: &TreeListing,
    scope: &SurveyScope<'_>,
) -> Result<WorkTreeSurvey, GitError> {
    let mut survey = WorkTreeSurvey::default();
    let mut open = Vec::new();
    let is_own = scope.is_own;
    let known = walk(Name::new(), |folder| {
        let (mut tracked, mut others, mut folders) = (Vec::new(), Vec::new(), Vec::new());
        for (name, kind) in read_folder(root, folder, is_own)? {
            let entry = commit.get(&name);
            match kind {
                SurveyedKind::Directory if commit.has_folder(&name) => folders.push(name),
                SurveyedKind::File if entry.is_some_and(|entry| !entry.is_submodule()) => {
                    tracked.push(name);
                }
                _ => others.push((name, kind)),
            }
        }
        Ok::<_, GitError>(((tracked, others), folders))
    })?;
    for (tracked, others) in known {
        survey.tracked.extend(tracked);
        open.extend(others);
    }
    for level in 0.. {
        let Some((name, _)) = open.first() else { break };
        if level == MAX_LEVELS {
            return Err(GitError::TooDeep { path: below(root, name) });
        }
        open.retain(|(name, kind)| !(scope.skip)(name, *kind));
        if let Some((name, _)) = open.iter().find(|(name, _)| name.len() > MAX_NAME) {
            return Err(GitError::TooDeep { path: below(root, name) });
        }
        let names: Vec<&Name> = open.iter().map(|(name, _)| name).collect();
        let mut ignored = (scope.ignored)(&names)?;
        // Whatever the rules say of its name, a link where the commit has a directory is in the
        // way of what is tracked there.
        ignored.retain(|name| !commit.has_folder(name));
        let mut next = Vec::new();
        for (name, kind) in open.into_iter().filter(|(name, _)| !ignored.contains(name)) {
            match kind {
                SurveyedKind::File => survey.untracked.push(name),
                SurveyedKind::Foreign => survey.foreign.push(name),
                SurveyedKind::Directory => {
                    next.extend(read_folder(root, &name, is_own)?);
                    survey.folders.push(name);
                }
            }
        }
        open = next;
    }
    Ok(survey)
}

/// Returns those of `names` that the ignore rules cover, as they are on disk now. `call` is made
/// for the work tree and an index of it.
pub(crate) fn ignored(call: Git, names: &[&Name]) -> Result<Names, GitError> {
    if names.is_empty() {
        return Ok(Names::new());
    }
    // The prefix keeps a name such as `:(top)` from being read as a pattern.
    let question: Vec<u8> =
        names.iter().flat_map(|name| [b"./", &name[..], b"\0"].concat()).collect();
    // Without the index: it would call a directory with tracked files never ignored.
    let call = call.stdin(question).args(["check-ignore", "-z", "--stdin", "--no-index"]);
    let answer = call.answer()?;
    if answer.code > 1 {
        return Err(call.failure(&answer));
    }
    let name = |record: &[u8]| record.strip_prefix(b"./").unwrap_or(record).to_vec();
    Ok(records(&answer.stdout).map(name).collect())
}

fn read_folder(
    root: &Path,
    folder: &[u8],
    is_own: bool,
) -> Result<Vec<(Name, SurveyedKind)>, GitError> {
    use std::os::unix::ffi::OsStrExt;
    let path = below(root, folder);
    let mut found = Vec::new();
    if is_own {
        open_up(&path).map_err(GitError::io(&path))?;
    }
    for entry in fs::read_dir(&path).map_err(GitError::io(&path))? {
        let entry = entry.map_err(GitError::io(&path))?;
        let kind = entry.file_type().map_err(GitError::io(&entry.path()))?;
        let base = entry.file_name();
        let is_git = base.as_bytes().eq_ignore_ascii_case(b".git");
        if is_git && folder.is_empty() {
            continue;
        }
        let kind = if is_git {
            SurveyedKind::Foreign
        } else if kind.is_dir() {
            SurveyedKind::Directory
        } else if kind.is_file() || kind.is_symlink() {
            SurveyedKind::File
        } else {
            SurveyedKind::Foreign
        };
        // git opens these by name and would wait for ever at the end of a pipe.
        let is_setting = base == ".gitignore" || base == ".gitattributes";
        if kind == SurveyedKind::Foreign && is_setting {
            return Err(GitError::Unusable { path: entry.path() });
        }
        found.push((inside(folder, &base), kind));
    }
    Ok(found)
}
