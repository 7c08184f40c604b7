//! What a task has to say while it is worked on, on its way to the leading thread.

use std::sync::mpsc::Sender;

use spore_model::{Cost, RunId, Timestamp};
use spore_runs::{Live, LiveKind};

use crate::{Progress, Update};

/// Characters of a task's name in the line that stands for it while it runs.
const MOST_LABEL: usize = 20;

/// Passes on what the run of a task says, under the name of the task. Of what goes on in it one
/// line is made, from its beginning to its end: which session or check it is at, with the turns,
/// the cost and the time of all of them.
pub(crate) struct TaskCaller<T> {
    label: String,
    sender: Sender<T>,
    wrap: fn(Update) -> T,
    line: Live,
    /// Of the sessions that are over.
    turns: u32,
    cost: Cost,
}

impl<T> TaskCaller<T> {
    /// A caller for the run `run`, which begins with `phase`.
    pub(crate) fn new(
        label: String,
        run: RunId,
        phase: &str,
        now: Timestamp,
        (sender, wrap): (Sender<T>, fn(Update) -> T),
    ) -> Self {
        let line = Live::new(run, LiveKind::Session, "", now);
        let mut caller = Self { label, sender, wrap, line, turns: 0, cost: Cost::default() };
        caller.show(phase);
        caller
    }

    fn send(&self, update: Update) {
        // The receiver is gone only when the whole loop is being given up.
        let _ = self.sender.send((self.wrap)(update));
    }

    fn show(&mut self, phase: &str) {
        let label = spore_plain::line_within(&self.label, MOST_LABEL);
        self.line.name = format!("[{label}] {phase}");
        self.send(Update::Live { live: self.line.clone() });
    }

    fn shows(&mut self, live: &Live) {
        let Live { updated, turns, cost, doing, refused, .. } = live.clone();
        let (turns, cost) = (self.turns + turns, self.cost + cost);
        self.line = Live { updated, turns, cost, doing, refused, ..self.line.clone() };
        self.show(&live.name);
    }
}

impl<T> Progress for TaskCaller<T> {
    fn update(&mut self, update: &Update) {
        match update {
            // Told once, for the whole loop.
            Update::NotInBase { .. } | Update::Initialised | Update::AgentChosen { .. } => return,
            Update::Live { live } => return self.shows(live),
            // The next one takes its place.
            Update::LiveEnded { .. } => return,
            Update::SessionEnded { turns, cost, .. } => {
                self.turns += turns;
                self.cost = self.cost + *cost;
            }
            _ => {}
        }
        let told = Box::new(update.clone());
        self.send(Update::OfTask { task: self.label.clone(), told });
    }
}

impl<T> Drop for TaskCaller<T> {
    fn drop(&mut self) {
        self.send(Update::LiveEnded { id: self.line.id });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use spore_model::Usd;

    use super::*;

    #[test]
    fn a_task_has_one_line_from_its_beginning_to_its_end() {
        let (sender, receiver) = channel::<Update>();
        let run = RunId::from_parts(1, 1);
        let at = Timestamp::from_millis(0);
        let mut caller = TaskCaller::new(
            "a-name-that-is-far-too-long".to_owned(),
            run,
            "begins",
            at,
            (sender, |it| it),
        );
        let dollars = |cents: i64| Cost::exact(Usd::from_nanos(cents * 10_000_000));
        let session = |id: u64, name: &str, turns, cost| {
            let live = Live::new(RunId::from_parts(2, id.into()), LiveKind::Session, name, at);
            Update::Live { live: Live { turns, cost, ..live } }
        };
        caller.update(&session(1, "coder", 2, dollars(25)));
        caller.update(&Update::LiveEnded { id: RunId::from_parts(2, 1) });
        caller.update(&Update::SessionEnded {
            role: "coder".to_owned(),
            outcome: "completed".to_owned(),
            turns: 3,
            cost: dollars(50),
        });
        caller.update(&session(2, "verifier", 1, dollars(10)));
        drop(caller);
        let mut lines = Vec::new();
        for told in receiver {
            match told {
                Update::Live { live } => {
                    assert_eq!((live.id, live.started), (run, at));
                    lines.push(live.line(Duration::from_secs(4)));
                }
                Update::LiveEnded { id } => lines.push(format!("over: {}", id == run)),
                other => lines.push(other.to_string()),
            }
        }
        let name = "[a-name-that-is-far-…]";
        assert_eq!(
            lines,
            [
                format!("{name} begins: 4 s · 0 turns · $0.00"),
                format!("{name} coder: 4 s · 2 turns · $0.25"),
                "[a-name-that-is-far-too-long] coder: completed, 3 turns, $0.50".to_owned(),
                format!("{name} verifier: 4 s · 4 turns · $0.60"),
                "over: true".to_owned(),
            ]
        );
    }
}
