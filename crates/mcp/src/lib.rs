//! The tools of the graph over the Model Context Protocol.
//!
//! Serving is an adapter and nothing else: it translates between the protocol's messages, which the
//! official SDK reads and writes, and a [`ToolHost`], which is either the project itself or the
//! broker of a run. What a tool does and who may call it is decided there. The async runtime
//! lives in here and only while a server runs; a host is asked on threads that may block.
//!
//! Over stdio the client is the program that started us. Over HTTP any program on the machine
//! could connect, web pages included: the server listens on loopback only, every request must
//! carry a token, and its `Host` and `Origin` must be local names.
//! <https://modelcontextprotocol.io/specification/2025-06-18/basic/transports>

mod host;
mod http;
mod install;
mod prompts;
mod server;

use std::io;
use std::net::SocketAddr;

use rmcp::ServiceExt;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio;

pub use host::{ProjectHost, ToolHost};
pub use install::{InstallAsked, InstallState, InstalledEntry, McpClient, McpScope, install_mcp};
use server::McpHandler;

/// A message longer than this is no question.
const MESSAGE_BYTES: usize = 1 << 20;

/// Serves over stdin and stdout until the client hangs up.
pub fn serve_stdio(host: impl ToolHost, version: &str) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let (input, output) = stdio();
        let transport =
            AsyncRwTransport::new_server(input, output).with_max_line_length(MESSAGE_BYTES);
        let service = match McpHandler::new(host, version).serve(transport).await {
            Ok(service) => service,
            // The client closed the pipe before it was initialized, or does not speak MCP.
            Err(_) => return Ok(()),
        };
        service.waiting().await.map(|_| ()).map_err(io::Error::other)
    });
    // A thread that reads stdin cannot be interrupted, and no other work is left.
    runtime.shutdown_background();
    served
}

/// Serves over HTTP on a loopback address until the process ends. `ready` hears where.
pub fn serve_http(
    host: impl ToolHost,
    version: &str,
    address: SocketAddr,
    token: &str,
    ready: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    if !address.ip().is_loopback() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{address} can be reached from other machines"),
        ));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(http::serve(McpHandler::new(host, version), address, token, ready))
}
