//! The ids that a run's nodes and edges have in the graph.

use spore_model::{EdgeId, NodeId, RunId, Timestamp};

/// The ids of a run's nodes and edges: the same in every process that works on it.
pub(crate) struct Keys {
    run: String,
    started: Timestamp,
    /// When the step was first begun.
    at: Timestamp,
}

impl Keys {
    pub(crate) fn new(run: RunId, started: Timestamp, at: Timestamp) -> Self {
        Self { run: run.to_string(), started, at }
    }

    /// Returns when the step was first begun.
    pub(crate) const fn at(&self) -> Timestamp {
        self.at
    }

    pub(crate) fn task(&self) -> NodeId {
        self.node(&["task"])
    }

    pub(crate) fn implementation(&self, bounce: u32) -> NodeId {
        self.node(&["implementation", &bounce.to_string()])
    }

    pub(crate) fn verdict(&self, bounce: u32) -> NodeId {
        self.node(&["verdict", &bounce.to_string()])
    }

    pub(crate) fn node(&self, words: &[&str]) -> NodeId {
        NodeId::keyed(self.started, &[&[self.run.as_str()], words].concat())
    }

    pub(crate) fn edge(&self, words: &[&str]) -> EdgeId {
        EdgeId::keyed(self.started, &[&[self.run.as_str()], words].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_follow_from_the_run_and_the_step_alone() {
        let started = Timestamp::from_millis(1_767_225_600_000);
        let keys = |run: &str, at: i64| Keys {
            run: run.to_owned(),
            started,
            at: Timestamp::from_millis(at),
        };
        let (first, again, other) = (keys("A", 1), keys("A", 2), keys("B", 1));
        assert_eq!(first.implementation(1), again.implementation(1));
        assert_ne!(first.implementation(1), first.implementation(2));
        assert_ne!(first.implementation(1), first.verdict(1));
        assert_ne!(first.task(), other.task());
    }
}
