use std::path::PathBuf;

use spore_app::{Result, Surroundings, counted};

use crate::ui::Ui;

/// Check that prompts say what to do, and system prompts who does it and how
///
/// Looks at `.spore/agents`, `.claude/agents`, `.spore/prompts` and `.spore/flows`, or at the files
/// and directories you name. Errors, each with its line: a role definition in a prompt, a path in
/// a system prompt, the order of stages in the prompt of an orchestrator, coordinator or campaign.
/// A file `NAME.prompt.md` is a prompt; any other in a folder of agents, roles or prompts is a system
/// prompt; of other documents the TOML blocks are looked at. Exits with 1 when anything is wrong.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore prompt-lint\n  spore prompt-lint README.md .spore/flows"
)]
pub(crate) struct PromptLintArgs {
    /// Files and directories to look at
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &PromptLintArgs) -> Result<u8> {
    let lint = spore_app::lint_prompts(around, &args.paths)?;
    ui.answer(&lint, || {
        let mut text = String::new();
        for one in &lint.problems {
            text.push_str(&format!("{}:{}: {}\n", one.file, one.line, one.problem));
        }
        let files = counted(u32::try_from(lint.files).unwrap_or(u32::MAX), "file");
        let wrong = u32::try_from(lint.problems.len()).unwrap_or(u32::MAX);
        text.push_str(&match wrong {
            0 => format!("{files} looked at, nothing wrong.\n"),
            wrong => format!("{files} looked at, {} wrong.\n", counted(wrong, "line")),
        });
        text
    });
    Ok(u8::from(!lint.problems.is_empty()))
}
