//! `spore memory export`, `import` and `trial`.

use serde_json::{Value, json};
use spore_testkit::TestEnv;

use crate::memory::{FILE, broadcast, project};

fn read(env: &TestEnv, name: &str) -> String {
    std::fs::read_to_string(env.repo().join(name)).unwrap()
}

#[test]
fn lines_go_out_and_come_in_between_markers_and_nothing_else_changes() {
    let env = project();
    let theirs =
        "# House rules\r\n\r\n* Squash before merging\n<!-- ours -->\nno newline at the end";
    env.write("AGENTS.md", theirs);
    let exported = env.spore(&["memory", "export", "AGENTS.md"]).code(0);
    assert!(exported.stdout.contains("3 lines of memory"), "{}", exported.render());
    let out = read(&env, "AGENTS.md");
    assert!(out.starts_with(theirs));
    assert!(out.contains("- Run `make lint` before committing\n"));
    let _ = env.spore(&["memory", "export", "AGENTS.md"]).code(0);
    assert_eq!(read(&env, "AGENTS.md"), out);
    // What was exported does not come back; what is theirs does, once.
    let imported = env.spore(&["memory", "import", "AGENTS.md", "--json"]).code(0).json();
    assert_eq!(imported["added"].as_array().unwrap().len(), 2, "{imported}");
    let now = broadcast(&env);
    assert!(now.starts_with(FILE));
    assert_eq!(now.matches("Squash before merging").count(), 1);
    assert_eq!(now.matches("make lint").count(), 1);
    let again = env.spore(&["memory", "import", "AGENTS.md", "--json"]).code(0).json();
    assert_eq!((&again["terminal"], broadcast(&env)), (&json!("NO-OP"), now));
    let _ = env.spore(&["memory", "undo"]).code(0);
    assert_eq!(broadcast(&env), FILE);
}

#[test]
fn a_file_that_cannot_be_exchanged_with_is_left_alone() {
    let env = project();
    let broken = "<!-- spore:memory:begin -->\n- One\n";
    env.write("CLAUDE.md", broken);
    for command in ["export", "import"] {
        let refused = env.spore(&["memory", command, "CLAUDE.md"]).code(65);
        assert!(refused.stderr.contains("left as it is"), "{}", refused.render());
        for outside in ["../CLAUDE.md", "/etc/hosts", ".spore/memory/CLAUDE.md", ""] {
            let code = env.spore(&["memory", command, outside]);
            assert_ne!(code.code, 0, "{command} {outside}");
        }
    }
    assert_eq!((read(&env, "CLAUDE.md").as_str(), broadcast(&env).as_str()), (broken, FILE));
    let _ = env.spore(&["memory", "import", "NOTHING.md"]).code(65);
}

fn trial(env: &TestEnv, more: &[&str]) -> Value {
    let args = [&["memory", "trial", "L5"], more, &["--json"]].concat();
    env.spore(&args).code(0).json()
}

#[test]
fn a_line_on_trial_is_kept_back_from_a_share_of_runs_and_the_record_says_so() {
    let env = project();
    let _ = env.spore(&["memory", "trial", "L5"]).code(65);
    let _ = env.spore(&["memory", "trial", "L5", "--share", "1.5"]).code(64);
    let started = trial(&env, &["--share", "0.5"]);
    assert_eq!(
        (&started["finding"], &started["told"]["runs"]),
        (&json!("too_few_runs"), &json!(0))
    );
    let _ = env.spore(&["memory", "trial", "L5", "--share", "0.5"]).code(65);
    // What agents read by themselves is withheld from none of them.
    assert_eq!(started["also_in"], json!([]));
    let _ = env.spore(&["memory", "export", "AGENTS.md"]).code(0);
    assert_eq!(trial(&env, &[])["also_in"], json!(["AGENTS.md"]));
    let told = env.spore(&["memory", "trial", "L5"]).code(0);
    assert!(told.stdout.contains("The line is in AGENTS.md too"), "{}", told.render());
    let stopped = trial(&env, &["--stop"]);
    assert!(stopped["trial"]["ended"].is_string(), "{stopped}");
    let _ = env.spore(&["memory", "trial", "L5", "--stop"]).code(65);
}
