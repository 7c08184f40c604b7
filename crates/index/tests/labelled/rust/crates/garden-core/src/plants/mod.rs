//! What grows.

pub mod catalogue;
mod water;

use crate::calendar::Season;
pub use water::{Can, Watered};

#[derive(Clone)]
pub struct Plant {
    pub name: String,
    season: Season,
    thirst: u32,
    can: Can,
}

impl Plant {
    pub fn new(name: &str, season: Season) -> Self {
        let plant = Plant { name: name.to_owned(), season, thirst: 0, can: Can::new(5) };
        plant.checked()
    }

    fn checked(self) -> Self {
        catalogue::check(&self.name);
        self
    }

    pub fn grows_in(&self, season: Season) -> bool {
        self.season == season || self.season.next() == season
    }

    pub fn is_thirsty(&self) -> bool {
        self.thirst > Self::limit()
    }

    fn limit() -> u32 {
        water::ration(3)
    }
}

impl Watered for Plant {
    fn water(&mut self) {
        self.thirst = self.can.pour().saturating_sub(1);
        self.log_watering();
    }
}
