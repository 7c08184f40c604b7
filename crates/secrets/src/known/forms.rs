//! The encodings in which a value is looked for.

use super::finder::WINDOW;

/// In these, RFC 4648, sections 4 and 5.
const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FOR_URLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Returns the value as it is, and as JSON, URLs and base64 write it.
pub(super) fn forms(value: &str) -> Vec<Vec<u8>> {
    let once = json(value);
    // A tool's answer in JSON, in an agent's line of JSON.
    let twice = json(&once);
    let mut forms: Vec<Vec<u8>> = [value.to_owned(), once, twice]
        .into_iter()
        .chain([url(value, b"0123456789ABCDEF"), url(value, b"0123456789abcdef")])
        .map(String::into_bytes)
        .collect();
    for alphabet in [STANDARD, FOR_URLS] {
        forms.extend((0..3).map(|offset| base64_within(value.as_bytes(), offset, alphabet)));
    }
    // Of an encoded value so much must be left to be looked for: less could be anything.
    forms.retain(|form| form.len() >= WINDOW);
    forms.sort();
    forms.dedup();
    forms
}

fn json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// RFC 3986, section 2.1: everything but unreserved characters.
fn url(text: &str, digits: &[u8; 16]) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let digit = |index: u8| char::from(digits[usize::from(index)]);
            encoded.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    encoded
}

/// Returns the characters that the base64 of any text has which holds `value`, if the value
/// begins `offset` bytes after a group of three: those that depend on nothing around it. So
/// `user:value` is found as well, whatever the user is called.
fn base64_within(value: &[u8], offset: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let bits = |index: usize| match index.checked_sub(offset) {
        Some(at) => value.get(at).copied().unwrap_or_default(),
        None => 0,
    };
    let (first, last) = ((8 * offset).div_ceil(6), 8 * (offset + value.len()) / 6);
    let character = |index: usize| {
        let (byte, shift) = (6 * index / 8, 6 * index % 8);
        let two = u16::from(bits(byte)) << 8 | u16::from(bits(byte + 1));
        alphabet[usize::from(two >> (10 - shift) & 63)]
    };
    (first..last).map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_found_at_every_offset() {
        // Of "x", "xy" and "xyz" before "many hands make", as coreutils' base64 writes them.
        for (text, offset) in [
            ("bWFueSBoYW5kcyBtYWtl", 0),
            ("eG1hbnkgaGFuZHMgbWFrZQ==", 1),
            ("eHltYW55IGhhbmRzIG1ha2U=", 2),
            ("eHl6bWFueSBoYW5kcyBtYWtl", 0),
        ] {
            let form = base64_within(b"many hands make", offset, STANDARD);
            let form = String::from_utf8(form).unwrap();
            assert!(text.contains(&form) && form.len() >= 18, "{form} in {text}");
        }
    }

    #[test]
    fn every_form_is_there_once() {
        let text = |form: Vec<u8>| String::from_utf8(form).unwrap();
        let forms: Vec<String> = forms("a\"b/c d\\e+fgh").into_iter().map(text).collect();
        for expected in [
            "a\"b/c d\\e+fgh",
            "a\\\"b/c d\\\\e+fgh",
            "a\\\\\\\"b/c d\\\\\\\\e+fgh",
            "a%22b%2Fc%20d%5Ce%2Bfgh",
            "a%22b%2fc%20d%5ce%2bfgh",
        ] {
            assert!(forms.iter().any(|form| form == expected), "{expected} in {forms:?}");
        }
        assert_eq!(super::forms("plain-value-1").len(), 4);
    }
}
