use std::sync::Arc;

use super::*;
use crate::{Reach, Root, ToolAnswer};

fn tools() -> Registry {
    let dir = tempfile::tempdir().unwrap();
    let root = Arc::new(Root::open(dir.path()).unwrap());
    let mut tools = Registry::of_checkout(&root, None);
    let schema = json!({
        "type": "object",
        "properties": { "command": { "type": "string", "minLength": 1 } },
        "required": ["command"],
        "additionalProperties": false,
    });
    let run = ModelTool::new("run", "Runs. Waits.", Reach::Run, schema, |_, _| ToolAnswer::ok(""));
    tools.add(run).unwrap();
    tools
}

/// Each call as `line name arguments`, then the fault or the doubt as `line! why`.
#[track_caller]
fn check(answer: &str, expected: &[&str]) {
    let read = read(answer, &tools());
    let mut found: Vec<String> = read
        .calls
        .iter()
        .map(|call| format!("{} {} {}", call.line, call.name, call.arguments))
        .collect();
    let told = |mark: &str, fault: Option<WrittenFault>| {
        fault.map(|fault| format!("{}{mark} {}", fault.line, fault.why))
    };
    found.extend(told("!", read.fault));
    found.extend(told("?", read.doubt));
    let is_same = found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| found.starts_with(expected));
    assert!(is_same, "{answer}\n{found:#?}\n{expected:#?}");
}

const READ: &str = r#"{"name": "read", "arguments": {"path": "a"}}"#;

#[test]
fn a_whole_block_that_is_one_valid_call_is_a_call() {
    let read = r#" read {"path":"a"}"#;
    check(&format!("```json\n{READ}\n```"), &[&format!("1{read}")]);
    check(&format!("First I look.\n\n```\n{READ}\n```\nThen more."), &[&format!("3{read}")]);
    check(&format!("~~~~\n~~~~\n````tool_call\n{READ}\n````"), &[&format!("3{read}")]);
    check(&format!("```json\r\n{READ}\r\n```\r\n"), &[&format!("1{read}")]);
    check(&format!("<tool_call>\n{READ}\n</tool_call>"), &[&format!("1{read}")]);
    check(&format!("<tool_call>{READ}</tool_call>\n"), &[&format!("1{read}")]);
    check("```json\n{\"name\": \"list\"}\n```", &["1 list {}"]);
    let two = format!("```json\n{READ}\n```\n```json\n{READ}\n```");
    check(&two, &[&format!("1{read}"), &format!("4{read}")]);
}

#[test]
fn files_and_pieces_are_written_without_json() {
    check(
        "```write a/b.py\nx = 1\n\ny\n```",
        &[r#"1 write {"content":"x = 1\n\ny\n","path":"a/b.py"}"#],
    );
    check("```write a\n```", &[r#"1 write {"content":"","path":"a"}"#]);
    check(
        "````write a.md\n```sh\nmake\n```\n````",
        &[r#"1 write {"content":"```sh\nmake\n```\n","path":"a.md"}"#],
    );
    let edit = |body: &str| format!("```edit a\n{body}\n```");
    check(
        &edit("<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE"),
        &[r#"1 edit {"find":"one\n","path":"a","replace":"two\n"}"#],
    );
    check(
        &edit("<<<<<<< SEARCH\none\n=======\n>>>>>>> REPLACE"),
        &[r#"1 edit {"find":"one\n","path":"a","replace":""}"#],
    );
    check(
        &edit("<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE"),
        &["1! edit was not called: find must"],
    );
    check(&edit("<<<<<<< SEARCH\none\n>>>>>>> REPLACE"), &["1! the block must be"]);
    check(&edit("one\n=======\ntwo"), &["1! the block must be"]);
    check(
        &edit("<<<<<<< SEARCH\na\n=======\nb\n=======\nc\n>>>>>>> REPLACE"),
        &["1! the block must"],
    );
    let piece = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
    check(&edit(&piece.repeat(2)), &["1! one block holds one search/replace piece"]);
    check(&format!("```python\n{piece}```"), &["1! a search/replace piece is a block"]);
    check("```write\nx\n```", &["1! the first line of the block must name the file"]);
}

#[test]
fn what_is_not_whole_is_not_done() {
    check(&format!("```json\n{READ}"), &["1! the block has no end"]);
    check("```json\n{\"name\": \"read\", \"arguments\": {\"pa", &["1! the block has no end"]);
    check(
        "```json\n{\"name\": \"read\", \"arguments\": {\"pa\n```",
        &["1! the block must be one JSON"],
    );
    check("```write a\nx", &["1! the block has no end"]);
    check(&format!("<tool_call>\n{READ}"), &["1! the <tool_call> has no end"]);
    // Its end is another's, so a part of the file is missing.
    check("```write a.md\n```sh\nmake\n```\nmore\n```", &["1! where the block ends is not clear"]);
    check(
        "```write a.md\ntext\n```\nmake\n```\nmore\n```",
        &["1! where the block ends is not clear"],
    );
    check("```write a.md\ntext\n```\nmake\n```\n", &["1! where the block ends is not clear"]);
    // Here the rest of the file is a call to look at.
    check(
        &format!("```write a.md\nExample:\n```\nls\n```\n{READ}\n```"),
        &["1! where the block ends is not clear"],
    );
    let two = format!("<tool_call>{READ}</tool_call><tool_call>{READ}</tool_call>");
    check(&two, &["1! something follows </tool_call> in its line"]);
    check(
        &format!("```run(tests)\nx\n```\n```json\n{READ}\n```"),
        &["1! a call of run is a block"],
    );
    check("```read a.py\n```", &["1! a call of read is a block of JSON"]);
    // What was whole before it is done.
    check(
        &format!("```json\n{READ}\n```\n```json\n{{\"name\": \"run\"\n```\n```json\n{READ}\n```"),
        &["1 read", "4! the block must be one JSON object"],
    );
}

#[test]
fn one_block_is_one_call() {
    check(&format!("```json\n{READ}\n{READ}\n```"), &["1! the block must be one JSON object"]);
    let told = read(&format!("```json\n{READ}\n{{}}\n```"), &tools()).fault.unwrap().why;
    let alone = format!(
        "answer with this block alone, and with the next when its result is there:\n\n```json\n{READ}\n```"
    );
    assert!(told.replace("\":\"", "\": \"").contains(&alone), "{told}");
    check(&format!("```json\n[{READ}, {READ}]\n```"), &["1! one block holds one call, not a list"]);
    check(&format!("<tool_call>{READ}{READ}</tool_call>"), &["1! the block must be one JSON"]);
    check(&format!("```json\n{READ}\nI read it.\n```"), &["1! the block must be one JSON object"]);
    let twice = r#"{"name": "read", "name": "run", "arguments": {"command": "x"}}"#;
    check(&format!("```json\n{twice}\n```"), &["1! the block must be one JSON object"]);
    let twice = r#"{"name": "run", "arguments": {"command": "ls", "command": "rm x"}}"#;
    check(&format!("```json\n{twice}\n```"), &["1! the block must be one JSON object"]);
}

#[test]
fn arguments_are_held_against_the_schema() {
    let call = |name: &str, arguments: &str| {
        format!("```json\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n```")
    };
    check(&call("read", "{}"), &["1! read was not called: path is missing"]);
    check(&call("read", "{\"path\": 1}"), &["1! read was not called: path must be of type"]);
    check(&call("read", "{\"path\": \"a\", \"x\": 1}"), &["1! read was not called: x is unknown"]);
    check(&call("read", "[]"), &["1! a call is"]);
    check(&call("format", "{}"), &["1! there is no tool \"format\" here, only read, list"]);
    let more = r#"{"name": "read", "arguments": {"path": "a"}, "thought": "x"}"#;
    check(&format!("```json\n{more}\n```"), &["1! \"thought\" is no part of a call"]);
    let other = r#"{"tool": "read", "path": "a"}"#;
    check(&format!("```json\n{other}\n```"), &["1! \"path\" is no part of a call"]);
}

#[test]
fn what_is_quoted_indented_or_inside_of_another_fence_is_prose() {
    let doubt = "? what looks like a call there is inside of other text";
    for (answer, line) in [
        (format!("> ```json\n> {READ}\n> ```"), 1),
        (format!("1. Read:\n   ```json\n   {READ}\n   ```"), 2),
        (format!("    ```json\n    {READ}\n    ```"), 1),
        (format!("~~~json\n{READ}\n~~~"), 1),
        (format!("````markdown\n```json\n{READ}\n```\n````"), 1),
        (format!("```markdown\n```json\n{READ}\n```"), 1),
        (format!("```python\nprint('''{READ}''')\n```"), 1),
        (format!("I would call {READ} now."), 1),
        (READ.to_owned(), 1),
        (format!("```json {READ}```"), 1),
        (format!("Say <tool_call>{READ}</tool_call>"), 1),
    ] {
        check(&answer, &[&format!("{line}{doubt}")]);
    }
    check("```json\n{\"name\": \"Ada\", \"age\": 36}\n```", &[]);
    check("```json\n[1, 2]\n```", &[]);
    check("```python\nx = 1\n```\nIt is done.", &[]);
    check("", &[]);
    // A real call beside an example: the call counts, and the example does not.
    check(&format!("> {READ}\n\n```json\n{READ}\n```"), &["3 read"]);
}

#[test]
fn what_a_model_only_thinks_is_no_call() {
    let call = format!("```json\n{READ}\n```");
    check(&format!("<think>\n{call}\nNo.\n</think>\nNothing is to be done."), &[]);
    check(&format!("<think>\n{call}\n</think>\n{call}"), &["6 read"]);
    check(&format!("<think>{call}"), &[]);
    // A thought leaves a fence open: what follows it is still an answer.
    check(&format!("<think>\n```json\n</think>\n{call}"), &["4 read"]);
    // Its opening tag was in the prompt.
    check(&format!("Perhaps\n{call}\n</think>\n\nDone."), &[]);
    check(&format!("Perhaps\n{call}\n</think>\n{call}"), &["6 read"]);
    check(&format!("Perhaps\n<tool_call>{READ}</tool_call>\n</think>\nNo."), &[]);
    // In a file it is a line like any other.
    check("```write a\n</think>\n```", &[r#"1 write {"content":"</think>\n","path":"a"}"#]);
}

#[test]
fn an_answer_held_to_a_schema_is_one_call() {
    let tools = tools();
    let name = |answer: &str| match read_held(answer, &tools) {
        Ok(HeldAnswer::Call(call)) => call.name,
        Ok(HeldAnswer::Done(text)) => format!("done: {text}"),
        Err(fault) => fault.why,
    };
    assert_eq!(name(&format!(" {READ}\n")), "read");
    assert_eq!(name(r#"{"name": "done", "arguments": {"text": "Mended."}}"#), "done: Mended.");
    assert!(name(&format!("{READ}{READ}")).starts_with("the answer must be one JSON object"));
    assert!(name(r#"{"name": "read", "arguments": {}}"#).starts_with("read was not called"));
    assert_eq!(answer_schema(&tools)["anyOf"].as_array().unwrap().len(), tools.tools().len() + 1);
}

#[test]
fn a_model_is_told_the_tools_in_a_line_each() {
    insta::assert_snapshot!(instructions(&tools()));
}
