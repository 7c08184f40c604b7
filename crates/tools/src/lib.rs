//! The tools that a model may call, confined to one directory.
//!
//! One [`Registry`] for every server of tools: the `api` backend, investigations, the MCP
//! server. A [`ModelTool`] is a name, a description, a JSON schema, what it [`reach`](Reach)es for,
//! and a call that takes any JSON and always answers. Which of them a role has is for the
//! configuration to say, in [groups](spore_model::ToolGroup), whose tools are named by
//! [`names_of`].
//!
//! The decision behind the rest: a tool's arguments are untrusted text. They are held
//! against the schema before anything happens, every path is walked one component at a time
//! from the directory's own descriptor ([`Root`]), and every answer has a size. An answer
//! that could not be given is an answer that says why, for the model to read; no tool fails,
//! and none panics.
//!
//! Nothing here is a sandbox. What a command does once it runs is for the shim and the kernel;
//! a command runs at all only if [`Commands`] names it.

mod change;
mod declared;
mod files;
pub mod graph;
mod grep;
pub mod investigation;
pub mod layers;
pub mod memory;
mod registry;
pub mod remote;
mod root;
mod run;
mod schema;
mod text;
mod view;
pub mod written;

pub use declared::Declared;
pub use registry::{
    BoxError, ModelTool, Reach, Registry, ToolAnswer, ToolCaller, UnusableTool, names_of,
};
pub use root::{Root, RootError};
pub use run::{CommandRunner, Commands};
pub use schema::{SchemaError, check_schema, misfit};
pub use text::both_ends;
pub use view::{FileView, LineView};
