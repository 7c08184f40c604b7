//! What the fake agent says, in the format it is asked for.
//!
//! The fields are those of recorded sessions that the `agent` crate reads; the rest of a real
//! line is left out. All numbers are fixed, so that a test can expect them.

use std::io::{self, Write};
use std::time::Duration;

const SESSION: &str = "fa4e0000-0000-4000-8000-000000000001";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OutputFormat {
    Claude,
    Events,
    Text,
}

impl OutputFormat {
    pub(super) fn named(name: &str) -> Result<Self, String> {
        match name {
            "claude" => Ok(Self::Claude),
            "events" => Ok(Self::Events),
            "text" => Ok(Self::Text),
            _ => Err(format!("no such format: {name}")),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OutputPace {
    Lines,
    /// Some bytes at a time, without regard to lines.
    Pieces,
    /// Pieces, and a pause after each.
    Trickle,
}

pub(super) struct Speech {
    format: OutputFormat,
    pace: OutputPace,
    turns: u32,
}

impl Speech {
    pub(super) fn new(format: OutputFormat, pace: OutputPace) -> Self {
        Self { format, pace, turns: 0 }
    }

    /// Says `claude` or `events`, or nothing where text is spoken and it is not `text`.
    fn say(&mut self, claude: &str, events: &str, text: &str) -> io::Result<()> {
        let line = match self.format {
            OutputFormat::Claude => claude,
            OutputFormat::Events => events,
            OutputFormat::Text => text,
        };
        if line.is_empty() {
            return Ok(());
        }
        self.raw(format!("{line}\n").as_bytes())
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if self.pace == OutputPace::Lines {
            out.write_all(bytes)?;
            return out.flush();
        }
        for piece in bytes.chunks(7) {
            out.write_all(piece)?;
            out.flush()?;
            if self.pace == OutputPace::Trickle {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }

    pub(super) fn init(&mut self, mcp_status: &str) -> io::Result<()> {
        self.say(
            &format!(
                r#"{{"type":"system","subtype":"init","cwd":".","session_id":"{SESSION}","tools":["Bash","Edit","Read","Write"],"mcp_servers":[{{"name":"spore","status":"{mcp_status}"}}],"model":"fake-1","permissionMode":"default","apiKeySource":"none","claude_code_version":"0.0.0"}}"#
            ),
            &format!(r#"{{"type":"mcp_status","server":"spore","status":"{mcp_status}"}}"#),
            "",
        )
    }

    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        self.turns += 1;
        self.say(
            &assistant(&format!(r#"{{"type":"text","text":"{text}"}}"#)),
            &format!(r#"{{"type":"text","text":"{text}"}}"#),
            text,
        )
    }

    pub(super) fn tool_use(&mut self, tool: &str, command: &str) -> io::Result<()> {
        self.turns += 1;
        let id = format!("toolu_{}", self.turns);
        self.say(
            &assistant(&format!(
                r#"{{"type":"tool_use","id":"{id}","name":"{tool}","input":{{"command":"{command}"}}}}"#
            )),
            &format!(r#"{{"type":"tool_use","tool":"{tool}","summary":"{command}"}}"#),
            "",
        )
    }

    /// The result of the tool that was used last.
    pub(super) fn tool_result(&mut self) -> io::Result<()> {
        let id = format!("toolu_{}", self.turns);
        self.say(
            &format!(
                r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{id}","type":"tool_result","content":"","is_error":false}}]}},"parent_tool_use_id":null,"session_id":"{SESSION}"}}"#
            ),
            r#"{"type":"tool_result","tool":"Bash","ok":true}"#,
            "",
        )
    }

    pub(super) fn result(&mut self, text: &str) -> io::Result<()> {
        let turns = self.turns;
        self.say(
            &format!(
                r#"{{"type":"result","subtype":"success","is_error":false,"api_error_status":null,"duration_ms":10,"num_turns":{turns},"result":"{text}","stop_reason":"end_turn","session_id":"{SESSION}","total_cost_usd":0.01,{USAGE},"permission_denials":[],"terminal_reason":"completed"}}"#
            ),
            &format!(
                r#"{{"type":"result","text":"{text}","session_id":"{SESSION}","turns":{turns}}}"#
            ),
            text,
        )
    }

    /// The result of a session that was asked to stop.
    pub(super) fn interrupted(&mut self) -> io::Result<()> {
        let turns = self.turns;
        self.say(
            &format!(
                r#"{{"type":"result","subtype":"error_during_execution","is_error":true,"duration_ms":10,"num_turns":{turns},"stop_reason":null,"session_id":"{SESSION}","total_cost_usd":0.01,{USAGE},"permission_denials":[],"terminal_reason":"aborted_streaming","errors":[]}}"#
            ),
            &format!(
                r#"{{"type":"result","text":"Stopped.","session_id":"{SESSION}","turns":{turns}}}"#
            ),
            "Stopped.",
        )
    }
}

const USAGE: &str = r#""usage":{"input_tokens":100,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":10},"modelUsage":{"fake-1":{"inputTokens":100,"outputTokens":10,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"costUSD":0.01}}"#;

fn assistant(content: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"id":"msg_1","type":"message","role":"assistant","model":"fake-1","content":[{content}],"stop_reason":null,"usage":{{"input_tokens":100,"output_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}}},"parent_tool_use_id":null,"session_id":"{SESSION}"}}"#
    )
}
