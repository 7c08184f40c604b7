//! Nothing is executed that was not a whole, valid call: over answers that two real models gave,
//! and over seeded random ones.
//!
//! A few random ones are made each time; `SPORE_FUZZ_CASES=1000000` asks for more, and `fuzz` has
//! the same check as a fuzz target.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]
#![expect(clippy::unwrap_used, reason = "a test that cannot read its own files has failed")]

mod written;

use serde_json::Value;
use spore_tools::written::read;

use self::written::{check_answer, tools};

const CASES: u64 = 12_000;

/// What Qwen2.5-Coder-1.5B-Instruct and SmolLM2-135M-Instruct answered to small tasks, told in
/// several ways how to call a tool.
const RECORDED: [(&str, &str); 2] = [
    ("qwen2.5-coder-1.5b", include_str!("written/qwen.jsonl")),
    ("smollm2-135m", include_str!("written/smollm2.jsonl")),
];

#[test]
fn recorded_answers_of_real_models_are_read_strictly() {
    let mut shown = String::new();
    let mut count = 0;
    for (model, lines) in RECORDED {
        for line in lines.lines() {
            let recorded: Value = serde_json::from_str(line).unwrap();
            let answer = recorded["text"].as_str().unwrap();
            check_answer(answer);
            // Nor is any beginning of it, as if it had been cut off there.
            for (at, _) in answer.char_indices().step_by(3) {
                check_answer(&answer[..at]);
            }
            let read = read(answer, tools());
            let mut told: Vec<String> = read.calls.iter().map(|call| call.name.clone()).collect();
            told.extend(read.fault.map(|fault| format!("fault: {}", fault.why)));
            told.extend(read.doubt.map(|_| "doubt".to_owned()));
            let style = recorded["style"].as_str().unwrap();
            let told: String = told.join(", ").chars().take(90).collect();
            shown.push_str(&format!("{model} {style}: {told}\n"));
            count += 1;
        }
    }
    assert!(count >= 100, "{count}");
    insta::assert_snapshot!(shown);
}

const PIECES: [&str; 42] = [
    "```",
    "````",
    "~~~",
    "```json\n",
    "```python\n",
    "```write a.py\n",
    "```edit a.py\n",
    "```tool_call\n",
    "```json {",
    "   ```json\n",
    "> ```json\n",
    "\n```\n",
    "\n````\n",
    "\n~~~\n",
    "\n",
    "\r\n",
    "\n\n",
    "<tool_call>",
    "</tool_call>",
    "\n<tool_call>\n",
    "\n<think>\n",
    "\n</think>\n",
    "{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}",
    "{\"name\": \"run\", \"arguments\": {\"command\": \"ls\"}}",
    "{\"name\": \"run\", \"arguments\": {\"command\": \"ls\", \"command\": \"rm\"}}",
    "{\"name\": \"list\"}",
    "{\"name\": \"write\", \"arguments\": {\"path\": \"a\", \"content\": \"```\"}}",
    "{\"name\": \"none\", \"arguments\": {}}",
    "{\"name\": ",
    "\"arguments\": {",
    "}",
    "[",
    "]",
    "<<<<<<< SEARCH\n",
    "=======\n",
    ">>>>>>> REPLACE\n",
    "x = 1\n",
    "I call it now. ",
    " ",
    "\t",
    "ä",
    "\u{0}",
];

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn nothing_is_executed_that_was_not_a_whole_valid_call() {
    let cases = std::env::var("SPORE_FUZZ_CASES").ok().and_then(|text| text.parse().ok());
    let mut calls = 0;
    for case in 1..=cases.unwrap_or(CASES) {
        let mut state = case.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let length = random(&mut state) % 24;
        let answer: String = (0..length)
            .map(|_| PIECES[(random(&mut state) % PIECES.len() as u64) as usize])
            .collect();
        check_answer(&answer);
        calls += read(&answer, tools()).calls.len();
    }
    // The pieces make enough calls for the check to mean something.
    assert!(calls > 20, "{calls}");
}
