//! What a caller may see of the files below a root, where that is not all.
//!
//! A part of a file does not tell what it is part of: a line of a private key looks like any other
//! data. So a view that hides lines is told all lines of a file in their order, also those that are not
//! asked for.

use std::sync::Arc;

/// Says which files there are for a caller, and what it sees of their lines.
pub trait FileView: Send + Sync {
    /// Whether there is a file or directory at this path, from the root and without links.
    fn is_there(&self, path: &str) -> bool;

    /// Begins a file.
    fn lines(&self) -> Box<dyn LineView + '_>;
}

/// Sees the lines of one file.
pub trait LineView {
    /// Takes the next line; says whether it may be shown at all.
    fn is_hidden(&mut self, line: &str) -> bool;

    /// A line as it may be shown.
    fn shown(&self, line: &str) -> String;
}

/// What stands for a line that is hidden.
pub(crate) const HIDDEN: &str = "[secret]";

/// The view of one call; everything where there is none.
#[derive(Clone, Default)]
pub(crate) struct CallView(pub(crate) Option<Arc<dyn FileView>>);

impl CallView {
    pub(crate) fn is_whole(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn is_there(&self, path: &str) -> bool {
        self.0.as_ref().is_none_or(|view| view.is_there(path))
    }

    pub(crate) fn lines(&self) -> FileLines<'_> {
        FileLines(self.0.as_ref().map(|view| view.lines()))
    }
}

/// The lines of one file, in their order.
pub(crate) struct FileLines<'a>(Option<Box<dyn LineView + 'a>>);

impl FileLines<'_> {
    /// Takes the next line, and gives it back unless it is hidden.
    pub(crate) fn next(&mut self, line: String) -> String {
        let is_hidden = self.0.as_mut().is_some_and(|view| view.is_hidden(&line));
        if is_hidden { HIDDEN.to_owned() } else { line }
    }

    pub(crate) fn shown(&self, line: String) -> String {
        match &self.0 {
            Some(view) => view.shown(&line),
            None => line,
        }
    }
}
