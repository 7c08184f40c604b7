//! A moment in the past as people type it: `2026-01-31`, RFC 3339, or `30m`, `2h`, `7d`, `1w`.
//!
//! Pure: the caller hands in what time it is. A day without a time begins at midnight UTC,
//! like the spine's partitions.

use spore_model::Timestamp;

/// Text that names no moment.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{text:?} is not a time: write a date as in 2026-01-31, a time as in 2026-01-31T12:00:00Z, \
     or how long ago as in 30m, 2h, 7d, 1w"
)]
pub struct BadSince {
    text: String,
}

/// Reads a moment; an age is counted back from `now`.
pub fn parse_since(text: &str, now: Timestamp) -> Result<Timestamp, BadSince> {
    let bad = || BadSince { text: text.chars().take(80).collect() };
    if let Some(age) = age_in_millis(text) {
        return now.as_millis().checked_sub(age).map(Timestamp::from_millis).ok_or_else(bad);
    }
    let whole = if is_date(text) { format!("{text}T00:00:00Z") } else { text.to_owned() };
    whole.parse().map_err(|_| bad())
}

fn age_in_millis(text: &str) -> Option<i64> {
    let (count, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let minutes: i64 = match unit {
        "m" => 1,
        "h" => 60,
        "d" => 24 * 60,
        "w" => 7 * 24 * 60,
        _ => return None,
    };
    count.parse::<i64>().ok()?.checked_mul(minutes)?.checked_mul(60_000)
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let now = "2026-01-31T12:00:00Z".parse().unwrap();
        assert_eq!(parse_since(text, now).map(|time| time.to_string()), Ok(expected.to_owned()));
    }

    #[test]
    fn an_age_counts_back_from_now() {
        check("30m", "2026-01-31T11:30:00.000Z");
        check("2h", "2026-01-31T10:00:00.000Z");
        check("7d", "2026-01-24T12:00:00.000Z");
        check("1w", "2026-01-24T12:00:00.000Z");
        check("0m", "2026-01-31T12:00:00.000Z");
    }

    #[test]
    fn a_date_begins_at_midnight_and_a_time_is_taken_as_it_is() {
        check("2026-01-02", "2026-01-02T00:00:00.000Z");
        check("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z");
        check("2026-01-02T03:04:05+01:00", "2026-01-02T02:04:05.000Z");
    }

    #[test]
    fn everything_else_is_refused_with_examples() {
        let now = Timestamp::from_millis(0);
        for text in
            ["", "7", "d", "-1d", "1.5h", "7 d", "1y", "2026-13-01", "2026-1-1", "yesterday", "٣d"]
        {
            assert!(parse_since(text, now).is_err(), "{text}");
        }
        for text in ["9223372036854775807w", "99999999999999999999m"] {
            assert!(parse_since(text, now).is_err(), "{text}");
        }
        assert!(parse_since("soon", now).unwrap_err().to_string().contains("30m, 2h, 7d, 1w"));
    }
}
