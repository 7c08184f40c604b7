//! A test that does not say the same twice at the base decides nothing about a change, and a steady one
//! does.

use crate::scenes;

/// Two tests are steady. The third passes where nothing was left behind by a run before, which is so
/// in the first run of a base and never again: what a base's checks leave is there for all others.
const TESTS: &str = "import os, sys, unittest\n\
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))\nimport calc\n\n\n\
    class Calc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(2, 3), 5)\n\n    \
    def test_adds_nothing(self):\n        self.assertEqual(calc.add(2, 0), 2)\n\n    \
    def test_moody(self):\n        left = os.path.exists('left.state')\n        open('left.state', 'w').close()\n        \
    self.assertFalse(left)\n";

#[test]
fn a_flaky_test_of_the_base_rejects_nothing_and_a_steady_one_does() {
    let env = scenes::env();
    env.write("calc.py", "def add(a, b):\n    return b + a\n");
    env.write("tests/test_calc.py", TESTS);
    env.write(".gitignore", ".spore/\n__pycache__/\n*.state\n");
    env.commit_all("a project");
    let write = |content: &str| {
        format!("{{ write = \"calc.py\", content = \"def add(a, b):\\n    return {content}\\n\" }}")
    };
    let coder = |bounce: u32, steps: &str| {
        format!(
            "[[session]]\nrole = \"coder\"\nbounce = {bounce}\nfinal = \"done\"\nsteps = [{steps}]\n"
        )
    };
    let told = r#"{ expect = "test_add" }, "#;
    let scenario = [
        coder(1, &write("a - b")),
        coder(2, &format!("{told}{}", write("a + b"))),
        "[[session]]\nrole = \"verifier\"\nbounce = 2\n\
         steps = [{ expect = \"fails, and does so at the base now and then: it decides nothing\" }]\n\
         final = '''<verdict>{\"nonce\":\"$NONCE\",\"verdict\":\"supports\"}</verdict>'''\n"
            .to_owned(),
    ];
    env.write_at(&env.dir().join("scenario.toml"), &scenario.concat());
    let output = scenes::orchestrate(&env, &[]).code(0);
    let shown = scenes::shown(&env);
    let bounces = shown["bounces"].as_array().unwrap();
    assert_eq!(bounces.len(), 2, "{}", output.render());
    let first = bounces[0]["gates"].to_string();
    assert!(first.contains("red, failing: test_add"), "{first}");
    assert!(!first.contains("test_moody"), "{first}");
    let proof = &bounces[1]["proof"];
    assert_eq!(proof["level"], "checked", "{proof}");
    assert!(proof["doubts"].to_string().contains("test_moody"), "{proof}");
    assert!(!proof["doubts"].to_string().contains("as they did before"), "{proof}");
}
