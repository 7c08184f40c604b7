//! Claude Code, in its own protocol.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use spore_agent::claude::ClaudeAgent;
use spore_agent::{Agent, Watchdog};
use spore_effects::session::Shim;
use spore_scripted_model::{ScriptedPrice, Turn};

use super::{Grant, KEY, Kit, ModelStep, SessionPlace, pairs, price};

/// How often in a row the scripted model may refuse the key before a trial is over.
const REFUSALS: u32 = 3;

pub(super) struct ClaudeKit;

impl Kit for ClaudeKit {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn title(&self) -> &'static str {
        "Claude Code"
    }

    fn agent(&self, place: &SessionPlace, watchdog: Watchdog) -> Box<dyn Agent> {
        let shim = Shim::new(place.exe.clone());
        Box::new(ClaudeAgent::new(place.program.clone(), shim, watchdog, REFUSALS))
    }

    fn settle(
        &self,
        _: &SessionPlace,
        url: &str,
        _: &[ModelStep],
    ) -> io::Result<Vec<(String, String)>> {
        Ok(pairs([
            ("ANTHROPIC_BASE_URL", url),
            ("ANTHROPIC_API_KEY", KEY),
            ("DISABLE_TELEMETRY", "1"),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
            // The program's own condition for running without questions as root.
            ("IS_SANDBOX", "1"),
        ]))
    }

    fn model(&self) -> Option<&'static str> {
        Some("claude-sonnet-4-5")
    }

    fn wall(&self) -> Duration {
        Duration::from_secs(20)
    }

    fn write(&self, place: &SessionPlace, name: &str) -> Turn {
        let path = place.checkout.join(name).display().to_string();
        Turn::calls("Write", json!({ "file_path": path, "content": "hi\n" }))
    }

    fn shell(&self, command: &str) -> Turn {
        Turn::calls("Bash", json!({ "command": command, "description": "as told" }))
    }

    fn served(&self, server: &str, tool: &str, input: Value) -> Turn {
        Turn::calls(&format!("mcp__{server}__{tool}"), input)
    }

    fn permission(&self, grant: Grant) -> String {
        match grant {
            Grant::Read => "Read".to_owned(),
            Grant::Edit => "Write".to_owned(),
            Grant::Command(command) => format!("Bash({command})"),
            Grant::Server => "mcp__echo__ping".to_owned(),
        }
    }

    /// The list price of the model, which the program has built in.
    fn price(&self) -> Option<ScriptedPrice> {
        Some(price(3000, 15_000, 300, 3750))
    }
}
