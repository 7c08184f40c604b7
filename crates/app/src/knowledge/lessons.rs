//! What a run leaves for the runs after it: one summary, and lessons where there were any.
//!
//! A summarizer proposes; everything here is decided and written by Spore. A lesson that is
//! known already is not written again: the known one gets the run as one more place it was
//! learnt. One that takes the place of another supersedes it, and that only where this run was
//! told the old one, so that there is evidence against it. Ids follow from the run, so a step
//! that is done again after a crash writes the same nodes.
//!
//! Nothing here can change how the run ended: whatever cannot be kept is told and left out.

mod kinship;
#[cfg(test)]
mod tests;
mod trail;

use std::path::Path;

use serde::{Deserialize, Serialize};
use spore_config::LessonConfig;
use spore_model::{
    Edge, EdgeKind, LESSON_KIND, Lesson, LessonRecord, Node, NodeClass, NodeId, RunId,
};
use spore_pipeline::{ProposalProblem, Proposed, ProposedLesson};
use spore_store::{Knowledge, KnowledgeError, NodeQuery};

use crate::Result;
use crate::knowledge::carried::{Carried, carried_files};
use crate::knowledge::run_keys::Keys;

use kinship::LessonKinship;
pub(crate) use trail::{BounceTrail, RunTrail, change_sizes};

const SUMMARIZER: &str = "spore:summarizer";
/// The kind of the node that takes the place of what a rolled-back run taught.
const ROLLBACK_KIND: &str = "rollback";

/// Where a run's lessons go.
pub(crate) struct Learning<'a> {
    pub(crate) knowledge: &'a dyn Knowledge,
    pub(crate) run: RunId,
    pub(crate) keys: &'a Keys,
    /// Whether the run's work was verified.
    pub(crate) verified: bool,
    pub(crate) rules: &'a LessonConfig,
    /// The lessons that the run's task files carried.
    pub(crate) carried: &'a [NodeId],
}

/// What a run left.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Learnt {
    pub(crate) summary: Option<NodeId>,
    /// New ones.
    pub(crate) lessons: Vec<NodeId>,
    /// Known ones that the run taught again.
    pub(crate) confirmed: Vec<NodeId>,
    /// Known ones whose place a new one took.
    pub(crate) replaced: Vec<NodeId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) dropped: Vec<ProposalProblem>,
}

/// Keeps what a summarizer proposed. Doing it again adds nothing.
pub(crate) fn learn_from_summary(learning: &Learning<'_>, proposed: &Proposed) -> Result<Learnt> {
    let known = learning.known()?;
    let mut plan = LessonPlan::new(learning, proposed);
    for (number, lesson) in (1..).zip(&proposed.lessons) {
        plan.place(learning, number, lesson, &known);
    }
    learning.knowledge.add(&plan.nodes, &plan.edges)?;
    for (old, new) in &plan.successions {
        match learning.knowledge.supersede_node(old, new, &[]) {
            Ok(_) => {}
            // Another run has put another one in its place meanwhile: both stay.
            Err(KnowledgeError::Superseded { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(plan.learnt)
}

/// Returns the lessons that hold, newest first. One whose successor was taken back with the
/// run that wrote it holds again: what spoke against it is gone.
pub(crate) fn standing_lessons(
    knowledge: &dyn Knowledge,
) -> std::result::Result<Vec<Lesson>, KnowledgeError> {
    standing_but_for(knowledge, None)
}

/// Returns the lessons that would hold if it were not for what `run` wrote: a step that is done
/// again decides as it did the first time.
fn standing_but_for(
    knowledge: &dyn Knowledge,
    run: Option<RunId>,
) -> std::result::Result<Vec<Lesson>, KnowledgeError> {
    let query = NodeQuery {
        kind: Some(LESSON_KIND.to_owned()),
        include_superseded: true,
        ..NodeQuery::default()
    };
    let mut lessons = Vec::new();
    for node in knowledge.list(&query)? {
        let stands = match &node.superseded_by {
            None => true,
            Some(successor) => lost_its_place_to_nobody(knowledge, successor, run)?,
        };
        if stands {
            lessons.extend(Lesson::of_node(&Node { superseded_by: None, ..node }));
        }
    }
    Ok(lessons)
}

/// Returns whether a successor does not count: it is one of `run`'s, or it was itself taken
/// back with the run that wrote it.
fn lost_its_place_to_nobody(
    knowledge: &dyn Knowledge,
    successor: &NodeId,
    run: Option<RunId>,
) -> std::result::Result<bool, KnowledgeError> {
    let Some(node) = knowledge.node(successor)? else { return Ok(false) };
    if node.kind != LESSON_KIND {
        return Ok(false);
    }
    let Some(marker) = node.superseded_by else { return Ok(run.is_some() && node.run == run) };
    Ok(knowledge.node(&marker)?.is_some_and(|marker| marker.kind == ROLLBACK_KIND))
}

impl Learning<'_> {
    /// Returns the lessons that hold, other than this run's own: those are being written.
    fn known(&self) -> Result<Vec<Lesson>> {
        let lessons = standing_but_for(self.knowledge, Some(self.run))?.into_iter();
        Ok(lessons.filter(|lesson| lesson.run != Some(self.run)).collect())
    }

    fn edge(&self, words: &[&str], source: &NodeId, target: &NodeId, kind: EdgeKind) -> Edge {
        let id = self.keys.edge(words);
        let edge = Edge::new(id, source.clone(), target.clone(), kind, self.keys.at());
        Edge { run: Some(self.run), agent: Some(SUMMARIZER.to_owned()), ..edge }
    }
}

/// What is to be written, decided before anything is.
struct LessonPlan {
    summary: NodeId,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    successions: Vec<(NodeId, Node)>,
    learnt: Learnt,
}

impl LessonPlan {
    fn new(learning: &Learning<'_>, proposed: &Proposed) -> Self {
        let id = learning.keys.node(&["summary"]);
        let title = format!("Summary: {}", proposed.summary.title);
        let node =
            Node::new(id.clone(), NodeClass::Operational, "summary", title, learning.keys.at());
        let task = learning.keys.task();
        let node = Node {
            content: proposed.summary.text.clone(),
            agent: Some(SUMMARIZER.to_owned()),
            run: Some(learning.run),
            parent: Some(task.clone()),
            ..node
        };
        let edge = Edge {
            confidence: Some(1.0),
            ..learning.edge(&["summarizes"], &id, &task, EdgeKind::Summarizes)
        };
        let learnt = Learnt {
            summary: Some(id.clone()),
            dropped: proposed.dropped.clone(),
            ..Learnt::default()
        };
        let (nodes, edges) = (vec![node], vec![edge]);
        Self { summary: id, nodes, edges, successions: Vec::new(), learnt }
    }

    /// Decides what becomes of one lesson.
    fn place(
        &mut self,
        learning: &Learning<'_>,
        number: u32,
        proposed: &ProposedLesson,
        known: &[Lesson],
    ) {
        let lesson = lesson_of(learning, number, proposed);
        if !lesson.says_something() {
            let what = "it says too little to be worth a place".to_owned();
            self.learnt.dropped.push(ProposalProblem { about: format!("lesson {number}"), what });
            return;
        }
        let (replaces, carried) = (proposed.replaces.as_deref(), learning.carried);
        match LessonKinship::find(&lesson, replaces, known, carried, learning.rules) {
            LessonKinship::Same(old) => {
                let words = ["learnt again", old.as_str()];
                self.derive(learning, &words, &old);
                self.learnt.confirmed.push(old);
            }
            LessonKinship::Successor(old) => {
                self.add(learning, number, &lesson);
                self.successions.push((old.clone(), self.nodes[self.nodes.len() - 1].clone()));
                self.learnt.replaced.push(old);
            }
            LessonKinship::New => self.add(learning, number, &lesson),
        }
    }

    fn add(&mut self, learning: &Learning<'_>, number: u32, lesson: &Lesson) {
        self.derive(learning, &["learnt", &number.to_string()], &lesson.id);
        self.learnt.lessons.push(lesson.id.clone());
        let node = lesson.to_node();
        self.nodes.push(Node {
            agent: Some(SUMMARIZER.to_owned()),
            parent: Some(learning.keys.task()),
            ..node
        });
    }

    fn derive(&mut self, learning: &Learning<'_>, words: &[&str], lesson: &NodeId) {
        let LessonConfig { from_verified, from_unfinished, .. } = learning.rules;
        let sure = *if learning.verified { from_verified } else { from_unfinished };
        let edge = learning.edge(words, lesson, &self.summary, EdgeKind::DerivesFrom);
        self.edges.push(Edge { confidence: Some(sure), ..edge });
    }
}

fn lesson_of(learning: &Learning<'_>, number: u32, proposed: &ProposedLesson) -> Lesson {
    Lesson {
        id: learning.keys.node(&["lesson", &number.to_string()]),
        title: proposed.title.clone(),
        pattern: proposed.pattern.clone(),
        fix: proposed.fix.clone(),
        scope: proposed.scope.clone(),
        evidence: proposed.evidence.clone(),
        run: Some(learning.run),
        created: learning.keys.at(),
        record: LessonRecord::default(),
    }
}

/// Returns the lessons that the task files of a run carried, each once, as they were kept
/// beside them. A file that cannot be read counts as one without lessons.
pub(crate) fn carried_lessons(run_dir: &Path) -> Vec<NodeId> {
    let mut lessons: Vec<NodeId> = Vec::new();
    for path in carried_files(run_dir, 3) {
        let Ok(text) = spore_effects::files::read(&path) else { continue };
        let Ok(carried) = serde_json::from_slice::<Carried>(&text) else { continue };
        for lesson in carried.lessons {
            if !lessons.contains(&lesson) {
                lessons.push(lesson);
            }
        }
    }
    lessons
}
