//! Searches a vectors file and says how much processor time it took, for bench/vectors.py.
//!
//!     cargo run --release -p spore-embed --example vectors_bench -- ROWS QUERIES THREADS
//!
//! ROWS and QUERIES hold 32-bit numbers, 384 a vector. Each line on stdin starts a round over
//! all queries, which is answered by one line of JSON: milliseconds and rows found for each.

#![expect(clippy::disallowed_methods, reason = "a measurement, outside the product")]
#![expect(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::time::Instant;

use spore_embed::{DIMENSIONS, Key, Vector, Vectors};

const K: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [rows, queries, threads] = args.as_slice() else {
        return Err("usage: vectors_bench ROWS QUERIES THREADS".into());
    };
    let (queries, threads) = (read(queries)?, threads.parse()?);
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("vectors");
    let wall = Instant::now();
    let mut vectors = Vectors::open(&path)?;
    for (part, rows) in read(rows)?.chunks(50_000).enumerate() {
        let key = |at: usize| Key((part * 50_000 + at) as u128 + 1);
        let rows: Vec<(Key, Vector)> =
            rows.iter().enumerate().map(|(at, row)| (key(at), *row)).collect();
        vectors.append(&rows)?;
    }
    let built = wall.elapsed().as_secs_f64();
    let wall = Instant::now();
    let vectors = Vectors::open(&path)?;
    let opened = wall.elapsed().as_secs_f64();
    let bytes = std::fs::metadata(&path)?.len();
    println!("{}", serde_json::json!({"built": built, "opened": opened, "bytes": bytes}));
    for line in std::io::stdin().lines() {
        line?;
        let mut answers = Vec::new();
        for query in &queries {
            let (wall, cpu) = (Instant::now(), cpu_seconds()?);
            let near = vectors.nearest(query, K, threads, |_| true);
            let cpu = (cpu_seconds()? - cpu) * 1e3;
            let wall = wall.elapsed().as_secs_f64() * 1e3;
            let rows: Vec<u32> = near.iter().map(|near| near.row).collect();
            answers.push(serde_json::json!({"cpu": cpu, "wall": wall, "rows": rows}));
        }
        println!("{}", serde_json::json!(answers));
    }
    Ok(())
}

fn read(path: &str) -> Result<Vec<Vector>, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let number = |bytes: &[u8; 4]| f32::from_le_bytes(*bytes);
    let rows = bytes.as_chunks::<4>().0.as_chunks::<DIMENSIONS>().0;
    Ok(rows.iter().map(|row| row.each_ref().map(number)).collect())
}

/// Processor time of this process, ended threads included.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID)?;
    Ok(time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}
