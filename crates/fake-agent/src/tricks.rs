//! The ways to misbehave, each seen on a real agent or feared of one.

use std::io::{self, BufRead, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use super::speech::Speech;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Trick {
    /// Lines come in pieces.
    PartialLines,
    /// A few bytes at a time, for long.
    Trickle,
    /// Lines that are no JSON, and bytes that are no text.
    Garbage,
    /// One line of 64 MB.
    HugeLine,
    /// A great many events.
    Flood,
    /// 10 MB on stderr.
    StderrFlood,
    /// Prints the values of its secrets.
    Leak,
    /// Never says a word.
    HangFirst,
    /// The same, but only the first time in a directory.
    HangFirstOnce,
    /// Falls silent in the middle, without a tool.
    HangSilent,
    /// Says its last word and does not exit.
    HangLast,
    /// Waits to be asked to stop, over stdin, and does.
    Interruptible,
    /// Is silent for a second while a tool runs.
    SlowTool,
    /// Ignores SIGINT and SIGTERM.
    Deaf,
    /// Leaves a process behind that holds its stdout.
    Daemon,
    /// Closes stdout and lives on.
    Mute,
    /// Says that tests pass that it never ran.
    Liar,
    /// Exits with 0 and without a result.
    NoResult,
    /// Exits with 1 after a successful result.
    ExitOne,
    /// Ends at once, without a turn.
    Stillborn,
    /// The same, but only the first time in a directory.
    StillbornOnce,
    /// Its MCP server is not connected.
    McpFailed,
}

const ALL: [(&str, Trick); 22] = [
    ("partial-lines", Trick::PartialLines),
    ("trickle", Trick::Trickle),
    ("garbage", Trick::Garbage),
    ("huge-line", Trick::HugeLine),
    ("flood", Trick::Flood),
    ("stderr-flood", Trick::StderrFlood),
    ("leak", Trick::Leak),
    ("hang-first", Trick::HangFirst),
    ("hang-first-once", Trick::HangFirstOnce),
    ("hang-silent", Trick::HangSilent),
    ("hang-last", Trick::HangLast),
    ("interruptible", Trick::Interruptible),
    ("slow-tool", Trick::SlowTool),
    ("deaf", Trick::Deaf),
    ("daemon", Trick::Daemon),
    ("mute", Trick::Mute),
    ("liar", Trick::Liar),
    ("no-result", Trick::NoResult),
    ("exit-one", Trick::ExitOne),
    ("stillborn", Trick::Stillborn),
    ("stillborn-once", Trick::StillbornOnce),
    ("mcp-failed", Trick::McpFailed),
];

/// What a seed picks from: all that needs no partner in the game.
pub(super) const RANDOM: [Trick; 17] = [
    Trick::PartialLines,
    Trick::Trickle,
    Trick::Garbage,
    Trick::HugeLine,
    Trick::Flood,
    Trick::StderrFlood,
    Trick::Leak,
    Trick::HangFirst,
    Trick::HangSilent,
    Trick::HangLast,
    Trick::Deaf,
    Trick::Daemon,
    Trick::Mute,
    Trick::Liar,
    Trick::NoResult,
    Trick::ExitOne,
    Trick::Stillborn,
];

impl Trick {
    pub(super) fn named(name: &str) -> Result<Self, String> {
        let known = ALL.iter().find(|(known, _)| *known == name);
        known.map(|(_, trick)| *trick).ok_or_else(|| {
            let names: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
            format!("no such trick: {name}; there are {}", names.join(", "))
        })
    }
}

/// Picks two tricks, always the same for a seed.
pub(super) fn pick(seed: u64) -> Vec<Trick> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let index = (mixed ^ (mixed >> 31)) % RANDOM.len() as u64;
        usize::try_from(index).map_or(Trick::Liar, |index| RANDOM[index])
    };
    vec![next(), next()]
}

/// Long enough for every watchdog of a test, and not for ever.
pub(super) fn hang() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(600));
    }
}

pub(super) fn read_prompt(input: &mut impl BufRead, two_way: bool) -> io::Result<String> {
    let mut prompt = String::new();
    if two_way {
        input.read_line(&mut prompt)?;
    } else {
        input.read_to_string(&mut prompt)?;
    }
    Ok(prompt)
}

pub(super) fn read_to_end(input: &mut impl Read) -> io::Result<()> {
    io::copy(input, &mut io::sink()).map(drop)
}

pub(super) fn wait_for_interrupt(input: &mut impl BufRead) -> io::Result<()> {
    for line in input.lines() {
        if line?.contains("interrupt") {
            return Ok(());
        }
    }
    hang()
}

pub(super) fn huge_line(speech: &mut Speech) -> io::Result<()> {
    let piece = [b'x'; 64 * 1024];
    speech.raw(br#"{"type":"text","text":""#)?;
    let mut out = io::stdout().lock();
    for _ in 0..1024 {
        out.write_all(&piece)?;
    }
    out.write_all(b"\"}\n")?;
    out.flush()
}

pub(super) fn flood(speech: &mut Speech, count: u32) -> io::Result<()> {
    for number in 0..count {
        speech.text(&format!("Event {number}."))?;
    }
    Ok(())
}

pub(super) fn stderr_flood() -> io::Result<()> {
    let mut err = io::stderr().lock();
    let line = [[b'e'; 99].as_slice(), b"\n"].concat().repeat(100);
    for _ in 0..1000 {
        err.write_all(&line)?;
    }
    err.write_all(b"the last complaint\n")
}

/// Prints each secret whole, and once more in two halves.
pub(super) fn leak(speech: &mut Speech) -> io::Result<()> {
    for (name, value) in std::env::vars() {
        if ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD"].iter().any(|end| name.ends_with(end)) {
            speech.text(&format!("{name} is {value}"))?;
            let line = format!("{{\"type\":\"text\",\"text\":\"{value}\"}}\n");
            let (left, right) = line.split_at(line.len() / 2);
            speech.raw(left.as_bytes())?;
            std::thread::sleep(Duration::from_millis(20));
            speech.raw(right.as_bytes())?;
            io::stderr().write_all(format!("{name} is {value}\n").as_bytes())?;
        }
    }
    Ok(())
}

/// A mark in the directory tells the first time from the second.
pub(super) fn is_first_time() -> io::Result<bool> {
    match std::fs::File::create_new(".fake-agent-was-here") {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Says whether SIGINT and SIGTERM are ignored, as the kernel has it.
pub(super) fn is_deaf() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let both = (1 << (2 - 1)) | (1 << (15 - 1));
    ignored.is_some_and(|mask| mask & both == both)
}

/// Starts this program again with both signals ignored, which is inherited; returns only if
/// that fails.
pub(super) fn become_deaf(args: &[String]) -> io::Error {
    let exe = match std::env::current_exe() {
        Ok(exe) => exe,
        Err(error) => return error,
    };
    shell("trap '' INT TERM; exec \"$0\" \"$@\"").arg(exe).args(args).exec()
}

/// Becomes a program with a closed stdout that does nothing; returns only if that fails.
pub(super) fn become_mute() -> io::Error {
    shell("exec sleep 600 >&-").exec()
}

pub(super) fn leave_daemon() -> io::Result<()> {
    shell("setsid sleep 600 & exit 0").status().map(drop)
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script);
    command
}
