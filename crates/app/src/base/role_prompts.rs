//! The built-in prompt of each role. A project can put its own in the place of each.

pub(crate) const CODER: &str = include_str!("../../../../assets/roles/coder.md");
const VERIFIER: &str = include_str!("../../../../assets/roles/verifier.md");
const SUMMARIZER: &str = include_str!("../../../../assets/roles/summarizer.md");
const TESTER: &str = include_str!("../../../../assets/roles/tester.md");
const OPERATOR: &str = include_str!("../../../../assets/roles/operator.md");
const SPEC_WRITER: &str = include_str!("../../../../assets/roles/spec-writer.md");
const AUDITOR: &str = include_str!("../../../../assets/roles/auditor.md");
const CONSOLIDATOR: &str = include_str!("../../../../assets/roles/consolidator.md");
const RESEARCHER: &str = include_str!("../../../../assets/roles/researcher.md");
const RESEARCH_CONSOLIDATOR: &str =
    include_str!("../../../../assets/roles/research-consolidator.md");
const SUFFICIENCY_JUDGE: &str = include_str!("../../../../assets/roles/sufficiency-judge.md");
const PLANNER: &str = include_str!("../../../../assets/roles/planner.md");
const ROADMAP_WRITER: &str = include_str!("../../../../assets/roles/roadmap-writer.md");
const LEADER: &str = include_str!("../../../../assets/roles/leader.md");
const DECOMPOSER: &str = include_str!("../../../../assets/roles/decomposer.md");
const EVALUATOR: &str = include_str!("../../../../assets/roles/evaluator.md");
const RESOLVER: &str = include_str!("../../../../assets/roles/resolver.md");

/// The roles that need no file of the project.
pub(crate) const BUILT_IN: [(&str, &str); 17] = [
    ("coder", CODER),
    ("verifier", VERIFIER),
    ("summarizer", SUMMARIZER),
    ("operator", OPERATOR),
    ("tester", TESTER),
    ("spec-writer", SPEC_WRITER),
    ("auditor", AUDITOR),
    ("consolidator", CONSOLIDATOR),
    ("researcher", RESEARCHER),
    ("research-consolidator", RESEARCH_CONSOLIDATOR),
    ("sufficiency-judge", SUFFICIENCY_JUDGE),
    ("planner", PLANNER),
    ("roadmap-writer", ROADMAP_WRITER),
    ("decomposer", DECOMPOSER),
    ("evaluator", EVALUATOR),
    ("resolver", RESOLVER),
    ("leader", LEADER),
];
