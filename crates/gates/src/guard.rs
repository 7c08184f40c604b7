//! Finds what in a change decides how it is checked.
//!
//! Gate commands come from the base, but a command reads files: a runner's settings, a script
//! of the manifest, a recipe. A change that touches one of these is not judged by the checks
//! of the base any more. The manifest itself must stay editable, for dependencies live there
//! too; of it only the parts count that the gates use.
//!
//! Pure: files are handed in as ways to read them, at the base and in the change.

use std::collections::BTreeMap;

use serde_json::Value;
use spore_plain::code;

use crate::paths::PathPatterns;
use crate::{Gate, Held, TouchedFile};

/// One reason why a change cannot be judged by the base's checks.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Tampering {
    pub path: String,
    /// What was touched, to go on after the path.
    pub what: String,
}

/// Reads a file as it was or as it is; nothing where there is none.
pub type Read<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// Returns what `touched` has of the gates' own settings, and of what `protected` names.
pub fn tampering(
    gates: &[Gate],
    protected: &[String],
    touched: &[TouchedFile],
    base: Read<'_>,
    now: Read<'_>,
) -> Vec<Tampering> {
    let protected = PathPatterns::new(protected);
    let guards: Vec<_> = gates.iter().map(|gate| PathPatterns::new(&gate.guards)).collect();
    let mut found = BTreeMap::new();
    for one in touched {
        if let Some(pattern) = protected.first(&one.path) {
            found.insert(one.path.clone(), format!("is protected ([gates] protected, {pattern})"));
        }
        for (gate, guards) in gates.iter().zip(&guards) {
            if guards.first(&one.path).is_some() {
                let what = format!("decides how {} runs", gate.name);
                found.entry(one.path.clone()).or_insert(what);
            }
            for held in gate.held.iter().filter(|held| file_of(held) == one.path) {
                if let Some(part) = difference(held, base, now) {
                    let what = format!("{part} decides how {} runs", gate.name);
                    found.entry(one.path.clone()).or_insert(what);
                }
            }
        }
    }
    found.into_iter().map(|(path, what)| Tampering { path, what }).collect()
}

/// Returns the files among `names` that `command` itself consists of: scripts it starts, and
/// the recipes if it is make.
pub fn parts_of_command(command: &str, names: &dyn Fn(&str) -> bool) -> Vec<String> {
    let words: Vec<&str> = command
        .split(|c: char| c.is_whitespace() || "\"'();&|<>".contains(c))
        .map(|word| word.trim_start_matches("./"))
        .collect();
    let is_script =
        |word: &&str| [".sh", ".bash", ".mk"].iter().any(|ending| word.ends_with(ending));
    let mut parts: Vec<String> = words
        .iter()
        .filter(|word| is_script(word) && names(word))
        .map(|word| format!("/{word}"))
        .collect();
    if words.iter().any(|&word| word == "make" || word == "gmake") {
        parts.extend(["/GNUmakefile", "/makefile", "/Makefile", "*.mk"].map(str::to_owned));
    }
    parts
}

fn file_of(held: &Held) -> &str {
    let (Held::Key { file, .. } | Held::Lines { file, .. }) = held;
    file
}

/// Returns what of the held part differs.
fn difference(held: &Held, base: Read<'_>, now: Read<'_>) -> Option<String> {
    let text = |read: Read<'_>, file: &str| {
        read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    match held {
        Held::Key { file, key } => {
            let part = |read| match text(read, file) {
                Some(text) => part(file, &text, key),
                None => HeldContent::Nothing,
            };
            (part(base) != part(now)).then(|| format!("has another `{key}`, which"))
        }
        Held::Lines { file, keep, refuse } => {
            let (base, now) =
                (text(base, file).unwrap_or_default(), text(now, file).unwrap_or_default());
            changed_line(&base, &now, keep, refuse)
        }
    }
}

#[derive(PartialEq, Debug)]
enum HeldContent {
    Nothing,
    Json(Value),
    Text(String),
    /// The file cannot be read; told apart by its content, so that no change is no difference.
    Broken(String),
}

fn part(file: &str, text: &str, key: &str) -> HeldContent {
    let ending = file.rsplit('.').next().unwrap_or_default();
    match ending {
        "json" => match serde_json::from_str::<Value>(text) {
            Ok(value) => key_of(&value, key)
                .map_or(HeldContent::Nothing, |value| HeldContent::Json(value.clone())),
            Err(_) => HeldContent::Broken(text.to_owned()),
        },
        "toml" => match toml_edit::de::from_str::<Value>(text) {
            Ok(value) => key_of(&value, key)
                .map_or(HeldContent::Nothing, |value| HeldContent::Json(value.clone())),
            Err(_) => HeldContent::Broken(text.to_owned()),
        },
        _ => section(text, key).map_or(HeldContent::Nothing, HeldContent::Text),
    }
}

fn key_of<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    key.split('.').try_fold(value, |value, name| value.get(name))
}

/// Returns the lines of an INI file's section that say something.
fn section(text: &str, name: &str) -> Option<String> {
    let mut inside = false;
    let mut lines: Option<String> = None;
    for line in text.lines().map(str::trim_end) {
        if let Some(title) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            inside = title.trim() == name;
            if inside {
                lines.get_or_insert_default();
            }
        } else if inside && !line.is_empty() && !line.starts_with(['#', ';']) {
            let lines = lines.get_or_insert_default();
            lines.push_str(line);
            lines.push('\n');
        }
    }
    lines
}

fn changed_line(base: &str, now: &str, keep: &[String], refuse: &[String]) -> Option<String> {
    let with = |text: &str, words: &[String]| -> Vec<String> {
        let telling = text
            .lines()
            .map(str::trim)
            .filter(|line| words.iter().any(|word| line.contains(word.as_str())));
        telling.map(str::to_owned).collect()
    };
    let mut left = with(now, keep);
    for line in with(base, keep) {
        match left.iter().position(|one| *one == line) {
            Some(at) => {
                left.swap_remove(at);
            }
            None => return Some(format!("lacks the line {}, which", code(&line, 80))),
        }
    }
    let mut known = with(base, refuse);
    for line in with(now, refuse) {
        match known.iter().position(|one| *one == line) {
            Some(at) => {
                known.swap_remove(at);
            }
            None => return Some(format!("has the new line {}, which", code(&line, 80))),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{GateKind, Parser, TouchKind};

    fn gate(guards: &[&str], held: Vec<Held>) -> Gate {
        let mut gate =
            Gate::new("check", "check", GateKind::Test, Parser::Plain, Duration::from_secs(1));
        gate.guards = guards.iter().map(|&guard| guard.to_owned()).collect();
        gate.held = held;
        gate
    }

    /// Compares two versions of one file.
    #[track_caller]
    fn check(gate: &Gate, path: &str, base: &str, now: &str, expected: &str) {
        let how = if base.is_empty() { TouchKind::Added } else { TouchKind::Modified };
        let touched = [TouchedFile { path: path.into(), how }];
        let read = |text: &str, asked: &str| (asked == path).then(|| text.as_bytes().to_vec());
        let found = tampering(
            std::slice::from_ref(gate),
            &["secret/".to_owned()],
            &touched,
            &|asked| read(base, asked),
            &|asked| read(now, asked),
        );
        let said = found.iter().map(|one| format!("{} {}", one.path, one.what));
        assert_eq!(said.collect::<Vec<_>>().join("; "), expected);
    }

    fn key(file: &str, key: &str) -> Vec<Held> {
        vec![Held::Key { file: file.into(), key: key.into() }]
    }

    #[test]
    fn a_guarded_or_protected_file_may_not_be_touched() {
        let gate = gate(&["/jest.config.*"], Vec::new());
        check(&gate, "jest.config.js", "a", "b", "jest.config.js decides how check runs");
        check(&gate, "jest.config.mjs", "", "b", "jest.config.mjs decides how check runs");
        check(&gate, "sub/jest.config.js", "a", "b", "");
        check(&gate, "secret/a", "a", "b", "secret/a is protected ([gates] protected, secret/)");
    }

    #[test]
    fn of_a_manifest_only_the_parts_that_gates_use_are_held() {
        let gate = gate(&[], key("package.json", "scripts.test"));
        let base = r#"{"scripts": {"test": "jest"}, "dependencies": {}}"#;
        check(&gate, "package.json", base, r#"{"scripts":{"test":"jest"},"x":1}"#, "");
        let told = "package.json has another `scripts.test`, which decides how check runs";
        check(&gate, "package.json", base, r#"{"scripts": {"test": "true"}}"#, told);
        check(&gate, "package.json", base, r#"{"scripts": {}}"#, told);
        check(&gate, "package.json", base, "{", told);
    }

    #[test]
    fn sections_of_toml_and_ini_are_held_too() {
        let toml = gate(&[], key("pyproject.toml", "tool.pytest"));
        let base = "[project]\nname = 'a'\n[tool.pytest.ini_options]\naddopts = '-x'\n";
        check(&toml, "pyproject.toml", base, &base.replace("'a'", "'b'"), "");
        check(
            &toml,
            "pyproject.toml",
            base,
            &base.replace("'-x'", "'-x -k nothing'"),
            "pyproject.toml has another `tool.pytest`, which decides how check runs",
        );
        let ini = gate(&[], key("setup.cfg", "tool:pytest"));
        let base = "[metadata]\nname = a\n\n[tool:pytest]\naddopts = -x\n";
        check(
            &ini,
            "setup.cfg",
            base,
            "[metadata]\nname = b\n[tool:pytest]\n# why\naddopts = -x\n",
            "",
        );
        check(
            &ini,
            "setup.cfg",
            base,
            "[metadata]\nname = a\n",
            "setup.cfg has another `tool:pytest`, which decides how check runs",
        );
    }

    #[test]
    fn lines_may_be_added_but_not_lost_and_some_may_not_be_added() {
        let lines = vec![Held::Lines {
            file: "CMakeLists.txt".into(),
            keep: vec!["add_test".into()],
            refuse: vec!["WILL_FAIL".into()],
        }];
        let gate = gate(&[], lines);
        let base = "project(a)\nadd_test(one a)\n";
        check(
            &gate,
            "CMakeLists.txt",
            base,
            "project(b)\n  add_test(one a)\nadd_test(two a)\n",
            "",
        );
        check(
            &gate,
            "CMakeLists.txt",
            base,
            "project(a)\n",
            "CMakeLists.txt lacks the line `add_test(one a)`, which decides how check runs",
        );
        check(
            &gate,
            "CMakeLists.txt",
            base,
            &format!("{base}x(WILL_FAIL)\n"),
            "CMakeLists.txt has the new line `x(WILL_FAIL)`, which decides how check runs",
        );
    }

    #[test]
    fn a_command_consists_of_the_scripts_it_starts() {
        let names = |path: &str| ["check.sh", "ci/run.bash", "main.py"].contains(&path);
        let parts = |command: &str| parts_of_command(command, &names);
        assert_eq!(parts("sh check.sh"), ["/check.sh"]);
        assert_eq!(parts("cd a && ./ci/run.bash 'x'"), ["/ci/run.bash"]);
        assert_eq!(parts("python3 main.py --check; sh other.sh"), Vec::<String>::new());
        assert!(parts("make test").contains(&"/Makefile".to_owned()));
    }
}
