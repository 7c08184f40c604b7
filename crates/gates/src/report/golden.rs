//! Reports of real runs, recorded in `tests/reports`. `dotnet` is not among them: its reports
//! are written here, from its documentation.

use super::*;

/// Reads a recorded report and writes down what it says.
fn told(parser: Parser, name: &str) -> String {
    let path = format!("{}/tests/reports/{name}", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let report = match parser {
        Parser::Junit => parse_files(&[bytes]),
        parser => parse(parser, &bytes),
    };
    tell(&report)
}

fn tell(report: &TestReport) -> String {
    let TestReport { passed, failed, skipped, failures, ran, recognised } = report;
    let word = if *recognised { "" } else { "? " };
    let mut text = format!("{word}{passed} passed, {failed} failed, {skipped} skipped");
    let list =
        |names: &[String]| names.iter().map(|name| format!("\n  {name}")).collect::<String>();
    text.push_str(&list(failures));
    if !ran.is_empty() {
        text.push_str(&format!("\n of{}", list(ran)));
    }
    text
}

#[track_caller]
fn check(parser: Parser, name: &str, expected: &str) {
    assert_eq!(told(parser, name), expected, "{name}");
}

#[test]
fn jest_names_every_test_when_it_is_verbose() {
    check(
        Parser::Jest,
        "jest-verbose.txt",
        "3 passed, 3 failed, 2 skipped
  jest/broken.test.js
  jest/sum.test.js › sum › adds badly
  jest/sum.test.js › sum › inner > deep › case 2
 of
  jest/sum.test.js › sum › adds
  jest/sum.test.js › sum › adds badly
  jest/sum.test.js › sum › inner > deep › case 1
  jest/sum.test.js › sum › inner > deep › case 2
  jest/sum.test.js › top",
    );
    check(
        Parser::Jest,
        "jest-green.txt",
        "1 passed, 0 failed, 6 skipped\n of\n  jest/sum.test.js › sum › adds",
    );
}

#[test]
fn jest_names_only_failures_when_it_is_not() {
    let expected = "3 passed, 3 failed, 2 skipped
  jest/broken.test.js
  jest/sum.test.js › sum › adds badly
  jest/sum.test.js › sum › inner > deep › case 2";
    check(Parser::Jest, "jest-plain.txt", expected);
    check(Parser::Jest, "jest-npm.txt", expected);
}

#[test]
fn vitest_names_every_test_when_it_is_verbose() {
    let failed = "3 passed, 2 failed, 2 skipped
  vitest/broken.test.ts
  vitest/sum.test.ts > sum > adds badly";
    check(Parser::Vitest, "vitest-plain.txt", failed);
    let ran = "
 of
  vitest/ok.test.ts > fine
  vitest/sum.test.ts > sum > adds
  vitest/sum.test.ts > sum > adds badly
  vitest/sum.test.ts > sum > inner > deep";
    check(Parser::Vitest, "vitest-verbose.txt", &format!("{failed}{ran}"));
    check(
        Parser::Vitest,
        "vitest-green.txt",
        "1 passed, 0 failed, 0 skipped\n of\n  vitest/ok.test.ts > fine",
    );
}

#[test]
fn mocha_is_an_outline_with_numbers_for_what_failed() {
    check(
        Parser::Mocha,
        "mocha.txt",
        "2 passed, 2 failed, 1 skipped
  sum › adds badly
  sum › hook › \"before all\" hook for \"never\"
 of
  sum › adds
  sum › adds badly
  sum › hook › \"before all\" hook for \"never\"
  sum › inner › deep",
    );
    check(Parser::Mocha, "mocha-green.txt", "1 passed, 0 failed, 0 skipped\n of\n  sum › adds");
}

#[test]
fn node_is_read_in_both_of_its_ways() {
    let expected = "4 passed, 2 failed, 2 skipped
  adds badly
  group › two
 of
  adds
  adds badly
  fine
  g › one
  group › one
  group › two";
    check(Parser::Tap, "node-tap.txt", expected);
    check(Parser::Tap, "node-spec.txt", expected);
    check(
        Parser::Tap,
        "node-spec-green.txt",
        "2 passed, 0 failed, 0 skipped\n of\n  fine\n  g › one",
    );
}

#[test]
fn a_plan_that_was_not_kept_is_noticed() {
    let tap = "TAP version 13\nok 1 - a\nnot ok 2 - b\n1..2\n";
    let said = |text: &str| tell(&parse(Parser::Tap, text.as_bytes()));
    assert_eq!(said(tap), "1 passed, 1 failed, 0 skipped\n  b\n of\n  a\n  b");
    assert_eq!(
        said("1..3\nok 1 a\nok 2 b # skip slow\n"),
        "? 1 passed, 0 failed, 1 skipped\n of\n  a"
    );
    assert_eq!(said("ok\n"), "? 0 passed, 0 failed, 0 skipped");
    let hook = "# Subtest: g\n    ok 1 - one\n    1..1\nnot ok 1 - g\n1..1\n";
    assert_eq!(said(hook), "1 passed, 1 failed, 0 skipped\n  g\n of\n  g\n  g › one");
}

#[test]
fn go_is_read_in_both_of_its_ways() {
    let expected = "3 passed, 4 failed, 1 skipped
  example.com/demo/c
  example.com/demo/d TestPanic
  example.com/demo/pkg/a TestBad
  example.com/demo/pkg/a TestBad/two_words
 of
  example.com/demo/c
  example.com/demo/d TestPanic
  example.com/demo/pkg/a TestAdd
  example.com/demo/pkg/a TestBad
  example.com/demo/pkg/a TestBad/one
  example.com/demo/pkg/a TestBad/two_words
  example.com/demo/pkg/a TestFake";
    check(Parser::Go, "go-verbose.txt", expected);
    check(Parser::Go, "go-json.txt", expected);
    check(
        Parser::Go,
        "go-green.txt",
        "1 passed, 0 failed, 1 skipped\n of\n  example.com/demo/pkg/a TestAdd",
    );
    let quiet = told(Parser::Go, "go-plain.txt");
    assert!(quiet.starts_with("1 passed, 4 failed, 0 skipped\n  example.com/demo/c\n"), "{quiet}");
}

#[test]
fn ctest_tells_what_failed_from_what_did_not_run() {
    check(
        Parser::Ctest,
        "ctest.txt",
        "1 passed, 4 failed, 2 skipped
  bad
  crash
  missing
  with
 of
  bad
  crash
  good
  missing
  with",
    );
    for green in ["ctest-green.txt", "ctest-4.4-green.txt"] {
        check(Parser::Ctest, green, "1 passed, 0 failed, 0 skipped\n of\n  good");
    }
    let red = "1 passed, 1 failed, 0 skipped\n  bad\n of\n  bad\n  good";
    check(Parser::Ctest, "ctest-4.4-red.txt", red);
}

#[test]
fn maven_and_gradle_write_the_same_report() {
    let expected = "1 passed, 2 failed, 1 skipped
  demo.SumTest addsBadly
  demo.SumTest breaks
 of
  demo.SumTest adds
  demo.SumTest addsBadly
  demo.SumTest breaks";
    check(Parser::Junit, "surefire.xml", expected);
    check(Parser::Junit, "gradle.xml", expected);
}

#[test]
fn a_report_file_that_was_cut_off_is_not_recognised() {
    let path = format!("{}/tests/reports/surefire.xml", env!("CARGO_MANIFEST_DIR"));
    let whole = std::fs::read(path).unwrap();
    assert!(parse_files(&[whole.clone(), whole.clone()]).recognised);
    assert!(!parse_files(&[]).recognised);
    for end in [10, 200, whole.len() / 2, whole.len() - 5] {
        assert!(!parse_files(&[whole[..end].to_vec()]).recognised, "{end}");
    }
    let odd = b"<?xml?><!-- <x> --><testsuite><testcase name='a &lt;&#66;&gt; > b'/></testsuite>";
    assert_eq!(parse_files(&[odd.to_vec()]).ran, ["a <B> > b"]);
}

#[test]
fn dotnet_is_read_as_it_is_documented() {
    let normal = "Starting test execution, please wait...
  Passed Demo.SumTests.Adds [3 ms]
  Failed Demo.SumTests.AddsBadly [12 ms]
  Error Message:
   Assert.Equal() Failure
  Stack Trace:
     at Demo.SumTests.AddsBadly() in /project/SumTests.cs:line 12
  Skipped Demo.SumTests.Later [1 ms]

Test Run Failed.
Total tests: 3
     Passed: 1
     Failed: 1
    Skipped: 1
 Total time: 0.9 Seconds
";
    let said = |text: &str| tell(&parse(Parser::Dotnet, text.as_bytes()));
    assert_eq!(
        said(normal),
        "1 passed, 1 failed, 1 skipped\n  Demo.SumTests.AddsBadly\n of\n  Demo.SumTests.Adds\n  Demo.SumTests.AddsBadly"
    );
    let short = "Passed!  - Failed:     0, Passed:     2, Skipped:     1, Total:     3, Duration: 20 ms - Demo.dll (net8.0)\n";
    assert_eq!(said(short), "2 passed, 0 failed, 1 skipped");
}

#[test]
fn the_parser_that_understands_most_is_used() {
    for (parser, name) in [
        (Parser::Jest, "jest-verbose.txt"),
        (Parser::Vitest, "vitest-verbose.txt"),
        (Parser::Mocha, "mocha.txt"),
        (Parser::Tap, "node-tap.txt"),
        (Parser::Go, "go-verbose.txt"),
        (Parser::Ctest, "ctest.txt"),
    ] {
        check(Parser::Auto, name, &told(parser, name));
    }
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_much_for_a_reader(text in "(\\PC|[\n\t<>&\"'=] ?){0,200}") {
        for &parser in Parser::ALL {
            let _ = parse(parser, text.as_bytes());
        }
        let _ = parse_files(&[text.into_bytes()]);
    }

    #[test]
    fn no_report_that_was_cut_is_too_much_for_a_reader(at in 0_usize..3000) {
        for name in ["jest-verbose.txt", "mocha.txt", "node-tap.txt", "go-json.txt", "ctest.txt", "gradle.xml"] {
            let path = format!("{}/tests/reports/{name}", env!("CARGO_MANIFEST_DIR"));
            let whole = std::fs::read(path).unwrap();
            let cut = &whole[..at.min(whole.len())];
            for &parser in Parser::ALL {
                let _ = parse(parser, cut);
            }
            let _ = parse_files(&[cut.to_vec()]);
        }
    }
}
