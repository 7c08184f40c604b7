use spore_app::memory::{CarriedRuns, Decision};
use spore_app::{LessonRow, Result, Surroundings};
use spore_model::LessonRecord;
use spore_plain as plain;

use super::runs::table::{self, CsvArgs, RunTable};
use super::text::field;
use crate::local_time::minute;
use crate::ui::Ui;

/// List what runs taught, each with what the ledger of memory saw of it
///
/// A lesson is tested by events like a line of the memory: it helped, or it was missed. Its standing
/// is the share of help, one imagined test of each kind added; it moves the lesson up or down for
/// task files. One that was said to be wrong often enough is carried no more. That a run carried it
/// and was verified is told beside that, and proves nothing. `spore memory why` with its hash shows
/// every piece of evidence, and `spore memory feedback` takes what you know.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore lessons\n  spore lessons --full\n  spore lessons --json | jq '.[].title'"
)]
pub(crate) struct LessonsArgs {
    /// One line for each
    #[arg(long, conflicts_with = "full")]
    compact: bool,
    /// All that each says
    #[arg(long)]
    full: bool,
    /// Only the newest so many
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    #[command(flatten)]
    csv: CsvArgs,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &LessonsArgs) -> Result<u8> {
    let limit = args.limit.map(|limit| limit as usize);
    let lessons = spore_app::list_lessons(around, limit)?;
    let text = || {
        if lessons.is_empty() {
            return "No lessons yet. Runs that are summed up teach some.".to_owned();
        }
        let told: Vec<String> = lessons
            .iter()
            .map(|row| match (args.compact, args.full) {
                (true, _) => compact(row),
                (_, true) => full(row),
                _ => brief(row),
            })
            .collect();
        let between = if args.full { "\n" } else { "" };
        told.join(between)
    };
    table::print(ui, &args.csv, &lessons, || values(&lessons), text);
    Ok(0)
}

fn record(row: &LessonRow) -> String {
    let LessonRecord { helped, missed } = row.lesson.record;
    let tested = match (helped, missed) {
        (0, 0) => "untested".to_owned(),
        _ => format!("{helped} helped, {missed} missed"),
    };
    let carried = match row.carried {
        CarriedRuns { runs: 0, .. } => "not carried yet".to_owned(),
        CarriedRuns { runs, verified, fell_short } => {
            let by = spore_app::counted(runs, "run");
            format!("carried by {by}: {verified} verified, {fell_short} fell short")
        }
    };
    let place = match row.decision {
        Decision::Remove => "; lost its place: said to be wrong too often",
        _ => "",
    };
    let trend = if row.trend.is_empty() { String::new() } else { format!("  {}", row.trend) };
    format!("{tested}, {carried}{place}{trend}")
}

fn compact(row: &LessonRow) -> String {
    format!("{}  {}\n", &row.lesson.created.day(), plain::ends_within(&row.lesson.title, 100))
}

fn brief(row: &LessonRow) -> String {
    let (lesson, record) = (&row.lesson, record(row));
    let said = plain::headline(&lesson.fix, 100);
    let mut text =
        format!("{}  {}\n", lesson.created.day(), plain::ends_within(&lesson.title, 100));
    text.push_str(&format!("{:12}{record}\n", ""));
    if !said.is_empty() {
        text.push_str(&format!("{:12}{said}\n", ""));
    }
    text
}

fn full(row: &LessonRow) -> String {
    let lesson = &row.lesson;
    let mut text = format!("{}\n", plain::line(&lesson.title));
    field(&mut text, "when", &lesson.pattern);
    field(&mut text, "do", &lesson.fix);
    if !lesson.scope.is_empty() {
        field(&mut text, "about", &lesson.scope.join(", "));
    }
    if !lesson.evidence.is_empty() {
        field(&mut text, "evidence", &lesson.evidence);
    }
    let from = lesson.run.map(|run| format!(", by run {}", run.short())).unwrap_or_default();
    field(&mut text, "learnt", &format!("{}{from}", minute(lesson.created)));
    field(&mut text, "record", &record(row));
    field(&mut text, "hash", row.hash.as_str());
    field(&mut text, "standing", &format!("{:.0} %", row.standing * 100.0));
    text
}

fn values(lessons: &[LessonRow]) -> RunTable {
    let mut table = RunTable::new(&[
        ("id", false),
        ("created", false),
        ("title", false),
        ("run", false),
        ("hash", false),
        ("helped", true),
        ("missed", true),
        ("carried", true),
        ("verified", true),
        ("fell_short", true),
        ("standing", true),
        ("decision", false),
    ]);
    for row in lessons {
        let lesson = &row.lesson;
        table.row([
            lesson.id.to_string(),
            lesson.created.to_string(),
            lesson.title.clone(),
            lesson.run.map(|run| run.to_string()).unwrap_or_default(),
            row.hash.to_string(),
            lesson.record.helped.to_string(),
            lesson.record.missed.to_string(),
            row.carried.runs.to_string(),
            row.carried.verified.to_string(),
            row.carried.fell_short.to_string(),
            format!("{:.3}", row.standing),
            row.decision.as_str().to_owned(),
        ]);
    }
    table
}
