//! Who has won, what becomes of the others, and of the work.

use serde::{Deserialize, Serialize};
use serde_json::json;
use spore_model::{
    Begun, CommitId, EffectClass, Fault, Outcome, Park, Run, RunId, RunState, RunStatus,
    SourceKind, StepKey, Ticket, Usd,
};
use spore_pipeline::Done;
use spore_runs::{Applied, Apply, UnknownApply};
use spore_store::RunChange;

use super::active::Race;
use crate::base::error::bug;
use crate::base::run_refs;
use crate::base::step::recorded;
use crate::base::totals;
use crate::run::landing::apply::{ApplyEnd, Brought, Site, applied_of, apply, outcome_of};
use crate::run::landing::merge::{MERGES, MergeAsked, MergePlace, brought, planned_merge};
use crate::run::landing::merging::integrate;
use crate::run::request::Orchestrate;
use crate::run::settings::MergeEntry;
use crate::run::start::{Under, within};
use crate::stopping::abandon::{GivenUp, give_up};
use crate::{Error, Progress, Result, Update};

/// What has to be waited for, as a row has it.
pub(super) type Wait = (Outcome, Park, String);

impl Race<'_> {
    fn winner_key() -> StepKey {
        StepKey::named("winner")
    }

    /// Returns the decision, if there is one: a run, or that no racer has won.
    pub(super) fn winner_on_record(&self) -> Result<Option<Option<RunId>>> {
        let decision = recorded::<WinnerChoice>(self.journal, self.id, &Self::winner_key())?;
        Ok(decision.map(|decision| decision.run()))
    }

    pub(super) fn record_winner(&self, run: RunId) -> Result<()> {
        self.record(Some(run), None).map(|_| ())
    }

    /// The first decision counts.
    fn record(&self, run: Option<RunId>, how: Option<String>) -> Result<Option<RunId>> {
        let decision = self.steps().once(&Self::winner_key(), |_, entry| {
            let payload = json!({ "run": run, "how": how });
            let event =
                self.events().make(SourceKind::Runner, "race", "race.won", self.id, payload);
            entry.events.push(event);
            Ok(match how {
                Some(how) => WinnerChoice::Compared { run, how },
                None => WinnerChoice::First(run),
            })
        })?;
        Ok(decision.run())
    }

    /// Settles which racer has won, now that none runs any more.
    pub(super) fn settle_winner(
        &self,
        progress: &mut dyn Progress,
    ) -> Result<std::result::Result<Option<RunId>, Wait>> {
        if let Some(winner) = self.winner_on_record()? {
            return Ok(Ok(winner));
        }
        let mut holding = self.rows()?;
        holding.retain(|run| run.status(false) == RunStatus::Verified);
        // A verifier chooses by number, so the order in which it is asked must be one that a resumed race
        // finds again; which ended first depends on the process that went on with it.
        if !self.settings.best {
            holding.sort_by_key(|run| (run.ended, run.id));
        }
        let (winner, how) = match &holding[..] {
            [] => (None, None),
            [only] if self.settings.best => (Some(only.id), Some("no other holds".to_owned())),
            several if self.settings.best => match self.compare(several, progress)? {
                Ok((winner, how)) => (Some(winner), Some(how)),
                Err(wait) => return Ok(Err(wait)),
            },
            [first, ..] => (Some(first.id), None),
        };
        Ok(Ok(self.record(winner, how)?))
    }

    /// Lets a verifier compare what holds. Where it says nothing that can be read, the cheapest wins.
    fn compare(
        &self,
        holding: &[Run],
        progress: &mut dyn Progress,
    ) -> Result<std::result::Result<(RunId, String), Wait>> {
        let asked = &self.settings.asked;
        let nonce = self.settings.comparison.to_string();
        let asked = Orchestrate {
            task: self.question(holding, &nonce)?,
            base: Some(self.settings.base.to_string()),
            agent: Some("verifier".to_owned()),
            budget: Some(self.left()?),
            apply: Some(Apply::None),
            summarize: Some(false),
            fix_red: false,
            hold_out: false,
            ..asked.clone()
        };
        let under = Under {
            id: self.settings.comparison,
            parent: self.id,
            trace: self.trace.clone(),
            depth: self.depth + 1,
            nesting: self.settings.nesting,
        };
        let report = within(self.around, &asked, &under, progress)?;
        if report.run.is_open() {
            let reason = report.run.reason.clone().unwrap_or_default();
            let outcome = report.run.outcome.unwrap_or(Outcome::Interrupted);
            return Ok(Err((outcome, report.run.park.unwrap_or(Park::Interrupt), reason)));
        }
        let answer = report.answer.unwrap_or_default();
        let chosen = chosen(&answer, &nonce, holding.len());
        let cheapest = || holding.iter().min_by_key(|run| (run.cost.cost_usd, run.ended));
        let preferred = chosen.as_ref().and_then(|(at, _)| holding.get(*at));
        let winner = preferred.or_else(cheapest);
        let winner = winner.ok_or_else(|| Error::new(Fault::Bug, "nobody was compared"))?;
        let (how, told) = match chosen {
            Some((_, why)) if why.is_empty() => ("the verifier prefers", "the verifier prefers it"),
            Some((_, ref why)) => ("the verifier prefers", why.as_str()),
            None => (
                "the verifier names none, so the cheapest wins:",
                "the verifier names none, and it was the cheapest",
            ),
        };
        let line = format!("{how} {}", self.name_of(self.place_of(winner.id)));
        progress.update(&Update::Relayed { line });
        Ok(Ok((winner.id, told.to_owned())))
    }

    fn question(&self, holding: &[Run], nonce: &str) -> Result<String> {
        let cap = usize::try_from(self.config.diff.cap_bytes).unwrap_or(usize::MAX);
        let cap = cap / holding.len().max(1);
        let mut text = format!(
            "{} changes to this project were made for one task, each by itself. The project's \
             checks are green on every one of them, and each was judged to do the task. Compare \
             them, and say which is best: right in the cases that are easily missed, small, in the \
             voice of the code around it. Change nothing.\n\nThe task:\n\n{}",
            holding.len(),
            spore_plain::quoted(&self.settings.asked.task)
        );
        for (at, run) in holding.iter().enumerate() {
            let tree = run.tree_hash.clone().ok_or_else(|| {
                Error::new(Fault::Bug, format!("run {} holds without a tree", run.id))
            })?;
            let base = self.repository.tree_of(&self.settings.base)?;
            let diff = self.repository.diff(&base, &tree, cap)?;
            let cut = if diff.truncated { " (its beginning)" } else { "" };
            text.push_str(&format!(
                "\nChange {}{cut}:\n\n{}",
                at + 1,
                spore_plain::quoted(&diff.text)
            ));
        }
        text.push_str(&format!(
            "\nEnd with one line, and nothing behind it, in which N is the number of the best \
             change:\n<verdict>{{\"nonce\": \"{nonce}\", \"choice\": N, \"reason\": \"in a sentence\"}}\
             </verdict>\n"
        ));
        Ok(text)
    }

    fn left(&self) -> Result<Usd> {
        let below = self.journal.children(self.id)?;
        let spent: Usd = below.iter().map(|run| run.cost.cost_usd).sum();
        let left = self.settings.budget.as_nanos().saturating_sub(spent.as_nanos()).max(0);
        Ok(Usd::from_nanos(left))
    }

    /// Gives up the racers that were ended for the winner. What they had made keeps a ref.
    pub(super) fn give_up_losers(&self, winner: Option<RunId>) -> Result<()> {
        let Some(winner) = winner else { return Ok(()) };
        for run in self.rows()?.iter().filter(|run| run.id != winner && run.is_open()) {
            let reason = format!("run {} was first", winner.short());
            let why = GivenUp { reason: &reason, kind: SourceKind::Runner, by: "race" };
            give_up(self.around, self.workspace, self.config, self.journal, run, &why)?;
        }
        Ok(())
    }

    /// Brings what the winner made where the person asked for it, as its own work.
    pub(super) fn apply(&self, winner: RunId, progress: &mut dyn Progress) -> Result<Option<Wait>> {
        let commit = match recorded(self.journal, winner, &StepKey::commit())? {
            Some(Done::Committed { commit }) => commit,
            _ => return Err(Error::new(Fault::Bug, "the winner has no commit")),
        };
        self.steps()
            .once(&StepKey::commit(), |_, _| Ok(Done::Committed { commit: commit.clone() }))?;
        let (steps, key) = (self.steps(), StepKey::apply());
        let ids = &self.around.ids;
        let intent =
            MERGES.iter().fold(steps.intent(), |intent, name| intent.plan(name, ids.run()));
        let ticket = match steps.begin::<Done>(&key, EffectClass::Keyed, intent)? {
            Begun::Done(_) => return Ok(None),
            Begun::Do(ticket) => ticket,
        };
        let task = &self.settings.asked.task;
        let branch = run_refs::free_branch(self.repository, winner, task, &commit)?;
        let (around, workspace, repository) = (self.around, self.workspace, self.repository);
        let site = Site { around, workspace, repository, run: winner, branch };
        let mut bring =
            |tip: &CommitId| self.bring_onto(&ticket, winner, &commit, tip, &mut *progress);
        let ended = apply(&site, &self.settings.base, &commit, self.how()?, &mut bring)?;
        let applied: Applied = match ended {
            ApplyEnd::Over(applied) => applied,
            ApplyEnd::Waits { park, reason } => {
                return Ok(Some((outcome_of(park), park, reason)));
            }
        };
        progress.update(&Update::Applied {
            done: applied.done,
            what: applied.what.clone(),
            commit: applied.named(&commit).to_string(),
        });
        let record = serde_json::to_value(&applied).map_err(bug)?;
        let mut entry = steps.entry(&Done::Applied { record: record.clone() })?;
        let event = self.events().make(SourceKind::Git, "race", "commit.applied", self.id, record);
        entry.events.push(event);
        steps.finish(&key, &ticket, &entry)?;
        Ok(None)
    }

    fn applied(&self) -> Result<Option<Applied>> {
        recorded(self.journal, self.id, &StepKey::apply())?.map(applied_of).transpose()
    }

    fn how(&self) -> Result<Apply> {
        match self.settings.asked.apply {
            Some(how) => Ok(how),
            None => self.config.orchestrate.apply.parse().map_err(|error: UnknownApply| {
                Error::new(Fault::Config, format!("orchestrate.apply: {error}"))
            }),
        }
    }

    fn bring_onto(
        &self,
        ticket: &Ticket,
        winner: RunId,
        commit: &CommitId,
        tip: &CommitId,
        progress: &mut dyn Progress,
    ) -> Result<Brought> {
        let Some(id) = planned_merge(self.journal, ticket, tip, self.steps().now())? else {
            return Ok(Brought::Not("the branch moves on faster than it is checked".to_owned()));
        };
        let base = self.settings.base.clone();
        let place = MergePlace {
            id,
            parent: self.id,
            trace: self.trace.clone(),
            depth: self.depth + 1,
            nesting: self.settings.nesting,
        };
        let entries = [MergeEntry::new(winner, base, commit.clone())];
        let budget = self.left()?;
        let asked = MergeAsked { place, tip, entries: &entries, budget, settings: None };
        let ends = integrate(self.around, &asked, progress)?;
        let end = ends.into_iter().next().map(|(_, end)| end);
        end.map(brought).ok_or_else(|| Error::new(Fault::Bug, "nothing came of a merge"))
    }

    /// Closes the race.
    pub(super) fn finish(&self, winner: Option<RunId>) -> Result<()> {
        self.steps().once(&StepKey::finish(), |_, entry| {
            let rows = self.rows()?;
            let any = |outcome| rows.iter().any(|run| run.outcome == Some(outcome));
            let (outcome, reason) = match winner {
                Some(run) => {
                    let name = self.name_of(self.place_of(run));
                    let how = recorded::<WinnerChoice>(self.journal, self.id, &Self::winner_key())?;
                    let how = how.and_then(WinnerChoice::how).map(|how| format!(": {how}"));
                    let how = how.unwrap_or_default();
                    let reason = format!("racer {name} won with run {}{how}", run.short());
                    match self.applied()?.filter(|applied| !applied.done) {
                        Some(applied) => (Outcome::Partial, applied.added_to(&reason)),
                        None => (Outcome::Success, reason),
                    }
                }
                None if any(Outcome::NeedsEscalation) => {
                    (Outcome::NeedsEscalation, "the work of no racer holds".to_owned())
                }
                None => (Outcome::Failure, "the work of no racer holds".to_owned()),
            };
            let won = rows.iter().find(|run| Some(run.id) == winner);
            let below = self.journal.children(self.id)?;
            let change = RunChange {
                state: Some(RunState::Ended),
                outcome: Some(outcome),
                reason: Some(reason.clone()),
                ended: Some(entry.now),
                tree_hash: won.and_then(|run| run.tree_hash.clone()),
                ..totals::of_runs(below.iter())
            };
            entry.runs.push((self.id, change));
            let payload = json!({ "outcome": outcome, "reason": reason });
            let event =
                self.events().make(SourceKind::Runner, "race", "run.finished", self.id, payload);
            entry.events.push(event);
            Ok(outcome)
        })?;
        Ok(())
    }
}

/// Who has won, as the race's step has it.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WinnerChoice {
    /// Several were compared, or could have been, and this speaks for the winner.
    Compared { run: Option<RunId>, how: String },
    /// The first that held, if any did.
    First(Option<RunId>),
}

impl WinnerChoice {
    fn run(&self) -> Option<RunId> {
        match self {
            Self::Compared { run, .. } | Self::First(run) => *run,
        }
    }

    fn how(self) -> Option<String> {
        match self {
            Self::Compared { how, .. } => Some(how),
            Self::First(_) => None,
        }
    }
}

/// Reads which change a verifier chose and why, from the last block of its answer, counted from zero.
/// One without the nonce does not count.
fn chosen(answer: &str, nonce: &str, most: usize) -> Option<(usize, String)> {
    let (_, block) = answer.rsplit_once("<verdict>")?;
    let (block, _) = block.split_once("</verdict>")?;
    let said: serde_json::Value = serde_json::from_str(block.trim()).ok()?;
    if said.get("nonce")?.as_str()? != nonce {
        return None;
    }
    let choice = usize::try_from(said.get("choice")?.as_u64()?).ok()?;
    let why = said.get("reason").and_then(serde_json::Value::as_str).unwrap_or_default();
    let why = spore_plain::line_within(why, 200);
    choice.checked_sub(1).filter(|at| *at < most).map(|at| (at, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_counts_with_its_nonce_and_within_the_field() {
        let said = |nonce: &str, choice: &str| {
            format!(
                "I like it.\n<verdict>{{\"nonce\": \"{nonce}\", \"choice\": {choice}}}</verdict>"
            )
        };
        assert_eq!(chosen(&said("n", "2"), "n", 2), Some((1, String::new())));
        let told = r#"<verdict>{"nonce": "n", "choice": 1, "reason": "it is\nsmaller"}</verdict>"#;
        assert_eq!(chosen(told, "n", 2), Some((0, "it is smaller".to_owned())));
        for (nonce, choice) in [("m", "2"), ("n", "3"), ("n", "0"), ("n", "-1"), ("n", "\"2\"")] {
            assert_eq!(chosen(&said(nonce, choice), "n", 2), None, "{nonce} {choice}");
        }
        let quoted = format!("{} as it stands in the diff: {}", said("n", "1"), said("x", "2"));
        assert_eq!(chosen(&quoted, "n", 2), None, "the last block counts");
        assert_eq!(chosen("2 is best", "n", 2), None);
    }
}
