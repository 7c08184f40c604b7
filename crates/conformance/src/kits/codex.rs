//! Codex, over its app-server.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use spore_agent::codex::CodexAgent;
use spore_agent::{Agent, Watchdog};
use spore_effects::session::Shim;
use spore_scripted_model::Turn;

use super::{KEY, Kit, ModelStep, SessionPlace, pairs};

pub(super) struct CodexKit;

impl Kit for CodexKit {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn title(&self) -> &'static str {
        "Codex"
    }

    fn agent(&self, place: &SessionPlace, watchdog: Watchdog) -> Box<dyn Agent> {
        Box::new(CodexAgent::new(place.program.clone(), Shim::new(place.exe.clone()), watchdog))
    }

    fn settle(
        &self,
        place: &SessionPlace,
        url: &str,
        _: &[ModelStep],
    ) -> io::Result<Vec<(String, String)>> {
        let config = format!(
            r#"model_provider = "loop"

[model_providers.loop]
name = "loop"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "LOOP_KEY"
request_max_retries = 1
stream_max_retries = 1
stream_idle_timeout_ms = 60000
"#
        );
        std::fs::create_dir_all(place.home.join(".codex"))?;
        std::fs::write(place.home.join(".codex/config.toml"), config)?;
        Ok(pairs([("LOOP_KEY", KEY)]))
    }

    fn model(&self) -> Option<&'static str> {
        Some("gpt-5.5")
    }

    fn wall(&self) -> Duration {
        Duration::from_secs(20)
    }

    fn write(&self, _: &SessionPlace, name: &str) -> Turn {
        let patch = format!("*** Begin Patch\n*** Add File: {name}\n+hi\n*** End Patch\n");
        Turn::calls("apply_patch", Value::String(patch))
    }

    fn shell(&self, command: &str) -> Turn {
        Turn::calls("exec_command", json!({ "cmd": command, "yield_time_ms": 30000 }))
    }

    fn served(&self, server: &str, tool: &str, input: Value) -> Turn {
        Turn::silent().call_in(&format!("mcp__{server}"), tool, input)
    }
}
