//! An agent program that misbehaves on demand, for tests of the code that drives agents.
//!
//! It speaks Claude Code's stream-json, or Spore's own events, or plain text, and plays the
//! tricks that it is told: `fake-agent --trick daemon --trick deaf`, or whichever two the
//! `--seed` picks. Arguments it does not know are a real agent's and are passed over; what
//! cannot be an argument goes into `FAKE_AGENT_TRICKS`, separated by commas.
//!
//! It uses nothing but the standard library and `sh`, so a test program can take it in as a
//! module. It changes no file but a mark in the current directory, and only for what
//! happens once.

#![expect(clippy::disallowed_methods, reason = "it stands for a program that is not ours")]

mod speech;
mod tricks;

use std::io;
use std::process::ExitCode;

use speech::{OutputFormat, Speech};
use tricks::Trick;

pub(crate) fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let told = std::env::var("FAKE_AGENT_TRICKS").unwrap_or_default();
    match TrickPlan::read(&args, &told) {
        Ok(part) => match play(&part) {
            Ok(code) => ExitCode::from(code),
            // The reader of stdout is gone: the code of a program that SIGPIPE ended.
            Err(_) => ExitCode::from(141),
        },
        Err(problem) => {
            let _ = io::Write::write_all(&mut io::stderr(), format!("{problem}\n").as_bytes());
            ExitCode::from(64)
        }
    }
}

/// The tricks to play, and how.
struct TrickPlan {
    format: OutputFormat,
    tricks: Vec<Trick>,
    /// How many events `flood` prints.
    count: u32,
    /// Input comes line by line and ends when the work is over, as in stream-json.
    two_way: bool,
    args: Vec<String>,
}

impl TrickPlan {
    fn read(args: &[String], told: &str) -> Result<Self, String> {
        let mut part = Self {
            format: OutputFormat::Claude,
            tricks: Vec::new(),
            count: 100_000,
            two_way: false,
            args: args.to_vec(),
        };
        for name in told.split(',').filter(|name| !name.is_empty()) {
            part.tricks.push(Trick::named(name)?);
        }
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--trick" => part.tricks.push(Trick::named(value()?)?),
                "--seed" => part.tricks.extend(tricks::pick(number(value()?)?)),
                "--format" => part.format = OutputFormat::named(value()?)?,
                "--count" => part.count = u32::try_from(number(value()?)?).unwrap_or(u32::MAX),
                "--input-format" => part.two_way = value()? == "stream-json",
                "--input-format=stream-json" => part.two_way = true,
                _ => {}
            }
        }
        Ok(part)
    }

    fn plays(&self, trick: Trick) -> bool {
        self.tricks.contains(&trick)
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text} is not a number"))
}

/// Plays the part from prompt to exit code.
fn play(part: &TrickPlan) -> io::Result<u8> {
    if part.plays(Trick::Deaf) && !tricks::is_deaf() {
        return Err(tricks::become_deaf(&part.args));
    }
    if part.plays(Trick::Stillborn)
        || (part.plays(Trick::StillbornOnce) && tricks::is_first_time()?)
    {
        io::Write::write_all(&mut io::stderr(), b"the agent could not be started\n")?;
        return Ok(1);
    }
    if part.plays(Trick::HangFirst)
        || (part.plays(Trick::HangFirstOnce) && tricks::is_first_time()?)
    {
        tricks::hang();
    }
    let mut input = io::stdin().lock();
    let prompt = tricks::read_prompt(&mut input, part.two_way)?;
    let mut speech = Speech::new(part.format, part.pace());
    speech.init(if part.plays(Trick::McpFailed) { "failed" } else { "connected" })?;
    if let Some(code) = part.work(&mut speech, &mut input, &prompt)? {
        return Ok(code);
    }
    part.finish(&mut speech, &mut input)
}

impl TrickPlan {
    fn pace(&self) -> speech::OutputPace {
        if self.plays(Trick::Trickle) {
            speech::OutputPace::Trickle
        } else if self.plays(Trick::PartialLines) {
            speech::OutputPace::Pieces
        } else {
            speech::OutputPace::Lines
        }
    }

    /// The middle of a session; a code ends it there.
    fn work(
        &self,
        speech: &mut Speech,
        input: &mut io::StdinLock<'_>,
        prompt: &str,
    ) -> io::Result<Option<u8>> {
        speech.text(&format!("I was asked {} bytes.", prompt.len()))?;
        for trick in &self.tricks {
            match trick {
                Trick::Garbage => speech.raw(b"]]> not json \xff\xfe\n\n{\"type\":\n")?,
                Trick::HugeLine => tricks::huge_line(speech)?,
                Trick::Flood => tricks::flood(speech, self.count)?,
                Trick::StderrFlood => tricks::stderr_flood()?,
                Trick::Leak => tricks::leak(speech)?,
                Trick::Daemon => tricks::leave_daemon()?,
                Trick::HangSilent => tricks::hang(),
                Trick::Interruptible => {
                    tricks::wait_for_interrupt(input)?;
                    speech.interrupted()?;
                    return Ok(Some(0));
                }
                Trick::SlowTool => {
                    speech.tool_use("Bash", "sleep 1")?;
                    std::thread::sleep(std::time::Duration::from_secs(1));
                    speech.tool_result()?;
                }
                _ => {}
            }
        }
        if !self.plays(Trick::Liar) {
            speech.tool_use("Bash", "true")?;
            speech.tool_result()?;
        }
        Ok(None)
    }

    fn finish(&self, speech: &mut Speech, input: &mut io::StdinLock<'_>) -> io::Result<u8> {
        if self.plays(Trick::Mute) {
            return Err(tricks::become_mute());
        }
        if self.plays(Trick::NoResult) {
            return Ok(0);
        }
        let liar = self.plays(Trick::Liar);
        speech.result(if liar { "All 128 tests pass." } else { "Done." })?;
        if self.plays(Trick::HangLast) {
            tricks::hang();
        }
        if self.two_way {
            tricks::read_to_end(input)?;
        }
        Ok(u8::from(self.plays(Trick::ExitOne)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &[&str], told: &str, expected: &[Trick]) {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        assert_eq!(TrickPlan::read(&args, told).map(|part| part.tricks), Ok(expected.to_vec()));
    }

    #[test]
    fn tricks_come_from_arguments_and_environment() {
        check(&[], "", &[]);
        check(&["-p", "--trick", "liar", "--model=x"], "", &[Trick::Liar]);
        check(
            &["--trick", "deaf"],
            "hang-first,daemon",
            &[Trick::HangFirst, Trick::Daemon, Trick::Deaf],
        );
    }

    #[test]
    fn a_seed_picks_the_same_tricks_each_time_and_all_of_them_in_time() {
        let mut seen: Vec<Trick> = (0..1000).flat_map(tricks::pick).collect();
        assert_eq!(tricks::pick(7), tricks::pick(7));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), tricks::RANDOM.len());
    }

    #[test]
    fn an_unknown_trick_is_named() {
        let told = TrickPlan::read(&[], "juggle").map(|part| part.tricks);
        assert!(told.is_err_and(|problem| problem.starts_with("no such trick: juggle")));
    }
}
