use spore_app::{LiveKind, Result, Surroundings};

use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Watch a run that another process works on, until it is over
///
/// First what happened so far, then what happens, as it happens. Ctrl-C ends the watching and
/// changes nothing about the run. Without a run the one is meant that is being worked on.
///
/// The exit code is that of the run, 0 after Ctrl-C.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore runs watch\n  spore runs watch 7QX2 --json | jq -r .news"
)]
pub(crate) struct RunsWatchArgs {
    /// Any unique beginning or end of the run's id
    run: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RunsWatchArgs) -> Result<u8> {
    listen_for_signals(&around.interrupt)?;
    let now = || around.clock.now();
    let last = spore_app::watch_run(around, args.run.as_deref(), &mut |news, report| {
        for one in news {
            ui.line(one, || one.to_string());
        }
        let live = report.live.iter().map(|live| (live, now().since(live.started)));
        ui.show_live(live.filter(|(live, _)| live.kind == LiveKind::Gates || report.run.is_open()));
    })?;
    ui.show_live([].into_iter());
    Ok(last.map_or(0, |report| super::super::exit_code(&report)))
}
