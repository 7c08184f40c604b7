//! Events as people read them. What they carry is foreign text: it is kept to one line and
//! must not drive the terminal.

use serde_json::Value;
use spore_app::{Collected, Correction, CorrectionKind, counted};
use spore_model::Event;
use spore_plain::{line, line_within};

/// How much of a payload is shown.
const SUMMARY: usize = 100;

/// Time, source, type, run and payload of one event.
pub(super) fn event_line(event: &Event) -> String {
    let source = format!("{}/{}", event.source.kind, event.source.name);
    let run = event.run.map_or_else(|| "-".to_owned(), |run| run.short());
    let line = format!(
        "{}  {:<20}  {:<20}  {run:<8}  {}",
        second(event),
        line(&source),
        line(&event.kind),
        summary(&event.payload)
    );
    line.trim_end().to_owned()
}

fn second(event: &Event) -> String {
    crate::local_time::second(event.ts)
}

/// The fields of a payload, as many as there is room for: what fits on a line first.
fn summary(payload: &Value) -> String {
    let text = match payload {
        Value::Null => String::new(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{name}={}", short(value));
            let said = fields.iter().filter(|(_, value)| !short(value).is_empty());
            let (nested, plain): (Vec<_>, Vec<_>) =
                said.partition(|(_, value)| value.is_array() || value.is_object());
            plain.into_iter().chain(nested).map(field).collect::<Vec<_>>().join(" ")
        }
        other => short(other),
    };
    line_within(&text, SUMMARY)
}

fn short(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

pub(super) fn collected(collected: &Collected) -> String {
    let looked = format!(
        "Looked at {} for the work of {}.",
        counted(number(collected.commits), "new commit"),
        counted(number(collected.landed_runs), "run")
    );
    if collected.corrections.is_empty() {
        return format!("No new corrections. {looked}");
    }
    let lines: String = collected.corrections.iter().map(correction_line).collect();
    format!("{lines}{looked}")
}

fn correction_line(correction: &Correction) -> String {
    let run = correction.run.short();
    let field = |name: &str| line(&short(&correction.payload[name])).into_owned();
    let commit = field("commit").chars().take(12).collect::<String>();
    match correction.kind {
        CorrectionKind::Edited => format!(
            "Run {run}: {} edited by {commit} {}\n",
            counted(number(correction.payload["lines"].as_u64().unwrap_or(0)), "line"),
            line_within(&field("subject"), SUMMARY)
        ),
        CorrectionKind::Reverted => {
            format!(
                "Run {run}: taken back by {commit} {}\n",
                line_within(&field("subject"), SUMMARY)
            )
        }
        CorrectionKind::Reopened => {
            let later: String = field("later_run").chars().skip(18).collect();
            format!("Run {run}: its task was given again as run {later}\n")
        }
    }
}

fn number(count: impl TryInto<u32>) -> u32 {
    count.try_into().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(payload: &str, expected: &str) {
        assert_eq!(summary(&serde_json::from_str(payload).unwrap()), expected);
    }

    #[test]
    fn a_payload_is_shown_in_short() {
        check("null", "");
        check("{}", "");
        check("7", "7");
        check(r#"{"a": "", "b": null}"#, "");
        check(
            r#"{"a": {"d": [1, 2]}, "b": 1, "c": "two words"}"#,
            r#"b=1 c=two words a={"d":[1,2]}"#,
        );
        check(&format!("{:?}", "x".repeat(101)), &format!("{}…", "x".repeat(99)));
        check(&format!("{:?}", "ü".repeat(100)), &"ü".repeat(100));
    }

    #[test]
    fn foreign_text_stays_on_its_line_and_drives_no_terminal() {
        check(r#"{"a": "one\ntwo\u001b[2J\u0007\u202e"}"#, "a=one two");
    }
}
