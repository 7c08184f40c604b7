//! `codex exec --json`.

use serde_json::Value;
use spore_model::Usage;

use super::{PrintedSession, word};
use crate::AgentEvent;
use crate::health::{tokens, usage_of};

pub(super) fn line(printed: &mut PrintedSession, line: &Value) -> Option<Vec<AgentEvent>> {
    let item = &line["item"];
    match line["type"].as_str()? {
        "thread.started" => {
            printed.session = line["thread_id"].as_str().map(str::to_owned);
            Some(Vec::new())
        }
        "turn.started" => Some(Vec::new()),
        "item.started" => Some(begun(printed, item)),
        "item.updated" => Some(Vec::new()),
        "item.completed" => Some(done(printed, item)),
        // "Reconnecting... 1/1 (…)" too: it may still come right.
        "error" => Some(printed.troubled(None, word(line, "message"))),
        "turn.failed" => Some(printed.troubled(None, word(&line["error"], "message"))),
        "turn.completed" => {
            printed.usage = minus(usage(&line["usage"]), printed.earlier);
            printed.turns = printed.turns.max(1);
            Some(printed.finished())
        }
        _ => None,
    }
}

fn begun(printed: &mut PrintedSession, item: &Value) -> Vec<AgentEvent> {
    let id = word(item, "id");
    match word(item, "type") {
        "command_execution" => {
            vec![printed.begun(id, "shell", word(item, "command"), None)]
        }
        "file_change" => {
            let paths = item["changes"].as_array().into_iter().flatten();
            let paths: Vec<&str> = paths.map(|change| word(change, "path")).collect();
            paths.iter().map(|path| printed.begun(id, "apply_patch", path, Some(path))).collect()
        }
        "mcp_tool_call" => {
            let tool = format!("mcp__{}__{}", word(item, "server"), word(item, "tool"));
            vec![printed.begun(id, &tool, &item["arguments"].to_string(), None)]
        }
        _ => Vec::new(),
    }
}

/// An `error` among the items is a warning: an unknown model has one in every session.
fn done(printed: &mut PrintedSession, item: &Value) -> Vec<AgentEvent> {
    match word(item, "type") {
        "agent_message" => {
            printed.turns += 1;
            printed.said(word(item, "text"))
        }
        "reasoning" => vec![AgentEvent::Thinking { text: word(item, "text").to_owned() }],
        _ => printed.over(word(item, "id"), word(item, "status") == "completed"),
    }
}

fn usage(raw: &Value) -> Usage {
    let read = |name: &str| tokens(&raw[name]);
    usage_of(
        read("input_tokens"),
        read("cached_input_tokens"),
        read("cache_write_input_tokens"),
        read("output_tokens"),
    )
}

fn minus(all: Usage, earlier: Usage) -> Usage {
    Usage {
        input_tokens: all.input_tokens.saturating_sub(earlier.input_tokens),
        output_tokens: all.output_tokens.saturating_sub(earlier.output_tokens),
        cache_read_tokens: all.cache_read_tokens.saturating_sub(earlier.cache_read_tokens),
        cache_write_tokens: all.cache_write_tokens.saturating_sub(earlier.cache_write_tokens),
    }
}
