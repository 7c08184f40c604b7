//! What a run says of itself: why it was turned down, what it was not let do, what it changed.

use crate::scenes::{self, WRITE_42};

/// One coder session and, where it comes to that, a verifier that agrees.
fn coder(steps: &str, last: &str) -> String {
    format!(
        "[[session]]\nrole = \"coder\"\nbounce = 1\ncost_usd = 0.5\nfinal = '''{last}'''\n\
         steps = [{steps}]\n\
         [[session]]\nrole = \"verifier\"\nbounce = 1\ncost_usd = 0.25\n\
         final = '''<verdict>{{\"nonce\":\"$NONCE\",\"verdict\":\"supports\"}}</verdict>'''\n"
    )
}

#[test]
fn a_secret_that_turned_a_change_down_is_named_by_its_place_and_never_shown() {
    // Put together at run time, so that no scanner stops at this file.
    let key = format!("AK{}Q7ZK2LMX4VB6TR5W", "IA");
    let write = format!(r#"{{ write = "answer.txt", content = "42\nkey = {key}\n" }}"#);
    let env = scenes::with_scenario(&coder(&write, "done"));
    let output = scenes::orchestrate(&env, &["--max-bounces", "1"]).code(11);
    assert!(output.stderr.contains("turned down for secrets: answer.txt:2: looks like"));
    let shown = env.spore(&["runs", "show", &scenes::newest_id(&env)]).code(0).stdout;
    assert!(shown.contains("secret      answer.txt:2: looks like"), "{shown}");
    let kept = scenes::artefact(&env, "escalation.md");
    assert!(kept.contains("- secret: answer.txt:2: looks like"), "{kept}");
    for text in [&output.stderr, &shown, &kept] {
        assert!(text.contains("spore config set commit.allow_secrets PATH"), "{text}");
        assert!(!text.contains(&key), "{text}");
    }
}

#[test]
fn what_failed_and_what_was_found_is_told_to_people() {
    let env = scenes::with_scenario(scenes::THREE_BOUNCES);
    env.write(
        "check.sh",
        "echo looking; test \"$(cat kept.txt)\" = 'keep me' || { echo kept is gone; exit 1; }\n",
    );
    env.commit_all("a check that says why");
    let _ = scenes::orchestrate(&env, &["--max-bounces", "2"]).code(11);
    let shown = env.spore(&["runs", "show", &scenes::newest_id(&env)]).code(0).stdout;
    assert!(shown.contains("output      $ sh check.sh\n"), "{shown}");
    assert!(shown.contains("kept is gone"), "{shown}");
    assert!(shown.contains("finding     answer.txt:1: must be 42"), "{shown}");
    assert!(shown.contains("next        Decide, or let it try anew:\n"), "{shown}");
    let kept = scenes::artefact(&env, "escalation.md");
    for part in ["### Attempt 1: rejected", "kept is gone", "> - answer.txt:1: must be 42"] {
        assert!(kept.contains(part), "{part}: {kept}");
    }
}

#[test]
fn excluded_files_that_a_coder_edited_are_named() {
    let steps = format!(
        r#"{WRITE_42}, {{ write = ".env", content = "A=1\n" }}, {{ write = "target/x/y", content = "z" }}"#
    );
    let env = scenes::with_scenario(&coder(&steps, "done"));
    let output = scenes::orchestrate(&env, &[]).code(0);
    let told = "left out of the commit: .env, target/; `[commit] allow` lets paths in";
    assert!(output.stderr.contains(told), "{}", output.stderr);
    assert_eq!(
        scenes::newest(&env)["bounces"][0]["left_out"],
        serde_json::json!([".env", "target/"])
    );

    let only = r#"{ write = ".env", content = "A=1\n" }"#;
    let env = scenes::with_scenario(&coder(only, "done"));
    let output = scenes::orchestrate(&env, &["--max-bounces", "1"]).code(11);
    assert!(output.stderr.contains("nothing but files that no commit takes: .env"));
}

#[test]
fn a_commit_says_what_changed_and_its_branch_what_it_is_for() {
    let last = "The answer is 42 now, in `answer.txt`. I also rewrote kept.txt for clarity.";
    let env = scenes::with_scenario(&coder(WRITE_42, last));
    let output = scenes::orchestrate(&env, &[]).code(0);
    let id = scenes::newest_id(&env);
    let branch = format!("spore/write-the-answer-{}", &id[id.len() - 8..]);
    assert!(output.stdout.contains(&format!("git merge {branch}")), "{}", output.stdout);
    let message = env.git(&["log", "-1", "--format=%B", &branch]);
    assert!(
        message.starts_with(&format!(
            "write the answer\n\nThe answer is 42 now, in `answer.txt`.\n\nSpore-Run: {id}\n"
        )),
        "{message}"
    );
    // A run of an earlier version is found by its whole id.
    env.git(&["branch", "-m", &branch, &format!("spore/{id}")]);
    let told = env.spore(&["runs", "rollback", &id, "--yes"]).code(0).stdout;
    assert!(told.contains(&format!("branch spore/{id} is removed")), "{told}");
}

/// A project whose agent prints our own events: these, and a result.
fn speaking(events: &[&str], flow: &str) -> spore_testkit::TestEnv {
    let env = scenes::small();
    let lines: String = events.iter().map(|event| format!("echo '{event}'\n")).collect();
    let result = r#"{"type":"result","text":"all done","turns":1,"cost_usd":0.5}"#;
    env.write_at(
        &env.dir().join("agent.sh"),
        &format!("cat > /dev/null\n{lines}echo '{result}'\n"),
    );
    env.write(
        ".spore/config.toml",
        "[gates.commands.check]\nrun = \"sh check.sh\"\n[sandbox]\nmode = \"off\"\n\
         [command]\nprogram = \"sh\"\noutput = \"events\"\nargs = [\"AGENT\"]\n"
            .replace("AGENT", &env.dir().join("agent.sh").display().to_string())
            .as_str(),
    );
    env.write(".spore/flows/flow.toml", flow);
    env
}

const WRITE: &str = r#"{"type":"tool_use","tool":"Write","summary":"notes.md","path":"notes.md"}"#;
const REFUSED: &str = r#"{"type":"tool_refused","tool":"Write"}"#;

#[test]
fn a_session_that_was_let_write_nothing_is_no_success() {
    let flow = "[executors.e]\nrole = \"operator\"\nprompt = \"write it\"\nbackend = \"command\"\n\
                actions = [\"WRITE\"]\n[orchestrators.o]\nexecutor = \"e\"\n\
                stages = [{ name = \"WRITE\", artifact = \"notes.md\" }]\nmodifiers = { full = [\"WRITE\"] }\n";
    let env = speaking(&[WRITE, REFUSED], flow);
    let spawn = ["spawn", "--prompt", "write notes.md", "--backend", "command"];
    let output = env.spore(&spawn).code(1);
    assert!(output.stderr.contains("operator: Write refused"), "{}", output.stderr);
    let told = "it was let change nothing: 1 tool call was refused (Write)";
    assert!(output.stderr.contains(told), "{}", output.stderr);
    assert!(
        output.stderr.contains("`--allowed-tools Write` lets them through"),
        "{}",
        output.stderr
    );
    let shown = scenes::newest(&env);
    assert_eq!(shown["status"], "failed");
    assert_eq!(
        shown["sessions"][0]["refused"][0],
        serde_json::json!({ "tool": "Write", "times": 1 })
    );

    let output = env.spore(&["exec", "e", "WRITE", "it"]).code(1);
    let cure = "`allowed_tools` of the executor e lets them through";
    assert!(output.stderr.contains(cure), "{}", output.stderr);

    // One that got through is a success, and what was refused is told all the same.
    let env = speaking(&[WRITE, REFUSED, WRITE], flow);
    let output = env.spore(&spawn).code(0);
    assert!(output.stderr.contains("1 tool call was refused (Write)"), "{}", output.stderr);
}

#[test]
fn what_an_agent_thinks_aloud_is_kept_apart_from_what_it_says() {
    let thought = r#"{"type":"thinking","text":"is it 42?"}"#;
    let env = speaking(&[thought, r#"{"type":"text","text":"it is"}"#], "");
    let _ = env.spore(&["spawn", "--prompt", "think", "--backend", "command"]).code(0);
    assert_eq!(scenes::artefact(&env, "session/thinking.log"), "is it 42?\n");
    assert_eq!(scenes::artefact(&env, "session/final.md"), "all done");
}

const OPERATOR: &str = "[[session]]\nrole = \"operator\"\nbounce = 0\ncost_usd = 0.5\n\
                        final = \"I wrote answer.txt.\"\n";

#[test]
fn a_role_alone_lands_what_it_did_where_it_was_asked_to() {
    let scenario = format!("{OPERATOR}steps = [{WRITE_42}]\n");
    let env = scenes::with_scenario(&scenario);
    let output = scenes::orchestrate(&env, &["--agent", "operator", "--in-place"]).code(0);
    assert_eq!(std::fs::read_to_string(env.repo().join("answer.txt")).unwrap(), "42\n");
    assert!(output.stdout.contains("no verifier judged it"), "{}", output.stdout);
    assert!(output.stdout.contains("in your files and staged"), "{}", output.stdout);
    assert_eq!(scenes::newest(&env)["status"], "finished");

    let env = scenes::with_scenario(&scenario);
    let _ = scenes::orchestrate(&env, &["--agent", "operator", "--apply", "merge"]).code(0);
    assert_eq!(env.git(&["show", "HEAD:answer.txt"]), "42");
    let message = env.git(&["log", "-1", "--format=%B", &scenes::newest_branch(&env)]);
    assert!(message.contains("I wrote answer.txt."), "{message}");
    assert!(message.contains("Spore-Verdict: none, by operator alone"), "{message}");

    // Unless it is asked for, nothing lands.
    let env = scenes::with_scenario(&scenario);
    let _ = scenes::orchestrate(&env, &["--agent", "operator"]).code(0);
    assert_eq!(env.git(&["branch", "--list", "spore/*"]), "");
}
