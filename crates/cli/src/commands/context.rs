//! `spore context`: the task file for a sentence, without a run.

use std::io::Read;

use spore_app::{ContextAsked, Explained, Result, Surroundings};

use super::index::Bar;
use crate::ui::Ui;

/// Compile what an agent should know before it starts on a task
///
/// Prints the task file that a run would give its agent: where the work likely is, the code
/// that matters there, who calls it, and what earlier runs learnt. Needs no model.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore context \"print paths relative to the root\"\n  spore context - < issue.txt\n  spore context --json --rev HEAD~3 \"fix the parser\"\n  spore context --explain src/parser.rs \"fix the parser\"    why a file ranks where it does"
)]
pub(crate) struct ContextArgs {
    /// What is to be done; `-` reads it from stdin
    task: String,
    /// Compile for the tree of a commit, with the history that ends there
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
    /// Write for this role
    #[arg(long, value_name = "ROLE", default_value = "coder")]
    role: String,
    /// How long the task file may be, in estimated tokens [default: as long as that of a run]
    #[arg(long, value_name = "N")]
    tokens: Option<usize>,
    /// Which algorithm ranks the files
    #[arg(long, value_name = "NAME", value_enum, default_value_t = RankerName::Fitted)]
    ranker: RankerName,
    /// Use no vectors
    #[arg(long)]
    no_embed: bool,
    /// Say why this file ranks where it does, and nothing else
    #[arg(long, value_name = "FILE", conflicts_with = "ranker")]
    explain: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum RankerName {
    /// Weighted signals of text, paths and history
    Fitted,
    /// The plain algorithm that ours is measured against
    Seed,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &ContextArgs) -> Result<u8> {
    let asked = ContextAsked {
        task: task(&args.task)?,
        rev: args.rev.clone(),
        role: args.role.clone(),
        max_tokens: args.tokens,
        seed_ranker: args.ranker == RankerName::Seed,
        embed: !args.no_embed,
    };
    let bar = Bar::aside(ui);
    if let Some(path) = &args.explain {
        let explained = spore_app::explain_context(around, &asked, path, &bar)?;
        bar.clear();
        ui.answer(&explained, || explanation(&explained));
        return Ok(0);
    }
    let answer = spore_app::context(around, &asked, &bar)?;
    bar.clear();
    ui.answer(&answer, || answer.text.clone());
    Ok(0)
}

fn task(typed: &str) -> Result<String> {
    if typed != "-" {
        return Ok(typed.to_owned());
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|source| spore_app::Error::io("cannot read the task from stdin", source))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn explanation(explained: &Explained) -> String {
    let Explained { path, rank, of, score, why, .. } = explained;
    let path = spore_plain::name(path);
    let mut text = format!("{path} is number {rank} of {of}, with a score of {score:.3}\n");
    for reason in why {
        text.push_str(&format!("  {:+.3}  {}\n", reason.share, reason.signal));
    }
    text
}
