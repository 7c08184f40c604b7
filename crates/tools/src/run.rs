//! The tool that starts programs: `run`.
//!
//! A command is a line for `sh` that the project's people have named: its checks. It runs in a
//! session of its own, so nothing it starts outlives the call, and it has a time and a size.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use spore_effects::session::{
    Confinement, Draining, Grace, OutputSink, SessionError, Shim, ShimPlan, SupervisedEnd, watch,
};
use spore_model::SessionToken;

use crate::files::word;
use crate::text::Ends;
use crate::{ModelTool, Reach, ToolAnswer, ToolCaller};

/// How often the caller is asked whether to go on.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Which commands may be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Commands {
    /// These, to the letter.
    Only(Vec<String>),
    /// Whatever the model writes. Only for a sandboxed session, or where a person said so.
    Any,
}

/// What all commands of a session have in common.
#[derive(Clone)]
pub struct CommandRunner {
    pub shim: Shim,
    pub commands: Commands,
    pub dir: PathBuf,
    /// The whole environment; nothing is inherited. Keys have no place in it.
    pub env: Vec<(String, String)>,
    /// What commands may reach; nothing holds them where there is none.
    pub confinement: Option<Confinement>,
    pub token: SessionToken,
    pub grace: Grace,
    /// The longest time a command may ask for, and what it gets if it asks for none.
    pub timeout: Duration,
    /// Bytes of output that an answer holds.
    pub output_cap: usize,
}

/// Makes the tool, unless there is nothing that it could run.
pub(crate) fn tool(runner: CommandRunner) -> Option<ModelTool> {
    let which = match &runner.commands {
        Commands::Only(commands) if commands.is_empty() => return None,
        Commands::Only(commands) => format!("Only these run: {}.", quoted(commands)),
        Commands::Any => "Nothing it starts outlives the call.".to_owned(),
    };
    let most = runner.timeout.as_secs().max(1);
    Some(ModelTool::new(
        "run",
        &format!(
            "Runs a command with sh in the working directory. The answer is its exit code and \
             what it printed. {which}"
        ),
        Reach::Run,
        json!({
            "type": "object",
            "properties": {
                "command": { "type": "string", "minLength": 1 },
                "timeout_s": { "type": "integer", "minimum": 1, "maximum": most },
            },
            "required": ["command"],
            "additionalProperties": false,
        }),
        move |arguments, caller| runner.run(arguments, caller),
    ))
}

fn quoted(commands: &[String]) -> String {
    commands.iter().map(|command| format!("`{command}`")).collect::<Vec<_>>().join(", ")
}

impl CommandRunner {
    fn run(&self, arguments: &Value, caller: &mut dyn ToolCaller) -> ToolAnswer {
        let command = word(arguments, "command").trim();
        if let Commands::Only(commands) = &self.commands
            && !commands.iter().any(|allowed| allowed == command)
        {
            return ToolAnswer::refused(format!(
                "that may not be run here, only {}",
                quoted(commands)
            ));
        }
        let asked = arguments.get("timeout_s").and_then(Value::as_u64).map(Duration::from_secs);
        let time = asked.unwrap_or(self.timeout).min(self.timeout);
        let output = Arc::new(Mutex::new(Ends::new(self.output_cap)));
        let ending = self.supervise(command, time, &output, caller);
        let printed = output.lock().unwrap_or_else(PoisonError::into_inner).text();
        let (head, is_error) = match ending {
            Ok(SupervisedEnd::ByItself(code)) => (format!("exit code {code}"), code != 0),
            Ok(SupervisedEnd::OutOfTime) => {
                (format!("ended after {} seconds", time.as_secs()), true)
            }
            Ok(SupervisedEnd::Cancelled) => ("cancelled".to_owned(), true),
            Err(why) => (why, true),
        };
        ToolAnswer { text: format!("{head}\n{printed}"), is_error, is_refused: false }
    }

    fn supervise(
        &self,
        command: &str,
        time: Duration,
        output: &Arc<Mutex<Ends>>,
        caller: &mut dyn ToolCaller,
    ) -> Result<SupervisedEnd, String> {
        let told = |error: SessionError| format!("the command could not be run: {error}");
        let waiting = self.shim.prepare(&self.plan(command)).map_err(told)?;
        caller
            .starting(waiting.identity())
            .map_err(|error| format!("the command was not let go: {error}"))?;
        let started = self.shim.clock().monotonic();
        let mut session = waiting.go().map_err(told)?;
        let draining = Draining::start(&mut session, &sink(output));
        let deadline = started.checked_add(time);
        let ending = watch(&mut session, deadline, LOOK_EVERY, &|| caller.cancelled());
        draining.finish();
        ending.map_err(told)
    }

    fn plan(&self, command: &str) -> ShimPlan {
        let joined = r#"exec sh -c "$1" 2>&1"#;
        ShimPlan {
            token: self.token.clone(),
            program: PathBuf::from("/bin/sh"),
            args: ["-c", joined, "run", command].map(str::to_owned).to_vec(),
            cwd: self.dir.clone(),
            env: self.env.clone(),
            grace: self.grace,
            stdin: false,
            confinement: self.confinement.clone(),
        }
    }
}

fn sink(output: &Arc<Mutex<Ends>>) -> OutputSink {
    let output = Arc::clone(output);
    Arc::new(move |bytes| output.lock().unwrap_or_else(PoisonError::into_inner).append(bytes))
}
