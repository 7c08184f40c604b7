//! The built-in prompt of each role. A project can put its own in the place of each.

pub(crate) const CODER: &str = include_str!("../../../../assets/roles/coder.md");
const VERIFIER: &str = include_str!("../../../../assets/roles/verifier.md");
const SUMMARIZER: &str = include_str!("../../../../assets/roles/summarizer.md");
const TESTER: &str = include_str!("../../../../assets/roles/tester.md");
const OPERATOR: &str = include_str!("../../../../assets/roles/operator.md");

/// The roles that need no file of the project.
pub(crate) const BUILT_IN: [(&str, &str); 5] = [
    ("coder", CODER),
    ("verifier", VERIFIER),
    ("summarizer", SUMMARIZER),
    ("operator", OPERATOR),
    ("tester", TESTER),
];
