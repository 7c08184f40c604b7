//! Build output that only the base's own code has touched.
//!
//! Gates run the change's code, and that code can write into the checkout's ignored folders:
//! patch a dependency, plant an object file that looks up to date, leave a result for the next
//! bounce to find. So a copy of these folders is kept where no gate can write, taken after
//! gates ran on a base, and put back before they run on a change. What one change left behind
//! is gone before the next is looked at, and no attempt builds from nothing.
//!
//! Nothing is read to find out what was touched: a stamp is written down when a file is copied,
//! and a file that still has it is as it was.
//!
//! What is tracked is none of its business: the checkout takes care of that.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, FileTimes, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use spore_effects::files::{self, write_atomic};
use spore_effects::walk;

use crate::stamp::TouchStamp;

#[derive(Debug, thiserror::Error)]
#[error("cannot keep build output in order at {path}", path = spore_plain::path(.path))]
pub struct CacheError {
    path: PathBuf,
    #[source]
    pub source: io::Error,
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> CacheError {
    let path = path.to_owned();
    |source| CacheError { path, source }
}

/// Tells whether a path of a checkout is tracked; in one that is no text, bytes are replaced.
type Tracked<'a> = &'a (dyn Fn(&str) -> bool + Sync);

/// The copy for one checkout.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
    cap_bytes: u64,
}

/// Everything of the checkout that is not tracked, by path.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct UntrackedListing {
    files: BTreeMap<String, TouchStamp>,
    folders: BTreeSet<String>,
}

impl Cache {
    /// A cache in `dir`, which holds nothing else, of at most `cap_bytes`.
    pub fn new(dir: PathBuf, cap_bytes: u64) -> Self {
        Self { dir, cap_bytes }
    }

    /// Makes the copy like the checkout. If there is too much, there is no copy.
    pub fn keep(&self, work: &Path, tracked: Tracked<'_>) -> Result<(), CacheError> {
        let known = self.listing().unwrap_or_default();
        let list = self.dir.join("list.json");
        // Until it is whole again it is no copy of anything.
        remove(&list)?;
        let found = survey(work, tracked)?;
        if found.files.values().map(|print| print.size).sum::<u64>() > self.cap_bytes {
            return remove(&self.dir);
        }
        let copy = self.copy();
        fs::create_dir_all(&copy).map_err(at(&copy))?;
        for gone in known.files.keys().filter(|name| !found.files.contains_key(*name)) {
            remove(&copy.join(gone))?;
        }
        for gone in known.folders.iter().rev().filter(|name| !found.folders.contains(*name)) {
            remove(&copy.join(gone))?;
        }
        for folder in &found.folders {
            make_folder(&copy.join(folder))?;
        }
        for (name, print) in &found.files {
            if known.files.get(name) != Some(print)
                || fs::symlink_metadata(copy.join(name)).is_err()
            {
                replace(&work.join(name), &copy.join(name))?;
            }
        }
        write_list(&list, &found)
    }

    /// Makes the checkout like the copy; false if there is none.
    pub fn restore(&self, work: &Path, tracked: Tracked<'_>) -> Result<bool, CacheError> {
        let Some(mut known) = self.listing() else { return Ok(false) };
        // A tracked link where a folder was would lead our writing out of the checkout.
        let free = |name: &str| {
            !tracked(name) && !name.match_indices('/').any(|(end, _)| tracked(&name[..end]))
        };
        known.files.retain(|name, _| free(name));
        known.folders.retain(|name| free(name));
        let found = survey(work, tracked)?;
        for name in found.files.keys().filter(|name| !known.files.contains_key(*name)) {
            remove(&work.join(name))?;
        }
        for name in found.folders.iter().rev().filter(|name| !known.folders.contains(*name)) {
            // One with tracked files in it stays.
            let _ = fs::remove_dir(work.join(name));
        }
        for folder in known.folders.difference(&found.folders) {
            make_folder(&work.join(folder))?;
        }
        let touched: Vec<&String> = known
            .files
            .iter()
            .filter(|(name, print)| found.files.get(*name) != Some(*print))
            .map(|(name, _)| name)
            .collect();
        for name in &touched {
            replace(&self.copy().join(name), &work.join(name))?;
        }
        if !touched.is_empty() {
            // What was left out is still in the copy, and has no print that anything fits.
            let mut fresh = self.listing().unwrap_or_default();
            for name in touched {
                let path = work.join(name);
                let metadata = fs::symlink_metadata(&path).map_err(at(&path))?;
                fresh.files.insert(name.clone(), TouchStamp::of(&metadata));
            }
            write_list(&self.dir.join("list.json"), &fresh)?;
        }
        Ok(true)
    }

    /// Forgets the copy.
    pub fn forget(&self) -> Result<(), CacheError> {
        // The list goes first: without it nothing else counts.
        remove(&self.dir.join("list.json"))?;
        remove(&self.dir)
    }

    fn copy(&self) -> PathBuf {
        self.dir.join("files")
    }

    fn listing(&self) -> Option<UntrackedListing> {
        serde_json::from_slice(&fs::read(self.dir.join("list.json")).ok()?).ok()
    }
}

fn write_list(path: &Path, listing: &UntrackedListing) -> Result<(), CacheError> {
    let text = serde_json::to_vec(listing).map_err(io::Error::from).map_err(at(path))?;
    write_atomic(path, &text).map_err(at(path))
}

/// Lists what is in `work` and not tracked. Sockets and the like are on the list, so that they
/// are removed, and can never be put back.
fn survey(work: &Path, tracked: Tracked<'_>) -> Result<UntrackedListing, CacheError> {
    let found = walk(String::new(), |folder| {
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        let dir = work.join(folder);
        open_up(&dir)?;
        for entry in fs::read_dir(&dir).map_err(at(&dir))? {
            let entry = entry.map_err(at(&dir))?;
            let own = entry.file_name();
            let text = own.to_string_lossy();
            let name =
                if folder.is_empty() { text.to_string() } else { format!("{folder}/{text}") };
            if name == ".git" || tracked(&name) {
                continue;
            }
            // A name that is no text cannot be on the list. Build tools do not write any.
            if own.to_str().is_none() {
                remove(&entry.path())?;
                continue;
            }
            let metadata = entry.metadata().map_err(at(&entry.path()))?;
            if metadata.is_dir() {
                folders.push(name);
            } else {
                files.push((name, TouchStamp::of(&metadata)));
            }
        }
        Ok::<_, CacheError>(((folder.clone(), files), folders))
    })?;
    let mut listing = UntrackedListing::default();
    for (folder, files) in found {
        listing.folders.insert(folder);
        listing.files.extend(files);
    }
    listing.folders.remove("");
    Ok(listing)
}

fn make_folder(path: &Path) -> Result<(), CacheError> {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    if is_folder {
        return open_up(path);
    }
    remove(path)?;
    fs::create_dir_all(path).map_err(at(path))
}

/// Copies a file or link with its times, so that a build tool takes it for the same.
fn replace(from: &Path, to: &Path) -> Result<(), CacheError> {
    remove(to)?;
    let metadata = fs::symlink_metadata(from).map_err(at(from))?;
    if metadata.file_type().is_symlink() {
        let target = fs::read_link(from).map_err(at(from))?;
        return std::os::unix::fs::symlink(target, to).map_err(at(to));
    }
    if !metadata.is_file() {
        return Ok(());
    }
    fs::copy(from, to).map_err(at(to))?;
    let modified = metadata.modified().map_err(at(from))?;
    let times = FileTimes::new().set_modified(modified).set_accessed(modified);
    let writable = metadata.permissions().mode() | 0o200;
    fs::set_permissions(to, Permissions::from_mode(writable)).map_err(at(to))?;
    let file = File::options().write(true).open(to).map_err(at(to))?;
    file.set_times(times).map_err(at(to))?;
    fs::set_permissions(to, metadata.permissions()).map_err(at(to))
}

fn open_up(dir: &Path) -> Result<(), CacheError> {
    files::open_up(dir).map_err(at(dir))
}

fn remove(path: &Path) -> Result<(), CacheError> {
    files::remove_all(path).map_err(at(path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::time::{Duration, SystemTime};

    use super::*;

    struct Scene {
        dir: tempfile::TempDir,
        cache: Cache,
    }

    impl Scene {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let cache = Cache::new(dir.path().join("cache"), 1000);
            let scene = Self { dir, cache };
            scene.write("src/a.rs", "tracked");
            scene.write(".git/HEAD", "git");
            scene.write("target/debug/a.o", "built");
            scene.write("target/debug/deps/b.o", "built too");
            std::os::unix::fs::symlink("debug/a.o", scene.work().join("target/link")).unwrap();
            scene
        }

        fn work(&self) -> PathBuf {
            self.dir.path().join("work")
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.work().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn keep(&self) {
            self.cache.keep(&self.work(), &|name| name == "src/a.rs").unwrap();
        }

        fn restore(&self) -> bool {
            self.cache.restore(&self.work(), &|name| name == "src/a.rs").unwrap()
        }

        /// All that is in the checkout, with its times of writing.
        fn all(&self) -> BTreeMap<String, (String, Option<SystemTime>)> {
            let listing = survey(&self.work(), &|_| false).unwrap();
            let told = |name: &String| {
                let path = self.work().join(name);
                let text = fs::read_to_string(&path).unwrap_or_default();
                let link = path.is_symlink();
                let time = (!link).then(|| fs::metadata(&path).unwrap().modified().unwrap());
                (name.clone(), (text, time))
            };
            let folders = listing.folders.iter().map(|name| (name.clone(), (String::new(), None)));
            listing.files.keys().map(told).chain(folders).collect()
        }
    }

    /// Sets a file's time of writing back to what it was: what a forger would do.
    fn forge(path: &Path, text: &str) {
        let before = fs::metadata(path).unwrap().modified().unwrap();
        fs::write(path, text).unwrap();
        let times = FileTimes::new().set_modified(before);
        File::options().write(true).open(path).unwrap().set_times(times).unwrap();
    }

    #[test]
    fn what_a_change_did_to_build_output_is_undone() {
        let scene = Scene::new();
        assert!(!scene.restore(), "there is no copy yet");
        scene.keep();
        let before = scene.all();
        // Of the same size, with the same time of writing.
        forge(&scene.work().join("target/debug/a.o"), "BUILT");
        scene.write("target/debug/planted.o", "new");
        scene.write("node_modules/.cache/x", "new");
        fs::remove_dir_all(scene.work().join("target/debug/deps")).unwrap();
        fs::write(scene.work().join("target/debug/deps"), "a file now").unwrap();
        fs::remove_file(scene.work().join("target/link")).unwrap();
        std::os::unix::fs::symlink("../../elsewhere", scene.work().join("target/link")).unwrap();
        assert!(scene.restore());
        assert_eq!(scene.all(), before);
        assert_eq!(
            fs::read_link(scene.work().join("target/link")).unwrap(),
            Path::new("debug/a.o")
        );
        // And again, now that some files have been put back.
        forge(&scene.work().join("target/debug/a.o"), "again");
        assert!(scene.restore());
        assert_eq!(scene.all(), before);
    }

    #[test]
    fn what_was_not_touched_is_not_copied() {
        let scene = Scene::new();
        scene.keep();
        let copied = |name: &str| {
            fs::metadata(scene.dir.path().join("cache/files").join(name)).unwrap().ino()
        };
        let b = copied("target/debug/deps/b.o");
        scene.write("target/debug/a.o", "built anew");
        fs::remove_file(scene.work().join("target/link")).unwrap();
        scene.keep();
        // By its content: the file system may give a new file the inode of the old one.
        let anew = fs::read_to_string(scene.dir.path().join("cache/files/target/debug/a.o"));
        assert_eq!(anew.unwrap(), "built anew");
        assert_eq!(copied("target/debug/deps/b.o"), b);
        assert!(!scene.dir.path().join("cache/files/target/link").is_symlink());
        let inode = fs::metadata(scene.work().join("target/debug/deps/b.o")).unwrap().ino();
        assert!(scene.restore());
        assert_eq!(fs::metadata(scene.work().join("target/debug/deps/b.o")).unwrap().ino(), inode);
    }

    #[test]
    fn a_file_that_is_tracked_now_is_left_alone() {
        let scene = Scene::new();
        scene.keep();
        scene.write("target/debug/a.o", "of the change");
        let tracked = |name: &str| ["src/a.rs", "target/debug/a.o"].contains(&name);
        assert!(scene.cache.restore(&scene.work(), &tracked).unwrap());
        let text = fs::read_to_string(scene.work().join("target/debug/a.o")).unwrap();
        assert_eq!(text, "of the change");
    }

    #[test]
    fn a_tracked_name_that_is_no_text_is_left_alone_and_another_one_goes() {
        use std::os::unix::ffi::OsStrExt;
        let scene = Scene::new();
        scene.write("target/out", "1");
        let odd = |name: &[u8]| scene.work().join(std::ffi::OsStr::from_bytes(name));
        for name in [&b"bad\xff"[..], b"rubbish\xff"] {
            fs::write(odd(name), "x").unwrap();
        }
        let cache = Cache::new(scene.dir.path().join("cache"), u64::MAX);
        cache.keep(&scene.work(), &|name| name == "bad\u{fffd}").unwrap();
        assert!(odd(b"bad\xff").exists() && !odd(b"rubbish\xff").exists());
    }

    #[test]
    fn nothing_is_written_through_a_link_that_a_change_brought() {
        let scene = Scene::new();
        scene.keep();
        let outside = scene.dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        for (link, is_tracked) in [("target/debug", false), ("target", true)] {
            let path = scene.work().join(link);
            fs::remove_dir_all(&path).unwrap();
            std::os::unix::fs::symlink(&outside, &path).unwrap();
            let tracked = |name: &str| name == "src/a.rs" || is_tracked && name == link;
            assert!(scene.cache.restore(&scene.work(), &tracked).unwrap());
            assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
            assert_eq!(path.is_symlink(), is_tracked);
        }
        fs::remove_file(scene.work().join("target")).unwrap();
        assert!(scene.restore());
        assert!(scene.work().join("target/debug/deps/b.o").is_file());
    }

    #[test]
    fn a_copy_that_was_cut_off_or_would_be_too_large_is_none() {
        let scene = Scene::new();
        scene.keep();
        fs::remove_file(scene.dir.path().join("cache/list.json")).unwrap();
        assert!(!scene.restore());
        scene.keep();
        scene.write("target/large", &"x".repeat(2000));
        scene.keep();
        assert!(!scene.restore() && !scene.dir.path().join("cache").exists());
        scene.cache.forget().unwrap();
    }

    #[test]
    fn times_of_writing_survive_the_way_there_and_back() {
        let scene = Scene::new();
        let path = scene.work().join("target/debug/a.o");
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_234_567_890_123_456_789);
        let file = File::options().write(true).open(&path).unwrap();
        file.set_times(FileTimes::new().set_modified(long_ago)).unwrap();
        drop(file);
        fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        scene.keep();
        fs::remove_file(&path).unwrap();
        assert!(scene.restore());
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(metadata.modified().unwrap(), long_ago);
        assert_eq!(metadata.permissions().mode() & 0o777, 0o444);
    }
}
