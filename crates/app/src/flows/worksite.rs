//! The checkout that an exec works in, and the commit that its work becomes.
//!
//! An exec starts from the tip that those before it left. What it changed becomes one commit on
//! that, if the exec did what it was to do; else its files are kept by a ref and nothing starts
//! from them.

use sha2::{Digest, Sha256};
use spore_compose::{ArtifactMark, ChildEnd, ExecPlan, WorkLine};
use spore_git::{ChangeCaps, Checkout, FileChange};
use spore_model::{CommitId, Outcome, RefusedCalls, RunKind, SourceKind, StepKey, Ticket, TreeId};
use spore_store::StepEntry;

use super::branch::FlowBranch;
use super::flow::{ActiveFlow, LayerPlace};
use crate::Result;
use crate::base::checkouts::{CheckoutSettings, Checkouts, Snapshot};
use crate::base::error::bug;
use crate::base::files::remove_empty_dir;
use crate::base::run_refs;
use crate::base::secrets::secrets_in;
use crate::run::landing::apply::{CommitJudge, CommitStory, commit_message};

/// What an exec left in its checkout.
enum Work {
    /// The whole tree, which may be the one that it started from.
    Tree(TreeId),
    /// Nothing that could be kept, and why.
    Unfit(String),
}

/// Where an exec works.
#[derive(Clone, Copy)]
pub(crate) struct Worksite<'a> {
    pub(crate) ground: &'a ActiveFlow<'a>,
    pub(crate) place: &'a LayerPlace,
    pub(crate) plan: &'a ExecPlan,
    pub(crate) branch: &'a FlowBranch,
    /// What those before it left.
    pub(crate) start: &'a CommitId,
}

/// What the session of an exec said and was not let do.
#[derive(Clone, Copy)]
pub(crate) struct ExecSaid<'a> {
    pub(crate) end: &'a ChildEnd,
    pub(crate) result: &'a str,
    pub(crate) refused: &'a RefusedCalls,
}

impl Worksite<'_> {
    /// Lays out the checkout of the exec, or finds the one that is there.
    pub(crate) fn checkout(&self) -> Result<Checkout> {
        self.checkouts().coder()
    }

    /// Takes an exec that was cut short back to its start, and keeps what it left.
    pub(crate) fn begin_anew(&self, ticket: &Ticket) -> Result<()> {
        if let Work::Tree(tree) = self.stored()? {
            self.keep_left(&tree, ticket.attempt - 1)?;
        }
        self.checkouts().begin_coder_anew()
    }

    /// Turns what the session did into a commit, once, and gives its checkout up.
    pub(crate) fn settle(&self, said: ExecSaid<'_>) -> Result<ChildEnd> {
        let steps = self.ground.steps(self.place);
        let end =
            steps.once(&StepKey::commit(), |ticket, entry| self.keep_work(said, ticket, entry))?;
        self.checkouts().retire_coder()?;
        remove_empty_dir(&self.ground.workspace.run_state(self.place.run));
        Ok(end)
    }

    fn keep_work(
        &self,
        said: ExecSaid<'_>,
        ticket: &Ticket,
        entry: &mut StepEntry,
    ) -> Result<ChildEnd> {
        // What no commit has is no artifact, whatever the session left.
        let without = ChildEnd { artifact: None, artifact_mark: None, ..said.end.clone() };
        let failed = |reason: String| ChildEnd {
            outcome: Outcome::Failure,
            reason: Some(reason),
            ..without.clone()
        };
        let tree = match self.stored()? {
            Work::Tree(tree) => tree,
            Work::Unfit(_) if said.end.outcome != Outcome::Success => return Ok(without),
            Work::Unfit(why) => return Ok(failed(why)),
        };
        let attempt = self.last_attempt()?;
        if said.end.outcome != Outcome::Success {
            self.keep_left(&tree, attempt)?;
            return Ok(without);
        }
        let repository = &self.branch.repository;
        let is_changed = tree != repository.tree_of(self.start)?;
        if is_changed && self.plan.reads_only {
            self.keep_left(&tree, attempt)?;
            return Ok(failed("it changed files, and was to change none".to_owned()));
        }
        if let Some(file) = self.strays(&tree)? {
            self.keep_left(&tree, attempt)?;
            let dir = self.plan.writes_below.as_deref().unwrap_or_default();
            return Ok(failed(format!("it changed {file}, and was to change {dir} alone")));
        }
        let commit = match is_changed {
            true => self.commit(&tree, said, ticket)?,
            false => self.start.clone(),
        };
        let mark = self.mark_of_artifact(&commit)?;
        if let (Some(path), None) = (&self.plan.artifact, &mark) {
            self.keep_left(&tree, attempt)?;
            return Ok(failed(lacks(self.plan, path, said.refused)));
        }
        // What was there before says nothing of this exec.
        if let (Some(path), Some(mark)) = (&self.plan.artifact, &mark)
            && self.mark_of_artifact(self.start)?.is_some_and(|was| was.hash == mark.hash)
            && !self.checkouts().is_written_by_coder(path)
        {
            self.keep_left(&tree, attempt)?;
            return Ok(failed(format!("it left {path} as it was before")));
        }
        let artifact = self.plan.artifact.clone();
        let end = ChildEnd { artifact, artifact_mark: mark, ..said.end.clone() };
        if !is_changed {
            return Ok(end);
        }
        repository.set_ref(&run_refs::own(self.place.run, "result"), &commit)?;
        let payload = serde_json::json!({ "commit": commit, "base": self.start, "tree": tree });
        let event =
            self.ground.event(SourceKind::Git, "flow", "commit.created", self.place.run, payload);
        entry.events.push(event);
        let line = WorkLine { base: self.start.clone(), tip: commit };
        Ok(ChildEnd { line: Some(line), ..end })
    }

    /// Returns a file that was changed outside of where all changes are to be.
    fn strays(&self, tree: &TreeId) -> Result<Option<String>> {
        let Some(dir) = &self.plan.writes_below else { return Ok(None) };
        let repository = &self.branch.repository;
        let diff = repository.diff(&repository.tree_of(self.start)?, tree, 0)?;
        // A file that was moved here is gone there.
        let names = diff.files.into_iter().flat_map(|file| match file.status {
            FileChange::Renamed { from } => vec![from, file.path],
            _ => vec![file.path],
        });
        let stray = names.into_iter().find(|path| !path.starts_with(dir.as_str()));
        Ok(stray.map(|path| spore_plain::code(&path, 200)))
    }

    /// Stores what is in the checkout.
    fn stored(&self) -> Result<Work> {
        let checkouts = self.checkouts();
        if !checkouts.has_coder() {
            return Ok(Work::Unfit("its checkout is gone, and its work with it".to_owned()));
        }
        let tree = match checkouts.snapshot(&checkouts.coder()?)? {
            Snapshot::Taken(tree) => tree,
            Snapshot::Refused(why) => return Ok(Work::Unfit(why)),
        };
        let config = self.ground.config;
        let (repository, known) = (&self.branch.repository, self.ground.around.secrets());
        let allowed = &config.commit.allow_secrets;
        let from = repository.tree_of(self.start)?;
        if tree == from {
            return Ok(Work::Tree(tree));
        }
        let found = secrets_in(repository, &from, &tree, &known, allowed)?;
        Ok(match found.first() {
            None => Work::Tree(tree),
            // No ref keeps a secret.
            Some(secret) => {
                let file = spore_secrets::strike_out(&known.strike(&secret.file));
                let file = spore_plain::code(&file, 200);
                Work::Unfit(format!("what looks like {} is in {file}", secret.rule))
            }
        })
    }

    /// The newest attempt of its session: what an earlier one left has a ref of its own.
    fn last_attempt(&self) -> Result<u32> {
        let sessions = self.ground.journal.children(self.place.run)?;
        let sessions = sessions.iter().filter(|run| run.kind == RunKind::Session);
        Ok(sessions.map(|run| run.attempt).max().unwrap_or(1))
    }

    /// Keeps files that nothing starts from, for people to look at.
    fn keep_left(&self, tree: &TreeId, attempt: u32) -> Result<()> {
        let repository = &self.branch.repository;
        if *tree == repository.tree_of(self.start)? {
            return Ok(());
        }
        let message = format!("left behind by run {}", self.place.run);
        let started = self.ground.journal.run(self.place.run)?;
        let when = started.map_or_else(|| self.ground.now(), |run| run.started);
        let commit = repository.commit_tree(tree, self.start, &message, when)?;
        Ok(repository.set_ref(&run_refs::left(self.place.run, 1, attempt), &commit)?)
    }

    fn mark_of_artifact(&self, commit: &CommitId) -> Result<Option<ArtifactMark>> {
        let Some(path) = &self.plan.artifact else { return Ok(None) };
        let content = self.branch.repository.read_file(commit, path)?;
        let content = content.filter(|content| !content.is_empty());
        Ok(content.map(|content| ArtifactMark {
            hash: hash(&content),
            bytes: content.len() as u64,
            commit: commit.clone(),
        }))
    }

    fn commit(&self, tree: &TreeId, said: ExecSaid<'_>, ticket: &Ticket) -> Result<CommitId> {
        let repository = &self.branch.repository;
        let from = repository.tree_of(self.start)?;
        let diff = repository.diff(&from, tree, 0)?;
        let changed: Vec<String> = diff.files.into_iter().map(|file| file.path).collect();
        let message = commit_message(&CommitStory {
            task: &format!("{} {}", self.place.name, self.plan.target),
            subject: "flow: ",
            run: self.place.run,
            tree,
            said: said.result,
            changed: &changed,
            judged: CommitJudge::Unjudged { role: &self.plan.role },
        });
        let message = self.ground.around.secrets().strike(&message).into_owned();
        let when = ticket.time().map_err(bug)?;
        Ok(repository.commit_tree(tree, self.start, &message, when)?)
    }

    fn checkouts(&self) -> Checkouts<'_> {
        let config = self.ground.config;
        Checkouts {
            around: self.ground.around,
            workspace: self.ground.workspace,
            repository: &self.branch.repository,
            run: self.place.run,
            settings: CheckoutSettings {
                base: self.start,
                trusted: &self.branch.base,
                exclude: &config.commit.exclude,
                allow: &config.commit.allow,
                caps: ChangeCaps {
                    bytes: config.commit.max_bytes,
                    files: u64::from(config.commit.max_files),
                },
                setup: &config.checkout.setup,
                copy: &config.checkout.copy,
                max_bounces: 1,
            },
        }
    }
}

/// Why an exec fails that did not leave its artifact.
pub(crate) fn lacks(plan: &ExecPlan, path: &str, refused: &RefusedCalls) -> String {
    match refused.is_empty() {
        true => format!("it left no {path} that a commit takes"),
        false => format!("it left no {path} that a commit takes: {refused}; {}", cure(plan)),
    }
}

/// What lets an exec use the tools that it was refused.
pub(crate) fn cure(plan: &ExecPlan) -> String {
    format!("`allowed_tools` of the executor {} lets them through", plan.executor)
}

/// The hash by which an artifact is known again.
pub(crate) fn hash(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}
