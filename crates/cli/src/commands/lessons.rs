use spore_app::{LessonRow, Result, Surroundings};
use spore_plain as plain;

use super::runs::table::{self, CsvArgs, RunTable};
use super::text::field;
use crate::local_time::minute;
use crate::ui::Ui;

/// List what runs taught, each with how often it was carried and what became of those runs
///
/// A lesson was carried when the task file of a run had it. `Verified` and `fell short` count those
/// runs by their end; its standing is the share of verified ones, one imagined of each added.
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
    let record = row.lesson.record;
    match record.carried {
        0 => "not carried yet".to_owned(),
        carried => {
            let times = if carried == 1 { "once" } else { &format!("{carried} times") };
            let (good, bad) = (record.verified, record.fell_short);
            format!("carried {times}, {good} verified, {bad} fell short")
        }
    }
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
    field(&mut text, "standing", &format!("{:.0} %", row.standing * 100.0));
    text
}

fn values(lessons: &[LessonRow]) -> RunTable {
    let mut table = RunTable::new(&[
        ("id", false),
        ("created", false),
        ("title", false),
        ("run", false),
        ("carried", true),
        ("verified", true),
        ("fell_short", true),
        ("standing", true),
    ]);
    for row in lessons {
        let lesson = &row.lesson;
        table.row([
            lesson.id.to_string(),
            lesson.created.to_string(),
            lesson.title.clone(),
            lesson.run.map(|run| run.to_string()).unwrap_or_default(),
            lesson.record.carried.to_string(),
            lesson.record.verified.to_string(),
            lesson.record.fell_short.to_string(),
            format!("{:.3}", row.standing),
        ]);
    }
    table
}
