use spore_app::{Apply, Result, Retry, Surroundings};
use spore_model::Usd;

use super::{exit_code, orchestrate, text};
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Start the task of an earlier run anew, from what HEAD is now or from `--base`
///
/// Agents, models and limits are those of the earlier run unless you say otherwise. The new
/// run is linked to it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore retry 7QX2\n  spore retry 7QX2 --max-bounces 5 --max-turns 80\n  spore retry 7QX2 --backend codex --model high --apply merge"
)]
pub(crate) struct RetryArgs {
    /// Any unique part of the run's id as it is shown
    run: String,
    /// Start from this commit in place of HEAD: a branch, a tag, an id
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// The agent to use in place of the earlier run's
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// The model of every role in place of the earlier run's
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// What becomes of verified work: branch, merge, patch or none
    #[arg(long, value_name = "HOW")]
    apply: Option<Apply>,
    /// How often the coder may try
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_bounces: Option<u32>,
    /// Turns of one agent session
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// US dollars the whole run may cost
    #[arg(long, value_name = "USD", value_parser = orchestrate::dollars)]
    budget: Option<Usd>,
    /// Wall time of one agent session, such as 90s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = spore_config::parse_duration)]
    timeout: Option<std::time::Duration>,
    /// Go on although the project's checks fail already; only new failures count then
    #[arg(long)]
    allow_red: bool,
    /// Let the change touch tests and what configures them
    #[arg(long)]
    allow_test_changes: bool,
    /// Pass nothing of which a part could be taken back without a check noticing
    #[arg(long)]
    require_seen: bool,
    /// Let a tester write tests first, which the coder never sees and the change must pass
    #[arg(long)]
    hold_out: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RetryArgs) -> Result<u8> {
    let asked = Retry {
        run: args.run.clone(),
        base: args.base.clone(),
        backend: args.backend.clone(),
        model: args.model.clone(),
        apply: args.apply,
        max_bounces: args.max_bounces,
        max_turns: args.max_turns,
        budget: args.budget,
        timeout: args.timeout,
        allow_red: args.allow_red,
        allow_test_changes: args.allow_test_changes,
        require_seen: args.require_seen,
        hold_out: args.hold_out,
    };
    listen_for_signals(&around.interrupt)?;
    let report = spore_app::retry(around, &asked, ui)?;
    ui.answer(&report, || text::ending(&report));
    Ok(exit_code(&report))
}
