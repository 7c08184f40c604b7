//! When what grows.

use std::collections::HashMap;

use super::plants::{Plant, Watered};

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Season {
    Spring,
    Summer,
}

impl Season {
    pub fn next(self) -> Self {
        match self {
            Season::Spring => Season::Summer,
            Season::Summer => Season::Spring,
        }
    }
}

pub struct Calendar {
    season: Season,
    notes: Notes,
    by_season: HashMap<Season, usize>,
}

#[derive(Default)]
struct Notes {
    lines: Vec<String>,
}

impl Notes {
    fn add(&mut self, line: &str) {
        self.lines.push(clean(line));
    }

    fn len(&self) -> usize {
        self.lines.len()
    }
}

impl Calendar {
    pub fn starting_in(season: Season) -> Self {
        let mut made = Self::empty(season);
        made.remember("begun");
        made
    }

    fn empty(season: Season) -> Self {
        Self { season, notes: Notes::default(), by_season: HashMap::new() }
    }

    fn remember(&mut self, line: &str) {
        self.notes.add(line);
        let next = self.season.next();
        self.by_season.insert(next, self.notes.len());
    }

    pub fn fits(&self, plant: &Plant) -> bool {
        plant.grows_in(self.season) && !plant.is_thirsty()
    }

    pub fn advance<W: Watered>(&mut self, garden: &mut [W], with: impl Fn(Season)) {
        self.season = self.season.next();
        with(self.season);
        for plant in garden.iter_mut() {
            plant.water();
        }
        let clean = |line: &str| line.to_owned();
        let line = clean("advanced");
        self.remember(&line);
    }
}

fn clean(line: &str) -> String {
    line.trim().to_owned()
}
