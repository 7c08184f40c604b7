//! What an agent is signed in with, in a session that has a home of its own.
//!
//! A session gets an access token that outlives it and never the refresh token, which is good
//! for one use and stays the user's. A token that is due is renewed first, by the agent's own
//! program in the user's home, for all sessions at once: one lock a file, for every Spore of
//! this user. Where that does not help, the agent must renew by itself: it is given the whole
//! file and works alone on that sign-in, and its tokens are written back while it works.
//!
//! Every copy in a session's home is on record, so that what a killed Spore left is found: its
//! tokens are brought back first if they are the newer ones, and then it is removed.

mod copies;
mod file;
mod records;
mod tokens;

use std::path::{Path, PathBuf};
use std::time::Duration;

use spore_config::{AgentState, Config};
use spore_effects::Tool;
use spore_effects::files::{Lock, LockError};
use spore_model::SessionToken;

use crate::base::files::create_private_dir;
use crate::{Error, Progress, Result, Surroundings, Update};
use copies::{CopyKind, SessionCopies, SessionCopy};
use file::OneFile;
use records::{CopyRecord, CopyRecords};
use tokens::{TokenFile, TokenGrant, TokenPlaces};

/// How often a sign-in is asked for that another session has to itself.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// Gives sessions what their agents are signed in with.
#[derive(Clone, Copy)]
pub(crate) struct SignIns<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) config: &'a Config,
}

/// Whom a sign-in is for.
#[derive(Clone, Copy)]
pub(crate) struct SignedInSession<'a> {
    pub(crate) backend: &'a str,
    /// Its own home, as we see it.
    pub(crate) home: &'a Path,
    pub(crate) token: &'a SessionToken,
    /// The longest that it may take.
    pub(crate) lasts: Duration,
}

/// What a session was given. Dropped, it is written back and removed.
pub(crate) struct SignIn {
    _copies: SessionCopies,
}

/// How one file is given.
struct FileGrant {
    text: Vec<u8>,
    kind: CopyKind,
}

impl SignIns<'_> {
    /// Copies into a session's home what its agent is signed in with: each of `files` is the
    /// user's and its name there. Waits while another session has a sign-in to itself.
    pub(crate) fn give(
        &self,
        session: SignedInSession<'_>,
        files: &[(PathBuf, PathBuf)],
        progress: &mut dyn Progress,
    ) -> Result<SignIn> {
        let records = self.records()?;
        // Also for other projects: their next run may be long in coming.
        records.bring_back(Duration::ZERO, None);
        let mut copies = Vec::new();
        for (file, name) in files {
            let Some(of_user) = OneFile::of_user(file) else { continue };
            let Some(grant) = self.grant(session, &of_user, progress)? else { continue };
            let record = CopyRecord {
                file: of_user.path.clone(),
                home: session.home.to_owned(),
                name: name.clone(),
                session: session.token.clone(),
                places: grant.kind.whole_of(),
                given: records::mark(&grant.text),
            };
            let copy = SessionCopy::make(&records, record, of_user, grant.kind, grant.text);
            copies.push(copy.map_err(|source| {
                Error::io("cannot copy what the agent is signed in with", source)
            })?);
        }
        Ok(SignIn { _copies: SessionCopies::watch(copies) })
    }

    /// Brings back what killed sessions left and removes their copies.
    pub(crate) fn bring_back_left(&self) {
        let records = CopyRecords::below(&self.around.state_home);
        records.bring_back(self.patience(), None);
    }

    /// Counts the copies that killed sessions left.
    pub(crate) fn left(&self) -> usize {
        CopyRecords::below(&self.around.state_home).left()
    }

    /// Decides how a session gets one file; nothing if there is none, or if the user has had
    /// enough of waiting.
    fn grant(
        &self,
        session: SignedInSession<'_>,
        file: &OneFile,
        progress: &mut dyn Progress,
    ) -> Result<Option<FileGrant>> {
        let state = self.config.sandbox.agents.get(session.backend);
        let places = state.and_then(TokenPlaces::of);
        let has_key = |name: &String| self.around.variable(name).is_some_and(|key| !key.is_empty());
        let is_needed = !state.is_some_and(|state| state.instead.iter().any(has_key));
        let records = self.records()?;
        let mut told = false;
        loop {
            let Some(text) = file.read() else { return Ok(None) };
            let tokens = places.as_ref().and_then(|places| places.read(&text));
            let (Some(state), Some(places), Some(tokens)) = (state, &places, tokens) else {
                return Ok(Some(FileGrant { text, kind: CopyKind::AsItIs }));
            };
            if !is_needed || self.outlives(&tokens, session) {
                return Ok(Some(access(text, places)));
            }
            match Lock::try_take(&records.lock_of(&file.path)) {
                Ok(lock) if records.bring_back(self.patience(), Some(&file.path)) => {
                    return self.under(lock, session, file, (state, places), progress);
                }
                // What is left of a killed session still runs.
                Ok(_) | Err(LockError::Held { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            if self.around.interrupt.is_raised() {
                return Ok(None);
            }
            if !std::mem::replace(&mut told, true) {
                let backend = session.backend;
                let note = format!("waiting for another session that renews {backend}'s sign-in");
                progress.update(&Update::SignIn { note });
            }
            std::thread::sleep(ASK_AGAIN);
        }
    }

    /// Decides the same for a token that was due, with the only right to renew it.
    fn under(
        &self,
        lock: Lock,
        session: SignedInSession<'_>,
        file: &OneFile,
        (state, places): (&AgentState, &TokenPlaces),
        progress: &mut dyn Progress,
    ) -> Result<Option<FileGrant>> {
        let read = || file.read().and_then(|text| Some((places.read(&text)?, text)));
        let Some((tokens, text)) = read() else { return Ok(None) };
        // Another session may have renewed it since.
        if self.outlives(&tokens, session) {
            return Ok(Some(access(text, places)));
        }
        let problem = self.renew(state, &lock, &tokens, || Some(read()?.0));
        // Where the renewal has found the user to be signed out, there is nothing to be alone
        // with: the agent says so.
        let Some((tokens, text)) = read() else {
            let text = file.read().unwrap_or_default();
            return Ok(Some(FileGrant { text, kind: CopyKind::AsItIs }));
        };
        if self.outlives(&tokens, session) {
            return Ok(Some(access(text, places)));
        }
        let why = problem.unwrap_or_else(|| "it does not last for a whole session".to_owned());
        let backend = session.backend;
        let note =
            format!("this session works alone with {backend}'s sign-in and may renew it: {why}");
        progress.update(&Update::SignIn { note });
        let kind = CopyKind::Whole { places: places.clone(), _lock: lock };
        Ok(Some(FileGrant { text, kind }))
    }

    /// Lets the agent's own program renew the tokens in the user's home. Returns what went wrong.
    fn renew(
        &self,
        state: &AgentState,
        lock: &Lock,
        before: &TokenFile,
        now: impl Fn() -> Option<TokenFile>,
    ) -> Option<String> {
        let Some((program, args)) = state.renew.split_first() else {
            return Some("no command is known that renews it in your home".to_owned());
        };
        let Some(home) = self.around.variable("HOME") else { return Some("no home".to_owned()) };
        // Not in the project, whose settings could be those of a stranger.
        let tool = Tool::new(program)
            .args(args)
            .cwd(Path::new(home))
            .without_env_of("SPORE_")
            .timeout(self.config.sandbox.renew_timeout);
        let is_renewed = || now().is_some_and(|now| before.is_renewed_by(&now));
        match tool.attend(lock, is_renewed) {
            Ok(true) => None,
            Ok(false) => Some(format!("{program} has not renewed it")),
            Err(error) => Some(error.to_string()),
        }
    }

    fn outlives(&self, tokens: &TokenFile, session: SignedInSession<'_>) -> bool {
        let lasts = session.lasts.saturating_add(self.config.sandbox.sign_in_margin);
        tokens.grant(self.around.clock.now(), lasts) == TokenGrant::Access
    }

    fn records(&self) -> Result<CopyRecords> {
        let records = CopyRecords::below(&self.around.state_home);
        create_private_dir(records.dir())?;
        Ok(records)
    }

    /// How long the processes of a killed session may take to end.
    fn patience(&self) -> Duration {
        let grace = self.config.session.interrupt_grace + self.config.session.terminate_grace;
        grace + Duration::from_secs(2)
    }
}

fn access(text: Vec<u8>, places: &TokenPlaces) -> FileGrant {
    FileGrant { text, kind: CopyKind::Access { places: places.clone() } }
}

#[cfg(test)]
mod tests;
