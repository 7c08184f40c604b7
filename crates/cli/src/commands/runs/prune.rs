use spore_app::{LeftCheckout, Pruned, Result, Surroundings, counted};

use crate::ui::Ui;

/// Remove the checkouts of runs that are over, and their unverified work
///
/// A verified run removes its checkouts by itself. Those of other runs stay until they are
/// pruned, so that you can look at them. Removed: checkouts of ended runs whose work was handed
/// in, the commits of what each of their attempts left, the files that are stored for the next
/// checkout, and, beyond `records.cap_bytes`, the transcripts and logs of the oldest runs. Kept: what was verified, the diffs of all attempts, checkouts of runs that can be
/// resumed, and work that was never handed in. Ignored files do not count as work: build output
/// is removed with the rest.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore runs prune --dry-run  what would be removed, and how much that is\n  spore runs prune"
)]
pub(crate) struct PruneArgs {
    /// Only tell what would be removed
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &PruneArgs) -> Result<u8> {
    let pruned = spore_app::prune(around, args.dry_run)?;
    ui.answer(&pruned, || text(&pruned));
    Ok(0)
}

fn text(pruned: &Pruned) -> String {
    let mut lines = vec![summary(pruned)];
    if !pruned.left.is_empty() {
        lines.push("Left alone:".to_owned());
        let line = |left: &LeftCheckout| {
            format!(
                "  - {} ({}): {}",
                left.run.short(),
                spore_plain::path(&left.dir),
                spore_plain::line(&left.why)
            )
        };
        lines.extend(pruned.left.iter().map(line));
    }
    lines.join("\n")
}

fn summary(pruned: &Pruned) -> String {
    let mut parts = Vec::new();
    if !pruned.runs.is_empty() {
        let runs = u32::try_from(pruned.runs.len()).unwrap_or(u32::MAX);
        parts.push(format!("the checkouts of {}", counted(runs, "run")));
    }
    if pruned.spares > 0 {
        parts.push(format!("{} kept for reuse", counted(pruned.spares, "checkout")));
    }
    if pruned.records.runs > 0 {
        parts.push(format!(
            "the transcripts and logs of the oldest {}",
            counted(pruned.records.runs, "run")
        ));
    }
    if parts.is_empty() {
        return "There is nothing to remove.".to_owned();
    }
    let word = if pruned.dry_run { "Would remove" } else { "Removed" };
    let megabytes = pruned.bytes.div_ceil(1 << 20);
    format!("{word} {}: {megabytes} MB.", parts.join(" and "))
}
