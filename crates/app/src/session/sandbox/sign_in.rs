//! The files that an agent is signed in with, in a session that has a home of its own.
//!
//! The session gets copies. An agent that renews its sign-in writes a new file, and the old one is
//! void from then on (<https://datatracker.ietf.org/doc/html/rfc6749#section-10.4>: a refresh token
//! is used once): so what the session renews is written back while it runs, and what the user's own
//! agent renews meanwhile reaches the session. A file that is empty or broken is never written
//! back. When the session is over its copies are removed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use spore_effects::files::Beneath;

/// How often both sides are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// A larger file is none that an agent is signed in with.
const LARGEST: u64 = 1 << 20;

/// One file: the user's, the session's, and what both held when they were last the same. The
/// session may have put anything in the place of its own.
#[derive(Debug)]
struct SignInFile {
    of_user: OneFile,
    of_session: OneFile,
    known: Vec<u8>,
}

#[derive(Debug)]
struct OneFile {
    dir: Arc<Beneath>,
    name: PathBuf,
}

impl OneFile {
    fn read(&self) -> Option<Vec<u8>> {
        self.dir.read(&self.name, LARGEST).ok().filter(|text| is_whole(text))
    }

    fn write(&self, text: &[u8]) -> io::Result<()> {
        self.dir.replace(&self.name, text)
    }
}

/// The copies of one session. Dropped, it writes back what is new and removes them.
#[derive(Debug)]
pub(crate) struct SignIn {
    over: Arc<AtomicBool>,
    watch: Option<JoinHandle<()>>,
}

impl SignIn {
    /// Copies what is there of `files` into `home`, which is the session's: each is the user's
    /// file and the name of the copy.
    pub(super) fn give(home: &Path, files: &[(PathBuf, PathBuf)]) -> io::Result<Self> {
        let home = Arc::new(Beneath::open(home)?);
        let mut given = Vec::new();
        for (of_user, name) in files {
            let (Some(dir), Some(last)) = (of_user.parent(), of_user.file_name()) else { continue };
            let Ok(dir) = Beneath::open(dir) else { continue };
            let of_user = OneFile { dir: Arc::new(dir), name: last.into() };
            let Some(known) = of_user.read() else { continue };
            let of_session = OneFile { dir: Arc::clone(&home), name: name.clone() };
            of_session.write(&known)?;
            given.push(SignInFile { of_user, of_session, known });
        }
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let watch = (!given.is_empty()).then(|| {
            std::thread::spawn(move || {
                loop {
                    let last = is_over.load(Ordering::Acquire);
                    given.iter_mut().for_each(SignInFile::keep_in_step);
                    if last {
                        break;
                    }
                    std::thread::park_timeout(LOOK_EVERY);
                }
                for file in &given {
                    let _ = file.of_session.dir.remove(&file.of_session.name);
                }
            })
        });
        Ok(Self { over, watch })
    }
}

impl Drop for SignIn {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(watch) = self.watch.take() {
            watch.thread().unpark();
            let _ = watch.join();
        }
    }
}

impl SignInFile {
    /// Carries over what one side has renewed. Where both have, each keeps its own: neither is
    /// known to be the later one.
    fn keep_in_step(&mut self) {
        let (Some(user), Some(session)) = (self.of_user.read(), self.of_session.read()) else {
            return;
        };
        let (is_users_new, is_sessions_new) = (user != self.known, session != self.known);
        let carried = match (is_users_new, is_sessions_new) {
            (false, true) => self.of_user.write(&session).map(|()| session),
            (true, false) => self.of_session.write(&user).map(|()| user),
            _ => return,
        };
        // A write that failed is tried again the next time.
        if let Ok(text) = carried {
            self.known = text;
        }
    }
}

/// Returns whether a file can be one that an agent is signed in with: JSON with something in it.
fn is_whole(text: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(text)
        .is_ok_and(|value| value.as_object().is_some_and(|fields| !fields.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sides {
        dir: tempfile::TempDir,
        sign_in: Option<SignIn>,
    }

    impl Sides {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join("user"), r#"{"refresh":1}"#).unwrap();
            std::fs::create_dir(dir.path().join("home")).unwrap();
            let files = [(dir.path().join("user"), PathBuf::from("state/session"))];
            let sign_in = Some(SignIn::give(&dir.path().join("home"), &files).unwrap());
            Self { dir, sign_in }
        }

        fn write(&self, side: &str, text: &str) {
            spore_effects::files::write_atomic(&self.dir.path().join(side), text.as_bytes())
                .unwrap();
        }

        fn read(&self, side: &str) -> String {
            std::fs::read_to_string(self.dir.path().join(side)).unwrap_or_default()
        }

        fn wait_for(&self, side: &str, text: &str) {
            for _ in 0..400 {
                if self.read(side) == text {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            panic!("{side} is {:?}", self.read(side));
        }
    }

    const SESSION: &str = "home/state/session";

    #[test]
    fn what_one_side_renews_the_other_has_at_once() {
        let mut sides = Sides::new();
        assert_eq!(sides.read(SESSION), r#"{"refresh":1}"#);
        sides.write(SESSION, r#"{"refresh":2}"#);
        sides.wait_for("user", r#"{"refresh":2}"#);
        sides.write("user", r#"{"refresh":3}"#);
        sides.wait_for(SESSION, r#"{"refresh":3}"#);
        sides.write(SESSION, r#"{"refresh":4}"#);
        drop(sides.sign_in.take());
        assert_eq!(sides.read("user"), r#"{"refresh":4}"#);
        assert!(!sides.dir.path().join(SESSION).exists());
    }

    #[test]
    fn nothing_empty_broken_or_doubtful_reaches_the_user() {
        for text in ["", "{", "{}", "[]", "null"] {
            let mut sides = Sides::new();
            sides.write(SESSION, text);
            drop(sides.sign_in.take());
            assert_eq!(sides.read("user"), r#"{"refresh":1}"#, "{text}");
        }
        let mut sides = Sides::new();
        std::fs::write(sides.dir.path().join("other"), r#"{"of another":1}"#).unwrap();
        std::fs::remove_file(sides.dir.path().join(SESSION)).unwrap();
        std::os::unix::fs::symlink("../../other", sides.dir.path().join(SESSION)).unwrap();
        drop(sides.sign_in.take());
        assert_eq!(sides.read("user"), r#"{"refresh":1}"#);
        let mut sides = Sides::new();
        std::fs::remove_file(sides.dir.path().join(SESSION)).unwrap();
        drop(sides.sign_in.take());
        assert_eq!(sides.read("user"), r#"{"refresh":1}"#);
    }
}
