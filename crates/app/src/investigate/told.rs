//! What an investigation has to say of its places, and the document that is made of it.

use std::collections::BTreeMap;

use serde::Serialize;
use spore_investigate::document::{DocumentFlag, EntryStanding, InvestigationAccount, SaidOfPlace};
use spore_investigate::passes::PassReport;
use spore_investigate::{EntryKind, ScanReport, Tree};

use super::passes::{PassesReport, StandingOf, summaries_of};
use super::shared::{InvestigationRun, InvestigationSettings, RaisedFlag};
use crate::Result;

/// What is said of one place.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PlaceAnswer {
    /// From the target; `.` is the target itself.
    pub path: String,
    pub kind: EntryKind,
    #[serde(flatten)]
    pub said: SaidOfPlace,
}

/// What is told beside the figures, where it was asked for.
#[derive(Default)]
pub(super) struct ToldOfPlaces {
    pub(super) places: Option<Vec<PlaceAnswer>>,
    pub(super) flags: Vec<RaisedFlag>,
    pub(super) document: Option<String>,
}

/// Puts together what is known of the tree as it is, by this run and those before.
pub(super) fn told(
    investigation: &InvestigationRun<'_>,
    settings: &InvestigationSettings,
    (tree, scan): (&Tree, &ScanReport),
    passes: Option<&PassesReport>,
    notes: &[String],
) -> Result<ToldOfPlaces> {
    let asked = &settings.asked;
    let summaries = summaries_of(investigation, settings)?;
    let flags = summaries.flags();
    if !asked.places && asked.document.is_none() {
        return Ok(ToldOfPlaces { flags, ..ToldOfPlaces::default() });
    }
    let standing = StandingOf::new(tree, &summaries);
    let mut places: BTreeMap<(EntryKind, String), SaidOfPlace> = BTreeMap::new();
    for ((kind, path), node) in summaries.all() {
        if !standing.is_there(&path) {
            continue;
        }
        let is_partial = node.metadata["partial"] == true;
        let standing = match standing.holds(kind, &path, &node) {
            false => EntryStanding::Stale,
            true if is_partial => EntryStanding::Partial,
            true => EntryStanding::Holds,
        };
        let reason = node.metadata["confidence_reason"].as_str().map(str::to_owned);
        let said = SaidOfPlace {
            summary: node.content,
            confidence: node.confidence,
            confidence_reason: reason,
            standing,
        };
        places.insert((kind, path), said);
    }
    let known = match passes {
        Some(passes) => {
            Some(PassReport { brief: passes.brief.clone(), detailed: passes.detailed.clone() })
        }
        None => summaries.last_brief()?,
    };
    let document = asked.document.map(|format| {
        let flags = flags.iter().map(|flag| DocumentFlag {
            severity: &flag.severity,
            path: &flag.path,
            finding: &flag.finding,
        });
        let account = InvestigationAccount {
            target: &scan.target,
            tree,
            scan,
            said: known.as_ref(),
            flags: flags.collect(),
            places: &places,
            facts: facts(scan, passes, &places),
            notes,
        };
        account.document(format)
    });
    let answers = places.into_iter().map(|((kind, path), said)| PlaceAnswer { path, kind, said });
    Ok(ToldOfPlaces { places: asked.places.then(|| answers.collect()), flags, document })
}

fn facts(
    scan: &ScanReport,
    passes: Option<&PassesReport>,
    places: &BTreeMap<(EntryKind, String), SaidOfPlace>,
) -> Vec<(&'static str, String)> {
    let number = |number: usize| spore_investigate::number_text(number as u64);
    let stale = places.values().filter(|said| said.standing == EntryStanding::Stale).count();
    let mut facts = vec![
        ("looked at", format!("{}", scan.scanned_at)),
        (
            "holds",
            format!(
                "{} files in {} directories, {}",
                spore_investigate::number_text(scan.totals.files),
                spore_investigate::number_text(scan.totals.directories),
                spore_investigate::size_text(scan.totals.bytes)
            ),
        ),
        ("described", format!("{} places, {} of them stale", number(places.len()), number(stale))),
    ];
    if let Some(passes) = passes {
        let of = &passes.directories;
        facts.push((
            "this time",
            format!(
                "{} directories looked at, {} still known, {} sessions, {} turns, {}",
                of.looked_at, of.held, passes.sessions, passes.turns, passes.cost_usd
            ),
        ));
        if let Some(why) = &passes.stopped {
            facts.push(("stopped early", why.clone()));
        }
    }
    facts
}
