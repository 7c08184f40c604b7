//! Lists of tasks as a person sees them: `spore loop` and `spore batch`, with agents that play a
//! scenario.

use std::time::Duration;

use serde_json::{Value, json};
use spore_testkit::{TestEnv, wait_until_none};

use crate::scenes;

/// A verifier that agrees with everything.
const AGREES: &str = r#"
[[session]]
role = "verifier"
bounce = 1
cost_usd = 0.25
final = '''<verdict>{"nonce":"$NONCE","verdict":"supports"}</verdict>'''
"#;

/// A coder's session for a task with these words.
pub(crate) fn coder(words: &str, steps: &str) -> String {
    format!(
        "[[session]]\nrole = \"coder\"\nbounce = 1\ntask = \"{words}\"\ncost_usd = 0.5\n\
         final = \"done\"\nsteps = [{steps}]\n"
    )
}

/// A coder that writes `NAME.txt` for each task `write NAME`.
pub(crate) fn writes(names: &[&str]) -> String {
    let one = |name: &&str| {
        coder(
            &format!("write {name}."),
            &format!("{{ write = \"{name}.txt\", content = \"{name}\\n\" }}"),
        )
    };
    names.iter().map(one).collect()
}

/// A coder that says that it is done and changes nothing: its task is escalated.
pub(crate) fn idles(name: &str) -> String {
    format!(
        "[[session]]\nrole = \"coder\"\nbounce = 1\ntask = \"write {name}.\"\ncost_usd = 0.5\n\
         final = \"done\"\n"
    )
}

pub(crate) fn scene(tasks: &str, parts: &[String]) -> TestEnv {
    let env = scenes::small().with_variable("SPORE_LOOP_COOLDOWN", "0s");
    env.write_at(&env.dir().join("tasks.txt"), tasks);
    env.write_at(&env.dir().join("scenario.toml"), &format!("{}{AGREES}", parts.concat()));
    env
}

pub(crate) const REPLAY: [&str; 6] =
    ["--backend", "replay", "--scenario", "../scenario.toml", "--max-bounces", "1"];

pub(crate) fn args<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["loop", "--source", "../tasks.txt"][..], &REPLAY, more].concat()
}

pub(crate) fn with_loop(env: &TestEnv, more: &[&str]) -> spore_testkit::ProgramOutput {
    env.spore(&args(more))
}

/// What came of each task.
pub(crate) fn statuses(report: &Value) -> Vec<&str> {
    let rows = report["tasks"].as_array().unwrap().iter();
    rows.map(|row| row["status"].as_str().unwrap()).collect()
}

/// The subjects of the commits on the loop's branch, oldest first.
pub(crate) fn subjects(env: &TestEnv, report: &Value) -> Vec<String> {
    let branch = report["branch"].as_str().unwrap();
    let log = env.git(&["log", "--reverse", "--format=%s", &format!("main..{branch}")]);
    log.lines().map(str::to_owned).collect()
}

pub(crate) fn state(env: &TestEnv) -> Value {
    let text = std::fs::read_to_string(env.dir().join("tasks.loop-state.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_list_of_tasks_becomes_a_branch_of_verified_commits() {
    let env = scene("write a.\n# not this\n\nwrite b.\nwrite c.\n", &[writes(&["a", "b", "c"])]);
    let before = env.git(&["status", "--porcelain"]);
    let output = with_loop(&env, &[]).code(0);
    insta::assert_snapshot!("a_loop", scenes::told(&output));
    let again = with_loop(&env, &["--json"]).code(0).json();
    assert_eq!(statuses(&again), ["skipped", "skipped", "skipped"]);
    let branch = env.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/spore/loop"]);
    assert_eq!(branch.lines().count(), 1, "{branch}");
    let log = env.git(&["log", "--reverse", "--format=%s", &format!("main..{branch}")]);
    assert_eq!(log, "feat(loop): write a.\nfeat(loop): write b.\nfeat(loop): write c.");
    let files = env.git(&["ls-tree", "--name-only", &branch]);
    assert!(files.contains("a.txt\nanswer.txt\nb.txt\nc.txt"), "{files}");
    let trailers = env.git(&["log", "-1", "--format=%(trailers)", &branch]);
    assert!(trailers.contains("Spore-Run: ") && trailers.contains("Spore-Tree: "), "{trailers}");
    // The person's own files are as they were.
    assert_eq!(env.git(&["status", "--porcelain"]), before);
    assert_eq!(env.git(&["rev-parse", "--abbrev-ref", "HEAD"]), "main");
    let state = state(&env);
    assert_eq!(state["verified_tasks"], serde_json::json!(["write a.", "write b.", "write c."]));
    assert_eq!(state["total_cost"], 2.25);
    assert_eq!(state["runs"][0]["status"], "verified");
    assert_eq!(wait_until_none(env.dir(), Duration::from_secs(8)), []);
}

#[test]
fn an_edited_list_has_only_done_what_changed_and_costs_add_up() {
    let env = scene("write a.\nwrite b.\n", &[writes(&["a", "b", "c", "d"])]);
    let first = with_loop(&env, &["--json"]).code(0).json();
    assert_eq!(first["total_cost"], 1.5);
    env.write_at(&env.dir().join("tasks.txt"), "write c.\nwrite b.\nwrite a.\n");
    let second = with_loop(&env, &["--json"]).code(0).json();
    assert_eq!(statuses(&second), ["verified", "skipped", "skipped"]);
    assert_eq!((&second["total_cost"], &second["branch"]), (&2.25.into(), &first["branch"]));
    assert_eq!(
        subjects(&env, &second),
        ["feat(loop): write a.", "feat(loop): write b.", "feat(loop): write c."]
    );
    // Merged, the next task begins from what is merged.
    env.git(&["merge", "--quiet", second["branch"].as_str().unwrap()]);
    env.write_at(&env.dir().join("tasks.txt"), "write d.\n");
    let third = with_loop(&env, &["--json"]).code(0).json();
    assert_eq!(subjects(&env, &third), ["feat(loop): write d."]);
    assert_ne!(third["branch"], first["branch"]);
    // The journal is the truth: without it the file beside the list says what is done.
    std::fs::remove_file(env.repo().join(".spore/spore.db")).unwrap();
    env.write_at(&env.dir().join("tasks.txt"), "write d.\nwrite a.\n");
    let fourth = with_loop(&env, &["--json"]).code(0).json();
    assert_eq!(statuses(&fourth), ["skipped", "skipped"]);
    assert_eq!(fourth["total_cost"], 3.0);
    env.git(&["reset", "--quiet", "--hard", "HEAD~3"]);
    let anew = with_loop(&env, &["--json", "--reset"]).code(0).json();
    assert_eq!(statuses(&anew), ["verified", "verified"]);
    assert_eq!(anew["total_cost"], 1.5);
}

#[test]
fn a_branch_that_could_not_be_merged_is_told_wherever_runs_are() {
    let env = scene("write a.\n", &[writes(&["a"])]);
    env.write("a.txt", "mine\n");
    let report = with_loop(&env, &["--json", "--apply", "merge"]).code(12).json();
    let told = (&report["status"], &report["outcome"], &report["applied"]["done"]);
    assert_eq!(told, (&"partial".into(), &"partial".into(), &false.into()), "{report:#}");
    let next = format!("git merge {}", report["branch"].as_str().unwrap());
    let shown = scenes::newest(&env);
    assert_eq!(
        (&shown["status"], &shown["next"]["command"]),
        (&"partial".into(), &next.as_str().into())
    );
    for command in [&["runs", "explain"][..], &["dashboard"]] {
        let output = env.spore(command).code(0).stdout;
        assert!(output.contains("not merged") && output.contains(&next), "{output}");
    }
    // What the person has brought in by hand waits no longer.
    std::fs::remove_file(env.repo().join("a.txt")).unwrap();
    env.git(&["merge", "--quiet", report["branch"].as_str().unwrap()]);
    let board = env.spore(&["dashboard", "--json"]).code(0).json();
    assert_eq!(board["waiting"], json!([]), "{board:#}");
}

#[test]
fn a_task_is_done_only_where_its_work_is() {
    let env = scene("write a.\n", &[writes(&["a", "b"])]);
    let merged = with_loop(&env, &["--json", "--apply", "merge"]).code(0).json();
    let _ = env.spore(&["runs", "rollback", merged["run"].as_str().unwrap(), "--yes"]).code(0);
    // Taken back, it is done once more.
    let again = with_loop(&env, &["--json"]).code(0).json();
    assert_eq!(statuses(&again), ["verified"]);
    // A branch that is gone is made again from what is kept of it.
    let branch = again["branch"].as_str().unwrap();
    env.git(&["branch", "--quiet", "-D", branch]);
    env.write_at(&env.dir().join("tasks.txt"), "write a.\nwrite b.\n");
    let kept = with_loop(&env, &["--json"]).code(0).json();
    assert_eq!((statuses(&kept), &kept["branch"]), (vec!["skipped", "verified"], &again["branch"]));
    assert_eq!(subjects(&env, &kept), ["feat(loop): write a.", "feat(loop): write b."]);
    // What a squash brought in is done, whatever its commit is called.
    env.git(&["merge", "--quiet", "--squash", branch]);
    env.commit_all("squashed");
    env.git(&["branch", "--quiet", "-D", branch]);
    let squashed = with_loop(&env, &["--json"]).code(0).json();
    assert_eq!(
        (statuses(&squashed), squashed["tip"].is_null()),
        (vec!["skipped", "skipped"], true)
    );
    // And where it is nowhere, nothing is begun.
    env.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    for name in env.git(&["for-each-ref", "--format=%(refname)", "refs/spore"]).lines() {
        env.git(&["update-ref", "-d", name]);
    }
    let lost = with_loop(&env, &[]).code(65);
    assert!(lost.stderr.contains("`write a.`, `write b.`"), "{}", lost.render());
    let anew = with_loop(&env, &["--json", "--reset"]).code(0).json();
    assert_eq!(statuses(&anew), ["verified", "verified"]);
}

#[test]
fn a_branch_that_a_person_moved_is_noticed_before_anything_is_paid() {
    let env = scene("write a.\nwrite b.\n", &[writes(&["a", "b"])]);
    let parked = with_loop(&env, &["--json", "--budget", "0.75"]).code(3).json();
    let branch = parked["branch"].as_str().unwrap();
    env.git(&["branch", "--quiet", "-f", branch, "main"]);
    let refused = with_loop(&env, &["--budget", "5"]).code(65);
    assert!(refused.stderr.contains("is not where the loop left it"), "{}", refused.render());
    let shown = scenes::newest(&env);
    assert_eq!((&shown["status"], &shown["cost"]["usd"]), (&"parked:human".into(), &0.75.into()));
    assert!(shown["run"]["reason"].as_str().unwrap().contains(branch), "{shown:#}");
    let anew = with_loop(&env, &["--json", "--budget", "5", "--reset"]).code(0).json();
    assert_eq!(statuses(&anew), ["verified", "verified"]);
    let old = env.spore(&["runs", "show", parked["run"].as_str().unwrap(), "--json"]).code(0);
    assert_eq!(old.json()["status"], "cancelled");
}

#[test]
fn a_loop_out_of_budget_waits_and_goes_on_with_more() {
    let env = scene("write a.\nwrite b.\nwrite c.\n", &[writes(&["a", "b", "c"])]);
    let report = with_loop(&env, &["--json", "--budget", "1.5"]).code(3).json();
    assert_eq!(
        (&report["status"], statuses(&report)),
        (&"parked:budget".into(), vec!["verified", "verified", "waiting"])
    );
    let id = report["run"].as_str().unwrap();
    let diff = || env.spore(&["runs", "diff", id]).code(0);
    assert!(diff().stdout.contains("+b\n") && !diff().stdout.contains("c.txt"));
    let resumed = env.spore(&["resume", id, "--budget", "+1", "--json"]).code(0).json();
    assert_eq!(resumed["status"], "finished");
    // The change of the whole is that of its branch.
    assert!(diff().stdout.contains("+b\n") && diff().stdout.contains("+c\n"));
    let tip = env.git(&["rev-parse", report["branch"].as_str().unwrap()]);
    let tip = &tip[..12];
    assert!(diff().stderr.contains(&format!("from the base to {tip}")), "{}", diff().render());
    assert_eq!(subjects(&env, &report).len(), 3);
    // A list with another task goes on from there, and what it cost counts.
    env.write_at(&env.dir().join("tasks.txt"), "write a.\nwrite d.\n");
    let spent = with_loop(&env, &["--json", "--budget", "2"]).code(3).json();
    assert_eq!(statuses(&spent), ["skipped", "waiting"]);
}

#[test]
fn escalations_in_a_row_stop_a_loop_and_a_person_lets_it_go_on() {
    let tasks = "write a.\nwrite b.\nwrite c.\nwrite d.\nwrite e.\n";
    let parts = [writes(&["a", "e"]), idles("b"), idles("c"), idles("d")];
    let env = scene(tasks, &parts);
    let report = with_loop(&env, &["--json"]).code(3).json();
    assert_eq!(statuses(&report), ["verified", "escalated", "escalated", "escalated", "waiting"]);
    assert_eq!(report["status"], "parked:human");
    let report = with_loop(&env, &["--json"]).code(12).json();
    assert_eq!(statuses(&report), ["verified", "escalated", "escalated", "escalated", "verified"]);
    let told = env.spore(&["runs", "explain"]).code(0).stdout;
    let (_, short) = told.split_once("\nWhat fell short\n").unwrap_or_default();
    for task in &report["tasks"].as_array().unwrap()[1..4] {
        let words = task["description"].as_str().unwrap();
        let retry = format!("spore retry {}\n", &task["run"].as_str().unwrap()[18..]);
        let (_, of_task) = short.split_once(&format!("escalated   {words}: ")).unwrap_or_default();
        assert_eq!(of_task.lines().nth(1).map(str::trim), Some(retry.trim()), "{told}");
    }
    assert!(!short.contains("write a.") && short.contains("spore loop --source "), "{told}");
    let env = scene(tasks, &parts);
    let paused = with_loop(&env, &["--json", "--pause-on-escalation"]).code(3).json();
    assert_eq!(statuses(&paused)[..3], ["verified", "escalated", "waiting"]);
}

#[test]
fn a_list_that_is_given_up_keeps_the_work_of_its_tasks_and_what_they_cost() {
    let env = scene("write a.\nwrite b.\n", &[writes(&["a", "b"])]);
    // The second task's coder is done, and no process has heard of it.
    let point = [("SPORE_KILL_AT", "before:row:finish write b./1 coder/1#1")];
    let _ = env.spore_in(&env.repo(), &args(&[]), &point).code(137);
    let id = scenes::newest_id(&env);
    let told = env.spore(&["runs", "explain"]).code(0).stdout;
    assert!(told.contains("  at          the task `write b.`\n"), "{told}");
    let given_up = env.spore(&["runs", "abandon", &id, "--json"]).code(0).json();
    // Two coders, of which one was not seen to its end, and a verifier.
    assert_eq!(given_up["cost"]["usd"], 1.25, "{given_up:#}");
    let left = given_up["left"].as_array().unwrap();
    assert_eq!(left.len(), 1, "{given_up:#}");
    assert_eq!(env.work_git(&["show", &format!("{}:b.txt", left[0].as_str().unwrap())]), "b");
    let shown = scenes::newest(&env);
    assert_eq!((&shown["status"], &shown["cost"]["usd"]), (&"cancelled".into(), &1.25.into()));
    let costs = env.spore(&["runs", "cost", "--json"]).code(0).json();
    assert_eq!(costs["total"]["cost"]["usd"], 1.25, "{costs:#}");
    let pruned = env.spore(&["runs", "prune", "--json"]).code(0).json();
    assert_eq!((pruned["runs"].as_array().unwrap().len(), &pruned["left"]), (1, &json!([])));
    // The task alone is tried again as any other, with what it has to pass and for the usual price.
    let retried = left[0].as_str().unwrap().split('/').nth(2).unwrap();
    let again = env.spore(&["retry", retried, "--json"]).code(0).json();
    assert_eq!(again["applied"]["how"], "branch", "{again:#}");
}

#[test]
fn tasks_of_lists_count_in_the_figures_and_in_experiments() {
    let tasks = "write a.\nwrite b.\n";
    let env = scene(tasks, &[writes(&["a"]), idles("b")]);
    for label in ["one", "two"] {
        let _ = with_loop(&env, &["--reset", "--experiment", label]).code(12);
    }
    let stats = env.spore(&["runs", "stats"]).code(0);
    insta::assert_snapshot!(scenes::told(&stats), @"
    exit code: 0
    --- stdout
    runs        2: 2 partial
    tasks       4: 2 escalated, 2 verified
    cost        $2.50
    verified    50 %, 2 of 4 decided tasks
    first try   100 % of the verified ones
    price       $1.25 for a verified change, with what was in vain
    a task      $0.62 in the middle, $0.62 on average, from $0.50 to $0.75
    time        0.0 s in the middle, 0.0 s on average, from 0.0 s to 0.0 s
    turns       1.5 in the middle, 1.5 on average, from 1.0 to 2.0
    attempts    1.0 in the middle, 1.0 on average, from 1.0 to 1.0
    in vain     2  not verified by attempt 1, the last: the coder changed nothing
    --- stderr
    ");
    let json = env.spore(&["runs", "stats", "--json"]).code(0).json();
    let of = |name: &str| json[name].clone();
    assert_eq!((of("runs"), of("tasks"), of("decided")), (2.into(), 4.into(), 4.into()));
    let costs = env.spore(&["runs", "cost", "--json"]).code(0).json();
    assert_eq!(json["cost"]["usd"], costs["total"]["cost"]["usd"]);
    let compared =
        env.spore(&["runs", "compare-experiments", "one", "two", "--json"]).code(0).json();
    assert_eq!((&compared["pairs"], &compared["only_a"]), (&2.into(), &0.into()));
    // A task that was escalated waits for a person, wherever it was asked for.
    let board = env.spore(&["dashboard", "--json"]).code(0).json();
    let waiting = board["waiting"].as_array().unwrap();
    assert_eq!(waiting.iter().map(|one| &one["status"]).collect::<Vec<_>>(), ["escalated"; 2]);
    assert_eq!(board["recent"].as_array().unwrap().len(), 2, "{board:#}");
    // What waits is explained and distilled by the id that it is listed with.
    let id = waiting[0]["run"].as_str().unwrap();
    for command in [&["runs", "explain"][..], &["distill"]] {
        let told = env.spore(&[command, &[id, "--json"]].concat()).code(0).json();
        assert_eq!(told["run"], id, "{command:?}: {told:#}");
    }
    // Bills are on the tasks: a list is found by what they were for.
    let found = |words: &[&str]| {
        let listed = env.spore(&[&["runs", "list", "--json"][..], words].concat()).code(0).json();
        listed.as_array().unwrap().iter().filter(|run| run["kind"] == "loop").count()
    };
    assert_eq!((found(&["--role", "coder"]), found(&["--role", "tester"])), (2, 0));
}

#[test]
fn blocks_have_settings_of_their_own() {
    let tasks = "id: late\nafter: early\nwrite b.\n---\nid: early\ngates: test ! -e b.txt\n\
                 write\na.\n---\nid: checked\ngates: test ! -e c.txt\nwrite c.\n";
    let env = scene(tasks, &[writes(&["a", "b", "c"])]);
    let report = with_loop(&env, &["--json"]).code(12).json();
    assert_eq!(statuses(&report), ["verified", "verified", "escalated"]);
    assert_eq!(subjects(&env, &report), ["feat(loop): write a.", "feat(loop): write b."]);
}

#[test]
fn a_task_may_have_to_make_its_own_red_check_green_and_lands_only_with_it() {
    let mends = |name: &str, gate: &str| {
        format!("id: {name}\ngates: {gate}\nfix_red: true\nwrite {name}.\n---\n")
    };
    let tasks = [
        // It lands on a tip that moved on, where its check is still red.
        mends("mended", "test -e mended.txt"),
        // What is on the branch by then makes its check red again.
        mends("broken", "test -e broken.txt -a ! -e b.txt"),
        mends("idle", "test -e idle.txt"),
        "write b.\n".to_owned(),
    ];
    let late = |name: &str| {
        let own = write(&format!("{name}.txt"), &format!("{name}\\n"));
        coder(&format!("write {name}."), &format!("{{ sleep_ms = 1500 }}, {own}"))
    };
    let parts = [idles("idle"), writes(&["b"]), late("mended"), late("broken")];
    let env = scene(&tasks.concat(), &parts);
    let report = with_loop(&env, &["--json", "--parallel", "4", "--budget", "50"]).code(12).json();
    assert_eq!(statuses(&report), ["verified", "escalated", "escalated", "verified"], "{report:#}");
    assert!(report["tasks"][1]["returned"].as_u64() >= Some(1), "{report:#}");
    assert_eq!(subjects(&env, &report), ["feat(loop): write b.", "feat(loop): write mended."]);
}

/// A coder that takes its time.
fn slowly(name: &str, sleep_ms: u32, steps: &str) -> String {
    coder(&format!("write {name}."), &format!("{{ sleep_ms = {sleep_ms} }}, {steps}"))
}

fn merges_of(env: &TestEnv, report: &Value) -> usize {
    let shown =
        env.spore(&["runs", "show", report["run"].as_str().unwrap(), "--json"]).code(0).json();
    shown["parts"].as_array().unwrap().iter().filter(|part| part["kind"] == "merge").count()
}

#[test]
fn a_landing_that_had_to_wait_lands_on_what_others_brought_meanwhile() {
    // Its check is red beside the first task's work alone, and green once the third's is there.
    let tasks =
        "id: a\ngates: test ! -e b.txt -o -e c.txt\nwrite a.\n---\nwrite b.\n---\nwrite c.\n";
    let parts = [
        slowly("a", 1200, &write("a.txt", "a\\n")),
        slowly("c", 2800, &write("c.txt", "c\\n")),
        writes(&["b"]),
    ];
    let env = scene(tasks, &parts);
    let words = ["--json", "--parallel", "3", "--budget", "50"];
    let report = with_loop(&env, &words).code(3).json();
    assert_eq!(statuses(&report), ["parked:human", "verified", "verified"], "{report:#}");
    let again = with_loop(&env, &words).code(0).json();
    assert_eq!(again["run"], report["run"]);
    let expected = ["feat(loop): write b.", "feat(loop): write c.", "feat(loop): write a."];
    assert_eq!(subjects(&env, &again), expected);
    check_branch(&env, &again);
    assert_eq!(again["total_cost"], state(&env)["total_cost"]);
}

#[test]
fn a_landing_on_a_tip_that_cannot_be_checked_is_tried_again() {
    let tasks = "write b.\n---\nid: a\ngates: test ! -e b.txt\nwrite a.\n";
    let parts = [slowly("a", 1200, &write("a.txt", "a\\n")), writes(&["b"])];
    let env = scene(tasks, &parts);
    let report = with_loop(&env, &["--json", "--parallel", "2"]).code(3).json();
    assert_eq!(statuses(&report), ["verified", "parked:human"], "{report:#}");
    let why = report["tasks"][1]["reason"].as_str().unwrap();
    assert!(why.contains("fail"), "{why}");
    assert_eq!(merges_of(&env, &report), 1);
    let again = with_loop(&env, &["--json", "--parallel", "2"]).code(3).json();
    assert_eq!(statuses(&again), ["verified", "parked:human"], "{again:#}");
    assert_eq!(merges_of(&env, &again), 2);
}

#[test]
fn a_whole_branch_is_joined_to_one_that_moved_on_and_taken_out_again() {
    // Both tasks touch one file.
    let parts = [
        coder("write x.", &write("pair.txt", "x\\n")),
        coder("write y.", &write("pair.txt", "x\\ny\\n")),
    ];
    let env = scene("write x.\nwrite y.\n", &parts);
    env.write("theirs.txt", "theirs\n");
    env.commit_all("theirs");
    let tip = env.git(&["rev-parse", "HEAD"]);
    let report =
        with_loop(&env, &["--json", "--base", "HEAD~1", "--apply", "merge"]).code(0).json();
    assert_eq!(report["applied"]["done"], true, "{report:#}");
    assert_eq!(env.git(&["show", "main:pair.txt"]), "x\ny");
    let branch = report["branch"].as_str().unwrap();
    let parents = env.git(&["rev-parse", "main^1", "main^2"]);
    assert_eq!(parents, format!("{tip}\n{}", env.git(&["rev-parse", branch])));
    // Every commit says what was checked of it, and of nothing else.
    let told =
        env.git(&["log", "--format=%T %(trailers:key=Spore-Tree,valueonly,separator=)", "main"]);
    for line in told.lines().filter(|line| line.contains(' ') && !line.ends_with(' ')) {
        let (tree, said) = line.split_once(' ').unwrap();
        assert_eq!(tree, said, "{told}");
    }
    let subject = env.git(&["log", "-1", "--format=%s", "main"]);
    assert_eq!(subject, format!("Merge 2 verified tasks of {branch}"));
    // As it says, it can be taken back.
    let next = report["applied"]["next"].as_str().unwrap();
    let words: Vec<&str> = next.split(' ').skip(1).chain(["--yes"]).collect();
    let _ = env.spore(&words).code(0);
    assert_eq!(env.git(&["rev-parse", "main"]), tip);
    assert!(!env.repo().join("pair.txt").exists());
    assert_ne!(env.git(&["rev-parse", branch]), "");
}

#[test]
fn a_task_whose_agent_is_gone_for_a_moment_waits_and_the_others_go_on() {
    let tasks = "write a.\n---\nid: b\nbackend: claude\nwrite b.\n---\nwrite c.\n";
    let parts = [slowly("a", 1500, &write("a.txt", "a\\n")), writes(&["c"])];
    let env = scene(tasks, &parts);
    let program = env.dir().join("claude");
    env.write_at(&program, "#!/bin/sh\nexit 1\n");
    scenes::system(&env, "chmod", &["+x", program.to_str().unwrap()]);
    let variables = [("SPORE_CLAUDE_PROGRAM", program.to_str().unwrap())];
    let words = args(&["--json"]);
    let child = env.start_in(&env.repo(), &words, &variables);
    scenes::wait_for("the first task", || env.repo().join(".spore/spore.db").exists());
    std::thread::sleep(Duration::from_millis(700));
    std::fs::remove_file(&program).unwrap();
    let report = env.finish(child).code(3).json();
    assert_eq!(statuses(&report), ["verified", "parked:human", "verified"], "{report:#}");
    assert!(report["tasks"][1]["reason"].as_str().unwrap().contains("claude"), "{report:#}");
}

#[test]
fn lists_with_the_same_first_name_have_states_of_their_own() {
    let env = scene("write a.\n", &[writes(&["a", "b"])]);
    env.write_at(&env.dir().join("tasks.md"), "- [ ] write b.\n");
    let _ = with_loop(&env, &["--json"]).code(0);
    let first = std::fs::read(env.dir().join("tasks.loop-state.json")).unwrap();
    let words = [&["loop", "--source", "../tasks.md", "--json"][..], &REPLAY].concat();
    let report = env.spore(&words).code(0).json();
    assert_eq!((statuses(&report), &report["total_cost"]), (vec!["verified"], &0.75.into()));
    assert!(report["state_file"].as_str().unwrap().ends_with("tasks.md.loop-state.json"));
    assert_eq!(std::fs::read(env.dir().join("tasks.loop-state.json")).unwrap(), first);
}

#[test]
fn a_task_that_escalated_is_worked_on_again_once_it_is_written_anew() {
    let list = |words: &str| {
        format!("id: a\n{words}\n---\nid: c\nafter: a\nwrite c.\n---\nid: d\nwrite d.\n")
    };
    let env = scene(&list("write a."), &[idles("a"), writes(&["b", "c", "d"])]);
    let paused = with_loop(&env, &["--json", "--pause-on-escalation"]).code(3).json();
    assert_eq!(statuses(&paused), ["escalated", "blocked", "waiting"], "{paused:#}");
    env.write_at(&env.dir().join("tasks.txt"), &list("write b."));
    let report = with_loop(&env, &["--json"]).code(0).json();
    assert_eq!(report["run"], paused["run"], "the same loop goes on");
    assert_eq!(statuses(&report), ["verified"; 3], "{report:#}");
    // What was in vain is on the bill and in the file.
    assert_eq!(
        (&report["total_cost"], state(&env)["runs"].as_array().unwrap().len()),
        (&2.75.into(), 4)
    );
}

#[test]
fn a_task_under_way_that_is_written_anew_is_verified_in_the_words_that_it_was_begun_in() {
    let list = |words: &str| format!("id: a\n{words}\n---\nid: b\nwrite b.\n");
    let env = scene(&list("write a."), &[writes(&["a", "b", "z"])]);
    let point = [("SPORE_KILL_AT", "before:row:finish write a./1 coder/1#1")];
    let _ = env.spore_in(&env.repo(), &args(&[]), &point).code(137);
    env.write_at(&env.dir().join("tasks.txt"), &list("write z."));
    let output = with_loop(&env, &["--json", "--progress", "plain"]).code(0);
    let report = output.json();
    assert_eq!(statuses(&report), ["verified"; 2], "{report:#}");
    assert_eq!(report["tasks"][0]["description"], "write a.", "{report:#}");
    assert_eq!(subjects(&env, &report), ["feat(loop): write a.", "feat(loop): write b."]);
    assert_eq!(state(&env)["verified_tasks"], json!(["write a.", "write b."]));
    let told = "[a] was begun in other words and is brought to its end in those";
    assert_eq!(output.stderr.matches(told).count(), 1, "{}", output.stderr);
}

#[test]
fn a_task_that_landed_and_is_written_anew_stays_what_was_verified_and_that_is_told() {
    let list = |words: &str| format!("id: a\n{words}\n---\nid: b\nwrite b.\n");
    let env = scene(&list("write a."), &[writes(&["a", "b", "z"])]);
    let _ = with_loop(&env, &["--budget", "0.75"]).code(3);
    env.write_at(&env.dir().join("tasks.txt"), &list("write z."));
    let told = "[a] was verified before, in other words: give it another id";
    let output = with_loop(&env, &["--json", "--progress", "plain"]).code(0);
    let report = output.json();
    assert_eq!(statuses(&report), ["verified"; 2], "{report:#}");
    assert_eq!(report["tasks"][0]["description"], "write a.", "{report:#}");
    assert_eq!(state(&env)["verified_tasks"], json!(["write a.", "write b."]));
    assert_eq!(output.stderr.matches(told).count(), 1, "{}", output.stderr);
    // So it is once the loop is over.
    let output = with_loop(&env, &["--json", "--progress", "plain"]).code(0);
    assert_eq!(statuses(&output.json()), ["skipped"; 2], "{}", output.stdout);
    assert_eq!(output.stderr.matches(told).count(), 1, "{}", output.stderr);
}

#[test]
fn a_task_that_was_taken_out_before_it_was_begun_anew_costs_nothing_more() {
    let list = |words: &str| format!("id: a\n{words}\n---\nid: d\nwrite d.\n");
    let env = scene(&list("write a."), &[idles("a"), writes(&["c", "d"])]);
    let spent = with_loop(&env, &["--json", "--budget", "0.5"]).code(3).json();
    assert_eq!(statuses(&spent), ["escalated", "waiting"], "{spent:#}");
    env.write_at(&env.dir().join("tasks.txt"), &list("write c."));
    let still = with_loop(&env, &["--json", "--budget", "0.5"]).code(3).json();
    assert_eq!(statuses(&still), ["waiting"; 2], "{still:#}");
    env.write_at(&env.dir().join("tasks.txt"), "id: d\nwrite d.\n---\n");
    let report = with_loop(&env, &["--json"]).code(12).json();
    assert_eq!(report["run"], spent["run"], "the same loop goes on");
    assert_eq!(statuses(&report), ["verified", "cancelled"], "{report:#}");
    assert_eq!(report["tasks"][1]["reason"], "it was taken out of the list");
    assert_eq!(subjects(&env, &report), ["feat(loop): write d."]);
    // What it cost in vain is on the bill.
    assert_eq!(report["total_cost"], 1.25);
}

#[test]
fn a_long_task_is_cut_behind_what_its_commit_says_first() {
    let task = format!("write a. {}", "And so on and on. ".repeat(9));
    let env = scene(&format!("{task}\n"), &[writes(&["a"])]);
    let report = with_loop(&env, &["--json"]).code(0).json();
    let subject = subjects(&env, &report).remove(0);
    let title = subject.strip_prefix("feat(loop): ").unwrap();
    // 60 letters at most, without a space before the mark.
    assert_eq!(title.chars().count(), 59, "{title}");
    assert!(title.ends_with('…'), "{title}");
    assert!(task.starts_with(title.trim_end_matches('…')), "{title}");
}

#[test]
fn what_tasks_touch_is_found_by_their_context_and_keeps_them_apart() {
    let list = "id: paths\nprint_path should print paths relative to the root\n---\nid: lengths\n\
                print_path should print the length of a path\n---\nid: said\ntouches: docs\nwrite d.\n";
    let words = ["print_path should print paths", "print_path should print the length"];
    let parts = ["a", "b"].map(|name| write(&format!("{name}.txt"), "done\\n"));
    let parts = [coder(words[0], &parts[0]), coder(words[1], &parts[1]), writes(&["d"])];
    let env = scene(list, &parts);
    env.write(
        "src/printer.rs",
        "/// Prints the path of a match.\npub fn print_path(path: &str) -> String {\n    path.to_owned()\n}\n",
    );
    env.write("src/cache.rs", "/// Forgets everything.\npub fn clear() {}\n");
    env.commit_all("a printer");
    let plan = with_loop(&env, &["--plan", "--json", "-q"]).code(0).json();
    let task = |at: usize| plan["tasks"][at].clone();
    for at in [0, 1] {
        let touches = task(at)["touches"].as_array().cloned().unwrap_or_default();
        assert!(touches.contains(&json!("src/printer.rs")), "{plan:#}");
        assert_eq!(task(at)["guessed"], true, "{plan:#}");
    }
    assert_eq!(task(1)["apart_from"], json!(["paths"]), "{plan:#}");
    assert_eq!(
        (&task(2)["touches"], &task(2)["guessed"], &task(2)["apart_from"]),
        (&json!(["docs"]), &false.into(), &Value::Null),
        "{plan:#}"
    );
    // A person is told by number: the list may name no ids.
    let told = with_loop(&env, &["--plan", "-q"]).code(0).stdout;
    assert!(told.contains("not beside 1"), "{told}");
    // Without a look nothing is guessed.
    let plain = with_loop(&env, &["--dry-run", "--json", "-q"]).code(0).json();
    assert_eq!(
        (&plain["tasks"][0]["touches"], &plain["tasks"][0]["guessed"]),
        (&Value::Null, &false.into())
    );
    // The loop itself goes by the same where it is asked to.
    let touched = |report: &Value| {
        let run = report["run"].as_str().unwrap();
        let shown = env.spore(&["runs", "show", run, "--json"]).code(0).json();
        shown["run"]["settings"]["tasks"][0]["touches"].clone()
    };
    let report = with_loop(&env, &["--parallel", "3", "--plan-touches", "--json"]).code(0).json();
    assert_eq!(statuses(&report), ["verified"; 3], "{report:#}");
    assert_eq!(touched(&report), task(0)["touches"], "{report:#}");
}

#[test]
fn a_whole_branch_that_is_joined_has_to_pass_the_checks_of_its_tasks() {
    let mends = |check: &str| {
        format!(
            "id: x\ngates: {check}\nfix_red: true\nwrite x.\n---\n\
             id: y\nafter: x\ngates: test -e x.txt\nwrite y.\n"
        )
    };
    let moved = |check: &str| {
        let env = scene(&mends(check), &[writes(&["x", "y"])]);
        env.write("theirs.txt", "theirs\n");
        env.commit_all("theirs");
        let output = with_loop(&env, &["--json", "--base", "HEAD~1", "--apply", "merge"]);
        (env, output)
    };
    // Its checks are red on the person's branch, and green with the work.
    let (env, output) = moved("test -e x.txt");
    let report = output.code(0).json();
    assert_eq!(report["applied"]["done"], true, "{report:#}");
    assert!(env.repo().join("y.txt").exists());
    // What the person has there meanwhile makes one red that was green where the task was judged.
    let (env, output) = moved("test -e x.txt -a ! -e theirs.txt");
    let report = output.code(12).json();
    assert_eq!(
        (statuses(&report), &report["applied"]["done"]),
        (vec!["verified"; 2], &false.into())
    );
    assert!(!env.repo().join("y.txt").exists());
}

#[test]
fn a_check_list_is_ticked_in_a_copy_and_in_the_file_only_where_asked() {
    let list = "# Plan\n- [x] write z.\n- [ ] write a.\n- [ ] write b.\n";
    let env = scene(list, &[writes(&["a"]), idles("b")]);
    let source = env.dir().join("tasks.txt");
    let report = with_loop(&env, &["--json"]).code(12).json();
    assert_eq!(statuses(&report), ["skipped", "verified", "escalated"]);
    let copy = env.repo().join(report["check_list"].as_str().unwrap());
    let expected = "# Plan\n- [x] write z.\n- [x] write a.\n- [ ] write b.\n";
    assert_eq!(std::fs::read_to_string(copy).unwrap(), expected);
    assert_eq!(std::fs::read_to_string(&source).unwrap(), list);
    let _ = with_loop(&env, &["--json", "--tick"]).code(12);
    assert_eq!(std::fs::read_to_string(&source).unwrap(), expected);
}

#[test]
fn a_whole_branch_is_merged_or_made_a_patch_at_the_end() {
    let env = scene("write a.\nwrite b.\n", &[writes(&["a", "b"])]);
    let report = with_loop(&env, &["--json", "--apply", "merge"]).code(0).json();
    assert_eq!(report["applied"]["done"], true, "{report:#}");
    assert_eq!(
        env.git(&["log", "--format=%s", "-2"]),
        "feat(loop): write b.\nfeat(loop): write a."
    );
    assert!(env.repo().join("b.txt").exists());
    let env = scene("write a.\nwrite b.\n", &[writes(&["a", "b"])]);
    let report = with_loop(&env, &["--json", "--apply", "patch"]).code(0).json();
    env.git(&["am", "--quiet", report["applied"]["path"].as_str().unwrap()]);
    assert_eq!(
        env.git(&["log", "--format=%s", "-2"]),
        "feat(loop): write b.\nfeat(loop): write a."
    );
}

#[test]
fn what_a_loop_would_do_is_told_without_doing_it() {
    let env =
        scene("write a.\nRename it everywhere, and then fix the docs. Twice.\n", &[writes(&["a"])]);
    let plan = with_loop(&env, &["--dry-run"]).code(0);
    insta::assert_snapshot!("a_loop_that_is_not_run", scenes::told(&plan));
    assert_eq!(env.git(&["for-each-ref", "refs/heads/spore"]), "");
    let _ = with_loop(&env, &["--max-runs", "1", "--json"]).code(12);
    let plan = with_loop(&env, &["--plan", "--json"]).code(0).json();
    let task = |at: usize| &plan["tasks"][at];
    assert_eq!((&task(0)["done"], &task(1)["done"]), (&true.into(), &false.into()));
    assert_eq!((&task(0)["past_runs"], &task(0)["past_cost"]), (&1.into(), &0.75.into()));
}

#[test]
fn a_batch_is_worked_through_once_whatever_comes_of_its_tasks() {
    let tasks = "write a.\nwrite b.\nwrite c.\nwrite d.\nwrite e.\n";
    let parts = [idles("a"), idles("b"), idles("c"), idles("d"), writes(&["e"])];
    let env = scene(tasks, &parts);
    let run = |more: &[&str]| {
        env.spore(&[&["batch", "../tasks.txt", "--json"][..], &REPLAY, more].concat())
    };
    let report = run(&[]).code(12).json();
    assert_eq!(statuses(&report)[3..], ["escalated", "verified"]);
    assert_eq!(subjects(&env, &report), ["feat(batch): write e."]);
    assert!(!env.dir().join("tasks.loop-state.json").exists());
    let again = run(&["--stop-on-failure"]).code(1).json();
    assert_eq!(statuses(&again)[..2], ["escalated", "waiting"]);
}

#[test]
fn a_list_that_cannot_be_meant_is_refused_before_anything_is_done() {
    let env = scene("id: a\nafter: b\nwrite a.\n---\n", &[]);
    let refused = with_loop(&env, &[]).code(65);
    assert!(refused.stderr.contains("line 1: `after` names `b`"), "{}", refused.stderr);
    env.write_at(&env.dir().join("tasks.txt"), "---\nbackend: nobody\nwrite a.\n");
    let refused = with_loop(&env, &[]);
    assert!(refused.code >= 64 && refused.stderr.contains("nobody"), "{}", refused.render());
    env.write_at(&env.dir().join("tasks.txt"), "# nothing\n");
    let refused = with_loop(&env, &[]).code(65);
    assert!(refused.stderr.contains("no task in the list"), "{}", refused.stderr);
    env.write_at(&env.dir().join("tasks.txt"), "id: a\nwrite a.\n");
    let refused = with_loop(&env, &[]).code(65);
    assert!(refused.stderr.contains("line 1: `id:` is a setting of a block"), "{}", refused.stderr);
    env.write_at(&env.dir().join("tasks.txt"), "write a.\n");
    let refused = with_loop(&env, &["--tick"]).code(64);
    assert!(refused.stderr.contains("this list has none"), "{}", refused.stderr);
    let missing = env.spore(&["loop", "--source", "nowhere.txt"]).code(64);
    assert!(missing.stderr.contains("there is no file"), "{}", missing.stderr);
    assert_eq!(env.git(&["for-each-ref", "refs/spore"]), "");
}

#[test]
fn a_list_on_stdin_is_worked_through() {
    let env = scene("", &[writes(&["a"])]);
    let words = [&["loop", "--source", "-", "--json"][..], &REPLAY].concat();
    let report = scenes::with_stdin(&env, &words, b"write a.\n").code(0).json();
    assert_eq!((statuses(&report), &report["source"]), (vec!["verified"], &"-".into()));
}

/// What a coder does whose work came back: the session for a prompt with these words in it.
pub(crate) fn comes_back(name: &str, steps: &str) -> String {
    coder(&format!("write {name}.\\n\\nThis was done and verified before"), steps)
}

pub(crate) fn write(path: &str, content: &str) -> String {
    format!("{{ write = \"{path}\", content = \"{content}\" }}")
}

/// Independent tasks, chains of three, and pairs that write the same file, which is only as it
/// should be with the words of both.
pub(crate) struct ParallelWork {
    pub(crate) alone: usize,
    pub(crate) chains: usize,
    pub(crate) pairs: usize,
    pub(crate) sleep_ms: u64,
}

impl ParallelWork {
    pub(crate) fn scene(&self) -> TestEnv {
        let (mut tasks, mut parts) = (String::new(), Vec::new());
        let mut add = |name: &str, settings: &str, steps: String| {
            tasks.push_str(&format!("id: {name}\n{settings}write {name}.\n---\n"));
            let sleep = format!("{{ sleep_ms = {} }}, {steps}", self.sleep_ms);
            parts.push(coder(&format!("write {name}."), &sleep));
        };
        for at in 0..self.pairs {
            for side in ["x", "y"] {
                let name = format!("pair{at}{side}");
                add(&name, "", write(&format!("pair{at}.txt"), &format!("{side}\\n")));
            }
        }
        for at in 0..self.chains {
            for step in 0..3 {
                let name = format!("chain{at}-{step}");
                let after = match step {
                    0 => String::new(),
                    _ => format!("after: chain{at}-{}\n", step - 1),
                };
                add(&name, &after, write(&format!("{name}.txt"), "chained\\n"));
            }
        }
        for at in 0..self.alone {
            let name = format!("alone{at}");
            add(&name, "", write(&format!("{name}.txt"), "alone\\n"));
        }
        let back = (0..self.pairs).flat_map(|at| {
            ["x", "y"].map(|side| {
                let both = write(&format!("pair{at}.txt"), "x\\ny\\n");
                comes_back(&format!("pair{at}{side}"), &both)
            })
        });
        // Those come first: a prompt of work that came back has the words of the task, too.
        let parts: Vec<String> = back.chain(parts).collect();
        scene(&tasks, &parts)
    }

    pub(crate) fn count(&self) -> usize {
        self.alone + 3 * self.chains + 2 * self.pairs
    }
}

/// Every commit of the branch passes the project's check, and each task is on it once.
#[track_caller]
pub(crate) fn check_branch(env: &TestEnv, report: &Value) {
    let branch = report["branch"].as_str().unwrap();
    let mut subjects = subjects(env, report);
    let count = subjects.len();
    subjects.sort();
    subjects.dedup();
    assert_eq!(subjects.len(), count, "{subjects:?}");
    env.git(&["worktree", "add", "--quiet", "--detach", "../looked-at", branch]);
    env.git(&["-C", "../looked-at", "rebase", "--quiet", "--exec", "sh check.sh", "main"]);
    env.git(&["worktree", "remove", "--force", "../looked-at"]);
}

#[test]
fn tasks_worked_on_at_once_land_one_by_one_and_conflicts_come_back() {
    let work = ParallelWork { alone: 2, chains: 1, pairs: 1, sleep_ms: 200 };
    let env = work.scene();
    let most = work.count().to_string();
    let words = ["--json", "--parallel", "4", "--max-runs", &most, "--budget", "50"];
    let report = with_loop(&env, &words).code(0).json();
    assert_eq!(report["verified"], work.count(), "{report:#}");
    check_branch(&env, &report);
    assert_eq!(subjects(&env, &report).len(), work.count());
    let returned: u64 = report["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["returned"].as_u64().unwrap_or(0))
        .sum();
    assert_eq!(returned, work.pairs as u64, "{report:#}");
    let branch = report["branch"].as_str().unwrap();
    assert_eq!(env.git(&["show", &format!("{branch}:pair0.txt")]), "x\ny");
    // Nothing is left of checkouts but what the next ones are made of.
    let left: Vec<String> = std::fs::read_dir(env.dir().join("state/spore"))
        .unwrap()
        .flat_map(|project| std::fs::read_dir(project.unwrap().path()).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.len() == 26)
        .collect();
    assert_eq!(left, Vec::<String>::new());
    assert_eq!(wait_until_none(env.dir(), Duration::from_secs(8)), []);
}

#[test]
fn tasks_that_break_each_other_are_told_the_failing_check_and_land_after_it() {
    let agree = "if test -e x.txt && test -e y.txt && ! test -e z.txt; then\n\
                 echo x and y together need z; exit 1; fi\n";
    let back = |name: &str| {
        let own = write(&format!("{name}.txt"), &format!("{name}\\n"));
        let steps = format!(
            "{{ expect = \"x and y together need z\" }}, {own}, {}",
            write("z.txt", "z\\n")
        );
        comes_back(name, &steps)
    };
    let parts = [back("x"), back("y"), writes(&["x", "y"])];
    let env = scene("write x.\nwrite y.\n", &parts);
    env.write("check.sh", agree);
    env.commit_all("a rule");
    let report = with_loop(&env, &["--json", "--parallel", "2"]).code(0).json();
    assert_eq!(statuses(&report), ["verified", "verified"], "{report:#}");
    assert_eq!(subjects(&env, &report).len(), 2);
    // Only the second of the two came back, and brought what makes them fit.
    let returned = |at: usize| report["tasks"][at]["returned"].as_u64().unwrap_or(0);
    assert_eq!(returned(0) + returned(1), 1, "{report:#}");
    let branch = report["branch"].as_str().unwrap();
    let files = env.git(&["diff", "--name-only", &format!("{branch}~1"), branch]);
    assert_eq!(files, if returned(0) == 1 { "x.txt\nz.txt" } else { "y.txt\nz.txt" });
    check_branch(&env, &report);
}
