//! The program.

mod args;

use std::process::ExitCode;

use args::{Args, Mode as Way};
use garden_core::plants::catalogue::lookup as find_plant;
use garden_core::{Calendar, Season, Store, emit, format, lay_out};

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => ExitCode::from(code),
    }
}

fn run(args: &Args) -> Result<(), u8> {
    let mut store = Store::open(args.path());
    match args.mode() {
        Way::Plan => drop(lay_out(&args.names(), &mut store)),
        Way::Water => store.water_all(),
        Way::Show => show(&store, args),
    }
    let mut calendar = Calendar::starting_in(Season::Spring);
    calendar.advance(&mut [find_plant("bean")], |season| drop(season.next()));
    Ok(())
}

fn show(store: &Store, args: &Args) {
    let line = format::summary(store.len(), "plants");
    emit!(line);
    let parsed = Way::parse("plan");
    parsed.describe();
    args.clone().names();
}
