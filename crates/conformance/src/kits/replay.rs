//! The replay: it has no model, so what the model would say becomes its scenario.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use spore_agent::replay::ReplayAgent;
use spore_agent::{Agent, Watchdog};
use spore_model::{Usage, Usd};
use spore_scripted_model::{ModelTotals, Turn};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, value};

use super::{Kit, ModelStep, SessionPlace};

/// What the scenario says that its session used.
const USED: Usage =
    Usage { input_tokens: 1200, output_tokens: 80, cache_read_tokens: 300, cache_write_tokens: 40 };
const COST: Usd = Usd::from_nanos(12_500_000);

pub(super) struct ReplayKit;

impl Kit for ReplayKit {
    fn name(&self) -> &'static str {
        "replay"
    }

    fn title(&self) -> &'static str {
        "replay"
    }

    fn agent(&self, place: &SessionPlace, watchdog: Watchdog) -> Box<dyn Agent> {
        Box::new(ReplayAgent::new(place.exe.clone(), scenario_file(place), watchdog))
    }

    fn settle(
        &self,
        place: &SessionPlace,
        _: &str,
        steps: &[ModelStep],
    ) -> io::Result<Vec<(String, String)>> {
        std::fs::write(scenario_file(place), scenario(steps).to_string())?;
        Ok(Vec::new())
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn wall(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn write(&self, _: &SessionPlace, _: &str) -> Turn {
        Turn::silent()
    }

    fn shell(&self, _: &str) -> Turn {
        Turn::silent()
    }

    fn served(&self, _: &str, _: &str, _: Value) -> Turn {
        Turn::silent()
    }

    fn booked(&self, _: &ModelTotals) -> (Usage, Option<Usd>) {
        (USED, Some(COST))
    }
}

fn scenario_file(place: &SessionPlace) -> PathBuf {
    place.dir.join("scenario.toml")
}

/// One session of the coder. What only a model can do is left out; no case that needs it is
/// run on this backend.
fn scenario(steps: &[ModelStep]) -> DocumentMut {
    let mut list = Array::new();
    let mut last = "";
    for step in steps {
        let (key, content) = match step {
            ModelStep::Write(name) => ("write", *name),
            ModelStep::Shell(command) | ModelStep::ShellAgain(command) => ("run", *command),
            ModelStep::Say(text) => {
                last = text;
                ("say", *text)
            }
            ModelStep::FallSilent => ("hang", ""),
            ModelStep::Ping
            | ModelStep::Spore(..)
            | ModelStep::SayOn(..)
            | ModelStep::Refuse(_)
            | ModelStep::Cut => {
                continue;
            }
        };
        let mut table = InlineTable::new();
        match key {
            "hang" => table.insert(key, true.into()),
            _ => table.insert(key, content.into()),
        };
        if key == "write" {
            table.insert("content", "hi\n".into());
        }
        list.push(table);
    }
    let mut session = Table::new();
    session["role"] = value("coder");
    session["bounce"] = value(1);
    session["steps"] = value(list);
    session["final"] = value(last);
    session["turns"] = value(i64::try_from(steps.len()).unwrap_or(1));
    session["usage"] = value(used());
    session["cost_usd"] = value(COST.as_dollars());
    let mut sessions = ArrayOfTables::new();
    sessions.push(session);
    let mut document = DocumentMut::new();
    document["session"] = Item::ArrayOfTables(sessions);
    document
}

fn used() -> InlineTable {
    let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    let mut table = InlineTable::new();
    table.insert("input_tokens", count(USED.input_tokens).into());
    table.insert("output_tokens", count(USED.output_tokens).into());
    table.insert("cache_read_tokens", count(USED.cache_read_tokens).into());
    table.insert("cache_write_tokens", count(USED.cache_write_tokens).into());
    table
}
