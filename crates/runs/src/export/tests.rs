use spore_model::{CommitId, Cost, LedgerEntry, Run, RunKind, RunStatus, Usage, Usd, Verdict};

use super::*;
use crate::explain::tasks::TaskEnd;
use crate::figures::RunFigures;
use crate::report::{BounceReport, RunReport};
use crate::spending::SpendingReport;
use crate::stats::stats_of;
use crate::timeline::{RunTimeline, TimelineEntry};

/// Text that would act if any of it got into a document as it is.
const HOSTILE: &str = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\" onload='x' \
                       \u{202e}gnp.exe\u{1b}[2J `code` | cell\n# heading\n```\n[a](javascript:alert(3))";

fn account() -> RunAccount {
    let id = RunId::from_parts(1_000, 7);
    let started = Timestamp::from_millis(1_700_000_000_000);
    let later = |millis: i64| Timestamp::from_millis(started.as_millis() + millis);
    let begun = Run::begin(id, RunKind::Orchestrate, HOSTILE, started);
    let run = Run {
        task: Some(format!("{HOSTILE}\nin full")),
        reason: Some(HOSTILE.to_owned()),
        experiment: Some(HOSTILE.to_owned()),
        ended: Some(later(90_000)),
        ..begun
    };
    let bill = |number: u128, role: &str, dollars: f64, at: i64| LedgerEntry {
        session: RunId::from_parts(1_001, number),
        root: id,
        role: role.to_owned(),
        backend: HOSTILE.to_owned(),
        model: Some(HOSTILE.to_owned()),
        turns: 3,
        usage: Usage { input_tokens: 1_000, output_tokens: 50, ..Usage::default() },
        cost: Cost::exact(Usd::from_dollars(dollars).unwrap()),
        interrupted: false,
        duration_ms: None,
        failure: None,
        booked: later(at),
    };
    let ledger = vec![bill(1, "coder", 0.5, 30_000), bill(2, HOSTILE, 0.25, 80_000)];
    let entry = |kind: RunKind, depth: u32, after_ms: u64, millis: u64| TimelineEntry {
        id,
        kind,
        name: HOSTILE.to_owned(),
        depth,
        started,
        ended: None,
        after_ms,
        duration_ms: Some(millis),
        status: RunStatus::Rejected,
        failure: None,
        turns: 3,
        cost: Cost::exact(Usd::from_dollars(0.5).unwrap()),
        model: Some(HOSTILE.to_owned()),
        reason: Some(HOSTILE.to_owned()),
    };
    let bounce = BounceReport {
        bounce: 1,
        status: RunStatus::Rejected,
        reason: Some(HOSTILE.to_owned()),
        tree: None,
        secrets: Vec::new(),
        left_out: Vec::new(),
        gates: vec![HOSTILE.to_owned()],
        failing: vec![HOSTILE.to_owned()],
        output: HOSTILE.to_owned(),
        proof: None,
        verdict: Some(Verdict::unknown(HOSTILE)),
        sessions: Vec::new(),
    };
    let entries = vec![
        entry(RunKind::Bounce, 0, 0, 90_000),
        entry(RunKind::Session, 1, 1_000, 29_000),
        entry(RunKind::Gates, 1, 30_000, 20_000),
    ];
    RunAccount {
        timeline: RunTimeline {
            run: id,
            name: HOSTILE.to_owned(),
            status: RunStatus::Failed,
            started,
            ended: run.ended,
            entries,
        },
        report: RunReport {
            answer: Some(HOSTILE.to_owned()),
            bounces: vec![bounce],
            cost: ledger.iter().map(|bill| bill.cost).sum(),
            ledger,
            ..RunReport::bare(run, RunStatus::Failed)
        },
        changes: vec![BounceChange {
            bounce: 1,
            diff: "diff --git a/</pre><script>x b/</pre><script>x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n\
                   -\told <b>\n+\tnew \u{202e}<script>alert(4)</script>\n"
                .to_owned(),
        }],
        logs: vec![GateLog { bounce: Some(1), name: HOSTILE.to_owned(), text: HOSTILE.to_owned() }],
        whole: None,
        tasks: Vec::new(),
    }
}

/// The same with what a list has beside its timeline.
fn account_of_list() -> RunAccount {
    RunAccount {
        whole: Some(WholeChange {
            commit: CommitId::new("7".repeat(40)).unwrap(),
            diff: "diff --git a/whole.txt b/whole.txt\n--- a/whole.txt\n+++ b/whole.txt\n@@ -1 +1 @@\n\
                   -before\n+after <script>alert(5)</script>\n"
                .to_owned(),
        }),
        tasks: vec![
            TaskAccount {
                end: task(Some(RunId::from_parts(1_002, 7)), Some(RunStatus::Escalated)),
                verdict: Some(Verdict::unknown(HOSTILE)),
            },
            TaskAccount { end: task(None, None), verdict: None },
        ],
        ..account()
    }
}

fn task(run: Option<RunId>, status: Option<RunStatus>) -> TaskEnd {
    TaskEnd {
        run,
        name: HOSTILE.to_owned(),
        agent: Some(HOSTILE.to_owned()),
        status,
        why: Some(HOSTILE.to_owned()),
        command: None,
    }
}

#[test]
fn a_list_has_its_whole_change_and_each_task_with_its_verdict() {
    let account = account_of_list();
    let page = export_run(&account, ExportFormat::Html).text;
    check_page(&page);
    let text = export_run(&account, ExportFormat::Markdown).text;
    for part in
        ["<h2>Tasks</h2>", "<code>00000007</code>", "not begun", "+after", "unknown (0 %): "]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    for part in ["## Tasks\n", "`00000007`", "| not begun |", "\n+after", "unknown (0 %): "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let mut race = account;
    race.report.run.kind = RunKind::Race;
    assert!(export_run(&race, ExportFormat::Html).text.contains("<h2>Racers</h2>"));
}

/// Returns the names of all elements that a page opens, sorted, once each. A text that acts would
/// bring one that is not ours.
fn elements(html: &str) -> Vec<String> {
    let begins = |piece: &&str| piece.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let name =
        |piece: &str| piece.chars().take_while(char::is_ascii_alphanumeric).collect::<String>();
    let mut names: Vec<String> = html.split('<').skip(1).filter(begins).map(name).collect();
    names.sort();
    names.dedup();
    names
}

const OURS: &str = "body circle code dd details div dl dt h1 h2 h3 head html li line main meta p \
                    path pre rect span style summary svg table tbody td text th thead title tr ul";

#[track_caller]
fn check_page(html: &str) {
    let unknown: Vec<String> =
        elements(html).into_iter().filter(|name| !OURS.split(' ').any(|our| our == name)).collect();
    assert_eq!(unknown, Vec::<String>::new());
    assert!(!html.contains(['\u{202e}', '\u{1b}']), "a letter that acts");
    // Attributes are ours alone: no quote of a foreign text ends one.
    assert!(!html.contains("\" onload="), "{html}");
    for outside in ["http://", "https://", "url(", "@import"] {
        let found = html.matches(outside).count();
        let own = html.matches("http://www.w3.org/2000/svg").count();
        assert_eq!(found, if outside == "http://" { own } else { 0 }, "{outside}");
    }
}

#[test]
fn nothing_foreign_acts_in_a_page() {
    let page = export_run(&account(), ExportFormat::Html);
    check_page(&page.text);
    assert!(page.text.contains("<span class=\"added\">+\tnew &lt;script&gt;"), "{}", page.text);
    assert!(page.text.contains("<svg"), "there is a plot");
    assert_eq!(page.text, export_run(&account(), ExportFormat::Html).text);
}

#[test]
fn nothing_foreign_is_markup_in_markdown() {
    let text = export_run(&account_of_list(), ExportFormat::Markdown).text;
    assert!(!text.contains(['\u{202e}', '\u{1b}']));
    // Outside of fences every line is ours: a heading, a table, a list, or code in a line.
    let mut fence: Option<usize> = None;
    for line in text.lines() {
        let ticks = line.chars().take_while(|letter| *letter == '`').count();
        match fence {
            Some(open) if ticks >= open && line.len() == ticks => fence = None,
            Some(_) => {}
            None if ticks >= 3 => fence = Some(ticks),
            None => {
                // What is left without code spans and without the plot holds no markup.
                let outside: String = line.split('`').step_by(2).collect();
                let ours = outside.starts_with("![What the run had cost](data:image/svg+xml,");
                assert!(ours || !outside.contains(['<', '[']), "{line}");
                assert!(!outside.starts_with("# heading"), "{line}");
            }
        }
    }
    assert_eq!(fence, None, "a fence is open at the end");
}

#[test]
fn a_period_has_a_line_for_each_run_and_its_sums() {
    let mut runs = vec![crate::stats::tests::run(1, RunStatus::Verified, 1.5)];
    runs.push(RunFigures {
        name: HOSTILE.to_owned(),
        reason: Some(HOSTILE.to_owned()),
        experiment: Some(HOSTILE.to_owned()),
        ..crate::stats::tests::run(2, RunStatus::Escalated, 0.5)
    });
    let line = |of: &str, dollars: f64| crate::spending::SpendingLine {
        of: Some(of.to_owned()),
        name: None,
        runs: 1,
        sessions: 2,
        turns: 5,
        usage: Usage::default(),
        cost: Cost::exact(Usd::from_dollars(dollars).unwrap()),
    };
    let report = |lines: Vec<crate::spending::SpendingLine>| SpendingReport {
        total: line("all", 2.0),
        lines,
    };
    let account = PeriodAccount {
        since: Timestamp::from_millis(0),
        until: Timestamp::from_millis(86_400_000),
        stats: stats_of(&runs),
        runs,
        by_day: report(vec![line("1970-01-01", 1.5), line("1970-01-02", 0.5)]),
        by_model: report(vec![line(HOSTILE, 2.0)]),
        by_role: report(vec![line("coder", 2.0)]),
    };
    let page = export_period(&account, ExportFormat::Html);
    check_page(&page.text);
    assert_eq!((page.runs, page.text.matches("<tr><td><code>").count()), (2, 2));
    assert!(page.text.contains("50 %, 1 of 2 decided tasks"), "{}", page.text);
    assert_eq!(page.text.matches("<rect class=\"bar\"").count(), 2);
    let text = export_period(&account, ExportFormat::Markdown).text;
    assert!(text.contains("- cost: $2.00\n"), "{text}");
    assert!(!text.contains("\n# heading"), "{text}");
}
