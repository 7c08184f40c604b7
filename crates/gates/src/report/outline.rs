//! Names of tests in reports that are written as an outline: groups, and tests below them.

/// The groups that are open, from the outermost.
#[derive(Default)]
pub(super) struct Outline {
    titles: Vec<String>,
}

impl Outline {
    /// Opens a group at `depth`; what was open there or deeper is closed.
    pub(super) fn open(&mut self, depth: usize, title: &str) {
        self.titles.truncate(depth);
        // A group whose parents are missing from the outline still has a depth.
        self.titles.resize(depth, String::new());
        self.titles.push(title.to_owned());
    }

    /// Returns the whole name of a test at `depth`.
    pub(super) fn name(&self, depth: usize, title: &str) -> String {
        let groups = self.titles.iter().take(depth).map(String::as_str);
        groups.chain([title]).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" › ")
    }

    pub(super) fn clear(&mut self) {
        self.titles.clear();
    }
}

/// Returns how far a line is indented, and the rest of it.
pub(super) fn indented(line: &str) -> (usize, &str) {
    let rest = line.trim_start_matches(' ');
    (line.len() - rest.len(), rest)
}

/// Returns `title` without a time at its end, as in `adds (12 ms)` or `adds 12ms`.
pub(super) fn without_time(title: &str) -> &str {
    let title = title.trim_end();
    let is_time = |text: &str| {
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
        number.len() < text.len()
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    };
    if let Some((name, time)) = title.rsplit_once(" (")
        && time.strip_suffix(')').is_some_and(is_time)
    {
        return name;
    }
    match title.rsplit_once(' ') {
        Some((name, time)) if is_time(time) => name.trim_end(),
        _ => title,
    }
}
