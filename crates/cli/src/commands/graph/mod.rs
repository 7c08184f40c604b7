//! The knowledge graph from the command line: what past work found out, and how it hangs
//! together.

mod analyze;
mod check_freshness;
mod context_for_task;
mod create_edge;
mod create_meta;
mod edges_for_context;
mod explain_edge;
mod gc;
mod list_region;
mod path_between;
mod query_edges;
mod read_content;
mod show;
mod status;
mod text;
mod update_meta;

use std::io::Read;

use spore_app::graph::CONTENT_CAP;
use spore_app::{Error, Result, Surroundings};
use spore_model::Fault;

use crate::ui::Ui;

/// Ask the knowledge graph, and add to it
///
/// A node or an edge is named by any unique beginning or end of its id, four characters or
/// more; a node also by its exact title.
#[derive(clap::Subcommand)]
#[command(
    after_help = "Examples:\n  spore graph status                             counts, and open contradictions\n  spore graph query-edges -t contradicts --since 7d\n  spore graph show 7QX2W0AB                      one node with its edges\n  spore graph context-for-task 7QX2W0AB          what lies near it, nearest first"
)]
pub(crate) enum GraphCommand {
    Status(status::GraphStatusArgs),
    Show(show::GraphShowArgs),
    ReadContent(read_content::ReadContentArgs),
    ListRegion(list_region::ListRegionArgs),
    QueryEdges(query_edges::QueryEdgesArgs),
    ExplainEdge(explain_edge::ExplainEdgeArgs),
    EdgesForContext(edges_for_context::EdgesForContextArgs),
    PathBetween(path_between::PathBetweenArgs),
    ContextForTask(context_for_task::ContextForTaskArgs),
    CheckFreshness(check_freshness::CheckFreshnessArgs),
    CreateMeta(create_meta::CreateMetaArgs),
    UpdateMeta(update_meta::UpdateMetaArgs),
    CreateEdge(create_edge::CreateEdgeArgs),
    Analyze(analyze::AnalyzeArgs),
    Gc(gc::GcArgs),
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, command: &GraphCommand) -> Result<u8> {
    match command {
        GraphCommand::Status(args) => status::run(ui, around, args),
        GraphCommand::Show(args) => show::run(ui, around, args),
        GraphCommand::ReadContent(args) => read_content::run(ui, around, args),
        GraphCommand::ListRegion(args) => list_region::run(ui, around, args),
        GraphCommand::QueryEdges(args) => query_edges::run(ui, around, args),
        GraphCommand::ExplainEdge(args) => explain_edge::run(ui, around, args),
        GraphCommand::EdgesForContext(args) => edges_for_context::run(ui, around, args),
        GraphCommand::PathBetween(args) => path_between::run(ui, around, args),
        GraphCommand::ContextForTask(args) => context_for_task::run(ui, around, args),
        GraphCommand::CheckFreshness(args) => check_freshness::run(ui, around, args),
        GraphCommand::CreateMeta(args) => create_meta::run(ui, around, args),
        GraphCommand::UpdateMeta(args) => update_meta::run(ui, around, args),
        GraphCommand::CreateEdge(args) => create_edge::run(ui, around, args),
        GraphCommand::Analyze(args) => analyze::run(ui, around, args),
        GraphCommand::Gc(args) => gc::run(ui, around, args),
    }
}

/// Returns `text`, or what stdin holds where it is `-`.
fn read_text(text: &str) -> Result<String> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let mut read = String::new();
    // One byte more than may be stored, so that the use case sees that it is too long.
    std::io::stdin().take(CONTENT_CAP as u64 + 1).read_to_string(&mut read).map_err(|source| {
        Error::new(Fault::BadInput, "the content on stdin cannot be read").because(source)
    })?;
    Ok(read)
}
