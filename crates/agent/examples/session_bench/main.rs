//! Measures what the control of a session costs, and whether it holds.
//!
//! `cargo run --release -p spore-agent --example session_bench -- overhead cpu soak`
//!
//! `overhead` compares a session of ten events with the same program started directly, `cpu`
//! a transcript of 100 MB with a plain pass of serde over it, and `soak` runs 1,000 sessions
//! of an agent that misbehaves at random. Each line ends with its limit; the exit code is 1
//! if one was passed. The program is its own shim and its own fake agent.

#![expect(clippy::disallowed_methods, reason = "a measurement, outside the product")]
#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on should stop")]

#[path = "../../../fake-agent/src/main.rs"]
mod fake_agent;
mod scene;
mod soak;

use std::io::{BufRead, BufReader, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use scene::{Scene, exe};
use serde_json::Value;
use spore_agent::Agent;
use spore_agent::claude::ClaudeAgent;
use spore_agent::command::CommandOutput;
use spore_effects::Tool;
use spore_effects::session::{SHIM_ARG, Shim, shim_main};
use spore_model::Outcome;

/// `argv[1]` of this program as the fake agent.
const FAKE_ARG: &str = "fake";

const TEN_EVENTS: [&str; 7] = [FAKE_ARG, "--format", "events", "--trick", "flood", "--count", "5"];

fn main() -> ExitCode {
    let modes: Vec<String> = std::env::args().skip(1).collect();
    match modes.first().map(String::as_str) {
        Some(SHIM_ARG) => return ExitCode::from(u8::try_from(shim_main()).unwrap_or(u8::MAX)),
        Some(FAKE_ARG) => return fake_agent::main(),
        _ => {}
    }
    let mut held = true;
    for mode in &modes {
        held &= match mode.as_str() {
            "overhead" => overhead(),
            "cpu" => cpu(),
            "soak" => soak::run(),
            _ => {
                tell(&format!("no such measurement: {mode}"));
                false
            }
        };
    }
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tell(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn overhead() -> bool {
    let scene = Scene::new(&TEN_EVENTS, CommandOutput::Events);
    let direct = || {
        let output = Tool::new(exe()).args(TEN_EVENTS).output().unwrap();
        assert_eq!(output.stdout.iter().filter(|&&byte| byte == b'\n').count(), 10);
    };
    let session = || assert_eq!(scene.run().0.outcome, Outcome::Success);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..50 {
        // Taken in turns, so that a busy machine is equally unfair to both.
        times[0].push(wall_of(direct));
        times[1].push(wall_of(session));
    }
    let [direct, session] = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    });
    let over = session.saturating_sub(direct);
    tell(&format!(
        "overhead: {over:.1?} ({session:.1?} against {direct:.1?} directly), limit 25 ms"
    ));
    over < Duration::from_millis(25)
}

fn wall_of(work: impl Fn()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Both languages, with two secrets to look for.
fn cpu() -> bool {
    let mut scene = Scene::new(&[], CommandOutput::Events);
    for name in ["FIRST_API_KEY", "SECOND_TOKEN"] {
        scene.request.env.push((name.to_owned(), format!("sk-{name}-0123456789")));
    }
    let text = "All work and no play makes a long line. ".repeat(8);
    let events = [
        format!(r#"{{"type":"text","text":"{text}"}}"#),
        r#"{"type":"result","text":"Done.","turns":1}"#.to_owned(),
    ];
    let recorded = Scene::recording(&[FAKE_ARG]);
    let (middle, last) = recorded.split_at(recorded.len() - 1);

    let file = scene.write_transcript(&events[..1], &events[1]);
    scene.say_file(&file);
    let held = compare("our events", &file, || assert_eq!(scene.run().0.turns, 1));

    let file = scene.write_transcript(&middle[1..], &last[0]);
    let claude = ClaudeAgent::new(scene.script(&file), Shim::new(exe()), scene.watchdog, 3);
    compare("Claude's", &file, || {
        std::fs::remove_file(&scene.request.transcript).unwrap();
        let report = claude.run(&scene.request, &mut scene::Nobody::default()).unwrap();
        assert_eq!(report.final_text, "Done.");
    }) && held
}

fn compare(name: &str, file: &std::path::Path, session: impl Fn()) -> bool {
    let plain = cpu_of(|| {
        let reader = BufReader::with_capacity(64 * 1024, std::fs::File::open(file).unwrap());
        for line in reader.lines() {
            serde_json::from_str::<Value>(&line.unwrap()).unwrap();
        }
    });
    let session = cpu_of(session);
    let times = session.as_secs_f64() / plain.as_secs_f64();
    tell(&format!(
        "cpu, {name}: {times:.2} times a plain pass ({session:.2?} against {plain:.2?}), limit 2"
    ));
    times < 2.0
}

/// The time of this process alone, as the kernel counts it: hundredths of a second.
fn cpu_of(work: impl Fn()) -> Duration {
    let spent = || {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let fields = stat.rsplit_once(") ").unwrap().1;
        let ticks: u64 =
            fields.split(' ').skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum();
        Duration::from_millis(ticks * 10)
    };
    let before = spent();
    work();
    spent() - before
}
