use std::path::PathBuf;

use spore_app::{FlowAnswer, Result, Surroundings};

use super::flow;
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Answer what a flow asked a person, and go on with it
///
/// A part of a flow that ends with STAGE_NEEDS_HUMAN or STAGE_NEEDS_ESCALATION waits for a person. Where
/// several ask, each is answered by its own id, which the flow tells. The answer is in
/// the next prompt of the session that asked, and is kept in the run's `resolutions/`.
#[derive(clap::Args)]
#[command(
    group = clap::ArgGroup::new("answer").required(true).args(["file", "approve", "reject"]),
    after_help = "Examples:\n  spore resolve 7QX2 --file answer.md\n  spore resolve 7QX2 --approve\n  spore resolve 7QX2 --reject \"not before the release\""
)]
pub(crate) struct ResolveArgs {
    /// Any unique part of the run's id as it is shown
    run: String,
    /// A file with the answer
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Say yes
    #[arg(long)]
    approve: bool,
    /// Say no, and why
    #[arg(long, value_name = "REASON")]
    reject: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &ResolveArgs) -> Result<u8> {
    let answer = match (&args.file, &args.reject) {
        (Some(path), _) => FlowAnswer::Words(flow::read_file(around, path)?),
        (None, Some(reason)) => FlowAnswer::Reject(reason.clone()),
        (None, None) => FlowAnswer::Approve,
    };
    listen_for_signals(&around.interrupt)?;
    let report = spore_app::resolve(around, &args.run, &answer, ui)?;
    ui.answer(&report, || flow::ending(&report));
    Ok(report.exit_code)
}
