//! JUnit XML, as Maven's Surefire and Gradle write it: one file a class.
//!
//! The change under judgement runs its own code while these files are written, so they are read
//! as strictly as XML allows. A file that is not well-formed, defines entities, ends early or
//! contradicts itself counts as a failure: a gate whose command says success is red by it, also
//! where the base has no report to compare with. A well-formed document that is no test report
//! is only not recognised, for a pattern of report files may cover other tools' files too.
//!
//! What a suite says of itself (`tests`, `failures`, `errors`, `skipped`) must be what its cases
//! show. Only Surefire's re-runs are exempt: it counts each of them as a test of its own, see
//! <https://github.com/apache/maven-surefire/issues/2138>.

use quick_xml::events::attributes::AttrError;
use quick_xml::events::{BytesDecl, BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::TestReport;

/// Far deeper than suites are nested.
const MAX_DEPTH: usize = 64;

/// Finding an attribute twice takes a comparison with each one before it.
const MAX_ATTRIBUTES: usize = 256;

/// A test's name is kept in the journal and shown to people.
const MAX_NAME_BYTES: usize = 64 << 10;

/// The encodings whose bytes are UTF-8 as they stand.
const ENCODINGS: [&str; 4] = ["utf-8", "utf8", "us-ascii", "ascii"];

/// Elements that have a meaning here. With a prefix they would be another vocabulary's.
const KNOWN: [&str; 6] = ["testsuites", "testsuite", "testcase", "failure", "error", "skipped"];

/// What Surefire and Gradle put into a case that was run more than once.
const RERUNS: [&str; 4] = ["flakyFailure", "flakyError", "rerunFailure", "rerunError"];

/// Reads the files that one run wrote.
pub(crate) fn parse_files(files: &[Vec<u8>]) -> TestReport {
    let mut report = TestReport::default();
    let mut whole = !files.is_empty();
    for file in files {
        match read(file, &mut report) {
            Ok(is_test_report) => whole &= is_test_report,
            Err(flaw) => {
                whole = false;
                report.failed = report.failed.saturating_add(1);
                report.failures.push(format!("a report file cannot be trusted: {flaw}"));
            }
        }
    }
    report.recognised = whole;
    report.failures.sort_unstable();
    report.failures.dedup();
    report.keep_whole_list();
    report
}

/// Why a report file is worth nothing.
#[derive(Debug, thiserror::Error)]
enum ReportFlaw {
    #[error("it is not UTF-8 text")]
    Encoding,
    #[error("it has a character that XML does not allow")]
    Character,
    #[error("it is not well-formed XML: {0}")]
    Xml(#[from] quick_xml::Error),
    #[error("it is not well-formed XML: {0}")]
    Attribute(#[from] AttrError),
    #[error("it is not well-formed XML: {0}")]
    Misplaced(&'static str),
    #[error("it ends early")]
    EndsEarly,
    #[error("it has a document type, which no test report has")]
    DocumentType,
    #[error("it uses the entity &{0};, which it cannot define")]
    Entity(String),
    #[error("its elements are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    #[error("an element has more than {MAX_ATTRIBUTES} attributes")]
    TooManyAttributes,
    #[error("the name of a test has more than {MAX_NAME_BYTES} bytes")]
    LongName,
    #[error("a test has no name")]
    NoName,
    #[error("its test elements have the prefix of a namespace")]
    Prefixed,
    #[error("the suite {suite:?} says {claim} of itself, and its cases show otherwise")]
    Contradiction { suite: String, claim: String },
}

/// Adds what one file says to `report`, and returns whether it is a test report at all.
fn read(bytes: &[u8], report: &mut TestReport) -> Result<bool, ReportFlaw> {
    let text = std::str::from_utf8(bytes).map_err(|_| ReportFlaw::Encoding)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.chars().all(is_xml_character) {
        return Err(ReportFlaw::Character);
    }
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.enable_all_checks(true);
    config.expand_empty_elements = true;
    let mut file = JunitFile::new(report);
    let mut is_first = true;
    loop {
        match reader.read_event()? {
            Event::Eof => return file.end(),
            Event::Start(element) => file.open(&element)?,
            Event::End(_) => file.close()?,
            Event::Text(text) => file.text(text.trim().is_empty())?,
            Event::CData(_) => file.text(false)?,
            Event::GeneralRef(reference) => {
                known_reference(&reference)?;
                file.text(false)?;
            }
            Event::Decl(declaration) if is_first => known_encoding(&declaration)?,
            Event::Decl(_) => {
                return Err(ReportFlaw::Misplaced("the declaration is not at the start"));
            }
            Event::DocType(_) => return Err(ReportFlaw::DocumentType),
            Event::Comment(_) | Event::PI(_) => {}
            Event::Empty(_) => return Err(ReportFlaw::Misplaced("an element is not expanded")),
        }
        is_first = false;
    }
}

/// Returns whether XML 1.0 allows the character: <https://www.w3.org/TR/xml/#charsets>.
fn is_xml_character(c: char) -> bool {
    !matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// Returns whether this can be the name of an element or an attribute. `quick-xml` takes
/// everything up to the next space for one.
fn is_xml_name(name: &str) -> bool {
    let starts = |c: char| c.is_alphabetic() || c == '_' || c == ':';
    name.starts_with(starts)
        && name.chars().all(|c| starts(c) || c.is_numeric() || matches!(c, '-' | '.' | '\u{b7}'))
}

fn known_reference(reference: &BytesRef<'_>) -> Result<(), ReportFlaw> {
    let name: &str = reference;
    let is_known = reference.resolve_char_ref()?.is_some()
        || matches!(name, "lt" | "gt" | "amp" | "quot" | "apos");
    if is_known { Ok(()) } else { Err(ReportFlaw::Entity(name.chars().take(40).collect())) }
}

fn known_encoding(declaration: &BytesDecl<'_>) -> Result<(), ReportFlaw> {
    let Some(encoding) = declaration.encoding().transpose()? else { return Ok(()) };
    let is_known = ENCODINGS.iter().any(|known| encoding.eq_ignore_ascii_case(known));
    if is_known { Ok(()) } else { Err(ReportFlaw::Encoding) }
}

/// How far one report file is read.
struct JunitFile<'r> {
    report: &'r mut TestReport,
    /// The elements that are open, the root first.
    open: Vec<OpenElement>,
    suites: Vec<JunitSuite>,
    case: Option<JunitCase>,
    had_root: bool,
    had_suite: bool,
}

/// What an element that ends closes.
enum OpenElement {
    Suite,
    Case,
    Other,
}

#[derive(Default)]
struct JunitCase {
    name: String,
    failure: bool,
    error: bool,
    skipped: bool,
}

#[derive(Default)]
struct JunitSuite {
    name: String,
    claims: SuiteClaims,
    /// What its own cases show.
    own: CaseCounts,
    /// What the cases of the suites in it show.
    nested: CaseCounts,
    was_rerun: bool,
}

/// What a suite says of itself, as far as it says it.
#[derive(Clone, Copy, Default)]
struct SuiteClaims {
    tests: Option<u64>,
    failures: Option<u64>,
    errors: Option<u64>,
    skipped: Option<u64>,
}

#[derive(Clone, Copy, Default)]
struct CaseCounts {
    tests: u64,
    failed: u64,
    /// Failures and errors; a case may have one of each.
    complaints: u64,
    skipped: u64,
}

impl<'r> JunitFile<'r> {
    fn new(report: &'r mut TestReport) -> Self {
        Self {
            report,
            open: Vec::new(),
            suites: Vec::new(),
            case: None,
            had_root: false,
            had_suite: false,
        }
    }

    fn open(&mut self, element: &BytesStart<'_>) -> Result<(), ReportFlaw> {
        let name = element.name().0;
        if self.open.is_empty() && self.had_root {
            return Err(ReportFlaw::Misplaced("there is a second root"));
        }
        self.had_root = true;
        if self.open.len() >= MAX_DEPTH {
            return Err(ReportFlaw::TooDeep);
        }
        if !is_xml_name(name) {
            return Err(ReportFlaw::Misplaced("an element has no proper name"));
        }
        if name.split_once(':').is_some_and(|(_, local)| KNOWN.contains(&local)) {
            return Err(ReportFlaw::Prefixed);
        }
        let attributes = KnownAttributes::read(element)?;
        let kind = match name {
            "testsuite" | "testsuites" => self.open_suite(name, attributes)?,
            "testcase" => self.open_case(attributes)?,
            "failure" | "error" | "skipped" => self.mark_case(name)?,
            _ => {
                if RERUNS.contains(&name)
                    && let Some(suite) = self.suites.last_mut()
                {
                    suite.was_rerun = true;
                }
                OpenElement::Other
            }
        };
        self.open.push(kind);
        Ok(())
    }

    fn open_suite(
        &mut self,
        element: &str,
        attributes: KnownAttributes,
    ) -> Result<OpenElement, ReportFlaw> {
        if self.case.is_some() {
            return Err(ReportFlaw::Misplaced("a suite is inside of a test"));
        }
        self.had_suite |= element == "testsuite";
        let claims = attributes.claims()?;
        let name = attributes.name.unwrap_or_default();
        self.suites.push(JunitSuite { name, claims, ..JunitSuite::default() });
        Ok(OpenElement::Suite)
    }

    fn open_case(&mut self, attributes: KnownAttributes) -> Result<OpenElement, ReportFlaw> {
        if self.case.is_some() || self.suites.is_empty() {
            return Err(ReportFlaw::Misplaced("a test is not directly inside of a suite"));
        }
        let class = attributes.class.unwrap_or_default();
        let name =
            format!("{class} {}", attributes.name.ok_or(ReportFlaw::NoName)?).trim().to_owned();
        if name.len() > MAX_NAME_BYTES {
            return Err(ReportFlaw::LongName);
        }
        self.case = Some(JunitCase { name, ..JunitCase::default() });
        Ok(OpenElement::Case)
    }

    fn mark_case(&mut self, element: &str) -> Result<OpenElement, ReportFlaw> {
        let Some(case) = &mut self.case else {
            return Err(ReportFlaw::Misplaced("a failure is outside of a test"));
        };
        let mark = match element {
            "failure" => &mut case.failure,
            "error" => &mut case.error,
            _ => &mut case.skipped,
        };
        *mark = true;
        Ok(OpenElement::Other)
    }

    fn close(&mut self) -> Result<(), ReportFlaw> {
        match self.open.pop() {
            Some(OpenElement::Case) => self.count_case(),
            Some(OpenElement::Suite) => self.close_suite()?,
            Some(OpenElement::Other) => {}
            None => return Err(ReportFlaw::Misplaced("an element ends that was not begun")),
        }
        Ok(())
    }

    fn text(&self, is_blank: bool) -> Result<(), ReportFlaw> {
        if self.open.is_empty() && !is_blank {
            return Err(ReportFlaw::Misplaced("there is text outside of the root"));
        }
        Ok(())
    }

    fn end(self) -> Result<bool, ReportFlaw> {
        if !self.open.is_empty() || !self.had_root {
            return Err(ReportFlaw::EndsEarly);
        }
        Ok(self.had_suite)
    }

    fn count_case(&mut self) {
        let Some(case) = self.case.take() else { return };
        let failed = case.failure || case.error;
        if let Some(suite) = self.suites.last_mut() {
            suite.own.add(CaseCounts {
                tests: 1,
                failed: failed.into(),
                complaints: u64::from(case.failure) + u64::from(case.error),
                skipped: case.skipped.into(),
            });
        }
        let report = &mut *self.report;
        let sum = match (failed, case.skipped) {
            (true, _) => &mut report.failed,
            (false, true) => &mut report.skipped,
            (false, false) => &mut report.passed,
        };
        *sum = sum.saturating_add(1);
        if failed || !case.skipped {
            report.ran.push(case.name.clone());
        }
        if failed {
            report.failures.push(case.name);
        }
    }

    fn close_suite(&mut self) -> Result<(), ReportFlaw> {
        let Some(suite) = self.suites.pop() else { return Ok(()) };
        let mut all = suite.own;
        all.add(suite.nested);
        // Whether a suite's totals hold those of the suites in it differs between writers.
        let agrees = suite.claims.agree_with(suite.own) || suite.claims.agree_with(all);
        if !agrees && !suite.was_rerun {
            let (suite, claim) = (suite.name.chars().take(200).collect(), suite.claims.told());
            return Err(ReportFlaw::Contradiction { suite, claim });
        }
        if let Some(outer) = self.suites.last_mut() {
            outer.nested.add(all);
            outer.was_rerun |= suite.was_rerun;
        }
        Ok(())
    }
}

impl CaseCounts {
    fn add(&mut self, other: Self) {
        self.tests += other.tests;
        self.failed += other.failed;
        self.complaints += other.complaints;
        self.skipped += other.skipped;
    }
}

impl SuiteClaims {
    fn agree_with(&self, shown: CaseCounts) -> bool {
        let complaints = match (self.failures, self.errors) {
            (None, None) => None,
            (failures, errors) => {
                Some(failures.unwrap_or_default().saturating_add(errors.unwrap_or_default()))
            }
        };
        self.tests.is_none_or(|tests| tests == shown.tests)
            && self.skipped.is_none_or(|skipped| skipped == shown.skipped)
            && complaints.is_none_or(|claimed| (shown.failed..=shown.complaints).contains(&claimed))
    }

    fn told(&self) -> String {
        let claims = [
            ("tests", self.tests),
            ("failures", self.failures),
            ("errors", self.errors),
            ("skipped", self.skipped),
        ];
        let said = claims.iter().filter_map(|(word, count)| Some(format!("{} {word}", (*count)?)));
        said.collect::<Vec<_>>().join(", ")
    }
}

/// The attributes of an element that have a meaning here.
#[derive(Default)]
struct KnownAttributes {
    name: Option<String>,
    class: Option<String>,
    tests: Option<String>,
    failures: Option<String>,
    errors: Option<String>,
    skipped: Option<String>,
}

impl KnownAttributes {
    /// Reads every attribute to its end, so that none of them is malformed.
    fn read(element: &BytesStart<'_>) -> Result<Self, ReportFlaw> {
        let mut found = Self::default();
        for (index, attribute) in element.attributes().enumerate() {
            if index >= MAX_ATTRIBUTES {
                return Err(ReportFlaw::TooManyAttributes);
            }
            let attribute = attribute?;
            if !is_xml_name(attribute.key.0) {
                return Err(ReportFlaw::Misplaced("an attribute has no proper name"));
            }
            if attribute.value.contains('<') {
                return Err(ReportFlaw::Misplaced("an attribute has a `<` in it"));
            }
            let value = attribute.normalized_value(XmlVersion::Implicit1_0)?;
            let place = match attribute.key.0 {
                "name" => &mut found.name,
                "classname" => &mut found.class,
                "tests" => &mut found.tests,
                "failures" => &mut found.failures,
                "errors" => &mut found.errors,
                "skipped" => &mut found.skipped,
                _ => continue,
            };
            *place = Some(value.into_owned());
        }
        Ok(found)
    }

    fn claims(&self) -> Result<SuiteClaims, ReportFlaw> {
        let count = |word: &str, typed: &Option<String>| -> Result<Option<u64>, ReportFlaw> {
            let Some(typed) = typed else { return Ok(None) };
            typed.trim().parse().map(Some).map_err(|_| ReportFlaw::Contradiction {
                suite: self.name.iter().flat_map(|name| name.chars()).take(200).collect(),
                claim: format!("{:?} {word}", typed.chars().take(40).collect::<String>()),
            })
        };
        Ok(SuiteClaims {
            tests: count("tests", &self.tests)?,
            failures: count("failures", &self.failures)?,
            errors: count("errors", &self.errors)?,
            skipped: count("skipped", &self.skipped)?,
        })
    }
}

#[cfg(test)]
mod tests;
