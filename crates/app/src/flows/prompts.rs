//! `spore prompt-lint`: holds the prompts of a project to what belongs into each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;
use spore_compose::{
    FlowFile, PromptKind, PromptProblem, lint_document, lint_flow_file, lint_prompt, prompt_files,
};
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
    if paths.is_empty() {
        let root = Workspace::find(around)?.root().to_owned();
        // Flows first: what they name as a prompt is one, wherever it is.
        let mut looker = PromptLooker::from(&root);
        for own in [".spore/flows", ".spore/agents", ".claude/agents", ".spore/prompts"] {
            looker.look(&root.join(own), DEEPEST)?;
        }
        return Ok(looker.lint);
    }
    let mut looker = PromptLooker::from(&around.cwd);
    for path in paths {
        let path = around.cwd.join(path);
        if !path.exists() {
            let message = format!("there is no {}", spore_plain::path(&path));
            return Err(Error::new(Fault::Usage, message).hint(
                "name a file or a directory with prompts, or none for those of the project",
            ));
        }
        looker.look(&path, DEEPEST)?;
    }
    Ok(looker.lint)
}

/// What was looked at so far, and where from.
struct PromptLooker<'a> {
    from: &'a Path,
    /// Prompts that flows name by their path.
    named: BTreeSet<PathBuf>,
    lint: PromptLint,
}

impl<'a> PromptLooker<'a> {
    fn from(from: &'a Path) -> Self {
        Self { from, named: BTreeSet::new(), lint: PromptLint::default() }
    }

    fn look(&mut self, path: &Path, deep: usize) -> Result<()> {
        let unread = |error| Error::io(format!("cannot read {}", spore_plain::path(path)), error);
        if path.is_dir() {
            if deep == 0 {
                return Ok(());
            }
            for below in paths_in(path).map_err(unread)? {
                self.look(&below, deep - 1)?;
            }
            return Ok(());
        }
        let is_named = deep == DEEPEST;
        let Some(text) = Text::of(path, is_named) else {
            // A person who names it would take it for looked at; a folder of the project need not be there.
            return match is_named && path.exists() {
                true => Err(no_prompt(path)),
                false => Ok(()),
            };
        };
        if self.named.contains(path) {
            return Ok(());
        }
        let words = read_text(path).map_err(unread)?;
        let problems = match text {
            Text::Prompt(kind) => lint_prompt(kind, &words),
            Text::Document => lint_document(&words),
            Text::Flow => {
                let flow = FlowFile { path: path.to_owned(), text: words };
                self.take(path, lint_flow_file(&flow));
                for file in prompt_files(&flow) {
                    self.look_at_named(&file)?;
                }
                return Ok(());
            }
        };
        self.take(path, problems);
        Ok(())
    }

    /// Looks at a prompt that a flow names. One that is not there, or elsewhere, is refused by the
    /// flow itself.
    fn look_at_named(&mut self, file: &str) -> Result<()> {
        let path = self.from.join(file);
        let is_inside = path.canonicalize().is_ok_and(|real| real.starts_with(self.from));
        if !is_inside || !self.named.insert(path.clone()) {
            return Ok(());
        }
        let words = read_text(&path).map_err(|error| {
            Error::io(format!("cannot read {}", spore_plain::path(&path)), error)
        })?;
        self.take(&path, lint_prompt(PromptKind::Task, &words));
        Ok(())
    }

    fn take(&mut self, path: &Path, problems: Vec<PromptProblem>) {
        let shown = path.strip_prefix(self.from).unwrap_or(path);
        self.lint.files += 1;
        self.lint.problems.extend(problems.into_iter().map(|one| LintedLine {
            file: spore_plain::path(shown),
            line: one.line,
            rule: one.rule.as_str().to_owned(),
            problem: one.to_string(),
        }));
    }
}

fn no_prompt(path: &Path) -> Error {
    let message = format!("{} is no text with prompts", spore_plain::path(path));
    Error::new(Fault::Usage, message).hint("prompts are in files that end with .md, .toml or .json")
}

/// What kind of text a file is, by its name and its place.
enum Text {
    Prompt(PromptKind),
    Flow,
    Document,
}

impl Text {
    /// Tells what a file is: `NAME.prompt.md` says what to do, another text in a folder of roles or
    /// prompts says who does it, a flow file holds prompts, and a document may show flow files. JSON
    /// is a flow file among flows, or where it is named itself.
    fn of(path: &Path, is_named: bool) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let folders: Vec<&str> =
            path.parent()?.components().filter_map(|part| part.as_os_str().to_str()).collect();
        let is_in = |names: &[&str]| folders.iter().rev().take(2).any(|one| names.contains(one));
        if name.ends_with(".toml") || name.ends_with(".json") && (is_named || is_in(&["flows"])) {
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
}
