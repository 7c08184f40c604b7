//! The loop around the machine: look up, intend, do, record, go on.

use spore_model::{Begun, Outcome, Park, Ticket};

use crate::{Conclusion, Done, Next, Step};

/// A policy: which step is next, given the result of the last one. Never blocks, never fails,
/// never looks at a clock; the same results lead to the same steps.
pub trait Machine {
    fn start(&self) -> Next;
    fn apply(&mut self, step: &Step, done: &Done) -> Next;
}

/// What the loop needs from outside.
///
/// `begin` is durable when it returns, and so is `finish`. `perform` may be called again
/// after a crash with a ticket of a higher attempt: keyed effects must then change nothing,
/// and the traces of an earlier attempt of any other kind must be cleared first.
pub trait World {
    type Error;

    fn begin(&mut self, step: &Step) -> Result<Begun<Done>, Self::Error>;
    fn perform(&mut self, step: &Step, ticket: &Ticket) -> Result<Done, Self::Error>;
    fn finish(&mut self, step: &Step, ticket: &Ticket, done: &Done) -> Result<(), Self::Error>;
}

/// How the loop ended.
#[derive(Clone, PartialEq, Debug)]
pub enum End {
    Concluded(Conclusion),
    /// It can go on later, from the step it stopped at.
    Parked {
        outcome: Outcome,
        park: Park,
        reason: String,
    },
}

/// Runs `machine` to its end or until it has to wait.
pub fn drive<W: World>(machine: &mut dyn Machine, world: &mut W) -> Result<End, W::Error> {
    let mut next = machine.start();
    loop {
        let step = match next {
            Next::Do(step) => step,
            Next::Park { outcome, park, reason } => {
                return Ok(End::Parked { outcome, park, reason });
            }
            Next::End(conclusion) => return Ok(End::Concluded(conclusion)),
        };
        next = match world.begin(&step)? {
            Begun::Done(done) => machine.apply(&step, &done),
            Begun::Do(ticket) => {
                let done = world.perform(&step, &ticket)?;
                let next = machine.apply(&step, &done);
                // A step that has to wait has no result yet: resume does it again.
                if !matches!(next, Next::Park { .. }) {
                    world.finish(&step, &ticket, &done)?;
                }
                next
            }
        };
    }
}
