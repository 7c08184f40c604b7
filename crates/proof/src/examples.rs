//! Examples in the documentation of code, which runners take for tests.
//!
//! Rust runs what stands between fences in doc comments, and Python what stands behind `>>>`. They are
//! in the product's files, in the middle of what they are about. An example of the base that is not
//! there any more, word for word, may have asked for something else.

/// Returns whether an example of `base` is not in `now`, both versions of the file at `path`.
pub(crate) fn are_lost(path: &str, base: &str, now: &str) -> bool {
    let of: fn(&str) -> Vec<String> = match path.rsplit_once('.') {
        Some((_, "rs")) => of_rust,
        Some((_, "py" | "pyx")) => of_python,
        _ => return false,
    };
    let mut there = of(now);
    of(base).into_iter().any(|example| match there.iter().position(|one| *one == example) {
        Some(at) => {
            there.swap_remove(at);
            false
        }
        None => true,
    })
}

/// Returns whether there is an example in these comments of Rust.
pub(crate) fn has_example(comments: &[String]) -> bool {
    !of_rust(&comments.join("\n")).is_empty()
}

/// What stands between fences, with what is written behind the first.
fn of_rust(text: &str) -> Vec<String> {
    let mut examples = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines().map(str::trim) {
        let said = ["///", "//!", "*"].iter().find_map(|start| line.strip_prefix(start));
        let Some(said) = said.map(str::trim) else {
            // A comment that ends has no open fence.
            examples.extend(open.take());
            continue;
        };
        match (said.starts_with("```") || said.starts_with("~~~"), &mut open) {
            (true, None) => open = Some(said.to_owned()),
            (true, Some(_)) => examples.extend(open.take()),
            (false, Some(example)) => {
                example.push('\n');
                example.push_str(said);
            }
            (false, None) => {}
        }
    }
    examples.extend(open);
    examples
}

/// Lines behind a prompt, with what has to come out.
fn of_python(text: &str) -> Vec<String> {
    let mut examples = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with(">>>") {
            examples.extend(open.replace(line.to_owned()));
        } else if line.is_empty() || line.starts_with("\"\"\"") || line.starts_with("'''") {
            examples.extend(open.take());
        } else if let Some(example) = &mut open {
            example.push('\n');
            example.push_str(line);
        }
    }
    examples.extend(open);
    examples
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUST: &str =
        "/// Adds.\n///\n/// ```\n/// assert_eq!(a::add(2, 3), 5);\n/// ```\npub fn add() {}\n";
    const PYTHON: &str = "def add(a, b):\n    \"\"\"Adds.\n\n    >>> add(2, 3)\n    5\n    \"\"\"\n    return a + b\n";

    #[test]
    fn an_example_that_is_not_there_word_for_word_is_lost() {
        for (path, base, now, expected) in [
            ("a.rs", RUST, RUST.replace("pub fn add() {}", "pub fn add() { b() }"), false),
            ("a.rs", RUST, RUST.replace(", 5)", ", 6)"), true),
            ("a.rs", RUST, RUST.replace("/// ```\n/// assert", "/// ```ignore\n/// assert"), true),
            ("a.rs", RUST, "pub fn add() {}\n".to_owned(), true),
            ("a.rs", "pub fn add() {}\n", RUST.to_owned(), false),
            ("a.py", PYTHON, PYTHON.replace("a + b", "b + a"), false),
            ("a.py", PYTHON, PYTHON.replace("    5\n", "    6\n"), true),
            ("a.py", PYTHON, PYTHON.replace("add(2, 3)\n", "add(2, 3)  # doctest: +SKIP\n"), true),
            ("a.js", PYTHON, String::new(), false),
        ] {
            assert_eq!(are_lost(path, base, &now), expected, "{path}: {now}");
        }
    }
}
