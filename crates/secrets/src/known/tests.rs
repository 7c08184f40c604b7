//! Every value here is made up.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::Scrubber;

fn known() -> KnownSecrets {
    KnownSecrets::new([
        KnownValue::new("API_KEY", "sk-123456789"),
        KnownValue::new("LONG_TOKEN", "sk-123456789-and-more"),
        KnownValue::new("quoted_secret", "a\"b\nc\"d\" e/f"),
        KnownValue::new("SHORT_KEY", "12345678901"),
        KnownValue::new("OTHER/PASSWORD", "and-more-56789"),
    ])
}

/// Every way to cut `text` in two must read the same.
#[track_caller]
fn check(text: &str, expected: &str) {
    let known = known();
    assert_eq!(known.strike(text), expected);
    assert_eq!(known.are_in(text.as_bytes()), text != expected);
    for cut in 0..=text.len() {
        let (left, right) = text.as_bytes().split_at(cut);
        let mut scrubber = Scrubber::new(known.clone());
        let mut clean = scrubber.pass(left).into_owned();
        clean.extend_from_slice(&scrubber.pass(right));
        clean.extend(scrubber.finish());
        assert_eq!(String::from_utf8(clean).unwrap(), expected, "cut at {cut}");
    }
}

#[test]
fn the_value_of_a_secret_becomes_its_name() {
    check("key=sk-123456789, sk-123456789.", "key=[secret API_KEY], [secret API_KEY].");
    check("sk-12345678 /usr/bin:/bin 12345678901", "sk-12345678 /usr/bin:/bin 12345678901");
}

#[test]
fn a_secret_is_found_as_json_urls_and_base64_write_it() {
    check(r#"{"x":"a\"b\nc\"d\" e/f"}"#, r#"{"x":"[secret quoted_secret]"}"#);
    check("a\"b\nc\"d\" e/f\n", "[secret quoted_secret]\n");
    check("?q=a%22b%0Ac%22d%22%20e%2Ff&", "?q=[secret quoted_secret]&");
    check("Basic dXNlcjpzay0xMjM0NTY3ODk=", "Basic dXNlcjp[secret API_KEY]k=");
    check("aboutc2stMTIzNDU2Nzg5", "about[secret API_KEY]");
}

#[test]
fn of_secrets_that_overlap_nothing_is_left() {
    check("sk-123456789-and-more", "[secret LONG_TOKEN]");
    check("sk-123456789-and-mor!", "[secret API_KEY]-and-mor!");
    check("sk-123456789-and-more-56789!", "[secret LONG_TOKEN]!");
}

#[test]
fn a_document_holds_none_in_its_texts_and_names() {
    let mut document = serde_json::json!({
        "n": 1, "sk-123456789": ["x sk-123456789", { "deep": "sk-123456789-and-more" }],
    });
    known().strike_json(&mut document);
    let expected = serde_json::json!({
        "n": 1, "[secret API_KEY]": ["x [secret API_KEY]", { "deep": "[secret LONG_TOKEN]" }],
    });
    assert_eq!(document, expected);
}

#[test]
fn what_is_public_is_asked_once_and_only_for_what_was_found() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let values = ["first-value-1", "second-value-2"].map(|value| KnownValue::new(value, value));
    let known = KnownSecrets::unless(values, move |value| {
        counter.fetch_add(1, Ordering::Relaxed);
        value.starts_with("first")
    });
    assert_eq!(known.strike("nothing at all"), "nothing at all");
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    for _ in 0..3 {
        assert_eq!(known.strike("first-value-1 here"), "first-value-1 here");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert_eq!(known.names_in(b"first-value-1 second-value-2"), ["second-value-2"]);
    let more = known.with([KnownValue::new("third", "third-value-3")]);
    let struck = "first-value-1 [secret second-value-2] [secret third]";
    assert_eq!(more.strike("first-value-1 second-value-2 third-value-3"), struck);
}

#[test]
fn no_value_is_shown_by_what_is_printed_for_debugging() {
    let shown = format!("{:?} {:?}", known(), KnownValue::new("A", "the-value-itself"));
    assert!(shown.contains("API_KEY") && !shown.contains("sk-1") && !shown.contains("the-value"));
}
