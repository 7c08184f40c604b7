//! The scripted model as a program, for agents started by hand and for tests in other languages.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use clap::Parser;
use spore_scripted_model::{ModelScenario, ModelServer, Options};

/// How soon a signal is noticed.
const GLANCE: Duration = Duration::from_millis(50);

/// Play a scenario as a model on 127.0.0.1
///
/// Prints the URL, serves until stdin closes or SIGTERM comes, then prints the totals as one
/// JSON line. Exit code 1 says that a request found no answer.
///
///   scripted-model hello.toml
///   ANTHROPIC_BASE_URL=URL ANTHROPIC_API_KEY=dummy claude -p "hello"
#[derive(Parser)]
#[command(name = "scripted-model", verbatim_doc_comment)]
struct Args {
    /// The scenario, a TOML file
    scenario: PathBuf,
    /// Write the port into this file when the server is ready
    #[arg(long, value_name = "FILE")]
    port_file: Option<PathBuf>,
    /// Append every request to this file, one JSON line each
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(65)
        }
    }
}

fn run(args: &Args) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let shown = args.scenario.display();
    let text = std::fs::read_to_string(&args.scenario)
        .map_err(|error| format!("cannot read the scenario {shown}: {error}"))?;
    let options = Options { log: args.log.clone(), ..Options::default() };
    let server = ModelServer::start_with(ModelScenario::parse(&text)?, &options)?;
    let ended = until_the_end()?;
    let mut out = io::stdout();
    writeln!(out, "{}", server.url())?;
    out.flush()?;
    if let Some(file) = &args.port_file {
        write_port(file, server.port())?;
    }
    ended.wait();
    writeln!(out, "{}", serde_json::to_string(&server.totals())?)?;
    Ok(ExitCode::from(u8::from(!server.unanswered().is_empty())))
}

/// Writes the port in one step: a test that polls for the file must not read half of it.
fn write_port(file: &Path, port: u16) -> io::Result<()> {
    let draft = file.with_extension("draft");
    std::fs::write(&draft, format!("{port}\n"))?;
    std::fs::rename(&draft, file)
}

struct EndSignal {
    signal: Arc<AtomicBool>,
    stdin_closed: mpsc::Receiver<()>,
}

/// Starts to listen for the end before the URL is told, so that none comes too early.
fn until_the_end() -> io::Result<EndSignal> {
    let signal = Arc::new(AtomicBool::new(false));
    for number in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(number, Arc::clone(&signal))?;
    }
    let (closed, stdin_closed) = mpsc::channel();
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        let _ = closed.send(());
    });
    Ok(EndSignal { signal, stdin_closed })
}

impl EndSignal {
    fn wait(&self) {
        while !self.signal.load(Ordering::Relaxed) {
            if self.stdin_closed.recv_timeout(GLANCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }
}
