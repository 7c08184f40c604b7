//! Where a file stands among the modules of its language, by its path alone.

/// Where a Rust file stands: in which crate, and which module of it.
pub(crate) struct RustPlace<'p> {
    /// The directory of the crate's root file; none if the path does not show it.
    root: Option<Vec<&'p str>>,
    directory: Vec<&'p str>,
    /// The file as a module: its directory, with its stem unless it stands for the directory.
    module: Vec<&'p str>,
}

impl<'p> RustPlace<'p> {
    pub(crate) fn of(path: &'p str) -> Self {
        let mut directory: Vec<_> = path.split('/').collect();
        let file = directory.pop().unwrap_or("");
        let stem = file.strip_suffix(".rs").unwrap_or(file);
        let root = root_length(&directory, stem).map(|length| directory[..length].to_vec());
        let mut module = directory.clone();
        let is_target =
            matches!(directory.last(), Some(&("tests" | "examples" | "benches" | "bin")))
                && root.as_ref().is_some_and(|root| root.len() == directory.len());
        if !matches!(stem, "mod" | "lib" | "main" | "build") && !is_target {
            module.push(stem);
        }
        Self { root, directory, module }
    }

    /// Returns the path of a module inside of this file.
    pub(crate) fn module(&self, inline: &[String]) -> Vec<String> {
        let own = self.module.iter().map(|word| (*word).to_owned());
        own.chain(inline.iter().cloned()).collect()
    }

    /// Returns the path of a file that is named relative to this one, without its ending.
    pub(crate) fn beside(&self, file: &str) -> Vec<String> {
        let file = file.strip_suffix(".rs").unwrap_or(file);
        let mut segments: Vec<_> = self.directory.iter().map(|word| (*word).to_owned()).collect();
        for word in file.split(['/', '\\']) {
            match word {
                "." | "" => {}
                ".." => drop(segments.pop()),
                word => segments.push(word.to_owned()),
            }
        }
        segments
    }

    /// Returns where a path that begins with `crate`, `self` or `super` leads, from the root
    /// of the tree; nothing for any other.
    pub(crate) fn resolve(&self, inline: &[String], words: &[&str]) -> Option<Vec<String>> {
        let (mut segments, mut rest) = match words {
            ["crate", rest @ ..] => {
                let root = self.root.as_ref()?;
                (root.iter().map(|word| (*word).to_owned()).collect(), rest)
            }
            ["self", rest @ ..] => (self.module(inline), rest),
            ["super", ..] => (self.module(inline), words),
            _ => return None,
        };
        while let ["super", after @ ..] = rest {
            segments.pop();
            rest = after;
        }
        segments.extend(rest.iter().map(|word| (*word).to_owned()));
        Some(segments)
    }
}

/// Returns how many of a file's directories lead to its crate's root.
fn root_length(directory: &[&str], stem: &str) -> Option<usize> {
    if let Some(at) = directory.iter().rposition(|word| *word == "src") {
        let is_binary = directory.get(at + 1) == Some(&"bin");
        let in_its_own = is_binary && directory.len() > at + 2;
        return Some(at + 1 + usize::from(is_binary) + usize::from(in_its_own));
    }
    let is_target = |word: &&str| matches!(*word, "tests" | "examples" | "benches");
    if let Some(at) = directory.iter().rposition(is_target) {
        let in_its_own = stem == "main" && directory.len() > at + 1;
        return Some(at + 1 + usize::from(in_its_own));
    }
    matches!(stem, "lib" | "main" | "build").then_some(directory.len())
}
