//! Removing what an agent or a build left, whatever it did to the rights and however deep it is.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// How deep a directory is gone into, and how long its path may be below the top: each level
/// holds a descriptor, and the system takes no path of more than 4,096 bytes.
const MAX_DEPTH: usize = 32;
const MAX_LENGTH: usize = 1_500;

/// Removes a file, link or directory with all it holds. One that is not there is fine. No
/// symbolic link is ever followed.
pub fn remove_all(path: &Path) -> io::Result<()> {
    match remove_once(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path.parent().unwrap_or(path))?;
            remove_once(path)
        }
        done => done,
    }
}

fn remove_once(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Removal { top: path, aside: Vec::new() }.remove(),
        Ok(_) => fs::remove_file(path),
        // What should be above it may be a file by now; then there is nothing either.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

struct Removal<'a> {
    top: &'a Path,
    /// Directories from far below, which were moved to the top.
    aside: Vec<PathBuf>,
}

impl Removal<'_> {
    fn remove(mut self) -> io::Result<()> {
        self.empty(self.top, 0)?;
        while let Some(dir) = self.aside.pop() {
            // One that came while the top was being read was found there, and is gone.
            if fs::symlink_metadata(&dir).is_ok() {
                self.empty(&dir, 1)?;
                fs::remove_dir(&dir)?;
            }
        }
        fs::remove_dir(self.top)
    }

    /// Removes what is in a directory, but for what is moved aside.
    fn empty(&mut self, dir: &Path, depth: usize) -> io::Result<()> {
        // Package caches are read-only on purpose (Go's modules), and belong to us all the same.
        open_up(dir)?;
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let path = entry.path();
            if !entry.file_type()?.is_dir() {
                fs::remove_file(&path)?;
            } else if depth < MAX_DEPTH && self.length_below(&path) < MAX_LENGTH {
                self.empty(&path, depth + 1)?;
                fs::remove_dir(&path)?;
            } else {
                self.move_aside(&path)?;
            }
        }
        Ok(())
    }

    fn length_below(&self, path: &Path) -> usize {
        path.as_os_str().len() - self.top.as_os_str().len()
    }

    fn move_aside(&mut self, dir: &Path) -> io::Result<()> {
        // A directory that changes its parent is written to.
        open_up(dir)?;
        let is_free = |place: &PathBuf| fs::symlink_metadata(place).is_err();
        let places = (0_u64..).map(|number| self.top.join(format!(".aside-{number}")));
        if let Some(place) = places.skip(self.aside.len()).find(is_free) {
            fs::rename(dir, &place)?;
            self.aside.push(place);
        }
        Ok(())
    }
}

/// Gives the owner all rights on a directory. What is none is left alone.
pub fn open_up(directory: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(directory)?;
    let mode = metadata.permissions().mode();
    if metadata.is_dir() && mode & 0o700 != 0o700 {
        fs::set_permissions(directory, Permissions::from_mode(mode | 0o700))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use nix::fcntl::{OFlag, open, openat};
    use nix::sys::stat::{Mode, mkdirat};

    use super::*;

    #[test]
    fn read_only_directories_go_and_what_links_point_to_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (kept, doomed) = (dir.path().join("kept"), dir.path().join("doomed"));
        fs::create_dir_all(kept.join("sub")).unwrap();
        fs::create_dir_all(doomed.join("cache/module")).unwrap();
        fs::write(doomed.join("cache/module/file"), "x").unwrap();
        std::os::unix::fs::symlink(&kept, doomed.join("link")).unwrap();
        fs::set_permissions(doomed.join("cache/module"), Permissions::from_mode(0o500)).unwrap();
        remove_all(&doomed).unwrap();
        remove_all(&doomed).unwrap();
        assert!(!doomed.exists() && kept.join("sub").exists());
    }

    #[test]
    fn a_file_a_link_and_nothing_at_all_can_be_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "x").unwrap();
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        for path in [link, file.join("below"), file.clone(), file] {
            remove_all(&path).unwrap();
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    /// Deeper than descriptors and stacks go, and with paths that the system does not take; with
    /// a file at the bottom, and in the top a name that is used on the way.
    #[test]
    fn a_tree_of_any_depth_goes() {
        for (name, levels) in [("d".repeat(250), 60), ("d".to_owned(), 5_000)] {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().join("top");
            fs::create_dir_all(top.join(".aside-0/x")).unwrap();
            let mut place = open(&top, OFlag::O_DIRECTORY, Mode::empty()).unwrap();
            for level in 0..levels {
                mkdirat(&place, name.as_str(), Mode::S_IRWXU).unwrap();
                mkdirat(&place, "beside", Mode::S_IRUSR).unwrap();
                place = openat(&place, name.as_str(), OFlag::O_DIRECTORY, Mode::empty())
                    .unwrap_or_else(|error| panic!("{level}: {error}"));
            }
            remove_all(&top).unwrap();
            assert!(!top.exists());
        }
    }
}
