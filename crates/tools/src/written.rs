//! Calls that a model writes into its answer as text, for models that do not call natively.
//!
//! Three forms: a fenced JSON object with `name` and `arguments` (also between `<tool_call>`
//! tags, as some models are trained to write it), a fence that begins with `write PATH` and
//! holds a whole file, and one that begins with `edit PATH` and holds one search/replace piece.
//!
//! The decision behind it: only a block that is whole, stands by itself and is one valid call
//! is a call. A block without an end, with two calls, with a name twice, with a fence of its own
//! in it, or whose arguments do not fit the tool's schema is a [`WrittenFault`] for the model to
//! mend, and nothing after it counts. What is quoted, indented, thought or inside of another fence
//! is prose, whatever it says.

mod blocks;
mod once;

use serde_json::{Map, Value, json};
use spore_plain::cut;

use crate::{ModelTool, Registry, schema};
use blocks::{Fence, Tagged, TextBlock, blocks};

/// No answer has more calls.
const CALLS: usize = 32;

/// How much of a name is repeated to the model.
const NAME_CHARS: usize = 80;

/// How long a call may be that is shown to the model as it should have been.
const SHOWN_BYTES: usize = 400;

const SEARCH: &str = "<<<<<<< SEARCH";
const DIVIDER: &str = "=======";
const REPLACE: &str = ">>>>>>> REPLACE";

/// What a fence that holds a call in JSON may say it is.
const JSON_FENCES: [&str; 4] = ["", "json", "tool_call", "tool"];

/// One whole, valid call.
#[derive(Clone, PartialEq, Debug)]
pub struct WrittenCall {
    /// The line of the answer at which its block begins, from 1.
    pub line: usize,
    pub name: String,
    /// They fit the schema of the tool.
    pub arguments: Value,
}

/// What was meant as a call and is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrittenFault {
    pub line: usize,
    /// A sentence for the model that wrote it.
    pub why: String,
}

/// What an answer calls for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WrittenAnswer {
    /// In order, up to the first fault.
    pub calls: Vec<WrittenCall>,
    pub fault: Option<WrittenFault>,
    /// Without any call: what looks as if one was meant and does not stand where calls do.
    pub doubt: Option<WrittenFault>,
}

/// Reads the calls that an answer is made of.
pub fn read(answer: &str, tools: &Registry) -> WrittenAnswer {
    let mut read = WrittenAnswer::default();
    let blocks = blocks(answer);
    for (index, block) in blocks.iter().enumerate() {
        let found = match block {
            TextBlock::Fence(fence) if fence.is_quoted => Ok(None),
            TextBlock::Fence(fence) => of_fence(fence, &blocks[index + 1..], tools),
            TextBlock::Tagged(tagged) => of_tag(tagged, tools),
            TextBlock::Thought { .. } | TextBlock::Prose { .. } => Ok(None),
        };
        let line = block.line();
        match found {
            Ok(Some(_)) if read.calls.len() >= CALLS => {
                let why = format!("an answer may have {CALLS} calls, not more");
                read.fault = Some(WrittenFault { line, why });
                break;
            }
            Ok(Some((name, arguments))) => read.calls.push(WrittenCall { line, name, arguments }),
            Ok(None) if read.doubt.is_none() && means_a_call(block, tools) => {
                let why =
                    "what looks like a call there is inside of other text, so it was not made; \
                           a call is a block of its own that begins at the start of a line"
                        .to_owned();
                read.doubt = Some(WrittenFault { line, why });
            }
            Ok(None) => {}
            Err(why) => {
                read.fault = Some(WrittenFault { line, why });
                break;
            }
        }
    }
    if !read.calls.is_empty() || read.fault.is_some() {
        read.doubt = None;
    }
    read
}

/// An answer of a model that is held to [`answer_schema`].
#[derive(Clone, PartialEq, Debug)]
pub enum HeldAnswer {
    Call(WrittenCall),
    /// It has nothing left to do, and says this.
    Done(String),
}

/// Reads an answer that is nothing but one call in JSON, as servers make it that hold a model to
/// a schema.
pub fn read_held(answer: &str, tools: &Registry) -> Result<HeldAnswer, WrittenFault> {
    let fault = |why| WrittenFault { line: 1, why };
    let value = once::parse(answer.trim())
        .map_err(|error| fault(format!("the answer must be one JSON object: {error}")))?;
    let is_done = value.get("name").and_then(Value::as_str) == Some(DONE);
    if let (true, Some(text)) = (is_done, value.pointer("/arguments/text").and_then(Value::as_str))
    {
        return Ok(HeldAnswer::Done(text.to_owned()));
    }
    let (name, arguments) = call_of(value, tools).map_err(fault)?;
    Ok(HeldAnswer::Call(WrittenCall { line: 1, name, arguments }))
}

type FoundCall = Result<Option<(String, Value)>, String>;

fn of_fence(fence: &Fence<'_>, later: &[TextBlock<'_>], tools: &Registry) -> FoundCall {
    let (word, rest) = fence.info.split_once(char::is_whitespace).unwrap_or((fence.info, ""));
    let is_file = (word == "write" || word == "edit") && tools.get(word).is_some();
    let is_meant = is_file
        || fence.content.lines().any(|line| line.trim_end() == SEARCH)
        || (JSON_FENCES.contains(&word) && is_call_like(fence.content, tools));
    if !is_meant {
        let tool = word.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or(word);
        return match tools.get(tool) {
            Some(_) => Err(format!(
                "a call of {tool} is a block of JSON: ```json, then {{\"name\": \"{tool}\", \
                 \"arguments\": {{…}}}}"
            )),
            None => Ok(None),
        };
    }
    if !fence.is_closed {
        return Err("the block has no end, so nothing of it was done; write it again, shorter if \
                    it was cut off"
            .to_owned());
    }
    // A file that has such a fence in it would end at its first line, and what the file goes on
    // with may well look like a call.
    let is_nameless =
        |block: &TextBlock<'_>| matches!(block, TextBlock::Fence(later) if later.info.is_empty());
    if fence.holds_fence || (is_file && later.iter().any(is_nameless)) {
        return Err("where the block ends is not clear, because other lines of backticks are in \
                    it or follow it; put it between four backticks and leave other fences out"
            .to_owned());
    }
    match word {
        "write" if is_file => {
            let arguments = json!({ "path": path_of(rest)?, "content": fence.content });
            fits("write", arguments, tools).map(Some)
        }
        "edit" if is_file => {
            let (find, replace) = piece(fence.content)?;
            let arguments = json!({ "path": path_of(rest)?, "find": find, "replace": replace });
            fits("edit", arguments, tools).map(Some)
        }
        _ if !JSON_FENCES.contains(&word) || fence.content.contains(SEARCH) => {
            Err("a search/replace piece is a block that begins with ```edit PATH".to_owned())
        }
        _ => json_call(fence.content, tools).map(Some),
    }
}

fn of_tag(tagged: &Tagged<'_>, tools: &Registry) -> FoundCall {
    if !tagged.is_closed {
        return Err("the <tool_call> has no end, so nothing of it was done".to_owned());
    }
    if tagged.goes_on {
        return Err("something follows </tool_call> in its line, so nothing of it was done; \
                    begin each <tool_call> on a line of its own"
            .to_owned());
    }
    json_call(tagged.content, tools).map(Some)
}

fn path_of(rest: &str) -> Result<&str, String> {
    match rest.trim() {
        "" => Err("the first line of the block must name the file: ```write PATH".to_owned()),
        path => Ok(path.trim_matches('`')),
    }
}

/// Reads one search/replace piece and nothing besides.
fn piece(content: &str) -> Result<(String, String), String> {
    let shape = || format!("the block must be {SEARCH}, lines, {DIVIDER}, lines, {REPLACE}");
    let marks = |mark: &str| content.lines().filter(|line| line.trim_end() == mark).count();
    if marks(SEARCH) > 1 || marks(REPLACE) > 1 {
        return Err("one block holds one search/replace piece; write one block for each".to_owned());
    }
    if marks(SEARCH) != 1 || marks(DIVIDER) != 1 || marks(REPLACE) != 1 {
        return Err(shape());
    }
    let (mut find, mut replace) = (String::new(), String::new());
    let mut part = 0;
    for line in content.lines() {
        match (part, line.trim_end()) {
            (0, SEARCH) => part = 1,
            (1, DIVIDER) => part = 2,
            (2, REPLACE) => part = 3,
            (0 | 3, "") => {}
            (1, _) => find.extend([line, "\n"]),
            (2, _) => replace.extend([line, "\n"]),
            _ => return Err(shape()),
        }
    }
    if part == 3 { Ok((find, replace)) } else { Err(shape()) }
}

fn json_call(content: &str, tools: &Registry) -> Result<(String, Value), String> {
    let value = once::parse(content.trim()).map_err(|error| {
        let error = error.to_string();
        let hint = match error.starts_with("trailing") {
            true => first_alone(content, tools)
                .unwrap_or_else(|| "write a block of its own for each call".to_owned()),
            false if content.contains("\"content\"") => {
                "a file with several lines is written better as a block ```write PATH".to_owned()
            }
            false => "write it again".to_owned(),
        };
        format!("the block must be one JSON object and nothing else ({error}); {hint}")
    })?;
    call_of(value, tools)
}

/// Shows a model that wrote several calls into one block what the first of them alone looks like:
/// told only in words, small models write the same block again.
fn first_alone(content: &str, tools: &Registry) -> Option<String> {
    let first = serde_json::Deserializer::from_str(content).into_iter::<Value>().next()?.ok()?;
    let (name, arguments) = call_of(first, tools).ok()?;
    let call = format!("{{\"name\": \"{name}\", \"arguments\": {arguments}}}");
    (call.len() <= SHOWN_BYTES).then(|| {
        format!(
            "there are several calls in it. Make one at a time: answer with this block alone, and \
             with the next when its result is there:\n\n```json\n{call}\n```\n\n"
        )
    })
}

fn call_of(value: Value, tools: &Registry) -> Result<(String, Value), String> {
    const SHAPE: &str = "a call is {\"name\": TOOL, \"arguments\": {…}}";
    let mut fields = match value {
        Value::Object(fields) => fields,
        Value::Array(_) => return Err(format!("one block holds one call, not a list; {SHAPE}")),
        _ => return Err(SHAPE.to_owned()),
    };
    let (name, arguments) = (fields.remove("name"), fields.remove("arguments"));
    if let Some(other) = fields.keys().next() {
        return Err(format!("{:?} is no part of a call; {SHAPE}", cut(other, NAME_CHARS)));
    }
    match (name, arguments) {
        (Some(Value::String(name)), Some(arguments @ Value::Object(_))) => {
            fits(&name, arguments, tools)
        }
        // A tool that needs none may be called without.
        (Some(Value::String(name)), None) => fits(&name, Value::Object(Map::new()), tools),
        _ => Err(SHAPE.to_owned()),
    }
}

fn fits(name: &str, arguments: Value, tools: &Registry) -> Result<(String, Value), String> {
    let Some(tool) = tools.get(name) else {
        return Err(format!(
            "there is no tool {:?} here, only {}",
            cut(name, NAME_CHARS),
            names(tools).join(", ")
        ));
    };
    match schema::misfit(&tool.schema, &arguments) {
        Some(misfit) => Err(format!("{name} was not called: {misfit}")),
        None => Ok((name.to_owned(), arguments)),
    }
}

fn names(tools: &Registry) -> Vec<&str> {
    tools.tools().iter().map(|tool| tool.name.as_str()).collect()
}

/// Returns whether a JSON block is meant as a call and not as data.
fn is_call_like(content: &str, tools: &Registry) -> bool {
    let names_tool = |value: Option<&Value>| {
        value.and_then(Value::as_str).is_some_and(|name| tools.get(name).is_some())
    };
    match serde_json::from_str::<Value>(content.trim()) {
        Ok(Value::Object(fields)) => {
            (fields.contains_key("name") && fields.contains_key("arguments"))
                || ["name", "tool", "function", "action"]
                    .iter()
                    .any(|key| names_tool(fields.get(*key)))
        }
        Ok(Value::Array(items)) => items.iter().any(|item| names_tool(item.get("name"))),
        Ok(_) => false,
        Err(_) => mentions_call(content, tools),
    }
}

/// Returns whether a text that is no JSON speaks of a call.
fn mentions_call(text: &str, tools: &Registry) -> bool {
    text.contains("\"name\"")
        && (text.contains("\"arguments\"")
            || names(tools).iter().any(|name| text.contains(&format!("\"{name}\""))))
}

fn means_a_call(block: &TextBlock<'_>, tools: &Registry) -> bool {
    match block {
        TextBlock::Prose { text, .. } => mentions_call(text, tools),
        TextBlock::Fence(fence) => {
            mentions_call(fence.content, tools) && fence.content.contains("\"arguments\"")
        }
        TextBlock::Tagged(_) | TextBlock::Thought { .. } => false,
    }
}

/// Tells a model in a few words which tools there are and how it writes a call.
pub fn instructions(tools: &Registry) -> String {
    let mut text = String::from(
        "You have tools. Nothing happens unless you call one, and code that you only show is not \
         saved. You call a tool with a block of JSON in exactly this form:\n\n\
         ```json\n{\"name\": \"TOOL\", \"arguments\": {\"NAME\": \"VALUE\"}}\n```\n\n\
         One call a block. Write the block and stop: the result comes in the next message. The \
         tools:\n\n",
    );
    text.push_str(&listed(tools));
    if tools.get("write").is_some() {
        text.push_str(
            "\nA file can also be written as a block that begins with `write` and its path:\n\n\
             ```write PATH\nevery line of the file\n```\n",
        );
    }
    if tools.get("edit").is_some() {
        text.push_str(&format!(
            "\nAnd one piece of a file can be replaced with a block of this form:\n\n\
             ```edit PATH\n{SEARCH}\nlines as they stand in the file\n{DIVIDER}\nthe lines in \
             their place\n{REPLACE}\n```\n"
        ));
    }
    if tools.get("write").is_some() {
        text.push_str("\nBegin with a block: look at the files first.");
    }
    text.push_str("\nWhen all is done, answer without any block.\n");
    text
}

/// Lists the tools in a line each.
fn listed(tools: &Registry) -> String {
    tools.tools().iter().map(|tool| format!("- {}\n", brief(tool))).collect()
}

/// Tells a model whose server holds it to [`answer_schema`] which tools there are.
pub fn held_instructions(tools: &Registry) -> String {
    let mut text = String::from(
        "Each of your answers is one call of a tool, as JSON:\n\n\
         {\"name\": \"TOOL\", \"arguments\": {\"NAME\": \"VALUE\"}}\n\n\
         Its result comes in the next message. The tools:\n\n",
    );
    text.push_str(&listed(tools));
    text.push_str(&format!(
        "- {DONE}: Ends your work with a short account of it. Arguments: text\n"
    ));
    text
}

/// What a server is asked to hold an answer to, as llama.cpp, Ollama and LM Studio take it.
pub fn response_format(tools: &Registry) -> Value {
    let schema = answer_schema(tools);
    json!({ "type": "json_schema", "json_schema": { "name": "call", "strict": true, "schema": schema } })
}

/// Sums a tool up in one line: the first sentence of its description, and its arguments.
pub fn brief(tool: &ModelTool) -> String {
    let arguments = arguments_of(&tool.schema);
    let named = |is_needed: bool| {
        let some = arguments.iter().filter(|(needed, _)| *needed == is_needed);
        some.map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let told = match (named(true), named(false)) {
        (needed, other) if needed.is_empty() && other.is_empty() => "none".to_owned(),
        (needed, other) if other.is_empty() => needed,
        (needed, other) if needed.is_empty() => format!("perhaps {other}"),
        (needed, other) => format!("{needed}; perhaps {other}"),
    };
    format!("{}: {} Arguments: {told}", tool.name, sentence(tool))
}

/// Returns the first sentence of a tool's description.
pub fn sentence(tool: &ModelTool) -> &str {
    let text = tool.description.as_str();
    text.find(". ").map_or(text, |end| &text[..=end])
}

/// Returns the arguments of a tool, those first that it needs, each with whether it does.
fn arguments_of(schema: &Value) -> Vec<(bool, String)> {
    let required = schema.get("required").and_then(Value::as_array);
    let place = |name: &str| {
        let names = required.into_iter().flatten().map(Value::as_str);
        names.enumerate().find(|(_, one)| *one == Some(name)).map(|(place, _)| place)
    };
    let fields = schema.get("properties").and_then(Value::as_object);
    let mut arguments: Vec<(Option<usize>, String)> = fields
        .into_iter()
        .flatten()
        .map(|(name, field)| {
            let choices = field.get("enum").and_then(Value::as_array);
            let words = choices.map(|choices| {
                let words: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
                format!(" ({})", words.join("|"))
            });
            (place(name), format!("{name}{}", words.unwrap_or_default()))
        })
        .collect();
    arguments.sort_by_key(|(place, _)| place.unwrap_or(usize::MAX));
    arguments.into_iter().map(|(place, argument)| (place.is_some(), argument)).collect()
}

/// Returns a copy of a schema without what only explains.
pub fn short_schema(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, value)| !(name.as_str() == "description" && value.is_string()))
            .map(|(name, value)| (name.clone(), short_schema(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(short_schema).collect::<Vec<_>>().into(),
        other => other.clone(),
    }
}

/// The schema of one answer that is one call, or `done` with a last word.
pub fn answer_schema(tools: &Registry) -> Value {
    let call = |name: &str, arguments: Value| {
        json!({
            "type": "object",
            "properties": { "name": { "const": name }, "arguments": arguments },
            "required": ["name", "arguments"],
            "additionalProperties": false,
        })
    };
    let done = json!({
        "type": "object",
        "properties": { "text": { "type": "string" } },
        "required": ["text"],
        "additionalProperties": false,
    });
    let calls = tools.tools().iter().map(|tool| call(&tool.name, short_schema(&tool.schema)));
    let ways: Vec<Value> = calls.chain([call(DONE, done)]).collect();
    json!({ "anyOf": ways })
}

/// What a model that is held to [`answer_schema`] calls when it has nothing left to do.
pub const DONE: &str = "done";

#[cfg(test)]
mod tests;
