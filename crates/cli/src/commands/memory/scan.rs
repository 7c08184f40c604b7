use std::path::PathBuf;

use spore_app::memory::{MemoryScan, scan_memory};
use spore_app::{Cursor, Result, Surroundings};

use super::text;
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Turn new events into evidence about single lines
///
/// Reads the spine from where the last scan ended. Only events from outside count (human, git,
/// ci, channel, check, verifier, and kinds that Spore does not know); Spore's own events
/// are rejected before their content is read, and only ever context of the session they belong
/// to. A fragment is written only where a rule decides: where an event names a line by its hash and
/// says what it did; where work that had carried a line was put right at a path the line names;
/// where a person corrects what was done and names what a line names; where a line's trigger was
/// there and what it asks for was done after it; or where a person corrects, instructs or prefers
/// something that no line says. Any other event that touches a line waits for review.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore memory scan\n  spore memory scan --coverage              also tell of lines that nothing touched\n  spore memory scan --events logs/events    another directory of <day>.jsonl files\n  spore memory feedback L3 failed \"why\"    say that a line failed, and why"
)]
pub(crate) struct MemoryScanArgs {
    /// Read these event files instead of the project's own
    #[arg(long, value_name = "DIR")]
    events: Option<PathBuf>,
    /// Write a fragment also for every line that waits for its trigger
    #[arg(long)]
    coverage: bool,
    /// Begin here instead of where the last scan ended: a day, or DAY@BYTE
    #[arg(long, value_name = "PLACE", value_parser = place)]
    from: Option<Cursor>,
    /// Work on this task of the inbox
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &MemoryScanArgs) -> Result<u8> {
    let asked = MemoryScan {
        events: args.events.clone(),
        coverage: args.coverage,
        from: args.from.clone(),
        task: args.task.clone(),
    };
    listen_for_signals(&around.interrupt)?;
    let scanned = scan_memory(around, &asked)?;
    for flaw in &scanned.flaws {
        ui.note(&format!("{}.jsonl, byte {}: {}; skipped", flaw.partition, flaw.offset, flaw.what));
    }
    let told = u64::try_from(scanned.flaws.len()).unwrap_or(u64::MAX);
    if scanned.flawed > told {
        ui.note(&format!("and {} more places that are no events", scanned.flawed - told));
    }
    ui.answer(&scanned, || text::scanned(&scanned));
    Ok(scanned.ending.outcome().exit_code())
}

fn place(text: &str) -> std::result::Result<Cursor, String> {
    let (day, byte) = text.split_once('@').unwrap_or((text, "0"));
    let is_day = day.len() == 10
        && day.bytes().enumerate().all(|(at, b)| match at {
            4 | 7 => b == b'-',
            _ => b.is_ascii_digit(),
        });
    match byte.parse() {
        Ok(offset) if is_day => Ok(Cursor { partition: day.to_owned(), offset }),
        _ => Err("a day such as 2026-01-31, or 2026-01-31@4096 for a byte of its file".to_owned()),
    }
}
