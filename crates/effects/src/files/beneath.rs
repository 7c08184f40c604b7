//! Files below a directory that a foreign program writes to.
//!
//! Every name there may be a link by now, and every directory another one: names are looked up
//! from the opened directory, and a link anywhere on the way is an error
//! (<https://man7.org/linux/man-pages/man2/openat2.2.html>, Linux 5.6 and later).

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2, renameat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};

/// An opened directory whose content is not trusted.
#[derive(Debug)]
pub struct Beneath {
    dir: OwnedFd,
}

impl Beneath {
    pub fn open(dir: &Path) -> io::Result<Self> {
        Ok(Self { dir: File::open(dir)?.into() })
    }

    /// Reads a file of at most `cap` bytes.
    pub fn read(&self, name: &Path, cap: u64) -> io::Result<Vec<u8>> {
        let file = File::from(self.look_up(name, OFlag::O_RDONLY | OFlag::O_NONBLOCK, None)?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
        }
        let mut text = Vec::new();
        file.take(cap.saturating_add(1)).read_to_end(&mut text)?;
        if text.len() as u64 > cap {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file is too large"));
        }
        Ok(text)
    }

    /// Puts a file in place of whatever has that name, for its owner alone. Directories that
    /// are missing are made.
    pub fn replace(&self, name: &Path, content: &[u8]) -> io::Result<()> {
        let (dir, last) = self.parent(name, true)?;
        let new = format!(".{last}.new");
        let _ = unlinkat(&dir, new.as_str(), UnlinkatFlags::NoRemoveDir);
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
        let how = how(flags, Some(Mode::S_IRUSR | Mode::S_IWUSR));
        let mut file = File::from(openat2(&dir, new.as_str(), how)?);
        file.write_all(content)?;
        file.sync_data()?;
        Ok(renameat(&dir, new.as_str(), &dir, last.as_str())?)
    }

    /// Removes a file; one that is not there is fine.
    pub fn remove(&self, name: &Path) -> io::Result<()> {
        match self.parent(name, false) {
            Ok((dir, last)) => match unlinkat(&dir, last.as_str(), UnlinkatFlags::NoRemoveDir) {
                Err(nix::Error::ENOENT) => Ok(()),
                other => Ok(other?),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn look_up(&self, name: &Path, flags: OFlag, mode: Option<Mode>) -> io::Result<OwnedFd> {
        Ok(openat2(&self.dir, name, how(flags, mode))?)
    }

    /// Opens the directory that `name` is in. Returns it with the last part of the name.
    fn parent(&self, name: &Path, make: bool) -> io::Result<(OwnedFd, String)> {
        let bad = || io::Error::new(io::ErrorKind::InvalidInput, "it is no relative path of text");
        let text = name.to_str().filter(|_| name.is_relative()).ok_or_else(bad)?;
        let (parents, last) = text.rsplit_once('/').unwrap_or(("", text));
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
        let mut dir = self.look_up(Path::new("."), flags, None)?;
        for part in parents.split('/').filter(|part| !part.is_empty()) {
            if make {
                match nix::sys::stat::mkdirat(&dir, part, Mode::S_IRWXU) {
                    Ok(()) | Err(nix::Error::EEXIST) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            dir = openat2(&dir, part, how(flags, None))?;
        }
        Ok((dir, last.to_owned()))
    }
}

fn how(flags: OFlag, mode: Option<Mode>) -> OpenHow {
    let resolve = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS;
    let how = OpenHow::new().flags(flags | OFlag::O_CLOEXEC).resolve(resolve);
    match mode {
        Some(mode) => how.mode(mode),
        None => how,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_are_read_replaced_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let below = Beneath::open(dir.path()).unwrap();
        let name = Path::new("a/b/file");
        below.replace(name, b"one").unwrap();
        below.replace(name, b"two").unwrap();
        assert_eq!(below.read(name, 3).unwrap(), b"two");
        assert!(below.read(name, 2).is_err());
        below.remove(name).unwrap();
        below.remove(name).unwrap();
        below.remove(Path::new("nowhere/file")).unwrap();
        assert!(below.read(name, 3).is_err());
        assert!(below.read(Path::new("a"), 3).is_err());
    }

    #[test]
    fn no_link_leads_out() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(outside.path().join("file"), "theirs").unwrap();
        let below = Beneath::open(dir.path()).unwrap();
        symlink(outside.path(), dir.path().join("dir")).unwrap();
        symlink(outside.path().join("file"), dir.path().join("link")).unwrap();
        assert!(below.read(Path::new("link"), 99).is_err());
        assert!(below.read(Path::new("dir/file"), 99).is_err());
        assert!(below.replace(Path::new("dir/file"), b"ours").is_err());
        assert!(below.remove(Path::new("dir/file")).is_err());
        assert!(below.replace(Path::new("../file"), b"ours").is_err());
        // A link is replaced, not followed.
        below.replace(Path::new("link"), b"ours").unwrap();
        assert_eq!(below.read(Path::new("link"), 99).unwrap(), b"ours");
        assert_eq!(std::fs::read(outside.path().join("file")).unwrap(), b"theirs");
    }
}
