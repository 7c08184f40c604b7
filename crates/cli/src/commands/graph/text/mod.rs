//! The graph as people read it.
//!
//! Whatever was stored is foreign text: it is shown without control characters, and in lists
//! on one line of bounded length.

mod edges;
mod health;
mod nodes;

use spore_app::graph::EdgeRow;
use spore_model::NodeId;

pub(super) use edges::{
    created_edge, edge_in_full, edges_compact, scored_edges, table_of_edges, ways,
};
pub(super) use health::{analysis, garbage, status, status_in_full};
pub(super) use nodes::{context, created_meta, freshness, node_in_full, region, updated_meta};

/// How many characters of a title a list shows.
const TITLE: usize = 44;

/// Takes out what would do something to the reader's terminal.
pub(super) fn clean(text: &str) -> String {
    text.chars().filter(|c| !is_harmful(*c) || matches!(c, '\n' | '\t')).collect()
}

/// Control characters, and the invisible ones that turn the order of letters around.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line of at most `width` characters. What is too long loses its middle: titles differ
/// at their ends.
fn line(text: &str, width: usize) -> String {
    let clean: String = text.chars().filter(|c| c.is_whitespace() || !is_harmful(*c)).collect();
    let words: Vec<&str> = clean.split_whitespace().collect();
    let letters: Vec<char> = words.join(" ").chars().collect();
    if letters.len() <= width {
        return letters.into_iter().collect();
    }
    let tail = width / 3;
    let (head, rest) = letters.split_at(width.saturating_sub(tail + 1));
    let (head, end): (String, String) =
        (head.iter().collect(), rest[rest.len() - tail..].iter().collect());
    format!("{}…{}", head.trim_end(), end.trim_start())
}

fn title(text: &str) -> String {
    line(text, TITLE)
}

/// One named line; further lines of the value are set in below it.
fn field(text: &mut String, name: &str, value: &str) {
    let indented = clean(value).trim_end().replace('\n', &format!("\n{:14}", ""));
    text.push_str(&format!("  {name:10}  {indented}\n"));
}

/// A node's title, or its id where another store holds it.
fn end(title_of: Option<&str>, id: &NodeId) -> String {
    title_of.map_or_else(|| id.short().to_owned(), title)
}

fn source(row: &EdgeRow) -> String {
    end(row.source_title.as_deref(), &row.edge.source)
}

fn target(row: &EdgeRow) -> String {
    end(row.target_title.as_deref(), &row.edge.target)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A confidence as a column; empty where none was given.
fn sure(confidence: Option<f64>) -> String {
    confidence.map(|confidence| format!("{:>5}", percent(confidence))).unwrap_or_default()
}

/// Sets rows in columns, the last one free; nothing follows the end of a line.
fn columns<const N: usize>(head: Option<[&str; N]>, rows: &[[String; N]]) -> String {
    let head = head.map(|head| head.map(str::to_owned));
    let all: Vec<&[String; N]> = head.iter().chain(rows).collect();
    let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; N] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let mut text = String::new();
    for row in all {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_line(stored: &str, shown: &str) {
        assert_eq!(line(stored, 12), shown);
    }

    #[test]
    fn a_stored_title_is_shown_on_one_short_line() {
        check_line("plain", "plain");
        check_line(" two\n\tlines ", "two lines");
        check_line("a title that is too long", "a title…long");
        check_line("größe größe größe", "größe g…röße");
    }

    #[test]
    fn nothing_that_was_stored_reaches_the_terminal_as_a_command() {
        check_line("\u{1b}[31mred\u{7}", "[31mred");
        check_line("a\u{202e}b\u{2066}c", "abc");
        assert_eq!(clean("\u{1b}]0;x\u{7}one\n\ttwo\r"), "]0;xone\n\ttwo");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_end_without_blanks() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned);
        let rows = [row(["1", "ä", ""]), row(["22", "", "end"])];
        assert_eq!(columns(Some(["A", "B", "C"]), &rows), "A   B  C\n1   ä\n22     end\n");
    }
}
