//! `opencode run --format json`: no beginning and no end, only steps.

use serde_json::Value;
use spore_model::{Usage, Usd};

use super::{PrintedSession, word};
use crate::AgentEvent;
use crate::health::tokens;

/// The tool that opencode makes of a call to one that is not there.
const NO_SUCH_TOOL: &str = "invalid";

pub(super) fn line(printed: &mut PrintedSession, line: &Value) -> Option<Vec<AgentEvent>> {
    let part = &line["part"];
    if let Some(session) = line["sessionID"].as_str() {
        printed.session = Some(session.to_owned());
    }
    match line["type"].as_str()? {
        "step_start" => {
            printed.turns += 1;
            printed.signs.trouble = None;
            Some(Vec::new())
        }
        "text" => Some(printed.said(word(part, "text"))),
        "reasoning" => Some(vec![AgentEvent::Thinking { text: word(part, "text").to_owned() }]),
        "tool_use" => Some(used(printed, part)),
        "step_finish" => Some(step(printed, part)),
        "error" => {
            let data = &line["error"]["data"];
            Some(printed.troubled(data["statusCode"].as_u64(), word(data, "message")))
        }
        _ => None,
    }
}

/// A tool is told of when it is over.
fn used(printed: &mut PrintedSession, part: &Value) -> Vec<AgentEvent> {
    let (state, tool, id) = (&part["state"], word(part, "tool"), word(part, "callID"));
    let input = &state["input"];
    let path = ["filePath", "path"].iter().find_map(|name| input[*name].as_str());
    let told = path.or_else(|| input["command"].as_str());
    let summary = told.map_or_else(|| input.to_string(), str::to_owned);
    let begun = printed.begun(id, tool, &summary, path);
    let ok = word(state, "status") == "completed" && tool != NO_SUCH_TOOL;
    std::iter::once(begun).chain(printed.over(id, ok)).collect()
}

fn step(printed: &mut PrintedSession, part: &Value) -> Vec<AgentEvent> {
    let told = &part["tokens"];
    let usage = Usage {
        input_tokens: tokens(&told["input"]),
        output_tokens: tokens(&told["output"]).saturating_add(tokens(&told["reasoning"])),
        cache_read_tokens: tokens(&told["cache"]["read"]),
        cache_write_tokens: tokens(&told["cache"]["write"]),
    };
    printed.usage = printed.usage + usage;
    // A model without a price costs nothing, by its count: that is no price.
    let cost = part["cost"].as_f64().filter(|cost| *cost > 0.0).and_then(Usd::from_dollars);
    printed.cost = cost.map(|cost| printed.cost.unwrap_or_default() + cost).or(printed.cost);
    let mut events = vec![AgentEvent::Usage { usage }];
    if word(part, "reason") == "stop" {
        events.extend(printed.finished());
    }
    events
}
