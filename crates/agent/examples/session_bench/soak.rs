//! A thousand sessions of an agent that misbehaves, several at a time.

#![expect(clippy::disallowed_methods, reason = "a measurement, outside the product")]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use spore_agent::command::CommandOutput;
use spore_effects::session::find_by_token;

use crate::scene::Scene;
use crate::{FAKE_ARG, tell};

const AT_ONCE: usize = 4;

#[derive(Default)]
struct Tally {
    outcomes: BTreeMap<String, u32>,
    left: usize,
    latest: Duration,
}

pub(crate) fn run() -> bool {
    let tally = Mutex::new(Tally::default());
    let next = AtomicU64::new(0);
    let start = Instant::now();
    run_up_to(100, &next, &tally);
    let after_100 = resident_bytes();
    run_up_to(1000, &next, &tally);
    let grown = resident_bytes().saturating_sub(after_100);
    let Tally { outcomes, left, latest } = tally.into_inner().unwrap();
    let kib = grown / 1024;
    tell(&format!("soak: 1000 sessions in {:.0?}, {outcomes:?}", start.elapsed()));
    tell(&format!("soak: memory grew by {kib} KiB from {} KiB, limit 8192", after_100 / 1024));
    tell(&format!("soak: the latest was {latest:.2?} behind its deadline, limit 5 s"));
    tell(&format!("soak: {left} processes left, limit 0"));
    kib < 8192 && latest < Duration::from_secs(5) && left == 0
}

fn run_up_to(last: u64, next: &AtomicU64, tally: &Mutex<Tally>) {
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= last {
                        break;
                    }
                    one_session(seed, tally);
                }
            });
        }
    });
    next.store(last, Ordering::Relaxed);
}

fn one_session(seed: u64, tally: &Mutex<Tally>) {
    let seed = seed.to_string();
    let args = [FAKE_ARG, "--format", "events", "--count", "5000", "--seed", &seed];
    let mut scene = Scene::new(&args, CommandOutput::Events);
    scene.watchdog.first_output = Duration::from_millis(700);
    scene.watchdog.exit = Duration::from_millis(200);
    scene.watchdog.transcript_cap = 4 << 20;
    scene.request.limits.wall = Duration::from_secs(2);
    scene.request.limits.idle = Some(Duration::from_millis(700));
    scene.request.env.push(("SOAK_API_KEY".to_owned(), "sk-soak-0123456789".to_owned()));
    let start = Instant::now();
    let (report, _) = scene.run();
    let late = start.elapsed().saturating_sub(scene.request.limits.wall);
    let left = find_by_token(&scene.request.token).len();
    let mut tally = tally.lock().unwrap();
    *tally.outcomes.entry(format!("{:?}", report.outcome)).or_default() += 1;
    tally.left += left;
    tally.latest = tally.latest.max(late);
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}
