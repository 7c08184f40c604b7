//! A status as a page shows it.

use spore_plain::page::text;

/// Returns a status with the colour of its kind.
pub(super) fn badge(status: &str) -> String {
    let kind = match status {
        "verified" | "finished" | "supports" => "good",
        "running" | "queued" => "open",
        "rejected" | "escalated" | "failed" | "contradicts" | "rolled back" | "rolled_back" => {
            "bad"
        }
        _ if status.starts_with("failed") => "bad",
        _ => "wait",
    };
    format!("<span class=\"badge {kind}\">{}</span>", text(status))
}
