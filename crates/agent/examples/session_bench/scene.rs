//! A place for sessions, and a caller who only counts.

#![expect(clippy::disallowed_methods, reason = "a measurement, outside the product")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use spore_agent::command::{CommandAgent, CommandOutput, Template};
use spore_agent::{
    Agent, AgentEvent, AgentWatch, BoxError, Request, RequestLimits, SessionReport, ToolPolicy,
    Watchdog,
};
use spore_effects::session::{Grace, ProcessIdentity, Shim};
use spore_effects::{Ids, SystemClock, Tool};

/// Bytes of the transcript whose reading is measured.
const TRANSCRIPT_BYTES: usize = 100_000_000;

pub(crate) fn exe() -> PathBuf {
    std::env::current_exe().unwrap()
}

#[derive(Default)]
pub(crate) struct Nobody {
    events: u64,
}

impl AgentWatch for Nobody {
    fn starting(&mut self, _: &ProcessIdentity) -> Result<(), BoxError> {
        Ok(())
    }

    fn event(&mut self, _: &AgentEvent) {
        self.events += 1;
    }

    fn cancelled(&self) -> bool {
        false
    }
}

pub(crate) struct Scene {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) watchdog: Watchdog,
    pub(crate) request: Request,
    template: Template,
}

impl Scene {
    /// Sessions of this program with `args`.
    pub(crate) fn new(args: &[&str], output: CommandOutput) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let long = Duration::from_secs(60);
        let watchdog = Watchdog {
            first_output: long,
            exit: long,
            start_retry_pause: Duration::from_millis(10),
            grace: Grace { interrupt_ms: 100, terminate_ms: 100 },
            line_cap: 1 << 20,
            transcript_cap: 1 << 30,
        };
        let request = Request {
            role: "coder".to_owned(),
            bounce: 1,
            system_prompt: String::new(),
            native_role: None,
            prompt: "Mend it.".to_owned(),
            model: None,
            dir: dir.path().to_owned(),
            env: vec![("PATH".to_owned(), std::env::var("PATH").unwrap())],
            tools: ToolPolicy::default(),
            sandbox: spore_agent::SessionSandbox::None,
            secrets: Default::default(),
            mcp_servers: Vec::new(),
            schema: None,
            resume: None,
            turns: None,
            limits: RequestLimits { turns: 10, wall: long, idle: None, usd: None },
            token: Ids::random(Arc::new(SystemClock)).session_token(),
            transcript: dir.path().join("transcript.jsonl"),
        };
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        Self { dir, watchdog, request, template: Template { program: exe(), args, output } }
    }

    pub(crate) fn run(&self) -> (SessionReport, u64) {
        let shim = Shim::new(exe());
        let command = CommandAgent::new(self.template.clone(), shim, self.watchdog).unwrap();
        let mut nobody = Nobody::default();
        let report = command.run(&self.request, &mut nobody).unwrap();
        (report, nobody.events)
    }

    /// Makes the session one that says what is in `file`.
    pub(crate) fn say_file(&mut self, file: &Path) {
        self.template.program = self.script(file);
    }

    /// Writes a program that says what is in `file`.
    pub(crate) fn script(&self, file: &Path) -> PathBuf {
        let path = self.dir.path().join("say");
        std::fs::write(&path, format!("#!/bin/sh\nexec cat '{}'\n", file.display())).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Returns the lines of one well-behaved session.
    pub(crate) fn recording(args: &[&str]) -> Vec<String> {
        let output = Tool::new(exe()).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// Writes 100 MB of lines, `middle` over and over and then `last`.
    pub(crate) fn write_transcript(&self, middle: &[String], last: &str) -> PathBuf {
        let path = self.dir.path().join("long.jsonl");
        let mut file = BufWriter::new(File::create(&path).unwrap());
        let mut written = 0;
        for line in middle.iter().cycle() {
            writeln!(file, "{line}").unwrap();
            written += line.len() + 1;
            if written > TRANSCRIPT_BYTES {
                break;
            }
        }
        writeln!(file, "{last}").unwrap();
        file.flush().unwrap();
        path
    }
}
