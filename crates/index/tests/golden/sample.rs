//! A shelf of books.
//!
//! Two lines of it.
#![allow(dead_code)]

extern crate alloc as allocation;

mod shelf;
#[path = "odd/place.rs"]
mod elsewhere;
use crate::catalogue::{self, Entry as Card, index::{build, *}};
use self::shelf::Shelf;
use super::library;
use std::{collections::HashMap, fmt};
use shelf::Board as Plank;

/// How many books fit.
pub const CAPACITY: usize = compute_capacity(7);
static mut COUNTER: u32 = 0;

/// A book.
///
/// With pages.
#[derive(Clone, Debug)]
pub struct Book<'a, T: Paper> {
    pub title: String,
    shelf: Box<Shelf>,
    pages: Vec<T>,
    cover: &'a dyn Cover,
}

pub(crate) struct Marker(u32);

union Bits { whole: u32, half: u16 }

/** What a reader
 * may do. */
pub enum Action {
    Read,
    Lend { to: Reader },
}

/// Something printed.
pub trait Printed: Paper + fmt::Debug {
    type Ink;
    const COLOURS: u8 = 1;
    /// Prints it.
    fn print(&self, onto: &mut dyn Cover) -> Result<(), Fault>;
    fn twice(&self) {
        self.print(&mut Blank::new());
    }
}

pub type Shelves = HashMap<String, Shelf>;

impl<'a, T: Paper> Book<'a, T> {
    /// Opens it.
    pub fn open(title: &str) -> Self {
        let shelf = Shelf::with_room(CAPACITY);
        let board: Plank = make_board();
        board.polish();
        shelf.put(title);
        Self::checked(Book { title: title.into(), shelf: Box::new(shelf), pages: vec![], cover: &Blank })
    }

    fn checked(self) -> Self {
        self.shelf.measure();
        self.turn::<T>(|page| page.flip());
        catalogue::register(&self.title);
        crate::library::Desk::ask("it");
        <Marker as Printed>::print(&Marker(1), self.cover);
        self
    }

    async fn turn<P>(&self, with: impl Fn(&P)) where P: Printed {
        let pages = self.pages.iter();
        for page in pages { with(page); }
        if let Some(found) = find_page(self).await { found.fold()?; }
        match self.cover.kind() { Kind::Hard(hard) => hard.knock(), _ => super::quiet() }
    }
}

impl<T: Paper> fmt::Display for Book<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", render(&self.title))?;
        shout!(self.shelf.label(), plain(1));
        tracing::info!("done {}", Self::describe());
        Ok(())
    }
}

/// Says it loud.
#[macro_export]
macro_rules! shout {
    ($text:expr) => { print_loud($text) };
}

mod inner {
    //! Inside.
    use super::Marker;
    pub(super) fn inside() { super::outside(); self::deeper(); }
    fn deeper() -> Marker { Marker(2) }
}

fn outside() {
    fn nested() {}
    let render = |x: u32| x + 1;
    render(3);
    nested();
}

extern "C" {
    fn foreign(x: i32) -> i32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_book_opens() {
        let book = Book::<Sheet>::open("x");
        assert_eq!(book.checked().title, expected("x"));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn it_turns() {}

    #[rstest]
    #[case(1)]
    fn cases(#[case] n: u32) {}

    proptest! {
        #[test]
        fn any_title_opens(title in ".*") {
            let book = Book::<Sheet>::open(&title);
            prop_assert!(is_open(&book));
        }
    }
}
