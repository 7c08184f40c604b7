//! A garden: beds, plants, a calendar.

mod calendar;
pub mod format;
pub mod plants;
mod store;

pub use calendar::{Calendar, Season};
pub use plants::{Plant, Watered};
pub use store::Store;

use crate::plants::catalogue as seeds;

/// Lays out a garden from a list of names.
pub fn lay_out(names: &[&str], store: &mut Store) -> usize {
    let calendar = Calendar::starting_in(Season::Spring);
    for name in names {
        let plant = seeds::lookup(name);
        if calendar.fits(&plant) {
            store.insert(plant);
        }
    }
    report(store);
    store.len()
}

fn report(store: &Store) {
    let line = format::summary(store.len(), "plants");
    emit!(line);
    println!("{}", format::short(&line));
}

/// Says it where somebody listens.
#[macro_export]
macro_rules! emit {
    ($line:expr) => {
        $crate::format::log($line)
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::short as brief;

    fn store() -> Store {
        Store::open("memory")
    }

    #[test]
    fn a_garden_holds_what_fits() {
        let mut store = store();
        assert_eq!(lay_out(&["tomato"], &mut store), 1);
        assert!(brief("tomato").len() <= 8);
        report(&store);
    }
}
