//! How many references of a directory are resolved, how surely, and what that costs.
//!
//!     cargo run --release -p spore-index --example resolve_bench -- DIRECTORY [EVERY]
//!
//! With a number every so manyth call is printed with what it means, to be judged by a person.

#![expect(clippy::disallowed_methods, reason = "a measurement, outside the product")]

use std::collections::HashMap;
use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs, io};

use spore_index::{
    CandidateItem, FileFacts, Language, Namesakes, ReferenceKind, ReferenceSite, SURE, read,
    resolve,
};

fn main() -> Result<(), Box<dyn Error>> {
    let root = env::args().nth(1).ok_or("usage: resolve_bench DIRECTORY [EVERY]")?;
    let every = env::args().nth(2).map_or(Ok(0), |number| number.parse::<usize>())?;
    let mut out = io::stdout().lock();
    let mut files = Vec::new();
    let started = Instant::now();
    collect(Path::new(&root), Path::new(&root), &mut files)?;
    writeln!(out, "{} files read in {:.2?}", files.len(), started.elapsed())?;
    let started = Instant::now();
    let namesakes = namesakes(&files);
    let (mut all, mut sure, mut unsure, mut number) = (0, 0, 0, 0);
    for (path, facts) in &files {
        let site = ReferenceSite { path, facts };
        for reference in &facts.references {
            all += 1;
            let Some(namesakes) = namesakes.get(reference.name.as_str()) else { continue };
            let meanings = resolve(site, reference, namesakes);
            let Some(surest) = meanings.first() else { continue };
            if surest.confidence < SURE {
                unsure += 1;
                continue;
            }
            sure += 1;
            number += usize::from(reference.kind == ReferenceKind::Call);
            if every > 0 && reference.kind == ReferenceKind::Call && number % every == 0 {
                let meant = namesakes.candidates()[surest.candidate];
                writeln!(
                    out,
                    "{path}:{} {} {:?} -> {}::{} {:.2}",
                    reference.line,
                    reference.name,
                    reference.access,
                    meant.path,
                    meant.qualified,
                    surest.confidence
                )?;
            }
        }
    }
    let took = started.elapsed();
    writeln!(out, "{all} references, {sure} sure, {unsure} unsure, resolved in {took:.2?}")?;
    Ok(())
}

fn namesakes(files: &[(String, FileFacts)]) -> HashMap<&str, Namesakes<'_>> {
    let mut by_name: HashMap<&str, Vec<CandidateItem<'_>>> = HashMap::new();
    for (path, facts) in files {
        for item in &facts.items {
            by_name.entry(&item.name).or_default().push(CandidateItem {
                path,
                package: facts.package.as_deref(),
                kind: item.kind,
                qualified: &item.qualified,
                visibility: item.visibility,
            });
        }
    }
    by_name.into_iter().map(|(name, found)| (name, Namesakes::new(found))).collect()
}

fn collect(root: &Path, directory: &Path, files: &mut Vec<(String, FileFacts)>) -> io::Result<()> {
    let mut entries: Vec<PathBuf> = fs::read_dir(directory)?
        .map(|entry| entry.map(|it| it.path()))
        .collect::<Result<_, _>>()?;
    entries.sort();
    for entry in entries {
        let path = entry.strip_prefix(root).unwrap_or(&entry).to_string_lossy().into_owned();
        if entry.is_dir() && !entry.is_symlink() {
            collect(root, &entry, files)?;
        } else if let Some(language) = Language::of_path(&path)
            && let Ok(text) = fs::read_to_string(&entry)
        {
            files.push((path.clone(), read(&path, &text, language)));
        }
    }
    Ok(())
}
