//! Loops as people read them.

use spore_app::{Apply, LoopPlan, LoopReport, PlannedTask, TaskRow, counted};
use spore_model::RunStatus;
use spore_plain as plain;

use super::text::to_do;

/// The last words about a loop.
pub(super) fn ending(report: &LoopReport) -> String {
    let id = report.run.short();
    let mut text = String::new();
    for row in &report.tasks {
        text.push_str(&task(row));
    }
    let reason = plain::line(report.reason.as_deref().unwrap_or_default());
    text.push_str(&format!("\n{}\n", totals(report)));
    match report.status {
        RunStatus::Interrupted => {
            text.push_str(&format!("Interrupted. To go on:\n  spore resume {id}\n"));
        }
        RunStatus::ParkedBudget | RunStatus::ParkedQuota | RunStatus::ParkedHuman => {
            let next = report.next.as_ref().map(|next| format!("{}\n", to_do(next)));
            text.push_str(&format!("Run {id} waits: {reason}\n{}", next.unwrap_or_default()));
        }
        _ => text.push_str(&format!("{}: {reason}\n", capital(report.kind.as_str()))),
    }
    text.push_str(&where_it_is(report));
    if let Some(copy) = &report.check_list {
        text.push_str(&format!("Ticked off in a copy of the list: {copy}\n"));
    }
    text
}

fn where_it_is(report: &LoopReport) -> String {
    match (&report.applied, &report.branch) {
        (Some(applied), Some(branch)) if applied.how == Apply::Branch && applied.done => {
            format!(
                "The work is on branch {branch}:\n  git log HEAD..{branch}\n  git merge {branch}\n"
            )
        }
        (Some(applied), _) => {
            let not = if applied.done { "The work is" } else { "But the work is not applied:" };
            let next = applied.next.as_deref().map(|next| format!("  {next}\n"));
            format!("{not} {}\n{}", applied.what, next.unwrap_or_default())
        }
        (None, Some(branch)) => format!("What is verified so far is on branch {branch}\n"),
        (None, None) => String::new(),
    }
}

fn totals(report: &LoopReport) -> String {
    let mut parts = vec![format!(
        "{} of {} verified",
        report.verified,
        counted(u32::try_from(report.tasks.len()).unwrap_or(u32::MAX), "task")
    )];
    for (count, word) in [
        (report.escalated, "escalated"),
        (report.failed, "failed"),
        (report.skipped, "done before"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    let about = if report.cost_estimated { "~" } else { "" };
    let of = report.budget.map(|budget| format!(" of {budget}")).unwrap_or_default();
    parts.push(format!("{about}{}{of}, {} a run", report.total_cost, report.avg_cost_per_task));
    // Tasks that were worked on at once count each, so that it may be more than passed by the clock.
    parts.push(format!("{} of work on tasks", seconds(report.total_duration_ms)));
    parts.join(" · ")
}

fn task(row: &TaskRow) -> String {
    let words = plain::line_within(&row.description, 60);
    let about = if row.cost_estimated { "~" } else { "" };
    let cost = row.run.map(|_| format!("  {about}{}", row.cost)).unwrap_or_default();
    let reason = row.reason.as_deref().map(|why| format!(": {}", plain::headline(why, 120)));
    format!("  {:13}  {words}{cost}{}\n", row.status, reason.unwrap_or_default())
}

fn seconds(millis: u64) -> String {
    match millis / 1000 {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// What a loop would do.
pub(super) fn plan(plan: &LoopPlan) -> String {
    let tasks = counted(u32::try_from(plan.tasks.len()).unwrap_or(u32::MAX), "task");
    let source = if plan.source == "-" { "stdin" } else { &plan.source };
    let mut text = format!("Would work through {tasks} of {}\n", plain::line(source));
    for (task, number) in plan.tasks.iter().zip(1..) {
        text.push_str(&planned(task, number, &plan.tasks));
    }
    let agent = match plan.backend.as_str() {
        "" => "no agent yet",
        backend => backend,
    };
    text.push_str(&format!("\n  base       {}\n", &plan.base.as_str()[..12]));
    text.push_str(&format!("  agent      {agent}, {} at once\n", plan.parallel));
    let budget =
        plan.budget.map_or_else(|| "no budget".to_owned(), |budget| format!("{budget} in all"));
    let runs = plan.max_runs.map(|most| format!(", {} at most", counted(most, "run")));
    text.push_str(&format!("  limits     {budget}{}\n", runs.unwrap_or_default()));
    text.push_str(&format!("  spent      {}\n", plan.spent));
    text
}

fn planned(task: &PlannedTask, number: u32, all: &[PlannedTask]) -> String {
    let past = match task.past_cost {
        Some(cost) => format!("{cost} in the mean of {}", counted(task.past_runs, "run")),
        None => "nothing like it yet".to_owned(),
    };
    let done = if task.done { "  (done)" } else { "" };
    let words = plain::line_within(&task.text, 100);
    let mut text =
        format!("  {number}. [complexity {}/10] {words}{done}\n     {past}\n", task.complexity);
    let mut more = |name: &str, values: &[String]| {
        if !values.is_empty() {
            let values: Vec<String> =
                values.iter().map(|one| plain::line_within(one, 100)).collect();
            text.push_str(&format!("     {name} {}\n", values.join(", ")));
        }
    };
    more("after", &task.after);
    more(if task.guessed { "touches, by its context:" } else { "touches" }, &task.touches);
    // By their numbers here: ids that Spore made stand nowhere in this text.
    let numbers: Vec<String> = all
        .iter()
        .zip(1_u32..)
        .filter(|(other, _)| task.apart_from.contains(&other.id))
        .map(|(_, number)| number.to_string())
        .collect();
    more("not beside", &numbers);
    text
}

#[cfg(test)]
mod tests {
    use spore_model::{RunId, Usd};

    use super::*;

    #[test]
    fn a_row_marks_what_is_an_estimate() {
        let row = |cost_estimated, run| TaskRow {
            id: "a".to_owned(),
            description: "write a".to_owned(),
            status: "verified".to_owned(),
            cost: Usd::from_nanos(2_750_000_000),
            cost_estimated,
            duration_ms: 0,
            run,
            commit: None,
            reason: None,
            returned: 0,
        };
        let run = Some(RunId::from_parts(0, 1));
        assert_eq!(task(&row(true, run)), "  verified       write a  ~$2.75\n");
        assert_eq!(task(&row(false, run)), "  verified       write a  $2.75\n");
        assert_eq!(task(&row(false, None)), "  verified       write a\n");
    }
}
