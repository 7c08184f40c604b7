//! Embeds the lines of a file and says how much processor time it took, for bench/embed.py.
//!
//!     cargo run --release -p spore-embed --example embed_bench -- TEXTS THREADS [OUT]
//!
//! TEXTS holds one JSON string a line. A round is started by a line on stdin, so that rounds
//! of several programs can take turns; each answers with one line of JSON. OUT gets the
//! vectors of the last round as 32-bit numbers.
//!
//!     cargo run --release -p spore-embed --example embed_bench -- tokens FILE
//!
//! compares our tokens with those that `embed_reference.py every-char` wrote.

#![expect(clippy::disallowed_methods, reason = "a measurement, outside the product")]
#![expect(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::io::BufRead;
use std::path::Path;
use std::time::Instant;

use spore_embed::{EmbedLimits, Model, TextKind, model_dir};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [word, file] = args.as_slice()
        && word == "tokens"
    {
        return compare_tokens(Path::new(file));
    }
    let [texts, threads, rest @ ..] = args.as_slice() else {
        return Err("usage: embed_bench TEXTS THREADS [OUT]".into());
    };
    let content = std::fs::read_to_string(texts)?;
    let texts: Vec<String> = content.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (wall, cpu) = (Instant::now(), cpu_seconds()?);
    let model = Model::load(&model_dir(|name| std::env::var_os(name)))?.with_limits(EmbedLimits {
        document_tokens: 256,
        threads: threads.parse()?,
        ..EmbedLimits::default()
    });
    report("load", 1, wall, cpu_seconds()? - cpu);
    for line in std::io::stdin().lock().lines() {
        let (wall, cpu) = (Instant::now(), cpu_seconds()?);
        if line?.trim() == "query" {
            model
                .embed(&["where is the retry delay of a failed request computed"], TextKind::Query);
            report("query", 1, wall, cpu_seconds()? - cpu);
            continue;
        }
        let vectors = model.embed(&texts, TextKind::Document);
        report("documents", vectors.len(), wall, cpu_seconds()? - cpu);
        if let Some(out) = rest.first() {
            let bytes = vectors.iter().flatten().flat_map(|number| number.to_le_bytes());
            std::fs::write(Path::new(out), bytes.collect::<Vec<_>>())?;
        }
    }
    Ok(())
}

fn compare_tokens(file: &Path) -> Result<(), Box<dyn Error>> {
    let model = Model::load(&model_dir(|name| std::env::var_os(name)))?;
    let (mut count, mut wrong) = (0_u32, 0_u32);
    for line in std::io::BufReader::new(std::fs::File::open(file)?).lines() {
        let line: serde_json::Value = serde_json::from_str(&line?)?;
        let text = line["text"].as_str().ok_or("a line without a text")?;
        count += 1;
        if serde_json::json!(model.tokens(text, TextKind::Document)) != line["tokens"] {
            wrong += 1;
            if wrong <= 20 {
                println!("{}: {:?}", line, model.tokens(text, TextKind::Document));
            }
        }
    }
    println!("{wrong} of {count} differ");
    Ok(())
}

fn report(what: &str, count: usize, wall: Instant, cpu: f64) {
    let wall = wall.elapsed().as_secs_f64();
    println!("{}", serde_json::json!({"what": what, "count": count, "wall": wall, "cpu": cpu}));
}

/// Processor time of this process, ended threads included.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID)?;
    Ok(time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}
