//! When a call to the model is made again, when the session is parked, and when it fails.
//!
//! Pure: what happened and how often goes in, what to do comes out. Waiting times have jitter,
//! so that many sessions do not come back at once, but it follows from the session's token:
//! the same session waits the same way again.

use std::time::Duration;

use spore_model::Timestamp;

/// How often and how long is waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retries {
    /// How many calls follow the first at most.
    pub most: u32,
    /// The pause before the second call; it doubles each time.
    pub pause: Duration,
    /// The longest wait: where the server asks for more, the session is parked.
    pub longest: Duration,
}

/// The longest pause between two questions to a server that reads its weights.
const LOADING: Duration = Duration::from_secs(2);

/// What went wrong with a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum CallTrouble {
    /// The server answered with a status that is no success.
    Status { code: u16, message: String, relief: LimitReset },
    /// The request is longer than what the model can read.
    Window { window: Option<u64>, message: String },
    /// This model, or its server as it was started, takes no tools.
    NoTools(String),
    /// The server still reads its weights.
    Loading(String),
    /// No answer at all.
    Connection(String),
    /// An answer that is not one.
    Stream(String),
}

/// When a limit is lifted, as far as the headers say so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct LimitReset {
    pub(super) after: Option<Duration>,
    /// Waiting does not help: the account has no credit left.
    pub(super) is_spent: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum RetryStep {
    Wait(Duration),
    Park(Option<Timestamp>),
    Fail,
}

/// How often each kind of trouble was met in one turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct TroubleCounts {
    pub(super) refusals: u32,
    pub(super) broken_streams: u32,
}

impl Retries {
    /// Decides what follows. `met` counts what came before this trouble.
    pub(super) fn decide(
        &self,
        trouble: &CallTrouble,
        met: TroubleCounts,
        seed: u64,
        now: Timestamp,
    ) -> RetryStep {
        let wait = self.pause_before(met.refusals + met.broken_streams, seed);
        match trouble {
            CallTrouble::Stream(_) if met.broken_streams == 0 => RetryStep::Wait(wait),
            CallTrouble::Stream(_) => RetryStep::Fail,
            CallTrouble::Connection(_) if met.refusals < self.most => RetryStep::Wait(wait),
            CallTrouble::Connection(_) => RetryStep::Fail,
            CallTrouble::Status { code: 429, relief, .. } => {
                let asked = relief.after.unwrap_or(wait);
                if relief.is_spent || met.refusals >= self.most || asked > self.longest {
                    return RetryStep::Park(relief.after.map(|after| later(now, after)));
                }
                RetryStep::Wait(asked.max(wait))
            }
            CallTrouble::Status { code: 408 | 409 | 500..=599, relief, .. }
                if met.refusals < self.most =>
            {
                RetryStep::Wait(relief.after.unwrap_or(wait).min(self.longest).max(wait))
            }
            // As long as there may be no first word, which the caller counts.
            CallTrouble::Loading(_) => RetryStep::Wait(self.pause.min(LOADING)),
            CallTrouble::Status { .. } | CallTrouble::Window { .. } | CallTrouble::NoTools(_) => {
                RetryStep::Fail
            }
        }
    }

    /// Between half and all of the doubled pause.
    fn pause_before(&self, earlier: u32, seed: u64) -> Duration {
        let whole = self.pause.saturating_mul(1 << earlier.min(16)).min(self.longest);
        let millis = u64::try_from(whole.as_millis()).unwrap_or(u64::MAX);
        let half = millis / 2;
        Duration::from_millis(half + mix(seed ^ u64::from(earlier)) % (millis - half + 1))
    }
}

fn later(now: Timestamp, after: Duration) -> Timestamp {
    let millis = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_add(millis))
}

/// Spreads a number over all 64 bits.
fn mix(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Makes a seed of a word and the turn.
pub(super) fn seed_of(word: &str, turn: u32) -> u64 {
    word.bytes().fold(u64::from(turn), |seed, byte| mix(seed ^ u64::from(byte)))
}

/// Reads when the limit is over. What the server says for this very answer comes first, then
/// the latest reset of a share that is used up, then the latest of all.
pub(super) fn relief(headers: &[(String, String)], now: Timestamp) -> LimitReset {
    let header = |wanted: &str| {
        headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    };
    let millis = header("retry-after-ms").and_then(|text| text.trim().parse().ok());
    let asked = millis
        .map(Duration::from_millis)
        .or_else(|| header("retry-after").and_then(|text| until(text, now)));
    let resets = |only_used_up: bool| {
        headers
            .iter()
            .filter(|(name, _)| name.contains("ratelimit") && name.contains("reset"))
            .filter(|(name, _)| {
                let left = header(&name.replace("reset", "remaining"));
                !only_used_up || left.is_some_and(|left| left.trim() == "0")
            })
            .filter_map(|(_, value)| until(value, now))
            .max()
    };
    let after = asked.or_else(|| resets(true)).or_else(|| resets(false));
    LimitReset { after, is_spent: false }
}

/// Reads a number of seconds, a time of day in either of two spellings, seconds since 1970,
/// or a duration such as `6m0s`.
fn until(text: &str, now: Timestamp) -> Option<Duration> {
    /// Larger numbers are points in time, not waiting times.
    const AGES: f64 = 1e9;
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        let seconds = if seconds >= AGES { seconds - now.as_seconds() as f64 } else { seconds };
        return Duration::try_from_secs_f64(seconds.max(0.0)).ok();
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.since(now));
    }
    if let Ok(time) = jiff::fmt::rfc2822::parse(text) {
        return Some(Timestamp::from_millis(time.timestamp().as_millisecond()).since(now));
    }
    words(text)
}

fn words(text: &str) -> Option<Duration> {
    let mut sum = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|letter: char| letter.is_ascii_digit()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        sum += number * unit;
        rest = &rest[letters..];
    }
    Duration::try_from_secs_f64(sum).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);
    const RETRIES: Retries =
        Retries { most: 2, pause: Duration::from_millis(100), longest: Duration::from_secs(30) };

    fn status(code: u16, after: Option<u64>) -> CallTrouble {
        let relief = LimitReset { after: after.map(Duration::from_secs), is_spent: false };
        CallTrouble::Status { code, message: String::new(), relief }
    }

    /// `wait` for a short pause, `wait 5` for one the server asked for.
    #[track_caller]
    fn check(trouble: &CallTrouble, refusals: u32, broken_streams: u32, expected: &str) {
        let step = RETRIES.decide(trouble, TroubleCounts { refusals, broken_streams }, 7, NOW);
        let found = match step {
            RetryStep::Wait(time) if time < Duration::from_secs(1) => "wait".to_owned(),
            RetryStep::Wait(time) => format!("wait {}", time.as_secs()),
            RetryStep::Park(until) => format!("park {until:?}"),
            RetryStep::Fail => "fail".to_owned(),
        };
        assert_eq!(found, expected, "{trouble:?} after {refusals} and {broken_streams}");
    }

    #[test]
    fn a_limit_is_waited_for_and_then_parked() {
        check(&status(429, None), 0, 0, "wait");
        check(&status(429, Some(5)), 1, 0, "wait 5");
        check(&status(429, Some(5)), 2, 0, "park Some(2026-01-01T00:00:05.000Z)");
        check(&status(429, Some(3600)), 0, 0, "park Some(2026-01-01T01:00:00.000Z)");
        check(&status(429, None), 2, 0, "park None");
        let spent = LimitReset { after: None, is_spent: true };
        let spent = CallTrouble::Status { code: 429, message: String::new(), relief: spent };
        check(&spent, 0, 0, "park None");
    }

    #[test]
    fn what_may_pass_is_tried_again_and_what_will_not_is_not() {
        for code in [408, 500, 502, 503, 529] {
            check(&status(code, None), 0, 0, "wait");
            check(&status(code, None), 2, 0, "fail");
        }
        check(&status(503, Some(2)), 0, 0, "wait 2");
        for code in [400, 401, 403, 404, 413] {
            check(&status(code, None), 0, 0, "fail");
        }
        check(&CallTrouble::Connection(String::new()), 1, 0, "wait");
        check(&CallTrouble::Connection(String::new()), 2, 0, "fail");
    }

    #[test]
    fn a_broken_answer_is_asked_for_once_more() {
        check(&CallTrouble::Stream(String::new()), 0, 0, "wait");
        check(&CallTrouble::Stream(String::new()), 2, 0, "wait");
        check(&CallTrouble::Stream(String::new()), 0, 1, "fail");
    }

    #[test]
    fn pauses_grow_within_bounds_and_are_the_same_for_the_same_session() {
        let seeds: Vec<u64> = (0..50).map(|turn| seed_of("token", turn)).collect();
        for earlier in 0..3 {
            let pauses: Vec<Duration> =
                seeds.iter().map(|seed| RETRIES.pause_before(earlier, *seed)).collect();
            let whole = Duration::from_millis(100) * (1 << earlier);
            assert!(pauses.iter().all(|pause| *pause >= whole / 2 && *pause <= whole));
            assert!(pauses.iter().any(|pause| *pause != pauses[0]));
            assert_eq!(RETRIES.pause_before(earlier, seeds[3]), pauses[3]);
        }
        assert_eq!(RETRIES.pause_before(60, 1).as_secs() / 16, 1);
    }

    #[track_caller]
    fn relieved(headers: &[(&str, &str)], expected: Option<u64>) {
        let headers: Vec<(String, String)> =
            headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        assert_eq!(relief(&headers, NOW).after.map(|after| after.as_secs()), expected);
    }

    #[test]
    fn every_spelling_of_a_reset_is_read() {
        relieved(&[], None);
        relieved(&[("retry-after", "7")], Some(7));
        relieved(&[("retry-after-ms", "1500"), ("retry-after", "9")], Some(1));
        relieved(&[("retry-after", "Thu, 01 Jan 2026 00:01:00 GMT")], Some(60));
        relieved(&[("retry-after", "soon")], None);
        relieved(&[("x-ratelimit-reset-requests", "6m0s")], Some(360));
        relieved(&[("x-ratelimit-reset-tokens", "120ms")], Some(0));
        relieved(&[("anthropic-ratelimit-unified-reset", "1767225900")], Some(300));
        relieved(&[("anthropic-ratelimit-tokens-reset", "2026-01-01T00:00:30Z")], Some(30));
    }

    #[test]
    fn the_share_that_is_used_up_is_the_one_that_counts() {
        let headers = [
            ("x-ratelimit-reset-requests", "24h0m0s"),
            ("x-ratelimit-remaining-requests", "900"),
            ("x-ratelimit-reset-tokens", "10s"),
            ("x-ratelimit-remaining-tokens", "0"),
        ];
        relieved(&headers, Some(10));
    }
}
