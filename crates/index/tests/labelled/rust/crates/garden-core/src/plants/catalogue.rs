//! Known plants.

use super::Plant;
use crate::Season::{self, Spring};

const NAMES: [&str; 2] = ["tomato", "bean"];

pub fn lookup(name: &str) -> Plant {
    match find(name) {
        Some(known) => Plant::new(known, Spring),
        None => fallback(name),
    }
}

pub(super) fn check(name: &str) {
    assert!(find(name).is_some(), "{}", describe(name));
}

fn find(name: &str) -> Option<&'static str> {
    NAMES.iter().find(|known| **known == name).copied()
}

fn fallback(name: &str) -> Plant {
    let season = Season::Summer.next();
    Plant::new(name, season)
}

fn describe(name: &str) -> String {
    crate::format::summary(name.len(), name)
}
