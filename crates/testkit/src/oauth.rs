//! A scripted OAuth server: it rotates refresh tokens, and one that is used twice revokes every
//! token of its sign-in, as vendors do
//! (<https://datatracker.ietf.org/doc/html/rfc9700#section-4.14.2>).
//!
//! `POST /token` with a JSON body renews, `GET /work` with a bearer token is what tokens are for,
//! and `GET /meet/NAME` waits until the test lets it go on. Access tokens are JWTs without a
//! signature.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tokens as a client keeps them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IssuedTokens {
    pub access: String,
    pub refresh: String,
    /// Milliseconds since 1970.
    pub expires: u64,
}

/// What has happened at a server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OauthCounts {
    pub refreshes: u32,
    /// Sign-ins that are void because a refresh token was used twice.
    pub revoked: u32,
    /// Calls with a token that is good, and with one that is not.
    pub worked: u32,
    pub refused: u32,
}

#[derive(Default)]
struct OauthState {
    counts: OauthCounts,
    lifetime: Duration,
    issued: u32,
    /// The sign-in of each refresh token, and whether it was used.
    refresh: BTreeMap<String, (u32, bool)>,
    access: BTreeMap<String, (u32, u64)>,
    revoked: BTreeSet<u32>,
    /// Places at which clients wait, and those where they need not.
    met: BTreeMap<String, u32>,
    open: BTreeSet<String>,
    /// Every sign-in's calls for a token that is good, in their order.
    log: Vec<String>,
}

/// A server on a port of its own, for as long as the process lives.
#[derive(Clone)]
pub struct OauthServer {
    port: u16,
    shared: Arc<(Mutex<OauthState>, Condvar)>,
}

impl OauthServer {
    /// Starts one whose access tokens are good for `lifetime`.
    pub fn start(lifetime: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = OauthState { lifetime, ..OauthState::default() };
        let server = Self { port, shared: Arc::new((Mutex::new(state), Condvar::new())) };
        let serving = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = serving.clone();
                std::thread::spawn(move || server.answer(&stream));
            }
        });
        server
    }

    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Signs a user in: a family of tokens of its own, good for `lifetime` at first.
    pub fn sign_in(&self, lifetime: Duration) -> IssuedTokens {
        let mut state = self.state();
        let family = state.issued;
        state.issue(family, lifetime)
    }

    pub fn counts(&self) -> OauthCounts {
        self.state().counts.clone()
    }

    /// Returns the calls so far: `refresh` and `work`, and who called.
    pub fn log(&self) -> Vec<String> {
        self.state().log.clone()
    }

    /// Uses a refresh token as a client does; nothing if it is void.
    pub fn refresh(&self, refresh: &str) -> Option<IssuedTokens> {
        self.state().renew(refresh, "the test")
    }

    /// Waits until `count` clients have come to a place; says whether they did within a minute.
    #[must_use]
    pub fn have_come(&self, place: &str, count: u32) -> bool {
        let (state, changed) = &*self.shared;
        let state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_few = |state: &mut OauthState| state.met.get(place).is_none_or(|met| *met < count);
        let patience = Duration::from_secs(60);
        let (_state, late) = changed.wait_timeout_while(state, patience, is_few).unwrap();
        !late.timed_out()
    }

    /// Lets those who wait at a place go on, and all who come.
    pub fn let_go(&self, place: &str) {
        self.state().open.insert(place.to_owned());
        self.shared.1.notify_all();
    }

    fn state(&self) -> std::sync::MutexGuard<'_, OauthState> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        let Some(call) = HttpCall::read(&mut reader) else { return };
        let (code, body) = self.reply(&call);
        let head = format!(
            "HTTP/1.1 {code} X\r\ncontent-type: application/json\r\nconnection: close\r\n\
             content-length: {}\r\n\r\n",
            body.len()
        );
        let mut out = stream;
        let _ = out.write_all(head.as_bytes()).and_then(|()| out.write_all(body.as_bytes()));
    }

    fn reply(&self, call: &HttpCall) -> (u16, String) {
        if let Some(place) = call.path.strip_prefix("/meet/") {
            let (state, changed) = &*self.shared;
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            *state.met.entry(place.to_owned()).or_default() += 1;
            changed.notify_all();
            let is_closed = |state: &mut OauthState| !state.open.contains(place);
            let _ = changed.wait_timeout_while(state, Duration::from_secs(60), is_closed);
            return (200, "{}".to_owned());
        }
        let mut state = self.state();
        if call.path != "/token" {
            let is_good = state.is_good(&call.bearer);
            state.counts.worked += u32::from(is_good);
            state.counts.refused += u32::from(!is_good);
            state.log.push(format!("work {}", call.client));
            return (if is_good { 200 } else { 401 }, "{}".to_owned());
        }
        let body: serde_json::Value = serde_json::from_slice(&call.body).unwrap_or_default();
        let refresh = body["refresh_token"].as_str().unwrap_or_default();
        match state.renew(refresh, &call.client) {
            Some(tokens) => {
                let body = serde_json::json!({
                    "access_token": tokens.access,
                    "id_token": tokens.access,
                    "refresh_token": tokens.refresh,
                    "expires_at": tokens.expires,
                });
                (200, body.to_string())
            }
            None => (400, r#"{"error":"invalid_grant"}"#.to_owned()),
        }
    }
}

impl OauthState {
    fn issue(&mut self, family: u32, lifetime: Duration) -> IssuedTokens {
        self.issued += 1;
        let number = self.issued;
        let expires = u64::try_from((since_1970() + lifetime).as_millis()).unwrap();
        let claims = serde_json::json!({
            "exp": expires / 1000,
            "number": number,
            "email": "user@example.org",
            "https://api.openai.com/auth": {
                "chatgpt_plan_type": "plus",
                "chatgpt_account_id": "account",
                "chatgpt_user_id": "user",
            },
        });
        let header = serde_json::json!({ "alg": "none", "typ": "JWT" });
        let part = |value: &serde_json::Value| base64(value.to_string().as_bytes());
        let access = format!("{}.{}.c2ln", part(&header), part(&claims));
        let refresh = format!("made-up-refresh-token-{number}");
        self.access.insert(access.clone(), (family, expires));
        self.refresh.insert(refresh.clone(), (family, false));
        IssuedTokens { access, refresh, expires }
    }

    fn renew(&mut self, refresh: &str, client: &str) -> Option<IssuedTokens> {
        self.log.push(format!("refresh {client}"));
        let (family, used) = self.refresh.get_mut(refresh)?;
        let (family, was_used) = (*family, std::mem::replace(used, true));
        if was_used && self.revoked.insert(family) {
            self.counts.revoked += 1;
        }
        if self.revoked.contains(&family) {
            return None;
        }
        self.counts.refreshes += 1;
        let lifetime = self.lifetime;
        Some(self.issue(family, lifetime))
    }

    fn is_good(&self, access: &str) -> bool {
        let now = u64::try_from(since_1970().as_millis()).unwrap();
        self.access
            .get(access)
            .is_some_and(|(family, expires)| *expires > now && !self.revoked.contains(family))
    }
}

struct HttpCall {
    path: String,
    bearer: String,
    /// Who calls, as it says itself.
    client: String,
    body: Vec<u8>,
}

impl HttpCall {
    fn read(reader: &mut impl BufRead) -> Option<Self> {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let path = line.split(' ').nth(1)?.split('?').next()?.to_owned();
        let mut call =
            Self { path, bearer: String::new(), client: String::new(), body: Vec::new() };
        let mut length = 0_usize;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim().split_once(':') else { break };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().ok()?,
                "authorization" => {
                    call.bearer = value.strip_prefix("Bearer ").unwrap_or(value).to_owned();
                }
                "x-client" => call.client = value.to_owned(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Self { body, ..call })
    }
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - three.len()));
        for place in 0..=three.len() {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(char::from(digit));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_token_is_good_once_and_a_second_use_revokes_the_sign_in() {
        let server = OauthServer::start(Duration::from_secs(60));
        let first = server.sign_in(Duration::ZERO);
        let other = server.sign_in(Duration::ZERO);
        let second = server.refresh(&first.refresh).unwrap();
        let third = server.refresh(&second.refresh).unwrap();
        assert!(server.state().is_good(&third.access) && !server.state().is_good(&first.access));
        assert_eq!(server.refresh(&first.refresh), None);
        assert_eq!(server.refresh(&third.refresh), None);
        assert!(!server.state().is_good(&third.access));
        assert!(server.refresh(&other.refresh).is_some());
        assert_eq!(server.refresh("made up"), None);
        let expected = OauthCounts { refreshes: 3, revoked: 1, ..OauthCounts::default() };
        assert_eq!(server.counts(), expected);
    }
}
