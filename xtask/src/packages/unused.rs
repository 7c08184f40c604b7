//! Finds dependencies that the code of a package never names.
//!
//! A package that is used is named somewhere as a path's first word, a macro's or an attribute's.
//! So the names in the tokens of the code are compared with those of the dependencies. Comments and
//! strings are no tokens. A dependency that only tests name belongs to the tests.

use std::collections::BTreeSet;
use std::path::Path;

use cargo_metadata::{DependencyKind, Package};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

pub(super) fn faults(package: &Package) -> Result<Vec<String>, String> {
    let Some(dir) = package.manifest_path.as_std_path().parent() else { return Ok(Vec::new()) };
    let mut names = Names::default();
    for (below, are_tests) in [("src", false), ("tests", true), ("examples", true)] {
        gather(&dir.join(below), are_tests, &mut names)?;
    }
    // Build scripts, and the measurements that stand outside of the package.
    for target in &package.targets {
        let are_tests = target.is_example() || target.is_test() || target.is_bench();
        gather(target.src_path.as_std_path(), are_tests, &mut names)?;
    }
    let mut faults = Vec::new();
    for used in &package.dependencies {
        let name = used.rename.as_ref().unwrap_or(&used.name).replace('-', "_");
        let of = &package.name;
        if !names.in_code.contains(&name) && !names.in_tests.contains(&name) {
            faults.push(format!("{of} does not use {}", used.name));
        } else if used.kind == DependencyKind::Normal && !names.in_code.contains(&name) {
            faults.push(format!("{of} uses {} in tests only: a dev-dependency", used.name));
        }
    }
    Ok(faults)
}

#[derive(Default)]
struct Names {
    in_code: BTreeSet<String>,
    in_tests: BTreeSet<String>,
}

fn gather(path: &Path, are_tests: bool, names: &mut Names) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    if path.is_dir() {
        for entry in std::fs::read_dir(path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            gather(&entry.path(), are_tests || entry.file_name() == "tests", names)?;
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let are_tests = are_tests || path.file_stem().is_some_and(|name| name == "tests");
        // Samples that are not Rust name nothing.
        if let Ok(tokens) = text.parse::<TokenStream>() {
            collect(tokens, are_tests, names);
        }
    }
    Ok(())
}

fn collect(tokens: TokenStream, are_tests: bool, names: &mut Names) {
    let mut is_next_for_tests = false;
    let mut before_was_hash = false;
    for token in tokens {
        match &token {
            TokenTree::Ident(ident) if are_tests || is_next_for_tests => {
                names.in_tests.insert(ident.to_string());
            }
            TokenTree::Ident(ident) => _ = names.in_code.insert(ident.to_string()),
            TokenTree::Group(group) => {
                is_next_for_tests |= before_was_hash && is_for_tests(&group.stream());
                collect(group.stream(), are_tests || is_next_for_tests, names);
                is_next_for_tests &= group.delimiter() != Delimiter::Brace;
            }
            // The end of an item without a body.
            TokenTree::Punct(mark) => is_next_for_tests &= mark.as_char() != ';',
            TokenTree::Literal(_) => {}
        }
        before_was_hash = matches!(&token, TokenTree::Punct(mark) if mark.as_char() == '#');
    }
}

fn is_for_tests(attribute: &TokenStream) -> bool {
    let text = attribute.to_string().replace(' ', "");
    text == "test" || text == "cfg(test)" || text.starts_with("cfg(all(test,")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tests_and_of_code_are_told_apart_and_comments_name_nothing() {
        let code = r#"
            // commented
            use kept::Thing;
            #[cfg(test)]
            use tested::{self, Other};
            #[derive(derived::Trait)]
            struct One { with: u8 }
            #[cfg(test)]
            mod tests { fn f() { deeply::tested() } }
            fn last() { "quoted"; named!() }
        "#;
        let mut names = Names::default();
        collect(code.parse().unwrap(), false, &mut names);
        for name in ["kept", "derived", "named"] {
            assert!(names.in_code.contains(name), "{name}");
        }
        for name in ["tested", "deeply"] {
            assert!(names.in_tests.contains(name) && !names.in_code.contains(name), "{name}");
        }
        for name in ["commented", "quoted"] {
            assert!(!names.in_tests.contains(name) && !names.in_code.contains(name), "{name}");
        }
    }
}
