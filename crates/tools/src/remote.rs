//! Tools that another process of ours serves, over a socket.
//!
//! An agent's session is not trusted with the stores. What it calls goes to the broker in the
//! orchestrating process: one connection a question, one line of JSON each way, and the
//! session's token in every line. A process without a valid token is refused and learns nothing
//! else, so there is one refusal and no reasons.
//!
//! A session that may start others has a second token for that alone. What it asks for takes as
//! long as a session does, so lines are told while it goes on, and the last one is the answer.
//!
//! Both ends are here: what the shim and the `api` backend ask with, and the loop that
//! answers. Who may ask what is the answerer's business.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use spore_model::{Fault, Outcome, ToolGroup};

use crate::declared::Declared;
use crate::{ModelTool, Reach, ToolAnswer, ToolCaller};

/// Where the broker listens; set for the servers of a session.
pub const SOCKET_VARIABLE: &str = "SPORE_BROKER";
/// What admits the session.
pub const TOKEN_VARIABLE: &str = "SPORE_BROKER_TOKEN";

/// Where a session that may start others asks for it, and what admits it there. Unlike the token
/// for its tools, every program of the session sees this one.
pub const STARTS_VARIABLE: &str = "SPORE_STARTS";
pub const STARTS_TOKEN_VARIABLE: &str = "SPORE_STARTS_TOKEN";

/// The longest question, and the longest answer.
const ASK_BYTES: u64 = 1 << 20;
const TOLD_BYTES: u64 = 16 << 20;
/// A question that takes longer to arrive is none.
const ASK_TIME: Duration = Duration::from_secs(10);
/// How often a caller that waits for an answer sees whether it is cancelled.
const GLANCE: Duration = Duration::from_millis(100);
/// Questions at a time, from all sessions together.
const AT_ONCE: usize = 64;

/// One line to the broker.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Asked {
    pub token: String,
    #[serde(flatten)]
    pub ask: Ask,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// Which tools there are.
    Tools,
    Call {
        tool: String,
        arguments: Value,
    },
    /// What can be read as a whole.
    Resources,
    Read {
        uri: String,
    },
    /// Start a session below this one.
    Start(Start),
}

/// What a session asks to be started: the words of a command, as data.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Start {
    pub command: String,
    pub request: Value,
    /// Where the command was called.
    pub cwd: PathBuf,
}

/// One line back.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    Tools(Vec<Declared>),
    Answer(ToolAnswer),
    Resources(Vec<Resource>),
    /// `None` where there is no such thing.
    Contents(Option<Contents>),
    /// Something that happened meanwhile, for people; more follows.
    Meanwhile(String),
    /// What came of something that was started: the answer of its command, or its error.
    Ended(Result<Value, StartError>),
    /// The token is none, or not any more.
    Refused,
}

/// Why nothing was started, or why it could not be told what came of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StartError {
    pub fault: Fault,
    /// Set where the refusal is itself an outcome that callers tell apart.
    pub outcome: Option<Outcome>,
    pub message: String,
    pub hint: Option<String>,
}

/// Something that a client can put before its model by name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Resource {
    pub uri: String,
    pub name: String,
    pub description: String,
    pub mime: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Contents {
    pub mime: String,
    pub text: String,
}

/// The asking end.
#[derive(Clone, Debug)]
pub struct Remote {
    socket: PathBuf,
    token: String,
}

impl Remote {
    pub fn new(socket: impl Into<PathBuf>, token: impl Into<String>) -> Self {
        Self { socket: socket.into(), token: token.into() }
    }

    /// Finds the broker that an environment names. A socket without a token is asked too, and
    /// refuses.
    pub fn of_environment(variables: &[(String, String)]) -> Option<Self> {
        Self::named_by(variables, SOCKET_VARIABLE, TOKEN_VARIABLE)
    }

    /// The same for a session that may start others.
    pub fn for_starts(variables: &[(String, String)]) -> Option<Self> {
        Self::named_by(variables, STARTS_VARIABLE, STARTS_TOKEN_VARIABLE)
    }

    fn named_by(variables: &[(String, String)], socket: &str, token: &str) -> Option<Self> {
        let get = |name: &str| {
            variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
        };
        let socket = get(socket).filter(|socket| !socket.is_empty())?;
        Some(Self::new(socket, get(token).unwrap_or_default()))
    }

    /// Returns whether there is a broker at all.
    pub fn is_there(&self) -> bool {
        self.socket.exists()
    }

    /// Asks and waits for the answer, or until `cancelled`.
    pub fn ask(&self, ask: &Ask, cancelled: &dyn Fn() -> bool) -> io::Result<Told> {
        self.follow(ask, cancelled, &mut |_| {})
    }

    /// The same, and hands over what is told meanwhile.
    pub fn follow(
        &self,
        ask: &Ask,
        cancelled: &dyn Fn() -> bool,
        meanwhile: &mut dyn FnMut(&str),
    ) -> io::Result<Told> {
        let asked = Asked { token: self.token.clone(), ask: ask.clone() };
        let mut line = serde_json::to_vec(&asked)?;
        if line.len() as u64 >= ASK_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the arguments are too large"));
        }
        line.push(b'\n');
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_write_timeout(Some(ASK_TIME))?;
        stream.write_all(&line)?;
        stream.set_read_timeout(Some(GLANCE))?;
        let mut lines = PatientLines { stream, bytes: Vec::new() };
        loop {
            match serde_json::from_slice(&lines.next(cancelled)?)? {
                Told::Meanwhile(line) => meanwhile(&line),
                told => return Ok(told),
            }
        }
    }

    /// Makes a registry's tools of those that the broker has for this session.
    pub fn tools(&self) -> io::Result<Vec<ModelTool>> {
        match self.ask(&Ask::Tools, &|| false)? {
            Told::Tools(tools) => Ok(tools.into_iter().map(|tool| self.tool(tool)).collect()),
            _ => Err(io::Error::new(io::ErrorKind::PermissionDenied, "the session was refused")),
        }
    }

    fn tool(&self, declared: Declared) -> ModelTool {
        let reach = match declared.ends {
            true => Reach::Submit,
            false if declared.proposes() => Reach::Propose,
            // A pass cannot do without them, however small its model's window is.
            false
                if matches!(
                    declared.group,
                    ToolGroup::Investigation | ToolGroup::Memory | ToolGroup::Layers
                ) =>
            {
                Reach::Search
            }
            false => Reach::Read,
        };
        let (remote, name) = (self.clone(), declared.name.clone());
        ModelTool::new(
            &declared.name,
            &declared.description,
            reach,
            declared.schema,
            move |arguments, caller| remote.call(&name, arguments, caller),
        )
    }

    fn call(&self, tool: &str, arguments: &Value, caller: &dyn ToolCaller) -> ToolAnswer {
        let ask = Ask::Call { tool: tool.to_owned(), arguments: arguments.clone() };
        match self.ask(&ask, &|| caller.cancelled()) {
            Ok(Told::Answer(answer)) => answer,
            Ok(_) => ToolAnswer::error(format!("{tool} was refused")),
            Err(error) => ToolAnswer::error(format!("{tool} could not be asked: {error}")),
        }
    }
}

/// Lines from the broker, which may take their time.
struct PatientLines {
    stream: UnixStream,
    bytes: Vec<u8>,
}

impl PatientLines {
    fn next(&mut self, cancelled: &dyn Fn() -> bool) -> io::Result<Vec<u8>> {
        let mut part = [0; 64 << 10];
        loop {
            if let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
                let rest = self.bytes.split_off(end + 1);
                return Ok(std::mem::replace(&mut self.bytes, rest));
            }
            if self.bytes.len() as u64 > TOLD_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is too long"));
            }
            match self.stream.read(&mut part) {
                Ok(0) => {
                    let why = "the answer was cut off";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
                }
                Ok(size) => self.bytes.extend_from_slice(&part[..size]),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock) => {
                    if cancelled() {
                        let why = "it was interrupted";
                        return Err(io::Error::new(io::ErrorKind::Interrupted, why));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Answers each question; several at a time.
pub trait Answerer: Send + Sync + 'static {
    fn answer(&self, asked: Asked) -> Told;

    /// Starts what is asked for and returns what came of it. The process that asks may be gone before.
    fn start(&self, _token: &str, _start: Start, _asker: &Asker<'_>) -> Told {
        Told::Refused
    }
}

/// The process that waits for what it asked to be started.
pub struct Asker<'a> {
    stream: &'a UnixStream,
}

impl Asker<'_> {
    /// Tells it something meanwhile. One that is gone hears nothing.
    pub fn tell(&self, line: &str) {
        if let Ok(mut line) = serde_json::to_vec(&Told::Meanwhile(line.to_owned())) {
            line.push(b'\n');
            let _ = { self.stream }.write_all(&line);
        }
    }

    /// Returns whether it has closed its end. It has nothing more to say, so what can be read is
    /// the end.
    pub fn is_gone(&self) -> bool {
        let events = PollFlags::POLLIN | PollFlags::POLLHUP;
        let mut fds = [PollFd::new(self.stream.as_fd(), events)];
        poll(&mut fds, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }
}

/// The answering end, until it is dropped. A question in the making is answered still.
pub struct Listening {
    /// Closing it ends the loop.
    hang_up: Option<UnixStream>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Listening {
    /// Listens on a new socket that only this user can open, in a directory of its own.
    pub fn start(socket: &Path, answerer: Arc<dyn Answerer>) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        std::fs::set_permissions(socket, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let (hang_up, hung_up) = UnixStream::pair()?;
        let thread = std::thread::Builder::new()
            .name("broker".to_owned())
            .spawn(move || listen(&listener, &hung_up.into(), &answerer))?;
        Ok(Self { hang_up: Some(hang_up), thread: Some(thread) })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.hang_up = None;
        if let Some(thread) = self.thread.take() {
            // It only accepts; a panic there would have been ours and is over.
            let _ = thread.join();
        }
    }
}

fn listen(listener: &UnixListener, hung_up: &OwnedFd, answerer: &Arc<dyn Answerer>) {
    let busy = Arc::new(AtomicUsize::new(0));
    loop {
        let mut both = [
            PollFd::new(listener.as_fd(), PollFlags::POLLIN),
            PollFd::new(hung_up.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut both, PollTimeout::NONE) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(_) => return,
        }
        if both[1].revents().is_some_and(|events| !events.is_empty()) {
            return;
        }
        let Ok((stream, _)) = listener.accept() else { continue };
        let taken = Taken::one(&busy);
        // Too many at once: the client finds the connection closed and may try again.
        if busy.load(Ordering::Relaxed) > AT_ONCE {
            continue;
        }
        let answerer = Arc::clone(answerer);
        let serve = move || {
            let _taken = taken;
            // A client that closed the connection needs no answer.
            let _ = serve(stream, answerer.as_ref());
        };
        let _ = std::thread::Builder::new().name("broker-call".to_owned()).spawn(serve);
    }
}

/// One of the questions that are being answered.
struct Taken(Arc<AtomicUsize>);

impl Taken {
    fn one(busy: &Arc<AtomicUsize>) -> Self {
        busy.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(busy))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn serve(stream: UnixStream, answerer: &dyn Answerer) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(ASK_TIME))?;
    stream.set_write_timeout(Some(ASK_TIME))?;
    let mut line = Vec::new();
    BufReader::new((&stream).take(ASK_BYTES)).read_until(b'\n', &mut line)?;
    // What cannot be read has no token either.
    let told = match serde_json::from_slice::<Asked>(&line) {
        Ok(Asked { token, ask: Ask::Start(start) }) if line.ends_with(b"\n") => {
            answerer.start(&token, start, &Asker { stream: &stream })
        }
        Ok(asked) if line.ends_with(b"\n") => answerer.answer(asked),
        _ => Told::Refused,
    };
    let mut line = serde_json::to_vec(&told)?;
    line.push(b'\n');
    (&stream).write_all(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Echo;

    impl Answerer for Echo {
        fn answer(&self, asked: Asked) -> Told {
            match asked.ask {
                _ if asked.token != "right" => Told::Refused,
                Ask::Call { tool, arguments } => {
                    Told::Answer(ToolAnswer::ok(format!("{tool} {arguments}")))
                }
                _ => Told::Tools(Vec::new()),
            }
        }
    }

    fn scene() -> (tempfile::TempDir, PathBuf, Listening) {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("s");
        let listening = Listening::start(&socket, Arc::new(Echo)).unwrap();
        (dir, socket, listening)
    }

    fn call(arguments: Value) -> Ask {
        Ask::Call { tool: "echo".to_owned(), arguments }
    }

    #[test]
    fn a_question_with_the_token_is_answered_and_any_other_refused() {
        let (_dir, socket, _listening) = scene();
        let ask = call(serde_json::json!({ "x": 1 }));
        let told = |token: &str| Remote::new(&socket, token).ask(&ask, &|| false).unwrap();
        assert_eq!(told("right"), Told::Answer(ToolAnswer::ok("echo {\"x\":1}")));
        for wrong in ["", "wrong", "right "] {
            assert_eq!(told(wrong), Told::Refused);
        }
    }

    #[test]
    fn what_is_no_question_is_refused_and_the_next_one_is_answered() {
        let (_dir, socket, _listening) = scene();
        for junk in
            ["", "\n", "{}\n", "[1]\n", "{\"token\":\"right\",\"ask\":\"tools\"}", "\u{0}\n"]
        {
            let mut stream = UnixStream::connect(&socket).unwrap();
            stream.write_all(junk.as_bytes()).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let mut told = String::new();
            stream.read_to_string(&mut told).unwrap();
            assert_eq!(told, "\"refused\"\n", "{junk:?}");
        }
        let told = Remote::new(&socket, "right").ask(&Ask::Tools, &|| false).unwrap();
        assert_eq!(told, Told::Tools(Vec::new()));
    }

    #[test]
    fn a_question_that_is_too_long_is_not_even_asked() {
        let (_dir, socket, _listening) = scene();
        let long = call(Value::String("x".repeat(2 << 20)));
        let error = Remote::new(&socket, "right").ask(&long, &|| false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn the_socket_is_closed_after_the_end() {
        let (_dir, socket, listening) = scene();
        drop(listening);
        assert!(Remote::new(&socket, "right").ask(&Ask::Tools, &|| false).is_err());
    }

    #[test]
    fn only_the_owner_can_open_the_socket() {
        use std::os::unix::fs::PermissionsExt;
        let (_dir, socket, _listening) = scene();
        let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
