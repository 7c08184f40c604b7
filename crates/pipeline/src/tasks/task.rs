//! One task of a list, and the list.

use serde::{Deserialize, Serialize};
use spore_model::Usd;

/// One task of a list, as a person wrote it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LoopTask {
    /// What its results are kept under: a name that the person gave it, else one made of its text.
    pub id: String,
    /// Whether the person gave that name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
    pub text: String,
    /// Tasks that must be on the branch before this one begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// Files and directories that it will change: two tasks that share one do not run at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Usd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Commands that must pass beside the project's own checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bounces: Option<u32>,
    /// Checks that are red before it begins are what it has to make green.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fix_red: bool,
    /// The person ticked it off already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ticked: bool,
    /// Where it begins in its file, counted from 1.
    pub line: u32,
    /// How often the person wrote it anew after it fell short, while its loop is open.
    #[serde(default, skip_serializing_if = "is_first")]
    pub edition: u32,
    /// The person took it out of the list after it was begun: it is not begun once more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

fn is_first(edition: &u32) -> bool {
    *edition == 0
}

impl LoopTask {
    /// What the results of one edition are kept under.
    pub fn key(&self, edition: u32) -> String {
        match edition {
            0 => self.id.clone(),
            // No name that a person gives has such a letter.
            later => format!("{}~{later}", self.id),
        }
    }

    /// The how-manyth of those of the same words it is, where Spore named it.
    pub(crate) fn place_among_same(&self) -> usize {
        self.id.splitn(3, '-').nth(2).and_then(|place| place.parse().ok()).unwrap_or(1)
    }

    /// Returns whether another asks for the same work, under the same terms.
    pub fn asks_like(&self, other: &Self) -> bool {
        let terms = |task: &Self| {
            let Self { text, budget, backend, model, gates, max_bounces, fix_red, .. } =
                task.clone();
            (text, budget, backend, model, gates, max_bounces, fix_red)
        };
        terms(self) == terms(other)
    }
}

/// How a list is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceForm {
    /// One task a line.
    #[default]
    Lines,
    /// Blocks between lines that are just `---`.
    Blocks,
    /// Markdown's `- [ ] task`.
    CheckList,
}

/// All tasks of one source, in its order.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TaskList {
    pub form: SourceForm,
    pub tasks: Vec<LoopTask>,
}

/// Returns whether two tasks say that they change the same file, or one a directory that the
/// other changes something in.
pub fn overlap(one: &LoopTask, other: &LoopTask) -> bool {
    let meets = |a: &str, b: &str| {
        let (a, b) = (plain_path(a), plain_path(b));
        let holds = |dir: &str, path: &str| {
            dir.is_empty()
                || path
                    .strip_prefix(dir)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        holds(a, b) || holds(b, a)
    };
    one.touches.iter().any(|a| other.touches.iter().any(|b| meets(a, b)))
}

/// A path without what people put around it: `./src/**` is the directory `src`.
fn plain_path(path: &str) -> &str {
    let path = path.trim().trim_start_matches("./");
    let path = path
        .find(['*', '?', '['])
        .map_or(path, |glob| path[..glob].rfind('/').map_or("", |slash| &path[..slash]));
    path.trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touching(paths: &[&str]) -> LoopTask {
        let touches = paths.iter().map(|&path| path.to_owned()).collect();
        LoopTask { touches, ..LoopTask::default() }
    }

    #[test]
    fn tasks_overlap_where_they_share_a_file_or_a_directory_above_it() {
        for (one, other, expected) in [
            (&["src/a.rs"][..], &["src/a.rs"][..], true),
            (&["src"], &["src/a.rs"], true),
            (&["./src/"], &["src/b/c.rs"], true),
            (&["src/**"], &["src/b.rs"], true),
            (&["src/*.rs"], &["src/b.rs"], true),
            (&["src/a.rs"], &["src/a.rs.orig"], false),
            (&["src/a"], &["src/ab"], false),
            (&["docs", "src/a.rs"], &["tests", "docs/x.md"], true),
            (&["**"], &["anything"], true),
            (&[], &["src/a.rs"], false),
        ] {
            assert_eq!(overlap(&touching(one), &touching(other)), expected, "{one:?} {other:?}");
            assert_eq!(overlap(&touching(other), &touching(one)), expected, "{other:?} {one:?}");
        }
    }
}
