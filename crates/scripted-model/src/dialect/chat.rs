//! OpenAI Chat Completions.

use serde_json::{Value, json};

use super::{ScriptedReply, Speaker, Spoken, SseFrame, append, plain};
use crate::turn::{TurnStop, VendorRefusal};

pub(super) fn said(body: &Value) -> Vec<(Speaker, String)> {
    let speaker = |message: &Value| match message["role"].as_str() {
        Some("system" | "developer") => Speaker::System,
        Some("assistant") => Speaker::Model,
        Some("tool" | "function") => Speaker::Tool,
        _ => Speaker::User,
    };
    let messages = body["messages"].as_array().into_iter().flatten();
    messages.map(|message| (speaker(message), plain(&message["content"]))).collect()
}

pub(super) fn whole(reply: &ScriptedReply<'_>) -> Value {
    let (mut text, mut thinking, mut calls) = (String::new(), String::new(), Vec::new());
    for spoken in reply.spoken {
        match spoken {
            Spoken::Thinking(pieces) => append(&mut thinking, &pieces.concat()),
            Spoken::Text(pieces) => append(&mut text, &pieces.concat()),
            Spoken::Call { id, name, pieces, .. } => {
                calls.push(call(id, name, &pieces.concat()));
            }
        }
    }
    let content = if text.is_empty() { Value::Null } else { json!(text) };
    let mut message = json!({ "role": "assistant", "content": content });
    if !thinking.is_empty() {
        message["reasoning_content"] = json!(thinking);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let choice =
        json!({ "index": 0, "message": message, "finish_reason": finish_word(reply.stop) });
    let mut whole = completion(reply, "chat.completion", json!([choice]));
    whole["usage"] = usage(reply);
    whole
}

pub(super) fn frames(reply: &ScriptedReply<'_>) -> Vec<SseFrame> {
    let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
    let mut calls = 0;
    for spoken in reply.spoken {
        match spoken {
            Spoken::Thinking(pieces) => {
                deltas.extend(pieces.iter().map(|piece| json!({ "reasoning_content": piece })));
            }
            Spoken::Text(pieces) => {
                deltas.extend(pieces.iter().map(|piece| json!({ "content": piece })));
            }
            Spoken::Call { id, name, pieces, .. } => {
                let mut opening = call(id, name, "");
                opening["index"] = json!(calls);
                deltas.push(json!({ "tool_calls": [opening] }));
                deltas.extend(pieces.iter().map(|piece| {
                    json!({ "tool_calls": [
                        { "index": calls, "function": { "arguments": piece } },
                    ] })
                }));
                calls += 1;
            }
        }
    }
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        let mut chunk = completion(reply, "chat.completion.chunk", json!([choice]));
        if reply.wants_usage {
            chunk["usage"] = Value::Null;
        }
        SseFrame::bare(&chunk)
    };
    let mut frames: Vec<SseFrame> =
        deltas.into_iter().map(|delta| chunk(delta, Value::Null)).collect();
    frames.push(chunk(json!({}), json!(finish_word(reply.stop))));
    if reply.wants_usage {
        let mut last = completion(reply, "chat.completion.chunk", json!([]));
        last["usage"] = usage(reply);
        frames.push(SseFrame::bare(&last));
    }
    frames.push(SseFrame { event: None, data: "[DONE]".to_owned() });
    frames
}

pub(super) fn refusal(refusal: &VendorRefusal) -> Value {
    let (kind, code) = match refusal.status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        404 => ("invalid_request_error", Some("model_not_found")),
        429 => ("requests", Some("rate_limit_exceeded")),
        400..500 => ("invalid_request_error", None),
        503 | 529 => ("server_error", Some("server_is_overloaded")),
        _ => ("server_error", Some("server_error")),
    };
    let kind = refusal.kind.as_deref().unwrap_or(kind);
    json!({ "error": {
        "message": refusal.words(), "type": kind, "param": null, "code": code,
    } })
}

fn completion(reply: &ScriptedReply<'_>, object: &str, choices: Value) -> Value {
    json!({
        "id": format!("chatcmpl-{}", reply.id),
        "object": object,
        "created": 0,
        "model": reply.model,
        "choices": choices,
    })
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({
        "id": format!("call_{id}"),
        "type": "function",
        "function": { "name": name, "arguments": arguments },
    })
}

fn usage(reply: &ScriptedReply<'_>) -> Value {
    let counted = reply.usage;
    let prompt = counted.input_tokens + counted.cache_read_tokens + counted.cache_write_tokens;
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": counted.output_tokens,
        "total_tokens": prompt + counted.output_tokens,
        "prompt_tokens_details": { "cached_tokens": counted.cache_read_tokens },
    })
}

fn finish_word(stop: TurnStop) -> &'static str {
    match stop {
        TurnStop::EndTurn => "stop",
        TurnStop::ToolUse => "tool_calls",
        TurnStop::MaxTokens => "length",
        TurnStop::Refusal => "content_filter",
    }
}
