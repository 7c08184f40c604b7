//! What always holds of the calls that are read from an answer, whatever the answer is: found out
//! here anew and in another way, line by line.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use spore_tools::written::{WrittenCall, read};
use spore_tools::{ModelTool, Reach, Registry, Root, ToolAnswer, misfit};

/// The tools of a coder. None of them is ever called.
pub(crate) fn tools() -> &'static Registry {
    static TOOLS: OnceLock<Registry> = OnceLock::new();
    TOOLS.get_or_init(|| {
        let root = Root::open(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let mut tools = Registry::of_checkout(&Arc::new(root), None);
        let schema = json!({
            "type": "object",
            "properties": { "command": { "type": "string", "minLength": 1 } },
            "required": ["command"],
            "additionalProperties": false,
        });
        let run = ModelTool::new("run", "Runs.", Reach::Run, schema, |_, _| ToolAnswer::ok(""));
        tools.add(run).unwrap();
        tools
    })
}

/// Fails if anything is a call that is not whole, valid and by itself.
#[track_caller]
pub(crate) fn check_answer(answer: &str) {
    let read = read(answer, tools());
    assert!(read.doubt.is_none() || (read.calls.is_empty() && read.fault.is_none()), "{answer}");
    let lines: Vec<&str> = answer.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    let free = free_lines(&lines);
    let mut last = 0;
    for call in &read.calls {
        assert!(call.line > last, "{answer}\n{call:?}");
        last = call.line;
        let tool = tools().get(&call.name).unwrap();
        assert_eq!(misfit(&tool.schema, &call.arguments), None, "{answer}");
        assert!(free[call.line - 1], "inside of another block: {answer}\n{call:?}");
        let later = || lines.iter().zip(&free).skip(call.line).filter(|(_, free)| **free);
        let is_thought = later().any(|(line, _)| line.trim() == "</think>");
        assert!(!is_thought, "thought: {answer}\n{call:?}");
        // Where a file with a fence in it ends is not clear: what follows may be the rest of it.
        let is_nameless =
            |line: &str| marks(line).is_some_and(|(_, _, rest)| rest.trim().is_empty());
        let is_clear = !later().any(|(line, _)| is_nameless(line));
        let is_file = |info: &str| matches!(info.split_whitespace().next(), Some("write" | "edit"));
        let (head, body) = (lines[call.line - 1], &lines[call.line..]);
        let is_witnessed = match head.strip_prefix("<tool_call>") {
            Some(rest) => {
                let text = std::iter::once(rest).chain(body.iter().copied());
                is_tagged(&text.collect::<Vec<_>>().join("\n"), call)
            }
            None => {
                is_fenced(head, body, call) && (is_clear || !is_file(head.trim_start_matches('`')))
            }
        };
        assert!(is_witnessed, "{answer}\n{call:?}");
    }
    if let Some(fault) = &read.fault {
        assert!(fault.line > last && !fault.why.is_empty(), "{answer}\n{fault:?}");
    }
}

/// How many backticks or tildes a line begins with, behind at most three spaces.
fn marks(line: &str) -> Option<(char, usize, &str)> {
    let body = line.trim_start_matches(' ');
    let mark = body.chars().next().filter(|mark| "`~".contains(*mark))?;
    let rest = body.trim_start_matches(mark);
    let count = body.len() - rest.len();
    (count >= 3 && line.len() - body.len() <= 3).then_some((mark, count, rest))
}

/// Says of each line whether a block may begin there: no fence, no tag and no thought is open.
fn free_lines(lines: &[&str]) -> Vec<bool> {
    let mut free = vec![false; lines.len()];
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        free[at] = true;
        let opened = marks(line).filter(|(mark, _, rest)| *mark == '~' || !rest.contains('`'));
        let end = if let Some((mark, count, _)) = opened {
            let closes = |line: &&str| {
                marks(line).is_some_and(|(other, number, rest)| {
                    mark == other && number >= count && rest.trim().is_empty()
                })
            };
            lines[at + 1..].iter().position(closes).map(|end| at + 1 + end)
        } else if line.starts_with("<tool_call>") {
            lines[at..].iter().position(|line| line.contains("</tool_call>")).map(|end| at + end)
        } else if line.trim_start().starts_with("<think>") {
            lines[at..].iter().position(|line| line.contains("</think>")).map(|end| at + end)
        } else {
            Some(at)
        };
        // What has no end goes on to the end of the answer.
        at = end.unwrap_or(lines.len()) + 1;
    }
    free
}

fn is_tagged(text: &str, call: &WrittenCall) -> bool {
    text.split_once("</tool_call>").is_some_and(|(content, rest)| {
        let is_alone = rest.lines().next().unwrap_or_default().trim().is_empty();
        is_alone && is_json_of(content, call)
    })
}

fn is_fenced(head: &str, body: &[&str], call: &WrittenCall) -> bool {
    let info = head.trim_start_matches('`');
    let count = head.len() - info.len();
    let is_end = |line: &&str| {
        marks(line).is_some_and(|(mark, number, rest)| {
            mark == '`' && number >= count && rest.trim().is_empty()
        })
    };
    let Some(end) = body.iter().position(is_end) else { return false };
    let inside = &body[..end];
    if count < 3 || inside.iter().any(|line| line.trim_start().starts_with(&"`".repeat(count))) {
        return false;
    }
    // Line ends of either kind are the answer's own.
    let content: String = inside.iter().flat_map(|line| [*line, "\n"]).collect();
    let plain = |name: &str| call.arguments[name].as_str().unwrap_or_default().replace('\r', "");
    let path = info.trim().split_once(char::is_whitespace).map(|(_, path)| path.trim());
    let names_path = path.map(|path| path.trim_matches('`')) == call.arguments["path"].as_str();
    match info.split_whitespace().next() {
        Some("write") => {
            call.name == "write" && names_path && plain("content") == content.replace('\r', "")
        }
        Some("edit") => {
            let piece = format!(
                "<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE\n",
                plain("find"),
                plain("replace")
            );
            let trimmed: String = inside.iter().flat_map(|line| [line.trim_end(), "\n"]).collect();
            let piece: String = piece.lines().flat_map(|line| [line.trim_end(), "\n"]).collect();
            call.name == "edit" && names_path && trimmed.trim() == piece.trim()
        }
        _ => is_json_of(&content, call),
    }
}

fn is_json_of(content: &str, call: &WrittenCall) -> bool {
    let whole = json!({ "name": call.name, "arguments": call.arguments });
    let bare = json!({ "name": call.name });
    // The reader trims white space around a call, of kinds that JSON does not know too.
    serde_json::from_str::<Value>(content.trim())
        .is_ok_and(|value| value == whole || (value == bare && call.arguments == json!({})))
}
