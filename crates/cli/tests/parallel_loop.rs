//! Lists of tasks worked on at once, and what a person or the world does to them meanwhile: limits,
//! Ctrl-C, lists that change or cannot be meant.
//!
//! `SPORE_LOOPS=all` plays what takes its time: twenty tasks beside the same one by one, and six with
//! the real Claude Code.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time")]

use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use spore_scripted_model::{ModelServer, Turn, VendorRefusal, When};
use spore_testkit::{TestEnv, wait_until_none};

use crate::scenes;
use crate::task_loop::{
    ParallelWork, args, check_branch, coder, scene, state, statuses, subjects, with_loop, write,
    writes,
};
use crate::verified_run::{MODEL, SUPPORTS, scenario, variables};

fn is_all() -> bool {
    std::env::var("SPORE_LOOPS").is_ok_and(|asked| asked == "all")
}

fn returned(report: &Value) -> u64 {
    let rows = report["tasks"].as_array().unwrap().iter();
    rows.map(|row| row["returned"].as_u64().unwrap_or(0)).sum()
}

fn interrupt(env: &TestEnv, child: &Child) {
    scenes::system(env, "kill", &["-INT", &child.id().to_string()]);
}

#[test]
fn tasks_at_once_take_half_the_time_of_one_by_one() {
    if !is_all() {
        eprintln!("skipped: SPORE_LOOPS=all asks for it");
        return;
    }
    let work = ParallelWork { alone: 8, chains: 2, pairs: 3, sleep_ms: 4000 };
    let count = work.count().to_string();
    let timed = |parallel: &str| {
        let env = work.scene();
        let words = ["--json", "--parallel", parallel, "--max-runs", count.as_str()];
        let begun = Instant::now();
        let report = with_loop(&env, &words).code(0).json();
        (begun.elapsed(), env, report)
    };
    let (at_once, env, report) = timed("4");
    assert_eq!(report["verified"], work.count(), "{report:#}");
    assert_eq!(subjects(&env, &report).len(), work.count());
    assert_eq!(returned(&report), work.pairs as u64, "{report:#}");
    check_branch(&env, &report);
    for at in 0..work.pairs {
        let shown = format!("{}:pair{at}.txt", report["branch"].as_str().unwrap());
        assert_eq!(env.git(&["show", &shown]), "x\ny");
    }
    assert_eq!(wait_until_none(env.dir(), Duration::from_secs(8)), []);
    let (one_by_one, _, serial) = timed("1");
    assert_eq!(serial["verified"], work.count(), "{serial:#}");
    let ratio = at_once.as_secs_f64() / one_by_one.as_secs_f64();
    println!("{count} tasks: {at_once:.1?} at once, {one_by_one:.1?} one by one, ratio {ratio:.2}");
    assert!(ratio <= 0.5, "{at_once:?} at once, {one_by_one:?} one by one");
}

/// Tasks for an agent that is asked for words and answers with a command.
fn turns_of(shell: fn(&str) -> Turn, names: &[&str]) -> Vec<Turn> {
    let after =
        |result: &str| When { tool_result_contains: Some(result.to_owned()), ..When::default() };
    let mut turns = vec![
        Turn::says("done").when(after("WRITTEN")).sticky(),
        Turn::says(SUPPORTS).when(When::contains("verifier in bounce 1")).sticky(),
    ];
    for name in names {
        // Of a pair both write the same file, and it must have the words of both.
        let (file, both) = match name.strip_prefix("pair-") {
            Some(_) => ("pair", "printf 'x\\ny\\n'"),
            None => (*name, "echo"),
        };
        let again = format!("write {name}.\n\nThis was done and verified before");
        turns.push(
            shell(&format!("{both} > {file}.txt; echo WRITTEN"))
                .when(When::contains(&again))
                .sticky(),
        );
        turns.push(
            shell(&format!("echo {name} > {file}.txt; echo WRITTEN"))
                .when(When::contains(&format!("write {name}.")))
                .sticky(),
        );
    }
    turns
}

fn beside(server: &ModelServer) -> TestEnv {
    let env = scenes::small().with_variable("SPORE_LOOP_COOLDOWN", "0s");
    variables(&server.url())
        .into_iter()
        .fold(env, |env, (name, value)| env.with_variable(name, &value))
}

fn write_list(env: &TestEnv, names: &[&str]) {
    let list: String = names.iter().map(|name| format!("write {name}.\n")).collect();
    env.write_at(&env.dir().join("tasks.txt"), &list);
}

#[test]
fn live_claude_works_on_tasks_at_once() {
    let Some(program) = std::env::var("SPORE_TEST_CLAUDE").ok().filter(|_| is_all()) else {
        eprintln!("skipped: SPORE_LOOPS=all and SPORE_TEST_CLAUDE ask for it");
        return;
    };
    let names = ["a", "b", "c", "d", "pair-x", "pair-y"];
    let shell = |command: &str| {
        Turn::calls("Bash", json!({ "command": command, "description": "as told" }))
    };
    let server = ModelServer::start(scenario(turns_of(shell, &names))).unwrap();
    let env = beside(&server).with_variable("SPORE_CLAUDE_PROGRAM", &program);
    write_list(&env, &names);
    let words = ["loop", "--source", "../tasks.txt", "--backend", "claude", "--model", MODEL];
    let words = [&words[..], &["--parallel", "4", "--json", "--progress", "plain"]].concat();
    let begun = Instant::now();
    let output = env.spore(&words);
    println!("six tasks with Claude Code: {:.1?}", begun.elapsed());
    assert_eq!(output.code, 0, "{}", output.render());
    let report = output.json();
    assert_eq!(statuses(&report), ["verified"; 6], "{report:#}");
    assert_eq!((subjects(&env, &report).len(), returned(&report)), (6, 1), "{report:#}");
    check_branch(&env, &report);
    let shown = format!("{}:pair.txt", report["branch"].as_str().unwrap());
    assert_eq!(env.git(&["show", &shown]), "x\ny");
    assert_eq!(server.unanswered().len(), 0);
    assert_eq!(wait_until_none(env.dir(), Duration::from_secs(8)), []);
}

/// Four sessions have done their work and are refused before they can say so.
#[test]
fn a_limit_met_in_the_middle_of_sessions_parks_them_and_they_go_on_by_themselves() {
    let names = ["a", "b", "c", "d"];
    let shell = |command: &str| Turn::calls("run", json!({ "command": command }));
    let after = When { tool_result_contains: Some("WRITTEN".to_owned()), ..When::default() };
    let limit = VendorRefusal::new(429).retry_after(2);
    let mut turns = vec![
        Turn::refuses(limit).when(after).times(4),
        Turn::says("done").when(When::contains("You were cut off")).sticky(),
    ];
    turns.extend(turns_of(shell, &names));
    let server = ModelServer::start(scenario(turns)).unwrap();
    let env = beside(&server).with_variable("SPORE_API_LONGEST_WAIT", "1s");
    write_list(&env, &names);
    let words = ["loop", "--source", "../tasks.txt", "--backend", "api", "--model", MODEL];
    let words = [&words[..], &["--parallel", "4", "--json", "--progress", "plain"]].concat();
    let output = env.spore(&words).code(0);
    let report = output.json();
    assert_eq!(statuses(&report), ["verified"; 4], "{}", output.render());
    assert_eq!((&report["failed"], &report["escalated"]), (&0.into(), &0.into()));
    assert_eq!(report["tasks_dispatched"], 4, "{report:#}");
    let told = |words: &str| output.stderr.matches(words).count();
    assert_eq!(told("] waits for quota until "), 4, "{}", output.stderr);
    check_branch(&env, &report);
}

#[test]
fn ctrl_c_ends_a_cooldown_at_once() {
    let env = scene("write a.\nwrite b.\n", &[writes(&["a", "b"])]);
    let words = args(&["--json", "--cooldown", "10m"]);
    let child = env.start_in(&env.repo(), &words, &[]);
    let file = env.dir().join("tasks.loop-state.json");
    scenes::wait_for("the first task", || {
        file.exists() && state(&env)["verified_tasks"] == json!(["write a."])
    });
    let begun = Instant::now();
    interrupt(&env, &child);
    let report = env.finish(child).code(20).json();
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(report["status"], "interrupted", "{report:#}");
    assert_eq!(statuses(&report), ["verified", "waiting"]);
    // The same call goes on with it: there is no cooldown before the first task of a process.
    let report = env.spore(&words).code(0).json();
    assert_eq!(statuses(&report), ["verified", "verified"]);
}

/// And Ctrl-C ends the wait for the limit.
#[test]
fn while_one_agent_is_over_its_limit_the_other_goes_on() {
    let limit = VendorRefusal::new(429).retry_after(600);
    let server = ModelServer::start(scenario([Turn::refuses(limit).sticky()])).unwrap();
    let env = beside(&server);
    let api = |name: &str| format!("backend: api\nmodel: {MODEL}\nwrite {name}.\n---\n");
    let replayed = |name: &str| format!("backend: replay\nwrite {name}.\n---\n");
    let list = [api("a"), replayed("c"), replayed("d"), api("b")].concat();
    let other = scene(&list, &[writes(&["c", "d"])]);
    for file in ["tasks.txt", "scenario.toml"] {
        std::fs::copy(other.dir().join(file), env.dir().join(file)).unwrap();
    }
    let words = args(&["--parallel", "2", "--progress", "plain", "--json"]);
    let child = env.start_in(&env.repo(), &words, &[]);
    scenes::wait_for("the limit", || {
        let listed = env.spore(&["runs", "list", "--kind", "loop", "--json"]);
        listed.code == 0 && listed.json()[0]["status"] == "parked:quota"
    });
    let begun = Instant::now();
    interrupt(&env, &child);
    let output = env.finish(child).code(20);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    let report = output.json();
    // The other's tasks are done, and no session was begun only to be refused.
    let expected = ["parked:quota", "verified", "verified", "waiting"];
    assert_eq!(statuses(&report), expected, "{}", output.render());
    let told = |words: &str| output.stderr.matches(words).count();
    assert_eq!(told("] waits for quota until "), 1, "{}", output.stderr);
    assert_eq!(told("api is over its limit: the loop goes on by itself at "), 1);
    assert_eq!((&report["failed"], &report["escalated"]), (&0.into(), &0.into()));
    assert_eq!(wait_until_none(env.dir(), Duration::from_secs(8)), []);
}

/// The coder of the first task is done; its verifier is another agent.
#[test]
fn a_limit_that_a_verifier_meets_is_that_of_the_verifiers_agent() {
    let limit = VendorRefusal::new(429).retry_after(600);
    let server = ModelServer::start(scenario([Turn::refuses(limit).sticky()])).unwrap();
    let env = beside(&server);
    let other = scene("write a.\nwrite b.\n", &[writes(&["a", "b"])]);
    for file in ["tasks.txt", "scenario.toml"] {
        std::fs::copy(other.dir().join(file), env.dir().join(file)).unwrap();
    }
    let config =
        "[gates.commands.check]\nrun = \"sh check.sh\"\n[roles.verifier]\nbackend = \"api\"\n";
    env.write(".spore/config.toml", &format!("{config}model = \"{MODEL}\"\n"));
    let words = args(&["--progress", "plain", "--json"]);
    let child = env.start_in(&env.repo(), &words, &[]);
    scenes::wait_for("the limit", || {
        let listed = env.spore(&["runs", "list", "--kind", "loop", "--json"]);
        listed.code == 0 && listed.json()[0]["status"] == "parked:quota"
    });
    interrupt(&env, &child);
    let output = env.finish(child).code(20);
    // No coder of the second is paid for what no verifier could look at.
    let report = output.json();
    assert_eq!(statuses(&report), ["parked:quota", "waiting"], "{}", output.render());
    let told = "api is over its limit: the loop goes on by itself at ";
    assert_eq!(output.stderr.matches(told).count(), 1, "{}", output.stderr);
    assert_eq!(wait_until_none(env.dir(), Duration::from_secs(8)), []);
}

#[test]
fn lists_that_people_write_are_understood_or_refused_with_their_line() {
    let env = scene("", &[writes(&["a", "b"])]);
    let list = env.dir().join("tasks.txt");
    let refused = |text: &str, words: &str| {
        env.write_at(&list, text);
        let output = with_loop(&env, &[]).code(65);
        assert!(output.stderr.contains(words), "{text:?}: {}", output.stderr);
    };
    refused("", "there is no task in the list");
    refused("# only\n\n   \n", "there is no task in the list");
    refused(
        "id: a\nwrite a.\n---\nid: a\nwrite b.\n",
        "line 4: the task of line 1 is called `a` already",
    );
    refused(
        "id: a\nafter: b\nwrite a.\n---\nid: b\nafter: a\nwrite b.\n",
        "line 1: these tasks wait for each other: a, b",
    );
    refused("id: a\nafter: a\nwrite a.\n---\n", "these tasks wait for each other: a");
    refused("id: ../a\nwrite a.\n---\n", "line 1: `id` is made of letters");
    refused("id: a\nbudget: lots\nwrite a.\n---\n", "line 2: `budget` is an amount");
    refused(&"write it.\n".repeat(1001), "1001 tasks are more than the 1000 of one list");
    refused(&"x".repeat(70_000), "line 1: the task has 70000 bytes, and 65536 are the most");
    assert_eq!(env.git(&["for-each-ref", "refs/heads/spore"]), "");
    std::fs::write(&list, b"write \xff a.\n").unwrap();
    let output = with_loop(&env, &[]);
    assert!([64, 65].contains(&output.code), "{}", output.render());
    let output = env.spore(&["loop", "--source", "."]).code(64);
    assert!(output.stderr.contains("is no file"), "{}", output.stderr);

    // A file from Windows, in the repository, which the person has not committed.
    env.write("plan.txt", "\u{feff}# plan\r\nwrite a.\r\n\r\nwrite b.\r\n");
    let before = env.git(&["status", "--porcelain"]);
    let mut words = args(&["--json", "--progress", "plain"]);
    words[2] = "plan.txt";
    let output = env.spore(&words).code(0);
    assert_eq!(statuses(&output.json()), ["verified", "verified"]);
    assert!(output.stderr.contains("1 uncommitted file is not part of this run"), "{before}");
    let now = env.git(&["status", "--porcelain"]);
    assert_eq!(now, format!("?? plan.loop-state.json\n{before}"));
    let text = std::fs::read_to_string(env.repo().join("plan.loop-state.json")).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&text).unwrap()["verified_tasks"],
        json!(["write a.", "write b."])
    );
}

#[test]
fn a_list_that_is_edited_while_it_is_worked_through_is_ticked_as_it_is_then() {
    let waits = "{ run = \"touch $HOME/begun; until test -e $HOME/edited; do sleep 0.05; done\" }";
    let slow = format!("{waits}, {}", write("a.txt", "a\\n"));
    let env =
        scene("- [ ] write a.\n- [ ] write b.\n", &[coder("write a.", &slow), writes(&["b", "c"])]);
    let list = env.dir().join("tasks.txt");
    let child = env.start_in(&env.repo(), &args(&["--json", "--tick"]), &[]);
    scenes::wait_for("the first task", || env.dir().join("home/begun").exists());
    let refused = with_loop(&env, &["--reset"]);
    assert!(refused.stderr.contains("by another process"), "{}", refused.render());
    env.write_at(&list, "My own words.\r\n- [ ] write c.\r\n- [ ] write a.\r\n");
    env.write_at(&env.dir().join("home/edited"), "");
    let report = env.finish(child).code(0).json();
    assert_eq!(statuses(&report), ["verified", "verified"], "it goes by what it read");
    let expected = "My own words.\r\n- [ ] write c.\r\n- [x] write a.\r\n";
    assert_eq!(std::fs::read_to_string(&list).unwrap(), expected);
    let report = with_loop(&env, &["--json", "--tick"]).code(0).json();
    assert_eq!(statuses(&report), ["verified", "skipped"]);
}

/// What is asked of a loop is asked of the run of each of its tasks.
#[test]
fn the_settings_of_a_loop_are_those_of_its_tasks() {
    let summary = "[[session]]\nrole = \"summarizer\"\nfinal = \"<summary>{}</summary>\"\n";
    let env = scene("write a.\n", &[writes(&["a"]), summary.to_owned()]);
    let more = ["--json", "--progress", "plain", "--coder-model", "high", "--experiment", "tried"];
    let times = ["--timeout", "90s", "--max-turns", "7", "--summarize"];
    let output = with_loop(&env, &[&more[..], &times].concat());
    assert_eq!(output.code, 0, "{}", output.render());
    let told =
        "1 task; one at a time, $20.00 in all, 10 runs at most, 1 attempt a task; replay high";
    assert!(output.stderr.contains(told), "{}", output.stderr);
    let run = output.json()["tasks"][0]["run"].as_str().unwrap().to_owned();
    let shown = env.spore(&["runs", "show", &run, "--json"]).code(0).json();
    let settings = &shown["run"]["settings"];
    assert_eq!(shown["run"]["experiment"], "tried");
    let text = settings.to_string();
    for words in ["\"max_turns\":7", "90000", "\"high\"", "\"summarize\":true", "\"max_bounces\":1"]
    {
        assert!(text.contains(words), "{words}: {settings:#}");
    }
}

/// What a loop may cost is shared by the tasks that begin at once; one whose part is spent goes on with
/// what the others leave.
#[test]
fn tasks_at_once_share_the_budget_and_go_on_with_what_others_leave() {
    let names = ["a", "b", "c", "d"];
    let together = |name: &&str| {
        let meets = format!(
            "touch $HOME/{name}.here; for i in $(seq 400); do set -- $HOME/*.here; \
             test $# -ge 4 && echo here > {name}.txt && exit; sleep 0.05; done"
        );
        coder(&format!("write {name}."), &format!("{{ run = \"{meets}\" }}"))
    };
    let parts: Vec<String> = names.iter().map(together).collect();
    let list: String = names.iter().map(|name| format!("write {name}.\n")).collect();
    let env = scene(&list, &parts);
    // With the usual budgets all four are at work at once: each waits for the others.
    let report = with_loop(&env, &["--json", "--parallel", "4"]).code(0).json();
    assert_eq!(statuses(&report), ["verified"; 4], "{report:#}");
    // Each has $0.50. One needs more, and has it when the others have not needed all of theirs.
    let cheap = writes(&["b", "c", "d"]).replace("cost_usd = 0.5", "cost_usd = 0.05");
    let env = scene(&list, &[writes(&["a"]), cheap]);
    let words = ["--json", "--parallel", "4", "--budget", "2", "--progress", "plain"];
    let output = with_loop(&env, &words).code(0);
    assert_eq!(statuses(&output.json()), ["verified"; 4], "{}", output.render());
    let went_on = |line: &str| line.starts_with("[#1] Run ") && line.ends_with(" goes on.");
    assert_eq!(output.stderr.lines().filter(|line| went_on(line)).count(), 1, "{}", output.stderr);
    assert!(!output.stderr.contains("waits for budget"), "{}", output.stderr);
}

#[test]
fn a_task_that_costs_far_more_than_those_before_it_is_told() {
    let dear =
        coder("write d.", &write("d.txt", "d\\n")).replace("cost_usd = 0.5", "cost_usd = 4.0");
    let env = scene("write a.\nwrite b.\nwrite c.\nwrite d.\n", &[writes(&["a", "b", "c"]), dear]);
    let output = with_loop(&env, &[]).code(0);
    let told = "[#4] cost $4.25, and those before it $0.75 in the mean";
    assert_eq!(output.stderr.matches(" in the mean").count(), 1, "{}", output.stderr);
    assert!(output.stderr.contains(told), "{}", output.stderr);
}
