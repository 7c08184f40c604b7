//! What a commit changed, line by line.
//!
//! Read from git's patch format without context lines. A hunk's header says how many lines
//! follow, so no content of a file can be taken for a header.

use spore_model::CommitId;

use crate::repository::text;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Patch {
    pub commit: CommitId,
    pub files: Vec<FilePatch>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FilePatch {
    /// The name before the change. None for a new file, for one that is not text, and for a
    /// name that git has to quote.
    pub path: Option<String>,
    pub hunks: Vec<Hunk>,
    /// The stored content before and after.
    objects: (String, String),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hunk {
    /// The first of the removed lines, counted from one; without any, the line before.
    pub old_start: u32,
    pub removed: Vec<String>,
    pub added: Vec<String>,
}

impl Patch {
    /// Returns whether everything that `other` changes is changed here in the same way,
    /// wherever in the files it stands by now. A patch that changes nothing is in none.
    pub fn includes(&self, other: &Self) -> bool {
        let has = |wanted: &FilePatch| self.files.iter().any(|file| file.is_same(wanted));
        !other.files.is_empty() && other.files.iter().all(has)
    }

    /// Returns the lines that the commit wrote.
    pub fn added_lines(&self) -> impl Iterator<Item = &str> {
        let hunks = self.files.iter().flat_map(|file| &file.hunks);
        hunks.flat_map(|hunk| &hunk.added).map(String::as_str)
    }
}

impl FilePatch {
    fn is_same(&self, other: &Self) -> bool {
        if self.hunks.is_empty() || other.hunks.is_empty() {
            return self.objects == other.objects && self.path == other.path;
        }
        let same =
            |(one, two): (&Hunk, &Hunk)| (&one.removed, &one.added) == (&two.removed, &two.added);
        self.path == other.path
            && self.hunks.len() == other.hunks.len()
            && self.hunks.iter().zip(&other.hunks).all(same)
    }
}

/// Reads the answer of `diff-tree --stdin -p -U0 --full-index`: a line with the commit, then
/// its patch. `None` if it is not that.
pub(crate) fn parse(answer: &[u8]) -> Option<Vec<Patch>> {
    let mut patches: Vec<Patch> = Vec::new();
    let (mut removed, mut added) = (0, 0);
    for line in answer.split(|byte| *byte == b'\n') {
        if removed + added > 0 {
            let hunk = patches.last_mut()?.files.last_mut()?.hunks.last_mut()?;
            match line.split_first()? {
                (b'-', rest) if removed > 0 => {
                    hunk.removed.push(text(rest));
                    removed -= 1;
                }
                (b'+', rest) if added > 0 => {
                    hunk.added.push(text(rest));
                    added -= 1;
                }
                // `\ No newline at end of file`
                (b'\\', _) => {}
                _ => return None,
            }
        } else if line.starts_with(b"@@ ") {
            let (hunk, counts) = parse_hunk(line)?;
            (removed, added) = counts;
            patches.last_mut()?.files.last_mut()?.hunks.push(hunk);
        } else if line.starts_with(b"diff --git ") {
            patches.last_mut()?.files.push(FilePatch::default());
        } else if let Ok(commit) = CommitId::new(text(line)) {
            patches.push(Patch { commit, files: Vec::new() });
        } else if let Some(file) = patches.last_mut().and_then(|patch| patch.files.last_mut()) {
            read_header(file, line);
        }
    }
    Some(patches)
}

fn read_header(file: &mut FilePatch, line: &[u8]) {
    if let Some(rest) = line.strip_prefix(b"index ") {
        let rest = text(rest);
        let objects = rest.split(' ').next().and_then(|pair| pair.split_once(".."));
        if let Some((old, new)) = objects {
            file.objects = (old.to_owned(), new.to_owned());
        }
    } else if let Some(name) = line.strip_prefix(b"--- a/") {
        // A tab ends a name that holds a space.
        file.path = Some(text(name.strip_suffix(b"\t").unwrap_or(name)));
    }
}

/// Reads `@@ -3,2 +3 @@`; a count that is left out is one.
fn parse_hunk(line: &[u8]) -> Option<(Hunk, (u32, u32))> {
    let line = text(line);
    let mut words = line.split(' ').skip(1);
    let (old_start, removed) = parse_range(words.next()?.strip_prefix('-')?)?;
    let (_, added) = parse_range(words.next()?.strip_prefix('+')?)?;
    let hunk = Hunk { old_start, removed: Vec::new(), added: Vec::new() };
    Some((hunk, (removed, added)))
}

fn parse_range(text: &str) -> Option<(u32, u32)> {
    match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    #[track_caller]
    fn check(patch: &str, expected: &str) {
        let told = |patches: Vec<Patch>| {
            let files = patches.iter().flat_map(|patch| &patch.files);
            let lines = files.flat_map(|file| {
                let name = file.path.as_deref().unwrap_or("-");
                let hunks = file.hunks.iter().map(move |hunk| {
                    format!("{name}:{} -{:?} +{:?}", hunk.old_start, hunk.removed, hunk.added)
                });
                hunks.collect::<Vec<_>>()
            });
            lines.collect::<Vec<_>>().join("\n")
        };
        let answer = format!("{COMMIT}\n{patch}");
        let parsed = parse(answer.as_bytes());
        assert_eq!(parsed.map_or_else(|| "unreadable".to_owned(), told), expected);
    }

    #[test]
    fn a_hunk_is_as_long_as_its_header_says() {
        check(
            "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -3,2 +3 @@ fn x()\n-one\n--- a/b\n+@@ -1 +1 @@\n@@ -9 +8,0 @@\n-two\n",
            "a:3 -[\"one\", \"-- a/b\"] +[\"@@ -1 +1 @@\"]\na:9 -[\"two\"] +[]",
        );
    }

    #[test]
    fn names_with_spaces_and_files_without_a_last_newline_are_read() {
        check(
            "diff --git a/a b b/a b\nindex 1..2 100644\n--- a/a b\t\n+++ b/a b\t\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n",
            "a b:1 -[\"x\"] +[\"y\"]",
        );
    }

    #[test]
    fn a_new_file_has_no_name_before() {
        check(
            "diff --git a/n b/n\nnew file mode 100644\nindex 0..2\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n",
            "-:0 -[] +[\"x\"]",
        );
    }

    #[test]
    fn what_is_no_patch_is_not_read() {
        check("@@ -1 +1 @@\n-x\n+y\n", "unreadable");
        check("diff --git a/a b/a\n@@ -1 +1 @@\nx\n", "unreadable");
        check("diff --git a/a b/a\n@@ nonsense @@\n", "unreadable");
    }
}
