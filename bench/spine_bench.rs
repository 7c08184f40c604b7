//! How fast the spine is, beside the least work that any event log has to do.
//!
//!     cargo run --release -p spore-store --example spine_bench [-- BYTES_TO_SCAN]
//!
//! Goals: an append within 3 times of lock and write on files that are open already; p99
//! under 1 ms with 8 writers and no line lost or torn; a scan of 1 GB within 1.3 times of a
//! plain serde pass over the same lines, in less than 64 MB of memory.

#![expect(clippy::disallowed_methods, reason = "a measurement, outside the product")]
#![expect(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use spore_model::{Event, EventId, EventSource, RunId, SourceKind, Timestamp};
use spore_store::spine::{Cursor, Durability, Spine, line_of};

const DAY: &str = "2026-01-01";
const APPENDS: u32 = 100_000;
const WRITERS: u32 = 8;
const START: u64 = 1_767_225_600_000;

fn main() -> Result<(), Box<dyn Error>> {
    let bytes = match std::env::args().nth(1) {
        Some(bytes) => bytes.parse()?,
        None => 1 << 30,
    };
    appends()?;
    // The short burst is mostly the first moments of a new partition, in which an append
    // opens everything anew; the long one is mostly not.
    let crowds =
        [(Durability::Buffered, 5_000), (Durability::Buffered, 20_000), (Durability::Synced, 100)];
    for (durability, each) in crowds {
        crowd(durability, each)?;
    }
    scan(bytes)
}

fn event(number: u32) -> Event {
    Event {
        id: EventId::from_parts(START + u64::from(number / 8), u128::from(number) << 40),
        ts: Timestamp::from_millis(1_767_225_600_000 + i64::from(number)),
        source: EventSource { kind: SourceKind::Check, name: "cargo test".into(), own: true },
        kind: "gate.finished".into(),
        session_key: Some(format!("session-{}", number % 97)),
        run: Some(RunId::from_parts(START, u128::from(number % 31))),
        trace: None,
        payload: json!({
            "gate": "test",
            "passed": !number.is_multiple_of(3),
            "seconds": f64::from(number % 1000) / 10.0,
            "failures": [{ "name": "a_run_over_budget_is_stopped_once", "line": number % 500 }],
            "paths": ["crates/store/src/spine.rs", "crates/model/src/event.rs"],
        }),
    }
}

fn line(number: u32) -> Result<String, Box<dyn Error>> {
    line_of(&event(number)).ok_or_else(|| "too long".into())
}

fn appends() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let lines = (0..1000).map(line).collect::<Result<Vec<_>, _>>()?;
    let lines = || lines.iter().cycle().take(APPENDS as usize);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..5 {
        let mut lock = File::create(dir.path().join(format!("lock{round}")))?;
        let bare = dir.path().join(format!("bare{round}"));
        let mut file = File::options().append(true).create(true).open(bare)?;
        let begun = Instant::now();
        for line in lines() {
            append_bare(&mut lock, &mut file, line)?;
        }
        theirs.push(begun.elapsed() / APPENDS);
        let place = dir.path().join(format!("spine{round}"));
        let spine = Spine::new(place).with_durability(Durability::Buffered);
        let begun = Instant::now();
        for line in lines() {
            spine.append(DAY, std::slice::from_ref(line))?;
        }
        ours.push(begun.elapsed() / APPENDS);
    }
    let (ours, theirs) = (percentile(&mut ours, 50), percentile(&mut theirs, 50));
    println!(
        "append: {}, lock and write: {}: {:.2} x (goal 3)",
        show(ours),
        show(theirs),
        ours.as_secs_f64() / theirs.as_secs_f64()
    );
    Ok(())
}

fn append_bare(lock: &mut File, file: &mut File, line: &str) -> Result<(), Box<dyn Error>> {
    lock.lock()?;
    let mut text = String::with_capacity(line.len() + 1);
    text.push_str(line);
    text.push('\n');
    file.write_all(text.as_bytes())?;
    lock.unlock()?;
    Ok(())
}

fn crowd(durability: Durability, each: u32) -> Result<(), Box<dyn Error>> {
    for shared in [true, false] {
        let dir = tempfile::tempdir()?;
        let spine = Spine::new(dir.path()).with_durability(durability);
        let mut times = Vec::new();
        std::thread::scope(|scope| -> Result<(), Box<dyn Error>> {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    // Without a shared handle the threads are to each other like processes.
                    let own = Spine::new(dir.path()).with_durability(durability);
                    let spine = if shared { spine.clone() } else { own };
                    scope.spawn(move || write(&spine, writer, each))
                })
                .collect();
            for writer in writers {
                let written = writer.join().map_err(|_| "a writer panicked")?;
                times.extend(written.map_err(|error| error.to_string())?);
            }
            Ok(())
        })?;
        let whole = spine.read_from(&Cursor::default()).filter(Result::is_ok).count();
        let lost = (WRITERS * each) as usize - whole;
        println!(
            "{WRITERS} writers, {each} each, {durability:?}, {}: median {}, p99 {} (goal 1 ms), longest {}, \
             {lost} lost or torn",
            if shared { "one handle" } else { "one handle each" },
            show(percentile(&mut times, 50)),
            show(percentile(&mut times, 99)),
            show(percentile(&mut times, 100)),
        );
    }
    Ok(())
}

type Times = Result<Vec<Duration>, Box<dyn Error + Send + Sync>>;

fn write(spine: &Spine, writer: u32, each: u32) -> Times {
    let mut times = Vec::new();
    for number in writer * each..(writer + 1) * each {
        let line = line_of(&event(number)).ok_or("too long")?;
        let begun = Instant::now();
        spine.append(DAY, &[line])?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

fn scan(bytes: u64) -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join(format!("{DAY}.jsonl"));
    let lines = fill(&path, bytes)?;
    let spine = Spine::new(dir.path());
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let begun = Instant::now();
        let found = plain_pass(&path)?;
        theirs.push(begun.elapsed());
        let begun = Instant::now();
        let read = spine.read_from(&Cursor::default()).filter(Result::is_ok).count();
        ours.push(begun.elapsed());
        if (found, read) != (lines as usize, lines as usize) {
            return Err(format!("{lines} lines, but {found} and {read}").into());
        }
    }
    let (ours, theirs) = (percentile(&mut ours, 50), percentile(&mut theirs, 50));
    println!(
        "scan of {} MB, {lines} events: {}, plain serde pass: {}: {:.2} x (goal 1.3); \
         peak memory {} MB (goal 64)",
        bytes >> 20,
        show(ours),
        show(theirs),
        ours.as_secs_f64() / theirs.as_secs_f64(),
        peak_memory()? >> 10,
    );
    Ok(())
}

fn fill(path: &Path, bytes: u64) -> Result<u32, Box<dyn Error>> {
    let mut file = BufWriter::new(File::create(path)?);
    let (mut written, mut lines) = (0, 0);
    while written < bytes {
        let line = line(lines)?;
        writeln!(file, "{line}")?;
        written += line.len() as u64 + 1;
        lines += 1;
    }
    file.flush()?;
    Ok(lines)
}

fn plain_pass(path: &Path) -> Result<usize, Box<dyn Error>> {
    let mut file = BufReader::with_capacity(64 << 10, File::open(path)?);
    let (mut line, mut events) = (Vec::new(), 0);
    while file.read_until(b'\n', &mut line)? > 0 {
        let event: Event = serde_json::from_slice(&line)?;
        events += usize::from(!event.kind.is_empty());
        line.clear();
    }
    Ok(events)
}

/// In KiB.
fn peak_memory() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = peak.and_then(|peak| peak.split_whitespace().next());
    Ok(number.ok_or("no VmHWM")?.parse()?)
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    let place = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(place).copied().unwrap_or_default()
}

fn show(time: Duration) -> String {
    if time < Duration::from_millis(1) {
        format!("{:.1} µs", time.as_secs_f64() * 1e6)
    } else {
        format!("{:.2} ms", time.as_secs_f64() * 1e3)
    }
}
