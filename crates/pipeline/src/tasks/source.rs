//! From the text of a person's list to its tasks, and the ticks in a copy of it.
//!
//! Three forms. A line that is just `---` makes it blocks: the lines of one are joined with
//! spaces, and its first lines may be settings, `name: value`. A Markdown check list has a task
//! for each box, and everything else in it is prose; what stands in a fence or a comment is nothing. All else is one task a line. Blank lines and
//! lines that begin with `#` mean nothing in any of them. What cannot be meant is refused with its
//! line, before anything is paid.

mod check_list;
mod settings;

use std::collections::BTreeMap;

use super::task::{LoopTask, SourceForm, TaskList};

use check_list::{Hidden, check_box};
use settings::{SETTINGS, dollars, is_one_word, looks_like_setting, setting, settle};

pub use check_list::ticked;

/// Why a list cannot be worked through.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceError {
    /// Counted from 1; zero where the whole list is meant.
    pub line: u32,
    pub what: String,
}

impl std::fmt::Display for SourceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => f.write_str(&self.what),
            line => write!(f, "line {line}: {}", self.what),
        }
    }
}

impl std::error::Error for SourceError {}

/// Tasks in one list, at most: a wrong file is not worked through.
const MOST_TASKS: usize = 1000;
/// Bytes of one task, at most.
const MOST_BYTES: usize = 64 * 1024;
/// Characters of a name that a person gives.
const MOST_NAME: usize = 64;

/// Reads a list of tasks.
pub fn read_tasks(text: &str) -> Result<TaskList, SourceError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let shown = check_list::shown(text)?;
    let seen = |which: &dyn Fn(&str) -> bool| {
        shown.iter().position(|(hidden, line)| *hidden == Hidden::No && which(line))
    };
    let first_box = seen(&|line| check_box(line).is_some());
    let rule = match first_box {
        // What a fence or a comment of a check list has in it means nothing.
        Some(_) => seen(&|line| line.trim_end() == "---"),
        None => text.lines().position(|line| line.trim_end() == "---"),
    };
    let (form, tasks) = match (rule, first_box) {
        (Some(rule), Some(first_box)) => {
            let what = format!(
                "a check list has no lines that are just `---`, and line {} is a check box: leave \
                 one of the two out",
                first_box + 1
            );
            return Err(fault(rule + 1, what));
        }
        (Some(_), None) => (SourceForm::Blocks, blocks(text)?),
        (None, Some(_)) => (SourceForm::CheckList, check_list::check_list(&shown)?),
        (None, None) => (SourceForm::Lines, lines(text)?),
    };
    let mut list = TaskList { form, tasks };
    if list.tasks.len() > MOST_TASKS {
        let what = format!("{} tasks are more than the {MOST_TASKS} of one list", list.tasks.len());
        return Err(SourceError { line: 0, what });
    }
    name(&mut list.tasks)?;
    check_order(&list.tasks)?;
    Ok(list)
}

fn fault(line: usize, what: impl Into<String>) -> SourceError {
    SourceError { line: u32::try_from(line).unwrap_or(u32::MAX), what: what.into() }
}

fn task(line: usize, text: String) -> LoopTask {
    LoopTask { text, line: u32::try_from(line).unwrap_or(u32::MAX), ..LoopTask::default() }
}

fn means_nothing(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn lines(text: &str) -> Result<Vec<LoopTask>, SourceError> {
    let told = text.lines().enumerate().filter(|(_, line)| !means_nothing(line));
    told.map(|(at, line)| {
        refuse_setting(at + 1, line.trim(), "this list has a task on each line")?;
        match check_list::is_almost_box(line) {
            true => Err(check_list::no_box(at + 1)),
            false => Ok(task(at + 1, line.trim().to_owned())),
        }
    })
    .collect()
}

/// Refuses a setting where there are none: it would be paid for as words. Names of agents and checks
/// may well begin a task.
fn refuse_setting(line: usize, words: &str, place: &str) -> Result<(), SourceError> {
    let is_setting = |(key, value): (&str, &str)| match key {
        "id" | "after" | "touches" | "max_bounces" | "fix_red" => is_one_word(value),
        "budget" => dollars(value).is_ok(),
        _ => false,
    };
    match setting(words).filter(|found| is_setting(*found)) {
        None => Ok(()),
        Some((key, _)) => {
            let what = format!(
                "`{key}:` is a setting of a block, and {place}: settings stand above a task in a list \
                 whose tasks have a line that is just `---` between them"
            );
            Err(fault(line, what))
        }
    }
}

fn blocks(text: &str) -> Result<Vec<LoopTask>, SourceError> {
    let mut tasks = Vec::new();
    let mut block: Vec<(usize, &str)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_end() == "---" {
            tasks.extend(one_block(&block)?);
            block.clear();
        } else if !means_nothing(line) {
            block.push((at + 1, line.trim()));
        }
    }
    tasks.extend(one_block(&block)?);
    Ok(tasks)
}

fn one_block(lines: &[(usize, &str)]) -> Result<Option<LoopTask>, SourceError> {
    let Some(&(first, _)) = lines.first() else { return Ok(None) };
    let mut found = task(first, String::new());
    let mut seen: Vec<&str> = Vec::new();
    let mut rest = lines;
    while let Some((&(at, line), below)) = rest.split_first()
        && let Some((key, value)) = setting(line)
    {
        // Each line of checks has one more.
        if key != "gates" && seen.contains(&key) {
            return Err(fault(at, format!("`{key}` is said twice")));
        }
        seen.push(key);
        settle(&mut found, key, value).map_err(|what| fault(at, what))?;
        rest = below;
    }
    // One that is mistyped, or that there is none of, would be paid for as words and not be heeded.
    if let [(at, line), _, ..] = rest
        && let Some(key) = looks_like_setting(line)
    {
        let what = format!(
            "`{key}` is no setting of a task; there are {}. Where it is a part of the task, let \
             other words come first",
            SETTINGS.map(|name| format!("`{name}`")).join(", ")
        );
        return Err(fault(*at, what));
    }
    let words: Vec<&str> = rest.iter().map(|&(_, line)| line).collect();
    found.text = words.join(" ");
    if found.text.is_empty() {
        return Err(fault(first, "these settings belong to no task: its words follow them"));
    }
    Ok(Some(found))
}

/// Gives every task a name of its own. One that the person did not name is called by its words,
/// so that it is the same task wherever it stands in the list.
fn name(tasks: &mut [LoopTask]) -> Result<(), SourceError> {
    let mut taken: BTreeMap<String, u32> = BTreeMap::new();
    for task in tasks.iter_mut() {
        if task.text.len() > MOST_BYTES {
            let what = format!(
                "the task has {} bytes, and {MOST_BYTES} are the most: put what is long into a file \
                 of the repository, and name that",
                task.text.len()
            );
            return Err(SourceError { line: task.line, what });
        }
        if task.named
            && let Some(line) = taken.insert(task.id.clone(), task.line)
        {
            let what = format!("the task of line {line} is called `{}` already", task.id);
            return Err(SourceError { line: task.line, what });
        }
    }
    for task in tasks.iter_mut().filter(|task| !task.named) {
        let words: Vec<&str> = task.text.split_whitespace().collect();
        let made = format!("t-{:012x}", fnv1a(words.join(" ").as_bytes()) >> 16);
        let mut id = made.clone();
        let mut again = 1;
        while taken.contains_key(&id) {
            again += 1;
            id = format!("{made}-{again}");
        }
        taken.insert(id.clone(), task.line);
        task.id = id;
    }
    Ok(())
}

/// FNV-1a: the same in every build.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Refuses a task that waits for one that is not there, or for itself.
fn check_order(tasks: &[LoopTask]) -> Result<(), SourceError> {
    let place: BTreeMap<&str, usize> =
        tasks.iter().enumerate().map(|(at, task)| (task.id.as_str(), at)).collect();
    for task in tasks {
        if let Some(unknown) = task.after.iter().find(|id| !place.contains_key(id.as_str())) {
            let what = format!("`after` names `{unknown}`, and no task has that `id`");
            return Err(SourceError { line: task.line, what });
        }
    }
    // Taken away again and again: those whose predecessors are all gone.
    let mut left: Vec<usize> = (0..tasks.len()).collect();
    loop {
        let waits = |at: usize, left: &[usize]| {
            tasks[at]
                .after
                .iter()
                .any(|id| place.get(id.as_str()).is_some_and(|p| left.contains(p)))
        };
        let stay: Vec<usize> = left.iter().copied().filter(|&at| waits(at, &left)).collect();
        if stay.is_empty() {
            return Ok(());
        }
        if stay.len() == left.len() {
            let stay = in_a_circle(tasks, stay);
            let ids: Vec<&str> = stay.iter().map(|&at| tasks[at].id.as_str()).collect();
            let what = format!("these tasks wait for each other: {}", ids.join(", "));
            return Err(SourceError { line: tasks[stay[0]].line, what });
        }
        left = stay;
    }
}

/// Leaves out of tasks that can never begin those that nothing waits for: they are behind a circle and
/// not in it.
fn in_a_circle(tasks: &[LoopTask], mut left: Vec<usize>) -> Vec<usize> {
    loop {
        let is_awaited =
            |at: &usize| left.iter().any(|&by| tasks[by].after.contains(&tasks[*at].id));
        let stay: Vec<usize> = left.iter().copied().filter(is_awaited).collect();
        if stay.len() == left.len() {
            return stay;
        }
        left = stay;
    }
}

#[cfg(test)]
mod tests;
