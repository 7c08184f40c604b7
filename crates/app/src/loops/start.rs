//! Starts a loop, goes on with one, and brings it to its end.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use serde_json::json;
use spore_config::Config;
use spore_git::Repository;
use spore_model::{
    Allowance, BudgetTree, CommitId, Fault, Outcome, Park, Run, RunId, SourceKind, StepKey,
    Timestamp, Usd,
};
use spore_pipeline::{LoopEnding, LoopState, LoopTask, TaskLoop, TaskStanding};
use spore_store::Journal;

use super::active::ActiveLoop;
use super::earlier::{EarlierLoop, state_file};
use super::ending::{finish, park_loop};
use super::engine::LoopLead;
use super::ground::LoopGround;
use super::landing::moved;
use super::projection::{LoopReport, SOURCE_COPY, project, report_loop, state_beside, state_path};
use super::record::LoopRecord;
use super::request::LoopAsked;
use super::settings::{LoopSettings, TaskTerms, apply_of, kind, loop_settings, rules};
use super::source::{ReadList, head, read_list};
use crate::agents::ready;
use crate::base::error::bug;
use crate::base::outbox::{self, Events};
use crate::base::progress::LoopSummary;
use crate::base::run_lock::{self, HeldRun, claim};
use crate::base::run_refs;
use crate::base::secrets::without_keys;
use crate::base::step::begun_run;
use crate::run::settings::RunSettings;
use crate::session::agent_choice::RoleAgents;
use crate::session::nesting::Ancestry;
use crate::session::parent::refuse_inside;
use crate::session::processes::reap;
use crate::stopping::abandon::{GivenUp, give_up};
use crate::{Error, LoopUpdate, Progress, Result, Surroundings, Update, Workspace, counted};

/// Works through a list of tasks, or goes on with it.
pub fn run_loop(
    around: &Surroundings,
    asked: &LoopAsked,
    progress: &mut dyn Progress,
) -> Result<LoopReport> {
    let workspace = Workspace::find_for_run(around)?;
    let read = read_list(around, asked)?;
    let mut config = workspace.config(around, &[])?;
    let ancestry = Ancestry::read(around, config.spawn.max_depth)?;
    refuse_inside(around, &workspace, None)?;
    ready::choose(around, &mut config, asked.backend.as_deref(), progress);
    let repository = workspace.repository(around)?;
    let head = head(&repository, asked)?;
    let mut tasks = struck(around, &read.list.tasks, progress);
    if asked.plan_touches {
        super::plan::fill_touches(around, &config, &head, &mut tasks)?;
    }
    let terms = TaskTerms::of(asked, &config)?;
    check_tasks(around, &workspace, &repository, &config, &terms, &tasks, &head)?;
    if !workspace.database().exists() {
        crate::base::init::init(around)?;
        progress.update(&Update::Initialised);
    }
    let journal = workspace.journal(&config)?;
    let fresh = NewLoop {
        around,
        workspace: &workspace,
        config: &config,
        journal: &journal,
        asked,
        read: &read,
    };
    let mut earlier = match read.source.as_str() {
        "-" => EarlierLoop::Never,
        source => EarlierLoop::find(&journal, source, kind(asked.batch))?,
    };
    if asked.reset {
        if let EarlierLoop::Open(open) = &earlier {
            // One that is being worked through is not begun anew beside it: that is refused here.
            let why = GivenUp {
                reason: "the list was begun anew",
                kind: SourceKind::Human,
                by: "loop --reset",
            };
            give_up(around, &workspace, &config, &journal, &open.0, &why)?;
        }
        earlier = EarlierLoop::Never;
    }
    if let EarlierLoop::Open(open) = &earlier {
        let (run, known) = open.as_ref();
        let ListNow { tasks, kept } = keeping_begun(&journal, run.id, known, tasks)?;
        let settings = LoopSettings {
            form: read.list.form,
            rules: rules(asked, &config),
            tasks,
            tick: asked.tick,
            apply: apply_of(asked, &config)?,
            terms,
            ..known.clone()
        };
        return fresh.go_on_with(run, settings, kept, &repository, progress);
    }
    let id = around.ids.run();
    let branch = format!("spore/{}/{}", kind(asked.batch).as_str(), id.short());
    let known = fresh.before(&earlier)?;
    let ground = LoopGround::find(&repository, &earlier, known, &tasks, (&head, branch))?;
    if ground.is_gone {
        repository.set_ref(&run_refs::branch_ref(&ground.branch), &ground.start)?;
        let line = format!("{} is gone: it is made again from what is kept of it.", ground.branch);
        progress.update(&Update::Relayed { line });
    }
    if !ground.undone.is_empty() {
        let tasks = counted(u32::try_from(ground.undone.len()).unwrap_or(u32::MAX), "task");
        let line = format!("What was merged of {tasks} was taken back: that is done once more.");
        progress.update(&Update::Relayed { line });
    }
    let settings = LoopSettings {
        source: read.source.clone(),
        form: read.list.form,
        tasks,
        rules: rules(asked, &config),
        base: ground.base,
        start: ground.start,
        branch: ground.branch,
        before: ground.before,
        seen: 0,
        raised: Usd::ZERO,
        raised_for: BTreeMap::new(),
        tick: asked.tick,
        apply: apply_of(asked, &config)?,
        terms,
        nesting: ancestry.nesting,
    };
    let dirty = repository.dirty_files()?;
    if dirty > 0 {
        progress.update(&Update::NotInBase { files: dirty });
    }
    let _lock = claim(&workspace, id)?;
    fresh.create(id, &settings, &ancestry)?;
    work(around, &workspace, &config, &journal, &repository, id, &settings, progress)
}

/// Keys among the words of a task are for no agent and no record.
fn struck(around: &Surroundings, tasks: &[LoopTask], progress: &mut dyn Progress) -> Vec<LoopTask> {
    let one = |task: &LoopTask| LoopTask {
        text: without_keys(around, &task.text, "a task", progress),
        ..task.clone()
    };
    tasks.iter().map(one).collect()
}

/// Refuses what no run of a task could begin with, before anything is paid.
fn check_tasks(
    around: &Surroundings,
    workspace: &Workspace,
    repository: &Repository,
    config: &Config,
    terms: &TaskTerms,
    tasks: &[LoopTask],
    base: &CommitId,
) -> Result<()> {
    let mut seen = Vec::new();
    for task in tasks {
        let what = (&task.backend, &task.model, &task.gates);
        if seen.contains(&what) {
            continue;
        }
        seen.push(what);
        let asked = terms.asked(task, task.text.clone(), base);
        let settings = RunSettings::settle(workspace, repository, config, &asked)?;
        crate::checks::needs::require(around, &settings.gates)?;
        RoleAgents::of(around, config, &settings.agents, settings.scenario.as_deref())?;
    }
    Ok(())
}

/// The list as it is now, and what of it goes on in the words that it was begun in.
struct ListNow {
    tasks: Vec<LoopTask>,
    kept: Vec<LoopUpdate>,
}

/// Returns the list as it is now. A task that was begun stays in it although the person took it
/// out: what it cost and where it landed is part of the loop. One that fell short or came back and was
/// written anew is worked on again. One that is worked on or verified stays as it was when that
/// began, for no other words are what was judged.
fn keeping_begun(
    journal: &dyn Journal,
    run: RunId,
    known: &LoopSettings,
    mut tasks: Vec<LoopTask>,
) -> Result<ListNow> {
    let record = LoopRecord::read(journal, run, &known.tasks)?;
    let mut machine = TaskLoop::new(known.rules.clone(), known.tasks.clone(), &|task| {
        known.before.has_verified(task)
    });
    record.replay(&mut machine, known, Timestamp::from_millis(0));
    let mut kept = Vec::new();
    for (at, old) in known.tasks.iter().enumerate() {
        let is_under_way = record.under_way.contains(&at);
        let is_begun = record.news.iter().any(|(task, _)| *task == at) || is_under_way;
        if let Some(task) = tasks.iter_mut().find(|task| task.id == old.id) {
            task.edition = old.edition;
            let is_same = task.asks_like(&LoopTask { budget: task.budget, ..old.clone() });
            let id = task.id.clone();
            match machine.standing(at) {
                TaskStanding::Settled => {}
                TaskStanding::Landed | TaskStanding::Verified => {
                    keep(task, old);
                    kept.extend((!is_same).then_some(LoopUpdate::TaskChanged { task: id }));
                }
                TaskStanding::FellShort(_) => task.edition += u32::from(!task.asks_like(old)),
                _ if is_under_way => {
                    keep(task, old);
                    kept.extend((!is_same).then_some(LoopUpdate::TaskKept { task: id }));
                }
                // How its work on an older tip ended is of no use for other words.
                _ if machine.attempt(at) > 1 => task.edition += u32::from(!is_same),
                _ => {}
            }
        } else if is_begun {
            // One that is under way is brought to its end; its result is needed either way.
            tasks.push(LoopTask {
                after: Vec::new(),
                ticked: old.ticked && !is_under_way,
                removed: true,
                ..old.clone()
            });
        }
    }
    Ok(ListNow { tasks, kept })
}

/// Keeps what was asked of a task. What it may cost is as the person says now.
fn keep(task: &mut LoopTask, old: &LoopTask) {
    *task = LoopTask {
        after: std::mem::take(&mut task.after),
        touches: std::mem::take(&mut task.touches),
        budget: task.budget,
        ticked: task.ticked,
        line: task.line,
        removed: false,
        ..old.clone()
    };
}

struct NewLoop<'a> {
    around: &'a Surroundings,
    workspace: &'a Workspace,
    config: &'a Config,
    journal: &'a dyn Journal,
    asked: &'a LoopAsked,
    read: &'a ReadList,
}

impl NewLoop<'_> {
    /// What earlier loops left: by the journal, else by the file beside the list.
    fn before(&self, earlier: &EarlierLoop) -> Result<LoopState> {
        if let EarlierLoop::Over(past) = earlier {
            return Ok(past.state.clone());
        }
        if self.asked.reset || self.asked.batch || self.read.source == "-" {
            if self.asked.reset && self.read.source != "-" {
                self.around.remove_file(&state_beside(Path::new(&self.read.source))?)?;
            }
            return Ok(LoopState::default());
        }
        Ok(state_file(Path::new(&self.read.source))?.unwrap_or_default())
    }

    fn create(&self, id: RunId, settings: &LoopSettings, ancestry: &Ancestry) -> Result<()> {
        let kind = kind(self.asked.batch);
        let trace = ancestry.trace_of(id);
        let name = match self.read.source.as_str() {
            "-" => "stdin".to_owned(),
            path => Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        let run = Run {
            trace: trace.clone(),
            task: Some(format!("{} tasks of {}", settings.tasks.len(), settings.source)),
            depth: ancestry.nesting.depth,
            backend: Some(settings.rules.backend.clone()),
            base_commit: Some(settings.start.clone()),
            experiment: settings.terms.experiment.clone(),
            settings: serde_json::to_value(settings).map_err(bug)?,
            ..Run::begin(id, kind, name, self.around.clock.now())
        };
        self.keep_source(id)?;
        let events = Events { around: self.around, trace };
        let payload = json!({
            "kind": kind,
            "source": run.name,
            "tasks": settings.tasks.len(),
            "budget_usd": settings.rules.budget,
            "branch": settings.branch,
            "started_by": ancestry.started_by(self.journal)?,
        });
        let event = events.make(SourceKind::Runner, kind.as_str(), "run.started", id, payload);
        Ok(self.journal.create_run(&run, &[event])?)
    }

    fn keep_source(&self, id: RunId) -> Result<()> {
        let copy = self.workspace.run_files(id).file(SOURCE_COPY);
        self.around.write_if_changed(&copy, self.read.text.as_bytes())
    }

    fn go_on_with(
        &self,
        run: &Run,
        settings: LoopSettings,
        kept: Vec<LoopUpdate>,
        repository: &Repository,
        progress: &mut dyn Progress,
    ) -> Result<LoopReport> {
        let _lock = claim(self.workspace, run.id)?;
        self.keep_source(run.id)?;
        let Self { around, workspace, config, journal, .. } = *self;
        let settings = reopen(around, config, journal, run, settings, progress)?;
        for told in kept {
            progress.update(&Update::Loop(told));
        }
        work(around, workspace, config, journal, repository, run.id, &settings, progress)
    }
}

/// Goes on with a loop, from its record alone.
pub(crate) fn resume(
    around: &Surroundings,
    workspace: &Workspace,
    run: &Run,
    more: Option<Usd>,
    progress: &mut dyn Progress,
) -> Result<LoopReport> {
    let repository = workspace.project_repository()?;
    let held = HeldRun::take(around, workspace, run.id)?;
    let (config, journal) = (&held.config, &held.journal);
    let mut settings = loop_settings(run)?;
    if let Some(more) = more {
        settings.rules.budget = settings.rules.budget.map(|budget| budget + more);
        settings.raised += more;
        for task in settings.tasks.iter().filter(|task| task.budget.is_some()) {
            if waits_for_budget(journal, run.id, task)? {
                *settings.raised_for.entry(task.id.clone()).or_default() += more;
            }
        }
    }
    let settings = reopen(around, config, journal, run, settings, progress)?;
    work(around, workspace, config, journal, &repository, run.id, &settings, progress)
}

/// Returns whether a task has reached what it may cost itself.
fn waits_for_budget(journal: &dyn Journal, list: RunId, task: &LoopTask) -> Result<bool> {
    let mut newest = None;
    for attempt in 1.. {
        let key = StepKey::task(&task.key(task.edition), attempt);
        let Some(run) = begun_run(journal, list, &key)? else { break };
        newest = Some(run);
    }
    Ok(newest.is_some_and(|run| run.is_open() && run.park == Some(Park::Budget)))
}

/// Makes a loop that waited, or whose process died, one that runs.
fn reopen(
    around: &Surroundings,
    config: &Config,
    journal: &dyn Journal,
    run: &Run,
    mut settings: LoopSettings,
    progress: &mut dyn Progress,
) -> Result<LoopSettings> {
    let reaped = reap(config, journal, run.id, around)?;
    if run.park == Some(Park::Human) {
        let record = LoopRecord::read(journal, run.id, &settings.tasks)?;
        settings.seen = record.last_number();
    }
    run_lock::reopen(around, journal, run, run.kind.as_str(), &settings)?;
    progress.update(&Update::Resumed { run: run.id, reaped });
    Ok(settings)
}

#[expect(clippy::too_many_arguments, reason = "the one place where all parts of a loop meet")]
fn work(
    around: &Surroundings,
    workspace: &Workspace,
    config: &Config,
    journal: &dyn Journal,
    repository: &Repository,
    root: RunId,
    settings: &LoopSettings,
    progress: &mut dyn Progress,
) -> Result<LoopReport> {
    outbox::flush(around, workspace, journal)?;
    let missing = || Error::new(Fault::BadInput, format!("there is no run {root}"));
    let run = journal.run(root)?.ok_or_else(missing)?;
    let usd = |amount| Allowance { usd: Some(amount), ..Allowance::default() };
    let mut ground = ActiveLoop {
        around,
        workspace,
        config,
        journal,
        repository,
        root,
        trace: run.trace.clone(),
        depth: run.depth,
        settings,
        budget: Mutex::new(BudgetTree::new(Allowance::default(), Allowance::default())),
        begun: (around.clock.now(), around.clock.monotonic()),
    };
    let spent = settings.before.total_cost + ground.spent()?;
    let cap = settings.rules.budget.map_or_else(Allowance::default, usd);
    ground.budget = Mutex::new(BudgetTree::new(cap, usd(spent)));
    let ground = ground;
    let mut lead = LoopLead::new(&ground)?;
    let waits = |error| refused(&ground, &run, error);
    find_branch(&ground, &lead).map_err(waits)?;
    progress.update(&Update::Loop(LoopUpdate::LoopStarted {
        run: root,
        settings: Box::new(summary(settings, &ground)?),
    }));
    for task in changed_words(settings) {
        progress.update(&Update::Loop(LoopUpdate::TaskChanged { task }));
    }
    lead.tell_totals(progress);
    let stop = lead.work(progress).map_err(waits)?;
    let ending = lead.machine.ending(stop);
    project(&ground, &lead.record)?;
    let ending = match ending.park {
        Some(_) => ending,
        None => finish(&ground, &lead.record, &run, ending, progress)?,
    };
    if let Some(park) = ending.park {
        park_loop(&ground, &run, park, &ending)?;
    }
    outbox::flush(around, workspace, journal)?;
    report_loop(&ground, &lead.machine, &lead.record, ending.outcome)
}

/// Looks where the branch is before anything is paid. One that is gone is made again, and one that a
/// person moved is left alone.
fn find_branch(ground: &ActiveLoop<'_>, lead: &LoopLead<'_>) -> Result<()> {
    let settings = ground.settings;
    let name = run_refs::branch_ref(&settings.branch);
    let tip = lead.record.tip(settings);
    match ground.repository.ref_target(&name)? {
        // What landed last is on the branch, and not on record yet.
        _ if lead.is_half_landed => Ok(()),
        Some(there) if there != tip => Err(moved(&settings.branch, &tip)),
        Some(_) => Ok(()),
        None if tip == settings.base => Ok(()),
        None => Ok(ground.repository.set_ref(&name, &tip)?),
    }
}

/// Writes down why a loop cannot go on, where a person is to mend that.
fn refused(ground: &ActiveLoop<'_>, run: &Run, error: Error) -> Error {
    if error.fault == Fault::BadInput {
        let (outcome, park) = (Outcome::NeedsHuman, Park::Human);
        let hint = error.hint_text().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let reason = format!("{error}{hint}");
        let ending = LoopEnding { outcome, park: Some(park), reason };
        // What it could not go on for is what the person has to hear.
        let _ = park_loop(ground, run, park, &ending);
    }
    error
}

/// Tasks that were verified under the name that the person gave them, in other words.
fn changed_words(settings: &LoopSettings) -> Vec<String> {
    let before = &settings.before;
    let is_changed = |task: &&LoopTask| {
        task.named
            && before.verified_ids.contains(&task.id)
            && !before.verified_tasks.contains(&task.text)
    };
    settings.tasks.iter().filter(is_changed).map(|task| task.id.clone()).collect()
}

/// What a person reads when a loop begins.
fn summary(settings: &LoopSettings, ground: &ActiveLoop<'_>) -> Result<LoopSummary> {
    let before = |task: &&LoopTask| task.ticked || settings.before.has_verified(task);
    let count = |tasks: usize| u32::try_from(tasks).unwrap_or(u32::MAX);
    let path = state_path(ground.workspace, ground.root, settings)?;
    Ok(LoopSummary {
        source: settings.source.clone(),
        tasks: count(settings.tasks.len()),
        settled: count(settings.tasks.iter().filter(before).count()),
        budget: settings.rules.budget,
        spent: settings.before.total_cost,
        max_runs: settings.rules.max_runs,
        parallel: settings.rules.parallel,
        cooldown_ms: settings.rules.cooldown_ms,
        backend: settings.rules.backend.clone(),
        model: settings.terms.coder_model.clone().or_else(|| settings.terms.model.clone()),
        max_bounces: settings.terms.max_bounces.unwrap_or(ground.config.orchestrate.max_bounces),
        summarize: settings.terms.summarize,
        branch: settings.branch.clone(),
        start: settings.start.to_string(),
        apply: settings.apply.to_string(),
        state_file: path.map(|path| spore_plain::path(&path)),
    })
}
