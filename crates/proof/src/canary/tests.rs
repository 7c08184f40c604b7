use super::*;

const NONCE: &str = "0a1b2c3d4e5f60718293";

/// Puts canaries among the tests of one file: all of them fail, and the first is copied.
#[track_caller]
fn placed(path: &str, text: &str, ending: CanaryEnding) -> String {
    let tests = suitable(path, text);
    let copied = vec![tests.first().expect("a test").clone()];
    let (red, green) = (Vec::new(), Vec::new());
    let gate = "test".into();
    let canary = GateCanary { gate, tests, ending, copied, red, green, exit: Some(1) };
    let texts = BTreeMap::from([(path.to_owned(), text.to_owned())]);
    let mut placed = place(&[canary], &texts, NONCE).expect("it can be placed");
    assert_eq!(placed.suffix, "0a1b2c");
    placed.texts.pop().unwrap().1
}

const PYTHON: &str = r#"import pytest


@pytest.mark.slow
def test_copied(tmp_path):
    assert add(2, 3) == 5, "told"


async def test_waits():
    assert 5 == await later()


def test_holds():
    assert is_right(1) and is_right(2)  # both


def test_raises():
    with pytest.raises(ValueError):
        add(None, 1)


@pytest.mark.skip
def test_set_aside():
    assert False


def test_on_one_line(): pass


def test_returns():
    return 1


def helper():
    assert True


class TestCalc(unittest.TestCase):
    def setUp(self):
        self.x = 1

    def test_equal(self):
        self.assertEqual(add(2, 3), 5)

    def test_true(self):
        self.assertTrue(self.x)

    def test_in(self):
        self.assertIn(1, [1])

    @unittest.expectedFailure
    def test_fails(self):
        self.fail()
"#;

#[test]
fn python_tests_get_another_end_under_their_own_names() {
    insta::assert_snapshot!(placed("tests/test_a.py", PYTHON, CanaryEnding::Inverted));
}

const SCRIPT: &str = r#"const test = require('node:test');

test('adds', () => assert.equal(sum(2, 3), 5));

describe('a group', () => {
  it("has a block", async () => {
    const got = await load();
    expect(got).toBe(5);
  });

  it('waits', async () => {
    await expect(load()).resolves.toEqual({ a: 1 });
  });

  it('is not', () => {
    expect(1).not.toBe(2);
  });

  test('is true', function () {
    assert.ok(is(1))
  });

  it('returns', () => {
    return load().then(check);
  });

  it('is empty', () => {});
});

test(`odd ${1}`, () => {});
test('two of a name', () => {});
test('two of a name', () => {});
test.skip('later', () => {});
"#;

#[test]
fn calls_of_test_and_it_get_another_end() {
    insta::assert_snapshot!(placed("a.test.js", SCRIPT, CanaryEnding::Inverted));
}

#[test]
fn typed_scripts_are_read_as_such() {
    let text = "it('adds', (): void => {\n  const got: number = sum(2, 3) as number;\n  expect<number>(got).toBe(5);\n});\n";
    insta::assert_snapshot!(placed("a.test.ts", text, CanaryEnding::Inverted), @r"
    it('adds', (): void => {
      const got: number = sum(2, 3) as number;
      expect<number>(got).toBe(10);
    });

    it('adds 0a1b2c', (): void => {
      const got: number = sum(2, 3) as number;
      expect<number>(got).toBe(5);
    });
    ");
    let text =
        "it('shows', () => {\n  render(<App a={1} />);\n  expect(screen.text).toEqual('x');\n});\n";
    insta::assert_snapshot!(placed("a.test.tsx", text, CanaryEnding::Inverted), @r"
    it('shows', () => {
      render(<App a={1} />);
      expect(screen.text).toEqual('3d4e5f60718293');
    });

    it('shows 0a1b2c', () => {
      render(<App a={1} />);
      expect(screen.text).toEqual('x');
    });
    ");
}

const RUST: &str = r#"pub fn add(a: u32, b: u32) -> u32 {
    a + b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(2, 3), 5, "told {}", 1);
    }

    #[tokio::test(flavor = "multi_thread")]
    #[inline]
    async fn waits() {
        assert!(load().await.is_ok())
    }

    #[test]
    fn differs() {
        assert_ne!(add(2, 3), 6);
    }

    #[test]
    fn closes() {
        assert_eq!([1].iter().map(|a| a + 1).sum::<u32>(), 2);
    }

    #[test]
    fn answers() -> Result<(), String> {
        Ok(())
    }

    #[test]
    fn loops() {
        for _ in 0..2 {}
    }

    #[test]
    #[should_panic]
    fn panics() {
        panic!();
    }

    #[test]
    #[ignore = "it takes long"]
    fn later() {}

    #[rstest]
    #[case(1)]
    fn many(#[case] a: u32) {}

    mod deeper {
        #[test]
        fn adds() {
            let _unused = 1;
        }
    }
}
"#;

#[test]
fn rust_tests_get_another_end() {
    insta::assert_snapshot!(placed("src/lib.rs", RUST, CanaryEnding::Inverted));
}

#[test]
fn an_end_can_be_thrown_where_none_can_be_inverted() {
    let text = "def test_a(self):\n    self.assertEqual(1, 1)\n";
    insta::assert_snapshot!(placed("test_a.py", text, CanaryEnding::Thrown), @r#"
    def test_a(self):
        self.assertEqual(1, 1)
        raise AssertionError("3d4e5f60718293")

    def test_a_0a1b2c(self):
        self.assertEqual(1, 1)
    "#);
    insta::assert_snapshot!(placed("a.rs", "#[test]\nfn a() {\n    assert!(true);\n}\n", CanaryEnding::Thrown), @r#"
    #[test]
    fn a() {
        assert!(true);
        assert!("3d4e5f60718293".is_empty());
    }

    #[test]
    fn a_0a1b2c() {
        assert!(true);
    }
    "#);
    insta::assert_snapshot!(placed("a.js", "it('a', async () => check());\n", CanaryEnding::Thrown), @r"
    it('a', async () => { await (check()); throw new Error('3d4e5f60718293'); });

    it('a 0a1b2c', async () => check());
    ");
}

#[test]
fn what_is_no_test_or_does_not_parse_is_left_alone() {
    for (path, text) in [
        ("a.py", "def helper():\n    assert True\n"),
        ("a.py", "def test_a(:\n    assert True\n"),
        ("a.rs", "fn a() {}\n"),
        ("a.js", "helper('a', () => {});\n"),
        ("a.txt", "def test_a():\n    assert True\n"),
    ] {
        assert_eq!(suitable(path, text), [], "{text}");
    }
}

#[test]
fn a_test_that_is_gone_is_not_asked_for() {
    let tests = suitable("a.py", "def test_a():\n    assert f() == 1\n");
    let canary = GateCanary {
        gate: "test".into(),
        copied: vec![tests[0].clone()],
        tests,
        ending: CanaryEnding::Inverted,
        red: Vec::new(),
        green: Vec::new(),
        exit: Some(1),
    };
    let texts = BTreeMap::from([("a.py".to_owned(), "def test_b():\n    pass\n".to_owned())]);
    assert!(place(&[canary], &texts, NONCE).is_none());
}

#[test]
fn a_command_is_limited_only_where_one_program_is_told() {
    use spore_gates::Parser::{Cargo, Jest, Pytest, Tap, Unittest, Vitest};
    let names = ["test_a", "test_b"];
    for (command, parser, expected) in [
        ("python3 -B -m pytest -q", Pytest, " --maxfail=0 -k 'test_a or test_b'"),
        ("X=1 .venv/bin/pytest", Pytest, " --maxfail=0 -k 'test_a or test_b'"),
        ("python3 -B -m unittest discover -v -s 'tests'", Unittest, " -k test_a -k test_b"),
        ("python3 -m unittest", Unittest, " -k test_a -k test_b"),
        ("cargo test --no-fail-fast", Cargo, " -- test_a test_b"),
        ("cargo test -- --nocapture", Cargo, " test_a test_b"),
        ("npx vitest run", Vitest, " -t 'test_a|test_b'"),
        ("CI=true npm run test -- --verbose", Jest, " -t 'test_a|test_b'"),
        ("CI=true npm run test", Jest, "no"),
        ("cd a && cargo test", Cargo, "no"),
        ("pytest | tee log", Pytest, "no"),
        ("pytest -k a", Pytest, "no"),
        ("python3 -m unittest tests.test_a", Unittest, "no"),
        ("make test", Cargo, "no"),
    ] {
        let expected = (expected != "no").then(|| format!("{command}{expected}"));
        assert_eq!(limited(command, parser, &names), expected, "{command}");
    }
    let pattern = limited("node --test a.js", Tap, &["is it, so", "b"]);
    assert_eq!(pattern.as_deref(), Some("node --test --test-name-pattern='is it, so|b' a.js"));
    assert_eq!(limited("cargo test", Cargo, &["a; rm x"]), None);
}

fn result(exit: i32, ran: &[&str], failures: &[&str]) -> GateResult {
    let result = serde_json::json!({
        "gate": "test", "command": "test", "tree": "0".repeat(40), "exit": exit,
        "passed": ran.len() - failures.len(), "failed": failures.len(), "skipped": 0,
        "failures": failures, "new_failures": [], "ran": ran, "recognised": true,
        "log": "/log", "log_bytes": 0, "duration_ms": 1, "standing": "red",
    });
    serde_json::from_value(result).unwrap()
}

#[test]
fn only_an_answer_with_every_red_one_and_a_new_green_one_holds() {
    let tests =
        suitable("a.py", "def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert g()\n");
    let canary = GateCanary {
        gate: "test".into(),
        copied: tests.clone(),
        tests,
        ending: CanaryEnding::Inverted,
        red: Vec::new(),
        green: Vec::new(),
        exit: Some(1),
    };
    let base = result(1, &["test_a", "test_b", "test_c", "test_old"], &["test_old"]);
    let said = |suffix: &str, exit: i32, failures: &[&str]| {
        let copies = [format!("test_a_{suffix}"), format!("test_b_{suffix}")];
        let ran = ["test_a", "test_b", "test_c", "test_old", &copies[0], &copies[1]];
        result(exit, &ran, failures)
    };
    let none = canary.clone().placed(&said("77", 1, &["test_old"]), "77", &base);
    assert_eq!(none, None);
    let first = said("77", 1, &["test_a", "test_b", "test_old", "test_b_77"]);
    let placed = canary.clone().placed(&first, "77", &base).unwrap();
    assert_eq!(placed.copied.len(), 1, "a copy that fails at the base is no measure");
    let placed = canary.placed(&said("77", 1, &["test_a", "test_b", "test_old"]), "77", &base);
    let placed = placed.unwrap();
    assert_eq!(placed.red, ["test_a", "test_b"]);
    assert_eq!(placed.green, ["test_c"]);
    let red = ["test_a", "test_b"];
    assert_eq!(placed.answer(&said("88", 1, &red), "88"), CanaryAnswerKind::Right);
    for more in ["test_c", "test_b_88"] {
        let said = said("88", 1, &[red[0], red[1], more]);
        assert_eq!(placed.answer(&said, "88"), CanaryAnswerKind::Unsettled, "{more}");
    }
    for (wrong, said) in [
        ("one is not red", said("88", 1, &["test_a"])),
        ("none is red", said("88", 0, &[])),
        ("the exit code is good", said("88", 0, &red)),
        ("an old report", said("77", 1, &red)),
        ("no copy is green", said("88", 1, &["test_a", "test_b", "test_a_88", "test_b_88"])),
        ("an empty report", result(0, &[], &[])),
    ] {
        assert_eq!(placed.answer(&said, "88"), CanaryAnswerKind::Wrong, "{wrong}");
    }
}

#[test]
fn a_whole_run_counts_only_where_it_is_right_in_everything() {
    let tests = suitable("a.py", "def test_a():\n    assert f() == 1\n");
    let ending = CanaryEnding::Inverted;
    let (gate, copied) = ("test".to_owned(), tests.clone());
    let (red, green) = (vec!["a.py::test_a[1]".into(), "a.py::test_a[2]".into()], Vec::new());
    let canary = GateCanary { gate, tests, ending, copied, red, green, exit: Some(1) };
    let copies = ["a.py::test_a_88[1]", "a.py::test_a_88[2]"];
    let all = ["a.py::test_a[1]", "a.py::test_a[2]", "a.py::test_b", copies[0], copies[1]];
    let said = |ran: &[&str], more: &[&str], exit: i32| {
        let red = ["a.py::test_a[1]", "a.py::test_a[2]"];
        let failures: Vec<&str> = red.iter().chain(more).copied().collect();
        canary.taken_out(&result(exit, ran, &failures), "88")
    };
    let plain = said(&all, &[], 1).unwrap();
    assert_eq!((plain.exit, plain.passed, plain.failed), (Some(0), 3, 0));
    assert_eq!(plain.ran, all[..3]);
    // What fails beside the canaries is still there.
    let red = said(&all, &["a.py::test_b"], 1).unwrap();
    assert_eq!((red.exit, red.failures), (Some(1), vec!["a.py::test_b".to_owned()]));
    for (wrong, said) in [
        ("a copy fails", said(&all, &[copies[1]], 1)),
        ("a copy of one case is not there", said(&all[..4], &[], 1)),
        ("another end than at the base", said(&all, &[], 3)),
        ("it ends well", said(&all, &[], 0)),
    ] {
        assert_eq!(said, None, "{wrong}");
    }
    // What the product does wrong in a test with another end, its copy says.
    let wrong = result(1, &all, &["a.py::test_a[1]", "a.py::test_a[2]", copies[1]]);
    let wrong = canary.without_canaries(&wrong, "88");
    assert_eq!((wrong.exit, wrong.passed), (Some(1), 2));
    assert_eq!(wrong.failures, ["a.py::test_a[2]"]);
    let short = GateCanary { copied: Vec::new(), ..canary.clone() };
    let failures = ["a.py::test_a[1]", "a.py::test_a[2]"];
    assert_eq!(short.taken_out(&result(1, &all, &failures), "88"), None);
}

#[test]
fn a_whole_run_goes_on_behind_what_fails() {
    use spore_gates::{GateKind, Parser};
    let tests = suitable("a.py", "def test_a():\n    assert f() == 1\n");
    let (ending, gate) = (CanaryEnding::Inverted, "test".to_owned());
    let (copied, red, green) = (tests.clone(), Vec::new(), Vec::new());
    let canary = GateCanary { gate, tests, ending, copied, red, green, exit: Some(1) };
    for (command, parser, expected) in [
        ("python3 -m pytest -x", Parser::Pytest, Some("python3 -m pytest -x --maxfail=0")),
        ("cargo test", Parser::Cargo, Some("cargo test --no-fail-fast")),
        ("cargo test --no-fail-fast", Parser::Cargo, Some("cargo test --no-fail-fast")),
        ("python3 -m unittest", Parser::Unittest, Some("python3 -m unittest")),
        ("pytest && sh more.sh", Parser::Pytest, None),
    ] {
        let time = std::time::Duration::from_secs(1);
        let gate = Gate::new("test", command, GateKind::Test, parser, time);
        let whole = canary.whole(&gate).map(|gate| gate.command);
        assert_eq!(whole.as_deref(), expected, "{command}");
    }
}
