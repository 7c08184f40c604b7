//! The person's list, read, and the commit that a loop over it begins from.

use spore_git::Repository;
use spore_model::{CommitId, Fault};
use spore_pipeline::{SourceForm, TaskList, read_tasks};

use super::request::{LoopAsked, TaskSource};
use crate::base::files::read_text;
use crate::{Error, Result, Surroundings};

/// A list as it was read.
pub(crate) struct ReadList {
    /// The person's file from the root of the file system, or `-`.
    pub(crate) source: String,
    pub(crate) text: String,
    pub(crate) list: TaskList,
}

/// Reads the person's list.
pub(crate) fn read_list(around: &Surroundings, asked: &LoopAsked) -> Result<ReadList> {
    let (source, text) = match &asked.source {
        TaskSource::Text(text) => ("-".to_owned(), text.clone()),
        TaskSource::File(path) => {
            let path = around.cwd.join(path);
            let missing = || {
                let message = format!("there is no file {}", spore_plain::path(&path));
                Error::new(Fault::Usage, message)
                    .hint("write a task a line into it; `-` reads them from stdin")
            };
            let real = path.canonicalize().map_err(|_| missing())?;
            if !real.is_file() {
                let message = format!("{} is no file", spore_plain::path(&path));
                return Err(Error::new(Fault::Usage, message)
                    .hint("name a file with a task a line; `-` reads them from stdin"));
            }
            let text = read_text(&real)?.ok_or_else(missing)?;
            crate::base::workspace::refuse_unless_text(&real, Fault::Usage)?;
            (real.to_string_lossy().into_owned(), text)
        }
    };
    let list = read_tasks(&text).map_err(|error| {
        let named = if source == "-" { "the list" } else { &source };
        Error::new(Fault::BadInput, format!("{named}: {error}"))
            .hint("`spore loop --help` shows how a list is written")
    })?;
    if list.tasks.is_empty() {
        return Err(Error::new(Fault::BadInput, "there is no task in the list")
            .hint("write one a line; lines that begin with # mean nothing"));
    }
    if asked.tick && (list.form != SourceForm::CheckList || source == "-") {
        let message = "`--tick` ticks boxes in a file, and this list has none (`- [ ] task`)";
        return Err(Error::new(Fault::Usage, message).hint("leave `--tick` out"));
    }
    Ok(ReadList { source, text, list })
}

/// The commit that a new loop begins from.
pub(crate) fn head(repository: &Repository, asked: &LoopAsked) -> Result<CommitId> {
    match &asked.base {
        None => Ok(repository.head()?),
        Some(revision) => repository.resolve(revision).map_err(|error| {
            Error::new(Fault::Usage, format!("--base {revision:?} names no commit"))
                .because(error)
                .hint("name a branch, a tag or a commit of this repository")
        }),
    }
}
