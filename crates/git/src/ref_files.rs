//! Refs as git keeps them in files, read without starting it.
//!
//! A run asks for refs a dozen times, and each answer of git's is a process. What is read here is
//! the plain case: a file for a ref, and the list in `packed-refs` of those that have none
//! (<https://git-scm.com/docs/gitrepository-layout>). Whatever looks otherwise is git's affair, and
//! `None` is no answer.
//!
//! The files are read before the list: git writes a ref into the list before it removes the file,
//! so that one which is packed meanwhile is found in one of them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use spore_model::CommitId;

/// The refs below a prefix, by name.
pub(crate) type NamedRefs = Vec<(String, CommitId)>;

/// Returns the refs below a prefix of whole parts, and the one that is called so itself.
pub(crate) fn refs_below(git: &Path, prefix: &str) -> Option<NamedRefs> {
    // To git these are patterns, and a slash at the end matters.
    if !is_plain(prefix) || prefix.contains(['*', '?', '[', '\\']) {
        return None;
    }
    let mut found = BTreeMap::new();
    add_files(git, prefix, &mut found)?;
    let is_wanted = |name: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let list = match fs::read_to_string(git.join("packed-refs")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        list => list.ok()?,
    };
    for (commit, name) in packed_lines(&list).filter(|(_, name)| is_wanted(name)) {
        if !found.contains_key(name) {
            found.insert(name.to_owned(), CommitId::new(commit).ok()?);
        }
    }
    Some(found.into_iter().collect())
}

/// Adds what the file of a ref says, or all files of a directory of refs.
fn add_files(git: &Path, name: &str, found: &mut BTreeMap<String, CommitId>) -> Option<()> {
    let path = git.join(name);
    let metadata = match fs::symlink_metadata(&path) {
        Err(error) if is_absence(&error) => return Some(()),
        metadata => metadata.ok()?,
    };
    if metadata.is_file() {
        found.insert(name.to_owned(), loose(git, name)?);
        return Some(());
    }
    let entries = match fs::read_dir(&path) {
        // Its last ref was removed meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(()),
        entries => entries.ok()?,
    };
    for entry in entries {
        let base = entry.ok()?.file_name().into_string().ok()?;
        // A ref that is being written is one when it has its name.
        if !base.starts_with('.') && !base.ends_with(".lock") {
            add_files(git, &format!("{name}/{base}"), found)?;
        }
    }
    Some(())
}

/// Returns the commit that HEAD names, without starting git, where that is as simple as it
/// mostly is: a branch with a loose or packed ref, or a bare id. `None` is no answer.
pub fn head_at_a_glance(root: &Path) -> Option<CommitId> {
    let git = root.join(".git");
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let head = head.trim();
    let Some(name) = head.strip_prefix("ref: ") else { return CommitId::new(head).ok() };
    match fs::symlink_metadata(git.join(name)) {
        // A file counts, whatever else there is: one that we cannot read is git's affair.
        Ok(_) => loose(&git, name),
        Err(_) => packed(&git, name),
    }
}

/// Returns what the file of a ref says, which counts whatever else there is. `None` is no answer.
pub(crate) fn loose(git: &Path, name: &str) -> Option<CommitId> {
    let text = is_plain(name).then(|| fs::read_to_string(git.join(name)).ok()).flatten()?;
    CommitId::new(text.trim()).ok()
}

fn packed(git: &Path, name: &str) -> Option<CommitId> {
    let list = fs::read_to_string(git.join("packed-refs")).ok()?;
    let (commit, _) = packed_lines(&list).find(|(_, packed)| *packed == name)?;
    CommitId::new(commit).ok()
}

/// Reads `commit name`; a line that begins with `#` or `^` has no name of a ref.
fn packed_lines(list: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = list.lines().filter(|line| !line.starts_with(['#', '^']));
    lines.filter_map(|line| line.split_once(' '))
}

fn is_plain(name: &str) -> bool {
    name.split('/').all(|part| !part.is_empty() && !part.starts_with('.'))
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
