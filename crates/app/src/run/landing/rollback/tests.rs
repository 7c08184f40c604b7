//! Runs taken back in real repositories: each way they were applied, each refusal, and killed
//! at each effect.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::path::PathBuf;

use spore_effects::{Probe, Tool};
use spore_model::{Edge, EdgeId, EdgeKind, Lesson, Node, NodeClass, NodeId, Outcome, RunStatus};
use spore_runs::Apply;
use spore_store::{EdgeQuery, NodeQuery};
use spore_store::{Journal, Knowledge, StepEntry};

use super::*;
use crate::run::landing::apply::lay_down;
use crate::run::landing::apply::tests::{BASE, CHANGE, NOW, Yard};

fn workspace(yard: &Yard) -> (Surroundings, Workspace) {
    let around = yard.around();
    let workspace = Workspace::find(&around).unwrap();
    (around, workspace)
}

/// A project whose run is verified, committed and applied, and has taught something.
fn after_run(how: Apply) -> Yard {
    let yard = Yard::new(BASE, CHANGE);
    settle(&yard, RunState::Ended);
    assert!(yard.apply(how).done);
    yard
}

/// The same, laid into the user's own files.
fn after_laying() -> Yard {
    let yard = after_run(Apply::Branch);
    lay(&yard, &yard.around());
    yard
}

fn lay(yard: &Yard, around: &Surroundings) {
    let workspace = Workspace::find(around).unwrap();
    let repository = workspace.repository(around).unwrap();
    let (workspace, repository) = (&workspace, &repository);
    let site = Site { around, workspace, repository, run: yard.run, branch: yard.branch() };
    let laid = lay_down(&site, &yard.base, &yard.commit);
    assert!(laid.unwrap().done);
}

fn settle(yard: &Yard, state: RunState) {
    let (around, workspace) = workspace(yard);
    crate::base::init::init(&around).unwrap();
    let config = workspace.config(&around, &[]).unwrap();
    let journal = workspace.journal(&config).unwrap();
    let run = Run {
        state,
        outcome: Some(Outcome::Success),
        base_commit: Some(yard.base.clone()),
        ..Run::begin(yard.run, RunKind::Orchestrate, "do it well", NOW)
    };
    journal.create_run(&run, &[]).unwrap();
    let key = StepKey::new("commit").unwrap();
    let begun = journal.begin_step(run.id, &key, EffectClass::Keyed, &json!({}), NOW).unwrap();
    let done = Done::Committed { commit: yard.commit.clone() };
    let entry = StepEntry {
        result: serde_json::to_value(done).unwrap(),
        runs: Vec::new(),
        new_runs: Vec::new(),
        ledger: Vec::new(),
        events: Vec::new(),
        now: NOW,
    };
    journal.finish_step(run.id, &key, begun.attempt, &entry).unwrap();
    teach(&workspace.knowledge(&config).unwrap(), yard.run);
}

fn teach(knowledge: &dyn Knowledge, run: RunId) {
    let id = |word: &str| NodeId::keyed(NOW, &[&run.to_string(), word]);
    let node = |kind: &str| Node {
        run: Some(run),
        ..Node::new(id(kind), NodeClass::Operational, kind, format!("a {kind}"), NOW)
    };
    let edge = |source: &str, target: &str, kind| Edge {
        run: Some(run),
        ..Edge::new(EdgeId::keyed(NOW, &[source, target]), id(source), id(target), kind, NOW)
    };
    let nodes = ["task", "implementation", "verdict", "summary", "lesson"].map(node);
    let edges = [
        edge("implementation", "task", EdgeKind::DerivesFrom),
        edge("verdict", "implementation", EdgeKind::Supports),
        edge("summary", "task", EdgeKind::Summarizes),
        edge("lesson", "summary", EdgeKind::DerivesFrom),
    ];
    knowledge.add(&nodes, &edges).unwrap();
}

fn roll(yard: &Yard, dry_run: bool) -> Result<RolledBack> {
    rollback(&yard.around(), &Rollback { run: yard.run.to_string(), dry_run })
}

fn row(yard: &Yard) -> Run {
    let (around, workspace) = workspace(yard);
    let config = workspace.config(&around, &[]).unwrap();
    workspace.journal(&config).unwrap().run(yard.run).unwrap().unwrap()
}

/// What is known now, a line a node and a live edge.
fn known(yard: &Yard) -> String {
    let (around, workspace) = workspace(yard);
    let config = workspace.config(&around, &[]).unwrap();
    let knowledge = workspace.knowledge(&config).unwrap();
    let query = NodeQuery { include_superseded: true, ..NodeQuery::default() };
    let mut nodes = knowledge.list(&query).unwrap();
    nodes.sort_by(|one, two| one.kind.cmp(&two.kind));
    let title = |id: &NodeId| knowledge.node(id).unwrap().unwrap().kind;
    let mut lines: Vec<String> = nodes
        .iter()
        .map(|node| {
            format!("{} {}", node.kind, if node.superseded_by.is_some() { "old" } else { "live" })
        })
        .collect();
    let live = EdgeQuery { not_superseded: true, ..EdgeQuery::default() };
    let mut edges: Vec<String> = knowledge
        .edges(&live)
        .unwrap()
        .iter()
        .map(|edge| {
            format!("{} {} {}", title(&edge.source), edge.kind.as_str(), title(&edge.target))
        })
        .collect();
    edges.sort();
    lines.extend(edges);
    assert!(nodes.iter().all(|node| Lesson::of_node(node).is_none() || row(yard).mark.is_none()));
    lines.join("\n")
}

fn events(yard: &Yard) -> Vec<String> {
    let all = yard.sh("cat .spore/events/*.jsonl");
    all.lines().filter(|line| line.contains("run.rolled_back")).map(str::to_owned).collect()
}

fn our_refs(yard: &Yard) -> String {
    let refs =
        yard.sh("git for-each-ref refs/spore refs/heads/spore --format='%(refname) %(objectname)'");
    refs.replace(&yard.run.to_string(), "RUN")
}

#[test]
fn a_branch_is_removed_and_a_ref_keeps_its_commit() {
    let yard = after_run(Apply::Branch);
    yard.sh("echo mine > a");
    let before = yard.users();
    let planned = roll(&yard, true).unwrap();
    assert_eq!(planned.state, RollbackState::Planned);
    assert!(yard.sh("git branch --list 'spore/*'").contains("spore/"), "a dry run does nothing");
    assert_eq!(row(&yard).status(false), RunStatus::Verified);
    let done = roll(&yard, false).unwrap();
    assert_eq!((done.state, &done.deeds), (RollbackState::Done, &planned.deeds));
    let commit = &yard.commit;
    assert_eq!(
        our_refs(&yard),
        format!("refs/spore/RUN/result {commit}\nrefs/spore/RUN/rolled-back {commit}")
    );
    assert_eq!(yard.users(), before);
    assert_eq!(row(&yard).status(false), RunStatus::RolledBack);
    let event: serde_json::Value = serde_json::from_str(&events(&yard)[0]).unwrap();
    assert_eq!(event["source"], json!({ "kind": "human", "name": "rollback", "own": true }));
    let again = roll(&yard, false).unwrap();
    assert_eq!((again.state, again.deeds.len()), (RollbackState::Already, 0));
    assert_eq!(events(&yard).len(), 1);
}

#[test]
fn what_a_run_taught_no_longer_counts() {
    let yard = after_run(Apply::None);
    roll(&yard, false).unwrap();
    let expected = "implementation old\nlesson old\nrollback live\nsummary old\ntask live\nverdict old\n\
         rollback supersedes implementation\nrollback supersedes lesson\nrollback supersedes summary\n\
         rollback supersedes verdict\nrollback tracks task";
    assert_eq!(known(&yard), expected);
}

#[test]
fn a_patch_is_removed() {
    let yard = after_run(Apply::Patch);
    let done = roll(&yard, false).unwrap();
    assert!(done.deeds.contains(&"its patch is removed".to_owned()), "{done:?}");
    assert!(!yard.repo().join(format!(".spore/runs/{}/result.patch", yard.run)).exists());
}

#[test]
fn a_merge_that_nothing_followed_is_undone_by_going_back() {
    let yard = after_run(Apply::Merge);
    yard.sh("echo mine > b; echo new > untracked");
    let done = roll(&yard, false).unwrap();
    assert_eq!(done.tip, Some(yard.base.clone()));
    assert_eq!(yard.sh("git rev-parse main"), yard.base.as_str());
    assert_eq!(yard.sh("git status --porcelain"), " M b\n?? untracked");
    assert!(our_refs(&yard).contains(&format!("rolled-back {}", yard.commit)));
}

#[test]
fn a_merge_that_work_followed_is_undone_by_a_revert() {
    let yard = after_run(Apply::Merge);
    yard.sh("sed -i s/^17$/y/ a; git commit -qam later; echo mine > b");
    let tip = yard.sh("git rev-parse main");
    let done = roll(&yard, false).unwrap();
    assert_eq!(yard.sh("git rev-parse main main^"), format!("{}\n{tip}", done.tip.unwrap()));
    assert_eq!(
        yard.sh("git diff --stat HEAD~3 HEAD -- n gone; sed -n '3p;17p' a; cat gone"),
        "3\ny\n1"
    );
    assert_eq!(yard.sh("git status --porcelain"), " M b");
    assert!(
        yard.sh("git log -1 --format=%B").contains(&format!("This reverts commit {}", yard.commit))
    );
}

#[test]
fn a_merge_into_a_branch_that_nobody_has_checked_out_is_undone_there() {
    let yard = after_run(Apply::Merge);
    yard.sh("git checkout -q -b elsewhere; echo mine > a");
    roll(&yard, false).unwrap();
    assert_eq!(yard.sh("git rev-parse main"), yard.base.as_str());
    assert_eq!(yard.sh("cat a; git status --porcelain"), "mine\n M a");
    let told = row(&yard);
    assert_eq!(told.status(false), RunStatus::RolledBack);
}

#[test]
fn what_was_laid_into_files_goes_back_and_other_edits_stay() {
    let yard = after_laying();
    yard.sh("echo mine > b; echo s > d/x; git add d/x; echo new > untracked; git branch other");
    assert_eq!(yard.sh("git status --porcelain a gone n"), "M  a\nD  gone\nA  n/new");
    let planned = roll(&yard, true).unwrap();
    assert_eq!(planned.deeds[0], "what was laid into your files goes back: 3 files");
    assert_eq!(yard.sh("git status --porcelain a gone n"), "M  a\nD  gone\nA  n/new");
    let done = roll(&yard, false).unwrap();
    assert_eq!((done.state, &done.deeds), (RollbackState::Done, &planned.deeds));
    assert_eq!(yard.sh("git status --porcelain"), " M b\nM  d/x\n?? untracked");
    assert_eq!(yard.sh("cat gone; test ! -e n && git diff --stat HEAD -- a"), "1");
    assert_eq!(yard.sh("git rev-parse main"), yard.base.as_str());
    assert!(our_refs(&yard).contains(&format!("rolled-back {}", yard.commit)));
}

#[test]
fn what_was_laid_goes_back_although_the_branch_went_on_elsewhere() {
    let yard = after_laying();
    yard.sh("echo later > d/x; git commit -q -m later d/x; git checkout -q -b elsewhere");
    roll(&yard, false).unwrap();
    assert_eq!(yard.sh("git status --porcelain; cat d/x gone"), "later\n1");
}

#[test]
fn what_was_laid_into_another_work_tree_goes_back_there() {
    let yard = after_run(Apply::Branch);
    yard.sh("git worktree add -q -b side ../side");
    let side = yard.repo().with_file_name("side");
    let around = crate::run::landing::apply::tests::surroundings(&side, Probe::idle());
    lay(&yard, &around);
    let before = yard.users();
    let status = || yard.sh("git -C ../side status --porcelain");
    assert_eq!(status(), "M  a\nD  gone\nA  n/new");
    roll(&yard, false).unwrap();
    assert_eq!((status(), yard.users()), (String::new(), before));
}

/// Checks that a rollback is refused with this code and these words, and changes nothing.
#[track_caller]
fn check_refused(how: Apply, prepare: &str, code: u8, expected: &str) {
    check_refused_in(&after_run(how), prepare, code, expected);
}

#[track_caller]
fn check_refused_in(yard: &Yard, prepare: &str, code: u8, expected: &str) {
    yard.sh(prepare);
    let (before, refs, known_before) = (yard.users(), our_refs(yard), known(yard));
    let error = roll(yard, false).unwrap_err();
    assert_eq!(error.exit_code(), code, "{prepare}: {error}");
    assert!(error.to_string().contains(expected) && error.hint_text().is_some(), "{error}");
    assert_eq!((yard.users(), our_refs(yard), known(yard)), (before, refs, known_before));
    assert_eq!(row(yard).status(false), RunStatus::Verified);
}

#[test]
fn a_rollback_that_cannot_be_done_changes_nothing() {
    let clash = "sed -i s/^x$/z/ a; git commit -qam later";
    check_refused(Apply::Merge, clash, 1, "it conflicts in a");
    check_refused(Apply::Merge, "echo mine > a", 65, "a has uncommitted changes");
    check_refused(Apply::Merge, "echo mine > gone", 65, "gone is not tracked");
    check_refused(Apply::Merge, "git rev-parse HEAD > .git/MERGE_HEAD", 65, "a merge is under way");
    let double = "git worktree add -q --detach ../two; git -C ../two checkout -q --ignore-other-worktrees main";
    check_refused(Apply::Merge, double, 65, "more than one work tree");
}

#[test]
fn files_that_are_not_as_they_were_laid_are_named_and_nothing_is_touched() {
    for (prepare, expected) in [
        ("echo mine >> a", "your files: a is not as it was laid down"),
        ("echo mine >> a; git add a; rm n/new", "a is not as it was laid down, n/new is not"),
        ("git reset -q", "a is not as it was laid down, gone is not"),
        ("git checkout -q HEAD a", "your files: a is not as it was laid down"),
        ("echo mine > gone", "your files: gone is not tracked and would be overwritten"),
        ("git rev-parse HEAD > .git/MERGE_HEAD", "a merge is under way in"),
    ] {
        let yard = after_laying();
        check_refused_in(&yard, prepare, 65, expected);
        assert!(roll(&yard, true).is_err(), "{prepare}: a dry run says so too");
    }
}

/// What a rollback leaves to the person who did this to the work.
#[track_caller]
fn left_of(yard: &Yard, prepare: &str) -> String {
    yard.sh(prepare);
    let before = yard.users();
    let done = roll(yard, false).unwrap();
    assert_eq!(yard.users(), before, "{prepare}");
    assert_eq!(row(yard).status(false), RunStatus::RolledBack);
    done.left.join("\n")
}

#[test]
fn what_a_person_did_with_what_was_laid_is_left_alone_and_named() {
    let all = left_of(&after_laying(), "git commit -qm mine");
    assert_eq!(all, "what was laid into your files is in commits of yours: a, gone, n/new");
    let part = left_of(&after_laying(), "git commit -qm mine a; echo more >> n/new");
    assert_eq!(part, "what was laid into your files is in commits of yours: a");
    let out = left_of(&after_laying(), "git stash -q");
    assert_eq!(out, "your files no longer have what was laid into them: somebody took it out");
    let yard = after_run(Apply::Branch);
    yard.sh("git worktree add -q -b side ../side");
    let side = yard.repo().with_file_name("side");
    lay(&yard, &crate::run::landing::apply::tests::surroundings(&side, Probe::idle()));
    let gone = left_of(&yard, "git worktree remove --force ../side");
    assert_eq!(gone, "the work tree that it was laid into is gone");
}

#[test]
fn what_a_person_did_with_the_work_is_left_alone_and_named() {
    let left = |how, prepare: &str| left_of(&after_run(how), prepare);
    let by_hand =
        left(Apply::Branch, "git merge -q $(git branch --list 'spore/*' --format='%(refname)')");
    assert!(
        by_hand.starts_with("main has its commit, but not from Spore: git revert "),
        "{by_hand}"
    );
    let reset = left(Apply::Merge, "git reset -q --hard HEAD~1");
    assert_eq!(reset, "main no longer has the merge: somebody took it out");
    let reverted = left(Apply::Merge, "git revert --no-edit HEAD");
    assert!(reverted.contains("somebody reverted it"), "{reverted}");
    let gone = left(Apply::Merge, "git checkout -q --detach HEAD~1; git branch -q -D main");
    assert!(gone.contains("main, which it was merged into, is gone"), "{gone}");
    let worked_on = left(
        Apply::Branch,
        "git checkout -q $(git branch --list 'spore/*' --format='%(refname:short)')
         git commit -q --allow-empty -m mine; git checkout -q main",
    );
    assert!(worked_on.contains("has commits of yours and stays"), "{worked_on}");
    let looked_at = left(
        Apply::Branch,
        "git checkout -q $(git branch --list 'spore/*' --format='%(refname:short)')",
    );
    assert!(looked_at.contains("is checked out and stays"), "{looked_at}");
}

#[test]
fn a_run_that_is_not_over_is_not_rolled_back() {
    let yard = Yard::new(BASE, CHANGE);
    settle(&yard, RunState::Parked);
    let error = roll(&yard, false).unwrap_err();
    assert_eq!(
        (error.exit_code(), error.to_string()),
        (65, format!("run {} is not over: interrupted", yard.run.short()))
    );
    let (_, workspace) = workspace(&yard);
    let _held = crate::base::run_lock::claim(&workspace, yard.run).unwrap();
    let error = roll(&yard, false).unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
}

/// Not a test by itself: what the next one starts and kills.
#[test]
#[ignore = "is started by another test"]
fn rolls_back_in_a_process_of_its_own() {
    let Some(repo) = std::env::var_os("SPORE_TEST_SCENE").map(PathBuf::from) else { return };
    let variable = |name| std::env::var(name).ok();
    let probe = Probe::armed(
        variable("SPORE_EFFECTS_LOG").map(PathBuf::from),
        variable("SPORE_KILL_AT").as_deref(),
    );
    let around = crate::run::landing::apply::tests::surroundings(&repo, probe);
    rollback(&around, &Rollback { run: "7".to_owned(), dry_run: false }).unwrap();
}

fn roll_and_die(yard: &Yard, variable: (&str, &str)) -> i32 {
    let test = "run::landing::rollback::tests::rolls_back_in_a_process_of_its_own";
    let output = Tool::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env("SPORE_TEST_SCENE", yard.repo())
        .env(variable.0, variable.1)
        .output()
        .unwrap();
    output.code
}

/// Kills a rollback before each of its effects that `wanted` likes, and after the last one,
/// calls it again, and compares. To be killed after an effect is to be killed before the next.
fn check_killed(yard: &dyn Fn() -> Yard, wanted: &dyn Fn(&str) -> bool) {
    let state = |yard: &Yard| {
        let status = yard.sh("git status --porcelain; ls .spore/runs/*");
        let events = events(yard).len();
        let parts = [yard.users(), our_refs(yard), known(yard), status];
        format!("{}\n{events} {}", parts.join("\n"), row(yard).status(false))
    };
    let undisturbed = yard();
    let log = undisturbed.repo().with_file_name("effects.log");
    assert_eq!(roll_and_die(&undisturbed, ("SPORE_EFFECTS_LOG", log.to_str().unwrap())), 0);
    let (points, expected) = (std::fs::read_to_string(&log).unwrap(), state(&undisturbed));
    assert!(points.lines().count() >= 30, "{points}");
    let last = points.lines().last().unwrap();
    let before = points.lines().filter(|point| point.starts_with("before:") && wanted(point));
    for point in before.chain([last]) {
        let yard = yard();
        assert_eq!(roll_and_die(&yard, ("SPORE_KILL_AT", point)), 137, "{point}");
        roll(&yard, false).unwrap();
        // What a kill left in the outbox is carried over by the next command.
        crate::list_runs(&yard.around(), &spore_runs::RunFilter::default(), None).unwrap();
        assert_eq!(state(&yard), expected, "{point}");
    }
}

#[test]
fn a_rollback_killed_at_any_effect_ends_like_one_that_was_not() {
    let yard = || {
        let yard = after_run(Apply::Merge);
        yard.sh("echo mine > b; echo new > untracked");
        yard
    };
    check_killed(&yard, &|_| true);
}

#[test]
fn a_revert_killed_at_any_effect_ends_like_one_that_was_not() {
    let yard = || {
        let yard = after_run(Apply::Merge);
        yard.sh("sed -i s/^17$/y/ a; git commit -qam later; echo mine > b");
        yard
    };
    // What is forgotten afterwards is the same as above.
    check_killed(&yard, &|point| !point.contains("forget"));
}

#[test]
fn a_lifting_killed_at_any_effect_ends_like_one_that_was_not() {
    let yard = || {
        let yard = after_laying();
        yard.sh("echo mine > b; echo new > untracked");
        yard
    };
    // What follows on it is the same as above.
    let own = ["rollback", "lifting", "files of the user", "rolled-back"];
    check_killed(&yard, &|point| own.iter().any(|name| point.contains(name)));
}

#[test]
fn a_lifting_that_was_cut_off_among_the_files_is_brought_to_its_end() {
    let yard = after_laying();
    let note = yard.repo().join(format!(".spore/runs/{}/lifting.json", yard.run));
    std::fs::write(note, "{}").unwrap();
    // Two files are back, one is not, and the index knows of none.
    yard.sh("git show HEAD:gone > gone; rm -r n; echo mine > b");
    roll(&yard, false).unwrap();
    assert_eq!(yard.sh("git status --porcelain; cat gone"), " M b\n1");
}

#[test]
fn a_lifting_that_was_cut_off_overwrites_nothing_that_was_written_since() {
    let yard = after_laying();
    let note = yard.repo().join(format!(".spore/runs/{}/lifting.json", yard.run));
    std::fs::write(note, "{}").unwrap();
    // The file was deleted by the run and is ignored by now: git would not look at it.
    yard.sh("echo gone >> .git/info/exclude; echo precious > gone");
    let error = roll(&yard, false).unwrap_err();
    assert!(error.to_string().contains("gone is not tracked and would be overwritten"), "{error}");
    assert_eq!(yard.sh("cat gone"), "precious");
    yard.sh("mv gone elsewhere");
    roll(&yard, false).unwrap();
    assert_eq!(yard.sh("cat gone elsewhere"), "1\nprecious");
}

#[test]
fn a_lifting_waits_for_nobody_and_is_simply_called_again() {
    let yard = after_laying();
    let before = yard.users();
    yard.sh("touch .git/index.lock");
    let error = roll(&yard, false).unwrap_err();
    assert!(error.hint_text().is_some(), "{error}");
    assert_eq!(yard.users(), before);
    yard.sh("rm .git/index.lock; echo mine >> a");
    let error = roll(&yard, false).unwrap_err();
    assert!(error.to_string().contains("a is not as it was laid down"), "{error}");
    yard.sh("git checkout -q -- a");
    roll(&yard, false).unwrap();
    assert_eq!(yard.sh("git status --porcelain"), "");
}
