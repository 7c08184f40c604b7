use spore_app::{Result, RunStory, StoryEntry, Surroundings};
use spore_plain as plain;

use super::table::took;
use crate::commands::text;
use crate::ui::Ui;

/// Show one run: its attempts, checks, verdicts and cost, and all of it on one timeline
#[derive(clap::Args)]
pub(crate) struct RunsShowArgs {
    /// Any unique part of the run's id as it is shown; the newest run if left out
    run: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RunsShowArgs) -> Result<u8> {
    let shown = spore_app::show_run_whole(around, args.run.as_deref())?;
    let now = around.clock.now();
    ui.answer(&shown, || {
        let mut told = text::run_in_full(&shown.report, now);
        told.push_str(&timeline(&shown.story));
        told
    });
    Ok(0)
}

/// The run from its beginning to its end, a line each.
fn timeline(story: &RunStory) -> String {
    if story.timeline.is_empty() {
        return String::new();
    }
    let after: Vec<String> =
        story.timeline.iter().map(|entry| format!("+{}", took(entry.after_ms))).collect();
    let width = after.iter().map(|after| after.chars().count()).max().unwrap_or(0);
    let mut text = String::from("\nTimeline\n");
    for (entry, after) in story.timeline.iter().zip(after) {
        let mut said = vec![entry.name.clone()];
        said.extend(entry.duration_ms.map(took));
        said.extend(session(entry));
        said.extend(context(entry));
        said.extend(entry.said.iter().map(|said| plain::line(said).into_owned()));
        text.push_str(&format!("  {after:>width$}  {}\n", said.join(" · ")));
    }
    text
}

fn session(entry: &StoryEntry) -> Option<String> {
    let session = entry.session.as_ref()?;
    let mut parts = vec![spore_app::counted(session.turns, "turn"), session.cost.to_string()];
    parts.extend(session.model.clone());
    parts.extend(session.failure.map(|failure| failure.as_str().to_owned()));
    let tools: Vec<String> = session
        .tools
        .iter()
        .take(4)
        .map(|one| format!("{} {}", plain::line(&one.tool), one.times))
        .collect();
    if !tools.is_empty() {
        let more = if session.tools.len() > 4 { ", …" } else { "" };
        parts.push(format!("used {}{more}", tools.join(", ")));
    }
    if session.refused > 0 {
        parts.push(format!("{} refused", session.refused));
    }
    Some(parts.join(", "))
}

fn context(entry: &StoryEntry) -> Option<String> {
    let carried = entry.context?;
    let mut parts = vec![text::many(carried.files, "file")];
    for (number, noun) in [(carried.lessons, "lesson"), (carried.memory_lines, "line of memory")] {
        match (number, noun) {
            (0, _) => {}
            (2.., "line of memory") => parts.push(format!("{number} lines of memory")),
            _ => parts.push(text::many(number, noun)),
        }
    }
    Some(format!("told {} in {}", parts.join(", "), text::many(carried.tokens, "token")))
}
