//! Anthropic Messages.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use spore_model::Usage;

use super::conversation::{
    AnswerReader, ConversationTurn, ModelReply, ModelRequest, RequestedCall, StopReason,
    StreamFault, counted, number, text,
};

/// More blocks than any answer has.
const BLOCKS: usize = 4096;

/// What does not change between calls is marked for the cache: the tools with the system
/// prompt, which come first, and the conversation up to the newest turn.
pub(super) fn body(ask: &ModelRequest<'_>) -> Value {
    let cached = json!({ "type": "ephemeral" });
    let tools: Vec<Value> = ask
        .tools
        .tools()
        .iter()
        .map(|tool| {
            json!({ "name": tool.name, "description": tool.description, "input_schema": tool.schema })
        })
        .collect();
    let mut messages: Vec<Value> = ask.turns.iter().map(message).collect();
    if let Some(block) = messages
        .last_mut()
        .and_then(|last| last.get_mut("content"))
        .and_then(Value::as_array_mut)
        .and_then(|blocks| blocks.last_mut())
    {
        block["cache_control"] = cached.clone();
    }
    let mut body = json!({
        "model": ask.model,
        "max_tokens": ask.max_output_tokens,
        "stream": true,
        "messages": messages,
    });
    if !ask.system.is_empty() {
        body["system"] = json!([{ "type": "text", "text": ask.system, "cache_control": cached }]);
    }
    if !tools.is_empty() {
        body["tools"] = Value::from(tools);
        if let Some(last) = body["tools"].as_array_mut().and_then(|tools| tools.last_mut()) {
            last["cache_control"] = cached;
        }
    }
    body
}

fn message(turn: &ConversationTurn) -> Value {
    match turn {
        ConversationTurn::Said(said) | ConversationTurn::Told(said) => {
            json!({ "role": "user", "content": [{ "type": "text", "text": said }] })
        }
        ConversationTurn::Replied(blocks) => json!({ "role": "assistant", "content": blocks }),
        ConversationTurn::Answered(answers) => {
            let blocks: Vec<Value> = answers
                .iter()
                .map(|answer| {
                    json!({
                        "type": "tool_result",
                        "tool_use_id": answer.id,
                        "content": answer.text,
                        "is_error": answer.is_error,
                    })
                })
                .collect();
            json!({ "role": "user", "content": blocks })
        }
    }
}

#[derive(Default)]
pub(super) struct MessagesAnswer {
    blocks: BTreeMap<u64, StreamedBlock>,
    stop: Option<String>,
    usage: Usage,
    is_complete: bool,
}

/// A content block as it started, and what was streamed into it since.
struct StreamedBlock {
    start: Value,
    text: String,
    signature: String,
}

impl AnswerReader for MessagesAnswer {
    fn take(&mut self, data: &str) -> Result<(), StreamFault> {
        let event: Value = serde_json::from_str(data).map_err(StreamFault::malformed)?;
        match text(&event, "/type") {
            "message_start" => self.count(event.pointer("/message/usage")),
            "content_block_start" if self.blocks.len() < BLOCKS => {
                let start = event.get("content_block").cloned().unwrap_or_default();
                let block = StreamedBlock { start, text: String::new(), signature: String::new() };
                self.blocks.insert(number(&event, "/index").unwrap_or(0), block);
            }
            "content_block_delta" => self.grow(&event)?,
            "message_delta" => {
                self.count(event.get("usage"));
                if let Some(stop) = event.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    self.stop = Some(stop.to_owned());
                }
            }
            "message_stop" => self.is_complete = true,
            "error" => return Err(StreamFault::reported(event.get("error").unwrap_or(&event))),
            _ => {}
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.is_complete
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn finish(self: Box<Self>) -> Result<ModelReply, StreamFault> {
        if !self.is_complete {
            return Err(StreamFault::Cut);
        }
        let stop = match self.stop.as_deref() {
            Some("end_turn" | "stop_sequence" | "tool_use") => StopReason::Done,
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::Length,
            Some("refusal") => StopReason::Refused,
            Some(other) => return Err(StreamFault::malformed(format!("it stopped for {other}"))),
            None => return Err(StreamFault::Cut),
        };
        let mut reply = ModelReply {
            text: String::new(),
            thinking: String::new(),
            calls: Vec::new(),
            stop,
            usage: self.usage,
            raw: Vec::new(),
        };
        self.blocks.into_values().for_each(|block| block.finish(&mut reply));
        Ok(reply)
    }
}

impl MessagesAnswer {
    fn grow(&mut self, event: &Value) -> Result<(), StreamFault> {
        let index = number(event, "/index").unwrap_or(0);
        let Some(block) = self.blocks.get_mut(&index) else {
            return Err(StreamFault::malformed("a piece of a block that never began"));
        };
        match text(event, "/delta/type") {
            "text_delta" => block.text.push_str(text(event, "/delta/text")),
            "thinking_delta" => block.text.push_str(text(event, "/delta/thinking")),
            "input_json_delta" => block.text.push_str(text(event, "/delta/partial_json")),
            "signature_delta" => block.signature.push_str(text(event, "/delta/signature")),
            _ => {}
        }
        Ok(())
    }

    /// The numbers are totals of this answer: a later one replaces an earlier one.
    fn count(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let kinds = [
            ("/input_tokens", &mut self.usage.input_tokens),
            ("/output_tokens", &mut self.usage.output_tokens),
            ("/cache_read_input_tokens", &mut self.usage.cache_read_tokens),
            ("/cache_creation_input_tokens", &mut self.usage.cache_write_tokens),
        ];
        for (pointer, kind) in kinds {
            *kind = counted(usage, pointer).unwrap_or(*kind);
        }
    }
}

impl StreamedBlock {
    fn finish(mut self, reply: &mut ModelReply) {
        match text(&self.start, "/type") {
            "text" => {
                let whole = format!("{}{}", text(&self.start, "/text"), self.text);
                // The API refuses an empty block that it sent itself.
                if whole.is_empty() {
                    return;
                }
                reply.text.push_str(&whole);
                self.start["text"] = Value::from(whole);
            }
            "thinking" => {
                let whole = format!("{}{}", text(&self.start, "/thinking"), self.text);
                reply.thinking.push_str(&whole);
                self.start["thinking"] = Value::from(whole);
                if !self.signature.is_empty() {
                    self.start["signature"] = Value::from(self.signature);
                }
            }
            "tool_use" => {
                let call = RequestedCall::new(
                    text(&self.start, "/id"),
                    text(&self.start, "/name"),
                    &self.text,
                );
                let input = call.arguments.clone().filter(Value::is_object);
                self.start["input"] = input.unwrap_or_else(|| json!({}));
                reply.calls.push(call);
            }
            _ => {}
        }
        reply.raw.push(self.start);
    }
}
