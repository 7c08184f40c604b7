//! The kill harness: a run that is killed at any of its effects must end as one that was not.
//!
//! First an undisturbed run writes down each effect it passes. Then the same command
//! is started once for each of these points and killed with SIGKILL right there, and a number
//! of times at random instants; `spore resume` brings it to its end; and what is left (trees,
//! refs, ledger, events, files) is compared with the undisturbed run. What a crash may rightly
//! add is left out of the comparison and counted on its own: a paid session that was cut off, and
//! the record that it was lost. No more sessions may be paid for than that: one for each that was
//! open at the point of the kill.

mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{ProgramOutput, TestEnv, wait_until_none};
use state::{canonical, difference, is_one_turn_more};

/// A command to kill, and how to bring its run to an end afterwards.
pub struct KillTarget<'a> {
    /// Makes a fresh place, ready for the command.
    pub scene: &'a (dyn Fn() -> TestEnv + Sync),
    pub command: &'a [&'a str],
    /// How many times to kill at a random instant.
    pub random: u32,
}

/// How many runs were killed, and how their results compare with the undisturbed run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct KillTally {
    /// The status of the undisturbed run, which every killed run is compared with.
    pub ended: String,
    pub points: usize,
    pub killed: u32,
    pub divergent: Vec<String>,
    pub duplicates: Vec<String>,
    pub left_running: Vec<String>,
    /// Paid sessions that were run again.
    pub repeated_sessions: u32,
}

impl KillTally {
    fn add(&mut self, other: Self) {
        self.killed += other.killed;
        self.divergent.extend(other.divergent);
        self.duplicates.extend(other.duplicates);
        self.left_running.extend(other.left_running);
        self.repeated_sessions += other.repeated_sessions;
    }

    pub fn line(&self) -> String {
        format!(
            "{} scenarios ({} named points), {} divergent, {} duplicate keyed effects, {} processes left, {} paid sessions repeated",
            self.killed,
            self.points,
            self.divergent.len(),
            self.duplicates.len(),
            self.left_running.len(),
            self.repeated_sessions
        )
    }
}

/// One way to kill the command.
#[derive(Clone, Copy)]
pub enum KillPoint<'a> {
    /// Right at an effect, by the name that the list of effects has for it.
    At(&'a str),
    /// As soon as this can be seen in the place: in the middle of a session, for instance,
    /// which has no effect of its own. The name is for people.
    Once(&'a str, fn(&TestEnv) -> bool),
    /// After this share of the time that an undisturbed run takes.
    After(f64),
}

/// What the comparison has to know about a command.
#[derive(Clone, Copy, Default)]
pub struct CommandTraits {
    /// The command works in parallel, so the order of its results means nothing.
    pub parallel: bool,
    /// Kill it at one effect of each kind only, on one side of it, for a test that has to be quick.
    pub one_of_each: bool,
    /// A real agent plays in it: its transcripts are its own, and only their names compared.
    pub foreign: bool,
    /// Its sessions go on at the turn in which they were cut off, so that the turns of one are spread
    /// over two: what they come to together is compared, and of transcripts their names alone.
    pub goes_on: bool,
    /// Kill it at the effects only that this says yes to by their names: those of a command that
    /// starts runs, for instance, and not those of the runs, which have a matrix of their own.
    pub only: Option<fn(&str) -> bool>,
    /// What a person does when the command rests before it is over: answers what it asks.
    pub then: Option<fn(&TestEnv)>,
}

/// Runs the whole matrix, on as many threads as there are cores.
pub fn matrix(target: &KillTarget<'_>) -> KillTally {
    matrix_of(target, CommandTraits::default())
}

/// Like [`matrix`], for a command with a traits of its own.
pub fn matrix_of(target: &KillTarget<'_>, traits: CommandTraits) -> KillTally {
    let reference = undisturbed(target, traits);
    let is_asked = |point: &&String| traits.only.is_none_or(|is_asked| is_asked(point));
    let mut points: Vec<&String> = reference.points.iter().filter(is_asked).collect();
    if traits.one_of_each {
        let mut seen = BTreeSet::new();
        points.retain(|point| seen.insert(kind_of(point)));
        // One side of each kind, in turn: what comes after an effect comes before the next one.
        let mut effects = BTreeMap::new();
        points.retain(|point| {
            let (side, effect) = point.split_once(':').unwrap_or(("", point));
            let kind = kind_of(&format!("either:{effect}"));
            let number = effects.len();
            (side == "after") == (*effects.entry(kind).or_insert(number) % 2 == 1)
        });
    }
    let mut seed = 0x5eed_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / f64::from(1_u32 << 31)
    };
    let mut kills: Vec<KillPoint<'_>> = points.iter().map(|point| KillPoint::At(point)).collect();
    kills.extend((0..target.random).map(|_| KillPoint::After(random())));
    kill_at_all(target, traits, &reference, &kills)
}

/// Kills the command in these ways only, for one that takes too long to be killed everywhere.
pub fn sample(
    target: &KillTarget<'_>,
    traits: CommandTraits,
    kills: &[KillPoint<'_>],
) -> KillTally {
    let reference = undisturbed(target, traits);
    kill_at_all(target, traits, &reference, kills)
}

/// The undisturbed run: its effects, its result and its time.
struct ReferenceRun {
    points: Vec<String>,
    state: Value,
    took: Duration,
}

fn kill_at_all(
    target: &KillTarget<'_>,
    traits: CommandTraits,
    reference: &ReferenceRun,
    kills: &[KillPoint<'_>],
) -> KillTally {
    let next = AtomicUsize::new(0);
    let points = kills.iter().filter(|kill| !matches!(kill, KillPoint::After(_))).count();
    let ended = reference.state["status"].as_str().unwrap().to_owned();
    let tally = Mutex::new(KillTally { ended, points, ..KillTally::default() });
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(kill) = kills.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = kill_once(target, traits, *kill, reference);
                    tally.lock().unwrap().add(found);
                }
            });
        }
    });
    tally.into_inner().unwrap()
}

/// The kind of effect a point stands for: its side, what it is, and its name without what
/// tells one stage or attempt from another.
fn kind_of(point: &str) -> String {
    let (point, _) = point.rsplit_once('#').unwrap_or((point, ""));
    let mut parts = point.splitn(3, ':');
    let (side, effect) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let name = parts.next().unwrap_or_default();
    let mut words = name.split(' ');
    let (first, last) = (words.next().unwrap_or_default(), words.next_back().unwrap_or_default());
    let file = first.rsplit('/').next().unwrap_or_default();
    let file = if first.contains(".signals/") { "signal" } else { file };
    let last = last.split('/').next().unwrap_or_default();
    // The last word of an opening is the name of what is opened.
    let last = if first == "open" { "" } else { last };
    format!("{side}:{effect}:{file} {last}")
}

fn kill_once(
    target: &KillTarget<'_>,
    traits: CommandTraits,
    kill: KillPoint<'_>,
    reference: &ReferenceRun,
) -> KillTally {
    let mut tally = KillTally::default();
    let env = (target.scene)();
    let (point, ended) = match kill {
        KillPoint::At(point) => {
            let output = env.spore_in(&env.repo(), target.command, &[("SPORE_KILL_AT", point)]);
            (point.to_owned(), Some(output).filter(|output| output.code != 137))
        }
        KillPoint::Once(name, seen) => {
            let output = kill_when(target, &env, || seen(&env));
            (name.to_owned(), Some(output).filter(|output| output.code != 137))
        }
        KillPoint::After(share) => {
            let until = Instant::now() + reference.took.mul_f64(share);
            let _ = kill_when(target, &env, || Instant::now() >= until);
            (format!("after {share:.3} of it"), None)
        }
    };
    match ended {
        None => {
            let is_between_effects = !matches!(kill, KillPoint::At(_));
            let is_same = |state: &Value| {
                let may_repeat = traits.goes_on && is_between_effects;
                *state == reference.state
                    || (may_repeat && is_one_turn_more(&reference.state, state))
            };
            if let Some(state) = examine(target, traits, &env, &point, &mut tally)
                && !is_same(&state)
            {
                let found = difference(&reference.state, &state);
                tally.divergent.push(format!("{point}: {found}"));
            }
            let most = match kill {
                // What happens at once has no order in which a session is open or not.
                _ if traits.parallel => usize::MAX,
                KillPoint::At(point) => open_sessions(&reference.points, point),
                _ => 1,
            };
            let lost = usize::try_from(tally.repeated_sessions).unwrap_or(usize::MAX);
            if lost > most {
                let paid = format!("{lost} sessions were paid for twice, of {most} that were open");
                tally.divergent.push(format!("{point}: {paid}"));
            }
        }
        Some(output) => {
            tally.divergent.push(format!("{point}: was not killed: {}", output.render()));
        }
    }
    tally
}

/// How many sessions are open at a point of the undisturbed run: on record, and without a result.
fn open_sessions(points: &[String], point: &str) -> usize {
    let place = |wanted: &str| points.iter().position(|known| known == wanted);
    let Some(at) = place(point) else { return 0 };
    let opened = points.iter().filter_map(|known| known.strip_prefix("after:row:amend "));
    opened
        .filter(|name| {
            let begun = place(&format!("after:row:amend {name}"));
            let ended = place(&format!("after:row:finish {name}"));
            begun.is_some_and(|begun| begun <= at) && ended.is_none_or(|ended| at < ended)
        })
        .count()
}

/// Runs the command and kills it when it is time, unless it has ended by then.
fn kill_when(target: &KillTarget<'_>, env: &TestEnv, is_time: impl Fn() -> bool) -> ProgramOutput {
    let mut child = env.start_in(&env.repo(), target.command, &[]);
    while !is_time() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let _ = child.kill();
    env.finish(child)
}

fn undisturbed(target: &KillTarget<'_>, traits: CommandTraits) -> ReferenceRun {
    let env = (target.scene)();
    let log = env.dir().join("effects.log");
    let start = Instant::now();
    let output = env.spore_in(
        &env.repo(),
        target.command,
        &[("SPORE_EFFECTS_LOG", &log.display().to_string())],
    );
    let took = start.elapsed();
    assert!(output.code < 64, "{}", output.render());
    traits.then.iter().for_each(|then| then(&env));
    let points: Vec<String> =
        std::fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect();
    assert!(!points.is_empty(), "the command has no effects");
    let mut tally = KillTally::default();
    let state = canonical(&env, traits, "undisturbed", &mut tally);
    assert_eq!(tally.duplicates, Vec::<String>::new());
    ReferenceRun { points, state, took }
}

/// Whether the newest run waits for what a person does then: there is nothing to go on with before.
fn rests(traits: CommandTraits, runs: &ProgramOutput) -> bool {
    traits.then.is_some() && runs.json()[0]["status"] == "parked:human"
}

/// Brings a killed run to its end; what it left, if it comes to one.
fn examine(
    target: &KillTarget<'_>,
    traits: CommandTraits,
    env: &TestEnv,
    point: &str,
    tally: &mut KillTally,
) -> Option<Value> {
    tally.killed += 1;
    // The shims end what they started by themselves, within their grace.
    for (pid, command) in wait_until_none(env.dir(), Duration::from_secs(8)) {
        tally.left_running.push(format!("{point}: {pid} {command}"));
    }
    let runs = env.spore(&["runs", "list", "--json"]);
    let begun = runs.code == 0 && runs.json().as_array().is_some_and(|runs| !runs.is_empty());
    // Killed before there was a run: the person types the command again.
    let output = if !begun {
        env.spore_in(&env.repo(), target.command, &[])
    } else if runs.json()[0]["state"] == "ended" || rests(traits, &runs) {
        runs
    } else {
        env.spore(&["resume"])
    };
    if output.code >= 64 {
        tally.divergent.push(format!("{point}: {}", output.render()));
        return None;
    }
    traits.then.iter().for_each(|then| then(env));
    for (pid, command) in wait_until_none(env.dir(), Duration::from_secs(8)) {
        tally.left_running.push(format!("{point}: after resume: {pid} {command}"));
    }
    Some(canonical(env, traits, point, tally))
}
