//! Keeps secrets out of everything a session leaves behind.
//!
//! Secrets are the values that the caller knows, and the credentials among the variables that
//! the session is given. Each place where one appears in the output becomes `[secret NAME]`
//! before anything is written or read: neither file nor parser ever has it.

use spore_secrets::{KnownSecrets, credentials};

use crate::Request;

/// Returns all secrets that a session could print.
pub(crate) fn secrets_of(request: &Request) -> KnownSecrets {
    let servers = request.mcp_servers.iter().flat_map(|server| &server.env);
    let given: Vec<(String, String)> = request.env.iter().chain(servers).cloned().collect();
    request.secrets.with(credentials::in_variables(&given))
}
