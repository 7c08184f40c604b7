//! What one session has started below it.
//!
//! The sessions run here, in the process that holds the one that asked, which sees neither the
//! journal nor anything else outside. They end with it, and when the program that asked is gone.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use spore_effects::session::ProjectPlace;
use spore_model::{Fault, Usd};
use spore_tools::remote::{Asker, Start, Told};

use crate::base::starts::StartBounds;
use crate::{Error, Interrupt, Progress, Surroundings, Update};

/// Appending an event, which runs no session.
const FREE_COMMAND: &str = "append";

/// How often it is seen whether what was started is to end.
const GLANCE: Duration = Duration::from_millis(100);

/// What a session may start.
#[derive(Clone, Debug)]
pub(crate) struct StartsAdmitted {
    /// What the sessions are told of what they belong to.
    pub(crate) ancestry: Vec<(String, String)>,
    /// What the session itself is shown, and so all that it starts.
    pub(crate) dir: PathBuf,
    /// How that is called there, where it is called otherwise.
    pub(crate) seen: Option<ProjectPlace>,
    /// What they may cost together.
    pub(crate) usd: Option<Usd>,
    /// How deep sessions may be nested.
    pub(crate) limit: u32,
}

pub(super) struct Starting {
    around: Arc<Surroundings>,
    admitted: StartsAdmitted,
    /// What is left of what they may cost.
    left: Mutex<Option<Usd>>,
    is_over: AtomicBool,
}

impl Starting {
    /// Where the program was given nothing that starts sessions, none may.
    pub(super) fn new(around: &Arc<Surroundings>, wanted: Option<StartsAdmitted>) -> Option<Self> {
        let admitted = wanted.filter(|_| around.starter.is_some())?;
        let left = Mutex::new(admitted.usd);
        Some(Self { around: Arc::clone(around), admitted, left, is_over: AtomicBool::new(false) })
    }

    /// Ends what is running.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    pub(super) fn start(&self, start: &Start, asker: &Asker<'_>) -> Told {
        let Some(starter) = &self.around.starter else { return Told::Refused };
        let asked =
            start.request.get("budget").or_else(|| start.request.get("options")?.get("budget"));
        let asked = asked.and_then(|usd| serde_json::from_value::<Option<Usd>>(usd.clone()).ok());
        // What costs nothing is not held to what is left.
        let usd = match start.command == FREE_COMMAND {
            true => Ok(None),
            false => self.reserve(asked.flatten()),
        };
        let usd = match usd {
            Ok(usd) => usd,
            Err(error) => return Told::Ended(Err(error.tell())),
        };
        let interrupt = Interrupt::default();
        let around = self.surroundings(start, interrupt.clone());
        let bounds =
            StartBounds { dir: self.admitted.dir.clone(), usd, limit: self.admitted.limit };
        let is_done = AtomicBool::new(false);
        let ended = std::thread::scope(|scope| {
            let watch = scope.spawn(|| {
                while !is_done.load(Ordering::Acquire) {
                    if self.is_to_end() || asker.is_gone() {
                        interrupt.raise();
                    }
                    std::thread::park_timeout(GLANCE);
                }
            });
            let ended = starter.start(&around, start, &bounds, &mut TellAsker(asker));
            is_done.store(true, Ordering::Release);
            watch.thread().unpark();
            ended
        });
        let cost = ended.as_ref().ok().and_then(|answer| answer.get("cost")?.get("usd").cloned());
        let cost = cost.and_then(|usd| serde_json::from_value::<Usd>(usd).ok());
        self.settle(usd, cost.unwrap_or_default());
        Told::Ended(ended.map_err(|error| error.tell()))
    }

    fn is_to_end(&self) -> bool {
        self.is_over.load(Ordering::Acquire) || self.around.interrupt.is_raised()
    }

    /// The user's surroundings and not the session's: what a session puts into its environment
    /// decides nothing.
    fn surroundings(&self, start: &Start, interrupt: Interrupt) -> Surroundings {
        let mut around = self.around.apart(&self.around.cwd);
        let outside = self.admitted.seen.as_ref().and_then(|seen| seen.outside(&start.cwd));
        around.cwd = outside.unwrap_or_else(|| start.cwd.clone());
        around.interrupt = interrupt;
        for (name, value) in &self.admitted.ancestry {
            around.variables.retain(|(known, _)| known != name);
            around.variables.push((name.clone(), value.clone()));
        }
        around
    }

    /// Sets aside what is asked for; half of what is left where nothing is, so that something
    /// else can be started beside it.
    fn reserve(&self, asked: Option<Usd>) -> Result<Option<Usd>, Error> {
        let mut left = self.left();
        let Some(most) = *left else { return Ok(asked) };
        let half = Usd::from_nanos(most.as_nanos() / 2);
        let usd = asked.map_or(half, |asked| asked.min(most));
        if usd <= Usd::ZERO {
            let message = "what this session may spend on others is spent";
            return Err(Error::new(Fault::Usage, message).hint("do the work in this session"));
        }
        *left = Some(Usd::from_nanos(most.as_nanos() - usd.as_nanos()));
        Ok(Some(usd))
    }

    fn settle(&self, reserved: Option<Usd>, spent: Usd) {
        let Some(reserved) = reserved else { return };
        let unspent = reserved.as_nanos().saturating_sub(spent.as_nanos()).max(0);
        let mut left = self.left();
        if let Some(usd) = *left {
            *left = Some(Usd::from_nanos(usd.as_nanos().saturating_add(unspent)));
        }
    }

    fn left(&self) -> MutexGuard<'_, Option<Usd>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes on what a session has to say.
struct TellAsker<'a>(&'a Asker<'a>);

impl Progress for TellAsker<'_> {
    fn update(&mut self, update: &Update) {
        if !update.is_live() {
            self.0.tell(&update.to_string());
        }
    }
}
