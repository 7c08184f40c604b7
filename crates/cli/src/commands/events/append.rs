use std::io::Read;

use spore_app::{Error, MAX_PAYLOAD_BYTES, NewEvent, Result, Surroundings};
use spore_model::Fault;

use crate::ui::Ui;

/// Tell Spore that something happened
///
/// Puts one event on the spine, `.spore/events/<day>.jsonl`, and prints its id. Kinds that
/// count as evidence: human, git, ci, channel, check, verifier. Others: runner, system,
/// cadence, meta, route, gateway.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore events append --kind human --type review.requested --name ada\n  spore events append --kind ci --type build.failed --payload '{\"job\": 7}'\n  generate-report | spore events append --kind check --type report.made --payload -"
)]
pub(crate) struct AppendArgs {
    /// Who or what it comes from
    #[arg(long, value_name = "KIND")]
    kind: String,
    /// What happened: words in lower case with dots between them
    #[arg(long = "type", value_name = "TYPE")]
    what: String,
    /// The source's own name; the kind if left out
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The conversation or job it belongs to
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// More about it, as JSON; `-` reads it from stdin
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    payload: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &AppendArgs) -> Result<u8> {
    let asked = NewEvent {
        kind: args.kind.clone(),
        what: args.what.clone(),
        name: args.name.clone(),
        session: args.session.clone(),
        payload: args.payload.as_deref().map(read_payload).transpose()?,
    };
    let event = spore_app::append_event(around, &asked)?;
    ui.answer(&event, || event.id.to_string());
    Ok(0)
}

fn read_payload(text: &str) -> Result<Vec<u8>> {
    if text != "-" {
        return Ok(text.as_bytes().to_vec());
    }
    let mut bytes = Vec::new();
    // One more than is allowed is enough to know.
    let most = MAX_PAYLOAD_BYTES as u64 + 1;
    std::io::stdin().take(most).read_to_end(&mut bytes).map_err(|source| {
        Error::new(Fault::BadInput, "the payload on stdin cannot be read").because(source)
    })?;
    Ok(bytes)
}
