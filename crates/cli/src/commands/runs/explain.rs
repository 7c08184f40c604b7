use spore_app::{FileExplained, FileTold, Result, RunExplanation, Surroundings, TaskEnd};
use spore_plain::line;

use super::super::text::{field, to_do};
use crate::ui::Ui;

/// Say why a run stopped, what was objected to, and what to do next
///
/// Everything is read from what is on record: no model is asked. With --file it also says why a
/// file was in the task files of the run: at which place, for which signals, in which attempt.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore runs explain\n  spore runs explain 7QX2\n  spore runs explain 7QX2 --file src/parser.rs"
)]
pub(crate) struct RunsExplainArgs {
    /// Any unique part of the run's id as it is shown; the newest run if left out
    run: Option<String>,
    /// Explain why this file was in context, or was not
    #[arg(long, value_name = "PATH")]
    file: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RunsExplainArgs) -> Result<u8> {
    let told = spore_app::explain_run(around, args.run.as_deref(), args.file.as_deref())?;
    ui.answer(&told, || text(&told));
    Ok(0)
}

fn text(told: &RunExplanation) -> String {
    let mut text = format!("Run {}  {}\n", told.run, told.status);
    field(&mut text, "task", &line(&told.name));
    field(&mut text, "why", &told.why);
    if let Some(at) = &told.at {
        field(&mut text, "at", at);
    }
    for attempt in &told.attempts {
        let by = attempt.decided_by.map(|by| format!(" by {}", by.as_str()));
        let by = by.unwrap_or_default();
        text.push_str(&format!("\nAttempt {}  {}{by}\n", attempt.bounce, attempt.status));
        if !attempt.why.is_empty() {
            field(&mut text, "why", &attempt.why);
        }
        const NAMED: usize = 10;
        for name in attempt.failing.iter().take(NAMED) {
            field(&mut text, "fails", name);
        }
        if let Some(more) = attempt.failing.len().checked_sub(NAMED).filter(|more| *more > 0) {
            field(&mut text, "", &format!("and {more} more"));
        }
        if let (Some(ruling), Some(sure)) = (attempt.ruling, attempt.confidence) {
            let ruling = serde_json::to_value(ruling).unwrap_or_default();
            let ruling = ruling.as_str().unwrap_or_default().to_owned();
            field(&mut text, "verdict", &format!("{ruling}, {:.0} % sure", sure * 100.0));
        }
        for objection in &attempt.objections {
            field(&mut text, "found", objection);
        }
    }
    of_tasks(&mut text, &told.tasks);
    if let Some(file) = &told.file {
        of_file(&mut text, file);
    }
    text.push_str("\nNext\n");
    for next in &told.next {
        text.push_str(&format!("  {}\n", to_do(next).replace('\n', "\n  ")));
    }
    text
}

/// More tasks than this are not named.
const MOST_TASKS: usize = 20;

/// What fell short of a list or a race, each with what goes on with it.
fn of_tasks(text: &mut String, tasks: &[TaskEnd]) {
    if !tasks.is_empty() {
        text.push_str("\nWhat fell short\n");
    }
    for task in tasks.iter().take(MOST_TASKS) {
        let agent = task.agent.as_deref().map(|agent| format!(" ({})", line(agent)));
        let why = task.why.as_deref().map(|why| format!(": {}", line(why)));
        let command = task.command.as_deref().map(|command| format!("\n{command}"));
        let told = [agent, why, command].map(Option::unwrap_or_default).concat();
        field(text, task.standing(), &format!("{}{told}", line(&task.name)));
    }
    if let Some(more) = tasks.len().checked_sub(MOST_TASKS).filter(|more| *more > 0) {
        field(text, "", &format!("and {more} more"));
    }
}

fn of_file(text: &mut String, file: &FileExplained) {
    text.push_str(&format!("\nFile {}\n", line(&file.path)));
    field(text, "why", &file.say);
    for told in &file.told {
        field(text, "told", &place(told));
        for signal in &told.signals {
            field(text, "", &format!("{:+.3}  {}", signal.share, line(&signal.name)));
        }
    }
}

fn place(told: &FileTold) -> String {
    let to = match told.bounce {
        Some(bounce) => format!("the {} of attempt {bounce}", told.role),
        None => format!("the {}", told.role),
    };
    let score = told.score.map(|score| format!(", with a score of {score:.3}"));
    format!("{to}: place {} of {}{}", told.place, told.of, score.unwrap_or_default())
}
