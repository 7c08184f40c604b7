use spore_app::memory::{AskedModel, judge_memory};
use spore_app::{Result, Surroundings};
use spore_model::Usd;

use super::text;
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Have a model read the events that no rule could decide
///
/// Each event is shown with the line that it touches and what else its session has. What the model
/// says counts only where it quotes the event to the letter; every event is asked about once, and
/// `nothing` is an answer. What it decides is marked as a judge's and never removes a line by
/// itself. `memory.judge_budget` caps what a pass spends; without an agent everything waits.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore memory judge\n  spore memory judge --backend claude --model low --budget 0.20"
)]
pub(crate) struct JudgeArgs {
    #[command(flatten)]
    model: AskedModelArgs,
}

/// Which model is asked.
#[derive(clap::Args)]
pub(super) struct AskedModelArgs {
    /// The agent to ask, instead of the one in the settings
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// A tier (low, medium, high), or the agent's own name for a model
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// US dollars that the pass may spend, instead of memory.judge_budget
    #[arg(long, value_name = "USD", value_parser = crate::commands::orchestrate::dollars)]
    budget: Option<Usd>,
}

impl AskedModelArgs {
    pub(super) fn asked(&self) -> AskedModel {
        AskedModel { backend: self.backend.clone(), model: self.model.clone(), budget: self.budget }
    }
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &JudgeArgs) -> Result<u8> {
    listen_for_signals(&around.interrupt)?;
    let judged = judge_memory(around, &args.model.asked(), ui)?;
    ui.answer(&judged, || text::judged(&judged));
    Ok(judged.ending.outcome().exit_code())
}
