//! Small numbers in few bytes: seven bits each, the low ones first.

pub(crate) fn put(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push((number as u8) | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads numbers off the front. At the end, or where the bytes make no sense, there are no
/// more: damaged postings match less, they never fail.
#[derive(Clone, Copy)]
pub(crate) struct Numbers<'a>(pub(crate) &'a [u8]);

impl Numbers<'_> {
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn number(&mut self) -> Option<u32> {
        let mut number = 0_u32;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            number |= u32::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(numbers in proptest::collection::vec(any::<u32>(), 0..20)) {
            let mut bytes = Vec::new();
            numbers.iter().for_each(|number| put(&mut bytes, *number));
            let mut read = Numbers(&bytes);
            for number in numbers {
                prop_assert_eq!(read.number(), Some(number));
            }
            prop_assert!(read.is_empty() && read.number().is_none());
        }

        #[test]
        fn damaged_bytes_end_and_never_fail(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut read = Numbers(&bytes);
            while read.number().is_some() {}
        }
    }
}
