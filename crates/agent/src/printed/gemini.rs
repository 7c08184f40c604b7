//! `gemini -o stream-json`.

use serde_json::Value;

use super::{PrintedSession, word};
use crate::AgentEvent;
use crate::health::{tokens, usage_of};

pub(super) fn line(printed: &mut PrintedSession, line: &Value) -> Option<Vec<AgentEvent>> {
    match line["type"].as_str()? {
        "init" => {
            printed.session = line["session_id"].as_str().map(str::to_owned);
            Some(Vec::new())
        }
        "message" if word(line, "role") == "assistant" => {
            if printed.running.is_empty() && printed.turns == 0 {
                printed.turns = 1;
            }
            Some(printed.said(word(line, "content")))
        }
        "message" => Some(Vec::new()),
        "tool_use" => {
            let given = &line["parameters"];
            let path = ["file_path", "path"].iter().find_map(|name| given[*name].as_str());
            let told = path.or_else(|| given["command"].as_str());
            let summary = told.map_or_else(|| given.to_string(), str::to_owned);
            let (id, tool) = (word(line, "tool_id"), word(line, "tool_name"));
            Some(vec![printed.begun(id, tool, &summary, path)])
        }
        "tool_result" => {
            printed.turns += 1;
            let ok = word(line, "status") == "success";
            Some(printed.over(word(line, "tool_id"), ok))
        }
        "error" => Some(printed.troubled(None, word(line, "message"))),
        "result" => Some(result(printed, line)),
        _ => None,
    }
}

fn result(printed: &mut PrintedSession, line: &Value) -> Vec<AgentEvent> {
    let stats = &line["stats"];
    let read = |name: &str| tokens(&stats[name]);
    printed.usage = usage_of(read("input_tokens"), read("cached"), 0, read("output_tokens"));
    if word(line, "status") != "success" {
        return printed.troubled(None, word(&line["error"], "message"));
    }
    printed.finished()
}
