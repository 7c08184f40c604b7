use spore_effects::session::{Recording, RecordingMethod};

use super::*;

/// What the base's check looked up: `read a`, `missed b`, `ran test`, a line each.
fn checks(script: &str) -> (Vec<GateResult>, Vec<GateRecord>) {
    let mut recording =
        Recording { method: RecordingMethod::Watched, complete: true, ..Recording::default() };
    let mut ran = Vec::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (word, rest) = line.split_once(' ').unwrap();
        match word {
            "read" => drop(recording.read.insert(rest.to_owned())),
            "missed" => drop(recording.missed.insert(rest.to_owned())),
            "ran" => ran.push(rest.to_owned()),
            _ => panic!("{line}"),
        }
    }
    let result = serde_json::json!({
        "gate": "test", "command": "test", "tree": "0".repeat(40), "exit": 0, "passed": ran.len(),
        "failed": 0, "skipped": 0, "failures": [], "new_failures": [], "ran": ran,
        "recognised": true, "log": "/log", "log_bytes": 0, "duration_ms": 1, "standing": "green",
    });
    let record = GateRecord { gate: "test".into(), command: "test".into(), recording };
    (vec![serde_json::from_value(result).unwrap()], vec![record])
}

/// Sorts `touched`, a path a word with `+` for an added and `-` for a deleted one.
#[track_caller]
fn check(script: &str, touched: &str, expected: &str) {
    let (results, records) = checks(script);
    let touched: Vec<TouchedFile> = touched
        .split_whitespace()
        .map(|word| {
            let how = match word.chars().next() {
                Some('+') => TouchKind::Added,
                Some('-') => TouchKind::Deleted,
                _ => TouchKind::Modified,
            };
            TouchedFile { path: word.trim_start_matches(['+', '-']).to_owned(), how }
        })
        .collect();
    let checks = BaseChecks {
        results: &results,
        records: &records,
        test_patterns: &[],
        named: &BTreeSet::new(),
    };
    let sorted = sort(&touched, checks, &|_| Some(b"a".to_vec()), &|_| Some(b"b".to_vec()));
    let paths = |files: &[TouchedFile]| -> String {
        files.iter().map(|file| format!(" {}", file.path)).collect()
    };
    let held: String =
        sorted.held.iter().map(|held| format!(" {}={:?}", held.path, held.reason)).collect();
    let said =
        format!("product{} tests{} held{held}", paths(&sorted.product), paths(&sorted.tests));
    assert_eq!(said, expected);
}

#[test]
fn a_runner_says_which_files_are_tests() {
    check(
        "ran testcalc.Calc.test_add
         ran test_add (testcalc.Calc.test_add)
         ran checks/sum.py::test_sum
         ran src/odd.ts > works",
        "testcalc.py checks/sum.py src/odd.ts src/calc.py tests/test_b.py",
        "product src/calc.py tests testcalc.py checks/sum.py src/odd.ts tests/test_b.py held",
    );
}

#[test]
fn what_runners_shells_and_build_tools_read_is_held() {
    check(
        "read ci/check.sh
         read tox.ini",
        "ci/check.sh tox.ini sub/conftest.py +x.dist-info/entry_points.txt rules.mk +lib.pth \
         build.rs .cargo/config.toml jest.config.js other.sh src/a.rs",
        "product other.sh src/a.rs tests held ci/check.sh=DecidesChecks tox.ini=DecidesChecks \
         sub/conftest.py=DecidesChecks x.dist-info/entry_points.txt=DecidesChecks \
         rules.mk=DecidesChecks lib.pth=DecidesChecks build.rs=DecidesChecks \
         .cargo/config.toml=DecidesChecks jest.config.js=DecidesChecks"
            .replace("sub/conftest.py=DecidesChecks ", "")
            .replace("tests held", "tests sub/conftest.py held")
            .as_str(),
    );
}

#[test]
fn recipes_that_no_check_reads_are_the_products() {
    let unread = "setup.py sub/tox.ini Makefile pyproject.toml";
    check("read src/a.py", unread, &format!("product {unread} tests held"));
    check("read Makefile", "Makefile", "product tests held Makefile=DecidesChecks");
    check(
        "read pyproject.toml",
        "pyproject.toml",
        "product tests held pyproject.toml=DecidesChecks",
    );
    check("read setup.py", "setup.py", "product tests held setup.py=DecidesChecks");
    let compiled = "missed __pycache__/setup.cpython-311.pyc";
    check(compiled, "setup.py", "product tests held setup.py=DecidesChecks");
    check("read a.py", "-setup.cfg", "product tests held setup.cfg=DecidesChecks");
    check("read a.py", "+setup.cfg", "product tests held setup.cfg=DecidesChecks");
}

#[test]
fn a_file_where_the_checks_looked_and_found_nothing_is_held() {
    check(
        "missed argparse.py
         missed src/util.ts",
        "+argparse.py +src/util.ts +src/new.py",
        "product src/new.py tests held argparse.py=TakesAPlace src/util.ts=TakesAPlace",
    );
}

#[test]
fn data_that_the_checks_read_may_be_the_tests() {
    check(
        "read data/rates.json
         read src/a.py",
        "data/rates.json README.md src/a.py golden/out.txt",
        "product README.md src/a.py golden/out.txt tests held data/rates.json=SharedData",
    );
}

#[test]
fn a_name_of_a_test_tells_its_file() {
    for (name, file) in [
        ("tests/test_a.py::TestX::test_y", Some("tests/test_a.py")),
        ("test_y (tests.test_a.Case.test_y)", Some("tests/test_a.py")),
        ("test_y (test_a.Case)", Some("test_a.py")),
        ("test_y (pkg.test_a.test_y)", Some("pkg/test_a.py")),
        ("src/a.test.ts > group > works", Some("src/a.test.ts")),
        ("tests::adds", None),
        ("works", None),
    ] {
        assert_eq!(file_of_test(name).as_deref(), file, "{name}");
    }
}

/// Sorts one file of these two versions, empty where it is not there.
#[track_caller]
fn check_text(script: &str, path: &str, base: &str, now: &str, expected: &str) {
    let (results, records) = checks(script);
    let how = if base.is_empty() { TouchKind::Added } else { TouchKind::Modified };
    let touched = [TouchedFile { path: path.to_owned(), how }];
    let named = BTreeSet::from(["ci/style.py".to_owned()]);
    let checks =
        BaseChecks { results: &results, records: &records, test_patterns: &[], named: &named };
    let read = |text: &str, asked: &str| {
        (asked == path && !text.is_empty()).then(|| text.as_bytes().to_vec())
    };
    let sorted = sort(&touched, checks, &|asked| read(base, asked), &|asked| read(now, asked));
    let held = sorted.held.first().map(|held| format!("{:?}", held.reason));
    let said = match (sorted.tests.len(), sorted.unreadable.len(), held) {
        (1, ..) => "test".to_owned(),
        (_, 1, _) => "mixed".to_owned(),
        (.., Some(reason)) => reason,
        _ => "product".to_owned(),
    };
    assert_eq!(said, expected, "{path}: {now}");
}

#[test]
fn what_a_file_says_tells_what_it_is_where_its_name_does_not() {
    let script = "test('a', () => {});\n";
    let both = "test('a', () => {});\nmodule.exports = 1;\n";
    check_text("read test-sum.js", "test-sum.js", script, "x\n", "test");
    check_text("read sum.js", "sum.js", both, "x\n", "mixed");
    check_text("read a.js", "other.js", script, "x\n", "product");
    check_text("read a.js", "test-more.js", "", script, "test");
    check_text("read a.js", "more.js", "", both, "MayBeLoaded");
    let tests = "class T(TestCase):\n    def test_a(self):\n        self.assertEqual(1, 1)\n";
    let named = "ran test_a (calc.T.test_a)";
    check_text(named, "calc.py", &format!("def f():\n    pass\n\n\n{tests}"), "x\n", "mixed");
    check_text(named, "calc.py", tests, "x\n", "test");
    check_text("", "testmore.py", "", tests, "test");
    check_text("", "testmore.py", "", "import calc\n", "MayBeLoaded");
    check_text("ran suite/check_a.py::test_x", "suite/check_b.py", "", "x\n", "MayBeLoaded");
    check_text("ran a.py::a.f", "a.py", "x\n", "y\n", "product");
}

#[test]
fn what_commands_name_and_tests_share_is_held() {
    check_text("read ci/style.py", "ci/style.py", "x\n", "y\n", "DecidesChecks");
    check_text("read asserts.py", "asserts.py", "x\n", "y\n", "SharedData");
    check_text("read golden/sums.py", "golden/sums.py", "x\n", "y\n", "SharedData");
    check_text("read app.config.mjs", "app.config.mjs", "x\n", "y\n", "DecidesChecks");
    check_text("read calc.py", "calc.py", "x\n", "y\n", "product");
    check_text("", "json.py", "", "x\n", "TakesAPlace");
    check_text("", "json/__init__.py", "", "x\n", "TakesAPlace");
    check_text("", "numbers_of.py", "", "x\n", "product");
    check_text("missed lib/a/index.js", "lib", "", "x\n", "TakesAPlace");
}

#[test]
fn an_example_that_has_no_place_any_more_is_doubt_and_any_other_is_exchanged() {
    const BASE: &str =
        "/// ```\n/// assert_eq!(demo::one(), 1);\n/// ```\npub fn one() -> u8 {\n    1\n}\n";
    for (now, inline, doubtful) in [
        (BASE.replace("    1\n", "    2 - 1\n"), 0, 0),
        (BASE.replace("one(), 1", "one(), 2"), 1, 0),
        (BASE.replace("/// ```\n/// assert", "/// ```no_run\n/// assert"), 1, 0),
        ("pub fn one() -> u8 {\n    2\n}\n".to_owned(), 1, 0),
        ("pub fn uno() -> u8 {\n    1\n}\n".to_owned(), 0, 1),
    ] {
        let touched = [TouchedFile { path: "src/lib.rs".into(), how: TouchKind::Modified }];
        let none = BTreeSet::new();
        let checks = BaseChecks { results: &[], records: &[], test_patterns: &[], named: &none };
        let text = |text: &str| Some(text.as_bytes().to_vec());
        let sorted = sort(&touched, checks, &|_| text(BASE), &|_| text(&now));
        assert_eq!((sorted.inline.len(), sorted.examples.len()), (inline, doubtful), "{now}");
    }
}
