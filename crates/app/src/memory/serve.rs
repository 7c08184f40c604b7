//! `spore memory serve`: weaves by itself, as `[memory.schedule]` says.
//!
//! Time is counted in ticks. A task of the inbox is worked on at the next tick; a look at what is
//! new comes at the earliest so many ticks after the last one, and so does another look at tasks that
//! a weaving has left as they were. A weaving that takes too long is
//! stopped where it is, and gone on with by `spore resume`.

use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spore_config::ScheduleConfig;
use spore_memory::fragment::short_digest;
use spore_model::Fault;

use super::places::MemoryPlaces;
use super::weave::{MemoryWoven, WeaveAsked, asks_for_work, weave_memory};
use crate::base::surroundings::Interrupt;
use crate::{Error, Progress, Result, Surroundings, Workspace};

/// How long an interrupt can go unnoticed.
const GLANCE: Duration = Duration::from_millis(50);

/// How the schedule stands; no user content.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct WeaverState {
    ticks: u64,
    /// The tick of the last look at what is new.
    woven: Option<u64>,
    /// Names the tasks that the last weaving left, and what they say; nothing where it left none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left: Option<String>,
}

impl WeaverState {
    /// Whether it is time to look at what is new.
    fn is_due(&self, cooldown: u32) -> bool {
        self.woven.is_none_or(|woven| self.ticks.saturating_sub(woven) >= u64::from(cooldown))
    }

    /// Whether the inbox holds anything that the last weaving has not left there.
    fn is_news(&self, inbox: Option<&str>) -> bool {
        inbox.is_some() && inbox != self.left.as_deref()
    }
}

/// What came of waiting for a tick.
pub enum ServerTick {
    Interrupted,
    /// It was not time to weave.
    Idle,
    Woven(Box<Result<MemoryWoven>>),
}

/// Weaves by itself, tick by tick.
pub struct MemoryServer<'a> {
    around: &'a Surroundings,
    workspace: Workspace,
    places: MemoryPlaces,
    schedule: ScheduleConfig,
    state: WeaverState,
}

impl<'a> MemoryServer<'a> {
    pub fn open(around: &'a Surroundings) -> Result<Self> {
        let workspace = Workspace::find(around)?;
        workspace.check_initialised()?;
        let schedule = workspace.config(around, &[])?.memory.schedule;
        if !schedule.enabled {
            let hint =
                "set `[memory.schedule] enabled = true`, or weave by hand: spore memory weave";
            return Err(Error::new(Fault::Usage, "the schedule of memory is off").hint(hint));
        }
        let places = MemoryPlaces::of(&workspace);
        let text = places.read(&state_file(&places))?.unwrap_or_default();
        let state = serde_json::from_str(&text).unwrap_or_default();
        Ok(Self { around, workspace, places, schedule, state })
    }

    pub fn schedule(&self) -> &ScheduleConfig {
        &self.schedule
    }

    /// Waits for the next tick and weaves where it is time to.
    pub fn tick(&mut self, asked: &WeaveAsked, progress: &mut dyn Progress) -> Result<ServerTick> {
        if !rest(self.around, self.schedule.tick) {
            return Ok(ServerTick::Interrupted);
        }
        self.state.ticks += 1;
        let names = self.places.inbox_names()?;
        let has_tasks = asks_for_work(&self.workspace, &names)
            && self.state.is_news(inbox_mark(&self.places, &names)?.as_deref());
        let mut told = ServerTick::Idle;
        if has_tasks || self.state.is_due(self.schedule.cooldown_ticks) {
            let woven = within(self.around, self.schedule.max_duration, |around| {
                weave_memory(around, &WeaveAsked { only_news: true, ..asked.clone() }, progress)
            });
            told = ServerTick::Woven(Box::new(woven));
            self.state.woven = Some(self.state.ticks);
            self.state.left = inbox_mark(&self.places, &self.places.inbox_names()?)?;
        }
        self.around.write_json(&state_file(&self.places), &self.state)?;
        Ok(told)
    }
}

fn state_file(places: &MemoryPlaces) -> PathBuf {
    places.path("memory/state/weaver.json")
}

/// Names what the inbox holds, without a word of it.
fn inbox_mark(places: &MemoryPlaces, names: &[String]) -> Result<Option<String>> {
    let mut held = String::new();
    for name in names {
        let body = std::fs::read(places.inbox().join(name)).unwrap_or_default();
        held.push_str(&format!("{name}\n{}\n{}", body.len(), String::from_utf8_lossy(&body)));
    }
    Ok((!names.is_empty()).then(|| short_digest(&held)))
}

/// Waits for a tick; `false` where it was interrupted meanwhile.
fn rest(around: &Surroundings, tick: Duration) -> bool {
    let started = around.clock.monotonic();
    while started.elapsed() < tick {
        if around.interrupt.is_raised() {
            return false;
        }
        thread::sleep(GLANCE.min(tick));
    }
    !around.interrupt.is_raised()
}

/// Does something that is interrupted when its time is over, or when we are.
fn within<T>(around: &Surroundings, most: Duration, act: impl FnOnce(&Surroundings) -> T) -> T {
    let interrupt = Interrupt::default();
    let limited = around.interruptible(interrupt.clone());
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let watched = around.interrupt.clone();
        scope.spawn(move || {
            let mut left = most;
            while !left.is_zero() && !watched.is_raised() {
                match is_done.recv_timeout(GLANCE.min(left)) {
                    Err(mpsc::RecvTimeoutError::Timeout) => left = left.saturating_sub(GLANCE),
                    _ => return,
                }
            }
            interrupt.raise();
        });
        let result = act(&limited);
        drop(done);
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_at_what_is_new_waits_for_its_ticks() {
        let state = |ticks, woven| WeaverState { ticks, woven, left: None };
        assert!(state(1, None).is_due(5));
        assert!(!state(5, Some(1)).is_due(5));
        assert!(state(6, Some(1)).is_due(5));
        assert!(state(2, Some(1)).is_due(1));
    }

    #[test]
    fn tasks_that_a_weaving_left_are_no_news() {
        let left = |left: Option<&str>| WeaverState {
            ticks: 2,
            woven: Some(1),
            left: left.map(str::to_owned),
        };
        assert!(left(None).is_news(Some("a")) && left(Some("b")).is_news(Some("a")));
        assert!(!left(Some("a")).is_news(Some("a")));
        assert!(!left(Some("a")).is_news(None) && !left(None).is_news(None));
    }
}
