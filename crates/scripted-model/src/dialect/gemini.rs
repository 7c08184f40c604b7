//! Gemini's generateContent.

use serde_json::{Value, json};

use super::{ScriptedReply, Speaker, Spoken, SseFrame, plain};
use crate::turn::{TurnStop, VendorRefusal};

pub(super) fn said(body: &Value) -> Vec<(Speaker, String)> {
    let parts = |content: &Value| content["parts"].as_array().cloned().unwrap_or_default();
    let system = [&body["systemInstruction"], &body["system_instruction"]].into_iter();
    let mut said: Vec<_> =
        system.flat_map(parts).map(|part| (Speaker::System, plain(&part))).collect();
    for content in body["contents"].as_array().into_iter().flatten() {
        let model = content["role"] == "model";
        said.extend(parts(content).iter().map(|part| match &part["functionResponse"] {
            _ if model => (Speaker::Model, String::new()),
            Value::Null => (Speaker::User, plain(part)),
            answer => (Speaker::Tool, response_text(&answer["response"])),
        }));
    }
    said
}

/// Clients wrap a tool's words in `output` or `error`; anything else is kept as it is.
fn response_text(response: &Value) -> String {
    let words = [&response["output"], &response["error"]];
    let words = words.into_iter().find_map(Value::as_str);
    words.map_or_else(|| response.to_string(), str::to_owned)
}

pub(super) fn whole(reply: &ScriptedReply<'_>) -> Value {
    let parts = reply.spoken.iter().map(|spoken| match spoken {
        Spoken::Thinking(pieces) => thought(&pieces.concat()),
        Spoken::Text(pieces) => json!({ "text": pieces.concat() }),
        Spoken::Call { id, name, input, .. } => call(id, name, input),
    });
    chunk(reply, parts.collect(), Some(finish_word(reply.stop)))
}

pub(super) fn frames(reply: &ScriptedReply<'_>) -> Vec<SseFrame> {
    let mut parts = Vec::new();
    for spoken in reply.spoken {
        match spoken {
            Spoken::Thinking(pieces) => parts.extend(pieces.iter().map(|piece| thought(piece))),
            Spoken::Text(pieces) => {
                parts.extend(pieces.iter().map(|piece| json!({ "text": piece })));
            }
            Spoken::Call { id, name, input, .. } => parts.push(call(id, name, input)),
        }
    }
    let last = parts.pop().unwrap_or_else(|| json!({ "text": "" }));
    let mut frames: Vec<SseFrame> =
        parts.into_iter().map(|part| SseFrame::bare(&chunk(reply, vec![part], None))).collect();
    frames.push(SseFrame::bare(&chunk(reply, vec![last], Some(finish_word(reply.stop)))));
    frames
}

pub(super) fn refusal(refusal: &VendorRefusal) -> Value {
    let status = refusal.kind.as_deref().unwrap_or(match refusal.status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        400..500 => "INVALID_ARGUMENT",
        503 | 529 => "UNAVAILABLE",
        _ => "INTERNAL",
    });
    let mut error = json!({ "code": refusal.status, "message": refusal.words(), "status": status });
    if let Some(seconds) = refusal.retry_after {
        error["details"] = json!([{
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": format!("{seconds}s"),
        }]);
    }
    json!({ "error": error })
}

fn chunk(reply: &ScriptedReply<'_>, parts: Vec<Value>, finish: Option<&str>) -> Value {
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    let counted = reply.usage;
    let prompt = counted.input_tokens + counted.cache_read_tokens + counted.cache_write_tokens;
    // Until the end only the prompt is counted, as the vendor does it.
    let output = if finish.is_some() { counted.output_tokens } else { 0 };
    json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": prompt,
            "cachedContentTokenCount": counted.cache_read_tokens,
            "candidatesTokenCount": output,
            "totalTokenCount": prompt + output,
        },
        "modelVersion": reply.model,
        "responseId": reply.id,
    })
}

fn thought(text: &str) -> Value {
    json!({ "text": text, "thought": true })
}

fn call(id: &str, name: &str, input: &Value) -> Value {
    json!({ "functionCall": { "id": id, "name": name, "args": input } })
}

fn finish_word(stop: TurnStop) -> &'static str {
    match stop {
        TurnStop::EndTurn | TurnStop::ToolUse => "STOP",
        TurnStop::MaxTokens => "MAX_TOKENS",
        TurnStop::Refusal => "SAFETY",
    }
}
