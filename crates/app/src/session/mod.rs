//! One agent session: which agent, what it may do, what it cost.

pub(crate) mod agents;
pub(crate) mod backends;
pub(crate) mod booking;
pub(crate) mod broker;
pub(crate) mod confinement;
pub(crate) mod environment;
pub(crate) mod lost;
pub(crate) mod nesting;
pub(crate) mod open;
pub(crate) mod plan;
pub(crate) mod players;
pub(crate) mod prices;
pub(crate) mod processes;
pub(crate) mod roles;
pub(crate) mod sandbox;
pub(crate) mod spawn;
pub(crate) mod watch;
