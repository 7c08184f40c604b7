//! Report files that a change may have written to be taken for better than it is.

use std::path::PathBuf;

use spore_model::TreeId;

use super::*;
use crate::{Absence, GateResult, Standing, judge};

const CASE: &str = r#"<testcase name="t"/>"#;

fn suite(inside: &str) -> String {
    format!("<testsuite>{inside}</testsuite>")
}

/// Judges a command that says success and wrote `file`, without a base to compare with: the
/// judgement that a forged report has it easiest with.
fn standing(report: &TestReport) -> Standing {
    let mut result = GateResult {
        gate: "maven-test".into(),
        command: "mvn test".into(),
        tree: TreeId::new("0".repeat(40)).unwrap(),
        exit: Some(0),
        passed: report.passed,
        failed: report.failed,
        skipped: report.skipped,
        failures: report.failures.clone(),
        new_failures: Vec::new(),
        ran: report.ran.clone(),
        missing: Vec::new(),
        rewritten: Vec::new(),
        restored: false,
        recognised: report.recognised,
        log: PathBuf::from("gate.log"),
        log_bytes: 0,
        duration_ms: 0,
        standing: Standing::Red,
        note: None,
    };
    judge(&mut result, None, Absence::IsRed);
    result.standing
}

#[track_caller]
fn check(file: impl Into<Vec<u8>>, expected: &str) {
    let file = file.into();
    let shown = String::from_utf8_lossy(&file[..file.len().min(300)]).into_owned();
    let report = parse_files(&[file]);
    assert!(report.recognised, "{shown}: {report:?}");
    let TestReport { passed, failed, skipped, ran, .. } = report;
    assert_eq!(format!("{passed} {failed} {skipped} {}", ran.join("|")), expected, "{shown}");
}

/// Checks that a file is held against the gate, for a reason that holds `why`.
#[track_caller]
fn refuse(file: impl Into<Vec<u8>>, why: &str) {
    let file = file.into();
    let shown = String::from_utf8_lossy(&file[..file.len().min(300)]).into_owned();
    let report = parse_files(std::slice::from_ref(&file));
    assert!(!report.recognised && report.failed > 0, "{shown}: {report:?}");
    assert_eq!(standing(&report), Standing::Red, "{shown}");
    let told = report.failures.join("; ");
    assert!(told.contains("a report file cannot be trusted: ") && told.contains(why), "{told}");
    // A good file beside it does not make up for it.
    let beside = parse_files(&[suite(CASE).into_bytes(), file]);
    assert_eq!(standing(&beside), Standing::Red, "{shown}");
}

#[test]
fn a_proper_report_is_read_however_it_is_spelled() {
    check(suite(CASE), "1 0 0 t");
    check(format!("\u{feff}<?xml version='1.0' encoding='utf-8'?>\n{}\n", suite(CASE)), "1 0 0 t");
    check(format!("<?xml version='1.0' encoding='US-ASCII'?>{}", suite(CASE)), "1 0 0 t");
    // Attributes in any order, with either quote, with spaces and entities.
    check(
        suite("<testcase time='1' classname = 'c' name = \"a&#x20;&lt;b&gt;\" />"),
        "1 0 0 c a <b>",
    );
    check(suite("<testcase\n\tname='b'\n\tclassname='a'\n></testcase>"), "1 0 0 a b");
    // What is a test only in a comment, in CDATA, as escaped text or as an instruction is none.
    check(suite(&format!("<!-- {CASE} <failure/> -->{CASE}")), "1 0 0 t");
    check(
        suite(
            "<testcase name='t'><system-out><![CDATA[<failure/></testcase>]]></system-out></testcase>",
        ),
        "1 0 0 t",
    );
    check(suite("<testcase name='t'>&lt;failure/&gt; &amp; &#65;</testcase>"), "1 0 0 t");
    check(format!("<?style a?>{}<?more <failure/> ?><!-- end -->", suite(CASE)), "1 0 0 t");
    // A default namespace and the attributes of another one.
    check(
        "<testsuite xmlns='urn:j' xmlns:x='urn:x' x:tests='9'><testcase name='t' x:name='u'/></testsuite>",
        "1 0 0 t",
    );
    check(format!("<testsuites>{}{}</testsuites>", suite(CASE), suite("")), "1 0 0 t");
    check(suite("<properties><property name='p' value='v'/></properties>"), "0 0 0 ");
    let long = "n".repeat(60 << 10);
    check(suite(&format!("<testcase name='{long}'/>")), &format!("1 0 0 {long}"));
    check(suite(&format!("<x y='{}'/>{CASE}", "v".repeat(1 << 20))), "1 0 0 t");
}

#[test]
fn a_case_is_worth_its_worst_mark() {
    let case = |inside: &str| suite(&format!("<testcase name='t'>{inside}</testcase>"));
    check(case("<skipped/>"), "0 0 1 ");
    check(case("<failure/>"), "0 1 0 t");
    check(case("<error message='a'>b</error><failure/>"), "0 1 0 t");
    check(case("<skipped/><failure/>"), "0 1 0 t");
    check(case("<wrapped><failure/></wrapped>"), "0 1 0 t");
    check(case("<system-out>FAILURE</system-out>"), "1 0 0 t");
}

#[test]
fn a_document_that_is_not_well_formed_is_a_failure() {
    for (file, why) in [
        ("", "ends early"),
        ("  \n", "ends early"),
        ("<?xml version='1.0'?>", "ends early"),
        ("<testsuite>", "ends early"),
        ("<testsuite><testcase name='t'/>", "ends early"),
        ("<testsuite><testcase name='t'/></testsuite", "not well-formed"),
        ("<testsuite><testcase name='t'/><", "not well-formed"),
        ("<testsuite><!-- ", "not well-formed"),
        ("<testsuite><![CDATA[ </testsuite>", "not well-formed"),
        ("<testsuite><?x </testsuite>", "not well-formed"),
        ("<testsuite><!-- a -- b --></testsuite>", "not well-formed"),
        ("<testsuite></testsuites>", "not well-formed"),
        ("</testsuite>", "not well-formed"),
        ("<testsuite/></testsuite>", "not well-formed"),
        ("<testsuite/><testsuite/>", "second root"),
        ("<testsuite/>and more", "outside of the root"),
        ("and before<testsuite/>", "outside of the root"),
        ("<testsuite/><![CDATA[x]]>", "outside of the root"),
        ("<testsuite/>&lt;", "outside of the root"),
        ("<testsuite/><?xml version='1.0'?>", "declaration"),
        ("\n<?xml version='1.0'?><testsuite/>", "declaration"),
        ("<testsuite><testcase<failure/></testsuite>", "not well-formed"),
        ("<testsuite><1/></testsuite>", "no proper name"),
        ("<testsuite>a & b</testsuite>", "not well-formed"),
        ("<testsuite>&nbsp;</testsuite>", "the entity &nbsp;"),
        ("<testsuite>&#0;</testsuite>", "not well-formed"),
        ("<testsuite>&#xD800;</testsuite>", "not well-formed"),
        ("no XML at all", "outside of the root"),
        ("{\"tests\": 3}", "outside of the root"),
    ] {
        refuse(file, why);
    }
}

#[test]
fn an_attribute_that_is_not_well_formed_is_a_failure() {
    for (attributes, why) in [
        ("name='t' name='u'", "not well-formed"),
        ("name='t' x='1' y='2' x='3'", "not well-formed"),
        ("name=t", "not well-formed"),
        ("name", "not well-formed"),
        ("name='t' time", "not well-formed"),
        ("name='a<b'", "a `<` in it"),
        ("name='a & b'", "not well-formed"),
        ("name='&other;'", "not well-formed"),
        ("name='&#0;'", "not well-formed"),
        ("name='t' time='&x;'", "not well-formed"),
        ("'name'='t'", "no proper name"),
        ("classname='c'", "no name"),
        ("", "no name"),
    ] {
        refuse(suite(&format!("<testcase {attributes}/>")), why);
    }
    // A quote that is not closed takes the rest of the file with it.
    refuse("<testsuite><testcase name='t/></testsuite>", "not well-formed");
    let many: String = (0..=MAX_ATTRIBUTES).map(|n| format!(" a{n}=''")).collect();
    refuse(suite(&format!("<testcase name='t'{many}/>")), "attributes");
    refuse(suite(&format!("<testcase name='{}'/>", "n".repeat(65 << 10))), "bytes");
}

#[test]
fn a_document_that_defines_something_is_a_failure() {
    for definition in [
        "<!DOCTYPE testsuite>",
        "<!DOCTYPE testsuite SYSTEM 'file:///etc/passwd'>",
        "<!DOCTYPE testsuite [<!ENTITY t 'x'>]>",
        "<!DOCTYPE t [<!ENTITY a 'aa'><!ENTITY b '&a;&a;'><!ENTITY c '&b;&b;'>]>",
        "<!doctype testsuite>",
    ] {
        refuse(format!("{definition}{}", suite(CASE)), "document type");
        refuse(format!("<?xml version='1.0'?>\n{definition}{}", suite("&t;")), "document type");
    }
    refuse(suite("<!ENTITY t 'x'>"), "not well-formed");
}

#[test]
fn a_document_in_another_encoding_is_a_failure() {
    for encoding in ["UTF-16", "ISO-8859-1", "UTF-7", "", "x"] {
        let declared = format!("<?xml version='1.0' encoding='{encoding}'?>{}", suite(CASE));
        refuse(declared, "not UTF-8");
    }
    refuse(b"<testsuite><testcase name='\xff'/></testsuite>".to_vec(), "not UTF-8");
    let wide = suite(CASE).encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    refuse(wide.clone(), "does not allow");
    refuse([b"\xff\xfe".to_vec(), wide].concat(), "not UTF-8");
    for c in ['\0', '\u{1}', '\u{1b}', '\u{ffff}'] {
        refuse(suite(&format!("<testcase name='t{c}'/>")), "does not allow");
        refuse(suite(&format!("{CASE}<system-out><![CDATA[{c}]]></system-out>")), "does not allow");
        refuse(format!("{}{c}", suite(CASE)), "does not allow");
    }
}

#[test]
fn a_report_of_another_shape_is_a_failure() {
    for (file, why) in [
        ("<testcase name='t'/>".to_owned(), "not directly inside of a suite"),
        (format!("<x>{CASE}{}</x>", suite("")), "not directly inside of a suite"),
        (suite("<testcase name='t'><testcase name='u'/></testcase>"), "not directly inside"),
        (suite("<testcase name='t'><testsuite/></testcase>"), "a suite is inside of a test"),
        (suite("<failure/>"), "a failure is outside of a test"),
        (suite(&format!("{CASE}<error/>")), "a failure is outside of a test"),
        (suite("<x:testcase name='t'/>"), "prefix"),
        (suite("<testcase name='t'><x:failure/></testcase>"), "prefix"),
        ("<x:testsuite xmlns:x='urn:x'/>".to_owned(), "prefix"),
        (suite(&"<x>".repeat(MAX_DEPTH)), "nested more than"),
        ("<testsuite>".repeat(100_000), "nested more than"),
    ] {
        refuse(file, why);
    }
    let deep = MAX_DEPTH - 2;
    check(suite(&format!("{}{}{CASE}", "<x>".repeat(deep), "</x>".repeat(deep))), "1 0 0 t");
}

#[test]
fn a_suite_that_contradicts_its_cases_is_a_failure() {
    let two = "<testcase name='a'/><testcase name='b'><failure/></testcase>";
    let with =
        |claims: &str, cases: &str| format!("<testsuite name='S' {claims}>{cases}</testsuite>");
    for claims in [
        "",
        "tests='2'",
        "tests='2' failures='1' errors='0' skipped='0'",
        "errors='1' failures='0'",
        "skipped='0' tests=' 2 '",
    ] {
        check(with(claims, two), "1 1 0 a|b");
    }
    for claims in [
        "tests='1'",
        "tests='3'",
        "tests='0' failures='0'",
        "failures='0'",
        "failures='0' errors='0'",
        "failures='1' errors='1'",
        "failures='2'",
        "skipped='1'",
        "tests='two'",
        "tests=''",
        "tests='-2'",
        "tests='99999999999999999999999'",
        "failures='18446744073709551615' errors='18446744073709551615'",
    ] {
        refuse(with(claims, two), "the suite \"S\" says");
    }
    // One that hides what failed, and one whose tests are gone.
    refuse(with("tests='1' failures='1'", CASE), "says 1 tests, 1 failures of itself");
    refuse(with("tests='3' failures='0'", ""), "says 3 tests, 0 failures of itself");
    let both = "<testcase name='a'><failure/><error/></testcase>";
    check(with("tests='1' failures='1' errors='1'", both), "0 1 0 a");
    check(with("tests='1' failures='0' errors='1'", both), "0 1 0 a");
}

#[test]
fn nested_suites_are_counted_with_or_without_what_is_in_them() {
    let inner = format!("<testsuite tests='1'>{CASE}</testsuite>");
    for outer in ["tests='1'", "tests='2'", ""] {
        let whole = format!("<testsuite {outer}>{inner}<testcase name='u'/></testsuite>");
        check(whole, "2 0 0 t|u");
    }
    refuse(format!("<testsuite tests='3'>{inner}<testcase name='u'/></testsuite>"), "3 tests");
    refuse(format!("<testsuites tests='2' failures='0'>{inner}</testsuites>"), "2 tests");
    refuse("<testsuites><testsuite tests='1'/></testsuites>", "1 tests");
}

#[test]
fn a_test_that_was_run_again_may_be_counted_each_time() {
    let flaky = "<testcase name='t'><flakyFailure message='m'/></testcase>";
    check(format!("<testsuite tests='2' failures='1'>{flaky}</testsuite>"), "1 0 0 t");
    let failed = "<testcase name='t'><failure/><rerunFailure/><rerunFailure/></testcase>";
    check(format!("<testsuite tests='3' failures='3'>{failed}</testsuite>"), "0 1 0 t");
    let other = "<testsuite tests='2'/>";
    refuse(format!("<testsuites><testsuite>{flaky}</testsuite>{other}</testsuites>"), "2 tests");
}

#[test]
fn another_documents_file_is_not_recognised_and_no_failure() {
    for file in ["<coverage lines='3'/>", "<testsuites/>", "<a><b>text</b></a>"] {
        let report = parse_files(&[file.as_bytes().to_vec()]);
        assert_eq!(report, TestReport::default(), "{file}");
        let beside = parse_files(&[suite(CASE).into_bytes(), file.as_bytes().to_vec()]);
        assert!(!beside.recognised && beside.passed == 1, "{file}");
    }
}

proptest::proptest! {
    #[test]
    fn no_cut_and_no_lost_byte_makes_a_failed_test_pass(at in 0_usize..1200, cut: bool) {
        let path = format!("{}/tests/reports/surefire.xml", env!("CARGO_MANIFEST_DIR"));
        let mut file = std::fs::read(path).unwrap();
        let at = at.min(file.len() - 1);
        if cut {
            file.truncate(at);
        } else {
            file.remove(at);
        }
        assert_eq!(standing(&parse_files(&[file])), Standing::Red);
    }
}
