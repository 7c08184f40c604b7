//! Files below a directory that a foreign program writes to.
//!
//! Every name there may be a link by now, and every directory another one: names are looked up
//! from the opened directory, and a link anywhere on the way is an error
//! (<https://man7.org/linux/man-pages/man2/openat2.2.html>, Linux 5.6 and later).

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, openat2, renameat};
use nix::sys::stat::{FchmodatFlags, Mode, SFlag, fchmodat, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};

/// An opened directory whose content is not trusted.
#[derive(Debug)]
pub struct Beneath {
    dir: OwnedFd,
    path: PathBuf,
}

/// What a name is to be free for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WayFor {
    Directory,
    File,
}

impl Beneath {
    pub fn open(dir: &Path) -> io::Result<Self> {
        Ok(Self { dir: File::open(dir)?.into(), path: dir.to_owned() })
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

    /// Removes what is in the way of a directory or a file of that name: something of another kind
    /// there or above. Directories on the way are opened to their owner. Only for a time when no
    /// other process works below.
    pub fn make_way(&self, name: &Path, wanted: WayFor) -> io::Result<()> {
        let bad = || io::Error::new(io::ErrorKind::InvalidInput, "it is no relative path of text");
        let is_plain = name.components().all(|part| matches!(part, Component::Normal(_)));
        let text = name.to_str().filter(|_| is_plain).ok_or_else(bad)?;
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
        let mut dir = self.look_up(Path::new("."), flags, None)?;
        let mut path = self.path.clone();
        let mut parts = text.split('/').filter(|part| !part.is_empty()).peekable();
        while let Some(part) = parts.next() {
            path.push(part);
            let found = match fstatat(&dir, part, AtFlags::AT_SYMLINK_NOFOLLOW) {
                Err(nix::Error::ENOENT) => return Ok(()),
                other => SFlag::from_bits_truncate(other?.st_mode) & SFlag::S_IFMT,
            };
            let wanted = if parts.peek().is_some() { WayFor::Directory } else { wanted };
            match (found, wanted) {
                (SFlag::S_IFDIR, WayFor::Directory) => {
                    fchmodat(&dir, part, Mode::S_IRWXU, FchmodatFlags::FollowSymlink)?;
                    dir = openat2(&dir, part, how(flags, None))?;
                }
                (SFlag::S_IFREG, WayFor::File) => return Ok(()),
                // No part of the path is a link: each was looked at.
                (SFlag::S_IFDIR, WayFor::File) => return super::remove_all(&path),
                _ => return Ok(unlinkat(&dir, part, UnlinkatFlags::NoRemoveDir)?),
            }
        }
        Ok(())
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
    fn what_is_in_the_way_is_removed_and_nothing_else() {
        use WayFor::{Directory, File};
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(outside.path().join("file"), "theirs").unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        symlink(outside.path(), at("link")).unwrap();
        symlink("nowhere", at("broken")).unwrap();
        std::fs::create_dir_all(at("deep/er/still")).unwrap();
        std::fs::write(at("deep/er/still/file"), "").unwrap();
        std::fs::create_dir_all(at("kept/dir")).unwrap();
        std::fs::write(at("kept/file"), "mine").unwrap();
        let below = Beneath::open(dir.path()).unwrap();
        for (name, wanted) in [
            ("file/below", Directory),
            ("link/file", File),
            ("broken", Directory),
            ("deep/er", File),
            ("kept/dir", Directory),
            ("kept/file", File),
            ("not/there", File),
        ] {
            below.make_way(Path::new(name), wanted).unwrap();
        }
        for name in ["file", "link", "broken", "deep/er"] {
            assert!(at(name).symlink_metadata().is_err(), "{name}");
        }
        assert!(at("kept/dir").is_dir() && at("deep").is_dir());
        assert_eq!(std::fs::read(at("kept/file")).unwrap(), b"mine");
        assert_eq!(std::fs::read(outside.path().join("file")).unwrap(), b"theirs");
        assert!(below.make_way(Path::new("../x"), File).is_err());
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
