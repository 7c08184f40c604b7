//! How the forms of values begin, to tell at the end of a block whether one has begun.

/// How the forms begin. Made once, asked for every block.
pub(super) struct Beginnings {
    /// Whether any form begins with this byte, and with these two.
    first: [bool; 256],
    second: Box<[bool; 1 << 16]>,
    longest: usize,
}

impl Beginnings {
    pub(super) fn of<'f>(forms: impl Iterator<Item = &'f [u8]>) -> Self {
        let (mut first, mut second, mut longest) = ([false; 256], Box::new([false; 1 << 16]), 0);
        for form in forms {
            if let [one, two, ..] = form {
                first[usize::from(*one)] = true;
                second[pair(*one, *two)] = true;
            }
            longest = longest.max(form.len());
        }
        Self { first, second, longest }
    }

    /// Returns the length of the longest form.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Returns whether a form may begin like this.
    pub(super) fn are_likely(&self, tail: &[u8]) -> bool {
        match tail {
            [one, two, ..] => self.second[pair(*one, *two)],
            [one] => self.first[usize::from(*one)],
            [] => false,
        }
    }
}

fn pair(one: u8, two: u8) -> usize {
    usize::from(one) << 8 | usize::from(two)
}
