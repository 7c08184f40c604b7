use spore_app::memory::{MemoryServer, ServerTick, WeaveAsked, weave_memory};
use spore_app::{Result, Surroundings};
use spore_model::Outcome;

use super::judge::AskedModelArgs;
use super::text;
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Do everything in order: scan, judge, crystallize, update
///
/// Tasks of the inbox are worked on first and taken off it when they are done; one that is not
/// clear stays. Without a task it looks at what is new. A judge is asked only where an agent is
/// ready, within `memory.judge_budget`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore memory weave\n  spore memory weave --no-model\n  spore memory inbox add \"prune the lines that failed\" && spore memory weave"
)]
pub(crate) struct WeaveArgs {
    #[command(flatten)]
    model: AskedModelArgs,
    /// Ask no model, whichever agent is ready
    #[arg(long, conflicts_with_all = ["backend", "model", "budget"])]
    no_model: bool,
}

/// Weave by itself, as [memory.schedule] says
///
/// A task of the inbox is worked on at the next tick, what is new after the cooldown. A judge is
/// asked where an agent is ready, as `spore memory weave` does. Ctrl-C ends it; `spore resume` goes
/// on with what was under way.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore memory serve\n  spore memory serve --ticks 10 --no-model"
)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    weave: WeaveArgs,
    /// End after so many ticks
    #[arg(long, value_name = "N")]
    ticks: Option<u64>,
}

impl WeaveArgs {
    fn asked(&self) -> WeaveAsked {
        WeaveAsked { model: self.model.asked(), no_model: self.no_model, only_news: false }
    }
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &WeaveArgs) -> Result<u8> {
    listen_for_signals(&around.interrupt)?;
    let woven = weave_memory(around, &args.asked(), ui)?;
    ui.answer(&woven, || text::woven(&woven));
    Ok(woven.ending.outcome().exit_code())
}

pub(crate) fn serve(ui: &mut Ui, around: &Surroundings, args: &ServeArgs) -> Result<u8> {
    listen_for_signals(&around.interrupt)?;
    let (asked, mut ticks) = (args.weave.asked(), 0);
    let mut server = MemoryServer::open(around)?;
    ui.note(&text::schedule(server.schedule(), args.weave.no_model));
    while args.ticks.is_none_or(|most| ticks < most) {
        match server.tick(&asked, ui)? {
            ServerTick::Interrupted => break,
            ServerTick::Idle => {}
            ServerTick::Woven(woven) => match *woven {
                Ok(woven) => ui.note(&woven.ending.result),
                Err(error) => ui.note(&error.to_string()),
            },
        }
        ticks += 1;
    }
    Ok(if around.interrupt.is_raised() { Outcome::Interrupted.exit_code() } else { 0 })
}
