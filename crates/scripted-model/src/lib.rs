//! A model on 127.0.0.1 that plays a scenario, for tests of everything that talks to a model.
//!
//! It speaks Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini's
//! generateContent, streamed and whole, so the real agent programs and our own tool loop run
//! against it without a network. It says what the scenario tells it to say, refuses, hangs,
//! cuts the connection and talks nonsense on demand, and keeps its own books: every request,
//! the tokens by kind and what they cost, to compare with what a client claims.
//!
//! The one decision: everything about an answer is fixed before its first byte is sent. A
//! request is read, a turn is chosen and booked, and only then does a thread write. So a
//! client that has the answer also finds it in the books, and equal requests give equal bytes.
//!
//! It judges no request: keys, schemas and limits of the real vendors are not checked. It
//! listens on the loopback address only and never writes down a key.

mod books;
mod dialect;
mod http;
mod planner;
mod scenario;
mod server;
mod turn;

pub use books::{AnsweredBy, ModelTotals, RecordedExchange};
pub use dialect::Dialect;
pub use planner::tokens_of;
pub use scenario::{ModelScenario, ModelScenarioError, ScriptedPrice};
pub use server::{ModelServer, Options};
pub use turn::{Turn, TurnStop, VendorRefusal, When};
