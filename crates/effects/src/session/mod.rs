//! Foreign programs that run for long: agents and gates, each in a session of its own.
//!
//! Spore does not start such a program itself. It starts its own binary in shim mode, and the
//! shim starts the program, is the parent that every orphan of the session falls back to, and
//! ends them all when it is told to or when Spore is gone. So nothing a program started
//! outlives its session, however it was detached, and a `kill -9` of Spore is no exception.
//!
//! A start has two halves. [`Shim::prepare`] gives a process that only waits; once its
//! identity is written down, [`Waiting::go`] lets the program run. A crash in between starts
//! nothing, a crash after it leaves a row by which [`reap`] finds what is left.
//!
//! The pipes are the program's own: only the caller reads them, the shim does not. What the
//! kernel lets the session do is a [`Confinement`], decided by the caller and taken on before the
//! program runs. What it looks up by name can be recorded ([`Shim::prepare_recorded`]).

mod client;
mod first_process;
mod forwarder;
mod processes;
mod recording;
mod sandbox;
mod shim;
mod supervision;
mod wire;

pub use client::{Session, SessionEnd, SessionError, Shim, Stopper, Waiting};
pub use processes::{ProcessIdentity, ancestors, end, find_by_token, interrupt, is_alive, reap};
pub use recording::{Recording, RecordingMethod, RecordingPlan};
pub use sandbox::{
    Confinement, Enforced, LayeredPlace, ProjectPlace, Reached, RootSupport, SOUND_LANDLOCK,
    SandboxLayer, SandboxRefusal, SandboxRoot, StandIn, enforceable,
};
pub use shim::shim_main;
pub use supervision::{Draining, OutputSink, SupervisedEnd, watch};
pub use wire::{Grace, ShimPlan};

/// The first argument of our own binary in shim mode.
pub const SHIM_ARG: &str = "__session";

/// Carries the token, in the environment of the shim and of every process of the session.
pub const TOKEN_VAR: &str = "SPORE_SESSION";
