//! `spore search`: the files, functions, types and sections that a question means.
//!
//! The index is brought up to date first if that is quick; if not, the answer comes from what
//! is there and says how many files it is behind. The question is embedded on a thread of its
//! own meanwhile, where there are vectors to compare it with.

pub(crate) mod by_meaning;
pub(crate) mod model_files;
pub mod vectors;

use std::path::Path;
use std::time::{Duration, Instant};

use ignore::overrides::OverrideBuilder;
use serde::Serialize;
use spore_config::Config;
use spore_context::search::{Hit, NearNode, SearchAsked, Searcher};
use spore_index::ItemKind;
use spore_model::Fault;
use spore_store::CodeIndex;

use crate::indexing::{self, Reporter};
use crate::search::vectors::{Filler, vectors_file};
use crate::{Error, Result, Surroundings, Workspace};
use by_meaning::Embedded;

/// A question is cut here before anything looks at it.
const MAX_QUERY_BYTES: usize = 16 << 10;

/// What the user or an agent looks for, as typed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SearchQuery {
    pub text: String,
    /// Only these; none is all.
    pub kinds: Vec<String>,
    /// A path, whatever is below it counting too, or a glob.
    pub path: Option<String>,
    pub limit: Option<u32>,
    /// Go by words and names alone.
    pub no_embed: bool,
}

/// Whether meaning counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VectorsUse {
    Used,
    /// Some texts have no vector yet.
    Partial,
    Absent,
}

/// How long each part took; they overlap.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct SearchTimings {
    /// Seeing what changed, and reading it.
    pub refresh: f64,
    /// Reading what all searches share.
    pub open: f64,
    /// Loading the model and embedding the question.
    pub embed: f64,
    /// Comparing the question with all vectors.
    pub scan: f64,
    /// Everything else.
    pub search: f64,
    pub total: f64,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SearchAnswer {
    pub query: String,
    pub hits: Vec<Hit>,
    pub vectors: VectorsUse,
    /// Files that changed since the index was made, where there were too many to read first.
    pub files_behind: u64,
    pub timings_ms: SearchTimings,
}

/// Finds what a question means.
pub fn search(
    around: &Surroundings,
    asked: &SearchQuery,
    reporter: &dyn Reporter,
) -> Result<SearchAnswer> {
    let begun = around.clock.monotonic();
    let text = typed(&asked.text)?;
    let kinds = kinds(&asked.kinds)?;
    let workspace = Workspace::find(around)?;
    if !workspace.is_initialised() {
        crate::base::init::init(around)?;
        reporter.note("Initialised .spore/, where the index is kept.");
    }
    let config = workspace.config(around, &[])?;
    let path = asked.path.as_deref().map(|path| PathFilter::typed(path, &workspace, around));
    let path = path.transpose()?;
    let desk = Desk { around, workspace: &workspace, config: &config, reporter };
    let mut timings = SearchTimings::default();
    let embeds = !asked.no_embed && vectors_file(&workspace).exists();
    let (opened, embedded) = std::thread::scope(|scope| {
        let embedded = embeds.then(|| scope.spawn(|| by_meaning::embed(around, text)));
        let opened = desk.open_index();
        let embedded = embedded
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        (opened, embedded)
    });
    let (index, behind) = opened?;
    timings.refresh = millis(begun);
    let embedded = desk.settle(&index, embedded, asked.no_embed)?;
    let opening = around.clock.monotonic();
    let searcher = Searcher::open(&index)?;
    timings.open = millis(opening);
    let mut near = Vec::new();
    let mut vectors = VectorsUse::Absent;
    if let Some((vector, took)) = &embedded {
        timings.embed = *took;
        let scanning = around.clock.monotonic();
        let of_all = kinds.is_empty() && path.is_none();
        let many = if of_all { config.search.near } else { config.search.near_of_some };
        if let Some(found) = by_meaning::near(&workspace, &index, vector, many as usize)? {
            near = found;
            let complete = indexing::has_all_vectors(&index)?;
            vectors = if complete { VectorsUse::Used } else { VectorsUse::Partial };
        }
        timings.scan = millis(scanning);
    }
    let searching = around.clock.monotonic();
    let holds = path.as_ref().map(|filter| |path: &str| filter.holds(path));
    let limit = asked.limit.unwrap_or(config.search.limit);
    let hits = searcher.search(
        &SearchAsked {
            text,
            kinds: &kinds,
            path: holds.as_ref().map(|holds| holds as &dyn Fn(&str) -> bool),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
        },
        &near,
    )?;
    // The nearest of all texts is near to anything: alone it says nothing unless it is near enough.
    let least = config.search.least_nearness as f32;
    let mut hits = hits;
    hits.retain(|hit| !hit.is_by_meaning_alone() || hit.meaning.is_some_and(|near| near >= least));
    timings.search = millis(searching);
    timings.total = millis(begun);
    Ok(SearchAnswer {
        query: text.to_owned(),
        hits,
        vectors,
        files_behind: behind,
        timings_ms: timings,
    })
}

/// Finds what a question means in an index that is held open. What is near in meaning is for
/// the holder to say.
pub(crate) fn search_held(
    around: &Surroundings,
    searcher: &Searcher<'_>,
    asked: &SearchQuery,
    near: &[NearNode],
) -> Result<Vec<Hit>> {
    let text = typed(&asked.text)?;
    let kinds = kinds(&asked.kinds)?;
    let workspace = Workspace::find(around)?;
    let path = asked.path.as_deref().map(|path| PathFilter::typed(path, &workspace, around));
    let path = path.transpose()?;
    let holds = path.as_ref().map(|filter| |path: &str| filter.holds(path));
    let limit = asked.limit.unwrap_or(u32::MAX);
    let asked = SearchAsked {
        text,
        kinds: &kinds,
        path: holds.as_ref().map(|holds| holds as &dyn Fn(&str) -> bool),
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
    };
    Ok(searcher.search(&asked, near)?)
}

/// What a search works with.
struct Desk<'a> {
    around: &'a Surroundings,
    workspace: &'a Workspace,
    config: &'a Config,
    reporter: &'a dyn Reporter,
}

impl Desk<'_> {
    /// Opens the index, up to date if that is quick, and says how many files it is behind.
    fn open_index(&self) -> Result<(CodeIndex, u64)> {
        let Self { around, workspace, config, reporter } = self;
        let is_there = indexing::open_as_is(workspace, config)?.is_some();
        if !is_there {
            reporter.note("There is no index yet: making one.");
        }
        // A refresh is over before the user could read how far it is.
        let notes = NotesOnly(*reporter);
        let reporter = if is_there { &notes as &dyn Reporter } else { *reporter };
        let most = u64::from(config.search.refresh_files);
        let (index, report) = indexing::open_within(around, workspace, config, most, reporter)?;
        if report.behind > 0 {
            reporter.note(&format!(
                "The index is {} files behind: answering from what is there. `spore index` brings it up to date.",
                report.behind
            ));
        }
        Ok((index, report.behind))
    }

    /// Makes what vectors there is time for, and takes the embedded question or says why there
    /// is none.
    fn settle(
        &self,
        index: &CodeIndex,
        embedded: Option<Result<Option<Embedded>>>,
        no_embed: bool,
    ) -> Result<Option<Embedded>> {
        if no_embed {
            return Ok(None);
        }
        let Self { around, workspace, config, reporter } = *self;
        let filler = Filler { around, workspace, config, reporter };
        if config.search.embed_for > Duration::ZERO {
            filler.fill(index, config.search.embed_for)?;
        } else if !model_files::is_installed(&model_files::model_dir(around)) {
            filler.say_once(index)?;
        }
        match embedded {
            // Words and names answer without it.
            Some(Err(error)) => {
                reporter.note(&format!("Going by words and names alone: {error}."));
                Ok(None)
            }
            Some(Ok(embedded)) => Ok(embedded),
            None => Ok(None),
        }
    }
}

/// Hears what is said and not how far the work is.
struct NotesOnly<'a>(&'a dyn Reporter);

impl Reporter for NotesOnly<'_> {
    fn progress(&self, _: indexing::IndexPhase, _: u64, _: u64) {}

    fn note(&self, text: &str) {
        self.0.note(text);
    }
}

fn millis(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 1e6).round() / 1e3
}

fn typed(text: &str) -> Result<&str> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::new(Fault::Usage, "there is nothing to search for")
            .hint("name a symbol or a path, or say in a few words what the code does"));
    }
    Ok(spore_plain::head(text, MAX_QUERY_BYTES))
}

/// Returns the kinds that there are, by the words that people use for them.
fn kinds(typed: &[String]) -> Result<Vec<String>> {
    let mut words: Vec<&str> = ItemKind::ALL.iter().map(|kind| kind.as_str()).collect();
    words.push("file");
    let mut kinds = Vec::new();
    for typed in typed {
        let word = typed.trim().to_lowercase();
        let word = match word.as_str() {
            "fn" | "func" | "functions" => "function",
            "methods" => "method",
            "constant" | "constants" | "var" => "const",
            "mod" => "module",
            "heading" | "doc" | "docs" => "section",
            "files" => "file",
            "classes" => "class",
            other => other.strip_suffix('s').filter(|one| words.contains(one)).unwrap_or(other),
        };
        if !words.contains(&word) {
            let nearest = words.iter().min_by_key(|known| spore_config::distance(word, known));
            let hint = format!(
                "did you mean {}? There are: {}",
                nearest.copied().unwrap_or_default(),
                words.join(", ")
            );
            let message = format!("{typed:?} is not a kind of thing that can be found");
            return Err(Error::new(Fault::Usage, message).hint(hint));
        }
        kinds.push(word.to_owned());
    }
    Ok(kinds)
}

/// Which files may be found.
enum PathFilter {
    Below(String),
    Glob(ignore::overrides::Override),
}

impl PathFilter {
    fn typed(typed: &str, workspace: &Workspace, around: &Surroundings) -> Result<Self> {
        let typed = typed.trim();
        if !typed.contains(['*', '?', '[', '{']) {
            let path = indexing::path_from_root(workspace.root(), &around.cwd, Path::new(typed))?;
            return Ok(Self::Below(path));
        }
        let bad = |error: ignore::Error| {
            Error::new(Fault::Usage, format!("{typed:?} is not a pattern of paths"))
                .because(error)
                .hint("a directory, a file, or a glob such as 'src/**/*.rs'")
        };
        let mut builder = OverrideBuilder::new("");
        builder.add(typed.strip_prefix("./").unwrap_or(typed)).map_err(bad)?;
        Ok(Self::Glob(builder.build().map_err(bad)?))
    }

    fn holds(&self, path: &str) -> bool {
        match self {
            Self::Below(top) => {
                top.is_empty()
                    || path
                        .strip_prefix(top.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
            Self::Glob(glob) => !glob.matched(path, false).is_ignore(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_the_words_people_use() {
        let read = |words: &[&str]| {
            kinds(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(read(&["fn", "Structs", "file"]).unwrap(), ["function", "struct", "file"]);
        assert_eq!(read(&["class", "classes"]).unwrap(), ["class", "class"]);
        let error = read(&["functon"]).unwrap_err();
        assert!(error.hint_text().unwrap().starts_with("did you mean function?"));
    }

    #[test]
    fn a_glob_holds_what_it_says() {
        let glob = |text: &str| {
            let mut builder = OverrideBuilder::new("");
            builder.add(text).unwrap();
            PathFilter::Glob(builder.build().unwrap())
        };
        assert!(glob("*.py").holds("src/flask/app.py") && !glob("*.py").holds("a.rs"));
        assert!(glob("src/**").holds("src/a/b.rs") && !glob("src/**").holds("lib/src.rs"));
        let below = PathFilter::Below("src/a".to_owned());
        assert!(below.holds("src/a/b.rs") && below.holds("src/a") && !below.holds("src/ab.rs"));
    }

    #[test]
    fn nothing_is_not_a_question() {
        assert_eq!(typed(" \n\t").unwrap_err().fault, Fault::Usage);
        assert!(typed(&"ö".repeat(1 << 20)).unwrap().len() <= MAX_QUERY_BYTES);
    }
}
