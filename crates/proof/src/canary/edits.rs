//! Tests as they are found in a text, and what is done to it.

use serde::{Deserialize, Serialize};

/// How a test is made to fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CanaryEnding {
    /// Its last assertion asks for something else.
    Inverted,
    /// Something is thrown behind it. It compiles where the other may not.
    Thrown,
}

/// A test by its syntax.
pub(super) struct FoundTest {
    pub(super) name: String,
    pub(super) place: String,
    /// What makes it fail.
    pub(super) end: TextEdit,
    /// The whole of it with what belongs to it, as bytes of the file.
    pub(super) start: usize,
    pub(super) stop: usize,
    /// Where in the file its name ends, and what joins a name with a word behind it.
    pub(super) name_stop: usize,
    pub(super) joint: &'static str,
}

impl FoundTest {
    /// A copy of it behind it, with another name.
    pub(super) fn copy(&self, text: &str, suffix: &str) -> TextEdit {
        let line = text[..self.start].rfind('\n').map_or(0, |at| at + 1);
        let indent: String =
            text[line..self.start].chars().take_while(|c| c.is_whitespace()).collect();
        let (before, behind) =
            (&text[self.start..self.name_stop], &text[self.name_stop..self.stop]);
        let copy = format!("\n\n{indent}{before}{}{suffix}{behind}", self.joint);
        TextEdit { start: self.stop, end: self.stop, text: copy }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TextEdit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}
