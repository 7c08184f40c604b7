//! Watering.

use std::cmp::max;

/// Something that is watered.
pub trait Watered {
    fn water(&mut self);

    fn log_watering(&self) {
        crate::format::log("watered".to_owned());
    }

    fn soak(&mut self) {
        self.water();
        self.water_again();
    }

    fn water_again(&mut self) {}
}

#[derive(Clone)]
pub struct Can {
    litres: u32,
}

impl Can {
    pub fn new(litres: u32) -> Self {
        Self { litres }
    }

    pub fn pour(&self) -> u32 {
        max(self.litres, ration(1))
    }
}

pub(super) fn ration(days: u32) -> u32 {
    days * 2
}

fn min(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}

pub fn least(a: u32) -> u32 {
    let other = std::cmp::min(1, 2);
    min(a, other)
}
