//! `spore agents check`: the conformance suite against an installed agent.

use spore_app::{Error, Result, Surroundings, find_agent};
use spore_conformance::{CheckError, ConformanceTable, Subject, check, markdown, names};
use spore_model::{Fault, Outcome};

use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Check an agent with the conformance suite: what it does, and what enforces it
///
/// Spore starts the real program against a scripted model on 127.0.0.1, in a fresh home and with
/// a fake key: no model is paid for and your files are not touched. Each case says what is
/// expected, what was seen, and what enforces it: the agent, Spore, or nothing. Takes a minute
/// or more; slow agents take ten.
///
/// Exits with 0 if every case went as expected, 1 if not, 69 if the agent is not installed.
#[derive(clap::Args)]
#[command(
    override_usage = "spore agents check [OPTIONS] <NAME>",
    after_help = "Examples:\n  spore agents check claude\n  spore agents check codex --case resume --case stop\n  spore agents check api --json"
)]
pub(crate) struct CheckArgs {
    /// The agent, as `spore agents list` names it
    #[arg(value_name = "NAME", required_unless_present = "all")]
    name: Option<String>,
    /// Only this case; can be given several times
    #[arg(long = "case", value_name = "CASE")]
    cases: Vec<String>,
    /// Every agent that there is a suite for
    #[arg(long, hide = true, conflicts_with = "name")]
    all: bool,
    /// Print the tables side by side, as the documentation has them
    #[arg(long, hide = true, conflicts_with = "json")]
    markdown: bool,
}

pub(super) fn run(ui: &mut Ui, around: &Surroundings, args: &CheckArgs) -> Result<u8> {
    let asked: Vec<&str> = match &args.name {
        Some(name) => vec![name],
        None => names().collect(),
    };
    // An agent that is missing is reported before the first suite starts.
    let subjects: Vec<Subject> =
        asked.into_iter().map(|name| subject(around, name)).collect::<Result<_>>()?;
    listen_for_signals(&around.interrupt)?;
    let mut tables = Vec::new();
    for subject in &subjects {
        let mut progress = |cases: &[&str]| {
            ui.note(&format!("{}: {}", subject.name, cases.join(", ")));
        };
        match check(subject, &args.cases, &mut progress) {
            Ok(table) => tables.push(table),
            Err(CheckError::Interrupted) => return Ok(Outcome::Interrupted.exit_code()),
            Err(error) => return Err(explain(error)),
        }
    }
    tell(ui, args, &tables);
    Ok(u8::from(!tables.iter().all(|table| table.as_expected)))
}

fn tell(ui: &mut Ui, args: &CheckArgs, tables: &[ConformanceTable]) {
    let verbose = ui.is_verbose();
    match tables {
        tables if args.markdown => ui.answer(&tables, || markdown(tables)),
        [table] if !args.all => ui.answer(table, || table.text(verbose)),
        tables => ui.answer(&tables, || {
            let texts: Vec<String> = tables.iter().map(|table| table.text(verbose)).collect();
            texts.join("\n")
        }),
    }
}

fn subject(around: &Surroundings, name: &str) -> Result<Subject> {
    if !names().any(|known| known == name) {
        return Err(explain(CheckError::NoSuite(name.to_owned())));
    }
    let listing = find_agent(around, name)?;
    if let Some(listing) = listing.as_ref().filter(|listing| !listing.found) {
        let program = listing.program.as_deref().unwrap_or(name);
        return Err(Error::new(Fault::Missing, format!("{program} was not found"))
            .hint(listing.remedy.clone()));
    }
    let path = around.variables.iter().find(|(name, _)| name == "PATH");
    Ok(Subject {
        name: name.to_owned(),
        program: listing.and_then(|listing| listing.path),
        exe: around.exe.clone(),
        path: path.map(|(_, path)| path.clone()).unwrap_or_default(),
        stop: around.interrupt.flag(),
    })
}

fn explain(error: CheckError) -> Error {
    let fault = match &error {
        CheckError::NoSuite(_) | CheckError::NoSuchCase(_) => Fault::Usage,
        CheckError::NotInstalled(_) => Fault::Missing,
        CheckError::Place(_) => Fault::Io,
        CheckError::Table(_) | CheckError::Interrupted => Fault::Bug,
    };
    let hint = match &error {
        CheckError::NoSuite(_) => {
            format!("there is one for: {}", names().collect::<Vec<_>>().join(", "))
        }
        CheckError::NoSuchCase(_) => {
            let all = spore_conformance::Expectations::read().map(|table| table.cases);
            let names: Vec<String> =
                all.unwrap_or_default().into_iter().map(|case| case.name).collect();
            format!("the cases are: {}", names.join(", "))
        }
        CheckError::NotInstalled(_) => "`spore agents list` says how to get it".to_owned(),
        _ => return Error::new(fault, "the suite could not be played").because(error),
    };
    Error::new(fault, error.to_string()).hint(hint)
}
