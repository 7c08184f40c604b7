//! The step of a run that needs a person: what is left for them to read.

use spore_pipeline::Done;

use crate::Result;
use crate::base::run_refs;
use crate::base::title::title;
use crate::base::workspace::WORK;
use crate::run::context::RunContext;

impl RunContext<'_> {
    pub(crate) fn escalate(&mut self, bounce: u32, reason: &str) -> Result<Done> {
        let text = format!(
            "# Escalated: {}\n\nA person is needed: {reason}\n\n## What is kept\n\n\
             - The task files, transcripts, diffs and gate logs of every bounce: this directory.\n\
             - The files as each bounce left them, but for secrets, as git refs: \
             `git --git-dir=.spore/{WORK} diff {} {}` shows the last.\n\n\
             `spore runs show {}` tells the whole story.\n",
            title(&self.run.settings.task),
            &self.run.settings.base.as_str()[..12],
            run_refs::bounce(self.run.id, bounce),
            self.run.id.short()
        );
        self.project.around.write_file(&self.files().escalation(), text.as_bytes())?;
        Ok(Done::Escalated)
    }
}
