//! What checkouts of many stages cost, as the stages of a flow have them.
//!
//!     cargo run --release -p spore-git --example checkouts_bench -- REPOSITORY WORKERS STAGES
//!
//! Each worker's stages stand on each other: a checkout of what the one before left, made of a spare; a
//! file; its snapshot, what changed, a commit and the ref that keeps it; and the checkout becomes a spare
//! again. Told is the processor time of this process a stage, which is what a flow pays for the same,
//! and that of git, both in milliseconds.

#![expect(clippy::disallowed_methods, reason = "a measurement, outside the product")]
#![expect(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::path::Path;

use spore_git::{ChangeCaps, Exclusions, Repository};
use spore_model::Timestamp;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [repository, workers, stages] = &args[..] else {
        return Err("checkouts_bench REPOSITORY WORKERS STAGES".into());
    };
    let (workers, stages): (u32, u32) = (workers.parse()?, stages.parse()?);
    let each = (stages / workers).max(1);
    let state = tempfile::tempdir()?;
    let repository = Repository::discover(Path::new(repository))?;
    let repository = repository.keeping_work_in(&state.path().join("work.git"));
    let before = spent()?;
    std::thread::scope(|scope| {
        let worker = |number| {
            let (repository, state) = (&repository, state.path());
            scope.spawn(move || {
                work(repository, state, number, each).map_err(|error| error.to_string())
            })
        };
        let working: Vec<_> = (0..workers).map(worker).collect();
        let ended = working.into_iter().map(|one| one.join().unwrap_or(Err("it broke".to_owned())));
        ended.collect::<Result<Vec<()>, String>>()
    })?;
    let each = f64::from(workers * each);
    let after = spent()?;
    let [own, git] = [0, 1].map(|at| (after[at] - before[at]) / each);
    println!("{{\"own_ms\": {own:.3}, \"git_ms\": {git:.3}}}");
    Ok(())
}

/// The checkouts of one worker, one after the other.
fn work(
    repository: &Repository,
    state: &Path,
    worker: u32,
    stages: u32,
) -> Result<(), Box<dyn Error>> {
    let (trusted, spares) = (repository.head()?, state.join("spares"));
    let exclusions = Exclusions::new(&[], &[]);
    let mut tip = trusted.clone();
    for stage in 0..stages {
        let name = format!("{worker:04}{stage:04}");
        let place = state.join(&name).join("coder");
        let checkouts = repository.with_attributes_of(&trusted);
        let checkout = checkouts.checkout_reusing(&spares, &place, &tip)?;
        let file = format!("t{worker}/w{stage}.txt");
        std::fs::create_dir_all(checkout.dir().join(format!("t{worker}")))?;
        std::fs::write(checkout.dir().join(&file), format!("{stage}\n"))?;
        let tree = checkout.snapshot_within(&tip, &exclusions, ChangeCaps::NONE)?;
        let changed = repository.diff(&repository.tree_of(&tip)?, &tree, 0)?.files.len();
        let message = format!("flow: {name}: {changed} files");
        let commit =
            repository.commit_tree(&tree, &tip, &message, Timestamp::from_millis(1_000))?;
        repository.read_file(&commit, &file)?;
        repository.set_ref(&format!("refs/spore/{name}/result"), &commit)?;
        checkout.retire(&spares)?;
        tip = commit;
    }
    Ok(())
}

/// Processor time so far, of this process and of those that it waited for, in milliseconds: the
/// system tells it in hundredths of a second.
fn spent() -> Result<[f64; 2], Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    // What stands behind the program's name, which may hold anything.
    let (_, text) = text.rsplit_once(')').ok_or("no name")?;
    let numbers: Vec<f64> =
        text.split_whitespace().map(|word| word.parse().unwrap_or(0.0)).collect();
    let [.., user, system, of_others, by_others] = numbers[..15] else {
        return Err("no times".into());
    };
    Ok([user + system, of_others + by_others].map(|hundredths| hundredths * 10.0))
}
