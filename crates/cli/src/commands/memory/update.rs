use spore_app::memory::{MemoryUpdate, update_memory};
use spore_app::{Result, Surroundings};

use super::judge::AskedModelArgs;
use super::text;
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Change the lines as far as the ledger has evidence for it
///
/// A line goes when people or their tools said repeatedly that it is wrong and nothing said
/// otherwise since; what a person gave as a standing instruction becomes a line. With --propose a
/// model is asked how to rewrite lines that failed and to sharpen those that helped; what it
/// proposes must cite fragments that say so. Everything else stays: without evidence there is no
/// edit. The change is shown, and `spore memory undo` takes it back.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore memory update --dry-run\n  spore memory update\n  spore memory update --remove L3      one piece of evidence against it is enough then\n  spore memory update --rewrite L3=\"Run just lint before committing\"\n  spore memory update --propose        ask a model for better words"
)]
pub(crate) struct UpdateArgs {
    /// Remove this line too, if there is evidence against it; may be given several times
    #[arg(long, value_name = "LINE")]
    remove: Vec<String>,
    /// Let this line say something else, if there is evidence against it; may be given several times
    #[arg(long, value_name = "LINE=TEXT", value_parser = rewriting)]
    rewrite: Vec<(String, String)>,
    /// Ask a model for proposals, within memory.judge_budget
    #[arg(long)]
    propose: bool,
    #[command(flatten)]
    model: AskedModelArgs,
    /// Say what would change and change nothing
    #[arg(long, conflicts_with_all = ["task", "propose"])]
    dry_run: bool,
    /// Work on this task of the inbox
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &UpdateArgs) -> Result<u8> {
    let asked = MemoryUpdate {
        remove: args.remove.clone(),
        rewrite: args.rewrite.clone(),
        dry_run: args.dry_run,
        task: args.task.clone(),
    };
    listen_for_signals(&around.interrupt)?;
    let model = args.model.asked();
    let updated = update_memory(around, &asked, args.propose.then_some(&model), ui)?;
    ui.answer(&updated, || text::updated(&updated));
    Ok(updated.ending.outcome().exit_code())
}

fn rewriting(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((line, words)) if !line.trim().is_empty() && !words.trim().is_empty() => {
            Ok((line.trim().to_owned(), words.trim().to_owned()))
        }
        _ => {
            Err("a line and what it should say: L3=\"Run just lint before committing\"".to_owned())
        }
    }
}
