//! Patterns for paths, as people know them from ignore files.
//!
//! `*` and `?` stay within one name, `**` crosses folders. A pattern without a slash inside
//! means a name at any depth, one that begins with a slash starts at the root, one that ends
//! with a slash means all that is below.

/// Returns whether `pattern` covers the file at `path`.
pub fn matches(pattern: &str, path: &str) -> bool {
    let whole = match pattern.strip_suffix('/') {
        Some(folder) => format!("{folder}/**"),
        None => pattern.to_owned(),
    };
    let inner = pattern.trim_end_matches('/');
    let anchored = match whole.strip_prefix('/') {
        Some(rest) => rest.to_owned(),
        None if inner.contains('/') => whole,
        None => format!("**/{whole}"),
    };
    let pattern: Vec<&str> = anchored.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    parts_match(&pattern, &path)
}

/// Returns the first of `patterns` that covers `path`.
pub(crate) fn first_match<'p>(patterns: &'p [String], path: &str) -> Option<&'p str> {
    patterns.iter().map(String::as_str).find(|pattern| matches(pattern, path))
}

fn parts_match(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((&"**", [])), _) => !path.is_empty(),
        (Some((&"**", rest)), _) => {
            (0..=path.len()).any(|skipped| parts_match(rest, &path[skipped..]))
        }
        (Some((name, rest)), Some((first, below))) => {
            name_matches(name.as_bytes(), first.as_bytes()) && parts_match(rest, below)
        }
        _ => false,
    }
}

/// Compares one name, going back to the last star where it does not fit.
fn name_matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p, n));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == b'?' || pattern[p] == name[n]) {
            p += 1;
            n += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            p = at + 1;
            n = taken + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_pattern_means_what_it_means_in_an_ignore_file() {
        for (pattern, path, expected) in [
            ("pytest.ini", "pytest.ini", true),
            ("pytest.ini", "a/pytest.ini", true),
            ("/pytest.ini", "a/pytest.ini", false),
            ("/pytest.ini", "pytest.ini", true),
            ("jest.config.*", "web/jest.config.mjs", true),
            ("jest.config.*", "web/jest.config", false),
            (".github/workflows/", ".github/workflows/ci.yml", true),
            (".github/workflows/", "a/.github/workflows/ci.yml", false),
            ("tests/", "a/tests/b/c.py", true),
            ("tests/", "tests", false),
            ("a/**/b", "a/b", true),
            ("a/**/b", "a/x/y/b", true),
            ("**/target/*.xml", "target/x.xml", true),
            ("**/target/*.xml", "m/target/x/y.xml", false),
            ("a*c?", "abcbcd", true),
            ("a*c?", "abc", false),
            ("*", "x/y", true),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}
