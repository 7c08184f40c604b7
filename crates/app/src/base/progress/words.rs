//! Words that all lines of progress share.

/// Says how many, in words that fit the number.
pub fn counted(number: u32, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// What an agent said, as one line that does not drive the terminal.
pub(super) fn first_line(text: &str) -> String {
    spore_plain::headline(text, 120)
}
