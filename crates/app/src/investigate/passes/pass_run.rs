//! What the passes of one run share: the agent, the tree, what is known, one budget.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;
use spore_agent::Agent;
use spore_investigate::passes::{DirectoryPlan, SummaryWriter, Survey};
use spore_investigate::{ScanReport, Tree};
use spore_model::{Allowance, BudgetId, BudgetTree, Outcome, Park, RunId, Usd};
use spore_store::Journal;
use spore_tools::Root;

use super::ground::Ground;
use super::summaries::Summaries;
use crate::agents::backends::backend;
use crate::investigate::shared::times_cleared;
use crate::investigate::shared::{
    InvestigationRun, InvestigationSettings, KeptNames, RaisedFlag, ReaderSettings, named,
};
use crate::session::broker::Broker;
use crate::session::processes::reap;
use crate::session::sandbox::{Enforcement, Sandboxes};
use crate::{Error, Result};

/// What came of the passes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PassesReport {
    pub brief: String,
    pub detailed: String,
    /// Worst first.
    pub flags: Vec<RaisedFlag>,
    pub survey: Option<Survey>,
    pub directories: DirectoryCounts,
    pub sessions: u64,
    pub turns: u32,
    pub cost_usd: Usd,
    /// Why it ended before all was looked at.
    pub stopped: Option<String>,
    pub outcome: Outcome,
}

/// What became of the directories.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct DirectoryCounts {
    /// Looked at now.
    pub looked_at: u64,
    /// Known, and still true.
    pub held: u64,
    pub skipped: u64,
    /// Looked at now, and not to the end.
    pub partial: u64,
    /// Not reached.
    pub left: u64,
}

/// Why passes ended early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Stop {
    pub(crate) why: String,
    pub(crate) park: Option<Park>,
    pub(crate) outcome: Outcome,
}

/// The passes of one run.
pub(crate) struct PassRun<'a> {
    pub(super) investigation: &'a InvestigationRun<'a>,
    pub(super) settings: &'a ReaderSettings,
    pub(super) asked: &'a InvestigationSettings,
    pub(super) scan: &'a ScanReport,
    pub(super) agent: Arc<dyn Agent>,
    pub(super) ground: Arc<Ground>,
    pub(super) broker: Broker,
    pub(super) enforcement: Enforcement,
    pub(super) budget: Mutex<BudgetTree>,
    /// What sessions of this run cost that are over.
    pub(super) paid: Mutex<Usd>,
    /// How many directories were to be looked at when it was last counted, and for which shape.
    pub(super) counted: Mutex<Option<(LoopShape, u64)>>,
    /// How often what was kept of the target was cleared away: what passes handed in before does not
    /// count.
    pub(super) cleared: u64,
}

impl<'a> PassRun<'a> {
    pub(crate) fn open(
        investigation: &'a InvestigationRun<'a>,
        asked: &'a InvestigationSettings,
        settings: &'a ReaderSettings,
        scan: &'a ScanReport,
        tree: &Arc<Tree>,
        target: &Path,
    ) -> Result<Self> {
        let InvestigationRun { around, workspace, config, run, .. } = *investigation;
        reap(config, &investigation.journal, run, around)?;
        Sandboxes { around, workspace, config, run }.clean_up();
        let root = Root::open(target).map_err(|source| {
            Error::io(format!("cannot open {}", spore_plain::path(target)), source)
        })?;
        let scope = asked.asked.scan.scope().word();
        let summaries =
            Summaries::open(workspace.knowledge(config)?, run, named(&asked.base), scope)?;
        let is_inside = asked.target.is_none();
        let index =
            is_inside.then(|| crate::indexing::open_as_is(workspace, config)).transpose()?;
        let names = KeptNames::new(around);
        let paths = tree.dirs.iter().map(|dir| super::ground::named(&dir.path)).enumerate();
        let unspoken = paths.filter(|(_, path)| names.path(path) != *path).map(|(at, _)| at);
        let ground = Ground {
            unspoken: unspoken.collect(),
            around: Arc::new(around.apart(workspace.root())),
            files: workspace.run_files(run),
            target: target.to_owned(),
            tree: Arc::clone(tree),
            root: Arc::new(root),
            summaries,
            places: Ground::places_of(tree),
            index: index.flatten(),
            base: named(&asked.base),
            log: Mutex::default(),
        };
        let spent: Usd = investigation.journal.ledger(run)?.iter().map(|one| one.cost.usd).sum();
        let usd = |usd| Allowance { usd: Some(usd), ..Allowance::default() };
        Ok(Self {
            agent: backend(around, config, &settings.backend, None)?,
            enforcement: Enforcement::find(around, config, &settings.backend)?,
            broker: Broker::start(around, workspace, config)?,
            budget: Mutex::new(BudgetTree::new(usd(settings.budget), usd(spent))),
            paid: Mutex::new(spent),
            counted: Mutex::default(),
            ground: Arc::new(ground),
            cleared: times_cleared(&investigation.journal, &named(&asked.base))?,
            investigation,
            settings,
            asked,
            scan,
        })
    }

    /// Who writes the entries of the loops.
    pub(super) fn writer(&self) -> SummaryWriter {
        SummaryWriter {
            backend: self.settings.backend.clone(),
            model: self.settings.medium.clone().unwrap_or_default(),
        }
    }

    /// Sets aside what one of so many sessions at once may cost.
    pub(super) fn reserve(&self, at_once: u32) -> Option<(BudgetId, Usd)> {
        let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        let left = budget.left(BudgetTree::ROOT).usd?;
        let share = Usd::from_nanos(left.as_nanos() / i64::from(at_once.max(1)));
        let wanted = Allowance { usd: Some(share), ..Allowance::default() };
        let node = budget.reserve(BudgetTree::ROOT, wanted).ok()?;
        Some((node, share))
    }

    pub(super) fn settle(&self, node: BudgetId, spent: Usd) {
        *self.paid.lock().unwrap_or_else(PoisonError::into_inner) += spent;
        let spent = Allowance { usd: Some(spent), ..Allowance::default() };
        let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        budget.settle(node, spent);
    }

    /// What sessions that are over cost. What is set aside for those at work is not spent.
    pub(super) fn spent(&self) -> Usd {
        *self.paid.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn out_of_budget(&self) -> Stop {
        Stop {
            why: format!("its budget of {} is spent", self.settings.budget),
            park: None,
            outcome: Outcome::Partial,
        }
    }

    pub(super) fn cached<T: serde::de::DeserializeOwned>(
        &self,
        kind: &str,
        key: &str,
    ) -> Result<Option<T>> {
        let kept: Option<Value> = self.investigation.journal.cached(kind, key)?;
        Ok(kept.and_then(|kept| serde_json::from_value(kept).ok()))
    }

    pub(super) fn run_id(&self) -> RunId {
        self.investigation.run
    }
}

/// What shapes the loops.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct LoopShape {
    pub(super) survey: Option<Survey>,
    pub(super) plan: DirectoryPlan,
}
