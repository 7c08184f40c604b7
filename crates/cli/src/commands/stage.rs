use spore_app::{Result, StageAsked, Surroundings};

use super::flow::{self, FlowArgs};
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Run the stages of an orchestrator, one after the other
///
/// An orchestrator is a list of stages in `.spore/flows/*.toml`; a modifier names which of
/// them are run (`full`: all). A stage that fails is run again with a diagnosis, then once
/// more as it was; then its exit code is raised. With `--json` the stage manifest is printed.
///
/// Exit codes: 0 every stage passed, 1 failed, 2 nested too deep, 3 a person is needed,
/// 10 needs refinement, 11 needs escalation, 12 a stage that is not required failed,
/// 20 interrupted, 21 timed out, 75 parked for quota.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore stage ospec full specs/tabs.md\n  spore stage ospec lean specs/tabs.md --json\n  spore resume                  go on where it was stopped"
)]
pub(crate) struct StageArgs {
    /// The orchestrator
    name: String,
    /// Which of its stages
    modifier: String,
    /// What they work on
    target: String,
    #[command(flatten)]
    flow: FlowArgs,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &StageArgs) -> Result<u8> {
    let around = &args.flow.surroundings(around)?;
    let asked = StageAsked {
        name: args.name.clone(),
        modifier: args.modifier.clone(),
        target: args.target.clone(),
        options: args.flow.options(around)?,
    };
    listen_for_signals(&around.interrupt)?;
    let report = spore_app::stage(around, &asked, ui)?;
    ui.answer(&report, || flow::ending(&report));
    Ok(report.exit_code)
}
