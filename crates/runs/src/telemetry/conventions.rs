//! The names of OpenTelemetry's conventions that spans carry.
//!
//! They are those of version 1.41.0. The ones for generative AI are under development there: a name
//! may change with a later version, and changes here then, together with [`SCHEMA`].

pub(super) const SCHEMA: &str = "https://opentelemetry.io/schemas/1.41.0";

pub(super) const SERVICE_NAME: &str = "service.name";
pub(super) const SERVICE_VERSION: &str = "service.version";
pub(super) const ERROR_TYPE: &str = "error.type";

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const INVOKE_WORKFLOW: &str = "invoke_workflow";
pub(super) const INVOKE_AGENT: &str = "invoke_agent";
pub(super) const EXECUTE_TOOL: &str = "execute_tool";

pub(super) const WORKFLOW: &str = "gen_ai.workflow.name";
pub(super) const AGENT: &str = "gen_ai.agent.name";
pub(super) const AGENT_ID: &str = "gen_ai.agent.id";
pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const MODEL_ASKED: &str = "gen_ai.request.model";
pub(super) const MODEL_USED: &str = "gen_ai.response.model";
pub(super) const TOOL: &str = "gen_ai.tool.name";
pub(super) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub(super) const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";

/// Returns the conventions' name of who serves an agent's models, else the agent's own name.
pub(super) fn provider(backend: &str) -> &str {
    match backend {
        "claude" | "claude-acp" => "anthropic",
        "codex" | "codex-acp" => "openai",
        "gemini" => "gcp.gemini",
        other => other,
    }
}
