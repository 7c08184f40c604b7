//! Sessions of the real programs, recorded once, read by today's parser: the events that
//! people and the spine see, and the outcome each session must have.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use spore_agent::claude::{ClaudeStream, Exit, SessionNeeds, Stopped};
use spore_agent::{AgentEvent, CallsCounted, SessionReport};
use spore_model::Outcome;

/// Each recording and how its process ended. The programs' own exit codes, as they were
/// measured; a session that was still going on when the recording stopped is out of time.
const RECORDINGS: &[(&str, Ended)] = &[
    ("claude-acceptedits", Ended::Exit(0)),
    ("claude-agent", Ended::Exit(0)),
    ("claude-agentsjson", Ended::Exit(0)),
    ("claude-allowed", Ended::Exit(0)),
    ("claude-append", Ended::Exit(0)),
    ("claude-basic", Ended::Exit(0)),
    ("claude-budget", Ended::Exit(1)),
    ("claude-canuse", Ended::Exit(0)),
    ("claude-cut", Ended::Exit(0)),
    ("claude-defaultmode", Ended::Exit(0)),
    ("claude-denypattern", Ended::Exit(0)),
    ("claude-disallow", Ended::Exit(0)),
    ("claude-disallowbypass", Ended::Exit(0)),
    ("claude-dontask", Ended::Exit(0)),
    ("claude-err400", Ended::Exit(1)),
    ("claude-err401", Ended::Stopped(Stopped::GivenUp)),
    ("claude-err401b", Ended::Exit(1)),
    ("claude-err403", Ended::Exit(1)),
    ("claude-err404", Ended::Exit(1)),
    ("claude-err429", Ended::Exit(1)),
    ("claude-err429once", Ended::Exit(0)),
    ("claude-err500", Ended::Exit(1)),
    ("claude-err529", Ended::Exit(1)),
    ("claude-hang", Ended::Exit(1)),
    ("claude-hangterm", Ended::Exit(143)),
    ("claude-jsonout", Ended::Exit(0)),
    ("claude-maxturns", Ended::Exit(1)),
    ("claude-mcpallow", Ended::Exit(0)),
    ("claude-mcpdeny", Ended::Exit(0)),
    ("claude-mcpfail", Ended::Exit(0)),
    ("claude-miderr", Ended::Exit(1)),
    ("claude-midhang", Ended::Stopped(Stopped::TimeUp)),
    ("claude-midhang2", Ended::Stopped(Stopped::Idle)),
    ("claude-nokey", Ended::Exit(1)),
    ("claude-partial", Ended::Exit(0)),
    ("claude-pgkill", Ended::Exit(143)),
    ("claude-planmode", Ended::Exit(0)),
    ("claude-ratelimit", Ended::Exit(0)),
    ("claude-resume-fork", Ended::Exit(0)),
    ("claude-resume-missing", Ended::Exit(1)),
    ("claude-resume1", Ended::Exit(0)),
    ("claude-resume2", Ended::Exit(0)),
    ("claude-resumeothercwd", Ended::Exit(1)),
    ("claude-schema", Ended::Exit(0)),
    ("claude-schemafail", Ended::Exit(0)),
    ("claude-sigint", Ended::Stopped(Stopped::Cancelled)),
    ("claude-sigterm", Ended::Exit(143)),
    ("claude-smollm2-real", Ended::Exit(0)),
    ("claude-stream", Ended::Exit(0)),
    ("claude-subagent", Ended::Exit(0)),
    ("qwen-basic", Ended::Exit(0)),
    ("qwen-default", Ended::Exit(0)),
    ("qwen-err401", Ended::Exit(0)),
];

#[derive(Clone, Copy, Debug)]
enum Ended {
    Exit(i32),
    Stopped(Stopped),
}

impl Ended {
    fn exit(self) -> Exit {
        match self {
            Self::Exit(code) => Exit { code, ..Exit::default() },
            Self::Stopped(why) => Exit { code: 143, stopped: Some(why), ..Exit::default() },
        }
    }
}

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(recordings().join(format!("{name}.jsonl"))).unwrap()
}

fn needs() -> SessionNeeds {
    SessionNeeds { structured: false, required_servers: Vec::new(), sign_in_attempts: 3 }
}

fn play(
    transcript: &str,
    expectations: SessionNeeds,
    exit: &Exit,
) -> (Vec<AgentEvent>, SessionReport) {
    let mut stream = ClaudeStream::new(expectations);
    let events = transcript.lines().flat_map(|line| stream.line(line)).collect();
    (events, stream.conclude(exit))
}

/// What people would want to know of a session, one thing a line.
fn told(events: &[AgentEvent], report: &SessionReport) -> String {
    let mut lines: Vec<String> =
        events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    let SessionReport { outcome, reason, final_text, usage, cost, .. } = report;
    lines.extend([
        "---".to_owned(),
        format!("{outcome:?}: {}", reason.as_deref().unwrap_or("done")),
        format!("said: {final_text:?}"),
        format!("turns: {}", report.turns),
        format!("tokens: {} in, {} out", usage.input_tokens, usage.output_tokens),
        format!("cached: {} read, {} written", usage.cache_read_tokens, usage.cache_write_tokens),
        cost.map_or("cost: not named".to_owned(), |cost| {
            format!("cost: {} USD", cost.as_dollars())
        }),
    ]);
    lines.extend(report.structured.iter().map(|value| format!("structured: {value}")));
    lines.extend(report.mcp.iter().map(|(server, status)| format!("server {server}: {status}")));
    lines.join("\n")
}

#[test]
fn every_recorded_session_reads_as_it_went() {
    for (name, ended) in RECORDINGS {
        let expectations = SessionNeeds { structured: name.contains("schema"), ..needs() };
        let (events, report) = play(&read(name), expectations, &ended.exit());
        insta::assert_snapshot!(*name, told(&events, &report));
    }
}

#[test]
fn no_recording_is_left_out() {
    let mut found: Vec<String> = std::fs::read_dir(recordings())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().is_file())
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    found.sort();
    let listed: Vec<&str> = RECORDINGS.iter().map(|(name, _)| *name).collect();
    assert_eq!(found, listed);
}

#[test]
fn a_recorded_session_has_no_line_that_nobody_understands() {
    for (name, ended) in RECORDINGS {
        let (events, _) = play(&read(name), needs(), &ended.exit());
        let raw: Vec<_> =
            events.iter().filter(|event| matches!(event, AgentEvent::Raw { .. })).collect();
        // The one question that the program may ask, and only when told that it may.
        assert_eq!(raw.len(), if *name == "claude-canuse" { 2 } else { 0 }, "{name}: {raw:?}");
    }
}

/// Puts `figure` in the place of every number of tokens and dollars, and of turns.
fn with_figures(line: &str, figure: &Value) -> String {
    fn put(value: &mut Value, figure: &Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let name = name.to_ascii_lowercase();
                    let is_figure =
                        ["tokens", "usd", "num_turns"].iter().any(|word| name.ends_with(word));
                    if is_figure && value.is_number() {
                        value.clone_from(figure);
                    } else {
                        put(value, figure);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| put(item, figure)),
            _ => {}
        }
    }
    let mut value: Value = serde_json::from_str(line).unwrap();
    put(&mut value, figure);
    value.to_string()
}

#[test]
fn a_figure_that_cannot_be_true_is_neither_zero_nor_the_end_of_a_session() {
    for figure in [json!(u64::MAX), json!(-1), json!(1e300), json!("12"), json!(false), json!({})] {
        for (name, ended) in RECORDINGS {
            let told = read(name);
            let expectations = || SessionNeeds { structured: name.contains("schema"), ..needs() };
            let (_, expected) = play(&told, expectations(), &ended.exit());
            let told: Vec<String> = told.lines().map(|line| with_figures(line, &figure)).collect();
            let (_, report) = play(&told.join("\n"), expectations(), &ended.exit());
            assert_eq!((report.outcome, report.reason), (expected.outcome, expected.reason));
            let was_counted = expected.usage.read_tokens() > 0;
            assert!(!was_counted || !report.usage.is_possible(), "{name}, {figure}");
        }
    }
}

#[test]
fn each_sign_alone_makes_a_good_session_a_bad_one() {
    let good = read("claude-basic");
    let check = |transcript: &str, expectations: SessionNeeds, exit: Exit, reason: &str| {
        let (_, report) = play(transcript, expectations, &exit);
        assert_eq!(report.reason.as_deref(), Some(reason));
        assert_ne!(report.outcome, Outcome::Success, "{reason}");
    };
    let plain = needs;
    check(
        &good,
        plain(),
        Exit { code: 1, complaint: "a hook failed".into(), ..Exit::default() },
        "it exited with code 1: a hook failed",
    );
    check(
        &good.replace(r#""stop_reason":"end_turn""#, r#""stop_reason":null"#),
        plain(),
        Exit::default(),
        "the model's answer was cut off",
    );
    check(
        &good.replace(r#""subtype":"success""#, r#""subtype":"error_of_tomorrow""#),
        plain(),
        Exit::default(),
        "it gave up: error_of_tomorrow",
    );
    check(
        &good.replace(r#""is_error":false,"api"#, r#""is_error":true,"api"#),
        plain(),
        Exit::default(),
        "the model could not be asked: Done.",
    );
    check(
        &good,
        SessionNeeds { structured: true, ..plain() },
        Exit::default(),
        "it gave no structured result",
    );
    let (last, _) = good.trim_end().rsplit_once('\n').unwrap();
    check(last, plain(), Exit::default(), "it exited with code 0 and no final message");
    check(
        &good,
        plain(),
        Exit { stopped: Some(Stopped::Cancelled), ..Exit::default() },
        "it was interrupted",
    );
}

#[test]
fn a_healthy_session_that_does_not_exit_is_still_healthy() {
    let exit = Exit { code: 143, stopped: Some(Stopped::Lingered), ..Exit::default() };
    let (_, report) = play(&read("claude-basic"), needs(), &exit);
    assert_eq!((report.outcome, report.reason), (Outcome::Success, None));
}

#[test]
fn a_server_that_is_needed_must_be_connected() {
    let check = |server: &str, expected: Option<&str>| {
        let mut stream = ClaudeStream::new(SessionNeeds {
            required_servers: vec![server.to_owned()],
            ..needs()
        });
        for line in read("claude-mcpfail").lines() {
            stream.line(line);
        }
        assert_eq!(stream.give_up(), expected);
    };
    check("echo", None);
    check("missing", Some("the MCP server missing is needed and is failed"));
    check("hangs", Some("the MCP server hangs is needed and is pending"));
    check("unheard", Some("the MCP server unheard is needed and was not started"));
}

#[test]
fn a_key_that_is_refused_often_enough_ends_the_session() {
    let given_up_at = |sign_in_attempts: u32| {
        let mut stream = ClaudeStream::new(SessionNeeds { sign_in_attempts, ..needs() });
        let transcript = read("claude-err401");
        let mut lines = transcript.lines().map(|line| {
            stream.line(line);
            stream.give_up().map(str::to_owned)
        });
        lines.find_map(|given_up| given_up)
    };
    for attempts in [1, 2, 3] {
        let reason = format!("it is not signed in: the API refused it {attempts} times");
        assert_eq!(given_up_at(attempts), Some(reason));
    }
    assert_eq!(given_up_at(u32::MAX), None);
}

#[test]
fn a_tool_is_in_flight_from_its_call_to_its_result() {
    let mut stream = ClaudeStream::new(needs());
    let running: Vec<bool> = read("claude-basic")
        .lines()
        .map(|line| {
            stream.line(line);
            stream.tool_in_flight()
        })
        .collect();
    let t = true;
    let f = false;
    assert_eq!(running, [f, f, f, f, t, f, t, f, t, f, f, f]);
}

#[test]
fn a_result_too_long_to_read_does_not_leave_its_tool_running() {
    let mut stream = ClaudeStream::new(needs());
    let transcript = read("claude-basic");
    let lines: Vec<&str> = transcript.lines().collect();
    for line in &lines[..5] {
        stream.line(line);
    }
    let cut = format!("{} … 9 more bytes", &lines[5][..80]);
    assert!(matches!(&stream.line(&cut)[..], [AgentEvent::Raw { .. }]));
    assert!(stream.tool_in_flight());
    stream.line(lines[10]);
    assert!(!stream.tool_in_flight());
}

#[test]
fn a_limit_parks_the_session_until_it_resets() {
    let rejected = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794800000,"rateLimitType":"five_hour"},"session_id":"s"}"#;
    let transcript = format!("{rejected}\n{}", read("claude-err429"));
    let (events, report) = play(&transcript, needs(), &Ended::Exit(1).exit());
    let AgentEvent::RateLimit { resets_at: Some(at), reason } = &events[0] else {
        panic!("{events:?}")
    };
    assert_eq!((at.as_seconds(), reason.as_str()), (1_794_800_000, "five_hour: rejected"));
    assert_eq!((report.outcome, report.resets_at), (Outcome::QuotaParked, Some(*at)));

    let old = read("claude-err429").replace(
        "API Error: Request rejected (429) · rate limited",
        "Claude AI usage limit reached|1794800000",
    );
    let (_, report) = play(&old, needs(), &Ended::Exit(1).exit());
    assert_eq!((report.outcome, report.resets_at), (Outcome::QuotaParked, Some(*at)));
}

#[test]
fn out_of_time_at_the_gate_of_the_api_is_told_by_what_it_waited_for() {
    let check = |name: &str, expected: Outcome, reason: &str| {
        // Only the retries: the recording stops before the program gave up.
        let transcript = read(name);
        let waiting: Vec<&str> =
            transcript.lines().filter(|line| line.contains(r#""type":"system""#)).collect();
        let exit = Ended::Stopped(Stopped::TimeUp).exit();
        let (_, report) = play(&waiting.join("\n"), needs(), &exit);
        assert_eq!((report.outcome, report.reason.as_deref()), (expected, Some(reason)));
    };
    check(
        "claude-err401",
        Outcome::Failure,
        "it is not signed in, and its time was over before the API let it in",
    );
    check(
        "claude-err429",
        Outcome::QuotaParked,
        "the model is over its limit, and its time was over before it answered",
    );
    check(
        "claude-err500",
        Outcome::TimedOut,
        "its time was over while it tried to reach the model again",
    );
    check("claude-basic", Outcome::TimedOut, "its time was over");
}

#[test]
fn what_is_not_understood_is_kept_as_it_came() {
    for line in ["Segmentation fault", r#"{"type":"moon_phase","x":1}"#, r#"{"type":7}"#, "[]"] {
        let mut stream = ClaudeStream::new(needs());
        assert_eq!(stream.line(line), [AgentEvent::Raw { line: line.to_owned() }]);
    }
    assert_eq!(ClaudeStream::new(needs()).line("  "), []);
}

#[test]
fn a_question_is_kept_raw_and_wants_one_answer() {
    let mut stream = ClaudeStream::new(needs());
    let question =
        r#"{"type":"control_request","request_id":"q1","request":{"subtype":"elicitation"}}"#;
    assert_eq!(stream.line(question), [AgentEvent::Raw { line: question.to_owned() }]);
    assert_eq!(stream.take_question().as_deref(), Some("q1"));
    assert_eq!(stream.take_question(), None);
}

#[test]
fn a_session_that_was_cut_off_counts_what_the_model_counted() {
    let recording = read("claude-partial");
    let cut = |lines: usize| {
        let heard: Vec<&str> = recording.lines().take(lines).collect();
        let exit = Exit { stopped: Some(Stopped::Cancelled), ..Exit::default() };
        play(&heard.join("\n"), needs(), &exit)
    };
    let check = |lines: usize, turns: u32, counted: CallsCounted, tokens: (u64, u64)| {
        let (_, report) = cut(lines);
        let usage = report.usage;
        let found = (report.turns, report.counted, (usage.input_tokens, usage.output_tokens));
        assert_eq!(found, (turns, counted, tokens), "after {lines} lines");
        assert_eq!(report.usage_bounds.is_some(), counted == CallsCounted::InDoubt);
        assert_eq!(report.cost, None);
        report
    };
    check(1, 0, CallsCounted::NoneMade, (0, 0));
    check(2, 0, CallsCounted::InDoubt, (20_000, 0));
    // Eight lines in all the text was heard, and not how many tokens it was.
    let report = check(8, 1, CallsCounted::InDoubt, (1000, 2));
    let (least, most) = report.usage_bounds.unwrap();
    assert!(least.output_tokens <= 50 && 50 <= most.output_tokens);
    assert_eq!((least.input_tokens, most.input_tokens), (1000, 1000));
    assert_eq!(report.model.as_deref(), Some("claude-opus-4-8"));
    check(10, 1, CallsCounted::All, (1000, 50));
    check(11, 1, CallsCounted::All, (1000, 50));
    let told = cut(12).0.into_iter().find_map(|event| match event {
        AgentEvent::Usage { usage } => Some(usage.output_tokens),
        _ => None,
    });
    assert_eq!(told, Some(50), "what `-v` tells of a call");
}

#[test]
fn a_call_may_have_been_made_once_the_results_of_all_tools_are_heard() {
    let piece = |event: &str| format!(r#"{{"type":"stream_event","event":{event}}}"#);
    let result_of = |id: &str| {
        format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","content":"ok"}}]}}}}"#
        )
    };
    let calls = ["t1", "t2"].map(|id| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"m1","content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}]}}}}"#
        )
    });
    let answer = [
        r#"{"type":"system","subtype":"status","status":"requesting"}"#.to_owned(),
        piece(
            r#"{"type":"message_start","message":{"id":"m1","usage":{"input_tokens":1000,"output_tokens":1}}}"#,
        ),
        calls.join("\n"),
        piece(r#"{"type":"message_delta","usage":{"output_tokens":50}}"#),
        piece(r#"{"type":"message_stop"}"#),
    ];
    let counted = |more: &[String]| {
        let exit = Exit { stopped: Some(Stopped::Cancelled), ..Exit::default() };
        let heard = [&answer[..], more].concat().join("\n");
        play(&heard, needs(), &exit).1.counted
    };
    let both = [result_of("t1"), result_of("t2")];
    assert_eq!(counted(&both[..1]), CallsCounted::All, "a tool is still at work");
    assert_eq!(counted(&both), CallsCounted::InDoubt);
    // One that ended by itself after that has not asked again.
    let end = r#"{"type":"result","subtype":"error_max_turns","num_turns":1,"usage":{"input_tokens":1000,"output_tokens":50}}"#;
    assert_eq!(counted(&[&both[..], &[end.to_owned()]].concat()), CallsCounted::All);
}
