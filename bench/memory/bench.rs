//! What a scan of memory costs beside a plain pass of serde over the same events with the same
//! matching. `bench/memory/run` calls it; each mode is a process of its own, so that its peak
//! memory is its own.
//!
//!     memory_bench generate DIR MEGABYTES
//!     memory_bench scan DIR     gate, match, judge, count: what `spore memory scan` reads with
//!     memory_bench plain DIR    every line into an event, and the matching on those that count
//!     memory_bench serde DIR    every line into an event, and nothing else

#![expect(clippy::disallowed_methods, reason = "a measurement, outside the product")]
#![expect(clippy::print_stdout, reason = "a benchmark talks to a person")]

use std::collections::HashSet;
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use serde_json::json;
use spore_memory::known::KnownFragments;
use spore_memory::lines::LineMap;
use spore_memory::reading::matcher::Matcher;
use spore_memory::reading::recalled::Recalled;
use spore_memory::reading::turns::Turns;
use spore_memory::scan::{ScanTask, scan};
use spore_model::Event;
use spore_store::spine::{Cursor, Spine};

type Outcome = Result<(), Box<dyn Error>>;

/// Bytes of one day's file.
const DAY: u64 = 64 << 20;

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["generate", dir, megabytes] => generate(Path::new(dir), megabytes.parse()?),
        ["scan", dir] => ours(Path::new(dir)),
        ["plain", dir] => plain(Path::new(dir), true),
        ["serde", dir] => plain(Path::new(dir), false),
        _ => Err("memory_bench generate DIR MEGABYTES | scan DIR | plain DIR | serde DIR".into()),
    }
}

/// Sixty lines such as projects have: paths, pointers, conditions, quoted terms.
fn broadcast() -> String {
    let line = |n: u32| match n % 4 {
        0 => format!("- Code of part {n} stays in `crates/part{n}/src/`\n"),
        1 => format!("- Ask [[entity-owner{n}]] about [[topic-area{n}]]\n"),
        2 => format!("- When gate {n} turns flaky, run `make retry-{n}`\n"),
        _ => format!("- Prefer `helper_{n}` over writing it again\n"),
    };
    (0..60).map(line).collect()
}

/// An event as they are: most of them Spore's own, every hundredth about a line.
fn event(n: u32) -> serde_json::Value {
    let (kind, what, payload) = match n % 10 {
        0 => (
            "check",
            "gates.finished",
            json!({
                "green": n.is_multiple_of(3),
                "gates": [{ "name": "test", "command": "cargo nextest run", "log": "running 84 tests\n".repeat(12) }],
            }),
        ),
        1 => (
            "verifier",
            "verdict.given",
            json!({
                "bounce": 1, "outcome": "success",
                "reason": "The change does what was asked, and the tests that were red are green now. ".repeat(3),
            }),
        ),
        2 => (
            "git",
            "commit.created",
            json!({ "commit": "0123456789abcdef".repeat(2), "files": { "src/lib.rs": n % 7, "src/main.rs": 1 } }),
        ),
        3 if n % 100 == 3 => (
            "human",
            "chat.message",
            json!({ "text": format!("gate {} turns flaky, see \"crates/part{}/src/lib.rs\"", n / 100 % 60, n / 100 % 60) }),
        ),
        3 => (
            "human",
            "chat.message",
            json!({ "text": "please have a look at the parser when you can\n".repeat(4) }),
        ),
        _ => (
            "runner",
            "session.tool",
            json!({
                "tool": "read", "path": format!("src/module_{}/file_{}.rs", n % 40, n % 900),
                "summary": "a part of the file was read, and the next one was asked for ".repeat(4),
            }),
        ),
    };
    json!({
        "id": spore_model::EventId::from_parts(1_767_225_600_000 + u64::from(n), u128::from(n)),
        "ts": spore_model::Timestamp::from_millis(1_767_225_600_000 + i64::from(n)),
        "source": { "kind": kind, "name": "bench" },
        "type": what,
        "session_key": format!("session-{}", n / 50),
        "payload": payload,
    })
}

fn generate(dir: &Path, megabytes: u64) -> Outcome {
    fs::create_dir_all(dir)?;
    let (mut number, mut written, mut day) = (0, 0, 1);
    while written < megabytes << 20 {
        let path = dir.join(format!("2026-{:02}-{:02}.jsonl", 1 + day / 28, 1 + day % 28));
        let mut file = BufWriter::new(File::create(path)?);
        let mut bytes = 0;
        while bytes < DAY && written + bytes < megabytes << 20 {
            let line = event(number).to_string();
            writeln!(file, "{line}")?;
            bytes += line.len() as u64 + 1;
            number += 1;
        }
        file.flush()?;
        written += bytes;
        day += 1;
    }
    println!("{number} events, {} MB", written >> 20);
    Ok(())
}

fn ours(dir: &Path) -> Outcome {
    let map = LineMap::read(&broadcast());
    // As the command has it: what people say is held against all that memory told.
    let mut recalled = Recalled::default();
    map.lines().iter().for_each(|line| recalled.add(&line.text));
    let task = ScanTask {
        map: &map,
        known: &KnownFragments::default(),
        in_ledger: &HashSet::new(),
        named: &[],
        coverage: true,
        most: 500,
        pending_per_line: 50,
        carried: &|_| spore_memory::rules::ToldByRun::default(),
        turns: &Turns::default(),
        recalled: &recalled,
        stop: &|| false,
    };
    let scanned = scan(&mut Spine::new(dir).read_from(&Cursor::default()), &task)?;
    let open = scanned.pending.len() as u64 + scanned.pending.older();
    tell("scan", scanned.events, open)
}

fn plain(dir: &Path, matching: bool) -> Outcome {
    let map = LineMap::read(&broadcast());
    let mut matcher = Matcher::new(&map);
    let (mut events, mut touches, mut related) = (0_u64, 0_u64, Vec::new());
    let mut partitions: Vec<_> = fs::read_dir(dir)?.flatten().map(|entry| entry.path()).collect();
    partitions.sort();
    let mut line = Vec::new();
    for path in partitions {
        let mut file = BufReader::with_capacity(64 << 10, File::open(path)?);
        while file.read_until(b'\n', &mut line)? > 0 {
            let event: Event = serde_json::from_slice(&line)?;
            events += 1;
            if matching && event.source.kind.is_external() {
                matcher.related(std::str::from_utf8(&line)?, &mut related);
                touches += related.len() as u64;
            }
            line.clear();
        }
    }
    tell(if matching { "plain" } else { "serde" }, events, touches)
}

/// User CPU time, peak memory, and counts by which two modes can be held against each other.
fn tell(mode: &str, events: u64, touches: u64) -> Outcome {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    // In ticks of ten milliseconds.
    let user: u64 = fields.get(11).ok_or("no utime")?.parse()?;
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse()?;
    println!("{mode} {} {} {events} {touches}", user * 10, peak >> 10);
    Ok(())
}
