//! Which gates a project has: those that the files of its base commit show, and those that its
//! configuration names. Never those of a change.

use spore_config::Config;
use spore_gates::Gate;
use spore_git::Repository;
use spore_model::{CommitId, Fault};

use crate::{Error, Result, Workspace};

/// The gates that the base tree shows, the configured ones, and the commands that a task asks for
/// beside them.
pub(crate) fn gates(
    workspace: &Workspace,
    repository: &Repository,
    base: &CommitId,
    config: &Config,
    more: &[String],
) -> Result<Vec<Gate>> {
    let mut gates = found(workspace, repository, base, config)?;
    let files = repository.list_files(base)?;
    let asked = more.iter().zip(1..).map(|(run, number)| asked_for(run, number, config, &files));
    gates = together(gates, asked.collect());
    for gate in &mut gates {
        gate.outputs.clone_from(&config.gates.outputs);
    }
    Ok(gates)
}

fn found(
    workspace: &Workspace,
    repository: &Repository,
    base: &CommitId,
    config: &Config,
) -> Result<Vec<Gate>> {
    let files = repository.list_files(base)?;
    let named = config.gates.commands.iter();
    let own: Vec<Gate> = named.map(|(name, command)| gate(name, command, config, &files)).collect();
    if config.gates.only && !own.is_empty() {
        return Ok(own);
    }
    let read = |path: &str| repository.read_file(base, path).ok().flatten();
    let detection = spore_gates::Detection { timeout: config.gates.timeout };
    let found = together(spore_gates::detect(&read, &files, &detection), own);
    if found.is_empty() {
        return Err(Error::new(
            Fault::Config,
            format!(
                "no build or test command was found in {}",
                spore_plain::path(workspace.root())
            ),
        )
        .hint("name one in .spore/config.toml:\n  [gates.commands.test]\n  run = \"make test\""));
    }
    Ok(found)
}

/// Returns the gates that were found and those that a person named, without doing anything twice.
fn together(mut found: Vec<Gate>, own: Vec<Gate>) -> Vec<Gate> {
    let is_same = |one: &Gate, other: &Gate| {
        one.name == other.name || (&one.command, &one.dir) == (&other.command, &other.dir)
    };
    found.retain(|gate| !own.iter().any(|other| is_same(gate, other)));
    found.extend(own);
    found
}

/// A gate as the configuration names it. The scripts that its command starts are as much a
/// part of it as its words are, so they are guarded.
fn gate(
    name: &str,
    command: &spore_config::GateCommand,
    config: &Config,
    files: &[String],
) -> Gate {
    let mut gate = Gate::new(
        name,
        &command.run,
        command.kind.parse().unwrap_or(spore_gates::GateKind::Test),
        command.parser.parse().unwrap_or(spore_gates::Parser::Plain),
        command.timeout.unwrap_or(config.gates.timeout),
    );
    let from_root = |path: &str| match command.dir.as_str() {
        "" => path.to_owned(),
        dir => format!("{dir}/{path}"),
    };
    let is_file = |path: &str| files.contains(&from_root(path));
    gate.guards = spore_gates::parts_of_command(&command.run, &is_file)
        .iter()
        .map(|part| match part.strip_prefix('/') {
            Some(path) => format!("/{}", from_root(path)),
            None => part.clone(),
        })
        .collect();
    gate.dir.clone_from(&command.dir);
    gate.reports.clone_from(&command.reports);
    gate.needs.clone_from(&command.needs);
    gate
}

/// What the names of checks begin with that a task asks for.
pub(crate) const TASK_GATE: &str = "task-";

fn asked_for(run: &str, number: u32, config: &Config, files: &[String]) -> Gate {
    let command = spore_config::GateCommand {
        run: run.to_owned(),
        kind: "test".to_owned(),
        parser: "plain".to_owned(),
        timeout: None,
        dir: String::new(),
        reports: Vec::new(),
        needs: Vec::new(),
    };
    gate(&format!("{TASK_GATE}{number}"), &command, config, files)
}

/// A checkout leaves submodules empty, and a build that needs them fails with an error that does
/// not name them.
pub(crate) fn refuse_submodules(
    repository: &Repository,
    base: &CommitId,
    config: &Config,
) -> Result<()> {
    let submodules = repository.submodules(base)?;
    let accepted = config.checkout.submodules == "empty" || !config.checkout.setup.is_empty();
    if submodules.is_empty() || accepted {
        return Ok(());
    }
    let names = submodules.join(", ");
    Err(Error::new(
        Fault::BadInput,
        format!("the repository has submodules, which Spore's checkouts leave empty: {names}"),
    )
    .hint(
        "set `[checkout] setup = [\"git submodule update --init\"]`, or `submodules = \"empty\"` \
         if the checks do not need them",
    ))
}
