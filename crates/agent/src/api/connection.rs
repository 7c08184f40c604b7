//! The connection to a model's server: one request out, pieces of the answer in.
//!
//! The request runs on a thread of its own, so that the session, while it waits for the next
//! piece, can look at the clock and be cancelled; hanging up ends that thread at its next read.
//! The connection is kept between calls. Redirects are not followed: they would carry the key
//! to another server.

use std::io::Read;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// For the address and the connection, which a hang-up does not interrupt.
const CONNECT_WITHIN: Duration = Duration::from_secs(15);

/// Pieces that wait to be looked at; the server waits when there are more.
const PIECES: usize = 64;

pub(super) enum AnswerPiece {
    Head {
        status: u16,
        /// Names in lower case.
        headers: Vec<(String, String)>,
    },
    Bytes(Vec<u8>),
    End,
    Broken(String),
}

pub(super) struct Connection {
    proxy: Option<String>,
    agent: Option<ureq::Agent>,
}

impl Connection {
    pub(super) fn new(proxy: Option<String>) -> Self {
        Self { proxy, agent: None }
    }

    pub(super) fn post(
        &mut self,
        url: &str,
        headers: &[(&'static str, String)],
        body: Vec<u8>,
    ) -> Receiver<AnswerPiece> {
        let proxy = self.proxy.as_deref();
        let agent = self.agent.get_or_insert_with(|| connect(proxy)).clone();
        let (url, headers) = (url.to_owned(), headers.to_vec());
        let (sender, pieces) = sync_channel(PIECES);
        std::thread::spawn(move || {
            let request = headers
                .iter()
                .fold(agent.post(&url), |request, (name, value)| request.header(*name, value));
            match request.send(&body[..]) {
                Ok(response) => receive(response, &sender),
                Err(error) => {
                    let _ = sender.send(AnswerPiece::Broken(error.to_string()));
                }
            }
        });
        pieces
    }

    /// Ends a call in flight. The next one gets a new connection.
    pub(super) fn hang_up(&mut self) {
        if let Some(agent) = self.agent.take() {
            agent.shutdown();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.hang_up();
    }
}

fn connect(proxy: Option<&str>) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_resolve(Some(CONNECT_WITHIN))
        .timeout_connect(Some(CONNECT_WITHIN))
        .user_agent("spore")
        // The proxy of the session's environment: ureq would take the one of our own.
        .proxy(proxy.and_then(|proxy| ureq::Proxy::new(proxy).ok()))
        .build();
    ureq::Agent::new_with_config(config)
}

/// Passes the answer on until it ends or the session has dropped the receiver.
fn receive(response: ureq::http::Response<ureq::Body>, sender: &SyncSender<AnswerPiece>) {
    let (head, body) = response.into_parts();
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect();
    let mut listened =
        sender.send(AnswerPiece::Head { status: head.status.as_u16(), headers }).is_ok();
    let mut reader = body.into_reader();
    let mut buffer = vec![0; 16 << 10];
    while listened {
        let piece = match reader.read(&mut buffer) {
            Ok(0) => AnswerPiece::End,
            Ok(count) => AnswerPiece::Bytes(buffer[..count].to_vec()),
            Err(error) => AnswerPiece::Broken(error.to_string()),
        };
        let is_last = !matches!(piece, AnswerPiece::Bytes(_));
        listened = sender.send(piece).is_ok() && !is_last;
    }
}
