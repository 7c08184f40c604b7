//! The step of a run that needs a person: what is left for them to read.

use std::fmt::Write;

use spore_pipeline::Done;
use spore_plain::{fenced, inline, quoted};
use spore_runs::{BounceReport, RunReport};

use crate::base::run_refs;
use crate::base::title::title;
use crate::base::workspace::WORK;
use crate::report;
use crate::run::context::RunContext;
use crate::{ALLOW_SECRETS, Result};

/// Lines of a check's output, and things named, for each bounce.
const OUTPUT_LINES: usize = 30;
const NAMED: usize = 20;

impl RunContext<'_> {
    pub(crate) fn escalate(&mut self, bounce: u32, reason: &str) -> Result<Done> {
        let (workspace, journal) = (self.project.workspace, self.project.journal);
        let story = report::report(workspace, journal, self.run.id)?;
        let id = self.run.id.short();
        let text = format!(
            "# Escalated: {}\n\nA person is needed: {reason}\n\n{}\
             ## What to do\n\n\
             - Take over: the last state is in `git --git-dir=.spore/{WORK} diff {} {}`.\n\
             - Let it try anew, perhaps with a clearer task: `spore retry {id}`.\n\n\
             ## What is kept\n\n\
             - The task files, transcripts, diffs and gate logs of every bounce: this directory.\n\
             - The files as each bounce left them, but for secrets, as git refs, like the one \
             above.\n\n\
             `spore runs show {id}` tells the whole story.\n",
            title(&self.run.settings.task),
            tried(&story),
            &self.run.settings.base.as_str()[..12],
            run_refs::bounce(self.run.id, bounce),
        );
        self.project.around.write_file(&self.files().escalation(), text.as_bytes())?;
        Ok(Done::Escalated)
    }
}

/// Tells of each bounce what it fell short of.
fn tried(story: &RunReport) -> String {
    let mut text = String::from("## What was tried\n");
    for bounce in &story.bounces {
        let _ = write!(text, "\n### Attempt {}: {}\n\n", bounce.bounce, bounce.status);
        shortfall(&mut text, bounce);
    }
    text.push('\n');
    text
}

fn shortfall(text: &mut String, bounce: &BounceReport) {
    for line in &bounce.gates {
        let _ = writeln!(text, "- {}", inline(line, 300));
    }
    for name in bounce.failing.iter().take(NAMED) {
        let _ = writeln!(text, "- fails: {}", inline(name, 300));
    }
    for session in bounce.sessions.iter().filter(|session| !session.refused.is_empty()) {
        let _ = writeln!(text, "- {}: {}", session.role, inline(&session.refused.to_string(), 300));
    }
    if !bounce.left_out.is_empty() {
        let files = inline(&bounce.left_out.join(", "), 300);
        let _ = writeln!(text, "- left out of the commit: {files}");
    }
    for secret in bounce.secrets.iter().take(NAMED) {
        let _ = writeln!(text, "- secret: {}", inline(&secret.to_string(), 300));
    }
    if !bounce.secrets.is_empty() {
        let _ = writeln!(text, "- Where that is meant to be: {ALLOW_SECRETS}.");
    }
    if let Some(verdict) = &bounce.verdict {
        let _ = write!(text, "\nThe verifier:\n\n{}", quoted(&verdict.reason));
        for finding in verdict.findings.iter().take(NAMED) {
            text.push_str(&quoted(&format!("- {finding}")));
        }
    } else if bounce.gates.is_empty()
        && let Some(reason) = &bounce.reason
    {
        let _ = writeln!(text, "- {}", inline(reason, 300));
    }
    if !bounce.output.trim().is_empty() {
        let lines: Vec<&str> = bounce.output.trim_end().lines().collect();
        let last = &lines[lines.len().saturating_sub(OUTPUT_LINES)..];
        let _ = write!(text, "\nThe last of what failed:\n\n{}", fenced("", &last.join("\n")));
    }
}
