//! The lines that a change adds, with their places: for checks such as the search for secrets
//! that have to look at each of them.
//!
//! Every file counts as text, whatever it holds and whatever its attributes say: nothing hides
//! from this.

use crate::diff::Treeish;
use crate::repository::text;
use crate::{GitError, Repository};

/// One file that a change touches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Additions {
    /// As it is called afterwards. Bytes that are no text are replaced.
    pub path: String,
    /// No file was called so before: it is new, or had another name. It may have no lines then.
    pub is_new_name: bool,
    /// Line numbers, counted from one, and the lines without their ends.
    pub added: Vec<(u32, Vec<u8>)>,
    pub removed: Vec<Vec<u8>>,
}

impl Repository {
    /// Returns whether any file of a tree or commit holds `text`, a single line.
    pub fn holds(&self, at: &impl Treeish, text: &str) -> Result<bool, GitError> {
        let tree = at.tree(self)?;
        // Over stdin: arguments can be read by every user of the machine.
        let call = self
            .git("look for a text")
            .set(&["submodule.recurse=false"])
            .args(["grep", "--quiet", "--text", "--fixed-strings", "--no-textconv", "-f", "-"])
            .args([tree.as_str(), "--"])
            .stdin(format!("{text}\n"));
        let answer = call.answer()?;
        match answer.code {
            0 => Ok(true),
            1 => Ok(false),
            _ => Err(call.failure(&answer)),
        }
    }

    /// Returns what changes from one tree or commit to another, by file.
    pub fn additions(
        &self,
        from: &impl Treeish,
        to: &impl Treeish,
    ) -> Result<Vec<Additions>, GitError> {
        let action = "compare two trees";
        let (from, to) = (from.tree(self)?, to.tree(self)?);
        let answer = self
            .git(action)
            .set(&["core.quotePath=false", "core.bigFileThreshold=1g"])
            .args(["diff-tree", "-r", "-p", "-U0", "-M", "--text", "--full-index"])
            .args(["--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"])
            .args(["--src-prefix=a/", "--dst-prefix=b/", "--inter-hunk-context=0"])
            .args([from.as_str(), to.as_str(), "--"])
            .run()?;
        parse(&answer.stdout).ok_or_else(|| GitError::unreadable(action, &answer.stdout))
    }
}

/// Reads a patch without context lines. The header of a hunk says how many lines follow, so
/// no line of a file can be taken for a header.
fn parse(patch: &[u8]) -> Option<Vec<Additions>> {
    let mut files: Vec<Additions> = Vec::new();
    let (mut removed, mut added, mut number) = (0_u32, 0_u32, 0_u32);
    let mut both_names: &[u8] = b"";
    for line in patch.split(|byte| *byte == b'\n') {
        if removed + added > 0 {
            let file = files.last_mut()?;
            match line.split_first()? {
                (b'-', rest) if removed > 0 => {
                    file.removed.push(rest.to_vec());
                    removed -= 1;
                }
                (b'+', rest) if added > 0 => {
                    file.added.push((number, rest.to_vec()));
                    number = number.saturating_add(1);
                    added -= 1;
                }
                // `\ No newline at end of file`
                (b'\\', _) => {}
                _ => return None,
            }
        } else if line.starts_with(b"@@ ") {
            (removed, added, number) = parse_hunk(line)?;
        } else if let Some(names) = line.strip_prefix(b"diff --git ") {
            files.push(Additions::default());
            both_names = names;
        } else if line.starts_with(b"new file mode ") {
            let file = files.last_mut()?;
            // Both names are the same then, and an empty file has no other line to tell it.
            file.path = parse_name(both_names.get(both_names.len() / 2 + 1..)?)?;
            file.is_new_name = true;
        } else if let Some(name) = renamed_to(line) {
            let file = files.last_mut()?;
            file.path = text(&plain_name(name)?);
            file.is_new_name = true;
        } else if let Some(name) = line.strip_prefix(b"+++ ") {
            files.last_mut()?.path = parse_name(name)?;
        } else if let Some(name) = line.strip_prefix(b"--- ") {
            files.last_mut()?.path = parse_name(name)?;
        }
    }
    Some(files)
}

/// Reads `@@ -3,2 +3 @@`; a count that is left out is one.
fn parse_hunk(line: &[u8]) -> Option<(u32, u32, u32)> {
    let line = text(line);
    let mut words = line.split(' ').skip(1);
    let range = |text: &str| match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    let (_, removed): (u32, u32) = range(words.next()?.strip_prefix('-')?)?;
    let (start, added) = range(words.next()?.strip_prefix('+')?)?;
    Some((removed, added, start))
}

/// Reads the name behind `+++ ` or `--- `; that of a file that is not there is empty.
fn parse_name(name: &[u8]) -> Option<String> {
    // A name with spaces has a tab behind it, so that programs see where it ends.
    let name = name.strip_suffix(b"\t").unwrap_or(name);
    if name == b"/dev/null" {
        return Some(String::new());
    }
    Some(text(plain_name(name)?.get(2..)?))
}

/// Returns the name behind `rename to ` or `copy to `.
fn renamed_to(line: &[u8]) -> Option<&[u8]> {
    line.strip_prefix(b"rename to ").or_else(|| line.strip_prefix(b"copy to "))
}

fn plain_name(name: &[u8]) -> Option<Vec<u8>> {
    let quoted = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\""));
    quoted.map_or_else(|| Some(name.to_vec()), unquoted)
}

/// Undoes the quotes of C that git writes around unusual names.
fn unquoted(name: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let mut rest = name;
    while let Some((&byte, tail)) = rest.split_first() {
        if byte != b'\\' {
            plain.push(byte);
            rest = tail;
            continue;
        }
        let (&escaped, tail) = tail.split_first()?;
        rest = tail;
        plain.push(match escaped {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            b'"' | b'\\' => escaped,
            b'0'..=b'3' => {
                let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
                rest = &rest[2..];
                (escaped - b'0') * 64 + u8::from_str_radix(digits, 8).ok()?
            }
            _ => return None,
        });
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(patch: &str, expected: &str) {
        let told = |files: Vec<Additions>| {
            let lines = files.iter().flat_map(|file| {
                file.added
                    .iter()
                    .map(|(number, line)| format!("{}:{number} {}", file.path, text(line)))
            });
            lines.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(parse(patch.as_bytes()).map_or_else(|| "unreadable".to_owned(), told), expected);
    }

    #[test]
    fn lines_have_the_numbers_they_have_afterwards() {
        check(
            "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -3,2 +3 @@ fn x()\n-one\n--- a/b\n+++ b/b\n@@ -9,0 +9,2 @@\n+two\n+@@ -1 +1 @@\n",
            "a:3 ++ b/b\na:9 two\na:10 @@ -1 +1 @@",
        );
    }

    #[test]
    fn a_file_keeps_its_name_however_git_writes_it() {
        let patch = |name: &str| {
            format!(
                "diff --git x y\n--- /dev/null\n+++ {name}\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
            )
        };
        check(&patch("b/a b\t"), "a b:1 x");
        check(&patch("\"b/a\\tb\\\"\\303\\244\""), "a\tb\"ä:1 x");
        check(&patch("\"b/a\\q\""), "unreadable");
    }

    #[test]
    fn a_new_name_is_told_even_where_no_line_is() {
        let names = |patch: &str| {
            let files = parse(patch.as_bytes()).unwrap();
            files.into_iter().map(|file| (file.path, file.is_new_name)).collect::<Vec<_>>()
        };
        let new = |name: &str| vec![(name.to_owned(), true)];
        let empty = |names: &str| format!("diff --git {names}\nnew file mode 100644\nindex 0..1\n");
        assert_eq!(names(&empty("a/a b b/a b")), new("a b"));
        assert_eq!(names(&empty("\"a/a\\tb\" \"b/a\\tb\"")), new("a\tb"));
        let moved = "diff --git a/x b/y z\nsimilarity index 100%\nrename from x\nrename to y z\n";
        assert_eq!(names(moved), new("y z"));
        let changed =
            "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(names(changed), [("x".to_owned(), false)]);
    }

    #[test]
    fn what_is_no_patch_is_not_read() {
        check("@@ -1 +1 @@\n-x\n+y\n", "unreadable");
        check("diff --git a/a b/a\n@@ nonsense @@\n", "unreadable");
    }
}
