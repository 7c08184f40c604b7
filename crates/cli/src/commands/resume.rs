use spore_app::{KindReport, Result, Resume, Resumed, Surroundings};
use spore_model::Usd;

use super::{exit_code, flow, loop_text, orchestrate, text};
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Go on with a run that was interrupted, killed or parked
///
/// It continues at the first step that has no result on record. Nothing that was committed,
/// written or booked happens twice, and an agent that can goes on in its own conversation with
/// its files as they were. Where several runs wait they are listed.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  spore resume\n  spore resume 7QX2 --budget +5")]
pub(crate) struct ResumeArgs {
    /// Any unique part of the run's id as it is shown; the only open run if left out
    run: Option<String>,
    /// Raise the run's budget by this many US dollars
    #[arg(long, value_name = "+USD", value_parser = orchestrate::dollars)]
    budget: Option<Usd>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &ResumeArgs) -> Result<u8> {
    let asked = Resume { run: args.run.clone(), more_budget: args.budget };
    listen_for_signals(&around.interrupt)?;
    let Resumed { report, told } = spore_app::resume(around, &asked, ui)?;
    ui.answer(&report, || match &told {
        Some(KindReport::List(list)) => loop_text::ending(list),
        Some(KindReport::Flow(flow)) => flow::whole_ending(flow),
        None => text::ending(&report),
    });
    Ok(exit_code(&report))
}
