//! Whether what the gates need is on this machine: found out before an agent is paid.

use std::time::Duration;

use spore_effects::{Tool, ToolError};
use spore_gates::Gate;
use spore_model::Fault;

use crate::{Error, Result, Surroundings};

/// How long a program may think about its own version, and one that has to load a module.
const PATIENCE: Duration = Duration::from_secs(3);
const MODULE_PATIENCE: Duration = Duration::from_secs(20);

/// Something that a gate needs and that is not there, or is there and does not work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Missing {
    pub(crate) gate: String,
    pub(crate) need: String,
    /// How it fails, where it is there.
    pub(crate) broken: Option<String>,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.broken {
            Some(how) => write!(f, "{}, which {how}", self.need),
            None => f.write_str(&self.need),
        }
    }
}

/// Returns what is missing, each thing once.
pub(crate) fn missing(around: &Surroundings, gates: &[Gate]) -> Vec<Missing> {
    let mut missing: Vec<Missing> = Vec::new();
    let mut there: Vec<&str> = Vec::new();
    for gate in gates {
        // A gate of the person's own need not say it: its command does.
        let own = match gate.needs.is_empty() {
            true => program_of(&gate.command),
            false => None,
        };
        for need in gate.needs.iter().map(String::as_str).chain(own) {
            if there.contains(&need) || missing.iter().any(|one| one.need == need) {
                continue;
            }
            match look(around, need) {
                Ok(()) => there.push(need),
                Err(broken) => {
                    missing.push(Missing {
                        gate: gate.name.clone(),
                        need: need.to_owned(),
                        broken,
                    });
                }
            }
        }
    }
    missing
}

/// Refuses to go on where something is missing.
pub(crate) fn require(around: &Surroundings, gates: &[Gate]) -> Result<()> {
    let missing = missing(around, gates);
    let Some(first) = missing.first() else { return Ok(()) };
    let all: Vec<String> =
        missing.iter().map(|one| format!("`{}` for {}", one.need, one.gate)).collect();
    let program = first.need.split(' ').next_back().unwrap_or(&first.need);
    let (message, cure) = match &first.broken {
        Some(how) => (
            format!("the project cannot be checked on this machine: `{}` {how}", first.need),
            format!("mend {program}, which does not even tell its version"),
        ),
        None => (
            format!("the project cannot be checked on this machine without {}", all.join(", ")),
            format!("install {program} and see that it is on PATH"),
        ),
    };
    Err(Error::new(Fault::Missing, message).hint(format!(
        "{cure}; or name other checks with `spore config set gates.commands.test.run \"...\"`"
    )))
}

/// Returns the program that a command starts, where that is a plain word and not the shell's own.
fn program_of(command: &str) -> Option<&str> {
    const OF_THE_SHELL: &[&str] = &[
        "!", ".", ":", "[", "alias", "case", "cd", "command", "echo", "eval", "exec", "exit",
        "export", "false", "for", "if", "printf", "pwd", "read", "set", "shift", "test", "time",
        "trap", "true", "type", "ulimit", "umask", "unset", "until", "wait", "while",
    ];
    let is_plain =
        |word: &str| word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.+!:[".contains(&b));
    let is_assignment = |word: &&str| {
        word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && is_plain(name))
    };
    let first = command.split_whitespace().find(|word| !is_assignment(word))?;
    (is_plain(first) && !OF_THE_SHELL.contains(&first)).then_some(first)
}

/// Programs that are known to succeed when they are asked for their version. What any other makes of
/// the question is its own affair: `sh --version` is an error on many machines.
const TELL_THEIR_VERSION: &[&str] = &[
    "bun", "cargo", "cmake", "deno", "dotnet", "go", "gradle", "java", "mvn", "node", "npm",
    "pnpm", "python", "python3", "rustc", "yarn",
];

/// Looks for what a gate needs. A program that is there and does not work is as good as none: the
/// error says how it fails. One that only takes its time is left alone.
fn look(around: &Surroundings, need: &str) -> std::result::Result<(), Option<String>> {
    let mut words = need.split_whitespace();
    let Some(name) = words.next() else { return Ok(()) };
    // The one that the gate will have: a project's own toolchain may well lie in the project.
    let Some(program) = around.find_program(name) else { return Err(None) };
    let module: Vec<&str> = words.collect();
    if module.is_empty() && !TELL_THEIR_VERSION.contains(&name) {
        return Ok(());
    }
    let patience = if module.is_empty() { PATIENCE } else { MODULE_PATIENCE };
    let tool = Tool::new(program).args(&module).args(version_words(name)).timeout(patience);
    match tool.output() {
        Ok(output) if output.is_success() => Ok(()),
        Ok(_) if !module.is_empty() => Err(None),
        Ok(output) => Err(Some(format!("exits with {} when asked for its version", output.code))),
        Err(ToolError::TimedOut { .. }) => Ok(()),
        Err(ToolError::NotInstalled { .. }) => Err(None),
        Err(error @ ToolError::Io { .. }) => Err(Some(format!("cannot be started: {error}"))),
    }
}

/// Returns what makes a program tell its version. Most agree on that.
pub(crate) fn version_words(program: &str) -> &'static [&'static str] {
    match program {
        "go" => &["version"],
        // `--version` came with Java 9.
        "java" => &["-version"],
        _ => &["--version"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_the_program_it_starts() {
        for (command, program) in [
            ("make test", Some("make")),
            ("RUST_LOG=debug cargo test", Some("cargo")),
            ("sh check.sh", Some("sh")),
            ("cd web && npm test", None),
            ("./check.sh", None),
            ("$RUNNER test", None),
            ("(make; make test)", None),
            ("true", None),
            ("", None),
        ] {
            assert_eq!(program_of(command), program, "{command}");
        }
    }
}
