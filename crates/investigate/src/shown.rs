//! Names, sizes and ages as people and machines read them.

use std::path::Path;

use spore_model::Timestamp;

/// A path as text. Bytes that are no text become `\xNN`: such a name is shown, not hidden.
pub fn path_text(path: &Path) -> String {
    bytes_text(path.as_os_str().as_encoded_bytes())
}

pub(crate) fn bytes_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// A size in the unit that fits it, in powers of ten.
pub fn size_text(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let (mut scale, mut unit) = (1000_u64, 0);
    while bytes / scale >= 1000 && unit + 1 < UNITS.len() {
        (scale, unit) = (scale * 1000, unit + 1);
    }
    // Cut, not rounded: 999,999 bytes are not 1 MB yet.
    let (whole, tenth, name) = (bytes / scale, bytes % scale / (scale / 10), UNITS[unit]);
    if whole >= 100 { format!("{whole} {name}") } else { format!("{whole}.{tenth} {name}") }
}

/// How long before `now` something happened, in one unit.
pub fn age_text(then: Timestamp, now: Timestamp) -> String {
    let seconds = (now.as_millis() - then.as_millis()).div_euclid(1000);
    if seconds < 0 {
        return "in the future".to_owned();
    }
    let (number, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        86_400..2_592_000 => (seconds / 86_400, "day"),
        2_592_000..31_536_000 => (seconds / 2_592_000, "month"),
        _ => (seconds / 31_536_000, "year"),
    };
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {unit}{ending} ago")
}

/// A number with its thousands apart.
pub fn number_text(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Says how many, in words that fit the number.
pub(crate) fn many(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", number_text(number), if number == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_that_fits() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (1_550, "1.5 kB"),
            (123_456, "123 kB"),
            (1_500_000, "1.5 MB"),
            (2_147_483_648, "2.1 GB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(size_text(bytes), text, "{bytes}");
        }
    }

    #[test]
    fn ages_are_told_in_one_unit() {
        let now = Timestamp::from_millis(1_767_225_600_000);
        let ago =
            |seconds: i64| age_text(Timestamp::from_millis(now.as_millis() - seconds * 1000), now);
        assert_eq!(ago(-5), "in the future");
        assert_eq!(ago(5), "just now");
        assert_eq!(ago(60), "1 minute ago");
        assert_eq!(ago(7_200), "2 hours ago");
        assert_eq!(ago(86_400 * 45), "1 month ago");
        assert_eq!(ago(86_400 * 800), "2 years ago");
    }

    #[test]
    fn a_name_that_is_no_text_is_shown_all_the_same() {
        assert_eq!(bytes_text(b"a\xff/b"), "a\\xff/b");
        assert_eq!(number_text(1_234_567), "1,234,567");
        assert_eq!(number_text(12), "12");
    }
}
