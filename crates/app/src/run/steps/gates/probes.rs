//! Takes the parts of a green change back, one at a time, and asks the checks whether they mind.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use spore_gates::{GateKind, GateResult};
use spore_git::TreeMixture;
use spore_model::{ProbeTime, Ticket, TreeId};
use spore_proof::{FileVersions, HunkReport, Hunks, Noticed, ProbedHunk};

use super::ground::{CheckedChange, Proving};
use crate::checks::runner::{Against, Checked};
use crate::run::context::RunContext;
use crate::{Result, Update};

/// What became of the parts of a change.
pub(super) enum Probed {
    /// They were left alone.
    Off,
    Done(HunkReport),
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
        let mut report = HunkReport::default();
        for index in 0..count {
            let noticed = match index < usize::try_from(most).unwrap_or(usize::MAX) {
                _ if probes.hunks.hunks[index].is_beyond(&proving.looked_up) => {
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
        let message = format!("a part of a change of run {} taken back", self.run.id);
        let commit = self.commit_tree(&tree, &message, probes.ticket)?;
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
