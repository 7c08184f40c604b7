//! The part of a session that is the same for every agent program: start it through the
//! shim, listen to both pipes at once, keep every byte, watch the clock, end what does not end.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use spore_effects::session::{Session, SessionEnd, SessionError, SessionPlan, Shim};

use crate::{AgentError, Request, Watch, Watchdog};

/// How often the caller is asked whether to go on.
const HEARTBEAT: Duration = Duration::from_millis(50);

/// How much of stderr is kept in memory for an error message.
const COMPLAINT_BYTES: usize = 4096;

/// Why a session came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EndedBy {
    Itself,
    /// Nothing was heard in the time allowed for a start.
    Silence,
    WallClock,
    Cancel,
}

pub(crate) struct Ending {
    pub(crate) by: EndedBy,
    pub(crate) end: SessionEnd,
    /// The last of what it printed on stderr.
    pub(crate) complaint: String,
}

/// What a line meant for the control of the session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    GoOn,
    /// The agent has said its last word; it should exit by itself now.
    LastWord,
}

/// Runs `program` as `request` says and hands each line of its stdout to `on_line`.
pub(crate) fn run(
    shim: &Shim,
    program: PathBuf,
    args: Vec<String>,
    request: &Request,
    watchdog: &Watchdog,
    watch: &mut dyn Watch,
    on_line: &mut dyn FnMut(&mut dyn Watch, &str) -> Heard,
) -> Result<Ending, AgentError> {
    let transcript = File::create(&request.transcript)
        .map_err(|source| AgentError::Transcript { path: request.transcript.clone(), source })?;
    let plan = SessionPlan {
        token: request.token.clone(),
        program: program.clone(),
        args,
        cwd: request.dir.clone(),
        env: request.env.clone(),
        grace: watchdog.grace,
        stdin: true,
    };
    let failed = |error| match error {
        SessionError::NotInstalled { .. } => AgentError::NotInstalled { program: program.clone() },
        other => AgentError::Start(other),
    };
    let waiting = shim.prepare(&plan).map_err(failed)?;
    watch.starting(waiting.identity()).map_err(AgentError::Refused)?;
    let mut session = waiting.go().map_err(failed)?;

    let (stdin, stdout, stderr) =
        (session.take_stdin(), session.take_stdout(), session.take_stderr());
    let (sender, lines) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || feed(stdin, request.prompt.as_bytes()));
        let complaint = scope.spawn(move || last_words(stderr));
        let (cap, line_cap) = (watchdog.transcript_cap, watchdog.line_cap);
        scope.spawn(move || {
            let mut kept = Transcript { file: transcript, left: cap };
            for_each_line(stdout, line_cap, &mut kept, &mut |line| sender.send(line).is_ok());
        });
        let by = listen(&mut session, &lines, request.limits.wall, watchdog, watch, on_line);
        // The readers end when the last process of the session closes its pipes, which the
        // shim sees to.
        let end = session.wait().map_err(AgentError::Start)?;
        let complaint = complaint.join().unwrap_or_default();
        Ok(Ending { by, end, complaint })
    })
}

/// Passes lines on until the session ends or has to be ended.
fn listen(
    session: &mut Session,
    lines: &Receiver<String>,
    wall: Duration,
    watchdog: &Watchdog,
    watch: &mut dyn Watch,
    on_line: &mut dyn FnMut(&mut dyn Watch, &str) -> Heard,
) -> EndedBy {
    let start = Instant::now();
    let mut heard_anything = false;
    let mut last_word: Option<Instant> = None;
    loop {
        match lines.recv_timeout(HEARTBEAT) {
            Ok(line) => {
                heard_anything = true;
                if on_line(watch, &line) == Heard::LastWord {
                    last_word = Some(Instant::now());
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                // Its stdout is closed; a program that lives on without a voice is ended
                // when the time to exit is over.
                let now = Instant::now();
                last_word = last_word.or(Some(now));
                if !matches!(session.wait_until(now + HEARTBEAT), Ok(None)) {
                    return EndedBy::Itself;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let by = if watch.cancelled() {
            EndedBy::Cancel
        } else if start.elapsed() > wall {
            EndedBy::WallClock
        } else if !heard_anything && start.elapsed() > watchdog.first_output {
            EndedBy::Silence
        } else if last_word.is_some_and(|at| at.elapsed() > watchdog.exit) {
            EndedBy::Itself
        } else {
            continue;
        };
        session.stop();
        return by;
    }
}

fn feed(stdin: Option<impl Write>, prompt: &[u8]) {
    if let Some(mut stdin) = stdin {
        // A program that does not read its prompt is no error of ours; dropping ends it.
        let _ = stdin.write_all(prompt);
    }
}

/// Drains stderr and keeps its end.
fn last_words(stderr: Option<impl Read>) -> String {
    let Some(mut stderr) = stderr else { return String::new() };
    let mut tail = Vec::new();
    let mut chunk = [0; 16 * 1024];
    while let Ok(count @ 1..) = stderr.read(&mut chunk) {
        tail.extend_from_slice(&chunk[..count]);
        if tail.len() > 2 * COMPLAINT_BYTES {
            tail.drain(..tail.len() - COMPLAINT_BYTES);
        }
    }
    String::from_utf8_lossy(&tail[tail.len().saturating_sub(COMPLAINT_BYTES)..]).trim().to_owned()
}

struct Transcript {
    file: File,
    left: u64,
}

impl Transcript {
    /// Keeps `bytes` while there is room. A full disk must not lose the session: what
    /// matters of it reaches the journal by another way.
    fn keep(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        if room > 0 && self.file.write_all(&bytes[..room]).is_ok() {
            self.left -= room as u64;
        }
    }
}

/// Calls `on_line` for each line until it says stop, with at most `cap` bytes of it.
fn for_each_line(
    stdout: Option<impl Read>,
    cap: usize,
    transcript: &mut Transcript,
    on_line: &mut dyn FnMut(String) -> bool,
) {
    let Some(stdout) = stdout else { return };
    let mut reader = BufReader::with_capacity(64 * 1024, stdout);
    let mut line = Vec::new();
    let mut over = 0;
    let mut wanted = true;
    while let Ok(chunk) = reader.fill_buf().map(<[u8]>::to_vec) {
        if chunk.is_empty() {
            break;
        }
        transcript.keep(&chunk);
        reader.consume(chunk.len());
        for part in chunk.split_inclusive(|&byte| byte == b'\n') {
            let (text, ended) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            let room = cap.saturating_sub(line.len()).min(text.len());
            line.extend_from_slice(&text[..room]);
            over += text.len() - room;
            // Go on reading when nobody listens any more: a full pipe would block the program.
            if ended && wanted {
                wanted = on_line(finish_line(&mut line, &mut over));
            }
        }
    }
    if !line.is_empty() && wanted {
        on_line(finish_line(&mut line, &mut over));
    }
}

fn finish_line(line: &mut Vec<u8>, over: &mut usize) -> String {
    let mut text = String::from_utf8_lossy(line).into_owned();
    if *over > 0 {
        text.push_str(&format!(" … {over} more bytes"));
    }
    line.clear();
    *over = 0;
    text
}

/// Turns an I/O path into what a request wants: the directory of a file, made if missing.
pub(crate) fn ensure_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)
}
