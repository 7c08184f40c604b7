use std::io::{BufWriter, ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use spore_app::{Error, Result, Surroundings, Tail, TailItem};

use super::text;
use crate::surroundings::listen_for_signals;
use crate::ui::{Ui, shown, shown_json};

/// Show the last events, and wait for more
///
/// One line an event: its time in UTC, source, type, run and payload in short. With --json one
/// JSON object a line, whole. A line of a file that is no event is told on stderr and passed
/// over.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore events tail --follow\n  spore events tail --since 7d --kind human --kind git\n  spore events tail --json --cursor seen.json     each call goes on where the last one ended"
)]
pub(crate) struct TailArgs {
    /// Wait for new events until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// Only events from this time on: 2026-01-31, 2026-01-31T12:00:00Z, 30m, 2h, 7d, 1w
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only these types; `*` stands for anything, `?` for one character
    #[arg(long = "type", value_name = "GLOB")]
    what: Option<String>,
    /// Only events of this kind of source; may be given several times
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<String>,
    /// How many at the most: the last ones, or with --cursor the next ones
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Begin where this file says, and keep the place in it
    #[arg(long, value_name = "FILE")]
    cursor: Option<PathBuf>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &TailArgs) -> Result<u8> {
    let asked = Tail {
        since: args.since.clone(),
        what: args.what.clone(),
        kinds: args.kinds.clone(),
        limit: args.limit,
        follow: args.follow,
        cursor: args.cursor.as_ref().map(|file| around.cwd.join(file)),
    };
    if args.follow {
        listen_for_signals(&around.interrupt)?;
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut lost = None;
    spore_app::tail_events(around, &asked, &mut |seen| {
        let written = match seen {
            TailItem::Event(event) if ui.is_json() => {
                let line = serde_json::to_string(event).unwrap_or_default();
                writeln!(out, "{}", shown_json(&line))
            }
            TailItem::Event(event) => writeln!(out, "{}", shown(&text::event_line(event))),
            TailItem::Skipped(line) => {
                ui.note(&format!("{}, byte {}: {}; skipped", line.file, line.offset, line.what));
                Ok(())
            }
            TailItem::CaughtUp => out.flush(),
        };
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                lost = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    match lost.or_else(|| out.flush().err()) {
        // A reader such as `head` may close the pipe early: that is no error of ours.
        Some(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::io("the answer could not be written", error))
        }
        _ => Ok(0),
    }
}
