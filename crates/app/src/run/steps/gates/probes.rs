//! Takes the parts of a green change back, one at a time, and asks the checks whether they mind.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use spore_gates::{GateKind, GateResult};
use spore_git::TreeMixture;
use spore_model::{ProbeTime, Ticket, TreeId};
use spore_proof::{FileVersions, HunkReport, Hunks, Noticed, ProbedHunk, ReachedLines};

use super::ground::{CheckedChange, Proving};
use crate::checks::against::{Against, Checked, ReachAsked};
use crate::run::context::RunContext;
use crate::{Result, Update};

/// What became of the parts of a change.
pub(super) enum Probed {
    /// They were left alone.
    Off,
    Done(HunkReport),
    Interrupted,
}

/// What is known of where the checks of a change come by.
enum Looked {
    Done(ReachedLines),
    Interrupted,
}

/// The parts of one change, and what is known of the trees without some of them.
struct Probes<'a> {
    hunks: Hunks,
    /// The checks of the change as it is.
    change: Vec<GateResult>,
    place: &'a CheckedChange<'a>,
    ticket: &'a Ticket,
    until: Option<Instant>,
    known: BTreeMap<TreeId, Noticed>,
}

impl RunContext<'_> {
    pub(super) fn probe(
        &mut self,
        ticket: &Ticket,
        proving: &Proving<'_>,
        place: &CheckedChange<'_>,
        results: &[GateResult],
    ) -> Result<Probed> {
        let (time, most) = (self.run.settings.probe, self.run.settings.probe_hunks);
        if time == ProbeTime::Off {
            return Ok(Probed::Off);
        }
        let hunks = self.hunks(proving, place)?;
        let change: Vec<GateResult> =
            results.iter().filter(|result| !result.restored).cloned().collect();
        let took = change.iter().map(|result| result.duration_ms).sum();
        let limit = time.limit(Duration::from_millis(took));
        let now = self.project.around.clock.monotonic();
        let until = limit.and_then(|limit| now.checked_add(limit));
        let count = hunks.hunks.len();
        if count > 0 {
            let what = format!("what of the change its checks notice, {count} hunks");
            self.progress.update(&Update::Gates { what });
        }
        let mut probes = Probes { hunks, change, place, ticket, until, known: BTreeMap::new() };
        let reached = match self.reached(&probes, proving)? {
            Looked::Done(reached) => reached,
            Looked::Interrupted => return Ok(Probed::Interrupted),
        };
        let mut report = HunkReport::default();
        for index in 0..count {
            let noticed = match index < usize::try_from(most).unwrap_or(usize::MAX) {
                _ if probes.hunks.hunks[index].is_beyond(&proving.looked_up)
                    || probes.hunks.is_unreached(index, &reached) =>
                {
                    Some(Noticed::Unseen)
                }
                true => self.notice(&mut probes, index)?,
                false => Some(Noticed::NotTried),
            };
            let Some(noticed) = noticed else { return Ok(Probed::Interrupted) };
            let place = probes.hunks.hunks[index].place.clone();
            report.hunks.push(ProbedHunk { place, noticed });
        }
        Ok(Probed::Done(report))
    }

    /// Runs the checks of the change once more and sees which parts of it they reach, where that may save more
    /// runs than it costs. What they say has to be what they said.
    fn reached(&mut self, probes: &Probes<'_>, proving: &Proving<'_>) -> Result<Looked> {
        let beyond = probes.hunks.hunks.iter().filter(|one| one.is_beyond(&proving.looked_up));
        let told = probes.hunks.told();
        if told.len() < 2 + beyond.count() {
            return Ok(Looked::Done(ReachedLines::default()));
        }
        let paths: BTreeSet<String> = told.into_iter().map(str::to_owned).collect();
        let text = |path: &String| Some((path.clone(), probes.hunks.text_of(path)?));
        let texts: BTreeMap<String, String> = paths.iter().filter_map(text).collect();
        let asked = ReachAsked {
            paths: paths.into_iter().collect(),
            change: &probes.change,
            found: RefCell::default(),
        };
        let against = Against::Reached { asked: &asked, until: probes.until };
        let check = probes.place.check(probes.place.commit, probes.place.tree, against);
        let results = match self.with_gates(|gates, told| gates.run(&check, told))? {
            Checked::Done(results) => results,
            Checked::Interrupted if self.project.around.interrupt.is_raised() => {
                return Ok(Looked::Interrupted);
            }
            Checked::Interrupted => return Ok(Looked::Done(ReachedLines::default())),
        };
        let is_same = |result: &GateResult| {
            let own = probes.change.iter().find(|own| own.gate == result.gate);
            own.is_some_and(|own| own.exit == result.exit && own.ran == result.ran)
        };
        Ok(Looked::Done(match results.iter().all(is_same) {
            true => ReachedLines::of(&asked.found.borrow(), &texts),
            false => ReachedLines::default(),
        }))
    }

    fn hunks(&self, proving: &Proving<'_>, place: &CheckedChange<'_>) -> Result<Hunks> {
        let product = &proving.review.sorted.product;
        let paths: Vec<&str> = product.iter().map(|one| one.path.as_str()).collect();
        let repository = &self.project.repository;
        let base = repository.read_files(&self.run.settings.base, &paths)?;
        let now = repository.read_files(place.commit, &paths)?;
        let versions = product.iter().zip(base.into_iter().zip(now));
        let files: Vec<FileVersions> = versions
            .map(|(one, (base, now))| FileVersions {
                path: one.path.clone(),
                how: one.how,
                base,
                now,
            })
            .collect();
        Ok(Hunks::of(&files, &spore_index::comments))
    }

    /// Asks whether the checks notice that one part is gone; if nothing builds without it, that it is
    /// gone with those that it has to do with. Nothing if a person interrupted.
    fn notice(&mut self, probes: &mut Probes<'_>, index: usize) -> Result<Option<Noticed>> {
        let alone = self.notice_all(probes, &[index])?;
        if alone != Some(Noticed::Unbuilt) {
            return Ok(alone);
        }
        let group = probes.hunks.with_related(index);
        if group.len() == 1 {
            return Ok(alone);
        }
        let together = self.notice_all(probes, &group)?;
        Ok(together.map(|together| match together {
            // What is known of it is that nothing builds without it.
            Noticed::NotTried => Noticed::Unbuilt,
            known => known,
        }))
    }

    fn notice_all(&mut self, probes: &mut Probes<'_>, taken: &[usize]) -> Result<Option<Noticed>> {
        let around = self.project.around;
        if probes.until.is_some_and(|until| around.clock.monotonic() >= until) {
            return Ok(Some(Noticed::NotTried));
        }
        let back = probes.hunks.without(taken);
        let base = self.run.settings.base.clone();
        let mixture = TreeMixture {
            from: &base,
            bring_back: &back.bring_back,
            leave_out: &back.leave_out,
            rewrite: &back.rewrite,
        };
        let tree = self.mixed(probes.place.tree, &mixture)?;
        if let Some(known) = probes.known.get(&tree) {
            return Ok(Some(*known));
        }
        let number = probes.known.len() + 1;
        let commit = self.commit_for_checks(&tree, probes.ticket)?;
        let against = Against::WithoutPart { number, change: &probes.change, until: probes.until };
        let check = probes.place.check(&commit, &tree, against);
        let noticed = match self.with_gates(|gates, told| gates.run(&check, told))? {
            Checked::Done(results) => {
                let kind = |result: &GateResult| {
                    let gate = self.run.settings.gates.iter().find(|gate| gate.name == result.gate);
                    gate.map_or(GateKind::Test, |gate| gate.kind)
                };
                let results: Vec<(GateKind, GateResult)> =
                    results.into_iter().map(|result| (kind(&result), result)).collect();
                let holds_tests = |one: &usize| probes.hunks.hunks[*one].holds_tests;
                spore_proof::notice(&probes.change, &results, taken.iter().any(holds_tests))
            }
            Checked::Interrupted if around.interrupt.is_raised() => return Ok(None),
            Checked::Interrupted => Noticed::NotTried,
        };
        probes.known.insert(tree, noticed);
        Ok(Some(noticed))
    }
}
