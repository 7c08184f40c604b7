//! `spore mcp`: the graph as tools, for Spore's own sessions and for the user's agents.

mod install;
mod serve;

use std::net::SocketAddr;

use spore_app::{Result, Surroundings};

use crate::ui::Ui;

/// Serve the graph as tools to an MCP client
///
/// Speaks the Model Context Protocol on stdin and stdout, as clients start it. With `--http` it
/// listens on this machine instead, for clients that have its token. It reads only, unless told
/// otherwise. Inside of a run it serves what the run's own broker allows the session.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  spore mcp install                         let the clients in use here ask the graph\n  spore mcp --http 127.0.0.1:7400           for clients that do not start it themselves\n  spore mcp --allow-writes                  let the client add nodes, edges and flags"
)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    command: Option<McpCommand>,
    /// Listen on this loopback address; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// Offer create_node, create_edge and flag too
    #[arg(long)]
    allow_writes: bool,
}

#[derive(clap::Subcommand)]
enum McpCommand {
    Install(install::InstallArgs),
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &McpArgs) -> Result<u8> {
    match &args.command {
        Some(McpCommand::Install(args)) => install::run(ui, around, args),
        None => serve::run(ui, around, args),
    }
}
