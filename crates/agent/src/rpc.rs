//! JSON-RPC as agents speak it over stdio: one message a line, both sides ask.
//!
//! Only the envelope (<https://www.jsonrpc.org/specification>). Codex leaves the version out
//! and accepts it; every other agent wants it, so it is always written.

use serde::Deserialize;
use serde_json::{Value, json};

/// The code of JSON-RPC for an unknown method.
pub(crate) const NO_SUCH_METHOD: i64 = -32601;

/// Our code for a request that is refused.
pub(crate) const REFUSED: i64 = -32000;

/// A line of the agent.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum RpcMessage {
    /// A request, which waits for an answer.
    Question { id: Value, method: String, params: Value },
    /// A notification.
    Notice { method: String, params: Value },
    /// The answer to our request with this id.
    Answer { id: u64, answer: Result<Value, Complaint> },
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct Complaint {
    #[serde(default)]
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) data: Value,
}

#[derive(Deserialize)]
struct Envelope {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    result: Option<Value>,
    error: Option<Complaint>,
}

impl RpcMessage {
    /// Reads a line; `None` where it is no message at all.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let Envelope { id, method, params, result, error } = serde_json::from_str(line).ok()?;
        match (method, id) {
            (Some(method), Some(id)) if !id.is_null() => {
                Some(Self::Question { id, method, params })
            }
            (Some(method), _) => Some(Self::Notice { method, params }),
            (None, Some(id)) => {
                let answer = match error {
                    Some(error) => Err(error),
                    None => Ok(result.unwrap_or_default()),
                };
                Some(Self::Answer { id: id.as_u64()?, answer })
            }
            (None, None) => None,
        }
    }
}

impl Complaint {
    /// All that it says: agents put the cause into `data` as often as into the message.
    pub(crate) fn text(&self) -> String {
        let details = match &self.data {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            Value::Object(fields) => {
                match fields.get("details").or_else(|| fields.get("message")) {
                    Some(Value::String(text)) => text.clone(),
                    _ => self.data.to_string(),
                }
            }
            other => other.to_string(),
        };
        match (self.message.is_empty(), details.is_empty() || details == self.message) {
            (false, true) => self.message.clone(),
            (true, _) => details,
            (false, false) => format!("{}: {details}", self.message),
        }
    }
}

pub(crate) fn ask(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

pub(crate) fn tell(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

pub(crate) fn answer(id: &Value, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

pub(crate) fn refuse(id: &Value, code: i64, message: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_notices_and_answers_are_told_apart() {
        let read = |line: &str| RpcMessage::read(line);
        let (method, params) = ("m".to_owned(), json!({}));
        assert_eq!(
            read(r#"{"id":0,"method":"m","params":{}}"#),
            Some(RpcMessage::Question {
                id: json!(0),
                method: method.clone(),
                params: params.clone()
            })
        );
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":"a","method":"m","params":{}}"#),
            Some(RpcMessage::Question {
                id: json!("a"),
                method: method.clone(),
                params: params.clone()
            })
        );
        assert_eq!(
            read(r#"{"method":"m","params":{}}"#),
            Some(RpcMessage::Notice { method, params })
        );
        assert_eq!(
            read(r#"{"id":3,"result":{"x":1}}"#),
            Some(RpcMessage::Answer { id: 3, answer: Ok(json!({ "x": 1 })) })
        );
        assert_eq!(read(r#"{"id":"3","result":1}"#), None);
        assert_eq!(read("Segmentation fault"), None);
        assert_eq!(read("[]"), None);
    }

    #[test]
    fn a_complaint_tells_its_cause_once() {
        let text = |line: &str| match RpcMessage::read(line) {
            Some(RpcMessage::Answer { answer: Err(complaint), .. }) => complaint.text(),
            other => panic!("{other:?}"),
        };
        let check = |error: &str, expected: &str| {
            assert_eq!(text(&format!(r#"{{"id":1,"error":{error}}}"#)), expected);
        };
        check(r#"{"code":1,"message":"no"}"#, "no");
        check(r#"{"code":1,"message":"no","data":"no"}"#, "no");
        check(r#"{"code":1,"message":"no","data":{"details":"why"}}"#, "no: why");
        check(r#"{"code":1,"data":{"x":1}}"#, r#"{"x":1}"#);
    }
}
