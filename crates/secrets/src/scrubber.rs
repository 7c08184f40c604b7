//! Strikes secrets out of a stream, also where one is split between two reads.

use std::borrow::Cow;

use crate::known::{KnownSecrets, StreamPart};

/// Takes secrets out of one stream.
#[derive(Debug, Default)]
pub struct Scrubber {
    secrets: KnownSecrets,
    /// What may be the beginning of a secret.
    held: Vec<u8>,
}

impl Scrubber {
    pub fn new(secrets: KnownSecrets) -> Self {
        Self { secrets, held: Vec::new() }
    }

    /// Returns what can be passed on now. Almost always that is `bytes` itself.
    pub fn pass<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        if self.secrets.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let bytes = if self.held.is_empty() {
            Cow::Borrowed(bytes)
        } else {
            self.held.extend_from_slice(bytes);
            Cow::Owned(std::mem::take(&mut self.held))
        };
        let StreamPart { end, struck } = self.secrets.part(&bytes);
        self.held = bytes[end..].to_vec();
        match (struck, bytes) {
            (Some(struck), _) => Cow::Owned(struck),
            (None, Cow::Borrowed(bytes)) => Cow::Borrowed(&bytes[..end]),
            (None, Cow::Owned(mut bytes)) => {
                bytes.truncate(end);
                Cow::Owned(bytes)
            }
        }
    }

    /// Returns what was held back, when no more can come.
    pub fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        match self.secrets.strike_bytes(&held) {
            Cow::Borrowed(_) => held,
            Cow::Owned(struck) => struck,
        }
    }
}
