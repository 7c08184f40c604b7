//! `spore prompt-lint`: holds the prompts of a project to what belongs into each.

use std::path::{Path, PathBuf};

use serde::Serialize;
use spore_compose::{PromptKind, PromptProblem, lint_document, lint_flow_file, lint_prompt};
use spore_effects::files::{paths_in, read_text};
use spore_model::Fault;

use crate::{Error, Result, Surroundings, Workspace};

/// What was looked at, and what is wrong with it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct PromptLint {
    /// How many files were looked at.
    pub files: usize,
    pub problems: Vec<LintedLine>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LintedLine {
    pub file: String,
    pub line: usize,
    pub rule: String,
    pub problem: String,
}

/// How deep below a named directory prompts are looked for.
const DEEPEST: usize = 6;

/// Looks at the prompts below `paths`; where none is named, at those of the project.
pub fn lint_prompts(around: &Surroundings, paths: &[PathBuf]) -> Result<PromptLint> {
    let mut lint = PromptLint::default();
    if paths.is_empty() {
        let root = Workspace::find(around)?.root().to_owned();
        for own in [".spore/agents", ".claude/agents", ".spore/prompts", ".spore/flows"] {
            look(&root.join(own), &root, DEEPEST, &mut lint)?;
        }
        return Ok(lint);
    }
    for path in paths {
        let path = around.cwd.join(path);
        if !path.exists() {
            let message = format!("there is no {}", spore_plain::path(&path));
            return Err(Error::new(Fault::Usage, message).hint(
                "name a file or a directory with prompts, or none for those of the project",
            ));
        }
        look(&path, &around.cwd, DEEPEST, &mut lint)?;
    }
    Ok(lint)
}

fn look(path: &Path, from: &Path, deep: usize, lint: &mut PromptLint) -> Result<()> {
    let unread = |error| Error::io(format!("cannot read {}", spore_plain::path(path)), error);
    if path.is_dir() {
        if deep == 0 {
            return Ok(());
        }
        for below in paths_in(path).map_err(unread)? {
            look(&below, from, deep - 1, lint)?;
        }
        return Ok(());
    }
    let Some(text) = Text::of(path) else { return Ok(()) };
    let problems = text.problems(&read_text(path).map_err(unread)?);
    let shown = path.strip_prefix(from).unwrap_or(path);
    lint.files += 1;
    lint.problems.extend(problems.into_iter().map(|one| LintedLine {
        file: spore_plain::path(shown),
        line: one.line,
        rule: one.rule.as_str().to_owned(),
        problem: one.to_string(),
    }));
    Ok(())
}

/// What kind of text a file is, by its name and its place.
enum Text {
    Prompt(PromptKind),
    Flow,
    Document,
}

impl Text {
    /// Tells what a file is: `NAME.prompt.md` says what to do, another text in a folder of roles or
    /// prompts says who does it, a flow file holds prompts, and a document may show flow files.
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let folders: Vec<&str> =
            path.parent()?.components().filter_map(|part| part.as_os_str().to_str()).collect();
        let is_in = |names: &[&str]| folders.iter().rev().take(2).any(|one| names.contains(one));
        if name.ends_with(".toml") {
            return Some(Self::Flow);
        }
        if name.ends_with(".prompt.md") {
            let orders = is_in(&["orchestrators", "coordinators", "campaigns"]);
            return Some(Self::Prompt(if orders { PromptKind::Order } else { PromptKind::Task }));
        }
        let kind = match is_in(&["agents", "roles", "prompts"]) {
            true => Self::Prompt(PromptKind::System),
            false => Self::Document,
        };
        Some(kind).filter(|_| name.ends_with(".md"))
    }

    fn problems(&self, text: &str) -> Vec<PromptProblem> {
        match self {
            Self::Prompt(kind) => lint_prompt(*kind, text),
            Self::Flow => lint_flow_file(text),
            Self::Document => lint_document(text),
        }
    }
}
