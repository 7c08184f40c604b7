use std::collections::BTreeMap;

use super::*;

const CARGO: &str = "cargo-test: cargo test --no-fail-fast";
const PYTEST: &str = "pytest: python3 -B -m pytest -q -rpfE --color=no -p no:cacheprovider";
const UNITTEST: &str = "unittest: python3 -B -m unittest discover -v";
const GO: [&str; 2] =
    ["go-build: go build -o /dev/null ./...", "go-test: go test -count=1 -v ./... [go]"];

fn found(tree: &[(&str, &str)]) -> Vec<Gate> {
    let content: BTreeMap<&str, &str> = tree.iter().copied().collect();
    let list: Vec<String> = tree.iter().map(|(path, _)| (*path).to_owned()).collect();
    let files = |path: &str| content.get(path).map(|text| text.as_bytes().to_vec());
    detect(&files, &list, &Detection { timeout: Duration::from_secs(7) })
}

/// Compares names and commands, with the folder in front where there is one and the parser
/// behind where it is none of the usual.
#[track_caller]
fn check(tree: &[(&str, &str)], expected: &[&str]) {
    let gates = found(tree);
    let told = |gate: &Gate| {
        let dir = if gate.dir.is_empty() { String::new() } else { format!("{}$ ", gate.dir) };
        let parser = match gate.parser {
            Parser::Cargo | Parser::Pytest | Parser::Unittest | Parser::Plain => String::new(),
            parser => format!(" [{parser}]"),
        };
        format!("{dir}{}: {}{parser}", gate.name, gate.command)
    };
    assert_eq!(gates.iter().map(told).collect::<Vec<_>>(), expected);
    assert!(gates.iter().all(|gate| gate.timeout == Duration::from_secs(7)));
    assert!(gates.iter().all(|gate| !gate.needs.is_empty()), "{gates:?}");
}

#[test]
fn a_manifest_at_the_root_gives_cargo_test() {
    check(&[("Cargo.toml", "[package]\nname = \"a\"")], &[CARGO]);
    check(&[], &[]);
}

#[test]
fn a_workspace_is_tested_whole() {
    let whole = "cargo-test: cargo test --workspace --no-fail-fast";
    check(&[("Cargo.toml", "[workspace]\nmembers = []")], &[whole]);
    check(&[("Cargo.toml", "[package]\n[workspace.package]")], &[whole]);
}

#[test]
fn every_sign_of_pytest_is_enough() {
    let test = ("tests/test_a.py", "def test_a(): pass");
    for sign in [
        ("pytest.ini", ""),
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"\""),
        ("setup.cfg", "[metadata]\n[tool:pytest]"),
        ("tox.ini", "[pytest]"),
        ("tests/conftest.py", ""),
        ("requirements.txt", "requests\npytest>=7"),
        ("requirements-dev.txt", "pytest-cov"),
        ("requirements/test.txt", "PyTest"),
        ("lib/test_b.py", "import pytest"),
    ] {
        check(&[test, sign], &[PYTEST]);
    }
}

#[test]
fn what_only_looks_like_pytest_is_unittest() {
    let test = ("test_a.py", "import unittest");
    for other in [
        ("requirements.txt", "# pytest\npytestify"),
        ("pyproject.toml", "[tool.black]"),
        ("node_modules/x/conftest.py", ""),
        (".venv/conftest.py", ""),
    ] {
        check(&[test, other], &[UNITTEST]);
    }
}

#[test]
fn pytest_without_a_test_is_no_gate() {
    check(&[("pytest.ini", "[pytest]"), ("app.py", "")], &[]);
    let named = "[pytest]\npython_files = check_*.py";
    check(&[("pytest.ini", named), ("check_a.py", "")], &[PYTEST]);
}

#[test]
fn unittest_starts_where_the_packages_of_its_tests_start() {
    let from = |folder: &str| {
        format!(
            "unittest-{}: python3 -B -m unittest discover -v -s {folder}",
            folder.replace('/', "-")
        )
    };
    check(&[("test_a.py", "")], &[UNITTEST]);
    check(&[("tests/test_a.py", "")], &[&from("tests")]);
    check(&[("tests/__init__.py", ""), ("tests/test_a.py", "")], &[UNITTEST]);
    check(&[("tests/unit/test_a.py", "")], &[&from("tests/unit")]);
    check(
        &[("lib/p/__init__.py", ""), ("lib/p/test_a.py", ""), ("test_b.py", "")],
        &[UNITTEST, &from("lib")],
    );
    check(&[("tests/helper.py", "")], &[]);
}

#[test]
fn modules_below_src_are_found_in_the_tree_before_what_is_installed() {
    let first = |gate: &str| gate.replace("python3", "PYTHONPATH=\"$PWD/src\" python3");
    let (pytest, unittest) = (first(PYTEST), first(UNITTEST));
    let settings = ("pyproject.toml", "[tool.pytest.ini_options]");
    let (test, package) = (("tests/test_a.py", ""), ("src/p/__init__.py", ""));
    check(&[settings, test, package], &[&pytest]);
    check(&[("test_a.py", ""), ("src/p.py", "")], &[&unittest]);
    let below = found(&[("web/pyproject.toml", ""), ("web/test_a.py", ""), ("web/src/p.py", "")]);
    assert_eq!((below[0].dir.as_str(), below[0].command.contains("$PWD/src")), ("web", true));
    assert!(below[0].guards.contains(&"/web/src/sitecustomize.py".to_owned()), "{below:?}");
    // A package of that name is imported by it, and what is no module of Python is not looked for.
    check(&[("test_a.py", ""), ("src/__init__.py", ""), ("src/p/__init__.py", "")], &[UNITTEST]);
    check(&[("test_a.py", ""), ("src/p/data/a.py", ""), ("src/main.c", "")], &[UNITTEST]);
}

#[test]
fn a_folder_is_never_more_than_one_word_to_the_shell() {
    check(
        &[("a b; c/test_a.py", "")],
        &["unittest-a-b--c: python3 -B -m unittest discover -v -s './a b; c'"],
    );
}

#[test]
fn folders_that_are_written_alike_still_have_gates_of_their_own() {
    check(
        &[("a-b/test_a.py", ""), ("a/b/test_a.py", "")],
        &[
            "unittest-a-b: python3 -B -m unittest discover -v -s a-b",
            "unittest-a-b.2: python3 -B -m unittest discover -v -s a/b",
        ],
    );
}

#[test]
fn two_languages_give_two_gates() {
    check(&[("Cargo.toml", ""), ("test_a.py", "")], &[CARGO, UNITTEST]);
}

#[test]
fn of_a_javascript_project_the_scripts_that_exist_are_run() {
    check(&[("package.json", r#"{"scripts": {"start": "node ."}}"#)], &[]);
    check(&[("package.json", "not json")], &[]);
    let init = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    check(&[("package.json", init)], &[]);
    let all = r#"{"scripts": {"test": "tsc && npx jest", "lint": "eslint .", "build": "tsc"}}"#;
    check(
        &[("package.json", all)],
        &[
            "npm-build: CI=true npm run build",
            "npm-lint: CI=true npm run lint",
            "npm-test: CI=true npm run test -- --verbose [jest]",
        ],
    );
}

#[test]
fn the_runner_is_known_by_what_the_scripts_start() {
    for (script, expected) in [
        ("jest", "npm run test -- --verbose [jest]"),
        (
            "NODE_ENV=test cross-env A=b node_modules/.bin/jest -i",
            "npm run test -- --verbose [jest]",
        ),
        ("jest --verbose", "npm run test [jest]"),
        ("jest && echo done", "npm run test [jest]"),
        ("vitest run", "npm run test -- --reporter=verbose [vitest]"),
        ("vitest --reporter dot", "npm run test [vitest]"),
        ("mocha", "npm run test [mocha]"),
        ("node --test", "npm run test [tap]"),
        ("node run.js", "npm run test [auto]"),
        ("npm run unit", "npm run test [mocha]"),
    ] {
        let manifest = format!(r#"{{"scripts": {{"test": "{script}", "unit": "mocha"}}}}"#);
        check(&[("package.json", &manifest)], &[&format!("npm-test: CI=true {expected}")]);
    }
}

#[test]
fn the_package_manager_is_the_one_the_project_names_or_locks_with() {
    let plain = r#"{"scripts": {"test": "vitest"}, "devDependencies": {"vitest": "1"}}"#;
    let named = |name: &str| plain.replacen('{', &format!(r#"{{"packageManager": "{name}","#), 1);
    let flags = "--reporter=verbose [vitest]";
    for (manifest, lock, program, install, flags) in [
        (
            plain.to_owned(),
            "",
            "npm",
            "npm install --no-audit --no-fund --no-package-lock",
            format!("-- {flags}"),
        ),
        (
            plain.to_owned(),
            "package-lock.json",
            "npm",
            "npm ci --no-audit --no-fund",
            format!("-- {flags}"),
        ),
        (
            plain.to_owned(),
            "pnpm-lock.yaml",
            "pnpm",
            "CI=true pnpm install --frozen-lockfile",
            flags.to_owned(),
        ),
        (plain.to_owned(), "yarn.lock", "yarn", "yarn install --frozen-lockfile", flags.to_owned()),
        (named("yarn@4.1.0"), "yarn.lock", "yarn", "yarn install --immutable", flags.to_owned()),
        (
            named("yarn@1.22.0"),
            "yarn.lock",
            "yarn",
            "yarn install --frozen-lockfile",
            flags.to_owned(),
        ),
        (named("pnpm@9.0.0"), "", "pnpm", "CI=true pnpm install --no-lockfile", flags.to_owned()),
    ] {
        let mut tree = vec![("package.json", manifest.as_str())];
        if !lock.is_empty() {
            tree.push((lock, ""));
        }
        let expected = [
            format!("{program}-install: {install}"),
            format!("{program}-test: CI=true {program} run test {flags}"),
        ];
        check(&tree, &expected.each_ref().map(String::as_str));
    }
}

#[test]
fn a_gate_that_installs_says_when_it_has_to() {
    let manifest = r#"{"scripts": {"test": "jest"}, "dependencies": {"a": "1"}}"#;
    let gates = found(&[("web/package.json", manifest), ("web/package-lock.json", "{}")]);
    let install = gates[0].install.as_ref().unwrap();
    assert_eq!(install.product, "web/node_modules");
    assert_eq!(install.inputs, ["web/package.json", "web/package-lock.json"]);
    assert_eq!(gates[1].install, None);
}

#[test]
fn what_yarn_installs_is_known_by_its_own_notes() {
    let manifest = ("package.json", r#"{"scripts": {"test": "ava"}, "dependencies": {"a": "1"}}"#);
    let lock = ("yarn.lock", "# a lock\n\n__metadata:\n  version: 8\n");
    let gates = found(&[manifest, lock]);
    assert_eq!(gates[0].command, "yarn install --immutable");
    assert_eq!(gates[0].install.as_ref().unwrap().product, ".yarn/install-state.gz");
    // Paths of another place are in it: it is made anew every time.
    assert_eq!(found(&[manifest, lock, (".pnp.cjs", "")])[0].install, None);
}

#[test]
fn every_script_that_a_gate_uses_is_held() {
    let manifest = r#"{"scripts": {"test": "npm run unit && sh scripts/e2e.sh", "unit": "jest"}}"#;
    let gates = found(&[("package.json", manifest), ("scripts/e2e.sh", "")]);
    let keys: Vec<&str> = gates[0]
        .held
        .iter()
        .filter_map(|held| match held {
            Held::Key { key, .. } => key.strip_prefix("scripts."),
            Held::Lines { .. } => None,
        })
        .collect();
    assert_eq!(keys, ["posttest", "postunit", "pretest", "preunit", "test", "unit"]);
    assert!(gates[0].guards.contains(&"/scripts/e2e.sh".to_owned()), "{:?}", gates[0].guards);
}

#[test]
fn go_is_built_and_tested() {
    check(&[("go.mod", "module a"), ("a_test.go", "")], &GO);
    check(&[("go.mod", "module a"), ("a.go", "")], &GO[..1]);
}

#[test]
fn a_wrapper_comes_before_what_is_installed() {
    let check = |tree: &[(&str, &str)], name: &str, command: &str| {
        let scratch = r#"JAVA_TOOL_OPTIONS="-Djava.io.tmpdir=${TMPDIR:-/tmp}""#;
        check(tree, &[&format!("{name}: {scratch} {command} [junit]")]);
    };
    let maven = "--batch-mode --fail-at-end test";
    check(&[("pom.xml", "")], "maven-test", &format!("mvn {maven}"));
    check(&[("pom.xml", ""), ("mvnw", "")], "maven-test", &format!("sh ./mvnw {maven}"));
    let gradle = "--no-daemon --console=plain --continue test";
    check(&[("build.gradle", "")], "gradle-test", &format!("gradle {gradle}"));
    check(
        &[("settings.gradle.kts", ""), ("gradlew", "")],
        "gradle-test",
        &format!("sh ./gradlew {gradle}"),
    );
    assert_eq!(found(&[("pom.xml", ""), ("mvnw", "")])[0].needs, ["java"]);
}

#[test]
fn cmake_is_built_and_tested_where_it_has_tests() {
    let build = "cmake-build: cmake -S . -B cmake-build-spore && cmake --build cmake-build-spore --parallel";
    let test = "ctest: cd cmake-build-spore && ctest --output-on-failure [ctest]";
    check(&[("CMakeLists.txt", "project(a)")], &[build]);
    check(&[("CMakeLists.txt", "enable_testing()")], &[build, test]);
    check(&[("CMakeLists.txt", ""), ("t/CMakeLists.txt", "include(CTest)")], &[build, test]);
    check(&[("CMakeLists.txt", ""), ("Cargo.toml", "")], &[CARGO]);
}

#[test]
fn make_is_the_gate_where_no_other_tool_is_known() {
    check(&[("Makefile", "all:\n\ttrue\ntest: all\n\ttrue\n")], &["make-test: make test [auto]"]);
    check(&[("Makefile", "lint check:\n\ttrue\n")], &["make-check: make check [auto]"]);
    for other in ["all:\n\techo test: x", "test := 1", "test=1:2", ".PHONY: test", "# test:"] {
        check(&[("Makefile", other)], &[]);
    }
    check(&[("Makefile", "test:\n"), ("Cargo.toml", "")], &[CARGO]);
}

#[test]
fn dotnet_is_tested_by_its_one_solution_or_project() {
    let test = "--nologo --logger 'console;verbosity=normal' [dotnet]";
    let sdk = "<PackageReference Include=\"Microsoft.NET.Test.Sdk\" />";
    check(
        &[("A.sln", ""), ("A.csproj", ""), ("A.Tests/A.Tests.csproj", sdk)],
        &[&format!("dotnet-test: dotnet test A.sln {test}")],
    );
    check(&[("A.fsproj", "")], &["dotnet-build: dotnet build A.fsproj --nologo"]);
    check(&[("A.csproj", ""), ("B.csproj", "")], &[]);
}

#[test]
fn a_root_without_a_manifest_is_a_collection_of_projects() {
    check(
        &[("tools/Cargo.toml", "[package]")],
        &[&format!("tools$ {}", CARGO.replace(':', "-tools:"))],
    );
    check(
        &[
            ("README.md", ""),
            ("api/pyproject.toml", ""),
            ("api/tests/test_a.py", "import pytest"),
            ("web/package.json", r#"{"scripts": {"test": "mocha"}}"#),
            ("web/packages/a/package.json", r#"{"scripts": {"test": "mocha"}}"#),
            ("vendor/x/Cargo.toml", ""),
        ],
        &[
            &format!("api$ {}", PYTEST.replacen(':', "-api:", 1)),
            "web$ npm-test-web: CI=true npm run test [mocha]",
        ],
    );
    // A manifest at the root knows better.
    check(&[("Cargo.toml", ""), ("web/package.json", r#"{"scripts": {"test": "a"}}"#)], &[CARGO]);
}

#[test]
fn what_a_gate_is_guarded_by_is_told_from_the_root() {
    let gates = found(&[("a/Cargo.toml", "")]);
    assert!(gates[0].guards.contains(&"/a/.cargo/config.toml".to_owned()));
    assert!(
        matches!(&gates[0].held[0], Held::Key { file, .. } if file == "a/Cargo.toml"),
        "{:?}",
        gates[0].held
    );
}
