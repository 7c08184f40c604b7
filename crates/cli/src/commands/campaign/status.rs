use spore_app::{CampaignPhaseRow, CampaignStatus, Result, Surroundings};
use spore_plain::{ends_within, line, line_within};

use crate::commands::text::to_do;
use crate::ui::Ui;

/// Show how far a campaign is
///
/// Its phases, what a verified change of it has cost beside the average of runs by themselves, what
/// waits for a person, and the command that answers it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  spore campaign status\n  spore campaign status 7QX2 --json")]
pub(crate) struct CampaignStatusArgs {
    /// Any unique part of the run's id as it is shown; the newest campaign if left out
    run: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &CampaignStatusArgs) -> Result<u8> {
    let status = spore_app::campaign_status(around, args.run.as_deref())?;
    ui.answer(&status, || told(&status));
    Ok(0)
}

fn told(status: &CampaignStatus) -> String {
    let (id, word) = (status.run.short(), status.status.as_str());
    let mut text = format!("{} {id}  {word}\n", line(&status.campaign));
    if !status.task.is_empty() {
        text.push_str(&format!("  {}\n", line_within(&status.task, 200)));
    }
    if let Some(reason) = &status.reason {
        text.push_str(&format!("  {}\n", line_within(reason, 300)));
    }
    let spent = format!("  {} of {} spent", status.cost, status.budget_usd);
    text.push_str(&format!("{spent}{}\n", rounds(status)));
    if !status.phases.is_empty() {
        text.push_str("\nPhases\n");
        status.phases.iter().for_each(|phase| text.push_str(&row(phase)));
    }
    for change in &status.changes {
        text.push_str(&format!("  changed: {}\n", line_within(change, 200)));
    }
    text.push_str(&format!("\n{}\n", worth(status)));
    for one in &status.questions {
        let question = line_within(&one.question, 300);
        text.push_str(&format!(
            "  {}  {}: {question}\n",
            one.run.short(),
            ends_within(&one.name, 32)
        ));
    }
    if let Some(next) = &status.next {
        text.push_str(&format!("{}\n", to_do(next)));
    }
    text.trim_end().to_owned()
}

/// What was gone through more than once.
fn rounds(status: &CampaignStatus) -> String {
    let counted = [(status.research_rounds, "of research"), (status.heal_rounds, "of healing")];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = counted
        .map(|(count, what)| format!("{} {what}", spore_app::counted(count, "round")))
        .chain((status.revision > 0).then(|| format!("version {} of the plan", status.revision)))
        .collect();
    if told.is_empty() { String::new() } else { format!("; {}", told.join(", ")) }
}

fn row(phase: &CampaignPhaseRow) -> String {
    let mut told = vec![phase.status.clone()];
    if phase.attempts > 1 {
        told.push(format!("{} attempts", phase.attempts));
    }
    told.extend(phase.sentinel_grade.clone());
    told.extend(phase.commit.as_ref().map(|commit| commit[..12.min(commit.len())].to_owned()));
    if !phase.depends_on.is_empty() {
        told.push(format!("after {}", phase.depends_on.join(", ")));
    }
    told.push(phase.cost_usd.to_string());
    let error = phase.error.as_deref().map(|error| format!(": {}", line_within(error, 200)));
    format!(
        "  {:16}  {}{}\n",
        ends_within(&phase.phase, 32),
        told.join(" · "),
        error.unwrap_or_default()
    )
}

/// What a verified change has cost here, and elsewhere.
fn worth(status: &CampaignStatus) -> String {
    let counted = spore_app::counted(
        u32::try_from(status.verified_changes).unwrap_or(u32::MAX),
        "verified change",
    );
    let here = status.cost_per_verified_change_usd.map(|usd| format!(", {usd} each"));
    let alone = match status.single_run_average_usd {
        Some(usd) => format!("; a run by itself: {usd} on average"),
        None => String::new(),
    };
    format!("{counted}{}{alone}", here.unwrap_or_default())
}
