//! Server-sent events, as far as model servers use them: the data of each event, in order.
//!
//! The name of an event is left aside, because each protocol repeats it inside the data or has
//! none. Bytes may be cut anywhere. A line without an end is an error, not a reason to grow.

/// A line of the stream does not end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TooLong;

pub(super) struct EventStream {
    /// The longest line that is held.
    cap: usize,
    line: Vec<u8>,
    data: Option<String>,
    /// The last byte was a carriage return: a line feed right after it ends no second line.
    after_return: bool,
}

impl EventStream {
    pub(super) fn new(cap: usize) -> Self {
        Self { cap, line: Vec::new(), data: None, after_return: false }
    }

    /// Takes the next bytes and returns the data of the events that they complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut complete = Vec::new();
        let mut rest = bytes;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
            self.grow(&rest[..at])?;
            complete.extend(self.end_line());
            let is_return = rest[at] == b'\r';
            rest = &rest[at + 1..];
            if is_return {
                self.after_return = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
        }
        self.grow(rest)?;
        Ok(complete)
    }

    fn grow(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + bytes.len() > self.cap {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return self.data.take();
        }
        let value = line.strip_prefix(b"data:")?;
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match &mut self.data {
            Some(data) => {
                data.push('\n');
                data.push_str(&value);
            }
            None => self.data = Some(value.into_owned()),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole and byte by byte: where the bytes are cut changes nothing.
    #[track_caller]
    fn check(stream: &str, expected: &[&str]) {
        assert_eq!(EventStream::new(100).feed(stream.as_bytes()).unwrap(), expected);
        let mut events = EventStream::new(100);
        let one_by_one: Vec<String> =
            stream.bytes().flat_map(|byte| events.feed(&[byte]).unwrap()).collect();
        assert_eq!(one_by_one, expected);
    }

    #[test]
    fn an_event_ends_with_an_empty_line() {
        check("event: ping\ndata: {}\n\n", &["{}"]);
        check("data: a\n\ndata: b\n\ndata: c\n", &["a", "b"]);
        check(": comment\n\nid: 7\n\n", &[]);
    }

    #[test]
    fn line_ends_and_several_lines_of_data_are_understood() {
        check("data: a\r\n\r\ndata: b\r\rdata:c\n\n", &["a", "b", "c"]);
        check("data: one\ndata: two\n\n", &["one\ntwo"]);
        check("data: ä\n\n", &["ä"]);
    }

    #[test]
    fn a_line_without_an_end_is_an_error() {
        let mut events = EventStream::new(8);
        let fed: Vec<bool> = (0..3).map(|_| events.feed(b"data").is_ok()).collect();
        assert_eq!(fed, [true, true, false]);
    }
}
