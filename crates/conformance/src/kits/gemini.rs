//! Gemini CLI, over ACP.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use spore_agent::{Agent, Watchdog};
use spore_scripted_model::Turn;

use super::{KEY, Kit, ModelStep, SessionPlace, pairs};

pub(super) struct GeminiKit;

impl Kit for GeminiKit {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn title(&self) -> &'static str {
        "Gemini CLI"
    }

    fn agent(&self, place: &SessionPlace, watchdog: Watchdog) -> Box<dyn Agent> {
        super::acp("gemini", place, watchdog)
    }

    fn settle(
        &self,
        place: &SessionPlace,
        url: &str,
        _: &[ModelStep],
    ) -> io::Result<Vec<(String, String)>> {
        super::write_settings(place, ".gemini", "gemini-api-key")?;
        Ok(pairs([("GEMINI_API_KEY", KEY), ("GOOGLE_GEMINI_BASE_URL", url)]))
    }

    fn model(&self) -> Option<&'static str> {
        Some("gemini-2.5-pro")
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
        Turn::calls(&format!("mcp_{server}_{tool}"), input)
    }
}
