//! Times and verdicts as documents tell them.

use spore_model::Timestamp;

/// Returns a time that something took, short.
pub(super) fn took(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0..10 => format!("{:.1} s", millis as f64 / 1000.0),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Returns a time to the second, which is all that people read; in UTC.
pub(super) fn moment(time: Timestamp) -> String {
    let text = time.to_string();
    let second = text.get(..19).unwrap_or(&text);
    format!("{} UTC", second.replace('T', " "))
}

/// Returns a reason of several lines in one.
pub(super) fn in_one_line(reason: Option<&str>) -> String {
    let lines = reason.into_iter().flat_map(str::lines).map(str::trim);
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Returns the word of a ruling.
pub(super) fn ruling(verdict: &spore_model::Verdict) -> String {
    let word = serde_json::to_value(verdict.ruling).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}

/// Returns what a verifier ruled, how sure it was, and why, in one line.
pub(super) fn verdict_in_one_line(verdict: &spore_model::Verdict) -> String {
    let sure = verdict.confidence * 100.0;
    let why = in_one_line(Some(&verdict.reason));
    let told = format!("{} ({sure:.0} %): {why}", ruling(verdict));
    told.trim_end_matches(": ").to_owned()
}

/// Returns how the tasks of a list, or the racers, are headed.
pub(super) fn heading_of_tasks(kind: spore_model::RunKind) -> &'static str {
    if kind == spore_model::RunKind::Race { "Racers" } else { "Tasks" }
}
