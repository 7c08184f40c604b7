use spore_app::graph::{GarbageAsked, Graph};
use spore_app::{Result, Surroundings};

use super::text;
use crate::ui::Ui;

/// Remove old operational nodes that nothing is connected to
///
/// Only tells what it would remove, unless `--apply` is given; then everything that goes is
/// first written to `.spore/exports/`. Lessons and summaries stay, unless `--force` is given.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore graph gc                    what would go\n  spore graph gc --days 30 --apply  remove it, and keep a copy"
)]
pub(crate) struct GcArgs {
    /// Only nodes older than this
    #[arg(long, value_name = "DAYS", default_value_t = 7)]
    days: u32,
    /// Remove them
    #[arg(long)]
    apply: bool,
    /// Only tell; this is the default
    #[arg(long, conflicts_with = "apply")]
    dry_run: bool,
    /// Lessons and summaries too
    #[arg(long)]
    force: bool,
}

impl GcArgs {
    fn call_that_removes(&self) -> String {
        let force = if self.force { " --force" } else { "" };
        format!("spore graph gc --days {}{force} --apply", self.days)
    }
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &GcArgs) -> Result<u8> {
    let asked = GarbageAsked { days: args.days, apply: args.apply, force: args.force };
    let collected = Graph::open(around)?.gc(&asked)?;
    ui.answer(&collected, || text::garbage(&collected, &args.call_that_removes()));
    Ok(0)
}
