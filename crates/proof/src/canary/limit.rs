//! Commands that run some tests alone, by their names.
//!
//! Everything is still loaded; but what is not asked for is not run, so that a canary costs little.

use spore_gates::Parser;

/// Returns `command` with nothing to run but tests with these names, where it is one program that
/// can be told so.
pub(crate) fn limited(command: &str, parser: Parser, names: &[&str]) -> Option<String> {
    // What comes behind the last word belongs to one program only if there is but one.
    if command.contains(['&', '|', ';', '<', '>', '$', '`', '(', '\n', '\\', '#']) {
        return None;
    }
    let words: Vec<&str> = command
        .split_whitespace()
        .skip_while(|word| word.contains('=') && !word.starts_with('-'))
        .collect();
    let (first, rest) = words.split_first()?;
    let program = first.rsplit('/').next().unwrap_or(first);
    let has = |word: &str| words.contains(&word);
    let runs = |module: &str| rest.windows(2).any(|two| two == ["-m", module]);
    let python = program.starts_with("python");
    let pattern = || quoted(&names.join("|"));
    if matches!(program, "pytest" | "py.test") || python && runs("pytest") {
        return Some(format!("{command} --maxfail=0 -k {}", quoted(&names.join(" or "))))
            .filter(|_| are_words(names) && !has("-k"));
    }
    if python && runs("unittest") {
        let asked: Vec<String> = names.iter().map(|name| format!("-k {name}")).collect();
        // Without names it discovers, and with `discover` it takes the same.
        let is_discovery = has("discover") || rest.last() == Some(&"unittest");
        return Some(format!("{command} {}", asked.join(" ")))
            .filter(|_| are_words(names) && is_discovery && !has("-k"));
    }
    if program == "cargo" && rest.first() == Some(&"test") && !has("--doc") {
        let dashes = if has("--") { "" } else { " --" };
        return Some(format!("{command}{dashes} {}", names.join(" "))).filter(|_| are_words(names));
    }
    if program == "node" && has("--test") {
        let flag = format!("--test --test-name-pattern={}", pattern());
        return Some(command.replacen("--test", &flag, 1))
            .filter(|_| !command.contains("name-pattern"));
    }
    let direct = match program {
        "npx" => rest.first().copied().unwrap_or_default(),
        other => other,
    };
    // Scripts are given words of their own only where that is known to reach the runner.
    let flag = match (direct, parser) {
        ("jest" | "vitest", _) => "-t",
        ("mocha", _) => "-g",
        (_, Parser::Jest) if command.ends_with(" --verbose") => "-t",
        (_, Parser::Vitest) if command.ends_with(" --reporter=verbose") => "-t",
        _ => return None,
    };
    (!has(flag)).then(|| format!("{command} {flag} {}", pattern()))
}

/// Returns whether the names are such that no shell and no expression reads more into them.
fn are_words(names: &[&str]) -> bool {
    let is_word = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    !names.is_empty() && names.iter().all(|name| !name.is_empty() && is_word(name))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
