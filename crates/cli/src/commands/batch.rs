use spore_app::{LoopAsked, Result, Surroundings};

use super::loop_text;
use super::task_loop::source;
use super::terms::TermArgs;
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Work through a list of tasks once
///
/// Like `spore loop`, without its limits and its memory: every task has its turn whatever came of
/// the others, and called again it does all of them again, from HEAD. Verified tasks are commits on
/// `spore/batch/<id>`. A batch that was cut off is gone on with by `spore resume`, or by the same
/// call.
///
/// Exit codes: 0 every task verified, 1 none, 12 some verified, 20 interrupted. The call itself was
/// wrong: 64 usage, 65 input, 69 something is missing, 74 disk, 78 configuration.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore batch tasks.txt\n  spore batch tasks.txt --stop-on-failure --max-bounces 2\n  spore batch tasks.txt --json"
)]
pub(crate) struct BatchArgs {
    /// The list of tasks; `-` reads it from stdin
    file: String,
    /// Begin no other task after one that is not verified
    #[arg(long)]
    stop_on_failure: bool,
    /// How many tasks are worked on at once, each in a checkout of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    parallel: u32,
    /// Spend no session on summing up and on lessons
    #[arg(long)]
    no_summarize: bool,
    /// Say what would be done, with the size of each task and what such tasks cost, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    terms: TermArgs,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &BatchArgs) -> Result<u8> {
    let asked = args.terms.of_list(LoopAsked {
        stop_on_failure: args.stop_on_failure,
        parallel: args.parallel,
        summarize: args.no_summarize.then_some(false),
        ..LoopAsked::new(source(&args.file)?, true)
    });
    if args.dry_run {
        let plan = spore_app::plan_loop(around, &asked, false)?;
        ui.answer(&plan, || loop_text::plan(&plan));
        return Ok(0);
    }
    listen_for_signals(&around.interrupt)?;
    let report = spore_app::run_loop(around, &asked, ui)?;
    ui.answer(&report, || loop_text::ending(&report));
    Ok(report.exit_code)
}
