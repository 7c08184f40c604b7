//! `spore events`: the spine, from outside.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes::{self, told};

const DAY: &str = ".spore/events/2026-01-02.jsonl";

fn project() -> TestEnv {
    let env = scenes::small();
    let _ = env.spore(&["init"]).code(0);
    env
}

fn append(env: &TestEnv, what: &str, more: &[&str]) -> ProgramOutput {
    let words = ["events", "append", "--kind", "human", "--type", what];
    let args: Vec<&str> = words.iter().chain(more).copied().collect();
    env.spore(&args)
}

fn spine(env: &TestEnv) -> String {
    std::fs::read_to_string(env.repo().join(DAY)).unwrap()
}

/// The types of the events that a tail shows.
#[track_caller]
fn types(env: &TestEnv, more: &[&str]) -> String {
    let args: Vec<&str> = ["events", "tail", "--json"].iter().chain(more).copied().collect();
    let output = env.spore(&args).code(0);
    let line = |line: &str| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["type"].as_str().unwrap().to_owned()
    };
    output.stdout.lines().map(line).collect::<Vec<_>>().join(" ")
}

/// Adds a line to a day's file as another program might.
fn scribble(env: &TestEnv, day: &str, text: &str) {
    use std::io::Write;
    let path = env.repo().join(format!(".spore/events/{day}.jsonl"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn line(number: u32, ts: &str) -> String {
    format!(
        "{{\"id\":\"01KDZZZZZZ{number:016}\",\"ts\":\"{ts}\",\"source\":{{\"kind\":\"ci\",\"name\":\"nightly\"}},\"type\":\"build.n{number}\"}}\n"
    )
}

#[test]
fn an_event_is_appended_and_its_id_is_the_answer() {
    let env = project();
    let output = append(&env, "review.asked", &[]).code(0);
    let json = append(
        &env,
        "review.done",
        &["--name", "ada", "--session", "pr-7", "--payload", "{\"ok\": true}", "--json"],
    );
    insta::assert_snapshot!("an_appended_event_for_machines", told(&json.code(0)));
    let lines = spine(&env);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["id"], output.stdout.trim());
    assert_eq!(first["source"]["name"], "human");
    assert_eq!(lines.lines().count(), 2);
}

#[test]
fn a_payload_may_come_on_stdin() {
    let env = project();
    let args = ["events", "append", "--kind", "ci", "--type", "a.b", "--payload", "-"];
    let _ = scenes::with_stdin(&env, &args, b" [1, 2]\n").code(0);
    assert!(spine(&env).contains("\"payload\":[1,2]"));
    let output = scenes::with_stdin(&env, &args, &vec![b' '; 3 << 20]).code(65);
    insta::assert_snapshot!(told(&output), @"
    exit code: 65
    --- stdout
    --- stderr
    error: an event of 1048577 bytes or more is too large
      try: keep the bulk in a file and name the file in the payload; the limit is `[spine] line_cap_bytes`
    ");
}

#[test]
fn what_is_not_an_event_is_refused_and_nothing_is_written() {
    let env = project();
    for (name, code, args) in [
        ("a_misspelt_kind", 64, &["--kind", "humna", "--type", "a.b"][..]),
        ("an_unknown_kind", 64, &["--kind", "weather", "--type", "a.b"]),
        ("a_type_of_one_word", 64, &["--kind", "ci", "--type", "Build"]),
        ("a_payload_that_is_no_json", 65, &["--kind", "ci", "--type", "a.b", "--payload", "{x}"]),
        ("a_name_of_two_lines", 64, &["--kind", "ci", "--type", "a.b", "--name", "a\nb"]),
    ] {
        let args: Vec<&str> = ["events", "append"].iter().chain(args).copied().collect();
        insta::assert_snapshot!(name, told(&env.spore(&args).code(code)));
    }
    let json = append(&env, "Build", &["--json"]).code(64);
    assert_eq!(json.stdout, "");
    assert!(!env.repo().join(DAY).exists());
}

#[test]
fn without_a_project_there_is_no_spine() {
    let env = scenes::env();
    env.commit_all("nothing");
    insta::assert_snapshot!(told(&append(&env, "a.b", &[]).code(69)), @"
    exit code: 69
    --- stdout
    --- stderr
    error: $TEST_ENV/repo is not a Spore project: it has no .spore/
      try: run `spore init`
    ");
    let _ = env.spore(&["events", "tail"]).code(69);
    let _ = env.spore(&["events", "collect"]).code(69);
    assert!(!env.repo().join(".spore").exists());
}

#[test]
fn the_last_events_are_shown_one_a_line() {
    let env = project();
    let _ = append(&env, "review.asked", &["--payload", "{\"why\": \"two\\nlines\\u001b[2J\"}"]);
    let _ = append(&env, "review.done", &["--name", "ada"]);
    insta::assert_snapshot!(told(&env.spore(&["events", "tail"]).code(0)), @"
    exit code: 0
    --- stdout
    2026-01-02 03:07:00 UTC  human/human           review.asked          -         why=two lines
    2026-01-02 03:08:00 UTC  human/ada             review.done           -
    --- stderr
    ");
    let json = env.spore(&["events", "tail", "--json", "-n", "1"]).code(0);
    insta::assert_snapshot!(told(&json), @r#"
    exit code: 0
    --- stdout
    {"id":"RUNID-001","ts":"2026-01-02T03:08:00.000Z","source":{"kind":"human","name":"ada"},"type":"review.done"}
    --- stderr
    "#);
}

#[test]
fn the_events_of_a_run_can_be_followed_afterwards() {
    let env = scenes::with_scenario(&scenes::one_bounce(scenes::WRITE_42));
    let _ = scenes::orchestrate(&env, &[]).code(0);
    insta::assert_snapshot!(told(&env.spore(&["events", "tail", "-n", "100"]).code(0)));
}

#[test]
fn an_empty_spine_is_shown_as_nothing() {
    let env = project();
    let output = env.spore(&["events", "tail"]).code(0);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""));
}

#[test]
fn events_are_chosen_by_type_kind_time_and_number() {
    let env = project();
    for number in 1..=30 {
        let hour = number % 24;
        scribble(&env, "2026-01-01", &line(number, &format!("2026-01-01T{hour:02}:00:00Z")));
    }
    let _ = append(&env, "review.asked", &[]);
    assert_eq!(types(&env, &[]).split(' ').count(), 20);
    assert_eq!(types(&env, &["-n", "2"]), "build.n30 review.asked");
    assert_eq!(types(&env, &["-n", "2", "--kind", "ci"]), "build.n29 build.n30");
    assert_eq!(types(&env, &["--type", "build.n1?", "-n", "3"]), "build.n17 build.n18 build.n19");
    assert_eq!(types(&env, &["--type", "*.asked"]), "review.asked");
    assert_eq!(types(&env, &["--type", "*.never"]), "");
    assert_eq!(types(&env, &["--since", "2026-01-02"]), "review.asked");
    assert_eq!(types(&env, &["--since", "2026-01-01T22:30:00Z"]), "build.n23 review.asked");
    assert_eq!(types(&env, &["--since", "1d", "-n", "1"]), "review.asked");
    assert_eq!(types(&env, &["--since", "1d", "--kind", "human", "--kind", "git"]), "review.asked");
    let bad = env.spore(&["events", "tail", "--since", "yesterday"]).code(64);
    insta::assert_snapshot!(told(&bad), @r#"
    exit code: 64
    --- stdout
    --- stderr
    error: "yesterday" is not a time: write a date as in 2026-01-31, a time as in 2026-01-31T12:00:00Z, or how long ago as in 30m, 2h, 7d, 1w
    "#);
    let bad = env.spore(&["events", "tail", "--kind", "gti"]).code(64);
    insta::assert_snapshot!(told(&bad), @r#"
    exit code: 64
    --- stdout
    --- stderr
    error: "gti" is not a kind of event source
      try: did you mean git?
    "#);
}

#[test]
fn what_is_no_event_is_reported_and_passed_over() {
    let env = project();
    scribble(&env, "2025-12-31", &line(1, "2025-12-31T00:00:00Z"));
    scribble(&env, "2025-12-31", "{\"id\":\"torn");
    scribble(&env, "2026-01-01", "nonsense\n\n{}\n");
    scribble(&env, "2026-01-01", &format!("{}\n", "x".repeat(2 << 20)));
    scribble(&env, "2026-01-01", &line(2, "2026-01-01T00:00:00Z"));
    scribble(&env, "2026-01-01", "\0\u{7f}\n");
    scribble(&env, "2026-01-01", &line(3, "2026-01-01T00:00:00Z"));
    scribble(&env, "2026-01-01", "{\"id\":\"still being writ");
    insta::assert_snapshot!(told(&env.spore(&["events", "tail"]).code(0)), @"
    exit code: 0
    --- stdout
    2025-12-31 00:00:00 UTC  ci/nightly            build.n1              -
    2026-01-01 00:00:00 UTC  ci/nightly            build.n2              -
    2026-01-01 00:00:00 UTC  ci/nightly            build.n3              -
    --- stderr
    .spore/events/2025-12-31.jsonl, byte 122: the line was never finished; skipped
    .spore/events/2026-01-01.jsonl, byte 0: not an event: expected ident at line 1 column 2; skipped
    .spore/events/2026-01-01.jsonl, byte 10: not an event: missing field `id` at line 1 column 2; skipped
    .spore/events/2026-01-01.jsonl, byte 13: a line of 2097152 bytes is too long; skipped
    .spore/events/2026-01-01.jsonl, byte 2097288: not an event: expected value at line 1 column 1; skipped
    ");
    assert_eq!(types(&env, &["-n", "1"]), "build.n3");
}

#[test]
fn the_end_of_a_long_day_is_found_without_reading_all_of_it() {
    let env = project();
    let many: String = (1..=40_000).map(|number| line(number, "2026-01-01T00:00:00Z")).collect();
    // Were it read from the beginning, this would be told.
    scribble(&env, "2026-01-01", &format!("nonsense\n{many}"));
    let output = env.spore(&["events", "tail", "--json", "-n", "3"]).code(0);
    assert_eq!(output.stderr, "");
    assert!(output.stdout.contains("build.n39998") && output.stdout.lines().count() == 3);
}

#[test]
fn a_cursor_goes_on_where_the_last_call_ended() {
    let env = project();
    let tail = |more: &[&str]| {
        let args: Vec<&str> = ["--cursor", "seen.json"].iter().chain(more).copied().collect();
        types(&env, &args)
    };
    assert_eq!(tail(&[]), "");
    for number in 1..=30 {
        scribble(&env, "2026-01-01", &line(number, "2026-01-01T00:00:00Z"));
    }
    assert_eq!(tail(&["-n", "2"]), "build.n1 build.n2");
    assert_eq!(tail(&["-n", "1", "--type", "*9"]), "build.n9");
    assert_eq!(tail(&[]).split(' ').count(), 21);
    assert_eq!(tail(&[]), "");
    let _ = append(&env, "review.asked", &[]);
    assert_eq!(tail(&[]), "review.asked");
    env.write("seen.json", "nonsense");
    let bad = env.spore(&["events", "tail", "--cursor", "seen.json"]).code(65);
    insta::assert_snapshot!(told(&bad), @"
    exit code: 65
    --- stdout
    --- stderr
    error: $TEST_ENV/repo/seen.json is not a cursor
      because: expected ident at line 1 column 2
      try: name a file that this command wrote, or one that is not there yet
    ");
    env.write("seen.json", "{\"partition\":\"2026-01-01\",\"offset\":999999}");
    let shrunk = env.spore(&["events", "tail", "--cursor", "seen.json"]).code(0);
    assert!(shrunk.stderr.contains("the file has only"), "{}", shrunk.stderr);
}

/// A tail that is still running, and its lines as they come.
struct Follower {
    child: Child,
    lines: Receiver<String>,
}

impl Follower {
    fn new(env: &TestEnv, more: &[&str]) -> Self {
        let args: Vec<&str> = ["events", "tail", "--follow"].iter().chain(more).copied().collect();
        let mut child = env.start_in(&env.repo(), &args, &[]);
        let stdout = child.stdout.take().unwrap();
        Self { child, lines: read_lines(stdout) }
    }

    #[track_caller]
    fn next(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(30)).unwrap()
    }
}

fn read_lines(stdout: ChildStdout) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

#[test]
fn a_follower_sees_what_another_process_appends_also_after_midnight() {
    let env = project();
    let _ = append(&env, "before.it", &[]);
    let follower = Follower::new(&env, &[]);
    assert!(follower.next().contains("before.it"));
    let _ = append(&env, "during.it", &[]);
    assert!(follower.next().contains("during.it"));
    let args = ["events", "append", "--kind", "ci", "--type", "next.day"];
    let tomorrow = [("SPORE_TEST_CLOCK", "2026-01-03T00:00:00Z")];
    let _ = env.spore_in(&env.repo(), &args, &tomorrow).code(0);
    assert!(follower.next().contains("next.day"));
    scenes::system(&env, "kill", &["-INT", &follower.child.id().to_string()]);
    let ended = env.finish(follower.child);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
}

#[test]
fn a_follower_of_an_empty_spine_waits_for_the_first_event() {
    let env = project();
    let follower = Follower::new(&env, &["--type", "wanted.*", "--json"]);
    let _ = append(&env, "other.thing", &[]);
    let _ = append(&env, "wanted.thing", &[]);
    let event: serde_json::Value = serde_json::from_str(&follower.next()).unwrap();
    assert_eq!(event["type"], "wanted.thing");
    scenes::system(&env, "kill", &["-TERM", &follower.child.id().to_string()]);
    let _ = env.finish(follower.child).code(0);
}

#[test]
fn a_follower_whose_reader_went_away_ends_quietly() {
    let env = project();
    let _ = append(&env, "before.it", &[]);
    let mut child = env.start_in(&env.repo(), &["events", "tail", "--follow"], &[]);
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    reader.read_line(&mut first).unwrap();
    assert!(first.contains("before.it"));
    drop(reader);
    let _ = append(&env, "after.it", &[]);
    let ended = env.finish(child);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
}
