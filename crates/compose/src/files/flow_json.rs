//! Reads JSON into the tree of a flow file, with the place of every key and value.
//!
//! The parser of `serde_json` does not say where a value stands, and what is wrong with a flow has
//! to be said with its line.

use crate::files::flow_node::{FlowEntry, FlowNode, FlowValue};

/// How deep lists and tables may be inside of each other. A flow needs five.
const DEEPEST: usize = 32;

/// What is wrong, and at which byte.
type Problem = (usize, String);

/// Reads a whole text.
pub(crate) fn read(text: &str) -> Result<FlowNode, Problem> {
    let mut reader = JsonReader { text, at: 0 };
    let node = reader.node(0)?;
    reader.skip_space();
    match reader.rest().is_empty() {
        true => Ok(node),
        false => Err(reader.problem("there is more after its end")),
    }
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> JsonReader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn problem(&self, what: impl Into<String>) -> Problem {
        (self.at, what.into())
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    /// Steps over `mark` if it is next.
    fn takes(&mut self, mark: char) -> bool {
        self.skip_space();
        let is_next = self.rest().starts_with(mark);
        self.at += if is_next { mark.len_utf8() } else { 0 };
        is_next
    }

    fn needs(&mut self, mark: char) -> Result<(), Problem> {
        match self.takes(mark) {
            true => Ok(()),
            false => Err(self.problem(format!("expected `{mark}`"))),
        }
    }

    fn node(&mut self, depth: usize) -> Result<FlowNode, Problem> {
        self.skip_space();
        let start = self.at;
        if depth > DEEPEST {
            return Err(self.problem("it is nested too deep"));
        }
        let value = match self.rest().bytes().next() {
            Some(b'{') => self.table(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => FlowValue::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'a'..=b'z') => self.word()?,
            _ => return Err(self.problem("expected a value")),
        };
        Ok(FlowNode { span: Some(start..self.at), value })
    }

    fn table(&mut self, depth: usize) -> Result<FlowValue, Problem> {
        self.needs('{')?;
        let mut entries: Vec<FlowEntry> = Vec::new();
        if self.takes('}') {
            return Ok(FlowValue::Table(entries));
        }
        loop {
            self.skip_space();
            let start = self.at;
            if !self.rest().starts_with('"') {
                return Err(self.problem("expected a key in quotes"));
            }
            let key = self.string()?;
            if entries.iter().any(|entry| entry.key == key) {
                return Err((start, format!("it has the key {key:?} twice")));
            }
            let span = Some(start..self.at);
            self.needs(':')?;
            let node = self.node(depth + 1)?;
            entries.push(FlowEntry { key, span, node });
            if !self.takes(',') {
                self.needs('}')?;
                return Ok(FlowValue::Table(entries));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<FlowValue, Problem> {
        self.needs('[')?;
        let mut nodes = Vec::new();
        if self.takes(']') {
            return Ok(FlowValue::List(nodes));
        }
        loop {
            nodes.push(self.node(depth + 1)?);
            if !self.takes(',') {
                self.needs(']')?;
                return Ok(FlowValue::List(nodes));
            }
        }
    }

    fn string(&mut self) -> Result<String, Problem> {
        let start = self.at;
        let mut escaped = false;
        let inside = self.rest().char_indices().skip(1);
        let end = inside.take_while(|(_, c)| *c != '\n').find(|(_, c)| {
            let is_end = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            is_end
        });
        let Some((end, _)) = end else { return Err(self.problem("a text has no end")) };
        self.at += end + 1;
        serde_json::from_str(&self.text[start..self.at])
            .map_err(|_| (start, "a text has an escape that JSON does not know".to_owned()))
    }

    fn number(&mut self) -> Result<FlowValue, Problem> {
        let start = self.at;
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.');
        let text = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        self.at += text.len();
        let wrong = || (start, format!("{text} is no number"));
        let number: serde_json::Number = serde_json::from_str(text).map_err(|_| wrong())?;
        match number.as_i64() {
            Some(whole) => Ok(FlowValue::Integer(whole)),
            // The nearest number, which the parser of `serde_json` is content to be near.
            None => text.parse().map(FlowValue::Float).map_err(|_| wrong()),
        }
    }

    fn word(&mut self) -> Result<FlowValue, Problem> {
        let words = [
            ("true", FlowValue::Flag(true)),
            ("false", FlowValue::Flag(false)),
            ("null", FlowValue::Nothing),
        ];
        for (word, value) in words {
            if let Some(after) = self.rest().strip_prefix(word)
                && !after.starts_with(|c: char| c.is_ascii_alphanumeric())
            {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.problem("expected a value"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// What `serde_json` would have read.
    fn plain(node: &FlowNode) -> Value {
        match &node.value {
            FlowValue::Nothing | FlowValue::Date => Value::Null,
            FlowValue::Text(text) => json!(text),
            FlowValue::Integer(number) => json!(number),
            FlowValue::Float(number) => json!(number),
            FlowValue::Flag(flag) => json!(flag),
            FlowValue::List(nodes) => nodes.iter().map(plain).collect(),
            FlowValue::Table(entries) => {
                entries.iter().map(|entry| (entry.key.clone(), plain(&entry.node))).collect()
            }
        }
    }

    #[track_caller]
    fn check(text: &str, at: usize, problem: &str) {
        assert_eq!(read(text), Err((at, problem.to_owned())), "{text}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        check("{\"a\": 1,}", 8, "expected a key in quotes");
        check("{\"a\" 1}", 5, "expected `:`");
        check("[1 2]", 3, "expected `]`");
        check("{} x", 3, "there is more after its end");
        check("\"a", 0, "a text has no end");
        check("\"\\q\"", 0, "a text has an escape that JSON does not know");
        check("[01]", 1, "01 is no number");
        check("{\"a\":1,\"a\":2}", 7, "it has the key \"a\" twice");
        check("nul", 0, "expected a value");
        check("", 0, "expected a value");
        let deep = "[".repeat(100);
        check(&deep, 33, "it is nested too deep");
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e6..1e6f64).prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".{0,4}", inner, 0..4)
                    .prop_map(|all| all.into_iter().collect::<Value>()),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_reads_what_others_read(value in values(), pretty: bool) {
            let text = match pretty {
                true => serde_json::to_string_pretty(&value).unwrap(),
                false => value.to_string(),
            };
            prop_assert_eq!(plain(&read(&text).unwrap()), value);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]{}\",:0-9a-z\\\\ \\n\u{e9}]{0,40}") {
            let ours = read(&text);
            if serde_json::from_str::<Value>(&text).is_err() {
                prop_assert!(ours.is_err(), "{text:?}");
            }
        }
    }
}
