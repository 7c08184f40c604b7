//! Streams on the loopback of the machine, in the place of those inside.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::JoinHandle;

use super::tunnel::{LONGEST_HEAD, TunnelRefusal, question, read_head};
use super::*;

fn listener() -> (TcpListener, NetAddress) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = NetAddress::new("127.0.0.1", listener.local_addr().unwrap().port());
    (listener, at)
}

/// Forwards what comes in at the returned address.
fn forward(address: NetAddress, tunnels: Option<Vec<NetAddress>>) -> (Forwarder, NetAddress) {
    let (inner, at) = listener();
    inner.set_nonblocking(true).unwrap();
    let reached = Reached { address, tunnels };
    let listeners = vec![InnerListener { socket: inner.into(), reached }];
    (Forwarder::start(listeners).unwrap(), at)
}

fn to(address: &NetAddress) -> TcpStream {
    TcpStream::connect((address.host.as_str(), address.port)).unwrap()
}

/// A server that hears one client to its end and answers with what it heard, turned around.
fn mirror() -> (NetAddress, JoinHandle<usize>) {
    let (listener, at) = listener();
    let serve = move || {
        let (mut peer, _) = listener.accept().unwrap();
        let mut heard = Vec::new();
        peer.read_to_end(&mut heard).unwrap();
        heard.reverse();
        peer.write_all(&heard).unwrap();
        heard.len()
    };
    (at, std::thread::spawn(serve))
}

#[test]
fn each_direction_ends_by_itself_and_nothing_is_lost() {
    // More than sockets hold, so that both sides have to wait for each other.
    let sent: Vec<u8> = (0..8_u32 << 20).map(|number| (number % 251) as u8).collect();
    let (server, heard) = mirror();
    let (forwarder, inside) = forward(server, None);
    let client = to(&inside);
    let mut writer = client.try_clone().unwrap();
    let text = sent.clone();
    let writing = std::thread::spawn(move || {
        writer.write_all(&text).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut answer = Vec::new();
    (&client).read_to_end(&mut answer).unwrap();
    writing.join().unwrap();
    assert_eq!(heard.join().unwrap(), sent.len());
    answer.reverse();
    assert!(answer == sent);
    drop(forwarder);
}

#[test]
fn an_end_is_passed_on_in_whichever_turn_it_is_read() {
    // What the client says is there before the first turn, so that its end is read in the turn after.
    for rooms in 0..20 {
        let (outside, server) = listener();
        let (inner, inside) = listener();
        let mut client = to(&inside);
        let accepted = inner.accept().unwrap().0;
        let to_server = to(&server);
        let mut heard = outside.accept().unwrap().0;
        heard.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        client.write_all(&vec![b'x'; rooms * relay::ROOM]).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let (end, hold) = io::pipe().unwrap();
        let relaying = std::thread::spawn(move || {
            accepted.set_nonblocking(true).unwrap();
            to_server.set_nonblocking(true).unwrap();
            relay(&accepted, &to_server, Vec::new(), &Ending(Arc::new(end)))
        });
        let mut text = Vec::new();
        heard.read_to_end(&mut text).unwrap_or_else(|error| panic!("{rooms} rooms: {error}"));
        assert_eq!(text.len(), rooms * relay::ROOM);
        drop((heard, client));
        relaying.join().unwrap().unwrap();
        drop(hold);
    }
}

#[test]
fn the_end_of_the_forwarder_ends_its_connections_and_frees_what_it_had() {
    let (outside, server) = listener();
    let (forwarder, inside) = forward(server, None);
    let mut clients: Vec<TcpStream> = (0..10).map(|_| to(&inside)).collect();
    let mut peers: Vec<TcpStream> = clients.iter().map(|_| outside.accept().unwrap().0).collect();
    drop(forwarder);
    for stream in clients.iter_mut().chain(&mut peers) {
        // An end, or a reset: nothing more comes.
        assert!(stream.read(&mut [0]).map_or(0, |count| count) == 0);
    }
    assert!(TcpStream::connect((inside.host.as_str(), inside.port)).is_err());
}

#[test]
fn more_connections_than_there_is_room_for_wait_for_their_turn() {
    let (outside, server) = listener();
    let (_forwarder, inside) = forward(server, None);
    let echo = std::thread::spawn(move || {
        let mut held = Vec::new();
        for number in 0..MOST_CONNECTIONS + 20 {
            let (mut peer, _) = outside.accept().unwrap();
            peer.write_all(b"x").unwrap();
            held.push(peer);
            // Those who came first leave, so that the last find room.
            if number + 1 == MOST_CONNECTIONS {
                held.clear();
            }
        }
    });
    let clients: Vec<TcpStream> = (0..MOST_CONNECTIONS + 20).map(|_| to(&inside)).collect();
    for mut client in clients {
        let mut said = Vec::new();
        client.read_to_end(&mut said).unwrap();
        assert_eq!(said, b"x");
    }
    echo.join().unwrap();
}

#[test]
fn what_is_not_there_outside_is_an_error_inside() {
    let (gone, server) = listener();
    drop(gone);
    let (_forwarder, inside) = forward(server, None);
    let error = to(&inside).read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}

fn listed() -> Vec<NetAddress> {
    ["api.example.org:443", "[2001:db8::1]:8443"].map(|text| NetAddress::read(text).unwrap()).into()
}

#[test]
fn a_question_is_passed_on_in_our_own_words_or_not_at_all() {
    #[track_caller]
    fn check(head: &str, expected: Result<&str, TunnelRefusal>) {
        let asked = question(head.as_bytes(), &listed());
        assert_eq!(asked.as_deref().map_err(|refusal| *refusal), expected, "{head:?}");
    }
    use TunnelRefusal::{NotListed, Unclear};
    let plain = "CONNECT api.example.org:443 HTTP/1.1\r\nHost: api.example.org:443\r\n\r\n";
    check(plain, Ok(plain));
    check("CONNECT API.example.ORG.:443 HTTP/1.0\r\n\r\n", Ok(plain));
    check(
        "CONNECT api.example.org:443 HTTP/1.1\r\nHost: evil:443\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n",
        Ok(plain),
    );
    check(
        "CONNECT [2001:DB8:0::1]:8443 HTTP/1.1\r\n\r\n",
        Ok("CONNECT [2001:db8::1]:8443 HTTP/1.1\r\nHost: [2001:db8::1]:8443\r\n\r\n"),
    );
    check(
        "CONNECT api.example.org:443 HTTP/1.1\r\nproxy-authorization:  Basic eDp5 \r\n\r\n",
        Ok(
            "CONNECT api.example.org:443 HTTP/1.1\r\nHost: api.example.org:443\r\nProxy-Authorization: Basic eDp5\r\n\r\n",
        ),
    );
    check("CONNECT api.example.org:80 HTTP/1.1\r\n\r\n", Err(NotListed));
    check("CONNECT evil.example.org:443 HTTP/1.1\r\n\r\n", Err(NotListed));
    check("CONNECT api.example.org.evil:443 HTTP/1.1\r\n\r\n", Err(NotListed));
    check("GET http://api.example.org/ HTTP/1.1\r\n\r\n", Err(NotListed));
    check("POST http://api.example.org:443/ HTTP/1.1\r\nHost: x\r\n\r\n", Err(NotListed));
    check("connect api.example.org:443 HTTP/1.1\r\n\r\n", Err(NotListed));
    for unclear in [
        "",
        "\r\n\r\n",
        "CONNECT\r\n\r\n",
        "CONNECT api.example.org:443\r\n\r\n",
        "CONNECT api.example.org:443 HTTP/2\r\n\r\n",
        "CONNECT  api.example.org:443 HTTP/1.1\r\n\r\n",
        "CONNECT api.example.org HTTP/1.1\r\n\r\n",
        "CONNECT user@api.example.org:443 HTTP/1.1\r\n\r\n",
        "CONNECT https://api.example.org:443 HTTP/1.1\r\n\r\n",
        "CONNECT api.example.org:443/x HTTP/1.1\r\n\r\n",
        "CONNECT api.example.org:443\tHTTP/1.1\r\n\r\n",
        "CONNECT api.example.org:443 HTTP/1.1\nX: y\r\n\r\n",
        "CONNECT api.example.org:443 HTTP/1.1\r\nno colon\r\n\r\n",
        "CONNECT api.example.org:443 HTTP/1.1\r\n X: folded\r\n\r\n",
        "CONNECT api.example.org:443 HTTP/1.1\r\nX: y\nCONNECT evil:443 HTTP/1.1\r\n\r\n",
        "CONNECT api.example.org:443 HTTP/1.1\r\nX: y\r\rZ: y\r\n\r\n",
        "CONNECT api.example.org:443 HTTP/1.1\r\nProxy-Authorization: a\0b\r\n\r\n",
    ] {
        check(unclear, Err(Unclear));
    }
}

/// A proxy that answers each question with the next of `answers`, and says what it was asked.
fn proxy(answers: &'static [&'static str]) -> (NetAddress, JoinHandle<Vec<String>>) {
    let (listener, at) = listener();
    let serve = move || {
        let mut heard = Vec::new();
        for answer in answers {
            let (mut peer, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if peer.read(&mut byte).unwrap() == 0 {
                    break;
                }
                head.push(byte[0]);
            }
            peer.write_all(answer.as_bytes()).unwrap();
            let mut rest = String::new();
            let _ = peer.read_to_string(&mut rest);
            heard.push(format!("{}|{rest}", String::from_utf8(head).unwrap()));
        }
        heard
    };
    (at, std::thread::spawn(serve))
}

/// Says `text` in pieces, ends, and returns what comes back. Only the first of a long text are small:
/// the kernel keeps a buffer of its own for each, and thousands of them close the window, which it
/// opens again when its timers say so.
fn say(inside: &NetAddress, text: &str) -> String {
    let mut client = to(inside);
    client.set_nodelay(true).unwrap();
    let (first, rest) = text.as_bytes().split_at(text.len().min(500));
    for piece in first.chunks(7).chain(rest.chunks(1_000)) {
        client.write_all(piece).unwrap();
    }
    client.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer
}

const ASKED: &str = "CONNECT api.example.org:443 HTTP/1.1\r\nHost: api.example.org:443\r\n\r\n";

#[test]
fn a_tunnel_carries_everything_once_the_proxy_has_said_yes() {
    let (at, heard) = proxy(&["HTTP/1.1 200 OK\r\n\r\nhello"]);
    let (_forwarder, inside) = forward(at, Some(listed()));
    assert_eq!(say(&inside, &format!("{ASKED}bytes")), "HTTP/1.1 200 OK\r\n\r\nhello");
    assert_eq!(heard.join().unwrap(), [format!("{ASKED}|bytes")]);
}

#[test]
fn a_proxy_that_said_no_is_asked_nothing_more() {
    let refusal = "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 3\r\n\r\nno!";
    let (at, heard) = proxy(Box::leak(Box::new([refusal])));
    let (_forwarder, inside) = forward(at, Some(listed()));
    let second = "CONNECT evil.example.org:443 HTTP/1.1\r\n\r\n";
    assert_eq!(
        say(&inside, &format!("{ASKED}{second}")),
        "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    assert_eq!(heard.join().unwrap(), [format!("{ASKED}|")]);
}

#[test]
fn what_is_not_listed_never_gets_to_the_proxy() {
    let (outside, at) = listener();
    outside.set_nonblocking(true).unwrap();
    let (forwarder, inside) = forward(at, Some(listed()));
    for (text, status) in [
        ("CONNECT evil.example.org:443 HTTP/1.1\r\n\r\n".to_owned(), "403"),
        ("GET http://api.example.org/ HTTP/1.1\r\n\r\n".to_owned(), "403"),
        ("\x16\x03\x01 hello\r\n\r\n".to_owned(), "400"),
        (
            format!("CONNECT api.example.org:443 HTTP/1.1\r\nX: {}\r\n\r\n", "y".repeat(20_000)),
            "431",
        ),
    ] {
        let answer = say(&inside, &text);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
    // One that never ends is dropped with the forwarder.
    let mut slow = to(&inside);
    slow.write_all(b"CONNECT api").unwrap();
    drop(forwarder);
    assert!(slow.read(&mut [0]).map_or(0, |count| count) == 0);
    assert_eq!(outside.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn a_head_is_as_long_as_it_may_be_whatever_came_at_once() {
    for (length, is_read) in
        [(LONGEST_HEAD, true), (LONGEST_HEAD + 1, false), (LONGEST_HEAD + 4_000, false)]
    {
        let (outside, at) = listener();
        let (end, _hold) = io::pipe().unwrap();
        let mut client = to(&at);
        let (server, _) = outside.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        // All of it is there before the first look, so that each look finds as much as it can take.
        client.write_all(&[&vec![b'x'; length - 4][..], b"\r\n\r\nmore"].concat()).unwrap();
        let read =
            read_head(&server, monotonic() + Duration::from_secs(30), &Ending(Arc::new(end)));
        assert_eq!(read.unwrap().is_ok(), is_read, "{length}");
    }
}

#[test]
fn a_question_that_takes_too_long_is_refused() {
    let (outside, at) = listener();
    let (end, _hold) = io::pipe().unwrap();
    let ending = Ending(Arc::new(end));
    let mut client = to(&at);
    let (server, _) = outside.accept().unwrap();
    server.set_nonblocking(true).unwrap();
    client.write_all(b"CONNECT api.example.org:443 HTTP/1.1\r\n").unwrap();
    let deadline = monotonic() + Duration::from_millis(50);
    let read = read_head(&server, deadline, &ending).unwrap();
    assert_eq!(read, Err(TunnelRefusal::TooSlow));
    assert!(monotonic() >= deadline);
}
