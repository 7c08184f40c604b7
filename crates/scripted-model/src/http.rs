//! As much HTTP/1.1 as the agents' clients use, by hand.
//!
//! Written here because a server library hides what this crate is for: stopping in the middle
//! of a body, saying nothing at all, closing at a place that no client expects. Requests may have a
//! length or come in chunks, may ask for `100 Continue` and may share a connection. No
//! compression, no TLS, no HTTP/2: no client asks for them on the loopback address.

use std::io::{self, BufRead, Read, Write};

/// A head longer than this is not from an agent.
const HEAD_LIMIT: u64 = 256 * 1024;
/// Room for the longest conversation with images in it.
const BODY_LIMIT: u64 = 256 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) keep_alive: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// The connection is broken, so no answer can be sent.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    #[error("not a request this server reads: {0}")]
    Bad(&'static str),
}

/// How the body of an answer is delimited.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Framing {
    Length(usize),
    Chunks,
}

impl HttpRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Reads the next request, or `None` where the client has closed between two.
pub(crate) fn read(
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<Option<HttpRequest>, HttpError> {
    let mut head = input.take(HEAD_LIMIT);
    let Some(first) = next_line(&mut head)? else { return Ok(None) };
    let mut words = first.split(' ');
    let (Some(method), Some(target), Some(version)) = (words.next(), words.next(), words.next())
    else {
        return Err(HttpError::Bad("the first line has not three words"));
    };
    let mut headers = Vec::new();
    loop {
        let line = next_line(&mut head)?.ok_or(HttpError::Bad("the head does not end"))?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or(HttpError::Bad("a header has no colon"))?;
        headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = HttpRequest {
        method: method.to_owned(),
        target: target.to_owned(),
        headers,
        body: Vec::new(),
        keep_alive: version == "HTTP/1.1",
    };
    if request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
        request.keep_alive = false;
    }
    if request.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
        output.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        output.flush()?;
    }
    request.body = read_body(input, &request)?;
    Ok(Some(request))
}

fn read_body(input: &mut dyn BufRead, request: &HttpRequest) -> Result<Vec<u8>, HttpError> {
    let chunked = request
        .header("transfer-encoding")
        .is_some_and(|value| value.to_ascii_lowercase().contains("chunked"));
    if chunked {
        return read_chunks(input);
    }
    let length = match request.header("content-length") {
        None => 0,
        Some(text) => text.parse().map_err(|_| HttpError::Bad("the length is not a number"))?,
    };
    let mut body = Vec::new();
    take_exactly(input, length, &mut body)?;
    Ok(body)
}

fn read_chunks(input: &mut dyn BufRead) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    loop {
        let line = next_line(&mut input.take(HEAD_LIMIT))?.unwrap_or_default();
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16)
            .map_err(|_| HttpError::Bad("the size of a chunk is not a number"))?;
        if size == 0 {
            break;
        }
        take_exactly(input, size, &mut body)?;
        next_line(&mut input.take(HEAD_LIMIT))?;
    }
    while next_line(&mut input.take(HEAD_LIMIT))?.is_some_and(|trailer| !trailer.is_empty()) {}
    Ok(body)
}

fn take_exactly(input: &mut dyn BufRead, size: u64, body: &mut Vec<u8>) -> Result<(), HttpError> {
    let so_far = body.len() as u64;
    if size > BODY_LIMIT.saturating_sub(so_far) {
        return Err(HttpError::Bad("the body is too long"));
    }
    if (input.take(size).read_to_end(body)? as u64) < size {
        return Err(HttpError::Io(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(())
}

/// Returns a line without its end, or `None` at the end of the input.
fn next_line(input: &mut dyn BufRead) -> Result<Option<String>, HttpError> {
    let mut line = Vec::new();
    if input.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(HttpError::Bad("a line is too long or was broken off"));
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map(Some).map_err(|_| HttpError::Bad("a line is not text"))
}

pub(crate) fn write_head(
    output: &mut dyn Write,
    status: u16,
    headers: &[(String, String)],
    framing: Framing,
) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match framing {
        Framing::Length(length) => head.push_str(&format!("content-length: {length}\r\n\r\n")),
        Framing::Chunks => head.push_str("transfer-encoding: chunked\r\n\r\n"),
    }
    output.write_all(head.as_bytes())?;
    output.flush()
}

pub(crate) fn write_chunk(output: &mut dyn Write, text: &str) -> io::Result<()> {
    output.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())?;
    output.flush()
}

pub(crate) fn write_last_chunk(output: &mut dyn Write) -> io::Result<()> {
    output.write_all(b"0\r\n\r\n")?;
    output.flush()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Scripted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was read: method, target, body, keep-alive; or the complaint.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut told = Vec::new();
        let read = match read(&mut text.as_bytes(), &mut told) {
            Ok(None) => "nothing".to_owned(),
            Ok(Some(request)) => format!(
                "{} {} [{}] {}{}",
                request.method,
                request.target,
                String::from_utf8_lossy(&request.body),
                if request.keep_alive { "stays" } else { "goes" },
                if told.is_empty() { "" } else { ", was told to go on" },
            ),
            Err(error) => error.to_string(),
        };
        assert_eq!(read, expected, "{text:?}");
    }

    #[test]
    fn bodies_come_by_length_and_in_chunks() {
        check("", "nothing");
        check("GET / HTTP/1.1\r\n\r\n", "GET / [] stays");
        check("GET / HTTP/1.0\r\n\r\n", "GET / [] goes");
        check(
            "POST /a HTTP/1.1\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
            "POST /a [hi] goes",
        );
        check(
            "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
             2\r\nhi\r\n3;x=y\r\n, a\r\n0\r\nT: 1\r\n\r\n",
            "POST /a [hi, a] stays",
        );
        check(
            "POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
            "POST /a [hi] stays, was told to go on",
        );
    }

    #[test]
    fn what_is_no_request_is_named() {
        let bad = |what: &str| format!("not a request this server reads: {what}");
        check("hello\r\n\r\n", &bad("the first line has not three words"));
        check("GET / HTTP/1.1\r\n", &bad("the head does not end"));
        check("GET / HTTP/1.1\r\nnonsense\r\n\r\n", &bad("a header has no colon"));
        check("POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n", &bad("the length is not a number"));
        check(
            "POST / HTTP/1.1\r\ncontent-length: 999999999999\r\n\r\n",
            &bad("the body is too long"),
        );
        check(
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            &bad("the size of a chunk is not a number"),
        );
    }
}
