//! `spore search`: where something is, by name, path, words or meaning.

use spore_app::search::{self, SearchAnswer, SearchQuery, VectorsUse};
use spore_app::{Result, Surroundings};
use spore_plain::{headline, line, name};

use super::index::bar::Bar;
use crate::ui::Ui;

/// Find files, functions, types and sections
///
/// A symbol (`Parser::next`, `parser.next`) or a path that is named outright comes first. Else
/// what fits the words best: names count more than documentation, and documentation more than
/// code. With the model of `spore setup` what is near in meaning is found, too. The index is
/// made or brought up to date before.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore search Parser::next                    a symbol, in any language's spelling\n  spore search src/cli.rs                      a path, or the end of one\n  spore search \"where are settings merged\"     what something does\n  spore search retry --kind function --path src\n  spore search \"bad gateway\" --path '*.py' --json"
)]
pub(crate) struct SearchArgs {
    /// What to look for; several words need no quotes
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// Only these kinds: function, method, struct, class, enum, trait, interface, type, const,
    /// macro, module, impl, test, section, file
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    kind: Vec<String>,
    /// Only files at or below this path, or that this glob matches
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// How many hits at most
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Go by words and names alone
    #[arg(long)]
    no_embed: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &SearchArgs) -> Result<u8> {
    let query = SearchQuery {
        text: args.query.join(" "),
        kinds: args.kind.clone(),
        path: args.path.clone(),
        limit: args.limit,
        no_embed: args.no_embed,
    };
    let bar = Bar::new(ui);
    let answer = search::search(around, &query, &bar)?;
    bar.clear();
    let verbose = ui.is_verbose();
    ui.answer(&answer, || text(&answer, verbose));
    Ok(0)
}

fn text(answer: &SearchAnswer, verbose: bool) -> String {
    if answer.hits.is_empty() {
        return format!("Nothing found for {}.", headline(&answer.query, 80));
    }
    let mut text = String::new();
    for hit in &answer.hits {
        let place = format!("{}:{}", name(&hit.path), hit.first_line);
        let symbol = if hit.kind == "file" { "" } else { &hit.qualified };
        text.push_str(format!("{place}  {}  {}", hit.kind, line(symbol)).trim_end());
        text.push('\n');
        let about = if hit.signature.is_empty() { &hit.doc } else { &hit.signature };
        if !about.is_empty() && *about != hit.qualified {
            text.push_str(&format!("    {}\n", headline(about, 110)));
        }
        text.push_str(&format!("    {}\n", line(&hit.why.join(" · "))));
    }
    if verbose {
        let times = answer.timings_ms;
        let vectors = match answer.vectors {
            VectorsUse::Used => "all",
            VectorsUse::Partial => "some",
            VectorsUse::Absent => "no",
        };
        text.push_str(&format!(
            "\n{vectors} vectors; {:.1} ms: refresh {:.1}, open {:.1}, embed {:.1}, scan {:.1}, search {:.1}\n",
            times.total, times.refresh, times.open, times.embed, times.scan, times.search
        ));
    }
    text
}
