//! Lists of tasks, killed anywhere: no task is twice on the branch, none is lost, and what was paid
//! for to its end is paid once.
//!
//! `SPORE_KILLS=all` asks for every effect that a loop has beside those of the runs of its tasks,
//! which have a matrix of their own, and for twenty random instants; the usual run takes a few.

#![expect(clippy::print_stdout, reason = "what was tried is worth knowing")]
#![expect(clippy::disallowed_methods, reason = "a test has the machine's time")]

use std::time::{Duration, Instant};

use serde_json::Value;
use spore_testkit::kill::{CommandTraits, KillPoint, KillTally, KillTarget, matrix_of, sample};
use spore_testkit::{TestEnv, wait_until_none};

use crate::kill_matrix::asked_for;
use crate::task_loop::{ParallelWork, REPLAY, args, check_branch, idles, scene, writes};

const TASKS: &str = "id: a\nwrite a.\n---\nid: b\nwrite b.\n";

/// A scene whose list is in a directory of the same name everywhere: the file beside it is named by
/// that as an effect.
fn listed(tasks: &str, parts: &[String]) -> TestEnv {
    let env = scene("", parts);
    env.write_at(&env.dir().join("lists/tasks.txt"), tasks);
    env
}

fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["loop", "--source", "../lists/tasks.txt"][..], &REPLAY, more].concat()
}

/// Kills at all these effects and at random instants where that is asked for, else at the points.
fn killed(
    target: &KillTarget<'_>,
    only: fn(&str) -> bool,
    points: &[&str],
    name: &str,
) -> KillTally {
    let traits = CommandTraits { only: Some(only), ..CommandTraits::default() };
    let tally = match asked_for("all") {
        true => matrix_of(target, traits),
        false => {
            let kills: Vec<KillPoint<'_>> = points.iter().map(|at| KillPoint::At(at)).collect();
            sample(target, traits, &kills)
        }
    };
    println!("kill matrix of {name}: {}", tally.line());
    let nothing: Vec<String> = Vec::new();
    assert_eq!(tally.divergent, nothing, "{}", tally.line());
    assert_eq!(tally.duplicates, nothing, "{}", tally.line());
    assert_eq!(tally.left_running, nothing, "{}", tally.line());
    tally
}

/// Whether an effect is the loop's own. The names of those of its tasks' runs have the task in them.
fn is_own(effect: &str) -> bool {
    let own = ["task/", "land/", "loop-state", "heads/spore", "row:create", "apply#", "finish#"];
    let is_of_task = effect.contains(" write ") && !effect.contains("row:create write ");
    own.iter().any(|part| effect.contains(part)) && !is_of_task
}

/// Whether an effect is of the merge of a whole loop, whose run has the name of its first task's.
fn is_of_merge(effect: &str) -> bool {
    let own = ["rebase", "/landing", "landing.json", "of the user", "work of run", "begin apply#1"];
    let is_second = effect.ends_with("#2") && effect.contains(" write ");
    is_second || own.iter().any(|part| effect.contains(part))
}

#[test]
fn a_loop_killed_at_its_own_effects_ends_like_one_that_was_not() {
    let target = KillTarget {
        scene: &|| listed(TASKS, &[writes(&["a"]), idles("b")]),
        command: &words(&[]),
        random: 20,
    };
    // One of each that a loop has beside those of the runs of its tasks.
    let points = [
        "after:row:begin task/a/1#1",
        "before:row:finish task/a/1#1",
        "after:row:begin land/a/1#1",
        "before:row:finish land/a/1#1",
        "before:row:begin apply#1",
        "before:row:finish finish#1",
    ];
    let tally = killed(&target, is_own, &points, "a loop");
    // One task is verified and one is not.
    assert_eq!(tally.ended, "partial");
}

/// Two tasks that land one by one, and a branch of the person's that has moved on meanwhile: the
/// loop's is joined to it.
fn moved_on() -> TestEnv {
    let env = listed(TASKS, &[writes(&["a", "b"])]);
    env.write("theirs.txt", "theirs\n");
    env.commit_all("theirs");
    env
}

#[test]
fn a_loop_killed_while_it_is_merged_ends_like_one_that_was_not() {
    let target = KillTarget {
        scene: &moved_on,
        command: &words(&["--base", "HEAD~1", "--apply", "merge"]),
        random: 20,
    };
    let points = ["after:commit:work of run RUN#1", "after:ref:branch of the user#1"];
    let tally = killed(&target, is_of_merge, &points, "a loop that is merged");
    assert_eq!(tally.ended, "finished");
}

/// Runs a loop that is killed, and says what came of it when it was called again.
#[track_caller]
fn brought_to_its_end(env: &TestEnv, words: &[&str], how: &str) -> Value {
    assert_eq!(wait_until_none(env.dir(), Duration::from_secs(8)), [], "killed {how}");
    // The same call goes on with what it finds.
    let report = env.spore(words).code(0).json();
    assert_eq!(wait_until_none(env.dir(), Duration::from_secs(8)), [], "killed {how}");
    report
}

/// Kills a command after a while. Returns whether it still ran.
fn kill_after(env: &TestEnv, words: &[&str], time: Duration) -> bool {
    let mut child = env.start_in(&env.repo(), words, &[]);
    let begun = Instant::now();
    while begun.elapsed() < time && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let is_running = child.try_wait().unwrap().is_none();
    let _ = child.kill();
    let _ = env.finish(child);
    is_running
}

/// Every task is on the branch once, as its state says, and what was paid to its end is paid once.
#[track_caller]
fn check_loop(env: &TestEnv, work: &ParallelWork, report: &Value, how: &str) {
    let done = report["verified"].as_u64().unwrap() + report["skipped"].as_u64().unwrap();
    assert_eq!(done, work.count() as u64, "killed {how}: {report:#}");
    check_branch(env, report);
    let branch = report["branch"].as_str().unwrap();
    let log = env.git(&["log", "--format=%s", &format!("main..{branch}")]);
    assert_eq!(log.lines().count(), work.count(), "killed {how}: {log}");
    let state = std::fs::read_to_string(env.dir().join("tasks.loop-state.json")).unwrap();
    let state: Value = serde_json::from_str(&state).unwrap();
    let told = state["verified_tasks"].as_array().unwrap().len();
    assert_eq!(told, work.count(), "killed {how}: {state:#}");
    // One that had ended when it was killed was followed by one with nothing to do.
    let listed = env.spore(&["runs", "list", "--json"]).code(0).json();
    let loops = listed.as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap());
    let shown = loops.map(|id| env.spore(&["runs", "show", id, "--json"]).code(0).json());
    let rows: Vec<Value> =
        shown.flat_map(|run| run["ledger"].as_array().cloned().unwrap()).collect();
    let whole = rows.iter().filter(|row| row["interrupted"] == false).count();
    // A coder and a verifier for each; of two that are in conflict, one is done again.
    let done = work.count() + work.pairs;
    assert_eq!(whole, 2 * done, "killed {how}: {rows:#?}");
    // Nothing is left out of the bill, and what was brought to its end has its price.
    let paid = |is_asked: fn(&Value) -> bool| -> f64 {
        let asked = rows.iter().filter(|row| is_asked(row));
        asked.map(|row| row["cost"]["usd"].as_f64().unwrap()).sum()
    };
    let price = 0.75 * f64::from(u32::try_from(done).unwrap());
    let (ended, all) = (paid(|row| row["interrupted"] == false), paid(|_| true));
    assert!((ended - price).abs() < 1e-6, "killed {how}: {ended} of {price}: {rows:#?}");
    for told in [&state["total_cost"], &report["total_cost"]] {
        let told = told.as_f64().unwrap();
        assert!((told - all).abs() < 1e-6, "killed {how}: {told} told of {all}: {rows:#?}");
    }
}

/// The effects of its own that an undisturbed loop passes, in the order of this time.
fn own_effects(env: &TestEnv, words: &[&str]) -> Vec<String> {
    let log = env.dir().join("effects.log");
    let variable = ("SPORE_EFFECTS_LOG", &*log.display().to_string());
    let _ = env.spore_in(&env.repo(), words, &[variable]).code(0);
    let passed = std::fs::read_to_string(&log).unwrap();
    let is_own = |line: &&str| {
        ["task/", "land/", "rebase", "heads/spore"].iter().any(|part| line.contains(part))
    };
    passed.lines().filter(is_own).map(str::to_owned).collect()
}

#[test]
fn a_parallel_loop_killed_at_any_moment_loses_nothing_and_does_nothing_twice() {
    let all = asked_for("all");
    let random = if all { 20 } else { 3 };
    let pairs = usize::from(all);
    let work = ParallelWork { alone: 3 - pairs, chains: 0, pairs, sleep_ms: 50 };
    let words = args(&["--parallel", "3", "--json"]);
    let undisturbed = work.scene();
    let begun = Instant::now();
    let effects = own_effects(&undisturbed, &words);
    let took = begun.elapsed();
    let mut named = 0;
    for effect in effects.iter().filter(|_| all) {
        let env = work.scene();
        // What happens at once may not happen again in the same way.
        let output = env.spore_in(&env.repo(), &words, &[("SPORE_KILL_AT", effect)]);
        let report = match output.code {
            137 => {
                named += 1;
                brought_to_its_end(&env, &words, effect)
            }
            // It never came there, and is through: another call would have nothing left to do.
            _ => output.code(0).json(),
        };
        check_loop(&env, &work, &report, effect);
    }
    // In another order some effects have another name, or do not come at all; most of them do.
    assert!(!all || 2 * named > effects.len(), "killed at {named} of {} effects", effects.len());
    let mut killed = 0;
    for number in 0..random {
        let env = work.scene();
        let share = (f64::from(number) + 0.5) / f64::from(random);
        if !kill_after(&env, &words, took.mul_f64(share)) {
            // Another call would have nothing left to do.
            continue;
        }
        killed += 1;
        let how = format!("after {share:.3} of it");
        let report = brought_to_its_end(&env, &words, &how);
        check_loop(&env, &work, &report, &how);
    }
    assert!(killed > 0, "a loop of {took:?} was over before each kill");
    println!("a parallel loop: killed at {named} of {} effects, {killed} instants", effects.len());
}
