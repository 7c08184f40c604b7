use super::*;

#[track_caller]
fn check(text: &str, counts: (u32, u32, u32), failures: &[&str], recognised: bool) {
    let report = crate::parse(crate::Parser::Cargo, text.as_bytes());
    let (passed, failed, skipped) = counts;
    let failures = failures.iter().map(|name| (*name).to_owned()).collect();
    let ran = report.ran.clone();
    assert_eq!(report, TestReport { passed, failed, skipped, failures, ran, recognised });
}

const LIB: &str = "\
   Compiling a v0.1.0 (/project/a)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.64s
     Running unittests src/lib.rs (target/debug/deps/a-3110576fc3c3c96d)

running 6 tests
test tests::does_panic - should panic ... ok
test tests::breaks ... FAILED
test tests::later ... ignored
test tests::slow ... ignored, slow
test tests::must_panic - should panic ... FAILED
test tests::works ... ok

failures:

---- tests::breaks stdout ----
test x ... FAILED

thread 'tests::breaks' (8071) panicked at a/src/lib.rs:13:58:
no

---- tests::must_panic stdout ----
note: test did not panic as expected at a/src/lib.rs:16:32

failures:
    tests::breaks
    tests::must_panic

test result: FAILED. 2 passed; 2 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.11s

error: test failed, to rerun pass `-p a --lib`
";

const OTHER_LIB: &str = "     Running unittests src/lib.rs (target/debug/deps/b-d297d743c1d6421f)

running 2 tests
test tests::works ... ok
test tests::breaks ... FAILED

failures:

---- tests::breaks stdout ----

thread 'tests::breaks' (8089) panicked at b/src/lib.rs:4:27:
no


failures:
    tests::breaks

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.09s

error: test failed, to rerun pass `-p b --lib`
";

const DOC: &str = "   Doc-tests a

running 4 tests
test src/lib.rs - f (line 10) ... ignored
test src/lib.rs - f (line 4) - compile ... FAILED
test src/lib.rs - f (line 1) - compile fail ... FAILED
test src/lib.rs - g (line 7) ... FAILED

failures:

---- src/lib.rs - f (line 4) stdout ----
error[E0308]: mismatched types
 --> src/lib.rs:5:13
Couldn't compile the test.
---- src/lib.rs - f (line 1) stdout ----
Test compiled successfully, but it's marked `compile_fail`.
---- src/lib.rs - g (line 7) stdout ----
Test executable succeeded, but it's marked `should_panic`.

failures:
    src/lib.rs - f (line 1)
    src/lib.rs - f (line 4)
    src/lib.rs - g (line 7)

test result: FAILED. 0 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.19s

all doctests ran in 0.26s; merged doctests compilation took 0.06s
error: doctest failed, to rerun pass `-p a --doc`
";

const NO_DOC: &str = "   Doc-tests b

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

";

const END: &str = "error: 3 targets failed:
    `-p a --lib`
    `-p b --lib`
    `-p a --doc`
";

fn green(tests: &str) -> String {
    format!(
        "     Running tests/it.rs (target/debug/deps/it-e9084a9c25208d2e)\n\nrunning 1 test\n\
         {tests}\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; \
         finished in 0.00s\n\n"
    )
}

#[test]
fn all_sections_add_up_and_keep_equal_names_apart() {
    check(
        &[LIB, OTHER_LIB, DOC, NO_DOC, END].concat(),
        (3, 6, 3),
        &[
            "-p a --doc src/lib.rs - f",
            "-p a --doc src/lib.rs - f #2",
            "-p a --doc src/lib.rs - g",
            "-p a --lib tests::breaks",
            "-p a --lib tests::must_panic",
            "-p b --lib tests::breaks",
        ],
        true,
    );
}

#[test]
fn a_doc_test_keeps_its_name_when_the_lines_above_it_change() {
    let moved = DOC.replace("(line 1)", "(line 21)").replace("(line 4)", "(line 24)");
    assert_eq!(parse(&moved).failures, parse(DOC).failures);
}

#[test]
fn colours_change_nothing() {
    let coloured = LIB
        .replace("     Running", "\u{1b}[1m\u{1b}[92m     Running\u{1b}[0m")
        .replace("error:", "\u{1b}[1m\u{1b}[91merror\u{1b}[0m:")
        .replace("FAILED", "\u{1b}[31mFAILED\u{1b}[m");
    assert_eq!(
        crate::parse(crate::Parser::Cargo, coloured.as_bytes()),
        crate::parse(crate::Parser::Cargo, LIB.as_bytes())
    );
}

#[test]
fn without_a_hint_a_target_is_named_by_its_announcement() {
    let bare = LIB.replace("error: test failed, to rerun pass `-p a --lib`\n", "");
    let names = ["a src/lib.rs tests::breaks", "a src/lib.rs tests::must_panic"];
    check(&bare, (2, 2, 2), &names, true);
}

#[test]
fn output_of_a_test_in_its_own_line_is_no_matter() {
    check(&green("test tests::a ... loud\nhalfok\n"), (1, 0, 0), &[], true);
}

#[test]
fn a_printed_failure_that_the_summary_knows_nothing_of_is_noticed() {
    check(&green("test x ... FAILED\ntest tests::a ... ok\n"), (1, 0, 0), &[], false);
}

#[test]
fn a_printed_summary_is_never_added() {
    let fake = "test result: ok. 900 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
    let forged = LIB.replace("test x ... FAILED", fake);
    let names = ["-p a --lib tests::breaks", "-p a --lib tests::must_panic"];
    check(&forged, (2, 2, 2), &names, false);
    check(&format!("{fake}\n"), (0, 0, 0), &[], false);
}

#[test]
fn a_printed_list_and_summary_that_fit_are_noticed_by_the_real_ones() {
    let fake = "failures:\n    x\n    y\n\n\
                test result: FAILED. 2 passed; 2 failed; 2 ignored; 0 measured; 0 filtered out";
    let forged = LIB.replace("test x ... FAILED", fake);
    check(&forged, (2, 2, 2), &["-p a --lib x", "-p a --lib y"], false);
}

#[test]
fn a_binary_that_died_is_not_recognised_but_what_it_said_is_kept() {
    let died = "     Running tests/crash.rs (target/debug/deps/crash-538bfc515b459d9f)

running 3 tests
test fails ... FAILED
error: test failed, to rerun pass `-p a --test crash`

Caused by:
  process didn't exit successfully: `target/debug/deps/crash-538bfc515b459d9f` (signal: 6, SIGABRT: process abort signal)
";
    check(
        &[&green("test a ... ok\n"), died].concat(),
        (1, 1, 0),
        &["-p a --test crash fails"],
        false,
    );
}

#[test]
fn a_binary_that_left_early_is_not_recognised() {
    let left = "     Running tests/quits.rs (target/debug/deps/quits-684df1c897000af8)\n\nrunning 1 test\n";
    check(left, (0, 0, 0), &[], false);
    check(&[left, &green("test a ... ok\n")].concat(), (1, 0, 0), &[], false);
}

#[test]
fn code_that_does_not_compile_is_not_recognised() {
    let broken = "error: this file contains an unclosed delimiter\n --> a/tests/crash.rs:1:9\n\n\
                  error: could not compile `a` (test \"crash\") due to 1 previous error\n";
    check(broken, (0, 0, 0), &[], false);
    check(&[&green("test a ... ok\n"), broken].concat(), (1, 0, 0), &[], false);
}
