use std::io::Read;
use std::path::PathBuf;

use spore_app::{Error, Orchestrate, Result, Surroundings};
use spore_model::{Fault, Usd};

use super::{exit_code, text};
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Work on a task until it is verified, or say why not
///
/// The agent works in a private clone of HEAD. Your files, index, stash and branches are not
/// touched; verified work arrives as a commit on a branch `spore/<run>`.
///
/// Exit codes: 0 verified, 1 failed, 3 parked for a person or for budget, 10 nobody could say,
/// 11 escalated, 20 interrupted, 75 parked for quota. The call itself was wrong: 64 usage,
/// 65 input (a red project, no commit), 69 something is missing, 74 disk, 78 configuration.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore orchestrate \"make the parser accept tabs\"\n  spore orchestrate - < task.md\n  spore orchestrate \"fix the failing test\" --allow-red --max-bounces 5"
)]
pub(crate) struct OrchestrateArgs {
    /// What is to be done; `-` reads it from stdin
    task: String,
    /// The agent to use
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// The scenario that the replay agent plays
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// The model to use, by the agent's own name for it
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// How often the coder may try
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_bounces: Option<u32>,
    /// Turns of one agent session
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// US dollars the whole run may cost
    #[arg(long, value_name = "USD", value_parser = dollars)]
    budget: Option<Usd>,
    /// Wall time of one agent session, such as 90s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = spore_config::parse_duration)]
    timeout: Option<std::time::Duration>,
    /// Go on although the project's checks fail already; only new failures count then
    #[arg(long)]
    allow_red: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &OrchestrateArgs) -> Result<u8> {
    let asked = Orchestrate {
        task: read_text(&args.task)?,
        backend: args.backend.clone(),
        scenario: args.scenario.clone(),
        model: args.model.clone(),
        max_bounces: args.max_bounces,
        max_turns: args.max_turns,
        budget: args.budget,
        timeout: args.timeout,
        allow_red: args.allow_red,
    };
    listen_for_signals(&around.interrupt)?;
    let report = spore_app::orchestrate(around, &asked, ui)?;
    ui.answer(&report, || text::ending(&report));
    Ok(exit_code(&report))
}

/// Returns `typed`, or what is on stdin where it is `-`.
pub(super) fn read_text(typed: &str) -> Result<String> {
    if typed != "-" {
        return Ok(typed.to_owned());
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|source| {
        Error::new(Fault::BadInput, "the text on stdin cannot be read").because(source)
    })?;
    Ok(text)
}

/// Reads an amount such as `5` or `+2.50`.
pub(super) fn dollars(text: &str) -> std::result::Result<Usd, String> {
    let number = text.trim_start_matches(['+', '$']);
    let amount = number.parse().ok().and_then(Usd::from_dollars);
    amount.ok_or_else(|| "not an amount of dollars such as 5 or 2.50".to_owned())
}
