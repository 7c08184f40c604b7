//! Ready questions that a person picks from a client's menu. Each is a call of a tool, with a
//! few words around its answer.

use rmcp::model::{JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Value, json};

/// A prompt, as a call.
pub(crate) struct PromptCall {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    before: String,
}

pub(crate) fn all() -> Vec<Prompt> {
    let task = PromptArgument::new("task")
        .with_description("what is to be done, in a sentence")
        .with_required(true);
    let question = PromptArgument::new("question")
        .with_description("a symbol, or a few words on what the code does")
        .with_required(true);
    let prompt = |name: &str, what: &str, argument: Option<PromptArgument>| {
        Prompt::new(name, Some(what), argument.map(|argument| vec![argument]))
    };
    vec![
        prompt("task", "Begin a task with what the project knows about it", Some(task)),
        prompt("explain", "Have a piece of code explained from its source", Some(question)),
        prompt("review", "See what the current changes reach, and which tests to run", None),
    ]
}

/// Reads a prompt that was picked: nothing where there is none of this name, and what is
/// missing where its argument is.
pub(crate) fn read(name: &str, arguments: &JsonObject) -> Option<Result<PromptCall, String>> {
    let text = |name: &str| {
        let value = arguments.get(name).and_then(Value::as_str).map(str::trim);
        value.filter(|text| !text.is_empty()).map(str::to_owned).ok_or(format!("{name} is missing"))
    };
    let asked = match name {
        "task" => text("task").map(|task| PromptCall {
            tool: "context",
            before: format!("{task}\n\nThis is what the project knows about it:"),
            arguments: json!({ "task": task }),
        }),
        "explain" => text("question").map(|question| PromptCall {
            tool: "explore",
            before: format!("Explain from its source: {question}"),
            arguments: json!({ "query": question }),
        }),
        "review" => Ok(PromptCall {
            tool: "impact",
            before: "Look over my current changes. This is what they reach; say what could break \
                     and run the tests that are named."
                .to_owned(),
            arguments: json!({}),
        }),
        _ => return None,
    };
    Some(asked)
}

impl PromptCall {
    pub(crate) fn message(&self, answer: &str) -> PromptMessage {
        PromptMessage::new_text(Role::User, format!("{}\n\n{answer}", self.before))
    }
}
