//! `spore memory crystallize`: folds fragments into the ledger, and brings the dossiers up to date
//! that lines point to or that what came up again asks for.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spore_memory::dossier;
use spore_memory::fragment::Fragment;
use spore_memory::inbox::{PassKind, Terminal};
use spore_memory::known::split_count;
use spore_memory::ledger::{LEDGER, Ledger};
use spore_memory::lines::{LineHash, LineMap, ToldLine};
use std::collections::BTreeMap;

use super::inbox::packet;
use super::passes::{Pass, PassEnding, Report};
use super::places::MemoryPlaces;
use super::requests::{Crystallize, PassSettings};
use super::scan::LineEvidence;
use crate::knowledge::ledger::told_map;
use crate::session::within::refuse_within;
use crate::{Result, Surroundings, Workspace, counted};

/// Tells git that all rows of both sides are kept: any union of two ledgers is a ledger.
const MERGING: &str = "*.md merge=union\n";

/// What a crystallization did.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Crystallized {
    #[serde(flatten)]
    pub ending: PassEnding,
    /// Files that were written, by path.
    pub written: Vec<String>,
    pub lines: Vec<LineEvidence>,
    /// Signals that no line says, new in the ledger.
    pub new_signals: u32,
    /// Fragments that were refused, with the reason.
    pub refused: Vec<RefusedFragment>,
    /// Dossiers that are left for the next pass.
    pub dossiers_left: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RefusedFragment {
    pub fragment: String,
    pub reason: String,
}

impl Report for Crystallized {
    fn ending(&mut self) -> &mut PassEnding {
        &mut self.ending
    }

    fn told(&self) -> (&'static str, Value) {
        let payload = json!({
            "terminal": self.ending.terminal,
            "written": self.written,
            "lines": self.lines.iter().map(|line| &line.hash).collect::<Vec<_>>(),
            "new_signals": self.new_signals,
            "refused": self.refused.len(),
        });
        ("memory.crystallized", payload)
    }
}

/// Brings ledger and dossiers up to date with the fragments.
pub fn crystallize_memory(around: &Surroundings, asked: &Crystallize) -> Result<Crystallized> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let config = workspace.config(around, &[])?;
    refuse_within(around, &workspace.journal(&config)?, "change what the ledger holds")?;
    if let Some(name) = &asked.task {
        packet(&workspace, name)?;
    }
    let settings = PassSettings::Crystallize(asked.clone());
    let pass = Pass::begin(around, &workspace, &config, "memory crystallize", &settings)?;
    perform(&pass, asked)
}

pub(super) fn perform(pass: &Pass<'_>, asked: &Crystallize) -> Result<Crystallized> {
    pass.perform(Some(PassKind::Crystallize), asked.task.as_deref(), || {
        let report: Crystallized = pass.step("read", || plan(pass))?;
        let _: () = pass.step("write", || carry_out(pass, &report))?;
        Ok(report)
    })
}

/// The ledger with every fragment of this machine in it.
pub(super) struct FoldedLedger {
    pub(super) before: String,
    pub(super) ledger: Ledger,
    pub(super) map: LineMap,
    /// How many rows are new, by line.
    pub(super) added: BTreeMap<Option<LineHash>, u32>,
    pub(super) refused: Vec<RefusedFragment>,
}

impl FoldedLedger {
    /// Reads the ledger first, then what is to be folded into it.
    pub(super) fn read(places: &MemoryPlaces, map: LineMap) -> Result<Self> {
        let before = places.read(&places.path(LEDGER))?.unwrap_or_default();
        let mut folded = Self {
            before,
            ledger: places.ledger()?,
            map,
            added: BTreeMap::new(),
            refused: Vec::new(),
        };
        for name in places.fragment_names()? {
            let text = places.read(&places.fragments().join(&name));
            match text.map(|text| Fragment::parse(&name, &text.unwrap_or_default())) {
                Ok(Ok(fragment)) => {
                    if folded.ledger.fold(&fragment) {
                        let line = fragment.line.map(|line| line.hash);
                        *folded.added.entry(line).or_default() += 1;
                    }
                }
                Ok(Err(error)) => folded.refuse(name, error.to_string()),
                Err(error) => folded.refuse(name, error.to_string()),
            }
        }
        folded.ledger.refresh(&folded.map);
        Ok(folded)
    }

    fn refuse(&mut self, fragment: String, reason: String) {
        self.refused.push(RefusedFragment { fragment, reason });
    }

    /// What the file should hold; nothing where there is nothing to say.
    pub(super) fn after(&self) -> String {
        if self.ledger.is_empty() { String::new() } else { self.ledger.render(&self.map) }
    }
}

fn plan(pass: &Pass<'_>) -> Result<Crystallized> {
    let folded = FoldedLedger::read(&pass.places, told_map(pass.workspace, pass.config)?)?;
    let (pages, left) = pages(pass, &folded)?;
    let mut written: Vec<String> = Vec::new();
    if folded.before != folded.after() {
        written.push(LEDGER.to_owned());
    }
    written.extend(pages.into_iter().map(|(name, _)| name));
    let (terminal, result) = ending(&folded, &written, left);
    Ok(Crystallized {
        ending: PassEnding {
            run: Some(pass.run),
            terminal,
            result,
            acked: None,
            pending_task: None,
        },
        written,
        lines: lines(&folded),
        new_signals: folded.added.get(&None).copied().unwrap_or(0),
        refused: folded.refused,
        dossiers_left: left,
    })
}

fn ending(folded: &FoldedLedger, written: &[String], left: u32) -> (Terminal, String) {
    let rows: u32 = folded.added.values().sum();
    let first = folded.before.is_empty() && written.iter().any(|path| path == LEDGER);
    let terminal = match (left, written, first) {
        (1.., ..) => Terminal::PartialUpdate,
        (0, [], _) => Terminal::NoOp,
        (0, _, true) => Terminal::Bootstrapped,
        (0, _, false) => Terminal::Updated,
    };
    let result = match terminal {
        Terminal::NoOp => format!("{terminal}: ledger and pages are up to date."),
        Terminal::PartialUpdate => format!(
            "{terminal}: {} folded in, {} left for the next pass.",
            counted(rows, "fragment"),
            counted(left, "page")
        ),
        _ => {
            let files = counted(u32::try_from(written.len()).unwrap_or(u32::MAX), "file");
            format!("{terminal}: {} folded in, {files} written.", counted(rows, "fragment"))
        }
    };
    (terminal, result)
}

fn lines(folded: &FoldedLedger) -> Vec<LineEvidence> {
    let mut lines: Vec<LineEvidence> = Vec::new();
    for (hash, new) in &folded.added {
        let Some(hash) = hash else { continue };
        let total = folded.ledger.entry(hash).map_or(0, |entry| entry.rows().count());
        let prior = u32::try_from(total).unwrap_or(u32::MAX).saturating_sub(*new);
        let place = folded.map.by_hash(hash).map(ToldLine::reference);
        lines.push(LineEvidence {
            line: place.unwrap_or_else(|| "gone".to_owned()),
            hash: hash.clone(),
            new: *new,
            prior,
            evidence: split_count(*new, prior),
        });
    }
    let lines_of_map = folded.map.lines();
    let place = |line: &LineEvidence| lines_of_map.iter().position(|one| one.hash == line.hash);
    lines.sort_by_key(|line| place(line).unwrap_or(usize::MAX));
    lines
}

/// The pages to be written now, by name, and how many new ones are left for later. A page whose
/// evidence changed is brought up to date; what people wrote is left alone.
fn pages(pass: &Pass<'_>, folded: &FoldedLedger) -> Result<(Vec<(String, String)>, u32)> {
    let most = pass.config.memory.dossiers_per_pass as usize;
    let (mut written, mut new, mut left) = (Vec::new(), 0_usize, 0_u32);
    for page in dossier::pages(&folded.map, &folded.ledger) {
        let name = format!("memory/{}", page.path());
        let existing = pass.places.read(&pass.places.path(&name))?;
        let Some(text) = page.render(existing.as_deref()) else { continue };
        if existing.as_deref() == Some(text.as_str()) {
            continue;
        }
        let is_new = existing.is_none();
        // A line that is gone asks for no page.
        if is_new && !page.is_pointed_to() && page.has_lines() {
            continue;
        }
        if is_new && new >= most {
            left = left.saturating_add(1);
            continue;
        }
        new += usize::from(is_new);
        written.push((name, text));
    }
    Ok((written, left))
}

/// Writes what the plan names. Folding is a union, so folding again gives the same file.
fn carry_out(pass: &Pass<'_>, report: &Crystallized) -> Result<()> {
    let (places, around) = (&pass.places, pass.around);
    let folded = FoldedLedger::read(places, told_map(pass.workspace, pass.config)?)?;
    let after = folded.after();
    if folded.before != after {
        let ledger = places.path(LEDGER);
        // Before the ledger: with that written, a pass that goes on finds nothing left to do.
        let merging = ledger.with_file_name(".gitattributes");
        if !merging.exists() {
            around.write_file(&merging, MERGING.as_bytes())?;
        }
        around.write_file(&ledger, after.as_bytes())?;
    }
    for page in dossier::pages(&folded.map, &folded.ledger) {
        let name = format!("memory/{}", page.path());
        if !report.written.contains(&name) {
            continue;
        }
        let path = places.path(&name);
        if let Some(text) = page.render(places.read(&path)?.as_deref()) {
            around.write_if_changed(&path, text.as_bytes())?;
        }
    }
    Ok(())
}
