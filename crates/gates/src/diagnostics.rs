//! What compilers, type checkers and linters complain about, with file and line.
//!
//! Read are the formats that people see: rustc and clippy, ruff, tsc, eslint, pyright, mypy and
//! go vet. Each line is taken for what its own shape says, so a command that runs several of
//! them is read as well. Nothing here decides whether a gate is green: that is its exit code.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::report::plain_text;

/// One complaint about one place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Diagnostic {
    /// From the root of the project.
    pub file: String,
    pub line: u32,
    pub weight: DiagnosticWeight,
    /// What the tool calls its rule: `TS2322`, `clippy::needless_return`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    pub message: String,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosticWeight {
    Error,
    Warning,
}

/// Where a command ran: the directory of the checkout, and the folder of it that was current.
#[derive(Clone, Copy, Debug, Default)]
pub struct RanIn<'a> {
    pub root: &'a str,
    pub dir: &'a str,
}

/// Returns the complaints in `output` in the order of their places, each once.
pub fn diagnostics(output: &[u8], ran: RanIn<'_>) -> Vec<Diagnostic> {
    let text = plain_text(output);
    let lines: Vec<&str> = text.lines().collect();
    let mut found = BTreeSet::new();
    let mut heading = "";
    for (at, line) in lines.iter().enumerate() {
        if !line.starts_with(char::is_whitespace) && !line.is_empty() {
            heading = line;
        }
        let read = below_arrow(&lines, at)
            .or_else(|| in_brackets(line))
            .or_else(|| after_dash(&lines, at))
            .or_else(|| in_table(heading, line))
            .or_else(|| after_colons(line));
        if let Some(read) = read {
            found.insert(Diagnostic { file: from_root(&read.file, ran), ..read });
        }
    }
    found.into_iter().collect()
}

/// Writes a path as it is from the root of the project.
fn from_root(path: &str, ran: RanIn<'_>) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    let below = path.strip_prefix(ran.root).and_then(|rest| rest.strip_prefix('/'));
    match below {
        Some(below) if !ran.root.is_empty() => below.to_owned(),
        _ if path.starts_with('/') || ran.dir.is_empty() => path.to_owned(),
        _ => format!("{}/{path}", ran.dir),
    }
}

/// rustc, clippy and ruff: a heading, and below it ` --> src/lib.rs:2:9`.
fn below_arrow(lines: &[&str], at: usize) -> Option<Diagnostic> {
    let (file, line) = placed(lines[at].trim_start().strip_prefix("--> ")?)?;
    let heading = lines[at.checked_sub(1)?];
    let (weight, rule, message) = rust_heading(heading).or_else(|| ruff_heading(heading))?;
    let rule = rule.or_else(|| lint_name(&lines[at + 1..]));
    Some(Diagnostic { file, line, weight, rule, message })
}

/// `error[E0308]: mismatched types`, `warning: unused variable`.
fn rust_heading(heading: &str) -> Option<(DiagnosticWeight, Option<String>, String)> {
    let (weight, rest) = weight_first(heading)?;
    let (rule, rest) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((rule, rest)) => (Some(rule.to_owned()), rest),
        None => (None, rest),
    };
    Some((weight, rule, said(rest.strip_prefix(':')?)))
}

/// ``F401 [*] `os` imported but unused``, or `invalid-syntax: Expected an expression`.
fn ruff_heading(heading: &str) -> Option<(DiagnosticWeight, Option<String>, String)> {
    let (code, rest) = heading.split_once([' ', ':'])?;
    if !is_code(code) && code != "invalid-syntax" {
        return None;
    }
    let rest = rest.trim_start().strip_prefix("[*] ").unwrap_or(rest);
    Some((DiagnosticWeight::Error, Some(code.to_owned()), said(rest)))
}

/// Finds the lint's own name in the notes of a complaint of rustc, which end in an empty line.
fn lint_name(below: &[&str]) -> Option<String> {
    let notes = below.iter().take_while(|line| !line.is_empty());
    let mut notes = notes.filter_map(|line| line.trim_start().strip_prefix("= note: `"));
    notes.find_map(|note| {
        let (shown, _) = note.split_once('`')?;
        let of_attribute = ["#[warn(", "#[deny("].iter().find_map(|at| shown.strip_prefix(at));
        let of_flag = ["-D ", "-W "].iter().find_map(|at| shown.strip_prefix(at));
        let name = of_attribute.map(|name| name.trim_end_matches(")]")).or(of_flag)?;
        Some(name.replace('-', "_"))
    })
}

/// tsc: `src/app.ts(1,7): error TS2322: Type 'string' is not…`.
fn in_brackets(line: &str) -> Option<Diagnostic> {
    let (place, rest) = line.split_once("): ")?;
    let (file, numbers) = place.split_once('(')?;
    let number = numbers.split(',').next()?.parse().ok()?;
    let (weight, rest) = weight_first(rest)?;
    let (rule, message) = rest.trim_start().split_once(": ")?;
    if !is_file(file) || !is_code(rule) {
        return None;
    }
    let (file, rule) = (file.to_owned(), Some(rule.to_owned()));
    Some(Diagnostic { file, line: number, weight, rule, message: said(message) })
}

/// pyright and tsc in colours: `src/app.py:6:19 - error: Type "int" is not…`, and below it,
/// further in, what belongs to it.
fn after_dash(lines: &[&str], at: usize) -> Option<Diagnostic> {
    let line = lines[at];
    let (place, rest) = line.trim_start().split_once(" - ")?;
    let (file, number) = placed(place)?;
    let (weight, rest) = weight_first(rest)?;
    let (rule, message) = match rest.strip_prefix(':') {
        Some(message) => (None, message),
        None => {
            let (rule, message) = rest.trim_start().split_once(": ")?;
            is_code(rule).then(|| (Some(rule.to_owned()), message))?
        }
    };
    let depth = |line: &str| line.len() - line.trim_start().len();
    let below = lines[at + 1..].iter().take_while(|next| depth(next) > depth(line));
    let last = below.last().unwrap_or(&line).trim_end();
    let closing = last.strip_suffix(')').and_then(|last| last.rsplit_once('('));
    let named = closing.map(|(_, name)| name).filter(|name| name.starts_with("report"));
    let message = match named {
        Some(name) => message.trim_end().trim_end_matches(&format!("({name})")),
        None => message,
    };
    let rule = rule.or_else(|| named.map(str::to_owned));
    Some(Diagnostic { file, line: number, weight, rule, message: said(message) })
}

/// eslint: a line with the file, and below it `  3:12  error  Expected '==='…  eqeqeq`.
fn in_table(heading: &str, line: &str) -> Option<Diagnostic> {
    let inner = line.strip_prefix("  ")?.trim_start();
    let (place, rest) = inner.split_once("  ")?;
    let (number, column) = place.split_once(':')?;
    let (number, _) = (number.parse().ok()?, column.trim().parse::<u32>().ok()?);
    let (weight, rest) = weight_first(rest.trim_start())?;
    if !rest.starts_with("  ") || !is_file(heading) {
        return None;
    }
    let rest = rest.trim();
    let (message, rule) = match rest.rsplit_once("  ") {
        Some((message, rule)) if !rule.contains(' ') => (message, Some(rule.to_owned())),
        _ => (rest, None),
    };
    let file = heading.to_owned();
    Some(Diagnostic { file, line: number, weight, rule, message: said(message) })
}

/// mypy, ruff in one line, and go vet: `src/app.py:6: error: Incompatible…  [assignment]`,
/// `src/app.py:1:8: F401 [*] …`, `main.go:11:2: self-assignment of x`.
fn after_colons(line: &str) -> Option<Diagnostic> {
    let line = line.strip_prefix("vet: ").unwrap_or(line);
    let (place, message) = line.split_once(": ")?;
    let (file, number) = placed(place)?;
    let complaint = |weight, rule, message| {
        Some(Diagnostic { file: file.clone(), line: number, weight, rule, message: said(message) })
    };
    if let Some((weight, rest)) = weight_first(message) {
        let rest = rest.strip_prefix(':')?.trim_end();
        let closing = rest.strip_suffix(']').and_then(|rest| rest.rsplit_once("  ["));
        return match closing {
            Some((message, rule)) => complaint(weight, Some(rule.to_owned()), message),
            None => complaint(weight, None, rest),
        };
    }
    if let Some((weight, rule, message)) = ruff_heading(message) {
        return Some(Diagnostic { file, line: number, weight, rule, message });
    }
    // The one tool that says neither how bad it is nor by which rule.
    file.ends_with(".go").then(|| complaint(DiagnosticWeight::Error, None, message))?
}

/// Reads `error…` or `warning…` and returns what is behind the word.
fn weight_first(text: &str) -> Option<(DiagnosticWeight, &str)> {
    let words = [("error", DiagnosticWeight::Error), ("warning", DiagnosticWeight::Warning)];
    words.into_iter().find_map(|(word, weight)| Some((weight, text.strip_prefix(word)?)))
}

/// Reads `src/lib.rs:2:9`, with one number or more.
fn placed(text: &str) -> Option<(String, u32)> {
    let numbers_at = text.match_indices(':').map(|(at, _)| at).find(|at| {
        let rest = &text[at + 1..];
        !rest.is_empty() && rest.split(':').all(|part| part.parse::<u32>().is_ok())
    })?;
    let (file, numbers) = text.split_at(numbers_at);
    let line = numbers[1..].split(':').next()?.parse().ok()?;
    is_file(file).then(|| (file.to_owned(), line))
}

/// Whether a text may be the path of a source file: it has an ending and is no sentence.
fn is_file(text: &str) -> bool {
    let name = text.rsplit(['/', '\\']).next().unwrap_or(text);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let plain = |ending: &str| {
        (1..=5).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    ending.is_some_and(plain) && !text.contains("  ") && text.len() <= 400
}

/// Whether a word is a rule's code: capitals, then digits.
fn is_code(word: &str) -> bool {
    let digits = word.trim_start_matches(|c: char| c.is_ascii_uppercase());
    digits.len() < word.len()
        && (1..=5).contains(&digits.len())
        && digits.bytes().all(|b| b.is_ascii_digit())
}

fn said(message: &str) -> String {
    spore_plain::line_within(message.trim(), 300)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(name: &str) -> Vec<u8> {
        let path = format!("{}/tests/diagnostics/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn tell(found: &[Diagnostic]) -> String {
        let line = |one: &Diagnostic| {
            let Diagnostic { file, line, weight, rule, message } = one;
            let weight = if *weight == DiagnosticWeight::Error { "E" } else { "W" };
            format!("{weight} {file}:{line} {} {message}", rule.as_deref().unwrap_or("-"))
        };
        found.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[track_caller]
    fn check(name: &str, expected: &str) {
        let found = diagnostics(&recorded(name), RanIn { root: "/project/shop", dir: "" });
        assert_eq!(tell(&found), expected, "{name}");
    }

    #[test]
    fn clippy_and_rustc_are_read_with_the_names_of_their_lints() {
        check(
            "clippy.txt",
            "W src/lib.rs:1 clippy::ptr_arg writing `&Vec` instead of `&[_]` involves a new object where a slice will do
W src/lib.rs:2 unused_variables unused variable: `unused`
W src/lib.rs:4 clippy::needless_range_loop the loop variable `i` is only used to index `prices`
W src/lib.rs:5 clippy::assign_op_pattern manual implementation of an assign operation
W src/lib.rs:7 clippy::needless_return unneeded `return` statement",
        );
        check(
            "clippy-broken.txt",
            "E src/lib.rs:2 E0308 mismatched types\nE src/lib.rs:3 E0308 mismatched types",
        );
    }

    #[test]
    fn ruff_is_read_in_both_of_its_ways() {
        let expected = "E src/app.py:1 F401 `os` imported but unused
E src/app.py:2 F401 `sys` imported but unused
E src/app.py:7 F841 Local variable `l` is assigned to but never used
E src/app.py:12 F821 Undefined name `undefined_name`";
        check("ruff.txt", expected);
        check("ruff-concise.txt", expected);
    }

    #[test]
    fn mypy_and_pyright_are_read() {
        check(
            "mypy.txt",
            "E src/app.py:6 assignment Incompatible types in assignment (expression has type \"int\", variable has type \"str\")
E src/app.py:8 return-value Incompatible return value type (got \"str\", expected \"int\")",
        );
        check(
            "mypy-pretty.txt",
            "E src/app.py:6 - Incompatible types in assignment (expression has
E src/app.py:8 - Incompatible return value type (got \"str\",",
        );
        check(
            "pyright.txt",
            "E src/app.py:6 reportAssignmentType Type \"int\" is not assignable to declared type \"str\"
E src/app.py:8 reportReturnType Type \"str\" is not assignable to return type \"int\"
E src/app.py:12 reportUndefinedVariable \"undefined_name\" is not defined
E src/app.py:13 reportArgumentType Argument of type \"Literal['three']\" cannot be assigned to parameter \"prices\" of type \"list[int]\" in function \"total\"",
        );
    }

    #[test]
    fn tsc_and_eslint_are_read() {
        let expected = "E src/app.ts:1 TS2322 Type 'string' is not assignable to type 'number'.
E src/app.ts:2 TS7006 Parameter 'b' implicitly has an 'any' type.
E src/app.ts:6 TS2304 Cannot find name 'missing'.";
        check("tsc.txt", expected);
        check("tsc-pretty.txt", expected);
        check(
            "eslint.txt",
            "E src/app.ts:6 @typescript-eslint/no-unused-vars 'unused' is assigned a value but never used
W src/app.ts:6 prefer-const 'unused' is never reassigned. Use 'const' instead
W src/util.js:2 no-console Unexpected console statement
E src/util.js:3 eqeqeq Expected '===' and instead saw '=='",
        );
    }

    #[test]
    fn go_vet_is_read() {
        check(
            "go-vet.txt",
            "E bill/bill.go:10 - fmt.Printf format %s reads arg #2, but call has 1 arg
E main.go:11 - self-assignment of x
E main.go:12 - fmt.Println call has possible Printf formatting directive %d",
        );
        check(
            "go-vet-broken.txt",
            "E bill/bill.go:4 - cannot use len(prices) (value of type int) as string value in variable declaration
E bill/bill.go:4 - declared and not used: s
E bill/bill.go:5 - undefined: missing",
        );
    }

    #[test]
    fn paths_are_from_the_root_wherever_the_command_ran() {
        let ran = RanIn { root: "/x", dir: "tools" };
        let text =
            b"a.py:1: error: no\n/x/b.py:2: error: no\n./c.go:3:1: no\n/y/d.py:4: error: no\n";
        let files: Vec<String> =
            diagnostics(text, ran).into_iter().map(|found| found.file).collect();
        assert_eq!(files, ["/y/d.py", "b.py", "tools/a.py", "tools/c.go"]);
    }

    #[test]
    fn what_tests_and_people_print_is_no_complaint() {
        let text = "test result: FAILED. 1 passed\n12:30:01 - error: in a log\nerror: could not compile\n\
                    note: a hint\n --> src/lib.rs:1:1\n  3:1  error  no file above\nE   assert 1 == 2\n\
                    tests/test_a.py:12: AssertionError\nhttp://host:80: error: refused\n\
                    Error: something (1,2): error X: y\nsrc/a.py:3: note: see here\n";
        assert_eq!(tell(&diagnostics(text.as_bytes(), RanIn::default())), "");
    }

    proptest::proptest! {
        #[test]
        fn nothing_that_is_printed_makes_it_stumble(
            text in "([ a-z:/.()0-9\\[\\],-]{0,12}(error|warning|-->|F401|: |\\.go:1|\n|ß)){0,12}"
        ) {
            for found in diagnostics(text.as_bytes(), RanIn { root: "/r", dir: "d" }) {
                assert!(!found.file.is_empty());
            }
        }
    }
}
