//! What the steps of one investigation share.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spore_config::Config;
use spore_investigate::document::DocumentFormat;
use spore_investigate::passes::text_digest;
use spore_investigate::path_text;
use spore_model::{Event, RunId, SourceKind, Usd};
use spore_secrets::KnownSecrets;
use spore_store::Journal;

use super::base_scan::ScanAsked;
use crate::base::outbox::Events;
use crate::base::step::Steps;
use crate::base::stores::ProjectJournal;
use crate::session::nesting::Nesting;
use crate::{Result, Surroundings, Workspace};

/// What to investigate, as typed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct InvestigateAsked {
    #[serde(flatten)]
    pub scan: ScanAsked,
    /// Write every entry anew, also those that still hold.
    pub fresh: bool,
    /// The agent that reads; none where the settings choose it.
    #[serde(default)]
    pub backend: Option<String>,
    /// A tier or a model's own name, for every pass.
    #[serde(default)]
    pub model: Option<String>,
    /// Only count: no model is asked.
    #[serde(default)]
    pub no_model: bool,
    #[serde(default)]
    pub budget: Option<Usd>,
    /// How many directories are looked at at once.
    #[serde(default)]
    pub jobs: Option<u32>,
    /// Look again at what is doubtful or partial.
    #[serde(default)]
    pub refine: bool,
    /// Only say what would be asked and what that is likely to cost.
    #[serde(default)]
    pub estimate: bool,
    /// Tell what is said of each place.
    #[serde(default)]
    pub places: bool,
    /// Make one document of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<DocumentFormat>,
    /// Where the document goes, by its whole path: a run that is gone on with writes it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// What a model flagged for a person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RaisedFlag {
    pub severity: String,
    pub path: String,
    pub finding: String,
}

/// What a run was started with; enough to go on with it from anywhere.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct InvestigationSettings {
    /// Where the target is, from the project's root.
    pub(super) base: PathBuf,
    /// Where it is itself, if that is outside of any project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<PathBuf>,
    /// Who reads; nothing where counting is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) passes: Option<ReaderSettings>,
    #[serde(flatten)]
    pub(super) asked: InvestigateAsked,
}

/// Which agent reads, and within which bounds; written down with the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ReaderSettings {
    pub(super) backend: String,
    /// Models of survey and plan, of the loops, of the synthesis.
    pub(super) low: Option<String>,
    pub(super) medium: Option<String>,
    pub(super) high: Option<String>,
    pub(super) budget: Usd,
    pub(super) jobs: u32,
    pub(super) nesting: Nesting,
}

/// The parts of one investigation that its steps share.
pub(super) struct InvestigationRun<'a> {
    pub(super) around: &'a Surroundings,
    pub(super) workspace: &'a Workspace,
    pub(super) config: &'a Config,
    pub(super) journal: ProjectJournal,
    pub(super) run: RunId,
}

impl<'a> InvestigationRun<'a> {
    pub(super) fn open(
        around: &'a Surroundings,
        workspace: &'a Workspace,
        config: &'a Config,
        run: RunId,
    ) -> Result<Self> {
        let journal = workspace.journal(config)?;
        Ok(Self { around, workspace, config, journal, run })
    }

    pub(super) fn steps(&self) -> Steps<'_> {
        let Self { around, workspace, run, .. } = *self;
        Steps { around, workspace, journal: &self.journal, run }
    }

    pub(super) fn event(&self, what: &str, payload: Value) -> Event {
        let events = Events { around: self.around, trace: self.run.into() };
        events.make(SourceKind::Runner, "investigate", what, self.run, payload)
    }
}

/// A path from the project's root; `.` is the root itself.
pub(super) fn named(base: &Path) -> String {
    if base.as_os_str().is_empty() { ".".to_owned() } else { path_text(base) }
}

/// The names of places as they are kept: a secret in a name is struck, and a digest tells such names
/// apart.
pub(super) struct KeptNames {
    secrets: KnownSecrets,
    /// By part of a path: directories come again and again.
    known: RefCell<HashMap<String, String>>,
}

impl KeptNames {
    pub(super) fn new(around: &Surroundings) -> Self {
        Self { secrets: around.secrets(), known: RefCell::default() }
    }

    /// A path of which each part is kept by itself, so that what is below a place is found by it.
    pub(super) fn path(&self, path: &str) -> String {
        let parts: Vec<String> = path.split('/').map(|part| self.part(part)).collect();
        parts.join("/")
    }

    fn part(&self, part: &str) -> String {
        if let Some(kept) = self.known.borrow().get(part) {
            return kept.clone();
        }
        let struck = self.struck(part);
        let kept = match struck == part {
            true => struck,
            false => format!("{struck}~{}", &text_digest(part)[..12]),
        };
        self.known.borrow_mut().insert(part.to_owned(), kept.clone());
        kept
    }

    pub(super) fn struck(&self, text: &str) -> String {
        spore_secrets::strike_out(&self.secrets.strike(text))
    }

    /// Strikes every text of a value.
    pub(super) fn strike(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.struck(text),
            Value::Array(all) => all.iter_mut().for_each(|one| self.strike(one)),
            Value::Object(fields) => fields.values_mut().for_each(|one| self.strike(one)),
            _ => {}
        }
    }
}

/// Where a target is kept: in the project around it, if there is one.
pub(super) struct TargetPlace {
    pub(super) workspace: Workspace,
    /// From the project's root; nothing where it is outside.
    pub(super) base: Option<PathBuf>,
}

/// Finds the project that a target belongs to.
pub(super) fn place_of(around: &Surroundings, target: &Path) -> Result<TargetPlace> {
    let workspace = match &around.root {
        Some(_) => Workspace::find(around)?,
        None => Workspace::around_dir(around, target)?,
    };
    let real_root = workspace.root().canonicalize().unwrap_or_else(|_| workspace.root().to_owned());
    let base = target.strip_prefix(&real_root).ok().map(Path::to_owned);
    Ok(TargetPlace { workspace, base })
}

/// Where the number of times is kept that a target was cleared.
pub(super) const CLEARED: &str = "investigation.cleared";

/// Returns how often a target was cleared by its own name.
pub(super) fn own_times_cleared(journal: &dyn Journal, base: &str) -> Result<u64> {
    Ok(journal.cached(CLEARED, base)?.and_then(|times| times.as_u64()).unwrap_or(0))
}

/// Returns how often a target was cleared, by itself or with what it is in.
pub(super) fn times_cleared(journal: &dyn Journal, base: &str) -> Result<u64> {
    let above: BTreeSet<String> = Path::new(base).ancestors().map(named).collect();
    let mut times = 0;
    for base in above {
        times += own_times_cleared(journal, &base)?;
    }
    Ok(times)
}
