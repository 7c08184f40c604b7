//! The user's proxy, as far as a session may use it: tunnels to what is listed.
//!
//! What a client asks is read once, within bounds, and asked anew in words of our own, so that the
//! proxy cannot take it for more than we did. Only when the proxy has said yes is the connection
//! the client's: a proxy that asks for a password would listen to a second question on it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::PollFlags;
use spore_model::NetAddress;

use super::{Ending, connect_to};
use crate::clock::monotonic;

/// What questions and answers may take; programs send some hundred bytes.
pub(super) const LONGEST_HEAD: usize = 16 << 10;

/// How long a client may take for its question, and the proxy for its answer.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// How long a client that is refused may take to hear it.
const HEARD_WITHIN: Duration = Duration::from_secs(2);

/// Why a question is not passed on, as the status that the client is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TunnelRefusal {
    Unclear,
    NotListed,
    TooSlow,
    TooLong,
}

impl TunnelRefusal {
    fn answer(self) -> String {
        let status = match self {
            Self::Unclear => "400 Bad Request",
            Self::NotListed => "403 Forbidden",
            Self::TooSlow => "408 Request Timeout",
            Self::TooLong => "431 Request Header Fields Too Large",
        };
        let why = "this session reaches its model and what [sandbox] network lists\n";
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{why}",
            why.len()
        )
    }
}

/// Reads what the client asks for and asks the proxy. Returns the connection to the proxy once that
/// is the tunnel, with what the client has sent into it; nothing where the client was refused.
pub(super) fn open(
    client: &TcpStream,
    proxy: &NetAddress,
    allowed: &[NetAddress],
    ending: &Ending,
) -> io::Result<Option<(TcpStream, Vec<u8>)>> {
    let deadline = monotonic() + HEAD_WITHIN;
    let asked = match read_head(client, deadline, ending)? {
        Ok(ReadHead { head, rest }) => question(&head, allowed).map(|question| (question, rest)),
        Err(refusal) => Err(refusal),
    };
    let (question, rest) = match asked {
        Ok(asked) => asked,
        Err(refusal) => {
            refuse(client, &refusal.answer(), ending)?;
            return Ok(None);
        }
    };
    let server = connect_to(proxy, ending)?;
    let deadline = monotonic() + HEAD_WITHIN;
    write_all(&server, question.as_bytes(), deadline, ending)?;
    let Ok(ReadHead { head: answer, rest: after }) = read_head(&server, deadline, ending)? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    if !is_yes(&answer) {
        refuse(client, &in_short(&answer), ending)?;
        return Ok(None);
    }
    write_all(client, &answer, deadline, ending)?;
    write_all(client, &after, deadline, ending)?;
    Ok(Some((server, rest)))
}

/// Tells the client no, and waits until it has heard: a stream that is closed with something unread
/// takes back what was written last.
fn refuse(mut client: &TcpStream, answer: &str, ending: &Ending) -> io::Result<()> {
    let deadline = monotonic() + HEARD_WITHIN;
    write_all(client, answer.as_bytes(), deadline, ending)?;
    client.shutdown(Shutdown::Write)?;
    loop {
        ending.wait(&[(client.as_fd(), PollFlags::POLLIN)], Some(deadline))?;
        match client.read(&mut [0; 4 << 10]) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns a proxy's refusal without its body, which ends when the proxy says so: the status, and
/// how it wants to be asked.
fn in_short(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(answer);
    let mut lines = text.split("\r\n");
    let status = lines.next().unwrap_or_default();
    let ways = lines.filter(|line| line.to_ascii_lowercase().starts_with("proxy-authenticate:"));
    let ways: String = ways.map(|line| format!("{line}\r\n")).collect();
    format!("{status}\r\n{ways}content-length: 0\r\nconnection: close\r\n\r\n")
}

/// Returns what the proxy is asked on behalf of a client that asked `head`.
pub(super) fn question(head: &[u8], allowed: &[NetAddress]) -> Result<String, TunnelRefusal> {
    let text = std::str::from_utf8(head).map_err(|_| TunnelRefusal::Unclear)?;
    let text = text.strip_suffix("\r\n\r\n").ok_or(TunnelRefusal::Unclear)?;
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let words: Vec<&str> = first.split(' ').collect();
    let [method, target, "HTTP/1.1" | "HTTP/1.0"] = words[..] else {
        return Err(TunnelRefusal::Unclear);
    };
    if method != "CONNECT" {
        return Err(TunnelRefusal::NotListed);
    }
    let target = NetAddress::read(target).ok_or(TunnelRefusal::Unclear)?;
    let mut password = String::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or(TunnelRefusal::Unclear)?;
        let is_name =
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        let is_plain = value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~' | 0x80..));
        if !is_name || name.is_empty() || !is_plain {
            return Err(TunnelRefusal::Unclear);
        }
        if name.eq_ignore_ascii_case("proxy-authorization") {
            password = format!("Proxy-Authorization: {}\r\n", value.trim());
        }
    }
    let target = allowed.iter().find(|allowed| **allowed == target);
    let target = target.ok_or(TunnelRefusal::NotListed)?;
    Ok(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{password}\r\n"))
}

fn is_yes(answer: &[u8]) -> bool {
    let status = answer.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(1..3));
    status == Some(b" 2")
}

/// What was read up to the first empty line, and what came after it.
#[derive(PartialEq, Debug)]
pub(super) struct ReadHead {
    head: Vec<u8>,
    rest: Vec<u8>,
}

pub(super) fn read_head(
    mut stream: &TcpStream,
    deadline: Instant,
    ending: &Ending,
) -> io::Result<Result<ReadHead, TunnelRefusal>> {
    const END: &[u8] = b"\r\n\r\n";
    let mut head = Vec::new();
    let mut searched = 0;
    loop {
        match ending.wait(&[(stream.as_fd(), PollFlags::POLLIN)], Some(deadline)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                return Ok(Err(TunnelRefusal::TooSlow));
            }
            Err(error) => return Err(error),
        }
        let mut chunk = [0; 4 << 10];
        match stream.read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => head.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        let ends = head[searched..].windows(END.len()).position(|bytes| bytes == END);
        let ends = ends.map(|at| searched + at + END.len());
        // However much of it came at once: a head that is too long is no question.
        if ends.unwrap_or(head.len()) > LONGEST_HEAD {
            return Ok(Err(TunnelRefusal::TooLong));
        }
        if let Some(ends) = ends {
            let rest = head.split_off(ends);
            return Ok(Ok(ReadHead { head, rest }));
        }
        searched = head.len().saturating_sub(END.len() - 1);
    }
}

fn write_all(
    mut stream: &TcpStream,
    mut bytes: &[u8],
    deadline: Instant,
    ending: &Ending,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                ending.wait(&[(stream.as_fd(), PollFlags::POLLOUT)], Some(deadline))?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
