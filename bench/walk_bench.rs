//! What a bare walk costs: the ignore rules of a tree, and one stat a file.

#![expect(clippy::disallowed_methods, reason = "a measurement, outside the product")]
#![expect(clippy::print_stdout, reason = "a benchmark tells people")]

use std::sync::atomic::{AtomicU64, Ordering};

use ignore::{WalkBuilder, WalkState};

fn main() {
    let root = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let (files, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let walk = WalkBuilder::new(root).require_git(false).threads(threads).build_parallel();
    walk.run(|| {
        Box::new(|entry| {
            if let Ok(data) = entry.and_then(|entry| entry.metadata())
                && data.is_file()
            {
                files.fetch_add(1, Ordering::Relaxed);
                bytes.fetch_add(data.len(), Ordering::Relaxed);
            }
            WalkState::Continue
        })
    });
    println!("{} files, {} bytes", files.into_inner(), bytes.into_inner());
}
