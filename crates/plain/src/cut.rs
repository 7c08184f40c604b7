//! Texts kept to a number of bytes, cut between characters.

use std::borrow::Cow;

/// Returns as many whole characters as fit into `most` bytes, without a mark: for limits on
/// what Spore itself reads, where no person looks.
pub fn head(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Returns the text in at most `most` bytes. What was cut says how many bytes are missing, as
/// far as there is room to say it.
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    let mark = |missing: usize| format!(" … {missing} more bytes");
    // No mark is longer than the one that would stand for the whole text.
    match most.checked_sub(mark(text.len()).len()) {
        _ if text.len() <= most => Cow::Borrowed(text),
        Some(room) => {
            let kept = head(text, room);
            Cow::Owned(format!("{kept}{}", mark(text.len() - kept.len())))
        }
        None => cut_with(text, most, "…"),
    }
}

/// Returns the text in at most `most` bytes; `mark` stands behind what was cut, if it fits.
pub fn cut_with<'t>(text: &'t str, most: usize, mark: &str) -> Cow<'t, str> {
    match most.checked_sub(mark.len()) {
        _ if text.len() <= most => Cow::Borrowed(text),
        Some(room) => Cow::Owned(format!("{}{mark}", head(text, room))),
        None => Cow::Borrowed(head(text, most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_says_how_much_is_missing() {
        assert_eq!(head("ää", 3), "ä");
        assert_eq!(head("ää", 9), "ää");
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut(&"ä".repeat(50), 40), format!("{} … 80 more bytes", "ä".repeat(10)));
        assert_eq!(cut("ääää", 6), "ä…");
        assert_eq!(cut("ääää", 2), "ä");
        assert_eq!(cut_with("a longer text", 8, "[…]"), "a l[…]");
    }
}
