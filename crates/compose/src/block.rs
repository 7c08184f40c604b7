//! The block at the end of a session's last message, in which it hands in what was asked of it.

use serde::de::DeserializeOwned;

const BLOCK_BYTES: usize = 100_000;

/// Reads the one block `name` of an answer. Two of them are as good as none.
pub(crate) fn block<T: DeserializeOwned>(answer: &str, name: &str) -> Result<T, String> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut parts = answer.split(&open);
    let (_, Some(rest)) = (parts.next(), parts.next()) else {
        return Err(format!("the message has no {name} block"));
    };
    if parts.next().is_some() {
        return Err(format!("the message has more than one {name} block"));
    }
    let Some((inner, _)) = rest.split_once(&close) else {
        return Err(format!("its {name} block has no end"));
    };
    if inner.len() > BLOCK_BYTES {
        return Err(format!("its {name} block is too large"));
    }
    serde_json::from_str(inner.trim())
        .map_err(|error| format!("its {name} block could not be read: {error}"))
}
