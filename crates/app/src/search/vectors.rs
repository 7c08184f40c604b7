//! Vectors for the texts of a project's index, as many as time allows.
//!
//! The crate `indexer` makes them; this module knows where the model is. Without the model
//! nothing is made, which is said once for each index.

use std::path::PathBuf;
use std::time::Duration;

use spore_config::Config;
use spore_indexer::VectorFiller;
use spore_store::{CodeIndex, CodeIndexError};

use crate::indexing::{Indexed, Reporter};
use crate::search::model_files;
use crate::{Result, Surroundings, Workspace};

pub use spore_indexer::{FillState, Filled};

/// The key in the index's meta under which it is noted that the missing model was mentioned.
const SAID: &str = "said_no_model";
pub(crate) const NO_MODEL: &str = "There is no embedding model, so search goes by words and names alone. `spore setup` \
     installs it.";

/// Makes vectors for the index of the work tree, for as long as `time` or the settings say.
pub fn embed(
    around: &Surroundings,
    indexed: &Indexed,
    time: Option<Duration>,
    reporter: &dyn Reporter,
) -> Result<Filled> {
    let Indexed { index, workspace, config, .. } = indexed;
    let filler = Filler { around, workspace, config, reporter };
    filler.fill(index, time.unwrap_or(config.index.embed_for))
}

/// Returns where the vectors of a project are.
pub(crate) fn vectors_file(workspace: &Workspace) -> PathBuf {
    spore_indexer::vectors_file(&workspace.spore_dir())
}

pub(crate) struct Filler<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) config: &'a Config,
    pub(crate) reporter: &'a dyn Reporter,
}

impl Filler<'_> {
    pub(crate) fn fill(&self, index: &CodeIndex, time: Duration) -> Result<Filled> {
        let model_dir = model_files::model_dir(self.around);
        if !model_files::is_installed(&model_dir) {
            self.say_once(index)?;
            return Ok(Filled::nothing(FillState::NoModel));
        }
        let filler = VectorFiller {
            dir: &self.workspace.spore_dir(),
            model_dir: &model_dir,
            threads: self.config.index.threads,
            clock: self.around.clock.as_ref(),
            probe: &self.around.probe,
            is_over: &|| self.around.interrupt.is_raised(),
            reporter: self.reporter,
        };
        Ok(filler.fill(index, time)?)
    }

    /// Says that there is no model, the first time for this index.
    pub(crate) fn say_once(&self, index: &CodeIndex) -> Result<()> {
        if index.meta(SAID)?.is_none() {
            self.reporter.note(NO_MODEL);
            let kept: std::result::Result<(), CodeIndexError> =
                index.write(|writer| writer.set_meta(SAID, "yes"));
            kept?;
        }
        Ok(())
    }
}
