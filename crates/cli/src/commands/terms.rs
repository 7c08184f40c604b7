//! The flags of a run that hold for one task and for each of a list alike.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use spore_app::{Apply, LoopAsked, Orchestrate, UNLABELLED};

use super::flow::some_time;

/// How a task is worked on.
#[derive(clap::Args)]
pub(crate) struct TermArgs {
    /// Start from this commit in place of HEAD: a branch, a tag, an id
    ///
    /// The project's checks come from there, and verified work is a commit on top of it. With
    /// `--apply merge` it comes into your branch only if that has the commit, too.
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// The agent of every role that has none of its own in `[roles.*]`, and of every task of a list
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// The scenario that the replay agent plays
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// The model of every role: low, medium, high, or the agent's own name for one
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    model: Option<String>,
    /// The same for the coder alone
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    coder_model: Option<String>,
    /// How often the coder may try
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_bounces: Option<u32>,
    /// Turns of one agent session
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// Wall time of one agent session, such as 90s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = some_time)]
    timeout: Option<Duration>,
    /// Go on although the project's checks fail already; only new failures count then
    ///
    /// Old failures are known by the names of tests. A check that fails and names none is refused
    /// with its last lines, before any agent is started.
    #[arg(long)]
    allow_red: bool,
    /// Let the change touch tests and what configures them
    #[arg(long)]
    allow_test_changes: bool,
    /// What becomes of verified work, of a list at its end: branch, merge, patch or none
    #[arg(long, value_name = "HOW")]
    apply: Option<Apply>,
    /// A label for comparing runs; `no-context` tells sessions nothing but their task
    #[arg(long, value_name = "LABEL", value_parser = label)]
    experiment: Option<String>,
}

/// Characters of a label, at most: it is a cell of tables.
const MOST_LABEL: usize = 64;

/// Reads the label of an experiment, which people type again to ask for its runs.
fn label(typed: &str) -> Result<String, String> {
    let told = typed.trim();
    match told {
        "" => Err("a label is not empty".to_owned()),
        UNLABELLED => Err(format!("`{UNLABELLED}` is what runs without a label are called")),
        _ if told.chars().any(char::is_control) => Err("a label is one line of text".to_owned()),
        _ if told.chars().count() > MOST_LABEL => {
            Err(format!("a label has at most {MOST_LABEL} characters"))
        }
        _ => Ok(told.to_owned()),
    }
}

impl TermArgs {
    /// Fills in what holds for every task of a list.
    pub(super) fn of_list(&self, asked: LoopAsked) -> LoopAsked {
        LoopAsked {
            base: self.base.clone(),
            backend: self.backend.clone(),
            scenario: self.scenario.clone(),
            model: self.model.clone(),
            coder_model: self.coder_model.clone(),
            max_bounces: self.max_bounces,
            max_turns: self.max_turns,
            timeout: self.timeout,
            allow_red: self.allow_red,
            allow_test_changes: self.allow_test_changes,
            apply: self.apply,
            experiment: self.experiment.clone(),
            ..asked
        }
    }

    /// The same for one task.
    pub(super) fn of_task(&self, asked: Orchestrate) -> Orchestrate {
        Orchestrate {
            base: self.base.clone(),
            backend: self.backend.clone(),
            scenario: self.scenario.clone(),
            model: self.model.clone(),
            coder_model: self.coder_model.clone(),
            max_bounces: self.max_bounces,
            max_turns: self.max_turns,
            timeout: self.timeout,
            allow_red: self.allow_red,
            allow_test_changes: self.allow_test_changes,
            apply: self.apply,
            experiment: self.experiment.clone(),
            ..asked
        }
    }
}
