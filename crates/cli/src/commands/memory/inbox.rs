use std::io::Read;

use spore_app::memory::{add_inbox_task, list_inbox, show_inbox_task};
use spore_app::{Error, Result, Surroundings};
use spore_model::Fault;

use super::text;
use crate::ui::Ui;

/// Leave tasks for memory, and see them
///
/// A task is a file of `.spore/memory/inbox/`. Spore removes the file when the last pass
/// that the task needs has a result, never before: `spore memory scan --task NAME`, then crystallize, then
/// update, as far as it needs them.
#[derive(clap::Subcommand)]
#[command(
    after_help = "Examples:\n  spore memory inbox add \"scan recent events for L3\"\n  spore memory inbox list\n  spore memory inbox show 01kdz.md"
)]
pub(crate) enum InboxCommand {
    Add(AddArgs),
    List(InboxListArgs),
    Show(InboxShowArgs),
}

/// Leave a task
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore memory inbox add \"[memory:claude-compress] prune what failed\"\n  spore memory inbox add --name weekly.md \"scan recent events\"\n  write-report | spore memory inbox add -"
)]
pub(crate) struct AddArgs {
    /// What is to be done; `-` reads it from stdin
    body: String,
    /// The file's name; made up if left out
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// List the tasks that wait
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  spore memory inbox list")]
pub(crate) struct InboxListArgs {}

/// Show one task
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  spore memory inbox show weekly.md")]
pub(crate) struct InboxShowArgs {
    /// The file's name
    name: String,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, command: &InboxCommand) -> Result<u8> {
    match command {
        InboxCommand::Add(args) => {
            let task = add_inbox_task(around, &body(&args.body)?, args.name.as_deref())?;
            ui.answer(&task, || task.packet.ack.clone());
        }
        InboxCommand::List(_) => {
            let tasks = list_inbox(around)?;
            ui.answer(&tasks, || text::inbox(&tasks));
        }
        InboxCommand::Show(args) => {
            let task = show_inbox_task(around, &args.name)?;
            ui.answer(&task, || text::task(&task));
        }
    }
    Ok(0)
}

/// One byte more than a task may have, so that the use case sees that it is too long.
const MOST: u64 = (64 << 10) + 1;

fn body(text: &str) -> Result<String> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let mut read = String::new();
    std::io::stdin().take(MOST).read_to_string(&mut read).map_err(|source| {
        Error::new(Fault::BadInput, "the task on stdin cannot be read").because(source)
    })?;
    Ok(read)
}
