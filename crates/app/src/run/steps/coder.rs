//! The steps of a coder: its session, and the tree it leaves.

use spore_agent::Conversation;
use spore_context::task_file::{Before, RoleTurn};
use spore_model::{Finding, Ticket};
use spore_pipeline::{Done, Evidence, Shortfall, Step};

use crate::base::checkouts::Snapshot;
use crate::base::run_refs;
use crate::base::secrets::secrets_in;
use crate::report::diff::told_diff;
use crate::run::context::RunContext;
use crate::run::left::BegunSession;
use crate::run::sessions::StepSession;
use crate::{Result, Update};

/// What a coder is told of the bounce before, and the conversation it was told in.
#[derive(Clone, Copy)]
pub(crate) struct Talk<'a> {
    pub(crate) evidence: Option<&'a Evidence>,
    pub(crate) conversation: Option<&'a str>,
}

impl RunContext<'_> {
    pub(crate) fn prepare(&mut self) -> Result<Done> {
        let base = self.run.settings.base.clone();
        self.set_ref(&run_refs::own(self.run.id, "base"), &base)?;
        if !self.run.settings.is_merge() {
            self.checkouts().coder()?;
        }
        let tree = self.project.repository.tree_of(&base)?;
        Ok(Done::Prepared { base, tree })
    }

    pub(crate) fn code(
        &mut self,
        step: &Step,
        ticket: &Ticket,
        bounce: u32,
        talk: Talk<'_>,
    ) -> Result<Done> {
        if let Some(stop) = self.out_of_budget() {
            return Ok(stop);
        }
        let begun = BegunSession {
            role: "coder",
            bounce,
            was_there: self.checkouts().has_coder(),
            checkout: self.coder_checkout(bounce)?,
            start: self.start_of(bounce)?,
            files: self.files().coder(bounce),
            earlier: talk.resumed(),
        };
        let footing = self.footing(ticket, &begun)?;
        let at = self.run.settings.base.clone();
        let evidence = talk.evidence.map(Evidence::to_markdown);
        let red_base = talk.evidence.is_some_and(|one| one.shortfall == Shortfall::RedBase);
        let before = match &evidence {
            Some(evidence) if red_base => Before::FailsAlready { evidence },
            Some(evidence) => Before::FellShort { evidence },
            None => Before::Nothing,
        };
        let turn = RoleTurn::Bounce { bounce, of: self.run.settings.max_bounces };
        let findings = self.findings("coder", &at, &[]);
        let (prompt, brief) = self.task_file(ticket, "coder", turn, before, findings)?;
        let asked = StepSession {
            role: "coder",
            bounce,
            conversation: footing.conversation(&prompt),
            prompt: footing.prompt(prompt),
            fresh: footing.fresh_start(),
            keeps_home: true,
            dir: begun.checkout.dir().to_owned(),
            at: begun.start,
            files: begun.files,
            brief,
            commands: None,
        };
        let (summary, _) = self.run_session(step, ticket, asked)?;
        self.book_if_stopped("coder", &summary)?;
        Ok(Done::Coder(summary))
    }

    pub(crate) fn snapshot(&mut self, ticket: &Ticket, bounce: u32) -> Result<Done> {
        let checkout = self.coder_checkout(bounce)?;
        let mut left_out = Vec::new();
        let taken = self.checkouts().snapshot(&checkout)?;
        let (tree, refused) = match taken {
            Snapshot::Taken(tree) => {
                left_out = self.left_out(&checkout)?;
                (tree, None)
            }
            // What the bounce began with stays the last state that can be gone back to.
            Snapshot::Refused(why) => {
                let start = self.start_of(bounce)?;
                (self.project.repository.tree_of(&start)?, Some(why))
            }
        };
        let commit = self.commit_for_checks(&tree, ticket)?;
        self.set_ref(&run_refs::bounce(self.run.id, bounce), &commit)?;
        let diff = self.diff(&tree)?;
        let base = self.run.settings.base.clone();
        let secrets = secrets_in(
            self.project.repository,
            &base,
            &tree,
            &self.project.around.secrets(),
            &self.project.config.commit.allow_secrets,
        )?;
        let text = told_diff(&diff);
        let text = if secrets.is_empty() { text } else { spore_secrets::strike_out(&text) };
        self.project.around.write_file(&self.files().diff(bounce), text.as_bytes())?;
        let changed_files = u32::try_from(diff.files.len()).unwrap_or(u32::MAX);
        self.progress.update(&Update::Snapshot { files: changed_files });
        let secrets = secrets.into_iter().map(|secret| Finding {
            message: match secret.line {
                Some(_) => format!("looks like {}", secret.rule),
                None => format!("the name of the file looks like {}", secret.rule),
            },
            // Findings are told to the next coder, and kept.
            file: Some(self.struck(&secret.file)),
            line: secret.line,
        });
        let secrets: Vec<Finding> = secrets.collect();
        if !secrets.is_empty() {
            self.progress.update(&Update::Secrets { found: secrets.clone() });
        }
        Ok(Done::Snapshot { tree, changed_files, secrets, refused, left_out })
    }

    /// Names what was edited in the checkout and that no commit takes, and tells it.
    fn left_out(&mut self, checkout: &spore_git::Checkout) -> Result<Vec<String>> {
        let files = self.checkouts().left_out(checkout)?;
        let files: Vec<String> = files.iter().map(|name| self.struck(name)).collect();
        if !files.is_empty() {
            self.progress.update(&Update::LeftOut { files: files.clone() });
        }
        Ok(files)
    }

    /// Returns a name without secrets, whichever kind they are.
    fn struck(&self, name: &str) -> String {
        spore_secrets::strike_out(&self.project.around.secrets().strike(name))
    }

    /// One session of a role that works alone.
    pub(crate) fn play_alone(&mut self, step: &Step, ticket: &Ticket, role: &str) -> Result<Done> {
        if let Some(stop) = self.out_of_budget() {
            return Ok(stop);
        }
        let base = self.run.settings.base.clone();
        let begun = BegunSession {
            role,
            bounce: 1,
            was_there: self.checkouts().has_coder(),
            checkout: self.coder_checkout(1)?,
            start: base.clone(),
            files: self.files().role(role),
            earlier: None,
        };
        let footing = self.footing(ticket, &begun)?;
        let findings = self.findings(role, &base, &[]);
        let (turn, before) = (RoleTurn::Alone, Before::Nothing);
        let (prompt, brief) = self.task_file(ticket, role, turn, before, findings)?;
        let asked = StepSession {
            role,
            bounce: 0,
            conversation: footing.conversation(&prompt),
            prompt: footing.prompt(prompt),
            fresh: footing.fresh_start(),
            keeps_home: true,
            dir: begun.checkout.dir().to_owned(),
            at: base,
            files: begun.files,
            brief,
            commands: None,
        };
        let (summary, _) = self.run_session(step, ticket, asked)?;
        self.book_if_stopped(role, &summary)?;
        Ok(Done::Solo(summary))
    }
}

impl Talk<'_> {
    /// What to say in the conversation that is gone on with: only what is new.
    fn resumed(self) -> Option<Conversation> {
        Some(Conversation {
            session_id: self.conversation?.to_owned(),
            prompt: again(self.evidence?),
        })
    }
}

/// What a coder is told in the conversation it already had: what fell short, and no more.
fn again(evidence: &Evidence) -> String {
    format!(
        "{}\nThe task and the checks are as before, and the files are as you left them. Mend what \
         fell short, then end with a short account of the whole change as it is now.\n",
        evidence.to_markdown()
    )
}
