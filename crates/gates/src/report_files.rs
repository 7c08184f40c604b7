//! Finds the report files that one run of a gate wrote, and only those.
//!
//! What an earlier run left is removed before the command starts, so whatever is there
//! afterwards is new. Build tools notice and run their tests again instead of calling them up
//! to date. No symbolic link is followed: a link could lead anywhere.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::paths::PathPatterns;

/// More than this is not the report of one run.
const CAP_BYTES: u64 = 256 << 20;

/// Removes what matches `patterns` below `dir`.
pub(crate) fn clear(dir: &Path, patterns: &[String]) -> io::Result<()> {
    find(dir, patterns)?.iter().try_for_each(fs::remove_file)
}

/// Returns the contents of what matches, in the order of the paths; nothing if there is too
/// much of it.
pub(crate) fn read(dir: &Path, patterns: &[String]) -> io::Result<Vec<Vec<u8>>> {
    let mut room = CAP_BYTES;
    let mut contents = Vec::new();
    for path in find(dir, patterns)? {
        let content = fs::read(path)?;
        room = match room.checked_sub(content.len() as u64) {
            Some(room) => room,
            None => return Ok(Vec::new()),
        };
        contents.push(content);
    }
    Ok(contents)
}

fn find(dir: &Path, patterns: &[String]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if patterns.is_empty() {
        return Ok(found);
    }
    let patterns = PathPatterns::new(patterns);
    let mut open = vec![(dir.to_owned(), String::new())];
    while let Some((dir, name)) = open.pop() {
        let entries = match fs::read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let own = entry.file_name().to_string_lossy().into_owned();
            let path = if name.is_empty() { own.clone() } else { format!("{name}/{own}") };
            let kind = entry.file_type()?;
            if kind.is_dir() && own != ".git" && own != "node_modules" {
                open.push((entry.path(), path));
            } else if kind.is_file() && patterns.first(&path).is_some() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_since_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let reports = dir.path().join("m/target/surefire-reports");
        fs::create_dir_all(&reports).unwrap();
        fs::write(reports.join("TEST-old.xml"), "old").unwrap();
        fs::write(reports.join("notes.txt"), "kept").unwrap();
        let away = tempfile::tempdir().unwrap();
        fs::create_dir_all(away.path().join("surefire-reports")).unwrap();
        let elsewhere = away.path().join("surefire-reports/TEST-x.xml");
        fs::write(&elsewhere, "not ours").unwrap();
        std::os::unix::fs::symlink(away.path(), dir.path().join("target")).unwrap();
        let patterns = ["**/target/surefire-reports/TEST-*.xml".to_owned()];
        clear(dir.path(), &patterns).unwrap();
        assert!(elsewhere.exists() && reports.join("notes.txt").exists());
        assert_eq!(read(dir.path(), &patterns).unwrap(), Vec::<Vec<u8>>::new());
        fs::write(reports.join("TEST-new.xml"), "new").unwrap();
        assert_eq!(read(dir.path(), &patterns).unwrap(), [b"new".to_vec()]);
        clear(&dir.path().join("gone"), &patterns).unwrap();
    }
}
