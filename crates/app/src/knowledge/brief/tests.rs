//! Briefs of a small project, on real files and real git.

use std::path::PathBuf;
use std::sync::Arc;

use crate::base::stores::ProjectKnowledge;
use spore_config::{SettingsLayer, SettingsOrigin};
use spore_effects::{FixedClock, Ids, Probe, Tool};
use spore_model::{LessonRecord, Timestamp};
use tempfile::TempDir;

use spore_context::task_file::{Before, TaskFileBudget};

use super::*;
use crate::Interrupt;

const BILL: &str = r#""""Bills and what they come to."""


class Bill:
    """Lines of a bill."""

    def __init__(self):
        self.lines = []

    def add(self, name, cents):
        self.lines.append((name, cents))

    def total(self):
        """What the bill comes to, in cents."""
        return sum(cents for _, cents in self.lines)


def discounted(cents, percent):
    """What is left after a discount."""
    return cents - cents * percent // 100


def rounded(cents):
    """To five cents, as shops do."""
    return (cents + 2) // 5 * 5
"#;

const RECEIPT: &str = r#"from shop.bill import Bill, discounted, rounded


def receipt(bill):
    """The bill as people read it."""
    return f"{rounded(bill.total())} cents"


def offer(cents):
    return discounted(cents, 10)
"#;

const TEST_BILL: &str = r#"from shop.bill import Bill, discounted


def test_total():
    bill = Bill()
    bill.add("tea", 250)
    assert bill.total() == 250


def test_discount():
    assert discounted(200, 50) == 100
"#;

/// A task file, and what it carries.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct WrittenBrief {
    pub(crate) text: String,
    pub(crate) carried: Carried,
    warnings: Vec<String>,
}

/// A project in a directory of its own.
pub(crate) struct Project {
    dir: TempDir,
    around: Surroundings,
    workspace: Workspace,
    repository: Repository,
    config: Config,
    pub(crate) knowledge: ProjectKnowledge,
}

impl Project {
    pub(crate) fn new() -> Self {
        Self::with_settings("")
    }

    fn with_settings(text: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("shop");
        std::fs::create_dir_all(root.join(".spore")).unwrap();
        git(&root, &["init", "--quiet", "--initial-branch=main"]);
        for (path, content) in [
            ("shop/bill.py", BILL),
            ("shop/receipt.py", RECEIPT),
            ("tests/test_bill.py", TEST_BILL),
        ] {
            write(&root, path, content);
        }
        write(&root, "README.md", "# Shop\n\nPrints receipts.\n");
        commit(&root, "a shop that prints receipts");
        let around = surroundings(&dir, &root);
        let workspace = Workspace::find(&around).unwrap();
        let layer =
            SettingsLayer { origin: SettingsOrigin::Flag("test".into()), text: text.to_owned() };
        let config = workspace.config(&around, &[layer]).unwrap();
        let knowledge = workspace.knowledge(&config).unwrap();
        let repository = workspace.repository(&around).unwrap();
        Self { dir, around, workspace, repository, config, knowledge }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("shop")
    }

    fn briefing(&self) -> Briefing<'_> {
        Briefing {
            around: &self.around,
            workspace: &self.workspace,
            repository: &self.repository,
            config: &self.config,
            knowledge: &self.knowledge,
            run: "01KDVDNA00GE7GV2JAMA490ASB".parse().unwrap(),
        }
    }

    fn head(&self) -> CommitId {
        self.repository.head().unwrap()
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Writes the task file of a coder, and tells what it carries.
    pub(crate) fn brief(&self, task: &str) -> WrittenBrief {
        let at = self.head();
        self.told(&BriefAsked { task, role: "coder", at: &at, changed: &[] }, 4_000)
    }

    fn told(&self, asked: &BriefAsked<'_>, tokens: usize) -> WrittenBrief {
        let (text, brief) = self.briefing().find(asked).write(&Assignment {
            role: asked.role,
            occasion: None,
            before: Before::Nothing,
            checks: &[],
            budget: TaskFileBudget { context: tokens, whole: None },
            limits: task_file_limits(&self.config),
        });
        WrittenBrief { text, carried: brief.carried, warnings: brief.warnings }
    }

    /// Makes a commit of changed files beside the branch, as a snapshot is.
    fn snapshot(&self, files: &[(&str, &str)]) -> (CommitId, Vec<String>) {
        let root = self.root();
        for (path, content) in files {
            write(&root, path, content);
        }
        commit(&root, "bounce 1 of a run");
        let snapshot = self.head();
        git(&root, &["reset", "--quiet", "--hard", "HEAD^"]);
        (snapshot, files.iter().map(|(path, _)| (*path).to_owned()).collect())
    }

    fn judged(&self, task: &str, at: &CommitId, changed: &[String]) -> WrittenBrief {
        self.told(&BriefAsked { task, role: "verifier", at, changed }, 4_000)
    }

    fn indexes(&self) -> Vec<(String, std::time::SystemTime)> {
        let Ok(entries) = std::fs::read_dir(self.root().join(".spore/index")) else {
            return Vec::new();
        };
        let mut found: Vec<_> = entries
            .map(std::result::Result::unwrap)
            .filter(|entry| entry.path().extension().is_some_and(|ending| ending == "db"))
            .map(|entry| {
                let modified = entry.metadata().unwrap().modified().unwrap();
                (entry.file_name().into_string().unwrap(), modified)
            })
            .collect();
        found.sort();
        found
    }
}

fn surroundings(dir: &TempDir, root: &std::path::Path) -> Surroundings {
    let clock: Arc<dyn spore_effects::Clock> =
        Arc::new(FixedClock(Timestamp::from_millis(1_767_225_600_000)));
    Surroundings {
        ids: Ids::seeded(Arc::clone(&clock), 1),
        clock,
        probe: Probe::idle(),
        exe: PathBuf::new(),
        cwd: root.to_owned(),
        root: Some(root.to_owned()),
        variables: Vec::new(),
        config_file: dir.path().join("config.toml"),
        state_home: dir.path().join("state"),
        credentials: crate::base::credentials::Credentials::default(),
        interrupt: Interrupt::default(),
        starter: None,
    }
}

fn write(root: &std::path::Path, path: &str, content: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn git(root: &std::path::Path, args: &[&str]) {
    let tool = ["AUTHOR", "COMMITTER"].iter().fold(Tool::new("git").args(args), |tool, who| {
        tool.env(format!("GIT_{who}_NAME"), "Test")
            .env(format!("GIT_{who}_EMAIL"), "test@localhost")
            .env(format!("GIT_{who}_DATE"), "2026-01-01T00:00:00Z")
    });
    let output = tool.cwd(root).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.is_success(), "git {args:?}: {}", output.complaint());
}

fn commit(root: &std::path::Path, message: &str) {
    git(root, &["add", "--all", "--", ":!.spore"]);
    git(root, &["commit", "--quiet", "--message", message]);
}

fn lesson(number: u64, title: &str, scope: &[&str]) -> Lesson {
    Lesson {
        id: NodeId::from_parts(number, u128::from(number)),
        title: title.into(),
        pattern: "A sum was rounded twice, once where it was made and once where it was shown"
            .into(),
        fix: "Round where the sum is shown, and nowhere else".into(),
        scope: scope.iter().map(|&path| path.to_owned()).collect(),
        evidence: String::new(),
        run: None,
        created: Timestamp::from_millis(1_767_225_600_000),
        record: LessonRecord::default(),
    }
}

const TASK: &str = "receipt: the total is rounded to ten cents\n\nShops round to ten now.";

#[test]
fn a_coder_is_told_where_the_work_is() {
    let project = Project::new();
    write(
        &project.root(),
        ".spore/memory/CLAUDE.md",
        "# What we keep in mind\n\n- Money is counted in cents, never in fractions.\n",
    );
    project.knowledge.add(&[lesson(1, "Rounding twice", &["shop"]).to_node()], &[]).unwrap();
    let brief = project.brief(TASK);
    assert_eq!(brief.warnings, Vec::<String>::new());
    insta::assert_snapshot!("coder", brief.text);
    let carried = serde_json::to_string_pretty(&brief.carried).unwrap();
    insta::assert_snapshot!("coder_carried", carried);
    assert_eq!(project.brief(TASK), brief, "equal inputs give equal bytes");
}

#[test]
fn a_line_on_trial_is_withheld_only_from_a_task_file_that_had_room_for_it() {
    let project = Project::new();
    let at = project.head();
    let asked = BriefAsked { task: TASK, role: "coder", at: &at, changed: &[] };
    let line = "Money is counted in cents";
    let hash = LineHash::of(line);
    write(&project.root(), ".spore/memory/CLAUDE.md", &format!("- {line}\n"));
    for (tokens, withheld) in [(4_000, 1), (1, 0)] {
        let told = project.told(&asked, tokens).carried;
        let has = told.memory_lines.contains(&hash.to_string());
        assert_eq!((usize::from(has), told.withheld.len()), (withheld, 0));
        let trial = serde_json::json!([{ "line": hash, "share": 1.0, "started": "2026-01-01" }]);
        write(&project.root(), ".spore/memory/state/trials.json", &trial.to_string());
        let kept_back = project.told(&asked, tokens).carried;
        assert!(!kept_back.memory_lines.contains(&hash.to_string()));
        assert_eq!(kept_back.withheld.len(), withheld);
        write(&project.root(), ".spore/memory/state/trials.json", "[]");
    }
}

#[test]
fn a_verifier_is_told_what_the_change_reaches() {
    let project = Project::new();
    project.knowledge.add(&[lesson(1, "Rounding twice", &["shop"]).to_node()], &[]).unwrap();
    // `rounded` is changed, `discounted` is gone although an offer relies on it, and there is a
    // new test.
    let bill = BILL.replace("(cents + 2) // 5 * 5", "(cents + 5) // 10 * 10");
    let at = bill.find("def discounted").unwrap();
    let bill = format!("{}{}", &bill[..at], &bill[bill.find("def rounded").unwrap()..]);
    let tests = format!(
        "{}\n\ndef test_rounded():\n    assert rounded(14) == 10\n",
        TEST_BILL.replace("import Bill, discounted", "import Bill, discounted, rounded")
    );
    let (snapshot, changed) =
        project.snapshot(&[("shop/bill.py", &bill), ("tests/test_bill.py", &tests)]);
    let brief = project.judged(TASK, &snapshot, &changed);
    assert_eq!(brief.warnings, Vec::<String>::new());
    insta::assert_snapshot!("verifier", brief.text);
    assert_eq!(brief.carried.tree, Some(project.repository.tree_of(&snapshot).unwrap()));
    assert_eq!(brief.carried.lessons.len(), 1);
    assert_eq!(project.judged(TASK, &snapshot, &changed), brief);
}

#[test]
fn a_brief_is_about_the_commit_whatever_lies_in_the_work_tree() {
    let project = Project::new();
    let before = project.brief(TASK);
    write(&project.root(), "shop/receipt.py", "def total_receipt_rounded_ten(): pass\n");
    assert_eq!(project.brief(TASK), before);
}

#[test]
fn a_tree_is_indexed_once() {
    let project = Project::new();
    assert!(project.briefing().is_first());
    project.brief(TASK);
    assert!(!project.briefing().is_first());
    let first = project.indexes();
    assert_eq!(first.len(), 1);
    project.brief("something else");
    assert_eq!(project.indexes(), first);
    let (snapshot, changed) = project.snapshot(&[("shop/receipt.py", "def other(): pass\n")]);
    project.judged(TASK, &snapshot, &changed);
    assert_eq!(project.indexes(), first, "that of the change is never written down");
}

#[test]
fn a_large_tree_is_not_indexed_while_a_run_waits() {
    let project = Project::with_settings("[context]\nfirst_index_files = 3\n");
    project.knowledge.add(&[lesson(1, "Rounding twice", &[]).to_node()], &[]).unwrap();
    let brief = project.brief(TASK);
    assert_eq!(brief.warnings.len(), 1);
    assert!(brief.warnings[0].contains("`spore index`"), "{:?}", brief.warnings);
    assert!(brief.text.contains("Rounding twice"), "lessons need no index");
    assert_eq!((brief.carried.tree, project.indexes().len()), (None, 0));
    indexing::index(
        &project.around,
        &indexing::IndexAsked::new(IndexSource::WorkTree),
        &indexing::Silent,
    )
    .unwrap();
    let brief = project.brief(TASK);
    assert_eq!(brief.warnings, Vec::<String>::new());
    assert!(brief.text.contains("shop/receipt.py"));
}

#[test]
fn whatever_goes_wrong_makes_the_brief_smaller_and_never_fails() {
    let project = Project::new();
    project.knowledge.add(&[lesson(1, "Rounding twice", &[]).to_node()], &[]).unwrap();
    let nowhere = CommitId::new("00000000000000000000000000000000000000aa").unwrap();
    let asked = BriefAsked { task: TASK, role: "coder", at: &nowhere, changed: &[] };
    let brief = project.told(&asked, 4_000);
    assert_eq!(brief.warnings.len(), 1, "{:?}", brief.warnings);
    assert!(brief.text.contains("Rounding twice"));
    // A directory where the index should be: neither read nor written.
    write(&project.root(), ".spore/index", "in the way");
    let brief = project.brief(TASK);
    assert_eq!(brief.warnings.len(), 1, "{:?}", brief.warnings);
    assert!(brief.text.contains("Rounding twice") && !brief.text.contains("receipt.py"));
}

#[test]
fn only_lessons_that_hold_and_are_about_these_files_are_carried() {
    let project = Project::new();
    let old = lesson(1, "Rounding at the till", &[]).to_node();
    let mut new = lesson(2, "Rounding where it is shown", &[]);
    new.pattern = "The till showed one sum and the paper another, since both rounded".into();
    let elsewhere = lesson(3, "Rounding of pictures", &["pictures"]).to_node();
    project.knowledge.add(&[old.clone(), elsewhere], &[]).unwrap();
    project.knowledge.supersede_node(&old.id, &new.to_node(), &[]).unwrap();
    let brief = project.brief(TASK);
    assert_eq!(brief.carried.lessons, [new.id]);
}

#[test]
fn a_brief_stays_within_its_budget_and_nothing_known_is_no_text() {
    let project = Project::new();
    let at = project.head();
    let asked = BriefAsked { task: TASK, role: "coder", at: &at, changed: &[] };
    for tokens in [0, 1, 40, 100, 300, 1_000] {
        let brief = project.told(&asked, tokens);
        assert!(brief.carried.tokens <= tokens, "{tokens}: {}", brief.text);
    }
    let nothing = project.told(&asked, 0);
    assert_eq!(nothing.carried.tokens, 0);
    let sections: Vec<&str> = nothing.text.lines().filter(|line| line.starts_with("##")).collect();
    assert_eq!(sections, ["## Task", "## Checklist"], "{}", nothing.text);
}
