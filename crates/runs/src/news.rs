//! What is new about a run since it was looked at last, for a watcher in another process.
//!
//! Pure: two reports in a row make the news. A watcher is first told what happened so
//! far, then what happens, each thing once, and at last that the run is over or waits.

use std::collections::{HashMap, HashSet};
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{Cost, Ruling, RunId, RunKind, RunStatus};

use crate::live::LiveKind;
use crate::report::{BounceReport, RunReport, SessionRow};

/// One thing worth telling. `Display` is the plain line.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(tag = "news", rename_all = "snake_case")]
pub enum News {
    Watching {
        run: RunId,
        name: String,
        status: RunStatus,
    },
    SessionStarted {
        id: RunId,
        name: String,
        bounce: Option<u32>,
    },
    /// A tool that a session used, or what a check said.
    Line {
        id: RunId,
        name: String,
        line: String,
    },
    SessionEnded {
        id: RunId,
        name: String,
        status: RunStatus,
        turns: u32,
        cost: Cost,
        reason: Option<String>,
    },
    /// What the checks said of a bounce.
    Checked {
        bounce: u32,
        lines: Vec<String>,
    },
    Verdict {
        bounce: u32,
        ruling: Ruling,
        reason: String,
    },
    BounceEnded {
        bounce: u32,
        status: RunStatus,
        reason: Option<String>,
    },
    /// A layer of a flow changed.
    Part {
        id: RunId,
        kind: RunKind,
        name: String,
        status: RunStatus,
    },
    /// No process works on the run any more.
    Over {
        run: RunId,
        status: RunStatus,
        reason: Option<String>,
        cost: Cost,
    },
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |text: &str| spore_plain::headline(text, 160);
        let behind = |reason: &Option<String>| {
            reason.as_deref().map(|reason| format!(": {}", short(reason))).unwrap_or_default()
        };
        match self {
            Self::Watching { run, name, status } => {
                write!(f, "Run {} ({}): {status}", run.short(), short(name))
            }
            Self::SessionStarted { name, bounce: Some(bounce), .. } => {
                write!(f, "attempt {bounce}: {}", short(name))
            }
            Self::SessionStarted { name, .. } => f.write_str(&short(name)),
            Self::Line { name, line, .. } => write!(f, "  {name}: {}", short(line)),
            Self::SessionEnded { name, status, turns, cost, reason, .. } => {
                let ending = if *turns == 1 { "" } else { "s" };
                write!(f, "{name}: {status}, {turns} turn{ending}, {cost}{}", behind(reason))
            }
            Self::Checked { lines, .. } => {
                let lines: Vec<String> =
                    lines.iter().map(|line| format!("checks: {}", short(line))).collect();
                f.write_str(&lines.join("\n"))
            }
            Self::Verdict { ruling, reason, .. } => {
                let word = match ruling {
                    Ruling::Supports => "supports it",
                    Ruling::Contradicts => "contradicts",
                    Ruling::Unknown => "cannot tell",
                };
                write!(f, "verifier: {word}: {}", short(reason))
            }
            Self::BounceEnded { bounce, status, reason } => {
                write!(f, "attempt {bounce} {status}{}", behind(reason))
            }
            Self::Part { kind, name, status, .. } => {
                write!(f, "{} {}: {status}", kind.as_str(), short(name))
            }
            Self::Over { run, status, reason, cost } => {
                write!(f, "Run {} {status}, {cost}{}", run.short(), behind(reason))
            }
        }
    }
}

/// What was told already.
#[derive(Debug, Default)]
pub struct RunWatch {
    has_begun: bool,
    started: HashSet<RunId>,
    ended: HashSet<RunId>,
    lines: HashMap<RunId, u32>,
    /// What checks said whose result is not on record yet.
    said: HashSet<String>,
    checked: HashSet<u32>,
    judged: HashSet<u32>,
    closed: HashSet<u32>,
    parts: HashMap<RunId, RunStatus>,
}

impl RunWatch {
    /// Returns what is new. The last of it is [`News::Over`] where there will be no more.
    pub fn look(&mut self, report: &RunReport) -> Vec<News> {
        let mut news = Vec::new();
        if !std::mem::replace(&mut self.has_begun, true) {
            let run = &report.run;
            news.push(News::Watching {
                run: run.id,
                name: run.name.clone(),
                status: report.status,
            });
        }
        for bounce in &report.bounces {
            self.bounce(bounce, report, &mut news);
        }
        for session in &report.sessions {
            self.session(session, None, report, &mut news);
        }
        self.parts(report, &mut news);
        self.checks(report, &mut news);
        if report.status != RunStatus::Running {
            news.push(News::Over {
                run: report.run.id,
                status: report.status,
                reason: report.run.reason.clone(),
                cost: report.cost,
            });
        }
        news
    }

    fn bounce(&mut self, bounce: &BounceReport, report: &RunReport, news: &mut Vec<News>) {
        let number = bounce.bounce;
        let (coders, others): (Vec<_>, Vec<_>) =
            bounce.sessions.iter().partition(|session| session.role == "coder");
        for session in coders {
            self.session(session, Some(number), report, news);
        }
        if !bounce.gates.is_empty() && self.checked.insert(number) {
            let told = std::mem::take(&mut self.said);
            let lines = bounce.gates.iter().filter(|line| !told.contains(*line)).cloned();
            let lines: Vec<String> = lines.collect();
            if !lines.is_empty() {
                news.push(News::Checked { bounce: number, lines });
            }
        }
        for session in others {
            self.session(session, Some(number), report, news);
        }
        if let Some(verdict) = &bounce.verdict
            && self.judged.insert(number)
        {
            let (ruling, reason) = (verdict.ruling, verdict.reason.clone());
            news.push(News::Verdict { bounce: number, ruling, reason });
        }
        let is_over = matches!(bounce.status, RunStatus::Verified | RunStatus::Rejected);
        if is_over && self.closed.insert(number) {
            let (status, reason) = (bounce.status, bounce.reason.clone());
            news.push(News::BounceEnded { bounce: number, status, reason });
        }
    }

    fn session(
        &mut self,
        session: &SessionRow,
        bounce: Option<u32>,
        report: &RunReport,
        news: &mut Vec<News>,
    ) {
        let (id, name) = (session.id, session.role.clone());
        if self.started.insert(id) {
            news.push(News::SessionStarted { id, name: name.clone(), bounce });
        }
        self.lines(id, report, news);
        if session.ended.is_some() && self.ended.insert(id) {
            news.push(News::SessionEnded {
                id,
                name,
                status: session.status,
                turns: session.turns,
                cost: session.cost,
                reason: session.reason.clone(),
            });
        }
    }

    fn lines(&mut self, id: RunId, report: &RunReport, news: &mut Vec<News>) {
        let Some(live) = report.live.iter().find(|live| live.id == id) else { return };
        let seen = self.lines.insert(id, live.lines).unwrap_or(0);
        for line in live.lines_after(seen) {
            news.push(News::Line { id, name: live.name.clone(), line: line.clone() });
        }
    }

    fn parts(&mut self, report: &RunReport, news: &mut Vec<News>) {
        for part in &report.parts {
            if self.parts.insert(part.id, part.status) != Some(part.status) {
                news.push(News::Part {
                    id: part.id,
                    kind: part.kind,
                    name: part.name.clone(),
                    status: part.status,
                });
            }
            self.lines(part.id, report, news);
        }
    }

    fn checks(&mut self, report: &RunReport, news: &mut Vec<News>) {
        for live in report.live.iter().filter(|live| live.kind == LiveKind::Gates) {
            let seen = self.lines.insert(live.id, live.lines).unwrap_or(0);
            for line in live.lines_after(seen) {
                self.said.insert(line.clone());
                let (id, name, line) = (live.id, live.name.clone(), line.clone());
                news.push(News::Line { id, name, line });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use spore_model::{Run, Timestamp};

    use super::*;
    use crate::live::Live;

    fn id(number: u128) -> RunId {
        RunId::from_parts(0, number)
    }

    fn report() -> RunReport {
        let run = Run::begin(id(1), RunKind::Orchestrate, "mend it", Timestamp::from_millis(0));
        RunReport::bare(run, RunStatus::Running)
    }

    fn session(number: u128, ended: bool) -> SessionRow {
        let at = Timestamp::from_millis(0);
        SessionRow {
            id: id(number),
            role: "coder".to_owned(),
            status: if ended { RunStatus::Finished } else { RunStatus::Running },
            reason: None,
            turns: 2,
            cost: Cost::default(),
            started: at,
            ended: ended.then_some(at),
            refused: Default::default(),
        }
    }

    fn bounce(sessions: Vec<SessionRow>, gates: &[&str]) -> BounceReport {
        BounceReport {
            bounce: 1,
            status: if gates.is_empty() { RunStatus::Running } else { RunStatus::Rejected },
            reason: None,
            tree: None,
            secrets: Vec::new(),
            left_out: Vec::new(),
            gates: gates.iter().map(ToString::to_string).collect(),
            failing: Vec::new(),
            output: String::new(),
            proof: None,
            verdict: None,
            sessions,
        }
    }

    fn live(number: u128, kind: LiveKind, name: &str, lines: &[&str]) -> Live {
        let mut live = Live::new(id(number), kind, name, Timestamp::from_millis(0));
        lines.iter().for_each(|line| live.tell(line));
        live
    }

    fn told(watch: &mut RunWatch, report: &RunReport) -> String {
        watch.look(report).iter().map(|news| format!("{news}\n")).collect()
    }

    #[test]
    fn each_thing_is_told_once_and_in_its_order() {
        let mut watch = RunWatch::default();
        let begun = RunReport {
            bounces: vec![bounce(vec![session(2, false)], &[])],
            live: vec![live(2, LiveKind::Session, "coder", &["Read a"])],
            ..report()
        };
        assert_eq!(
            told(&mut watch, &begun),
            "Run 00000001 (mend it): running\nattempt 1: coder\n  coder: Read a\n"
        );
        assert_eq!(told(&mut watch, &begun), "");
        let checking = RunReport {
            bounces: vec![bounce(vec![session(2, true)], &[])],
            live: vec![live(3, LiveKind::Gates, "checks", &["test: red"])],
            ..report()
        };
        assert_eq!(
            told(&mut watch, &checking),
            "coder: finished, 2 turns, $0.00\n  checks: test: red\n"
        );
        let over = RunReport {
            status: RunStatus::Escalated,
            bounces: vec![bounce(vec![session(2, true)], &["test: red", "lint: green"])],
            ..report()
        };
        assert_eq!(
            told(&mut watch, &over),
            "checks: lint: green\nattempt 1 rejected\nRun 00000001 escalated, $0.00\n"
        );
    }
}
