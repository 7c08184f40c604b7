//! Names of files, branches and runs: every difference between two of them is to be seen.

use std::borrow::Cow;
use std::path::Path;

use crate::letters::is_unseen;

/// Returns a name on one line, with what is not drawn spelled out as `\n` or `\u{202e}`.
///
/// White space other than a blank is spelled out, too. A backslash stays a backslash, as in the
/// names of most files that have one.
pub fn name(text: &str) -> Cow<'_, str> {
    let is_drawn = |c: char| c == ' ' || !(c.is_whitespace() || is_unseen(c));
    if text.chars().all(is_drawn) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_drawn(c) {
            shown.push(c);
        } else {
            shown.extend(c.escape_default());
        }
    }
    Cow::Owned(shown)
}

/// Returns a path as [`name`] does; bytes that are no text are spelled out as `\xff`.
pub fn path(path: &Path) -> String {
    let mut shown = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        shown.push_str(&name(chunk.valid()));
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02x}"));
        }
    }
    shown
}

/// Returns a word of at most `most` characters that can be part of a file's name or of a row:
/// everything but ASCII letters, digits, `-`, `_` and `.` becomes `_`, and so does a first `.`.
pub fn word(text: &str, most: usize) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let word: String =
        text.trim().chars().map(|c| if fits(c) { c } else { '_' }).take(most).collect();
    match word.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_shows_what_is_not_drawn() {
        assert_eq!(name("src/größe 1.rs"), "src/größe 1.rs");
        assert_eq!(name("a\n\u{1b}[31mb\u{202e}\t"), "a\\n\\u{1b}[31mb\\u{202e}\\t");
        assert_eq!(name("a\u{a0}b\u{200b}"), "a\\u{a0}b\\u{200b}");
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_is_no_text_is_shown_all_the_same() {
        use std::os::unix::ffi::OsStrExt;

        let bytes = std::ffi::OsStr::from_bytes(b"a\xff/b\n");
        assert_eq!(path(Path::new(bytes)), "a\\xff/b\\n");
    }

    #[test]
    fn a_word_is_no_path() {
        assert_eq!(word("../a b", 40), "_._a_b");
        assert_eq!(word(".hidden", 40), "_hidden");
        assert_eq!(word(&"x".repeat(99), 40).len(), 40);
    }
}
