//! Identifiers, one type each, so that a run's id cannot be passed where an event's is meant.

use schemars::JsonSchema;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use crate::Timestamp;

/// Text that is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a {kind}")]
pub struct BadId {
    kind: &'static str,
    text: String,
}

impl BadId {
    fn new(kind: &'static str, text: &str) -> Self {
        let text = text.chars().take(80).collect();
        Self { kind, text }
    }
}

macro_rules! ulid_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Ulid);

        impl $name {
            /// Builds an id from milliseconds since 1970 and 80 random bits.
            pub fn from_parts(millis: u64, random: u128) -> Self {
                Self(Ulid::from_parts(millis, random))
            }

            /// Returns what people see: the last eight characters. The first ten of a ULID
            /// are only clock, so ids of one morning all begin alike.
            pub fn short(&self) -> String {
                let text = self.to_string();
                text[text.len() - 8..].to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                Ulid::from_string(text).map(Self).map_err(|_| BadId::new($kind, text))
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;

            fn try_from(text: String) -> Result<Self, BadId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }
    };
}

ulid_id!(
    /// One run, for ever: a resumed run keeps its id, a retried task gets a new one.
    RunId, "run id"
);
ulid_id!(
    /// One event on the spine. Readers drop a second event with the same id.
    EventId, "event id"
);
ulid_id!(
    /// One edge of the knowledge graph, for ever: an edge that takes its place has another id.
    EdgeId, "edge id"
);

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $valid:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks `text` and wraps it.
            pub fn new(text: impl Into<String>) -> Result<Self, BadId> {
                let text = text.into();
                let valid: fn(&str) -> bool = $valid;
                if valid(&text) { Ok(Self(text)) } else { Err(BadId::new($kind, &text)) }
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;

            fn try_from(text: String) -> Result<Self, BadId> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    };
}

/// SHA-1 or SHA-256, as git prints them.
fn is_object_name(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= 128 && text.bytes().all(|b| b.is_ascii_graphic())
}

text_id!(
    /// A git commit. Changes with its date and message; [`TreeId`] does not.
    CommitId, "commit id", is_object_name
);
text_id!(
    /// A git tree: the content under judgement. A verdict binds to this.
    TreeId, "tree id", is_object_name
);
text_id!(
    /// Names one step of one run, such as `coder/2`. The same step has the same key in every
    /// process that ever works on the run: it is what makes an effect happen once.
    StepKey, "step key", is_word
);
text_id!(
    /// Ties together all runs that come from one command, across processes.
    TraceId, "trace id", is_word
);
text_id!(
    /// A secret-free random word in the environment of every process of one session, by which
    /// stragglers are found in `/proc`.
    SessionToken, "session token",
    |text| (16..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric())
);

impl SessionToken {
    /// Returns the token that no process has: for reading what a session left.
    pub fn of_no_process() -> Self {
        Self("0".repeat(16))
    }
}

text_id!(
    /// A node of the graph. Knowledge has a ULID, for ever; code has a hash of its kind, path
    /// and name, which a rename changes.
    NodeId, "node id", |text| is_ulid(text) || is_node_hash(text)
);

/// In the spelling that we write: a ULID in lower case is the same number, but another text.
/// Every node that is read passes here, so nothing is decoded.
fn is_ulid(text: &str) -> bool {
    let is_digit = |byte: u8| match byte {
        b'I' | b'L' | b'O' | b'U' => false,
        b'0'..=b'9' | b'A'..=b'Z' => true,
        _ => false,
    };
    text.len() == ulid::ULID_LEN && text.as_bytes()[0] <= b'7' && text.bytes().all(is_digit)
}

fn is_node_hash(text: &str) -> bool {
    (16..=64).contains(&text.len())
        && text.len() != ulid::ULID_LEN
        && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

impl NodeId {
    /// Builds the id of a knowledge node from milliseconds since 1970 and 80 random bits.
    pub fn from_parts(millis: u64, random: u128) -> Self {
        Self(Ulid::from_parts(millis, random).to_string())
    }

    /// Builds the id of a knowledge node from what it stands for, such as a run and a step, so
    /// that a step that is done again writes the same node.
    pub fn keyed(created: Timestamp, words: &[&str]) -> Self {
        Self::from_parts(millis_of(created), digest(words))
    }

    /// Returns what people see: the random end of a ULID, the beginning of a hash.
    pub fn short(&self) -> &str {
        if self.is_hash() { &self.0[..12] } else { &self.0[self.0.len() - 8..] }
    }

    /// Returns whether this is a hash, and so the id of a piece of code.
    pub fn is_hash(&self) -> bool {
        self.0.len() != ulid::ULID_LEN
    }
}

impl EdgeId {
    /// Builds an id from what the edge stands for, so that a step that is done again writes the
    /// same edge.
    pub fn keyed(created: Timestamp, words: &[&str]) -> Self {
        Self::from_parts(millis_of(created), digest(words))
    }
}

fn millis_of(time: Timestamp) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(0)
}

/// Eighty bits that depend on every word and on where each ends. FNV-1a: stable between
/// builds, which the standard hasher does not promise.
fn digest(words: &[&str]) -> u128 {
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    let mut eat = |byte: u8| {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
    };
    for word in words {
        word.bytes().for_each(&mut eat);
        // No UTF-8 text holds this byte, so no two lists of words read alike.
        eat(0xff);
    }
    // The last bytes stir the low bits only, and people read the last characters of an id:
    // two more rounds spread every byte over all of them.
    for _ in 0..2 {
        hash = (hash ^ (hash >> 61)).wrapping_mul(0xd6e8_feb8_6659_fd93_a5a3_564e_27f8_8693);
    }
    (hash ^ (hash >> 48)) >> 48
}

impl From<RunId> for TraceId {
    fn from(run: RunId) -> Self {
        Self(run.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_form_of_a_run_is_its_random_end() {
        let one = RunId::from_parts(1_700_000_000_000, 7);
        let other = RunId::from_parts(1_700_000_000_000, 8);
        assert_ne!(one.short(), other.short());
        assert!(one.to_string().ends_with(&one.short()));
        assert_eq!(one.to_string().parse(), Ok(one));
    }

    #[test]
    fn object_names_are_lower_case_hex_of_the_right_length() {
        let good = "0123456789abcdef0123456789abcdef01234567";
        assert!(TreeId::new(good).is_ok());
        for bad in ["", "HEAD", &good[1..], &good.to_uppercase(), "--upload-pack=x"] {
            assert!(TreeId::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_node_is_called_by_the_telling_end_of_its_id() {
        let knowledge = NodeId::from_parts(1_700_000_000_000, 7);
        assert!(knowledge.as_str().ends_with(knowledge.short()) && knowledge.short().len() == 8);
        let code = NodeId::new("0123456789abcdef0123456789abcdef").unwrap();
        assert_eq!(code.short(), "0123456789ab");
        for bad in ["", "main.rs", "0123456789ABCDEF", &knowledge.as_str().to_lowercase(), "é"] {
            assert!(NodeId::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_keyed_id_is_the_same_for_the_same_words_alone() {
        let at = Timestamp::from_millis(1_767_225_600_000);
        let id = NodeId::keyed(at, &["run", "coder/1"]);
        assert_eq!(id.as_str(), "01KDVDNA00GE7GV2JAMA490ASB");
        assert_eq!(id.as_str().parse(), Ok(id.clone()));
        for other in [&["run", "coder/2"][..], &["runcoder/1"], &["run", "coder/1", ""], &[]] {
            assert_ne!(NodeId::keyed(at, other), id, "{other:?}");
        }
    }

    #[test]
    fn a_bad_id_in_json_is_an_error() {
        assert!(serde_json::from_str::<CommitId>("\"main\"").is_err());
        assert!(serde_json::from_str::<RunId>("\"12\"").is_err());
    }
}
