//! Code and knowledge as one graph to walk.

use spore_model::NodeId;
use spore_model::graph::{GraphSurvey, Link, Links, NodeHead};
use spore_store::{CodeIndexError, KnowledgeError};

/// Why nothing could be compiled.
#[derive(Debug, thiserror::Error)]
pub enum RetrieveError {
    #[error(transparent)]
    Index(#[from] CodeIndexError),
    #[error(transparent)]
    Knowledge(#[from] KnowledgeError),
}

/// A graph whose failures are ours.
pub(super) struct Translated<'a, E>(pub(super) &'a dyn Links<Error = E>);

impl<E> Links for Translated<'_, E>
where
    RetrieveError: From<E>,
{
    type Error = RetrieveError;

    fn links(&self, of: &[NodeId]) -> Result<Vec<Link>, RetrieveError> {
        Ok(self.0.links(of)?)
    }

    fn heads(&self, of: &[NodeId]) -> Result<Vec<NodeHead>, RetrieveError> {
        Ok(self.0.heads(of)?)
    }

    fn survey(&self, survey: &mut GraphSurvey) -> Result<(), RetrieveError> {
        Ok(self.0.survey(survey)?)
    }
}
