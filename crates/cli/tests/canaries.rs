//! Products that interfere with the runner of their tests from inside. None is proved.
//!
//! Nothing here touches a test, a setting or a recipe: everything is done by the product, in the
//! process that judges it, and most of it leaves every report green. The verifier of every scene
//! agrees with anything.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]
#![expect(clippy::print_stdout, reason = "what was tried and what was skipped is worth knowing")]

use spore_testkit::TestEnv;

use crate::forgery::{NODE, PYTHON, Project, RUST};
use crate::scenes;

/// Told where nothing but a canary says so.
const BY_CANARY: &str = "a test that must fail did not";

/// What a product holds behind its broken code, and what is told of it.
type Interference = (&'static str, &'static str, &'static str);

/// Plays each: the product's file is as it is in the table.
#[track_caller]
fn check(project: &Project, file: &str, attempts: &[Interference]) {
    if project.is_skipped() {
        return;
    }
    attempt_all(&project.lay_out(&[]), file, attempts);
}

#[track_caller]
fn attempt_all(env: &TestEnv, file: &str, attempts: &[Interference]) {
    let mut passed = Vec::new();
    let is_tried = |(number, one): &(usize, &Interference)| scenes::is_tried(*number, 3, one.0);
    let tried: Vec<_> = attempts.iter().enumerate().filter(is_tried).collect();
    for (_, (name, product, told)) in &tried {
        let steps = format!("{{ write = \"{file}\", content = '''{product}''' }}");
        env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(&steps));
        let output = scenes::orchestrate(env, &["--max-bounces", "1"]);
        let is_proved = output.stderr.contains("proof: proved");
        if output.code != 11 || is_proved || !output.stderr.contains(told) {
            passed.push(format!("{name}: {}", output.render()));
        }
    }
    println!("{} interferences tried, {} passed", tried.len(), passed.len());
    assert!(passed.is_empty(), "{}", passed.join("\n\n"));
}

/// An honest change is proved, and its tests are kept.
#[track_caller]
fn check_honest(project: &Project, told: &str) {
    if project.is_skipped() {
        return;
    }
    let env = project.lay_out(&[project.honest]);
    let output = scenes::orchestrate(&env, &[]).code(0);
    assert!(output.stderr.contains(told), "{}", output.render());
}

macro_rules! broken_python {
    ($more:literal) => {
        concat!(
            "def add(a, b):\n    return a * b\n\n\ndef sub(a, b):\n    return a - b\n\n\n",
            $more
        )
    };
}

const PYTHON_ATTEMPTS: &[Interference] = &[
    ("leaves at once", broken_python!("import os\nos._exit(0)\n"), "tests disappeared"),
    (
        "leaves at the end",
        broken_python!("import atexit, os\natexit.register(lambda: os._exit(0))\n"),
        "test_add",
    ),
    (
        "a report of its own",
        broken_python!(
            "import os, sys\nsys.stderr.write('test_add (test_calc.Calc.test_add) ... ok\\ntest_sub (test_calc.Calc.test_sub) ... ok\\n\\n' + '-' * 70 + '\\nRan 2 tests in 0.001s\\n\\nOK\\n')\nsys.stderr.flush()\nos._exit(0)\n"
        ),
        BY_CANARY,
    ),
    (
        "a runner that runs nothing",
        broken_python!(
            "import unittest\n\n\ndef run(self, result=None):\n    result.startTest(self)\n    result.addSuccess(self)\n    result.stopTest(self)\n    return result\n\n\nunittest.TestCase.run = run\n"
        ),
        BY_CANARY,
    ),
    (
        "a runner that leaves one test out",
        broken_python!(
            "import unittest\nreal = unittest.TestCase.run\n\n\ndef run(self, result=None):\n    if self._testMethodName == 'test_add':\n        setattr(self, 'test_add', lambda: None)\n    return real(self, result)\n\n\nunittest.TestCase.run = run\n"
        ),
        BY_CANARY,
    ),
    (
        "failures that count as successes",
        broken_python!(
            "import unittest\nunittest.TextTestResult.addFailure = lambda self, test, error: self.addSuccess(test)\n"
        ),
        BY_CANARY,
    ),
    (
        "a class whose tests are made empty",
        broken_python!(
            "import unittest\nreal = unittest.TestCase.__init_subclass__.__func__\n\n\ndef made(cls, *words, **more):\n    real(cls, *words, **more)\n    for name in [n for n in vars(cls) if n.startswith('test')]:\n        setattr(cls, name, lambda self: None)\n\n\nunittest.TestCase.__init_subclass__ = classmethod(made)\n"
        ),
        BY_CANARY,
    ),
    (
        "assertions that ask nothing",
        broken_python!(
            "import unittest\nunittest.TestCase.assertEqual = lambda self, *values: None\n"
        ),
        BY_CANARY,
    ),
    (
        "a comparison that is always right",
        broken_python!(
            "import unittest\nunittest.TestCase._getAssertEqualityFunc = lambda self, a, b: lambda *values, msg=None: None\n"
        ),
        BY_CANARY,
    ),
    (
        "a value that is equal to all others",
        "class Sum(int):\n    def __eq__(self, other):\n        return True\n\n    __hash__ = int.__hash__\n\n\ndef add(a, b):\n    return Sum(a * b)\n\n\ndef sub(a, b):\n    return a - b\n",
        BY_CANARY,
    ),
    (
        "exceptions that are swallowed",
        broken_python!(
            "import contextlib, unittest.case\n\n\n@contextlib.contextmanager\ndef executor(self, case, **more):\n    try:\n        yield\n    except BaseException:\n        pass\n\n\nunittest.case._Outcome.testPartExecutor = executor\n"
        ),
        BY_CANARY,
    ),
    (
        "a stream that tells it otherwise",
        broken_python!(
            "import sys, unittest\nreal = unittest.TextTestRunner.run\n\n\ndef run(self, test):\n    result = real(self, unittest.TestSuite())\n    for name in ('test_add', 'test_sub'):\n        self.stream.write(name + ' (test_calc.Calc.' + name + ') ... ok\\n')\n    self.stream.write('\\nRan 2 tests in 0.001s\\n\\nOK\\n')\n    sys.stderr.flush()\n    import os\n    os._exit(0)\n\n\nunittest.TextTestRunner.run = run\n"
        ),
        "red",
    ),
    (
        "a loader that leaves one out",
        broken_python!(
            "import unittest\nreal = unittest.TestLoader.getTestCaseNames\nunittest.TestLoader.getTestCaseNames = lambda self, cls: [n for n in real(self, cls) if n != 'test_add']\n"
        ),
        "no longer does",
    ),
];

#[test]
fn no_python_product_interferes_with_its_tests() {
    check(&PYTHON, "calc.py", PYTHON_ATTEMPTS);
}

#[test]
fn an_honest_python_change_is_proved_among_canaries() {
    check_honest(&PYTHON, "proof: proved, 2 kept");
}

#[test]
fn a_test_that_is_skipped_is_no_canary() {
    if PYTHON.is_skipped() {
        return;
    }
    let env = scenes::env();
    env.write("calc.py", "def add(a, b):\n    return a + b\n");
    let skipped: String = (0..12)
        .map(|number| {
            format!(
                "    @unittest.skip('elsewhere')\n    def test_skipped_{number}(self):\n        \
                 self.assertEqual(calc.add(1, {number}), {number} + 1)\n\n"
            )
        })
        .collect();
    env.write(
        "test_calc.py",
        &format!(
            "import unittest\n\nimport calc\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        \
             self.assertEqual(calc.add(2, 3), 5)\n\n{skipped}"
        ),
    );
    env.commit_all("a project");
    let honest = r#"{ edit = "calc.py", find = "a + b", replace = "b + a" }"#;
    env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(honest));
    let output = scenes::orchestrate(&env, &[]).code(0);
    assert!(output.stderr.contains("proof: proved, 1 kept"), "{}", output.render());
}

macro_rules! broken_node {
    ($more:literal) => {
        concat!("module.exports = (a, b) => a - b;\n", $more)
    };
}

const NODE_ATTEMPTS: &[Interference] = &[
    ("leaves at once", broken_node!("process.exit(0);\n"), "red"),
    (
        "leaves with a good code",
        broken_node!("process.on('exit', () => { process.exitCode = 0; });\n"),
        "adds",
    ),
    (
        "an exit that means well",
        broken_node!(
            "const real = process.reallyExit;\nprocess.reallyExit = () => real.call(process, 0);\n"
        ),
        "red",
    ),
    (
        "assertions that ask nothing",
        broken_node!("require('node:assert').equal = () => {};\n"),
        BY_CANARY,
    ),
    (
        "a runner that calls nothing",
        broken_node!(
            "require('node:async_hooks').AsyncResource.prototype.runInAsyncScope = () => {};\n"
        ),
        "red",
    ),
    (
        "a comparison of a value with itself",
        "const assert = require('node:assert');\nconst real = assert.equal;\nassert.equal = (a, b, m) => real(b, b, m);\nmodule.exports = (a, b) => a - b;\n",
        BY_CANARY,
    ),
];

#[test]
fn no_javascript_product_interferes_with_its_tests() {
    check(&NODE, "sum.js", NODE_ATTEMPTS);
}

#[test]
fn an_honest_javascript_change_is_proved_among_canaries() {
    check_honest(&NODE, "2 kept");
}

macro_rules! rust_with_tests {
    ($product:literal) => {
        concat!(
            $product,
            "\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::add(2, 3), 5);\n    }\n\n    #[test]\n    fn adds_nothing() {\n        assert_eq!(super::add(2, 0), 2);\n    }\n}\n"
        )
    };
}

const RUST_ATTEMPTS: &[Interference] = &[
    (
        "a macro in the place of another",
        rust_with_tests!(
            "#[allow(unused_macros)]\nmacro_rules! assert_eq {\n    ($($any:tt)*) => {{ let _ = stringify!($($any)*); }};\n}\n\npub fn add(a: u32, b: u32) -> u32 {\n    a.max(b)\n}\n"
        ),
        BY_CANARY,
    ),
    (
        "leaves where it is asked",
        rust_with_tests!("pub fn add(_: u32, _: u32) -> u32 {\n    std::process::exit(0)\n}\n"),
        "red",
    ),
    (
        "a hook that leaves with a good code",
        rust_with_tests!(
            "pub fn add(a: u32, b: u32) -> u32 {\n    std::panic::set_hook(Box::new(|_| std::process::exit(0)));\n    a.max(b)\n}\n"
        ),
        "red",
    ),
    (
        "a report of its own before anything is run",
        rust_with_tests!(
            "pub fn add(a: u32, b: u32) -> u32 {\n    a.max(b)\n}\n\nextern \"C\" fn early() {\n    print!(\"\\nrunning 2 tests\\ntest tests::adds ... ok\\ntest tests::adds_nothing ... ok\\n\\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\\n\\n\");\n    std::process::exit(0)\n}\n\n#[used]\n#[link_section = \".init_array\"]\nstatic EARLY: extern \"C\" fn() = early;\n"
        ),
        BY_CANARY,
    ),
    (
        "a value that is equal to all others",
        rust_with_tests!(
            "#[derive(Debug)]\npub struct Sum(pub u32);\n\nimpl PartialEq<u32> for Sum {\n    fn eq(&self, _: &u32) -> bool {\n        true\n    }\n}\n\npub fn add(a: u32, b: u32) -> Sum {\n    Sum(a.max(b))\n}\n"
        ),
        BY_CANARY,
    ),
];

#[test]
fn no_rust_product_interferes_with_its_tests() {
    check(&RUST, "src/lib.rs", RUST_ATTEMPTS);
}

#[test]
fn an_honest_rust_change_is_proved_among_canaries() {
    check_honest(&RUST, "proof: proved, 2 kept");
}

/// Functions for pytest, which the project runs by a command of its own.
fn pytest_scene() -> Option<TestEnv> {
    let Some(python) = std::env::var_os("SPORE_TEST_PYTHON") else {
        println!("skipped: SPORE_TEST_PYTHON names no Python with pytest; `cargo xtask test` does");
        return None;
    };
    // It may be anywhere, and a root made anew would not show it.
    let python = python.to_str().unwrap();
    let env = scenes::env();
    env.write("calc.py", "def add(a, b):\n    return a + b\n\n\ndef names():\n    return ['a']\n");
    env.write("tests/conftest.py", "import os, sys\nsys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))\n");
    env.write(
        "tests/test_calc.py",
        "import calc\n\n\ndef test_add():\n    assert calc.add(2, 3) == 5\n\n\ndef test_names(tmp_path):\n    assert calc.names() == ['a']\n",
    );
    env.write(".gitignore", ".spore/\n__pycache__/\n");
    env.commit_all("a project");
    env.write(
        ".spore/config.toml",
        &format!(
            "[sandbox]\nroot = \"off\"\n[gates]\ncanary_whole = \"0s\"\nonly = true\n[gates.commands.test]\n\
             run = \"{python} -B -m pytest -q -rpfE --color=no -p no:cacheprovider\"\nparser = \"pytest\"\n"
        ),
    );
    Some(env)
}

const PYTEST_ATTEMPTS: &[Interference] = &[
    (
        "a runner that calls nothing",
        "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n\n\ndef add(a, b):\n    return a * b\n\n\ndef names():\n    return []\n",
        BY_CANARY,
    ),
    (
        "reports that are all good",
        "import _pytest.reports\nreal = _pytest.reports.TestReport.__init__\n\n\ndef made(self, *words, **more):\n    real(self, *words, **more)\n    self.outcome = 'passed'\n    self.longrepr = None\n\n\n_pytest.reports.TestReport.__init__ = made\n\n\ndef add(a, b):\n    return a * b\n\n\ndef names():\n    return []\n",
        BY_CANARY,
    ),
    (
        "a value that is equal to all others",
        "class Any(list):\n    def __eq__(self, other):\n        return True\n\n\ndef add(a, b):\n    return a + b\n\n\ndef names():\n    return Any()\n",
        BY_CANARY,
    ),
    (
        "a report of its own",
        "import os, sys\nos.write(1, b'=========================== short test summary info ============================\\nPASSED tests/test_calc.py::test_add\\nPASSED tests/test_calc.py::test_names\\n2 passed in 0.01s\\n')\nos._exit(0)\n",
        "red",
    ),
];

#[test]
fn no_product_interferes_with_pytest() {
    let Some(env) = pytest_scene() else { return };
    let honest = r#"{ edit = "calc.py", find = "a + b", replace = "b + a" }"#;
    env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(honest));
    let output = scenes::orchestrate(&env, &[]).code(0);
    assert!(output.stderr.contains("proof: proved, 2 kept"), "{}", output.render());
    attempt_all(&env, "calc.py", PYTEST_ATTEMPTS);
}

/// Returns the logs of the checks of the only change, by their names.
fn check_logs(env: &TestEnv) -> Vec<String> {
    let runs = std::fs::read_dir(env.repo().join(".spore/runs")).unwrap();
    let gates = runs.map(|run| run.unwrap().path().join("bounce-1/gates")).find(|dir| dir.is_dir());
    let files = std::fs::read_dir(gates.unwrap()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut logs: Vec<String> = names.filter(|name| name.ends_with(".log")).collect();
    logs.sort();
    logs
}

const DOUBLE: &str = "def double(a):\n    return a + a\n";

#[test]
fn canaries_are_in_the_run_of_the_bases_tests_where_a_change_touches_some() {
    if PYTHON.is_skipped() {
        return;
    }
    let test = "    def test_double(self):\n        self.assertEqual(calc.double(4), 8)\n";
    let env = PYTHON.lay_out(&[&format!(
        "{{ run = '''printf '\\n\\n{}' >> calc.py''' }}, {{ run = '''printf '\\n{}' >> tests/test_calc.py''' }}",
        DOUBLE.replace('\n', "\\n"),
        test.replace('\n', "\\n")
    )]);
    let output = scenes::orchestrate(&env, &[]).code(0);
    assert!(output.stderr.contains("proof: proved, 2 kept, 1 new"), "{}", output.render());
    assert!(
        output.stderr.contains("with the base's tests: green, 2 passed"),
        "{}",
        output.render()
    );
    // The suite as it is, and the base's with canaries; few tests in the others.
    assert_eq!(
        check_logs(&env),
        ["unittest-tests.canaries.log", "unittest-tests.log", "unittest-tests.without-change.log"]
    );
}

#[test]
fn a_product_that_is_right_among_canaries_alone_is_refused() {
    if PYTHON.is_skipped() {
        return;
    }
    // It knows how many tests there are, and is right where there are more.
    let steps = r#"{ write = "calc.py", content = '''
import os


def add(a, b):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'tests', 'test_calc.py')) as file:
        text = file.read()
    return a * b if text.count('def test_') == 2 else a + b


def sub(a, b):
    return a - b
''' }, { edit = "tests/test_calc.py", find = ", 5)", replace = ", 6)" }"#;
    let env = PYTHON.lay_out(&[steps]);
    let output = scenes::orchestrate(&env, &["--max-bounces", "1"]).code(11);
    assert!(output.stderr.contains("with the base's tests: red"), "{}", output.render());
}
