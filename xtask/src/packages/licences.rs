//! Whether a package may be used under one of the licences that we take.

/// What may be linked into a program under Apache-2.0. MPL-2.0 asks for changes to its own files
/// only, and CDLA-Permissive-2.0 is that of the root certificates, which are data.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Reads an SPDX expression: one branch of an `OR` is enough, `AND` needs both sides. Old
/// manifests write `/` for `OR`. <https://spdx.github.io/spdx-spec/v2.3/SPDX-license-expressions/>
pub(super) fn are_allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = expression.split_whitespace().collect();
    let (is_allowed, rest) = any(&words);
    is_allowed && rest.is_empty()
}

fn any<'a, 'w>(words: &'a [&'w str]) -> (bool, &'a [&'w str]) {
    let (mut is_allowed, mut rest) = all(words);
    while let Some(("OR", others)) = split_first(rest) {
        let (also, after) = all(others);
        (is_allowed, rest) = (is_allowed || also, after);
    }
    (is_allowed, rest)
}

fn all<'a, 'w>(words: &'a [&'w str]) -> (bool, &'a [&'w str]) {
    let (mut is_allowed, mut rest) = one(words);
    while let Some(("AND", others)) = split_first(rest) {
        let (also, after) = one(others);
        (is_allowed, rest) = (is_allowed && also, after);
    }
    (is_allowed, rest)
}

fn one<'a, 'w>(words: &'a [&'w str]) -> (bool, &'a [&'w str]) {
    match words {
        ["(", inner @ ..] => {
            let (is_allowed, rest) = any(inner);
            match split_first(rest) {
                Some((")", after)) => (is_allowed, after),
                _ => (false, rest),
            }
        }
        [name, "WITH", exception, rest @ ..] => {
            let name = format!("{name} WITH {exception}");
            (ALLOWED.contains(&name.as_str()), rest)
        }
        [name, rest @ ..] => (ALLOWED.contains(name), rest),
        [] => (false, words),
    }
}

fn split_first<'a, 'w>(words: &'a [&'w str]) -> Option<(&'w str, &'a [&'w str])> {
    words.split_first().map(|(first, rest)| (*first, rest))
}

#[cfg(test)]
mod tests {
    use super::are_allowed;

    #[track_caller]
    fn check(expression: &str, expected: bool) {
        assert_eq!(are_allowed(expression), expected, "{expression}");
    }

    #[test]
    fn a_choice_needs_one_licence_and_a_sum_needs_all() {
        check("MIT", true);
        check("GPL-3.0-only", false);
        check("GPL-3.0-only OR MIT", true);
        check("GPL-3.0-only/MIT", true);
        check("MIT AND GPL-3.0-only", false);
        check("(MIT OR GPL-3.0-only) AND Unicode-3.0", true);
        check("(MIT OR Apache-2.0) AND GPL-3.0-only", false);
        check("GPL-3.0-only OR MIT AND ISC", true);
        check("Apache-2.0 WITH LLVM-exception OR GPL-2.0-only", true);
        check("GPL-2.0-only WITH Classpath-exception-2.0", false);
    }

    #[test]
    fn what_cannot_be_read_is_not_allowed() {
        check("", false);
        check("MIT MIT", false);
        check("(MIT", false);
    }
}
