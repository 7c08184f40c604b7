//! What one session has started below it.
//!
//! The sessions run here, in the process that holds the one that asked, which sees neither the
//! journal nor anything else outside. They end with it, and when the program that asked is gone.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use spore_effects::session::ProjectPlace;
use spore_model::{Fault, RunId, Usd};
use spore_tools::remote::{Asker, Start, Told};

use crate::base::starts::StartBounds;
use crate::session::allowance::SessionAllowance;
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
    /// What the session and they may cost together.
    pub(crate) allowance: Arc<SessionAllowance>,
    /// How deep sessions may be nested.
    pub(crate) limit: u32,
    /// The run that pays for the session.
    pub(crate) payer: RunId,
}

pub(super) struct Starting {
    around: Arc<Surroundings>,
    admitted: StartsAdmitted,
    /// The session that asks.
    session: RunId,
    is_over: AtomicBool,
}

impl Starting {
    /// Where the program was given nothing that starts sessions, none may.
    pub(super) fn new(
        around: &Arc<Surroundings>,
        session: RunId,
        wanted: Option<StartsAdmitted>,
    ) -> Option<Self> {
        let admitted = wanted.filter(|_| around.starter.is_some())?;
        let (around, is_over) = (Arc::clone(around), AtomicBool::new(false));
        Some(Self { around, admitted, session, is_over })
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
        let aside = match start.command == FREE_COMMAND {
            true => None,
            false => match self.admitted.allowance.set_aside(asked.flatten()) {
                Some(aside) => Some(aside),
                None => return Told::Ended(Err(nothing_left().tell())),
            },
        };
        let interrupt = Interrupt::default();
        let around = self.surroundings(start, interrupt.clone());
        let bounds = StartBounds {
            dir: self.admitted.dir.clone(),
            usd: aside.as_ref().and_then(|aside| aside.usd),
            limit: self.admitted.limit,
            session: self.session,
            payer: self.admitted.payer,
        };
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
        if let Some(aside) = &aside {
            self.admitted.allowance.settle(aside, spent(&ended, aside.usd));
        }
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
}

fn nothing_left() -> Error {
    let message = "what this session may spend on others is spent";
    Error::new(Fault::Usage, message).hint("do the work in this session")
}

/// Returns what something cost that is over. What began and stopped with an error tells what it cost by
/// then. Of what cannot tell, all that it had may be gone; what was refused before it began has cost
/// nothing.
fn spent(ended: &Result<Value, Error>, had: Option<Usd>) -> Usd {
    match ended {
        Ok(answer) => {
            let told = answer.get("cost").and_then(|cost| cost.get("usd")).cloned();
            let told = told.and_then(|usd| serde_json::from_value::<Usd>(usd).ok());
            told.or(had).unwrap_or_default()
        }
        Err(error) => error.spent().unwrap_or_else(|| match error.fault {
            Fault::Usage | Fault::BadInput | Fault::Missing | Fault::Config => Usd::ZERO,
            Fault::Bug | Fault::Io => had.unwrap_or_default(),
        }),
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
