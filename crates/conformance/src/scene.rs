//! A home, a checkout, a model, and a request that a trial may still change.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use spore_agent::{
    AgentError, AgentEvent, AgentWatch, BoxError, McpServer, Request, RequestLimits, SessionReport,
    SessionSandbox, ToolPolicy, Watchdog,
};
use spore_effects::programs::links_to;
use spore_effects::session::{
    Confinement, Grace, ProcessIdentity, Reached, SandboxRoot, SessionError, Shim, enforceable,
    find_by_token,
};
use spore_effects::{Ids, SystemClock};
use spore_model::{NetAddress, Usage, Usd};
use spore_scripted_model::{ModelScenario, ModelServer, Turn, VendorRefusal, When};

use crate::echo::{BROKEN, ECHO_ARG};
use crate::kits::{Grant, Kit, ModelStep, SessionPlace};
use crate::suite::Subject;

/// So long that nothing ever waits for it, and a stuck session does not wait for ever.
const LONG: Duration = Duration::from_secs(180);

/// Many pieces, so that an answer can break in its middle.
const WORDS: &str = "one two three four five six seven eight nine ten";

/// Events of an answer before it breaks.
const SOME: usize = 4;

/// What programs need of a system.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix"];

/// What any program may open for writing.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

pub struct TrialScene {
    /// Dropped with the scene.
    _dir: tempfile::TempDir,
    kit: &'static dyn Kit,
    stop: Arc<AtomicBool>,
    /// The directories of the session's PATH.
    path: Vec<PathBuf>,
    pub place: SessionPlace,
    pub model: ModelServer,
    pub request: Request,
}

fn watchdog() -> Watchdog {
    Watchdog {
        first_output: LONG,
        exit: Duration::from_secs(10),
        start_retry_pause: Duration::from_millis(10),
        grace: Grace { interrupt_ms: 3000, terminate_ms: 3000 },
        line_cap: 1 << 20,
        transcript_cap: 8 << 20,
    }
}

/// Collects the events of a session, and may stop it.
#[derive(Default)]
pub struct Witness {
    pub events: Vec<AgentEvent>,
    cancel_at: Option<PathBuf>,
    stop: Arc<AtomicBool>,
}

impl Witness {
    /// One that stops the session when this file appears.
    pub fn until(appears: PathBuf) -> Self {
        Self { cancel_at: Some(appears), ..Self::default() }
    }
}

impl AgentWatch for Witness {
    fn starting(&mut self, _: &ProcessIdentity) -> Result<(), BoxError> {
        Ok(())
    }

    fn event(&mut self, event: &AgentEvent) {
        self.events.push(event.clone());
    }

    fn cancelled(&self) -> bool {
        let is_time = self.cancel_at.as_ref().is_some_and(|path| path.exists());
        is_time || self.stop.load(Ordering::Relaxed)
    }
}

impl TrialScene {
    /// Prepares a session in which the model says `steps`.
    pub fn new(subject: &Subject, kit: &'static dyn Kit, steps: &[ModelStep]) -> io::Result<Self> {
        let dir = tempfile::tempdir()?;
        // Agents tell paths as the kernel does.
        let root = dir.path().canonicalize()?;
        let place = SessionPlace {
            home: root.join("home"),
            checkout: root.join("checkout"),
            exe: subject.exe.clone(),
            program: subject.program.clone().unwrap_or_default(),
            dir: root,
        };
        let made = [&place.home, &place.checkout.join(".git"), &tmp(&place), &outside(&place)];
        for made in made.into_iter().chain([&transcript(&place).with_file_name("")]) {
            std::fs::create_dir_all(made)?;
        }
        let model = ModelServer::start(scenario(kit, &place, steps))?;
        let mut env = vec![
            ("PATH".to_owned(), subject.path.clone()),
            ("HOME".to_owned(), place.home.display().to_string()),
            ("TMPDIR".to_owned(), tmp(&place).display().to_string()),
        ];
        env.extend(kit.settle(&place, &model.url(), steps)?);
        let request = request(kit, &place, env);
        let path = std::env::split_paths(&subject.path).collect();
        let stop = Arc::clone(&subject.stop);
        let mut scene = Self { _dir: dir, kit, stop, path, place, model, request };
        // As a run's sessions are.
        scene.confine();
        Ok(scene)
    }

    pub fn allow(&mut self, grants: &[Grant]) {
        self.request.tools.allow = grants.iter().map(|&grant| self.kit.permission(grant)).collect();
    }

    /// Lets the agent act without questions, as in a run whose sandbox is enforced.
    pub fn set_free(&mut self) {
        self.request.tools = ToolPolicy { skip_permissions: true, ..ToolPolicy::default() };
    }

    /// Lets the kernel hold the session to its checkout, as well as this machine can; false where
    /// it cannot at all.
    pub fn confine(&mut self) -> bool {
        let place = &self.place;
        let support = Shim::new(place.exe.clone()).support(&tmp(place));
        let mut confinement = Confinement {
            write: vec![place.checkout.clone(), place.home.clone(), tmp(place)],
            // What the session is told in files lies beside its transcript.
            read: self.request.transcript.parent().map(Path::to_owned).into_iter().collect(),
            devices: DEVICES.iter().map(PathBuf::from).collect(),
            ..Confinement::default()
        };
        if support.refused.is_none() {
            let mut show: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
            show.extend(self.path.iter().filter(|dir| dir.is_absolute()).cloned());
            let agent = self.kit.agent(place, watchdog());
            show.extend(agent.starts_with().iter().flat_map(|file| links_to(file)));
            show.push(place.exe.clone());
            // It reaches its model and nothing else.
            let model = self.model.url();
            let model = model.split("://").nth(1).and_then(NetAddress::read);
            let reach = model.map(Reached::plainly).into_iter().collect();
            let root = SandboxRoot { show, own_network: true, reach, ..SandboxRoot::default() };
            confinement.root = Some(root);
        }
        let is_possible = enforceable(&confinement, &support).is_some();
        if is_possible {
            self.request.sandbox = SessionSandbox::Enforced(Box::new(confinement));
        }
        is_possible
    }

    /// Gives the session the MCP server `echo`, whole or broken, as one that it needs.
    pub fn serve_echo(&mut self, is_whole: bool) {
        let broken = (!is_whole).then(|| BROKEN.to_owned());
        self.request.mcp_servers = vec![McpServer {
            name: "echo".to_owned(),
            command: self.place.exe.clone(),
            args: [ECHO_ARG.to_owned()].into_iter().chain(broken).collect(),
            env: Vec::new(),
            required: true,
        }];
    }

    pub fn run(&self) -> Result<SessionReport, AgentError> {
        self.run_watched_by(&mut Witness::default())
    }

    pub fn run_watched_by(&self, witness: &mut Witness) -> Result<SessionReport, AgentError> {
        witness.stop = Arc::clone(&self.stop);
        self.kit.agent(&self.place, watchdog()).run(&self.request, witness)
    }

    /// Processes of the session that are still there.
    pub fn left_over(&self) -> usize {
        find_by_token(&self.request.token).len()
    }

    pub fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.place.checkout.join(name)).ok()
    }

    /// Whether a command could write beside the checkout.
    pub fn has_escaped(&self) -> bool {
        std::fs::read_dir(outside(&self.place)).is_ok_and(|mut found| found.next().is_some())
    }

    /// Whether the agent was given the model's first turn.
    pub fn was_asked(&self) -> bool {
        self.kit.model().is_none()
            || self.model.requests().iter().any(|exchange| exchange.turn() == Some(1))
    }

    /// What the model was sent last, as text.
    pub fn last_request(&self) -> String {
        self.model.requests().last().map(|last| last.body.to_string()).unwrap_or_default()
    }

    /// What the sessions so far really used, and what that cost.
    pub fn booked(&self) -> (Usage, Option<Usd>) {
        self.kit.booked(&self.model.totals())
    }

    pub fn kit(&self) -> &'static dyn Kit {
        self.kit
    }

    /// What the program printed last, for a case that went another way.
    pub fn last_words(&self) -> String {
        let read = |name: &str| {
            let text = std::fs::read(self.request.transcript.with_file_name(name));
            String::from_utf8_lossy(&text.unwrap_or_default()).into_owned()
        };
        let text = [read("transcript.jsonl"), read("stderr.log")].join("\n");
        let skipped = text.trim().chars().count().saturating_sub(2000);
        text.trim().chars().skip(skipped).collect()
    }
}

/// Why there was no session, in a clause.
pub(crate) fn no_session(error: &AgentError) -> String {
    let why = match error {
        AgentError::Start(source @ SessionError::NotInstalled { .. }) => source.to_string(),
        error => error.to_string(),
    };
    format!("no session: {why}")
}

fn tmp(place: &SessionPlace) -> PathBuf {
    place.dir.join("tmp")
}

fn outside(place: &SessionPlace) -> PathBuf {
    place.dir.join("outside")
}

fn scenario(kit: &dyn Kit, place: &SessionPlace, steps: &[ModelStep]) -> ModelScenario {
    let turns = steps.iter().map(|step| match step {
        ModelStep::Write(name) => kit.write(place, name),
        ModelStep::Shell(command) => kit.shell(command),
        ModelStep::ShellAgain(command) => kit.shell(command).sticky(),
        ModelStep::Ping => kit.served("echo", "ping", json!({ "x": 1 })),
        ModelStep::Spore(tool, name, text) => kit.served("spore", tool, json!({ (*name): text })),
        ModelStep::Say(text) => Turn::says(text),
        ModelStep::SayOn(heard, text) => {
            let tool_result_contains = Some((*heard).to_owned());
            Turn::says(text).when(When { tool_result_contains, ..When::default() })
        }
        ModelStep::Refuse(status) => Turn::refuses(VendorRefusal::new(*status)).sticky(),
        ModelStep::Cut => Turn::says(WORDS).cut_after(SOME).sticky(),
        ModelStep::FallSilent => Turn::says(WORDS).hang_after(SOME).sticky(),
    });
    let scenario = turns.fold(ModelScenario::new(), ModelScenario::turn);
    match kit.price() {
        Some(price) => scenario.price("*", price),
        None => scenario,
    }
}

fn request(kit: &dyn Kit, place: &SessionPlace, env: Vec<(String, String)>) -> Request {
    Request {
        role: "coder".to_owned(),
        bounce: 1,
        system_prompt: "Your word is heron.".to_owned(),
        native_role: None,
        prompt: "Begin the task.".to_owned(),
        model: kit.model().map(str::to_owned),
        dir: place.checkout.clone(),
        env,
        tools: ToolPolicy::default(),
        sandbox: SessionSandbox::None,
        secrets: Default::default(),
        mcp_servers: Vec::new(),
        schema: None,
        resume: None,
        turns: None,
        limits: RequestLimits { turns: 10, wall: LONG, idle: None, usd: None },
        token: Ids::random(Arc::new(SystemClock)).session_token(),
        transcript: transcript(place),
    }
}

fn transcript(place: &SessionPlace) -> PathBuf {
    place.dir.join("session/transcript.jsonl")
}
