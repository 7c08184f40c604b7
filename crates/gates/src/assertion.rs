//! What the failed assertion of a test said, without the test.
//!
//! Runners print the source around a failure. A coder who is not to see the test is told the
//! assertion's own words and nothing else: lines that are the test's source are taken out whatever
//! printed them. A test that ended in any other error has no assertion to tell of.

use crate::Parser;
use crate::report::plain_text;

/// How much of one message is told.
const MOST: usize = 400;
/// Shorter lines than this are in any text.
const SHORTEST_SOURCE: usize = 6;

/// Returns what the assertion said that ended the test `name`, a failure in `output`; nothing where no
/// failed assertion did, or where this runner's output is not read for it. Lines of `sources` are
/// left out.
pub fn assertion(parser: Parser, output: &[u8], name: &str, sources: &[String]) -> Option<String> {
    let text = plain_text(output);
    let lines: Vec<&str> = text.lines().collect();
    let readers: &[MessageReader] = match parser {
        Parser::Pytest => &[of_pytest],
        Parser::Unittest => &[of_unittest],
        Parser::Cargo => &[of_cargo],
        Parser::Tap => &[of_tap, of_node],
        Parser::Auto => &[of_pytest, of_unittest, of_cargo, of_tap, of_node],
        _ => &[],
    };
    let said = readers.iter().find_map(|read| read(&lines, name))?;
    let is_source = |line: &str| {
        let own = |source: &str| source.len() >= SHORTEST_SOURCE && line.contains(source);
        sources.iter().flat_map(|text| text.lines()).any(|source| own(source.trim()))
    };
    let told: Vec<&str> =
        said.iter().map(|line| line.trim_end()).filter(|line| !is_source(line)).collect();
    let told = told.join("\n");
    let told = told.trim_matches('\n');
    Some(match told.is_empty() {
        true => "an assertion failed".to_owned(),
        false => spore_plain::cut(&spore_plain::block(told), MOST).into_owned(),
    })
}

/// Finds the lines of the message in those of the output.
type MessageReader = fn(&[&str], &str) -> Option<Vec<String>>;

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}

/// Returns the lines behind the first that is a heading, up to the next.
fn section<'l>(lines: &'l [&'l str], is_own: &dyn Fn(&str) -> bool) -> Option<&'l [&'l str]> {
    let start = lines.iter().position(|line| is_own(line))?;
    Some(&lines[start + 1..])
}

/// `E   assert 2 == 1` below `____ T.test_low ____`.
fn of_pytest(lines: &[&str], name: &str) -> Option<Vec<String>> {
    let (_, own) = name.split_once("::")?;
    let own = own.replace("::", ".");
    let title = |line: &str| -> Option<String> {
        let inner = line.strip_prefix("__")?.strip_suffix("__")?;
        Some(inner.trim_matches('_').trim().to_owned())
    };
    let below = section(lines, &|line| title(line).is_some_and(|title| title == own))?;
    let end = below.iter().position(|line| title(line).is_some() || line.starts_with("====="));
    let below = &below[..end.unwrap_or(below.len())];
    let said: Vec<&str> = below.iter().filter_map(|line| line.strip_prefix("E ")).collect();
    let first = said.first()?.trim_start();
    let is_assertion = first.starts_with("assert ")
        || first.starts_with("AssertionError")
        || first.starts_with("Failed: ");
    let cut = |line: &&str| line.strip_prefix("      ").unwrap_or(line.trim_start()).to_owned();
    is_assertion.then(|| said.iter().map(cut).collect())
}

/// What stands behind the traceback below `FAIL: test_low (m.T.test_low)`.
fn of_unittest(lines: &[&str], name: &str) -> Option<Vec<String>> {
    let below = section(lines, &|line| line.strip_prefix("FAIL: ") == Some(name))?;
    let is_rule = |line: &&str| line.len() > 60 && line.bytes().all(|b| b == b'=' || b == b'-');
    let below = below.get(1..)?;
    let end = below.iter().position(is_rule).unwrap_or(below.len());
    let below = &below[..end];
    let start = below.iter().position(|line| line.starts_with("AssertionError"))?;
    Some(owned(&below[start..]))
}

/// What stands behind `thread 'low' panicked at tests/held.rs:3:5:`, if that is a file of the tests.
fn of_cargo(lines: &[&str], name: &str) -> Option<Vec<String>> {
    let own = name.rsplit(' ').next()?;
    let below = section(lines, &|line| line == format!("---- {own} stdout ----"))?;
    let end = below.iter().position(|line| line.starts_with("---- ") || *line == "failures:");
    let below = &below[..end.unwrap_or(below.len())];
    let start = below.iter().position(|line| {
        let place = line.split_once(" panicked at ").map(|(_, place)| place);
        place.is_some_and(|place| place.starts_with("tests/") || place.contains("/tests/"))
    })?;
    let said = &below[start + 1..];
    let is_end = |line: &&str| line.starts_with("note: ") || line.starts_with("stack backtrace:");
    let end = said.iter().position(is_end).unwrap_or(said.len());
    Some(owned(&said[..end]))
}

/// `error:` in the details of a point, where its code is that of an assertion.
fn of_tap(lines: &[&str], name: &str) -> Option<Vec<String>> {
    let own = name.rsplit(" › ").next()?;
    let is_own = |line: &str| {
        let rest = line.trim_start().strip_prefix("not ok ");
        rest.and_then(|rest| rest.split_once(" - ")).is_some_and(|(_, title)| title == own)
    };
    let below = section(lines, &is_own)?;
    let end = below.iter().position(|line| line.trim() == "...")?;
    let below = &below[..end];
    below.iter().find(|line| line.trim() == "code: 'ERR_ASSERTION'")?;
    let start = below.iter().position(|line| line.trim_start().starts_with("error:"))?;
    let first = below[start].trim_start().strip_prefix("error:")?.trim();
    if !first.starts_with('|') && !first.starts_with('>') {
        return Some(vec![first.trim_matches('\'').to_owned()]);
    }
    let depth = |line: &str| line.len() - line.trim_start().len();
    let outer = depth(below[start]);
    let is_inside = |line: &&&str| line.trim().is_empty() || depth(line) > outer;
    let said = below[start + 1..].iter().take_while(is_inside);
    Some(said.map(|line| line.get(outer + 2..).unwrap_or_default().to_owned()).collect())
}

/// `AssertionError [ERR_ASSERTION]: ...` below `✖ low (1ms)` at the end of node's own outline.
fn of_node(lines: &[&str], name: &str) -> Option<Vec<String>> {
    let own = name.rsplit(" › ").next()?;
    let failing = section(lines, &|line| line.contains("failing tests:"))?;
    let is_own = |line: &str| {
        let title = line.trim_start().strip_prefix("✖ ");
        title.is_some_and(|title| title == own || title.starts_with(&format!("{own} (")))
    };
    let below = section(failing, &is_own)?;
    let end = below.iter().position(|line| line.trim_start().starts_with("✖ "));
    let below = &below[..end.unwrap_or(below.len())];
    let start = below.iter().position(|line| line.contains("[ERR_ASSERTION]: "))?;
    let is_said = |line: &&&str| !line.trim_start().starts_with("at ");
    Some(below[start..].iter().take_while(is_said).map(|line| line.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(parser: Parser, output: &str, name: &str, expected: Option<&str>) {
        let sources =
            ["    self.assertEqual(calc.low(2, 1), 1)\n    secret_of_the_test()\n".to_owned()];
        let said = assertion(parser, output.as_bytes(), name, &sources);
        assert_eq!(said.as_deref(), expected, "{parser} {name}");
        let guessed = assertion(Parser::Auto, output.as_bytes(), name, &sources);
        assert_eq!(guessed.as_deref(), expected, "{parser} {name} by guess");
    }

    const UNITTEST: &str = "\
======================================================================
ERROR: test_err (test_u.T.test_err)
----------------------------------------------------------------------
Traceback (most recent call last):
  File \"/c/tests/test_u.py\", line 10, in test_err
    calc.nope()
AttributeError: module 'calc' has no attribute 'nope'

======================================================================
FAIL: test_low (test_u.T.test_low)
----------------------------------------------------------------------
Traceback (most recent call last):
  File \"/c/tests/test_u.py\", line 6, in test_low
    self.assertEqual(calc.low(2, 1), 1)
AssertionError: 2 != 1
secret_of_the_test()

----------------------------------------------------------------------
Ran 2 tests in 0.001s
";

    const PYTEST: &str = "\
=================================== FAILURES ===================================
__________________________________ T.test_low __________________________________

    def test_low(self):
>       secret_of_the_test()
E       AssertionError: assert 2 == 1
E        +  where 2 = low(2, 1)

tests/test_u.py:6: AssertionError
__________________________________ test_err ____________________________________
E       AttributeError: module 'calc' has no attribute 'nope'
=========================== short test summary info ============================
FAILED tests/test_u.py::T::test_low - AssertionError: assert 2 == 1
FAILED tests/test_u.py::test_err - AttributeError
";

    const CARGO: &str = "\
---- lower stdout ----

thread 'lower' (12) panicked at tests/held.rs:3:5:
assertion `left == right` failed: the lower one
  left: 2
 right: 1
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

---- overflows stdout ----

thread 'overflows' panicked at src/lib.rs:9:5:
attempt to add with overflow

failures:
    lower
";

    const TAP: &str = "\
# Subtest: suite
    # Subtest: lower
    not ok 1 - lower
      ---
      duration_ms: 2.6
      error: |-
        Expected values to be strictly equal:
        
        2 !== 1
        
      code: 'ERR_ASSERTION'
      stack: |-
        secret_of_the_test()
      ...
not ok 2 - err
  ---
  error: 'x is not a function'
  code: 'ERR_TEST_FAILURE'
  ...
not ok 3 - own
  ---
  error: 'must be lower'
  code: 'ERR_ASSERTION'
  ...
";

    const NODE: &str = "\
✖ lower (1.2ms)
ℹ tests 1

✖ failing tests:

test at a.test.js:2:1
✖ lower (1.2ms)
  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
  
  2 !== 1
  
      at TestContext.<anonymous> (/c/a.test.js:2:35)
";

    #[test]
    fn an_assertions_own_words_are_told_and_no_source() {
        let low = "test_low (test_u.T.test_low)";
        check(Parser::Unittest, UNITTEST, low, Some("AssertionError: 2 != 1"));
        check(Parser::Unittest, UNITTEST, "test_err (test_u.T.test_err)", None);
        let told = "AssertionError: assert 2 == 1\n +  where 2 = low(2, 1)";
        check(Parser::Pytest, PYTEST, "tests/test_u.py::T::test_low", Some(told));
        check(Parser::Pytest, PYTEST, "tests/test_u.py::test_err", None);
        let told = "assertion `left == right` failed: the lower one\n  left: 2\n right: 1";
        check(Parser::Cargo, CARGO, "--test held lower", Some(told));
        check(Parser::Cargo, CARGO, "--test held overflows", None);
        let told = "Expected values to be strictly equal:\n\n2 !== 1";
        check(Parser::Tap, TAP, "suite › lower", Some(told));
        check(Parser::Tap, TAP, "err", None);
        check(Parser::Tap, TAP, "own", Some("must be lower"));
        let told =
            "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n2 !== 1";
        check(Parser::Tap, NODE, "lower", Some(told));
    }

    #[test]
    fn what_is_nothing_but_source_is_told_as_a_failed_assertion() {
        let output =
            UNITTEST.replace("AssertionError: 2 != 1", "AssertionError: secret_of_the_test()");
        let sources = ["secret_of_the_test()".to_owned()];
        let low = "test_low (test_u.T.test_low)";
        let said = assertion(Parser::Unittest, output.as_bytes(), low, &sources);
        assert_eq!(said.as_deref(), Some("an assertion failed"));
    }
}
