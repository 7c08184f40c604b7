//! Removing what an agent or a build left, read-only directories included.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Removes a file, link or directory with all it holds. One that is not there is fine. No
/// symbolic link is ever followed.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match remove_once(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path.parent().unwrap_or(path))?;
            remove_once(path)
        }
        done => done,
    }
}

fn remove_once(path: &Path) -> io::Result<()> {
    let is_directory = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.is_dir(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !is_directory {
        return fs::remove_file(path);
    }
    // Package caches are read-only on purpose (Go's modules), and belong to us all the same.
    open_up(path)?;
    for entry in fs::read_dir(path)? {
        remove_once(&entry?.path())?;
    }
    fs::remove_dir(path)
}

/// Gives the owner all rights on a directory.
fn open_up(directory: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(directory)?;
    let mode = metadata.permissions().mode();
    if metadata.is_dir() && mode & 0o700 != 0o700 {
        fs::set_permissions(directory, Permissions::from_mode(mode | 0o700))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
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
        remove(&doomed).unwrap();
        remove(&doomed).unwrap();
        assert!(!doomed.exists() && kept.join("sub").exists());
    }
}
