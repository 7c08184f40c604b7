//! Everything of a project on one screen.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use spore_app::{CarriedOutcomes, Dashboard, Helps, Result, Surroundings};
use spore_plain as plain;

use super::runs::table::{self, CsvArgs, RunTable, took};
use crate::local_time::{minute, second};
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Show everything on one screen: runs, what waits for you, spending, whether it helps, health
///
/// What waits has its reason and the command that answers it. Days are those of UTC; rates are of
/// the last thirty days. --watch draws it anew until Ctrl-C. --csv lists the recent runs.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore dashboard\n  spore dashboard --watch\n  spore dashboard --json | jq .waiting"
)]
pub(crate) struct DashboardArgs {
    /// How many recent runs to show
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Draw it anew until Ctrl-C
    #[arg(long, conflicts_with = "csv")]
    watch: bool,
    #[command(flatten)]
    csv: CsvArgs,
}

/// More runs whose process is gone than this are counted.
const MOST_STALE: usize = 12;

/// How often the screen is drawn anew.
const EVERY: Duration = Duration::from_secs(2);

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &DashboardArgs) -> Result<u8> {
    let look = || spore_app::dashboard(around, args.limit as usize);
    if !args.watch {
        let board = look()?;
        table::print(ui, &args.csv, &board, || recent(&board), || text(&board));
        return Ok(0);
    }
    listen_for_signals(&around.interrupt)?;
    if ui.is_json() || !std::io::stdout().is_terminal() {
        while !around.interrupt.is_raised() {
            let board = look()?;
            ui.line(&board, || text(&board));
            wait(around);
        }
        return Ok(0);
    }
    // A project that cannot be read is told before the screen is taken.
    let mut board = look()?;
    let screen = OtherScreen::take();
    while !around.interrupt.is_raised() {
        let drawn = format!("{}\n{:12}Ctrl-C ends it\n", text(&board), "");
        ui.draw_over(&drawn);
        wait(around);
        match look() {
            Ok(next) => board = next,
            Err(error) => {
                drop(screen);
                return Err(error);
            }
        }
    }
    Ok(0)
}

/// Waits until the next drawing, or the end.
fn wait(around: &Surroundings) {
    const STEP: Duration = Duration::from_millis(50);
    let mut left = EVERY;
    while !left.is_zero() && !around.interrupt.is_raised() {
        std::thread::sleep(STEP);
        left = left.saturating_sub(STEP);
    }
}

/// The terminal's second screen without its cursor; the first one comes back however this ends.
struct OtherScreen;

impl OtherScreen {
    fn take() -> Self {
        let mut out = std::io::stdout();
        let _ = write!(out, "\x1b[?1049h\x1b[?25l\x1b[2J").and_then(|()| out.flush());
        Self
    }
}

impl Drop for OtherScreen {
    fn drop(&mut self) {
        let mut out = std::io::stdout();
        let _ = write!(out, "\x1b[?25h\x1b[?1049l").and_then(|()| out.flush());
    }
}

fn text(board: &Dashboard) -> String {
    let name = std::path::Path::new(&board.root).file_name();
    let name = name.map_or(board.root.clone().into(), |name| name.to_string_lossy());
    let mut text = format!("{}  {}\n", plain::name(&name), second(board.at));
    waiting(&mut text, board);
    text.push_str("\nRecent runs\n");
    if board.recent.is_empty() {
        text.push_str("  None in thirty days. `spore orchestrate TASK` starts one.\n");
    }
    for run in &board.recent {
        text.push_str(&format!(
            "  {}  {:13}  {:>9}  {:>10}  {}\n",
            run.id.short(),
            run.status,
            run.cost.to_string(),
            took(run.duration_ms),
            plain::ends_within(&run.name, 50)
        ));
    }
    money(&mut text, board);
    text.push_str("\nDoes it help?\n");
    helps(&mut text, board);
    if board.experiments.len() > 1 {
        text.push_str("\nExperiments\n");
        for sum in board.experiments.iter().take(6) {
            let rate = percent(f64::from(sum.verified), f64::from(sum.decided));
            text.push_str(&format!(
                "  {:16}  {} runs, {rate} verified, {}\n",
                plain::ends_within(&sum.label, 16),
                sum.runs,
                sum.cost
            ));
        }
    }
    state(&mut text, board);
    text
}

fn waiting(text: &mut String, board: &Dashboard) {
    if board.waiting.is_empty() {
        text.push_str("\nNothing waits for you.\n");
        return;
    }
    text.push_str("\nWaits for you\n");
    for one in &board.waiting {
        text.push_str(&format!(
            "  {}  {:13}  {}\n",
            one.run.short(),
            one.status,
            plain::ends_within(&one.name, 50)
        ));
        text.push_str(&format!("{:12}{}\n", "", plain::headline(&one.reason, 160)));
        if let Some(next) = &one.next {
            let until = next.until.map(|until| format!(" (after {})", minute(until)));
            let until = until.unwrap_or_default();
            let command = next.command.replace('\n', &format!("\n{:12}", ""));
            text.push_str(&format!("{:12}{command}{until}\n", ""));
        }
    }
    if board.waiting_left_out > 0 {
        let more = board.waiting_left_out;
        text.push_str(&format!(
            "  and {more} more that began earlier: `spore runs list` has them\n"
        ));
    }
}

fn money(text: &mut String, board: &Dashboard) {
    let spend = &board.spend;
    let days: Vec<f64> = spend.days.iter().map(|day| day.usd).collect();
    text.push_str("\nSpent\n");
    text.push_str(&format!("  today     {}  {}\n", sparkline(&spend.hours), spend.today));
    text.push_str(&format!("  week      {:24}  {}\n", sparkline(&days), spend.week));
}

fn helps(text: &mut String, board: &Dashboard) {
    let stats = &board.stats;
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:8}  {value}\n"));
    match stats.verified_rate {
        Some(rate) => {
            let price = stats.cost_per_verified.map(|cost| format!(", {cost} each"));
            line(
                "verified",
                format!(
                    "{:.0} %, {} of {} decided tasks{}",
                    rate * 100.0,
                    stats.verified,
                    stats.decided,
                    price.unwrap_or_default()
                ),
            );
        }
        None => line("verified", "no task was decided in thirty days".to_owned()),
    }
    if let Some(context) = &stats.context {
        let rank = context.median_rank.map(|rank| format!(", place {rank:.1} in the middle"));
        line(
            "context",
            format!(
                "{:.0} %: {} of {} changed files were named{}",
                context.hit_rate * 100.0,
                context.named,
                context.changed,
                rank.unwrap_or_default()
            ),
        );
    }
    for (name, value) in helps_lines(&board.helps) {
        line(name, value);
    }
}

/// What lessons, memory and context were worth, a line each.
pub(super) fn helps_lines(helps: &Helps) -> Vec<(&'static str, String)> {
    let told = |outcomes: &CarriedOutcomes| {
        let CarriedOutcomes { known, carried, verified, fell_short, helped, missed } = outcomes;
        let ends = match verified + fell_short {
            0 => String::new(),
            _ => format!(" ({verified} verified, {fell_short} fell short)"),
        };
        match (carried, helped + missed) {
            (0, 0) => format!("{known}, carried by none of these runs"),
            (_, 0) => format!("{known}, carried {carried} times{ends}, tested by nothing yet"),
            _ => {
                format!("{known}, carried {carried} times{ends}: {helped} helped, {missed} missed")
            }
        }
    };
    let mut lines = Vec::new();
    if helps.lessons.known > 0 {
        lines.push(("lessons", told(&helps.lessons)));
    }
    if helps.memory.known > 0 {
        lines.push(("memory", told(&helps.memory)));
    }
    if let Some(saved) = helps.bounces_saved {
        let tasks = spore_app::counted(saved.tasks, "task");
        let said = match saved.saved {
            0.0.. => format!("{:.1} attempts saved", saved.saved),
            _ => format!("{:.1} attempts more", -saved.saved),
        };
        lines.push((
            "attempts",
            format!(
                "{said} by context over {tasks}: {:.1} without, {:.1} with",
                saved.without, saved.with
            ),
        ));
    }
    lines
}

fn state(text: &mut String, board: &Dashboard) {
    text.push_str("\nState\n");
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:8}  {value}\n"));
    let more = if board.checkouts.whole { "" } else { "more than " };
    line("disk", format!("checkouts take {more}{}", size(board.checkouts.bytes)));
    if !board.stale.is_empty() {
        let (told, more) = board.stale.split_at(board.stale.len().min(MOST_STALE));
        let more =
            if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        line("stale", format!("no process works on {}{more}", told.join(", ")));
    }
    let wrong: Vec<&str> = board
        .health
        .checks
        .iter()
        .filter(|check| !check.ok)
        .map(|check| check.check.as_str())
        .collect();
    line(
        "health",
        match wrong.is_empty() {
            true => "in order".to_owned(),
            false => format!("NOT OK: {}; `spore health` has the fix", wrong.join(", ")),
        },
    );
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{} KB", bytes >> 10),
        1_048_576..1_073_741_824 => format!("{} MB", bytes >> 20),
        _ => format!("{:.1} GB", bytes as f64 / 1_073_741_824.0),
    }
}

fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.0} %", part * 100.0 / whole) } else { "none".to_owned() }
}

/// Draws figures as bars of one character each; nothing is a dot.
fn sparkline(values: &[f64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().fold(0.0, f64::max);
    let bar = |value: &f64| match *value > 0.0 && most > 0.0 {
        true => {
            let at = (value / most * BARS.len() as f64).ceil() as usize;
            BARS[at.clamp(1, BARS.len()) - 1]
        }
        false => '·',
    };
    values.iter().map(bar).collect()
}

fn recent(board: &Dashboard) -> RunTable {
    let mut table = RunTable::new(&[
        ("run", false),
        ("status", false),
        ("started", false),
        ("duration_ms", true),
        ("bounces", true),
        ("cost_usd", true),
        ("cost_estimated", false),
        ("name", false),
    ]);
    for run in &board.recent {
        table.row([
            run.id.to_string(),
            run.status.to_string(),
            run.started.to_string(),
            run.duration_ms.to_string(),
            run.bounces.to_string(),
            run.cost.usd.as_dollars().to_string(),
            run.cost.estimated.to_string(),
            run.name.clone(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_high_as_their_share_of_the_highest() {
        assert_eq!(sparkline(&[0.0, 0.01, 4.0, 8.0]), "·▁▄█");
        assert_eq!(sparkline(&[0.0, 0.0]), "··");
        assert_eq!(sparkline(&[]), "");
    }
}
