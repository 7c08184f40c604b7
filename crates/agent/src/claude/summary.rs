//! One line for people about a tool call: the command, the path, the question.

use serde_json::Value;
use spore_plain::headline;

use crate::AgentEvent;

/// Characters of a summary.
const CAP: usize = 120;

const PATHS: &[&str] = &["file_path", "notebook_path", "path"];

/// Where a tool says what it does, the most telling first.
const TELLING: &[&str] = &["command", "pattern", "query", "url", "description", "prompt"];

/// Describes a call; a path inside `dir` is told as seen from there.
pub(super) fn tool_use(tool: &str, input: &Value, dir: Option<&str>) -> AgentEvent {
    let word = |keys: &[&str]| {
        keys.iter().find_map(|key| input.get(key).and_then(Value::as_str)).map(str::to_owned)
    };
    let path = word(PATHS).map(|path| inside(&path, dir));
    // A search has a path too, but what it looks for says more.
    let told = match tool {
        "Grep" | "Glob" => word(TELLING).or_else(|| path.clone()),
        _ => path.clone().or_else(|| word(TELLING)),
    };
    let told = told.unwrap_or_else(|| match input.as_object() {
        Some(fields) if !fields.is_empty() => input.to_string(),
        _ => String::new(),
    });
    AgentEvent::ToolUse { tool: tool.to_owned(), summary: one_line(&told), path }
}

fn inside(path: &str, dir: Option<&str>) -> String {
    dir.and_then(|dir| path.strip_prefix(dir)?.strip_prefix('/')).unwrap_or(path).to_owned()
}

pub(super) fn one_line(text: &str) -> String {
    headline(text, CAP)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(tool: &str, input: &Value, expected: &str, expected_path: Option<&str>) {
        let event = tool_use(tool, input, Some("/p/tree"));
        let AgentEvent::ToolUse { summary, path, .. } = event else { panic!("{event:?}") };
        assert_eq!((summary.as_str(), path.as_deref()), (expected, expected_path));
    }

    #[test]
    fn a_call_is_told_by_what_matters_in_it() {
        let edit = json!({"file_path": "/p/tree/src/a.rs", "old_string": "x"});
        check("Edit", &edit, "src/a.rs", Some("src/a.rs"));
        let elsewhere = json!({"file_path": "/p/tree2/a.rs"});
        check("Write", &elsewhere, "/p/tree2/a.rs", Some("/p/tree2/a.rs"));
        check("Bash", &json!({"command": "cargo test", "description": "t"}), "cargo test", None);
        check("Grep", &json!({"pattern": "fn x", "path": "src"}), "fn x", Some("src"));
        check("mcp__spore__search", &json!({"limit": 3}), r#"{"limit":3}"#, None);
        check("TaskList", &json!({}), "", None);
    }

    #[test]
    fn a_long_or_many_lined_call_becomes_one_short_line() {
        check("Bash", &json!({"command": "cat <<E\nx\nE"}), "cat <<E…", None);
        let long = "é".repeat(500);
        check("Bash", &json!({ "command": long }), &format!("{}…", "é".repeat(CAP - 1)), None);
    }
}
