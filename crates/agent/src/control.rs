//! The part of a session that is the same for every agent program: start it through the
//! shim, listen to both pipes at once, keep every byte, watch the clock, end what does not end.
//!
//! A backend describes its program in a [`Dialogue`] and understands its lines; what a line
//! means for the session it says with [`LineMeaning`]. Everything the program prints passes the
//! [`secrets`] first, so neither file nor parser ever has one. Whether a session went well is
//! not decided here: an [`SessionEnding`] only says who ended it and how.

mod attempts;
mod listener;
mod pipes;
pub(crate) mod secrets;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, sync_channel};
use std::time::Duration;

use spore_effects::session::{SessionEnd, SessionError, Shim, ShimPlan};

pub(crate) use attempts::{
    AttemptOutcome, with_fresh_start, with_second_chances, with_start_retry,
};
use listener::Listener;
use pipes::{StderrLog, Transcript};

use crate::{AgentError, AgentWatch, Request, Watchdog};

/// Blocks of output between the reader and the parser. When it is full the program waits, as
/// it would at a terminal.
const BLOCKS_AHEAD: usize = 8;

/// One program and how to talk to it.
pub(crate) struct Dialogue<'a> {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) request: &'a Request,
    pub(crate) watchdog: &'a Watchdog,
    /// What goes over stdin first.
    pub(crate) input: String,
    /// Keeps stdin open until the last word, for a protocol in both directions.
    pub(crate) stay_open: bool,
    /// The line that asks the program to stop, in its own protocol; needs `stay_open`.
    pub(crate) interrupt: Option<String>,
    /// The longest silence while no tool is running. `None` where the lines do not tell.
    pub(crate) idle: Option<Duration>,
}

impl<'a> Dialogue<'a> {
    /// A program that reads its prompt to the end, prints, and exits.
    pub(crate) fn new(
        program: PathBuf,
        args: Vec<String>,
        request: &'a Request,
        watchdog: &'a Watchdog,
    ) -> Self {
        let input = request.prompt.clone();
        let (stay_open, interrupt, idle) = (false, None, None);
        Self { program, args, request, watchdog, input, stay_open, interrupt, idle }
    }
}

/// What a line meant for the control of the session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LineMeaning {
    /// No tool is running: from here on, silence counts.
    GoOn,
    /// A tool is running, and silence is its work.
    Busy,
    /// The program asked something: this line goes to its stdin. Whether a tool runs is unchanged.
    Answer(String),
    /// A protocol in which both sides speak: what is said now, and how things stand.
    Turn(ProtocolTurn),
    /// The agent has said its last word; stdin is closed and it should exit by itself now.
    LastWord,
    /// The session is worthless and ends, for this reason.
    Abort(String),
}

/// Our move in a protocol in which both sides speak.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ProtocolTurn {
    /// Lines for its stdin, in this order.
    pub(crate) say: Vec<String>,
    /// A tool is running, and silence is its work.
    pub(crate) busy: bool,
    /// From here on this line asks the program to stop.
    pub(crate) interrupt: Option<String>,
}

/// Who brought a session to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum EndedBy {
    Itself,
    /// We did, because it lived on after its last word. Its exit code says nothing.
    Lingering,
    /// We did: nothing was heard in the time allowed for a start.
    Silence,
    /// We did: it fell silent while no tool was running.
    Idle,
    WallClock,
    Cancel,
    /// A line made the session worthless.
    Abort(String),
}

impl EndedBy {
    /// Says in a clause why we ended it; `None` where it ended by itself, more or less.
    pub(crate) fn reason(&self) -> Option<String> {
        let reason = match self {
            Self::Itself | Self::Lingering => return None,
            Self::Silence => "it never said a word",
            Self::Idle => "it fell silent",
            Self::WallClock => "its time was over",
            Self::Cancel => "it was interrupted",
            Self::Abort(reason) => reason,
        };
        Some(reason.to_owned())
    }
}

#[derive(Debug)]
pub(crate) struct SessionEnding {
    pub(crate) by: EndedBy,
    pub(crate) end: SessionEnd,
    /// The last of what it printed on stderr.
    pub(crate) complaint: String,
}

/// Understands a line, tells the caller of it, and says what it means for the session.
pub(crate) type OnLine<'a> = dyn FnMut(&mut dyn AgentWatch, &str) -> LineMeaning + 'a;

/// Runs one session and hands each line of its stdout to `on_line`.
///
/// Lines are still handed over while the session is being ended: the last of them may say
/// what it cost.
pub(crate) fn run(
    shim: &Shim,
    dialogue: &Dialogue<'_>,
    watch: &mut dyn AgentWatch,
    on_line: &mut OnLine<'_>,
) -> Result<SessionEnding, AgentError> {
    let Dialogue { request, watchdog, .. } = *dialogue;
    let (transcript, log) = open_files(request, watchdog)?;
    let failed = |error| match error {
        SessionError::NotInstalled { .. } => {
            AgentError::NotInstalled { program: dialogue.program.clone() }
        }
        other => AgentError::Start(other),
    };
    let waiting = shim.prepare(&plan(dialogue)).map_err(failed)?;
    watch.starting(waiting.identity()).map_err(AgentError::Refused)?;
    let mut session = waiting.go().map_err(failed)?;
    watch.confined(session.enforced());

    let secrets = &secrets::secrets_of(request);
    let (stdin, stdout, stderr) =
        (session.take_stdin(), session.take_stdout(), session.take_stderr());
    let (voice, words) = channel();
    let (sender, blocks) = sync_channel(BLOCKS_AHEAD);
    std::thread::scope(|scope| {
        scope.spawn(move || pipes::feed(stdin, &words));
        let complaint = scope.spawn(move || pipes::stderr(stderr, secrets, log));
        scope.spawn(move || pipes::stdout(stdout, secrets, transcript, &sender));
        let by = Listener::new(shim.clock(), dialogue, voice).listen(
            &mut session,
            blocks,
            watch,
            on_line,
        );
        // The readers end when the last process of the session closes its pipes, which the
        // shim sees to.
        let end = session.wait().map_err(AgentError::Start)?;
        let by = match by {
            // Only what it had started was still there, and its exit code is its own.
            EndedBy::Lingering if !end.stopped => EndedBy::Itself,
            by => by,
        };
        let complaint = complaint.join().unwrap_or_default();
        Ok(SessionEnding { by, end, complaint })
    })
}

fn plan(dialogue: &Dialogue<'_>) -> ShimPlan {
    ShimPlan {
        token: dialogue.request.token.clone(),
        program: dialogue.program.clone(),
        args: dialogue.args.clone(),
        cwd: dialogue.request.dir.clone(),
        env: dialogue.request.env.clone(),
        grace: dialogue.watchdog.grace,
        stdin: true,
        confinement: dialogue.request.sandbox.confinement().cloned(),
    }
}

fn open_files(
    request: &Request,
    watchdog: &Watchdog,
) -> Result<(Transcript, StderrLog), AgentError> {
    let path = &request.transcript;
    let log_path = path.with_file_name("stderr.log");
    ensure_parent(path)
        .and_then(|()| {
            let transcript = Transcript::open(path, watchdog.transcript_cap)?;
            Ok((transcript, StderrLog::open(&log_path)?))
        })
        .map_err(|source| AgentError::Transcript { path: path.clone(), source })
}

/// Turns an I/O path into what a request wants: the directory of a file, made if missing.
pub(crate) fn ensure_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)
}
