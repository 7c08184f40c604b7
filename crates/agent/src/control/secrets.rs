//! Keeps secrets out of everything a session leaves behind.
//!
//! A secret is the value of an environment variable whose name says so. Each place where it
//! appears in the output becomes `[secret NAME]`, as it is and as JSON writes it. An agent
//! that encodes a value in another way is not stopped: this guards against accidents, the
//! sandbox against intent.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem::Finder;

use crate::Request;

const NAMES: [&str; 4] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD"];

/// Shorter values are words that would be found everywhere.
const SHORTEST: usize = 8;

pub(super) struct Secrets {
    all: Vec<Secret>,
}

struct Secret {
    finder: Finder<'static>,
    mark: String,
}

impl Secrets {
    /// Finds the secrets in what a session is given.
    pub(super) fn of(request: &Request) -> Self {
        let servers = request.mcp_servers.iter().flat_map(|server| &server.env);
        Self::among(request.env.iter().chain(servers))
    }

    fn among<'a>(variables: impl IntoIterator<Item = &'a (String, String)>) -> Self {
        let mut all: Vec<Secret> = Vec::new();
        for (name, value) in variables {
            if value.len() < SHORTEST || !is_secret(name) {
                continue;
            }
            // The mark stands inside JSON strings.
            let plain = |&c: &char| c.is_ascii_alphanumeric() || c == '_';
            let mark = format!("[secret {}]", name.chars().filter(plain).collect::<String>());
            let json = serde_json::Value::from(value.as_str()).to_string();
            for form in [value.as_str(), &json[1..json.len() - 1]] {
                if !all.iter().any(|known| known.value() == form.as_bytes()) {
                    let finder = Finder::new(form.as_bytes()).into_owned();
                    all.push(Secret { finder, mark: mark.clone() });
                }
            }
        }
        Self { all }
    }

    /// Returns where secrets are, in order; what overlaps is one.
    fn places(&self, bytes: &[u8]) -> Vec<(Range<usize>, &str)> {
        let mut found: Vec<(Range<usize>, &str)> = Vec::new();
        for secret in &self.all {
            let length = secret.value().len();
            let starts = secret.finder.find_iter(bytes);
            found.extend(starts.map(|start| (start..start + length, secret.mark.as_str())));
        }
        found.sort_by_key(|(place, _)| (place.start, usize::MAX - place.end));
        found.dedup_by(|next, last| {
            let overlaps = next.0.start < last.0.end;
            if overlaps {
                last.0.end = last.0.end.max(next.0.end);
            }
            overlaps
        });
        found
    }

    /// Returns where a secret may begin whose end has not come yet.
    fn begun(&self, bytes: &[u8]) -> usize {
        let longest = |secret: &Secret| {
            let value = secret.value();
            (1..value.len()).rev().find(|&length| bytes.ends_with(&value[..length]))
        };
        bytes.len() - self.all.iter().filter_map(longest).max().unwrap_or(0)
    }
}

impl Secret {
    fn value(&self) -> &[u8] {
        self.finder.needle()
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    NAMES.iter().any(|end| name.ends_with(end))
}

/// Takes secrets out of a stream, also where they are split between two reads.
pub(super) struct Scrubber<'a> {
    secrets: &'a Secrets,
    /// What may be the beginning of a secret.
    held: Vec<u8>,
}

impl<'a> Scrubber<'a> {
    pub(super) fn new(secrets: &'a Secrets) -> Self {
        Self { secrets, held: Vec::new() }
    }

    /// Returns what can be passed on now. Almost always that is `bytes` itself.
    pub(super) fn pass<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        if self.secrets.all.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let bytes = if self.held.is_empty() {
            Cow::Borrowed(bytes)
        } else {
            self.held.extend_from_slice(bytes);
            Cow::Owned(std::mem::take(&mut self.held))
        };
        let places = self.secrets.places(&bytes);
        let begun = self.secrets.begun(&bytes);
        // A secret that is whole may still be the beginning of a longer one.
        let crossing = places.iter().find(|(place, _)| place.end > begun);
        let end = crossing.map_or(begun, |(place, _)| place.start.min(begun));
        self.held = bytes[end..].to_vec();
        if end == bytes.len() && places.is_empty() {
            return bytes;
        }
        Cow::Owned(replace(&bytes[..end], &places))
    }

    /// Returns what was held back, when no more can come.
    pub(super) fn finish(self) -> Vec<u8> {
        replace(&self.held, &self.secrets.places(&self.held))
    }
}

fn replace(bytes: &[u8], places: &[(Range<usize>, &str)]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for (place, mark) in places.iter().filter(|(place, _)| place.end <= bytes.len()) {
        clean.extend_from_slice(&bytes[from..place.start]);
        clean.extend_from_slice(mark.as_bytes());
        from = place.end;
    }
    clean.extend_from_slice(&bytes[from..]);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIVEN: &[(&str, &str)] = &[
        ("API_KEY", "sk-12345678"),
        ("LONG_TOKEN", "sk-12345678-and-more"),
        ("quoted_secret", "a\"b\nc\"d\""),
        ("SHORT_KEY", "1234567"),
        ("PATH", "/usr/bin:/bin"),
        ("OTHER_PASSWORD", "more-5678"),
    ];

    /// Every way to cut `text` in two must read the same.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let given: Vec<(String, String)> =
            GIVEN.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let secrets = Secrets::among(&given);
        for cut in 0..=text.len() {
            let (left, right) = text.as_bytes().split_at(cut);
            let mut scrubber = Scrubber::new(&secrets);
            let mut clean = scrubber.pass(left).into_owned();
            clean.extend_from_slice(&scrubber.pass(right));
            clean.extend(scrubber.finish());
            assert_eq!(String::from_utf8(clean).unwrap(), expected, "cut at {cut}");
        }
    }

    #[test]
    fn the_value_of_a_secret_becomes_its_name() {
        check("key=sk-12345678, sk-12345678.", "key=[secret API_KEY], [secret API_KEY].");
        check("sk-1234567 /usr/bin:/bin 1234567", "sk-1234567 /usr/bin:/bin 1234567");
    }

    #[test]
    fn a_secret_is_found_as_json_writes_it() {
        check(r#"{"x":"a\"b\nc\"d\""}"#, r#"{"x":"[secret quoted_secret]"}"#);
        check("a\"b\nc\"d\"\n", "[secret quoted_secret]\n");
    }

    #[test]
    fn of_secrets_that_overlap_nothing_is_left() {
        check("sk-12345678-and-more", "[secret LONG_TOKEN]");
        check("sk-12345678-and-mor!", "[secret API_KEY]-and-mor!");
        check("sk-12345678-and-more-5678!", "[secret LONG_TOKEN]!");
    }
}
