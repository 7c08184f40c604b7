//! Streamable HTTP on loopback, for clients that are not our parent.
//!
//! Three checks, one after the other. The address is loopback, so no other machine connects. A
//! bearer token keeps out other users and web pages. The names in `Host` and `Origin` must be
//! local, so a web page that resolves its own name to this machine (DNS rebinding) is refused
//! even with the token. No state is kept between requests, so no client can fill it up.
//! <https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#security-warning>

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::MESSAGE_BYTES;
use crate::server::McpHandler;

/// Where the protocol is spoken.
const PATH: &str = "/mcp";
/// Connections at a time.
const AT_ONCE: usize = 64;
/// How long a request's head may take to arrive.
const HEAD_TIME: Duration = Duration::from_secs(10);

type HttpAnswer = Response<BoxBody<Bytes, Infallible>>;
type McpService = StreamableHttpService<McpHandler, NeverSessionManager>;

pub(crate) async fn serve(
    server: McpHandler,
    address: SocketAddr,
    token: &str,
    ready: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    ready(listener.local_addr()?);
    let door = Arc::new(AccessCheck { protocol: protocol(server), token: token.to_owned() });
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return Ok(()) };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // Out of descriptors, or gone before it was here: the next may be luckier.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let door = Arc::clone(&door);
        tokio::spawn(async move {
            let _place = place;
            attend(stream, door).await;
        });
    }
}

fn protocol(server: McpHandler) -> McpService {
    let local = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MESSAGE_BYTES)
        .with_allowed_hosts(["localhost", "127.0.0.1", "::1"])
        .with_allowed_origins(local)
        .enforce_origin_validation();
    StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    )
}

async fn attend(stream: TcpStream, door: Arc<AccessCheck>) {
    let answer = |request| {
        let door = Arc::clone(&door);
        async move { Ok::<_, Infallible>(door.answer(request).await) }
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), service_fn(answer));
    // A client that closes the connection does not want an answer.
    let _ = connection.await;
}

struct AccessCheck {
    protocol: McpService,
    token: String,
}

impl AccessCheck {
    async fn answer(&self, request: Request<Incoming>) -> HttpAnswer {
        if !self.admits(&request) {
            let mut answer = plain(StatusCode::UNAUTHORIZED, "a bearer token is needed\n");
            let scheme = http::HeaderValue::from_static("Bearer");
            answer.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            return answer;
        }
        if request.uri().path() != PATH {
            return plain(StatusCode::NOT_FOUND, "the protocol is spoken at /mcp\n");
        }
        self.protocol.handle(request).await
    }

    fn admits(&self, request: &Request<Incoming>) -> bool {
        let mut given = request.headers().get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (given.next(), given.next()) else { return false };
        let Ok(value) = value.to_str() else { return false };
        let Some((scheme, token)) = value.split_once(' ') else { return false };
        scheme.eq_ignore_ascii_case("bearer") && is_same(token.trim(), &self.token)
    }
}

/// Compares without telling by its time how much was right.
fn is_same(given: &str, token: &str) -> bool {
    let (given, token) = (given.as_bytes(), token.as_bytes());
    given.len() == token.len()
        && given.iter().zip(token).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

fn plain(status: StatusCode, text: &'static str) -> HttpAnswer {
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_compared_whole() {
        assert!(is_same("abc", "abc"));
        for wrong in ["", "ab", "abcd", "abd", "ABC"] {
            assert!(!is_same(wrong, "abc"), "{wrong}");
        }
    }
}
