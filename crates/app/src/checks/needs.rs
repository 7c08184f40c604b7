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
        for need in &gate.needs {
            if there.contains(&need.as_str()) || missing.iter().any(|one| one.need == *need) {
                continue;
            }
            if is_there(around, need) {
                there.push(need);
            } else {
                missing.push(Missing { gate: gate.name.clone(), need: need.clone() });
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
