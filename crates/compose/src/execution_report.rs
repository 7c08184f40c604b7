//! What became of a coordinator's session, in a document for people.

use spore_model::Run;

use crate::documents::{one_line, quotation};
use crate::phases::PhasesEnding;

/// What became of all phases, for people: made at every end, good or bad.
pub fn execution_report(run: &Run, ending: &PhasesEnding, timeline: &[String]) -> String {
    let mut text = format!(
        "# Execution report\n\n- Coordinator: {}\n- Run: {}\n- Trace: {}\n- Exit code: {}\n- {}\n\n\
         ## Phases\n\n| phase | status | exit code | grade | commit |\n|---|---|---|---|---|\n",
        one_line(&ending.manifest.coordinator),
        run.id,
        run.trace,
        ending.outcome.exit_code(),
        one_line(&ending.reason),
    );
    for phase in &ending.manifest.phases {
        let code = phase.exit_code.map_or_else(String::new, |code| code.to_string());
        let grade = phase.sentinel_grade.map_or_else(String::new, |grade| grade.to_string());
        let last = phase.orchestrators.last().and_then(|last| last.commit.as_ref());
        let commit = last.map_or_else(String::new, |commit| commit.to_string());
        let status = format!("{:?}", phase.status).to_lowercase();
        text.push_str(&format!("| {} | {status} | {code} | {grade} | {commit} |\n", phase.phase));
    }
    text.push_str("\n## Timeline\n\n");
    text.push_str(&quotation(&timeline.join("\n")));
    text
}
