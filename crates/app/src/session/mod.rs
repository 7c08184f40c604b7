//! One agent session: which agent, what it may do, what holds it, what it cost.
//!
//! From outside, a caller makes a `SessionPlan` and hands it to `open`, which does the same for
//! every kind of session; `booking` turns its end into ledger, rows and events. `agent_choice`
//! settles who plays each role; `confinement` alone decides what holds a session, and the sandbox
//! is shared with the project's checks. It always holds that a session's row and its process are
//! on record before it can cost anything, and that no session reaches a store but through the
//! broker.

pub(crate) mod agent_choice;
pub(crate) mod agent_listing;
pub(crate) mod allowance;
pub(crate) mod booking;
pub(crate) mod broker;
pub(crate) mod confinement;
pub(crate) mod environment;
pub(crate) mod live;
pub(crate) mod lost;
pub(crate) mod nesting;
pub(crate) mod open;
pub(crate) mod parent;
pub(crate) mod plan;
pub(crate) mod processes;
pub(crate) mod sandbox;
pub(crate) mod sign_in;
pub(crate) mod spawn;
pub(crate) mod watch;
pub(crate) mod within;
