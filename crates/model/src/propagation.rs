//! What a layer does with a child's outcome: one pure function for every layer.
//!
//! The table is DESIGN's. Two of its rows are promises: an exceeded depth and an interrupt
//! are never absorbed by any layer, whatever is left to try.

use crate::Outcome;

/// Who is looking at the child's outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layer {
    /// L1: one action on one target.
    Exec,
    /// L2: stages in order.
    Stage,
    /// L3: phases of a graph.
    Phase,
    /// L4: a whole campaign.
    Campaign,
    /// The coder of one bounce.
    Bounce,
    /// The check-and-fix cycle.
    Sentinel,
}

impl Layer {
    pub const ALL: [Self; 6] =
        [Self::Exec, Self::Stage, Self::Phase, Self::Campaign, Self::Bounce, Self::Sentinel];
}

/// What the layer may still try with this child.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AttemptsLeft {
    /// Plain repetitions; for a bounce or the sentinel, further rounds.
    pub retries: u32,
    /// Repetitions that carry a diagnosis or a resolution into the child.
    pub heals: u32,
    /// Whether the same work may simply be done again.
    pub idempotent: bool,
    /// Whether any budget remains to do it with.
    pub budget: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Go on with what follows: the next stage, phase or check, the gates, the verification.
    Advance,
    /// Hand the outcome to the caller unchanged, as one's own.
    PassOn(Outcome),
    /// Run the child again with a diagnosis of what went wrong.
    Heal,
    /// Find a resolution for what the child asked, then run it again with that.
    Resolve,
    /// Run the child again as it was.
    Retry,
    /// Run only those parts of the child again that failed.
    RetryFailedParts,
    /// Start the next bounce, with the evidence.
    NextBounce,
    /// Start the next fix cycle, with the findings.
    FixCycle,
    /// Stop here and report this outcome.
    Raise(Outcome),
    /// Stop here, end what still runs, and report this outcome.
    RaiseAndCleanUp(Outcome),
    /// Keep everything as it is until the outside changes.
    Park(Outcome),
    /// Put the question to a person and wait.
    AskPerson,
    /// Give the task up and leave a record for a person.
    Escalate,
    /// Record which parts succeeded and end with [`Outcome::Partial`].
    RecordPartial,
}

/// Decides what `layer` does when a child ended with `child` and this much is `left`.
pub fn decide(layer: Layer, child: Outcome, left: AttemptsLeft) -> Action {
    match child {
        Outcome::Success => match layer {
            Layer::Exec => Action::PassOn(child),
            _ => Action::Advance,
        },
        Outcome::DepthExceeded => Action::Raise(child),
        Outcome::Interrupted => match layer {
            Layer::Bounce => Action::Park(child),
            Layer::Sentinel => Action::Raise(child),
            _ => Action::RaiseAndCleanUp(child),
        },
        Outcome::QuotaParked => Action::Park(child),
        Outcome::NeedsHuman => match layer {
            Layer::Campaign => Action::AskPerson,
            Layer::Bounce => Action::Park(child),
            _ => Action::Raise(child),
        },
        Outcome::NeedsEscalation => match layer {
            Layer::Exec => Action::PassOn(child),
            Layer::Campaign => Action::AskPerson,
            Layer::Bounce => Action::Escalate,
            _ => Action::Raise(child),
        },
        Outcome::Failure => after_failure(layer, child, left),
        Outcome::NeedsRefinement => after_refinement(layer, left),
        Outcome::Partial => after_partial(layer, left),
        Outcome::TimedOut => after_timeout(layer, left),
    }
}

fn after_failure(layer: Layer, child: Outcome, left: AttemptsLeft) -> Action {
    match layer {
        Layer::Exec => Action::PassOn(child),
        Layer::Stage if left.heals > 0 => Action::Heal,
        Layer::Stage | Layer::Phase if left.retries > 0 => Action::Retry,
        Layer::Stage | Layer::Phase => Action::Raise(child),
        Layer::Campaign => Action::Escalate,
        Layer::Bounce | Layer::Sentinel => another_round(layer, child, left),
    }
}

fn after_refinement(layer: Layer, left: AttemptsLeft) -> Action {
    let child = Outcome::NeedsRefinement;
    match layer {
        Layer::Exec => Action::PassOn(child),
        Layer::Stage if left.heals > 0 => Action::Heal,
        Layer::Phase if left.heals > 0 => Action::Resolve,
        Layer::Campaign if left.retries > 0 => Action::Retry,
        Layer::Stage | Layer::Phase | Layer::Campaign => Action::Raise(child),
        Layer::Bounce | Layer::Sentinel => another_round(layer, child, left),
    }
}

fn after_partial(layer: Layer, left: AttemptsLeft) -> Action {
    let child = Outcome::Partial;
    match layer {
        Layer::Exec => Action::PassOn(child),
        Layer::Stage | Layer::Phase if left.retries > 0 => Action::RetryFailedParts,
        Layer::Stage | Layer::Phase => Action::Raise(child),
        Layer::Campaign => Action::RecordPartial,
        Layer::Bounce | Layer::Sentinel => another_round(layer, child, left),
    }
}

fn after_timeout(layer: Layer, left: AttemptsLeft) -> Action {
    let child = Outcome::TimedOut;
    match layer {
        Layer::Exec => Action::PassOn(child),
        Layer::Bounce => another_round(layer, Outcome::Failure, left),
        Layer::Sentinel => another_round(layer, child, left),
        _ if left.retries > 0 && left.idempotent && left.budget => Action::Retry,
        _ => Action::Raise(child),
    }
}

/// The two loops: go round again while rounds are left. A bounce loop whose last round gave no
/// verdict on the work raises that outcome; every other end is an escalation.
fn another_round(layer: Layer, child: Outcome, left: AttemptsLeft) -> Action {
    match (layer, left.retries) {
        (Layer::Bounce, 1..) => Action::NextBounce,
        (Layer::Bounce, 0) if child == Outcome::NeedsRefinement => Action::Raise(child),
        (Layer::Bounce, 0) => Action::Escalate,
        (_, 1..) => Action::FixCycle,
        (_, 0) => Action::Raise(child),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_left() -> impl Iterator<Item = AttemptsLeft> {
        (0..16).map(|bits: u32| AttemptsLeft {
            retries: bits & 1,
            heals: bits >> 1 & 1,
            idempotent: bits & 4 != 0,
            budget: bits & 8 != 0,
        })
    }

    /// The whole table, spelled as DESIGN spells it: one line an outcome, one column a layer,
    /// `/` between what happens while something is left to try and what happens after.
    const TABLE: &str = "
        Success         pass             advance                   advance                 advance                   advance                 advance
        Failure         pass             heal/raise                retry/raise             escalate                  bounce/escalate         fix/raise
        DepthExceeded   raise            raise                     raise                   raise                     raise                   raise
        NeedsHuman      raise            raise                     raise                   ask                       park                    raise
        NeedsRefinement pass             heal/raise                resolve/raise           retry/raise               bounce/raise            fix/raise
        NeedsEscalation pass             raise                     raise                   ask                       escalate                raise
        Partial         pass             parts/raise               parts/raise             partial                   bounce/escalate         fix/raise
        Interrupted     clean            clean                     clean                   clean                     park                    raise
        TimedOut        pass             retry/raise               retry/raise             retry/raise               bounce/escalate         fix/raise
        QuotaParked     park             park                      park                    park                      park                    park
    ";

    fn word(action: Action) -> &'static str {
        match action {
            Action::Advance => "advance",
            Action::PassOn(_) => "pass",
            Action::Heal => "heal",
            Action::Resolve => "resolve",
            Action::Retry => "retry",
            Action::RetryFailedParts => "parts",
            Action::NextBounce => "bounce",
            Action::FixCycle => "fix",
            Action::Raise(_) => "raise",
            Action::RaiseAndCleanUp(_) => "clean",
            Action::Park(_) => "park",
            Action::AskPerson => "ask",
            Action::Escalate => "escalate",
            Action::RecordPartial => "partial",
        }
    }

    #[test]
    fn the_function_is_the_table_of_the_design() {
        let everything = AttemptsLeft { retries: 1, heals: 1, idempotent: true, budget: true };
        let rows: Vec<Vec<&str>> = TABLE
            .lines()
            .map(|line| line.split_whitespace().collect())
            .filter(|cells: &Vec<&str>| !cells.is_empty())
            .collect();
        assert_eq!(rows.len(), Outcome::ALL.len());
        for (row, outcome) in rows.iter().zip(Outcome::ALL) {
            assert_eq!(row[0], format!("{outcome:?}"));
            for (cell, layer) in row[1..].iter().zip(Layer::ALL) {
                let (fresh, spent) = cell.split_once('/').unwrap_or((cell, cell));
                let told = (
                    word(decide(layer, outcome, everything)),
                    word(decide(layer, outcome, AttemptsLeft::default())),
                );
                assert_eq!(told, (fresh, spent), "{outcome:?} at {layer:?}");
            }
        }
    }

    #[test]
    fn depth_and_interrupt_are_never_absorbed() {
        for layer in Layer::ALL {
            for left in every_left() {
                assert_eq!(
                    decide(layer, Outcome::DepthExceeded, left),
                    Action::Raise(Outcome::DepthExceeded)
                );
                assert!(matches!(
                    decide(layer, Outcome::Interrupted, left),
                    Action::Raise(Outcome::Interrupted)
                        | Action::RaiseAndCleanUp(Outcome::Interrupted)
                        | Action::Park(Outcome::Interrupted)
                ));
            }
        }
    }

    #[test]
    fn quota_parks_every_layer() {
        for layer in Layer::ALL {
            for left in every_left() {
                let action = decide(layer, Outcome::QuotaParked, left);
                assert_eq!(action, Action::Park(Outcome::QuotaParked));
            }
        }
    }

    #[test]
    fn with_nothing_left_no_layer_tries_again() {
        for layer in Layer::ALL {
            for child in Outcome::ALL {
                let action = decide(layer, child, AttemptsLeft::default());
                assert!(
                    !matches!(
                        action,
                        Action::Heal
                            | Action::Resolve
                            | Action::Retry
                            | Action::RetryFailedParts
                            | Action::NextBounce
                            | Action::FixCycle
                    ),
                    "{layer:?} {child:?} {action:?}"
                );
            }
        }
    }

    #[test]
    fn only_success_advances_and_no_failure_turns_into_success() {
        for layer in Layer::ALL {
            for child in Outcome::ALL {
                for left in every_left() {
                    match decide(layer, child, left) {
                        Action::Advance => assert_eq!(child, Outcome::Success),
                        Action::PassOn(told)
                        | Action::Raise(told)
                        | Action::RaiseAndCleanUp(told)
                        | Action::Park(told) => {
                            assert!(child == Outcome::Success || told != Outcome::Success);
                        }
                        _ => assert_ne!(child, Outcome::Success),
                    }
                }
            }
        }
    }

    #[test]
    fn a_timeout_is_repeated_only_when_that_is_harmless_and_paid_for() {
        for left in every_left() {
            let retried = decide(Layer::Stage, Outcome::TimedOut, left) == Action::Retry;
            assert_eq!(retried, left.retries > 0 && left.idempotent && left.budget, "{left:?}");
        }
    }
}
