use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::{GateKind, Parser};

/// `tree` has a file a line, `path: content` with `|` for line breaks and `»` for a tab. Told
/// are files that are read or run; those after `?` must have been looked for in vain.
#[track_caller]
fn check(tree: &str, command: &str, expected: &str) {
    let (dir, command) = command.split_once("> ").unwrap_or(("", command));
    let tree: BTreeMap<String, String> = tree
        .lines()
        .map(|line| line.trim().split_once(':').unwrap_or((line.trim(), "")))
        .filter(|(path, _)| !path.is_empty())
        .map(|(path, text)| (path.to_owned(), text.trim().replace('|', "\n").replace('»', "\t")))
        .collect();
    let files = tree.keys().cloned().collect();
    let mut gate =
        Gate::new("test", command, GateKind::Test, Parser::Plain, Duration::from_secs(1));
    gate.dir = dir.to_owned();
    let read = |path: &str| tree.get(path).map(|text| text.clone().into_bytes());
    let recording = follow(&gate, &files, &read);
    assert_eq!((recording.method, recording.complete), (RecordingMethod::Followed, false));
    let (expected, missed) = expected.split_once('?').unwrap_or((expected, ""));
    let told: Vec<&str> = recording.read.union(&recording.run).map(String::as_str).collect();
    assert_eq!(told.join(" "), expected.trim());
    for path in missed.split_whitespace() {
        assert!(recording.missed.contains(path), "{path} is not in {:?}", recording.missed);
    }
}

#[test]
fn scripts_are_followed_through_those_they_call() {
    let tree = "ci/check.sh: #!/bin/sh|set -e|cd \"$(dirname \"$0\")/..\"|. ci/lib.sh|sh ci/deep.sh data.txt
        ci/lib.sh: run() { ./tools/run; }
        ci/deep.sh: python3 ci/test.py --config=ci/test.toml > out.txt
        ci/test.py
        ci/test.toml
        tools/run: #!/usr/bin/env bash|source \"$HERE/env.sh\"
        tools/env.sh
        data.txt
        out.txt
        unused.sh";
    let all =
        "ci/check.sh ci/deep.sh ci/lib.sh ci/test.py ci/test.toml data.txt tools/env.sh tools/run";
    check(tree, "sh ci/check.sh", all);
    check(tree, "cd ci && bash -c 'sh check.sh'", all);
    check(tree, "ci> ./test.py", "ci/test.py");
    check(tree, "echo unused", "");
}

#[test]
fn makefiles_are_followed_to_includes_recipes_and_other_makefiles() {
    let tree = "Makefile: include mk/*.mk $(TOP)/rules.make|-include local.mk|T = scripts/t.sh|test: a.c|»@$(SHELL) $(T)|»cd sub \\|  && $(MAKE) check|»$(MAKE) -C other -f Own.mk
        mk/one.mk: lint: ; sh scripts/lint.sh
        build/rules.make
        scripts/t.sh
        scripts/lint.sh
        sub/makefile: check:|»./run.py
        sub/run.py: #!/usr/bin/env python3
        other/Own.mk
        other/Makefile
        a.c";
    check(
        tree,
        "make -s test",
        "Makefile build/rules.make mk/one.mk other/Own.mk scripts/lint.sh scripts/t.sh sub/makefile sub/run.py \
         ? GNUmakefile makefile sub/GNUmakefile local.mk",
    );
    check(tree, "sub> make", "sub/makefile sub/run.py");
    check(tree, "make -Cother -fOwn.mk", "other/Own.mk");
}

#[test]
fn scripts_of_manifests_are_followed_into_workspaces() {
    let tree = r#"package.json: {"scripts":{"test":"npm run unit && npm run all --workspaces","pretest":"node tools/prepare.js","unit":"mocha","lint":"eslint .","ci":"run-s lint unit"},"workspaces":["packages/*"]}
        tools/prepare.js
        .mocharc.json
        packages/a/package.json: {"scripts":{"all":"jest -c conf.js"}}
        packages/a/conf.js
        packages/b/package.json: {"scripts":{"build":"sh x.sh"}}
        packages/b/x.sh
        node_modules/x/package.json: {"scripts":{"all":"sh evil.sh"}}
        eslint.config.js"#;
    check(
        tree,
        "npm test --silent",
        ".mocharc.json package.json packages/a/conf.js packages/a/package.json \
         packages/b/package.json tools/prepare.js ? .npmrc .mocharc.js packages/a/jest.config.js",
    );
    check(tree, "yarn ci", ".mocharc.json eslint.config.js package.json");
    check(tree, "pnpm --dir packages/b run build", "packages/b/package.json packages/b/x.sh");
}

#[test]
fn tools_look_for_their_settings_where_they_run_and_above() {
    let tree = "pyproject.toml
        conftest.py
        tests/conftest.py
        tests/unit/test_a.py
        setup.py";
    check(
        tree,
        "python3 -m pytest -q tests/unit/test_a.py",
        "conftest.py pyproject.toml tests/conftest.py tests/unit/test_a.py ? pytest.ini tox.ini setup.cfg sitecustomize.py",
    );
    check(
        tree,
        "tests> PYTHONPATH=.. uv run pytest",
        "conftest.py pyproject.toml tests/conftest.py ? tests/pytest.ini",
    );
    let tree = "Cargo.toml
        Cargo.lock
        crates/a/Cargo.toml
        crates/a/build.rs
        crates/a/src/lib.rs
        .cargo/config.toml
        clippy.toml";
    let cargo = ".cargo/config.toml Cargo.lock Cargo.toml";
    let members = "crates/a/Cargo.toml crates/a/build.rs";
    check(tree, "cargo test", &format!("{cargo} {members} ? build.rs rust-toolchain.toml"));
    check(tree, "cargo clippy --all-targets", &format!("{cargo} clippy.toml {members}"));
    check("go.mod\n go.sum\n a.go", "go test ./...", "go.mod go.sum ? go.work");
}

#[test]
fn cmake_files_are_followed_to_what_they_include() {
    let tree = "CMakeLists.txt: include(cmake/opts.cmake)|INCLUDE (Warn)|add_subdirectory( \"test\" )|# include(no.cmake)
        cmake/opts.cmake
        cmake/Warn.cmake
        cmake/no.cmake
        test/CMakeLists.txt: include(${CMAKE_SOURCE_DIR}/cmake/gone.cmake)
        src/CMakeLists.txt";
    check(
        tree,
        "cmake -S . -B build && ctest --test-dir build",
        "CMakeLists.txt cmake/Warn.cmake cmake/opts.cmake test/CMakeLists.txt ? CMakePresets.json",
    );
}

#[test]
fn circles_and_long_chains_come_to_an_end() {
    check("a.sh: sh b.sh\n b.sh: sh a.sh", "sh a.sh", "a.sh b.sh");
    let chain: Vec<String> = (0..40).map(|at| format!("{at:02}.sh: sh {:02}.sh", at + 1)).collect();
    let reached: Vec<String> = (0..DEEPEST).map(|at| format!("{at:02}.sh")).collect();
    check(&chain.join("\n"), "sh 00.sh", &reached.join(" "));
    check("a.sh: $($($(`((\"'${{", "sh a.sh; x $(; `", "a.sh");
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_text_breaks_it_and_only_files_are_read(text in "\\PC{0,80}", command in "[a-z$(){}`'\"/. &|;-]{0,60}") {
            let files: BTreeSet<String> = ["a.sh", "Makefile", "b/package.json"].map(str::to_owned).into();
            let gate = Gate::new("t", format!("{command}; sh a.sh; make; npm -C b test"),
                GateKind::Test, Parser::Plain, Duration::from_secs(1));
            let read = |_: &str| Some(text.clone().into_bytes());
            let recording = follow(&gate, &files, &read);
            prop_assert!(recording.read.union(&recording.run).all(|path| files.contains(path)));
            prop_assert!(recording.missed.iter().all(|path| !files.contains(path)));
        }
    }
}
