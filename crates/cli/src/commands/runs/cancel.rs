use spore_app::{Interrupted, Result, Surroundings};

use crate::ui::Ui;

/// End the processes of a run that is going on; it can be resumed
///
/// The Spore that works on it is asked to park it, as Ctrl-C does there, and what has not ended
/// within a second is killed: agents and checks that ignore every signal, too. Nothing that is
/// recorded is lost, and `spore resume` goes on. To give a run up for good, see `spore runs abandon`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  spore runs cancel 7QX2")]
pub(crate) struct CancelArgs {
    /// Any unique beginning or end of the run's id
    run: String,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &CancelArgs) -> Result<u8> {
    let interrupted = spore_app::cancel(around, &args.run)?;
    ui.answer(&interrupted, || text(&interrupted));
    Ok(0)
}

fn text(interrupted: &Interrupted) -> String {
    let (id, name) = (interrupted.run.short(), spore_plain::line(&interrupted.name));
    let first = match interrupted.was_running {
        true => format!("Run {id} is interrupted: {name}"),
        false => format!("No process was working on run {id}: {name}"),
    };
    format!("{first}\n`spore resume {id}` goes on, `spore runs abandon {id}` gives it up.")
}
