//! The fields of ACP messages that Spore reads. Every field may be missing, and a field of
//! another shape than the one known here is ignored.
//!
//! <https://agentclientprotocol.com/protocol/schema>

use serde::Deserialize;
use serde_json::Value;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Agreed {
    pub(super) protocol_version: Value,
    pub(super) agent_capabilities: AcpAbilities,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct AcpAbilities {
    pub(super) load_session: bool,
    pub(super) session_capabilities: SessionAbilities,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SessionAbilities {
    pub(super) resume: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct OpenedSession {
    pub(super) session_id: Option<String>,
    pub(super) modes: Option<Modes>,
    pub(super) models: Option<Value>,
    pub(super) config_options: Option<Vec<Choice>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Modes {
    pub(super) current_mode_id: String,
    pub(super) available_modes: Vec<Choice>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Choice {
    pub(super) id: String,
    pub(super) category: Option<String>,
}

/// A tool call: what is told first, an update of it, and what a question is about are the
/// same thing in more or less detail.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ToolCall {
    pub(super) tool_call_id: String,
    pub(super) title: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) status: Option<String>,
    pub(super) locations: Option<Vec<Location>>,
    pub(super) raw_input: Option<Value>,
    #[serde(rename = "_meta")]
    pub(super) meta: Value,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Location {
    pub(super) path: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PermissionRequest {
    pub(super) tool_call: ToolCall,
    pub(super) options: Vec<PermissionOption>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PermissionOption {
    pub(super) option_id: String,
    pub(super) kind: String,
}

impl ToolCall {
    /// The agent's own name for the tool, where it tells one.
    pub(super) fn own_name(&self) -> Option<&str> {
        let meta = &self.meta;
        meta["toolName"].as_str().or_else(|| meta["claudeCode"]["toolName"].as_str())
    }

    pub(super) fn input(&self, names: &[&str]) -> Option<&str> {
        let input = self.raw_input.as_ref()?;
        names.iter().find_map(|name| input[*name].as_str())
    }
}
