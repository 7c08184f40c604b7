//! The plots of a document, as SVG whose colours are those of the page around it.

use spore_model::{LedgerEntry, RunKind, Timestamp, Usd};

use super::words::took;
use crate::spending::SpendingLine;
use crate::timeline::{RunTimeline, TimelineEntry};
use spore_plain::page;

const WIDTH: f64 = 960.0;
/// Where names end and time begins.
const LEFT: f64 = 190.0;
const RIGHT: f64 = 110.0;
const ROW: f64 = 22.0;

/// Parts of a run beyond this many are in the table alone.
const MOST_ROWS: usize = 60;

/// Returns the parts of a run as bars over its time.
pub(super) fn timeline(timeline: &RunTimeline) -> String {
    let whole = whole_millis(timeline);
    let shown: Vec<&TimelineEntry> = timeline.entries.iter().take(MOST_ROWS).collect();
    if shown.is_empty() {
        return String::new();
    }
    let at = |millis: u64| LEFT + (WIDTH - LEFT - RIGHT) * (millis as f64 / whole as f64).min(1.0);
    let mut body = String::new();
    for (row, entry) in shown.iter().enumerate() {
        let top = 8.0 + ROW * row as f64;
        let from = at(entry.after_ms);
        let lasted = entry.duration_ms.unwrap_or(whole.saturating_sub(entry.after_ms));
        let width = (at(entry.after_ms + lasted) - from).max(2.0);
        let indent = 12.0 * f64::from(entry.depth.min(6));
        let name = page::text(&spore_plain::line_within(&entry.name, 26));
        let class = bar_class(entry);
        body.push_str(&format!(
            "<text x=\"{indent:.0}\" y=\"{:.0}\">{name}</text><rect class=\"bar {class}\" \
             x=\"{from:.1}\" y=\"{:.0}\" width=\"{width:.1}\" height=\"12\" rx=\"2\"><title>{}: {}\
             </title></rect><text class=\"note\" x=\"{:.1}\" y=\"{:.0}\">{}</text>\n",
            top + 12.0,
            top + 2.0,
            name,
            page::text(entry.status.as_str()),
            from + width + 6.0,
            top + 12.0,
            entry.duration_ms.map_or_else(|| "not over".to_owned(), took),
        ));
    }
    let height = 16.0 + ROW * shown.len() as f64;
    frame(height, "Parts of the run over time", &body, "")
}

fn whole_millis(timeline: &RunTimeline) -> u64 {
    let ends = timeline.entries.iter().map(|entry| entry.after_ms + entry.duration_ms.unwrap_or(0));
    let over = timeline.ended.map(|ended| millis(timeline.started, ended));
    ends.chain(over).max().unwrap_or(0).max(1)
}

fn bar_class(entry: &TimelineEntry) -> &'static str {
    let is_bad = matches!(entry.status.as_str(), "failed" | "rejected" | "escalated");
    match entry.kind {
        RunKind::Session if is_bad => "bad",
        RunKind::Session => "",
        RunKind::Gates if is_bad => "bad",
        RunKind::Gates => "check",
        _ => "outer",
    }
}

fn millis(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.since(from).as_millis()).unwrap_or(u64::MAX)
}

/// Returns what a run had cost at each moment, session by session.
pub(super) fn cost(ledger: &[LedgerEntry], started: Timestamp, ended: Option<Timestamp>) -> String {
    cost_styled(ledger, started, ended, "")
}

/// The same as a picture of its own.
pub(super) fn cost_alone(
    ledger: &[LedgerEntry],
    started: Timestamp,
    ended: Option<Timestamp>,
) -> String {
    const STYLE: &str = "<style>text{font:12px sans-serif;fill:#555}.axis{stroke:#999}.curve{fill:\
        none;stroke:#7a4fd0;stroke-width:2}.area{fill:#7a4fd0;opacity:.15}.point{fill:#7a4fd0}\
        </style>";
    cost_styled(ledger, started, ended, STYLE)
}

fn cost_styled(
    ledger: &[LedgerEntry],
    started: Timestamp,
    ended: Option<Timestamp>,
    style: &str,
) -> String {
    let total: Usd = ledger.iter().map(|bill| bill.cost.usd).sum();
    let mut bills: Vec<&LedgerEntry> = ledger.iter().collect();
    bills.sort_by_key(|bill| (bill.booked, bill.session));
    let Some(last) = bills.last() else { return String::new() };
    if total <= Usd::ZERO {
        return String::new();
    }
    let whole = millis(started, ended.unwrap_or(last.booked).max(last.booked)).max(1);
    let (top, bottom, left) = (24.0, 190.0, 70.0);
    let x = |time: Timestamp| {
        left + (WIDTH - left - RIGHT) * (millis(started, time) as f64 / whole as f64)
    };
    let y = |spent: Usd| bottom - (bottom - top) * (spent.as_dollars() / total.as_dollars());
    let (mut path, mut points, mut sum) =
        (format!("M{left:.1} {bottom:.1}"), String::new(), Usd::ZERO);
    for bill in &bills {
        sum = [sum, bill.cost.usd].into_iter().sum();
        let (x, y) = (x(bill.booked), y(sum));
        path.push_str(&format!(" H{x:.1} V{y:.1}"));
        let told = format!("{} {}, {} in all", bill.role, bill.cost, sum);
        points.push_str(&format!(
            "<circle class=\"point\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"><title>{}</title>\
             </circle>\n",
            page::text(&told)
        ));
    }
    let end = WIDTH - RIGHT;
    path.push_str(&format!(" H{end:.1}"));
    let estimated = bills.iter().any(|bill| bill.cost.estimated);
    let mark = if estimated { "~" } else { "" };
    let body = format!(
        "<path class=\"area\" d=\"{path} V{bottom} H{left} Z\"/><line class=\"axis\" x1=\"{left}\" \
         x2=\"{end}\" y1=\"{bottom}\" y2=\"{bottom}\"/><path class=\"curve\" d=\"{path}\"/>\n{points}\
         <text class=\"note\" x=\"0\" y=\"{:.0}\">$0</text><text class=\"note\" x=\"0\" y=\"{:.0}\">\
         {mark}{total}</text><text class=\"note\" x=\"{left}\" y=\"{:.0}\">begun</text><text \
         class=\"note\" x=\"{:.0}\" y=\"{:.0}\">after {}</text>\n",
        bottom + 4.0,
        top + 4.0,
        bottom + 18.0,
        end - 30.0,
        bottom + 18.0,
        took(whole)
    );
    frame(bottom + 28.0, "What the run had cost, session by session", &body, style)
}

/// Returns a bar a day.
pub(super) fn days(days: &[SpendingLine]) -> String {
    let most = days.iter().map(|day| day.cost.usd).max().unwrap_or(Usd::ZERO);
    if most <= Usd::ZERO {
        return String::new();
    }
    let (top, bottom, left) = (24.0, 190.0, 10.0);
    let step = (WIDTH - 2.0 * left) / days.len() as f64;
    let width = (step * 0.7).min(64.0);
    // Every day has a bar, and as many have words as there is room for.
    let worded = (64.0 / step).ceil().max(1.0) as usize;
    let mut body = format!(
        "<line class=\"axis\" x1=\"{left}\" x2=\"{:.0}\" y1=\"{bottom}\" y2=\"{bottom}\"/>\n",
        WIDTH - left
    );
    for (at, day) in days.iter().enumerate() {
        let height = (bottom - top) * (day.cost.usd.as_dollars() / most.as_dollars());
        let x = left + step * at as f64;
        let name = page::text(day.of.as_deref().unwrap_or("?"));
        body.push_str(&format!(
            "<rect class=\"bar\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             rx=\"2\"><title>{name}: {}</title></rect>\n",
            bottom - height,
            day.cost
        ));
        if at % worded == 0 {
            body.push_str(&format!(
                "<text class=\"note\" x=\"{x:.1}\" y=\"{:.0}\">{}</text>\n",
                bottom + 18.0,
                name.get(5..).unwrap_or(&name)
            ));
        }
        // Where there is no room for the words of every day, the dearest has them.
        if worded == 1 || day.cost.usd == most {
            body.push_str(&format!(
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
                x.min(WIDTH - 80.0),
                bottom - height - 6.0,
                day.cost
            ));
        }
    }
    frame(bottom + 28.0, "What was paid, day by day", &body, "")
}

fn frame(height: f64, label: &str, body: &str, style: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" \
         role=\"img\" aria-label=\"{label}\">{style}\n{body}</svg>\n"
    )
}
