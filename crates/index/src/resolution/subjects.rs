//! What a test is about.

use super::places::HolderPath;
use super::{
    Meaning, Namesakes, ONLY_METHOD, ReferenceQuestion, ReferenceSite, SAME_PACKAGE, last_word,
};
use crate::{Access, Item, ItemKind, Reference, ReferenceKind};

/// Returns the name of what a test is about by the convention of test names: `parse` of
/// `test_parse` and `Parse` of `TestParse`; nothing if the name does not follow it.
pub fn tested_name(name: &str) -> Option<&str> {
    let name = last_word(name);
    let rest = name.strip_prefix("test_").or_else(|| {
        let rest = name.strip_prefix("Test").or_else(|| name.strip_prefix("test"))?;
        rest.starts_with(char::is_uppercase).then_some(rest)
    });
    let rest = rest.or_else(|| name.strip_suffix("_test"))?;
    (rest.len() > 2).then_some(rest)
}

/// Returns what a test is about, of the definitions that carry its [`tested_name`]: one of the
/// same file, or of a module that the test's file imports.
pub fn subject_of_test(
    site: ReferenceSite<'_>,
    test: &Item,
    namesakes: &Namesakes<'_>,
) -> Vec<Meaning> {
    let Some(name) = tested_name(&test.name) else { return Vec::new() };
    let reference = Reference {
        kind: ReferenceKind::Call,
        name: name.to_owned(),
        access: Access::Bare,
        scope: None,
        line: test.lines.first,
    };
    let question = ReferenceQuestion { site, reference: &reference, namesakes };
    let here = question.best(namesakes.below(site.path), |candidate| {
        (candidate.path == site.path && candidate.kind != ItemKind::Test).then_some(SAME_PACKAGE)
    });
    if !here.is_empty() {
        return here;
    }
    for import in &site.facts.imports {
        let module = HolderPath::of(import);
        let part = module
            .with(import.name.as_slice().iter().map(String::as_str).collect::<Vec<_>>().as_slice());
        for place in [part, module] {
            let found = question.at(place, ONLY_METHOD);
            if !found.is_empty() {
                return found;
            }
        }
    }
    Vec::new()
}

/// Returns whether a file is one of tests by its path.
pub(super) fn is_test_path(path: &str) -> bool {
    let (directories, file) = path.rsplit_once('/').unwrap_or(("", path));
    let is_tests =
        |word: &str| matches!(word, "test" | "tests" | "__tests__" | "testdata" | "spec");
    directories.split('/').any(is_tests)
        || file.starts_with("test_")
        || file.contains("_test.")
        || file.contains(".test.")
        || file.contains(".spec.")
}
