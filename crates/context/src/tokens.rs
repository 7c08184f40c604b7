//! How long a text is for a model: estimated, the same way everywhere.

/// Returns the estimated tokens of so many bytes: one for each four, rounded up.
pub const fn tokens_of_bytes(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

/// Returns the estimated tokens of a text.
pub const fn tokens(text: &str) -> usize {
    tokens_of_bytes(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_quarters_of_bytes_rounded_up() {
        for (text, expected) in
            [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ää", 1), ("äää", 2)]
        {
            assert_eq!(tokens(text), expected, "{text}");
        }
    }
}
