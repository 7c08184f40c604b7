//! Serving: over stdio, over HTTP, or for the broker of a run.

use std::io;
use std::net::SocketAddr;

use spore_app::toolbox::{Remote, Toolbox, http_token};
use spore_app::{Error, Result, Surroundings};
use spore_mcp::ProjectHost;
use spore_model::Fault;

use super::McpArgs;
use crate::ui::Ui;

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) fn run(ui: &mut Ui, around: &Surroundings, args: &McpArgs) -> Result<u8> {
    // A session's shim: it knows where its broker is, and nothing of the project.
    if let Some(broker) = Remote::of_environment(&around.variables) {
        return over_stdio(spore_mcp::serve_stdio(broker, VERSION));
    }
    let project = ProjectHost::new(Toolbox::of_work_tree(around)?, args.allow_writes);
    match args.http {
        None => over_stdio(spore_mcp::serve_stdio(project, VERSION)),
        Some(address) => over_http(ui, around, project, address),
    }
}

fn over_stdio(served: io::Result<()>) -> Result<u8> {
    served.map_err(|source| Error::io("cannot serve over stdin and stdout", source))?;
    Ok(0)
}

fn over_http(
    ui: &mut Ui,
    around: &Surroundings,
    project: ProjectHost,
    address: SocketAddr,
) -> Result<u8> {
    if !address.ip().is_loopback() {
        let message = format!("{address} can be reached from other machines");
        return Err(Error::new(Fault::Usage, message).hint("use 127.0.0.1 or [::1]"));
    }
    let token = http_token(around)?;
    let ready = |address: SocketAddr| {
        ui.note(&format!("Listening on http://{address}/mcp"));
        let file = spore_plain::path(&token.file);
        // The token is printed once, when it is made; later its file is named.
        ui.note(&match token.is_new {
            true => format!("Authorization: Bearer {}\nIt is kept in {file}.", token.token),
            false => format!("The bearer token is in {file}."),
        });
    };
    let served = spore_mcp::serve_http(project, VERSION, address, &token.token, ready);
    served.map_err(|source| Error::io(format!("cannot listen on {address}"), source))?;
    Ok(0)
}
