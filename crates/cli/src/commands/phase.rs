use spore_app::{PhaseAsked, Result, Surroundings};

use super::flow::{self, FlowArgs};
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Run the phases of a coordinator, each as soon as what it waits for is done
///
/// A coordinator is a graph of phases in `.spore/flows/*.toml`, each of which runs an
/// orchestrator. Phases that do not wait for each other run at once, under one budget. With
/// `--json` the report of all phases is printed.
///
/// Exit codes: 0 every phase passed, 1 failed, 2 nested too deep, 3 a person is needed,
/// 10 needs refinement, 11 needs escalation, 12 a phase that is not required failed,
/// 20 interrupted, 21 timed out, 75 parked for quota.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore phase release\n  spore phase release --budget 10 --json\n  spore phase feature tabs      where its phases say {target}\n  spore resume                  go on where it was stopped"
)]
pub(crate) struct PhaseArgs {
    /// The coordinator
    name: String,
    /// What its phases work on, where they say `{target}`
    target: Option<String>,
    #[command(flatten)]
    flow: FlowArgs,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &PhaseArgs) -> Result<u8> {
    let around = &args.flow.surroundings(around)?;
    let (name, target) = (args.name.clone(), args.target.clone());
    let asked = PhaseAsked { name, target, options: args.flow.options(around)? };
    listen_for_signals(&around.interrupt)?;
    let report = spore_app::phase(around, &asked, ui)?;
    ui.answer(&report, || flow::ending(&report));
    Ok(report.exit_code)
}
