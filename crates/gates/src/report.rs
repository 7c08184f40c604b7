//! Reads what test runners print.
//!
//! The summary that a runner prints at the end is the only source of totals, and its closing
//! list the only source of names. Everything before them is mixed with the output of the
//! tests themselves, which may say anything. Where summary, list and the lines above
//! contradict each other, the report is still given but is not `recognised`, and no failure
//! is excused on its word.
//!
//! Reading never fails: output of another program is data, whatever it holds.

mod cargo;
mod ctest;
mod dotnet;
mod golang;
mod jest;
mod junit;
mod mocha;
mod outline;
mod pytest;
mod tap;
mod unittest;
mod vitest;

#[cfg(test)]
mod golden;

use crate::Parser;

/// What one run of a gate said of its tests.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TestReport {
    pub passed: u32,
    pub failed: u32,
    /// Ignored, skipped, or known to fail.
    pub skipped: u32,
    /// Names of the tests that failed, sorted, each once. A name is the same in every run of
    /// the same tests, so it holds no line numbers and no times.
    pub failures: Vec<String>,
    /// Names of all tests that ran, whatever came of it, sorted, each once; empty where the
    /// report does not name each. Not spelled like failures where the runner spells them
    /// differently.
    pub ran: Vec<String>,
    /// Whether the output was understood whole and agrees with itself.
    pub recognised: bool,
}

impl TestReport {
    /// Drops the names of what ran if they are not all: compared with
    /// the base's, a list with holes would look like missing tests.
    fn keep_whole_list(&mut self) {
        let ran = u64::from(self.passed) + u64::from(self.failed);
        if self.ran.len() as u64 != ran {
            self.ran.clear();
        }
        self.ran.sort_unstable();
        self.ran.dedup();
    }
}

/// Returns what `output` says, to the best of our understanding.
pub fn parse(parser: Parser, output: &[u8]) -> TestReport {
    read(parser, &plain_text(output))
}

/// Returns what the report files say that a command wrote; see [`Parser::Junit`].
pub fn parse_files(files: &[Vec<u8>]) -> TestReport {
    junit::parse_files(files)
}

fn read(parser: Parser, text: &str) -> TestReport {
    let mut report = match parser {
        Parser::Cargo => cargo::parse(text),
        Parser::Pytest => pytest::parse(text),
        Parser::Unittest => unittest::parse(text),
        Parser::Jest => jest::parse(text),
        Parser::Vitest => vitest::parse(text),
        Parser::Mocha => mocha::parse(text),
        Parser::Tap => tap::parse(text),
        Parser::Go => golang::parse(text),
        Parser::Ctest => ctest::parse(text),
        Parser::Dotnet => dotnet::parse(text),
        Parser::Auto => return guess(text),
        Parser::Junit | Parser::Plain => TestReport::default(),
    };
    report.failures.sort_unstable();
    report.failures.dedup();
    report
}

/// Returns the report of the parser that understands the text and sees most tests in it.
fn guess(text: &str) -> TestReport {
    let readers = Parser::ALL.iter().filter(|&&parser| parser != Parser::Auto);
    let reports = readers.map(|&parser| read(parser, text));
    let recognised =
        reports.filter(|report| report.recognised && report.passed + report.failed > 0);
    recognised.max_by_key(|report| report.passed + report.failed).unwrap_or_default()
}

/// Reads `2 failed, 3 passed, 5 total`; nothing if a part is no count.
fn counts<'l>(line: &'l str, separator: &str) -> Option<Vec<(u32, &'l str)>> {
    let read = |part: &'l str| {
        let (count, word) = part.trim().split_once(' ')?;
        Some((count.parse().ok()?, word))
    };
    line.trim().split(separator).map(read).collect()
}

/// Returns `output` as text without colours and other orders to a terminal.
pub(crate) fn plain_text(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let plain = spore_plain::without_escapes(&text);
    if plain.contains('\r') { plain.replace("\r\n", "\n") } else { plain.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_titles_are_not_text() {
        let cases: [(&[u8], &str); 6] = [
            (b"\x1b[1m\x1b[92m    Finished\x1b[0m `test`", "    Finished `test`"),
            (b"a\x1b]8;;http://x\x1b\\link\x1b]8;;\x07 b", "alink b"),
            (b"cut \x1b[3", "cut "),
            (b"cut \x1b[3\nnext", "cut \nnext"),
            (b"lone \x1b", "lone "),
            (b"one\r\ntwo \xff", "one\ntwo \u{fffd}"),
        ];
        for (output, expected) in cases {
            assert_eq!(plain_text(output), expected);
        }
    }

    #[test]
    fn plain_output_is_not_read() {
        let output = b"test result: ok. 3 passed; 0 failed; 0 ignored";
        assert_eq!(parse(Parser::Plain, output), TestReport::default());
    }

    #[test]
    fn no_parser_recognises_noise_or_chokes_on_it() {
        let noise: [&[u8]; 7] = [
            b"",
            b"sh: cargo: not found\n",
            b"\xff\xfe\x00\x1b[",
            b"running 99999999999999999999 tests\ntest result: ok. x passed\n",
            b"test result: ok.\nRan tests in\nFAILED (\n in s\n",
            b"Ran 3 tests in 0.1s",
            b"==== short test summary info ====\nFAILED \nERROR\n",
        ];
        for &parser in Parser::ALL {
            for output in noise {
                let report = parse(parser, output);
                assert!(!report.recognised, "{parser}: {report:?}");
                assert_eq!(report.passed, 0);
            }
        }
    }
}
