//! `spore index`: the work tree, or a revision, into the code half of the graph.

pub(super) mod bar;
mod text;

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use spore_app::embedding::{self, Filled};
use spore_app::indexing::{self, IndexAsked, IndexReport, IndexSource};
use spore_app::{Result, Surroundings};

use crate::surroundings::listen_for_signals;
use crate::ui::Ui;
pub(super) use bar::Bar;

/// Bring the code index up to date
///
/// Reads what changed since the last time and nothing else; the first time reads everything.
/// What is ignored by git, by .sporeignore or by being hidden is left out, and so are binary,
/// minified and very large files: the closing table says how many and why.
///
/// When the index is ready, vectors are made for search by meaning, if `spore setup` has
/// installed the model: for a minute at most, the rest the next time.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore index                    what changed in this work tree\n  spore index src/parser         what changed below this directory\n  spore index --watch            keep up with every change, until Ctrl-C\n  spore index --rev v1.2.0       the tree of a revision, beside the work tree's\n  spore index --full --json      make it anew, and say so in JSON"
)]
pub(crate) struct IndexArgs {
    /// Look at these files and directories only
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Index the tree of a commit instead of the work tree
    #[arg(long, value_name = "REV", conflicts_with_all = ["paths", "watch", "languages"])]
    rev: Option<String>,
    /// Stay, and bring the index up to date after every change
    #[arg(long)]
    watch: bool,
    /// Look at files in these languages only
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    languages: Vec<String>,
    /// Make the index anew, whatever there is
    #[arg(long)]
    full: bool,
    /// Make no vectors
    #[arg(long)]
    no_embed: bool,
    /// Make vectors for this long at most, such as 60s or 10m
    #[arg(long, value_name = "TIME", value_parser = spore_config::parse_duration, conflicts_with_all = ["no_embed", "rev", "watch"])]
    embed_for: Option<Duration>,
    /// Print the index of the work tree as text, for comparing two
    #[arg(long, hide = true)]
    dump: bool,
}

impl IndexArgs {
    fn asked(&self) -> IndexAsked {
        let source = self.rev.clone().map_or(IndexSource::WorkTree, IndexSource::Tree);
        IndexAsked {
            source,
            paths: self.paths.clone(),
            languages: self.languages.clone(),
            full: self.full,
        }
    }
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &IndexArgs) -> Result<u8> {
    if args.dump {
        let dump = indexing::dump(around)?;
        ui.answer(&dump, || dump.clone());
        return Ok(0);
    }
    let asked = args.asked();
    let bar = Bar::new(ui);
    if args.watch {
        return watch(ui, around, &asked, &bar);
    }
    let indexed = indexing::index(around, &asked, &bar)?;
    let vectors = if args.no_embed || args.rev.is_some() {
        None
    } else {
        // Stopping here leaves nothing half done, and the table is still to come.
        listen_for_signals(&around.interrupt)?;
        Some(embedding::embed(around, &indexed, args.embed_for, &bar)?)
    };
    bar.clear();
    let report = &indexed.report;
    let answer = IndexAnswer { report, vectors: vectors.as_ref() };
    ui.answer(&answer, || text::report(report) + &text::vectors(vectors.as_ref()));
    Ok(0)
}

#[derive(Serialize)]
struct IndexAnswer<'a> {
    #[serde(flatten)]
    report: &'a IndexReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    vectors: Option<&'a Filled>,
}

/// The end of a watch is what the user asked for, so it is a success.
fn watch(ui: &mut Ui, around: &Surroundings, asked: &IndexAsked, bar: &Bar) -> Result<u8> {
    listen_for_signals(&around.interrupt)?;
    let mut first = true;
    indexing::watch(around, asked, bar, &mut |report: &IndexReport| {
        bar.clear();
        ui.line(report, || if first { text::report(report) } else { text::change(report) });
        first = false;
    })?;
    bar.clear();
    Ok(0)
}
