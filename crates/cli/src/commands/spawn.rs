use std::path::PathBuf;

use spore_app::{Error, Result, Spawn, Surroundings};
use spore_model::{Fault, Usd};

use super::flow::{read_named, some_time, some_word};
use super::orchestrate::{MOST_STDIN, dollars, read_text};
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Run one agent session, recorded and under control, and print its answer
///
/// The session works in the current directory (or `--cwd`), without a checkout, checks or a
/// verifier. Agents may call this themselves: nesting is counted, and at the limit the command
/// exits with 2 before anything is started.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore spawn --prompt \"explain src/main.rs\" --backend replay --scenario s.toml\n  spore spawn --prompt-file task.md --role verifier --json\n  git diff | spore spawn -"
)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct SpawnArgs {
    /// `-` reads the prompt from stdin
    #[arg(value_name = "-", group = "what", value_parser = ["-"])]
    stdin: Option<String>,
    /// What the agent is to do
    #[arg(long, value_name = "TEXT", group = "what")]
    prompt: Option<String>,
    /// Read the prompt from a file
    #[arg(long, value_name = "FILE", group = "what")]
    prompt_file: Option<PathBuf>,
    /// The role the session plays
    #[arg(long, value_name = "NAME", default_value = "operator")]
    role: String,
    /// The agent to use
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// The scenario that the replay agent plays
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// The model to use, by the agent's own name for it
    #[arg(long, value_name = "NAME", value_parser = some_word)]
    model: Option<String>,
    /// A file with instructions that go before the prompt
    #[arg(long, value_name = "FILE")]
    system_prompt: Option<PathBuf>,
    /// Tools the agent may use, by its own names, with commas between
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    allowed_tools: Vec<String>,
    /// Work in this directory
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Turns the session may take
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// How deep sessions may be nested
    #[arg(long, value_name = "N")]
    max_depth: Option<u32>,
    /// US dollars the session may cost
    #[arg(long, value_name = "USD", value_parser = dollars)]
    budget: Option<Usd>,
    /// Wall time of the session, such as 90s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = some_time)]
    timeout: Option<std::time::Duration>,
    /// Go on with this conversation, by the agent's own id of it
    #[arg(long, value_name = "SESSION")]
    resume: Option<String>,
    /// `json` is the same as `--json`
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"])]
    output_format: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &SpawnArgs) -> Result<u8> {
    if args.output_format.as_deref() == Some("json") {
        ui.answer_in_json();
    }
    let asked = Spawn {
        prompt: prompt(args)?,
        role: args.role.clone(),
        backend: args.backend.clone(),
        scenario: args.scenario.clone(),
        model: args.model.clone(),
        system_prompt: args.system_prompt.as_deref().map(read_file).transpose()?,
        allowed_tools: args.allowed_tools.clone(),
        cwd: args.cwd.clone(),
        max_turns: args.max_turns,
        max_depth: args.max_depth,
        budget: args.budget,
        timeout: args.timeout,
        resume: args.resume.clone(),
    };
    listen_for_signals(&around.interrupt)?;
    ui.show_details();
    let spawned = spore_app::spawn(around, &asked, ui)?;
    if let Some(reason) = &spawned.reason {
        ui.note(&format!("the session did not end well: {reason}"));
    }
    if spawned.park.is_some() {
        ui.note(&format!("it can be gone on with: spore resume {}", spawned.run.short()));
    }
    if !spawned.refused.is_empty() {
        let tools: Vec<&str> = spawned.refused.tools().map(|one| one.tool.as_str()).collect();
        let cure = format!("`--allowed-tools {}` lets them through", tools.join(","));
        ui.note(&format!("{}; {cure}", spawned.refused));
    }
    ui.answer(&spawned, || spawned.result.clone());
    Ok(spawned.outcome.exit_code())
}

fn prompt(args: &SpawnArgs) -> Result<String> {
    match (&args.prompt, &args.prompt_file) {
        (Some(text), _) => Ok(text.clone()),
        (None, Some(file)) => read_file(file),
        (None, None) => read_text("-"),
    }
}

fn read_file(path: &std::path::Path) -> Result<String> {
    if !path.exists() {
        let message = format!("cannot read {}: it is not there", spore_plain::path(path));
        return Err(Error::new(Fault::Usage, message));
    }
    // As much as may come on stdin.
    read_named(std::path::Path::new(""), path, MOST_STDIN)
}
