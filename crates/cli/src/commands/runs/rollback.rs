use std::io::Write;

use spore_app::{Error, Result, Rollback, RollbackState, RolledBack, Surroundings};
use spore_model::Fault;
use spore_plain::line;

use crate::ui::{Ui, question, shown};

/// Take back what a run brought: its merge, branch, patch and lessons
///
/// Only what Spore did is undone. A merge is taken out of its branch again: by going back to
/// the commit before it if nothing followed, else by a commit that reverts it. What `--in-place`
/// laid into your files goes back, as long as it is there as it was laid. The run's own branch
/// goes, and a ref keeps its commit. What the run taught no longer enters any context. A
/// conflict, or an edited file of yours in the way, leaves everything as it is.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore runs rollback 7QX2 --dry-run  what it would mean\n  spore runs rollback 7QX2 --yes      do it without asking"
)]
pub(crate) struct RollbackArgs {
    /// Any unique part of the run's id as it is shown
    run: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Only tell what would be done
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RollbackArgs) -> Result<u8> {
    let asked = |dry_run| Rollback { run: args.run.clone(), dry_run };
    if args.dry_run || !args.yes {
        let plan = spore_app::rollback(around, &asked(true))?;
        let settled = args.dry_run || plan.state == RollbackState::Already;
        if settled || !agreed(ui, around, &plan)? {
            ui.answer(&plan, || text(&plan));
            return Ok(0);
        }
    }
    let done = spore_app::rollback(around, &asked(false))?;
    ui.answer(&done, || text(&done));
    Ok(0)
}

/// Shows the plan and asks. Without a terminal no person can answer, so `--yes` is required.
fn agreed(ui: &Ui, around: &Surroundings, plan: &RolledBack) -> Result<bool> {
    let id = plan.run.short();
    if !ui.on_terminal() || ui.is_json() {
        return Err(Error::new(Fault::Usage, "there is no terminal to ask on")
            .hint(format!("spore runs rollback {id} --dry-run, then with --yes")));
    }
    let _ = writeln!(std::io::stderr(), "{}", shown(&text(plan)));
    Ok(question::agrees(&around.interrupt))
}

fn text(told: &RolledBack) -> String {
    let id = told.run.short();
    let head = match told.state {
        RollbackState::Already => {
            return format!("Run {id} was rolled back before. Nothing to do.");
        }
        RollbackState::Planned => {
            format!("A rollback of run {id} ({}) would mean:", line(&told.name))
        }
        RollbackState::Done => format!("Rolled back run {id} ({}):", line(&told.name)),
    };
    let mut lines = vec![head];
    lines.extend(told.deeds.iter().map(|deed| format!("  - {}", line(deed))));
    if told.deeds.is_empty() {
        lines.push("  - it had brought nothing; only its status changes".to_owned());
    }
    if !told.left.is_empty() {
        lines.push("Left alone:".to_owned());
        lines.extend(told.left.iter().map(|left| format!("  - {}", line(left))));
    }
    lines.join("\n")
}
