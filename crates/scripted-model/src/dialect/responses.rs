//! OpenAI Responses, as Codex asks for it.

use serde_json::{Value, json};

use super::{ScriptedReply, Speaker, Spoken, SseFrame, plain};
use crate::turn::{TurnStop, VendorRefusal};

pub(super) fn said(body: &Value) -> Vec<(Speaker, String)> {
    let mut said = vec![(Speaker::System, plain(&body["instructions"]))];
    if let Value::String(text) = &body["input"] {
        said.push((Speaker::User, text.clone()));
    }
    for item in body["input"].as_array().into_iter().flatten() {
        let kind = item["type"].as_str().unwrap_or("message");
        said.push(match (kind, item["role"].as_str()) {
            ("message", Some("system" | "developer")) => (Speaker::System, plain(&item["content"])),
            ("message", Some("user")) => (Speaker::User, plain(&item["content"])),
            _ if kind.ends_with("_output") => (Speaker::Tool, plain(&item["output"])),
            _ => (Speaker::Model, String::new()),
        });
    }
    said
}

pub(super) fn whole(reply: &ScriptedReply<'_>) -> Value {
    response(reply, last_status(reply.stop), items(reply), usage(reply))
}

pub(super) fn frames(reply: &ScriptedReply<'_>) -> Vec<SseFrame> {
    let open = response(reply, "in_progress", Vec::new(), Value::Null);
    let mut events = vec![
        json!({ "type": "response.created", "response": open }),
        json!({ "type": "response.in_progress", "response": open }),
    ];
    for (index, spoken) in reply.spoken.iter().enumerate() {
        let item = item(reply, index, spoken);
        events.push(json!({
            "type": "response.output_item.added", "output_index": index,
            "item": opening(&item),
        }));
        events.extend(inside(index, spoken, &item));
        events.push(json!({
            "type": "response.output_item.done", "output_index": index, "item": item,
        }));
    }
    let status = last_status(reply.stop);
    events.push(json!({ "type": format!("response.{status}"), "response": whole(reply) }));
    numbered(events)
}

pub(super) fn failed(reply: &ScriptedReply<'_>, sent: usize, refusal: &VendorRefusal) -> SseFrame {
    let mut response = response(reply, "failed", Vec::new(), Value::Null);
    let error = super::chat::refusal(refusal);
    let code = refusal.kind.clone().map_or_else(|| error["error"]["code"].clone(), Value::from);
    response["error"] = json!({ "code": code, "message": refusal.words() });
    SseFrame::typed(&json!({
        "type": "response.failed", "response": response, "sequence_number": sent,
    }))
}

fn numbered(events: Vec<Value>) -> Vec<SseFrame> {
    let number = |(number, mut event): (usize, Value)| {
        event["sequence_number"] = json!(number);
        SseFrame::typed(&event)
    };
    events.into_iter().enumerate().map(number).collect()
}

fn last_status(stop: TurnStop) -> &'static str {
    match stop {
        TurnStop::EndTurn | TurnStop::ToolUse => "completed",
        TurnStop::MaxTokens | TurnStop::Refusal => "incomplete",
    }
}

fn response(reply: &ScriptedReply<'_>, status: &str, output: Vec<Value>, usage: Value) -> Value {
    let incomplete = match (status, reply.stop) {
        ("incomplete", TurnStop::MaxTokens) => json!({ "reason": "max_output_tokens" }),
        ("incomplete", _) => json!({ "reason": "content_filter" }),
        _ => Value::Null,
    };
    json!({
        "id": format!("resp_{}", reply.id),
        "object": "response",
        "created_at": 0,
        "status": status,
        "model": reply.model,
        "output": output,
        "error": null,
        "incomplete_details": incomplete,
        "usage": usage,
    })
}

fn usage(reply: &ScriptedReply<'_>) -> Value {
    let counted = reply.usage;
    let input = counted.input_tokens + counted.cache_read_tokens + counted.cache_write_tokens;
    json!({
        "input_tokens": input,
        "input_tokens_details": { "cached_tokens": counted.cache_read_tokens },
        "output_tokens": counted.output_tokens,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": input + counted.output_tokens,
    })
}

fn items(reply: &ScriptedReply<'_>) -> Vec<Value> {
    let each = reply.spoken.iter().enumerate();
    each.map(|(index, spoken)| item(reply, index, spoken)).collect()
}

fn item(reply: &ScriptedReply<'_>, index: usize, spoken: &Spoken) -> Value {
    let own_id = |kind: &str| format!("{kind}_{}_{index}", reply.id);
    let mut item = match spoken {
        Spoken::Thinking(pieces) => json!({
            "type": "reasoning", "id": own_id("rs"), "summary": [summary(&pieces.concat())],
        }),
        Spoken::Text(pieces) => json!({
            "type": "message", "id": own_id("msg"), "status": "completed", "role": "assistant",
            "content": [output_text(&pieces.concat())],
        }),
        Spoken::Call { id, name, input: Value::String(text), .. } => json!({
            "type": "custom_tool_call", "id": own_id("ctc"), "status": "completed",
            "call_id": format!("call_{id}"), "name": name, "input": text,
        }),
        Spoken::Call { id, name, input, .. } => json!({
            "type": "function_call", "id": own_id("fc"), "status": "completed",
            "call_id": format!("call_{id}"), "name": name, "arguments": input.to_string(),
        }),
    };
    if let Spoken::Call { namespace: Some(namespace), .. } = spoken {
        item["namespace"] = json!(namespace);
    }
    item
}

/// An item as it is before anything was said in it.
fn opening(item: &Value) -> Value {
    let mut item = item.clone();
    for (field, empty) in [
        ("summary", json!([])),
        ("content", json!([])),
        ("arguments", json!("")),
        ("input", json!("")),
        ("status", json!("in_progress")),
    ] {
        if !item[field].is_null() {
            item[field] = empty;
        }
    }
    item
}

fn output_text(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [] })
}

fn summary(text: &str) -> Value {
    json!({ "type": "summary_text", "text": text })
}

/// The events between an item's beginning and its end.
fn inside(index: usize, spoken: &Spoken, item: &Value) -> Vec<Value> {
    let (stem, place, done, pieces) = match spoken {
        Spoken::Thinking(pieces) => {
            ("reasoning_summary_text", Some("summary_index"), "text", pieces)
        }
        Spoken::Text(pieces) => ("output_text", Some("content_index"), "text", pieces),
        Spoken::Call { input: Value::String(_), pieces, .. } => {
            ("custom_tool_call_input", None, "input", pieces)
        }
        Spoken::Call { pieces, .. } => ("function_call_arguments", None, "arguments", pieces),
    };
    let event = |kind: String, field: &str, value: Value| {
        let mut event = json!({
            "type": kind, "item_id": item["id"], "output_index": index, field: value,
        });
        if let Some(place) = place {
            event[place] = json!(0);
        }
        event
    };
    let deltas =
        pieces.iter().map(|piece| event(format!("response.{stem}.delta"), "delta", json!(piece)));
    let last = event(format!("response.{stem}.done"), done, json!(pieces.concat()));
    let events = deltas.chain([last]);
    let (part, full, empty) = match spoken {
        Spoken::Thinking(_) => ("reasoning_summary_part", summary(&pieces.concat()), summary("")),
        Spoken::Text(_) => ("content_part", output_text(&pieces.concat()), output_text("")),
        Spoken::Call { .. } => return events.collect(),
    };
    let added = event(format!("response.{part}.added"), "part", empty);
    let finished = event(format!("response.{part}.done"), "part", full);
    [added].into_iter().chain(events).chain([finished]).collect()
}
