//! Times as people read them: those of their own place, with its name. `--json` stays with UTC.

use std::fs;
use std::sync::LazyLock;

use jiff::tz::TimeZone;
use spore_model::Timestamp;

use crate::surroundings::names_zone;

/// Returns a minute: `2026-01-31 12:00 CET`.
pub(crate) fn minute(time: Timestamp) -> String {
    shown(time, "%Y-%m-%d %H:%M %Z", zone())
}

/// Returns a second: `2026-01-31 12:00:00 CET`.
pub(crate) fn second(time: Timestamp) -> String {
    shown(time, "%Y-%m-%d %H:%M:%S %Z", zone())
}

/// Returns the zone of this place. The file that the machine keeps of it is asked first: jiff looks
/// for its name among all zones, which takes longer than the rest of a small command.
fn zone() -> &'static TimeZone {
    static ZONE: LazyLock<TimeZone> = LazyLock::new(|| {
        let of_machine = || TimeZone::tzif("local", &fs::read("/etc/localtime").ok()?).ok();
        let of_machine = if names_zone() { None } else { of_machine() };
        of_machine.unwrap_or_else(TimeZone::system)
    });
    &ZONE
}

fn shown(time: Timestamp, format: &str, zone: &TimeZone) -> String {
    // A clock outside of jiff's years is a broken clock, not a reason to fail.
    let time = jiff::Timestamp::from_millisecond(time.as_millis()).unwrap_or_default();
    time.to_zoned(zone.clone()).strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_as_of_its_place_and_season() {
        let zone = TimeZone::posix("EST5EDT,M3.2.0,M11.1.0").unwrap();
        let told = |time: &str| shown(time.parse().unwrap(), "%Y-%m-%d %H:%M %Z", &zone);
        assert_eq!(told("2026-01-01T03:04:05Z"), "2025-12-31 22:04 EST");
        assert_eq!(told("2026-07-01T03:04:05Z"), "2026-06-30 23:04 EDT");
    }
}
