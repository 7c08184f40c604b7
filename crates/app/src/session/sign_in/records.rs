//! Which copies of sign-ins are in which sessions' homes, on disk.
//!
//! They lie in Spore's state directory beside those of all projects: whichever Spore comes next
//! finds what a killed one left. A record's lock is held by the Spore whose session it is; that
//! of a file by the one that may renew it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spore_effects::files::{Beneath, Lock, paths_in, read};
use spore_effects::session::find_by_token;
use spore_model::SessionToken;

use super::file::OneFile;
use super::tokens::TokenPlaces;
use crate::base::workspace::fnv1a;

/// How often the processes of a killed session are looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// One copy in a session's home.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct CopyRecord {
    /// The user's file.
    pub(super) file: PathBuf,
    pub(super) home: PathBuf,
    pub(super) name: PathBuf,
    pub(super) session: SessionToken,
    /// Where the tokens are that the session may renew; nothing where it may not.
    pub(super) places: Option<TokenPlaces>,
    /// What the user's file held when both were last in step, as [`mark`] says it.
    pub(super) given: u64,
}

/// Tells two contents of a file apart.
pub(super) fn mark(text: &[u8]) -> u64 {
    fnv1a(text)
}

/// All copies of this user's sessions.
pub(super) struct CopyRecords {
    dir: PathBuf,
}

/// A copy that is on record, of a session of this process.
pub(super) struct RecordedCopy {
    record: CopyRecord,
    path: PathBuf,
    lock_path: PathBuf,
    _lock: Lock,
}

impl CopyRecords {
    pub(super) fn below(state_home: &Path) -> Self {
        Self { dir: state_home.join("sign-ins") }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the lock of those who may renew a file of the user's.
    pub(super) fn lock_of(&self, file: &Path) -> PathBuf {
        self.dir.join(format!("{:016x}.lock", fnv1a(file.as_os_str().as_encoded_bytes())))
    }

    /// Records a copy that is about to be made.
    pub(super) fn add(&self, record: CopyRecord) -> io::Result<RecordedCopy> {
        let name = format!("{}\0{}", record.session, record.name.display());
        let id = format!("copy-{:016x}", fnv1a(name.as_bytes()));
        let (path, lock_path) =
            (self.dir.join(format!("{id}.json")), self.dir.join(format!("{id}.lock")));
        let lock = Lock::try_take(&lock_path).map_err(io::Error::other)?;
        let recorded = RecordedCopy { record, path, lock_path, _lock: lock };
        recorded.write()?;
        Ok(recorded)
    }

    /// Brings back what killed sessions left and removes their copies; of one file alone where
    /// the caller holds the lock of that file. Returns whether nothing of it is left: a session's
    /// processes may outlive its Spore for as long as `patience`.
    pub(super) fn bring_back(&self, patience: Duration, held: Option<&Path>) -> bool {
        let mut all = true;
        for path in &self.paths() {
            let Some(record) = read_record(path) else { continue };
            if held.is_some_and(|held| held != record.file) {
                continue;
            }
            // Who holds it has brought everything back, or does so first.
            let is_free = held.is_some() || record.places.is_none();
            let lock = if is_free { None } else { Some(self.lock_of(&record.file)) };
            let Ok(_lock) = lock.map(|lock| Lock::try_take(&lock)).transpose() else { continue };
            all &= take_up(path).is_none_or(|left| {
                let is_over = wait_for_end(&left.record.session, patience);
                if is_over {
                    left.bring_back();
                }
                is_over
            });
        }
        all
    }

    /// Counts the copies of sessions whose Spore is gone, and changes nothing.
    pub(super) fn left(&self) -> usize {
        let is_left = |path: &&PathBuf| !Lock::is_held(&path.with_extension("lock"));
        self.paths().iter().filter(is_left).count()
    }

    /// Returns the files of all records.
    fn paths(&self) -> Vec<PathBuf> {
        let mut paths = paths_in(&self.dir).unwrap_or_default();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
        paths
    }
}

/// Claims the record of a session whose Spore is gone.
fn take_up(path: &Path) -> Option<RecordedCopy> {
    let lock_path = path.with_extension("lock");
    let lock = Lock::try_take(&lock_path).ok()?;
    // Its session may have ended while we were looking.
    let record = read_record(path);
    if record.is_none() {
        remove(&lock_path);
    }
    Some(RecordedCopy { record: record?, path: path.to_owned(), lock_path, _lock: lock })
}

fn remove(path: &Path) {
    let _ = place(path).and_then(|(dir, name)| dir.remove(&name));
}

fn place(path: &Path) -> io::Result<(Beneath, PathBuf)> {
    let none = || io::Error::other("a record has a directory and a name");
    let (dir, name) = path.parent().zip(path.file_name()).ok_or_else(none)?;
    Ok((Beneath::open(dir)?, name.into()))
}

impl RecordedCopy {
    /// Notes what the user's file holds now that both are in step again.
    pub(super) fn given(&mut self, mark: u64) -> io::Result<()> {
        self.record.given = mark;
        self.write()
    }

    /// Takes the record away: the copy is gone.
    pub(super) fn strike_off(self) {
        remove(&self.path);
        remove(&self.lock_path);
    }

    /// Writes back the tokens that a killed session renewed, and removes its copy. What cannot be
    /// written back now is left for later.
    fn bring_back(self) {
        let CopyRecord { file, home, name, places, given, .. } = &self.record;
        let Ok(copy) = OneFile::of_session(home, name) else { return self.strike_off() };
        let written = match (places, OneFile::of_user(file)) {
            (Some(places), Some(of_user)) => {
                let texts = of_user.read().zip(copy.read());
                let tokens = texts.and_then(|(user, session)| {
                    let (mine, other) = (places.read(&user)?, places.read(&session)?);
                    mine.with_renewed(&other, mark(&user) == *given)
                });
                tokens.map_or(Ok(()), |text| of_user.write(&text))
            }
            _ => Ok(()),
        };
        if written.and_then(|()| copy.remove()).is_ok() {
            self.strike_off();
        }
    }

    fn write(&self) -> io::Result<()> {
        let (dir, name) = place(&self.path)?;
        dir.replace(&name, &serde_json::to_vec(&self.record)?)
    }
}

fn read_record(path: &Path) -> Option<CopyRecord> {
    serde_json::from_slice(&read(path).ok()?).ok()
}

/// Waits until no process of a session is left that could still renew its copy.
fn wait_for_end(session: &SessionToken, patience: Duration) -> bool {
    let looks = patience.as_millis() / LOOK_AGAIN.as_millis().max(1);
    for _ in 0..=looks {
        if find_by_token(session).is_empty() {
            return true;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    false
}
