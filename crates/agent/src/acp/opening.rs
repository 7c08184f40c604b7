//! The requests that open a session: `initialize`, the session, its settings, the prompt.

use serde_json::{Value, json};

use super::preset::Preset;
use super::wire::{Agreed, OpenedSession};
use crate::{Conversation, McpServer, Request, rpc};

/// The ids of our requests.
pub(super) const INITIALIZE: u64 = 1;
pub(super) const SESSION: u64 = 2;
pub(super) const PROMPT: u64 = 3;
pub(super) const MODE: u64 = 4;
pub(super) const MODEL: u64 = 5;

/// The version of the protocol that Spore speaks.
pub(super) const VERSION: u64 = 1;

/// The mode in which an agent asks before it acts, where it has one of that name.
const ASKING: &str = "default";

pub(super) fn hello() -> String {
    let params = json!({
        "protocolVersion": VERSION,
        "clientCapabilities": {
            "fs": { "readTextFile": false, "writeTextFile": false },
            "terminal": false,
        },
        "clientInfo": { "name": "spore", "title": "Spore", "version": env!("CARGO_PKG_VERSION") },
    });
    format!("{}\n", rpc::ask(INITIALIZE, "initialize", &params))
}

pub(super) fn cancel(session: &str) -> String {
    rpc::tell("session/cancel", &json!({ "sessionId": session }))
}

/// Everything of a request that the agent is told, before the session has a name.
#[derive(Clone, Debug)]
pub(super) struct AcpOpening {
    dir: String,
    servers: Vec<Value>,
    pub(super) earlier: Option<Conversation>,
    /// The model to choose over the protocol.
    pub(super) model: Option<String>,
    prompt: String,
}

impl AcpOpening {
    pub(super) fn new(request: &Request, preset: &Preset) -> Self {
        let prompt = match &request.resume {
            Some(earlier) => earlier.prompt.clone(),
            None if request.system_prompt.is_empty() => request.prompt.clone(),
            None => format!("{}\n\n{}", request.system_prompt, request.prompt),
        };
        Self {
            dir: request.dir_inside().to_string_lossy().into_owned(),
            servers: request.mcp_servers.iter().map(server).collect(),
            earlier: request.resume.clone(),
            model: request.model.clone().filter(|_| preset.model_flag.is_none()),
            prompt,
        }
    }

    /// Asks for the session; `None` where the agent cannot go on with an earlier one.
    pub(super) fn session(&self, agreed: &Agreed) -> Option<String> {
        if self.earlier.is_none() {
            return Some(rpc::ask(SESSION, "session/new", &self.params()));
        }
        let abilities = &agreed.agent_capabilities;
        // `session/resume` does not repeat the conversation, `session/load` does.
        if abilities.session_capabilities.resume.is_some() {
            Some(rpc::ask(SESSION, "session/resume", &self.params()))
        } else if abilities.load_session {
            Some(self.load())
        } else {
            None
        }
    }

    pub(super) fn load(&self) -> String {
        rpc::ask(SESSION, "session/load", &self.params())
    }

    fn params(&self) -> Value {
        let mut params = json!({ "cwd": self.dir, "mcpServers": self.servers });
        if let Some(earlier) = &self.earlier {
            params["sessionId"] = json!(earlier.session_id);
        }
        params
    }

    /// Returns the settings to make before the prompt, each under its id, or why one cannot be
    /// made.
    pub(super) fn settings(
        &self,
        session: &str,
        opened: &OpenedSession,
    ) -> Result<Vec<(u64, String)>, String> {
        let mut lines = Vec::new();
        if let Some(modes) = &opened.modes
            && modes.current_mode_id != ASKING
            && modes.available_modes.iter().any(|mode| mode.id == ASKING)
        {
            let params = json!({ "sessionId": session, "modeId": ASKING });
            lines.push((MODE, rpc::ask(MODE, "session/set_mode", &params)));
        }
        if let Some(model) = &self.model {
            lines.push((MODEL, choose(session, model, opened)?));
        }
        Ok(lines)
    }

    pub(super) fn prompt(&self, session: &str) -> String {
        let text = json!([{ "type": "text", "text": self.prompt }]);
        rpc::ask(PROMPT, "session/prompt", &json!({ "sessionId": session, "prompt": text }))
    }
}

fn choose(session: &str, model: &str, opened: &OpenedSession) -> Result<String, String> {
    let is_model = |option: &&super::wire::Choice| {
        option.category.as_deref() == Some("model") || option.id == "model"
    };
    if let Some(option) = opened.config_options.iter().flatten().find(is_model) {
        let params = json!({ "sessionId": session, "configId": option.id, "value": model });
        return Ok(rpc::ask(MODEL, "session/set_config_option", &params));
    }
    if opened.models.is_some() {
        let params = json!({ "sessionId": session, "modelId": model });
        return Ok(rpc::ask(MODEL, "session/set_model", &params));
    }
    Err(format!("it cannot be told to use the model {model}"))
}

fn server(server: &McpServer) -> Value {
    let env: Vec<Value> =
        server.env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    json!({
        "name": server.name,
        "command": server.command.to_string_lossy(),
        "args": server.args,
        "env": env,
    })
}
