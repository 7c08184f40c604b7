//! What a file says that an agent is signed in with: pure.
//!
//! Where its tokens are is data of the settings. From that, the time and how long a session may
//! take follows what the session is given. A refresh token is good for one use
//! (<https://datatracker.ietf.org/doc/html/rfc6749#section-10.4>), and a vendor that sees one for
//! a second time takes it for stolen and signs the user out: so of two holders one is too many.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spore_config::AgentState;
use spore_model::Timestamp;

/// Where the tokens are in a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct TokenPlaces {
    access: Vec<String>,
    refresh: Vec<String>,
    expires: Vec<String>,
    /// What else changes with them.
    with: Vec<Vec<String>>,
}

/// A file with refresh tokens in it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct TokenFile {
    value: Value,
    /// One a sign-in: most files hold one.
    held: Vec<HeldToken>,
}

/// One refresh token and the access token that came with it.
#[derive(Clone, PartialEq, Debug)]
struct HeldToken {
    refresh: String,
    /// JSON pointers to all that a renewal changes, the refresh token's first.
    pointers: Vec<String>,
    expires: Option<Timestamp>,
}

/// What a session is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenGrant {
    /// The access token, which outlives the session.
    Access,
    /// The access token would not outlive the session, or it is not known whether it would.
    Due,
}

impl TokenPlaces {
    /// Returns nothing for an agent of whose files nothing is known.
    pub(super) fn of(state: &AgentState) -> Option<Self> {
        let names = |text: &String| text.split('.').map(str::to_owned).collect::<Vec<_>>();
        (!state.refresh_token.is_empty()).then(|| Self {
            access: names(&state.access_token),
            refresh: names(&state.refresh_token),
            expires: names(&state.expires),
            with: state.renewed_with.iter().map(names).collect(),
        })
    }

    /// Reads a file; nothing if it holds no refresh token, or is none that an agent is signed
    /// in with.
    pub(super) fn read(&self, text: &[u8]) -> Option<TokenFile> {
        let value: Value = serde_json::from_slice(text).ok()?;
        let held: Vec<HeldToken> = keys_at_star(&self.refresh, &value)
            .iter()
            .filter_map(|key| self.held(&value, key))
            .collect();
        (!held.is_empty()).then_some(TokenFile { value, held })
    }

    /// Returns the token whose `*` is `key`.
    fn held(&self, value: &Value, key: &str) -> Option<HeldToken> {
        let at = |names: &[String]| pointer(names, key);
        let refresh = value.pointer(&at(&self.refresh))?.as_str()?;
        let mut pointers = vec![at(&self.refresh), at(&self.access), at(&self.expires)];
        pointers.extend(self.with.iter().map(|names| at(names)));
        let expires = value.pointer(&at(&self.expires)).and_then(time_of);
        (!refresh.is_empty()).then(|| HeldToken { refresh: refresh.to_owned(), pointers, expires })
    }
}

impl TokenFile {
    /// Decides what a session is given that may take as long as `lasts`.
    pub(super) fn grant(&self, now: Timestamp, lasts: Duration) -> TokenGrant {
        let lasts = i64::try_from(lasts.as_millis()).unwrap_or(i64::MAX);
        let until = now.as_millis().saturating_add(lasts);
        let outlives =
            |token: &HeldToken| token.expires.is_some_and(|time| time.as_millis() >= until);
        if self.held.iter().all(outlives) { TokenGrant::Access } else { TokenGrant::Due }
    }

    /// Returns the file without refresh tokens. They are emptied and not taken out: Codex is not
    /// signed in by a file that lacks the field, and no agent uses an empty one.
    pub(super) fn without_refresh(&self) -> Vec<u8> {
        let mut value = self.value.clone();
        for place in self.held.iter().filter_map(|token| token.pointers.first()) {
            if let Some(refresh) = value.pointer_mut(place) {
                *refresh = Value::String(String::new());
            }
        }
        value.to_string().into_bytes()
    }

    /// Returns this file, which is the user's, with the tokens that `copy` has renewed; nothing
    /// if it has renewed none. Nothing else is taken over from a copy that a session wrote, and no
    /// token that is older. `was_given` says that the copy began as this very file, so that what
    /// is different came later.
    pub(super) fn with_renewed(&self, copy: &Self, was_given: bool) -> Option<Vec<u8>> {
        let mut value = self.value.clone();
        let mut is_new = false;
        for (mine, other) in self.held.iter().filter_map(|mine| Some((mine, copy.like(mine)?))) {
            if !mine.is_renewed_by(other, was_given) {
                continue;
            }
            is_new = true;
            for place in &mine.pointers {
                if let (Some(old), Some(new)) =
                    (value.pointer_mut(place), copy.value.pointer(place))
                    && is_like(old, new)
                {
                    *old = new.clone();
                }
            }
        }
        is_new.then(|| value.to_string().into_bytes())
    }

    /// Returns the token at the same place.
    fn like(&self, other: &HeldToken) -> Option<&HeldToken> {
        self.held.iter().find(|token| token.pointers.first() == other.pointers.first())
    }

    /// Returns whether `other`, which is the same file at a later time, holds a newer token.
    pub(super) fn is_renewed_by(&self, other: &Self) -> bool {
        self.held.iter().any(|mine| other.like(mine).is_none_or(|it| mine.is_renewed_by(it, true)))
    }
}

impl HeldToken {
    /// Returns whether `other` came later. Some vendors keep the refresh token: then the access
    /// token is a new one.
    fn is_renewed_by(&self, other: &Self, was_given: bool) -> bool {
        let is_other = other.refresh != self.refresh;
        match (self.expires, other.expires) {
            (Some(mine), Some(other)) if was_given && is_other => other >= mine,
            (Some(mine), Some(other)) => other > mine,
            (None, _) => was_given && is_other,
            (Some(_), None) => false,
        }
    }
}

/// A token is a text and a time is a number, whatever a session wrote there.
fn is_like(old: &Value, new: &Value) -> bool {
    old.is_string() == new.is_string() && old.is_number() == new.is_number()
}

/// Returns what `*` stands for among `names`; where there is none, one name that is not used.
fn keys_at_star(names: &[String], value: &Value) -> Vec<String> {
    let Some(star) = names.iter().position(|name| name == "*") else {
        return vec![String::new()];
    };
    let above = value.pointer(&pointer(&names[..star], ""));
    let fields = above.and_then(Value::as_object);
    fields.map_or_else(Vec::new, |fields| fields.keys().cloned().collect())
}

fn pointer(names: &[String], key: &str) -> String {
    let name = |name: &String| {
        let name = if name == "*" { key } else { name };
        format!("/{}", name.replace('~', "~0").replace('/', "~1"))
    };
    names.iter().map(name).collect()
}

/// Numbers beyond this are milliseconds: as seconds they are in the year 5138.
const MOST_SECONDS: i64 = 100_000_000_000;

/// Reads an expiry: a number, or a token that says so itself.
fn time_of(value: &Value) -> Option<Timestamp> {
    let seconds = |number: i64| match number {
        number if number > MOST_SECONDS => Timestamp::from_millis(number),
        number => Timestamp::from_millis(number.saturating_mul(1000)),
    };
    if let Some(token) = value.as_str() {
        let claims = token.split('.').nth(1)?;
        let claims: Value = serde_json::from_slice(&from_base64(claims)?).ok()?;
        return claims.get("exp")?.as_i64().map(seconds);
    }
    value.as_i64().or_else(|| value.as_f64().map(|number| number as i64)).map(seconds)
}

/// Reads the base64 of JWTs (<https://datatracker.ietf.org/doc/html/rfc7515#appendix-C>).
fn from_base64(text: &str) -> Option<Vec<u8>> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bytes = Vec::with_capacity(text.len());
    let (mut bits, mut count) = (0_u32, 0_u32);
    for digit in text.trim_end_matches('=').bytes() {
        let worth = DIGITS.iter().position(|&known| known == digit)?;
        bits = bits << 6 | u32::try_from(worth).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
