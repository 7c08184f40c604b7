//! What a run leaves, in a real store, and what the next one is told of it.

use spore_model::Timestamp;
use spore_pipeline::ProposedSummary;
use spore_store::EdgeQuery;

use super::*;
use crate::knowledge::brief::tests::Project;

const STARTED: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn run(number: u128) -> RunId {
    RunId::from_parts(1_767_225_600_000, number)
}

fn proposed(lessons: Vec<ProposedLesson>) -> Proposed {
    let summary = ProposedSummary {
        title: "Totals are rounded to ten cents".into(),
        text: "The receipt rounds to ten cents. Bounce 1 rounded the sum twice.".into(),
    };
    Proposed { summary, lessons, dropped: Vec::new() }
}

fn rounding() -> ProposedLesson {
    ProposedLesson {
        title: "A sum is rounded where it is shown".into(),
        pattern: "The receipt and the bill both round, so a sum is rounded twice on its way".into(),
        fix: "Round in the receipt alone and let the bill keep exact cents in every case".into(),
        scope: vec!["shop".into()],
        evidence: "bounce 1 was red in test_receipt".into(),
        replaces: None,
    }
}

/// Keeps a proposal as `run` would.
fn learn(project: &Project, run: RunId, carried: &[NodeId], proposed: &Proposed) -> Learnt {
    let keys = Keys::new(run, STARTED, Timestamp::from_millis(1_767_225_700_000));
    let task = Node::new(keys.task(), NodeClass::Operational, "task", "Rounding", STARTED);
    project.knowledge.add(&[task], &[]).unwrap();
    let learning = Learning {
        knowledge: &project.knowledge,
        run,
        keys: &keys,
        verified: true,
        rules: &project.config().lessons,
        carried,
    };
    learn_from_summary(&learning, proposed).unwrap()
}

fn live_lessons(project: &Project) -> Vec<Lesson> {
    let query = NodeQuery { kind: Some(LESSON_KIND.to_owned()), ..NodeQuery::default() };
    project.knowledge.list(&query).unwrap().iter().filter_map(Lesson::of_node).collect()
}

fn edges(project: &Project, kind: EdgeKind) -> Vec<Edge> {
    let query = EdgeQuery { kinds: vec![kind], not_superseded: true, ..EdgeQuery::default() };
    project.knowledge.edges(&query).unwrap()
}

#[test]
fn a_summary_and_its_lessons_are_kept_once_however_often_they_are_written() {
    let project = Project::new();
    let learnt = learn(&project, run(1), &[], &proposed(vec![rounding()]));
    let summary = learnt.summary.clone().unwrap();
    let node = project.knowledge.node(&summary).unwrap().unwrap();
    assert_eq!((node.kind.as_str(), node.run), ("summary", Some(run(1))));
    assert_eq!(node.agent.as_deref(), Some("spore:summarizer"));
    let [summarizes] = &edges(&project, EdgeKind::Summarizes)[..] else { panic!("one edge") };
    let task = Keys::new(run(1), STARTED, STARTED).task();
    assert_eq!((&summarizes.source, &summarizes.target), (&summary, &task));
    let [derives] = &edges(&project, EdgeKind::DerivesFrom)[..] else { panic!("one edge") };
    assert_eq!((&derives.source, &derives.target), (&learnt.lessons[0], &summary));
    assert_eq!(derives.confidence, Some(0.8));
    assert_ne!(derives.id.to_string(), derives.source.to_string(), "one id means one thing");
    let counts = project.knowledge.counts(STARTED).unwrap();
    assert_eq!(learn(&project, run(1), &[], &proposed(vec![rounding()])), learnt);
    assert_eq!(project.knowledge.counts(STARTED).unwrap(), counts);
}

#[test]
fn what_a_run_learnt_is_in_the_next_runs_brief() {
    let project = Project::new();
    let task = "receipt: show the total in ten cents";
    assert!(project.brief(task).carried.lessons.is_empty());
    let learnt = learn(&project, run(1), &[], &proposed(vec![rounding()]));
    let brief = project.brief(task);
    assert_eq!(brief.carried.lessons, learnt.lessons);
    assert!(brief.text.contains("## Lessons from Past Runs"));
    assert!(brief.text.contains("Round in the receipt alone"));
}

#[test]
fn a_lesson_that_is_known_is_confirmed_and_not_repeated() {
    let project = Project::new();
    let first = learn(&project, run(1), &[], &proposed(vec![rounding()]));
    let mut again = rounding();
    again.fix = again.fix.to_uppercase();
    again.scope = vec!["shop/bill.py".into()];
    let second = learn(&project, run(2), &[], &proposed(vec![again]));
    assert_eq!((second.lessons.len(), &second.confirmed), (0, &first.lessons));
    assert_eq!(live_lessons(&project).len(), 1);
    let derived = edges(&project, EdgeKind::DerivesFrom);
    assert_eq!(derived.len(), 2, "the known lesson has two runs behind it");
    assert!(derived.iter().all(|edge| edge.source == first.lessons[0]));
    let mut elsewhere = rounding();
    elsewhere.scope = vec!["tests".into()];
    let third = learn(&project, run(3), &[], &proposed(vec![elsewhere]));
    assert_eq!(third.lessons.len(), 1, "about other files it is another lesson");
}

#[test]
fn only_a_lesson_that_the_run_was_told_can_lose_its_place() {
    let project = Project::new();
    let first = learn(&project, run(1), &[], &proposed(vec![rounding()]));
    let old = &first.lessons[0];
    let better = || ProposedLesson {
        title: "Sums are exact until they are printed".into(),
        pattern: "Three places round the same sum: bill, receipt and the export to the bank".into(),
        fix: "Keep cents exact everywhere and round in print functions, the export included".into(),
        replaces: Some(old.short().to_lowercase()),
        ..rounding()
    };
    let stranger = learn(&project, run(2), &[], &proposed(vec![better()]));
    assert_eq!((stranger.replaced.len(), live_lessons(&project).len()), (0, 2));
    let carried = [old.clone()];
    let told = learn(
        &project,
        run(3),
        &carried,
        &proposed(vec![ProposedLesson {
            title: "Rounding belongs to printing".into(),
            ..better()
        }]),
    );
    assert_eq!(told.replaced, carried);
    let node = project.knowledge.node(old).unwrap().unwrap();
    assert_eq!(node.superseded_by.as_ref(), told.lessons.first());
    assert_eq!(
        project.brief("receipt rounding").carried.lessons.iter().find(|id| *id == old),
        None
    );
    let again = learn(
        &project,
        run(3),
        &carried,
        &proposed(vec![ProposedLesson {
            title: "Rounding belongs to printing".into(),
            ..better()
        }]),
    );
    assert_eq!(again, told, "after a crash the same is decided and written");
    assert_eq!(live_lessons(&project).len(), 2);
}

#[test]
fn a_lesson_whose_successor_was_rolled_back_holds_again() {
    let project = Project::new();
    let first = learn(&project, run(1), &[], &proposed(vec![rounding()]));
    let other = ProposedLesson {
        fix: "Never touch sums in views; ask the accounting module for a printable figure".into(),
        ..rounding()
    };
    let second = learn(&project, run(2), &first.lessons, &proposed(vec![other]));
    let standing = || -> Vec<NodeId> {
        let lessons = standing_lessons(&project.knowledge).unwrap();
        lessons.into_iter().map(|lesson| lesson.id).collect()
    };
    assert_eq!(standing(), second.lessons);
    let id = NodeId::from_parts(7, 7);
    let marker = Node::new(id, NodeClass::Meta, "rollback", "Rolled back", STARTED);
    project.knowledge.supersede_node(&second.lessons[0], &marker, &[]).unwrap();
    assert_eq!(standing(), first.lessons);
}

#[test]
fn another_answer_to_the_same_situation_takes_the_place_of_one_that_was_told() {
    let project = Project::new();
    let first = learn(&project, run(1), &[], &proposed(vec![rounding()]));
    let other = ProposedLesson {
        fix: "Never touch sums in views; ask the accounting module for a printable figure".into(),
        ..rounding()
    };
    let second = learn(&project, run(2), &first.lessons, &proposed(vec![other]));
    assert_eq!(second.replaced, first.lessons);
    assert_eq!(live_lessons(&project).len(), 1);
}

#[test]
fn a_lesson_that_says_too_little_is_left_out_and_said() {
    let project = Project::new();
    let short = ProposedLesson { pattern: "always".into(), fix: "test".into(), ..rounding() };
    let learnt = learn(&project, run(1), &[], &proposed(vec![short, rounding()]));
    assert_eq!((learnt.lessons.len(), learnt.dropped.len()), (1, 1));
    assert_eq!(learnt.dropped[0].about, "lesson 1");
}

#[test]
fn what_was_carried_is_found_beside_the_task_files() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (NodeId::from_parts(1, 1), NodeId::from_parts(2, 2));
    let keep = |path: &str, lessons: &[&NodeId]| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let lessons = lessons.iter().map(|&id| id.clone()).collect();
        let carried = Carried { lessons, ..Carried::default() };
        std::fs::write(path, serde_json::to_vec(&carried).unwrap()).unwrap();
    };
    keep("bounce-1/coder/carried.json", &[&two, &one]);
    keep("bounce-2/verifier/carried.json", &[&one]);
    std::fs::write(dir.path().join("carried.json"), "torn").unwrap();
    assert_eq!(carried_lessons(dir.path()), [two, one]);
    assert_eq!(carried_lessons(&dir.path().join("nowhere")), []);
}
