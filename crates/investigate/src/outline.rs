//! The tree as people see it: so many levels deep, so many names wide.

use std::path::Path;

use serde::Serialize;

use crate::file_reader::ScannedKind;
use crate::scope::ScanLimits;
use crate::shown::{many, path_text, size_text};
use crate::tree::{Dir, File, Tree};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchKind {
    Directory,
    File,
    Link,
    Special,
}

/// One name of the tree, with what is below it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Branch {
    pub name: String,
    /// From the target; empty for the target itself.
    pub path: String,
    #[serde(rename = "type")]
    pub kind: BranchKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Directories first, each by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Branch>,
    /// How many names are in it that are not shown.
    #[serde(skip_serializing_if = "is_none")]
    pub truncated: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

pub(crate) fn outline(tree: &Tree, target: &Path, limits: &ScanLimits) -> Branch {
    let name = target.file_name().unwrap_or(target.as_os_str());
    let top = branch(tree, tree.top(), limits, limits.depth);
    Branch { name: path_text(Path::new(name)), ..top }
}

fn branch(tree: &Tree, dir: &Dir, limits: &ScanLimits, levels: u32) -> Branch {
    let all = dir.child_count();
    let width = if levels == 0 { 0 } else { limits.width as usize };
    let dirs = dir
        .dirs
        .iter()
        .map(|below| branch(tree, &tree.dirs[*below], limits, levels.saturating_sub(1)));
    let files = tree.files[dir.files.clone()].iter().map(|file| leaf(tree, file));
    let children: Vec<Branch> = dirs.chain(files).take(width).collect();
    Branch {
        name: path_text(Path::new(dir.name())),
        path: path_text(&dir.path),
        kind: BranchKind::Directory,
        size: None,
        truncated: (all - children.len()) as u64,
        children,
        error: dir.unreadable.clone(),
    }
}

fn leaf(tree: &Tree, file: &File) -> Branch {
    let (kind, error) = match &file.kind {
        ScannedKind::Link => (BranchKind::Link, None),
        ScannedKind::Special => (BranchKind::Special, None),
        ScannedKind::Unreadable(reason) => (BranchKind::File, Some(reason.clone())),
        ScannedKind::Regular | ScannedKind::Sampled => (BranchKind::File, None),
    };
    Branch {
        name: path_text(Path::new(&file.name)),
        path: path_text(&tree.path_of(file)),
        size: (kind == BranchKind::File).then_some(file.size),
        kind,
        children: Vec::new(),
        truncated: 0,
        error,
    }
}

/// The tree as lines of text.
pub(crate) fn rendered(top: &Branch) -> String {
    let mut text = format!("{}/\n", spore_plain::name(&top.name));
    render_below(top, "", &mut text);
    text
}

fn render_below(branch: &Branch, indent: &str, text: &mut String) {
    let more = branch.truncated > 0;
    for (at, child) in branch.children.iter().enumerate() {
        let is_last = at + 1 == branch.children.len() && !more;
        let (tick, deeper) =
            if is_last { ("└── ", "    ") } else { ("├── ", "│   ") };
        text.push_str(&format!("{indent}{tick}{}\n", label(child)));
        // One level further down there is nothing to show but a number.
        if !child.children.is_empty() {
            render_below(child, &format!("{indent}{deeper}"), text);
        }
    }
    if more && !branch.children.is_empty() {
        text.push_str(&format!("{indent}└── … {} more\n", branch.truncated));
    }
}

fn label(branch: &Branch) -> String {
    let name = spore_plain::name(&branch.name);
    let trouble = branch.error.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    match (branch.kind, branch.size) {
        (BranchKind::Directory, _) if branch.children.is_empty() && branch.truncated > 0 => {
            format!("{name}/ ({})", many(branch.truncated, "entry", "entries"))
        }
        (BranchKind::Directory, _) => format!("{name}/{trouble}"),
        (BranchKind::Link, _) => format!("{name} (link)"),
        (BranchKind::Special, _) => format!("{name} (special)"),
        (BranchKind::File, Some(size)) => format!("{name} ({}){trouble}", size_text(size)),
        (BranchKind::File, None) => format!("{name}{trouble}"),
    }
}
