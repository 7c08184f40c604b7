use spore_app::{Helps, Result, RunFilter, RunStats, Spread, Surroundings};

use super::super::dashboard::helps_lines;
use super::super::text::no_runs;
use super::filter::FilterArgs;
use super::table::took;
use crate::ui::Ui;

/// Say how runs went: how many were verified, for how much, and what their context was worth
///
/// Rates are of tasks that are decided: verified, escalated, failed or rolled back. A task counts
/// whether it was asked for by itself or stands in a list or a flow, and a race is one task. The cost of a
/// verified change has in it what was paid in vain. A hit is a file that a run changed and that its
/// task file named; files that a run made are not counted. Lessons and lines of the memory are told
/// with what became of the runs that carried them; attempts saved are those of tasks that were
/// verified both with context and with the label no-context.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore runs stats --since 30d\n  spore runs stats --experiment no-context"
)]
pub(crate) struct RunsStatsArgs {
    #[command(flatten)]
    filter: FilterArgs,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RunsStatsArgs) -> Result<u8> {
    let filter = args.filter.filter(around)?;
    let told = spore_app::stats_report(around, &filter)?;
    let is_filtered = filter != RunFilter::default();
    ui.answer(&told, || text(&told.stats, &told.helps, is_filtered));
    Ok(0)
}

fn text(stats: &RunStats, helps: &Helps, is_filtered: bool) -> String {
    if stats.runs == 0 && stats.tasks == 0 {
        return no_runs(is_filtered);
    }
    let mut lines = Vec::new();
    let mut line = |name: &str, value: String| lines.push(format!("{name:10}  {value}"));
    for (name, counts) in stats.counts() {
        line(name, counts);
    }
    if stats.runs > 0 {
        line("cost", stats.cost.to_string());
    }
    if let Some(rate) = stats.verified_rate {
        let part = format!("{} of {} decided tasks", stats.verified, stats.decided);
        line("verified", format!("{}, {part}", percent(rate)));
    }
    if let Some(rate) = stats.first_attempt_rate {
        line("first try", format!("{} of the verified ones", percent(rate)));
    }
    if let Some(cost) = stats.cost_per_verified {
        line("price", format!("{cost} for a verified change, with what was in vain"));
    }
    let mut spread = |name: &str, spread: Option<Spread>, told: fn(f64) -> String| {
        if let Some(Spread { least, median, mean, most }) = spread {
            let (least, most) = (told(least), told(most));
            let middle = format!("{} in the middle, {} on average", told(median), told(mean));
            line(name, format!("{middle}, from {least} to {most}"));
        }
    };
    spread("a task", stats.cost_usd, |dollars| format!("${dollars:.2}"));
    spread("time", stats.duration_ms, |millis| took(millis as u64));
    spread("turns", stats.turns, |turns| format!("{turns:.1}"));
    spread("attempts", stats.bounces, |bounces| format!("{bounces:.1}"));
    if let Some(context) = &stats.context {
        let files = format!("{} of {} changed files", context.named, context.changed);
        line("context", format!("{}: {files} were named", percent(context.hit_rate)));
        let rank = context.median_rank.map(|rank| format!("place {rank:.1} in the middle, "));
        let first = format!("{} among the first three", context.in_first_three);
        line("", format!("{}{first}", rank.unwrap_or_default()));
        let all = format!("{} of {} runs", context.complete, context.runs);
        line("", format!("all of its files were named in {all}"));
    }
    for (name, value) in helps_lines(helps) {
        line(name, value);
    }
    for (at, reason) in stats.reasons.iter().enumerate() {
        line(if at == 0 { "in vain" } else { "" }, format!("{}  {}", reason.runs, reason.reason));
    }
    lines.join("\n")
}

fn percent(rate: f64) -> String {
    format!("{:.0} %", rate * 100.0)
}
