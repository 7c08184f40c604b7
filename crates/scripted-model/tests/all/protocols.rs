//! Each protocol, word for word: what a vendor's client reads is what the snapshots hold.

use insta::assert_snapshot;
use serde_json::{Value, json};
use spore_model::Usage;
use spore_scripted_model::{ModelScenario, ModelServer, Turn, TurnStop};

use crate::client::post;

fn scene() -> Turn {
    let usage = Usage {
        input_tokens: 100,
        cache_read_tokens: 20,
        cache_write_tokens: 3,
        output_tokens: 40,
    };
    Turn::silent()
        .thinking("A file is wanted.")
        .text("Writing it now.")
        .call("write_file", json!({"path": "a.txt", "content": "hi\n"}))
        .call_in("mcp__echo", "ping", json!({}))
        .usage(usage)
}

/// Plays the turn to this question and returns what came, as the client reads it.
#[track_caller]
fn answer(turn: Turn, target: &str, body: &Value) -> String {
    let server = ModelServer::start(ModelScenario::new().turn(turn)).unwrap();
    let answer = post(&server, target, body);
    assert_eq!((answer.status, answer.complete), (200, true), "{}", answer.body);
    assert!(server.unanswered().is_empty());
    match answer.header("content-type").unwrap() {
        "application/json" => serde_json::to_string_pretty(&answer.json()).unwrap(),
        _ => answer.body.trim_end().replace("\n\n", "\n"),
    }
}

fn messages(stream: bool) -> Value {
    json!({"model": "claude", "stream": stream, "max_tokens": 10,
           "messages": [{"role": "user", "content": "Make a file"}]})
}

fn responses(stream: bool) -> Value {
    json!({"model": "gpt", "stream": stream, "input": "Make a file"})
}

fn chat(stream: bool) -> Value {
    json!({"model": "qwen", "stream": stream,
           "messages": [{"role": "user", "content": "Make a file"}]})
}

fn gemini() -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": "Make a file"}]}]})
}

#[test]
fn anthropic_messages_are_streamed() {
    assert_snapshot!(answer(scene(), "/v1/messages?beta=true", &messages(true)));
}

#[test]
fn anthropic_messages_come_whole() {
    assert_snapshot!(answer(scene(), "/v1/messages", &messages(false)));
}

#[test]
fn openai_responses_are_streamed() {
    assert_snapshot!(answer(scene(), "/v1/responses", &responses(true)));
}

#[test]
fn openai_responses_come_whole() {
    assert_snapshot!(answer(scene(), "/responses", &responses(false)));
}

#[test]
fn a_free_form_tool_of_openai_gets_its_text() {
    let turn = Turn::calls("apply_patch", json!("*** Begin Patch"));
    assert_snapshot!(answer(turn, "/v1/responses", &responses(true)));
}

#[test]
fn chat_completions_are_streamed() {
    assert_snapshot!(answer(scene(), "/v1/chat/completions", &chat(true)), @r#"
    data: {"choices":[{"delta":{"content":"","role":"assistant"},"finish_reason":null,"index":0}],"created":0,"id":"chatcmpl-0001_b439638a","model":"qwen","object":"chat.completion.chunk"}
    data: {"choices":[{"delta":{"reasoning_content":"A file is wa"},"finish_reason":null,"index":0}],"created":0,"id":"chatcmpl-0001_b439638a","model":"qwen","object":"chat.completion.chunk"}
    data: {"choices":[{"delta":{"reasoning_content":"nted."},"finish_reason":null,"index":0}],"created":0,"id":"chatcmpl-0001_b439638a","model":"qwen","object":"chat.completion.chunk"}
    data: {"choices":[{"delta":{"content":"Writing it n"},"finish_reason":null,"index":0}],"created":0,"id":"chatcmpl-0001_b439638a","model":"qwen","object":"chat.completion.chunk"}
    data: {"choices":[{"delta":{"content":"ow."},"finish_reason":null,"index":0}],"created":0,"id":"chatcmpl-0001_b439638a","model":"qwen","object":"chat.completion.chunk"}
    data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"","name":"write_file"},"id":"call_0001_b439638a_2","index":0,"type":"function"}]},"finish_reason":null,"index":0}],"created":0,"id":"chatcmpl-0001_b439638a","model":"qwen","object":"chat.completion.chunk"}
    data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{\"content\":\""},"index":0}]},"finish_reason":null,"index":0}],"created":0,"id":"chatcmpl-0001_b439638a","model":"qwen","object":"chat.completion.chunk"}
    data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"hi\\n\",\"path\""},"index":0}]},"finish_reason":null,"index":0}],"created":0,"id":"chatcmpl-0001_b439638a","model":"qwen","object":"chat.completion.chunk"}
    data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":\"a.txt\"}"},"index":0}]},"finish_reason":null,"index":0}],"created":0,"id":"chatcmpl-0001_b439638a","model":"qwen","object":"chat.completion.chunk"}
    data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"","name":"ping"},"id":"call_0001_b439638a_3","index":1,"type":"function"}]},"finish_reason":null,"index":0}],"created":0,"id":"chatcmpl-0001_b439638a","model":"qwen","object":"chat.completion.chunk"}
    data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{}"},"index":1}]},"finish_reason":null,"index":0}],"created":0,"id":"chatcmpl-0001_b439638a","model":"qwen","object":"chat.completion.chunk"}
    data: {"choices":[{"delta":{},"finish_reason":"tool_calls","index":0}],"created":0,"id":"chatcmpl-0001_b439638a","model":"qwen","object":"chat.completion.chunk"}
    data: [DONE]
    "#);
}

#[test]
fn chat_completions_tell_their_usage_when_asked() {
    let mut body = chat(true);
    body["stream_options"] = json!({"include_usage": true});
    assert_snapshot!(answer(Turn::says("Yes."), "/chat/completions", &body), @r#"
    data: {"choices":[{"delta":{"content":"","role":"assistant"},"finish_reason":null,"index":0}],"created":0,"id":"chatcmpl-0001_45dfb53d","model":"qwen","object":"chat.completion.chunk","usage":null}
    data: {"choices":[{"delta":{"content":"Yes."},"finish_reason":null,"index":0}],"created":0,"id":"chatcmpl-0001_45dfb53d","model":"qwen","object":"chat.completion.chunk","usage":null}
    data: {"choices":[{"delta":{},"finish_reason":"stop","index":0}],"created":0,"id":"chatcmpl-0001_45dfb53d","model":"qwen","object":"chat.completion.chunk","usage":null}
    data: {"choices":[],"created":0,"id":"chatcmpl-0001_45dfb53d","model":"qwen","object":"chat.completion.chunk","usage":{"completion_tokens":1,"prompt_tokens":31,"prompt_tokens_details":{"cached_tokens":0},"total_tokens":32}}
    data: [DONE]
    "#);
}

#[test]
fn chat_completions_come_whole() {
    assert_snapshot!(answer(scene(), "/chat/completions", &chat(false)));
}

#[test]
fn gemini_is_streamed() {
    let target = "/v1beta/models/flash:streamGenerateContent?alt=sse";
    assert_snapshot!(answer(scene(), target, &gemini()), @r#"
    data: {"candidates":[{"content":{"parts":[{"text":"A file is wa","thought":true}],"role":"model"},"index":0}],"modelVersion":"flash","responseId":"0001_f01e3fa0","usageMetadata":{"cachedContentTokenCount":20,"candidatesTokenCount":0,"promptTokenCount":123,"totalTokenCount":123}}
    data: {"candidates":[{"content":{"parts":[{"text":"nted.","thought":true}],"role":"model"},"index":0}],"modelVersion":"flash","responseId":"0001_f01e3fa0","usageMetadata":{"cachedContentTokenCount":20,"candidatesTokenCount":0,"promptTokenCount":123,"totalTokenCount":123}}
    data: {"candidates":[{"content":{"parts":[{"text":"Writing it n"}],"role":"model"},"index":0}],"modelVersion":"flash","responseId":"0001_f01e3fa0","usageMetadata":{"cachedContentTokenCount":20,"candidatesTokenCount":0,"promptTokenCount":123,"totalTokenCount":123}}
    data: {"candidates":[{"content":{"parts":[{"text":"ow."}],"role":"model"},"index":0}],"modelVersion":"flash","responseId":"0001_f01e3fa0","usageMetadata":{"cachedContentTokenCount":20,"candidatesTokenCount":0,"promptTokenCount":123,"totalTokenCount":123}}
    data: {"candidates":[{"content":{"parts":[{"functionCall":{"args":{"content":"hi\n","path":"a.txt"},"id":"0001_f01e3fa0_2","name":"write_file"}}],"role":"model"},"index":0}],"modelVersion":"flash","responseId":"0001_f01e3fa0","usageMetadata":{"cachedContentTokenCount":20,"candidatesTokenCount":0,"promptTokenCount":123,"totalTokenCount":123}}
    data: {"candidates":[{"content":{"parts":[{"functionCall":{"args":{},"id":"0001_f01e3fa0_3","name":"ping"}}],"role":"model"},"finishReason":"STOP","index":0}],"modelVersion":"flash","responseId":"0001_f01e3fa0","usageMetadata":{"cachedContentTokenCount":20,"candidatesTokenCount":40,"promptTokenCount":123,"totalTokenCount":163}}
    "#);
}

#[test]
fn gemini_comes_whole() {
    assert_snapshot!(answer(scene(), "/v1beta/models/flash:generateContent", &gemini()));
}

#[test]
fn gemini_without_events_is_an_array() {
    let target = "/v1beta/models/flash:streamGenerateContent";
    let text = answer(Turn::says("one two three four"), target, &gemini());
    let chunks: Vec<Value> = serde_json::from_str(&text).unwrap();
    let said: Vec<_> =
        chunks.iter().map(|chunk| &chunk["candidates"][0]["content"]["parts"][0]["text"]).collect();
    assert_eq!(said, ["one two thre", "e four"]);
}

#[test]
fn every_reason_to_stop_has_its_word_in_every_dialect() {
    let mut words = String::new();
    for stop in [TurnStop::EndTurn, TurnStop::ToolUse, TurnStop::MaxTokens, TurnStop::Refusal] {
        let said = |target: &str, body: &Value| -> Value {
            let text = answer(Turn::says("So").stop(stop), target, body);
            serde_json::from_str(&text).unwrap()
        };
        let messages = said("/v1/messages", &messages(false));
        let responses = said("/responses", &responses(false));
        let chat = said("/chat/completions", &chat(false));
        let gemini = said("/v1beta/models/flash:generateContent", &gemini());
        words.push_str(&format!(
            "{stop:?}: {} {} {} {} {}\n",
            messages["stop_reason"],
            responses["status"],
            responses["incomplete_details"],
            chat["choices"][0]["finish_reason"],
            gemini["candidates"][0]["finishReason"],
        ));
    }
    assert_snapshot!(words, @r#"
    EndTurn: "end_turn" "completed" null "stop" "STOP"
    ToolUse: "tool_use" "completed" null "tool_calls" "STOP"
    MaxTokens: "max_tokens" "incomplete" {"reason":"max_output_tokens"} "length" "MAX_TOKENS"
    Refusal: "refusal" "incomplete" {"reason":"content_filter"} "content_filter" "SAFETY"
    "#);
}
