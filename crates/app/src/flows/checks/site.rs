//! Where a sentinel works: its layer in the flow, its files, its checkouts.

use std::path::PathBuf;

use spore_git::Repository;
use spore_model::BudgetId;

use crate::base::checkouts::Checkouts;
use crate::flows::flow::{ActiveFlow, LayerPlace};
use crate::run::settings::RunSettings;

#[derive(Clone, Copy)]
pub(crate) struct SentinelSite<'a> {
    pub(crate) ground: &'a ActiveFlow<'a>,
    pub(crate) place: &'a LayerPlace,
    pub(crate) settings: &'a RunSettings,
    /// What those who are asked are paid from; nothing where their cap is spent.
    pub(crate) purse: Option<BudgetId>,
}

impl<'a> SentinelSite<'a> {
    pub(crate) fn checkouts(&self, repository: &'a Repository) -> Checkouts<'a> {
        Checkouts {
            around: self.ground.around,
            workspace: self.ground.workspace,
            repository,
            run: self.place.run,
            settings: self.settings.checkout(),
        }
    }

    /// Sets aside all that is left for those who are asked.
    pub(crate) fn reserve(&self) -> Option<BudgetId> {
        self.ground.reserve(self.purse?, None).ok()
    }

    /// Where logs and transcripts of the cycles are.
    pub(crate) fn logs(&self) -> PathBuf {
        self.ground.run_dir().join(&self.place.dir).join("sentinel")
    }
}
