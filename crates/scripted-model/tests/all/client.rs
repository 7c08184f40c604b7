//! A client of sockets and bytes, so that no library mends what the server does.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use spore_scripted_model::ModelServer;

/// Far more than any answer needs.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Connection {
    input: BufReader<TcpStream>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// The body has the length or the last chunk that HTTP promised.
    pub(crate) complete: bool,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The `data` of every event.
    pub(crate) fn data(&self) -> Vec<&str> {
        self.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect()
    }
}

impl Connection {
    pub(crate) fn open(server: &ModelServer) -> Self {
        Self::to(&server.url())
    }

    fn to(url: &str) -> Self {
        let stream = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { input: BufReader::new(stream) }
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.input.get_mut().write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn post(&mut self, target: &str, body: &str) {
        let length = body.len();
        self.send(&format!(
            "POST {target} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer s3cret\r\n\
             X-Api-Key: s3cret\r\nContent-Length: {length}\r\n\r\n{body}"
        ));
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.input.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn receive(&mut self) -> Answer {
        let first = self.line();
        let status = first.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_owned(), value.to_owned()));
        }
        let mut answer = Answer { status, headers, body: String::new(), complete: false };
        let length = answer.header("content-length").map(|text| text.parse::<u64>().unwrap());
        match length {
            Some(length) => {
                let read = (&mut self.input).take(length).read_to_string(&mut answer.body);
                answer.complete = read.unwrap() as u64 == length;
            }
            None => answer.complete = self.receive_chunks(&mut answer.body),
        }
        answer
    }

    /// False where the connection ended before the last chunk.
    fn receive_chunks(&mut self, body: &mut String) -> bool {
        loop {
            let line = self.line();
            let Ok(size) = u64::from_str_radix(&line, 16) else { return false };
            if (&mut self.input).take(size).read_to_string(body).unwrap() as u64 != size {
                return false;
            }
            self.line();
            if size == 0 {
                return true;
            }
        }
    }

    /// Waits a moment for a byte that must not come.
    pub(crate) fn is_silent(&mut self) -> bool {
        self.input.get_ref().set_read_timeout(Some(Duration::from_millis(80))).unwrap();
        let silent = self.input.fill_buf().is_err();
        self.input.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
        silent
    }

    pub(crate) fn has_more(&mut self) -> bool {
        self.input.fill_buf().is_ok_and(|bytes| !bytes.is_empty())
    }

    pub(crate) fn is_closed(&mut self) -> bool {
        self.input.fill_buf().is_ok_and(<[u8]>::is_empty)
    }
}

pub(crate) fn post(server: &ModelServer, target: &str, body: &Value) -> Answer {
    post_to(&server.url(), target, &body.to_string())
}

pub(crate) fn post_to(url: &str, target: &str, body: &str) -> Answer {
    let mut connection = Connection::to(url);
    connection.post(target, body);
    connection.receive()
}
