use spore_app::{ExecAsked, Result, Surroundings};

use super::flow::{self, FlowArgs};
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Run one action of an executor, and print its answer
///
/// An executor is a role, a prompt and a vocabulary of actions, written down in
/// `.spore/flows/*.toml`. The session works in a checkout; what it leaves there becomes a commit on
/// a branch `spore/flow/<id>`, if its last line is `STAGE_<ACTION>_COMPLETE` and its artifact is there.
///
/// Exit codes are those of the session: 0 done, 1 failed, 2 nested too deep, 3 a person is
/// needed, 10 needs refinement, 11 needs escalation, 12 partly done, 20 interrupted,
/// 21 timed out, 75 parked for quota.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore exec spec PLAN specs/tabs.md\n  spore exec spec IMPLEMENT specs/tabs.md --backend claude --budget 2"
)]
pub(crate) struct ExecArgs {
    /// The executor
    name: String,
    /// One of its actions
    action: String,
    /// What it works on
    target: String,
    #[command(flatten)]
    flow: FlowArgs,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &ExecArgs) -> Result<u8> {
    let around = &args.flow.surroundings(around)?;
    let asked = ExecAsked {
        name: args.name.clone(),
        action: args.action.clone(),
        target: args.target.clone(),
        options: args.flow.options(around)?,
    };
    listen_for_signals(&around.interrupt)?;
    ui.show_details();
    let report = spore_app::exec(around, &asked, ui)?;
    if report.exit_code != 0 {
        ui.note(&flow::ending(&report));
    }
    if report.told["dry_run"] == true {
        ui.answer(&report, || flow::ending(&report));
        return Ok(report.exit_code);
    }
    ui.answer(&report, || report.told["result"].as_str().unwrap_or_default().to_owned());
    Ok(report.exit_code)
}
