//! One agent session, from prompt to report, never out of control.
//!
//! An [`Agent`] is a way to run a session: a program that people already use, a model API, or
//! the [`replay`] of a scenario. What differs between them is how they are started and how
//! their lines read; what is the same lives once in `control`: the shim, the draining of
//! both pipes, the deadlines, the transcript.
//!
//! An agent reports, it does not decide. Whether the work holds is for gates and verifier,
//! and nothing in here writes orchestration state. The trait is synchronous: the caller of a
//! session waits for it, and parallel sessions are threads. A backend that needs an async
//! runtime keeps it to itself.

pub mod acp;
pub mod api;
pub mod claude;
pub mod codex;
pub mod command;
mod control;
mod environment;
mod event;
mod event_session;
mod health;
mod policy;
mod prices;
pub mod printed;
pub mod replay;
mod request;
mod rpc;
mod scenario;

pub use environment::EnvironmentFilter;
pub use event::{AgentEvent, ResultEvent};
pub use prices::{Price, PriceList};
pub use request::{
    Agent, AgentError, AgentWatch, BoxError, CallsCounted, Capabilities, Conversation, McpServer,
    Request, RequestLimits, SessionReport, SessionSandbox, ToolPolicy, TurnFiles, Watchdog,
};
pub use scenario::{Scenario, ScenarioError};
