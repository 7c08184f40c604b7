//! Where the plants are kept.

use std::fs;

use crate::Plant;
use crate::plants::Watered as _;

#[derive(Default)]
pub struct Store {
    path: String,
    plants: Vec<Plant>,
}

impl Store {
    pub fn open(path: &str) -> Self {
        let store = Store::default();
        store.read(path);
        Self { path: path.to_owned(), ..store }
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(path).unwrap_or_default()
    }

    pub fn insert(&mut self, plant: Plant) {
        self.plants.push(plant);
        self.save();
    }

    pub fn len(&self) -> usize {
        self.plants.len()
    }

    fn save(&self) {
        write(&self.path, &self.names().join("\n"));
    }

    fn names(&self) -> Vec<String> {
        self.plants.iter().map(|plant| plant.name.clone()).collect()
    }

    pub fn water_all(&mut self) {
        for plant in &mut self.plants {
            plant.soak();
        }
    }
}

fn write(path: &str, text: &str) {
    drop(fs::write(path, text));
}

impl std::fmt::Display for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.names().len())
    }
}
