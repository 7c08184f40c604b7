//! What a question is near to in meaning, for a process that answers many questions.
//!
//! The model is loaded at the first question that could use it and held. Without the model,
//! without vectors, or for a commit, whose texts are never embedded, words and names answer
//! alone; that is never an error.

use std::cell::OnceCell;

use spore_context::search::NearNode;
use spore_embed::{Model, TextKind};
use spore_store::CodeIndex;

use crate::search::by_meaning;
use crate::search::model_files;
use crate::search::vectors::vectors_file;
use crate::{Surroundings, Workspace};

#[derive(Default)]
pub(super) struct Nearness {
    /// None where there is no model, or none that can be read.
    model: OnceCell<Option<Model>>,
}

impl Nearness {
    /// Returns the nodes of the `most` texts that are nearest.
    pub(super) fn of(
        &self,
        around: &Surroundings,
        index: &CodeIndex,
        text: &str,
        most: u32,
    ) -> Vec<NearNode> {
        self.found(around, index, text, most).unwrap_or_default()
    }

    fn found(
        &self,
        around: &Surroundings,
        index: &CodeIndex,
        text: &str,
        most: u32,
    ) -> Option<Vec<NearNode>> {
        let workspace = Workspace::find(around).ok()?;
        if !vectors_file(&workspace).exists() {
            return None;
        }
        let load = || {
            let dir = model_files::model_dir(around);
            if model_files::is_installed(&dir) { Model::load(&dir).ok() } else { None }
        };
        let model = self.model.get_or_init(load).as_ref()?;
        let question = model.embed(&[text], TextKind::Query).into_iter().next()?;
        by_meaning::near(&workspace, index, &question, most as usize).ok()?
    }
}
