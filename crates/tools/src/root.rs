//! A directory that paths cannot leave.
//!
//! A path is walked one component at a time, each opened relative to the descriptor of the
//! one before and never through a link: links are read and their text is walked the same way.
//! So what is checked is what is opened, whatever process moves directories about meanwhile. A link
//! may point to another place inside; an absolute one is refused wherever it points, because
//! from inside there is no telling.
//!
//! What is written replaces its file by a rename, so a hard link to a file elsewhere is
//! broken, not written through. A repository's own `.git` is never written to: its hooks and
//! settings are programs.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat, readlinkat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

/// As many links as Linux follows.
const LINKS: u32 = 40;

/// Deeper than any path that the kernel takes whole.
const COMPONENTS: usize = 2048;

/// Why a path was not opened.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    #[error("{path} is outside of the working directory")]
    Outside { path: String },
    #[error("{path} does not exist")]
    NotFound { path: String },
    #[error("{path} is {what}")]
    Unfit { path: String, what: &'static str },
    #[error("{path}: {source}")]
    Io {
        path: String,
        #[source]
        source: io::Error,
    },
}

/// A directory and all that is in it.
#[derive(Debug)]
pub struct Root {
    dir: OwnedFd,
    path: PathBuf,
}

/// Where a walk ended.
pub(crate) struct ResolvedPath {
    dir: OwnedFd,
    /// `None` where the path is the directory itself.
    name: Option<OsString>,
    /// The path from the root, without links.
    pub(crate) shown: String,
}

/// What is done on the way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WalkPurpose {
    Look,
    /// Makes directories that are missing.
    Make,
    Remove,
}

impl Root {
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(Self { dir: open(path, flags, Mode::empty())?, path: path.to_owned() })
    }

    /// Returns where it is, for programs that run in it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file to read it.
    pub(crate) fn open_file(&self, path: &str) -> Result<(File, u64, String), RootError> {
        let place = self.walk(path, WalkPurpose::Look)?;
        let Some(name) = &place.name else { return Err(unfit(path, "a directory")) };
        let (file, stat) = open_regular(&place.dir, name, path)?;
        Ok((file, u64::try_from(stat.st_size).unwrap_or(0), place.shown))
    }

    pub(crate) fn open_dir(&self, path: &str) -> Result<(OwnedFd, String), RootError> {
        let place = self.walk(path, WalkPurpose::Look)?;
        match &place.name {
            None => Ok((place.dir, place.shown)),
            Some(name) => {
                // Says "does not exist" where that is so.
                look_at(&place.dir, name).map_err(|errno| failed(path, errno))?;
                Err(unfit(path, "not a directory"))
            }
        }
    }

    /// Reads a whole file that is text of at most `cap` bytes.
    pub(crate) fn read_text(&self, path: &str, cap: u64) -> Result<(String, String), RootError> {
        let (file, _, shown) = self.open_file(path)?;
        let mut bytes = Vec::new();
        file.take(cap + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| RootError::Io { path: path.to_owned(), source })?;
        if bytes.len() as u64 > cap {
            return Err(unfit(path, "too large to be changed piece by piece"));
        }
        let text = String::from_utf8(bytes).map_err(|_| unfit(path, "not UTF-8 text"))?;
        Ok((text, shown))
    }

    /// Reads the first `cap` bytes of a file; says how large it is, and its path without links.
    pub fn read_part(&self, path: &str, cap: u64) -> Result<(Vec<u8>, u64, String), RootError> {
        let (file, size, shown) = self.open_file(path)?;
        let mut bytes = Vec::new();
        file.take(cap)
            .read_to_end(&mut bytes)
            .map_err(|source| RootError::Io { path: path.to_owned(), source })?;
        Ok((bytes, size, shown))
    }

    /// Replaces or makes a file; tells whether it was new.
    pub(crate) fn write(&self, path: &str, content: &[u8]) -> Result<(bool, String), RootError> {
        let place = self.walk(path, WalkPurpose::Make)?;
        let Some(name) = &place.name else { return Err(unfit(path, "a directory")) };
        let old = match look_at(&place.dir, name) {
            Ok(stat) if kind(&stat) == SFlag::S_IFREG => Some(stat),
            Ok(_) => return Err(unfit(path, "not a regular file")),
            Err(Errno::ENOENT) => None,
            Err(errno) => return Err(failed(path, errno)),
        };
        replace(&place.dir, name, old, content)
            .map_err(|source| RootError::Io { path: path.to_owned(), source })?;
        Ok((old.is_none(), place.shown))
    }

    /// Removes a file, or a link and not what it points to.
    pub(crate) fn remove(&self, path: &str) -> Result<String, RootError> {
        let place = self.walk(path, WalkPurpose::Remove)?;
        let Some(name) = &place.name else { return Err(unfit(path, "a directory")) };
        unlinkat(&place.dir, name.as_os_str(), UnlinkatFlags::NoRemoveDir)
            .map_err(|errno| failed(path, errno))?;
        Ok(place.shown)
    }

    fn walk(&self, path: &str, way: WalkPurpose) -> Result<ResolvedPath, RootError> {
        let outside = || RootError::Outside { path: path.to_owned() };
        let mut todo: VecDeque<OsString> = VecDeque::new();
        queue(&mut todo, Path::new(path)).ok_or_else(outside)?;
        let mut stack: Vec<(OwnedFd, OsString)> = Vec::new();
        let mut links = 0;
        while let Some(name) = todo.pop_front() {
            if stack.len() + todo.len() > COMPONENTS {
                return Err(unfit(path, "too deep"));
            }
            if name == ".." {
                stack.pop().ok_or_else(outside)?;
                continue;
            }
            if way != WalkPurpose::Look && name.eq_ignore_ascii_case(".git") {
                return Err(unfit(path, "the repository's own, and not to be changed"));
            }
            let here = self.top(&stack);
            let stat = match look_at(here, &name) {
                Ok(stat) => stat,
                Err(Errno::ENOENT) if todo.is_empty() => {
                    return self.place(&stack, Some(name), path);
                }
                Err(Errno::ENOENT) if way == WalkPurpose::Make => {
                    mkdirat(here, name.as_os_str(), Mode::from_bits_truncate(0o777))
                        .and_then(|()| look_at(here, &name))
                        .map_err(|errno| failed(path, errno))?
                }
                Err(errno) => return Err(failed(path, errno)),
            };
            match kind(&stat) {
                SFlag::S_IFLNK if way == WalkPurpose::Remove && todo.is_empty() => {
                    return self.place(&stack, Some(name), path);
                }
                SFlag::S_IFLNK => {
                    links += 1;
                    if links > LINKS {
                        return Err(unfit(path, "a link that leads to itself"));
                    }
                    let target =
                        readlinkat(here, name.as_os_str()).map_err(|errno| failed(path, errno))?;
                    queue(&mut todo, Path::new(&target)).ok_or_else(outside)?;
                }
                SFlag::S_IFDIR => {
                    let dir = open_child_dir(here, &name).map_err(|errno| failed(path, errno))?;
                    stack.push((dir, name));
                }
                _ if todo.is_empty() => return self.place(&stack, Some(name), path),
                _ => return Err(unfit(path, "below something that is not a directory")),
            }
        }
        self.place(&stack, None, path)
    }

    fn top<'a>(&'a self, stack: &'a [(OwnedFd, OsString)]) -> BorrowedFd<'a> {
        stack.last().map_or(self.dir.as_fd(), |(dir, _)| dir.as_fd())
    }

    fn place(
        &self,
        stack: &[(OwnedFd, OsString)],
        name: Option<OsString>,
        path: &str,
    ) -> Result<ResolvedPath, RootError> {
        let dir = self
            .top(stack)
            .try_clone_to_owned()
            .map_err(|source| RootError::Io { path: path.to_owned(), source })?;
        let names = stack.iter().map(|(_, name)| name).chain(&name);
        let parts: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
        let shown = if parts.is_empty() { ".".to_owned() } else { parts.join("/") };
        Ok(ResolvedPath { dir, name, shown })
    }
}

/// Puts the components of `path` before `todo`; `None` for what cannot be walked from here.
fn queue(todo: &mut VecDeque<OsString>, path: &Path) -> Option<()> {
    if path.as_os_str().as_bytes().contains(&0) {
        return None;
    }
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => todo.push_front(name.to_owned()),
            Component::ParentDir => todo.push_front(OsString::from("..")),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(())
}

pub(crate) fn open_child_dir(dir: impl AsFd, name: &OsStr) -> nix::Result<OwnedFd> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    openat(dir, name, flags, Mode::empty())
}

/// Opens a regular file in `dir`, and nothing else: a pipe would block, a device would act.
pub(crate) fn open_regular(
    dir: impl AsFd,
    name: &OsStr,
    path: &str,
) -> Result<(File, FileStat), RootError> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let stat = look_at(dir.as_fd(), name).map_err(|errno| failed(path, errno))?;
    if kind(&stat) != SFlag::S_IFREG {
        return Err(unfit(path, "not a regular file"));
    }
    let file = openat(dir, name, flags, Mode::empty()).map_err(|errno| failed(path, errno))?;
    let stat = fstat(&file).map_err(|errno| failed(path, errno))?;
    if kind(&stat) != SFlag::S_IFREG {
        return Err(unfit(path, "not a regular file"));
    }
    Ok((File::from(file), stat))
}

pub(crate) fn look_at(dir: impl AsFd, name: &OsStr) -> nix::Result<FileStat> {
    fstatat(dir, name, AtFlags::AT_SYMLINK_NOFOLLOW)
}

pub(crate) fn kind(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

/// Writes beside the file and renames over it: a reader sees the old or the new.
fn replace(dir: &OwnedFd, name: &OsStr, old: Option<FileStat>, content: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let scratch = format!(".spore-{}-{count}.tmp", std::process::id());
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
    let mut file =
        File::from(openat(dir, scratch.as_str(), flags, Mode::from_bits_truncate(0o666))?);
    let written = file.write_all(content).and_then(|()| {
        if let Some(old) = old {
            fchmod(&file, Mode::from_bits_truncate(old.st_mode & 0o777))?;
        }
        Ok(renameat(dir, scratch.as_str(), dir, name)?)
    });
    if written.is_err() {
        let _ = unlinkat(dir, scratch.as_str(), UnlinkatFlags::NoRemoveDir);
    }
    written
}

fn unfit(path: &str, what: &'static str) -> RootError {
    RootError::Unfit { path: path.to_owned(), what }
}

fn failed(path: &str, errno: Errno) -> RootError {
    match errno {
        Errno::ENOENT => RootError::NotFound { path: path.to_owned() },
        // Between the look and the opening another process put a link there.
        Errno::ELOOP => unfit(path, "a link that leads to itself"),
        errno => RootError::Io { path: path.to_owned(), source: errno.into() },
    }
}
