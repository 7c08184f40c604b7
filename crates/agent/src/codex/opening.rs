//! What we say to the app-server: who we are, the thread we want, the turn.

use serde_json::{Map, Value, json};

use crate::{McpServer, Request, SessionSandbox, rpc};

/// The ids of our requests.
pub(super) const INITIALIZE: u64 = 1;
pub(super) const THREAD: u64 = 2;
pub(super) const TURN: u64 = 3;
const INTERRUPT: u64 = 4;

/// The `initialize` request; everything else waits for its answer.
pub(super) fn hello() -> String {
    let client = json!({ "name": "spore", "title": "Spore", "version": env!("CARGO_PKG_VERSION") });
    format!("{}\n", rpc::ask(INITIALIZE, "initialize", &json!({ "clientInfo": client })))
}

/// Everything of a request that Codex is told, before the session has a number.
#[derive(Clone, Debug)]
pub(super) struct CodexOpening {
    method: &'static str,
    thread: Value,
    prompt: String,
    schema: Option<Value>,
}

impl CodexOpening {
    pub(super) fn new(request: &Request) -> Self {
        let mut thread = json!({
            "cwd": request.dir_inside().to_string_lossy(),
            "sandbox": sandbox(request),
            "approvalPolicy": if request.tools.skip_permissions { "never" } else { "untrusted" },
        });
        let mut set = |name: &str, value: Value| thread[name] = value;
        if let Some(model) = &request.model {
            set("model", json!(model));
        }
        if !request.system_prompt.is_empty() {
            set("developerInstructions", json!(request.system_prompt));
        }
        if !request.mcp_servers.is_empty() {
            set("config", json!({ "mcp_servers": servers(&request.mcp_servers) }));
        }
        let (method, prompt) = match &request.resume {
            None => ("thread/start", request.prompt.clone()),
            Some(earlier) => {
                set("threadId", json!(earlier.session_id));
                // Codex would send back the whole history of the thread, which Spore does not read.
                set("excludeTurns", json!(true));
                ("thread/resume", earlier.prompt.clone())
            }
        };
        Self { method, thread, prompt, schema: request.schema.clone() }
    }

    /// Says hello back and opens the thread.
    pub(super) fn thread(&self) -> Vec<String> {
        vec![rpc::tell("initialized", &json!({})), rpc::ask(THREAD, self.method, &self.thread)]
    }

    pub(super) fn turn(&self, thread: &str) -> String {
        let mut params = json!({
            "threadId": thread,
            "input": [{ "type": "text", "text": self.prompt }],
        });
        if let Some(schema) = &self.schema {
            params["outputSchema"] = schema.clone();
        }
        rpc::ask(TURN, "turn/start", &params)
    }
}

pub(super) fn interrupt(thread: &str, turn: &str) -> String {
    let params = json!({ "threadId": thread, "turnId": turn });
    rpc::ask(INTERRUPT, "turn/interrupt", &params)
}

/// Names Codex's own sandbox by what the role may do. It cannot start inside of Spore's.
fn sandbox(request: &Request) -> &'static str {
    let tools = &request.tools;
    let may_edit = tools.allow.iter().any(|word| word == "edit")
        && !tools.deny.iter().any(|word| word == "edit");
    let nobody_minds = tools.skip_permissions && request.sandbox == SessionSandbox::None;
    if request.sandbox.is_enforced() || nobody_minds {
        "danger-full-access"
    } else if may_edit {
        "workspace-write"
    } else {
        "read-only"
    }
}

fn servers(servers: &[McpServer]) -> Map<String, Value> {
    let entry = |server: &McpServer| {
        let env: Map<String, Value> =
            server.env.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        json!({
            "command": server.command.to_string_lossy(),
            "args": server.args,
            "env": env,
            // The request gives the session this server so that its tools are used: no question.
            "default_tools_approval_mode": "approve",
        })
    };
    servers.iter().map(|server| (server.name.clone(), entry(server))).collect()
}
