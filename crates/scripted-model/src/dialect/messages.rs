//! Anthropic Messages.

use serde_json::{Value, json};

use super::{ScriptedReply, Speaker, Spoken, SseFrame, plain};
use crate::turn::{TurnStop, VendorRefusal};

/// Clients hand a thinking block back with its signature and never read it.
const SIGNATURE: &str = "c2lnbmVk";

pub(super) fn said(body: &Value) -> Vec<(Speaker, String)> {
    let mut said = vec![(Speaker::System, plain(&body["system"]))];
    for message in body["messages"].as_array().into_iter().flatten() {
        let content = &message["content"];
        match (message["role"].as_str(), content) {
            (Some("assistant"), _) => said.push((Speaker::Model, plain(content))),
            (Some("system"), _) => said.push((Speaker::System, plain(content))),
            (_, Value::Array(blocks)) => said.extend(blocks.iter().map(|block| {
                let tool = block["type"] == "tool_result";
                (if tool { Speaker::Tool } else { Speaker::User }, plain(block))
            })),
            _ => said.push((Speaker::User, plain(content))),
        }
    }
    said
}

pub(super) fn whole(reply: &ScriptedReply<'_>) -> Value {
    let content: Vec<Value> = reply.spoken.iter().map(block).collect();
    message(reply, content, json!(stop_word(reply.stop)), reply.usage.output_tokens)
}

pub(super) fn frames(reply: &ScriptedReply<'_>) -> Vec<SseFrame> {
    let start = message(reply, Vec::new(), Value::Null, 1);
    let mut frames = vec![SseFrame::typed(&json!({ "type": "message_start", "message": start }))];
    for (index, spoken) in reply.spoken.iter().enumerate() {
        frames.push(SseFrame::typed(&json!({
            "type": "content_block_start", "index": index, "content_block": opening(spoken),
        })));
        if index == 0 {
            frames.push(SseFrame::typed(&json!({ "type": "ping" })));
        }
        for delta in deltas(spoken) {
            frames.push(SseFrame::typed(&json!({
                "type": "content_block_delta", "index": index, "delta": delta,
            })));
        }
        frames.push(SseFrame::typed(&json!({ "type": "content_block_stop", "index": index })));
    }
    frames.push(SseFrame::typed(&json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop_word(reply.stop), "stop_sequence": null },
        "usage": usage(reply, reply.usage.output_tokens),
    })));
    frames.push(SseFrame::typed(&json!({ "type": "message_stop" })));
    frames
}

pub(super) fn refusal(refusal: &VendorRefusal) -> Value {
    let kind = refusal.kind.as_deref().unwrap_or(match refusal.status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..500 => "invalid_request_error",
        _ => "api_error",
    });
    json!({
        "type": "error",
        "error": { "type": kind, "message": refusal.words() },
        "request_id": "req_scripted",
    })
}

fn message(reply: &ScriptedReply<'_>, content: Vec<Value>, stop: Value, output: u64) -> Value {
    json!({
        "id": format!("msg_{}", reply.id),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": null,
        "usage": usage(reply, output),
    })
}

fn usage(reply: &ScriptedReply<'_>, output: u64) -> Value {
    json!({
        "input_tokens": reply.usage.input_tokens,
        "cache_creation_input_tokens": reply.usage.cache_write_tokens,
        "cache_read_input_tokens": reply.usage.cache_read_tokens,
        "output_tokens": output,
    })
}

fn block(spoken: &Spoken) -> Value {
    match spoken {
        Spoken::Thinking(pieces) => {
            json!({ "type": "thinking", "thinking": pieces.concat(), "signature": SIGNATURE })
        }
        Spoken::Text(pieces) => json!({ "type": "text", "text": pieces.concat() }),
        Spoken::Call { id, name, input, .. } => json!({
            "type": "tool_use", "id": format!("toolu_{id}"), "name": name, "input": input,
        }),
    }
}

/// A block as it is before anything was said in it.
fn opening(spoken: &Spoken) -> Value {
    match spoken {
        Spoken::Thinking(_) => json!({ "type": "thinking", "thinking": "", "signature": "" }),
        Spoken::Text(_) => json!({ "type": "text", "text": "" }),
        Spoken::Call { id, name, .. } => json!({
            "type": "tool_use", "id": format!("toolu_{id}"), "name": name, "input": {},
        }),
    }
}

fn deltas(spoken: &Spoken) -> Vec<Value> {
    let each = |pieces: &[String], kind: &str, field: &str| -> Vec<Value> {
        pieces.iter().map(|piece| json!({ "type": kind, field: piece })).collect()
    };
    match spoken {
        Spoken::Thinking(pieces) => {
            let mut deltas = each(pieces, "thinking_delta", "thinking");
            deltas.push(json!({ "type": "signature_delta", "signature": SIGNATURE }));
            deltas
        }
        Spoken::Text(pieces) => each(pieces, "text_delta", "text"),
        Spoken::Call { pieces, .. } => {
            // The first one is empty: clients must not parse a piece on its own.
            let mut deltas = each(&[String::new()], "input_json_delta", "partial_json");
            deltas.extend(each(pieces, "input_json_delta", "partial_json"));
            deltas
        }
    }
}

fn stop_word(stop: TurnStop) -> &'static str {
    match stop {
        TurnStop::EndTurn => "end_turn",
        TurnStop::ToolUse => "tool_use",
        TurnStop::MaxTokens => "max_tokens",
        TurnStop::Refusal => "refusal",
    }
}
