//! The graph as people read it.
//!
//! Whatever was stored is foreign text: in lists it is shown on one line of bounded length.

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

/// One line of at most `width` characters. What is too long loses its middle: titles differ
/// at their ends.
fn line(text: &str, width: usize) -> String {
    spore_plain::ends_within(text, width)
}

fn title(text: &str) -> String {
    line(text, TITLE)
}

/// One named line; further lines of the value are set in below it.
fn field(text: &mut String, name: &str, value: &str) {
    let indented = spore_plain::block(value).trim_end().replace('\n', &format!("\n{:14}", ""));
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

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_end_without_blanks() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned);
        let rows = [row(["1", "ä", ""]), row(["22", "", "end"])];
        assert_eq!(columns(Some(["A", "B", "C"]), &rows), "A   B  C\n1   ä\n22     end\n");
    }
}
