//! Whether what the gates need is on this machine: found out before an agent is paid.

use std::time::Duration;

use spore_effects::Tool;
use spore_gates::Gate;
use spore_model::Fault;

use crate::{Error, Result, Surroundings};

/// How long a program may think about its own version.
const PATIENCE: Duration = Duration::from_secs(20);

/// Something that a gate needs and that is not there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Missing {
    pub(crate) gate: String,
    pub(crate) need: String,
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
            if is_there(around, need) {
                there.push(need);
            } else {
                missing.push(Missing { gate: gate.name.clone(), need: need.to_owned() });
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
    let message =
        format!("the project cannot be checked on this machine without {}", all.join(", "));
    let program = first.need.split(' ').next_back().unwrap_or(&first.need);
    Err(Error::new(Fault::Missing, message).hint(format!(
        "install {program} and see that it is on PATH; or name other checks with \
         `spore config set gates.commands.test.run \"...\"`"
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

fn is_there(around: &Surroundings, need: &str) -> bool {
    let mut words = need.split_whitespace();
    let Some(program) = words.next() else { return true };
    // The one that the gate will have: a project's own toolchain may well lie in the project.
    let Some(program) = around.find_program(program) else { return false };
    let rest: Vec<&str> = words.collect();
    if rest.is_empty() {
        return true;
    }
    let asked = Tool::new(program).args(&rest).arg("--version").timeout(PATIENCE).output();
    asked.is_ok_and(|output| output.is_success())
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
