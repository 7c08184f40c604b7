//! The copies of one session, and what becomes of them while it works.
//!
//! What the user's own agent renews reaches the session. What a session renews that works alone
//! reaches the user: the tokens, and nothing else of what it wrote. A file that is empty, broken or
//! older is carried nowhere.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use spore_effects::files::Lock;

use super::file::OneFile;
use super::records::{CopyRecord, CopyRecords, RecordedCopy, mark};
use super::tokens::TokenPlaces;

/// How often both sides are looked at. A renewed token that is not written back is lost if the
/// machine goes down.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What a session is given of a file.
pub(super) enum CopyKind {
    /// All of it: no refresh token is in it.
    AsItIs,
    /// All but the refresh tokens.
    Access { places: TokenPlaces },
    /// All of it, and no other session renews it while the lock is held.
    Whole { places: TokenPlaces, _lock: Lock },
}

impl CopyKind {
    /// Returns where the tokens are that a session may renew.
    pub(super) fn whole_of(&self) -> Option<TokenPlaces> {
        match self {
            Self::Whole { places, .. } => Some(places.clone()),
            Self::AsItIs | Self::Access { .. } => None,
        }
    }
}

/// One copy: the user's file, the session's, and what both held when they were last in step.
pub(super) struct SessionCopy {
    of_user: OneFile,
    of_session: OneFile,
    known_user: Vec<u8>,
    known_session: Vec<u8>,
    recorded: RecordedCopy,
    // The last field: the right to renew ends after everything else.
    kind: CopyKind,
}

impl SessionCopy {
    /// Makes the copy; `text` is what the user's file holds. It is on record before it is there.
    pub(super) fn make(
        records: &CopyRecords,
        record: CopyRecord,
        of_user: OneFile,
        kind: CopyKind,
        text: Vec<u8>,
    ) -> io::Result<Self> {
        let of_session = OneFile::of_session(&record.home, &record.name)?;
        let recorded = records.add(record)?;
        let known_session = match &kind {
            CopyKind::Access { places } => {
                places.read(&text).map(|tokens| tokens.without_refresh()).unwrap_or_default()
            }
            CopyKind::AsItIs | CopyKind::Whole { .. } => text.clone(),
        };
        of_session.write(&known_session)?;
        Ok(Self { of_user, of_session, known_user: text, known_session, recorded, kind })
    }

    /// Carries over what one side has renewed. What fails is tried again the next time.
    fn keep_in_step(&mut self) -> io::Result<()> {
        let Some(user) = self.of_user.read() else { return Ok(()) };
        match &self.kind {
            CopyKind::AsItIs => Ok(()),
            CopyKind::Access { places } => {
                if user == self.known_user {
                    return Ok(());
                }
                let Some(tokens) = places.read(&user) else { return Ok(()) };
                self.of_session.write(&tokens.without_refresh())?;
                self.known_user = user;
                Ok(())
            }
            CopyKind::Whole { places, .. } => {
                let places = places.clone();
                self.renew_either(&places, user)
            }
        }
    }

    fn renew_either(&mut self, places: &TokenPlaces, user: Vec<u8>) -> io::Result<()> {
        let Some(session) = self.of_session.read() else { return Ok(()) };
        let (is_users_new, is_sessions_new) =
            (user != self.known_user, session != self.known_session);
        if !is_users_new && !is_sessions_new {
            return Ok(());
        }
        let (Some(of_user), Some(of_session)) = (places.read(&user), places.read(&session)) else {
            return Ok(());
        };
        let renewed =
            if is_sessions_new { of_user.with_renewed(&of_session, !is_users_new) } else { None };
        if let Some(renewed) = renewed {
            self.of_user.write(&renewed)?;
            self.recorded.given(mark(&renewed))?;
            (self.known_user, self.known_session) = (renewed, session);
        } else if is_users_new && of_session.with_renewed(&of_user, !is_sessions_new).is_some() {
            self.of_session.write(&user)?;
            self.recorded.given(mark(&user))?;
            (self.known_user, self.known_session) = (user.clone(), user);
        } else {
            // Something else than the tokens has changed.
            (self.known_user, self.known_session) = (user, session);
        }
        Ok(())
    }

    fn end(mut self) {
        let _ = self.keep_in_step();
        // What cannot be removed stays on record.
        if self.of_session.remove().is_ok() {
            self.recorded.strike_off();
        }
    }
}

/// The copies of one session, looked after until it is dropped.
pub(super) struct SessionCopies {
    over: Arc<AtomicBool>,
    watch: Option<JoinHandle<()>>,
}

impl SessionCopies {
    pub(super) fn watch(mut copies: Vec<SessionCopy>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let watch = (!copies.is_empty()).then(|| {
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Acquire) {
                    for copy in &mut copies {
                        let _ = copy.keep_in_step();
                    }
                    std::thread::park_timeout(LOOK_EVERY);
                }
                copies.into_iter().for_each(SessionCopy::end);
            })
        });
        Self { over, watch }
    }
}

impl Drop for SessionCopies {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(watch) = self.watch.take() {
            watch.thread().unpark();
            let _ = watch.join();
        }
    }
}
