use spore_app::{Result, Surroundings};
use spore_mcp::{InstallAsked, InstallState, InstalledEntry, McpClient, McpScope};

use crate::ui::Ui;

/// Write Spore into a client's own settings, so that it starts `spore mcp` by itself
///
/// Everything else in the settings stays as it is, comments and order too. A second time changes
/// nothing; `--undo` gives back what was there before.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore mcp install                       for every client that is in use here\n  spore mcp install --client claude       .mcp.json of this project\n  spore mcp install --client cursor --scope user\n  spore mcp install --dry-run             only show what would be written\n  spore mcp install --undo"
)]
pub(crate) struct InstallArgs {
    /// claude, codex, opencode, gemini, cursor or vscode; all that are in use if left out
    #[arg(long, value_name = "NAME")]
    client: Option<McpClient>,
    /// project or user; the project's settings where the client has any if left out
    #[arg(long, value_name = "WHOSE")]
    scope: Option<McpScope>,
    /// Take the entry out again
    #[arg(long)]
    undo: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &InstallArgs) -> Result<u8> {
    let asked = InstallAsked {
        client: args.client,
        scope: args.scope,
        undo: args.undo,
        dry_run: args.dry_run,
    };
    let done = spore_mcp::install_mcp(around, &asked)?;
    ui.answer(&done, || done.iter().map(told).collect());
    Ok(0)
}

fn told(done: &InstalledEntry) -> String {
    let InstalledEntry { client, file, .. } = done;
    let line = match done.state {
        InstallState::Written => format!("{client}: written to {file}"),
        InstallState::Unchanged => format!("{client}: already in {file}"),
        InstallState::Removed => format!("{client}: taken out of {file}"),
        InstallState::Absent => format!("{client}: not in {file}"),
        InstallState::Planned => format!("{client}: would change {file}"),
    };
    format!("{line}\n{}", done.diff)
}
