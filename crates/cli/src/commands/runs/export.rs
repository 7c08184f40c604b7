use std::path::PathBuf;

use spore_app::{Error, Export, ExportFormat, Exported, Result, SentTraces, Surroundings};
use spore_model::Fault;

use super::filter::FilterArgs;
use crate::ui::Ui;

/// Make one document of a run, or of all runs since then, or send them to a collector of traces
///
/// The document is one file that opens without a network and runs no script: timeline, change,
/// logs of the checks, verdicts, and what it cost. The flags that choose runs choose those of a period.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore runs export 7QX2 -o run.html\n  spore runs export --format markdown > run.md\n  spore runs export --since 7d -o week.html\n  spore runs export --since 30d --otlp http://127.0.0.1:4318"
)]
pub(crate) struct RunsExportArgs {
    /// Any unique part of the run's id as it is shown; the newest run if left out
    run: Option<String>,
    /// How it is written; by the file's name if left out, else html
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<FormatArg>,
    /// Where it is written, in place of what is there; to stdout if left out
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Send traces to this collector instead: OTLP as JSON over HTTP, as in http://127.0.0.1:4318
    #[arg(long, value_name = "URL", conflicts_with_all = ["format", "output"])]
    otlp: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FormatArg {
    Html,
    Markdown,
}

impl RunsExportArgs {
    fn format(&self) -> ExportFormat {
        let by_name = || {
            let end = self.output.as_ref()?.extension()?.to_str()?.to_ascii_lowercase();
            matches!(end.as_str(), "md" | "markdown").then_some(FormatArg::Markdown)
        };
        match self.format.or_else(by_name) {
            Some(FormatArg::Markdown) => ExportFormat::Markdown,
            Some(FormatArg::Html) | None => ExportFormat::Html,
        }
    }
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RunsExportArgs) -> Result<u8> {
    let filter = args.filter.filter(around)?;
    let period = (filter != spore_app::RunFilter::default()).then_some(filter);
    if let (Some(run), Some(_)) = (&args.run, &period) {
        let message = format!("{run:?} is one run, and the flags ask for those of a period");
        return Err(Error::new(Fault::Usage, message).hint("leave out the one or the other"));
    }
    if let Some(endpoint) = &args.otlp {
        let sent = spore_app::send_runs(around, endpoint, args.run.as_deref(), period.as_ref())?;
        ui.answer(&sent, || told(&sent));
        return Ok(0);
    }
    let exported = spore_app::export(
        around,
        &Export { run: args.run.clone(), period, format: args.format(), file: args.output.clone() },
    )?;
    ui.answer_as_is(&exported, || text(&exported));
    Ok(0)
}

fn text(exported: &Exported) -> String {
    match (&exported.text, &exported.file) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => format!("Written to {}", spore_plain::path(file)),
        (None, None) => String::new(),
    }
}

fn told(sent: &SentTraces) -> String {
    let runs = spore_app::counted(sent.runs, "run");
    let mut text =
        format!("Sent {} of {runs} to {}\n", spore_app::counted(sent.spans, "span"), sent.endpoint);
    for trace in sent.traces.iter().take(20) {
        text.push_str(&format!("trace {trace}\n"));
    }
    text
}
