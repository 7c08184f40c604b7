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

#[test]
fn only_a_markdown_file_inside_of_the_project_is_written() {
    let env = project();
    env.write(".env", "KEY=1\n");
    env.write("sub/.git/config.md", "a\n");
    std::fs::create_dir_all(env.repo().join("docs")).unwrap();
    let outside = env.repo().parent().unwrap().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    #[cfg(unix)]
    for (link, to) in [("out", &outside), ("kept", &env.repo().join(".git"))] {
        std::os::unix::fs::symlink(to, env.repo().join(link)).unwrap();
    }
    let git = read(&env, ".git/config");
    for file in [
        ".git/config",
        ".git/x.md",
        "sub/.git/config.md",
        ".GIT/x.md",
        ".env",
        "Makefile",
        ".spore/x.md",
        "out/x.md",
        "out/new/x.md",
        "kept/x.md",
        "docs/../../x.md",
        "/x.md",
    ] {
        for command in ["export", "import"] {
            let refused = env.spore(&["memory", command, file]).code(64);
            assert!(refused.stderr.contains("Markdown"), "{}", refused.render());
        }
    }
    assert_eq!((read(&env, ".git/config"), read(&env, ".env")), (git, "KEY=1\n".to_owned()));
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    let whole = env.repo().join("docs/deep/NOTES.md");
    for (file, name) in [
        ("./AGENTS.md", "AGENTS.md"),
        ("docs/./RULES.MD", "docs/RULES.MD"),
        (whole.to_str().unwrap(), "docs/deep/NOTES.md"),
    ] {
        let exported = env.spore(&["memory", "export", file, "--json"]).code(0).json();
        assert_eq!(exported["file"], name);
        assert!(read(&env, name).contains("make lint"));
    }
}

#[test]
fn what_a_file_says_itself_is_not_said_to_it_again() {
    let env = project();
    env.write(
        "AGENTS.md",
        "# Ours\n\nRun `make lint`\nbefore committing\n\n| a | b |\n|---|---|\n",
    );
    let exported = env.spore(&["memory", "export", "AGENTS.md", "--json"]).code(0).json();
    assert_eq!(exported["lines"], 2);
    assert_eq!(read(&env, "AGENTS.md").matches("make lint").count(), 1);
    let imported = env.spore(&["memory", "import", "AGENTS.md", "--json"]).code(0).json();
    assert_eq!(imported["added"], json!([]), "{imported}");
}

#[test]
fn a_trial_is_shown_and_ends_on_record_with_its_line() {
    let env = project();
    let _ = trial(&env, &["--share", "0.5"]);
    let status = env.spore(&["memory", "status"]).code(0);
    assert!(status.stdout.contains("on trial, 0.5"), "{}", status.render());
    let told = env.spore(&["memory", "status", "--json"]).code(0).json();
    assert_eq!(told["lines"][2]["trial"], 0.5, "{told}");
    for number in 1..=2 {
        crate::memory::wrong(&env, number, "Run `make lint` before committing");
    }
    for pass in ["scan", "crystallize"] {
        let _ = env.spore(&["memory", pass]).code(0);
    }
    let updated = env.spore(&["memory", "update", "--json"]).code(0).json();
    let hash = told["lines"][2]["hash"].as_str().unwrap();
    assert_eq!(updated["trials_ended"], json!([hash]), "{updated}");
    let ended = env.spore(&["memory", "trial", hash, "--json"]).code(0).json();
    assert!(ended["trial"]["ended"].is_string(), "{ended}");
    // A line that a person takes out is told of as well.
    let _ = env.spore(&["memory", "trial", "L3", "--share", "0.5"]).code(0);
    env.write(".spore/memory/CLAUDE.md", "- Ask first, always\n");
    let status = env.spore(&["memory", "status"]).code(0);
    assert!(status.stdout.contains("Trials of lines no longer in the file: 1"), "{status:?}");
}
