//! Going through directories on all cores.
//!
//! What a walk costs is the system's time for each entry, and two cores spend half of it. The
//! directories of one level are shared out; a level of few is not worth a thread.

use std::sync::atomic::{AtomicUsize, Ordering};

/// So many directories are worth a thread.
const FEW: usize = 16;

/// Visits `top` and every directory that `visit` wants to go on with, and returns what each
/// visit found: all of a level before those below it.
pub fn walk<D, F, E>(
    top: D,
    visit: impl Fn(&D) -> Result<(F, Vec<D>), E> + Sync,
) -> Result<Vec<F>, E>
where
    D: Send + Sync,
    F: Send,
    E: Send,
{
    let mut found = Vec::new();
    let mut level = vec![top];
    while !level.is_empty() {
        let mut next = Vec::new();
        for visited in share_out(&level, &visit) {
            let (of_one, below) = visited?;
            found.push(of_one);
            next.extend(below);
        }
        level = next;
    }
    Ok(found)
}

/// Does `work` on each item, and returns the results in the order of the items.
fn share_out<I: Sync, O: Send>(items: &[I], work: &(impl Fn(&I) -> O + Sync)) -> Vec<O> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(items.len() / FEW + 1);
    if threads == 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, work(item)));
        }
    };
    let mut done = std::thread::scope(|scope| {
        // Where no thread is to be had, this one does all.
        let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, take).ok();
        let others: Vec<_> = (1..threads).filter_map(spawn).collect();
        let mut done = take();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Directories are numbers here: below each are ten times it and the nine after.
    fn below(number: u32) -> Vec<u32> {
        (number * 10..number * 10 + 10).filter(|below| *below < 1_000 && *below > number).collect()
    }

    #[test]
    fn every_directory_is_visited_once_and_each_after_the_one_above_it() {
        let found = walk(0, |at| Ok::<_, ()>((*at, below(*at)))).unwrap();
        assert_eq!(found, (0..1_000).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_failure_of_a_level_is_the_answer() {
        let failed = walk(0, |at| if *at > 99 { Err(*at) } else { Ok(((), below(*at))) });
        assert_eq!(failed, Err(100));
    }

    #[test]
    #[should_panic(expected = "a visit failed")]
    fn a_panic_is_not_lost_in_a_thread() {
        let _ = walk(0, |at| {
            assert!(*at != 777, "a visit failed");
            Ok::<_, ()>(((), below(*at)))
        });
    }
}
