//! OpenAI Responses.
//!
//! Nothing is kept on the server: every call sends the whole conversation, and what the model
//! thought comes back to it encrypted.

use serde_json::{Value, json};
use spore_model::Usage;

use super::conversation::{
    AnswerReader, ConversationTurn, ModelReply, ModelRequest, RequestedCall, StopReason,
    StreamFault, counted, text,
};

const ITEMS: usize = 4096;

pub(super) fn body(ask: &ModelRequest<'_>) -> Value {
    let mut input = Vec::new();
    for turn in ask.turns {
        match turn {
            ConversationTurn::Said(said) | ConversationTurn::Told(said) => input.push(json!({
                "type": "message",
                "role": "user",
                "content": [{ "type": "input_text", "text": said }],
            })),
            ConversationTurn::Replied(items) => input.extend(items.iter().cloned()),
            ConversationTurn::Answered(answers) => input.extend(answers.iter().map(|answer| {
                let output = if answer.is_error {
                    format!("error: {}", answer.text)
                } else {
                    answer.text.clone()
                };
                json!({ "type": "function_call_output", "call_id": answer.id, "output": output })
            })),
        }
    }
    let tools: Vec<Value> = ask
        .tools
        .tools()
        .iter()
        .map(|tool| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema,
                "strict": false,
            })
        })
        .collect();
    let mut body = json!({
        "model": ask.model,
        "max_output_tokens": ask.max_output_tokens,
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "input": input,
    });
    if !ask.system.is_empty() {
        body["instructions"] = Value::from(ask.system);
    }
    if !tools.is_empty() {
        body["tools"] = Value::from(tools);
    }
    body
}

#[derive(Default)]
pub(super) struct ResponsesAnswer {
    items: Vec<Value>,
    usage: Usage,
    end: Option<StopReason>,
}

impl AnswerReader for ResponsesAnswer {
    fn take(&mut self, data: &str) -> Result<(), StreamFault> {
        // Some servers end with the mark of Chat Completions.
        if data == "[DONE]" {
            return Ok(());
        }
        let event: Value = serde_json::from_str(data).map_err(StreamFault::malformed)?;
        match text(&event, "/type") {
            "response.output_item.done" if self.items.len() < ITEMS => {
                self.items.extend(event.get("item").cloned());
            }
            "response.completed" => self.end(&event, StopReason::Done),
            "response.incomplete" => {
                let stop = match text(&event, "/response/incomplete_details/reason") {
                    "content_filter" => StopReason::Refused,
                    _ => StopReason::Length,
                };
                self.end(&event, stop);
            }
            "response.failed" => {
                self.count(&event);
                return Err(StreamFault::reported(
                    event.pointer("/response/error").unwrap_or(&event),
                ));
            }
            "error" => return Err(StreamFault::reported(event.get("error").unwrap_or(&event))),
            _ => {}
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.end.is_some()
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn finish(self: Box<Self>) -> Result<ModelReply, StreamFault> {
        let Some(stop) = self.end else { return Err(StreamFault::Cut) };
        let mut reply = ModelReply {
            text: String::new(),
            thinking: String::new(),
            calls: Vec::new(),
            stop,
            usage: self.usage,
            raw: Vec::new(),
        };
        self.items.into_iter().for_each(|item| add(&mut reply, item));
        Ok(reply)
    }
}

impl ResponsesAnswer {
    fn end(&mut self, event: &Value, stop: StopReason) {
        self.count(event);
        // A server that streams no items still has them all in its last event.
        if self.items.is_empty()
            && let Some(output) = event.pointer("/response/output").and_then(Value::as_array)
        {
            self.items.extend(output.iter().take(ITEMS).cloned());
        }
        self.end = Some(stop);
    }

    fn count(&mut self, event: &Value) {
        let Some(usage) = event.pointer("/response/usage") else { return };
        let cached = counted(usage, "/input_tokens_details/cached_tokens").unwrap_or(0);
        self.usage = Usage {
            // Here the input includes what was read from the cache.
            input_tokens: counted(usage, "/input_tokens").unwrap_or(0).saturating_sub(cached),
            output_tokens: counted(usage, "/output_tokens").unwrap_or(0),
            cache_read_tokens: cached,
            cache_write_tokens: 0,
        };
    }
}

fn add(reply: &mut ModelReply, mut item: Value) {
    let pieces = |item: &Value, list: &str| -> String {
        let pieces = item.get(list).and_then(Value::as_array).into_iter().flatten();
        pieces.map(|piece| text(piece, "/text")).collect()
    };
    match text(&item, "/type") {
        "message" => reply.text.push_str(&pieces(&item, "content")),
        "reasoning" => {
            let summary = pieces(&item, "summary");
            reply.thinking.push_str(&if summary.is_empty() {
                pieces(&item, "content")
            } else {
                summary
            });
            // With `store: false` a reasoning item is of use only with its encrypted content.
            if item.get("encrypted_content").is_none_or(Value::is_null) {
                return;
            }
        }
        "function_call" => reply.calls.push(RequestedCall::new(
            text(&item, "/call_id"),
            text(&item, "/name"),
            text(&item, "/arguments"),
        )),
        _ => {}
    }
    // With `store: false` the server keeps no items, so their ids mean nothing to it.
    if let Some(fields) = item.as_object_mut() {
        fields.remove("id");
        fields.remove("status");
    }
    reply.raw.push(item);
}
