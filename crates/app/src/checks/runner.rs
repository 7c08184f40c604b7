//! Runs the gates on a tree and compares with the base.
//!
//! All runs of a project share one checkout for its gates, one at a time. Before each use it
//! is set to the tree under check, and its ignored files to what gates on a *base* left there:
//! a change's code runs in this checkout too, and what it plants in build output must not be
//! there when the next tree is judged.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use spore_effects::Effect;
use spore_effects::files::{Lock, LockError};
use spore_effects::session::{Confinement, ProcessIdentity};
use spore_gates::{
    Cache, CacheError, Gate, GateError, GateKind, GateRecord, GateResult, Runner, Standing,
    TrackedFiles,
};
use spore_git::Checkout;
use spore_model::{CommitId, RunId, TreeId};
use spore_proof::GateCanary;
use spore_runs::{Live, LiveKind};
use spore_store::{Journal, ProcessRow};

use crate::base::checkouts::Checkouts;
use crate::base::error::bug;
use crate::base::files::{create_dir, create_private_dir};
use crate::checks::against::{Against, Check, Checked};
use crate::checks::baseline::Baseline;
use crate::checks::needs;
use crate::checks::reached::ReachCollector;
use crate::checks::words::line;
use crate::session::environment::{install_environment, store_variables};
use crate::session::live::LiveFile;
use crate::session::sandbox::{Enforcement, Sandboxes, Scratch};
use crate::{Error, Progress, Result, Update};

pub(crate) struct GateRuns<'a> {
    pub(crate) checkouts: &'a Checkouts<'a>,
    pub(crate) gates: &'a [Gate],
    pub(crate) journal: &'a dyn Journal,
    pub(crate) sandboxes: Sandboxes<'a>,
    pub(crate) enforcement: &'a Enforcement,
    pub(crate) runner: Runner,
    pub(crate) cache_cap: u64,
}

impl GateRuns<'_> {
    /// Returns the gates' results at the base, from an earlier run where they were green. Red
    /// ones are looked at again: what was missing then may have been installed since.
    pub(crate) fn baseline(
        &self,
        session: RunId,
        (commit, tree): (&CommitId, &TreeId),
        logs: &Path,
        progress: &mut dyn Progress,
    ) -> Result<Checked> {
        let green = |known: &Baseline| {
            known.results.iter().all(|result| result.standing == Standing::Green)
        };
        if let Some(Baseline { results, .. }) = self.cached_baseline(tree)?.filter(green) {
            for result in &results {
                let line = format!("{} (known from an earlier run)", line(result));
                progress.update(&Update::GateEnded { line });
            }
            return Ok(Checked::Done(results));
        }
        let check = Check { session, commit, tree, logs, against: Against::Itself };
        let mut records = Vec::new();
        let checked = self.run_recorded(&check, &mut records, progress)?;
        if let Checked::Done(results) = &checked {
            let known = Baseline { results: results.clone(), records, flaky: Vec::new() };
            self.cache_baseline(tree, &known)?;
        }
        Ok(checked)
    }

    pub(crate) fn cache_baseline(&self, tree: &TreeId, known: &Baseline) -> Result<()> {
        let value = serde_json::to_value(known).map_err(bug)?;
        let now = self.checkouts.around.clock.now();
        Ok(self.journal.cache("baseline", &self.baseline_key(tree), &value, now)?)
    }

    pub(crate) fn cached_baseline(&self, tree: &TreeId) -> Result<Option<Baseline>> {
        let value = self.journal.cached("baseline", &self.baseline_key(tree))?;
        Ok(value.and_then(|value| serde_json::from_value(value).ok()))
    }

    /// Returns the canaries among the tests of a base, if they were placed in an earlier run.
    pub(crate) fn cached_canaries(&self, tree: &TreeId) -> Result<Option<Vec<GateCanary>>> {
        let value = self.journal.cached("canaries", &self.canary_key(tree))?;
        Ok(value.and_then(|value| serde_json::from_value(value).ok()))
    }

    pub(crate) fn cache_canaries(&self, tree: &TreeId, canaries: &[GateCanary]) -> Result<()> {
        let value = serde_json::to_value(canaries).map_err(bug)?;
        let now = self.checkouts.around.clock.now();
        Ok(self.journal.cache("canaries", &self.canary_key(tree), &value, now)?)
    }

    fn canary_key(&self, tree: &TreeId) -> String {
        format!("3 {} {}", self.sandboxes.config.gates.canary_tests, self.baseline_key(tree))
    }

    /// The tree, what was run on it and who read what it printed: others are another baseline.
    fn baseline_key(&self, tree: &TreeId) -> String {
        let gates = self.gates.iter();
        let commands: Vec<String> = gates
            .map(|gate| match gate.dir.as_str() {
                "" => format!("{}: {}", gate.parser, gate.command),
                dir => format!("{}: {dir}$ {}", gate.parser, gate.command),
            })
            .collect();
        // What a result holds is a part of its name: an older one does not say what was rewritten.
        format!("3 {tree} {}", commands.join("\n"))
    }

    /// Runs every gate on a tree.
    pub(crate) fn run(&self, check: &Check<'_>, progress: &mut dyn Progress) -> Result<Checked> {
        self.run_recorded(check, &mut Vec::new(), progress)
    }

    /// The same. What gates look up is put into `records`, where it is to be recorded.
    pub(crate) fn run_recorded(
        &self,
        check: &Check<'_>,
        records: &mut Vec<GateRecord>,
        progress: &mut dyn Progress,
    ) -> Result<Checked> {
        needs::require(self.checkouts.around, self.gates)?;
        create_dir(check.logs)?;
        let Some(_held) = self.claim(progress)? else { return Ok(Checked::Interrupted) };
        let checkout = self.stand_on(check.commit)?;
        let needs: Vec<String> =
            self.gates.iter().flat_map(|gate| gate.needs.iter().cloned()).collect();
        let is_base = matches!(check.against, Against::Itself);
        let held = self.sandboxes.of_check(self.enforcement, &needs, checkout.dir(), is_base)?;
        let mut files = TrackedFiles::look(checkout.dir(), self.tracked(check.commit)?);
        let mut results = Vec::new();
        let mut is_installed = true;
        let mut live = LiveGates::new(self, check.session, progress);
        for gate in self.gates {
            if !self.has_to_run(gate, check, checkout.dir())? {
                continue;
            }
            live.begin(gate);
            let ran = self.run_one(gate, check, checkout.dir(), held.as_ref())?;
            let Some((mut result, record)) = ran else { return Ok(Checked::Interrupted) };
            records.extend(record);
            result.rewritten = files.touched();
            result.rewritten.retain(|name| !gate.may_write(name));
            check.judge(&mut result);
            if check.is_unlike_base(&result) {
                // The gates behind it check the tree that they name.
                checkout.reset(check.commit)?;
                files.touched();
            }
            // Whether it fails is told with the proof.
            if !check.against.may_fail() {
                live.ended(&line(&result));
            }
            let failed_to_install = gate.install.is_some() && result.standing == Standing::Red;
            let is_settled = check.against.is_settled_by(&result);
            results.push(result);
            // Without what it was to bring, all others would be red for one reason.
            is_installed &= !failed_to_install;
            if failed_to_install || is_settled {
                break;
            }
        }
        drop(live);
        // What an install left that failed is nothing to go on with: the next check installs anew.
        if matches!(check.against, Against::Itself) && is_installed {
            self.keep(&checkout, check.commit)?;
            self.sandboxes.kept().settle()?;
        }
        Ok(Checked::Done(results))
    }

    /// Sets the gates' checkout to `commit`, with build output that no change has touched.
    fn stand_on(&self, commit: &CommitId) -> Result<Checkout> {
        // What a change did to it may be beyond putting right: rights, depth, whatever a gate can
        // do. An error that has another cause comes up again below.
        if let Some(checkout) = self.checkouts.gates()
            && self.put_in_order(&checkout, commit).unwrap_or(false)
        {
            return Ok(checkout);
        }
        let checkout = self.checkouts.gates_anew()?;
        self.keep(&checkout, self.checkouts.settings.base)?;
        checkout.reset(commit)?;
        Ok(checkout)
    }

    /// Returns whether there is build output of a base to go on with.
    fn put_in_order(&self, checkout: &Checkout, commit: &CommitId) -> Result<bool> {
        checkout.reset(commit)?;
        let tracked = self.tracked(commit)?;
        let restored = self.cache().restore(checkout.dir(), &|name| tracked.contains(name));
        restored.map_err(out_of_order)
    }

    /// Keeps what gates on a base left, for the checks of changes.
    fn keep(&self, checkout: &Checkout, commit: &CommitId) -> Result<()> {
        let tracked = self.tracked(commit)?;
        let stamp = self.stamp();
        let around = self.checkouts.around;
        around.remove_file(&stamp)?;
        around.probe.around(Effect::Checkout, "build output of the gates", || {
            let kept = self.cache().keep(checkout.dir(), &|name| tracked.contains(name));
            kept.map_err(out_of_order)
        })?;
        let text = serde_json::to_vec(&self.inputs(commit)?).map_err(bug)?;
        around.write_file(&stamp, &text)
    }

    fn tracked(&self, commit: &CommitId) -> Result<HashSet<String>> {
        Ok(self.checkouts.repository.list_files(commit)?.into_iter().collect())
    }

    fn cache(&self) -> Cache {
        Cache::new(self.checkouts.workspace.gates_state().join("cache"), self.cache_cap)
    }

    /// Beside the cache: what the installing gates had before them when it was taken.
    fn stamp(&self) -> PathBuf {
        self.checkouts.workspace.gates_state().join("installed.json")
    }

    /// Returns the contents, by their ids, that decide what installing gates install.
    fn inputs(&self, commit: &CommitId) -> Result<BTreeMap<String, String>> {
        let gates = self.gates.iter();
        let names: HashSet<&str> = gates
            .filter_map(|gate| gate.install.as_ref())
            .flat_map(|install| install.inputs.iter().map(String::as_str))
            .collect();
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        let tree = self.checkouts.repository.tree_of(commit)?;
        let files = self.checkouts.repository.tree_files(&tree)?;
        let inputs = files.into_iter().filter(|file| names.contains(file.path.as_str()));
        Ok(inputs.map(|file| (file.path, file.blob)).collect())
    }

    /// A gate that installs may have nothing to do, and a check with the base's own tests leaves
    /// style out.
    fn has_to_run(&self, gate: &Gate, check: &Check<'_>, dir: &Path) -> Result<bool> {
        if let Some(install) = &gate.install {
            let known: BTreeMap<String, String> = spore_effects::files::read(self.stamp())
                .ok()
                .and_then(|text| serde_json::from_slice(&text).ok())
                .unwrap_or_default();
            let now = self.inputs(check.commit)?;
            let same = install.inputs.iter().all(|name| known.get(name) == now.get(name));
            return Ok(!same || !dir.join(&install.product).exists());
        }
        Ok(match check.against {
            Against::Restored { .. }
            | Against::HeldOut { .. }
            | Against::Reached { .. }
            | Against::WithoutPart { .. } => gate.kind != GateKind::Lint,
            Against::WithoutChange => gate.kind == GateKind::Test,
            _ => true,
        })
    }

    /// Takes the gates' checkout. There is one for all runs of the project: its build cache
    /// is worth the wait.
    fn claim(&self, progress: &mut dyn Progress) -> Result<Option<Lock>> {
        let state = self.checkouts.workspace.gates_state();
        create_private_dir(&state)?;
        let mut told = false;
        loop {
            match Lock::try_take(&state.join("lock")) {
                Err(LockError::Held { .. }) if self.checkouts.around.interrupt.is_raised() => {
                    return Ok(None);
                }
                Err(LockError::Held { .. }) => {
                    if !std::mem::replace(&mut told, true) {
                        progress.update(&Update::Waiting);
                    }
                    std::thread::sleep(std::time::Duration::from_millis(50));
                }
                taken => return Ok(Some(taken?)),
            }
        }
    }

    fn run_one(
        &self,
        gate: &Gate,
        check: &Check<'_>,
        dir: &Path,
        held: Option<&(Confinement, Scratch)>,
    ) -> Result<Option<(GateResult, Option<GateRecord>)>> {
        let around = self.checkouts.around;
        let token = around.ids.session_token();
        let log = check.logs.join(check.log_name(gate));
        let mut on_start = |process: &ProcessIdentity| {
            let row = ProcessRow {
                token: token.clone(),
                root: self.checkouts.run,
                session: check.session,
                pid: process.pid,
                start_ticks: process.start_ticks,
                boot_id: process.boot_id.clone(),
                started: around.clock.now(),
            };
            self.journal.process_started(&row)
        };
        let interrupt = around.interrupt.clone();
        let mut runner = self.runner.clone();
        if gate.install.is_some() {
            runner.variables().extend(install_environment(self.sandboxes.config, around));
        }
        if let Some((confinement, scratch)) = &held {
            if confinement.root.is_some() {
                runner.variables().extend(store_variables(around, &gate.needs));
            }
            runner = runner.confined(Some(confinement.clone()));
            scratch.tell(runner.variables());
        }
        let collector = match (&check.against, held) {
            (Against::Reached { asked, .. }, Some((_, scratch))) => {
                Some((asked, ReachCollector::place(scratch, &asked.paths)?))
            }
            _ => None,
        };
        if let Some((_, collector)) = &collector {
            collector.tell(runner.variables());
        }
        let until = match check.against {
            Against::WithoutPart { until, .. } | Against::Reached { until, .. } => until,
            _ => None,
        };
        let is_over = || until.is_some_and(|until| around.clock.monotonic() >= until);
        let stop = || interrupt.is_raised() || is_over();
        let (tree, own) = (check.tree, token.clone());
        let gate = &check.against.paced(gate);
        let ran = match check.against {
            Against::Itself | Against::Base { recorded: true, .. } => runner
                .run_recorded(gate, tree, dir, &log, own, &mut on_start, &stop)
                .map(|(result, record)| (result, Some(record))),
            _ => runner
                .run(gate, tree, dir, &log, own, &mut on_start, &stop)
                .map(|result| (result, None)),
        };
        self.journal.process_ended(&token, around.clock.now())?;
        if let Some((asked, collector)) = collector {
            asked.found.borrow_mut().extend(collector.records());
        }
        match ran {
            Ok(ran) => Ok(Some(ran)),
            Err(GateError::Cancelled { .. }) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }
}

/// The checks of one tree while they run, for those who look on.
struct LiveGates<'a> {
    file: Option<LiveFile<'a>>,
    progress: &'a mut dyn Progress,
}

impl<'a> LiveGates<'a> {
    fn new(runs: &GateRuns<'a>, id: RunId, progress: &'a mut dyn Progress) -> Self {
        let Checkouts { around, workspace, .. } = *runs.checkouts;
        let state = Live::new(id, LiveKind::Gates, "checks", around.clock.now());
        Self { file: Some(LiveFile::new(around, workspace, runs.sandboxes.run, state)), progress }
    }

    fn begin(&mut self, gate: &Gate) {
        if let Some(file) = &mut self.file {
            file.state.name = format!("checks: {}", gate.name);
            file.state.doing = Some(spore_plain::headline(&gate.command, 120));
            file.state.started = file.now();
            file.show(self.progress);
        }
    }

    fn ended(&mut self, line: &str) {
        self.progress.update(&Update::GateEnded { line: line.to_owned() });
        if let Some(file) = &mut self.file {
            file.state.tell(line);
            file.show(self.progress);
        }
    }
}

impl Drop for LiveGates<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            file.end(self.progress);
        }
    }
}

fn out_of_order(error: CacheError) -> Error {
    let message = error.to_string();
    Error::io(message, error.source)
}
