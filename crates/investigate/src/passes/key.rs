//! For what an entry holds: another key, and it is written anew.
//!
//! A directory's key is made of its own files and of what its children's summaries say, not of
//! the children's content: an edit further down that changes no summary ends there.

use crate::hash::Hash;
use crate::tree::{Dir, File, Tree};
use std::os::unix::ffi::OsStrExt;

/// Rises with every change of what the passes are told.
pub const PROMPT_VERSION: &str = "2";

/// Who writes entries: entries of another writer, model or prompt are not mixed with its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SummaryWriter {
    pub backend: String,
    /// Empty where the choice is the agent's.
    pub model: String,
}

impl SummaryWriter {
    fn parts(&self) -> [&[u8]; 3] {
        [self.backend.as_bytes(), self.model.as_bytes(), PROMPT_VERSION.as_bytes()]
    }
}

/// What is known of a directory right in another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChildSummary {
    pub name: String,
    /// Nothing where it was not looked at.
    pub summary: Option<String>,
}

/// Returns what stands for a text.
pub fn text_digest(text: &str) -> String {
    Hash::of_parts("text", &[text.as_bytes()]).to_string()
}

/// Returns the key of what `writer` says about a file.
pub fn file_key(file: &File, place: &str, writer: &SummaryWriter) -> String {
    let content = file.hash.to_string();
    let [backend, model, prompt] = writer.parts();
    let parts = [place.as_bytes(), content.as_bytes(), backend, model, prompt];
    Hash::of_parts("file entry", &parts).to_string()
}

/// Returns the key of what `writer` says about a directory whose children are known as
/// `children`.
pub fn directory_key(
    tree: &Tree,
    dir: &Dir,
    place: &str,
    children: &[ChildSummary],
    writer: &SummaryWriter,
) -> String {
    let mut own = Vec::new();
    for file in &tree.files[dir.files.clone()] {
        own.push(file.name.as_bytes().to_vec());
        own.push(format!("{} {}", char::from(file.kind.tag()), file.hash).into_bytes());
    }
    let own: Vec<&[u8]> = own.iter().map(Vec::as_slice).collect();
    let own = Hash::of_parts("own files", &own).to_string();
    let told: Vec<(&str, String)> = children
        .iter()
        .map(|child| {
            (child.name.as_str(), child.summary.as_deref().map_or(String::new(), text_digest))
        })
        .collect();
    let told: Vec<&[u8]> =
        told.iter().flat_map(|(name, digest)| [name.as_bytes(), digest.as_bytes()]).collect();
    let told = Hash::of_parts("children", &told).to_string();
    let [backend, model, prompt] = writer.parts();
    let parts = [place.as_bytes(), own.as_bytes(), told.as_bytes(), backend, model, prompt];
    Hash::of_parts("directory entry", &parts).to_string()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{ScanLimits, ScanProgress, ScanScope, ScanWatch};

    struct Quiet;

    impl ScanWatch for Quiet {
        fn pass(&self, _: ScanProgress) {}

        fn is_over(&self) -> bool {
            false
        }
    }

    fn scanned(root: &Path) -> Tree {
        let limits = ScanLimits {
            depth: 3,
            width: 10,
            whole_bytes: 1 << 20,
            large_bytes: 1 << 20,
            large_lines: 100,
            recent: 1,
            top_directories: 1,
            listed: 1,
        };
        Tree::read(root, &ScanScope::default(), &limits, &Quiet).unwrap()
    }

    fn top_key(tree: &Tree, child: Option<&str>, writer: &SummaryWriter) -> String {
        let child = ChildSummary { name: "sub".to_owned(), summary: child.map(str::to_owned) };
        directory_key(tree, tree.top(), ".", &[child], writer)
    }

    #[test]
    fn an_edit_below_counts_only_through_the_summary_of_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::write(dir.path().join("sub/a.rs"), "fn a() {}").unwrap();
        std::fs::write(dir.path().join("top.rs"), "fn top() {}").unwrap();
        let writer = SummaryWriter { backend: "api".to_owned(), model: "m".to_owned() };
        let before = scanned(dir.path());
        let key = top_key(&before, Some("functions"), &writer);
        std::fs::write(dir.path().join("sub/a.rs"), "fn b() {}").unwrap();
        let after = scanned(dir.path());
        assert_ne!(before.top().hash, after.top().hash);
        assert_eq!(top_key(&after, Some("functions"), &writer), key);
        assert_ne!(top_key(&after, Some("other functions"), &writer), key);
        assert_ne!(top_key(&after, None, &writer), key);
        std::fs::write(dir.path().join("top.rs"), "fn bottom() {}").unwrap();
        assert_ne!(top_key(&scanned(dir.path()), Some("functions"), &writer), key);
        let other = SummaryWriter { model: "n".to_owned(), ..writer };
        assert_ne!(top_key(&after, Some("functions"), &other), key);
    }
}
