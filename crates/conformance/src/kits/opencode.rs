//! opencode, over ACP.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use spore_agent::{Agent, Watchdog};
use spore_scripted_model::{ScriptedPrice, Turn};

use super::{KEY, Kit, ModelStep, SessionPlace, pairs, price};

pub(super) struct OpencodeKit;

impl Kit for OpencodeKit {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn title(&self) -> &'static str {
        "opencode"
    }

    fn agent(&self, place: &SessionPlace, watchdog: Watchdog) -> Box<dyn Agent> {
        super::acp("opencode", place, watchdog)
    }

    fn settle(
        &self,
        _: &SessionPlace,
        url: &str,
        _: &[ModelStep],
    ) -> io::Result<Vec<(String, String)>> {
        let config = json!({
            "model": "loop/m",
            "small_model": "loop/m",
            "provider": { "loop": {
                "npm": "@ai-sdk/openai-compatible",
                "options": { "baseURL": format!("{url}/v1"), "apiKey": KEY },
                "models": { "m": {
                    "limit": { "context": 100_000, "output": 10_000 },
                    "cost": { "input": 1, "output": 2 },
                } },
            } },
            "agent": { "title": { "disable": true } },
        });
        Ok(pairs([
            ("OPENCODE_CONFIG_CONTENT", &config.to_string()),
            ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
        ]))
    }

    fn model(&self) -> Option<&'static str> {
        Some("loop/m")
    }

    /// Its start is slow where the machine is busy.
    fn patience(&self) -> Duration {
        Duration::from_secs(25)
    }

    fn wall(&self) -> Duration {
        Duration::from_secs(50)
    }

    fn write(&self, place: &SessionPlace, name: &str) -> Turn {
        let path = place.checkout.join(name).display().to_string();
        Turn::calls("write", json!({ "filePath": path, "content": "hi\n" }))
    }

    fn shell(&self, command: &str) -> Turn {
        Turn::calls("bash", json!({ "command": command, "description": "as told" }))
    }

    fn served(&self, server: &str, tool: &str, input: Value) -> Turn {
        Turn::calls(&format!("{server}_{tool}"), input)
    }

    fn price(&self) -> Option<ScriptedPrice> {
        Some(price(1000, 2000, 0, 0))
    }
}
