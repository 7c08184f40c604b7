//! What the project remembers: `lessons`, `run_show`, `memory`.

use spore_config::Config;
use spore_context::{LessonRules, choose_lessons};
use spore_memory::cues::{DossierKind, DossierPointer};
use spore_model::{Lesson, NodeId};

use super::Toolbox;
use super::hits::one_line;
use super::page::ToolFindings;
use super::question::ToolRequest;
use super::view::ProjectView;
use crate::knowledge::brief::lesson_rules;
use crate::knowledge::ledger::lessons_in_place;
use crate::knowledge::lessons::standing_lessons;
use crate::search::by_meaning;
use crate::{Error, Result, RunFilter, RunReport, show_run};

impl Toolbox {
    pub(super) fn lessons(&self, asked: &ToolRequest<'_>, config: &Config) -> Result<ToolFindings> {
        let workspace = self.workspace()?;
        let knowledge = workspace.knowledge(config)?;
        // The same that a task file may carry; where the ledger cannot be read, all that stand.
        let lessons: Vec<Lesson> = match lessons_in_place(&workspace, &knowledge, config) {
            Ok(lessons) => lessons,
            Err(_) => standing_lessons(&knowledge)?,
        };
        let nothing = "There are none yet.";
        let Some(task) = asked.text("task") else {
            let entries = lessons.iter().map(|lesson| {
                entry(lesson.id.short(), &lesson.title, &lesson.pattern, &lesson.fix)
            });
            return Ok(ToolFindings::new("Lessons of earlier runs:", entries.collect()).or(nothing));
        };
        let most = config.lessons.looked_at as usize;
        let rules = LessonRules { most, ..lesson_rules(config) };
        let near = by_meaning::near_lessons(&self.around, task, &lessons, most).unwrap_or_default();
        let nearness = |id: &NodeId| near.get(id).copied();
        let chosen = choose_lessons(&lessons, task, &[], &nearness, rules);
        let entries = chosen
            .iter()
            .map(|lesson| entry(lesson.id.short(), &lesson.title, &lesson.pattern, &lesson.fix));
        Ok(ToolFindings::new("Lessons of earlier runs, the nearest first:", entries.collect())
            .or(nothing))
    }

    pub(super) fn run_show(&self, asked: &ToolRequest<'_>) -> Result<ToolFindings> {
        let own = match &self.view {
            ProjectView::Session { run, .. } => Some(run.to_string()),
            ProjectView::WorkTree => None,
        };
        let named = asked.text("run").map(str::to_owned).or(own);
        let report = match named {
            Some(run) => show_run(&self.around, Some(&run))?,
            None => {
                match crate::list_runs(&self.around, &RunFilter::default(), Some(1))?.rows.first() {
                    Some(newest) => show_run(&self.around, Some(&newest.run.id.to_string()))?,
                    None => return Ok(ToolFindings::new("", Vec::new()).or("There is no run yet.")),
                }
            }
        };
        Ok(told(&report))
    }

    pub(super) fn memory(&self) -> Result<ToolFindings> {
        let workspace = self.workspace()?;
        let lines = crate::knowledge::broadcast::broadcast_lines(&workspace)?;
        let entries = lines.into_iter().map(|(_, _, text)| text);
        let entries: Vec<String> = entries.filter(|line| !line.trim().is_empty()).collect();
        Ok(ToolFindings::new("What every session is told (.spore/memory/CLAUDE.md):", entries)
            .or("Nothing yet."))
    }

    /// Opens the page that a line points to. A session that does so has looked, which its trace
    /// shows.
    pub(super) fn dossier(&self, asked: &ToolRequest<'_>) -> Result<ToolFindings> {
        let typed = asked.text("path").unwrap_or_default().trim();
        let inner = typed.trim_start_matches('[').trim_end_matches(']');
        let by_path = inner.trim_start_matches("memory/").strip_suffix(".md").and_then(|path| {
            let (dir, slug) = path.split_once('/')?;
            let kinds = [DossierKind::Entity, DossierKind::Topic];
            let kind = kinds.into_iter().find(|kind| kind.directory() == dir)?;
            DossierPointer::parse(&format!("{}-{slug}", kind.as_str()))
        });
        let shown = spore_plain::cut(typed, 80);
        let nothing = format!("There is no page {shown}.");
        let Some(pointer) = DossierPointer::parse(inner).or(by_path) else {
            return Ok(ToolFindings::new("", Vec::new()).or(nothing));
        };
        let file = self.workspace()?.spore_dir().join("memory").join(pointer.dossier());
        let text = crate::base::files::read_text(&file)?;
        let lines: Vec<String> =
            text.iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
        let heading = format!("memory/{}:", pointer.dossier());
        Ok(ToolFindings::new(&heading, lines).or(nothing))
    }

    /// The report of a run as one text.
    pub(super) fn report(&self, run: &str) -> Result<String> {
        let found = told(&show_run(&self.around, Some(run))?);
        Ok(format!("{}\n{}\n", found.heading, found.entries.join("\n")))
    }

    /// The task of a run, as the user wrote it.
    pub(super) fn task_of(&self, run: &str) -> Result<String> {
        let report = show_run(&self.around, Some(run))?;
        report.run.task.ok_or_else(|| {
            Error::new(spore_model::Fault::BadInput, format!("run {run} has no task of its own"))
        })
    }
}

fn entry(id: &str, title: &str, pattern: &str, fix: &str) -> String {
    let mut entry = format!("- {}  [{id}]", one_line(title));
    for (word, text) in [("when", pattern), ("then", fix)] {
        if !text.trim().is_empty() {
            entry.push_str(&format!("\n  {word}: {}", text.trim().replace('\n', "\n  ")));
        }
    }
    entry
}

fn told(report: &RunReport) -> ToolFindings {
    let run = &report.run;
    let mut entries = vec![format!("task: {}", one_line(&run.name))];
    let mut fact = |name: &str, value: Option<String>| {
        entries.extend(value.map(|value| format!("{name}: {value}")));
    };
    fact("started", Some(run.started.to_string()));
    fact("ended", run.ended.map(|ended| ended.to_string()));
    fact("base", run.base_commit.as_ref().map(ToString::to_string));
    fact("cost", Some(report.cost.to_string()));
    fact("reason", run.reason.clone());
    fact("commit", report.commit.as_ref().map(ToString::to_string));
    fact("branch", report.branch.clone());
    for bounce in &report.bounces {
        entries.push(format!("bounce {}: {}", bounce.bounce, bounce.status));
        entries.extend(bounce.reason.iter().map(|reason| format!("  {reason}")));
        entries.extend(bounce.gates.iter().map(|gate| format!("  gate {gate}")));
        if let Some(verdict) = &bounce.verdict {
            let word = serde_json::to_value(verdict.ruling).unwrap_or_default();
            entries.push(format!(
                "  verdict {} ({:.2}): {}",
                word.as_str().unwrap_or_default(),
                verdict.confidence,
                one_line(&verdict.reason)
            ));
            entries.extend(verdict.findings.iter().map(|finding| {
                let line = finding.line.map_or_else(String::new, |line| format!(":{line}"));
                let file = finding.file.as_deref().unwrap_or_default();
                format!("    {file}{line} {}", one_line(&finding.message)).trim_end().to_owned()
            }));
        }
        entries.extend(bounce.sessions.iter().map(|session| {
            format!(
                "  session {} {}: {} turns, {}",
                session.role, session.status, session.turns, session.cost
            )
        }));
    }
    ToolFindings::new(format!("Run {}: {}", run.id, report.status), entries)
}
