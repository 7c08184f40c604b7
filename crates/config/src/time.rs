//! Durations as people write them.

use std::time::Duration;

/// Text that is not a duration.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{text:?} is not a duration: write a whole number and a unit, as in 500ms, 90s, 10m, 2h, 1d"
)]
pub struct BadDuration {
    text: String,
}

/// Reads `90s`, `10m`, `2h`, `1d` or `500ms`.
pub fn parse_duration(text: &str) -> Result<Duration, BadDuration> {
    let bad = || BadDuration { text: text.chars().take(80).collect() };
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
    let (count, unit) = text.split_at(unit_at);
    let millis: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        "d" => 24 * 60 * 60 * 1000,
        _ => return Err(bad()),
    };
    let count: u64 = count.parse().map_err(|_| bad())?;
    count.checked_mul(millis).map(Duration::from_millis).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_with_a_unit_is_a_duration() {
        for (text, millis) in [
            ("0s", 0),
            ("500ms", 500),
            ("90s", 90_000),
            ("10m", 600_000),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn everything_else_is_none() {
        for text in ["", "90", "s", "-1s", "1.5h", "1h30m", "1 s", " 1s", "1S", "٣s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        for text in ["99999999999999999999s", "9999999999999999d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert_eq!(
            parse_duration("90").unwrap_err().to_string(),
            "\"90\" is not a duration: write a whole number and a unit, as in 500ms, 90s, 10m, 2h, 1d"
        );
    }
}
