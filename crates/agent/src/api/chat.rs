//! OpenAI Chat Completions, which llama.cpp, Ollama and most others speak too.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use spore_model::Usage;

use super::conversation::{
    AnswerReader, ConversationTurn, ModelReply, ModelRequest, RequestedCall, StopReason,
    StreamFault, counted, number, text,
};

const CALLS: usize = 256;

pub(super) fn body(ask: &ModelRequest<'_>) -> Value {
    let mut messages = Vec::new();
    if !ask.system.is_empty() {
        messages.push(json!({ "role": "system", "content": ask.system }));
    }
    for turn in ask.turns {
        match turn {
            ConversationTurn::Said(said) | ConversationTurn::Told(said) => {
                messages.push(json!({ "role": "user", "content": said }))
            }
            ConversationTurn::Replied(replied) => messages.extend(replied.iter().cloned()),
            ConversationTurn::Answered(answers) => messages.extend(answers.iter().map(|answer| {
                let content = if answer.is_error {
                    format!("error: {}", answer.text)
                } else {
                    answer.text.clone()
                };
                json!({ "role": "tool", "tool_call_id": answer.id, "content": content })
            })),
        }
    }
    let tools: Vec<Value> = ask
        .tools
        .tools()
        .iter()
        .map(|tool| {
            json!({ "type": "function", "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema,
            } })
        })
        .collect();
    let mut body = json!({
        "model": ask.model,
        "max_completion_tokens": ask.max_output_tokens,
        "stream": true,
        "stream_options": { "include_usage": true },
        "messages": messages,
    });
    if !tools.is_empty() {
        body["tools"] = Value::from(tools);
    }
    for (name, value) in &ask.more {
        body[*name] = value.clone();
    }
    body
}

#[derive(Default)]
pub(super) struct ChatAnswer {
    text: String,
    thinking: String,
    calls: BTreeMap<u64, StreamedCall>,
    stop: Option<String>,
    usage: Usage,
    is_complete: bool,
}

#[derive(Default)]
struct StreamedCall {
    id: String,
    name: String,
    arguments: String,
}

impl AnswerReader for ChatAnswer {
    fn take(&mut self, data: &str) -> Result<(), StreamFault> {
        if data == "[DONE]" {
            self.is_complete = true;
            return Ok(());
        }
        let chunk: Value = serde_json::from_str(data).map_err(StreamFault::malformed)?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(StreamFault::reported(error));
        }
        self.count(&chunk);
        let Some(choice) = chunk.pointer("/choices/0") else { return Ok(()) };
        self.text.push_str(text(choice, "/delta/content"));
        // Two spellings of what no specification has.
        self.thinking.push_str(text(choice, "/delta/reasoning_content"));
        self.thinking.push_str(text(choice, "/delta/reasoning"));
        let pieces = choice.pointer("/delta/tool_calls").and_then(Value::as_array);
        for (place, piece) in pieces.into_iter().flatten().enumerate() {
            let index = number(piece, "/index").unwrap_or(place as u64);
            if self.calls.len() >= CALLS && !self.calls.contains_key(&index) {
                return Err(StreamFault::malformed("there is no end of tool calls"));
            }
            let call = self.calls.entry(index).or_default();
            call.id.push_str(text(piece, "/id"));
            call.name.push_str(text(piece, "/function/name"));
            call.arguments.push_str(text(piece, "/function/arguments"));
        }
        if let Some(stop) = choice.get("finish_reason").and_then(Value::as_str) {
            self.stop = Some(stop.to_owned());
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
            Some("stop" | "tool_calls" | "function_call") => StopReason::Done,
            Some("length") => StopReason::Length,
            Some("content_filter") => StopReason::Refused,
            Some(other) => return Err(StreamFault::malformed(format!("it stopped for {other}"))),
            None => return Err(StreamFault::Cut),
        };
        let mut sent = json!({ "role": "assistant", "content": self.text });
        let mut calls = Vec::new();
        let mut raw_calls = Vec::new();
        for (index, streamed) in self.calls {
            // Small servers forget the id; the answer needs one.
            let id = match streamed.id.as_str() {
                "" => format!("call_{index}"),
                id => id.to_owned(),
            };
            let call = RequestedCall::new(&id, &streamed.name, &streamed.arguments);
            let arguments = call.arguments.clone().unwrap_or_else(|| json!({})).to_string();
            raw_calls.push(json!({ "id": id, "type": "function", "function": {
                "name": streamed.name, "arguments": arguments,
            } }));
            calls.push(call);
        }
        if !raw_calls.is_empty() {
            sent["tool_calls"] = Value::from(raw_calls);
        }
        let (text, thinking, usage) = (self.text, self.thinking, self.usage);
        Ok(ModelReply { text, thinking, calls, stop, usage, raw: vec![sent] })
    }
}

impl ChatAnswer {
    fn count(&mut self, chunk: &Value) {
        let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) else { return };
        let cached = counted(usage, "/prompt_tokens_details/cached_tokens").unwrap_or(0);
        self.usage = Usage {
            input_tokens: counted(usage, "/prompt_tokens").unwrap_or(0).saturating_sub(cached),
            output_tokens: counted(usage, "/completion_tokens").unwrap_or(0),
            cache_read_tokens: cached,
            cache_write_tokens: 0,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text, and each call as `id name`.
    #[track_caller]
    fn check(chunks: &[Value], expected: Result<&[&str], StreamFault>) {
        let mut answer = Box::<ChatAnswer>::default();
        for chunk in chunks {
            answer.take(&chunk.to_string()).unwrap();
        }
        answer.take("[DONE]").unwrap();
        let found = answer.finish().map(|reply| {
            let calls = reply.calls.iter().map(|call| format!("{} {}", call.id, call.name));
            std::iter::once(reply.text.clone()).chain(calls).collect::<Vec<_>>()
        });
        let expected =
            expected.map(|words| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        assert_eq!(found, expected);
    }

    #[test]
    fn a_call_without_id_index_or_its_own_stop_word_is_still_a_call() {
        let call = json!({ "function": { "name": "read", "arguments": "{}" } });
        let chunk = json!({ "choices": [{ "delta": { "tool_calls": [call] } }] });
        let end = json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] });
        check(&[chunk, end], Ok(&["", "call_0 read"]));
    }

    #[test]
    fn an_end_without_a_reason_is_no_end() {
        check(&[json!({ "choices": [{ "delta": { "content": "half" } }] })], Err(StreamFault::Cut));
    }

    #[test]
    fn arguments_that_are_not_json_are_kept_apart() {
        assert_eq!(RequestedCall::new("1", "read", "{\"path\": ").arguments, None);
        assert_eq!(RequestedCall::new("1", "read", " ").arguments, Some(json!({})));
    }
}
