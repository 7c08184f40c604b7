//! Serves the tools of agents' sessions from inside the orchestrating process.
//!
//! An agent is not trusted with the stores, so its `spore mcp` is only a shim: it passes each
//! call to this broker over a socket that no other user can open. Who asks is known by a token
//! that is good for one session alone. It is minted when the session is admitted, when every
//! process of the session before is gone, and void when its access is closed; a wrong one,
//! an old one and none get the same refusal.
//!
//! What a session writes is a proposal, kept here in memory with the session's stamp, and
//! handed over when its access is closed. Nothing of it reaches a store from here: that is for
//! the caller that runs the session to decide, and a session that was lost has proposed nothing.

mod home;
mod proposals;
mod starting;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use spore_agent::McpServer;
use spore_config::Config;
use spore_model::{CommitId, RunId, ToolGroup, ToolGroups};
use spore_tools::Declared;
use spore_tools::graph::declared_for;
use spore_tools::remote::{
    Answerer, Ask, Asked, Asker, Listening, SOCKET_VARIABLE, STARTS_TOKEN_VARIABLE,
    STARTS_VARIABLE, Start, TOKEN_VARIABLE, Told,
};
use spore_tools::{ToolAnswer, misfit};

use crate::toolbox::{ProjectView, Toolbox};
use crate::{Error, Result, Surroundings, Workspace};
use home::Home;
pub(crate) use proposals::Proposals;
use proposals::Stamp;
use starting::Starting;
pub(crate) use starting::StartsAdmitted;

/// The name by which agents know our server.
pub const SERVER_NAME: &str = "spore";

/// A running broker; it ends when dropped, and every token with it.
pub(crate) struct Broker {
    sessions: Arc<OpenSessions>,
    around: Arc<Surroundings>,
    exe: PathBuf,
    home: Home,
    _listening: Listening,
}

/// Who is let in, and what it may see.
#[derive(Clone)]
pub(crate) struct Admission {
    pub(crate) session: RunId,
    pub(crate) run: RunId,
    pub(crate) role: String,
    /// What its role is granted.
    pub(crate) tools: ToolGroups,
    /// The session's checkout: files are read there.
    pub(crate) dir: PathBuf,
    /// Whose index answers: the base or the tree under judgement. The user's work tree where
    /// none is named.
    pub(crate) at: Option<CommitId>,
    /// What it may start; nothing where it may start nothing.
    pub(crate) starts: Option<StartsAdmitted>,
    /// Who runs its commands, where its role may have some run.
    pub(crate) commands: Option<Arc<dyn SessionCommands>>,
}

/// Runs commands for a session outside of it: what a command starts sees neither the session's
/// processes nor its token, and nothing that it leaves is seen by the session.
pub(crate) trait SessionCommands: Send + Sync {
    /// Runs one to its end. What goes wrong is told to the session.
    fn run(&self, command: &str) -> ToolAnswer;

    /// Returns the tools of this session alone that are performed here.
    fn own_tools(&self) -> Vec<Declared> {
        Vec::new()
    }

    /// Performs one of them. Its arguments fit its schema.
    fn call(&self, tool: &str, _arguments: &serde_json::Value) -> ToolAnswer {
        ToolAnswer::refused(format!("there is no tool {:?} here", shown(tool)))
    }
}

impl Broker {
    pub(crate) fn start(
        around: &Surroundings,
        workspace: &Workspace,
        _config: &Config,
    ) -> Result<Self> {
        let home = Home::make(around)?;
        let sessions = Arc::new(OpenSessions::default());
        let listening =
            Listening::start(&home.socket(), Arc::clone(&sessions) as Arc<dyn Answerer>).map_err(
                |source| Error::io(format!("cannot listen on {}", home.socket().display()), source),
            )?;
        Ok(Self {
            sessions,
            around: Arc::new(around.apart(workspace.root())),
            exe: around.exe.clone(),
            home,
            _listening: listening,
        })
    }

    /// Returns where its socket is.
    pub(crate) fn socket(&self) -> PathBuf {
        self.home.socket()
    }

    /// Mints a token for one session. It is void when the access is closed or dropped.
    pub(crate) fn admit(&self, admission: Admission) -> SessionAccess {
        let token = self.around.ids.session_token().as_str().to_owned();
        let view = ProjectView::Session {
            run: admission.run,
            dir: admission.dir.clone(),
            at: admission.at.clone(),
        };
        let stamp =
            Stamp { session: admission.session, run: admission.run, role: admission.role.clone() };
        let mut tools = declared_for(&admission.tools);
        tools.extend(admission.commands.iter().flat_map(|commands| commands.own_tools()));
        let session = Arc::new(ServedSession {
            tools,
            toolbox: Toolbox::new(Arc::clone(&self.around), view),
            proposals: Mutex::new(Proposals { by: Some(stamp), ..Proposals::default() }),
            starting: Starting::new(&self.around, admission.session, admission.starts),
            commands: admission.commands,
            calls: Mutex::new(0),
            ended: Condvar::new(),
            is_reached: AtomicBool::new(false),
        });
        let mut sessions = self.sessions.lock();
        sessions.insert(token.clone(), AdmittedAs::User(Arc::clone(&session)));
        let starts = session.starting.as_ref().map(|_| {
            let token = self.around.ids.session_token().as_str().to_owned();
            sessions.insert(token.clone(), AdmittedAs::Starter(Arc::clone(&session)));
            token
        });
        drop(sessions);
        SessionAccess {
            sessions: Arc::clone(&self.sessions),
            session,
            server: McpServer {
                name: SERVER_NAME.to_owned(),
                command: self.exe.clone(),
                args: vec!["mcp".to_owned()],
                env: vec![
                    (SOCKET_VARIABLE.to_owned(), self.home.socket().display().to_string()),
                    (TOKEN_VARIABLE.to_owned(), token.clone()),
                ],
                required: false,
            },
            token,
            starts,
        }
    }
}

/// A session's access to the broker.
pub(crate) struct SessionAccess {
    sessions: Arc<OpenSessions>,
    session: Arc<ServedSession>,
    server: McpServer,
    token: String,
    /// What starts sessions, and nothing else.
    starts: Option<String>,
}

impl SessionAccess {
    /// Returns whether the session's role has tools at all.
    pub(crate) fn is_needed(&self) -> bool {
        !self.session.tools.is_empty()
    }

    /// Returns whether the session's server of tools has ever been heard of.
    pub(crate) fn is_reached(&self) -> bool {
        self.session.is_reached.load(Ordering::Relaxed)
    }

    /// What the session's request carries: our own program, and how to find the broker.
    pub(crate) fn server(&self) -> McpServer {
        self.server.clone()
    }

    /// Tells the programs of the session where it may start others.
    pub(crate) fn tell(&self, variables: &mut Vec<(String, String)>) {
        let Some(token) = &self.starts else { return };
        let socket = self.server.env.iter().find(|(name, _)| name == SOCKET_VARIABLE);
        let socket = socket.map(|(_, value)| value.clone()).unwrap_or_default();
        for (name, value) in [(STARTS_VARIABLE, socket), (STARTS_TOKEN_VARIABLE, token.clone())] {
            variables.retain(|(known, _)| known != name);
            variables.push((name.to_owned(), value));
        }
    }

    fn void(&self) {
        self.sessions.void([Some(&self.token), self.starts.as_ref()], &self.session);
    }

    /// Voids the tokens, ends what was started, waits for calls in flight, and returns what was
    /// proposed.
    pub(crate) fn close(self) -> Proposals {
        self.void();
        std::mem::take(&mut *self.session.proposals())
    }
}

impl Drop for SessionAccess {
    fn drop(&mut self) {
        self.void();
    }
}

/// All sessions that are taken, by token.
#[derive(Default)]
struct OpenSessions(Mutex<HashMap<String, AdmittedAs>>);

/// What a token lets its session do.
enum AdmittedAs {
    /// Call the tools of its role.
    User(Arc<ServedSession>),
    /// Start sessions.
    Starter(Arc<ServedSession>),
}

/// A session that was admitted: its tools, its proposals and its calls.
struct ServedSession {
    tools: Vec<Declared>,
    toolbox: Toolbox,
    proposals: Mutex<Proposals>,
    starting: Option<Starting>,
    commands: Option<Arc<dyn SessionCommands>>,
    /// Calls in flight.
    calls: Mutex<usize>,
    ended: Condvar,
    /// Its server has called.
    is_reached: AtomicBool,
}

impl OpenSessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, AdmittedAs>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a call in, if its token is good. It is counted before the token can be voided.
    fn enter(&self, token: &str) -> Option<InFlight> {
        match self.lock().get(token)? {
            AdmittedAs::User(session) => {
                session.is_reached.store(true, Ordering::Relaxed);
                Some(InFlight::of(session))
            }
            AdmittedAs::Starter(_) => None,
        }
    }

    /// The same for a call that starts something.
    fn enter_to_start(&self, token: &str) -> Option<InFlight> {
        match self.lock().get(token)? {
            AdmittedAs::Starter(session) => Some(InFlight::of(session)),
            AdmittedAs::User(_) => None,
        }
    }

    /// Takes the tokens away and waits for what is in flight. No call begins after this, and
    /// none goes on.
    fn void(&self, tokens: [Option<&String>; 2], session: &ServedSession) {
        for token in tokens.into_iter().flatten() {
            self.lock().remove(token);
        }
        session.starting.iter().for_each(Starting::end);
        let mut calls = session.calls();
        while *calls > 0 {
            calls = session.ended.wait(calls).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A call that was let in.
struct InFlight(Arc<ServedSession>);

impl InFlight {
    fn of(session: &Arc<ServedSession>) -> Self {
        *session.calls() += 1;
        Self(Arc::clone(session))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        *self.0.calls() -= 1;
        self.0.ended.notify_all();
    }
}

impl Answerer for OpenSessions {
    fn answer(&self, asked: Asked) -> Told {
        let Some(call) = self.enter(&asked.token) else { return Told::Refused };
        let session = &call.0;
        match asked.ask {
            Ask::Tools => Told::Tools(session.tools.clone()),
            Ask::Call { tool, arguments } => Told::Answer(session.call(&tool, &arguments)),
            Ask::Resources => Told::Resources(session.toolbox.resources()),
            Ask::Read { uri } => Told::Contents(session.toolbox.read(&uri)),
            // It comes in by the other door.
            Ask::Start(_) => Told::Refused,
        }
    }

    fn start(&self, token: &str, start: Start, asker: &Asker<'_>) -> Told {
        let Some(call) = self.enter_to_start(token) else { return Told::Refused };
        call.0.starting.as_ref().map_or(Told::Refused, |starting| starting.start(&start, asker))
    }
}

impl ServedSession {
    fn proposals(&self) -> MutexGuard<'_, Proposals> {
        self.proposals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn calls(&self) -> MutexGuard<'_, usize> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a tool of this session's role; there is no other.
    fn call(&self, name: &str, arguments: &serde_json::Value) -> ToolAnswer {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == name) else {
            return ToolAnswer::error(format!("there is no tool {:?} here", shown(name)));
        };
        if let Some(misfit) = misfit(&tool.schema, arguments) {
            return ToolAnswer::error(format!("{name} was not called: {misfit}"));
        }
        if tool.group == ToolGroup::Commands {
            let command = arguments.get("command").and_then(serde_json::Value::as_str);
            return match (&self.commands, command) {
                (Some(commands), Some(command)) => commands.run(command),
                _ => ToolAnswer::error("no command can be run for this session"),
            };
        }
        if matches!(tool.group, ToolGroup::Investigation | ToolGroup::Memory | ToolGroup::Layers) {
            let none = || ToolAnswer::error("this session has no such tools");
            return self.commands.as_ref().map_or_else(none, |own| own.call(name, arguments));
        }
        if !tool.proposes() {
            return self.toolbox.call(name, arguments);
        }
        let resolve = |typed: &str| self.toolbox.node_named(typed);
        match proposals::read(name, arguments, &resolve) {
            Ok(proposal) => self.proposals().take(proposal),
            Err(why) => ToolAnswer::error(why),
        }
    }
}

/// A stranger's word, as far as it is worth repeating.
fn shown(name: &str) -> &str {
    spore_plain::head(name, 80)
}

#[cfg(test)]
mod tests;
