//! The smallest MCP server that has a tool: `ping` answers `pong` and what it was given.
//!
//! It is a mode of our own binary, so that the suite needs no other program than the agent.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

/// `argv[1]` of our own binary in this mode.
pub const ECHO_ARG: &str = "__echo";

/// After [`ECHO_ARG`]: a server that ends before it has said a word.
pub(crate) const BROKEN: &str = "broken";

/// Serves until the input ends. Returns the exit code.
pub fn serve(args: &[String], input: &mut dyn BufRead, out: &mut dyn Write) -> u8 {
    if args.first().is_some_and(|word| word == BROKEN) {
        return 1;
    }
    for line in input.lines() {
        let Ok(line) = line else { return 1 };
        let Some(answer) = answer(&line) else { continue };
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            return 1;
        }
    }
    0
}

/// Answers a request; what has no id asks for nothing.
fn answer(line: &str) -> Option<Value> {
    let asked: Value = serde_json::from_str(line).ok()?;
    let (id, params) = (asked.get("id")?, &asked["params"]);
    let result = match asked["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "echo", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [{
            "name": "ping",
            "description": "Answers pong.",
            "inputSchema": { "type": "object" },
        }] }),
        "tools/call" => {
            json!({ "content": [{ "type": "text", "text": format!("pong {}", params["arguments"]) }] })
        }
        _ => json!({}),
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ping_is_answered_and_a_notification_is_not() {
        let said = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ping","arguments":{"x":1}}}
"#;
        let mut heard = Vec::new();
        assert_eq!(serve(&[], &mut said.as_bytes(), &mut heard), 0);
        let heard: Value = serde_json::from_slice(&heard).unwrap();
        assert_eq!(heard["id"], 7);
        assert_eq!(heard["result"]["content"][0]["text"], r#"pong {"x":1}"#);
        assert_eq!(serve(&[BROKEN.to_owned()], &mut said.as_bytes(), &mut Vec::new()), 1);
    }
}
