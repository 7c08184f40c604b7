//! qwen-code, over ACP.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use spore_agent::{Agent, Watchdog};
use spore_scripted_model::Turn;

use super::{KEY, Kit, ModelStep, SessionPlace, pairs};

pub(super) struct QwenKit;

impl Kit for QwenKit {
    fn name(&self) -> &'static str {
        "qwen"
    }

    fn title(&self) -> &'static str {
        "qwen-code"
    }

    fn agent(&self, place: &SessionPlace, watchdog: Watchdog) -> Box<dyn Agent> {
        super::acp("qwen", place, watchdog)
    }

    fn settle(
        &self,
        place: &SessionPlace,
        url: &str,
        _: &[ModelStep],
    ) -> io::Result<Vec<(String, String)>> {
        super::write_settings(place, ".qwen", "openai")?;
        let url = format!("{url}/v1");
        Ok(pairs([
            ("OPENAI_API_KEY", KEY),
            ("OPENAI_BASE_URL", &url),
            ("OPENAI_MODEL", "qwen3-coder"),
        ]))
    }

    fn model(&self) -> Option<&'static str> {
        Some("qwen3-coder")
    }

    fn wall(&self) -> Duration {
        Duration::from_secs(40)
    }

    fn write(&self, place: &SessionPlace, name: &str) -> Turn {
        super::write_file(place, name)
    }

    fn shell(&self, command: &str) -> Turn {
        Turn::calls("run_shell_command", json!({ "command": command, "description": "as told" }))
    }

    fn served(&self, server: &str, tool: &str, input: Value) -> Turn {
        Turn::calls(&format!("mcp__{server}__{tool}"), input)
    }
}
