//! Whether a lesson is new, says what is known, or takes a known one's place.

use spore_config::LessonConfig;
use spore_context::{likeness, overlap_of_texts};
use spore_model::{Lesson, NodeId};
use spore_pipeline::normalised;

/// What a lesson is to those that are known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LessonKinship {
    New,
    /// It says what this one says.
    Same(NodeId),
    /// It is to take the place of this one.
    Successor(NodeId),
}

impl LessonKinship {
    /// Compares a lesson with those that are known. Only one that the run was told can lose
    /// its place: the run is then evidence against it.
    pub(crate) fn find(
        lesson: &Lesson,
        replaces: Option<&str>,
        known: &[Lesson],
        carried: &[NodeId],
        rules: &LessonConfig,
    ) -> Self {
        let told = || known.iter().filter(|old| carried.contains(&old.id));
        if let Some(old) = replaces.and_then(|typed| named(typed, told())) {
            return Self::Successor(old);
        }
        if let Some(old) = known.iter().find(|old| is_same(old, lesson, rules)) {
            return Self::Same(old.id.clone());
        }
        match told().find(|old| is_other_answer(old, lesson, rules)) {
            Some(old) => Self::Successor(old.id.clone()),
            None => Self::New,
        }
    }
}

/// Returns the one lesson whose id begins or ends as it was typed.
fn named<'l>(typed: &str, lessons: impl Iterator<Item = &'l Lesson>) -> Option<NodeId> {
    let typed = typed.to_ascii_uppercase();
    let is_meant = |id: &str| {
        let id = id.to_ascii_uppercase();
        id.starts_with(&typed) || id.ends_with(&typed)
    };
    let mut meant = lessons.filter(|lesson| is_meant(lesson.id.as_str()));
    let first = meant.next()?;
    meant.next().is_none().then(|| first.id.clone())
}

fn is_same(old: &Lesson, new: &Lesson, rules: &LessonConfig) -> bool {
    let words = |lesson: &Lesson| (normalised(&lesson.pattern), normalised(&lesson.fix));
    share_a_place(old, new) && (words(old) == words(new) || likeness(old, new) >= rules.same)
}

/// Returns whether both are about one situation and advise differently.
fn is_other_answer(old: &Lesson, new: &Lesson, rules: &LessonConfig) -> bool {
    share_a_place(old, new)
        && overlap_of_texts(&old.pattern, &new.pattern) >= rules.same_situation
        && overlap_of_texts(&old.fix, &new.fix) < rules.other_answer
}

/// Returns whether two lessons can be about the same files. One about everything and one about
/// some files are not the same lesson: the wider one would swallow the narrower.
fn share_a_place(a: &Lesson, b: &Lesson) -> bool {
    let within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match (a.scope.is_empty(), b.scope.is_empty()) {
        (true, true) => true,
        (false, false) => a
            .scope
            .iter()
            .any(|one| b.scope.iter().any(|other| within(one, other) || within(other, one))),
        _ => false,
    }
}
