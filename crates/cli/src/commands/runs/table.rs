//! Tables of runs: columns for people, or comma-separated values for a spreadsheet.

use spore_plain as plain;

use crate::ui::Ui;

/// Whether a table is wanted as comma-separated values.
#[derive(clap::Args)]
pub(in crate::commands) struct CsvArgs {
    /// Comma-separated values, with a line of names
    #[arg(long, conflicts_with = "json")]
    pub(in crate::commands) csv: bool,
}

pub(in crate::commands) struct RunTable {
    /// The name of each column, and whether it holds numbers.
    columns: Vec<(&'static str, bool)>,
    rows: Vec<Vec<String>>,
}

impl RunTable {
    pub(in crate::commands) fn new(columns: &[(&'static str, bool)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(in crate::commands) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Returns the table in columns, each as wide as its widest cell; numbers end at one place.
    pub(in crate::commands) fn text(&self) -> String {
        let names = self.columns.iter().map(|(name, _)| name.to_uppercase().replace('_', " "));
        let names: Vec<String> = names.collect();
        let lines = std::iter::once(&names).chain(&self.rows);
        let lines: Vec<Vec<String>> = lines
            .map(|row| row.iter().map(|cell| plain::ends_within(cell, 60)).collect())
            .collect();
        let width = |at: usize| lines.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = String::new();
        for row in &lines {
            let cells =
                row.iter().zip(&widths).zip(&self.columns).map(|((cell, width), column)| {
                    match column.1 {
                        true => format!("{cell:>width$}"),
                        false => format!("{cell:width$}"),
                    }
                });
            let line = cells.collect::<Vec<_>>().join("  ");
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    pub(in crate::commands) fn csv(&self) -> String {
        let names: Vec<String> = self.columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        let lines = std::iter::once(&names).chain(&self.rows);
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&self.columns).map(|(cell, column)| value(cell, column.1));
            cells.collect::<Vec<_>>().join(",")
        };
        lines.map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Returns a value as RFC 4180 has it. A spreadsheet takes text that begins like a formula for
/// one, and a task's name is foreign text: such text gets an apostrophe before it.
fn value(cell: &str, is_number: bool) -> String {
    let line = plain::line(cell);
    let acts = !is_number && line.starts_with(['=', '+', '-', '@', '\t']);
    let line = if acts { format!("'{line}") } else { line.into() };
    if line.contains([',', '"', '\n']) {
        format!("\"{}\"", line.replace('"', "\"\""))
    } else {
        line
    }
}

/// Prints a table in the way that is asked for; `text` has it in people's words and `values` in
/// plain figures.
pub(in crate::commands) fn print(
    ui: &mut Ui,
    args: &CsvArgs,
    data: &impl serde::Serialize,
    values: impl FnOnce() -> RunTable,
    text: impl FnOnce() -> String,
) {
    if args.csv {
        ui.answer_as_is(data, || values().csv());
    } else {
        ui.answer(data, text);
    }
}

/// Returns a time that something took, short: `1.5 s`, `3 min 04 s`.
pub(in crate::commands) fn took(millis: u64) -> String {
    super::super::text::duration(std::time::Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_quoted_and_is_no_formula() {
        for (cell, expected) in [
            ("plain", "plain"),
            ("a, b", "\"a, b\""),
            ("say \"it\"", "\"say \"\"it\"\"\""),
            ("=1+1", "'=1+1"),
            ("@sum", "'@sum"),
        ] {
            assert_eq!(value(cell, false), expected);
        }
        assert_eq!(value("-1.5", true), "-1.5");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = RunTable::new(&[("of", false), ("cost_usd", true)]);
        table.row(["coder".to_owned(), "1".to_owned()]);
        assert_eq!(table.text(), "OF     COST USD\ncoder         1\n");
        assert_eq!(table.csv(), "of,cost_usd\ncoder,1");
    }
}
