//! An executable with a shim mode, for this crate's tests.
//!
//! `prepare` and `go` make it a Spore that can be killed: each reads a plan from standard input
//! and prints the shim's identity. The first then waits for its standard input to end, the
//! second lets the program run and waits for the session.

use std::error::Error;
use std::io::{self, BufRead, Read, Write};
use std::process::ExitCode;

use spore_effects::session::{SHIM_ARG, Shim, shim_main};

#[expect(clippy::disallowed_methods, reason = "a program of its own, for tests")]
fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mode = std::env::args().nth(1).unwrap_or_default();
    if mode == SHIM_ARG {
        return Ok(ExitCode::from(u8::try_from(shim_main())?));
    }
    let mut plan = String::new();
    io::stdin().lock().read_line(&mut plan)?;
    let waiting = Shim::new(std::env::current_exe()?).prepare(&serde_json::from_str(&plan)?)?;
    writeln!(io::stdout(), "{}", serde_json::to_string(waiting.identity())?)?;
    match mode.as_str() {
        "prepare" => {
            io::stdin().lock().read_to_end(&mut Vec::new())?;
        }
        "go" => {
            waiting.go()?.wait()?;
        }
        _ => return Err("modes: __session, prepare, go".into()),
    }
    Ok(ExitCode::SUCCESS)
}
