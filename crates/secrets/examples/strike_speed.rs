//! What striking costs: 100 MB of a transcript in blocks as a pipe gives them, with and without
//! it, and how long it takes to get ready.
//!
//!     cargo run --release -p spore-secrets --example strike_speed

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement has a clock and says what it found"
)]

use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use spore_secrets::{KnownSecrets, KnownValue, Scrubber};

const BLOCK: usize = 64 * 1024;
const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        let (factor, more) = (6_364_136_223_846_793_005, 1_442_695_040_888_963_407);
        self.0 = self.0.wrapping_mul(factor).wrapping_add(more);
        (self.0 >> 33) as usize % most
    }

    fn letters(&mut self, count: usize, of: usize) -> String {
        (0..count).map(|_| char::from(LETTERS[self.below(of)])).collect()
    }
}

fn main() {
    let mut numbers = Numbers(7);
    let text = transcript(&mut numbers);
    println!("Blocks copied, and kept in a file with every line parsed, each with and without:");
    for count in [0, 1, 5, 20, 60] {
        let values: Vec<KnownValue> = (0..count)
            .map(|index| {
                // Every fifth is as long as a signed token.
                let length = if index % 5 == 4 { 1200 } else { 24 + numbers.below(80) };
                KnownValue::new(&format!("KEY_{index}"), &numbers.letters(length, 64))
            })
            .collect();
        let start = Instant::now();
        let known = KnownSecrets::new(values);
        let ready = start.elapsed();
        let mut scrubber = Scrubber::new(known.clone());
        let struck = shortest(&text, |block| black_box(scrubber.pass(block).into_owned()).len());
        let copied = shortest(&text, |block| black_box(block.to_vec()).len());
        let (mut work, mut scrubber) = (SessionWork::new(), Scrubber::new(known));
        let with = shortest(&text, |block| work.take(&scrubber.pass(block)));
        let mut work = SessionWork::new();
        let without = shortest(&text, |block| work.take(block));
        let times = with / without;
        println!(
            "{count:>3} values, ready in {ready:>8.1?}: {struck:.3} s, {copied:.3} s; \
             {with:.2} s, {without:.2} s, {times:.2} times"
        );
    }
}

fn transcript(numbers: &mut Numbers) -> Vec<u8> {
    let words = ["fn ", "return ", "\\n    ", "error[E0277]: ", "/src/", "\\\"x\\\""];
    let mut text = String::new();
    while text.len() < 100_000_000 {
        text.push_str("{\"type\":\"text\",\"text\":\"");
        for _ in 0..numbers.below(40) {
            text.push_str(words[numbers.below(words.len())]);
            let length = numbers.below(12);
            text.push_str(&numbers.letters(length, 26));
        }
        text.push_str("\"}\n");
    }
    text.into_bytes()
}

/// What is done with a block besides: it is kept, and its lines are read.
struct SessionWork {
    file: std::fs::File,
    rest: Vec<u8>,
}

impl SessionWork {
    fn new() -> Self {
        let path = std::env::temp_dir().join("strike_speed.jsonl");
        let file = std::fs::File::create(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        Self { file, rest: Vec::new() }
    }

    fn take(&mut self, block: &[u8]) -> usize {
        self.file.write_all(block).unwrap();
        self.rest.extend_from_slice(block);
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines = self.rest[..whole].split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.is_empty()) {
            black_box(serde_json::from_slice::<serde_json::Value>(line).unwrap());
        }
        self.rest.drain(..whole);
        block.len()
    }
}

/// The shortest of three times.
fn shortest(text: &[u8], mut pass: impl FnMut(&[u8]) -> usize) -> f64 {
    let mut time = || {
        let start = Instant::now();
        let length: usize = text.chunks(BLOCK).map(&mut pass).sum();
        assert!(length > 99_000_000);
        start.elapsed().as_secs_f64()
    };
    (0..3).map(|_| time()).fold(f64::MAX, f64::min)
}
