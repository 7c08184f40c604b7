//! A script of what becomes of each task, and what the machine did in return.

use proptest::prelude::*;

use spore_model::{CommitId, Cost, RunId, TreeId};

use super::*;
use crate::read_tasks;

fn rules(parallel: u32) -> LoopRules {
    LoopRules {
        budget: Some(Usd::from_nanos(1000)),
        max_runs: Some(10),
        pause_on_escalation: false,
        stop_on_failure: false,
        escalation_limit: 3,
        anomaly_factor: 3,
        anomaly_after: 3,
        parallel,
        cooldown_ms: 0,
        max_returns: 2,
        backend: "claude".to_owned(),
    }
}

fn commit() -> CommitId {
    CommitId::new("a".repeat(40)).unwrap()
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// A loop that is played: every task takes one tick, and `fates` say what comes of its runs, a
/// letter for each: `v`erified, `e`scalated, `f`ailed, `b`udget, `p`art of it, `h`uman, `q`uota for five
/// ticks, `c`omes back from its landing, `l`anding lacks budget once, `m`eets a limit in
/// its landing for five ticks, `i`nfrastructure, `r`ed base. What is not said is verified.
struct Play {
    machine: TaskLoop,
    fates: BTreeMap<String, Vec<char>>,
    running: Vec<(usize, i64)>,
    now: i64,
    spent: i64,
    log: Vec<String>,
    most_at_once: usize,
    cost: i64,
}

impl Play {
    fn new(list: &str, fates: &str, rules: LoopRules) -> Self {
        let tasks = read_tasks(list).unwrap().tasks;
        let fates = fates
            .split_whitespace()
            .map(|one| {
                let (id, fate) = one.split_once('=').unwrap();
                (id.to_owned(), fate.chars().collect())
            })
            .collect();
        Self {
            machine: TaskLoop::new(rules, tasks, &|task| task.text.contains("(done)")),
            fates,
            running: Vec::new(),
            now: 0,
            spent: 0,
            log: Vec::new(),
            most_at_once: 0,
            cost: 10,
        }
    }

    fn name(&self, task: usize) -> String {
        let task = &self.machine.tasks()[task];
        if task.named { task.id.clone() } else { task.text.clone() }
    }

    fn fate(&mut self, task: usize) -> char {
        let name = self.name(task);
        let fates = self.fates.entry(name).or_default();
        if fates.is_empty() { 'v' } else { fates.remove(0) }
    }

    fn end(&mut self, task: usize) {
        let fate = self.fate(task);
        let now = at(self.now);
        let name = self.name(task);
        if let Some(park) = match fate {
            'b' | 'p' => Some(Park::Budget),
            'h' => Some(Park::Human),
            'q' => Some(Park::Quota),
            _ => None,
        } {
            let until = match fate {
                'q' => Some(at(self.now + 5)),
                'p' => Some(now),
                _ => None,
            };
            self.log.push(format!("{name}?"));
            self.machine.parked(task, park, until, now);
            return self.limited(task, until.filter(|_| park == Park::Quota));
        }
        let outcome = match fate {
            'v' | 'c' | 'l' | 'm' => Outcome::Success,
            'e' => Outcome::NeedsEscalation,
            'd' => Outcome::DepthExceeded,
            _ => Outcome::Failure,
        };
        let result = TaskResult {
            number: self.machine.next_number(),
            run: RunId::from_parts(0, 0),
            outcome,
            reason: (fate == 'r').then(|| format!("{RED_BASE}\n  tests fail")),
            commit: (outcome == Outcome::Success).then(commit),
            base: None,
            cost: Cost::exact(Usd::from_nanos(self.cost)),
            duration_ms: 1,
            infrastructure: fate == 'i',
        };
        self.spent += self.cost;
        if let Some(odd) = self.machine.ended(task, &result, now) {
            self.log.push(format!("{name} is dear: {}", odd.cost.as_nanos()));
        }
        if outcome != Outcome::Success {
            self.log.push(format!("{name}!"));
        } else if let Some(mark) = match fate {
            'c' => Some('<'),
            'l' => Some('~'),
            'm' => Some('^'),
            _ => None,
        } {
            self.fates.get_mut(&name).unwrap().insert(0, mark);
        }
    }

    fn land(&mut self, task: usize) {
        let name = self.name(task);
        let number = self.machine.next_number();
        if self.fates.get(&name).is_some_and(|fates| fates.first() == Some(&'~')) {
            self.fates.get_mut(&name).unwrap().remove(0);
            self.log.push(format!("{name}~"));
            self.machine.landing(task);
            return self.machine.landing_parked(task, Park::Budget, Some(at(self.now)));
        }
        if self.fates.get(&name).is_some_and(|fates| fates.first() == Some(&'^')) {
            self.fates.get_mut(&name).unwrap().remove(0);
            self.log.push(format!("{name}^"));
            self.machine.landing(task);
            let until = Some(at(self.now + 5));
            self.machine.landing_parked(task, Park::Quota, until);
            return self.limited(task, until);
        }
        let back = self.fates.get(&name).is_some_and(|fates| fates.first() == Some(&'<'));
        let landing = match back {
            true => {
                self.fates.get_mut(&name).unwrap().remove(0);
                self.log.push(format!("{name}<"));
                TaskLanding::Back { number, evidence: String::new() }
            }
            false => {
                self.log.push(name);
                let tree = TreeId::new("b".repeat(40)).unwrap();
                TaskLanding::Landed { number, commit: commit(), tree }
            }
        };
        self.machine.landing(task);
        self.machine.landed(task, &landing);
    }

    /// The agent that looks at a task is over its limit, which is the last of those that it needs.
    fn limited(&mut self, task: usize, until: Option<Timestamp>) {
        let agent = self.machine.agents[task].last().unwrap().clone();
        if let Some(until) = until {
            self.machine.limited(&agent, until);
        }
    }

    /// Plays to the end; returns why the loop stopped.
    fn play(&mut self) -> LoopStop {
        for _ in 0..1000 {
            let view = LoopView {
                now: at(self.now),
                spent: Usd::from_nanos(self.spent),
                funded: true,
                interrupted: false,
            };
            match self.machine.next(view) {
                LoopMove::Start { task, .. } => {
                    self.machine.begun(task);
                    self.running.push((task, self.now + 1));
                    self.most_at_once = self.most_at_once.max(self.running.len());
                }
                LoopMove::Land { task, .. } => self.land(task),
                LoopMove::Wait { until, limited } => {
                    let next = self.running.iter().map(|(_, ends)| *ends).min();
                    let until = until.map(Timestamp::as_millis);
                    assert!(next.is_some() || until.is_some(), "nothing to wait for");
                    if let Some(limited) = limited {
                        self.log.push(format!("({limited})"));
                    }
                    self.now = next.into_iter().chain(until).min().unwrap().max(self.now + 1);
                    let over: Vec<usize> = self
                        .running
                        .iter()
                        .filter(|(_, ends)| *ends <= self.now)
                        .map(|(task, _)| *task)
                        .collect();
                    self.running.retain(|(_, ends)| *ends > self.now);
                    for task in over {
                        self.end(task);
                    }
                }
                LoopMove::Stop(stop) => return stop,
            }
        }
        panic!("the loop does not end: {:?}", self.log);
    }
}

#[track_caller]
fn check(list: &str, fates: &str, rules: LoopRules, expected: &str) {
    let mut play = Play::new(list, fates, rules);
    let stop = play.play();
    let ending = play.machine.ending(stop);
    let found = format!(
        "{} -> {:?}{}: {}",
        play.log.join(" "),
        ending.outcome,
        ending.park.map(|park| format!(", {park:?}")).unwrap_or_default(),
        ending.reason
    );
    assert_eq!(found, expected);
}

#[test]
fn tasks_are_worked_through_in_order() {
    check("a\nb\nc\n", "", rules(1), "a b c -> Success: 3 of 3 tasks verified");
    check("a\nb (done)\n", "", rules(1), "a -> Success: 1 of 2 tasks verified, 1 before");
    check("a\nb\n", "a=f", rules(1), "a! b -> Partial: 1 of 2 tasks verified");
    check("a\n", "a=e", rules(1), "a! -> Failure: 0 of 1 task verified");
    check("- [x] a\n- [ ] b\n", "", rules(1), "b -> Success: 1 of 2 tasks verified, 1 before");
    check("", "", rules(1), " -> Success: 0 of 0 tasks verified");
}

#[test]
fn a_loop_stops_at_the_first_red_base_unless_a_task_is_to_mend_it() {
    let why = format!("{RED_BASE}: mend them and commit");
    let told = |list: &str, fates: &str| {
        let mut play = Play::new(list, fates, rules(1));
        let stop = play.play();
        let ending = play.machine.ending(stop);
        let is_refused = play.machine.is_refused(ending.outcome);
        (play.log.join(" "), ending.outcome, ending.reason.contains(&why), is_refused)
    };
    let list = "a\nb\nc\n";
    assert_eq!(told(list, "a=r b=r"), ("a!".to_owned(), Outcome::Failure, true, true));
    assert_eq!(told(list, "b=r"), ("a b!".to_owned(), Outcome::Partial, true, false));
    assert_eq!(told(list, "a=f"), ("a! b c".to_owned(), Outcome::Partial, false, false));
    let mending = "id: a\nwrite a\n---\nid: b\nfix_red: true\nmend it\n---\nid: c\nwrite c\n";
    assert_eq!(told(mending, "a=r"), ("a! b c".to_owned(), Outcome::Partial, false, false));
    assert_eq!(told(mending, "a=r b=f"), ("a! b!".to_owned(), Outcome::Failure, true, true));
}

#[test]
fn a_loop_stops_for_budget_runs_and_escalations_in_this_order() {
    let ten = "a\nb\nc\nd\ne\nf\n";
    let cheap = |budget, most| LoopRules {
        budget: Some(Usd::from_nanos(budget)),
        max_runs: Some(most),
        ..rules(1)
    };
    check(
        ten,
        "",
        cheap(20, 2),
        "a b -> NeedsHuman, Budget: the budget is spent: 2 of 6 tasks verified",
    );
    check(
        ten,
        "",
        cheap(21, 3),
        "a b c -> NeedsHuman, Budget: the budget is spent: 3 of 6 tasks verified",
    );
    check(
        ten,
        "a=e b=e c=e",
        cheap(100, 3),
        "a! b! c! -> Failure: 0 of 6 tasks verified; 3 runs were made, the most of one loop",
    );
    check(
        ten,
        "b=e c=e d=e",
        rules(1),
        "a b! c! d! -> NeedsHuman, Human: 3 escalations in a row: 1 of 6 tasks verified",
    );
    // What is verified ends the row; what says nothing about the work does not count.
    check(ten, "a=e b=e d=e e=e", rules(1), "a! b! c d! e! f -> Partial: 2 of 6 tasks verified");
    check(
        ten,
        "a=e b=f c=e d=i e=h",
        rules(1),
        "a! b! c! d! e? f -> NeedsHuman, Human: tasks wait for a person: 1 of 6 tasks verified",
    );
    let pausing = LoopRules { pause_on_escalation: true, ..rules(1) };
    check(
        ten,
        "b=e",
        pausing,
        "a b! -> NeedsHuman, Human: paused after an escalation: 1 of 6 tasks verified",
    );
    let stopping = LoopRules { stop_on_failure: true, ..rules(1) };
    check(
        ten,
        "b=f",
        stopping,
        "a b! -> Partial: 1 of 6 tasks verified; stopped at the first that failed",
    );
    check(ten, "b=d", rules(1), "a b! -> DepthExceeded: 1 of 6 tasks verified");
    // The last task of a list that is through is not held to what the next would be.
    check("a\nb\n", "", cheap(20, 2), "a b -> Success: 2 of 2 tasks verified");
    // A task that is verified already is no run.
    check("a (done)\nb\n", "", cheap(100, 1), "b -> Success: 1 of 2 tasks verified, 1 before");
}

#[test]
fn a_task_waits_for_those_it_comes_after() {
    let list = "id: c\nafter: a, b\nx\n---\nid: a\nx\n---\nid: b\nafter: a\nx\n---\nid: d\nx\n";
    check(list, "", rules(1), "a b c d -> Success: 4 of 4 tasks verified");
    check(list, "a=e", rules(1), "a! d -> Partial: 1 of 4 tasks verified");
    check(list, "", rules(4), "a d b c -> Success: 4 of 4 tasks verified");
}

#[test]
fn work_that_does_not_fit_comes_back_and_is_no_other_run() {
    let two = LoopRules { max_runs: Some(2), ..rules(2) };
    check("a\nb\n", "b=cv", two.clone(), "a b< b -> Success: 2 of 2 tasks verified");
    check("a\nb\n", "b=ccc", two, "a b< b< b< -> Partial: 1 of 2 tasks verified");
}

#[test]
fn a_limit_parks_its_agent_and_no_other_and_goes_on_by_itself() {
    let list = "id: a\nx\n---\nid: b\nbackend: codex\nx\n---\nid: c\nx\n";
    check(list, "a=qv", rules(1), "a? b (claude) a c -> Success: 3 of 3 tasks verified");
    check(
        "a\nb\n",
        "a=qqv b=q",
        rules(2),
        "a? b? (claude) a? b (claude) a -> Success: 2 of 2 tasks verified",
    );
    let one = LoopRules { max_runs: Some(1), ..rules(1) };
    check("a\n", "a=qv", one, "a? (claude) a -> Success: 1 of 1 task verified");
    // Parked is neither a failure nor an escalation.
    check(
        "a\nb\nc\nd\n",
        "a=qqqqv",
        rules(1),
        "a? (claude) a? (claude) a? (claude) a? (claude) a b c d -> Success: 4 of 4 tasks verified",
    );
}

#[test]
fn a_task_that_waits_for_a_limit_goes_on_although_no_other_may_begin() {
    let list = "id: a\nx\n---\nid: b\nbackend: codex\nx\n---\nid: c\nbackend: codex\nx\n";
    let most = |parallel, most| LoopRules { max_runs: Some(most), ..rules(parallel) };
    check(
        list,
        "a=qv",
        most(1, 2),
        "a? b (claude) a -> Partial: 2 of 3 tasks verified; 2 runs were made, the most of one loop",
    );
    // The first that may not begin stands before the one that waits.
    let list = "id: z\nafter: y\nx\n---\nid: y\nbackend: codex\nx\n---\nid: a\nx\n";
    check(
        list,
        "a=qv",
        most(2, 2),
        "a? y (claude) a -> Partial: 2 of 3 tasks verified; 2 runs were made, the most of one loop",
    );
    // So it is after an escalation that a person is to look at.
    let pausing = LoopRules { pause_on_escalation: true, ..rules(1) };
    let list = "id: a\nx\n---\nid: b\nbackend: codex\nx\n---\nid: c\nbackend: codex\nx\n";
    check(
        list,
        "a=qv b=e",
        pausing,
        "a? b! (claude) a -> NeedsHuman, Human: paused after an escalation: 1 of 3 tasks verified",
    );
    // What has no budget is not waited for: it could not go on.
    let poor = LoopRules { budget: Some(Usd::from_nanos(10)), ..rules(1) };
    check(
        list,
        "a=qv",
        poor,
        "a? b -> NeedsHuman, Budget: the budget is spent: 1 of 3 tasks verified",
    );
}

#[test]
fn a_limit_is_that_of_the_agent_that_met_it() {
    let list = "id: a\nx\n---\nid: b\nbackend: gemini\nx\n---\nid: c\nbackend: pi\nx\n";
    let mut play = Play::new(list, "a=qv", rules(1));
    // All of them but the last are looked at by codex.
    play.machine = play.machine.with_agents(&|task| {
        let own = task.backend.clone().unwrap_or_else(|| "claude".to_owned());
        let judge = if task.id == "c" { "pi" } else { "codex" };
        vec![own, judge.to_owned()]
    });
    assert_eq!(play.play(), LoopStop::Through);
    assert_eq!(play.log.join(" "), "a? c (codex) a b");
}

#[test]
fn a_limit_met_in_a_landing_holds_up_that_landing_and_its_agent_alone() {
    let list =
        "id: a\nx\n---\nid: b\nbackend: codex\nx\n---\nid: c\nbackend: codex\nx\n---\nid: d\nx\n";
    check(list, "a=m", rules(2), "a^ b c (claude) a d -> Success: 4 of 4 tasks verified");
    check("a\n", "a=m", rules(1), "a^ (claude) a -> Success: 1 of 1 task verified");
}

#[test]
fn a_task_that_was_written_anew_is_worked_on_again_with_what_comes_after_it() {
    let list = "id: a\nx\n---\nid: b\nafter: a\nx\n---\nid: c\nx\n";
    let mut play = Play::new(list, "a=e c=f", rules(1));
    assert_eq!(play.play(), LoopStop::Through);
    assert_eq!(play.machine.standing(1), &TaskStanding::Blocked);
    play.machine.edited(0);
    assert_eq!(play.play(), LoopStop::Through);
    assert_eq!(play.log.join(" "), "a! c! a b");
    assert_eq!(play.machine.standing(2), &TaskStanding::FellShort(Outcome::Failure));
}

#[test]
fn a_task_that_was_taken_out_is_not_begun_once_more() {
    let mut play = Play::new("a\nb\n", "a=cv", rules(2));
    play.machine.begun(0);
    play.end(0);
    play.land(0);
    assert_eq!(play.machine.standing(0), &TaskStanding::Waiting, "it came back");
    play.machine.taken_out(0);
    assert_eq!(play.play(), LoopStop::Through);
    assert_eq!(play.log.join(" "), "a< b");
    // What is done or under way stays as it is.
    play.machine.taken_out(1);
    assert_eq!(play.machine.standing(1), &TaskStanding::Landed);
}

#[test]
fn work_that_the_branch_has_already_lands_before_all_other() {
    let mut play = Play::new("a\nb\n", "", rules(2));
    for task in [0, 1] {
        play.machine.begun(task);
        play.end(task);
    }
    play.machine.lands_first(1);
    let _ = play.play();
    assert_eq!(play.log.join(" "), "b a");
}

#[test]
fn a_task_whose_part_of_the_budget_is_spent_goes_on_and_one_that_may_not_cost_more_waits() {
    check("a\nb\n", "a=ppv", rules(1), "a? a? a b -> Success: 2 of 2 tasks verified");
    let list = "id: a\nx\n---\nid: b\nafter: a\nx\n";
    check(list, "a=pv", rules(2), "a? a b -> Success: 2 of 2 tasks verified");
    // The verifier of a landing asks for the rest; what comes behind it does not overtake it.
    check(list, "a=l", rules(2), "a~ a b -> Success: 2 of 2 tasks verified");
    check(
        "a\nb\n",
        "a=b",
        rules(1),
        "a? b -> NeedsHuman, Budget: tasks wait for budget: 1 of 2 tasks verified",
    );
    let mut play = Play::new("a\nb\nc\n", "", rules(4));
    assert_eq!(play.machine.sharers(), 3, "as many as there are");
    play.machine.begun(0);
    assert_eq!(play.machine.sharers(), 2);
    assert_eq!(
        Play::new("a\nb\nc\n", "", rules(2)).machine.sharers(),
        2,
        "as many as have a place"
    );
}

#[test]
fn tasks_that_touch_the_same_are_not_worked_on_at_once() {
    let list =
        "id: a\ntouches: src/x.rs\nx\n---\nid: b\ntouches: src\nx\n---\nid: c\ntouches: docs\nx\n";
    let mut play = Play::new(list, "", rules(3));
    assert_eq!(play.play(), LoopStop::Through);
    assert_eq!((play.most_at_once, play.log.join(" ").as_str()), (2, "a c b"));
}

#[test]
fn a_dear_result_is_told_once_there_are_three_to_compare_it_with() {
    let mut play = Play::new("a\nb\nc\nd\ne\n", "", rules(1));
    play.cost = 31;
    play.machine.costs = vec![Usd::from_nanos(10); 2];
    play.play();
    assert_eq!(play.log, ["a", "b", "c", "d", "e"], "two are too few, and then the mean is higher");
    let mut play = Play::new("a\n", "", rules(1));
    play.cost = 31;
    play.machine.costs = vec![Usd::from_nanos(10); 3];
    play.play();
    assert_eq!(play.log, ["a is dear: 31", "a"]);
}

#[test]
fn a_place_cools_between_tasks_and_not_after_the_last() {
    let cool = |parallel| LoopRules { cooldown_ms: 100, ..rules(parallel) };
    let mut play = Play::new("a\nb\nc\n", "", cool(1));
    play.play();
    assert_eq!(play.now, 3 + 200);
    let mut play = Play::new("a\nb\nc\nd\n", "", cool(2));
    play.play();
    assert_eq!((play.now, play.most_at_once), (2 + 100, 2));
}

#[test]
fn a_person_who_looked_lets_a_loop_go_on_after_escalations() {
    let mut play = Play::new("a\nb\nc\nd\n", "a=e b=e c=e", rules(1));
    assert_eq!(play.play(), LoopStop::Escalations);
    play.machine.forgive();
    assert_eq!(play.play(), LoopStop::Through);
    assert_eq!(play.log.join(" "), "a! b! c! d");
}

proptest! {
    /// Whatever becomes of the tasks: the loop ends, none lands twice, none begins before those it
    /// comes after, none that goes on by itself is left, and no more are worked on at once than were
    /// asked for.
    #[test]
    fn a_loop_ends_and_lands_each_task_once_at_most(
        fates in proptest::collection::vec("[vefbphqcim]{0,3}", 6),
        agents in proptest::collection::vec(0_usize..3, 6),
        after in proptest::collection::vec(proptest::option::of(0_usize..6), 6),
        touches in proptest::collection::vec(0_usize..4, 6),
        parallel in 1_u32..5,
        max_runs in 1_u32..9,
        pause_on_escalation in any::<bool>(),
        stop_on_failure in any::<bool>(),
    ) {
        let block = |at: usize| {
            let after = after[at].filter(|before| *before < at);
            let after = after.map(|before| format!("after: n{before}\n")).unwrap_or_default();
            let agent = ["claude", "codex", "gemini"][agents[at]];
            format!("id: n{at}\n{after}touches: f{}\nbackend: {agent}\nwords\n---\n", touches[at])
        };
        let list: String = (0..6).map(block).collect();
        let fates: Vec<String> =
            fates.iter().enumerate().map(|(at, fate)| format!("n{at}={fate}")).collect();
        let rules = LoopRules {
            max_runs: Some(max_runs),
            pause_on_escalation,
            stop_on_failure,
            ..rules(parallel)
        };
        let mut play = Play::new(&list, &fates.join(" "), rules);
        let stop = play.play();
        let landed: Vec<&String> = play.log.iter().filter(|line| line.len() == 2).collect();
        for (at, name) in landed.iter().enumerate() {
            prop_assert!(!landed[..at].contains(name), "{:?}", play.log);
            let number: usize = name[1..].parse().unwrap();
            if let Some(before) = after[number].filter(|before| *before < number) {
                prop_assert!(landed[..at].contains(&&format!("n{before}")), "{:?}", play.log);
            }
        }
        prop_assert!(play.most_at_once <= usize::try_from(parallel).unwrap());
        prop_assert!(play.machine.runs() <= max_runs);
        let ending = play.machine.ending(stop);
        prop_assert_eq!(ending.outcome == Outcome::Success, landed.len() == 6);
        for task in 0..6 {
            let open = matches!(
                play.machine.standing(task),
                TaskStanding::Running | TaskStanding::Verified | TaskStanding::Landing
            );
            prop_assert!(!open, "{:?}", play.log);
            let goes_on = matches!(
                play.machine.standing(task),
                TaskStanding::Parked { park: Park::Quota | Park::Budget, until: Some(_) }
            );
            prop_assert!(!goes_on, "{:?}", play.log);
        }
    }
}
