//! An executable with a shim mode, for this crate's tests.
//!
//! `prepare` and `go` make it a Spore that can be killed: each reads a plan from standard input
//! and prints the shim's identity. The first then waits for its standard input to end, the
//! second lets the program run and waits for the session. `record` does too, with a second line
//! that asks for a record, which it prints; the program's output goes to standard error.

use std::error::Error;
use std::io::{self, BufRead, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use spore_effects::session::{
    Draining, OutputSink, SHIM_ARG, Shim, ShimPlan, SupervisedEnd, shim_main, watch,
};

#[expect(clippy::disallowed_methods, reason = "a program of its own, for tests")]
fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mode = std::env::args().nth(1).unwrap_or_default();
    if mode == SHIM_ARG {
        return Ok(ExitCode::from(u8::try_from(shim_main())?));
    }
    let mut plan = String::new();
    io::stdin().lock().read_line(&mut plan)?;
    let (shim, plan) = (Shim::new(std::env::current_exe()?), serde_json::from_str(&plan)?);
    if mode == "record" {
        return record(&shim, &plan);
    }
    let waiting = shim.prepare(&plan)?;
    writeln!(io::stdout(), "{}", serde_json::to_string(waiting.identity())?)?;
    match mode.as_str() {
        "prepare" => {
            io::stdin().lock().read_to_end(&mut Vec::new())?;
        }
        "go" => {
            waiting.go()?.wait()?;
        }
        _ => return Err("modes: __session, prepare, go, record".into()),
    }
    Ok(ExitCode::SUCCESS)
}

fn record(shim: &Shim, plan: &ShimPlan) -> Result<ExitCode, Box<dyn Error>> {
    let mut wanted = String::new();
    io::stdin().lock().read_line(&mut wanted)?;
    // Measured beside a record: the same without one.
    let waiting = match wanted.trim() {
        "" => shim.prepare(plan)?,
        wanted => shim.prepare_recorded(plan, serde_json::from_str(wanted)?)?,
    };
    writeln!(io::stdout(), "{}", serde_json::to_string(waiting.identity())?)?;
    let mut session = waiting.go()?;
    let sink: OutputSink = Arc::new(|bytes| {
        let _ = io::stderr().write_all(bytes);
    });
    let draining = Draining::start(&mut session, &sink);
    let end = watch(&mut session, None, Duration::from_secs(1), &|| false)?;
    draining.finish();
    writeln!(io::stdout(), "{}", serde_json::to_string(&session.take_recording())?)?;
    let SupervisedEnd::ByItself(code) = end else { return Ok(ExitCode::FAILURE) };
    Ok(ExitCode::from(u8::try_from(code)?))
}
