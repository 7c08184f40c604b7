//! The `.git` of a checkout: for the agent's own use, never read back.
//!
//! Written file by file in git's documented layout rather than by `git clone`: nothing of the
//! user's (templates, hooks, remotes, credentials in a remote's address) can come along by
//! accident, and making it again, whatever an agent did to the last one, is the same few
//! writes. It borrows the user's objects through `alternates`, so history, blame and diff
//! work; what it adds stays in it. Branches and remotes are not there; tags are, since
//! builds ask `git describe`.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use spore_effects::files::{create_private_dir, remove_all};
use spore_model::CommitId;

use crate::{GitError, Repository};

/// Settings of the user's that decide how git compares files with what is stored.
pub(crate) const SHAPING: [&str; 5] =
    ["core.filemode", "core.autocrlf", "core.eol", "core.symlinks", "core.ignorecase"];

/// Replaces `dir/.git` by a fresh one on `commit`, with a copy of `index`. `scratch` is where
/// it is put together: on the same file system, outside `dir`.
pub(crate) fn write_clone(
    repository: &Repository,
    dir: &Path,
    scratch: &Path,
    index: &Path,
    commit: &CommitId,
) -> Result<(), GitError> {
    let failed = |source| GitError::Io { path: scratch.to_owned(), source };
    let config = config(repository, commit);
    let tags = tags(repository)?;
    remove_all(scratch).map_err(failed)?;
    write_files(repository.git_dir(), scratch, &config, &tags, commit).map_err(failed)?;
    repository.lend(commit, scratch)?;
    copy_index(index, &scratch.join("index")).map_err(GitError::io(index))?;
    let place = dir.join(".git");
    remove_all(&place).map_err(GitError::io(&place))?;
    fs::rename(scratch, &place).map_err(GitError::io(&place))
}

/// Copies the index with its time: by that, git knows which files may have changed since
/// without looking like it.
pub(crate) fn copy_index(index: &Path, to: &Path) -> io::Result<()> {
    fs::copy(index, to)?;
    let written = fs::metadata(index)?.modified()?;
    fs::File::options().write(true).open(to)?.set_modified(written)
}

fn write_files(
    user: &Path,
    scratch: &Path,
    config: &str,
    tags: &[u8],
    commit: &CommitId,
) -> io::Result<()> {
    create_private_dir(scratch)?;
    for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
        fs::create_dir_all(scratch.join(folder))?;
    }
    let mut alternates = user.join("objects").as_os_str().as_bytes().to_vec();
    alternates.push(b'\n');
    fs::write(scratch.join("objects/info/alternates"), alternates)?;
    fs::write(scratch.join("HEAD"), format!("{commit}\n"))?;
    fs::write(scratch.join("config"), config)?;
    fs::write(scratch.join("packed-refs"), tags)?;
    // The edges of a shallow repository, and the rules that are not in its files.
    for file in ["shallow", "info/exclude", "info/attributes"] {
        match fs::copy(user.join(file), scratch.join(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn config(repository: &Repository, commit: &CommitId) -> String {
    let is_sha256 = commit.as_str().len() == 64;
    let version = u8::from(is_sha256);
    let mut config = format!(
        "[core]\n\trepositoryformatversion = {version}\n\tbare = false\n\tlogallrefupdates = true\n"
    );
    let settings = repository.settings();
    for key in SHAPING {
        if let (Some(value), Some((_, name))) = (settings.get(key), key.split_once('.')) {
            config += &format!("\t{name} = {}\n", quoted(&value));
        }
    }
    if is_sha256 {
        config += "[extensions]\n\tobjectformat = sha256\n";
    }
    let (name, email) = settings.identity();
    config += &format!("[user]\n\tname = {}\n\temail = {}\n", quoted(&name), quoted(&email));
    config
}

fn quoted(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{value}\"")
}

fn tags(repository: &Repository) -> Result<Vec<u8>, GitError> {
    let tags = repository.users_refs("refs/tags")?;
    let line = |(name, object): (String, CommitId)| format!("{object} {name}\n").into_bytes();
    Ok(tags.into_iter().flat_map(line).collect())
}
