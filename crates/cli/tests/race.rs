//! One task, several coders at once: the first that holds wins, or the best.

use serde_json::Value;
use spore_testkit::TestEnv;
use spore_testkit::kill::{CommandTraits, KillPoint, KillTarget, matrix_of, sample};

use crate::kill_matrix::asked_for;
use crate::scenes::{self, WRITE_42};

const PASS: &str =
    r#"<verdict>{"nonce":"$NONCE","verdict":"supports","reason":"it says 42"}</verdict>"#;

/// Whichever racer is first to take the token in HOME is quick, the other one is slow.
fn one_quick() -> String {
    let turn = r#"{ run = "mkdir $HOME/first 2>/dev/null || { trap '' INT TERM; sleep 600; }" }"#;
    scenario(&format!(
        "{{ write = \"half.txt\", content = \"half\\n\" }}, {turn}, {{ delete = \"half.txt\" }}, {WRITE_42}"
    ))
}

fn scenario(steps: &str) -> String {
    format!(
        "[[session]]\nrole = \"coder\"\nbounce = 1\ncost_usd = 0.5\nfinal = \"done\"\nsteps = [{steps}]\n\
         [[session]]\nrole = \"verifier\"\nbounce = 1\ncost_usd = 0.25\nfinal = '''{PASS}'''\n"
    )
}

fn raced(env: &TestEnv, who: &str) -> Value {
    let _ = scenes::orchestrate(env, &["--race", who]).code(0);
    scenes::newest(env)
}

fn statuses(race: &Value) -> Vec<String> {
    let parts = race["parts"].as_array().unwrap().iter();
    let mut told: Vec<String> = parts
        .map(|part| {
            format!("{} {}", part["kind"].as_str().unwrap(), part["status"].as_str().unwrap())
        })
        .collect();
    told.sort();
    told
}

#[test]
fn the_first_that_holds_wins_and_the_others_are_ended_and_kept() {
    let env = scenes::with_scenario(&one_quick());
    let race = raced(&env, "2");
    assert_eq!(race["run"]["kind"], "race");
    assert_eq!(statuses(&race), ["orchestrate cancelled", "orchestrate verified"]);
    assert_eq!(
        env.git(&["show", &format!("{}:answer.txt", race["branch"].as_str().unwrap())]),
        "42"
    );
    // Both coders are on the bill, the one that was cut short as an estimate.
    assert!(race["cost"]["usd"].as_f64().unwrap() >= 0.75, "{race}");
    assert_eq!(race["cost"]["usd"], race["run"]["cost_usd"]);
    let left = scenes::work_refs(&env);
    assert!(left.iter().any(|name| name.contains("/left/")), "{left:?}");
    let shown = env.spore(&["runs", "show", race["run"]["id"].as_str().unwrap()]).code(0);
    assert!(shown.stdout.contains("won with run"), "{}", shown.render());
    assert!(spore_testkit::wait_until_none(env.dir(), std::time::Duration::ZERO).is_empty());
    // A race that was won is a verified task, and costs what its racers cost.
    let stats = env.spore(&["runs", "stats", "--json"]).code(0).json();
    assert_eq!((&stats["decided"], &stats["verified"]), (&1.into(), &1.into()), "{stats:#}");
    let cost = env.spore(&["runs", "cost", "--kind", "race", "--json"]).code(0).json();
    assert_eq!(cost["total"]["cost"], race["cost"], "{cost:#}");
    // Its change is the winner's, and its racers are told apart by their agents.
    let diff = env.spore(&["runs", "diff"]).code(0);
    assert!(diff.stdout.contains("+42") && !diff.stdout.contains("half.txt"), "{}", diff.render());
    assert!(diff.stderr.contains(&race["commit"].as_str().unwrap()[..12]), "{}", diff.render());
    let document = env.spore(&["runs", "export", "--format", "markdown"]).code(0).stdout;
    for part in ["## Racers\n", "| cancelled |", "`supports (90 %): it says 42`", "\n+42"] {
        assert!(document.contains(part), "{part}: {document}");
    }
    let winner = race["parts"].as_array().unwrap().iter().find(|part| part["status"] == "verified");
    let winner = winner.unwrap()["id"].as_str().unwrap();
    let row = format!("  {}     $0.75  orchestrate ", &winner[18..]);
    let row = shown.stdout.lines().find(|line| line.starts_with(&row));
    assert!(row.is_some_and(|row| row.contains(" (replay)  verified")), "{}", shown.render());
}

/// All racers hold, and this is said when they are compared.
fn compared(says: &str) -> String {
    let session = format!(
        "[[session]]\nrole = \"verifier\"\nbounce = 0\ncost_usd = 0.125\nfinal = '''{says}'''\n"
    );
    scenario(WRITE_42) + &session
}

#[test]
fn the_best_of_all_is_the_one_that_the_verifier_prefers() {
    let says = r#"<verdict>{"nonce": "$NONCE", "choice": 2, "reason": "smaller"}</verdict>"#;
    for (says, told) in [(says, "the verifier prefers"), ("the second", "names none")] {
        let env = scenes::with_scenario(&compared(says));
        let output = scenes::orchestrate(&env, &["--race", "best,2", "--apply", "merge"]).code(0);
        assert!(output.stderr.contains(told), "{}", output.render());
        let race = scenes::newest(&env);
        let expected = ["orchestrate verified", "orchestrate verified", "solo finished"];
        assert_eq!(statuses(&race), expected);
        assert_eq!(race["cost"]["usd"], 1.625);
        assert_eq!(env.git(&["show", "main:answer.txt"]), "42");
    }
}

#[test]
fn a_race_whose_work_could_not_be_merged_says_so_and_why_its_winner_won() {
    let says = r#"<verdict>{"nonce": "$NONCE", "choice": 2, "reason": "smaller"}</verdict>"#;
    let env = scenes::with_scenario(&compared(says));
    env.write("answer.txt", "mine\n");
    let output =
        scenes::orchestrate(&env, &["-q", "--race", "best,2", "--apply", "merge"]).code(12);
    let race = scenes::newest(&env);
    let reason = race["run"]["reason"].as_str().unwrap();
    assert!(reason.contains(": smaller; not merged: "), "{reason}");
    assert_eq!(race["status"], "partial");
    let next = race["next"]["command"].as_str().unwrap();
    assert!(next.starts_with("git merge spore/"), "{next}");
    assert!(output.stdout.contains(reason) && output.stdout.contains(next), "{}", output.render());
    let stats = env.spore(&["runs", "stats", "--json"]).code(0).json();
    assert_eq!((&stats["decided"], &stats["verified"]), (&1.into(), &1.into()), "{stats:#}");
}

#[test]
fn a_race_that_none_wins_says_so() {
    let rejects = PASS.replace("supports", "contradicts");
    let env = scenes::with_scenario(&scenario(WRITE_42).replace(PASS, &rejects));
    let output = scenes::orchestrate(&env, &["--race", "2", "--max-bounces", "1"]).code(11);
    assert!(output.stdout.contains("no racer holds"), "{}", output.render());
    let typo = scenes::orchestrate(&env, &["--race", "replay,replai"]);
    assert!(typo.code >= 64 && typo.stderr.contains("replai"), "{}", typo.render());
    let race = scenes::newest(&env);
    assert_eq!(race["run"]["name"], "write the answer");
    let stats = env.spore(&["runs", "stats", "--json"]).code(0).json();
    assert_eq!((&stats["decided"], &stats["verified"]), (&1.into(), &0.into()), "{stats:#}");
    // What is told to be typed is taken: it starts a racer's task anew.
    let command = race["next"]["command"].as_str().unwrap();
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let _ = env.spore(&[&words[..], &["--max-bounces", "1"]].concat()).code(11);
    let _ = scenes::orchestrate(&env, &["--race", "1"]).code(64);
    let _ = scenes::orchestrate(&env, &["--race", "2", "--in-place"]).code(64);
}

/// Whether an effect is the race's own: racers have theirs at once, in no order, and a matrix of
/// their own as runs.
fn is_own(effect: &str) -> bool {
    let own =
        ["create run#", "winner#", "apply#", "commit#", "finish#", "2 changes", "heads/spore"];
    let is_of_racer = effect.contains(" write the answer/1 ");
    own.iter().any(|part| effect.contains(part)) && !is_of_racer
        || effect.contains("row:create write the answer/1#")
        || effect.contains("file:verifier/")
}

#[test]
fn a_race_killed_anywhere_ends_like_one_that_was_not() {
    let prefers = r#"<verdict>{"nonce": "$NONCE", "choice": 2, "reason": "smaller"}</verdict>"#;
    let target = KillTarget {
        scene: &|| scenes::with_scenario(&compared(prefers)),
        command: &[scenes::ORCHESTRATE, &["--race", "best,2"]].concat(),
        random: 20,
    };
    let traits = CommandTraits { parallel: true, only: Some(is_own), ..CommandTraits::default() };
    let kills = [KillPoint::After(0.3), KillPoint::After(0.6), KillPoint::After(0.9)];
    let tally = match asked_for("all") {
        true => matrix_of(&target, traits),
        false => sample(&target, traits, &kills),
    };
    println!("kills of a race: {}", tally.line());
    assert_eq!(tally.left_running, Vec::<String>::new());
    assert_eq!(tally.duplicates, Vec::<String>::new());
    assert_eq!(tally.divergent, Vec::<String>::new());
}
