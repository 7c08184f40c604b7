mod check;

use spore_app::{AgentListing, Result, Surroundings};

use crate::ui::Ui;

/// See which agents can be used, and what each can do
#[derive(clap::Subcommand)]
pub(crate) enum AgentsCommand {
    List(AgentsListArgs),
    Check(check::CheckArgs),
}

/// List every agent: whether it is installed, its version, what it can do
///
/// Spore only asks each program for its `--version`. `-v` shows where each was found.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore agents list\n  spore agents list -v\n  spore agents list --json"
)]
pub(crate) struct AgentsListArgs {}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, command: &AgentsCommand) -> Result<u8> {
    match command {
        AgentsCommand::List(AgentsListArgs {}) => list(ui, around),
        AgentsCommand::Check(args) => check::run(ui, around, args),
    }
}

fn list(ui: &mut Ui, around: &Surroundings) -> Result<u8> {
    let agents = spore_app::list_agents(around)?;
    let verbose = ui.is_verbose();
    ui.answer(&agents, || table(&agents, verbose));
    Ok(0)
}

fn table(agents: &[AgentListing], verbose: bool) -> String {
    let mut text =
        format!("{:12}  {:12}  {:9}  {:7}  CAN\n", "AGENT", "VERSION", "SIGNED IN", "SANDBOX");
    for agent in agents {
        text.push_str(line(agent).trim_end());
        text.push('\n');
        if let Some(path) = agent.path.as_ref().filter(|_| verbose) {
            text.push_str(&format!("{:14}{}\n", "", spore_plain::path(path)));
        }
        if !agent.models.is_empty() {
            text.push_str(&format!("{:14}local: {}\n", "", agent.models.join(", ")));
        }
    }
    let missing: Vec<&AgentListing> =
        agents.iter().filter(|agent| !agent.remedy.is_empty()).collect();
    if !missing.is_empty() {
        text.push('\n');
    }
    for agent in missing {
        let verb = match (agent.found, agent.local) {
            (true, _) => "sign in",
            (false, true) => "no answer",
            (false, false) => "get it",
        };
        text.push_str(&format!("{:12}  {verb}: {}\n", agent.name, agent.remedy));
    }
    text
}

fn line(agent: &AgentListing) -> String {
    let version = match (&agent.version, agent.found, &agent.program) {
        (None, true, None) if agent.local => "local",
        (Some(version), ..) => version.as_str(),
        (None, true, Some(_)) => "found",
        (None, true, None) => "built in",
        (None, false, _) => "not found",
    };
    let signed_in = match agent.signed_in {
        Some(true) => "yes",
        Some(false) => "no",
        None => "-",
    };
    let can = agent.can;
    let abilities = [
        ("resume", can.resume),
        ("permissions", can.permissions),
        ("structured", can.structured_output),
        ("usage", can.usage),
        ("cost", can.cost),
        ("mcp", can.mcp),
    ];
    let able: Vec<&str> =
        abilities.into_iter().filter_map(|(word, able)| able.then_some(word)).collect();
    let able = able.join(" ");
    format!("{:12}  {version:12}  {signed_in:9}  {:7}  {able}", agent.name, agent.sandbox)
}
