//! `cargo test`: one section for every test binary and for every crate's doc tests.
//!
//! A section opens with `running N tests` and closes with the one summary that adds up to N
//! and has as many failures as the list right above it. Cargo's line about how to run a
//! failed target again comes after the section and is the best name there is for it: it
//! knows the package, so two packages may each have a `tests::works`.

use super::TestReport;

pub(super) fn parse(text: &str) -> TestReport {
    let mut cargo_report = CargoReport::default();
    for line in text.lines() {
        cargo_report.line(line);
    }
    cargo_report.finish()
}

#[derive(Default)]
struct CargoReport {
    report: TestReport,
    /// What cargo announced last, as a name for its tests.
    target: String,
    section: Option<TestBinarySection>,
    /// Failures of the target that still wait for its better name.
    waiting: Vec<String>,
    sections: u32,
    /// Something did not fit.
    inconsistent: bool,
}

#[derive(Default)]
struct TestBinarySection {
    tests: u32,
    /// From lines such as `test a ... FAILED`.
    seen: Vec<String>,
    /// Those and the ones that passed.
    ran: Vec<String>,
    /// From the list at the end.
    listed: Vec<String>,
    /// Past the first `failures:`, where captured output is repeated.
    in_details: bool,
    in_list: bool,
}

/// The numbers of a `test result:` line.
struct TestResultLine {
    passed: u32,
    failed: u32,
    ignored: u32,
    measured: u32,
}

impl CargoReport {
    fn line(&mut self, line: &str) {
        if let Some(target) = announced(line) {
            self.end_target();
            self.target = target;
        } else if let Some(tests) = opening(line) {
            match &self.section {
                None => {
                    self.section = Some(TestBinarySection { tests, ..TestBinarySection::default() })
                }
                Some(section) => self.inconsistent |= !section.in_details,
            }
        } else if let Some(summary) = summary(line) {
            self.close(&summary);
        } else if let Some(section) = &mut self.section
            && !is_epilogue(line)
        {
            section.line(line);
        } else if line.starts_with("error") {
            self.error(line);
        }
    }

    /// Takes the summary of the open section, if it can be that.
    fn close(&mut self, summary: &TestResultLine) {
        let fits = self.section.as_ref().is_some_and(|section| section.fits(summary));
        let Some(section) = self.section.take_if(|_| fits) else {
            self.inconsistent = true;
            return;
        };
        self.inconsistent |= !section.agrees();
        self.sections += 1;
        self.report.passed = self.report.passed.saturating_add(summary.passed);
        self.report.failed = self.report.failed.saturating_add(summary.failed);
        self.report.skipped = self.report.skipped.saturating_add(summary.ignored);
        let ran = section.ran.iter().map(|test| format!("{} {test}", self.target));
        self.report.ran.extend(ran);
        self.waiting.extend(section.listed);
    }

    fn error(&mut self, line: &str) {
        if let Some(target) = rerun_target(line) {
            // A target that died in the middle, or failed without a test that did.
            self.inconsistent |= self.section.is_some() || self.waiting.is_empty();
            self.target = target.to_owned();
            self.end_target();
        } else if !line.ends_with(" targets failed:") && !line.ends_with(" target failed:") {
            self.inconsistent = true;
        }
    }

    fn end_target(&mut self) {
        if let Some(section) = self.section.take() {
            self.inconsistent = true;
            let seen = u32::try_from(section.seen.len()).unwrap_or(u32::MAX);
            self.report.failed = self.report.failed.saturating_add(seen);
            self.waiting.extend(section.seen);
        }
        let mut names: Vec<String> = Vec::new();
        for test in std::mem::take(&mut self.waiting) {
            let test = without_line(&test);
            // Examples of one item differ by their line only, and lines move.
            let twins = names.iter().filter(|name| *name == test).count();
            let ordinal = if twins == 0 { String::new() } else { format!(" #{}", twins + 1) };
            self.report.failures.push(format!("{} {test}{ordinal}", self.target));
            names.push(test.to_owned());
        }
    }

    fn finish(mut self) -> TestReport {
        self.end_target();
        self.report.recognised = self.sections > 0 && !self.inconsistent;
        self.report.keep_whole_list();
        self.report
    }
}

impl TestBinarySection {
    fn line(&mut self, line: &str) {
        if line == "failures:" {
            self.in_details = true;
            self.in_list = true;
            self.listed.clear();
        } else if self.in_list {
            match line.strip_prefix("    ") {
                Some(name) if !name.starts_with(' ') => self.listed.push(name.to_owned()),
                _ => self.in_list = false,
            }
        } else if !self.in_details
            && let Some((name, word)) =
                line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... "))
        {
            if word == "FAILED" {
                self.seen.push(name.to_owned());
            }
            if word == "FAILED" || word == "ok" {
                let plain = name.strip_suffix(" - should panic").unwrap_or(name);
                self.ran.push(without_line(plain).to_owned());
            }
        }
    }

    fn fits(&self, summary: &TestResultLine) -> bool {
        let counted = [summary.passed, summary.failed, summary.ignored, summary.measured];
        let total: u64 = counted.into_iter().map(u64::from).sum();
        total == u64::from(self.tests) && summary.failed as usize == self.listed.len()
    }

    /// Returns whether every test that was seen to fail is in the list. Not the other way
    /// round: what a test prints may tear its own line apart.
    fn agrees(&self) -> bool {
        self.seen.iter().all(|seen| {
            // Followed by what is special about it, as in `a - should panic`.
            let is_it = |name: &String| {
                seen.strip_prefix(name.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(" - "))
            };
            self.listed.iter().any(is_it)
        })
    }
}

/// Returns a name for the target of `     Running unittests src/lib.rs (…/deps/a-0123)` or
/// `   Doc-tests a`.
fn announced(line: &str) -> Option<String> {
    if let Some(krate) = line.strip_prefix("   Doc-tests ") {
        return Some(format!("{krate} doc"));
    }
    let (source, binary) =
        line.strip_prefix("     Running ")?.strip_suffix(')')?.split_once(" (")?;
    let file = binary.rsplit(['/', '\\']).next().unwrap_or(binary);
    // The hash at the end changes with compiler flags and versions.
    let name = file.rsplit_once('-').map_or(file, |(name, _)| name);
    Some(format!("{name} {}", source.strip_prefix("unittests ").unwrap_or(source)))
}

fn opening(line: &str) -> Option<u32> {
    let count = line.strip_prefix("running ")?;
    count.strip_suffix(" tests").or_else(|| count.strip_suffix(" test"))?.parse().ok()
}

fn summary(line: &str) -> Option<TestResultLine> {
    let line = line.strip_prefix("test result: ")?;
    let (_, counts) = line.split_once(". ")?;
    let count = |word: &str| -> Option<u32> {
        counts.split("; ").find_map(|part| part.strip_suffix(word)?.trim_end().parse().ok())
    };
    Some(TestResultLine {
        passed: count("passed")?,
        failed: count("failed")?,
        ignored: count("ignored")?,
        measured: count("measured")?,
    })
}

/// Returns what cargo says to pass to run a failed target again, as in `-p a --lib`.
fn rerun_target(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix("error: test failed, to rerun pass ")
        .or_else(|| line.strip_prefix("error: doctest failed, to rerun pass "))?;
    Some(rest.trim_matches(['`', '\'']))
}

/// Cargo's last word on a target, even if its section never ended.
fn is_epilogue(line: &str) -> bool {
    rerun_target(line).is_some()
}

/// Returns a doc test's name without its ` (line 7)`.
fn without_line(test: &str) -> &str {
    let (name, line) = test.rsplit_once(" (line ").unwrap_or((test, ""));
    match line.strip_suffix(')') {
        Some(number) if number.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => test,
    }
}

#[cfg(test)]
mod tests;
