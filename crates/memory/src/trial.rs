//! A trial of a line: it is withheld from a share of runs, by lot, to see what it is worth.
//!
//! The lot of a run is drawn from its id, so all sessions of a run see the same, also when it is
//! gone on with, and no person can choose.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::lines::LineHash;

/// A line on trial.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LineTrial {
    pub line: LineHash,
    /// From which share of runs it is withheld, 0 to 1.
    pub share: f64,
    pub started: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

impl LineTrial {
    pub fn is_open(&self) -> bool {
        self.ended.is_none()
    }

    /// Returns whether a run is not told the line.
    pub fn withholds(&self, run: &str) -> bool {
        let digest = Sha256::digest(format!("{run} {}", self.line).as_bytes());
        let lot = digest.iter().take(4).fold(0_u32, |lot, byte| lot << 8 | u32::from(*byte));
        self.is_open() && f64::from(lot) / f64::from(u32::MAX) < self.share
    }
}

/// Reads the trials of a project. What cannot be read is none: every line is told then.
pub fn read_trials(text: &str) -> Vec<LineTrial> {
    serde_json::from_str(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_runs_is_not_told_the_line_and_always_the_same_ones() {
        let trial = |share| LineTrial {
            line: LineHash::of("a"),
            share,
            started: String::new(),
            ended: None,
        };
        let withheld = |trial: &LineTrial| {
            (0..2_000).filter(|run| trial.withholds(&format!("run {run}"))).count()
        };
        assert_eq!((withheld(&trial(0.0)), withheld(&trial(1.0))), (0, 2_000));
        let third = withheld(&trial(0.33));
        assert!((560..760).contains(&third), "{third}");
        assert_eq!(withheld(&trial(0.33)), third);
        let ended = LineTrial { ended: Some("now".into()), ..trial(1.0) };
        assert_eq!(withheld(&ended), 0);
        let other = LineTrial { line: LineHash::of("b"), ..trial(0.5) };
        let both = (0..2_000).map(|run| format!("run {run}"));
        let both = both.filter(|run| trial(0.5).withholds(run) && other.withholds(run)).count();
        assert!((400..600).contains(&both), "two trials are drawn apart: {both}");
        assert_eq!(read_trials("garbage"), []);
    }
}
