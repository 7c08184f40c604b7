//! A diff taken apart into files and lines, so that each can be shown for what it is.

/// More of a change than this is told about and not shown.
const MOST_BYTES: usize = 2 << 20;

pub(super) struct ShownFile<'d> {
    pub(super) name: String,
    pub(super) added: usize,
    pub(super) removed: usize,
    pub(super) lines: Vec<DiffLine<'d>>,
}

pub(super) struct DiffLine<'d> {
    pub(super) kind: LineKind,
    pub(super) text: &'d str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineKind {
    /// Names, modes and hashes before the first hunk.
    Head,
    Hunk,
    Added,
    Removed,
    Same,
}

impl LineKind {
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Hunk => "hunk",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Same => "same",
        }
    }
}

/// Returns the files of a change, and how many bytes of it are left out.
pub(super) fn files(diff: &str) -> (Vec<ShownFile<'_>>, usize) {
    let shown = spore_plain::head(diff, MOST_BYTES);
    let mut files: Vec<ShownFile<'_>> = Vec::new();
    // Lines of a hunk that are still to come, of the old and of the new file: a removed line that
    // begins with `--` is no head.
    let mut left = (0usize, 0usize);
    for text in shown.lines() {
        if left == (0, 0) && text.starts_with("diff --git ") {
            let name = text.rsplit_once(" b/").map_or("", |(_, name)| name);
            let name = spore_plain::name(name.trim_end_matches('"')).into_owned();
            files.push(ShownFile { name, added: 0, removed: 0, lines: Vec::new() });
        }
        let Some(file) = files.last_mut() else { continue };
        let kind = match (left, text.as_bytes().first()) {
            ((0, 0), _) => match hunk(text) {
                Some(lengths) => {
                    left = lengths;
                    LineKind::Hunk
                }
                None => LineKind::Head,
            },
            (_, Some(b'+')) => {
                left.1 = left.1.saturating_sub(1);
                file.added += 1;
                LineKind::Added
            }
            (_, Some(b'-')) => {
                left.0 = left.0.saturating_sub(1);
                file.removed += 1;
                LineKind::Removed
            }
            (_, Some(b'\\')) => LineKind::Head,
            _ => {
                left = (left.0.saturating_sub(1), left.1.saturating_sub(1));
                LineKind::Same
            }
        };
        file.lines.push(DiffLine { kind, text });
    }
    (files, diff.len() - shown.len())
}

/// Reads `@@ -1,2 +3,4 @@`: how many lines follow of the old file, and how many of the new one.
fn hunk(text: &str) -> Option<(usize, usize)> {
    let mut words = text.strip_prefix("@@ ")?.split(' ');
    let mut length = |sign: char| {
        let word = words.next()?.strip_prefix(sign)?;
        word.split_once(',').map_or(Some(1), |(_, length)| length.parse().ok())
    };
    Some((length('-')?, length('+')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_hunk_is_never_taken_for_a_head() {
        let diff = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@ fn x\n \
                    one\n--- a/two\n+++ b/two\n+diff --git a/y b/y\ndiff --git a/z b/z\nnew file\n";
        let (files, left) = files(diff);
        assert_eq!(left, 0);
        let told: Vec<_> =
            files.iter().map(|file| (file.name.as_str(), file.added, file.removed)).collect();
        assert_eq!(told, [("x", 2, 1), ("z", 0, 0)]);
        let kinds: Vec<_> = files[0].lines.iter().map(|line| line.kind.class()).collect();
        assert_eq!(
            kinds,
            ["head", "head", "head", "head", "hunk", "same", "removed", "added", "added"]
        );
    }
}
