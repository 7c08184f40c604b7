//! What sessions are told beside their task, and what later runs know of earlier ones.

use serde_json::Value;
use spore_testkit::TestEnv;

use crate::scenes;

const BILL: &str = "def total(lines):\n    return sum(cents for _, cents in lines)\n\n\n\
                    def rounded(cents):\n    return (cents + 2) // 5 * 5\n";
const RECEIPT: &str = "from bill import rounded, total\n\n\ndef receipt(lines):\n    \
                       return f\"{rounded(total(lines))} cents\"\n";
const TASK: &str = "receipt: sums are rounded to ten cents";

/// A shop whose check is that its files are Python.
pub(crate) fn shop() -> TestEnv {
    let env = scenes::env();
    env.write("bill.py", BILL);
    env.write("receipt.py", RECEIPT);
    env.write(".gitignore", ".spore/\n__pycache__/\n");
    env.commit_all("a shop");
    env.write(
        ".spore/config.toml",
        "[gates.commands.check]\nrun = \"test -s bill.py && test -s receipt.py\"\n",
    );
    env
}

/// One bounce: `steps` of the coder, a verifier that agrees, and what the summarizer says.
pub(crate) fn play(env: &TestEnv, steps: &str, summarizer: &str, more: &[&str]) -> Value {
    let scenario = format!(
        "{}\n[[session]]\nrole = \"summarizer\"\nbounce = 0\ncost_usd = 0.125\nfinal = '''{summarizer}'''\n",
        scenes::one_bounce(steps)
    );
    env.write_at(&env.dir().join("scenario.toml"), &scenario);
    let mut args =
        vec!["orchestrate", TASK, "--backend", "replay", "--scenario", "../scenario.toml"];
    args.extend(more);
    args.extend(["--json", "-q"]);
    env.spore(&args).code(0).json()
}

pub(crate) const ROUND_TO_TEN: &str =
    r#"{ edit = "bill.py", find = "(cents + 2) // 5 * 5", replace = "(cents + 5) // 10 * 10" }"#;

pub(crate) const LESSON: &str = r#"All is told below.
<summary>{"title": "Sums are rounded to ten cents", "summary": "The bill rounds to ten cents now.",
"lessons": [{"title": "Rounding is done in the bill alone", "pattern": "A change of how sums look seems to belong into the receipt, which only prints what the bill rounded", "fix": "Change the rounding function of the bill and leave the receipt as it is", "scope": ["rounded"], "evidence": "the receipt needed no change"}]}</summary>"#;

pub(crate) fn carried(env: &TestEnv, session: &str) -> Value {
    let text = scenes::artefact(env, &format!("{session}/carried.json"));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn sessions_are_told_what_the_code_knows() {
    let env = shop();
    play(&env, ROUND_TO_TEN, LESSON, &[]);
    let task = |name: &str| scenes::plain(&scenes::artefact(&env, name));
    insta::assert_snapshot!("brief_of_a_coder", task("bounce-1/coder/task.md"));
    insta::assert_snapshot!("brief_of_a_verifier", task("bounce-1/verifier/task.md"));
    insta::assert_snapshot!("brief_of_a_summarizer", task("summarizer/task.md"));
    let of_coder = carried(&env, "bounce-1/coder");
    assert_eq!(of_coder["tree"], env.git(&["rev-parse", "main^{tree}"]).as_str());
    assert!(of_coder["files"].as_array().unwrap().contains(&"bill.py".into()), "{of_coder}");
}

#[test]
fn what_a_person_is_shown_is_what_the_coder_is_told() {
    // The title, then the sections by their headings; the run's own line and section left out.
    fn parts(task_file: &str) -> Vec<&str> {
        let mut parts: Vec<&str> = task_file.split("\n## ").collect();
        parts[0] = parts[0].lines().next().unwrap();
        parts.retain(|part| !part.starts_with("Checks\n"));
        parts
    }
    let env = shop();
    let of_tree = env.spore(&["context", TASK, "-q"]).code(0).stdout;
    let of_base = env.spore(&["context", TASK, "--rev", "HEAD", "-q"]).code(0).stdout;
    play(&env, ROUND_TO_TEN, LESSON, &[]);
    let of_coder = scenes::artefact(&env, "bounce-1/coder/task.md");
    assert!(parts(&of_coder).len() > 5, "{of_coder}");
    assert_eq!(parts(&of_coder), parts(&of_tree));
    assert_eq!(parts(&of_coder), parts(&of_base));
    assert!(of_coder.contains("\nRun ") && !of_tree.contains("\nRun "));
}

#[test]
fn a_lesson_of_one_run_is_told_to_the_next_until_its_run_is_taken_back() {
    let env = shop();
    play(&env, ROUND_TO_TEN, LESSON, &[]);
    let first = scenes::newest_id(&env);
    assert_eq!(carried(&env, "bounce-1/coder")["lessons"], serde_json::json!([]));
    let expecting = r#"{ expect = "Rounding is done in the bill alone" }, { write = "notes.txt", content = "read\n" }"#;
    play(&env, expecting, "Nothing to say.", &[]);
    let told = carried(&env, "bounce-1/coder")["lessons"].clone();
    assert_eq!(told.as_array().unwrap().len(), 1, "{told}");
    let id = told[0].as_str().unwrap();
    let lesson = env.spore(&["graph", "show", id, "--json"]).code(0).json();
    let listed = env.spore(&["lessons", "--json"]).code(0).json();
    let carried_by = serde_json::json!({ "runs": 1, "verified": 1, "fell_short": 0 });
    assert_eq!((&listed[0]["id"], &listed[0]["carried"]), (&id.into(), &carried_by));
    assert_eq!(lesson["metadata"]["scope"], serde_json::json!(["bill.py"]));
    let _ = env.spore(&["runs", "rollback", &first, "--yes"]).code(0);
    play(&env, r#"{ write = "notes.txt", content = "again\n" }"#, "Nothing to say.", &[]);
    assert_eq!(carried(&env, "bounce-1/coder")["lessons"], serde_json::json!([]));
}

#[test]
fn a_summarizer_that_says_nothing_readable_changes_nothing() {
    let env = shop();
    let report = play(&env, ROUND_TO_TEN, "<summary>{\"summary\": \"cut off", &[]);
    assert_eq!(report["status"], "verified");
    let edges = env.spore(&["graph", "query-edges", "-t", "summarizes", "--json"]).code(0).json();
    assert_eq!(edges, serde_json::json!([]));
}

#[test]
fn a_run_without_context_is_told_its_task_alone() {
    let env = shop();
    play(&env, ROUND_TO_TEN, LESSON, &["--experiment", "no-context"]);
    let task = scenes::artefact(&env, "bounce-1/coder/task.md");
    let told = task.lines().filter(|line| line.starts_with("## ")).collect::<Vec<_>>();
    assert_eq!(told, ["## Task", "## Checks", "## Checklist"], "{task}");
    assert!(!env.repo().join(".spore/index").exists(), "nothing was indexed for it");
}
