//! The search: every row by its upper plane, then the best few by both.
//!
//! The query keeps 16 bits, so only the rows are rounded in the first pass; its error is far
//! below the distance between the best and the [`SPARE`]-fold that are looked at again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::layout::{self, BLOCK_ROWS};
use crate::{DIMENSIONS, Vector, kernels};

/// How many rows are scored again for each that is wanted, and at least.
const SPARE: usize = 4;
const SPARE_AT_LEAST: usize = 64;

/// Below this a second thread costs more than it saves.
const ROWS_PER_THREAD: u32 = 50_000;

/// A score that can be ordered, and its row.
#[derive(Clone, Copy, PartialEq)]
struct Scored(f32, u32);

impl Eq for Scored {}

impl Ord for Scored {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // Of equal scores the older row wins, so that the same question has the same answer.
        self.0.total_cmp(&other.0).then(other.1.cmp(&self.1))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

pub(super) fn nearest(
    bytes: &[u8],
    rows: u32,
    query: &Vector,
    k: usize,
    threads: usize,
    allow: impl Fn(u32) -> bool + Sync,
) -> Vec<(u32, f32)> {
    if k == 0 || rows == 0 {
        return Vec::new();
    }
    let wanted = (k * SPARE).max(SPARE_AT_LEAST);
    let rounded = round(query);
    let blocks = rows.div_ceil(BLOCK_ROWS);
    let threads = u32::try_from(threads).unwrap_or(1).min(rows / ROWS_PER_THREAD).max(1);
    let part = |thread: u32| {
        let from = blocks * thread / threads;
        let to = blocks * (thread + 1) / threads;
        best(bytes, from * BLOCK_ROWS..rows.min(to * BLOCK_ROWS), &rounded, wanted, &allow)
    };
    let found: Vec<Scored> = if threads == 1 {
        part(0)
    } else {
        std::thread::scope(|scope| {
            let part = &part;
            let parts: Vec<_> =
                (0..threads).map(|thread| scope.spawn(move || part(thread))).collect();
            let join = |part: std::thread::ScopedJoinHandle<'_, Vec<Scored>>| {
                part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            parts.into_iter().flat_map(join).collect()
        })
    };
    let exact = |Scored(_, row)| {
        let vector = layout::vector(bytes, row);
        Scored(vector.iter().zip(query).map(|(a, b)| a * b).sum(), row)
    };
    let mut found: Vec<Scored> = found.into_iter().map(exact).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.truncate(k);
    found.into_iter().map(|Scored(score, row)| (row, score)).collect()
}

/// The query as 16-bit numbers; their common factor does not change the order. 2^13 keeps the
/// sum of 384 products below 2^31.
fn round(query: &Vector) -> [i16; DIMENSIONS] {
    let largest = query.iter().fold(f32::MIN_POSITIVE, |most, number| most.max(number.abs()));
    query.map(|number| (number / largest * 8191.0).round() as i16)
}

fn best(
    bytes: &[u8],
    rows: std::ops::Range<u32>,
    query: &[i16; DIMENSIONS],
    wanted: usize,
    allow: &(impl Fn(u32) -> bool + Sync),
) -> Vec<Scored> {
    let mut heap: BinaryHeap<Reverse<Scored>> = BinaryHeap::with_capacity(wanted + 1);
    let mut threshold = f32::NEG_INFINITY;
    let mut scores = [0; BLOCK_ROWS as usize];
    for first in rows.clone().step_by(BLOCK_ROWS as usize) {
        let count = BLOCK_ROWS.min(rows.end - first) as usize;
        kernels::dots(layout::upper_plane(bytes, first, count), query, &mut scores[..count]);
        let scales = layout::scales(bytes, first, count);
        for (row, (score, scale)) in (first..).zip(scores[..count].iter().zip(scales)) {
            let score = *score as f32 * f32::from_le_bytes(*scale);
            if score > threshold && allow(row) {
                heap.push(Reverse(Scored(score, row)));
                if heap.len() > wanted {
                    heap.pop();
                    threshold = heap.peek().map_or(threshold, |Reverse(least)| least.0);
                }
            }
        }
    }
    heap.into_iter().map(|Reverse(scored)| scored).collect()
}
