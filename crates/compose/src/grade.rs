//! How good a cycle of checks is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How good a cycle was. The worst is the greatest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Grade {
    Pass,
    /// Nothing that must be mended, but something that should.
    Warn,
    Fail,
}

impl Grade {
    /// Returns the grade of so many things that must be mended and so many that should.
    pub(crate) fn of(blocking: u32, warnings: u32) -> Self {
        match (blocking, warnings) {
            (0, 0) => Self::Pass,
            (0, _) => Self::Warn,
            _ => Self::Fail,
        }
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pass => "PASS",
            Self::Warn => "WARN",
            Self::Fail => "FAIL",
        })
    }
}
