//! Removing what an agent or a build left, whatever it did to the rights and however deep it is.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Removes a file, link or directory with all it holds. One that is not there is fine. No
/// symbolic link is ever followed.
pub fn remove_all(path: &Path) -> io::Result<()> {
    match remove_once(path) {
        // Package caches are read-only on purpose (Go's modules), and belong to us all the same.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path.parent().unwrap_or(path))?;
            open_up_all(path)?;
            remove_once(path)
        }
        done => done,
    }
}

fn remove_once(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if is_absence(&error) => Ok(()),
        removed => removed,
    }
}

/// What should be above it may be a file by now; then there is nothing either.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
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

fn open_up_all(top: &Path) -> io::Result<()> {
    let mut open = vec![top.to_owned()];
    while let Some(path) = open.pop() {
        open_up(&path)?;
        if !fs::symlink_metadata(&path)?.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

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
        for closed in ["cache/module", "cache"] {
            fs::set_permissions(doomed.join(closed), Permissions::from_mode(0o500)).unwrap();
        }
        // Of a directory that is being removed: root may do that anyway, so it is asked for.
        open_up_all(&doomed).unwrap();
        assert_eq!(fs::metadata(doomed.join("cache/module")).unwrap().mode() & 0o777, 0o700);
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

    #[test]
    fn a_tree_with_paths_longer_than_the_system_takes_goes_too() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        fs::create_dir(&top).unwrap();
        let name = "d".repeat(200);
        let mut place = open(&top, OFlag::O_DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..40 {
            mkdirat(&place, name.as_str(), Mode::S_IRWXU).unwrap();
            place = openat(&place, name.as_str(), OFlag::O_DIRECTORY, Mode::empty()).unwrap();
        }
        remove_all(&top).unwrap();
        assert!(!top.exists());
    }
}
