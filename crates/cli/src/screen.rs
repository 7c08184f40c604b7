//! Text for people on a terminal: as wide as it is, and with colours where they help.
//!
//! Commands write plain text in lines, fields and columns, and know neither widths nor colours:
//! what goes into a file or a pipe is what they wrote. On a terminal a line that does not fit is
//! broken where its columns or words end, and set in below itself. Colours go by what a column
//! says (`verified`, `failed`, `NOT OK`), so that no command can give a status a colour of its
//! own. NO_COLOR, CLICOLOR and CLICOLOR_FORCE count.

use std::io::IsTerminal;

use anstyle::{AnsiColor, Style};

/// Narrower than this nothing can be read; the terminal breaks lines by itself then.
const LEAST_WIDTH: usize = 30;
/// A field's value begins no further right than this, and no line is set in further.
const MOST_INDENT: usize = 24;
/// A line that begins further right than this goes on with the column above it.
const FAR_IN: usize = 8;

/// How text is written to one of the two outputs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Screen {
    /// Nothing where lines are not broken: it is no terminal.
    width: Option<usize>,
    colours: bool,
}

impl Screen {
    pub(crate) fn stdout() -> Self {
        Self::of(&std::io::stdout())
    }

    pub(crate) fn stderr() -> Self {
        Self::of(&std::io::stderr())
    }

    #[expect(clippy::disallowed_methods, reason = "a screen is there before the surroundings are")]
    fn of(stream: &(impl IsTerminal + std::os::fd::AsFd)) -> Self {
        let size = terminal_size::terminal_size_of(stream.as_fd());
        let width =
            size.map(|(width, _)| usize::from(width.0)).filter(|width| *width >= LEAST_WIDTH);
        let said = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into());
        Self { width, colours: has_colours(&said, stream.is_terminal()) }
    }

    /// Returns `text` as it is to be written.
    pub(crate) fn render(self, text: &str) -> String {
        let lines = text.split('\n').map(|line| {
            let line = match self.width {
                Some(width) => broken(line, width),
                None => line.to_owned(),
            };
            if !self.colours {
                return line;
            }
            let mut parts = line.split('\n');
            let first = painted(parts.next().unwrap_or_default());
            let rest = parts.map(painted_below);
            std::iter::once(first).chain(rest).collect::<Vec<_>>().join("\n")
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns a change as git writes it, with colours and its lines as they are.
    pub(crate) fn render_diff(self, text: &str) -> String {
        if !self.colours {
            return text.to_owned();
        }
        let paint = |line: &str| match line.as_bytes().first() {
            _ if line.starts_with("+++") || line.starts_with("---") => styled(line, BOLD),
            _ if line.starts_with("diff ") => styled(line, BOLD),
            Some(b'+') => styled(line, GOOD),
            Some(b'-') => styled(line, BAD),
            Some(b'@') => styled(line, NOTE),
            _ => line.to_owned(),
        };
        text.split('\n').map(paint).collect::<Vec<_>>().join("\n")
    }

    /// Returns something that only accompanies the rest.
    pub(crate) fn dim(self, text: &str) -> String {
        if self.colours { styled(text, Style::new().dimmed()) } else { text.to_owned() }
    }
}

/// Decides by what the environment says (<https://no-color.org>, <https://bixense.com/clicolors>):
/// who forbids colours is heard first, then who wants them everywhere; else a terminal that can
/// show them gets them.
fn has_colours(said: &dyn Fn(&str) -> Option<String>, is_terminal: bool) -> bool {
    let is_set = |name: &str| said(name).is_some_and(|value| !value.is_empty());
    let is_off = |name: &str| said(name).is_some_and(|value| value == "0");
    if is_set("NO_COLOR") {
        return false;
    }
    if is_set("CLICOLOR_FORCE") && !is_off("CLICOLOR_FORCE") {
        return true;
    }
    let can = said("TERM").is_some_and(|term| term != "dumb") || is_set("CLICOLOR");
    is_terminal && can && !is_off("CLICOLOR")
}

const BOLD: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
// Yellow is hardly seen on a light background.
const WAITS: Style = AnsiColor::Magenta.on_default();
const NOTE: Style = AnsiColor::Cyan.on_default();

fn styled(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

/// Breaks a line that is wider than the terminal.
fn broken(line: &str, width: usize) -> String {
    if line.chars().count() <= width || is_command(line) {
        return line.to_owned();
    }
    let cells = cells(line);
    let lead = line.chars().take_while(|letter| *letter == ' ').count();
    match cells.as_slice() {
        // A name and its value: the value is set in below itself.
        [_, value] if value.column <= MOST_INDENT.min(width / 2) => {
            let (name, _) = line.split_at(value.start);
            filled(name, &line[value.start..], value.column, width)
        }
        [_, _, .., last] if last.column <= MOST_INDENT.min(width / 2) => {
            let (name, _) = line.split_at(last.start);
            filled(name, &line[last.start..], last.column, width)
        }
        [_, _, _, ..] => stacked(line, &cells, lead, width),
        _ => {
            // What is far in stands below a column, and stays in it.
            let indent = if lead > FAR_IN { lead } else { lead + 2 };
            filled(&line[..lead], &line[lead..], indent.min(MOST_INDENT), width)
        }
    }
}

/// Returns whether a line is there to be copied into a shell.
fn is_command(line: &str) -> bool {
    let words = line.trim_start();
    line.starts_with("  ")
        && ["spore ", "git ", "npm ", "cargo ", "cd ", "$ ", "SPORE_"]
            .iter()
            .any(|word| words.starts_with(word))
}

/// A part of a line that two blanks or more set apart.
#[derive(Debug)]
struct LineCell {
    /// Where it is in the line, in bytes.
    start: usize,
    end: usize,
    /// Where it is on the screen.
    column: usize,
}

fn cells(line: &str) -> Vec<LineCell> {
    let mut cells: Vec<LineCell> = Vec::new();
    let mut blanks = 2;
    for (column, (at, letter)) in line.char_indices().enumerate() {
        if letter == ' ' {
            blanks += 1;
            continue;
        }
        match cells.last_mut() {
            Some(cell) if blanks < 2 => cell.end = at + letter.len_utf8(),
            _ => cells.push(LineCell { start: at, end: at + letter.len_utf8(), column }),
        }
        blanks = 0;
    }
    cells
}

/// A row of a table: as many cells as fit stay in their columns, the others follow below.
fn stacked(line: &str, cells: &[LineCell], lead: usize, width: usize) -> String {
    let fits = |cell: &&LineCell| cell.column + line[cell.start..cell.end].chars().count() <= width;
    let kept = cells.iter().take_while(fits).count().max(1);
    let mut text = line[..cells[kept - 1].end].to_owned();
    let rest: Vec<&str> = cells[kept..].iter().map(|cell| &line[cell.start..cell.end]).collect();
    if !rest.is_empty() {
        let indent = lead + 4;
        text.push('\n');
        text.push_str(&filled(&" ".repeat(indent), &rest.join("  "), indent, width));
    }
    text
}

/// Sets words behind `first` into lines; those after the first begin at `indent`.
fn filled(first: &str, words: &str, indent: usize, width: usize) -> String {
    let mut text = first.to_owned();
    let mut column = first.chars().count();
    let mut is_fresh = true;
    for word in words.split(' ') {
        let long = word.chars().count();
        if !is_fresh && column + 1 + long > width && !word.is_empty() {
            text.truncate(text.trim_end().len());
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
            is_fresh = true;
        }
        if !is_fresh {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += long;
        is_fresh = false;
    }
    text
}

/// Gives the words of a line their colours.
fn painted(line: &str) -> String {
    for (word, style) in [("error:", BAD.bold()), ("  try:", NOTE.bold()), ("  because:", BOLD)] {
        if let Some(rest) = line.strip_prefix(word) {
            return format!("{}{rest}", styled(word, style));
        }
    }
    if is_heading(line) {
        return styled(line, BOLD);
    }
    let mut text = String::new();
    let mut written = 0;
    for cell in cells(line) {
        text.push_str(&line[written..cell.start]);
        let said = &line[cell.start..cell.end];
        match style_of(said) {
            Some(style) => text.push_str(&styled(said, style)),
            None => text.push_str(&ending_painted(said)),
        }
        written = cell.end;
    }
    text.push_str(&line[written..]);
    text
}

/// The same for what a broken line goes on with: a word that stands there alone got there by
/// chance, and says nothing of its own.
fn painted_below(line: &str) -> String {
    if cells(line).len() > 1 { painted(line) } else { ending_painted(line) }
}

/// The names of columns: nothing but capitals, and more than one of them.
fn is_heading(line: &str) -> bool {
    let capital = |letter: char| letter.is_ascii_uppercase() || letter == ' ' || letter == '%';
    cells(line).len() > 1 && line.chars().all(capital)
}

/// What the whole of a cell says about something.
fn style_of(said: &str) -> Option<Style> {
    Some(match said {
        "ok" | "verified" | "finished" | "green" | "passed" | "pass" | "PASS" | "yes" => GOOD,
        "NOT OK" | "failed" | "escalated" | "rejected" | "red" | "FAIL" | "timed out"
        | "not found" => BAD.bold(),
        "interrupted" | "cancelled" | "partial" | "WARN" | "unknown" => WAITS,
        _ if said.starts_with("parked") => WAITS,
        "running" => NOTE,
        _ => return None,
    })
}

/// The last word of a check's line is what it said.
fn ending_painted(said: &str) -> String {
    for (ending, style) in [(": green", GOOD), (": red", BAD), (" passes", GOOD)] {
        if let Some(at) = said.find(ending) {
            let word = at + ending.find(|letter: char| letter.is_alphabetic()).unwrap_or(0);
            let end = at + ending.len();
            let stands_alone =
                said[end..].chars().next().is_none_or(|next| !next.is_alphanumeric());
            if stands_alone {
                return format!(
                    "{}{}{}",
                    &said[..word],
                    styled(&said[word..end], style),
                    &said[end..]
                );
            }
        }
    }
    said.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, width: usize, expected: &str) {
        let text = broken(line, width);
        assert_eq!(text, expected);
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&text), words(line), "something was lost");
    }

    #[test]
    fn a_value_is_set_in_below_itself() {
        check(
            "  ok       gates       cargo-test: cargo test, cargo-clippy: cargo clippy",
            60,
            "  ok       gates       cargo-test: cargo test, cargo-clippy:\n                       cargo clippy",
        );
        check(
            "  reason      one two three four five six",
            30,
            "  reason      one two three\n              four five six",
        );
        check("short", 30, "short");
    }

    #[test]
    fn a_row_that_is_too_wide_is_continued_below() {
        let row = "RUN-0001  parked:budget  2026-01-02 03:12      $0.50  spend too much of it";
        check(row, 120, row);
        check(
            row,
            60,
            "RUN-0001  parked:budget  2026-01-02 03:12      $0.50\n    spend too much of it",
        );
        check(
            row,
            40,
            "RUN-0001  parked:budget\n    2026-01-02 03:12  $0.50  spend too\n    much of it",
        );
    }

    #[test]
    fn a_sentence_is_broken_between_words_and_a_word_never() {
        check("a sentence that goes on and on", 12, "a sentence\n  that goes\n  on and on");
        let path = "/a/very/long/path/that/is/wider/than/any/screen/there/is";
        check(path, 30, path);
        let command = "  git --git-dir=.spore/work.git diff hash refs/spore/run/bounce/1";
        check(command, 30, command);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_unless_a_word_is() {
        for width in 30..90 {
            for line in [
                "  NOT OK   repository  git is not installed or not on PATH and so nothing can start",
                "AGENT       VERSION       SIGNED IN  SANDBOX  RESUME  PERMISSIONS  STRUCTURED",
                "claude      2.1.197       yes        kernel   yes     yes          yes",
                "plain words one after the other, none of them long, all of them there to be read",
            ] {
                let text = broken(line, width);
                assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
            }
        }
    }

    #[test]
    fn what_a_column_says_has_its_colour() {
        let plain = |text: &str| {
            let parts = text.split("\u{1b}[");
            let kept = parts.enumerate().map(|(at, part)| match at {
                0 => part,
                _ => part.split_once('m').unwrap().1,
            });
            kept.collect::<String>()
        };
        for (line, painted_part) in [
            ("RUN-0001  verified  $1.00  a task", "\u{1b}[32mverified\u{1b}[0m"),
            ("  NOT OK   agent  none", "NOT OK\u{1b}[0m"),
            ("error: it is gone", "error:\u{1b}[0m it is gone"),
            ("checks: test `make`: red, exit 2", "`: \u{1b}[31mred\u{1b}[0m, exit 2"),
            ("RUN  STATUS  TASK", "\u{1b}[1mRUN  STATUS  TASK\u{1b}[0m"),
        ] {
            let text = painted(line);
            assert!(text.contains(painted_part), "{text:?}");
            assert_eq!(plain(&text), line);
        }
        let untouched = "  reason      it failed: redo it";
        assert_eq!(painted(untouched), untouched);
    }

    #[test]
    fn colours_are_for_terminals_unless_the_environment_says_otherwise() {
        let check = |is_terminal: bool, variables: &[(&str, &str)], expected: bool| {
            let said = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(has_colours(&said, is_terminal), expected, "{is_terminal} {variables:?}");
        };
        let term = ("TERM", "xterm");
        check(true, &[term], true);
        check(false, &[term], false);
        check(true, &[], false);
        check(true, &[("TERM", "dumb")], false);
        check(true, &[("TERM", "dumb"), ("CLICOLOR", "1")], true);
        check(true, &[term, ("CLICOLOR", "0")], false);
        check(true, &[term, ("NO_COLOR", "1")], false);
        check(true, &[term, ("NO_COLOR", "")], true);
        check(false, &[("CLICOLOR_FORCE", "1")], true);
        check(false, &[("CLICOLOR_FORCE", "0")], false);
        check(false, &[("CLICOLOR_FORCE", "1"), ("CLICOLOR", "0")], true);
        check(false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false);
    }

    #[test]
    fn what_goes_on_below_a_column_stays_in_it() {
        let remedy = format!("{:23}no task can be checked: name a command for it", "");
        let below = format!("{:23}no task can be checked:\n{0:23}name a command for it", "");
        check(&remedy, 50, &below);
    }

    #[test]
    fn a_word_that_is_pushed_onto_a_line_of_its_own_says_nothing() {
        let screen = Screen { width: Some(40), colours: true };
        let told = screen.render("checks: `make test`: red, 0 passed, 13 failed");
        assert_eq!(told, "checks: `make test`: \u{1b}[31mred\u{1b}[0m, 0 passed, 13\n  failed");
    }

    #[test]
    fn what_is_not_for_a_terminal_stays_as_it_was_written() {
        let text = "error: x\n  NOT OK  a\n";
        assert_eq!(Screen::default().render(text), text);
        assert_eq!(Screen::default().render_diff("+a\n-b\n"), "+a\n-b\n");
    }
}
