//! What became of each task of a list, and of each racer of a race, from the records alone.

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{Run, RunId, RunKind, RunStatus, StepKey};
use spore_pipeline::{LoopState, LoopTask, TaskLanding};
use spore_store::RecordedStep;

use crate::figures::attempts::{ListTask, is_list, tasks_in};
use crate::parts::PartRow;
use crate::report::RunReport;

/// What became of one task of a list, or of one racer.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct TaskEnd {
    /// Its last run; nothing where it was not begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    pub name: String,
    /// The agent of a racer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Nothing where it was not begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// Why it is not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What goes on with it, where it does not go on with the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl TaskEnd {
    /// Returns whether it is over, or will not begin, and its work is not where it was asked to be.
    pub(crate) fn fell_short(&self, is_whole_over: bool) -> bool {
        match self.status {
            None => is_whole_over,
            Some(status) => matches!(
                status,
                RunStatus::Failed
                    | RunStatus::Escalated
                    | RunStatus::Rejected
                    | RunStatus::Partial
                    | RunStatus::Cancelled
            ),
        }
    }

    /// Returns where it stands, in words.
    pub fn standing(&self) -> &'static str {
        self.status.map_or("not begun", |status| status.as_str())
    }
}

/// Returns what became of the tasks of a list, but of those that were done before it, or of the racers
/// of a race; `steps` are its own. Other runs have none.
pub fn task_ends(report: &RunReport, steps: &[RecordedStep]) -> Vec<TaskEnd> {
    match report.run.kind {
        RunKind::Race => racers(report),
        kind if is_list(kind) => listed(report, steps),
        _ => Vec::new(),
    }
}

fn racers(report: &RunReport) -> Vec<TaskEnd> {
    let racers = report.parts.iter().filter(|part| part.kind == RunKind::Orchestrate);
    let end = |part: &PartRow| TaskEnd {
        run: Some(part.id),
        name: part.name.clone(),
        agent: part.backend.clone(),
        status: Some(part.status),
        why: part.reason.clone().filter(|_| part.status != RunStatus::Verified),
        command: retry_of(part),
    };
    racers.map(end).collect()
}

fn listed(report: &RunReport, steps: &[RecordedStep]) -> Vec<TaskEnd> {
    let run = &report.run;
    let before: LoopState = setting(run, "before").unwrap_or_default();
    let begun = tasks_in(steps);
    let tasks = tasks_of(run).into_iter();
    let tasks = tasks.filter(|task| !task.ticked && !before.has_verified(task));
    let mut ends: Vec<(String, Vec<String>, TaskEnd)> = Vec::new();
    for task in tasks {
        let begun = begun.iter().find(|one| one.id == task.key(task.edition));
        let last = begun.and_then(|one| Some((one, one.attempts.last()?)));
        let part = last.and_then(|(one, last)| {
            Some((one, report.parts.iter().find(|part| part.id == *last)?))
        });
        let mut end = match part {
            Some((one, part)) => attempted(report, one, part),
            None if task.removed => continue,
            None => not_begun(run),
        };
        end.name = spore_plain::line_within(&task.text, 60);
        ends.push((task.id, task.after, end));
    }
    let short: Vec<String> = ends
        .iter()
        .filter(|(_, _, end)| end.status.is_none_or(|status| status != RunStatus::Verified))
        .map(|(id, _, _)| id.clone())
        .collect();
    for (_, after, end) in &mut ends {
        if end.status.is_none() && after.iter().any(|id| short.contains(id)) {
            end.why = Some("a task that it comes after is not verified".to_owned());
        }
    }
    ends.into_iter().map(|(_, _, end)| end).collect()
}

/// A task that was worked on. Its landing decides: verified work that is not on the branch is not done.
fn attempted(report: &RunReport, task: &ListTask, part: &PartRow) -> TaskEnd {
    let mut end = TaskEnd {
        run: Some(part.id),
        name: String::new(),
        agent: None,
        status: Some(part.status),
        why: part.reason.clone().filter(|_| part.status != RunStatus::Verified),
        command: retry_of(part),
    };
    if part.status == RunStatus::Verified && !task.has_landed() {
        let (status, why) = match &task.landing {
            _ if report.run.is_open() => {
                (report.status, "its verified work is not on the branch yet".to_owned())
            }
            Some(TaskLanding::Back { evidence, .. }) => {
                let first = spore_plain::headline(evidence, 120);
                let fit = "its verified work does not fit the branch";
                (RunStatus::Escalated, format!("{fit}: {first}").trim_end_matches(": ").to_owned())
            }
            _ => (RunStatus::Cancelled, "its verified work was not brought onto the branch".into()),
        };
        (end.status, end.why) = (Some(status), Some(why));
        end.command = again(&report.run);
    }
    end
}

fn not_begun(run: &Run) -> TaskEnd {
    let why = run.reason.as_deref().map(str::trim).filter(|why| !why.is_empty());
    TaskEnd {
        run: None,
        name: String::new(),
        agent: None,
        status: None,
        why: why.map(str::to_owned),
        command: again(run),
    }
}

fn retry_of(part: &PartRow) -> Option<String> {
    let is_short = matches!(
        part.status,
        RunStatus::Failed | RunStatus::Escalated | RunStatus::Rejected | RunStatus::Cancelled
    );
    is_short.then(|| format!("spore retry {}", part.id.short()))
}

/// Returns what goes on with all that is not done of a list: only one in a file can be called again,
/// and a batch would do all of it once more.
pub(crate) fn again(run: &Run) -> Option<String> {
    let source = source_of_list(run)?;
    (run.kind == RunKind::Loop).then(|| format!("spore loop --source {source}"))
}

/// Returns the file of a list as a shell reads it; nothing where it was read from a pipe.
pub fn source_of_list(run: &Run) -> Option<String> {
    let source = run.settings.get("source")?.as_str().filter(|source| *source != "-")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,@%=".contains(c);
    Some(match source.chars().all(is_plain) {
        true => source.to_owned(),
        false => format!("'{}'", spore_plain::line(source).replace('\'', r"'\''")),
    })
}

fn tasks_of(list: &Run) -> Vec<LoopTask> {
    setting(list, "tasks").unwrap_or_default()
}

fn setting<T: serde::de::DeserializeOwned>(list: &Run, name: &str) -> Option<T> {
    serde_json::from_value(list.settings.get(name)?.clone()).ok()
}

/// Returns what people call a step of a list: by the words of its task, as far as these are known.
pub(crate) fn words_of_list_step(run: &Run, key: &StepKey) -> Option<String> {
    let key = key.to_string();
    let mut parts = key.split('/');
    let (name, id, attempt) = (parts.next()?, parts.next()?, parts.next()?);
    let id = id.split('~').next()?;
    let task = tasks_of(run).into_iter().find(|task| task.id == id);
    let task = task.map(|task| format!(" {}", spore_plain::code(&task.text, 60)));
    let task = task.unwrap_or_else(|| " of the list".to_owned());
    let again = if attempt == "1" { String::new() } else { format!(", attempt {attempt}") };
    match name {
        "task" => Some(format!("the task{task}{again}")),
        "land" => Some(format!("bringing the work of the task{task} onto the branch{again}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use spore_model::{EffectClass, Timestamp};

    use super::*;

    fn id(number: u128) -> RunId {
        RunId::from_parts(0, number)
    }

    fn part(number: u128, status: RunStatus) -> PartRow {
        PartRow {
            name: "a title".to_owned(),
            backend: Some("replay".to_owned()),
            reason: Some("its checks are red".to_owned()),
            ..PartRow::bare(id(number), RunKind::Orchestrate, status)
        }
    }

    fn report(run: Run, status: RunStatus, parts: Vec<PartRow>) -> RunReport {
        RunReport { parts, ..RunReport::bare(run, status) }
    }

    fn step(key: StepKey, intent: Value, result: Option<Value>) -> RecordedStep {
        RecordedStep {
            run: id(1),
            key,
            class: EffectClass::Keyed,
            attempt: 1,
            intent,
            result,
            begun: Timestamp::from_millis(0),
            finished: None,
        }
    }

    fn list() -> Run {
        let task = |id: &str, after: &[&str]| json!({ "id": id, "text": format!("write {id}"), "after": after, "line": 1 });
        let tasks = [
            task("a", &[]),
            task("b", &[]),
            task("c", &["b"]),
            task("d", &[]),
            task("e", &[]),
            task("f", &[]),
        ];
        Run {
            settings: json!({ "source": "/x/my list.txt", "tasks": tasks }),
            reason: Some("1 of 6 tasks verified; 4 runs were made".to_owned()),
            ended: Some(Timestamp::from_millis(9)),
            state: spore_model::RunState::Ended,
            ..Run::begin(id(1), RunKind::Loop, "a list", Timestamp::from_millis(0))
        }
    }

    fn steps() -> Vec<RecordedStep> {
        let hash = "1".repeat(40);
        let landed = json!(TaskLanding::Landed {
            number: 1,
            commit: spore_model::CommitId::new(&hash).unwrap(),
            tree: spore_model::TreeId::new(&hash).unwrap(),
        });
        let back = json!(TaskLanding::Back { number: 2, evidence: "a conflict\nmore".to_owned() });
        let task =
            |name: &str, run| step(StepKey::task(name, 1), json!({ "child": id(run) }), None);
        let land =
            |name: &str, result| step(StepKey::task_landing(name, 1), json!({}), Some(result));
        vec![
            task("a", 10),
            land("a", landed),
            task("b", 11),
            task("d", 12),
            land("d", back),
            task("e", 13),
        ]
    }

    #[test]
    fn a_list_tells_what_became_of_each_task_and_what_goes_on_with_it() {
        let parts = vec![
            part(10, RunStatus::Verified),
            part(11, RunStatus::Escalated),
            part(12, RunStatus::Verified),
            part(13, RunStatus::Cancelled),
        ];
        let report = report(list(), RunStatus::Partial, parts);
        let told = |end: &TaskEnd| {
            let why = end.why.clone().unwrap_or_default();
            let command = end.command.clone().unwrap_or_default();
            format!("{}, {}: {why} > {command}", end.name, end.standing())
        };
        let ends = task_ends(&report, &steps());
        let again = "spore loop --source '/x/my list.txt'";
        assert_eq!(
            ends.iter().map(told).collect::<Vec<_>>(),
            [
                "write a, verified:  > ".to_owned(),
                "write b, escalated: its checks are red > spore retry 0000000B".to_owned(),
                format!("write c, not begun: a task that it comes after is not verified > {again}"),
                format!(
                    "write d, escalated: its verified work does not fit the branch: a conflict… > {again}"
                ),
                "write e, cancelled: its checks are red > spore retry 0000000D".to_owned(),
                format!("write f, not begun: 1 of 6 tasks verified; 4 runs were made > {again}"),
            ]
        );
        let short = |is_over| ends.iter().filter(|end| end.fell_short(is_over)).count();
        assert_eq!((short(true), short(false)), (5, 3));
    }

    #[test]
    fn a_race_tells_what_became_of_each_racer() {
        let race = Run::begin(id(1), RunKind::Race, "a race", Timestamp::from_millis(0));
        let parts = vec![part(10, RunStatus::Verified), part(11, RunStatus::Failed)];
        let ends = task_ends(&report(race, RunStatus::Finished, parts), &[]);
        let why: Vec<Option<&str>> = ends.iter().map(|end| end.why.as_deref()).collect();
        assert_eq!(why, [None, Some("its checks are red")]);
        assert_eq!(ends[1].agent.as_deref(), Some("replay"));
        assert_eq!(ends[1].command.as_deref(), Some("spore retry 0000000B"));
    }

    #[test]
    fn a_step_of_a_list_is_told_by_the_words_of_its_task() {
        for (key, expected) in [
            (StepKey::task("a", 1), Some("the task `write a`")),
            (StepKey::task("b~2", 3), Some("the task `write b`, attempt 3")),
            (
                StepKey::landing_turn("a", 1, 2),
                Some("bringing the work of the task `write a` onto the branch"),
            ),
            (StepKey::task("gone", 1), Some("the task of the list")),
            (StepKey::coder(1), None),
            (StepKey::verifier(1, 2), None),
        ] {
            assert_eq!(words_of_list_step(&list(), &key).as_deref(), expected);
        }
    }
}
